"""`reid-ref runs`: several training runs of one method: how much they differ, how sure they are.

These are two questions. The standard deviation over runs says what training again would change
on these queries; the interval, of each query's mean over runs, what other identities would.
"""
from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import each_warning_once
from reid_ref.arrays.value import Value
from reid_ref.console import options as common, systems as files_of
from reid_ref.console.answers import show_answer
from reid_ref.console.confidence import drawn, ends, sentence
from reid_ref.console.request import Request
from reid_ref.result import QueryValues, Result, unit_of_queries
from reid_ref.result.systems import (
    METRICS, mean_of_runs, results_by_name, scores_of_same_queries)
from reid_ref.statistics import Interval, UnitSums, intervals_of
from reid_ref.statistics.interval import LEVEL
from reid_ref.statistics.units import RESAMPLES, SEED, by_unit_and_query
from reid_ref.text import percent, row, signature_lines
from reid_ref.text.table import Cell, Table, as_csv as csv_text, lines


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
    return runs_of(results_by_name(results), metrics, unit, level=level, method=method,
                   resamples=resamples, seed=seed)


def runs_of(systems: Mapping[str, Result], metrics: Sequence[str], unit: Any,
            **options: Any) -> dict[str, Runs]:
    """As `runs`, of results or of files."""
    scores = scores_of_same_queries(systems, metrics)
    name, groups = unit_of_queries(next(iter(systems.values())).per_query.identity, unit)
    means = (mean_of_runs(list(of_metric.values())) for of_metric in scores.values())
    sums = [by_unit_and_query(mean.values, groups, mean.counted) for mean in means]
    return spread_of(scores, sums, name, **options)


def spread_of(scores: Mapping[str, Mapping[str, QueryValues]],
              sums: Sequence[tuple[UnitSums, UnitSums]], unit: str,
              **options: Any) -> dict[str, Runs]:
    """Return the mean and the spread of each metric, given the sums its interval is made of."""
    with each_warning_once():
        intervals = intervals_of(sums, **options)
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


class Words(NamedTuple):
    """What each file is called, and what the spread and the interval say."""

    noun: str
    files: str
    spread: str
    covers: str


RUNS = Words("run", "run", "how much the number changes when the method is trained again",
             "how much the mean may change with other identities, from each query's mean over the "
             "runs")


class Spread(NamedTuple):
    """The answer as JSON has it, by metric."""

    files: list[str]
    metrics: dict[str, Runs]
    signatures: dict[str, str]


def as_text(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Words) -> str:
    """Return one line per file, then their mean, SD and interval, in percent."""
    columns = list(answer.values())
    first = columns[0]
    level = f"{first.interval.level:g} % interval"
    text = lines(["percent", "queries", *answer], [
        *([name, f"{first.queries[name]:,}", *(percent(metric.values[name]) for metric in columns)]
          for name in first.values),
        ["mean", "", *(percent(metric.mean) for metric in columns)],
        [f"sd over {words.noun}s", "", *(percent(metric.sd) for metric in columns)],
        ["SE", "", *(percent(metric.interval.se) for metric in columns)],
        [level, "", *(ends(metric.interval) for metric in columns)]], indent=20)
    how = sentence({name: metric.interval for name, metric in answer.items()}, "these models")
    text += ["", *row("sd", words.spread), *row("interval", f"{words.covers}; {how}")]
    return "\n".join([*text, *signature_lines({name: signatures[name] for name in first.values})])


def as_csv(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Words) -> str:
    """Return one line per metric and file, in full precision, with the mean and its interval."""
    return csv_text(
        ["metric", words.noun, "value", "queries", "mean", "sd", "low", "high", "se", "units",
         "signature"],
        [[name, key, value, metric.queries[key], metric.mean, metric.sd, metric.interval.low,
          metric.interval.high, metric.interval.se, metric.interval.units, signatures[key]]
         for name, metric in answer.items() for key, value in metric.values.items()])


def as_table(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Words) -> Table:
    """Return one row per file for a paper, then mean and interval, in percent."""
    columns = list(answer.values())
    interval = columns[0].interval
    how = drawn(interval.unit, interval.method, interval.resamples, interval.seed)
    legend = (f"In percent. ±, the standard deviation: {words.spread}. Brackets, the "
              f"{interval.level:g} % interval: {words.covers}; {how}.")
    return Table([words.noun.capitalize(), *answer], [
        *([name, *(percent(metric.values[name]) for metric in columns)]
          for name in columns[0].values),
        ["mean", *(Cell(f"{percent(metric.mean)} ± {percent(metric.sd)}",
                        ends=ends(metric.interval, ", ")) for metric in columns)]],
        [legend], signatures)


@dataclass(frozen=True, kw_only=True)
class SpreadRequest(Request):
    """What the command line requests."""

    spread: Callable[..., dict[str, Runs]]
    words: Words


def add(command: argparse.ArgumentParser) -> None:
    """Print the number of each run, their mean and standard deviation, which say what training
    again would change, and the interval of each query's mean over runs, which says what other
    identities would.
    """
    add_files(command, runs_of, RUNS)


def add_files(command: argparse.ArgumentParser, spread: Callable[..., dict[str, Runs]],
              words: Words) -> None:
    """Take the files, and how they are evaluated and summed up by `spread`."""
    command.set_defaults(spread=spread, words=words)
    common.add_files(command, words=f"one for each {words.files}")
    files_of.add(command)


def run(request: SpreadRequest) -> None:
    metrics, options = files_of.check(request)
    systems = {name: results[0].result for name, results in files_of.read(request).items()}
    answer = request.spread(systems, metrics, **options)
    signatures = {name: str(system.signature) for name, system in systems.items()}
    show_answer(request.format, json=lambda: Spread(request.files, answer, signatures),
                table=lambda: as_text(answer, signatures, request.words),
                csv=lambda: as_csv(answer, signatures, request.words),
                paper=lambda: as_table(answer, signatures, request.words))
