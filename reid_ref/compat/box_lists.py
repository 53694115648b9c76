"""`Boxes` from what person-search codes hold: lists with an entry for each image.

Source: serend1p1ty/SeqNet edec285, engine.py:93-148 and datasets/base.py; COAT, NAE4PS and others
have the same lists.
"""
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reid_ref.arrays import Array, InputError, as_array
from reid_ref.protocols import Boxes


def boxes_of_lists(gallery_annotations: Sequence[Mapping[str, Any]],
                   query_annotations: Sequence[Mapping[str, Any]], gallery_dets: Sequence[Any],
                   gallery_feats: Sequence[Any], query_box_feats: Sequence[Any],
                   galleries: Mapping[str, Sequence[Sequence[str]]]) -> Boxes:
    """Return `Boxes` from the lists that SeqNet's `eval_search_cuhk` and `eval_search_prw` take.

    Parameters
    ----------
    gallery_annotations, query_annotations : sequence of dict
        `annotations` of the two data sets: each has ``img_name``, ``boxes``, ``pids`` and, for
        PRW, ``cam_id``.
    gallery_dets : sequence of array_like, shape (n, 5)
        x1, y1, x2, y2 and score of what was detected in each gallery image.
    gallery_feats : sequence of array_like, shape (n, ...)
    query_box_feats : sequence of array_like
    galleries : mapping
        As `Boxes` takes them, but with the names of each query's images.

    Raises
    ------
    InputError
        An entry of another shape, and what `Boxes` refuses.

    Examples
    --------
    >>> gallery = [{"img_name": name, "boxes": [[0, 0, 40, 90]], "pids": [7], "cam_id": 1}
    ...            for name in ("a.jpg", "b.jpg")]
    >>> boxes = boxes_of_lists(gallery, gallery[:1], [[], [[0, 0, 40, 85, .9]]],
    ...                        [[], [[.6, .8]]], [[1., 0.]], {"50": [["b.jpg"]]})
    >>> boxes.detection_image, boxes.detection_score, boxes.galleries["50"]
    (array([1]), array([0.9]), array([[1]]))
    """
    number: dict[str, int] = {}
    for k, annotation in enumerate(gallery_annotations):
        if number.setdefault(name := str(annotation["img_name"]), k) != k:
            raise InputError(f"gallery_annotations[{k}]", "each image once", f"{name!r} twice")
    asking = [str(annotation["img_name"]) for annotation in query_annotations]
    for name in asking:
        number.setdefault(name, len(number))
    camera = {str(each["img_name"]): each["cam_id"]
              for each in (*query_annotations, *gallery_annotations) if "cam_id" in each}
    truth, detected = ([_rows(entry, width, f"{name}[{k}]") for k, entry in enumerate(entries)]
                       for name, width, entries in (
        ("gallery_annotations", 4, [each["boxes"] for each in gallery_annotations]),
        ("gallery_dets", 5, gallery_dets)))
    n_truth, n_detected = (list(map(len, rows)) for rows in (truth, detected))
    detections = np.concatenate([rows for rows in detected if len(rows)] or detected)
    images = np.arange(len(truth))
    return Boxes(
        image=list(number), truth_image=np.repeat(images, n_truth),
        truth_identity=_joined(gallery_annotations), truth_box=np.concatenate(truth),
        detection_image=np.repeat(images, n_detected), detection_box=detections[:, :4],
        detection_score=detections[:, 4],
        detection_features=_stacked(gallery_feats, n_detected, "gallery_feats"),
        query_image=[number[name] for name in asking],
        query_identity=_joined(query_annotations), query_features=_stacked(
            [np.reshape(as_array(each, "query_box_feats"), (1, -1)) for each in query_box_feats],
            [1] * len(asking), "query_box_feats"),
        image_camera=[camera[name] for name in number] if len(camera) == len(number) else None,
        galleries={size: _filled([[number[name] for name in row] for row in rows])
                   for size, rows in galleries.items()})


def _rows(value: Any, width: int, where: str) -> Array:
    """Return rows of numbers; an empty list has none."""
    rows = as_array(value, where)
    if not rows.size:
        return np.zeros((0, width), dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != width or rows.dtype.kind not in "iuf":
        raise InputError(where, f"rows of {width} numbers", f"{rows.dtype} of shape {rows.shape}")
    return rows


def _joined(annotations: Iterable[Mapping[str, Any]]) -> Array:
    return np.concatenate([np.ravel(as_array(each["pids"], "pids")) for each in annotations])


def _stacked(entries: Iterable[Any], numbers: Sequence[int], name: str) -> Array:
    """Return the features of boxes, of which each entry has a known number."""
    parts: list[Array] = []
    for k, (entry, n) in enumerate(zip(entries, numbers)):
        if n:
            rows = np.atleast_1d(as_array(entry, f"{name}[{k}]"))
            if len(rows) != n or (parts and rows[0].size != parts[0].shape[1]):
                raise InputError(f"{name}[{k}]", f"{n} rows" + (
                    f" of {parts[0].shape[1]}" if parts else ""), f"shape {rows.shape}")
            parts.append(rows.reshape(n, -1))
    return np.concatenate(parts) if parts else np.zeros((0, 0))


def _filled(rows: Sequence[Sequence[int]]) -> Array:
    """Return lists as one array, filled up with -1."""
    length = max(map(len, rows), default=0)
    return np.array([[*row, *[-1] * (length - len(row))] for row in rows], dtype=np.int64)
