"""Several results of one method, their mean and its interval: training runs, or splits.

These are two questions. The standard deviation over results estimates the effect of training
again, or of another query set; the interval of the mean, that of other identities.
"""
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, Integers, Value, each_warning_once
from reid_ref.result import Result, unit_of_queries
from reid_ref.result.parts import QueryValues
from reid_ref.result.means import over_trials, pooled
from reid_ref.result.systems import (
    METRICS, check_same_convention, check_same_labels, mean_of_runs, results_by_name, scores_of,
    scores_of_same_queries)
from reid_ref.statistics import Interval, UnitSums, mean_intervals
from reid_ref.statistics.interval import LEVEL
from reid_ref.statistics.units import RESAMPLES, SEED, by_unit_and_query


@dataclass(frozen=True, eq=False)
class Runs(Value):
    """One metric over several results.

    Parameters
    ----------
    metric : str
    values : dict of str to float
        The number of each result, by its name.
    queries : dict of str to int
        Queries in the mean of each.
    mean, sd : float
        Mean and standard deviation over results.
    interval : Interval
        Of the mean: over identities, the results being given.
    """

    metric: str
    values: dict[str, float]
    queries: dict[str, int]
    mean: float
    sd: float
    interval: Interval


def runs(results: Mapping[str, Result] | Sequence[Result], *, metrics: Sequence[str] = METRICS,
         unit: Any = "identity", level: float = LEVEL, method: str = "bootstrap-t",
         resamples: int = RESAMPLES, seed: int = SEED) -> dict[str, Runs]:
    """Sum up runs of one method on the same queries and the same gallery.

    Parameters
    ----------
    results : dict of str to Result, or sequence of Result
        At least two; a sequence is numbered from 1.
    metrics, unit, level, method, resamples, seed
        As `Result.interval` takes them.

    Returns
    -------
    dict of str to Runs
        By metric.

    Raises
    ------
    InputError
        Fewer than two results, or of different conventions, queries or galleries.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query = reid_ref.Labels(range(30), [1] * 30)
    >>> gallery = reid_ref.Labels(range(30), [2] * 30)
    >>> distances = 1 - np.eye(30)
    >>> distances[:10, 20] = -1
    >>> results = [reid_ref.evaluate_distances(distances, query, gallery)]
    >>> distances[:16, 20] = -1
    >>> results.append(reid_ref.evaluate_distances(distances, query, gallery))
    >>> found = reid_ref.runs(results)["Rank-1"]
    >>> found.values["1"] == results[0].rank(1), round(found.mean, 4), round(found.sd, 4)
    (True, 0.5667, 0.1414)
    >>> round(found.interval.low, 2), round(found.interval.high, 2)
    (0.39, 0.73)
    """
    systems = results_by_name(results)
    scores = scores_of_same_queries(systems, metrics)
    name, groups = unit_of_queries(next(iter(systems.values())).per_query.identity, unit)
    means = (mean_of_runs(list(of_metric.values())) for of_metric in scores.values())
    sums = [by_unit_and_query(mean.values, groups, mean.counted) for mean in means]
    return spread_of(scores, sums, name, level=level, method=method, resamples=resamples,
                     seed=seed)


def mean_result(results: Sequence[Result]) -> Result:
    """Return the mean over runs of one method as one result: of its numbers, and of its curves.

    Raises
    ------
    InputError
        Runs of different conventions or labels.
    """
    named = {f"run {k}": result for k, result in enumerate(results, 1)}
    check_same_convention(named)
    check_same_labels(named)
    return over_trials(results, "trials", results[0].signature)


def splits(results: Mapping[str, Result] | Sequence[Result], *, metrics: Sequence[str] = METRICS,
           unit: str = "identity", level: float = LEVEL, method: str = "bootstrap-t",
           resamples: int = RESAMPLES, seed: int = SEED) -> dict[str, Runs]:
    """Sum up results of different query sets, or trials, of one benchmark.

    Each result counts alike in the mean, however many queries it has. Queries of one identity
    are one unit, also if they are in several results.

    Parameters
    ----------
    results : dict of str to Result, or sequence of Result
        At least two; a sequence is numbered from 1.
    unit : str
        "identity" or "query".
    metrics, level, method, resamples, seed
        As `Result.interval` takes them.

    Returns
    -------
    dict of str to Runs
        By metric.

    Raises
    ------
    InputError
        Fewer than two results, or of different conventions.

    Examples
    --------
    The same thirty identities in two trials, of which the second is harder:

    >>> import numpy as np, reid_ref
    >>> query = reid_ref.Labels(range(30), [1] * 30)
    >>> gallery = reid_ref.Labels(range(30), [2] * 30)
    >>> distances = 1 - np.eye(30)
    >>> distances[:10, 20] = -1
    >>> results = {"first": reid_ref.evaluate_distances(distances, query, gallery)}
    >>> distances[:16, 20] = -1
    >>> results["second"] = reid_ref.evaluate_distances(distances, query, gallery)
    >>> found = reid_ref.splits(results)["Rank-1"]
    >>> round(found.mean, 4), found.queries, found.interval.units, found.interval.queries
    (0.5667, {'first': 30, 'second': 30}, 30, 60)
    """
    systems = results_by_name(results)
    if not isinstance(unit, str) or unit not in ("identity", "query"):
        raise InputError("unit", "identity or query, for splits have queries of their own",
                         repr(unit) if isinstance(unit, str) else "groups")
    check_same_convention(systems)
    identity = np.concatenate([system.per_query.texts("identity") for system in systems.values()])
    return splits_of_scores(scores_of(systems, metrics), unit, identity, level=level,
                            method=method, resamples=resamples, seed=seed)


def splits_of_scores(by_metric: Mapping[str, Mapping[str, QueryValues]], unit: str,
                     identity: Integers, **options: Any) -> dict[str, Runs]:
    """Sum up splits by per-query values, by metric and split; `identity`: of all their queries."""
    sums = []
    for scores in by_metric.values():
        values, weight, counted = pooled(list(scores.values()))
        groups = np.arange(len(values)) if unit == "query" else identity
        sums.append(by_unit_and_query(values, groups, counted, weight))
    return spread_of(by_metric, sums, unit, **options)


def spread_of(scores: Mapping[str, Mapping[str, QueryValues]],
              sums: Sequence[tuple[UnitSums, UnitSums]], unit: str,
              **options: Any) -> dict[str, Runs]:
    """Return the mean and the spread of each metric, given the sums its interval is made of."""
    with each_warning_once():
        intervals = mean_intervals(sums, **options)
    answer = {}
    for (metric, of_metric), interval in zip(scores.items(), intervals):
        values = {name: scored.mean for name, scored in of_metric.items()}
        queries = {name: int(np.count_nonzero(scored.counted))
                   for name, scored in of_metric.items()}
        mean = math.fsum(values.values()) / len(values)
        sd = math.sqrt(math.fsum((value - mean)**2 for value in values.values())
                       / (len(values) - 1))
        answer[metric] = Runs(metric, values, queries, mean, sd,
                              replace(interval, value=mean, unit=unit))
    return answer
