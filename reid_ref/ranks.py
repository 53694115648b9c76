"""Distances and labels to `GoodRanks`: where each query's good images stand.

Aim: the one small ragged array from which every number of the field follows. A rank is
the count of kept images that come before, so no ranking is ever sorted.

Conventions: distance, smaller is nearer; NaN is farthest. Good: the query's identity, where it
is not ignored. Which images are ignored and in which order equal distances stand is up to the
convention; MATLAB's sort, and so the default, keeps gallery order.

Source: Zheng et al., Scalable Person Re-identification: A Benchmark, ICCV 2015, section 3.3;
`matlab_ref/evaluation.m`, whose answers this file must give without walking the gallery.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.result import IndexLists, Labels
from reid_ref.roles import JUNK, Mask, query_roles
from reid_ref.validation import Integers

#: Above this many good images, one sort is cheaper than one pass over the row for each.
_SORT_FROM = 64


@dataclass(frozen=True)
class GoodRanks:
    """Ranks of the good images among the kept ones, for n queries.

    Parameters
    ----------
    rank : int64, shape (number of good images found,)
        1-based rank among kept images; ascending within a query, query after query.
    nearer, tied : int64, shape of `rank`
        Kept images strictly nearer than this one; kept images at its distance, itself included.
    image : int64, shape of `rank`
        Its gallery index; -1 where ranks were made by hand.
    found : int64, shape (n,)
        How many entries of `rank` each query has.
    n_good, n_junk, n_kept : int64, shape (n,)
        Good images that exist; gallery images ignored; gallery images that count.
    first_match : int64, shape (n,)
        Where the CMC curve rises to 1; 0 is never. It is the first rank, but for
        a query labelled -1 where that label is ignored: its good images are junk too, so they
        have no rank, and yet `compute_AP.m` lets the first of them raise the curve.
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

    @property
    def query(self) -> Integers:
        """int64, shape of `rank`: the query each rank belongs to."""
        return np.repeat(np.arange(len(self.found)), self.found)

    @property
    def nth(self) -> Integers:
        """int64, shape of `rank`: 1 for a query's nearest good image, 2 for the next."""
        start = np.cumsum(self.found) - self.found
        return np.arange(1, len(self.rank) + 1) - np.repeat(start, self.found)


