"""Number of images before each good image, in tiles on a device.

The images of a tile up to each query's farthest good image are sorted together with the lowest
and the highest value of each good image, by query and value; a running sum gives the number of
images below each. Images between the two values are compared by `counting.count_before`, in main
memory. No call is made for a single query.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np

from reid_ref.arrays import Integers
from reid_ref.arrays.device import namespace, take, to_device, to_numpy
from reid_ref.ranking.counting import (
    Before, Counting, Goods, Open, check_slack, farthest_good, places, ranges)
from reid_ref.ranking.tiles import Array, Part, Tile

_Answer = TypeVar("_Answer")

#: Pairs of good image and undecided image that are copied to main memory at once.
_AT_ONCE = 2**20

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


def count_tiles(tiles: Iterable[Tile], part: Part, goods: Goods, start: Integers,
                bounds: tuple[Array, Array], counting: Counting,
                before: Before) -> Iterator[tuple[float, Open]]:
    """Add the images of tiles before each good image; yield shares, and pairs left open."""
    farthest = farthest_good(bounds[1], start)
    for tile in tiles:
        if not part.is_exact:
            _check_slack(tile, goods, start, bounds)
        width = tile.values.shape[1]
        for columns, (pairs, nearer, first, last, image) in in_pieces(width, width, partial(
                _between, tile, goods, start, bounds, farthest, counting)):
            before[0, pairs] += nearer
            batch = np.cumsum(last - first) // _AT_ONCE
            for piece in np.split(np.arange(len(pairs)), np.flatnonzero(np.diff(batch)) + 1):
                good, place = ranges(first[piece], last[piece])
                open_image = to_numpy(take(image, _on(tile, place)))
                good = pairs[piece][good]
                other = open_image != goods.image[good]
                yield 0.0, (good[other], open_image[other])
        yield tile.share, (goods.image[:0], goods.image[:0])


def _on(tile: Tile, array: Array) -> Any:
    """Return an array on the device of a tile."""
    return to_device(namespace(tile.values), array, tile.values.device)


def _check_slack(tile: Tile, goods: Goods, start: Integers, bounds: tuple[Array, Array]) -> None:
    """Refuse a tile whose values of good images exceed a quarter of the allowed error."""
    pairs = np.arange(start[tile.rows.start], start[tile.rows.stop])
    column = places(goods.image[pairs], tile.images)
    pairs, column = pairs[column >= 0], column[column >= 0]
    row = goods.query[pairs] - tile.rows.start
    check_slack(to_numpy(tile.values[_on(tile, row), _on(tile, column)]),
                *(side[pairs] for side in bounds))


def _between(tile: Tile, goods: Goods, start: Integers, bounds: tuple[Array, Array],
             farthest: Array, counting: Counting,
             columns: slice) -> tuple[Integers, Integers, Integers, Integers, Any]:
    """Return the good pairs of the tile; of some columns, how many images are nearer than each,
    and between which places, of the last array, are those that are undecided.
    """
    xp, on_device = namespace(tile.values), partial(_on, tile)
    key, image = _candidates(tile, farthest, counting, columns)
    width, n_image = columns.stop - columns.start, key.shape[0]
    pairs = np.arange(start[tile.rows.start], start[tile.rows.stop])
    pairs = pairs[bounds[0][pairs] == bounds[0][pairs]]  # not NaN
    low, high = (side[pairs] for side in bounds)
    row = goods.query[pairs] - tile.rows.start
    values = take(xp.reshape(tile.values[:, columns], (-1,)), key)
    # Stable sorts: a lowest value comes before the images that equal it, a highest after them.
    order = xp.argsort(xp.concat([on_device(low), values, on_device(high)]), stable=True)
    rows = xp.concat([on_device(row), key // width, on_device(row)])
    order = take(order, xp.argsort(take(rows, order), stable=True))
    is_image = (order >= len(pairs)) & (order < len(pairs) + n_image)
    below = xp.cumulative_sum(xp.astype(is_image, xp.int64))
    edge = xp.nonzero(~is_image)[0]
    which = to_numpy(take(order, edge))
    ends = np.empty(2 * len(pairs), dtype=np.int64)
    ends[np.where(which < len(pairs), which, which - n_image)] = to_numpy(take(below, edge))
    first, last = ends[:len(pairs)], ends[len(pairs):]
    row_start = to_numpy(xp.searchsorted(key, on_device(width * np.arange(tile.values.shape[0]))))
    in_order = take(key, take(order, xp.nonzero(is_image)[0]) - len(pairs))
    return pairs, first - row_start[row], first, last, take(image, in_order % width)


def _candidates(tile: Tile, farthest: Array, counting: Counting,
                columns: slice) -> tuple[Any, Any]:
    """Return the flat indices of the images to compare in some columns, and the images."""
    xp, on_device = namespace(tile.values), partial(_on, tile)
    images = tile.images[columns]
    is_near = tile.values[:, columns] <= on_device(farthest[tile.rows])[:, None]
    if counting.place is not None and counting.query_place is not None:
        place = on_device(counting.place[images])
        query_place = on_device(counting.query_place[tile.rows])
        is_near = is_near & (query_place[:, None] != place[None, :])
    key = xp.nonzero(xp.reshape(is_near, (-1,)))[0]
    row, column = counting.left_out_of(tile.rows, images)
    if len(row):
        left_out = on_device(np.sort(row * len(images) + column))
        at = xp.searchsorted(left_out, key)
        at = xp.where(at < len(row), at, xp.zeros_like(at))
        key = key[take(left_out, at) != key]
    return key, on_device(images)
