"""`GoodRanks`: the ranks of each query's good images, and operations on them.

Every number of the field follows from this small ragged array. `rank.py` computes it from
distances and labels.

Conventions: a smaller distance is nearer; NaN is farthest. The convention defines which images are
ignored and how equal distances are ordered; MATLAB's sort, the default, keeps gallery order.

Source: Zheng et al., Scalable Person Re-identification: A Benchmark, ICCV 2015, section 3.3;
`matlab_ref/evaluation.m`.
"""
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Array, Integers, Mask, Value


@dataclass(frozen=True, eq=False)
class GoodRanks(Value):
    """Ranks of the good images among the kept ones, for n queries.

    Parameters
    ----------
    rank : int64, shape (number of good images found,)
        1-based rank among kept images; ascending within a query, query after query.
    nearer, tied : int64, shape of `rank`
        Kept images strictly nearer than this one; kept images at its distance, itself included.
    image : int64, shape of `rank`
        Gallery index; -1 if the ranks were given as a list.
    found : int64, shape (n,)
        Number of entries of `rank` for each query.
    n_good, n_junk, n_kept : int64, shape (n,)
        Good images that exist; ignored gallery images; kept images, in a ranked list those that
        it holds.
    first_match : int64, shape (n,)
        Rank at which the CMC curve rises to 1; 0 is never. It is the first rank, except for a
        query labelled -1 if that label is ignored: its good images are junk too and have no
        rank, but in `compute_AP.m` the first of them raises the curve.
    n_beyond : int64, shape (n,), optional
        Good images at the end of a query's ranks that a cut of the list loses although their rank
        is within it, for ignored images take places, too. Default: none.
    """

    rank: Integers
    nearer: Integers
    tied: Integers
    image: Integers
    found: Integers
    n_good: Integers
    n_junk: Integers
    n_kept: Integers
    first_match: Integers
    n_beyond: Integers = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.n_beyond is None:
            object.__setattr__(self, "n_beyond", np.zeros(len(self.found), dtype=np.int64))

    @property
    def query(self) -> Integers:
        """int64, shape of `rank`: the query each rank belongs to."""
        return np.repeat(np.arange(len(self.found), dtype=np.int64), self.found)

    @property
    def nth(self) -> Integers:
        """int64, shape of `rank`: 1 for a query's nearest good image, 2 for the next."""
        start = np.cumsum(self.found) - self.found
        return np.arange(1, len(self.rank) + 1) - np.repeat(start, self.found)


#: The fields that have an entry for each good image found, not for each query.
RAGGED = ("rank", "nearer", "tied", "image")


def from_lists(ranks: Sequence[Sequence[int]], n_good: int | Sequence[int] | None = None,
               n_kept: int | Sequence[int] | None = None) -> GoodRanks:
    """Return `GoodRanks` with the given ranks of good images, without ties.

    Parameters
    ----------
    ranks : sequence of sequences of int
        For each query the 1-based, ascending ranks of its good images.
    n_good : int or sequence, optional
        Good images that exist; a truncated list holds fewer. Default: those in the list.
    n_kept : int or sequence, optional
        Length of the list. Default: the last rank.

    Examples
    --------
    >>> from_lists([[1, 4, 5], [2, 3, 4]], n_good=5, n_kept=5).first_match
    array([1, 2])
    """
    n = len(ranks)
    found = np.array([len(row) for row in ranks], dtype=np.int64)
    rank = np.array([rank for row in ranks for rank in row], dtype=np.int64)
    first, last = np.array([[row[0], row[-1]] if len(row) else [0, 0] for row in ranks],
                           dtype=np.int64).reshape(n, 2).T
    return GoodRanks(
        rank=rank, nearer=rank - 1, tied=np.ones_like(rank), image=-np.ones_like(rank),
        found=found,
        n_good=found if n_good is None else np.broadcast_to(np.array(n_good, np.int64), n),
        n_junk=np.zeros(n, dtype=np.int64),
        n_kept=last if n_kept is None else np.broadcast_to(np.array(n_kept, np.int64), n),
        first_match=first)


def from_index(index: npt.ArrayLike, good: npt.ArrayLike, junk: npt.ArrayLike = ()) -> GoodRanks:
    """Return the `GoodRanks` of one query, given its ranked list of gallery indices.

    Parameters
    ----------
    index : sequence of int
        Gallery indices, the nearest first; it may be truncated.
    good, junk : sequence of int
        Gallery indices; an image on both lists is junk, but raises the CMC curve, as in
        `compute_AP.m`.

    Examples
    --------
    >>> from_index([9, 4, 2, 7], good=[4, 7, 8], junk=[9]).rank
    array([1, 3])
    """
    is_good, is_junk = np.isin(index, good), np.isin(index, junk)
    before: Integers = np.cumsum(~is_junk) - ~is_junk
    n_junk, places = int(np.count_nonzero(is_junk)), 1 + before[is_good]
    ranks = from_lists([(1 + before[is_good & ~is_junk]).tolist()], np.size(good),
                       len(is_junk) - n_junk)
    return replace(ranks, image=np.asarray(index, dtype=np.int64)[is_good & ~is_junk],
                   n_junk=np.array([n_junk]), first_match=np.append(places, 0)[:1])


