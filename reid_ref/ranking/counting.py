"""Distances in tiles, and the number of images before each good image: the inner loop.

A `Part` of the gallery returns the exact distance of single pairs, and yields tiles of all pairs,
whose values may be off by a known bound. A rank is a count, so the gallery is not sorted. Of each
tile, only images nearer than the query's farthest good image are compared with its good images.
The few images that the error of a tile leaves undecided are compared by exact distances. So counts
depend only on exact distances, not on the shape of tiles, and counts of parts of a gallery add up.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, Integers, blocks_of
from reid_ref.arrays.cores import cores
from reid_ref.ranking.roles import Mask

Array = npt.NDArray[Any]

#: Distances in a tile at most, and the bytes that counting takes for each.
TILE, TILE_BYTES = 2_000_000, 48


def tile_size(max_memory: int) -> int:
    """Return the distances of a tile, of which each thread counts one, and two are waiting."""
    return max(1, min(TILE, max_memory // (TILE_BYTES * (cores() + 2))))


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


@dataclass(frozen=True)
class Band:
    """Images of a part whose tiles have one bound of error; every image is in one band.

    Parameters
    ----------
    columns : bool, shape (images of the part,)
        The images of the band.
    bounds : callable
        Query and exact distance of pairs, to the lowest and the highest value that each pair can
        have in a tile. The two are equal where tiles are exact.
    tiles : callable
        Mask of images of the band, to an iterator of tiles that have these at least.
    scale, off : float64, shape (n_query,), or None
        A value in a tile, times its query's `scale`, differs from the exact distance by less than
        `off`; None where tiles are exact.
    """

    columns: Mask
    bounds: Callable[[Integers, Array], tuple[Array, Array]]
    tiles: Callable[[Mask], Iterator[Tile]]
    scale: Array | None = None
    off: Array | None = None


@dataclass(frozen=True)
class Part:
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
    is_exact : bool
        Whether the values in tiles are the exact distances.
    within : callable, or None
        As `exact`, to a lowest and a highest value of each distance, in less time.
    count_tiles : callable, or None
        Counts tiles that are on a device; see `on_device.count_tiles`.
    """

    images: slice
    exact: Callable[[Integers, Integers], Array]
    bands: list[Band]
    is_nan: Callable[[int], Mask]
    is_exact: bool = False
    within: Callable[[Integers, Integers], tuple[Array, Array]] | None = None
    count_tiles: Callable[..., Any] | None = None


#: Open pairs that are compared at once, to bound memory.
_AT_ONCE = 2**17

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")

#: Counts, as `count_before` returns them: int64, shape (3, good pairs).
Before = npt.NDArray[np.int64]

#: The images of a tile that its error leaves undecided, or that are at the same distance: good
#: pairs, by index, and gallery images.
Open = tuple[Integers, Integers]


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


@dataclass(frozen=True)
class Counting:
    """Which images of a part are counted.

    Parameters
    ----------
    left_out_query, left_out : int64, shape (pairs,)
        Pairs of query and gallery image that are not counted, query after query.
    columns : bool, shape (images of the part,)
        Images that are counted.
    place, query_place : int64, shape (images of the part,) and (n_query,), or None
        An image at the query's place is not counted.
    """

    left_out_query: Integers
    left_out: Integers
    columns: Mask
    place: Integers | None = None
    query_place: Integers | None = None

    def within(self, images: slice) -> Counting:
        """Return which images of a part are counted, given those of the gallery."""
        return replace(self, columns=self.columns[images],
                       place=None if self.place is None else self.place[images])

    def left_out_of(self, rows: slice, images: Integers) -> tuple[Integers, Integers]:
        """Return row and column in a tile, of these queries and images, of pairs left out."""
        pairs = slice(*np.searchsorted(self.left_out_query, [rows.start, rows.stop]))
        column = places(self.left_out[pairs], images)
        return self.left_out_query[pairs][column >= 0] - rows.start, column[column >= 0]


class TooFarOff(ArithmeticError):
    """A tile differs from the exact distances by more than its bound."""


def wrong_products() -> InputError:
    """Return the error of a BLAS whose products are wrong."""
    return InputError("query_features, gallery_features", got="this machine's matrix products are "
                      "wrong even in double precision", remedy="use another BLAS")


