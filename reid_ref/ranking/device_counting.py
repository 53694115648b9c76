"""Number of images before each good image, on a device: the counterpart of ranking/counting.py.

Queries are ordered by their number of good images, so that good images fill the columns of a
table with few gaps. Of each tile, the images up to a query's farthest good image are put in one
list (the candidates), and each is compared with all good images of its query at once; a running
sum along the list gives the counts of each query. Candidates that the tile's error leaves
undecided are compared by exact distances. No call is made for a single query, and nothing waits
for the device but the numbers of candidates.

Beside one product a tile, an accelerator reads and writes each distance a few times, and each
pair of candidate and good image about 40 bytes. The other way, comparing whole tiles with the
first good image of each query, then the second, and so on, moves about 20 bytes for each pair of
image and good image: more, unless the farthest good image is behind half of the gallery.

Contents: `count_before`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Integers
from reid_ref.arrays.device import take, to_device, to_numpy
from reid_ref.ranking.counting import Counting, Goods, TooFarOff
from reid_ref.ranking.device_parts import Part, in_pieces

Array = npt.NDArray[Any]

#: Distances in a tile, numbers in the features of its images, and pairs of candidate and good
#: image that are compared at once. Large, so that a call keeps an accelerator busy for longer than
#: it takes to launch the next; a tile and its candidates take up to 50 bytes a distance, 1.6 GiB.
TILE = 2**25

#: Queries in a tile, for a fast product with at least 4096 images.
ROWS = 2**13

#: Entries of a table of good images, 24 bytes each.
TABLE = 2**22


@dataclass(frozen=True)
class Table:
    """Good images of a block of queries, by their number: shape (most of one query, queries).

    Parameters
    ----------
    queries : int64, shape (queries,)
        In main memory; by falling number of good images.
    n_good : int64, shape (queries,)
        In main memory.
    low, high : array
        The range of each good image in tiles; gaps are below all values.
    value : array
        The exact distance.
    image : int64
        Gallery index; -1 in gaps.
    farthest : array, shape (queries,)
        The largest of `high`.
    entry : two int64 arrays, shape (good pairs of the block,)
        Where each is in the table, in main memory.
    chosen : bool, shape (all good pairs,)
        Those of the block, in main memory.
    """

    queries: Integers
    n_good: Integers
    low: Any
    high: Any
    value: Any
    image: Any
    farthest: Any
    entry: tuple[Integers, Integers]
    chosen: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Block:
    """What the tiles of one block of queries share.

    Parameters
    ----------
    part, table, counting
    query : int64, shape (queries,)
        On the device.
    columns : int64, shape (counted images,)
        In main memory, ascending.
    left_out : two int64 arrays, shape (pairs,)
        Row in the block and place in `columns` of pairs that are not counted, by place.
    known : two int64 and two float arrays, shape (good pairs in `columns`,)
        Row and place of each, by place; the middle of its range, and the allowed difference.
    tile : callable
        Indices of images on the device to their distances.
    """

    part: Part
    table: Table
    counting: Counting
    query: Any
    columns: Integers
    left_out: tuple[Integers, Integers]
    known: tuple[Integers, Integers, Array, Array]
    tile: Callable[[Any], Any]


def count_before(part: Part, goods: Goods, n_query: int, counting: Counting,
                 done: Callable[[float], object] | None = None) -> npt.NDArray[np.int64]:
    """Count the images before each good image, as `ranking.counting.count_before` does."""
    before = np.zeros((3, len(goods.query)), dtype=np.int64)
    columns = (np.arange(part.n_gallery) if counting.columns is None
               else np.flatnonzero(counting.columns))
    bounds = part.bounds(goods.query, goods.value)
    n_matched = len(np.unique(goods.query))
    for table in _tables(part, goods, n_query, bounds):
        block = _block(part, table, goods, counting, columns, bounds)
        share = len(table.queries) / n_matched
        sums: Any = 0
        step = max(1, TILE // max(part.dimension, len(table.queries)))
        for images, of_tile in in_pieces(len(columns), step, lambda some: _count(block, some)):
            sums = sums + of_tile
            if done is not None:
                done(share * (images.stop - images.start) / len(columns))
        if len(columns):
            before[:, table.chosen] = to_numpy(sums)[:, table.entry[0], table.entry[1]]
    if done is not None and not n_matched:
        done(1)
    _count_nan(part, goods, counting, before)
    return before


def _tables(part: Part, goods: Goods, n_query: int,
            bounds: tuple[Array, Array]) -> Iterator[Table]:
    """Yield the tables of consecutive blocks of queries that have good images."""
    n_good = np.bincount(goods.query, minlength=n_query)
    order = np.argsort(-n_good, kind="stable")[:np.count_nonzero(n_good)]
    nth = np.arange(len(goods.query)) - (np.cumsum(n_good) - n_good)[goods.query]
    start = 0
    while start < len(order):
        most = int(n_good[order[start]])
        queries = order[start:start + max(1, min(ROWS, TABLE // most, TILE // part.dimension))]
        row = np.full(n_query, -1)
        row[queries] = np.arange(len(queries))
        chosen = row[goods.query] >= 0
        entry = nth[chosen], row[goods.query[chosen]]

        def filled(values: Array, gap: Any) -> Array:
            table = np.full((most, len(queries)), gap, dtype=values.dtype)
            table[entry] = values[chosen]
            return table

        high = filled(bounds[1], _least(bounds[1].dtype))
        low, value = (filled(one, _least(one.dtype)) for one in (bounds[0], goods.value))
        arrays = {"low": low, "high": high, "value": value, "image": filled(goods.image, -1),
                  "farthest": np.fmax.reduce(high, axis=0)}
        xp, device = part.like.xp, part.like.device
        yield Table(queries, n_good[queries], entry=entry, chosen=chosen, **{
            name: to_device(xp, array, device) for name, array in arrays.items()})
        start += len(queries)


def _block(part: Part, table: Table, goods: Goods, counting: Counting, columns: Integers,
           bounds: tuple[Array, Array]) -> Block:
    """Prepare what the tiles of a block of queries share."""
    row = np.full(max(goods.query.max(), counting.left_out_query.max(initial=0)) + 1, -1)
    row[table.queries] = np.arange(len(table.queries))
    place = np.full(part.n_gallery, -1)
    place[columns] = np.arange(len(columns))

    def by_place(query: Integers, image: Integers, *others: Array) -> tuple[Any, ...]:
        there = np.flatnonzero((row[query] >= 0) & (place[image] >= 0))
        there = there[np.argsort(place[image[there]], kind="stable")]
        return row[query[there]], place[image[there]], *(one[there] for one in others)

    low, high = bounds
    known = (_NONE, _NONE, low[:0], low[:0]) if part.is_exact else by_place(
        goods.query, goods.image, (low + high) / 2, (high - low) / 8)
    query = to_device(part.like.xp, table.queries, part.like.device)
    return Block(part, table, counting, query, columns,
                 by_place(counting.left_out_query, counting.left_out), known, part.tiles(query))


_NONE = np.zeros(0, dtype=np.int64)


def _count(block: Block, images: slice) -> Any:
    """Return the counts of one tile, shape (3, most good images, queries), on the device."""
    xp, device = block.part.like.xp, block.part.like.device
    image = to_device(xp, block.columns[images], device)
    values = block.tile(image)
    _check_slack(block, images, values)
    row, column, near = _candidates(block, images, image, values)
    del values
    shape = 3, *block.table.image.shape
    sums = xp.zeros(shape, dtype=xp.int64, device=device)
    if not near.shape[0]:
        return sums
    ends = to_numpy(xp.searchsorted(row, xp.arange(1, shape[2] + 1, device=device)))
    start = 0
    while start < ends[-1]:
        first = int(np.searchsorted(ends, start, side="right"))
        most = int(block.table.n_good[first])
        stop = min(start + max(1, TILE // most), int(ends[-1]))
        last = int(np.searchsorted(ends, stop, side="left"))
        some = slice(start, stop)
        _compare(block, slice(first, last + 1), most, row[some],
                 take(image, column[some]), near[some], sums)
        start = stop
    return sums


def _check_slack(block: Block, images: slice, values: Any) -> None:
    """Refuse a tile whose values of good images exceed a quarter of the allowed error."""
    row, place, middle, most = block.known
    here = slice(*np.searchsorted(place, [images.start, images.stop]))
    if here.start == here.stop:
        return
    xp, device = block.part.like.xp, block.part.like.device
    arrays = (row[here], place[here] - images.start, middle[here], most[here])
    row_, column, middle_, most_ = (to_device(xp, one, device) for one in arrays)
    if bool(xp.any(xp.abs(values[row_, column] - middle_) > most_)):
        raise TooFarOff


def _candidates(block: Block, images: slice, image: Any, values: Any) -> tuple[Any, Any, Any]:
    """Return row, column and value of the images up to each query's farthest good image."""
    xp, device, counting = block.part.like.xp, block.part.like.device, block.counting
    width = images.stop - images.start
    is_near = values <= block.table.farthest[:, None]
    if counting.place is not None and counting.query_place is not None:
        own = to_device(xp, counting.query_place[block.table.queries], device)
        place = to_device(xp, counting.place[block.columns[images]], device)
        is_near = is_near & (own[:, None] != place[None, :])
    key = xp.nonzero(xp.reshape(is_near, (-1,)))[0]
    del is_near
    row, place = block.left_out
    here = slice(*np.searchsorted(place, [images.start, images.stop]))
    if here.start < here.stop:
        out = np.sort(row[here] * width + place[here] - images.start)
        key = key[~_among(xp, key, to_device(xp, out, device))]
    row = key // width
    return row, key - row * width, take(xp.reshape(values, (-1,)), key)


