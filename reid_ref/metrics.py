"""`GoodRanks` to numbers: one function a metric, one a rule.

Each is arithmetic on a few ranks a query. Sums run one term after another, in order of
rank, because Octave adds that way; numpy's own `sum` and `mean` add pairwise and differ
in the last bits (`numpy.bincount` and `numpy.cumsum` do not).

Of every AP: shape (n_query,), in [0, 1]; NaN where no good image exists (0/0 in the
scripts), but 0 where nothing is kept at all, because then their loop adds nothing.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.ranks import GoodRanks
from reid_ref.validation import Integers

Doubles = npt.NDArray[np.float64]


def average_precision_trapezoid(ranks: GoodRanks) -> Doubles:
    """Average precision as `compute_AP.m` computes it.

    The area under the precision-recall curve by trapezoids. The precision before a hit is
    that of the *position* before it, not of the hit before it, and 1 before the first
    position. The recall step is k/n - (k-1)/n, which is not the same double as 1/n.

    Examples
    --------
    The fruit of seed 000: five exist, five are returned.

    >>> from reid_ref.ranks import from_lists
    >>> fruit = from_lists([[1, 4, 5], [2, 3, 4], [1, 3, 4]], n_good=5, n_kept=5)
    >>> average_precision_trapezoid(fruit).round(5)
    array([0.39333, 0.30833, 0.45833])
    """
    nth, n_good = ranks.nth.astype(np.float64), _n_good(ranks)
    recall, old_recall = nth / n_good, (nth - 1) / n_good
    precision, old_precision = nth / ranks.rank, _precision_before(nth, ranks.rank)
    return _sum_by_query(ranks, (recall - old_recall) * ((old_precision + precision) / 2))


def average_precision_layumi(ranks: GoodRanks) -> Doubles:
    """The trapezoid of layumi's evaluate.py: the recall step is 1/n, the halving comes last.

    The same number as `average_precision_trapezoid` but for the last bits.

    Examples
    --------
    >>> from reid_ref.ranks import from_lists
    >>> average_precision_layumi(from_lists([[1, 4, 5]], n_good=5)).round(5)
    array([0.39333])
    """
    nth = ranks.nth.astype(np.float64)
    both = _precision_before(nth, ranks.rank) + nth / ranks.rank
    return _sum_by_query(ranks, 1.0 / _n_good(ranks) * both / 2)


def average_precision_mistaken_trapezoid(ranks: GoodRanks) -> Doubles:
    """The trapezoid with the precision of the *hit* before, not of the position before.

    The mistake told at the end of seed 000, kept under this name so that numbers computed
    with it stay checkable. Before the first hit it takes 1 at rank 1, else 0.

    Examples
    --------
    >>> from reid_ref.ranks import from_lists
    >>> average_precision_mistaken_trapezoid(from_lists([[1, 4, 5]], n_good=5)).round(5)
    array([0.46])
    """
    nth = ranks.nth.astype(np.float64)
    precision = nth / ranks.rank
    first = nth == 1
    old_precision = np.where(first, ranks.rank == 1, np.roll(precision, 1))
    return _sum_by_query(ranks, (old_precision + precision) / 2 / _n_good(ranks))


def average_precision_step(ranks: GoodRanks) -> Doubles:
    """Average precision by rectangles: the mean precision at the good images.

    What most Python evaluators report as AP. Never below the trapezoid on the same ranking.

    Examples
    --------
    Seed 002, figure 2, and seed 003:

    >>> from reid_ref.ranks import from_lists
    >>> average_precision_step(from_lists([[1, 2, 10], [1, 4, 5], [1, 3]])).round(4)
    array([0.7667, 0.7   , 0.8333])
    """
    total = _sum_by_query(ranks, ranks.nth / ranks.rank)
    return np.divide(total, ranks.n_good, out=total, where=ranks.n_good > 0)


def average_precision_grouped_trapezoid(ranks: GoodRanks) -> Doubles:
    """scikit-learn 0.18: trapezoids over one point for each distinct distance.

    Without ties this is the official trapezoid. Equal distances share one point of the curve.

    Examples
    --------
    Two good images tied with two wrong ones, nothing nearer: 2/2 * (1 + 2/4) / 2.

    >>> from reid_ref.ranks import from_lists
    >>> tied = from_lists([[1, 2]], n_kept=4)
    >>> tied = replace(tied, nearer=np.zeros(2, int), tied=np.full(2, 4))
    >>> average_precision_grouped_trapezoid(tied)
    array([0.75])
    """
    groups, before, hits = tie_groups(ranks)
    n_good = _n_good(groups)
    precision = (before + hits) / (groups.nearer + groups.tied)
    old_precision = np.ones_like(precision)
    np.divide(before, groups.nearer, out=old_precision, where=groups.nearer > 0)
    recall_step = (before + hits) / n_good - before / n_good
    return _sum_by_query(groups, recall_step * (old_precision + precision) / 2)


def average_precision_grouped_step(ranks: GoodRanks) -> Doubles:
    """scikit-learn since 0.19: recall gained by each distinct distance times its precision.

    Without ties this is the step rule. Equal distances share one point of the curve.

    Examples
    --------
    >>> from reid_ref.ranks import from_lists
    >>> tied = from_lists([[1, 2]], n_kept=4)
    >>> tied = replace(tied, nearer=np.zeros(2, int), tied=np.full(2, 4))
    >>> average_precision_grouped_step(tied)
    array([0.5])
    """
    groups, before, hits = tie_groups(ranks)
    n_good = _n_good(groups)
    precision = (before + hits) / (groups.nearer + groups.tied)
    return _sum_by_query(
        groups, ((before + hits) / n_good - before / n_good) * precision)


def average_precision_step_float32(ranks: GoodRanks) -> Doubles:
    """The step rule of the Cython evaluators: a running sum in float32 of double quotients.

    Examples
    --------
    >>> from reid_ref.ranks import from_lists
    >>> average_precision_step_float32(from_lists([[1, 3]]))
    array([0.83333331])
    """
    total = _sum_in_float32(ranks, ranks.nth / ranks.rank)
    n_good = np.maximum(ranks.n_good, 1).astype(np.float32)
    return _unmatched_as_nan(ranks, total / n_good)


def average_precision_trapezoid_float32(ranks: GoodRanks) -> Doubles:
    """The trapezoid of Oxford's compute_ap.cpp: recall, precision and sum in float32.

    Examples
    --------
    >>> from reid_ref.ranks import from_lists
    >>> average_precision_trapezoid_float32(from_lists([[1, 4, 5]], n_good=5))
    array([0.39333335])
    """
    single = np.float32
    nth, n_good = ranks.nth.astype(single), _n_good(ranks).astype(single)
    step = nth / n_good - (nth - 1) / n_good
    old_precision = _precision_before(ranks.nth, ranks.rank).astype(single)
    both = old_precision + (ranks.nth / ranks.rank).astype(single)
    return _unmatched_as_nan(
        ranks, _sum_in_float32(ranks, step.astype(np.float64) * (both.astype(np.float64) / 2)))


#: AP rule to its function, where equal distances have an order.
AP_RULES: dict[str, Callable[[GoodRanks], Doubles]] = {
    "trapezoid": average_precision_trapezoid,
    "trapezoid-layumi": average_precision_layumi,
    "mistaken-trapezoid": average_precision_mistaken_trapezoid,
    "step": average_precision_step,
    "sklearn-0.18": average_precision_grouped_trapezoid,
    "sklearn-0.19": average_precision_grouped_step,
}
#: The same rules where equal distances are one group.
GROUPED_RULES = {
    "trapezoid": average_precision_grouped_trapezoid,
    "step": average_precision_grouped_step,
    "sklearn-0.18": average_precision_grouped_trapezoid,
    "sklearn-0.19": average_precision_grouped_step,
}
#: The same rules in single precision.
FLOAT32_RULES = {
    "trapezoid": average_precision_trapezoid_float32,
    "step": average_precision_step_float32,
}


def inverse_negative_penalty(ranks: GoodRanks) -> Doubles:
    """INP of each query: number of good images / rank of the last of them.

    Returns
    -------
    float64, shape (n_query,)
        In (0, 1]. NaN where no good image exists or where not all of them have a rank.

    Source
    ------
    Ye et al., Deep Learning for Person Re-identification: A Survey and Outlook, TPAMI 2021.

    Examples
    --------
    >>> from reid_ref.ranks import from_lists
    >>> inverse_negative_penalty(from_lists([[1, 2, 10], [1, 4, 5], []]))
    array([0.3, 0.6, nan])
    """
    inp = np.full(len(ranks.found), np.nan)
    complete = (ranks.found == ranks.n_good) & (ranks.found > 0)
    last = np.cumsum(ranks.found)[complete] - 1
    inp[complete] = ranks.n_good[complete] / ranks.rank[last]
    return inp


def negative_penalty(ranks: GoodRanks) -> Doubles:
    """NP of each query: the share of wrong images up to the last good one, 1 - INP.

    Examples
    --------
    >>> from reid_ref.ranks import from_lists
    >>> negative_penalty(from_lists([[1, 2, 10], [1, 4, 5]]))
    array([0.7, 0.4])
    """
    last = ranks.n_good / inverse_negative_penalty(ranks)
    penalty: Doubles = (last - ranks.n_good) / last
    return penalty


def accuracy_at(ranks: GoodRanks, k: int) -> Doubles:
    """AccK of each query: 1 where a good image is among the first k kept ones, else 0.

    Its mean over queries is Rank-k, one point of the CMC curve.

    Examples
    --------
    >>> from reid_ref.ranks import from_lists
    >>> accuracy_at(from_lists([[1, 4, 5], [2, 3, 4]]), 1)
    array([1., 0.])
    """
    hit: Doubles = ((ranks.first_match > 0) & (ranks.first_match <= k)).astype(np.float64)
    return hit


def precision_at(ranks: GoodRanks, k: int) -> Doubles:
    """Share of good images among the first k kept ones, of each query.

    Examples
    --------
    >>> from reid_ref.ranks import from_lists
    >>> precision_at(from_lists([[1, 4, 5], [2, 3, 4]], n_good=5), 5)
    array([0.6, 0.6])
    """
    return _hits_at(ranks, k) / k


def recall_at(ranks: GoodRanks, k: int) -> Doubles:
    """Share of the good images that exist which are among the first k kept ones.

    NaN where none exists.

    Examples
    --------
    >>> from reid_ref.ranks import from_lists
    >>> recall_at(from_lists([[1, 4, 5], [2, 3, 4]], n_good=5), 3)
    array([0.2, 0.4])
    """
    recall = np.full(len(ranks.found), np.nan)
    np.divide(_hits_at(ranks, k), ranks.n_good, out=recall, where=ranks.n_good > 0)
    return recall


def precision_recall_curve(ranks: GoodRanks, k: int) -> tuple[Doubles, Doubles]:
    """Precision and recall of every query at each of the first k kept places.

    Returns
    -------
    precision, recall : float64, shape (n_query, k)

    Examples
    --------
    The table of seed 000, first similarity:

    >>> from reid_ref.ranks import from_lists
    >>> precision, recall = precision_recall_curve(from_lists([[1, 4, 5]], n_good=5), 5)
    >>> precision.round(2), recall
    (array([[1.  , 0.5 , 0.33, 0.5 , 0.6 ]]), array([[0.2, 0.2, 0.2, 0.4, 0.6]]))
    """
    places = range(1, k + 1)
    return (np.stack([precision_at(ranks, place) for place in places], axis=1),
            np.stack([recall_at(ranks, place) for place in places], axis=1))


def cumulative_matching(first_match: Integers, length: int, n_query: int) -> Doubles:
    """CMC: the share of queries whose first match stands at rank k or before.

    Parameters
    ----------
    first_match : int64, shape (n,)
        Rank of each query's first match; 0 is never.
    length : int
        Length of the curve.
    n_query : int
        The number to divide by.

    Returns
    -------
    float64, shape (length,)
        Rank-k is entry k - 1.

    Examples
    --------
    >>> cumulative_matching(np.array([2, 1]), length=5, n_query=2)
    array([0.5, 1. , 1. , 1. , 1. ])
    """
    matches = first_match[(first_match > 0) & (first_match <= length)]
    return per_query_share(np.cumsum(np.bincount(matches, minlength=length + 1)[1:]), n_query)


def cumulative_matching_all_shots(ranks: GoodRanks, length: int, n_query: int) -> Doubles:
    """CMC of open-reid without `first_match_break`: every good image counts 1/n.

    Each stands at its rank less the good images before it: its rank among the wrong ones.

    Examples
    --------
    Two good images, at ranks 1 and 3: the second has one wrong image before it.

    >>> from reid_ref.ranks import from_lists
    >>> cumulative_matching_all_shots(from_lists([[1, 3]]), length=3, n_query=1)
    array([0.5, 1. , 1. ])
    """
    place = ranks.rank - ranks.nth  # from 0
    inside = place < length
    weight = 1.0 / _n_good(ranks)[inside]
    steps = np.bincount(place[inside], weights=weight, minlength=length).astype(np.float64)
    return per_query_share(np.cumsum(steps), n_query)


def per_query_share(sums: npt.NDArray[Any], n_query: int) -> Doubles:
    """Divide sums over queries by their number, in the precision of `sums`; NaN of no query.

    Examples
    --------
    >>> per_query_share(np.array([1., 2.]), 2), per_query_share(np.array([1.]), 0)
    (array([0.5, 1. ]), array([nan]))
    """
    if not n_query:
        return np.full(len(sums), np.nan)
    share: Doubles = sums / (sums.dtype.type(n_query) if sums.dtype.kind == "f" else n_query)
    return share


def mean_in_order(values: Doubles) -> float:
    """Mean by adding one value after another, as Octave's `sum` does; NaN of nothing."""
    return float(np.cumsum(values)[-1] / len(values)) if len(values) else float("nan")


