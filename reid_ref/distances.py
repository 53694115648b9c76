"""Features to blocks of distances, as other evaluators make them: the only inexact stage.

`evaluate` ranks features by exact distances (`features.py`) and comes here only for what needs
whole rows. Everything behind it is exact. Here the matrix product (BLAS) rounds: it depends
on the library, the processor and the number of threads in the last bits, and no two
evaluators agree on those. `TOLERANCE` names how far two correct answers may lie apart.

Rounding choices, each with its reason:

* Features keep their precision (float16 is widened to float32, integers to float64): the
  MATLAB drivers compute in the precision of the features too.
* Squared Euclidean distances are ranked, not their roots: the root changes no order but maps
  neighbouring squares to one number, which would make ties that the features do not have.
  A tiny negative square of a perfect match stays the nearest, where the drivers' root makes
  it imaginary (and numpy's makes it NaN, which sorts last).
* On normalised features the cosine distance is 1 - q.g, half of the squared Euclidean
  distance: the same ranking.
* Norms divide the product, not the gallery's features, so that no second gallery is in memory.
* The product is made in blocks of whole query rows, padded to `ROWS`: a single row would go
  through another routine of the BLAS, with other last bits. So a pair's distance is the same in
  every block size (tested with the BLAS that numpy's wheels bring).
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Relative difference within which two float32 distances of unit vectors may disagree: a sum
#: of d products errs by at most about d/2 units in the last place; 1e-5 covers d = 2048.
TOLERANCE = 1e-5

#: Bytes of one block of distances when the caller names no size. A product of few rows
#: with a large gallery is slow, so a block is not small.
BLOCK_BYTES = 256 * 2**20

#: Every product has a multiple of so many rows.
ROWS = 16

#: Name of a metric to what it is.
METRICS = {
    "euclidean": "squared Euclidean distance",
    "cosine": "1 - cosine of the angle",
    "dot": "negative dot product",
}


def unit_rows(features: Array) -> Array:
    """Divide each row by its 2-norm; a row of zeros becomes NaN, as in the drivers."""
    with np.errstate(invalid="ignore"):
        unit: Array = features / _norms(features)[:, np.newaxis]
    return unit


def working_precision(features: Array) -> Array:
    """Return float32 and float64 as they are, float16 as float32, all else as float64."""
    if features.dtype in (np.float32, np.float64):
        return features
    return features.astype(np.float32 if features.dtype == np.float16 else np.float64)


def distance_blocks(query_features: Array, gallery_features: Array, metric: str,
                    normalize: bool, max_memory: int = BLOCK_BYTES) -> Iterator[Array]:
    """Yield the distances of consecutive blocks of queries to the whole gallery.

    Parameters
    ----------
    query_features : array, shape (n_query, d)
    gallery_features : array, shape (n_gallery, d)
    metric : str
        A key of `METRICS`: squared Euclidean, 1 - cosine, or the negative dot product.
    normalize : bool
        Divide every feature by its 2-norm first.
    max_memory : int, optional
        Bytes of a block.

    Yields
    ------
    array, shape (n_block, n_gallery)
        Smaller is nearer.

    Examples
    --------
    >>> import numpy as np
    >>> next(distance_blocks(np.eye(2), np.array([[3., 4.]]), "euclidean", normalize=False))
    array([[20.],
           [18.]])
    """
    query, gallery = working_precision(query_features), working_precision(gallery_features)
    normalize = normalize or metric == "cosine"
    if normalize:
        query = unit_rows(query)
        with np.errstate(divide="ignore"):
            gallery_scale = 1 / _norms(gallery)
    elif metric == "euclidean":
        query_square, gallery_square = _squares(query), _squares(gallery)
    block_size = max(ROWS, max_memory // (len(gallery) * gallery.itemsize) // ROWS * ROWS)
    for start in range(0, len(query), block_size):
        rows = slice(start, start + block_size)
        block = _product(query[rows], gallery)
        if normalize:
            with np.errstate(invalid="ignore"):
                block *= gallery_scale
        if metric == "dot":
            np.negative(block, out=block)
        elif metric == "cosine":
            np.subtract(1, block, out=block)
        elif normalize:
            block *= -2
            block += 2
        else:
            block *= -2
            block += query_square[rows, np.newaxis]
            block += gallery_square
        yield block
        del block  # or two of them are in memory while the next one is made


def _product(rows: Array, gallery: Array) -> Array:
    padding = -len(rows) % ROWS
    if padding:
        rows = np.concatenate([rows, np.zeros((padding, rows.shape[1]), rows.dtype)])
    product: Array = rows @ gallery.T
    return product[:len(product) - padding]


def _norms(features: Array) -> Array:
    # Squares in double: those of float32 features overflow from 1e19 on, and vanish below 1e-23.
    squares = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    norms: Array = np.sqrt(squares).astype(features.dtype)
    return norms


def _squares(features: Array) -> Array:
    square: Array = np.einsum("ij,ij->i", features, features)
    return square


def distance_matrix(query_features: Array, gallery_features: Array, metric: str,
                    normalize: bool) -> Array:
    """Return all distances at once, shape (n_query, n_gallery), for the slow implementations."""
    return np.concatenate(
        list(distance_blocks(query_features, gallery_features, metric, normalize)))
