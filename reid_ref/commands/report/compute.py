"""All that the HTML report shows of one result file, or of several."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reid_ref.arrays import InputError, Integers, each_warning_once
from reid_ref.commands.compare.compute import Comparisons, compare
from reid_ref.commands.doctor.compute import doctor
from reid_ref.commands.doctor.compute.labels import Finding
from reid_ref.commands.explain.compute import Explanation, explain
from reid_ref.conventions import CONVENTIONS, NOT_IN_ALL, Convention
from reid_ref.datasets import Recognised, recognise
from reid_ref.evaluation.camera_pairs import CameraPairs, camera_pairs_of
from reid_ref.drawing.densities import DistanceSample, distance_sample
from reid_ref.evaluation.engine import by_name, results_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.rank_lists import RankList, choose, rank_lists
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.result import Result, intervals_of, sums_of_units
from reid_ref.statistics import Interval

#: Numbers of the headline.
METRICS = ("mAP", "Rank-1", "Rank-5", "Rank-10", "Rank-20", "mINP")
#: Pairs of query and image beyond which conventions that need whole rows are left out.
MANY_PAIRS = 100_000_000
#: Queries, and values, of the sample of distances.
SAMPLE_QUERIES, SAMPLE_VALUES = 500, 10_000_000
#: What explains the difference that most people meet first.
OTHER = {"torchreid": "matlab"}


@dataclass(frozen=True)
class Options:
    """How a page is made; see `reid-ref report`."""

    convention: Convention
    metric: str = "euclidean"
    normalize: bool = True
    queries: int = 60
    top: int = 10
    seed: int = 12345
    max_memory: int | None = None


@dataclass(frozen=True)
class System:
    """One result file.

    Parameters
    ----------
    name : str
    files : tuple of str
    data : ResultFile
    result : Result
        Under the convention of the page.
    intervals : dict of str to Interval or None
        By metric of the headline; None where there is none.
    known : Recognised or None
    findings : list of Finding
    conventions : dict of str to Result
        Every convention that applies, by name.
    left_out : dict of str to str
        The others, and why.
    way : Explanation
        From the page's convention to another.
    pairs : CameraPairs or None
        None where all images are on one camera.
    sample : DistanceSample
    lists : dict of int to RankList
        By query.
    """

    name: str
    files: tuple[str, ...]
    data: ResultFile
    result: Result
    intervals: dict[str, Interval | None]
    known: Recognised | None
    findings: list[Finding]
    conventions: dict[str, Result]
    left_out: dict[str, str]
    way: Explanation
    pairs: CameraPairs | None
    sample: DistanceSample
    lists: dict[int, RankList]


@dataclass(frozen=True)
class Page:
    """What a page shows.

    Parameters
    ----------
    systems : tuple of System
        The baseline first.
    reasons : dict of str to list of int
        Why queries are shown.
    comparison : Comparisons or None
    options : Options
    """

    systems: tuple[System, ...]
    reasons: dict[str, list[int]]
    comparison: Comparisons | None
    options: Options


def gather(files: Mapping[str, tuple[Sequence[str], ResultFile]], options: Options,
           progress: Callable[[int], object] | None = None) -> Page:
    """Find everything that a page shows.

    Parameters
    ----------
    files : mapping of str to (files, data)
        By the name of the system, the baseline first.
    options : Options
    progress : callable, optional
        Called with the number of queries done, of each evaluation of each system.
    """
    with each_warning_once():
        return _gather(files, options, progress)


def _gather(files: Mapping[str, tuple[Sequence[str], ResultFile]], options: Options,
            progress: Callable[[int], object] | None) -> Page:
    evaluated = {name: _evaluate(data, options, progress) for name, (_, data) in files.items()}
    results = {name: found[options.convention.name] for name, (found, _) in evaluated.items()}
    comparison = compare(results, metrics=["mAP", "Rank-1"]) if len(results) > 1 else None
    first = next(iter(results.values()))
    changed = _changed(comparison)
    shown = [query for found in changed.values() for query in found]
    n = max(1, options.queries // len(results)) if options.queries else 0
    reasons = {**changed, **choose(first, n, options.seed, shown)}
    reasons = {reason: found for reason, found in reasons.items() if found and n}
    queries = sorted({query for found in reasons.values() for query in found},
                     key=lambda query: _by_ap(first, query))
    return Page(tuple(_system(name, tuple(map(str, files[name][0])), files[name][1],
                              results[name], *evaluated[name], queries, options)
                      for name in files), reasons, comparison, options)


def _by_ap(result: Result, query: int) -> tuple[float, int]:
    ap = float(result.per_query.ap[query])
    return (-1.0 if np.isnan(ap) else ap, query)


def _changed(comparison: Comparisons | None) -> dict[str, list[int]]:
    """Return the queries with the largest gains and losses of AP."""
    found: dict[str, list[int]] = {}
    for one in comparison.comparisons if comparison else ():
        if one.metric == "mAP":
            for reason, changes in (("gain", one.gains), ("loss", one.losses)):
                queries = found.setdefault(reason, [])
                queries += [change.query for change in changes if change.query not in queries]
    return found


def _evaluate(data: ResultFile, options: Options, progress: Callable[[int], object] | None,
              ) -> tuple[dict[str, Result], dict[str, str]]:
    """Return the result under every convention that applies, and why others do not."""
    many = len(data.query) * len(data.gallery) > MANY_PAIRS
    left_out = dict(NOT_IN_ALL)
    asked = {options.convention.name: options.convention}
    for name, convention in CONVENTIONS.items():
        if name in NOT_IN_ALL:
            continue
        if many and convention.needs_rows:
            left_out[name] = ("needs whole rows of distances, of which there are many; "
                              "`reid-ref evaluate --convention NAME` has it")
        else:
            asked.setdefault(name, convention)
    how = How(tuple(asked.values()), options.metric, options.normalize,
              max_memory=options.max_memory, progress=progress)
    return by_name(results_of(data.input, data.query, data.gallery, how)), left_out


def _system(name: str, files: tuple[str, ...], data: ResultFile, result: Result,
            conventions: dict[str, Result], left_out: dict[str, str], queries: list[int],
            options: Options) -> System:
    how = How((options.convention,), options.metric, options.normalize,
              max_memory=options.max_memory)
    intervals = _intervals(result, [metric for metric in METRICS if _reaches(result, metric)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the evaluation has warned; the page has the findings
        lists = rank_lists(data, queries, how, options.top)
        return System(
            name, files, data, result, intervals,
            recognise(data.query, data.gallery), doctor(data, seed=options.seed), conventions,
            left_out, explain(data, options.convention,
                              OTHER.get(options.convention.name, "torchreid"),
                              metric=how.metric, normalize=how.normalize,
                              max_memory=how.max_memory),
            _pairs(data, how), _sample(data, how, options.seed), dict(zip(queries, lists)))


def _reaches(result: Result, metric: str) -> bool:
    return not metric.startswith("Rank-") or int(metric[5:]) <= len(result.cmc)


def _intervals(result: Result, metrics: Sequence[str]) -> dict[str, Interval | None]:
    sums = {}
    for metric in metrics:
        try:
            sums[metric] = sums_of_units(result, metric)
        except InputError:
            pass     # one identity alone, a mean that is NaN, a curve of identities
    found = dict(zip(sums, intervals_of(sums.values())))
    return {metric: found.get(metric) for metric in metrics}


def _pairs(data: ResultFile, how: How) -> CameraPairs | None:
    if len(np.union1d(data.query.camera, data.gallery.camera)) < 2:
        return None
    return camera_pairs_of(data.input, data.query, data.gallery, "plain", how)


def _sample(data: ResultFile, how: How, seed: int) -> DistanceSample:
    """Return exact distances of a sample of queries, drawn where there are many."""
    n = max(1, min(SAMPLE_QUERIES, SAMPLE_VALUES // len(data.gallery), len(data.query)))
    queries: Integers = np.sort(np.random.RandomState(seed).permutation(len(data.query))[:n])
    rows = (row[np.newaxis] for row in data.input.exact_rows(queries, how))
    return distance_sample(rows, data.query[queries], data.gallery, seed)
