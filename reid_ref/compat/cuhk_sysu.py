"""CUHK-SYSU's files of galleries, as SeqNet reads them (TestG50.mat to TestG4000.mat)."""
from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import optional_module
from reid_ref.compat.common import Array


class Listed(NamedTuple):
    """What CUHK-SYSU's file has for a query: image, box; names and boxes of its gallery."""

    image: str
    box: Array
    gallery: list[tuple[str, Array]]


def read_galleries(root: Any, name: str) -> list[Listed]:
    """Read a file such as TestG100.mat in the folder of CUHK-SYSU."""
    path = os.path.join(root, "annotation/test/train_test", f"{name}.mat")
    table = optional_module("CUHK-SYSU's galleries", "scipy.io").loadmat(path)[name].squeeze()
    return [Listed(str(query["imname"][0, 0][0]), corners(query["idlocate"][0, 0]),
                   [(str(item[0][0]), corners(item[1])) for item in gallery.reshape(-1)])
            for query, gallery in zip(table["Query"], table["Gallery"])]


def corners(box: Array) -> Array:
    """Return x1, y1, x2, y2 of x, y, width, height."""
    corners = np.ravel(box).astype(np.int32)
    corners[2:] += corners[:2]
    return corners
