"""AP and Rank-1 for each pair of cameras: that of the query, and that of its good images.

Aim: AP and Rank-1 of every query on every camera, their means for each pair of cameras, and the
mean over pairs of different cameras. One mean over all cameras can hide a difficult camera.

Conventions: a smaller distance is nearer; equal distances keep gallery order. The score of a query
on one camera ignores the images of its identity on all other cameras. A good image that a ranked
list lacks counts as missed. Three rules:

plain
    Label -1 is ignored; any number of cameras. A score is NaN if the camera has no image of
    the identity; all other scores count. On the query's own camera all images of its identity are
    good; a query that is also in the gallery finds itself, so the diagonal means little then.
views
    As plain, but only images of that camera are in the list, wrong ones too: gait recognition
    has views, not cameras, and a gallery of one view at a time (CASIA-B, OU-MVLP, CCPG).
script
    Bit-identical to compute_AP_multiCam.m, compute_r1_multiCam.m and draw_confusion_matrix.m, for
    cameras 1 to 6. Differences from `plain`:

    1. Label -1 counts as a wrong image: lower if there are such images.
    2. On the query's own camera, the nearest image is taken to be the query itself: it is ignored,
       and one good image less is expected. If the query is not in the gallery, this is another
       image, and the diagonal is wrong: either way.
    3. An AP of 0 is left out of means. Rank-1 is -1 if the query is the only image of its
       identity on its camera, and -2 if another camera has none; both are left out. But if
       the query's camera has no image of the identity, Rank-1 is 0 and counts: either way.
    4. One pair without a score, also on the diagonal, makes the mean over pairs NaN.

    Ranked lists that lack a good image are refused: the scripts give them AP 0, and so no part in
    the means.

Source: liangzheng06/MARS-evaluation, utils (script; `test_mars.m` computes the means). `plain` is
the rule of layumi/2016_person_re-ID, evaluation, for any camera; but a query labelled -1, which
neither toolbox considers, has no good image here. `views` is that of ShiqiYu/OpenGait's evaluator.
"""
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reid_ref import metrics
from reid_ref.arrays import (
    Array, CameraWarning, Doubles, InputError, Integers, Value, check_choice, refuse_where, warn)
from reid_ref.conventions import CONVENTIONS
from reid_ref.disk import tables_of
from reid_ref.evaluation.how import How, Progress, options_by_name
from reid_ref.evaluation.ranked import Distances, Features, Ranked
from reid_ref.labels import JUNK, Labels, cameras_of, check_labels, is_single_shot
from reid_ref.ranking.good_ranks import GoodRanks
from reid_ref.signature import Signature, signature

#: The rules, each with its description.
RULES: Mapping[str, str] = tables_of("evaluation/words.toml")["rules"]
#: What each rule ignores on every camera.
IGNORED: dict[str, tuple[str, ...]] = {
    "plain": ("label -1",), "script": (), "views": ("label -1",)}
SCRIPT_CAMERAS = 6


@dataclass(frozen=True, eq=False)
class CameraPairs(Value):
    """Scores of n cameras; the rows of matrices are the queries' cameras.

    Parameters
    ----------
    rule : str
        "plain", "script" or "views".
    cameras : int64, or text, shape (n,)
        Every camera of query or gallery, ascending; with "script" always 1 to 6.
    ap, rank1 : float64, shape (n_query, n)
        Of every query on every camera, in [0, 1]. Without a good image: NaN with "plain"; with
        "script" 0 in `ap`, and -1 or -2 in `rank1`.
    ap_matrix, rank1_matrix : float64, shape (n, n)
        Means over queries, NaN of none.
    ap_count, rank1_count : int64, shape (n, n)
        Queries in each mean.
    mAP, mean_rank1 : float
        Mean over the pairs of different cameras: with "plain" over those that have a score; with
        "script" (sum - trace) / 30, NaN if one of the 36 pairs has none.
    signature : Signature
        All that could change the numbers; the version last.
    """

    rule: str
    cameras: Array
    ap: Doubles
    rank1: Doubles
    ap_matrix: Doubles
    rank1_matrix: Doubles
    ap_count: Integers
    rank1_count: Integers
    mAP: float
    mean_rank1: float
    signature: Signature

    def __post_init__(self) -> None:
        self._copy_arrays()