def from_lists(ranks: Sequence[Sequence[int]], n_good: int | Sequence[int] | None = None,
               n_kept: int | Sequence[int] | None = None) -> GoodRanks:
    """Make `GoodRanks` by hand, from the ranks at which good images stand, without ties.

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
    last = np.array([row[-1] if len(row) else 0 for row in ranks], dtype=np.int64)
    return GoodRanks(
        rank=rank, nearer=rank - 1, tied=np.ones_like(rank), image=-np.ones_like(rank),
        found=found,
        n_good=found if n_good is None else np.broadcast_to(np.array(n_good, np.int64), n),
        n_junk=np.zeros(n, dtype=np.int64),
        n_kept=last if n_kept is None else np.broadcast_to(np.array(n_kept, np.int64), n),
        first_match=np.array([row[0] if len(row) else 0 for row in ranks], dtype=np.int64))


def from_index(index: npt.ArrayLike, good: npt.ArrayLike, junk: npt.ArrayLike = ()) -> GoodRanks:
    """Make the `GoodRanks` of one query from a ranked list of gallery indices.

    Parameters
    ----------
    index : sequence of int
        Gallery indices, the nearest first; may be truncated, and good images missing in it.
    good, junk : sequence of int
        Gallery indices; an image on both lists is junk, but `compute_AP.m` lets it
        raise the CMC curve.

    Examples
    --------
    >>> from_index([9, 4, 2, 7], good=[4, 7, 8], junk=[9]).rank
    array([1, 3])
    """
    is_good, is_junk = np.isin(index, good), np.isin(index, junk)
    before: Integers = np.cumsum(~is_junk) - ~is_junk
    places = 1 + before[is_good]
    rank = 1 + before[is_good & ~is_junk]
    one = np.ones(1, dtype=np.int64)
    return GoodRanks(
        rank=rank, nearer=rank - 1, tied=np.ones_like(rank),
        image=np.asarray(index, dtype=np.int64)[is_good & ~is_junk], found=one * len(rank),
        n_good=one * np.size(good), n_junk=one * int(is_junk.sum()),
        n_kept=one * int((~is_junk).sum()), first_match=places[:1] if len(places) else 0 * one)


def concatenate(parts: Sequence[GoodRanks]) -> GoodRanks:
    """Join the ranks of consecutive blocks of queries."""
    return GoodRanks(*(np.concatenate([getattr(part, name) for part in parts])
                       for name in GoodRanks.__dataclass_fields__))


def truncate(ranks: GoodRanks, top_k: int) -> GoodRanks:
    """Return what is left of every ranked list after its first `top_k` kept images.

    Examples
    --------
    >>> truncate(from_lists([[1, 4, 5], [6]]), top_k=4).rank
    array([1, 4])
    """
    inside = ranks.rank <= top_k
    return replace(
        ranks, rank=ranks.rank[inside], nearer=ranks.nearer[inside], tied=ranks.tied[inside],
        image=ranks.image[inside],
        found=np.bincount(ranks.query[inside], minlength=len(ranks.found)),
        first_match=np.where(ranks.first_match <= top_k, ranks.first_match, 0))


def forget_junk_matches(ranks: GoodRanks) -> GoodRanks:
    """Return the ranks with no match for queries whose good images are all junk.

    Examples
    --------
    >>> forget_junk_matches(from_index([4, 9], good=[9], junk=[9])).first_match
    array([0])
    """
    return replace(ranks, first_match=np.where(ranks.found > 0, ranks.first_match, 0))


def reverse_ties(ranks: GoodRanks) -> GoodRanks:
    """Return the ranks that the opposite order of equal distances gives.

    Examples
    --------
    One good image first of four equals becomes the last of them:

    >>> ranks = from_lists([[1]], n_kept=9)
    >>> reverse_ties(replace(ranks, tied=np.array([4]))).rank
    array([4])
    """
    rank = 2 * ranks.nearer + ranks.tied + 1 - ranks.rank
    order = np.lexsort((rank, ranks.query))  # nearer and tied are one value within a group
    rank = rank[order]
    first = np.where(ranks.found > 0, 0, ranks.first_match)
    first[ranks.found > 0] = rank[(np.cumsum(ranks.found) - ranks.found)[ranks.found > 0]]
    return replace(ranks, rank=rank, image=ranks.image[order], first_match=first)


def good_ranks(distances: npt.NDArray[Any], query: Labels, gallery: Labels,
               ignored: Iterable[str] = ("label -1", "same identity, same camera"),
               ties: str = "gallery-order", lists: IndexLists | None = None) -> GoodRanks:
    """Rank every query's good images among its kept ones.

    Parameters
    ----------
    distances : real array, shape (n_query, n_gallery)
        Smaller is nearer; NaN is farthest.
    query, gallery : Labels
    ignored : iterable of str
        What is ignored; see `query_roles`.
    ties : str
        "gallery-order", or "numpy" or "numpy-reversed": as this machine's
        ``argsort(distances)`` or ``argsort(-distances)[::-1]`` happens to leave equals.
    lists : IndexLists, optional

    Returns
    -------
    GoodRanks

    Examples
    --------
    The nearest image is junk, the good ones are second and third of the kept:

    >>> gallery = Labels([-1, 8, 7, 7, 7], [1, 1, 2, 3, 1])
    >>> ranks = good_ranks(np.array([[.1, .2, .3, .4, .5]]), Labels([7], [1]), gallery)
    >>> ranks.rank, ranks.n_good, ranks.n_junk, ranks.n_kept
    (array([2, 3]), array([2]), array([2]), array([3]))
    """
    roles_of = query_roles(query, gallery, ignored, lists)
    columns: list[Integers] = []
    n_good, n_kept, first_match = (np.zeros(len(query), dtype=np.int64) for _ in range(3))
    for k in range(len(query)):
        good, kept = roles_of(k)
        n_good[k], n_kept[k] = len(good), np.count_nonzero(kept)
        if len(good) and not kept[good].any():
            good = good[[_first(distances[k, good])]]  # of junk, only the first raises the curve
        places = ranks_of(distances[k], kept, good)
        if ties.startswith("numpy"):
            places[0] = _ranks_by_argsort(distances[k], kept, good, ties)
        order = np.argsort(places[0], kind="stable")
        if len(good):
            first_match[k] = places[0, order[0]]
        order = order[kept[good[order]]]
        columns.append(np.vstack([places[:, order], good[order]]))
    rank, nearer, tied, image = np.concatenate(columns, axis=1)
    return GoodRanks(
        rank=rank, nearer=nearer, tied=tied, image=image,
        found=np.array([column.shape[1] for column in columns], dtype=np.int64),
        n_good=n_good, n_junk=len(gallery) - n_kept, n_kept=n_kept, first_match=first_match)


def count_junk_as_wrong(ranks: GoodRanks, distances: npt.NDArray[Any], query: Labels,
                        gallery: Labels, ignored: Iterable[str]) -> GoodRanks:
    """Return the ranks when label -1 is no longer ignored, from those when it is.

    Only the images of that label are counted, and added: a fraction of the work of `good_ranks`,
    to which it is equal.

    Parameters
    ----------
    ranks : GoodRanks
        Of the same distances, with "label -1" ignored besides `ignored`, in gallery order.
    distances, query, gallery
        As for `good_ranks`.
    ignored : iterable of str
        What is ignored still.

    Examples
    --------
    >>> problem = np.array([[.1, .2]]), Labels([7], [1]), Labels([-1, 7], [2, 2])
    >>> count_junk_as_wrong(good_ranks(*problem), *problem, ["same identity, same camera"]).rank
    array([2])
    """
    junk = gallery.identity == JUNK
    n_junk = int(np.count_nonzero(junk))
    parts = []
    ends = np.cumsum(ranks.found)
    for k in range(len(query)):
        part = slice(ends[k] - ranks.found[k], ends[k])
        if query.identity[k] == JUNK:  # its good images were junk: nothing to build on
            one = slice(k, k + 1)
            alone = good_ranks(distances[one], Labels(query.identity[one], query.camera[one]),
                               gallery, ignored)
            parts.append(alone)
            continue
        before, nearer, tied = ranks_of(distances[k], junk, ranks.image[part])
        rank = ranks.rank[part] + before - 1
        one_query = {name: getattr(ranks, name)[k:k + 1] for name in ("found", "n_good")}
        parts.append(GoodRanks(
            rank=rank, nearer=ranks.nearer[part] + nearer, tied=ranks.tied[part] + tied,
            image=ranks.image[part], **one_query, n_junk=ranks.n_junk[k:k + 1] - n_junk,
            n_kept=ranks.n_kept[k:k + 1] + n_junk,
            first_match=rank[:1] if len(rank) else np.zeros(1, dtype=np.int64)))
    return concatenate(parts)


def ranks_of(row: npt.NDArray[Any], kept: Mask, images: Integers) -> Integers:
    """Rank, nearer and tied of `images` in one row of distances, in gallery order on ties.

    Parameters
    ----------
    row : real array, shape (n_gallery,)
    kept : bool, shape (n_gallery,)
    images : int64, shape (m,)
        They need not be kept themselves.

    Returns
    -------
    int64, shape (3, m)
        1 + the kept images that come before; kept images strictly nearer; kept images at the
        same distance.
    """
    wanted = row[images]
    is_nan = wanted != wanted
    if is_nan.any():
        return _ranks_with_nan(row, kept, images, is_nan)
    if not len(images):
        return np.zeros((3, 0), dtype=np.int64)
    # Only images up to the farthest wanted one can matter.
    near = np.flatnonzero((row <= wanted.max()) & kept)
    candidates = row[near]
    itself = kept[images]
    if len(images) < _SORT_FROM:
        nearer = _count_rows(candidates < wanted[:, np.newaxis])
        equal = candidates == wanted[:, np.newaxis]
        # Mostly nothing is equal but each image to itself; only else the rows are counted.
        no_ties = np.count_nonzero(equal) == np.count_nonzero(itself)
        tied = itself if no_ties else _count_rows(equal)
    else:
        ordered = np.sort(candidates)
        nearer = np.searchsorted(ordered, wanted, side="left")
        tied = np.searchsorted(ordered, wanted, side="right") - nearer
    places = np.array([nearer + 1, nearer, tied], dtype=np.int64)
    for i in np.flatnonzero(tied > itself):
        earlier = candidates[:np.searchsorted(near, images[i])]
        places[0, i] += np.count_nonzero(earlier == wanted[i])
    return places


def _count_rows(mask: Mask) -> Integers:
    # With an axis, count_nonzero widens every bool first, which takes longer than this loop.
    return np.array([np.count_nonzero(row) for row in mask], dtype=np.int64)


def in_order(row: npt.NDArray[Any], ties: str) -> Integers:
    """Return the gallery in order of distance, equals in the order `ties`; NaN comes last.

    Examples
    --------
    >>> in_order(np.array([2., 1., 2.]), "gallery-order"), in_order(np.array([2., 1., 2.]),
    ...                                                             "reversed")
    (array([1, 0, 2]), array([1, 2, 0]))
    """
    if ties == "reversed":
        return len(row) - 1 - np.argsort(row[::-1], kind="stable")
    if ties == "numpy":
        return np.argsort(row)
    if ties == "numpy-reversed":
        signed = row.astype(np.float64) if row.dtype.kind in "ub" else row
        return np.argsort(-signed)[::-1]
    return np.argsort(row, kind="stable")


def _first(distances: npt.NDArray[Any]) -> int:
    """Index of the nearest: the first of equals, NaN only where there is nothing else."""
    return int(np.argsort(distances, kind="stable")[0])


def _ranks_with_nan(row: npt.NDArray[Any], kept: Mask, images: Integers,
                    is_nan: Mask) -> Integers:
    """As `ranks_of`, where some of `images` are at distance NaN: behind all others."""
    places = np.zeros((3, len(images)), dtype=np.int64)
    places[:, ~is_nan] = ranks_of(row, kept, images[~is_nan])
    nan_kept = np.flatnonzero((row != row) & kept)
    n_numbers = int(np.count_nonzero(kept)) - len(nan_kept)
    places[0, is_nan] = n_numbers + np.searchsorted(nan_kept, images[is_nan]) + 1
    places[1, is_nan], places[2, is_nan] = n_numbers, len(nan_kept)
    return places


def _ranks_by_argsort(row: npt.NDArray[Any], kept: Mask, images: Integers,
                      ties: str) -> Integers:
    """Ranks as numpy's default sort leaves equals: they depend on the processor."""
    order = in_order(row, ties)
    place = np.empty(len(row), dtype=np.int64)
    place[order] = np.arange(len(row))
    up_to: Integers = np.cumsum(kept[order])
    return up_to[place[images]] + ~kept[images]
