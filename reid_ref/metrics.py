"""`GoodRanks` to numbers: one function a metric, one a rule.

Each is arithmetic on a few ranks a query. Sums run one term after another, in order of
rank, because Octave adds that way; numpy's own `sum` and `mean` add pairwise and differ
in the last bits (`numpy.bincount` and `numpy.cumsum` do not).
"""
from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reid_ref.ranks import GoodRanks
from reid_ref.validation import Integers

Doubles = npt.NDArray[np.float64]


def average_precision_trapezoid(ranks: GoodRanks) -> Doubles:
    """Average precision of each query, as `compute_AP.m` computes it.

    The area under the precision-recall curve by trapezoids. The precision before a hit is
    that of the *position* before it, not of the hit before it, and 1 before the first
    position. The recall step is k/n - (k-1)/n, which is not the same double as 1/n.

    Returns
    -------
    float64, shape (n_query,)
        In [0, 1]. NaN where no good image exists (0/0 in the script), but 0 where nothing
        is kept at all, because then the script's loop adds nothing.

    Examples
    --------
    The fruit of seed 000: five exist, five are returned.

    >>> from reid_ref.ranks import from_lists
    >>> fruit = from_lists([[1, 4, 5], [2, 3, 4], [1, 3, 4]], n_good=5, n_kept=5)
    >>> average_precision_trapezoid(fruit).round(5)
    array([0.39333, 0.30833, 0.45833])
    """
    nth, rank = ranks.nth.astype(np.float64), ranks.rank.astype(np.float64)
    n_good = np.repeat(ranks.n_good, ranks.found).astype(np.float64)
    recall, old_recall = nth / n_good, (nth - 1) / n_good
    precision = nth / rank
    old_precision = np.ones_like(rank)
    np.divide(nth - 1, rank - 1, out=old_precision, where=rank > 1)
    return _sum_by_query(ranks, (recall - old_recall) * ((old_precision + precision) / 2))


def average_precision_step(ranks: GoodRanks) -> Doubles:
    """Average precision of each query by rectangles: the mean precision at the good images.

    What most Python evaluators report as AP. Never below the trapezoid on the same ranking.

    Returns
    -------
    float64, shape (n_query,)
        In [0, 1]. NaN where no good image exists, but 0 where nothing is kept at all.

    Examples
    --------
    Seed 002, figure 2, and seed 003:

    >>> from reid_ref.ranks import from_lists
    >>> average_precision_step(from_lists([[1, 2, 10], [1, 4, 5], [1, 3]])).round(4)
    array([0.7667, 0.7   , 0.8333])
    """
    precision = ranks.nth / ranks.rank
    total = _sum_by_query(ranks, precision)
    return np.divide(total, ranks.n_good, out=total, where=ranks.n_good > 0)


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
    >>> import numpy as np
    >>> cumulative_matching(np.array([2, 1]), length=5, n_query=2)
    array([0.5, 1. , 1. , 1. , 1. ])
    """
    matches = first_match[(first_match > 0) & (first_match <= length)]
    counts: Doubles = np.cumsum(np.bincount(matches, minlength=length + 1)[1:]) / n_query
    return counts


def mean_in_order(values: Doubles) -> float:
    """Mean by adding one value after another, as Octave's `sum` does."""
    return float(np.cumsum(values)[-1] / len(values))


def _sum_by_query(ranks: GoodRanks, terms: Doubles) -> Doubles:
    # bincount adds in order of rank, term after term, starting at 0: the script's own sum.
    # (It gives integers where there is nothing to add.)
    total: Doubles = np.bincount(
        ranks.query, weights=terms, minlength=len(ranks.found)).astype(np.float64)
    total[(ranks.n_good == 0) & (ranks.n_kept > 0)] = np.nan
    return total
