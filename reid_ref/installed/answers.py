"""Groups of answers of `reid_ref.installed`: what of a problem has a digest.

Numbers that pass through a logarithm or an exponential of the machine's library (nDCG, analytic
intervals, expectations over galleries) may differ in the last bits; docs/proof.md lists them, and
here they are rounded.
"""
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from reid_ref import statistics
from reid_ref.arrays import Doubles, Integers
from reid_ref.conventions import CMC, CONVENTIONS
from reid_ref.evaluation.camera_pairs import RULES, camera_pairs, camera_pairs_features
from reid_ref.evaluation.functions import evaluate, evaluate_distances, evaluate_ranked_lists
from reid_ref.protocols import ProtocolResult, evaluate_protocol
from reid_ref.reranking.k_reciprocal import VARIANTS, evaluate_reranked
from reid_ref.result import Result
from reid_ref.installed.problems import DTYPES, Problem, whole_numbers
from reid_ref.thresholds.evaluation import evaluate_thresholds, evaluate_thresholds_distances

#: What each item of a group gives: plain numbers, in sequences and mappings.
Answers = Mapping[str, Any]
#: Matrices of whole numbers and of floats.
KINDS = ("spread", "tied"), ("spread", "tied", "special")
#: Digits of what passes through the machine's logarithm or exponential. In Student's t, scipy 1.11
#: and 1.17 differ by 1e-10 of a number, which can change the ninth digit.
DIGITS = 6
#: Queries of the statistics.
N_VALUES = 150
#: Measures that are computed from the ranks.
FURTHER = ("P@5", "R@5", "AP@10", "R-Prec", "MRR")
#: Protocols of labels with every column: clothes, views, tracks, trials.
PROTOCOLS = ("ccvid", "icfg-pedes-trapezoid", "market1501-fast-reid", "mars", "msvr310",
             "regdb-deen", "sysu-mm01-python", "veri-776-tracks", "veri-wild")
#: Every convention, without those of installed packages.
EVERY = list(CONVENTIONS.values())


def _numbers(result: Result) -> list[Any]:
    """Return the numbers of a result, but not its words."""
    queries = result.per_query
    return [result.mAP, result.mINP, result.cmc, result.counts.tied, queries.first_match,
            queries.n_good, queries.n_junk, [queries.values[name] for name in ("mAP", "mINP")]]


def _by_name(results: Iterable[Mapping[str, Result]]) -> Answers:
    """Return the numbers of each convention on several problems."""
    answers: dict[str, list[Any]] = {}
    for evaluated in results:
        for name, result in evaluated.items():
            answers.setdefault(name, []).append(_numbers(result))
    return answers


def of_distances(given: Problem, dtype: str) -> Answers:
    """Return what every convention gives for matrices of this dtype."""
    return _by_name(evaluate_distances(
        given.distances(dtype, kind), given.query, given.gallery, lists=given.lists,
        convention=EVERY) for kind in KINDS[np.dtype(dtype).kind == "f"])


def of_features(given: Problem, dtype: str) -> Answers:
    """Return what every convention gives for features of this dtype, by its own distance."""
    return _by_name(evaluate(
        *given.features(dtype), given.query, given.gallery, lists=given.lists,
        convention=EVERY, metric=metric, normalize=normalize)
        for metric, normalize in ((None, None), ("dot", False)))


def of_ranked_lists(given: Problem) -> Answers:
    """Return what every convention gives for ranked lists, complete and cut."""
    order = np.argsort(given.distances("float64", "spread"), axis=1, kind="stable")
    of_ranks = [convention for convention in EVERY if CMC[convention.cmc].of_rows is None]
    return _by_name(evaluate_ranked_lists(
        order[:, :length], given.query, given.gallery, lists=given.lists, convention=conventions)
        for length, conventions in ((order.shape[1], EVERY), (40, of_ranks)))


def of_measures(given: Problem) -> Answers:
    """Return measures that are computed from the ranks."""
    result = evaluate_distances(given.distances("float32", "spread"), given.query, given.gallery)
    return {**{name: result.of_query(name) for name in FURTHER},
            "nDCG@10": _rounded(result.of_query("nDCG@10"))}


def of_statistics(given: Problem) -> Answers:
    """Return intervals by the bootstrap, and a paired test of models and of methods."""
    unit, first, second = _values(given)
    answers = {f"interval of {name}": _ends(statistics.interval(values, unit, resamples=999))
               for name, values in (("AP", first), ("Rank-1", first > .4))}
    models = statistics.difference(first, second, unit, resamples=999)
    methods = statistics.between_methods(models, first[:3], second[:4])
    return {**answers, "models": models, "methods": _rounded([methods.low, methods.high])}


