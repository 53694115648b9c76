"""A result file evaluated as it is, and after re-ranking or with multiple queries."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reid_ref.arrays import InputError
from reid_ref.console.answers import Origin
from reid_ref.conventions import Convention
from reid_ref.datasets.pooling import POOLINGS, pool_queries, read_multi_query
from reid_ref.evaluation.functions import evaluate
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.result import Numbers, Result
from reid_ref.statistics import Interval


@dataclass(frozen=True, kw_only=True)
class Reranked(Numbers, Origin):
    """The numbers before, or after, as JSON has them."""

    confidence: dict[str, Interval] | None = None


@dataclass(frozen=True)
class Rerank:
    """All numbers as JSON has them, the original ones first."""

    results: list[Reranked]


def evaluate_multi_query(data: ResultFile, path: str | Path, convention: Convention,
                         metric: str = "euclidean", normalize: bool = True,
                         max_memory: int | None = None,
                         progress: Callable[[int], object] | None = None) -> dict[str, Result]:
    """Evaluate features with the queries pooled from the multi-query set at `path`.

    Returns
    -------
    dict of str to Result
        By the name of a column; the signature names the pooling.

    Raises
    ------
    InputError
        As `read_multi_query`, `pool_queries` and `evaluate`; features of another width.
    """
    images, features = read_multi_query(path)
    query_features: Any = data.query_features
    width = query_features.shape[1]
    if features.shape[1] != width:
        raise InputError(path, got=f"mquery_f: expected {width} dimensions, as the queries have, "
                         f"got {features.shape[1]}")
    results = {}
    for pooling in POOLINGS:
        pooled = pool_queries(data.query, images, features, pooling, normalize)
        result = evaluate(pooled, data.gallery_features, data.query, data.gallery, metric=metric,
                          normalize=normalize, convention=convention, max_memory=max_memory,
                          progress=progress)
        results[f"multiple, {pooling}"] = replace(
            result, signature=result.signature.changed({"multi-query": pooling}))
    return results
