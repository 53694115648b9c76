"""Boxes as evaluators of person search hold them: a list with one array per image.

The place in the list is the image. Source: serend1p1ty/SeqNet, engine.py, whose eval_cache.pth has
detections with their score as the fifth column.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.files.stored_arrays import StoredArray

#: SeqNet's names to those of `Boxes`.
SEQNET = {"gallery_dets": "detection_box", "gallery_feats": "detection_features",
          "query_box_feats": "query_features"}


def arrays_of_lists(stored: Mapping[str, StoredArray]) -> dict[str, Any]:
    """Read arrays of boxes by name; of lists the images, scores and rows of features are known."""
    values: dict[str, Any] = {name: array.names() if array.text else array.load()
                              for name, array in stored.items()}
    for kind in ("truth", "detection"):
        box = stored.get(f"{kind}_box")
        if box is not None and box.parts:
            values.setdefault(f"{kind}_image", np.repeat(np.arange(len(box.parts)), box.parts))
    detections = values.get("detection_box")
    if detections is not None and detections.ndim == 2 and detections.shape[1] == 5:
        values.setdefault("detection_score", detections[:, 4])
        values["detection_box"] = detections[:, :4]
    for name in ("query_features", "detection_features"):
        if name in stored and stored[name].parts and values[name].size:
            n = len(stored[name].parts) if name == "query_features" else len(values[name])
            values[name] = values[name].reshape(n, -1)
    if "query_image" in stored and stored["query_image"].text and "image" in values:
        values["query_image"] = _numbers(values["query_image"], values["image"],
                                         stored["query_image"].where)
    return values


def _numbers(names: Any, images: Any, where: str) -> Any:
    """Return the numbers of images by their names."""
    number = {name: k for k, name in enumerate(np.asarray(images).tolist())}
    missing = [name for name in names.tolist() if name not in number]
    if missing:
        raise InputError(where, "names of images of `image`", repr(missing[0]))
    return np.array([number[name] for name in names.tolist()])
