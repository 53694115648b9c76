"""Distances and labels to `GoodRanks`: where each query's good images stand.

Aim: the one small ragged array from which every number of the field follows. A rank is
the count of kept images that come before, so no ranking is ever sorted.

Conventions: distance, smaller is nearer. Good: the query's identity on another camera.
Junk: label -1, and the query's identity on its own camera; junk images are not counted.
Ties keep gallery order and NaN comes last, in gallery order, as MATLAB's sort does.

Source: Zheng et al., Scalable Person Re-identification: A Benchmark, ICCV 2015, section 3.3;
`matlab_ref/evaluation.m`, whose answers this file must give without walking the gallery.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.result import Labels
from reid_ref.validation import Integers

JUNK = -1
#: Above this many good images, one sort is cheaper than one pass over the row for each.
_SORT_FROM = 64


@dataclass(frozen=True)
class GoodRanks:
    """Ranks of the good images among the kept ones, for n queries.

    Parameters
    ----------
    rank : int64, shape (number of good images found,)
        1-based rank among kept images; ascending within a query, query after query.
    found : int64, shape (n,)
        How many entries of `rank` each query has.
    n_good, n_junk, n_kept : int64, shape (n,)
        Good images that exist; gallery images ignored; gallery images that count.
    first_match : int64, shape (n,)
        Where the CMC curve rises to 1; 0 is never. It is the first rank, but for
        a query labelled -1: its good images are junk too, so they have no rank, and
        yet `compute_AP.m` lets the first of them raise the curve.
    """

    rank: Integers
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
    """Make `GoodRanks` by hand, from the ranks at which good images stand.

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
    last = np.array([row[-1] if len(row) else 0 for row in ranks], dtype=np.int64)
    return GoodRanks(
        rank=np.array([rank for row in ranks for rank in row], dtype=np.int64),
        found=found,
        n_good=found if n_good is None else np.broadcast_to(np.array(n_good, np.int64), n),
        n_junk=np.zeros(n, dtype=np.int64),
        n_kept=last if n_kept is None else np.broadcast_to(np.array(n_kept, np.int64), n),
        first_match=np.array([row[0] if len(row) else 0 for row in ranks], dtype=np.int64))


def concatenate(parts: Sequence[GoodRanks]) -> GoodRanks:
    """Join the ranks of consecutive blocks of queries."""
    return GoodRanks(*(np.concatenate([getattr(part, name) for part in parts])
                       for name in GoodRanks.__dataclass_fields__))


def good_ranks(distances: npt.NDArray[Any], query: Labels, gallery: Labels) -> GoodRanks:
    """Rank every query's good images among its kept ones.

    Parameters
    ----------
    distances : real array, shape (n_query, n_gallery)
        Smaller is nearer; NaN is farthest.
    query, gallery : Labels

    Returns
    -------
    GoodRanks

    Examples
    --------
    The nearest image is junk, the good ones are second and third of the kept:

    >>> import numpy as np
    >>> gallery = Labels([-1, 8, 7, 7, 7], [1, 1, 2, 3, 1])
    >>> ranks = good_ranks(np.array([[.1, .2, .3, .4, .5]]), Labels([7], [1]), gallery)
    >>> ranks.rank, ranks.n_good, ranks.n_junk, ranks.n_kept
    (array([2, 3]), array([2]), array([2]), array([3]))
    """
    n = len(query)
    by_identity = np.argsort(gallery.identity, kind="stable")
    identities = gallery.identity[by_identity]
    start = np.searchsorted(identities, query.identity, side="left")
    stop = np.searchsorted(identities, query.identity, side="right")
    labelled = gallery.identity != JUNK
    n_unlabelled = len(gallery) - int(np.count_nonzero(labelled))

    ranks: list[Integers] = []
    n_good, n_junk, first_match = (np.zeros(n, dtype=np.int64) for _ in range(3))
    for k in range(n):
        same = by_identity[start[k]:stop[k]]
        own_camera = gallery.camera[same] == query.camera[k]
        good, junk = same[~own_camera], same[own_camera]
        kept = labelled.copy()
        kept[junk] = False
        n_good[k] = len(good)
        n_junk[k] = n_unlabelled
        if query.identity[k] == JUNK:
            if len(good):
                nearest = _first(distances[k, good])
                first_match[k] = _ranks_of(distances[k], kept, good[[nearest]])[0]
            ranks.append(np.zeros(0, dtype=np.int64))
            continue
        n_junk[k] += len(junk)
        ranks.append(np.sort(_ranks_of(distances[k], kept, good)))
        if len(good):
            first_match[k] = ranks[-1][0]
    return GoodRanks(
        rank=np.concatenate(ranks), found=np.array([len(r) for r in ranks], dtype=np.int64),
        n_good=n_good, n_junk=n_junk, n_kept=len(gallery) - n_junk, first_match=first_match)


def _first(distances: npt.NDArray[Any]) -> int:
    """Index of the nearest: the first of equals, NaN only where there is nothing else."""
    return int(np.argsort(distances, kind="stable")[0])


def _ranks_of(row: npt.NDArray[Any], kept: npt.NDArray[np.bool_], images: Integers) -> Integers:
    """1 + how many kept images come before each of `images` in `row`.

    `images` need not be kept themselves.
    """
    wanted = row[images]
    is_nan = wanted != wanted
    if is_nan.any():
        return _ranks_with_nan(row, kept, images, is_nan)
    if not len(images):
        return np.zeros(0, dtype=np.int64)
    # Only images up to the farthest wanted one can matter.
    near = np.flatnonzero((row <= wanted.max()) & kept)
    candidates = row[near]
    if len(images) < _SORT_FROM:
        before = np.count_nonzero(candidates < wanted[:, np.newaxis], axis=1)
        not_after = np.count_nonzero(candidates <= wanted[:, np.newaxis], axis=1)
    else:
        ordered = np.sort(candidates)
        before = np.searchsorted(ordered, wanted, side="left")
        not_after = np.searchsorted(ordered, wanted, side="right")
    rank = np.asarray(before, dtype=np.int64) + 1
    for i in np.flatnonzero(not_after - before > kept[images]):
        earlier = candidates[:np.searchsorted(near, images[i])]
        rank[i] += np.count_nonzero(earlier == wanted[i])
    return rank


def _ranks_with_nan(row: npt.NDArray[Any], kept: npt.NDArray[np.bool_], images: Integers,
                    is_nan: npt.NDArray[np.bool_]) -> Integers:
    """As `_ranks_of`, where some of `images` are at distance NaN: behind all others."""
    rank = np.zeros(len(images), dtype=np.int64)
    rank[~is_nan] = _ranks_of(row, kept, images[~is_nan])
    nan_kept = np.flatnonzero((row != row) & kept)
    n_numbers = int(np.count_nonzero(kept)) - len(nan_kept)
    rank[is_nan] = n_numbers + np.searchsorted(nan_kept, images[is_nan]) + 1
    return rank
