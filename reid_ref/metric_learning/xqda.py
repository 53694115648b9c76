"""XQDA: a subspace and a metric from two views."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from reid_ref.arrays import InputError, Integers
from reid_ref.metric_learning.metric import checked_features, row_labels, solve, symmetric

Array = npt.NDArray[Any]


def xqda(gallery_features: Any, query_features: Any, gallery_identity: Any,
         query_identity: Any, regularization: float = 0.001) -> tuple[Array, Array]:
    """Learn a subspace and a metric in it by cross-view quadratic discriminant analysis.

    Parameters
    ----------
    gallery_features : array_like of float, shape (n_gallery, d)
        Training features of one view. float32 features are computed in single precision, all
        others in double. The drivers divide each by its 2-norm first.
    query_features : array_like of float, shape (n_query, d)
        Of the other view.
    gallery_identity, query_identity : array_like of int, shape (n_gallery,), (n_query,)
        All pairs across the views are training pairs: similar where these are equal.
    regularization : float
        Added to the diagonal of the covariance of similar pairs; 0 or more.

    Returns
    -------
    W : ndarray, shape (d, r)
        Features go into the subspace as ``features @ W``. Columns are orthonormal.
    M : ndarray, shape (r, r)
        Symmetric, not always definite. `mahalanobis_distances` ranks with it.

    Raises
    ------
    InputError
        Shapes that do not fit, NaN, no similar or no dissimilar pair, or a singular covariance.

    Notes
    -----
    Where the published code differs from the paper, this follows the code. The columns of W are
    left singular vectors of inv(similar) @ dissimilar, where the paper takes eigenvectors (the
    matrix is not symmetric, so they differ). Those with singular values above 1 are kept, one at
    least. M is computed from the regularized covariance. With more dimensions than samples, the
    computation runs in an orthonormal basis of the samples, which changes no distance.

    Source: S. Liao, Y. Hu, X. Zhu, S. Z. Li, Person re-identification by local maximal
    occurrence representation and metric learning, CVPR 2015; ``XQDA.m`` in zhunzhong07/
    person-re-ranking, commit 278f2c7.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> identity = np.arange(40) % 10
    >>> features = rng.standard_normal((10, 8))[identity] + rng.standard_normal((40, 8)) / 9
    >>> W, M = xqda(features[:20], features[20:], identity[:20], identity[20:])
    >>> W.shape, M.shape
    ((8, 8), (8, 8))
    """
    galX = checked_features(gallery_features, "gallery_features")
    probX = checked_features(query_features, "query_features")
    if galX.shape[1] != probX.shape[1]:
        raise InputError(
            "gallery_features, query_features", "the same dimension",
            f"{galX.shape[1]} and {probX.shape[1]}", "both must come from the same model")
    galX, probX = (side.astype(np.result_type(galX, probX)) for side in (galX, probX))
    gallery_identity = row_labels(gallery_identity, "gallery_identity", galX)
    query_identity = row_labels(query_identity, "query_identity", probX)
    if not np.isfinite(regularization) or regularization < 0:
        raise InputError("regularization", "a number of 0 or more", regularization)

    basis = None
    n_gallery, n_query = len(galX), len(probX)
    if galX.shape[1] > n_gallery + n_query:
        basis, coordinates = linalg.qr(np.concatenate([galX, probX]).T, mode="economic")
        galX, probX = coordinates.T[:n_gallery], coordinates.T[n_gallery:]

    similar, dissimilar = _cross_view_covariances(galX, probX, gallery_identity, query_identity)
    similar[np.diag_indices_from(similar)] += regularization
    way_out = "raise regularization, reduce the dimension first (pca), or pass float64"
    ratio = solve(similar, dissimilar, "gallery_features, query_features",
                  "covariance of similar pairs", way_out)
    left, values, _ = linalg.svd(ratio)
    W = left[:, :max(1, int((values > 1).sum()))]

    metric = [
        solve(W.T @ covariance @ W, np.eye(W.shape[1], dtype=W.dtype),
              "gallery_features, query_features", f"covariance of {kind} pairs", way_out)
        for kind, covariance in (("similar", similar), ("dissimilar", dissimilar))]
    return W if basis is None else basis @ W, symmetric(metric[0] - metric[1])


def _cross_view_covariances(galX: Array, probX: Array, gallery_identity: Integers,
                            query_identity: Integers) -> tuple[Array, Array]:
    """Return the mean (x - z)'(x - z) of the similar and of the dissimilar pairs of two views."""
    labels = np.intersect1d(gallery_identity, query_identity)
    gal_is = (gallery_identity[:, np.newaxis] == labels).astype(galX.dtype)
    prob_is = (query_identity[:, np.newaxis] == labels).astype(galX.dtype)
    n_gallery, n_query = len(galX), len(probX)
    partners = gal_is @ prob_is.sum(axis=0)  # of each gallery image: similar queries
    n_similar = int(partners.sum(dtype=np.float64))
    n_dissimilar = n_gallery * n_query - n_similar
    if not n_similar:
        raise InputError("gallery_identity, query_identity", "persons that are in both", "none",
                         "training needs two images of a person, one for each side")
    if not n_dissimilar:
        raise InputError("gallery_identity, query_identity", "at least two persons",
                         f"one ({labels[0]})", "training needs dissimilar pairs")

    cross = (gal_is.T @ galX).T @ (prob_is.T @ probX)
    similar = (galX.T @ (partners[:, np.newaxis] * galX) - cross - cross.T
               + probX.T @ ((prob_is @ gal_is.sum(axis=0))[:, np.newaxis] * probX))
    cross = np.outer(galX.sum(axis=0), probX.sum(axis=0))
    # In the features' precision: numpy 1 takes a large int for a double.
    scalar = galX.dtype.type
    dissimilar = (scalar(n_query) * (galX.T @ galX) + scalar(n_gallery) * (probX.T @ probX)
                  - cross - cross.T - similar)
    return similar / scalar(n_similar), dissimilar / scalar(n_dissimilar)
