"""Context bipartite graph matching: SeqNet changes similarities by the people around a query.

Source: serend1p1ty/SeqNet edec285, eval_func.py:194-228 and utils/km.py.
"""
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reid_ref.arrays import Array, Integers, optional_module
from reid_ref.compat.common import Refused
from reid_ref.protocols import Boxes


def rows_of_images(boxes: Boxes, kept: Array) -> dict[int, Integers]:
    """Return image to its detections that are kept, which stand image after image."""
    number = np.flatnonzero(kept)
    images, start = np.unique(boxes.detection_image[kept], return_index=True)
    return dict(zip(images.tolist(), np.split(number, start[1:])))


def with_context(boxes: Boxes, kept: Array, gallery_of: Callable[[int], Integers],
                 query_boxes: Sequence[Any], query_dets: Sequence[Any],
                 query_feats: Sequence[Any], k1: int, k2: int) -> Array:
    """Return the similarity of every query and detection; that of what is not ranked is 0.

    Parameters
    ----------
    boxes : Boxes
    kept : bool, shape (n_detection,)
    gallery_of : function of the query's number to image numbers
    query_boxes, query_dets, query_feats : sequence
        For each query its box, and boxes and features of the people in its image, itself first.
    k1, k2 : int
    """
    detections = rows_of_images(boxes, kept)
    features = {image: boxes.detection_features[rows] for image, rows in detections.items()}
    similarity = np.zeros((len(boxes.query_image), len(kept)), dtype=np.result_type(
        boxes.query_features, boxes.detection_features))
    for query, row in enumerate(similarity):
        box, around = query_boxes[query], np.asarray(query_feats[query])[:k2]
        if (box - np.asarray(query_dets[query])[0][:4]).sum() > 0.001:
            raise Refused(f"query_dets[{query}]", "the query's box first",
                          np.asarray(query_dets[query])[0][:4])
        ranked = [image for image in dict.fromkeys(gallery_of(query).tolist())
                  if image in detections]
        values = [features[image].dot(boxes.query_features[query]) for image in ranked]
        of_image = np.repeat(ranked, list(map(len, values)))
        for image, value in zip(ranked, values):
            row[detections[image]] = value
        nearest = np.argsort(np.concatenate([*values, np.zeros(0)]))[-k1:]
        for image in set(of_image[nearest].tolist()):
            _change(row, detections[image], around, features[image])
    return similarity


def _change(row: Array, detections: Integers, around: Array, features: Array) -> None:
    """Give the detection that matches the query the largest weight of the whole matching."""
    weights = (around.reshape(len(around), 1, -1) * features).sum(axis=-1).astype(np.float64)
    matching = optional_module("cbgm=True", "scipy.optimize").linear_sum_assignment(
        weights, maximize=True)
    for person, detection in zip(*matching):
        if person == 0:
            row[detections[detection]] = max(-100, weights[matching].max())
