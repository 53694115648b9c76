"""Inverse negative penalty (INP): the rank of the last good image."""
from __future__ import annotations

import numpy as np

from reid_ref.arrays import Doubles
from reid_ref.ranking.good_ranks import GoodRanks


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