def mean_in_float32(values: Doubles) -> float:
    """Mean by a running sum in float32."""
    if not len(values):
        return float("nan")
    total = np.cumsum(values.astype(np.float32), dtype=np.float32)[-1]
    return float(total / np.float32(len(values)))


def _n_good(ranks: GoodRanks) -> Doubles:
    return np.repeat(ranks.n_good, ranks.found).astype(np.float64)


def _precision_before(nth: npt.NDArray[np.number], rank: Integers) -> Doubles:
    """Precision at the position before each hit; 1 before the first position."""
    before = np.ones(len(rank))
    np.divide(nth - 1, rank - 1, out=before, where=rank > 1)
    return before


def _hits_at(ranks: GoodRanks, k: int) -> Doubles:
    hits = np.bincount(ranks.query[ranks.rank <= k], minlength=len(ranks.found))
    return hits.astype(np.float64)


def tie_groups(ranks: GoodRanks) -> tuple[GoodRanks, Integers, Integers]:
    """Return one entry for each group of equally distant good images of a query.

    Returns
    -------
    groups : GoodRanks
        `rank`, `nearer` and `tied` of the first of each group; `found` counts groups.
    before, hits : int64
        Good images strictly nearer than the group, and in it.
    """
    query, nth = ranks.query, ranks.nth
    first = (nth == 1) | (ranks.nearer != np.roll(ranks.nearer, 1))
    index = np.flatnonzero(first)
    hits = np.diff(np.append(index, len(query)))
    groups = replace(ranks, rank=ranks.rank[index], nearer=ranks.nearer[index],
                     tied=ranks.tied[index], image=ranks.image[index],
                     found=np.bincount(query[index], minlength=len(ranks.found)))
    return groups, nth[index] - 1, hits


def _sum_by_query(ranks: GoodRanks, terms: Doubles) -> Doubles:
    # bincount adds in order of rank, term after term, starting at 0: the script's own sum.
    # (It gives integers where there is nothing to add.)
    total = np.bincount(ranks.query, weights=terms, minlength=len(ranks.found))
    return _unmatched_as_nan(ranks, total)


def _sum_in_float32(ranks: GoodRanks, terms: Doubles) -> npt.NDArray[np.float32]:
    """Running sum of each query: term and sum are doubles, what is kept is a float32."""
    total = np.zeros(len(ranks.found), dtype=np.float32)
    query, nth = ranks.query, ranks.nth
    for k in range(1, int(ranks.found.max(initial=0)) + 1):
        at_k = nth == k
        total[query[at_k]] = (total[query[at_k]] + terms[at_k]).astype(np.float32)
    return total


def _unmatched_as_nan(ranks: GoodRanks, values: npt.NDArray[np.number]) -> Doubles:
    doubles = values.astype(np.float64)
    doubles[(ranks.n_good == 0) & (ranks.n_kept > 0)] = np.nan
    return doubles
