"""Results by name, and whether they are of the same queries."""
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from reid_ref.arrays import ComparisonWarning, InputError, warn
from reid_ref.conventions import CONVENTIONS
from reid_ref.result import Result
from reid_ref.result.parts import Checksums, Fingerprints, QueryValues
from reid_ref.signature import FIRST, OPTIONAL

#: What is compared by default.
METRICS = ("mAP", "Rank-1")


def results_by_name(results: Any, names: Sequence[str] | None = None) -> dict[str, Result]:
    """Return at least two results by name: a sequence by these names, or numbered from 1."""
    if isinstance(results, Mapping):
        named = dict(results)
    else:
        every = [results] if isinstance(results, Result) else list(results)
        names = [str(k + 1) for k in range(len(every))] if names is None else list(names)
        if len(set(names)) < len(names) or len(names) != len(every):
            raise InputError("names", f"{len(every)} different names, one for each result",
                             ", ".join(map(repr, names)))
        named = dict(zip(names, every))
    for name, result in named.items():
        if not isinstance(name, str):
            raise InputError("results", "a text as the name of each", repr(name))
        if not isinstance(result, Result):
            raise InputError("results", f"a Result for {name!r}", type(result).__name__,
                             "pass what reid_ref.evaluate returns")
    if len(named) < 2:
        raise InputError("results", "at least 2 results", len(named))
    return named


def runs_by_name(systems: Mapping[str, Result | Sequence[Result]]) -> dict[str, list[Result]]:
    """Return the results of each of at least two systems: a single one, or several runs."""
    runs = {name: [value] if isinstance(value, Result) or not isinstance(value, Sequence)
            else list(value) for name, value in systems.items()}
    for name, results in runs.items():
        if not results:
            raise InputError("results", f"at least one result of {name}", "none")
    firsts = {name: results[0] for name, results in runs.items()}
    results_by_name(firsts | {f"{name}, run {k + 1}": result for name, results in runs.items()
                              for k, result in enumerate(results[1:], 1)})
    if len(runs) < 2:
        raise InputError("results", "at least 2 systems", len(runs))
    return runs


def are_equal(one: Result, other: Result) -> bool:
    """Return whether two results have the same values, query by query."""
    of, to = one.per_query, other.per_query
    return np.array_equal(of.first_match, to.first_match) and all(
        np.array_equal(values, to.values[name], equal_nan=True)
        for name, values in of.values.items())


def are_copies(runs: Sequence[Result]) -> bool:
    """Return whether there are several runs, and none differs from the first."""
    return len(runs) > 1 and all(are_equal(runs[0], run) for run in runs[1:])


def warn_copies(systems: Mapping[str, Mapping[str, Result]]) -> None:
    """Warn of training runs, by system and name, that have equal results."""
    if all(len(runs) == 1 for runs in systems.values()):
        return
    groups: list[dict[str, Result]] = []
    for system, runs in systems.items():
        for name, run in runs.items():
            label = f"{name} of {system}"
            same = next((group for group in groups
                         if are_equal(next(iter(group.values())), run)), None)
            if same is None:
                groups.append({label: run})
            else:
                same[label] = run
    for group in groups:
        if len(group) > 1:
            warn(f"{', '.join(group)}: equal results, query by query; copies are no further seeds:"
                 " was each run trained with its own?", ComparisonWarning)


Scores = dict[str, dict[str, QueryValues]]
#: The number of each run, by metric and system.
Runs = dict[str, dict[str, list[float]]]


def scores_of(systems: Mapping[str, Result], metrics: Sequence[str]) -> Scores:
    """Return the values per query whose mean a metric is, by metric and system."""
    if isinstance(metrics, str) or not len(metrics):
        raise InputError("metrics", "a list of metrics, such as ['mAP']", repr(metrics))
    return {metric: {name: system._query_values(metric) for name, system in systems.items()}
            for metric in metrics}


def scores_of_same_queries(systems: Mapping[str, Result], metrics: Sequence[str]) -> Scores:
    """As `scores_of`, of systems that have the same queries and gallery, which is checked."""
    check_same_convention(systems)
    check_same_labels(systems, _COLUMNS)
    scores, first = scores_of(systems, metrics), next(iter(systems))
    for metric, of_metric in scores.items():
        for name, scored in of_metric.items():
            for query in np.flatnonzero(scored.counted != of_metric[first].counted)[:1]:
                raise InputError(name, got=f"query {query} is in the mean of {metric} in only "
                                 f"one of {first} and {name}", remedy="both must be of the same "
                                 "labels")
    return scores


