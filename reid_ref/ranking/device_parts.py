"""Distances on a device, of features or of a matrix: the input of `device_counting`.

Sums of products are in the order of numpy's sum of a row, so the same doubles. Work is in pieces,
which become smaller when a device's memory runs out.

Source: pairwise summation, N. J. Higham, The accuracy of floating point summation, SIAM J. Sci.
Comput. 14 (1993); in numpy's variant, blocks of at most 128 have eight running sums
(numpy/_core/src/umath/loops_utils.h.src). tests/ranking/devices/test_sums.py compares with numpy.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, Integers, check_finite_rows
from reid_ref.arrays.device import DeviceArray, namespace, take, to_device, to_numpy
from reid_ref.ranking.exact_distances import SQUARES, checked_squares, scales, warn_of_zeros
from reid_ref.ranking.roles import Mask

_Answer = TypeVar("_Answer")

#: Rows or pairs below which a piece is not divided: then the memory is full of something else.
SMALLEST = 16


def in_pieces(count: int, step: int,
              work: Callable[[slice], _Answer]) -> Iterator[tuple[slice, _Answer]]:
    """Yield consecutive pieces of `count` items, at most `step` each, and the work on each.

    Where the device's memory runs out, this piece and those that follow have a quarter of the
    items; the error of a piece of `SMALLEST` items is raised.

    Examples
    --------
    >>> list(in_pieces(5, 2, lambda piece: piece.stop - piece.start))
    [(slice(0, 2, None), 2), (slice(2, 4, None), 2), (slice(4, 5, None), 1)]
    """
    start = 0
    while start < count:
        piece = slice(start, min(start + step, count))
        try:
            answer = work(piece)
        except Exception as error:
            size = piece.stop - piece.start
            if not is_out_of_memory(error) or size <= SMALLEST:
                raise
            step = max(SMALLEST, size // 4)
            continue
        yield piece, answer
        del answer
        start = piece.stop


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error says that a device's memory is full; no library is imported.

    torch and CuPy name it OutOfMemoryError; cuBLAS's own lack of memory is a RuntimeError.
    """
    return type(error).__name__ == "OutOfMemoryError" or (
        isinstance(error, RuntimeError) and "CUBLAS_STATUS_ALLOC_FAILED" in str(error))


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


Array = npt.NDArray[Any]

#: Dimensions of a product; the products of long features are added. The bound of the error grows
#: with the dimensions of one product and with their number, so a quarter of it decides of 2048
#: dimensions: fewer pairs are left undecided, whose exact distances cost more than the additions.
DEPTH = 512


@dataclass(frozen=True)
class Part:
    """Distances from all queries to the gallery, on one device.

    Parameters
    ----------
    like : DeviceArray
        An array of the device.
    n_gallery : int
    dimension : int
        Numbers that a tile needs of each of its queries and images, beside their distances.
    exact : callable
        Indices of query and image, int64 of shape (pairs,) on the device, to the exact distances
        of these pairs, which are ranked. Smaller is nearer; NaN is farthest.
    bounds : callable
        Query and exact distance of pairs, in main memory, to the lowest and the highest value
        that each pair can have in a tile. The two are equal where tiles are exact.
    tiles : callable
        Indices of queries on the device to a function of indices of images on the device, which
        returns their distances, shape (queries, images).
    is_nan : callable
        A query to the mask of the images at distance NaN, in main memory.
    is_exact : bool
        Whether the values in tiles are the exact distances.
    """

    like: DeviceArray
    n_gallery: int
    dimension: int
    exact: Callable[[Any, Any], Any]
    bounds: Callable[[Integers, Array], tuple[Array, Array]]
    tiles: Callable[[Any], Callable[[Any], Any]]
    is_nan: Callable[[int], Mask]
    is_exact: bool


def matrix_part(distances: DeviceArray) -> Part:
    """Return a distance matrix of any real dtype as a part."""
    xp, matrix = distances.xp, distances.array
    wider = {"float16": "float32", "bool": "uint8"}.get(distances.dtype.name, distances.dtype.name)
    dtype = getattr(xp, wider)

    def exact(query: Any, image: Any) -> Any:
        return xp.astype(matrix[query, image], dtype)

    def tiles(query: Any) -> Callable[[Any], Any]:
        return lambda image: xp.astype(matrix[query[:, None], image[None, :]], dtype)

    def is_nan(query: int) -> Mask:
        row = to_numpy(matrix[query, :])
        mask: Mask = row != row
        return mask

    return Part(distances, distances.shape[1], 1, exact, lambda query, value: (value, value),
                tiles, is_nan, is_exact=True)


def squared_norms(query: DeviceArray, gallery: DeviceArray,
                  normalized: bool) -> tuple[Doubles, Doubles]:
    """Return the squared norms of both sides in main memory, checked; warn of zeros."""
    squared = (_checked_squares(query, "query_features"),
               _checked_squares(gallery, "gallery_features"))
    if normalized:
        for name, square in zip(("query_features", "gallery_features"), squared):
            warn_of_zeros(name, np.flatnonzero(square == 0), len(square))
    return squared