def _among(xp: Any, keys: Any, others: Any) -> Any:
    """Return the mask of the keys that are among the others, which ascend and are not empty."""
    place = xp.searchsorted(others, keys)
    last = others.shape[0] - 1
    return take(others, xp.where(place > last, xp.full_like(place, last), place)) == keys


def _compare(block: Block, rows: slice, most: int, row: Any, image: Any, value: Any,
             sums: Any) -> None:
    """Add candidates of some rows, whose good images are at most so many, to the sums."""
    xp, table = block.part.like.xp, block.table
    below = value[None, :] < take(table.low[:most, :], row, axis=1)
    within = value[None, :] <= take(table.high[:most, :], row, axis=1)
    sums[0, :most, rows] += _by_row(xp, below, row, rows)
    open_ = xp.nonzero(xp.any(below != within, axis=0))[0]
    row, image, value = (take(one, open_) for one in (row, image, value))
    undecided = take(below, open_, axis=1) != take(within, open_, axis=1)
    del below, within
    own = take(table.image[:most, :], row, axis=1)
    undecided = undecided & (own != image[None, :])
    open_ = xp.nonzero(xp.any(undecided, axis=0))[0]
    if not open_.shape[0]:
        return
    row, image, value = (take(one, open_) for one in (row, image, value))
    undecided, own = (take(one, open_, axis=1) for one in (undecided, own))
    exact = value if block.part.is_exact else block.part.exact(take(block.query, row), image)
    good = take(table.value[:most, :], row, axis=1)
    tied = undecided & (exact[None, :] == good)
    sums[0, :most, rows] += _by_row(xp, undecided & (exact[None, :] < good), row, rows)
    sums[1, :most, rows] += _by_row(xp, tied, row, rows)
    sums[2, :most, rows] += _by_row(xp, tied & (image[None, :] < own), row, rows)