def scores_of_runs(systems: Mapping[str, Sequence[Result]],
                   metrics: Sequence[str]) -> tuple[Scores, Runs]:
    """As `scores_of_same_queries`, of the runs of each system: each query's mean over them, and
    the numbers of the runs.
    """
    named = {(name, k): result for name, runs in systems.items() for k, result in enumerate(runs)}
    texts = {key: key[0] if len(systems[key[0]]) == 1 else f"{key[0]}, run {key[1] + 1}"
             for key in named}
    scores = scores_of_same_queries({texts[key]: result for key, result in named.items()}, metrics)
    of_runs = {metric: {name: [of_metric[texts[name, k]] for k in range(len(runs))]
                        for name, runs in systems.items()} for metric, of_metric in scores.items()}
    return ({metric: {name: mean_of_runs(runs) for name, runs in of_metric.items()}
             for metric, of_metric in of_runs.items()},
            {metric: {name: [run.mean for run in runs] for name, runs in of_metric.items()}
             for metric, of_metric in of_runs.items()})


def mean_of_runs(runs: Sequence[QueryValues]) -> QueryValues:
    """Return each query's mean over several runs."""
    if len(runs) == 1:
        return runs[0]
    # One run after another, as everywhere; `mean` would add pairwise.
    values = np.cumsum([run.values for run in runs], axis=0)[-1] / len(runs)
    return QueryValues(math.fsum(run.mean for run in runs) / len(runs), values, runs[0].counted)


#: Fields of a signature that make the convention; one that is absent is that of matlab.
CONVENTION = (*FIRST, *OPTIONAL, "n_good", "lists", "protocol", "part", "shots", "trials", "seed")


def check_same_convention(systems: Mapping[str, Result]) -> None:
    """Refuse numbers that are made in different ways, if the files have a signature."""
    signed = {name: system.signature for name, system in systems.items() if system.signature}
    first = next(iter(signed), "")
    default = CONVENTIONS["matlab"]
    for name, signature in signed.items():
        for field in CONVENTION:
            absent = getattr(default, field, "none")
            expected, got = (each.get(field, absent) for each in (signed[first], signature))
            if signed[first].get(field) != signature.get(field):
                raise InputError(name, f"{field} {expected}, as in {first}", got, "evaluate both "
                                 "under one convention")


#: What queries are told apart by, in words.
_COLUMNS = {"identity": "identity {} in {}", "camera": "camera {} in {}",
            "n_good": "{} good images in {}"}


def check_same_labels(systems: Mapping[str, Result],
                      columns: Iterable[str] = ("identity", "camera")) -> None:
    """Refuse systems of other labels, under whatever conventions, by these columns of queries."""
    (first, baseline), *rest = systems.items()
    for name, system in rest:
        n, expected_n = len(system.per_query.identity), len(baseline.per_query.identity)
        if n != expected_n:
            raise InputError(name, f"{expected_n} queries, as in {first}", n,
                             "both must be of the same labels")
        for field in columns:
            words = _COLUMNS[field]
            expected, got = (each.per_query.texts(field) for each in (baseline, system))
            if expected.dtype.kind != got.dtype.kind:  # numbers here, text there
                expected, got = expected.astype(np.str_), got.astype(np.str_)
            if len(expected) != len(got) or np.array_equal(expected, got):
                continue
            bad = np.flatnonzero(expected != got)
            k = int(bad[0])
            raise InputError(name, got=f"query {k} has {words.format(expected[k], first)} and "
                             f"{words.format(got[k], name)}, and {bad.size} of {len(got)} queries "
                             "differ so", remedy="both must be of the same labels, in the same "
                             "order")
        for side, column in product(Fingerprints._fields, Checksums._fields):
            expected, got = (getattr(getattr(each.fingerprints, side), column)
                             for each in (baseline, system))
            if expected and got and expected != got:
                raise InputError(name, f"the {side} labels of {first} ({column} {expected})",
                                 f"others ({got})", "both must be of the same images, in the "
                                 "same order")
        if baseline.signature.get("cameras") != system.signature.get("cameras"):
            warn(f"{first} and {name}: only one of them has cameras, so they are taken to be of "
                 "the same images by their identities", ComparisonWarning)
