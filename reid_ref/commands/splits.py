"""`reid-ref splits`: several query sets, or trials, of one benchmark."""
from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, Integers
from reid_ref.commands.runs import Runs, Words, add_files, run, spread_of  # noqa: F401
from reid_ref.result import QueryValues, Result
from reid_ref.result.means import pooled
from reid_ref.result.systems import (
    METRICS, check_same_convention, results_by_name, scores_of)
from reid_ref.statistics.interval import LEVEL
from reid_ref.statistics.units import RESAMPLES, SEED, by_unit_and_query

SPLITS = Words("split", "split or trial",
               "how much the number changes from one query set to another",
               "of the mean over the splits, each of which counts the same; queries of an "
               "identity are one unit, also where they are in several splits")


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
    return splits_of(results_by_name(results), metrics, unit, level=level, method=method,
                     resamples=resamples, seed=seed)


def splits_of(systems: Mapping[str, Result], metrics: Sequence[str], unit: Any,
              **options: Any) -> dict[str, Runs]:
    """As `splits`, of results or of files."""
    if not isinstance(unit, str) or unit not in ("identity", "query"):
        raise InputError("unit", "identity or query, for splits have queries of their own",
                         repr(unit) if isinstance(unit, str) else "groups")
    check_same_convention(systems)
    identity = np.concatenate([system.per_query.identity for system in systems.values()])
    return splits_of_scores(scores_of(systems, metrics), unit, identity, **options)


def splits_of_scores(by_metric: Mapping[str, Mapping[str, QueryValues]], unit: str,
                     identity: Integers, **options: Any) -> dict[str, Runs]:
    """Sum up splits by per-query values, by metric and split; `identity`: of all their queries."""
    sums = []
    for scores in by_metric.values():
        values, weight, counted = pooled(list(scores.values()))
        groups = np.arange(len(values)) if unit == "query" else identity
        sums.append(by_unit_and_query(values, groups, counted, weight))
    return spread_of(by_metric, sums, unit, **options)


def add(command: argparse.ArgumentParser) -> None:
    """Print the number of each query set or trial, their mean and standard deviation, and the
    interval of the mean. Queries of one identity are one unit, also where they are in several
    files.
    """
    add_files(command, splits_of, SPLITS)
