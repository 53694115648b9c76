"""Ranked lists of a few queries, each image with its role; the queries worth a look."""
from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref.arrays import Integers
from reid_ref.conventions import Convention
from reid_ref.evaluation.how import How
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import DISTRACTOR, JUNK, count_distractors
from reid_ref.ranking.good_ranks import in_order
from reid_ref.ranking.roles import Mask, query_roles
from reid_ref.result import Result, in_mean


def worst_queries(result: Result, n: int) -> Integers:
    """Return the n queries of lowest AP, the lowest first; equal AP in order of their number.

    Only queries in the mean of mAP, with the AP that they have there: a query without a good
    image comes first where it counts as AP 0, and last where its AP is NaN.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8], [2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2], [.1, .2]], query, gallery)
    >>> worst_queries(result, 1)
    array([1])
    """
    queries = np.flatnonzero(in_mean(result))
    ap = result.convention.counted(result.per_query.ap[queries], result.per_query.n_good[queries])
    return queries[np.argsort(ap, kind="stable")[:n]]


#: Why a query is shown, with its meaning.
REASONS = {
    "worst": "lowest AP",
    "median": "AP nearest to the median",
    "random": "drawn at random",
    "rank-1 wrong": "a wrong image at rank 1, the highest AP first",
    "no match": "no good image",
    "tied": "a good and a wrong image at one distance",
}
GOOD, WRONG, DISTRACTING, IGNORED = "good", "wrong", "distractor", "ignored"


@dataclass(frozen=True)
class Entry:
    """One image of a ranked list.

    Parameters
    ----------
    image, identity, camera : int
        Gallery index from 0, and its labels.
    rank : int or None
        From 1 among the kept images; None where it is ignored.
    distance : float
    role : str
        "good", "wrong", "distractor" or "ignored".
    reason : str
        Why it is ignored; else empty.
    """

    image: int
    identity: int
    camera: int
    rank: int | None
    distance: float
    role: str
    reason: str = ""


@dataclass(frozen=True)
class RankList:
    """The beginning of one query's ranked list.

    Parameters
    ----------
    query, identity, camera : int
        Which query, from 0, and its labels.
    entries : tuple of Entry
        The first kept images and the ignored ones before the last of them, in order.
    more_ignored : int
        Ignored images among them that are left out, since there are many.
    next_good : Entry or None
        The first good image after the entries.
    good : tuple of Entry
        The first good images by rank, at most as many as are shown.
    """

    query: int
    identity: int
    camera: int
    entries: tuple[Entry, ...]
    more_ignored: int
    next_good: Entry | None
    good: tuple[Entry, ...]


def choose(result: Result, n: int, seed: int = 12345,
           first: Iterable[int] = ()) -> dict[str, list[int]]:
    """Return about n queries by reason; a query can have several reasons.

    Parameters
    ----------
    result : Result
    n : int
        Different queries at most.
    seed : int
        Of those drawn at random.
    first : iterable of int
        Queries that are shown anyway, and count.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8], [2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2], [.1, .2]], query, gallery)
    >>> {reason: queries for reason, queries in choose(result, 1).items() if queries}
    {'worst': [1], 'median': [1], 'rank-1 wrong': [1]}
    """
    ordered = {reason: queries.tolist() for reason, queries in _candidates(result, seed).items()}
    taken = dict.fromkeys(list(first)[:n])
    by_reason: dict[str, list[int]] = {reason: [] for reason in ordered}
    for place in range(max(map(len, ordered.values()))):
        if len(taken) >= n:
            break
        for reason, queries in ordered.items():
            if place < len(queries) and (len(taken) < n or queries[place] in taken):
                taken[queries[place]] = None
                by_reason[reason].append(queries[place])
    for reason in ("rank-1 wrong", "no match", "tied"):
        by_reason[reason] = [query for query in ordered[reason] if query in taken]
    return by_reason


def _candidates(result: Result, seed: int) -> dict[str, Integers]:
    """Return all queries that each reason fits, the best first."""
    per_query = result.per_query
    worst = worst_queries(result, len(per_query.ap))
    worst = worst[~np.isnan(per_query.ap[worst])]
    ap = per_query.ap[worst]
    middle = np.argsort(np.abs(ap - np.median(ap)), kind="stable") if len(worst) else worst
    with_good = np.flatnonzero(per_query.status == "ok")
    later = with_good[per_query.first_match[with_good] != 1]
    absent = ~np.isin(per_query.status, ("ok", "not loaded"))
    return {
        "worst": worst, "median": worst[middle],
        "random": np.random.RandomState(seed).permutation(worst),
        "rank-1 wrong": later[np.argsort(-per_query.ap[later], kind="stable")],
        "no match": np.flatnonzero(absent), "tied": tied_queries(result)}