@options_by_name
def camera_pairs(distances: Any, query: Labels, gallery: Labels, *,
                 rule: str = "plain", max_memory: int | str | None = None,
                 progress: Progress | None = None) -> CameraPairs:
    """Compute AP and Rank-1 of every query on every camera, and their mean for each pair.

    Parameters
    ----------
    distances : array_like, shape (n_query, n_gallery)
        Smaller is nearer; any real dtype; NaN is farthest. An array, a memory map, a dataset of
        an open HDF5 file, a dask array.
    query, gallery : Labels
        With "script", cameras 1 to 6.
    rule : {"plain", "script"}
        "plain": label -1 is ignored, any cameras, every score counts. "script": bit-identical to
        the MATLAB multi-camera scripts, for cameras 1 to 6.

    Other parameters: see `reid_ref.evaluate`.

    Returns
    -------
    CameraPairs

    Raises
    ------
    InputError
        Wrong shape, complex distances, an unknown rule, no cameras, or one outside 1 to 6 with
        "script".

    Warns
    -----
    CameraWarning
        All images are on one camera.

    Examples
    --------
    The image on camera 2 is nearest; the one on camera 3 comes after a wrong image:

    >>> query, gallery = Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3])
    >>> pairs = camera_pairs([[.1, .2, .3]], query, gallery)
    >>> pairs.cameras, pairs.ap, pairs.rank1
    (array([1, 2, 3]), array([[ nan, 1.  , 0.25]]), array([[nan,  1.,  0.]]))
    >>> pairs.mAP, pairs.mean_rank1
    (0.625, 0.5)
    """
    how = How(max_memory=max_memory, progress=progress)
    return camera_pairs_of(Distances(distances), query, gallery, rule, how)


def camera_pairs_of(ranked: Ranked, query: Labels, gallery: Labels, rule: str,
                    how: How) -> CameraPairs:
    """Compute the scores of `camera_pairs` of what is ranked.

    Of the conventions of `how` only the distance counts, that of the first.
    """
    query, gallery = check_labels(query, gallery)
    check_choice(rule, "rule", RULES)
    ranked.without_candidates("pairs of cameras")
    metric, normalize = how.distance()
    convention = CONVENTIONS["matlab"].replace(
        ignored=IGNORED[rule], metric=metric, normalize=normalize)
    cameras = _cameras(query, gallery, rule)
    how = replace(how, conventions=(convention,))
    if rule == "views":
        return _of_views(ranked, query, gallery, cameras, how)
    ranks = ranked.ranks(query, gallery, how)
    return pairs_of_ranks(ranks.of(convention), query, gallery, cameras, rule, ranks.provenance)


def pairs_of_ranks(ranks: GoodRanks, query: Labels, gallery: Labels, cameras: Integers, rule: str,
                   provenance: dict[str, str]) -> CameraPairs:
    """Compute the scores from ranks of all images but those that `IGNORED` names."""
    return _pairs(_scores(ranks, query, gallery, cameras, rule), query, gallery, cameras, rule,
                  provenance)


def _of_views(ranked: Ranked, query: Labels, gallery: Labels, cameras: Integers,
              how: How) -> CameraPairs:
    """Rank the gallery of each camera by itself."""
    ap, rank1 = np.full((2, len(query), len(cameras)), np.nan)
    provenance: dict[str, str] = {}
    for column, camera in enumerate(cameras):
        images = np.flatnonzero(_cameras_of(gallery) == camera)
        if not len(images):
            continue
        part = ranked.between("query", np.arange(len(query)), "gallery", images)
        found = part.ranks(query, gallery[images], how)
        ranks, provenance = found.of(how.conventions[0]), found.provenance
        ap[:, column] = metrics.average_precision_trapezoid(ranks)
        rank1[:, column] = np.where(ranks.n_good > 0, metrics.accuracy_at(ranks, 1), np.nan)
    return _pairs((ap, rank1), query, gallery, cameras, "views", provenance)


