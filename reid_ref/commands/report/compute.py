"""All that the HTML report shows of one result, or of several."""
from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reid_ref.arrays import Integers, each_warning_once, warn
from reid_ref.commands.compare.compute import Comparisons, compare
from reid_ref.commands.doctor.compute import doctor
from reid_ref.commands.doctor.compute.labels import Finding
from reid_ref.conventions import CONVENTIONS, NOT_IN_ALL
from reid_ref.datasets import Recognised, recognise
from reid_ref.drawing.results import LAST_RANK, DistanceSample, distance_sample
from reid_ref.evaluation.camera_pairs import IGNORED, CameraPairs, pairs_of_ranks
from reid_ref.evaluation.engine import by_name, results_of
from reid_ref.evaluation.groups import (
    RankBand, intervals_by_metric, rank_band, ranks_of_band)
from reid_ref.evaluation.how import How, Progress
from reid_ref.evaluation.rank_lists import RankList, choose, rank_lists
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.result import Result
from reid_ref.statistics import Interval

#: Numbers of the headline.
METRICS = ("mAP", "Rank-1", "Rank-5", "Rank-10", "Rank-20", "mINP")
#: Queries, and values, of the sample of distances.
SAMPLE_QUERIES, SAMPLE_VALUES = 200, 4_000_000
#: What pairs of cameras are computed from: the ranks of all images but label -1.
_OF_PAIRS = CONVENTIONS["matlab"].replace(ignored=IGNORED["plain"])
#: Said of a saved result, on stderr and on the page.
NO_DISTANCES = (
    "a saved result, or a part of a protocol, has no distances, so rank lists, pairs of cameras, "
    "distances, other conventions and checks of the input are left out; name the result file "
    "alone to have them")


@dataclass(frozen=True)
class Options:
    """How a page is made; see `reid-ref report`. `how` has the convention of the page."""

    how: How
    queries: int
    top: int
    seed: int


@dataclass(frozen=True)
class FromDistances:
    """What a page shows of a result file, and not of a saved result.

    Parameters
    ----------
    data : ResultFile
    benchmark : Recognised or None
    findings : list of Finding
    conventions : dict of str to Result
        Every convention that applies, by name.
    left_out : dict of str to str
        The other conventions, and why.
    pairs : CameraPairs or None
        None where all images are on one camera.
    sample : DistanceSample
    lists : dict of int to RankList
        By query.
    """

    data: ResultFile
    benchmark: Recognised | None
    findings: list[Finding]
    conventions: dict[str, Result]
    left_out: dict[str, str]
    pairs: CameraPairs | None
    sample: DistanceSample
    lists: dict[int, RankList]


@dataclass(frozen=True)
class Reported:
    """One result.

    Parameters
    ----------
    name : str
    files : tuple of str
    result : Result
        Under the convention of the page.
    intervals : dict of str to Interval or None
        By metric of the headline; None where it has no interval.
    more : FromDistances or None
        None of a saved result.
    """

    name: str
    files: tuple[str, ...]
    result: Result
    intervals: dict[str, Interval | None]
    more: FromDistances | None


@dataclass(frozen=True)
class Page:
    """What a page shows.

    Parameters
    ----------
    systems : tuple of Reported
        The baseline first.
    reasons : dict of str to list of int
        Why queries are shown.
    queries : list of int
        Those with rank lists, the lowest AP first.
    comparison : Comparisons or None
    bands : tuple of RankBand or None
        Around the CMC curve of each system.
    options : Options
    """

    systems: tuple[Reported, ...]
    reasons: dict[str, list[int]]
    queries: list[int]
    comparison: Comparisons | None
    bands: tuple[RankBand | None, ...]
    options: Options


