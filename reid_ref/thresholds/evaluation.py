"""TAR at FAR, EER, the crossing of the densities, and DIR at FAR of an open set.

Aim: the distance up to which two images are taken for one person, and how often that is right.

Conventions: a smaller distance is nearer, and pairs up to the threshold are accepted. Genuine
pairs are a query and its good images; impostor pairs a query and every other kept image. What is
ignored is neither: under "matlab" images of the same identity and camera, and label -1;
distractors (label 0) are impostors.

TAR at FAR
    The threshold is the largest distance of an impostor pair up to which the share of impostor
    pairs, those that tie included, is at most FAR; if there is none, just below the nearest.
    `find_thresholds_by_FAR` of seasonSH/Probabilistic-Face-Embeddings 23191e9,
    evaluation/metrics.py:31-62, takes the f-th nearest, f = round(N FAR), half to even, so its
    share may be larger; in float32 its FAR 0 accepts an impostor.
EER
    The threshold is the smallest at which FAR is at least FRR, the share of genuine pairs
    rejected. If the two are not equal there, the EER is where the line from the point before
    has FAR = FRR, as by `interp1d` and `brentq` on scikit-learn's `roc_curve`.
crossing
    The smallest threshold at which TAR - FAR is largest (Youden, Cancer 3, 1950): there the
    densities of genuine and impostor distances cross, without the bins of a histogram
    (open_model_zoo #2243).
fastreid-tpr-at-fpr
    What fast-reid prints as TPR@FPR; its classes are exchanged (`questions.fastreid_rates`).
DIR at FAR
    Queries whose identity the gallery lacks are impostors, their distance that of their nearest
    image; the threshold is as above. DIR is the share of queries with a good image whose nearest
    one is accepted and has at most rank k. Liao et al., arXiv 1408.0872; PFE, `DIR_FAR`.

Distances of features are exact: they follow from the products that `evaluate` ranks, in double.
"""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, Mask, as_vector, bytes_of, each_warning_once
from reid_ref.conventions import Convention, find_conventions
from reid_ref.evaluation.how import How, Progress, in_queries, options_by_name
from reid_ref.evaluation.ranked import Distances, Features, Ranked
from reid_ref.evaluation.result_file import Input
from reid_ref.labels import JUNK, Labels, QueryLists, check_labels
from reid_ref.ranking.counting import TooFarOff, wrong_products
from reid_ref.ranking.roles import Roles, find_roles
from reid_ref.signature import fields_of, signature
from reid_ref.statistics.interval import LEVEL, check_level
from reid_ref.statistics.units import RESAMPLES, SEED
from reid_ref.thresholds import intervals
from reid_ref.thresholds.impostors import Impostors
from reid_ref.thresholds.open_set import open_set_of
from reid_ref.thresholds.questions import (
    Genuine, at_rate, crossing, equal_error, fastreid_rates, likely_ranges, rate_where_equal)
from reid_ref.thresholds.values import Point, Thresholds

#: False accept rates, if no others are given.
RATES = 1e-2, 1e-3, 1e-4
#: Bytes of memory to work in for each pair that is measured in one pass.
_BYTES = 64


@options_by_name
def evaluate_thresholds(
        query_features: Any, gallery_features: Any, query: Labels, gallery: Labels, *,
        far: Iterable[float] = RATES, metric: str | None = None, normalize: bool | None = None,
        convention: str | Convention = "matlab", lists: QueryLists | None = None,
        confidence: float | None = None, max_memory: int | str | None = None,
        progress: Progress | None = None) -> Thresholds:
    """Find thresholds of the features' distance: TAR at FAR, EER, DIR at FAR.

    Parameters
    ----------
    query_features, gallery_features : array_like, shape (n_query, d) and (n_gallery, d)
        As `evaluate` takes them.
    query, gallery : Labels
    far : iterable of float
        Wanted false accept rates, in [0, 1].
    convention : str or Convention
        Its rule defines the good and the ignored images.
    confidence : float, optional
        The level in percent, such as 95: also intervals by identity.

    Other parameters: see `reid_ref.evaluate`.

    Returns
    -------
    Thresholds

    Raises
    ------
    InputError
        As `evaluate`; rates outside of [0, 1]; no genuine pair, or no impostor pair.

    Examples
    --------
    >>> import numpy as np
    >>> query, gallery = Labels([7], [1]), Labels([7, 8, 9], [2, 2, 3])
    >>> found = evaluate_thresholds([[1., 0.]], [[1., 0.], [0., 1.], [1., 1.]], query, gallery,
    ...                             far=[.5])
    >>> found.genuine, found.impostor, found.eer, found.crossing.threshold
    (1, 2, 0.0, 0.0)
    >>> np.round(found.threshold, 3)
    array([0.586])
    """
    how = How(tuple(find_conventions(convention)), metric, normalize, lists, max_memory, progress)
    return thresholds_of(Features(query_features, gallery_features), query, gallery, how, far,
                         _intervals(confidence))


