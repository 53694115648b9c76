"""How AP is spread: over queries, over identities, and by the number of good images."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reid_ref.analysis.groups import by_group
from reid_ref.arrays import Doubles, Integers
from reid_ref.labels import Labels
from reid_ref.result import Result


def counted_ap(result: Result) -> tuple[Doubles, Integers]:
    """Return AP and the number of good images of the queries that are in the mean of mAP.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8], [2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2]] * 2, query, gallery)
    >>> counted_ap(result)
    (array([1.  , 0.25]), array([1, 1]))
    """
    there = result.per_query.status != "not loaded"
    n_good = result.per_query.n_good[there]
    ap, good = (result.convention.counted(values, n_good) for values in (
        result.per_query.ap[there], n_good.astype(np.float64)))
    return ap, good.astype(np.int64)


def identity_ap(result: Result) -> Doubles:
    """Return the mean AP of each identity with a query that counts.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8, 7], [1] * 3), reid_ref.Labels([7, 8], [2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2], [.1, .2], [.2, .1]], query, gallery)
    >>> identity_ap(result)
    array([0.625, 0.25 ])
    """
    identity = result.per_query.identity
    groups = by_group(result, Labels(identity, np.zeros_like(identity)))
    return groups.mAP[groups.counted > 0]


@dataclass(frozen=True)
class ByGood:
    """Mean AP of the queries with a similar number of good images; the shape is (n,).

    Parameters
    ----------
    low, high : int64
        Fewest and most good images of each group.
    queries : int64
        Queries of the group that are in the mean of mAP.
    mAP : float64
        NaN where there are none.
    """

    low: Integers
    high: Integers
    queries: Integers
    mAP: Doubles


def ap_by_good(result: Result) -> ByGood:
    """Return mean AP by number of good images: 1, 2, 3 to 4, 5 to 8, and so on.

    Queries without a good image are left out.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8, 8], [2, 2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2, .3]] * 2, query, gallery)
    >>> ap_by_good(result).low, ap_by_good(result).mAP.round(4)
    (array([1, 2]), array([1.    , 0.4167]))
    """
    ap, n_good = counted_ap(result)
    # The exponent of 2n - 1 is 1, 2, 3, 3, 4 ... for n = 1, 2, 3, 4, 5 ...
    group = np.frexp(2.0 * n_good - 1)[1]
    groups = np.arange(1, int(group.max(initial=0)) + 1)
    parts = [ap[(group == k) & (n_good > 0)] for k in groups]
    return ByGood(2 ** groups // 4 + 1, 2 ** groups // 2, np.array(list(map(len, parts))),
                  np.array([result.convention.mean(part) for part in parts]))
