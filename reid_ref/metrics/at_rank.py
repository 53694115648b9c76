"""Accuracy, precision and recall among the first k kept images; the precision-recall curve."""
from __future__ import annotations

import numpy as np

from reid_ref.arrays import Doubles
from reid_ref.ranking.good_ranks import GoodRanks


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
