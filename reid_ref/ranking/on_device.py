"""Features or a distance matrix on a device: parts of the gallery, and counts in their tiles.

Sums of products are in the order of numpy's sum of a row, so the same doubles. The images of a
tile up to each query's farthest good image are sorted together with the lowest and the highest
value of each good image, by query and value; a running sum gives the number of images below each.
No call is made for a single query. Products are in double, which no setting of torch
(TensorFloat-32, autocast) makes coarser. Where a device's memory runs out, all work is done in
main memory.

Source: pairwise summation, N. J. Higham, The accuracy of floating point summation, SIAM J. Sci.
Comput. 14 (1993); in numpy's variant, blocks of at most 128 have eight running sums
(numpy/_core/src/umath/loops_utils.h.src). `test_sums` of
tests/ranking/devices/test_random.py compares with numpy.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeVar

import numpy as np

from reid_ref.arrays import Doubles, Integers, blocks_of
from reid_ref.arrays.device import DeviceArray, namespace, take, to_device, to_numpy
from reid_ref.ranking.counting import (
    Array, Band, Before, Block, Counting, NONE_OPEN, Open, Part, Sought, Tile, by_itself,
    nearer_alone, outside)
from reid_ref.ranking.exact_distances import Arithmetic, checked_norms, feature_part
from reid_ref.ranking.roles import Mask

_Answer = TypeVar("_Answer")


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error says that a device's memory is full; no library is imported.

    torch and CuPy name it OutOfMemoryError; cuBLAS's own lack of memory is a RuntimeError.
    """
    return type(error).__name__ == "OutOfMemoryError" or (
        isinstance(error, RuntimeError) and "CUBLAS_STATUS_ALLOC_FAILED" in str(error))


