"""Several training runs of one method: how much runs differ, and how sure their mean is.

These are two questions. The standard deviation over runs says what training again would change
on these queries; the interval, of each query's mean over runs, what other identities would.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, each_warning_once
from reid_ref.arrays.value import Value
from reid_ref.result import QueryValues, Result, query_values, unit_of_queries
from reid_ref.result.systems import METRICS, check_same_queries, checked_metrics, results_by_name
from reid_ref.statistics import Interval, intervals_of, unit_sums
from reid_ref.statistics.interval import LEVEL
from reid_ref.statistics.units import RESAMPLES, SEED


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
    named = results_by_name(results)
    check_same_queries(named)
    scores = {metric: {key: query_values(result, metric) for key, result in named.items()}
              for metric in checked_metrics(metrics)}
    identity = next(iter(named.values())).per_query.identity
    return runs_of_scores(scores, *unit_of_queries(identity, unit), level=level, method=method,
                          resamples=resamples, seed=seed)


def runs_of_scores(by_metric: Mapping[str, Mapping[str, QueryValues]], unit: str,
                   groups: npt.NDArray[Any], *, level: float = LEVEL,
                   method: str = "bootstrap-t", resamples: int = RESAMPLES,
                   seed: int = SEED) -> dict[str, Runs]:
    """Sum up runs by per-query values, by metric and run; `groups`: the unit of each query."""
    sums = []
    for metric, scores in by_metric.items():
        counted = next(iter(scores.values())).counted
        for key, values in scores.items():
            if not np.array_equal(values.counted, counted):
                raise InputError(key, got=f"other queries are in the mean of {metric} than in "
                                 f"{next(iter(scores))}", remedy="both must be of the same labels")
        # One run after another, as everywhere; `mean` would add pairwise.
        mean = np.cumsum([values.values for values in scores.values()], axis=0)[-1] / len(scores)
        sums.append((unit_sums(mean, groups, counted),
                     unit_sums(mean, np.arange(len(mean)), counted)))
    with each_warning_once():
        bounds = intervals_of(sums, level=level, method=method, resamples=resamples, seed=seed)
    return {metric: over_results(metric, scores, replace(interval, unit=unit))
            for (metric, scores), interval in zip(by_metric.items(), bounds)}


def over_results(metric: str, scores: Mapping[str, QueryValues], bounds: Interval) -> Runs:
    """Return the mean and the standard deviation of some numbers with their interval."""
    values = {key: scored.mean for key, scored in scores.items()}
    queries = {key: int(np.count_nonzero(scored.counted)) for key, scored in scores.items()}
    mean = math.fsum(values.values()) / len(values)
    sd = math.sqrt(math.fsum((value - mean)**2 for value in values.values()) / (len(values) - 1))
    return Runs(metric, values, queries, mean, sd, replace(bounds, value=mean))