def _pairs(scores: tuple[Doubles, Doubles], query: Labels, gallery: Labels, cameras: Integers,
           rule: str, provenance: dict[str, str]) -> CameraPairs:
    """Return the scores and their means."""
    ap, rank1 = scores
    ap_counts, rank1_counts = ((ap != 0, rank1 >= 0) if rule == "script" else
                               (~np.isnan(ap), ~np.isnan(rank1)))
    row = np.searchsorted(cameras, _cameras_of(query))
    ap_matrix, ap_count = _means(ap, ap_counts, row)
    rank1_matrix, rank1_count = _means(rank1, rank1_counts, row)
    shown = query.words["camera"][cameras - 1] if "camera" in query.words else cameras
    return CameraPairs(rule, shown, ap, rank1, ap_matrix, rank1_matrix, ap_count, rank1_count,
                       _off_diagonal(ap_matrix, rule), _off_diagonal(rank1_matrix, rule),
                       signature({"rule": rule, **provenance}, query, gallery))


@options_by_name
def camera_pairs_features(query_features: Any, gallery_features: Any, query: Labels,
                          gallery: Labels, *, metric: str = "euclidean", normalize: bool = True,
                          rule: str = "plain", max_memory: int | str | None = None,
                          progress: Progress | None = None) -> CameraPairs:
    """Compute the scores of `camera_pairs` from features, ranked as by `reid_ref.evaluate`.

    Parameters
    ----------
    query_features, gallery_features : array_like, shape (n_query, d) and (n_gallery, d)
        One row per image; finite real numbers of any dtype.
    query, gallery : Labels
        With "script", cameras 1 to 6.
    rule : {"plain", "script"}
        As in `camera_pairs`.

    Other parameters: see `reid_ref.evaluate`.

    Returns
    -------
    CameraPairs

    Raises
    ------
    InputError
        As `reid_ref.evaluate` and `camera_pairs`.

    Examples
    --------
    >>> query, gallery = Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3])
    >>> pairs = camera_pairs_features([[1., 0.]], [[1., 0.], [3., 1.], [1., 1.]], query, gallery)
    >>> pairs.rank1
    array([[nan,  1.,  0.]])
    >>> list(pairs.signature.items())[:3]
    [('rule', 'plain'), ('metric', 'euclidean'), ('normalize', 'yes')]
    """
    how = How(metric=metric, normalize=normalize, max_memory=max_memory, progress=progress)
    return camera_pairs_of(Features(query_features, gallery_features), query, gallery, rule, how)


def _cameras_of(labels: Labels) -> Integers:
    return cameras_of(labels, "pairs of cameras")


def _cameras(query: Labels, gallery: Labels, rule: str) -> Integers:
    cameras: Integers = np.union1d(_cameras_of(query), _cameras_of(gallery))
    if len(cameras) == 1:
        warn(f"query, gallery: all images are on camera {cameras[0]}, so there is no pair of "
             "different cameras" + ("" if is_single_shot(gallery) else
                                    "; give each camera its own number"), CameraWarning)
    if rule != "script":
        return cameras
    for name, labels in (("query", query), ("gallery", gallery)):
        camera = _cameras_of(labels)
        refuse_where((camera < 1) | (camera > SCRIPT_CAMERAS), camera, name,
                     f"cameras 1 to {SCRIPT_CAMERAS}, which is what the multi-camera scripts have",
                     "renumber the cameras, or use the rule 'plain', which takes any")
    return np.arange(1, SCRIPT_CAMERAS + 1)


def _scores(ranks: GoodRanks, query: Labels, gallery: Labels, cameras: Integers,
            rule: str) -> tuple[Doubles, Doubles]:
    """Return AP and Rank-1 of all queries on all cameras.

    Both follow from the number of wrong images before each image of the query's identity, which
    does not depend on the camera. The image's rank on its camera is that number plus its position
    among the images of its identity on that camera.
    """
    shape = len(query), len(cameras)
    wrong = ranks.rank - ranks.nth
    cell = ranks.query * shape[1] + np.searchsorted(cameras, _cameras_of(gallery)[ranks.image])
    n_good = _good_in_cells(ranks, query, gallery, cameras, rule)
    if rule == "plain":
        pairs = _ranks_in_cells(cell, wrong, n_good)
        ap = metrics.average_precision_trapezoid(pairs)
        rank1 = np.where(n_good > 0, metrics.accuracy_at(pairs, 1), np.nan)
        return ap.reshape(shape), rank1.reshape(shape)

    # compute_AP_multiCam.m:22-26: on the query's own camera, the nearest image is ignored.
    diagonal = np.arange(shape[0]) * shape[1] + np.searchsorted(cameras, _cameras_of(query))
    on_diagonal = cell == diagonal[ranks.query]
    is_nearest = ranks.rank == 1
    nearest_is_wrong = 1 - np.bincount(ranks.query[is_nearest], minlength=shape[0])
    wrong = wrong - on_diagonal * nearest_is_wrong[ranks.query]
    kept = ~(on_diagonal & is_nearest)
    n_good[diagonal] -= 1
    pairs = _ranks_in_cells(cell[kept], wrong[kept], n_good)
    ap = np.nan_to_num(metrics.average_precision_trapezoid(pairs), nan=0.0)
    rank1 = np.where(n_good > 0, metrics.accuracy_at(pairs, 1), -2)
    rank1[diagonal[n_good[diagonal] == 0]] = -1
    with_wrong = ranks.found + nearest_is_wrong < len(gallery)
    rank1[diagonal[(n_good[diagonal] < 0) & with_wrong]] = 0
    return ap.reshape(shape), rank1.reshape(shape)