class DeviceTile(Tile):
    """Distances of a block of queries to images, on a device."""

    def _on(self, array: Array) -> Any:
        return to_device(namespace(self.values), array, self.values.device)

    def at(self, row: Integers, column: Integers) -> Array:
        """Return single values, in main memory."""
        values: Array = to_numpy(self.values[self._on(row), self._on(column)])
        return values

    def among(self, images: slice, counting: Counting, farthest: Array,
              sought: Sought) -> tuple[Before, Open]:
        """Count the images before each good image, but for those that the error leaves open."""
        first, last, row_start, at = self._ranges(images, counting, farthest, sought)
        itself = by_itself(first, last, sought.image - images.start,
                           lambda place: self.columns[at(place)[1]])
        nearer, place = outside(first, last, row_start, itself)
        row, column = at(place)
        return nearer_alone(nearer), (row, self.columns[column])

    def _ranges(self, images: slice, counting: Counting, farthest: Array, sought: Sought,
                ) -> tuple[Integers, Integers, Integers, Callable[[Integers], Open]]:
        """Put images in order, by row, then value, then column.

        Returns
        -------
        first, last, row_start : int64, shape (n,)
            The range of places between the lowest and the highest value of each good image, and
            the place where its row starts.
        at : callable
            Places to rows and columns.
        """
        row, _, low, high = sought
        xp, on_device, n = namespace(self.values), self._on, len(row)
        key = self._near(images, counting, farthest)
        width, n_image = self.values.shape[1], key.shape[0]
        values = take(xp.reshape(self.values, (-1,)), key)
        # Stable sorts: a lowest value comes before the images that equal it, a highest after them.
        order = xp.argsort(xp.concat([on_device(low), values, on_device(high)]), stable=True)
        rows = xp.concat([on_device(row), key // width, on_device(row)])
        order = take(order, xp.argsort(take(rows, order), stable=True))
        is_image = (order >= n) & (order < n + n_image)
        below = xp.cumulative_sum(xp.astype(is_image, xp.int64))
        edge = xp.nonzero(~is_image)[0]
        which = to_numpy(take(order, edge))
        ends = np.empty(2 * n, dtype=np.int64)
        ends[np.where(which < n, which, which - n_image)] = to_numpy(take(below, edge))
        row_start = xp.searchsorted(key, on_device(width * np.arange(self.values.shape[0])))
        in_order = take(key, take(order, xp.nonzero(is_image)[0]) - n)
        return ends[:n], ends[n:], to_numpy(row_start)[row], lambda place: np.divmod(
            to_numpy(take(in_order, on_device(place))), width)

    def _near(self, images: slice, counting: Counting, farthest: Array) -> Any:
        xp, on_device = namespace(self.values), self._on
        is_near = self.values <= on_device(farthest)[:, None]
        if counting.place is not None and counting.query_place is not None:
            place = on_device(counting.place[self.columns])
            query_place = on_device(counting.query_place[self.rows])
            is_near = is_near & (query_place[:, None] != place[None, :])
        key = xp.nonzero(xp.reshape(is_near, (-1,)))[0]
        row, column = counting.left_out_of(self.rows, images.start + self.columns)
        if len(row):
            left_out = on_device(np.sort(row * len(self.columns) + column))
            at = xp.searchsorted(left_out, key)
            at = xp.where(at < len(row), at, xp.zeros_like(at))
            key = key[take(left_out, at) != key]
        return key


class ExactDeviceTile(DeviceTile):
    """Distances as they are ranked, which leave nothing open."""

    def among(self, images: slice, counting: Counting, farthest: Array,
              sought: Sought) -> tuple[Before, Open]:
        """Count the images before each good image."""
        first, last, row_start, at = self._ranges(images, counting, farthest, sought)
        column = np.searchsorted(self.columns, sought.image - images.start)
        # Columns ascend within a range, which is halved until the image's own place is found.
        place, end, itself = first.copy(), last.copy(), np.zeros(len(first), bool)
        while len(left := np.flatnonzero(place < end)):
            middle = (place[left] + end[left]) // 2
            other = at(middle)[1]
            place[left] = np.where(other < column[left], middle + 1, place[left])
            end[left] = np.where(other < column[left], end[left], middle)
        left = np.flatnonzero(place < last)
        itself[left] = self.columns[at(place[left])[1]] == (sought.image - images.start)[left]
        return np.array([first - row_start, last - first - itself, place - first]), NONE_OPEN


#: Numbers in the products of a piece of pairs: 256 MiB of doubles, as much again for the features
#: as doubles, and their copies. Far more than an accelerator needs to be busy.
AT_ONCE = 2**25

#: Distances in a tile, and numbers in the features of its images. Large, so that a call keeps an
#: accelerator busy for longer than it takes to launch the next; a tile and its candidates take up
#: to 64 bytes a distance, 1 GiB.
TILE = 2**24

#: Queries in a tile, for a fast product with at least 4096 images.
ROWS = 2**13

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


def pair_products(query: DeviceArray, gallery: DeviceArray, row: Integers,
                  image: Integers) -> Doubles:
    """Return q.g of single pairs in main memory, double, shape (pairs,)."""
    xp = query.xp

    products = np.empty(len(row))
    for pairs in blocks_of(len(row), AT_ONCE // query.shape[1]):
        left, right = (xp.astype(take(side.array, to_device(xp, index[pairs], query.device)),
                                 xp.float64) for side, index in ((query, row), (gallery, image)))
        products[pairs] = to_numpy(row_sums(left * right))
    return products


def squares(features: DeviceArray) -> Doubles:
    """Return the squared 2-norm of each row in main memory, double, shape (n,)."""
    rows = np.arange(len(features))
    return pair_products(features, features, rows, rows)


def matrix_part(distances: DeviceArray) -> Part:
    """Return a distance matrix of any real dtype as a part."""
    xp, matrix = distances.xp, distances.array
    on_device = partial(to_device, xp, device=distances.device)
    name = distances.dtype.name
    dtype = getattr(xp, {"float16": "float32", "bool": "uint8"}.get(name, name))

    def exact(query: Integers, image: Integers) -> Array:
        return to_numpy(xp.astype(matrix[on_device(query), on_device(image)], dtype))

    def values(rows: slice) -> Callable[[Any], Any]:
        return lambda image: xp.astype(take(matrix[rows, :], image, axis=1), dtype)

    def is_nan(query: int) -> Mask:
        row = to_numpy(matrix[query, :])
        mask: Mask = row != row
        return mask

    band = Band(np.ones(distances.shape[1], bool), lambda query, value: (value, value),
                partial(_blocks, distances, distances.shape, 1, TILE, values, ExactDeviceTile))
    return Part(slice(0, distances.shape[1]), exact, [band], is_nan, is_exact=True,
                on_device=True)


def count_nan(distances: DeviceArray) -> int:
    """Return the number of NaN in a distance matrix."""
    if distances.dtype.kind != "f":
        return 0
    return int(distances.xp.count_nonzero(distances.xp.isnan(distances.array)))


def feature_parts(query: DeviceArray, gallery: DeviceArray,
                  scalings: Sequence[str]) -> list[Callable[[Any], Part]]:
    """Return a function that makes features a part; its argument, a precision, is not needed.

    NaN, Inf and zeros in features are refused and warned of here, as in main memory.
    """
    normalized = "normalized" in scalings
    query_square = checked_norms(query, "query_features", normalized, squares)
    gallery_square = checked_norms(gallery, "gallery_features", normalized, squares)
    # The bound is that of single precision with no rounding at all: far above that of doubles.
    arithmetic = Arithmetic(pair_products, _products, lambda dimension: 0, query.xp,
                            partial(to_device, query.xp, device=query.device))

    def part(precision: Any) -> Part:
        return feature_part(query, gallery, query_square, gallery_square, slice(0, len(gallery)),
                            scalings, 0, np.float64, arithmetic)

    return [part]


def _blocks(like: DeviceArray, shape: tuple[int, ...], dimension: int, size: int,
            values: Callable[[slice], Callable[[Any], Any]], kind: type[DeviceTile],
            counting: Mask) -> Iterator[Block]:
    """Yield blocks of queries and images, whose features have so many numbers, in tiles of a size.

    `values`: the queries, to a function of the images to the distances, all on the device.
    """
    columns = np.flatnonzero(counting)
    on_device = partial(to_device, like.xp, device=like.device)

    def tiles(rows: slice) -> Iterator[Tile]:
        of_images, height = values(rows), rows.stop - rows.start
        for piece in blocks_of(len(columns), size // max(dimension, height)):
            yield kind(rows, of_images(on_device(columns[piece])), columns[piece],
                       height * (piece.stop - piece.start) / (shape[0] * len(columns)))

    return (Block(rows, partial(tiles, rows))
            for rows in blocks_of(shape[0], min(ROWS, TILE // dimension)))


def _products(query: DeviceArray, gallery: DeviceArray, query_norm: Doubles,
              gallery_norm: Doubles, max_memory: int, precision: Any, n: int,
              counting: Mask) -> Iterator[Block]:
    """Yield blocks of products of unit features; see `exact_distances`."""
    on_device = partial(to_device, query.xp, device=query.device)
    query_scale, gallery_scale = on_device(-query_norm), on_device(gallery_norm)

    def values(rows: slice) -> Callable[[Any], Any]:
        left = divided(query, on_device(np.arange(rows.start, rows.stop)), query_scale)
        return lambda image: left @ divided(gallery, image, gallery_scale).T

    return _blocks(query, (len(query), len(gallery)), query.shape[1], TILE // n, values,
                   DeviceTile, counting)


def divided(features: DeviceArray, index: Any, scale: Any) -> Any:
    """Return the rows at an index in double, each divided by its scale; NaN where that is 0."""
    rows = features.xp.astype(take(features.array, index), scale.dtype)
    return rows / take(scale, index)[:, None]


def or_in_main_memory(work: Callable[..., _Answer], *arrays: Any) -> _Answer:
    """Return the work on these arrays; where a device's memory is full, on copies elsewhere."""
    is_there = isinstance(arrays[0], DeviceArray)
    try:
        # Numbers that divide by zero or overflow give no warning, as on an accelerator.
        with np.errstate(all="ignore") if is_there else nullcontext():
            return work(*arrays)
    except Exception as error:
        if not (is_there and is_out_of_memory(error)):
            raise
    return work(*map(to_numpy, arrays))
