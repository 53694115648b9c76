"""Features to a matrix of distances, as other evaluators make it: the only inexact stage.

`evaluate` ranks features by exact distances (`features.py`, `rows.py`); this is for the slow
implementations and for other evaluators. The matrix product (BLAS) rounds: it depends on the
library, the processor, the number of threads and of rows in the last bits, and no two evaluators
agree on those. `TOLERANCE` names how far two correct answers may lie apart.

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
"""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Relative difference within which two float32 distances of unit vectors may disagree: a sum
#: of d products errs by at most about d/2 units in the last place; 1e-5 covers d = 2048.
TOLERANCE = 1e-5

#: Bytes of one block of rows of a distance matrix when the caller names no size.
BLOCK_BYTES = 256 * 2**20

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


def distance_matrix(query_features: Array, gallery_features: Array, metric: str,
                    normalize: bool) -> Array:
    """Return the distances of all queries to the whole gallery.

    Parameters
    ----------
    query_features : array, shape (n_query, d)
    gallery_features : array, shape (n_gallery, d)
    metric : str
        A key of `METRICS`: squared Euclidean, 1 - cosine, or the negative dot product.
    normalize : bool
        Divide every feature by its 2-norm first.

    Returns
    -------
    array, shape (n_query, n_gallery)
        Smaller is nearer.

    Examples
    --------
    >>> import numpy as np
    >>> distance_matrix(np.eye(2), np.array([[3., 4.]]), "euclidean", normalize=False)
    array([[20.],
           [18.]])
    """
    query, gallery = working_precision(query_features), working_precision(gallery_features)
    normalized = normalize or metric == "cosine"
    distances: Array = (unit_rows(query) if normalized else query) @ gallery.T
    if normalized:
        with np.errstate(divide="ignore", invalid="ignore"):
            distances *= 1 / _norms(gallery)
    if metric == "dot":
        return np.negative(distances, out=distances)
    if metric == "cosine":
        return np.subtract(1, distances, out=distances)
    distances *= -2
    if normalized:
        distances += 2
    else:
        distances += _squares(query)[:, np.newaxis]
        distances += _squares(gallery)
    return distances


def _norms(features: Array) -> Array:
    # Squares in double: those of float32 features overflow from 1e19 on, and vanish below 1e-23.
    squares = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    norms: Array = np.sqrt(squares).astype(features.dtype)
    return norms


def _squares(features: Array) -> Array:
    square: Array = np.einsum("ij,ij->i", features, features)
    return square
