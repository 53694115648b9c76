"""`Boxes` from what person-search codes hold: lists with an entry for each image.

Source: serend1p1ty/SeqNet edec285, engine.py:93-148 and datasets/base.py; COAT, NAE4PS and others
have the same lists.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, as_array, check_length
from reid_ref.protocols.boxes import Boxes

#: The lists, by SeqNet's names, and what each has an entry of.
LISTS = {"gallery_annotations": "", "query_annotations": "",
         "gallery_dets": "gallery_annotations", "gallery_feats": "gallery_annotations",
         "query_box_feats": "query_annotations"}
#: The identity that SeqNet's loader gives all queries of CUHK-SYSU: query k shows person k + 1.
_UNKNOWN = -100


def boxes_of_lists(gallery_annotations: Sequence[Mapping[str, Any]],
                   query_annotations: Sequence[Mapping[str, Any]], gallery_dets: Sequence[Any],
                   gallery_feats: Sequence[Any], query_box_feats: Sequence[Any],
                   **changes: Any) -> Boxes:
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
    **changes
        Other arguments of `Boxes`, in the place of these; ``gallery_100`` and its like are lists
        of the names, or the numbers, of each query's images.

    Raises
    ------
    InputError
        A list of another length, an entry of another shape, and what `Boxes` refuses.

    Examples
    --------
    >>> gallery = [{"img_name": name, "boxes": [[0, 0, 40, 90]], "pids": [7], "cam_id": 1}
    ...            for name in ("a.jpg", "b.jpg")]
    >>> boxes = boxes_of_lists(gallery, gallery[:1], [[], [[0, 0, 40, 85, .9]]],
    ...                        [[], [[.6, .8]]], [[1., 0.]], gallery_50=[["b.jpg"]])
    >>> boxes.detection_image, boxes.detection_score, boxes.galleries["50"]
    (array([1]), array([0.9]), array([[1]]))
    """
    given = {"gallery_annotations": gallery_annotations, "query_annotations": query_annotations,
             "gallery_dets": gallery_dets, "gallery_feats": gallery_feats,
             "query_box_feats": query_box_feats}
    for name, of in LISTS.items():
        if not isinstance(given[name], Sequence) or isinstance(given[name], str):
            raise InputError(name, "a list", type(given[name]).__name__)
        if of:
            check_length(len(given[name]), len(given[of]), name)
    names: dict[str, int] = {}
    for side in ("gallery_annotations", "query_annotations"):
        for k, annotation in enumerate(given[side]):
            name = str(_of(annotation, "img_name", f"{side}[{k}]"))
            if names.setdefault(name, len(names)) != k and side == "gallery_annotations":
                raise InputError(f"{side}[{k}]", "each image once", f"{name!r} twice")
    values = {"image": list(names), **_truth(given["gallery_annotations"], names),
              **_queries(given["query_annotations"], names),
              **_detections(gallery_dets, gallery_feats, names, gallery_annotations),
              "query_features": _stacked(query_box_feats)}
    cameras = {str(each["img_name"]): each["cam_id"]
               for each in (*query_annotations, *gallery_annotations) if "cam_id" in each}
    if len(cameras) == len(names):
        values["image_camera"] = [cameras[name] for name in names]
    galleries = {name.removeprefix("gallery_"): _numbered(rows, names, name)
                 for name, rows in changes.items() if name.startswith("gallery_")}
    return Boxes(**{**values, **{name: value for name, value in changes.items()
                                 if not name.startswith("gallery_")}}, galleries=galleries)


def _of(annotation: Any, key: str, where: str) -> Any:
    """Return a value of an annotation, which must be there."""
    if not isinstance(annotation, Mapping) or key not in annotation:
        got = ", ".join(map(str, annotation)) if isinstance(annotation, Mapping) else (
            type(annotation).__name__)
        raise InputError(where, f"a dict with {key}", got)
    return annotation[key]


