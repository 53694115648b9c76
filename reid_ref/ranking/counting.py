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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, Integers, blocks_of
from reid_ref.ranking.roles import Mask

Array = npt.NDArray[Any]

#: Distances in a tile. Small tiles add overhead; a large one takes up to 16 bytes a distance.
TILE = 2_000_000


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
    """

    columns: Mask
    bounds: Callable[[Integers, Array], tuple[Array, Array]]
    tiles: Callable[[Mask], Iterator[Tile]]


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
    count_tiles : callable, or None
        Counts tiles that are on a device; see `on_device.count_tiles`.
    """

    images: slice
    exact: Callable[[Integers, Integers], Array]
    bands: list[Band]
    is_nan: Callable[[int], Mask]
    is_exact: bool = False
    count_tiles: Callable[..., Any] | None = None


#: Good images of a query above which one sort is faster than one comparison for each.
_SORT_FROM = 64

#: Open pairs that are compared at once, to bound memory.
_AT_ONCE = 2**17

_NONE = np.zeros(0, dtype=np.int64)

_Item = TypeVar("_Item")

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
        for share, pairs in count_tiles(band.tiles(columns), part, goods, start,
                                        band.bounds(goods.query, goods.value), counting, before):
            open_pairs.append(pairs)
            if sum(len(good) for good, _ in open_pairs) > _AT_ONCE:
                _decide(before, part, goods, open_pairs)
                open_pairs = []
            if done is not None and share:
                done(share * number / sum(counted))
        if open_pairs:
            _decide(before, part, goods, open_pairs)
    _count_nan(part, goods, start, counting, before)
    return before


@dataclass(frozen=True)
class _Prepared:
    """A tile and its candidates: the images that may come before a good image.

    Parameters
    ----------
    values : array, shape (rows, columns)
    rows : slice
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
    """

    values: Array
    rows: slice
    images: Integers
    near: Integers
    candidates: Array
    ends: Integers
    good_column: Integers


def _count_tiles(tiles: Iterable[Tile], part: Part, goods: Goods, start: Integers,
                 bounds: tuple[Array, Array], counting: Counting,
                 before: Before) -> Iterator[tuple[float, Open]]:
    """Add the images of tiles before each good image; yield shares, and pairs left open."""
    farthest = farthest_good(bounds[1], start)

    def prepared() -> Iterator[tuple[float, _Prepared]]:
        for tile in tiles:
            yield tile.share, _prepared(tile, part, goods, start, farthest, counting)

    # One thread prepares tiles (few long calls, which release Python's lock) while this one
    # counts (many short calls), to use two cores.
    for share, tile in ahead(prepared()):
        for pairs in _count(tile, part, goods, start, bounds, before):
            yield 0.0, pairs
        yield share, (_NONE, _NONE)


def _prepared(tile: Tile, part: Part, goods: Goods, start: Integers, farthest: Array,
              counting: Counting) -> _Prepared:
    n_rows, width = tile.values.shape
    counts = np.broadcast_to(counting.columns[tile.columns], tile.values.shape)
    if counting.place is not None and counting.query_place is not None:
        counts = counts & (
            counting.place[tile.columns] != counting.query_place[tile.rows, np.newaxis])
    is_near = tile.values <= farthest[tile.rows, np.newaxis]
    is_near &= counts
    images = part.images.start + tile.columns
    is_near[counting.left_out_of(tile.rows, images)] = False
    near = np.flatnonzero(is_near)
    pairs = slice(start[tile.rows.start], start[tile.rows.stop])
    good_row = goods.query[pairs] - tile.rows.start
    good_column = places(goods.image[pairs], images)
    is_counted = goods.counts[pairs] & (good_column >= 0) & counts[good_row, good_column]
    return _Prepared(
        values=tile.values, rows=tile.rows, images=images, near=near,
        candidates=tile.values.reshape(-1).take(near),
        ends=np.searchsorted(near, width * np.arange(n_rows + 1)),
        good_column=np.where(is_counted, good_column, -1))


def places(images: Integers, columns: Integers) -> Integers:
    """Return the position of each image in `columns`, which ascend; -1 if it is not in them."""
    place = np.searchsorted(columns, images)
    place[place == len(columns)] = 0
    return np.where(columns[place] == images, place, -1)