def feature_part(query: DeviceArray, gallery: DeviceArray, query_square: Doubles,
                 gallery_square: Doubles, scaling: str, columns: Mask | None = None,
                 precision: Any = np.float32) -> Part:
    """Return features, of known squared norms, as a part; tiles are products in `precision`.

    Ranked is what `ranking/exact_distances.py` says, for a `scaling` of its `scales`; the bounds
    are for tiles of the images under the mask `columns`, by default all.
    """
    # Roots are numpy's: those of torch's CPU differ from them in a last bit now and then.
    norm, gallery_norm = np.sqrt(query_square), np.sqrt(gallery_square)
    times = -(-query.shape[1] // DEPTH)
    scale, gallery_scale, divisor, off = scales(
        norm, gallery_norm, min(DEPTH, query.shape[1]) + times, scaling, columns)
    xp, there = query.xp, partial(to_device, query.xp, device=query.device)
    of_query = there(norm)
    of_gallery = there(gallery_norm if scaling == "normalized" else gallery_square)

    def exact(row: Any, image: Any) -> Any:
        product = pair_products(query, gallery, row, image)
        if scaling == "dot":
            return -product
        size = take(of_gallery, image)
        if scaling == "euclidean":
            return size - 2 * product
        return xp.where(take(of_query, row) == 0, xp.full_like(size, xp.nan), -product / size)

    def bounds(row: Integers, value: Array) -> tuple[Array, Array]:
        with np.errstate(invalid="ignore", divide="ignore"):
            middle = value / divisor[row]
        return ((middle - off[row]).astype(precision), (middle + off[row]).astype(precision))

    def is_nan(row: int) -> Mask:
        if scaling != "normalized":
            return np.zeros(len(gallery), dtype=bool)
        mask: Mask = (gallery_square == 0) | (norm[row] == 0)
        return mask

    tiles = _products(query, gallery, -scale, gallery_scale, precision)
    if scaling == "euclidean":
        tiles = _with_squares(tiles, there, gallery_scale.max()**2, divisor, gallery_square,
                              precision)
    return Part(query, len(gallery), query.shape[1], exact, bounds, tiles, is_nan,
                is_exact=False)


def _products(query: DeviceArray, gallery: DeviceArray, scale: Doubles, gallery_scale: Doubles,
              precision: Any) -> Callable[[Any], Callable[[Any], Any]]:
    """Return the `tiles` of the products of features, each divided by its scale."""
    divisors = [to_device(features.xp, _divisor(features, one, precision), features.device)
                for features, one in ((query, scale), (gallery, gallery_scale))]
    dimension, depth = query.shape[1], min(DEPTH, query.shape[1])

    def tiles(row: Any) -> Callable[[Any], Any]:
        left = _scaled(query, row, divisors[0], precision)

        def values(image: Any) -> Any:
            right = _scaled(gallery, image, divisors[1], precision).T
            product = left[:, :depth] @ right[:depth, :]
            for first in range(depth, dimension, depth):
                some = slice(first, min(first + depth, dimension))
                product = product + left[:, some] @ right[some, :]
            return product
        return values
    return tiles


def _with_squares(tiles: Callable[[Any], Callable[[Any], Any]], there: Callable[[Any], Any],
                  largest: float, divisor: Doubles, gallery_square: Doubles,
                  precision: Any) -> Callable[[Any], Callable[[Any], Any]]:
    """Return tiles to which |g|^2 is added, divided as the products are.

    As a share of the largest in the tiles, so that neither factor leaves the range of a float32.
    """
    weight, share = (there(one.astype(precision)) for one in (
        largest / divisor, np.minimum(gallery_square / largest, 1)))  # longer ones are not in it

    def added(row: Any) -> Callable[[Any], Any]:
        values, of_row = tiles(row), take(weight, row)[:, None]
        return lambda image: values(image) + of_row * take(share, image)[None, :]
    return added


def _checked_squares(features: DeviceArray, name: str) -> Doubles:
    """Return the squared norms of all rows; refuse what `checked_squares` refuses."""
    square = squares(features)
    odd = np.flatnonzero(~((square >= SQUARES[0]) & (square <= SQUARES[1])))
    if len(odd):
        rows = to_numpy(features[odd])
        for k in np.flatnonzero(~np.isfinite(square[odd])):
            check_finite_rows(rows[k:k + 1], name, int(odd[k]))
        for k in np.flatnonzero(rows.any(axis=1)):
            checked_squares(rows[k:k + 1], name, int(odd[k]))
    return square


def _divisor(features: DeviceArray, scale: Doubles, precision: Any) -> Array:
    """Return the scales in the precision in which features are divided by them."""
    size, limits = abs(scale), np.finfo(np.float32)
    fits = size.max() < limits.max / 2 and size.min() > limits.tiny
    plain = features.dtype.kind == "f" and features.dtype.itemsize <= 4
    return scale.astype(np.float32 if precision == np.float32 and plain and fits else np.float64)


def _scaled(features: DeviceArray, index: Any, scale: Any, precision: Any) -> Any:
    """Return the rows at an index, each divided by its scale; NaN where the scale is 0."""
    xp = features.xp
    rows = xp.astype(take(features.array, index), scale.dtype)
    return xp.astype(rows / take(scale, index)[:, None], getattr(xp, np.dtype(precision).name))
