"""The numbers of each identity, or of each query camera, by the convention's own rules."""
from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reid_ref.arrays import Doubles, InputError, Integers, check_choice, read_only
from reid_ref.arrays.value import Value
from reid_ref.labels import Labels
from reid_ref.ranking.good_ranks import GoodRanks, of_queries, split_queries
from reid_ref.result import Result


@dataclass(frozen=True, eq=False)
class Groups(Value):
    """The numbers of each group of queries; every array has shape (n_groups,).

    Parameters
    ----------
    value : int64
        The identity or camera of each group, ascending.
    queries : int64
        Queries of the group.
    counted : int64
        Those in the mean of mAP, as `Result.counted`.
    mAP, rank1, mINP : float64
        In [0, 1]; NaN where no query counts.
    """

    value: Integers
    queries: Integers
    counted: Integers
    mAP: Doubles
    rank1: Doubles
    mINP: Doubles

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            object.__setattr__(self, name, read_only(getattr(self, name)))


def by_group(result: Result, query: Labels | None = None, by: str = "identity") -> Groups:
    """Return mAP, Rank-1 and mINP of each identity, or of each query camera.

    The numbers of a group are those of an evaluation of its queries alone: a query without a
    good image counts as the convention of `result` has it.

    Parameters
    ----------
    result : Result
    query : Labels, optional
        The queries that were evaluated, in their order. Default: as the result has them.
    by : {"identity", "camera"}
        What the queries of a group have in common.

    Returns
    -------
    Groups
        Plain arrays: `value`, `queries`, `counted`, `mAP`, `rank1`, `mINP`. Rank-1 is NaN where
        the convention's CMC curve counts identities or drawn images, not ranks.

    Raises
    ------
    InputError
        `query` has another length; another `by`.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8], [2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2], [.1, .2]], query, gallery)
    >>> groups = reid_ref.by_group(result)
    >>> groups.value, groups.mAP, groups.rank1
    (array([7, 8]), array([1.  , 0.25]), array([1., 0.]))
    """
    check_choice(by, "by", ("identity", "camera"))
    n = len(result.per_query.status)
    query = result.per_query.labels() if query is None else query
    if len(query) != n:
        raise InputError("query", f"the labels of the {n} queries evaluated", len(query))
    value, group = np.unique(getattr(query, by), return_inverse=True)
    group = group.reshape(-1)
    loaded = result.per_query.status != "not loaded"
    order = np.flatnonzero(loaded)[np.argsort(group[loaded], kind="stable")]
    edges = np.cumsum([0, *np.bincount(group[loaded], minlength=len(value))])
    convention, per_query = result.convention, result.per_query
    counted, means = [], []
    for start, stop in pairwise(edges):
        part = order[start:stop]
        ap, inp = (convention.counted(values[part], per_query.n_good[part])
                   for values in (per_query.ap, per_query.inp))
        counted.append(len(ap))
        means.append((convention.mean(ap), convention.mean(inp)))
    mAP, mINP = np.array(means).T
    ranks = convention.cut_off(of_queries(result.ranks, loaded))
    rank1 = [_rank1(part, result) for part in split_queries(ranks, group[loaded], len(value))]
    return Groups(value, np.bincount(group), np.array(counted), mAP, np.array(rank1), mINP)


def _rank1(ranks: GoodRanks, result: Result) -> float:
    if result.convention.curve.of_rows is not None:
        return float("nan")
    return float(result.convention.curve_of_ranks(ranks, 1)[0])
