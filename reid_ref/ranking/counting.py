"""Distances in tiles, and the number of images before each good image: the inner loop.

A `GalleryPart` returns the exact distance of single pairs, and yields tiles of all pairs,
whose values may be off by a known bound. A rank is a count, so the gallery is not sorted. Of each
tile, only images nearer than the query's farthest good image are compared with its good images.
The few images that the error of a tile leaves open are measured exactly, each once for a query,
however many of its good images are near; if they are many, a finer part counts instead. So
counts depend only on exact distances, not on the shape of tiles, and those of parts add up.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Array, InputError, Integers, Mask, blocks_of
from reid_ref.arrays.cores import blas_threads, cores, in_threads
from reid_ref.arrays.scratch import scratch
from reid_ref.ranking.gates import Gate, every_gate
from reid_ref.ranking.ranges import among_good


#: Distances in a tile at most, and the bytes that counting takes for each.
TILE, TILE_BYTES = 1_000_000, 48

#: Tiles of a matrix in a block at most. What is done block by block takes Python's lock.
TILES = 4


def tile_size(max_memory: int) -> int:
    """Return the distances of a tile, of which each thread counts one."""
    return max(1, min(TILE, max_memory // (TILE_BYTES * cores())))


@dataclass(frozen=True)
class Tile:
    """Distances of a block of queries to images of a part.

    Parameters
    ----------
    rows : slice
        The queries.
    values : array, shape (rows, columns)
        Smaller is nearer.
    columns : int64, shape (columns,)
        The images' indices in the part, ascending.
    share : float
        Share of the band's distances; those of all its tiles add up to 1.
    """

    rows: slice
    values: Any
    columns: Integers
    share: float

    def among(self, images: slice, counting: Counting, farthest: Array,
              sought: Sought) -> tuple[Before, Open]:
        """Count the images before each good image, but for those that the error leaves open.

        The candidates, images of a part up to the row's farthest good image (if these are many,
        those that `among_good` chooses), are put in order as whole numbers of row, value and
        column: few long calls, which release Python's lock.
        """
        row, (n_rows, width) = sought.row, self.values.shape
        near, values, _ = self._near(images, counting, farthest)
        ends = width * np.arange(n_rows + 1)
        start = np.searchsorted(near, ends)
        if some := among_good(values, np.diff(start), row, sought.low, sought.high):
            near, values = near[some[0]], values[some[0]]
            start = np.searchsorted(near, ends)
        bits, size = width.bit_length(), np.diff(start)
        centre = farthest  # finite where an image is near
        key = scratch("key", near.shape, np.dtype(np.int64))
        np.left_shift(_ordinal(values, centre, size), bits, out=key, dtype=np.int64)
        key += near
        rows = np.arange(n_rows, dtype=np.int64)
        key += np.repeat((rows << 32 + bits) - width * rows, size)
        # Many are sorted faster row by row, some all at once.
        for first, last in [(0, len(key))] if some else zip(start.tolist(), start[1:].tolist()):
            key[first:last].sort()
        row_key = row << 32 + bits
        lowest, highest = (_ordinal(side.copy(), centre[row], 1).astype(np.int64)
                           for side in (sought.low, sought.high))
        first = np.searchsorted(key, row_key + (lowest << bits))
        last = np.searchsorted(key, row_key + (highest + 1 << bits))

        def columns(place: Integers) -> Integers:
            return cast(Integers, self.columns[key[place] & (1 << bits) - 1])

        itself = by_itself(first, last, sought.image - images.start, columns)
        nearer, place = outside(first, last, start[row], itself)
        return nearer_alone(nearer + some[1] if some else nearer), (
            np.searchsorted(start, place, side="right") - 1, columns(place))

    def _near(self, images: slice, counting: Counting,
              farthest: Array) -> tuple[Integers, Array, Mask]:
        """Return flat indices, values and mask of the images that may come before a good image."""
        size = self.values.size
        room = scratch("near", (size + size // 8 + 1,), np.dtype(bool))
        is_near: Mask = room[:size].reshape(self.values.shape)
        np.less_equal(self.values, farthest[:, np.newaxis], out=is_near)
        is_near &= counting.columns[self.columns]
        for gate in counting.gates:
            is_near &= gate.tile(self.rows, self.columns)
        is_near[counting.left_out_of(self.rows, images.start + self.columns)] = False
        # numpy takes three times as long where 3 to 10 % are true as where more are.
        number = np.count_nonzero(is_near)
        room[size:] = True
        near = np.flatnonzero(room if .03 * size < number <= .1 * size else room[:size])[:number]
        values = scratch("values", near.shape, self.values.dtype)
        return near, self.values.take(near, out=values, mode="clip"), is_near


class ExactTile(Tile):
    """Distances as they are ranked, which leave nothing open."""

    def among(self, images: slice, counting: Counting, farthest: Array,
              sought: Sought) -> tuple[Before, Open]:
        """Count the images before each good image.

        Values alone are put in order, in half the time; their columns as well only in rows where
        other images are at the distance of a good one.
        """
        near, values, is_near = self._near(images, counting, farthest)
        n_rows, width = self.values.shape
        counts = np.zeros((3, len(sought.row)), np.int64)
        if not len(near):
            return counts, NONE_OPEN
        rows, first = np.arange(n_rows + 1), counts[0]
        start = np.searchsorted(near, width * rows)
        starts, pairs = start.tolist(), np.searchsorted(sought.row, rows).tolist()
        for k, end, pair, last_pair in zip(starts, starts[1:], pairs, pairs[1:]):
            of_query = values[k:end]
            of_query.sort()
            first[pair:last_pair] = of_query.searchsorted(sought.low[pair:last_pair])
        column = places(sought.image - images.start, self.columns)
        itself = is_near[sought.row, column] & (column >= 0)
        # Where an image is counted itself, its own value is first, and another equal one next.
        place = start[sought.row] + first + itself
        tied = np.flatnonzero(values.take(place, mode="clip") == sought.low)
        tied = tied[place[tied] < start[sought.row[tied] + 1]]
        counts[1, tied] -= itself[tied]
        row, column = sought.row[tied], np.searchsorted(self.columns, sought.image[tied]
                                                        - images.start)
        for some in np.split(np.arange(len(tied)), np.flatnonzero(np.diff(row)) + 1):
            if len(some):
                k, which = int(row[some[0]]), tied[some]
                inside = slice(starts[k], starts[k + 1])
                columns, low = near[inside] - width * k, sought.low[which]
                counts[1, which] += values[inside].searchsorted(low, side="right") - first[which]
                counts[2, which] = _equal_before(self.values[k, columns], low,
                                                 columns.searchsorted(column[some]))
        return counts, NONE_OPEN


#: Good images of a row, or distances of these, that are looked up one by one, in less time than
#: all are put in order.
FEW = 32


def _equal_before(values: Array, value: Array, place: Integers) -> Any:
    """Count the values before each place that are equal to another, which is among them all."""
    if len(value) <= FEW:
        return [np.count_nonzero(values[:end] == number)
                for number, end in zip(value.tolist(), place.tolist())]
    different = np.unique(value)
    if len(different) <= FEW:
        counts = np.empty(len(value), np.int64)
        for number in different:
            wanted = value == number
            counts[wanted] = np.flatnonzero(values == number).searchsorted(place[wanted])
        return counts
    if values.dtype == np.float32:
        number, wanted = (_ordinal(side, 0, 1).astype(np.int64) for side in (values, value))
        key = (number << 32) + np.arange(len(values))
    else:
        order = np.argsort(values)
        values = values[order]
        number = np.append(0, np.cumsum(values[1:] != values[:-1]))
        wanted = number[values.searchsorted(value)]
        key = (number << 32) + order
    key.sort()
    wanted <<= 32
    return key.searchsorted(wanted + place) - key.searchsorted(wanted)


class Block(NamedTuple):
    """Consecutive queries, and a function that makes tiles of them in the thread that counts."""

    rows: slice
    tiles: Callable[[], Iterator[Tile]]


@dataclass(frozen=True)
class Band:
    """Images of a part whose tiles have one bound of error; every image is in one band.

    Parameters
    ----------
    columns : bool, shape (images of the part,)
        The images of the band.
    blocks : callable
        Mask of images of the band, to an iterator of blocks, whose tiles have these at least.
    scale, off : float64, shape (n_query,)
        A value in a tile differs from the exact distance, divided by its query's `scale`, by less
        than `off`. None: tiles are exact.
    precision : dtype
        Of the values in tiles.
    """

    columns: Mask
    blocks: Callable[[Mask], Iterator[Block]]
    scale: Array | None = None
    off: Any = None
    precision: Any = np.float64

    def bounds(self, query: Integers, value: Array) -> tuple[Array, Array]:
        """Return the lowest and the highest value in tiles of pairs at exact distances `value`."""
        if self.scale is None:
            return value, value
        # A good image of another band may be infinitely far in this one's tiles.
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            middle, off = value / self.scale[query], self.off[query]
            return (middle - off).astype(self.precision), (middle + off).astype(self.precision)


@dataclass(frozen=True)
class GalleryPart:
    """Distances from all queries to consecutive gallery images.

    Parameters
    ----------
    images : slice
        The gallery images.
    exact : callable
        Indices of query and image of the part, both int64 of shape (pairs,), to the exact
        distances of these pairs, which are ranked. Smaller is nearer; NaN is farthest.
    bands : list of Band
    is_nan : callable
        A query to the mask of the images of the part at distance NaN.
    within : callable, or None
        As `exact`, to a lowest and a highest value of each distance, in less time.
    finer : callable, or None
        To a part of the same images and distances, whose tiles leave fewer pairs open, at a price.
    """

    images: slice
    exact: Callable[[Integers, Integers], Array]
    bands: list[Band]
    is_nan: Callable[[int], Mask]
    within: Callable[[Integers, Integers], tuple[Array, Array]] | None = None
    finer: Callable[[], GalleryPart] | None = None


#: Open pairs that are measured at once, to bound memory.
OPEN_AT_ONCE = 2**17

#: Pairs of a block that are open at most, if a finer part can be had: some, and a share. To
#: measure a pair of features takes about fifty times as long as its share of a product of all.
SOME_OPEN, MOST_OPEN = 2**12, 1 / 16

#: Counts, as `count_before` returns them: int64, shape (3, good pairs).
Before = Integers

#: The pairs that the error of a tile leaves open, each once: row in the tile, and image of the
#: part. They may be good images.
Open = tuple[Integers, Integers]
NONE_OPEN: Open = (np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True)
class Goods:
    """Pairs of query and good image to be ranked, query after query.

    Parameters
    ----------
    query, image : int64, shape (n,)
    value : array, shape (n,)
        Their exact distances.
    """

    query: Integers
    image: Integers
    value: Array

    def among(self, pairs: Any) -> Goods:
        """Return some of the pairs."""
        return Goods(self.query[pairs], self.image[pairs], self.value[pairs])


class Sought(NamedTuple):
    """Good pairs that are ranked in a tile, query after query.

    Parameters
    ----------
    row, image : int64, shape (n,)
        The query's row in the tile, and the gallery image.
    low, high : array, shape (n,)
        The lowest and the highest value that the pair can have in the tile.
    """

    row: Integers
    image: Integers
    low: Array
    high: Array


@dataclass(frozen=True)
class Counting:
    """Which images of a part are counted.

    Parameters
    ----------
    left_out_query, left_out : int64, shape (pairs,)
        Pairs of query and gallery image that are not counted, query after query.
    columns : bool, shape (images of the part,)
        Images that are counted.
    gates : tuple of Gate
        What an image must pass to be counted for a query.
    """

    left_out_query: Integers
    left_out: Integers
    columns: Mask
    gates: tuple[Gate, ...] = ()

    def within(self, images: slice) -> Counting:
        """Return which images of a part are counted, given those of the gallery."""
        return replace(self, columns=self.columns[images],
                       gates=tuple(gate.within(images) for gate in self.gates))

    def left_out_of(self, rows: slice, images: Integers) -> tuple[Integers, Integers]:
        """Return row and column in a tile, of these queries and images, of pairs left out."""
        pairs = slice(*np.searchsorted(self.left_out_query, [rows.start, rows.stop]))
        column = places(self.left_out[pairs], images)
        return self.left_out_query[pairs][column >= 0] - rows.start, column[column >= 0]


class TooFarOff(ArithmeticError):
    """A tile differs from the exact distances by more than its bound."""


class TooManyOpen(ArithmeticError):
    """A tile leaves more pairs open than are worth measuring one by one."""


def wrong_products() -> InputError:
    """Return the error of a BLAS whose products are wrong."""
    return InputError("query_features, gallery_features", got="this machine's matrix products are "
                      "wrong even in double precision", remedy="use another BLAS")


def count_before(part: GalleryPart, goods: Goods, n_query: int, counting: Counting,
                 done: Callable[[float], object] | None = None) -> Before:
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
    before, reported = np.zeros((3, len(goods.query)), dtype=np.int64), 0.0
    start = np.searchsorted(goods.query, np.arange(n_query + 1))
    images = [counting.columns & band.columns for band in part.bands]
    counted = [np.count_nonzero(mask) for mask in images]
    with suppress(TooManyOpen), blas_threads(1):  # each thread has products of its own
        for band, columns, number in zip(part.bands, images, counted):
            count = partial(_count_block, part, band, goods, start, counting)
            blocks = band.blocks(columns) if number else ()
            for pairs, share, counts in in_threads(count, blocks):
                before[:, pairs] += counts
                reported += share * number / sum(counted)
                if done is not None:
                    done(share * number / sum(counted))
        _count_nan(part, goods, start, counting, before)
        return before
    finer = cast(Callable[[], GalleryPart], part.finer)()
    return count_before(finer, goods, n_query, counting,
                        None if done is None else lambda share: done((1 - reported) * share))


def _count_block(part: GalleryPart, band: Band, goods: Goods, start: Integers, counting: Counting,
                 block: Block) -> tuple[slice, float, Before]:
    """Return the good pairs of a block, its share of the band, and the counts of these pairs."""
    first, last = start[[block.rows.start, block.rows.stop]].tolist()
    goods, share = goods.among(slice(first, last)), 0.0
    left_open, n_open, n_seen = list[Open](), 0, 0
    start = start[block.rows.start:block.rows.stop + 1] - first
    bounds = band.bounds(goods.query, goods.value)
    farthest = farthest_good(bounds[1], start)
    before = np.zeros((3, last - first), dtype=np.int64)
    for tile in block.tiles():
        share += tile.share
        rows = slice(tile.rows.start - block.rows.start, tile.rows.stop - block.rows.start)
        pairs = np.arange(start[rows.start], start[rows.stop])
        pairs = pairs[bounds[0][pairs] == bounds[0][pairs]]  # not NaN
        sought = Sought(goods.query[pairs] - tile.rows.start, goods.image[pairs],
                        *(side[pairs] for side in bounds))
        if band.scale is not None:
            _check_slack(tile, part, sought)
        counts, (row, image) = tile.among(part.images, counting, farthest[rows], sought)
        before[:, pairs] += counts
        left_open.append((tile.rows.start + row, image))
        n_open += len(row) - len(pairs)  # good images are at their own place
        n_seen += (rows.stop - rows.start) * len(tile.columns)
        if part.finer and n_open > SOME_OPEN + MOST_OPEN * n_seen:
            raise TooManyOpen
        if sum(len(image) for _, image in left_open) > OPEN_AT_ONCE:
            _measure(before, part, goods, left_open)
            left_open = []
    _measure(before, part, goods, left_open)
    return slice(first, last), share, before


def _check_slack(tile: Tile, part: GalleryPart, sought: Sought) -> None:
    """Refuse a tile whose values of good images exceed a quarter of the allowed error."""
    column = places(sought.image, part.images.start + tile.columns)
    inside = column >= 0
    lower, upper = sought.low[inside], sought.high[inside]
    value = tile.values[sought.row[inside], column[inside]]
    if (abs(value - (lower + upper) / 2) > (upper - lower) / 8).any():
        raise TooFarOff


def _ordinal(values: Array, centre: Any, times: Any) -> npt.NDArray[np.int32]:
    """Return whole numbers in the order of the values, none of them NaN; singles are overwritten.

    Values that are no singles are rounded to these, their distance from `centre`, of which each
    holds for so many `times`; so different ones may have the same number.
    """
    with np.errstate(over="ignore"):
        if not np.can_cast(values.dtype, np.float32):
            values = values.astype(np.result_type(values, np.float64)) - np.repeat(centre, times)
        values = values.astype(np.float32, copy=False)
    values += np.float32(0)  # makes -0 the same as 0
    number = values.view(np.int32)  # in which negative singles descend
    number ^= number >> 31 & 0x7FFFFFFF
    return number


def places(images: Integers, columns: Integers) -> Integers:
    """Return the position of each image in `columns`, which ascend; -1 if it is not in them."""
    place = np.searchsorted(columns, images)
    place[place == len(columns)] = 0
    return np.where(columns[place] == images, place, -1)


def _measure(before: Before, part: GalleryPart, goods: Goods, left_open: list[Open]) -> None:
    """Count the images that tiles leave open, by exact distances."""
    query, image = (np.concatenate(side) for side in zip(NONE_OPEN, *left_open))
    for some in blocks_of(len(query), OPEN_AT_ONCE):
        asked = query[some]
        pairs = np.arange(*np.searchsorted(goods.query, [asked.min(), asked.max() + 1]))
        pairs = pairs[np.bincount(asked, minlength=len(goods.query) and goods.query[-1] + 1)
                      [goods.query[pairs]] > 0]
        pairs = pairs[goods.value[pairs] == goods.value[pairs]]  # not NaN
        of_rows = goods.among(pairs)
        levels, of_good = _levels(of_rows)
        among, n_good = _measured(part, of_rows, asked, image[some])
        before[:, pairs] += _count_among(of_rows, of_good, among, levels, n_good)


def _measured(part: GalleryPart, goods: Goods, query: Integers,
              image: Integers) -> tuple[Goods, int]:
    """Return pairs with their distances, but only roughly where no good image is as far.

    Also, how many of them are good.
    """
    width = 1 + int(max(goods.image.max(), image.max() + part.images.start))
    key, good = query * width + image + part.images.start, goods.query * width + goods.image
    place = np.searchsorted(good, key)
    is_good = np.append(good, -1)[place] == key
    # Image after image: a gallery feature is read once, and those of queries are in the cache.
    height = 1 + int(query.max())
    pair = np.sort((image * height + query)[~is_good])
    query, image = pair % height, pair // height
    if part.within is None:
        value = part.exact(query, image)
    else:
        lowest, value = part.within(query, image)
        some = np.flatnonzero(_has_good(goods, query, lowest, value))
        value[some] = part.exact(query[some], image[some])
    known = goods.among(place[is_good])
    return Goods(*map(np.concatenate, (
        (query, known.query), (part.images.start + image, known.image), (value, known.value)))
    ), len(known.query)


def _has_good(goods: Goods, query: Integers, lowest: Array, highest: Array) -> Mask:
    """Return whether a good image of the query is at a distance in the range, both ends included.

    The values of each query are searched by halves, of all ranges at once: `searchsorted` of whole
    numbers that stand for query and value takes three times as long.
    """
    value = np.append(goods.value[np.lexsort((goods.value, goods.query))], np.inf)
    start = np.searchsorted(goods.query, np.arange(int(query.max(initial=0)) + 2))
    low, high, end = start[query], start[query + 1], start[query + 1]
    for _ in range(int((high - low).max(initial=0)).bit_length()):
        middle = (low + high) // 2
        is_lower = (middle < high) & (value[middle] < lowest)
        low, high = np.where(is_lower, middle + 1, low), np.where(is_lower, high, middle)
    return (low < end) & ~(value[low] > highest)


#: Pairs of query and distance to whole numbers, in their order: two, which enclose those of the
#: query's good images that are at this distance. NaN is farthest, and equal to NaN.
Levels = Callable[[Integers, Array], tuple[Integers, Integers]]


def _levels(goods: Goods) -> tuple[Levels, Integers]:
    """Return the levels that good images define, and the first level of each of these."""
    order, of_good = np.argsort(goods.value), np.empty(len(goods.value), np.int64)
    values = goods.value[order]

    def levels(query: Integers, value: Array) -> tuple[Integers, Integers]:
        order, sides = np.argsort(value), np.empty((2, len(value)), np.int64)
        in_order = value[order]  # which are searched for several times faster
        sides[:, order] = (np.searchsorted(values, in_order),
                           np.searchsorted(values, in_order, side="right"))
        low, high = sides + query * (len(values) + 1)
        return low, high

    of_good[order] = np.searchsorted(values, values)
    return levels, of_good + goods.query * (len(values) + 1)


def before_among(goods: Goods, among: Goods) -> Before:
    """Count as `count_before` does, but only these pairs, each given once, in any order."""
    levels, of_good = _levels(goods)
    return _count_among(goods, of_good, among, levels)


def _count_among(goods: Goods, of_good: Integers, among: Goods, levels: Levels,
                 n_good: int = 0) -> Before:
    low, high = levels(among.query, among.value)
    n_queries = 1 + int(max(goods.query.max(initial=0), among.query.max(initial=0)))
    earlier_queries = np.cumsum(np.bincount(among.query + 1, minlength=n_queries + 1))
    counts = nearer_alone(np.searchsorted(np.sort(high), of_good, side="right")
                          - earlier_queries[goods.query])
    numbers = np.sort(of_good)
    tied = np.flatnonzero(low < high)  # the distance is that of some good image
    place = np.searchsorted(numbers, low[tied])
    of_query = np.append(numbers, -1)[place] == low[tied]  # of one of this query
    tied, place = tied[of_query], place[of_query]
    if len(tied) == n_good and (np.diff(numbers) > 0).all():  # each good image with itself
        return counts
    width = 1 + int(max(goods.image.max(initial=0), among.image.max(initial=0)))
    key = np.sort(place * width + among.image[tied])
    row = np.searchsorted(numbers, of_good) * width
    first, before, last = (np.searchsorted(key, edge) for edge in (
        row, row + goods.image, row + width))
    itself = np.append(key, -1)[before] == row + goods.image
    counts[1:] = last - first - itself, before - first
    return counts


def _count_nan(part: GalleryPart, goods: Goods, start: Integers, counting: Counting,
               before: Before) -> None:
    """Count for good images at distance NaN, which come after all numbers."""
    images = np.arange(part.images.start, part.images.stop)
    is_nan = goods.value != goods.value
    for query in np.unique(goods.query[is_nan]).tolist():
        pairs = start[query] + np.flatnonzero(is_nan[start[query]:start[query + 1]])
        counts = counting.columns & every_gate(
            counting.gates, slice(query, query + 1), slice(None))[0]
        out = counting.left_out_of(slice(query, query + 1), images)[1]
        counts = counts & ~np.isin(np.arange(len(images)), out)
        nan_images = images[part.is_nan(query) & counts]
        before[0, pairs] += np.count_nonzero(counts) - len(nan_images)
        before[1, pairs] += len(nan_images) - np.isin(goods.image[pairs], nan_images)
        before[2, pairs] += np.searchsorted(nan_images, goods.image[pairs])


def farthest_good(upper: Array, start: Integers) -> Array:
    """Return each query's largest distance of a good image, NaN aside; the minimum without one."""
    lowest = -np.inf if upper.dtype.kind == "f" else np.iinfo(upper.dtype).min
    farthest = np.full(len(start) - 1, lowest, dtype=upper.dtype)
    has = start[1:] > start[:-1]
    if has.any():
        farthest[has] = np.fmax.reduceat(upper, start[:-1][has])
    return farthest