def count_before(part: Part, goods: Goods, n_query: int, counting: Counting,
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
    before = np.zeros((3, len(goods.query)), dtype=np.int64)
    start = np.searchsorted(goods.query, np.arange(n_query + 1))
    images = [counting.columns & band.columns for band in part.bands]
    counted = [np.count_nonzero(mask) for mask in images]
    count_tiles = part.count_tiles or _count_tiles
    for band, columns, number in zip(part.bands, images, counted):
        if not number:
            continue
        open_pairs: list[Open] = []
        for share, counts in count_tiles(band.tiles(columns), part, goods, start,
                                         band.bounds(goods.query, goods.value), counting):
            before[0, counts.pairs] += counts.nearer
            for pairs in counts.undecided(goods):
                open_pairs.append(pairs)
                if sum(len(good) for good, _ in open_pairs) > _AT_ONCE:
                    _decide(before, part, goods, open_pairs)
                    open_pairs = []
            if done is not None:
                done(share * number / sum(counted))
        if open_pairs:
            _decide(before, part, goods, open_pairs)
    _count_nan(part, goods, start, counting, before)
    return before


class Counts(NamedTuple):
    """What a tile says of its good pairs.

    Parameters
    ----------
    pairs : int64, shape (n,)
        Good pairs, by index.
    nearer : int64, shape (n,)
        Images that are nearer than each, beyond the tile's error.
    first, last : int64, shape (n,)
        The places of the images that the error leaves undecided, `last` not included.
    images : callable
        Places to gallery images.
    """

    pairs: Integers
    nearer: Integers
    first: Integers
    last: Integers
    images: Callable[[Integers], Integers]

    def undecided(self, goods: Goods) -> Iterator[Open]:
        """Yield the pairs that are left open, in batches; no image is compared with itself."""
        batch = np.cumsum(self.last - self.first) // _AT_ONCE
        for piece in np.split(np.arange(len(self.pairs)), np.flatnonzero(np.diff(batch)) + 1):
            good, place = ranges(self.first[piece], self.last[piece])
            good, image = self.pairs[piece][good], self.images(place)
            other = image != goods.image[good]
            yield good[other], image[other]


def _count_tiles(tiles: Iterable[Tile], part: Part, goods: Goods, start: Integers,
                 bounds: tuple[Array, Array],
                 counting: Counting) -> Iterator[tuple[float, Counts]]:
    """Yield for each tile its share, and what it says of its good pairs."""
    farthest = farthest_good(bounds[1], start)

    def counted(tile: Tile) -> tuple[float, Counts]:
        pairs = np.arange(start[tile.rows.start], start[tile.rows.stop])
        pairs = pairs[bounds[0][pairs] == bounds[0][pairs]]  # not NaN
        row, sides = goods.query[pairs] - tile.rows.start, [side[pairs] for side in bounds]
        if not part.is_exact:
            column = places(goods.image[pairs], part.images.start + tile.columns)
            inside = column >= 0
            check_slack(tile.values[row[inside], column[inside]],
                        *(side[inside] for side in sides))
        return tile.share, Counts(pairs, *_between(tile, part, farthest, counting, row, *sides))

    return in_threads(counted, tiles)


def _between(tile: Tile, part: Part, farthest: Array, counting: Counting, row: Integers,
             low: Array, high: Array) -> tuple[Any, ...]:
    """Return what `Counts` holds of pairs in these rows, between these values.

    The candidates, images up to the row's farthest good image, are put in order as whole numbers
    of row, value and column: a few long calls, which release Python's lock.
    """
    near = _candidates(tile, part, farthest, counting)
    n_rows, width = tile.values.shape
    start = np.searchsorted(near, width * np.arange(n_rows + 1))
    bits, size = width.bit_length(), np.diff(start)
    centre = np.where(np.isfinite(farthest[tile.rows]), farthest[tile.rows], 0)
    key = _ordinal(tile.values.reshape(-1).take(near), np.repeat(centre, size)).astype(np.int64)
    key <<= bits
    key += near
    rows = np.arange(n_rows)
    key += np.repeat((rows << 32 + bits) - width * rows, size)
    for first, last in zip(start.tolist(), start[1:].tolist()):
        key[first:last].sort()  # row by row is faster than all at once
    row_key = row << 32 + bits
    first = np.searchsorted(key, row_key + (_ordinal(low, centre[row]).astype(np.int64) << bits))
    last = np.searchsorted(
        key, row_key + (_ordinal(high, centre[row]).astype(np.int64) + 1 << bits))
    return first - start[row], first, last, lambda place: (
        part.images.start + tile.columns[key[place] & (1 << bits) - 1])


def _ordinal(values: Array, centre: Array) -> npt.NDArray[np.int32]:
    """Return whole numbers in the order of the values, none of them NaN.

    Values that are no singles are rounded to these, their distance from `centre`; so different
    ones may have the same number.
    """
    if not np.can_cast(values.dtype, np.float32):
        values = values.astype(np.result_type(values, np.float64)) - centre
    with np.errstate(over="ignore"):
        # The sum makes -0 the same as 0. Read as whole numbers, negative singles descend.
        number = (values.astype(np.float32) + np.float32(0)).view(np.int32)
    ordinal: npt.NDArray[np.int32] = np.where(number < 0, number ^ 0x7FFFFFFF, number)
    return ordinal


def _candidates(tile: Tile, part: Part, farthest: Array, counting: Counting) -> Integers:
    """Return the flat indices in a tile of the images that may come before a good image."""
    is_near = tile.values <= farthest[tile.rows, np.newaxis]
    is_near &= counting.columns[tile.columns]
    if counting.place is not None and counting.query_place is not None:
        is_near &= counting.place[tile.columns] != counting.query_place[tile.rows, np.newaxis]
    is_near[counting.left_out_of(tile.rows, part.images.start + tile.columns)] = False
    return np.flatnonzero(is_near)


def places(images: Integers, columns: Integers) -> Integers:
    """Return the position of each image in `columns`, which ascend; -1 if it is not in them."""
    place = np.searchsorted(columns, images)
    place[place == len(columns)] = 0
    return np.where(columns[place] == images, place, -1)


def check_slack(value: Array, lower: Array, upper: Array) -> None:
    """Refuse a tile whose values of good images exceed a quarter of the allowed error."""
    if (abs(value - (lower + upper) / 2) > (upper - lower) / 8).any():
        raise TooFarOff


def _decide(before: Before, part: Part, goods: Goods, open_pairs: list[Open]) -> None:
    """Compare good pairs and images that tiles leave open, by exact distances."""
    good, image = (np.concatenate(side) for side in zip(*open_pairs))
    value = goods.value[good]
    # Each pair once, image after image: a gallery feature is read once, and those of the queries
    # are in the cache.
    height = 1 + int(goods.query.max(initial=0))
    pair, place = np.unique((image - part.images.start) * height + goods.query[good],
                            return_inverse=True)
    if part.within is not None:
        lowest, highest = (side[place] for side in part.within(pair % height, pair // height))
        _add(before[0], good[highest < value])
        is_open = ~((highest < value) | (lowest > value))
        good, image, value = good[is_open], image[is_open], value[is_open]
        needed, place = np.unique(place[is_open], return_inverse=True)
        pair = pair[needed]
    exact = part.exact(pair % height, pair // height)[place]
    _add(before[0], good[exact < value])
    good, image = good[exact == value], image[exact == value]
    _add(before[1], good)
    _add(before[2], good[image < goods.image[good]])


def _add(counts: Integers, good: Integers) -> None:
    counts += np.bincount(good, minlength=len(counts))


def _count_nan(part: Part, goods: Goods, start: Integers, counting: Counting,
               before: Before) -> None:
    """Count for good images at distance NaN, which come after all numbers."""
    images = np.arange(part.images.start, part.images.stop)
    is_nan = goods.value != goods.value
    for query in np.unique(goods.query[is_nan]).tolist():
        pairs = start[query] + np.flatnonzero(is_nan[start[query]:start[query + 1]])
        counts = counting.columns
        if counting.place is not None and counting.query_place is not None:
            counts = counts & (counting.place != counting.query_place[query])
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


def ranges(first: Integers, last: Integers) -> tuple[Integers, Integers]:
    """Return the range that each number of all ranges belongs to, and the numbers."""
    count = last - first
    which = np.repeat(np.arange(len(count)), count)
    return which, np.arange(len(which)) + np.repeat(first - np.cumsum(count) + count, count)


def in_threads(work: Callable[[_Item], _Answer], items: Iterable[_Item],
               threads: int | None = None) -> Iterator[_Answer]:
    """Yield the answers in order; items are taken as threads need them, by the caller's thread.

    Examples
    --------
    >>> list(in_threads(lambda number: number ** 2, range(4)))
    [0, 1, 4, 9]
    """
    threads = threads or cores()
    waiting: deque[Future[_Answer]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def matrix_part(distances: Array) -> Part:
    """Return a distance matrix, shape (n_query, n_gallery) and of any real dtype, as one part."""
    distances = distances.view(np.uint8) if distances.dtype == bool else distances
    n_query, n_gallery = distances.shape
    blocks = blocks_of(n_query, tile_size(2 * TILE * TILE_BYTES) // n_gallery)

    def tiles(counting: Mask) -> Iterator[Tile]:
        # Copying few columns is faster than a mask over all of them.
        few = 2 * np.count_nonzero(counting) < n_gallery
        columns = np.flatnonzero(counting) if few else np.arange(n_gallery)
        for rows in blocks:
            values = distances[rows]
            if values.dtype == np.float16:  # exact, and comparisons are ten times faster
                values = values.astype(np.float32)
            yield Tile(rows, values.take(columns, axis=1) if few else values, columns,
                       (rows.stop - rows.start) / n_query)

    return Part(slice(0, n_gallery), lambda query, image: distances[query, image],
                [Band(np.ones(n_gallery, bool), lambda query, value: (value, value), tiles)],
                lambda query: distances[query] != distances[query], is_exact=True)
