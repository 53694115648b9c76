"""The queries with the lowest AP, and the nearest wrong image of each."""
from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Integers
from reid_ref.arrays.memory import bytes_of
from reid_ref.arrays.stored import read_rows
from reid_ref.conventions import Convention
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import IndexLists
from reid_ref.ranking.exact_rows import feature_rows
from reid_ref.ranking.roles import query_roles
from reid_ref.result import Result


def worst_queries(result: Result, n: int) -> Integers:
    """Return the n queries of lowest AP, the lowest first; equal ones by their number.

    Only queries in the mean of mAP, with the AP that they have there: a query without a good
    image comes first where it counts as AP 0, and last where its AP is NaN.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8], [2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2], [.1, .2]], query, gallery)
    >>> worst_queries(result, 1)
    array([1])
    """
    there = np.flatnonzero(result.per_query.status != "not loaded")
    n_good = result.per_query.n_good[there]
    queries, ap = (result.convention.counted(values, n_good) for values in (
        there.astype(np.float64), result.per_query.ap[there]))
    return queries[np.argsort(ap, kind="stable")[:n]].astype(np.int64)


def nearest_wrong(data: ResultFile, queries: Integers, convention: Convention,
                  metric: str = "euclidean", normalize: bool = True,
                  lists: IndexLists | None = None,
                  max_memory: int | str | None = None) -> list[int | None]:
    """Return each query's nearest image among the kept ones that are not good; None without one.

    Of several at the same distance it is the first in the gallery, whatever the convention's
    order of ties.
    """
    own_lists = lists and IndexLists([lists.good[k] for k in queries],
                                     [lists.junk[k] for k in queries])
    roles = query_roles(data.query[queries], data.gallery, convention.not_ranked, own_lists)
    nearest: list[int | None] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the evaluation has said what is odd about the features
        for k, row in enumerate(rows_of_queries(data, queries, metric, normalize, max_memory)):
            good, kept = roles(k)
            kept[good] = False
            wrong = np.flatnonzero(kept)
            order = np.argsort(row[wrong], kind="stable")
            nearest.append(int(wrong[order[0]]) if len(wrong) else None)
    return nearest


def rows_of_queries(data: ResultFile, queries: Integers, metric: str, normalize: bool,
                    max_memory: int | str | None) -> Iterator[npt.NDArray[Any]]:
    """Yield values that rank the gallery as the distances of each chosen query do."""
    if data.distances is not None:
        for k in queries.tolist():
            yield read_rows(data.distances, k, k + 1, "distances")[0]
    if data.distances is not None or not len(queries):
        return
    features = np.concatenate([read_rows(data.query_features, k, k + 1, "query_features")
                               for k in queries.tolist()])
    for block in feature_rows(features, data.gallery_features, metric, normalize,
                              bytes_of(max_memory)):
        yield from block
