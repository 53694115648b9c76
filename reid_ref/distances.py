"""Features to blocks of distances: the only inexact stage.

Everything behind it is exact. Here the matrix product (BLAS) rounds: its result depends
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
* The matrix product is made in blocks of whole query rows.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Relative difference within which two float32 distances of unit vectors may disagree: a sum
#: of d products errs by at most about d/2 units in the last place; 1e-5 covers d = 2048.
TOLERANCE = 1e-5

#: Bytes of one block of distances when the caller names no block size: large enough
#: for the matrix product to run at full speed, small beside the features.
BLOCK_BYTES = 64 * 2**20


def _squared_euclidean(gallery: Array) -> Callable[[Array], Array]:
    gallery_square = np.einsum("ij,ij->i", gallery, gallery)

    def block(rows: Array) -> Array:
        distances: Array = rows @ gallery.T
        distances *= -2
        distances += np.einsum("ij,ij->i", rows, rows)[:, np.newaxis]
        distances += gallery_square
        return distances
    return block


def _cosine(gallery: Array) -> Callable[[Array], Array]:
    unit_gallery = unit_rows(gallery)

    def block(rows: Array) -> Array:
        distances: Array = unit_rows(rows) @ unit_gallery.T
        return np.subtract(1, distances, out=distances)
    return block


def _dot(gallery: Array) -> Callable[[Array], Array]:
    def block(rows: Array) -> Array:
        distances: Array = rows @ gallery.T
        return np.negative(distances, out=distances)
    return block


#: Name of a metric to the function that prepares it.
METRICS: dict[str, Callable[[Array], Callable[[Array], Array]]] = {
    "euclidean": _squared_euclidean,
    "cosine": _cosine,
    "dot": _dot,
}


def unit_rows(features: Array) -> Array:
    """Divide each row by its 2-norm; a row of zeros becomes NaN, as in the drivers."""
    norm = np.sqrt(np.einsum("ij,ij->i", features, features))
    with np.errstate(invalid="ignore"):
        unit: Array = features / norm[:, np.newaxis]
    return unit


def working_precision(features: Array) -> Array:
    """Return float32 and float64 as they are, float16 as float32, all else as float64."""
    if features.dtype in (np.float32, np.float64):
        return features
    return features.astype(np.float32 if features.dtype == np.float16 else np.float64)


def distance_blocks(query_features: Array, gallery_features: Array, metric: str,
                    normalize: bool, block_size: int | None = None) -> Iterator[Array]:
    """Yield the distances of consecutive blocks of queries to the whole gallery.

    Parameters
    ----------
    query_features : array, shape (n_query, d)
    gallery_features : array, shape (n_gallery, d)
    metric : str
        A key of `METRICS`: squared Euclidean, 1 - cosine, or the negative dot product.
    normalize : bool
        Divide every feature by its 2-norm first.
    block_size : int, optional
        Queries in a block. Default: as many as fit `BLOCK_BYTES`.

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
    if normalize:
        query, gallery = unit_rows(query), unit_rows(gallery)
    make_block = METRICS[metric](gallery)
    if block_size is None:
        block_size = max(1, BLOCK_BYTES // (len(gallery) * gallery.itemsize))
    for start in range(0, len(query), block_size):
        yield make_block(query[start:start + block_size])


def distance_matrix(query_features: Array, gallery_features: Array, metric: str,
                    normalize: bool) -> Array:
    """Return all distances at once, shape (n_query, n_gallery), for the slow implementations."""
    return np.concatenate(
        list(distance_blocks(query_features, gallery_features, metric, normalize)))
