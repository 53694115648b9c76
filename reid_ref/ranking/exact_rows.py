"""Whole rows of distances from features, in the order of exact distances.

A matrix product in double has a known error bound. Two images whose distances differ by more than
twice the bound are in their exact order; all other distances are replaced by exact ones
(`exact_distances.py`). So the order of a row, ties included, depends neither on the BLAS nor on
the size of a block. Few distances are replaced, so this takes little longer than the product.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles, blocks_of
from reid_ref.ranking.counting import Array
from reid_ref.ranking.exact_distances import (
    Gallery, checked_query, galleries, nearly_exact, parts_of)
from reid_ref.ranking.rank import in_parts


def feature_rows(query_features: Any, gallery_features: Any, scaling: str,
                 max_memory: int) -> Iterator[Doubles]:
    """Yield the distances of blocks of queries to the whole gallery, in exact order.

    NaN where a feature of norm 0 is normalised; NaN or Inf in a feature are refused.

    Examples
    --------
    >>> next(feature_rows(np.eye(2), np.array([[3., 4.]]), "dot", 2**20))
    array([[-3.],
           [-4.]])
    """
    normalized = scaling == "normalized"
    query, square = checked_query(query_features, normalized)
    parts = galleries(gallery_features, normalized, max_memory)
    n_gallery = gallery_features.shape[0]
    # Replacing a distance takes ten times its bytes, and all may need it.
    for block in blocks_of(len(query), max_memory // 12 // (8 * n_gallery)):
        rows, of_rows = query[block], square[block]
        values, off = _rough(rows, of_rows, parts, n_gallery, scaling, max_memory)
        exact = in_parts(parts_of(rows, of_rows, parts, scaling, max_memory), len(rows))
        _replace_undecided(values, off, exact.measure)
        yield values
        del values  # to free the memory before the next block


def _rough(rows: Array, square: Doubles, parts: list[Callable[[], Gallery]], n_gallery: int,
           scaling: str, max_memory: int) -> tuple[Doubles, Doubles]:
    """Return the distances of a block of queries by products in double, and each row's error."""
    values, off = np.empty((len(rows), n_gallery)), np.zeros(len(rows))
    rows, norm = rows.astype(np.float64, copy=False), np.sqrt(square)
    step = max_memory // 8 // (8 * rows.shape[1])
    for open_part in parts:
        images, gallery, gallery_square = open_part()
        for block in blocks_of(len(gallery), step):
            distances, most = nearly_exact(rows, gallery[block], norm, gallery_square[block],
                                           scaling)
            start = images.start + block.start
            values[:, start:start + distances.shape[1]] = distances
            off = np.maximum(off, most)
    return values, off


def _replace_undecided(values: Doubles, off: Doubles, measure: Callable[..., Array]) -> None:
    """Replace distances within the error of another one in their row by exact distances."""
    n_rows, width = values.shape
    undecided = np.zeros(values.shape, dtype=bool)
    # One pair of every row is always replaced, to check the error of the product.
    undecided[np.arange(n_rows), np.arange(n_rows) % width] = True
    for k, row in enumerate(values):
        in_order = np.sort(row)
        close = in_order[1:] - in_order[:-1] <= 2 * off[k]
        if close.any():  # np.sort is several times faster than np.argsort
            order = np.argsort(row)
            undecided[k, order[1:][close]] = True
            undecided[k, order[:-1][close]] = True
    row, image = np.divmod(np.flatnonzero(undecided), width)
    del undecided
    exact = measure(row, image)
    if (abs(exact - values[row, image]) > off[row] / 4).any():
        # The error exceeds the bound, so the product is not used.
        row, image = np.divmod(np.arange(values.size), width)
        exact = measure(row, image)
    values[row, image] = exact
