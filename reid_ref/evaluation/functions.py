"""The public functions: evaluate features, distances or ranked lists."""
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reid_ref import metrics
from reid_ref.arrays import Doubles, as_integers, check_choice, check_distinct
from reid_ref.conventions import AP, Convention, find_conventions
from reid_ref.evaluation.engine import as_requested, results_of
from reid_ref.evaluation.how import How, Progress, takes_conventions
from reid_ref.evaluation.lists import as_ranked_lists
from reid_ref.evaluation.ranked import Distances, Features, Lists
from reid_ref.labels import Labels, QueryLists, check_labels
from reid_ref.ranking.good_ranks import from_index
from reid_ref.result import Result


@takes_conventions
def evaluate(query_features: Any, gallery_features: Any, query: Labels, gallery: Labels, *,
             metric: str | None = None, normalize: bool | None = None,
             convention: str | Convention = "matlab",
             lists: QueryLists | None = None, max_memory: int | str | None = None,
             progress: Progress | None = None, threads: int | None = None) -> Result:
    """Evaluate features: Rank-k, mAP, mINP.

    Parameters
    ----------
    query_features : array_like, shape (n_query, d)
        One row per image; finite real numbers of any dtype. An array, a memory map, a dataset of
        an open HDF5 file (read in blocks), a tensor (on a GPU: copied to main memory).
    gallery_features : array_like, shape (n_gallery, d)
    query, gallery : Labels
        Identity and camera of each image.
    metric : {"euclidean", "cosine", "dot"}, optional
        Distance between features. On normalised features all three give the same ranking.
        Default: that of the convention's toolbox.
    normalize : bool, optional
        Divide each feature by its 2-norm first. Default: as the convention's toolbox does.
        The Market-1501 drivers do, torchreid does not.
    convention : str or Convention, or several of them
        A name in `CONVENTIONS`, or a record of your own. Several, in a list or a tuple, share
        the ranks and take little longer than one.
    lists : IndexLists or Candidates, optional
        Good and junk images of every query, for conventions that list them; or the images that
        may be found for each query, under any convention: all others are ignored.
    max_memory : int or str, optional
        Working memory in bytes, besides the input and the result: a number, or text such as
        "512M". Default: 256 MiB, or a quarter of the free memory if that is less. The result does
        not depend on it. Features need as much as the distances of one query, 8 bytes for each
        gallery image, and the features of 16 images.
    progress : callable, optional
        Called with the number of queries done since the last call.
    threads : int, optional
        Threads, those of matrix products included. Default: one for each core that the process
        may use, which OMP_NUM_THREADS can limit. The result does not depend on it.

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
    NaNWarning, UnmatchedWarning
        A feature of norm 0; queries without a good image.

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
    {'matlab': 0.5396, 'torchreid': 0.6562}
    """
    how = How(tuple(find_conventions(convention)), metric, normalize, lists, max_memory, progress,
              threads)
    results = results_of(Features(query_features, gallery_features), query, gallery, how)
    return as_requested(results, convention)


