"""Sums and means that add one term after another, as Octave does.

numpy's `sum` and `mean` add pairwise, which differs in the last bits; `numpy.bincount` and
`numpy.cumsum` add in order.
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
