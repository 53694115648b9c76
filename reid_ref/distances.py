"""Features to a distance matrix by a matrix product, as other evaluators compute it: not exact.

`evaluate` ranks features by exact distances (`ranking/exact_distances.py`). This
module serves the slow implementations and cross-checks. The matrix product (BLAS) rounds: its last
bits depend on the library, the processor, and the number of threads and of rows. `TOLERANCE` is
how far two correct results may differ.

Rounding choices, each with its reason:

* Features keep their precision (float16 is widened to float32, integers to float64), as in the
  MATLAB drivers.
* Squared Euclidean distances are ranked, not their roots. The root is monotonic, but it rounds
  neighbouring squares to one number, which makes ties that the features do not have. A small
  negative square of a perfect match remains the nearest; in the drivers its root is imaginary
  (in numpy NaN, which sorts last).
* On normalised features the cosine distance is 1 - q.g, half of the squared Euclidean
  distance: the same ranking.
* Norms divide the product, not the gallery's features, to save a second copy of the gallery.
"""
import numpy as np

from reid_ref.arrays import Array


#: Relative difference within which two float32 distances of unit vectors count as equal. The
#: rounding error of a sum of d products grows about as sqrt(d): 3e-6 for d = 2048.
TOLERANCE = 1e-5

#: Bytes of one block of rows of a distance matrix when the caller names no size.
BLOCK_BYTES = 256 * 2**20


def unit_rows(features: Array) -> Array:
    """Return each row divided by its 2-norm; a row of zeros becomes NaN, as in the drivers."""
    with np.errstate(invalid="ignore"):
        unit: Array = features / row_norms(features)[:, np.newaxis]
    return unit


def working_precision(features: Array) -> Array:
    """Return float16 as float32, integers as float64; float32 and float64 unchanged."""
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
            distances *= 1 / row_norms(gallery)
    if metric == "dot":
        return np.negative(distances, out=distances)
    if metric == "cosine":
        return np.subtract(1, distances, out=distances)
    distances *= -2
    if normalized:
        distances += 2
    else:
        distances += np.einsum("ij,ij->i", query, query)[:, np.newaxis]
        distances += np.einsum("ij,ij->i", gallery, gallery)
    return distances


def row_norms(features: Array) -> Array:
    """Return the 2-norm of each row, in the precision of the features."""
    # In double: the squares of float32 features overflow above 1e19 and underflow below 1e-23.
    squares = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    norms: Array = np.sqrt(squares).astype(features.dtype)
    return norms