@options_by_name
def evaluate_thresholds_distances(
        distances: Any, query: Labels, gallery: Labels, *, far: Iterable[float] = RATES,
        convention: str | Convention = "matlab", lists: QueryLists | None = None,
        confidence: float | None = None, max_memory: int | str | None = None,
        progress: Progress | None = None) -> Thresholds:
    """Find thresholds of a distance: as `evaluate_thresholds`, from a matrix.

    Parameters
    ----------
    distances : array_like, shape (n_query, n_gallery)
        As `evaluate_distances` takes them; NaN is farther than any number.
    query, gallery : Labels
    far, convention, confidence
        As in `evaluate_thresholds`.

    Other parameters: see `reid_ref.evaluate`.

    Returns
    -------
    Thresholds

    Raises
    ------
    InputError
        As `evaluate_distances` and `evaluate_thresholds`.

    Warns
    -----
    NaNWarning
        NaN distances.

    Examples
    --------
    Three impostor pairs; up to .3 one is accepted, and two of the three genuine pairs:

    >>> query, gallery = Labels([7, 8], [1, 1]), Labels([7, 8, 7], [2, 2, 3])
    >>> found = evaluate_thresholds_distances([[.1, .3, .6], [.5, .2, .9]], query, gallery,
    ...                                       far=[1 / 3, 0])
    >>> found.tar.tolist() == [2 / 3, 2 / 3], found.at[1 / 3].threshold, found.eer == 1 / 3
    (True, 0.3, True)
    """
    how = How(tuple(find_conventions(convention)), None, None, lists, max_memory, progress)
    return thresholds_of(Distances(distances), query, gallery, how, far, _intervals(confidence))


def thresholds_of(ranked: Input, query: Labels, gallery: Labels, how: How,
                  far: Iterable[float] = RATES,
                  confidence: Mapping[str, Any] | None = None) -> Thresholds:
    """Find thresholds of an input under the convention of `how`.

    `confidence` has the options of `statistics.mean_intervals`.
    """
    query, gallery = check_labels(query, gallery)
    ranked.check_sizes(query, gallery)
    rates = _checked_rates(far)
    how = ranked.among(how)
    (convention,) = how.conventions
    query, gallery = how.checked(query, gallery)
    loaded = np.flatnonzero(convention.loaded(query.identity))
    if len(loaded) < len(query):
        ranked = ranked.between("query", loaded, "gallery", np.arange(len(gallery)))
    how = replace(how, lists=how.lists_of(loaded))
    query = query[loaded]
    with each_warning_once():
        for precision in (np.float32, np.float64):
            try:
                return _search(ranked, query, gallery, how, rates, confidence, precision)
            except TooFarOff:
                how = replace(how, progress=None)
    raise wrong_products()


def _intervals(confidence: float | None) -> dict[str, float] | None:
    if confidence is None:
        return None
    check_level(confidence, "confidence")
    return {"level": float(confidence)}


def _checked_rates(far: Iterable[float]) -> list[float]:
    rates = as_vector(list(far) if np.iterable(far) else [far], "far")
    if (not len(rates) or rates.dtype.kind not in "iuf"
            or not ((rates >= 0) & (rates <= 1)).all() or len(set(rates)) < len(rates)):
        raise InputError("far", "different rates from 0 to 1", rates.tolist())
    return [float(rate) for rate in rates.tolist()]