def _by_row(xp: Any, mask: Any, row: Any, rows: slice) -> Any:
    """Return the number of set entries in the columns of each row, shape (most, rows)."""
    most, count = mask.shape
    device = mask.device
    total = xp.cumulative_sum(xp.astype(xp.reshape(mask, (-1,)), xp.int32), dtype=xp.int32)
    edge = xp.searchsorted(row, xp.arange(rows.start, rows.stop + 1, device=device))
    edge = edge[None, :] + count * xp.arange(most, device=device)[:, None]
    before = take(total, xp.reshape(xp.where(edge > 0, edge - 1, edge), (-1,)))
    before = xp.reshape(before, edge.shape) * xp.astype(edge > 0, xp.int32)
    return before[:, 1:] - before[:, :-1]


def _least(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _count_nan(part: Part, goods: Goods, counting: Counting,
               before: npt.NDArray[np.int64]) -> None:
    """Count for good images at distance NaN, which come after all numbers; in main memory."""
    is_nan = goods.value != goods.value
    for query in np.unique(goods.query[is_nan]).tolist():
        pairs = np.flatnonzero(is_nan & (goods.query == query))
        counts = (np.ones(part.n_gallery, dtype=bool) if counting.columns is None
                  else counting.columns.copy())
        if counting.place is not None and counting.query_place is not None:
            counts &= counting.place != counting.query_place[query]
        counts[counting.left_out[counting.left_out_query == query]] = False
        images = np.flatnonzero(part.is_nan(query) & counts)
        before[0, pairs] = np.count_nonzero(counts) - len(images)
        before[1, pairs] = len(images) - counts[goods.image[pairs]]
        before[2, pairs] = np.searchsorted(images, goods.image[pairs])
