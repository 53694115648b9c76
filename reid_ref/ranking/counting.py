"""How many images come before each good one: the inner loop.

A rank is a count, so nothing is sorted: of each tile, the images nearer than the query's
farthest good one are taken out, and compared with every good one. Where a tile is not exact,
the few images too near to a good one to tell are looked at exactly. So the counts depend on
exact distances alone, not on the shape of the tiles, and counts of parts of a gallery add up.

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

from reid_ref.arrays import Integers
from reid_ref.ranking.roles import Mask
from reid_ref.ranking.tiles import Array, Part, Tile

#: Above this many good images of a query, one sort is cheaper than one comparison for each.
_SORT_FROM = 64

#: Unclear pairs that are looked at together, or memory would grow with them.
_TOGETHER = 2**17

_NONE = np.zeros(0, dtype=np.int64)

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Goods:
    """Good pairs, query after query, whose ranks are wanted.

    Parameters
    ----------
    query, image : int64, shape (n,)
    value : array, shape (n,)
        Their exact distances.
    counts : bool, shape (n,)
        Whether the pair itself counts, if the image does.
    """

    query: Integers
    image: Integers
    value: Array
    counts: Mask


@dataclass(frozen=True)
class Counting:
    """Which images of a part count.

    Parameters
    ----------
    left_out_query, left_out : int64, shape (pairs,)
        Pairs of query and gallery image that do not count, query after query.
    columns : bool, shape (images of the part,), or None
        The images that count; None is all.
    place, query_place : int64, shape (images of the part,) and (n_query,), or None
        An image at the query's own place does not count.
    """

    left_out_query: Integers
    left_out: Integers
    columns: Mask | None = None
    place: Integers | None = None
    query_place: Integers | None = None


class TooFarOff(ArithmeticError):
    """A tile's value lies farther from the exact distance than its slack allows for."""


#: What is said where products in double precision are too far off as well.
WRONG_PRODUCTS = ("query_features, gallery_features: this machine's matrix products are wrong "
                  "even in double precision; use another BLAS")


def count_before(part: Part, goods: Goods, n_query: int, counting: Counting,
                 done: Callable[[float], object] | None = None) -> npt.NDArray[np.int64]:
    """Count the images of a part that are nearer than each good one, as near, and earlier.

    Parameters
    ----------
    part : Part
    goods : Goods
    n_query : int
    counting : Counting
    done : callable, optional
        Called after each tile with its share of the part; they add up to 1, if any counts.

    Returns
    -------
    int64, shape (3, n)
        Images strictly nearer; others at the same distance; those of them that stand before
        it in the gallery. NaN is farther than everything, and as far as NaN.

    Raises
    ------
    TooFarOff
        The tiles are less precise than the part says.
    """
    before = np.zeros((3, len(goods.query)), dtype=np.int64)
    if counting.columns is not None and not counting.columns.any():
        return before
    start = np.searchsorted(goods.query, np.arange(n_query + 1))
    lower, upper = part.bounds(goods.query, goods.value)
    farthest = _farthest(upper, start)
    # One thread takes the tiles apart (few long calls, which release Python's lock), this one
    # counts (many short ones), so both cores have work.
    for tile in ahead(_taken_apart(tile, part, goods, start, farthest, counting)
                      for tile in part.tiles(counting.columns)):
        _count(tile, part, goods, start, lower, upper, before)
        if done is not None:
            done(tile.share)
    return before


