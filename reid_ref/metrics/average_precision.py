"""Average precision (AP): one function per rule.

All return shape (n_query,), in [0, 1]: NaN where no good image exists (0/0 in the scripts), but 0
where no image is kept, because then the scripts' loop adds no term.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, Integers
from reid_ref.ranking.good_ranks import GoodRanks


def per_query_share(sums: npt.NDArray[Any], n_query: int) -> Doubles:
    """Return sums over queries divided by `n_query`, in the precision of `sums`; NaN of none.

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
    """Mean by adding one value after another, as Octave's `sum` does; NaN of no value."""
    return float(np.cumsum(values)[-1] / len(values)) if len(values) else float("nan")


def mean_in_float32(values: Doubles) -> float:
    """Mean by a running sum in float32; NaN of no value."""
    if not len(values):
        return float("nan")
    total = np.cumsum(values.astype(np.float32), dtype=np.float32)[-1]
    return float(total / np.float32(len(values)))


def n_good_of(ranks: GoodRanks) -> Doubles:
    return np.repeat(ranks.n_good, ranks.found).astype(np.float64)


def precision_before(nth: npt.NDArray[np.number], rank: Integers) -> Doubles:
    """Precision at the position before each hit; 1 before the first position."""
    before = np.ones(len(rank))
    np.divide(nth - 1, rank - 1, out=before, where=rank > 1)
    return before


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
    if first.all():  # the common case, and the quick one
        return ranks, nth - 1, np.ones_like(nth)
    index = np.flatnonzero(first)
    hits = np.diff(np.append(index, len(query)))
    groups = replace(ranks, rank=ranks.rank[index], nearer=ranks.nearer[index],
                     tied=ranks.tied[index], image=ranks.image[index],
                     found=np.bincount(query[index], minlength=len(ranks.found)))
    return groups, nth[index] - 1, hits


def count_tied_queries(ranks: GoodRanks) -> int:
    """Count the queries with a good and a wrong image at one distance."""
    groups, _, hits = tie_groups(ranks)
    return len(np.unique(groups.query[groups.tied > hits]))


def sum_by_query(ranks: GoodRanks, terms: Doubles) -> Doubles:
    # bincount adds to 0 in order of rank, as compute_AP.m does.
    total = np.bincount(ranks.query, weights=terms, minlength=len(ranks.found))
    return unmatched_as_nan(ranks, total)


def sum_in_float32(ranks: GoodRanks, terms: Doubles) -> npt.NDArray[np.float32]:
    """Running sum of each query, rounded to float32 after each addition in double."""
    total = np.zeros(len(ranks.found), dtype=np.float32)
    start = np.cumsum(ranks.found) - ranks.found
    more = np.arange(len(total))
    for k in range(int(ranks.found.max(initial=0))):
        more = more[ranks.found[more] > k]
        total[more] = (total[more] + terms[start[more] + k]).astype(np.float32)
    return total


def unmatched_as_nan(ranks: GoodRanks, values: npt.NDArray[np.number]) -> Doubles:
    doubles = values.astype(np.float64)
    doubles[(ranks.n_good == 0) & (ranks.n_kept > 0)] = np.nan
    return doubles


def average_precision_trapezoid(ranks: GoodRanks) -> Doubles:
    """Average precision as `compute_AP.m` computes it.

    The area under the precision-recall curve by trapezoids. The precision before a hit is
    that of the *position* before it, not of the hit before it, and 1 before the first
    position. The recall step is k/n - (k-1)/n, which is not the same double as 1/n.

    Examples
    --------
    Three lists of five images; five good images exist for each.

    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> lists = from_lists([[1, 4, 5], [2, 3, 4], [1, 3, 4]], n_good=5, n_kept=5)
    >>> average_precision_trapezoid(lists).round(5)
    array([0.39333, 0.30833, 0.45833])
    """
    nth, n_good = ranks.nth.astype(np.float64), n_good_of(ranks)
    recall, old_recall = nth / n_good, (nth - 1) / n_good
    precision, old_precision = nth / ranks.rank, precision_before(nth, ranks.rank)
    return sum_by_query(ranks, (recall - old_recall) * ((old_precision + precision) / 2))


def average_precision_layumi(ranks: GoodRanks) -> Doubles:
    """The trapezoid of layumi's evaluate.py: the recall step is 1/n, and is halved last.

    It differs from `average_precision_trapezoid` in the last bits only.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> average_precision_layumi(from_lists([[1, 4, 5]], n_good=5)).round(5)
    array([0.39333])
    """
    nth = ranks.nth.astype(np.float64)
    both = precision_before(nth, ranks.rank) + nth / ranks.rank
    return sum_by_query(ranks, 1.0 / n_good_of(ranks) * both / 2)