def concatenate(parts: Iterable[GoodRanks]) -> GoodRanks:
    """Join the ranks of consecutive blocks of queries."""
    return GoodRanks(*map(np.concatenate, zip(*(
        [getattr(part, name) for name in GoodRanks.__dataclass_fields__] for part in parts))))


def append(ranks: GoodRanks, block: GoodRanks, in_place: bool) -> GoodRanks:
    """Join the ranks of the next block of queries, so that all are in memory once.

    `in_place`: the arrays of `ranks` are of this function, and grow in place.
    """
    arrays = {}
    for name in GoodRanks.__dataclass_fields__:
        array, more = getattr(ranks, name), getattr(block, name)
        array, size = array if in_place else array.copy(), len(array)
        array.resize(size + len(more), refcheck=False)  # no view of it was handed out
        array[size:] = more
        arrays[name] = array
    return GoodRanks(**arrays)


#: Good images of a block of queries, but for those of a single query.
BLOCK = 2**20


def in_blocks(ranks: GoodRanks) -> Iterator[GoodRanks]:
    """Yield the ranks in blocks of queries, not copied, so that what is made of them is small.

    Examples
    --------
    >>> [len(block.rank) for block in in_blocks(from_lists([[1, 4, 5], [6]]))]
    [4]
    """
    end = np.cumsum(ranks.found)
    cuts = np.flatnonzero(np.diff(end // BLOCK)) + 1
    for first, last in pairwise([0, *cuts.tolist(), len(end)]):
        entries = np.append(0, end)[[first, last]]
        yield _taken(ranks, slice(*entries), slice(first, last))


def of_queries(ranks: GoodRanks, chosen: Mask) -> GoodRanks:
    """Return the ranks of the queries under the mask `chosen`, shape (n,).

    Examples
    --------
    >>> of_queries(from_lists([[1, 4, 5], [6]]), np.array([False, True])).rank
    array([6])
    """
    if chosen.all():
        return ranks
    return _taken(ranks, np.repeat(chosen, ranks.found), chosen)


def _taken(ranks: GoodRanks, entries: Any, queries: Any) -> GoodRanks:
    """Return some entries of the arrays by good image, and some of the arrays by query."""
    return GoodRanks(**{name: getattr(ranks, name)[entries if name in RAGGED else queries]
                        for name in GoodRanks.__dataclass_fields__})


def split_queries(ranks: GoodRanks, group: Integers, n_groups: int) -> Iterator[GoodRanks]:
    """Yield the ranks of the queries of each group; `group` has shape (n,), from 0.

    Queries keep their order within a group.

    Examples
    --------
    >>> parts = split_queries(from_lists([[1, 4], [6], [2]]), np.array([1, 0, 1]), 2)
    >>> [part.rank.tolist() for part in parts]
    [[6], [1, 4, 2]]
    """
    keys = group[ranks.query], group
    in_order = _taken(ranks, *(np.argsort(key, kind="stable") for key in keys))
    entries, queries = (np.cumsum([0, *np.bincount(key, minlength=n_groups)]) for key in keys)
    for k in range(n_groups):
        yield _taken(in_order, slice(*entries[k:k + 2]), slice(*queries[k:k + 2]))


def spread_queries(ranks: GoodRanks, loaded: Mask) -> GoodRanks:
    """Undo `of_queries`: insert the queries outside the mask `loaded`, without any kept image.

    Examples
    --------
    >>> spread_queries(from_lists([[1, 4]]), np.array([False, True])).found
    array([0, 2])
    """
    if loaded.all():
        return ranks
    spread = {}
    for name in GoodRanks.__dataclass_fields__.keys() - RAGGED:
        spread[name] = np.zeros(len(loaded), dtype=np.int64)
        spread[name][loaded] = getattr(ranks, name)
    return replace(ranks, **spread)


def truncate(ranks: GoodRanks, top_k: int) -> GoodRanks:
    """Return the ranks in lists that are cut after `top_k` kept images, also within a tie.

    Examples
    --------
    >>> truncate(from_lists([[1, 4, 5], [6]]), top_k=4).rank
    array([1, 4])
    """
    top_k = min(top_k, np.iinfo(np.int64).max)
    inside, left = ranks.rank <= top_k, ranks.found - ranks.n_beyond
    if ranks.n_beyond.any():
        inside &= ranks.nth <= np.repeat(left, ranks.found)
    cut = _taken(ranks, inside, slice(None))
    return replace(
        cut, tied=np.minimum(cut.tied, top_k - cut.nearer), n_beyond=0 * left,
        found=np.bincount(ranks.query[inside], minlength=len(ranks.found)),
        first_match=np.where((ranks.first_match <= top_k) & ((left > 0) | (ranks.n_beyond == 0)),
                             ranks.first_match, 0))


def beyond(ranks: GoodRanks, others: GoodRanks) -> GoodRanks:
    """Return the ranks with those beyond a cut that have no rank in `others`, a list so cut.

    `others` are of the same queries. A good image that is ignored as well is no match.

    Examples
    --------
    >>> beyond(from_index([4, 9, 7], good=[9, 7]), from_index([4, 9], good=[9])).n_beyond
    array([1])
    """
    width = 1 + max(side.image.max(initial=0) for side in (ranks, others))
    pair, other = (side.query * width + side.image for side in (ranks, others))
    lost = np.bincount(ranks.query[~np.isin(pair, other)], minlength=len(ranks.found))
    return replace(forget_junk_matches(ranks), n_beyond=lost)


def forget_junk_matches(ranks: GoodRanks) -> GoodRanks:
    """Return the ranks without the matches of good images that are junk as well.

    Examples
    --------
    >>> forget_junk_matches(from_index([4, 9], good=[9], junk=[9])).first_match
    array([0])
    """
    first = first_ranks(ranks)
    return ranks if np.array_equal(first, ranks.first_match) else replace(ranks, first_match=first)


def first_ranks(ranks: GoodRanks) -> Integers:
    """Return the first rank of each query, 0 without one: int64, shape (n,)."""
    start = np.cumsum(ranks.found) - ranks.found
    return np.append(ranks.rank, 0)[np.where(ranks.found > 0, start, -1)]


def reverse_ties(ranks: GoodRanks) -> GoodRanks:
    """Return the ranks with equal distances in reversed order.

    Where the first match is junk it stays, as its ties are not known, unless another good image
    comes before it. A junk match after the first good image is not known at all; only lists have
    both.

    Examples
    --------
    A good image that is first of four at one distance becomes the last of them:

    >>> ranks = from_lists([[1]], n_kept=9)
    >>> reverse_ties(replace(ranks, tied=np.array([4]))).rank
    array([4])
    """
    rank = 2 * ranks.nearer + ranks.tied + 1 - ranks.rank
    order = np.lexsort((rank, ranks.query))  # nearer and tied are one value within a group
    is_junk = ranks.first_match != first_ranks(ranks)
    ranks = replace(ranks, rank=rank[order], image=ranks.image[order])
    first = first_ranks(ranks)
    before_junk = (first > 0) & (first < ranks.first_match)
    return replace(ranks, first_match=np.where(is_junk & ~before_junk, ranks.first_match, first))


def in_order(row: Array, ties: str) -> Integers:
    """Return the gallery indices in order of distance, equal ones in the order `ties`; NaN last.

    Examples
    --------
    >>> in_order(np.array([2., 1., 2.]), "gallery-order"), in_order(np.array([2., 1., 2.]),
    ...                                                             "reversed")
    (array([1, 0, 2]), array([1, 2, 0]))
    """
    if ties == "reversed":
        return len(row) - 1 - stable_order(row[::-1])
    if ties == "numpy":
        return np.argsort(row)
    if ties == "numpy-reversed":
        return _nan_last(np.argsort(_negative(row))[::-1], row)
    return stable_order(row)


def _negative(row: Array) -> Array:
    """Return numbers in the opposite order: -row, or ~row of whole numbers, which cannot overflow.

    Examples
    --------
    >>> _negative(np.array([-128, 127], np.int8))
    array([ 127, -128], dtype=int8)
    """
    if row.dtype.kind in "ub":  # in 64 bits, the width of the doubles that have a minus sign
        row = row.astype(np.uint64)
    return -row if row.dtype.kind == "f" else ~row


def _nan_last(order: Integers, row: Array) -> Integers:
    """Move NaN to the end, where each other order, and every count of nearer images, has it."""
    ordered = row[order]
    is_nan = ordered != ordered
    return np.concatenate([order[~is_nan], order[is_nan]]) if is_nan.any() else order


def stable_order(values: Array) -> Integers:
    """Return ``np.argsort(values, kind="stable")``, in less time if few values are equal.

    numpy's default sort is several times faster, but leaves equal values in any order.

    Examples
    --------
    >>> stable_order(np.array([2., np.nan, 1., 2., np.nan]))
    array([2, 0, 3, 1, 4])
    """
    order = np.argsort(values)
    ordered = values[order]
    same = ordered[1:] == ordered[:-1]
    if ordered.dtype.kind == "f" and len(ordered) and ordered[-1] != ordered[-1]:
        same |= (ordered[1:] != ordered[1:]) & (ordered[:-1] != ordered[:-1])
    n_same = np.count_nonzero(same)
    if 8 * n_same > len(values):
        return np.argsort(values, kind="stable")
    if n_same:
        new = np.append(True, ~same)
        tied = np.flatnonzero(~new | np.append(same, False))
        order[tied] = order[tied][np.lexsort((order[tied], np.cumsum(new)[tied]))]
    return order