def _truth(annotations: Sequence[Any], names: Mapping[str, int]) -> dict[str, Any]:
    """Return the annotated boxes of all images."""
    boxes, identities, images = [], [], []
    for k, annotation in enumerate(annotations):
        where = f"gallery_annotations[{k}]"
        box = _rows(_of(annotation, "boxes", where), 4, f"{where}: boxes")
        identity = np.ravel(as_array(_of(annotation, "pids", where), f"{where}: pids"))
        if len(identity) != len(box):
            raise InputError(f"{where}: pids", f"{len(box)} identities, as boxes", len(identity))
        boxes.append(box)
        identities.append(identity)
        images.append(np.full(len(box), names[str(annotation["img_name"])]))
    return {"truth_box": np.concatenate(boxes), "truth_identity": np.concatenate(identities),
            "truth_image": np.concatenate(images)}


def _queries(annotations: Sequence[Any], names: Mapping[str, int]) -> dict[str, Any]:
    """Return image and identity of each query."""
    identity = []
    for k, annotation in enumerate(annotations):
        where = f"query_annotations[{k}]"
        pids = np.ravel(as_array(_of(annotation, "pids", where), f"{where}: pids"))
        if len(pids) != 1:
            raise InputError(f"{where}: pids", "one identity", len(pids))
        identity.append(pids[0])
    if set(identity) == {_UNKNOWN}:
        identity = list(range(1, len(identity) + 1))
    return {"query_image": [names[str(annotation["img_name"])] for annotation in annotations],
            "query_identity": identity}


def _detections(dets: Sequence[Any], feats: Sequence[Any], names: Mapping[str, int],
                annotations: Sequence[Any]) -> dict[str, Any]:
    """Return image, box, score and features of every detection, image after image."""
    every, features, images = [], [], []
    for k, (det, feat) in enumerate(zip(dets, feats)):
        det = _rows(det, 5, f"gallery_dets[{k}]")
        if not len(det):
            continue
        feat = as_array(feat, f"gallery_feats[{k}]")
        if len(np.atleast_1d(feat)) != len(det):
            raise InputError(f"gallery_feats[{k}]", f"{len(det)} rows, one for each detection",
                             f"shape {feat.shape}")
        every.append(det)
        features.append(feat.reshape(len(det), -1))
        if features[-1].shape[1] != features[0].shape[1]:
            raise InputError(f"gallery_feats[{k}]", f"rows of {features[0].shape[1]}",
                             features[-1].shape[1])
        images.append(np.full(len(det), names[str(annotations[k]["img_name"])]))
    if not every:
        raise InputError("gallery_dets", "at least one detection", "none")
    detections = np.concatenate(every)
    return {"detection_image": np.concatenate(images), "detection_box": detections[:, :4],
            "detection_score": detections[:, 4], "detection_features": np.concatenate(features)}


def _rows(value: Any, width: int, where: str) -> Any:
    """Return rows of numbers; an empty list has none."""
    rows = as_array(value, where)
    if not rows.size:
        return np.zeros((0, width), dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != width or rows.dtype.kind not in "iuf":
        raise InputError(where, f"rows of {width} numbers", f"{rows.dtype} of shape {rows.shape}")
    return rows


def _stacked(features: Sequence[Any]) -> Any:
    """Return the features of the queries, a row for each."""
    rows = [np.ravel(as_array(each, f"query_box_feats[{k}]")) for k, each in enumerate(features)]
    for k, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InputError(f"query_box_feats[{k}]", f"{len(rows[0])} numbers", len(row))
    return np.stack(rows) if rows else np.zeros((0, 0))


def _numbered(rows: Any, names: Mapping[str, int], where: str) -> Any:
    """Return the numbers of each query's gallery, from names or numbers, filled up with -1."""
    if not all(isinstance(row, (list, tuple)) for row in rows):
        return rows
    numbers = [_numbers(row, names, where) for row in rows]
    length = max(map(len, numbers), default=0)
    return np.array([[*row, *[-1] * (length - len(row))] for row in numbers], dtype=np.int64)


def _numbers(row: Sequence[Any], names: Mapping[str, int], where: str) -> list[int]:
    for image in row:
        if isinstance(image, str) and image not in names:
            raise InputError(where, "names of images", repr(image[:60]))
    return [names[image] if isinstance(image, str) else int(image) for image in row]
