"""Cumulative matching characteristic: the share of queries with a match up to rank k."""
from __future__ import annotations

import numpy as np

from reid_ref.arrays import Doubles, Integers
from reid_ref.metrics.sums import n_good_of, per_query_share
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