def gather(files: Mapping[str, tuple[Sequence[str], ResultFile | Result]], options: Options,
           progress: Progress | None = None) -> Page:
    """Find everything that a page shows.

    Parameters
    ----------
    files : mapping of str to (files, what they hold)
        By the name of the system, the baseline first.
    options : Options
    progress : callable, optional
        Called with the number of queries done, of each evaluation of each system.
    """
    with each_warning_once():
        convention, = options.how.conventions
        evaluated = {name: _evaluate(data, options.how, progress) if isinstance(data, ResultFile)
                     else {convention.name: data} for name, (_, data) in files.items()}
        results = {name: by_convention[convention.name]
                   for name, by_convention in evaluated.items()}
        comparison = compare(results, metrics=["mAP", "Rank-1"]) if len(results) > 1 else None
        first = next(iter(results.values()))
        has_lists = any(isinstance(data, ResultFile) for _, data in files.values())
        n = max(1, options.queries // len(results)) if options.queries and has_lists else 0
        reasons = _reasons(first, comparison, n, options.seed) if n else {}
        ap = np.nan_to_num(first.per_query.ap, nan=-1.0)
        queries = sorted({query for chosen in reasons.values() for query in chosen},
                         key=lambda query: (ap[query], query))
        intervals = intervals_by_metric(results, {
            name: [*METRICS, *ranks_of_band(result, LAST_RANK).values()]
            for name, result in results.items()})
        systems = []
        for name, (paths, data) in files.items():
            more = None
            if isinstance(data, ResultFile):
                more = _from_distances(data, evaluated[name], queries, options)
            else:
                warn(f"{name}: {NO_DISTANCES}")
            systems.append(Reported(name, tuple(paths), results[name],
                                    _of_headline(results[name], intervals[name]), more))
        bands = tuple(rank_band(result, LAST_RANK, intervals[name])
                      for name, result in results.items())
    return Page(tuple(systems), reasons, queries, comparison, bands, options)


def _evaluate(data: ResultFile, how: How, progress: Progress | None) -> dict[str, Result]:
    """Return the result under the page's convention, and under every other that applies."""
    conventions = dict.fromkeys((*how.conventions, *(
        convention for name, convention in CONVENTIONS.items() if name not in NOT_IN_ALL)))
    how = replace(how, conventions=(*conventions, _OF_PAIRS), progress=progress)
    return by_name(results_of(data.input, data.query, data.gallery, how))


def _reasons(first: Result, comparison: Comparisons | None, n: int,
             seed: int) -> dict[str, list[int]]:
    """Return the queries to show by reason: the largest gains and losses of AP before others."""
    pairs = [pair for pair in (comparison.comparisons if comparison else ())
             if pair.metric == "mAP"]
    changed = {reason: list(dict.fromkeys(change.query for pair in pairs
                                          for change in getattr(pair, changes)))
               for reason, changes in (("gain", "gains"), ("loss", "losses"))}
    reasons = {**changed, **choose(first, n, seed, [*changed["gain"], *changed["loss"]])}
    return {reason: queries for reason, queries in reasons.items() if queries}


def _from_distances(data: ResultFile, conventions: dict[str, Result], queries: list[int],
                    options: Options) -> FromDistances:
    how = options.how
    left_out = {name: why for name, why in NOT_IN_ALL.items() if name not in conventions}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the evaluation has warned; the page has the findings
        cameras = np.union1d(data.query.camera, data.gallery.camera)
        pairs = conventions.pop(_OF_PAIRS.name)
        provenance = {key: str(value) for key, value in pairs.signature.items()
                      if key in ("distances", "metric", "normalize", "features")}
        return FromDistances(
            data, recognise(data.query, data.gallery), doctor(data, seed=options.seed),
            conventions, left_out,
            pairs_of_ranks(pairs.ranks, data.query, data.gallery, cameras, "plain", provenance)
            if len(cameras) > 1 else None,
            _sample(data, how, options.seed),
            dict(zip(queries, rank_lists(data, queries, how, options.top))))


def _of_headline(result: Result,
                 intervals: Mapping[str, Interval]) -> dict[str, Interval | None]:
    return {metric: intervals.get(metric) for metric in METRICS
            if not metric.startswith("Rank-") or int(metric[5:]) <= len(result.cmc)}


def _sample(data: ResultFile, how: How, seed: int) -> DistanceSample:
    """Return exact distances of a sample of queries, drawn where there are many."""
    n = max(1, min(SAMPLE_QUERIES, SAMPLE_VALUES // len(data.gallery), len(data.query)))
    queries: Integers = np.sort(np.random.RandomState(seed).permutation(len(data.query))[:n])
    rows = (row[np.newaxis] for row in data.input.exact_rows(queries, how))
    return distance_sample(rows, data.query[queries], data.gallery, seed)
