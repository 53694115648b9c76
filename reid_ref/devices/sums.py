"""Sums of products on a device, in the order of numpy's sum of a row, so the same doubles.

Source: pairwise summation, N. J. Higham, The accuracy of floating point summation, SIAM J. Sci.
Comput. 14 (1993); in numpy's variant, blocks of at most 128 have eight running sums
(numpy/_core/src/umath/loops_utils.h.src). tests/devices/test_sums.py compares with numpy.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from reid_ref.arrays import Doubles
from reid_ref.arrays.device import DeviceArray, namespace, take, to_numpy
from reid_ref.devices.pieces import in_pieces

#: Numbers in the products of a piece of pairs: 256 MiB of doubles, as much again for the features
#: as doubles, and their copies. Far more than an accelerator needs to be busy.
AT_ONCE = 2**25

#: The longest row that is added without being halved, and the number of running sums.
_BLOCK, _LANES = 128, 8


def row_sums(products: Any) -> Any:
    """Return the sum of each row, shape (n,), as numpy adds a contiguous row."""
    count, width = products.shape
    if width <= _BLOCK:
        return _block_sums(products)
    half = width // 2 // _LANES * _LANES
    xp = namespace(products)
    if 2 * half == width:  # both halves in one call, because small calls leave a device idle
        halves = xp.reshape(row_sums(xp.reshape(products, (2 * count, half))), (count, 2))
        return halves[:, 0] + halves[:, 1]
    return row_sums(products[:, :half]) + row_sums(products[:, half:])


def _block_sums(products: Any) -> Any:
    width = products.shape[1]
    whole = width // _LANES * _LANES
    if whole:
        lanes = products[:, :_LANES]
        for start in range(_LANES, whole, _LANES):
            lanes = lanes + products[:, start:start + _LANES]
        pairs = lanes[:, ::2] + lanes[:, 1::2]
        total = (pairs[:, 0] + pairs[:, 1]) + (pairs[:, 2] + pairs[:, 3])
    else:
        total, whole = products[:, 0], 1
    for column in range(whole, width):
        total = total + products[:, column]
    return total


def squares(features: DeviceArray) -> Doubles:
    """Return the squared 2-norm of each row in main memory, double, shape (n,)."""
    found = np.empty(len(features))
    step = max(1, AT_ONCE // features.shape[1])
    for rows, sums in in_pieces(len(features), step, lambda rows: to_numpy(_sums_of_products(
            features.array[rows, :], features.array[rows, :]))):
        found[rows] = sums
    return found


def pair_products(query: DeviceArray, gallery: DeviceArray, row: Any, image: Any) -> Any:
    """Return q.g of single pairs on the device, double, shape (pairs,)."""
    xp = query.xp

    def of_piece(pairs: slice) -> Any:
        return _sums_of_products(take(query.array, row[pairs]), take(gallery.array, image[pairs]))

    step = max(1, AT_ONCE // query.shape[1])
    parts = [sums for _, sums in in_pieces(row.shape[0], step, of_piece)]
    return xp.concat(parts) if parts else xp.zeros(0, dtype=xp.float64, device=query.device)


def _sums_of_products(left: Any, right: Any) -> Any:
    xp = namespace(left)
    if not xp.isdtype(right.dtype, "real floating"):
        right = xp.astype(right, xp.float64)
    return row_sums(xp.astype(left, xp.float64) * right)  # of a double and a float: a double
