"""CMC, accuracy, precision and recall at rank k, and the inverse negative penalty (INP)."""
from __future__ import annotations

import numpy as np

from reid_ref.arrays import Doubles, Integers
from reid_ref.metrics.average_precision import n_good_of, per_query_share
from reid_ref.ranking.good_ranks import GoodRanks


def cumulative_matching(first_match: Integers, length: int, n_query: int) -> Doubles:
    """CMC: the share of queries whose first match has rank k or less.

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
    """CMC of open-reid without `first_match_break`: each of n good images counts 1/n.

    Each counts at its rank among the wrong images: its rank less the good images before it.

    Examples
    --------
    Two good images, at ranks 1 and 3: the second has one wrong image before it.

    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> cumulative_matching_all_shots(from_lists([[1, 3]]), length=3, n_query=1)
    array([0.5, 1. , 1. ])
    """
    place = ranks.rank - ranks.nth  # from 0
    inside = place < length
    weight = 1.0 / n_good_of(ranks)[inside]
    steps = np.bincount(place[inside], weights=weight, minlength=length).astype(np.float64)
    return per_query_share(np.cumsum(steps), n_query)


def all_shots_at(ranks: GoodRanks, k: int) -> Doubles:
    """Share of each query's good images that have fewer than k wrong ones before them.

    Its mean over queries is point k of `cumulative_matching_all_shots`.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> all_shots_at(from_lists([[1, 3], [2]]), 1)
    array([0.5, 0. ])
    """
    inside = ranks.rank - ranks.nth < k
    hits = np.bincount(ranks.query[inside], minlength=len(ranks.found))
    return hits / np.maximum(ranks.n_good, 1)


def accuracy_at(ranks: GoodRanks, k: int) -> Doubles:
    """AccK of each query: 1 where a good image is among the first k kept ones, else 0.

    Its mean over queries is Rank-k, one point of the CMC curve.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> accuracy_at(from_lists([[1, 4, 5], [2, 3, 4]]), 1)
    array([1., 0.])
    """
    hit: Doubles = ((ranks.first_match > 0) & (ranks.first_match <= k)).astype(np.float64)
    return hit


def precision_at(ranks: GoodRanks, k: int) -> Doubles:
    """Share of good images among the first k kept ones, of each query.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> precision_at(from_lists([[1, 4, 5], [2, 3, 4]], n_good=5), 5)
    array([0.6, 0.6])
    """
    return _hits_at(ranks, k) / k


def recall_at(ranks: GoodRanks, k: int) -> Doubles:
    """Share of the existing good images that are among the first k kept ones; NaN of none.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
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
    A list of five images holds three of five existing good images:

    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> precision, recall = precision_recall_curve(from_lists([[1, 4, 5]], n_good=5), 5)
    >>> precision.round(2), recall
    (array([[1.  , 0.5 , 0.33, 0.5 , 0.6 ]]), array([[0.2, 0.2, 0.2, 0.4, 0.6]]))
    """
    n = len(ranks.found)
    inside = ranks.rank <= k
    steps = np.bincount(ranks.query[inside] * k + ranks.rank[inside] - 1, minlength=n * k)
    hits = np.cumsum(steps.reshape(n, k), axis=1).astype(np.float64)
    recall = np.full((n, k), np.nan)
    n_good = ranks.n_good[:, np.newaxis]
    np.divide(hits, n_good, out=recall, where=n_good > 0)
    return hits / np.arange(1, k + 1), recall


def _hits_at(ranks: GoodRanks, k: int) -> Doubles:
    hits = np.bincount(ranks.query[ranks.rank <= k], minlength=len(ranks.found))
    return hits.astype(np.float64)


def inverse_negative_penalty(ranks: GoodRanks) -> Doubles:
    """INP of each query: number of good images / rank of the last of them.

    Returns
    -------
    float64, shape (n_query,)
        In (0, 1]. NaN where no good image exists or where not all of them have a rank.

    References
    ----------
    Ye et al., Deep Learning for Person Re-identification: A Survey and Outlook, TPAMI 2021.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> inverse_negative_penalty(from_lists([[1, 2, 10], [1, 4, 5], []]))
    array([0.3, 0.6, nan])
    """
    inp = np.full(len(ranks.found), np.nan)
    complete = (ranks.found == ranks.n_good) & (ranks.found > 0)
    last = np.cumsum(ranks.found)[complete] - 1
    inp[complete] = ranks.n_good[complete] / ranks.rank[last]
    return inp