def average_precision_mistaken_trapezoid(ranks: GoodRanks) -> Doubles:
    """The trapezoid with the precision of the *hit* before, not of the position before.

    A common mistake, implemented so that published numbers computed with it can be checked. The
    precision before the first hit is 1 at rank 1, else 0.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> average_precision_mistaken_trapezoid(from_lists([[1, 4, 5]], n_good=5)).round(5)
    array([0.46])
    """
    nth = ranks.nth.astype(np.float64)
    precision = nth / ranks.rank
    first = nth == 1
    old_precision = np.where(first, ranks.rank == 1, np.roll(precision, 1))
    return sum_by_query(ranks, (old_precision + precision) / 2 / n_good_of(ranks))


def average_precision_step(ranks: GoodRanks) -> Doubles:
    """Average precision by rectangles: the mean precision at the good images.

    The AP of most Python evaluators. Never below the trapezoid on the same ranking.

    Examples
    --------
    Good images at ranks 1, 2, 10, at 1, 4, 5, and at 1, 3:

    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> average_precision_step(from_lists([[1, 2, 10], [1, 4, 5], [1, 3]])).round(4)
    array([0.7667, 0.7   , 0.8333])
    """
    total = sum_by_query(ranks, ranks.nth / ranks.rank)
    return np.divide(total, ranks.n_good, out=total, where=ranks.n_good > 0)


def average_precision_grouped_trapezoid(ranks: GoodRanks) -> Doubles:
    """scikit-learn 0.18: trapezoids over one point for each distinct distance.

    Without ties this is the official trapezoid. Equal distances share one point of the curve.

    Examples
    --------
    Two good and two wrong images at the smallest distance: 2/2 * (1 + 2/4) / 2.

    >>> from dataclasses import replace
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> tied = from_lists([[1, 2]], n_kept=4)
    >>> tied = replace(tied, nearer=np.zeros(2, int), tied=np.full(2, 4))
    >>> average_precision_grouped_trapezoid(tied)
    array([0.75])
    """
    groups, before, hits = tie_groups(ranks)
    n_good = n_good_of(groups)
    precision = (before + hits) / (groups.nearer + groups.tied)
    old_precision = np.ones_like(precision)
    np.divide(before, groups.nearer, out=old_precision, where=groups.nearer > 0)
    recall_step = (before + hits) / n_good - before / n_good
    return sum_by_query(groups, recall_step * (old_precision + precision) / 2)


def average_precision_grouped_step(ranks: GoodRanks) -> Doubles:
    """scikit-learn since 0.19: recall gained by each distinct distance times its precision.

    Without ties this is the step rule. Equal distances share one point of the curve.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> tied = from_lists([[1, 2]], n_kept=4)
    >>> tied = replace(tied, nearer=np.zeros(2, int), tied=np.full(2, 4))
    >>> average_precision_grouped_step(tied)
    array([0.5])
    """
    groups, before, hits = tie_groups(ranks)
    n_good = n_good_of(groups)
    precision = (before + hits) / (groups.nearer + groups.tied)
    return sum_by_query(
        groups, ((before + hits) / n_good - before / n_good) * precision)


def average_precision_step_float32(ranks: GoodRanks) -> Doubles:
    """The step rule of the Cython evaluators: a running sum in float32 of double quotients.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> average_precision_step_float32(from_lists([[1, 3]]))
    array([0.83333331])
    """
    total = sum_in_float32(ranks, ranks.nth / ranks.rank)
    n_good = np.maximum(ranks.n_good, 1).astype(np.float32)
    return unmatched_as_nan(ranks, total / n_good)


def average_precision_trapezoid_float32(ranks: GoodRanks) -> Doubles:
    """The trapezoid of Oxford's compute_ap.cpp: recall, precision and sum in float32.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> average_precision_trapezoid_float32(from_lists([[1, 4, 5]], n_good=5))
    array([0.39333335])
    """
    single = np.float32
    nth, n_good = ranks.nth.astype(single), n_good_of(ranks).astype(single)
    step = nth / n_good - (nth - 1) / n_good
    old_precision = precision_before(ranks.nth, ranks.rank).astype(single)
    both = old_precision + (ranks.nth / ranks.rank).astype(single)
    return unmatched_as_nan(
        ranks, sum_in_float32(ranks, step.astype(np.float64) * (both.astype(np.float64) / 2)))
