"""Distances of a result file, ordered as `evaluate` ranks: in blocks, of a query, or all of them.

A matrix is taken as it is. Distances of features are double; no two of a query stand in an order
that is not the exact one (`reid_ref.ranking.exact_rows`).
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import check_choice
from reid_ref.arrays.memory import bytes_of
from reid_ref.arrays.stored import read_rows
from reid_ref.distances import METRICS
from reid_ref.evaluation.engine import row_blocks
from reid_ref.files import ResultFile
from reid_ref.labels import check_distances, check_feature_shapes
from reid_ref.ranking.exact_rows import feature_rows


def distance_blocks(data: ResultFile, metric: str = "euclidean", normalize: bool = True,
                    max_memory: int | str | None = None) -> Iterator[npt.NDArray[Any]]:
    """Return blocks of consecutive queries, shape (n_block, n_gallery); one is in memory."""
    check_choice(metric, "metric", METRICS)
    memory = bytes_of(max_memory)
    if data.distances is not None:
        return row_blocks(check_distances(data.distances, data.query, data.gallery), memory)
    features = check_feature_shapes(data.query_features, data.gallery_features, data.query,
                                    data.gallery)
    return feature_rows(*features, metric, normalize, memory)


def distances_of_query(data: ResultFile, query: int, metric: str = "euclidean",
                       normalize: bool = True) -> npt.NDArray[Any]:
    """Return the distances of one query to the whole gallery."""
    if data.distances is not None:
        block: npt.NDArray[Any] = read_rows(data.distances, query, query + 1)
    else:
        features = read_rows(data.query_features, query, query + 1), data.gallery_features
        block = next(feature_rows(*features, metric, normalize, bytes_of(None)))
    row: npt.NDArray[Any] = block[0]
    return row


def whole_matrix(data: ResultFile, metric: str = "euclidean", normalize: bool = True,
                 max_memory: int | str | None = None) -> npt.NDArray[Any]:
    """Return the distance matrix; from features, one matrix and one block are in memory."""
    blocks = distance_blocks(data, metric, normalize, max_memory)
    if data.distances is not None:
        whole: npt.NDArray[Any] = read_rows(data.distances)
        return whole
    matrix, done = np.empty((len(data.query), len(data.gallery))), 0
    for block in blocks:
        matrix[done:done + len(block)] = block
        done += len(block)
    return matrix