def tied_queries(result: Result) -> Integers:
    """Return the queries with a good and a wrong image at one distance."""
    groups, _, hits = metrics.tie_groups(result.ranks)
    return np.unique(groups.query[groups.tied > hits])


def rank_lists(data: ResultFile, queries: Sequence[int], how: How,
               top: int = 10) -> list[RankList]:
    """Return the ranked lists of the chosen queries, with the distances that `explain` shows.

    Parameters
    ----------
    data : ResultFile
    queries : sequence of int
        Which, from 0.
    how : How
        With one convention, as which it ranks.
    top : int
        Kept images shown; also good and ignored ones at most.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> data = reid_ref.ResultFile(
    ...     "arrays", reid_ref.Labels([7], [1]), reid_ref.Labels([7, -1, 8, 7], [1, 2, 2, 3]),
    ...     distances=np.array([[.1, .2, .3, .4]]))
    >>> first, = rank_lists(data, [0], How(), top=2)
    >>> [(entry.rank, entry.role, entry.reason) for entry in first.entries][:3]
    [(None, 'ignored', 'same camera'), (None, 'ignored', 'label -1'), (1, 'wrong', '')]
    """
    chosen = np.asarray(queries, dtype=np.int64)
    convention, = how.conventions
    roles = query_roles(data.query[chosen], data.gallery, convention.not_ranked,
                        how.lists_of(chosen))
    loaded = convention.loaded(data.gallery.identity)
    distractors = count_distractors(data.query, data.gallery) > 0
    lists = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the evaluation has said what is odd about the features
        for k, row in enumerate(data.input.exact_rows(chosen, how)):
            good, kept = roles(k)
            query = _Query(int(chosen[k]), data, convention, kept & loaded, good, distractors)
            lists.append(query.ranked(row, loaded, top))
    return lists


@dataclass(frozen=True)
class _Query:
    """What is known of a query before its distances are ordered."""

    query: int
    data: ResultFile
    convention: Convention
    kept: Mask
    good: Integers
    distractors: bool

    def ranked(self, row: npt.NDArray[Any], loaded: Mask, top: int) -> RankList:
        images = np.flatnonzero(loaded)
        order = images[in_order(row[images], self.convention.ties)]
        kept = self.kept[order]
        rank = np.cumsum(kept)
        end = int(np.searchsorted(rank, top, side="left")) + 1
        places = np.arange(min(end, len(order)))
        ignored = places[~kept[places]]
        shown = np.setdiff1d(places, ignored[top:])
        is_good = np.isin(order, self.good) & kept
        good = np.flatnonzero(is_good)
        later = good[good >= end][:1]
        every = np.concatenate([shown, good[:top], later])
        values = np.asarray(row[order[every]], dtype=np.float64)
        entries = [self._entry(int(order[place]), int(rank[place]) if kept[place] else None,
                               bool(is_good[place]), value)
                   for place, value in zip(every.tolist(), values.tolist())]
        n, end_of_good = len(shown), len(shown) + len(good[:top])
        labels = self.data.query
        return RankList(self.query, int(labels.identity[self.query]),
                        int(labels.camera[self.query]), tuple(entries[:n]), len(ignored[top:]),
                        entries[end_of_good] if len(later) else None,
                        tuple(entries[n:end_of_good]))

    def _entry(self, image: int, rank: int | None, is_good: bool, distance: float) -> Entry:
        identity = int(self.data.gallery.identity[image])
        camera = int(self.data.gallery.camera[image])
        if rank is None:
            return Entry(image, identity, camera, rank, distance, IGNORED,
                         self._reason(identity, camera))
        distracts = self.distractors and identity == DISTRACTOR
        role = GOOD if is_good else DISTRACTING if distracts else WRONG
        return Entry(image, identity, camera, rank, distance, role)

    def _reason(self, identity: int, camera: int) -> str:
        if self.convention.needs_lists:
            return "listed as junk"
        if identity == JUNK and "label -1" in self.convention.not_ranked:
            return "label -1"
        is_same = camera == int(self.data.query.camera[self.query])
        return "same camera" if is_same else "same location"
