"""KISSME, its principal components, and the inverse covariance of similar pairs."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from reid_ref.arrays import InputError, as_integers, check_choice, check_count
from reid_ref.metric_learning.metric import checked_features, image_numbers, solve, symmetric

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
    check_count(dimensions, "dimensions")
    leading = (max(0, size - dimensions), size - 1)
    values, vectors = linalg.eigh(rows.T @ rows if d <= n else rows @ rows.T,
                                  subset_by_index=leading)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = int((values > values[0] * size * np.finfo(np.float64).eps).sum())
    if rank < dimensions:
        raise InputError("dimensions", f"at most {rank}, the rank of the features {x.shape} "
                         "without their mean", dimensions, "pass fewer")
    if d <= n:
        vectors = rows @ vectors / np.sqrt(values)
    components = x.T @ vectors
    return mean, components / np.sqrt(values) if driver == "mars" else components


def kissme(features: Any, first: Any, second: Any, similar: Any) -> npt.NDArray[np.float64]:
    """Learn a metric from similar and dissimilar pairs (keep it simple and straightforward).

    Parameters
    ----------
    features : array_like of float, shape (n, d)
        Of the training images; of few enough dimensions, see `pca`.
    first, second : array_like of int, shape (n_pairs,)
        The two images of each pair, 0 to n - 1.
    similar : array_like of bool, shape (n_pairs,)
        Whether they show the same person.

    Returns
    -------
    M : ndarray of float64, shape (d, d)
        Symmetric, positive definite.

    Raises
    ------
    InputError
        Shapes that do not fit, NaN, images that do not exist, no similar or no dissimilar pair,
        or a singular covariance.

    Notes
    -----
    The paper clips the spectrum of M so that it is semidefinite. This follows the published code:
    if M is not positive definite, each eigenvalue up to 1e-10 becomes 1e-6.

    Source: M. Koestinger, M. Hirzer, P. Wohlhart, P. M. Roth, H. Bischof, Large scale metric
    learning from equivalence constraints, CVPR 2012, equations 12 to 16; ``LearnAlgoKISSME.m``
    in zhunzhong07/IDE-baseline-Market-1501, commit 8be027b.

    Examples
    --------
    >>> import numpy as np
    >>> features = np.array([[0., 0.], [0., 4.], [4., 0.], [5., 0.]])
    >>> M = kissme(features, [0, 2, 0, 1], [1, 3, 2, 3], [True, True, False, False])
    >>> M.round(2)                      # persons differ along the first axis
    array([[ 1.88, -0.14],
           [-0.14,  0.01]])
    """
    inverse = [_inverse_pair_covariance(features, first, second, similar, kind)
               for kind in (True, False)]
    M = symmetric(inverse[0] - inverse[1])
    values, vectors = linalg.eigh(M)
    if values[0] <= 0:
        values[values <= 1e-10] = 1e-6
        M = symmetric(vectors * values @ vectors.T)
    return M


def similar_pairs_metric(features: Any, first: Any, second: Any,
                         similar: Any) -> npt.NDArray[np.float64]:
    """Return the inverse covariance of the differences of similar pairs.

    The "Mahalanobis distance" that the MARS driver prints with KISSME. Arguments and errors are
    those of `kissme`.

    Returns
    -------
    M : ndarray of float64, shape (d, d)

    Examples
    --------
    >>> import numpy as np
    >>> similar_pairs_metric([[0., 0.], [0., 2.], [4., 0.], [5., 0.]], [0, 2], [1, 3], [1, 1])
    array([[2. , 0. ],
           [0. , 0.5]])
    """
    return symmetric(_inverse_pair_covariance(features, first, second, similar, True))


def _inverse_pair_covariance(features: Any, first: Any, second: Any, similar: Any,
                             kind: bool, block: int = 4096) -> Array:
    x = checked_features(features, "features").astype(np.float64)
    first = image_numbers(first, "first", len(x))
    second = image_numbers(second, "second", len(x))
    similar = as_integers(similar, "similar").astype(bool)
    if not len(first) == len(second) == len(similar):
        raise InputError("first, second, similar", "one entry for each pair",
                         f"{len(first)}, {len(second)} and {len(similar)}")
    word = "similar" if kind else "dissimilar"
    chosen = np.flatnonzero(similar == kind)
    if not len(chosen):
        raise InputError("similar", f"at least one {word} pair", f"none among {len(similar)}",
                         "see kissme_pairs")
    covariance = np.zeros((x.shape[1], x.shape[1]))
    for start in range(0, len(chosen), block):
        pairs = chosen[start:start + block]
        difference = x[first[pairs]] - x[second[pairs]]
        covariance += difference.T @ difference
    return solve(covariance / len(chosen), np.eye(x.shape[1]), "features",
                 f"covariance of {len(chosen)} {word} pairs",
                 "reduce the dimension first (pca), or train on more pairs")
