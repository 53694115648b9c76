"""Number of images before each good image: the inner loop.

A rank is a count, so the gallery is not sorted. Of each tile, only images nearer than the query's
farthest good image are compared with its good images. Where a tile is not exact, the few images
that its error leaves undecided are compared by closer, and at last by exact distances. So counts
depend only on exact distances, not on the shape of tiles, and counts of parts of a gallery add up.

Contents: `Goods`, `count_before`, `ahead`.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, Integers
from reid_ref.ranking.roles import Mask
from reid_ref.ranking.tiles import Array, Part, Tile

#: Good images of a query above which one sort is faster than one comparison for each.
_SORT_FROM = 64

#: Open pairs that are compared at once, to bound memory.
_AT_ONCE = 2**17

_NONE = np.zeros(0, dtype=np.int64)

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Goods:
    """Pairs of query and good image to be ranked, query after query.

    Parameters
    ----------
    query, image : int64, shape (n,)
    value : array, shape (n,)
        Their exact distances.
    counts : bool, shape (n,)
        Whether the pair itself is counted, if its image is.
    """

    query: Integers
    image: Integers
    value: Array
    counts: Mask


@dataclass(frozen=True)
class Counting:
    """Which images of a part are counted.

    Parameters
    ----------
    left_out_query, left_out : int64, shape (pairs,)
        Pairs of query and gallery image that are not counted, query after query.
    columns : bool, shape (images of the part,), or None
        Images that are counted; None is all.
    place, query_place : int64, shape (images of the part,) and (n_query,), or None
        An image at the query's own place is not counted.
    """

    left_out_query: Integers
    left_out: Integers
    columns: Mask | None = None
    place: Integers | None = None
    query_place: Integers | None = None


class TooFarOff(ArithmeticError):
    """A tile differs from the exact distances by more than its bound."""


#: The message where products in double precision exceed their bound as well.
def wrong_products() -> InputError:
    """Return the error of a BLAS whose products are wrong."""
    return InputError("query_features, gallery_features", got="this machine's matrix products are "
                      "wrong even in double precision", remedy="use another BLAS")


def count_before(part: Part, goods: Goods, n_query: int, counting: Counting,
                 done: Callable[[float], object] | None = None) -> npt.NDArray[np.int64]:
    """Count the images of a part before each good image, in three kinds.

    `done`, if any, is called after each tile with its share of the part.

    Returns
    -------
    int64, shape (3, n)
        Images strictly nearer; others at the same distance; those of them that are earlier in
        the gallery. NaN is farther than any number, and equal to NaN.

    Raises
    ------
    TooFarOff
        A tile exceeds its bound.
    """
    before = np.zeros((3, len(goods.query)), dtype=np.int64)
    start = np.searchsorted(goods.query, np.arange(n_query + 1))
    images = [common(counting.columns, band.columns) for band in part.bands]
    counted = [part.images.stop - part.images.start if one is None else np.count_nonzero(one)
               for one in images]
    for band, columns, number in zip(part.bands, images, counted):
        if not number:
            continue
        lower, upper = band.bounds(goods.query, goods.value)
        farthest = _farthest(upper, start)
        open_pairs: list[tuple[Integers, Integers]] = []
        # One thread prepares tiles (few long calls, which release Python's lock) while this one
        # counts (many short calls), to use two cores.
        for tile in ahead(_prepared(tile, part, goods, start, farthest, counting)
                          for tile in band.tiles(columns)):
            for pairs in _count(tile, part, goods, start, lower, upper, before):
                open_pairs.append(pairs)
                if sum(len(good) for good, _ in open_pairs) > _AT_ONCE:
                    _decide(before, part, goods, open_pairs)
                    open_pairs = []
            if done is not None:
                done(tile.share * number / sum(counted))
        if open_pairs:
            _decide(before, part, goods, open_pairs)
    return before


def common(one: Mask | None, other: Mask | None) -> Mask | None:
    """Return the images that are in both masks."""
    if one is None or other is None:
        return other if one is None else one
    both: Mask = one & other
    return both


@dataclass(frozen=True)
class _Prepared:
    """A tile and its candidates: the images that may come before a good image.

    Parameters
    ----------
    values, counting, share
        Those of the tile; `counting` has two dimensions where places are ignored.
    first_row : int
    images : int64, shape (columns,)
        Gallery index of each column.
    near : int64
        Flat indices in `values` of images up to the row's farthest good image, row after row.
    candidates : array
        Their values.
    ends : int64, shape (rows + 1,)
        Where the candidates of each row start and end.
    good_column : int64, shape (good pairs of these rows,)
        Column of each good image; -1 if it is not in the tile, or not counted.
    left_out : two int64 arrays, shape (pairs,)
        Rows and columns of pairs that are not counted.
    """

    values: Array
    counting: Mask | None
    share: float
    first_row: int
    images: Integers
    near: Integers
    candidates: Array
    ends: Integers
    good_column: Integers
    left_out: tuple[Integers, Integers]


def _prepared(tile: Tile, part: Part, goods: Goods, start: Integers, farthest: Array,
              counting: Counting) -> _Prepared:
    n_rows, width = tile.values.shape
    counts = tile.counting
    if counting.place is not None and counting.query_place is not None:
        place = counting.place if tile.columns is None else counting.place[tile.columns]
        elsewhere = place != counting.query_place[tile.rows, np.newaxis]
        counts = elsewhere if counts is None else elsewhere & counts
    is_near = tile.values <= farthest[tile.rows, np.newaxis]
    if counts is not None:
        is_near &= counts
    out = slice(*np.searchsorted(counting.left_out_query, [tile.rows.start, tile.rows.stop]))
    columns = np.arange(width) if tile.columns is None else tile.columns
    column = _places(counting.left_out[out] - part.images.start, columns)
    left_out = counting.left_out_query[out][column >= 0] - tile.rows.start, column[column >= 0]
    is_near[left_out] = False
    near = np.flatnonzero(is_near)
    ends = np.searchsorted(near, width * np.arange(n_rows + 1))
    pairs = slice(start[tile.rows.start], start[tile.rows.stop])
    good_row = goods.query[pairs] - tile.rows.start
    good_column = _places(goods.image[pairs] - part.images.start, columns)
    there = goods.counts[pairs] & (good_column >= 0)
    if counts is not None:
        there &= counts[good_column] if counts.ndim == 1 else counts[good_row, good_column]
    return _Prepared(
        values=tile.values, counting=counts, share=tile.share, first_row=tile.rows.start,
        images=part.images.start + columns, near=near, ends=ends,
        candidates=tile.values.reshape(-1).take(near),
        good_column=np.where(there, good_column, -1), left_out=left_out)


def _places(images: Integers, columns: Integers) -> Integers:
    """Return the position of each image in `columns`, which ascend; -1 if it is not there."""
    place = np.searchsorted(columns, images)
    place[place == len(columns)] = 0
    return np.where(columns[place] == images, place, -1)


def _count(tile: _Prepared, part: Part, goods: Goods, start: Integers, lower: Array, upper: Array,
           before: npt.NDArray[np.int64]) -> Iterator[tuple[Integers, Integers]]:
    """Add the images of a tile before each good image to `before`.

    Yields the pairs that the tile leaves open, good pairs and images, some at a time. An exact
    tile leaves equal distances.
    """
    pairs = slice(start[tile.first_row], start[tile.first_row + len(tile.values)])
    row_starts = start[tile.first_row:tile.first_row + len(tile.values) + 1]
    if not part.is_exact:
        _check_slack(tile, goods, pairs, lower, upper)
    counted: list[int] = []
    found: list[tuple[Integers, Integers]] = []
    waiting = 0
    is_nan = _is_nan(goods.value[pairs])
    for nearer, good, place in _by_row(tile, row_starts - pairs.start, is_nan, lower[pairs],
                                       upper[pairs]):
        counted += nearer
        if not len(good):
            continue
        found.append((good, place))
        waiting += len(good)
        if waiting > _AT_ONCE:
            yield _others(tile, goods, pairs, found)
            found, waiting = [], 0
    before[0, pairs] += np.array(counted, dtype=np.int64)
    if found:
        yield _others(tile, goods, pairs, found)
    if is_nan.any():
        _count_nan(tile, goods, row_starts, before)


_Row = tuple[list[int], Integers, Integers]


def _by_row(tile: _Prepared, row_starts: Integers, is_nan: Mask, lower: Array,
            upper: Array) -> Iterator[_Row]:
    """Yield for each row with good pairs: the number of images nearer than each, beyond the
    tile's error; the undecided ones, themselves included, as good pairs and candidates.
    """
    in_tile = np.concatenate([[0], np.cumsum((tile.good_column >= 0) & ~is_nan)])
    # Lists: reading a single entry of an array takes as long as a comparison.
    themselves = np.diff(in_tile[row_starts]).tolist()
    starts, ends = row_starts.tolist(), tile.ends.tolist()
    low, high = lower[:, np.newaxis], upper[:, np.newaxis]
    for row in range(len(tile.values)):
        first, last = starts[row], starts[row + 1]
        if first == last:
            continue
        candidates = tile.candidates[ends[row]:ends[row + 1]]
        if last - first > _SORT_FROM:
            nearer, good, place = _by_one_sort(
                candidates, lower[first:last], upper[first:last], ~is_nan[first:last])
        else:
            nearer, good, place = _by_comparing(
                candidates, low[first:last], high[first:last], themselves[row])
        yield (nearer, good + first, place + ends[row]) if len(good) else (nearer, good, place)


def _by_one_sort(candidates: Array, low: Array, high: Array,
                 known: Mask) -> tuple[list[int], Integers, Integers]:
    """Count the candidates below each `low`; return the pairs from there to `high`."""
    order = np.argsort(candidates, kind="stable")
    ordered = candidates[order]
    nearer = known * np.searchsorted(ordered, low, side="left")
    reach = known * np.searchsorted(ordered, high, side="right")
    good, place = _ranges(nearer, reach)
    return nearer.tolist(), good, order[place]


def _by_comparing(candidates: Array, low: Array, high: Array,
                  themselves: int) -> tuple[list[int], Integers, Integers]:
    """As `_by_one_sort`; `low` and `high` are columns."""
    count: Callable[[Mask], int] = np.count_nonzero
    below = candidates < low
    nearer = [count(row) for row in below]
    within = candidates <= high
    # The common case: the only value within the bounds of a good image is its own.
    if count(within) - sum(nearer) == themselves:
        return nearer, _NONE, _NONE
    # np.nonzero is slow in two dimensions.
    good, place = np.divmod(np.flatnonzero(within ^ below), len(candidates))
    return nearer, good, place


def _check_slack(tile: _Prepared, goods: Goods, pairs: slice, lower: Array, upper: Array) -> None:
    """Refuse a tile whose values of good images exceed a quarter of the allowed error."""
    there = np.flatnonzero(tile.good_column >= 0)
    pair = pairs.start + there
    value = tile.values[goods.query[pair] - tile.first_row, tile.good_column[there]]
    middle = (lower[pair] + upper[pair]) / 2
    if (abs(value - middle) > (upper[pair] - lower[pair]) / 8).any():
        raise TooFarOff


def _others(tile: _Prepared, goods: Goods, pairs: slice,
            found: list[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """Return good pairs and images, from good pairs of the tile and candidates; not themselves."""
    good, place = (np.concatenate(side) for side in zip(*found))
    row = goods.query[pairs][good] - tile.first_row
    column = tile.near[place] - row * tile.values.shape[1]
    other = column != tile.good_column[good]
    return pairs.start + good[other], tile.images[column[other]]


def _decide(before: npt.NDArray[np.int64], part: Part, goods: Goods,
            open_pairs: list[tuple[Integers, Integers]]) -> None:
    """Compare good pairs and images that tiles leave open, by exact distances at last."""
    good, image = (np.concatenate(side) for side in zip(*open_pairs))
    row, own = goods.query[good], image - part.images.start
    if not part.is_exact:
        if part.closer is not None:
            query, one, place = _each_pair(row, own)
            distance, off = (found[place] for found in part.closer(query, one))
            farther = distance - goods.value[good]
            _add(before[0], good[farther < -off])
            is_open = abs(farther) <= off
            good, row, image, own = good[is_open], row[is_open], image[is_open], own[is_open]
        query, one, place = _each_pair(row, own)
        exact = part.exact(query, one)[place]
        _add(before[0], good[exact < goods.value[good]])
        tied = exact == goods.value[good]
        good, image = good[tied], image[tied]
    _add(before[1], good)
    _add(before[2], good[image < goods.image[good]])


def _add(counts: npt.NDArray[np.int64], good: Integers) -> None:
    counts += np.bincount(good, minlength=len(counts))


def _each_pair(query: Integers, image: Integers) -> tuple[Integers, Integers, Integers]:
    """Return each pair once, image after image, and the place of every given pair among them."""
    # In this order a gallery feature is read once, and those of the queries are in the cache.
    height = 1 + int(query.max(initial=0))
    pair, place = np.unique(image * height + query, return_inverse=True)
    one, row = np.divmod(pair, height)
    return row, one, place.reshape(-1)


def _count_nan(tile: _Prepared, goods: Goods, row_starts: Integers,
               before: npt.NDArray[np.int64]) -> None:
    """Count for good images at distance NaN, which come after all numbers."""
    for row, values in enumerate(tile.values):
        pairs = np.arange(row_starts[row], row_starts[row + 1])
        pairs = pairs[_is_nan(goods.value[pairs])]
        if not len(pairs):
            continue
        counts = np.ones(len(values), dtype=bool)
        if tile.counting is not None:
            counts &= tile.counting if tile.counting.ndim == 1 else tile.counting[row]
        counts[tile.left_out[1][tile.left_out[0] == row]] = False
        is_nan = tile.images[_is_nan(values) & counts]
        before[0, pairs] += np.count_nonzero(counts) - len(is_nan)
        before[1, pairs] += len(is_nan) - (tile.good_column[pairs - row_starts[0]] >= 0)
        before[2, pairs] += np.searchsorted(is_nan, goods.image[pairs])


def _farthest(upper: Array, start: Integers) -> Array:
    """Return each query's largest distance of a good image, NaN aside; the minimum without one."""
    lowest = -np.inf if upper.dtype.kind == "f" else np.iinfo(upper.dtype).min
    farthest = np.full(len(start) - 1, lowest, dtype=upper.dtype)
    has = start[1:] > start[:-1]
    if has.any():
        farthest[has] = np.fmax.reduceat(upper, start[:-1][has])
    return farthest


def _is_nan(values: Array) -> Mask:
    is_nan: Mask = values != values
    return is_nan


def _ranges(first: Integers, last: Integers) -> tuple[Integers, Integers]:
    """Return the numbers of all ranges, concatenated, and the range that each belongs to."""
    count = last - first
    which = np.repeat(np.arange(len(count)), count)
    return which, np.arange(len(which)) + np.repeat(first - np.cumsum(count) + count, count)


_END: Any = object()


def ahead(items: Iterable[_Item], number: int = 2) -> Iterator[_Item]:
    """Yield the items in order, while one thread prepares the next `number` of them.

    Examples
    --------
    >>> list(ahead(k * k for k in range(4)))
    [0, 1, 4, 9]
    """
    iterator = iter(items)
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(next, iterator, _END) for _ in range(number))
        while (item := waiting.popleft().result()) is not _END:
            waiting.append(pool.submit(next, iterator, _END))
            yield item
