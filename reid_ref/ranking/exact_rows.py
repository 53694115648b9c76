"""Whole rows of distances from features, in which every order is that of exact distances.

A matrix product in double errs in the last bits, by a known amount at most. Two images farther
apart than twice that stand in their exact order; the distances of all others are replaced by
exact ones (`features.py`). So the order of a row, ties included, depends neither on the BLAS nor
on the size of a block. Most images are clear, so this takes little longer than the product.

Contents: `feature_rows`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles
from reid_ref.ranking.exact_distances import (
    Gallery, checked_query, feature_part, galleries, nearly_exact)
from reid_ref.ranking.rank import measure_part
from reid_ref.ranking.tiles import Array

Measure = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], Doubles]


def feature_rows(query_features: Any, gallery_features: Any, metric: str, normalize: bool,
                 max_memory: int) -> Iterator[Doubles]:
    """Yield the distances of consecutive queries to the whole gallery, exact in their order.

    Parameters
    ----------
    query_features, gallery_features : array or stored dataset, shape (n_query, d), (n_gallery, d)
        Checked in shape and dtype.
    metric : {"euclidean", "cosine", "dot"}
    normalize : bool
    max_memory : int
        Bytes to work in, besides the features in memory; at least some rows are.

    Yields
    ------
    float64, shape (n_block, n_gallery)
        Smaller is nearer; NaN where a feature of norm 0 is to be normalised.

    Raises
    ------
    InputError
        NaN or Inf in a feature.

    Examples
    --------
    >>> next(feature_rows(np.eye(2), np.array([[3., 4.]]), "dot", False, 2**20))
    array([[-3.],
           [-4.]])
    """
    normalized = normalize or metric == "cosine"
    query, square = checked_query(query_features, normalized)
    parts = galleries(gallery_features, normalized, max_memory)
    n_gallery = gallery_features.shape[0]
    # A distance that must be replaced takes ten times its bytes, and all may have to be.
    step = max(1, max_memory // 12 // (8 * n_gallery))
    for start in range(0, len(query), step):
        rows = query[start:start + step]
        of_rows = square[start:start + step]
        values, off = _rough(rows, of_rows, parts, n_gallery, metric, normalized, max_memory)

        def measure(row: Any, image: Any) -> Doubles:
            found = np.empty(len(row))
            for open_part in parts:
                images, gallery, gallery_square = open_part()
                part = feature_part(rows, gallery, of_rows, gallery_square, images, metric,
                                    normalize, max_memory)
                here, some = measure_part(part, row, image)
                found[here] = some
            return found

        _replace_unclear(values, off, measure)
        yield values
        del values  # or two of them are in memory while the next one is made


def _rough(rows: Array, square: Doubles, parts: list[Callable[[], Gallery]], n_gallery: int,
           metric: str, normalized: bool, max_memory: int) -> tuple[Doubles, Doubles]:
    """Return the distances of some queries by products in double, and how far off they may be."""
    values, off = np.empty((len(rows), n_gallery)), np.zeros(len(rows))
    rows, norm = rows.astype(np.float64, copy=False), np.sqrt(square)
    step = max(1, max_memory // 8 // (8 * rows.shape[1]))
    for open_part in parts:
        images, gallery, gallery_square = open_part()
        for first in range(0, len(gallery), step):
            some = slice(first, first + step)
            distances, most = nearly_exact(rows, gallery[some], norm, gallery_square[some],
                                           metric, normalized)
            start = images.start + first
            values[:, start:start + distances.shape[1]] = distances
            off = np.maximum(off, most)
    return values, off


def _replace_unclear(values: Doubles, off: Doubles, measure: Measure) -> None:
    """Put exact distances in the place of all that are too near to another of their row."""
    n_rows, width = values.shape
    unclear = np.zeros(values.shape, dtype=bool)
    # One pair of every row is looked at in any case: it tells how far off the product is.
    unclear[np.arange(n_rows), np.arange(n_rows) % width] = True
    for k, row in enumerate(values):
        order = np.argsort(row)
        in_order = row[order]
        close = in_order[1:] - in_order[:-1] <= 2 * off[k]
        unclear[k, order[1:][close]] = True
        unclear[k, order[:-1][close]] = True
    row, image = np.divmod(np.flatnonzero(unclear), width)
    del unclear
    exact = measure(row, image)
    if (abs(exact - values[row, image]) > off[row] / 4).any():
        # The product errs more than any in double may: nothing of it is used.
        row, image = np.divmod(np.arange(values.size), width)
        exact = measure(row, image)
    values[row, image] = exact
