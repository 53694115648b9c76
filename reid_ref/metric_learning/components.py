"""Principal components of training features, as the drivers compute them."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from reid_ref.arrays import InputError, check_choice
from reid_ref.metric_learning.checks import checked_features

Array = npt.NDArray[Any]

#: Components that the drivers keep for KISSME.
N_COMPONENTS = 200


def pca(features: Any, dimensions: int = N_COMPONENTS,
        driver: str = "mars") -> tuple[Array, Array]:
    """Return the mean and the leading components of training features.

    Features are projected by ``(features - mean) @ components``.

    Parameters
    ----------
    features : array_like of float, shape (n, d)
        Of the training images.
    dimensions : int
        Components to return.
    driver : {"mars", "ide"}
        ``"mars"``: principal components, orthonormal. ``"ide"``: components of the covariances
        *between images*, for which the mean of each image over its d numbers is subtracted as
        well; not orthogonal, and not of unit length.

    Returns
    -------
    mean : ndarray of float64, shape (d,)
    components : ndarray of float64, shape (d, dimensions)
        Largest variance first.

    Raises
    ------
    InputError
        NaN, an unknown driver, or more dimensions than the rank of the features.

    Notes
    -----
    Source: ``applypca2.m`` of liangzheng06/MARS-evaluation (commit 3a91bbc), and of zhunzhong07/
    IDE-baseline-Market-1501 (commit 8be027b): same name, other numbers.

    Examples
    --------
    >>> mean, components = pca([[0., 0.], [4., 0.], [2., 1.], [2., -1.]], 1)
    >>> mean, abs(components.ravel())
    (array([2., 0.]), array([1., 0.]))
    """
    check_choice(driver, "driver", ("mars", "ide"))
    x = checked_features(features, "features").astype(np.float64)
    mean = x.mean(axis=0)
    x = x - mean
    rows = x if driver == "mars" else x - x.mean(axis=1, keepdims=True)

    # The smaller product has the same leading eigenvalues, and is faster to decompose.
    n, d = rows.shape
    size = min(n, d)
    if not isinstance(dimensions, (int, np.integer)) or dimensions < 1:
        raise InputError(f"dimensions: expected a positive whole number, got {dimensions!r}")
    leading = (max(0, size - dimensions), size - 1)
    values, vectors = linalg.eigh(rows.T @ rows if d <= n else rows @ rows.T,
                                  subset_by_index=leading)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = int((values > values[0] * size * np.finfo(np.float64).eps).sum())
    if rank < dimensions:
        raise InputError(
            f"dimensions: expected at most {rank}, the rank of the features {x.shape} without "
            f"their mean, got {dimensions}; pass fewer")
    if d <= n:
        vectors = rows @ vectors / np.sqrt(values)
    components = x.T @ vectors
    return mean, components / np.sqrt(values) if driver == "mars" else components
