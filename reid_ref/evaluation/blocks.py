"""Distances of a result file, ordered as `evaluate` ranks: in blocks, of a query, or all of them.

A matrix is taken as it is. From features, blocks hold what ranks the images of a query
(`reid_ref.ranking.exact_rows`), which its own norm does not change. A distance has that norm too,
and two images whose distances round to one double would tie: the farther gets the next double.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, check_choice
from reid_ref.arrays.memory import bytes_of
from reid_ref.arrays.stored import read_rows
from reid_ref.distances import METRICS
from reid_ref.evaluation.engine import row_blocks
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import check_distances, check_feature_shapes
from reid_ref.ranking.exact_rows import feature_rows
from reid_ref.ranking.pair_sums import squares


def distance_blocks(data: ResultFile, metric: str = "euclidean", normalize: bool = True,
                    max_memory: int | str | None = None) -> Iterator[npt.NDArray[Any]]:
    """Return blocks of consecutive queries, shape (n_block, n_gallery); one is in memory.

    From features, only the order within a query is that of distances.
    """
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
    row: npt.NDArray[Any]
    if data.distances is not None:
        row = read_rows(data.distances, query, query + 1)[0]
        return row
    features = read_rows(data.query_features, query, query + 1)
    block = next(feature_rows(features, data.gallery_features, metric, normalize, bytes_of(None)))
    _make_distances(block, features, metric, normalize)
    row = block[0]
    return row


def whole_matrix(data: ResultFile, metric: str = "euclidean",
                 normalize: bool = True) -> npt.NDArray[Any]:
    """Return the distance matrix; from features, one matrix and one block are in memory."""
    check_choice(metric, "metric", METRICS)
    if data.distances is not None:
        whole: npt.NDArray[Any] = read_rows(check_distances(
            data.distances, data.query, data.gallery))
        return whole
    matrix, done = np.empty((len(data.query), len(data.gallery))), 0
    for block in measured_blocks(data, metric, normalize):
        matrix[done:done + len(block)] = block
        done += len(block)
    return matrix


def measured_blocks(data: ResultFile, metric: str = "euclidean", normalize: bool = True,
                    max_memory: int | str | None = None) -> Iterator[npt.NDArray[Any]]:
    """Return `distance_blocks` with the distances themselves, comparable between queries."""
    done = 0
    for block in distance_blocks(data, metric, normalize, max_memory):
        if data.distances is None:
            _make_distances(block, read_rows(data.query_features, done, done + len(block)), metric,
                            normalize)
        done += len(block)
        yield block


def _make_distances(block: Doubles, features: npt.NDArray[Any], metric: str,
                    normalize: bool) -> None:
    """Put distances in the place of what ranks, in the same order and with the same ties."""
    normalized = normalize or metric == "cosine"
    for row, square in zip(block, squares(features).tolist()):
        ranked, image = np.unique(row, return_inverse=True, equal_nan=False)
        if normalized:
            cosine = -ranked / np.sqrt(square) if square else ranked
            distances = {"dot": -cosine, "cosine": 1 - cosine,
                         "euclidean": 2 - 2 * cosine}[metric]
        else:
            distances = ranked + square if metric == "euclidean" else ranked
        row[:] = _rising(distances)[image.reshape(-1)]


def _rising(values: Doubles) -> Doubles:
    """Return ascending doubles with each repeated value replaced by the next free double."""
    known = ~np.isnan(values)
    bits = (values[known] + 0.0).view(np.int64)  # + 0.0: no negative zero
    # Whole numbers in the order of the doubles.
    whole = np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)
    place = np.arange(len(whole))
    whole = np.maximum.accumulate(whole - place) + place
    risen: Doubles = values.copy()
    risen[known] = np.where(whole < 0, np.iinfo(np.int64).min - whole, whole).view(np.float64)
    return risen
