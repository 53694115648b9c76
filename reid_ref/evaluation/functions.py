"""The public functions: evaluate features, distances or one ranked list."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref.arrays import check_choice, check_distinct
from reid_ref.conventions import AP, Convention, find_conventions
from reid_ref.evaluation.engine import as_requested, results_of
from reid_ref.evaluation.how import How, Progress, by_convention
from reid_ref.evaluation.ranked import Distances, Features
from reid_ref.labels import IndexLists, Labels
from reid_ref.ranking.good_ranks import from_index
from reid_ref.result import Result


@by_convention
def evaluate(query_features: Any, gallery_features: Any, query: Labels, gallery: Labels, *,
             metric: str = "euclidean", normalize: bool = True,
             convention: str | Convention = "matlab",
             lists: IndexLists | None = None, max_memory: int | str | None = None,
             progress: Progress | None = None) -> Result:
    """Evaluate features: Rank-k, mAP, mINP.

    Parameters
    ----------
    query_features : array_like, shape (n_query, d)
        One row per image; finite real numbers of any dtype. An array, a memory map, a dataset of
        an open HDF5 file (read in blocks), a tensor. Tensors of both sides on one accelerator are
        evaluated there (docs/accelerators.md); if one side is elsewhere, or the convention needs
        whole rows of distances, in main memory. The result is the same.
    gallery_features : array_like, shape (n_gallery, d)
    query, gallery : Labels
        Identity and camera of each image.
    %(metric)s
    %(normalize)s
    %(convention)s
    %(lists)s
    %(max_memory)s
    %(progress)s

    Returns
    -------
    Result, or dict of str to Result
        For a list or a tuple of conventions a dict by their names, in the given order.

    Raises
    ------
    InputError
        Wrong shapes, dtypes, counts or names; NaN or Inf features.

    Warns
    -----
    UserWarning
        A feature of norm 0, queries without a match, images of one camera only.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> rng = np.random.default_rng(0)
    >>> identity, camera = np.arange(12) % 4, np.arange(12) // 4
    >>> features = np.eye(4)[identity] + 0.8 * rng.standard_normal((12, 4))
    >>> query = reid_ref.Labels(identity[:4], camera[:4])
    >>> gallery = reid_ref.Labels(identity[4:], camera[4:])
    >>> result = reid_ref.evaluate(features[:4], features[4:], query, gallery)
    >>> round(result.mAP, 4), result.rank(1)
    (0.5396, 0.5)
    >>> results = reid_ref.evaluate(features[:4], features[4:], query, gallery,
    ...                             convention=["matlab", "torchreid"])
    >>> {name: round(result.mAP, 4) for name, result in results.items()}
    {'matlab': 0.5396, 'torchreid': 0.6417}
    """
    how = How(tuple(find_conventions(convention)), metric, normalize, lists, max_memory, progress)
    results = results_of(Features(query_features, gallery_features), query, gallery, how)
    return as_requested(results, convention)


@by_convention
def evaluate_distances(distances: Any, query: Labels, gallery: Labels, *,
                       convention: str | Convention = "matlab",
                       lists: IndexLists | None = None, max_memory: int | str | None = None,
                       progress: Progress | None = None) -> Result:
    """Evaluate a distance matrix: Rank-k, mAP, mINP.

    Under "matlab", Rank-k and mAP are bit-identical to those of the MATLAB scripts in Octave, for
    every dtype.

    Parameters
    ----------
    distances : array_like, shape (n_query, n_gallery)
        Smaller is nearer; NaN is farthest. An array, a memory map, a dataset of an open HDF5
        file, a tensor (evaluated on its accelerator, as by `evaluate`); any real dtype. MATLAB's
        matrix is gallery x query: pass it transposed.
    query, gallery : Labels
        Identity and camera of each image.
    %(convention)s
    %(lists)s
    %(max_memory)s
    %(progress)s

    Returns
    -------
    Result, or dict of str to Result
        For a list or a tuple of conventions a dict by their names, in the given order.

    Raises
    ------
    InputError
        Wrong shape (the message says if the transpose fits), counts, names; complex distances.

    Warns
    -----
    UserWarning
        NaN distances, queries without a match, images of one camera only.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances(np.array([[.1, .2, .3]]), query, gallery)
    >>> round(result.mAP, 4), result.cmc, result.per_query.first_match
    (0.7917, array([1., 1., 1.]), array([1]))
    >>> results = reid_ref.evaluate_distances(np.array([[.1, .2, .3]]), query, gallery,
    ...                                       convention=["matlab", "torchreid"])
    >>> {name: round(result.mAP, 4) for name, result in results.items()}
    {'matlab': 0.7917, 'torchreid': 0.8333}
    """
    how = How(tuple(find_conventions(convention)), lists=lists, max_memory=max_memory,
              progress=progress)
    return as_requested(results_of(Distances(distances), query, gallery, how), convention)


def evaluate_ranked_list(index: Sequence[int], good: Sequence[int], junk: Sequence[int] = (),
                         ap: str = "trapezoid") -> tuple[float, npt.NDArray[np.float64]]:
    """Evaluate one ranked list of gallery indices, whole or truncated.

    The good images are given, not found by labels. For the lists of all queries, with labels,
    conventions and means, there is `evaluate_ranked_lists`.

    Parameters
    ----------
    index : sequence of int
        Gallery indices, the nearest first.
    good : sequence of int
        All good images, also those that the list lacks: they are the denominator of recall.
    junk : sequence of int
        Ignored images.
    ap : str
        A key of `conventions.AP`.

    Returns
    -------
    ap : float
        In [0, 1]; NaN without a good image, as `compute_AP.m` returns it.
    cmc : float64, shape (len(index),)

    Raises
    ------
    InputError
        An unknown rule; an index that is not a whole number, or occurs twice in a list.

    Examples
    --------
    Five good images exist; three of them are in the list, at ranks 1, 4 and 5.

    >>> evaluate_ranked_list([0, 9, 8, 1, 2], good=[0, 1, 2, 3, 4])
    (0.3933333333333333, array([1., 1., 1., 1., 1.]))
    """
    check_choice(ap, "ap", AP)
    lists = [check_distinct(value, name) for value, name in (
        (index, "index"), (good, "good"), (junk, "junk"))]
    ranks = from_index(*lists)
    return (float(AP[ap].exact(ranks)[0]),
            metrics.cumulative_matching(ranks.first_match, len(lists[0]), 1))
