"""`reid-ref splits`: several query sets, or trials, of one benchmark."""
from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers, check_choice, each_warning_once
from reid_ref.commands.runs.compute import Runs, over_results
from reid_ref.commands.runs.show import SPLITS, show_spread
from reid_ref.console import systems
from reid_ref.result import QueryValues, Result, query_values
from reid_ref.result.systems import (
    METRICS, check_same_convention, checked_metrics, results_by_name, values_of)
from reid_ref.statistics import intervals_of, unit_sums
from reid_ref.statistics.interval import LEVEL
from reid_ref.statistics.units import RESAMPLES, SEED


def splits(results: Mapping[str, Result] | Sequence[Result], *, metrics: Sequence[str] = METRICS,
           unit: str = "identity", level: float = LEVEL, method: str = "bootstrap-t",
           resamples: int = RESAMPLES, seed: int = SEED) -> dict[str, Runs]:
    """Sum up results of different query sets, or trials, of one benchmark.

    Each result counts alike in the mean, however many queries it has. Queries of one identity
    are one unit, also where they are in several results.

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
    named = results_by_name(results)
    check_same_convention(named)
    check_choice(unit, "unit", ("identity", "query"))
    scores = {metric: {key: query_values(result, metric) for key, result in named.items()}
              for metric in checked_metrics(metrics)}
    identity = np.concatenate([result.per_query.identity for result in named.values()])
    return splits_of_scores(scores, unit, identity, level=level, method=method,
                            resamples=resamples, seed=seed)


def splits_of_scores(by_metric: Mapping[str, Mapping[str, QueryValues]], unit: str,
                     identity: Integers, *, level: float = LEVEL, method: str = "bootstrap-t",
                     resamples: int = RESAMPLES, seed: int = SEED) -> dict[str, Runs]:
    """Sum up splits by per-query values, by metric and split; `identity`: of all their queries."""
    sums = []
    for scores in by_metric.values():
        values, weight, counted = _pooled(list(scores.values()))
        by_query = np.arange(len(values))
        groups = by_query if unit == "query" else identity
        sums.append((unit_sums(values, groups, counted, weight),
                     unit_sums(values, by_query, counted, weight)))
    with each_warning_once():
        bounds = intervals_of(sums, level=level, method=method, resamples=resamples, seed=seed)
    return {metric: over_results(metric, scores, replace(interval, unit=unit))
            for (metric, scores), interval in zip(by_metric.items(), bounds)}


def _pooled(scores: list[QueryValues]) -> tuple[Doubles, Doubles, npt.NDArray[np.bool_]]:
    """Return values, weights and counted flags of all queries; the weights of each set are one.

    A query weighs 1 over the queries of its set, but for a factor that makes the sum of all
    weights the number of queries. Values are shifted so that each set has the mean of all: the
    error of a query is that from its own set's mean.
    """
    mean = math.fsum(values.mean for values in scores) / len(scores)
    sizes = [int(np.count_nonzero(values.counted)) for values in scores]
    share = sum(sizes) / len(sizes)
    weight = np.concatenate([np.full(len(values.values), share / max(size, 1))
                             for values, size in zip(scores, sizes)])
    return (np.concatenate([values.values - values.mean + mean for values in scores]), weight,
            np.concatenate([values.counted for values in scores]))


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Print the number of each query set or trial, their mean and standard "
        "deviation, and the interval of the mean. Queries of one identity are one "
        "unit, also where they are in several files.")
    command.epilog = systems.FILES
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE", help="one for each split or trial")
    systems.add(command)


def run(args: argparse.Namespace) -> int:
    metrics, options = systems.check(args)
    if not isinstance(options["unit"], str):
        raise InputError("--unit", "identity or query, for splits have queries of their own",
                         f"the file {args.unit}")
    by_name = systems.read(args)
    check_same_convention(by_name)
    scores = {metric: {name: values_of(system, metric) for name, system in by_name.items()}
              for metric in checked_metrics(metrics)}
    identity = np.concatenate([system.per_query.identity for system in by_name.values()])
    answer = splits_of_scores(scores, identity=identity, **options)
    show_spread(args.format, args.files, answer, by_name, SPLITS)
    return 0