@dataclass(frozen=True)
class _Apart:
    """A tile taken apart.

    Parameters
    ----------
    values, counting, share
        The tile's; `counting` is for each row its own where places matter.
    first_row : int
    images : int64, shape (columns,)
        Gallery images of the columns.
    near : int64
        Columns of images that are not behind the row's farthest good one, row after row.
    candidates : array
        Their values.
    ends : int64, shape (rows + 1,)
        Where each row's candidates end.
    good_column : int64, shape (good pairs of these rows,)
        Their columns; -1 where the image is not in the tile, or does not count.
    left_out : two int64 arrays, shape (pairs,)
        Rows and columns of pairs that do not count.
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


def _taken_apart(tile: Tile, part: Part, goods: Goods, start: Integers, farthest: Array,
                 counting: Counting) -> _Apart:
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
    return _Apart(
        values=tile.values, counting=counts, share=tile.share, first_row=tile.rows.start,
        images=part.images.start + columns, near=near, ends=ends,
        candidates=tile.values.reshape(-1).take(near),
        good_column=np.where(there, good_column, -1), left_out=left_out)


def _places(images: Integers, columns: Integers) -> Integers:
    """Return at which place of `columns`, which ascend, each image stands; -1 is nowhere."""
    place = np.searchsorted(columns, images)
    place[place == len(columns)] = 0
    return np.where(columns[place] == images, place, -1)


def _count(tile: _Apart, part: Part, goods: Goods, start: Integers, lower: Array, upper: Array,
           before: npt.NDArray[np.int64]) -> None:
    """Add what a tile has before each good image."""
    pairs = slice(start[tile.first_row], start[tile.first_row + len(tile.values)])
    row_starts = start[tile.first_row:tile.first_row + len(tile.values) + 1]
    if not part.is_exact:
        _check_slack(tile, goods, pairs, lower, upper)
    counted: list[int] = []
    unclear: list[tuple[Integers, Integers]] = []
    waiting = 0
    is_nan = _is_nan(goods.value[pairs])
    for nearer, good, image, among in _by_row(
            tile, row_starts - pairs.start, is_nan, lower[pairs], upper[pairs]):
        counted += nearer
        if not len(good):
            continue
        good = good + pairs.start
        if part.is_exact:
            _add_ties(before, good, image, goods,
                      slice(pairs.start + among.start, pairs.start + among.stop))
            continue
        unclear.append((good, image))
        waiting += len(good)
        if waiting > _TOGETHER:
            _look_closer(before, part, goods, pairs, unclear)
            unclear, waiting = [], 0
    before[0, pairs] += np.array(counted, dtype=np.int64)
    if unclear:
        _look_closer(before, part, goods, pairs, unclear)
    if is_nan.any():
        _count_nan(tile, goods, row_starts, before)


_Row = tuple[list[int], Integers, Integers, slice]


def _by_row(tile: _Apart, row_starts: Integers, is_nan: Mask, lower: Array,
            upper: Array) -> Iterator[_Row]:
    """Yield, of each row with good pairs: how many images are surely nearer than each of them;
    (good pair, image) wherever the tile cannot tell; which good pairs are the row's.
    """
    width = tile.values.shape[1]
    in_tile = np.concatenate([[0], np.cumsum((tile.good_column >= 0) & ~is_nan)])
    # Plain numbers and lists: single entries of arrays take as long as a comparison does.
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
        image = _NONE
        if len(good):
            good = good + first
            column = tile.near[ends[row] + place] - row * width
            other = column != tile.good_column[good]
            good, image = good[other], tile.images[column[other]]
        yield nearer, good, image, slice(first, last)


def _by_one_sort(candidates: Array, low: Array, high: Array,
                 known: Mask) -> tuple[list[int], Integers, Integers]:
    """Return how many candidates are below each `low`; those from there to `high`, and whose."""
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
    nearer = [count(one) for one in below]
    within = candidates <= high
    # Mostly nothing is as near as a good image but that image itself.
    if count(within) - sum(nearer) == themselves:
        return nearer, _NONE, _NONE
    # nonzero is slow in two dimensions.
    good, place = np.divmod(np.flatnonzero(within ^ below), len(candidates))
    return nearer, good, place


def _check_slack(tile: _Apart, goods: Goods, pairs: slice, lower: Array, upper: Array) -> None:
    """The good images' own values tell how far off the tile's are: a quarter of what is allowed.
    """
    there = np.flatnonzero(tile.good_column >= 0)
    pair = pairs.start + there
    value = tile.values[goods.query[pair] - tile.first_row, tile.good_column[there]]
    middle = (lower[pair] + upper[pair]) / 2
    if (abs(value - middle) > (upper[pair] - lower[pair]) / 8).any():
        raise TooFarOff


def _add_ties(before: npt.NDArray[np.int64], good: Integers, image: Integers, goods: Goods,
              among: slice) -> None:
    """Add images at the very distance of good ones, which are some of `among`."""
    n = among.stop - among.start
    before[1, among] += np.bincount(good - among.start, minlength=n)
    earlier = good[image < goods.image[good]]
    before[2, among] += np.bincount(earlier - among.start, minlength=n)


def _look_closer(before: npt.NDArray[np.int64], part: Part, goods: Goods, among: slice,
                 unclear: list[tuple[Integers, Integers]]) -> None:
    """Compare exactly where a tile cannot tell: good images, which are some of `among`."""
    good, image = (np.concatenate(side) for side in zip(*unclear))
    n_images = part.images.stop - part.images.start
    pair = goods.query[good] * n_images + (image - part.images.start)
    pair, place = np.unique(pair, return_inverse=True)
    value = part.exact(*np.divmod(pair, n_images))[place.reshape(-1)]
    nearer = good[value < goods.value[good]]
    before[0, among] += np.bincount(nearer - among.start, minlength=among.stop - among.start)
    tied = value == goods.value[good]
    _add_ties(before, good[tied], image[tied], goods, among)


def _count_nan(tile: _Apart, goods: Goods, row_starts: Integers,
               before: npt.NDArray[np.int64]) -> None:
    """Good images at distance NaN stand behind all numbers."""
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
    """Return each query's farthest good image that is not NaN; the least number without one."""
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
    """Return the numbers of all ranges one after the other, and the range of each."""
    count = last - first
    which = np.repeat(np.arange(len(count)), count)
    return which, np.arange(len(which)) + np.repeat(first - np.cumsum(count) + count, count)


_END: Any = object()


def ahead(items: Iterable[_Item], number: int = 2) -> Iterator[_Item]:
    """Yield the items in order, while one thread makes so many of them ahead.

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
