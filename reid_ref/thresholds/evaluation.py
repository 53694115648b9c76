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
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, as_vector, each_warning_once
from reid_ref.conventions import Convention, find_conventions
from reid_ref.evaluation.how import How, Progress, options_by_name
from reid_ref.evaluation.ranked import Distances, Features, Ranked
from reid_ref.labels import Labels, QueryLists, check_distances, check_feature_shapes, check_labels
from reid_ref.ranking.counting import TooFarOff, wrong_products
from reid_ref.statistics.interval import check_level
from reid_ref.thresholds.search import search
from reid_ref.thresholds.values import Thresholds

#: False accept rates, if no others are given.
RATES = 1e-2, 1e-3, 1e-4


@options_by_name
def evaluate_thresholds(query_features: Any, gallery_features: Any, query: Labels,
                        gallery: Labels, *, far: Iterable[float] = RATES,
                        metric: str | None = None, normalize: bool | None = None,
                        convention: str | Convention = "matlab",
                        lists: QueryLists | None = None, confidence: float | None = None,
                        max_memory: int | str | None = None,
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
    check_labels(query, gallery)
    features = check_feature_shapes(query_features, gallery_features, query, gallery)
    return thresholds_of(Features(*features), query, gallery, how, far, _intervals(confidence))


@options_by_name
def evaluate_thresholds_distances(distances: Any, query: Labels, gallery: Labels, *,
                                  far: Iterable[float] = RATES,
                                  convention: str | Convention = "matlab",
                                  lists: QueryLists | None = None,
                                  confidence: float | None = None,
                                  max_memory: int | str | None = None,
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
    check_labels(query, gallery)
    matrix = check_distances(distances, query, gallery)
    return thresholds_of(Distances(matrix), query, gallery, how, far, _intervals(confidence))


def thresholds_of(ranked: Ranked, query: Labels, gallery: Labels, how: How,
                  far: Iterable[float] = RATES,
                  confidence: Mapping[str, Any] | None = None) -> Thresholds:
    """Find thresholds of an input under the convention of `how`.

    `confidence` has the options of `statistics.mean_intervals`.
    """
    query, gallery = check_labels(query, gallery)
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
                return search(ranked, query, gallery, how, rates, confidence, precision)
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