def nearer_alone(nearer: Integers) -> Before:
    """Return counts without images at the same distance."""
    return np.stack([nearer, 0 * nearer, 0 * nearer])


def by_itself(first: Integers, last: Integers, column: Integers,
              columns: Callable[[Integers], Integers]) -> Mask:
    """Return which ranges are a single place, that of the good image in this column."""
    single, itself = np.flatnonzero(last - first == 1), np.zeros(len(first), bool)
    itself[single] = columns(first[single]) == column[single]
    return itself


def outside(first: Integers, last: Integers, row_start: Integers,
            itself: Mask) -> tuple[Integers, Integers]:
    """Return how many places of a row before each range are in no range, and all that are in one.

    Each range of places is of one good image, in the row that starts at a place. One that holds
    this image alone, and is part of no other, leaves nothing open, and is none.

    Examples
    --------
    >>> outside(np.array([2, 3, 7]), np.array([4, 6, 9]), np.array([0, 0, 6]), np.zeros(3, bool))
    (array([2, 2, 1]), array([2, 3, 4, 5, 7, 8]))
    >>> outside(np.array([2, 5]), np.array([3, 9]), np.array([0, 0]), np.array([True, False]))
    (array([2, 5]), array([5, 6, 7, 8]))
    """
    order = np.argsort(first, kind="stable")
    reach = np.maximum.accumulate(last[order])
    is_new = np.append(True, first[order][1:] >= reach[:-1])[:len(first)]
    is_end = np.append(is_new[1:], True)[:len(first)]
    is_range = ~(is_new & is_end & itself[order])
    begin, end = first[order][is_new & is_range], reach[is_end & is_range]
    size, end = end - begin, np.append(0, end)
    so_far = np.append(0, np.cumsum(size))

    def n_inside(place: Integers) -> Integers:
        """Return how many places before this one are in a range."""
        begun = np.searchsorted(begin, place, side="right")
        return so_far[begun] - np.maximum(end[begun] - place, 0)

    inside = np.repeat(begin - so_far[:-1], size) + np.arange(so_far[-1])
    return first - row_start - n_inside(first) + n_inside(row_start), inside


