"""Training features checked, inverses of covariances, and distances under a metric."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from reid_ref.arrays import InputError, Integers, as_array, as_integers, check_finite_rows
from reid_ref.distances import working_precision

Array = npt.NDArray[Any]


def checked_features(value: Any, name: str) -> Array:
    array = as_array(value, name)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(name, "features (n, d), one row an image", f"shape {array.shape}")
    if array.dtype.kind not in "fiub":
        raise InputError(name, "real numbers", f"dtype {array.dtype}")
    array = working_precision(array)
    check_finite_rows(array, name)
    return array


def row_labels(value: Any, name: str, features: Array) -> Integers:
    identity = as_integers(value, name)
    if len(identity) != len(features):
        raise InputError(
            name, f"{len(features)} entries, one for each row of the features", len(identity))
    return identity


def checked_labels(identity: Any, camera: Any) -> tuple[Integers, Integers]:
    identity, camera = as_integers(identity, "identity"), as_integers(camera, "camera")
    if len(identity) != len(camera) or not len(identity):
        raise InputError("identity, camera", "one of each for every training image",
                         f"{len(identity)} and {len(camera)}")
    return identity, camera


def image_numbers(value: Any, name: str, n: int) -> Integers:
    images = as_integers(value, name)
    outside = np.flatnonzero((images < 0) | (images >= n))
    if outside.size:
        raise InputError(name, f"images 0 to {n - 1}", f"{images[outside[0]]} at index "
                         f"{outside[0]}", "numbers count from 0")
    return images


def mahalanobis_distances(query_features: Any, gallery_features: Any, M: Any) -> Array:
    """Return the squared distances of all queries to the gallery under a metric.

    Parameters
    ----------
    query_features : array_like of float, shape (n_query, r)
        In the space of `M`: times W, or in components.
    gallery_features : array_like of float, shape (n_gallery, r)
    M : array_like of float, shape (r, r)
        Symmetric.

    Returns
    -------
    ndarray, shape (n_query, n_gallery)
        Smaller is nearer. Negative where M is not definite.

    Raises
    ------
    InputError
        Shapes that do not fit, or NaN.

    Notes
    -----
    Source: ``MahDist.m`` in zhunzhong07/person-re-ranking, commit 278f2c7.

    Examples
    --------
    >>> mahalanobis_distances([[0., 0.]], [[1., 0.], [1., 2.]], [[1., 0.], [0., 3.]])
    array([[ 1., 13.]])
    """
    query = checked_features(query_features, "query_features")
    gallery = checked_features(gallery_features, "gallery_features")
    M = checked_features(M, "M")
    if not query.shape[1] == gallery.shape[1] == len(M) == M.shape[1]:
        raise InputError("query_features, gallery_features, M", "(n, r), (m, r) and (r, r)",
                         f"{query.shape}, {gallery.shape} and {M.shape}", "features must be in "
                         "the space of M, e.g. features @ W")
    query_M = query @ M
    distances: Array = query_M @ gallery.T
    distances *= -2
    distances += np.einsum("ij,ij->i", query_M, query)[:, np.newaxis]
    distances += np.einsum("ij,ij->i", gallery @ M, gallery)
    return distances


def solve(covariance: Array, right: Array, name: str, what: str, way_out: str) -> Array:
    """Return inv(covariance) @ right, or refuse a covariance that has no usable inverse."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", linalg.LinAlgWarning)
        try:
            solution: Array = linalg.solve(symmetric(covariance), right, assume_a="pos")
        except (linalg.LinAlgError, linalg.LinAlgWarning):
            raise InputError(name, got=f"the {what} is singular in {len(covariance)} dimensions",
                             remedy=way_out) from None
    return solution


def symmetric(matrix: Array) -> Array:
    half: Array = (matrix + matrix.T) / 2
    return half