def _search(ranked: Ranked, query: Labels, gallery: Labels, how: How, rates: Sequence[float],
            confidence: Mapping[str, Any] | None, precision: Any) -> Thresholds:
    """Find all thresholds, by products in this precision: every bin that they need is resolved.

    Raises
    ------
    TooFarOff
        The precision does not suffice.
    """
    convention = how.conventions[0]
    roles = find_roles(query, gallery, convention.not_ranked, how.lists)
    absent = _absent(query, gallery, roles)
    memory = bytes_of(how.max_memory)
    pairs = ranked.pairs(query, gallery, how)
    impostors = Impostors(pairs, roles, len(query), len(gallery), absent, precision,
                          memory // _BYTES, partial(likely_ranges, rates), memory // 2,
                          in_queries(how.progress, len(query)))
    genuine = Genuine.of(impostors.genuine)
    *found, equal, crossed, fastreid = _settled(impostors, genuine, rates)
    points: dict[Any, Point] = {
        key: _point(impostors, genuine, value)
        for key, value in zip([*rates, "equal", "crossing"], [*found, equal, crossed])}
    if confidence is not None:
        points = _with_intervals(points, query, gallery, roles, impostors, confidence)
    open_set = open_set_of(ranked, query, gallery, how, impostors, absent, rates, confidence)
    before = (int(impostors.below(equal, "left")[0]), int(genuine.below(equal, "left")))
    at_equal = points["equal"]
    fields = {**fields_of(convention), **ranked.provenance_of(how),
              "far": ",".join(f"{rate:g}" for rate in rates), **how.signed_lists()}
    made = signature(fields, query, gallery).changed(_interval_fields(confidence),
                                                     before="reid-ref")
    return Thresholds(
        len(impostors.genuine), impostors.number, {rate: points[rate] for rate in rates},
        rate_where_equal((at_equal.impostor, at_equal.genuine), before, impostors.number,
                         len(impostors.genuine)),
        at_equal, points["crossing"], fastreid, open_set, convention, made)


def _interval_fields(confidence: Mapping[str, Any] | None) -> dict[str, object]:
    """Return the signature's fields of intervals, as a result has them."""
    if confidence is None:
        return {}
    method = confidence.get("method", "bootstrap-t")
    drawn = {"n": confidence.get("resamples", RESAMPLES), "seed": confidence.get("seed", SEED)}
    return {"ci": f"identity-{method}", "level": f"{confidence.get('level', LEVEL):g}",
            **(drawn if method == "bootstrap-t" else {})}


def _absent(query: Labels, gallery: Labels, roles: Roles) -> Mask:
    """Return the queries whose identity the gallery lacks."""
    absent: Mask = ~np.isin(query.identity, gallery.identity) & (query.identity != JUNK)
    absent[roles.good_query] = False
    return absent & (roles.n_kept(len(query)) > 0)


def _settled(impostors: Impostors, genuine: Genuine, rates: Sequence[float]) -> list[Any]:
    """Return the thresholds at the rates, of the EER and of the crossing; fast-reid's numbers."""
    questions = [*(partial(at_rate, impostors, rate) for rate in rates),
                 *(partial(question, impostors, genuine)
                   for question in (equal_error, crossing, fastreid_rates))]
    while True:
        answers, needs = zip(*(question() for question in questions))
        needed = np.logical_or.reduce(needs)
        if not needed.any():
            return list(answers)
        impostors.resolve(needed)


def _point(impostors: Impostors, genuine: Genuine, threshold: float) -> Point:
    n_genuine, n_impostor = (int(genuine.below(threshold)), int(impostors.below(threshold)[0]))
    return Point(threshold=threshold, genuine=n_genuine, impostor=n_impostor,
                 tar=n_genuine / len(impostors.genuine), far=n_impostor / impostors.number)


def _with_intervals(points: Mapping[Any, Point], query: Labels, gallery: Labels, roles: Roles,
                    impostors: Impostors, options: Mapping[str, Any]) -> dict[Any, Point]:
    """Return the points with the intervals of TAR and FAR."""
    n, row = len(query), impostors.row
    every = np.bincount(row, minlength=n)
    shares = {key: (np.bincount(row[impostors.genuine <= point.threshold], minlength=n)
                    / np.maximum(every, 1), every) for key, point in points.items()}
    of_tar = intervals.of_shares(query, shares, **options)
    pairs = intervals.impostors_of(roles, row, impostors.image, n)
    accepted = impostors.accepted(np.array([point.threshold for point in points.values()]))
    of_far = {key: intervals.of_false_accepts(query, gallery, sides, pairs,
                                              options.get("level", LEVEL))
              for key, sides in zip(points, zip(*accepted))}
    return {key: replace(point, tar_interval=of_tar[key], far_interval=of_far[key])
            for key, point in points.items()}
