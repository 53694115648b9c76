"""Learnt metrics of the MATLAB drivers: XQDA and KISSME.

Aim: to learn from training features the metrics that the drivers of Market-1501, CUHK03 and MARS
learn: XQDA (Liao et al., CVPR 2015), KISSME (Koestinger et al., CVPR 2012) on 200 components, and
the Mahalanobis distance of similar pairs.

Conventions: features have one row an image. A metric is a symmetric matrix M; the squared
distance of two features is (x - y) M (x - y)', and smaller is nearer. M of XQDA need not be
definite, so its distances may be negative. All random choices are arguments (`order`, `draws`),
so that two runs, or Octave and Python, can use the same pairs.

Sources: the papers, and the behaviour of the code in zhunzhong07/person-re-ranking (278f2c7),
zhunzhong07/IDE-baseline-Market-1501 (8be027b) and liangzheng06/MARS-evaluation (3a91bbc), run
in GNU Octave. ``matlab_ref/`` has `XQDA`, `xqda_pairs`, `kissme_pairs`, `pca_ide`, `pca_mars`
and `kissme_metric`, which do the same.

Differences from that code, none above the rounding of the arithmetic:

1. A covariance that cannot be inverted is refused; that code warns, and its metric is infinite
   or noise.
2. M is made symmetric before it is used. In that code the last bits of an inverse may differ
   across the diagonal.
3. `pca` works on the smaller side, d x d or n x n. For Market-1501 the IDE driver decomposes
   a 12,936 x 12,936 matrix, whose leading vectors follow from a 2,048 x 2,048 one.
4. `pca` and `kissme` compute in double, as the IDE and the MARS driver do. `xqda` computes in
   single precision on float32 features, as the Market-1501 driver does (the others: double).

The signs of W's columns and of components are arbitrary and differ between libraries; distances
do not depend on them.
"""
from typing import Any

import numpy as np

from reid_ref.arrays import (
    Array, Doubles, InputError, Integers, Mask, as_array, as_integers, as_vector, blocks_of,
    check_choice, check_count, check_finite_rows, check_length, optional_module, refuse_where)
from reid_ref.distances import working_precision
from reid_ref.labels import Labels, cameras_of

__all__ = ["N_COMPONENTS", "N_DRAWS", "TOLERANCE", "kissme", "kissme_pairs",
           "mahalanobis_distances", "pca", "similar_pairs_metric", "xqda", "xqda_pairs"]

#: Relative difference within which two correct metrics in double may disagree, as distances
#: over the largest one: matrices are inverted, so rounding (1e-16) grows with their condition
#: number. With 3e3, the largest that was measured, Octave and Python were 5e-14 apart.
TOLERANCE = 1e-10

#: Pairs of images that the drivers draw for KISSME.
N_DRAWS = 150_000


def checked_features(value: Any, name: str) -> Array:
    array = as_array(value, name)
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "fiub":
        raise InputError(name, "real features (n, d), one row an image",
                         f"shape {array.shape}, dtype {array.dtype}")
    array = working_precision(array)
    check_finite_rows(array, name)
    return array


def image_numbers(value: Any, name: str, n: int) -> Integers:
    images = as_integers(value, name)
    refuse_where((images < 0) | (images >= n), images, name, f"images 0 to {n - 1}",
                 "numbers count from 0")
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
        Smaller is nearer. Negative if M is not definite.

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


def solve(covariance: Array, right: Array, name: str, what: str, remedy: str) -> Array:
    """Return inv(covariance) @ right, or refuse a covariance that has no usable inverse."""
    linalg = optional_module("learnt metrics", "scipy.linalg")
    covariance = symmetric(covariance)
    factorise, estimate = linalg.get_lapack_funcs(("potrf", "pocon"), (covariance,))
    factor, failed = factorise(covariance)
    # `solve` would only warn of what is singular but for rounding.
    reciprocal = 0 if failed else estimate(factor, abs(covariance).sum(axis=0).max())[0]
    if not reciprocal >= np.finfo(covariance.dtype).eps:
        raise InputError(name, got=f"the {what} is singular in {len(covariance)} dimensions",
                         remedy=remedy)
    return np.asarray(linalg.solve(covariance, right, assume_a="pos"))


def symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2


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
    linalg = optional_module("learnt metrics", "scipy.linalg")
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


def kissme(features: Any, first: Any, second: Any, similar: Any) -> Doubles:
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
    values, vectors = optional_module("learnt metrics", "scipy.linalg").eigh(M)
    if values[0] <= 0:
        values[values <= 1e-10] = 1e-6
        M = symmetric(vectors * values @ vectors.T)
    return M


def similar_pairs_metric(features: Any, first: Any, second: Any,
                         similar: Any) -> Doubles:
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
                             kind: bool) -> Array:
    x = checked_features(features, "features").astype(np.float64)
    first = image_numbers(first, "first", len(x))
    second = image_numbers(second, "second", len(x))
    similar = as_vector(similar, "similar")
    if similar.dtype != bool:
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
    for block in blocks_of(len(chosen), 4096):
        pairs = chosen[block]
        difference = x[first[pairs]] - x[second[pairs]]
        covariance += difference.T @ difference
    return solve(covariance / len(chosen), np.eye(x.shape[1]), "features",
                 f"covariance of {len(chosen)} {word} pairs",
                 "reduce the dimension first (pca), or train on more pairs")


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
        All pairs across the views are training pairs: similar if these are equal.
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
    left singular vectors of inv(similar) @ dissimilar; the paper takes eigenvectors (the
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
    gallery_identity = as_integers(gallery_identity, "gallery_identity")
    query_identity = as_integers(query_identity, "query_identity")
    check_length(len(gallery_identity), len(galX), "gallery_identity")
    check_length(len(query_identity), len(probX), "query_identity")
    if not np.isfinite(regularization) or regularization < 0:
        raise InputError("regularization", "a number of 0 or more", regularization)

    basis, linalg = None, optional_module("learnt metrics", "scipy.linalg")
    n_gallery, n_query = len(galX), len(probX)
    if galX.shape[1] > n_gallery + n_query:
        basis, coordinates = linalg.qr(np.concatenate([galX, probX]).T, mode="economic")
        galX, probX = coordinates.T[:n_gallery], coordinates.T[n_gallery:]

    similar, dissimilar = _cross_view_covariances(galX, probX, gallery_identity, query_identity)
    similar[np.diag_indices_from(similar)] += regularization
    remedy = "raise regularization, reduce the dimension first (pca), or pass float64"
    ratio = solve(similar, dissimilar, "gallery_features, query_features",
                  "covariance of similar pairs", remedy)
    left, values, _ = linalg.svd(ratio)
    W = left[:, :max(1, int((values > 1).sum()))]

    metric = [
        solve(W.T @ covariance @ W, np.eye(W.shape[1], dtype=W.dtype),
              "gallery_features, query_features", f"covariance of {kind} pairs", remedy)
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


# Training pairs, as the drivers choose them.


def xqda_pairs(identity: Any, camera: Any, order: Any) -> tuple[Integers, Integers]:
    """Return the drivers' training pairs for `xqda`.

    The images of a person, in the given order, are cut into two halves, and the k-th of one half
    is paired with the k-th of the other. An odd image is left out. Pairs of one camera are
    dropped.

    Parameters
    ----------
    identity, camera : array_like of int, shape (n,)
        Of the training images.
    order : array_like of int, shape (n,)
        A permutation of 0 to n - 1; the only random choice, e.g.
        ``np.random.default_rng(0).permutation(n)``.

    Returns
    -------
    first, second : ndarray of int, shape (n_pairs,)
        The two images of each pair, persons ascending.

    Raises
    ------
    InputError
        Arguments of different length, an order that is no permutation, or no pair.

    Notes
    -----
    Source: ``gen_train_sample_xqda.m`` of the three repositories.

    Examples
    --------
    >>> first, second = xqda_pairs([7, 7, 7, 7, 9], [1, 1, 2, 1, 1], [2, 0, 3, 1, 4])
    >>> first, second                           # 2 with 3; 0 and 1 are of one camera
    (array([2]), array([3]))
    """
    labels = Labels(identity, camera)
    identity, camera = labels.identity, cameras_of(labels, "pairs across cameras")
    order = as_integers(order, "order")
    if not np.array_equal(np.sort(order), np.arange(len(identity))):
        raise InputError(
            "order", f"a permutation of 0 to {len(identity) - 1}, one number for each training "
            "image", remedy="e.g. numpy.random.default_rng(0).permutation(n)")
    persons = by_identity(identity, order)
    left = np.concatenate([images[:len(images) // 2] for images in persons])
    right = np.concatenate([images[len(images) // 2:][:len(images) // 2] for images in persons])
    cross_camera = camera[left] != camera[right]
    if not cross_camera.any():
        raise InputError(
            "identity, camera", "a person with images of two cameras that the order pairs",
            f"none among {len(persons)} persons", "training needs two images of a person")
    return left[cross_camera], right[cross_camera]


def kissme_pairs(identity: Any, camera: Any, draws: Any,
                 every: int = 10) -> tuple[Integers, Integers, Mask]:
    """Return the drivers' training pairs for `kissme`.

    First all pairs of one person on two cameras, persons ascending; then as many drawn pairs of
    two persons on two cameras, in the order drawn. Every tenth of these pairs is kept.

    Parameters
    ----------
    identity, camera : array_like of int, shape (n,)
        Of the training images.
    draws : array_like of int, shape (m, 2)
        Pairs of images, 0 to n - 1, the only random choice. The drivers draw `N_DRAWS`:
        ``np.random.default_rng(0).integers(n, size=(150_000, 2))``.
    every : int
        Keep one pair in `every`. Default: 10, as the drivers do; 1 keeps all.

    Returns
    -------
    first, second : ndarray of int, shape (n_pairs,)
        The two images of each pair.
    similar : ndarray of bool, shape (n_pairs,)
        True: the same person.

    Raises
    ------
    InputError
        Arguments of different length, images that do not exist, no person on two cameras, or
        draws that hold too few pairs.

    Notes
    -----
    Source: ``gen_train_sample_kissme.m`` and ``KISSME.m`` (every tenth) of the repositories.

    Examples
    --------
    >>> first, second, similar = kissme_pairs([7, 7, 9, 9], [1, 2, 1, 1],
    ...                                       [[0, 1], [0, 2], [3, 1]], every=1)
    >>> first, second, similar
    (array([0, 3]), array([1, 1]), array([ True, False]))
    """
    labels = Labels(identity, camera)
    identity, camera = labels.identity, cameras_of(labels, "pairs across cameras")
    draws = as_array(draws, "draws")
    if draws.ndim != 2 or draws.shape[1] != 2:
        raise InputError("draws", "pairs of images (m, 2)", f"shape {draws.shape}",
                         "e.g. numpy.random.default_rng(0).integers(n, size=(150_000, 2))")
    draws = np.stack([image_numbers(draws[:, side], f"draws[:, {side}]", len(identity))
                      for side in (0, 1)], 1)
    check_count(every, "every")

    pairs = [np.stack([images[k] for k in np.triu_indices(len(images), 1)], 1)
             for images in by_identity(identity, np.arange(len(identity)))]
    similar = np.concatenate(pairs)
    similar = similar[camera[similar[:, 0]] != camera[similar[:, 1]]]
    if not len(similar):
        raise InputError(
            "identity, camera", "a person with images of two cameras",
            f"none among {len(pairs)} persons", "training needs two images of a person")

    left, right = draws.T
    dissimilar = draws[(identity[left] != identity[right]) & (camera[left] != camera[right])]
    if len(dissimilar) < len(similar):
        raise InputError(
            "draws", f"{len(similar)} pairs of two persons on two cameras, as many as there are "
            "similar pairs", f"{len(dissimilar)} in {len(draws)}", "draw more")
    pairs_kept = np.concatenate([similar, dissimilar[:len(similar)]])[::every]
    same = (np.arange(2 * len(similar)) < len(similar))[::every]
    return pairs_kept[:, 0], pairs_kept[:, 1], same


def by_identity(identity: Integers, order: Integers) -> list[Integers]:
    """Return the images of each person, persons ascending, images in the given order."""
    grouped = order[np.argsort(identity[order], kind="stable")]
    return np.split(grouped, np.flatnonzero(np.diff(identity[grouped])) + 1)