def _count(tile: _Prepared, part: Part, goods: Goods, start: Integers,
           bounds: tuple[Array, Array], before: Before) -> Iterator[Open]:
    """Add the images of a tile before each good image to `before`.

    Yields the pairs that the tile leaves open, in batches. An exact tile leaves equal distances.
    """
    pairs = slice(start[tile.rows.start], start[tile.rows.stop])
    lower, upper = (side[pairs] for side in bounds)
    if not part.is_exact:
        row, counted = goods.query[pairs] - tile.rows.start, tile.good_column >= 0
        check_slack(tile.values[row[counted], tile.good_column[counted]], lower[counted],
                    upper[counted])
    nearer_all: list[int] = []
    batch: list[Open] = []
    size = 0
    for nearer, good, place in _by_row(tile, start[tile.rows.start:tile.rows.stop + 1]
                                       - pairs.start, lower, upper):
        nearer_all += nearer
        if len(good):
            batch.append((good, place))
            size += len(good)
            if size > _AT_ONCE:
                yield _open_pairs(tile, goods, pairs, batch)
                batch, size = [], 0
    before[0, pairs] += np.array(nearer_all, dtype=np.int64)
    if batch:
        yield _open_pairs(tile, goods, pairs, batch)


def _by_row(tile: _Prepared, row_starts: Integers, lower: Array,
            upper: Array) -> Iterator[tuple[list[int], Integers, Integers]]:
    """Yield for each row with good pairs: the number of images nearer than each, beyond the
    tile's error; the undecided ones, themselves included, as good pairs and candidates.
    """
    known = lower == lower  # not NaN
    in_tile = np.concatenate([[0], np.cumsum((tile.good_column >= 0) & known)])
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
            nearer, good, place = _by_sorting(
                candidates, lower[first:last], upper[first:last], known[first:last])
        else:
            nearer, good, place = _by_comparing(
                candidates, low[first:last], high[first:last], themselves[row])
        yield (nearer, good + first, place + ends[row]) if len(good) else (nearer, good, place)


def _by_sorting(candidates: Array, low: Array, high: Array,
                known: Mask) -> tuple[list[int], Integers, Integers]:
    """Count the candidates below each `low`; return the pairs between `low` and `high`."""
    order = np.argsort(candidates, kind="stable")
    ordered = candidates[order]
    nearer = known * np.searchsorted(ordered, low, side="left")
    reach = known * np.searchsorted(ordered, high, side="right")
    good, place = ranges(nearer, reach)
    return nearer.tolist(), good, order[place]


def _by_comparing(candidates: Array, low: Array, high: Array,
                  themselves: int) -> tuple[list[int], Integers, Integers]:
    """As `_by_sorting`; `low` and `high` are columns."""
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


def check_slack(value: Array, lower: Array, upper: Array) -> None:
    """Refuse a tile whose values of good images exceed a quarter of the allowed error."""
    if (abs(value - (lower + upper) / 2) > (upper - lower) / 8).any():
        raise TooFarOff


def _open_pairs(tile: _Prepared, goods: Goods, pairs: slice, batch: list[Open]) -> Open:
    """Return good pairs and images, from good pairs of the tile and candidates; not themselves."""
    good, place = (np.concatenate(side) for side in zip(*batch))
    row = goods.query[pairs][good] - tile.rows.start
    column = tile.near[place] - row * tile.values.shape[1]
    other = column != tile.good_column[good]
    return pairs.start + good[other], tile.images[column[other]]


def _decide(before: Before, part: Part, goods: Goods, open_pairs: list[Open]) -> None:
    """Compare good pairs and images that tiles leave open, by exact distances."""
    good, image = (np.concatenate(side) for side in zip(*open_pairs))
    if not part.is_exact:
        # Each pair once, image after image: a gallery feature is read once, and those of the
        # queries are in the cache.
        height = 1 + int(goods.query.max(initial=0))
        pair, place = np.unique((image - part.images.start) * height + goods.query[good],
                                return_inverse=True)
        exact = part.exact(pair % height, pair // height)[place.reshape(-1)]
        _add(before[0], good[exact < goods.value[good]])
        tied = exact == goods.value[good]
        good, image = good[tied], image[tied]
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


def matrix_part(distances: Array) -> Part:
    """Return a distance matrix, shape (n_query, n_gallery) and of any real dtype, as one part."""
    distances = distances.view(np.uint8) if distances.dtype == bool else distances
    n_query, n_gallery = distances.shape
    blocks = blocks_of(n_query, TILE // n_gallery)

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
