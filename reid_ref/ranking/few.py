"""Number of images before each good image, in a group of few images: one sort a tile.

`counting.py` takes some microseconds a query, however few images are counted. Here a tile has one
sort for all of its queries, of one whole number for each image that may come before a good one:
query, distance rounded to single precision, column. Rounding keeps the order; images whose
rounded distance is that of the good image are compared by the distances themselves.

Contents: `count_few`.
"""
from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Integers
from reid_ref.ranking.counting import Counting, Goods
from reid_ref.ranking.tiles import Array, Part

Counts = npt.NDArray[np.int64]

#: Pairs of one rounded distance that are compared at once, to bound memory.
_AT_ONCE = 2**20


def count_few(part: Part, goods: Goods, n_query: int, counting: Counting) -> Counts:
    """Count as `count_before`, in an exact part, for good images none of which is at NaN.

    `counting` has columns, and no places.

    Examples
    --------
    >>> from reid_ref.ranking.tiles import matrix_part
    >>> none = np.zeros(0, dtype=np.int64)
    >>> goods = Goods(np.array([0]), np.array([1]), np.array([.2]), np.array([True]))
    >>> counting = Counting(none, none, np.array([True, False, True, True]))
    >>> count_few(matrix_part(np.array([[.1, .2, .2, .3]])), goods, 1, counting).tolist()
    [[1], [1], [0]]
    """
    assert counting.columns is not None
    before = np.zeros((3, len(goods.query)), dtype=np.int64)
    start = np.searchsorted(goods.query, np.arange(n_query + 1))
    columns = np.flatnonzero(counting.columns)
    together = columns[-1] - columns[0] + 1 == len(columns)  # as in most galleries: no copy
    counts: deque[tuple[slice, Future[Counts]]] = deque()
    with ThreadPoolExecutor(2) as pool:
        for tile in part.bands[0].tiles(None if together else counting.columns):
            pairs = slice(start[tile.rows.start], start[tile.rows.stop])
            if pairs.start == pairs.stop:
                continue
            # Where many images are counted, tiles have all columns.
            values = (tile.values if together or tile.columns is not None
                      else tile.values[:, columns])
            out = slice(*np.searchsorted(counting.left_out_query,
                                         [tile.rows.start, tile.rows.stop]))
            counts.append((pairs, pool.submit(
                _count, values, columns[0] if together else 0,
                part.images.start + columns, _of_rows(goods, pairs, tile.rows),
                (counting.left_out_query[out] - tile.rows.start, counting.left_out[out]))))
            if len(counts) > 2:  # few tiles at a time, to bound memory
                pairs, count = counts.popleft()
                before[:, pairs] += count.result()
        for pairs, count in counts:
            before[:, pairs] += count.result()
    return before


def _of_rows(goods: Goods, pairs: slice, rows: slice) -> Goods:
    """Return the good pairs of some queries, counted from the first of them."""
    return Goods(goods.query[pairs] - rows.start, goods.image[pairs], goods.value[pairs],
                 goods.counts[pairs])


def _count(values: Array, first_column: int, images: Integers, goods: Goods,
           left_out: tuple[Integers, Integers]) -> Counts:
    """Count `images`, consecutive columns of a tile, before its good pairs."""
    n_rows, width = len(values), len(images)
    near = np.flatnonzero(_near(values[:, first_column:first_column + width], images, goods,
                                left_out))
    if not len(near):
        return np.zeros((3, len(goods.query)), dtype=np.int64)
    ends = np.searchsorted(near, width * np.arange(n_rows + 1))
    room = 1 << width.bit_length()  # of a column, in a key
    row = np.arange(n_rows)
    to_flat = row * (values.shape[1] - width) + first_column
    keys = _rounded(values.reshape(-1).take(near + np.repeat(to_flat, np.diff(ends)))) * room
    keys += near
    keys += np.repeat(row * (room << 32) - row * width, np.diff(ends))
    keys.sort()
    of_good = _rounded(goods.value) * room + goods.query * (room << 32)
    first = np.searchsorted(keys, of_good)
    counts = np.array([first - ends[goods.query], 0 * first, 0 * first])
    same = np.flatnonzero(keys[np.minimum(first, len(keys) - 1)] // room == of_good // room)
    last = np.searchsorted(keys, of_good[same] + room)
    # Ever so many good pairs that no more than about _AT_ONCE images are compared at once.
    block = np.cumsum(last - first[same]) // _AT_ONCE
    for part in np.split(np.arange(len(same)), np.flatnonzero(np.diff(block)) + 1):
        start, stop = first[same[part]], last[part]
        pair = np.repeat(same[part], stop - start)
        place = np.arange(len(pair)) + np.repeat(stop - np.cumsum(stop - start), stop - start)
        column = keys[place] % room
        theirs, image = values[goods.query[pair], first_column + column], images[column]
        tied = (theirs == goods.value[pair]) & (image != goods.image[pair])
        for kind, counted in enumerate((
                theirs < goods.value[pair], tied, tied & (image < goods.image[pair]))):
            counts[kind] += np.bincount(pair[counted], minlength=len(first))
    return counts


def _near(values: Array, images: Integers, goods: Goods,
          left_out: tuple[Integers, Integers]) -> npt.NDArray[np.bool_]:
    """Return which images are counted, and no farther than the query's farthest good image."""
    lowest = -np.inf if values.dtype.kind == "f" else np.iinfo(values.dtype).min
    farthest = np.full(len(values), lowest, dtype=values.dtype)
    first = np.flatnonzero(np.append(True, goods.query[1:] != goods.query[:-1]))
    farthest[goods.query[first]] = np.maximum.reduceat(goods.value, first)
    near: npt.NDArray[np.bool_] = values <= farthest[:, np.newaxis]
    row, image = left_out
    place = np.minimum(np.searchsorted(images, image), len(images) - 1)
    here = images[place] == image
    near[row[here], place[here]] = False
    return near


def _rounded(value: Array) -> Integers:
    """Return values rounded to single precision, as whole numbers of 32 bits in the same order."""
    with np.errstate(over="ignore"):  # what single precision cannot hold is infinity, the last
        single = value.astype(np.float32)
    single += 0  # not -0, whose bits differ
    bits = single.view(np.int32)
    if (bits < 0).any():
        bits ^= (bits >> 31) & np.int32(2**31 - 1)  # those of negative numbers descend
    return bits.astype(np.int64)