def _good_in_cells(ranks: GoodRanks, query: Labels, gallery: Labels, cameras: Integers,
                   rule: str) -> Integers:
    """Return how many good images the gallery has for each query on each camera, query by query.

    The ranks have fewer if ranked lists are cut.
    """
    identity, row = np.unique(query.identity, return_inverse=True)
    images = gallery[np.isin(gallery.identity, identity)]
    cell = (np.searchsorted(identity, images.identity) * len(cameras)
            + np.searchsorted(cameras, _cameras_of(images)))
    n_good = np.bincount(cell, minlength=len(identity) * len(cameras)).reshape(
        -1, len(cameras))[row.reshape(-1)]
    if "label -1" in IGNORED[rule]:
        n_good[query.identity == JUNK] = 0
    missed = np.flatnonzero(ranks.found < n_good.sum(axis=1))
    if rule == "script" and missed.size:
        raise InputError("data", "lists with every good image, which the rule 'script' needs",
                         f"{missed.size:,} of {len(query):,} that lack some (first: {missed[0]})",
                         "give complete lists or the features, or use the rule 'plain'")
    return n_good.reshape(-1)


def _ranks_in_cells(cell: Integers, wrong: Integers, n_good: Integers) -> GoodRanks:
    """Return the ranks of each cell, a pair of query and camera, as if cells were queries.

    `cell` is that of each good image, and `wrong` the number of wrong images before it. A cell may
    hold more images than `n_good` expects; the script then stops before the last of them.
    """
    order = np.argsort(cell, kind="stable")
    cell, wrong = cell[order], wrong[order]
    count = np.bincount(cell, minlength=len(n_good))
    nth = np.arange(1, len(cell) + 1) - np.repeat(np.cumsum(count) - count, count)
    inside = nth <= n_good[cell]
    cell, rank = cell[inside], (wrong + nth)[inside]
    first_match = np.zeros_like(n_good)
    first_match[cell[::-1]] = rank[::-1]
    return GoodRanks(
        rank=rank, nearer=rank - 1, tied=np.ones_like(rank), image=np.full_like(rank, -1),
        found=np.bincount(cell, minlength=len(n_good)), n_good=n_good,
        n_junk=np.zeros_like(n_good), n_kept=np.ones_like(n_good), first_match=first_match)


def _means(scores: Doubles, counts: Any, row: Integers) -> tuple[Doubles, Integers]:
    """Return the mean of the scores under the mask `counts`, and their number, for each pair."""
    n = scores.shape[1]
    cell = (row[:, np.newaxis] * n + np.arange(n))[counts]
    # bincount adds in order of queries, as draw_confusion_matrix.m does.
    total = np.bincount(cell, weights=scores[counts], minlength=n * n)
    count = np.bincount(cell, minlength=n * n)
    with np.errstate(invalid="ignore"):
        return (total / count).reshape(n, n), count.reshape(n, n)


def _off_diagonal(matrix: Doubles, rule: str) -> float:
    n = len(matrix)
    if rule == "script":  # column by column, as MATLAB sums
        total, trace = np.cumsum(matrix.T.ravel())[-1], np.cumsum(np.diag(matrix))[-1]
        return float((total - trace) / (n * (n - 1)))
    pairs = matrix[~np.eye(n, dtype=bool)]
    return metrics.mean_in_order(pairs[~np.isnan(pairs)])