@takes_conventions
def evaluate_distances(distances: Any, query: Labels, gallery: Labels, *,
                       convention: str | Convention = "matlab",
                       lists: QueryLists | None = None, max_memory: int | str | None = None,
                       progress: Progress | None = None, threads: int | None = None) -> Result:
    """Evaluate a distance matrix: Rank-k, mAP, mINP.

    Under "matlab", Rank-k and mAP are bit-identical to those of the MATLAB scripts in Octave, for
    every dtype.

    Parameters
    ----------
    distances : array_like, shape (n_query, n_gallery)
        Smaller is nearer; NaN is farthest. An array, a memory map, a dataset of an open HDF5
        file, a tensor; any real dtype. MATLAB's matrix is gallery x query: pass it transposed.
    query, gallery : Labels
        Identity and camera of each image.

    Other parameters: see `reid_ref.evaluate`.

    Returns
    -------
    Result, or dict of str to Result
        For a list or a tuple of conventions a dict by their names, in the given order.

    Raises
    ------
    InputError
        Wrong shape (with a hint if the transpose fits), counts, names; complex distances.

    Warns
    -----
    NaNWarning, UnmatchedWarning
        NaN distances; queries without a good image.

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
              progress=progress, threads=threads)
    return as_requested(results_of(Distances(distances), query, gallery, how), convention)


@takes_conventions
def evaluate_ranked_lists(ranked: Any, query: Labels, gallery: Labels, *,
                          convention: str | Convention = "matlab",
                          lists: QueryLists | None = None, n_good: Any = None,
                          query_names: Sequence[str] | None = None,
                          gallery_names: Sequence[str] | None = None,
                          max_memory: int | str | None = None) -> Result:
    """Evaluate the ranked lists of all queries, complete or cut: Rank-k, mAP, mINP.

    Complete lists give the numbers of `evaluate_distances` on distances that rank the same way,
    the same doubles. A good image that a list lacks counts as missed. For one list with its good
    images there is `evaluate_ranked_list`.

    Parameters
    ----------
    ranked : array_like of int, shape (n_query, length); sequence; or mapping
        The gallery images of each query, the nearest first: an array of gallery indices from 0,
        shorter lists filled up with -1 (in memory, a memory map, a dataset of an open HDF5
        file); a sequence of lists of indices or of names; a mapping of query name to list; or
        what `reid_ref.files.read_ranked_lists` reads of a file.
    query, gallery : Labels
        The gallery's labels are those of all its images, in the order that the indices count.
    convention : str or Convention, or several of them
        As for `reid_ref.evaluate`. Lists have no equal distances: an order of ties changes
        nothing.
    n_good : array_like of int, shape (n_query,), optional
        How many good images exist for each query, if more exist than the gallery holds. They
        count as missed. Default: those of the gallery.
    query_names, gallery_names : sequence of str, optional
        Names of the images, in the order of the labels. Default: those in the labels. Lists may
        spell them with or without folders and suffix (.jpg, .jpeg, .png, .bmp).

    Other parameters: see `reid_ref.evaluate`.

    Returns
    -------
    Result, or dict of str to Result
        For a list or a tuple of conventions a dict by their names, in the given order.
        Where a list lacks a good image, the query's INP is NaN, and so is mINP. The CMC curve
        ends where the longest list does.

    Raises
    ------
    InputError
        Not one list for each query; an image that the gallery does not have, or that is
        twice in a list; an unknown name; fewer good images in `n_good` than in the gallery; cut
        lists under a convention whose CMC curve needs every image in its place.

    Warns
    -----
    UnmatchedWarning
        Queries without a good image.

    Examples
    --------
    Three good images exist, at ranks 1 and 4 of a list of four; the third is not in it.

    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 8, 7, 7], [2] * 5)
    >>> result = reid_ref.evaluate_ranked_lists([[0, 1, 2, 3]], query, gallery,
    ...                                         convention="trec-eval")
    >>> result.mAP, result.rank(1), result.mINP
    (0.5, 1.0, nan)
    >>> names = ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"]
    >>> reid_ref.evaluate_ranked_lists([["e", "d", "a", "b", "c"]], query, gallery,
    ...                                gallery_names=names).mAP
    1.0
    """
    check_labels(query, gallery)
    names = [side.names() if given is None else given
             for side, given in ((query, query_names), (gallery, gallery_names))]
    ranked_lists = as_ranked_lists(ranked, *names)
    if n_good is not None:
        ranked_lists = replace(ranked_lists, n_good=as_integers(n_good, "n_good"))
    how = How(tuple(find_conventions(convention)), lists=lists, max_memory=max_memory)
    return as_requested(results_of(Lists(ranked_lists), query, gallery, how), convention)


def evaluate_ranked_list(index: Sequence[int], good: Sequence[int], junk: Sequence[int] = (),
                         ap: str = "trapezoid") -> tuple[float, Doubles]:
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
        In [0, 1]. As `compute_AP.m` returns it: NaN without a good image, but 0 of junk alone.
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
