"""Training pairs of images, as the drivers choose them."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, Integers, as_array, as_integers, check_count
from reid_ref.labels import Labels
from reid_ref.metric_learning.metric import image_numbers

#: Pairs of images that the drivers draw for KISSME.
N_DRAWS = 150_000


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
    identity, camera = labels.identity, labels.camera
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
                 every: int = 10) -> tuple[Integers, Integers, npt.NDArray[np.bool_]]:
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
    identity, camera = labels.identity, labels.camera
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
    dissimilar = draws[
        (identity[left] != identity[right]) & (camera[left] != camera[right])]
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