def matrix_part(distances: Array) -> GalleryPart:
    """Return a distance matrix, shape (n_query, n_gallery) and of any real dtype, as one part."""
    distances = distances.view(np.uint8) if distances.dtype == bool else distances
    n_query, n_gallery = distances.shape

    def of_columns(counting: Mask) -> Iterator[Block]:
        # Copying few columns is faster than a mask over all of them.
        few = 2 * np.count_nonzero(counting) < n_gallery
        columns = np.flatnonzero(counting) if few else np.arange(n_gallery)
        # Label -1 is often one range, which is copied faster.
        index: Any = (slice(columns[0], columns[-1] + 1) if np.ptp(columns) < len(columns)
                      else columns)

        def tiles(block: slice) -> Iterator[Tile]:
            for inner in blocks_of(block.stop - block.start, height):
                rows = slice(block.start + inner.start, block.start + inner.stop)
                values = np.ascontiguousarray(distances[rows][:, index])
                if values.itemsize < 4:  # exact, and several times faster
                    values = values.astype(np.float32)
                yield ExactTile(rows, values, columns, (rows.stop - rows.start) / n_query)

        height = max(1, tile_size(2**28) // max(1, len(columns)))
        # Several blocks for each core, as one may take longer than another.
        step = height * min(TILES, 1 + n_query // (4 * cores() * height))
        return (Block(rows, partial(tiles, rows)) for rows in blocks_of(n_query, step))

    return GalleryPart(slice(0, n_gallery), lambda query, image: distances[query, image],
                       [Band(np.ones(n_gallery, bool), of_columns)],
                       lambda query: distances[query] != distances[query])