def of_analytic_intervals(given: Problem) -> Answers:
    """Return an interval without random numbers (needs scipy)."""
    unit, first, _ = _values(given)
    return {"AP": _rounded(_ends(statistics.interval(first, unit, method="analytic")))}


def _values(given: Problem) -> tuple[Integers, Doubles, Doubles]:
    """Return the units of queries, and the values of two systems."""
    unit, first, change = (whole_numbers(given.seed * 32 + 24 + k, (N_VALUES,), low, high)
                           for k, (low, high) in enumerate(((0, 60), (0, 900), (-40, 60))))
    return unit, first / 1000, (first + change).clip(0, 1000) / 1000


def _ends(interval: statistics.Interval) -> list[float]:
    return [interval.value, interval.low, interval.high, interval.se, interval.se_naive]


def of_thresholds(given: Problem) -> Answers:
    """Return thresholds of distances and of features."""
    labels, far = (given.query, given.gallery), (.5, .1, .01)
    found = {f"distances {dtype}": evaluate_thresholds_distances(
        given.distances(dtype, kind), *labels, far=far)
        for dtype, kind in (("float64", "spread"), ("float32", "tied"), ("uint8", "spread"))}
    found |= {f"features {name}": evaluate_thresholds(
        *given.features(dtype), *labels, metric=metric, normalize=normalize, far=far)
        for name, dtype, metric, normalize in (
            ("cosine", "float32", "cosine", True), ("euclidean", "float64", "euclidean", False),
            ("dot", "int16", "dot", False))}
    return {name: [value for field, value in vars(thresholds).items()
                   if field not in ("convention", "signature")]
            for name, thresholds in found.items()}


def of_camera_pairs(given: Problem) -> Answers:
    """Return AP and Rank-1 for each pair of cameras."""
    labels = given.query, given.gallery
    found = {f"{rule}, distances": camera_pairs(
        given.distances("float32", "tied"), *labels, rule=rule) for rule in RULES}
    found["plain, features"] = camera_pairs_features(*given.features("float32"), *labels)
    return {name: [value for field, value in vars(pairs).items() if field != "signature"]
            for name, pairs in found.items()}


def of_protocols(given: Problem) -> Answers:
    """Return what protocols give from features, part by part."""
    answers = {name: evaluate_protocol(
        name, *given.features("float32"), given.query, given.gallery) for name in PROTOCOLS}
    answers["vehicleid-draws"] = _of_one_set("vehicleid-draws", given)
    return {name: [_numbers(result) for result in parts.values()]
            for name, parts in answers.items()}


def of_expectations(given: Problem) -> Answers:
    """Return the mean over all galleries of one image per identity (needs scipy)."""
    return {"vehicleid": [_rounded([result.mAP, *result.cmc])
                          for result in _of_one_set("vehicleid", given).values()]}


def _of_one_set(name: str, given: Problem) -> ProtocolResult:
    features = given.features("float32")[1]
    return evaluate_protocol(name, features, features, given.gallery, given.gallery)


def of_reranking(given: Problem) -> Answers:
    """Return the numbers of re-ranked features, for each published code (needs scipy).

    Of whole numbers, whose products are exact: else near ties among neighbours depend on BLAS.
    """
    return {variant: _numbers(evaluate_reranked(
        *given.features("uint8"), given.query, given.gallery, variant=variant, normalize=False))
        for variant in VARIANTS}


def _rounded(values: Any) -> list[str]:
    return [f"{value:.{DIGITS}g}" for value in np.ravel(values).tolist()]


#: The groups in the order in which they are printed.
GROUPS: Mapping[str, Callable[[Problem], Answers]] = {
    **{f"distances {dtype}": partial(of_distances, dtype=dtype) for dtype in DTYPES},
    **{f"features {dtype}": partial(of_features, dtype=dtype) for dtype in DTYPES},
    "ranked lists": of_ranked_lists,
    "measures": of_measures,
    "intervals and tests": of_statistics,
    "thresholds": of_thresholds,
    "camera pairs": of_camera_pairs,
    "protocols": of_protocols,
    "analytic intervals": of_analytic_intervals,
    "expectations": of_expectations,
    "re-ranking": of_reranking,
}
#: Those that need more than numpy.
NEED_SCIPY = ("analytic intervals", "expectations", "re-ranking")
