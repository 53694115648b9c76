"""All that the HTML report shows of one result, or of several."""
import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from reid_ref.analysis.compare import compare
from reid_ref.analysis.compare.answer import Comparisons
from reid_ref.analysis.doctor import doctor
from reid_ref.analysis.doctor.finding import Finding
from reid_ref.arrays import (
    Doubles, InputError, Integers, UnreadWarning, each_warning_once, ignored, warn, warnings_to)
from reid_ref.conventions import CONVENTIONS, NOT_IN_ALL, lacking_cameras
from reid_ref.datasets import Recognised, recognise
from reid_ref.drawing.results import LAST_RANK, DistanceSample, distance_sample
from reid_ref.evaluation import causes
from reid_ref.evaluation.camera_pairs import IGNORED, CameraPairs, pairs_of_ranks
from reid_ref.evaluation.engine import by_name, results_of
from reid_ref.evaluation.groups import RankBand, intervals_by_metric, rank_band, ranks_of_band
from reid_ref.evaluation.how import How, in_queries
from reid_ref.evaluation.rank_lists import RankList, choose, rank_list, rows_with_roles
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import count_distractors
from reid_ref.result import Result, headline
from reid_ref.result.runs import runs as over_runs
from reid_ref.result.systems import METRICS
from reid_ref.statistics import Interval, Spread, spread

#: Queries, and values, of the sample of distances.
SAMPLE_QUERIES, SAMPLE_VALUES = 200, 4_000_000
#: What pairs of cameras are computed from: the ranks of all images but label -1.
_OF_PAIRS = CONVENTIONS["matlab"].replace(ignored=IGNORED["plain"])
#: The note on a saved result, on stderr and on the page.
NO_DISTANCES = (
    "a saved result, or a part of a protocol, has no distances, so rank lists, pairs of cameras, "
    "distances, other conventions and checks of the input are left out; name the result file "
    "alone to have them")


class Options(NamedTuple):
    """How a page is made; see `reid-ref report`. `how` has the convention of the page.

    `measures`: those of the headline, if they are named.
    """

    how: How
    queries: int
    top: int
    seed: int
    measures: Sequence[str] = ()


class Causes(NamedTuple):
    """Why queries lose AP.

    Parameters
    ----------
    sampled : int
        Queries drawn at random, or all.
    queries : dict of str to int
        How many of these have each cause.
    returned : dict of str to float
        By kind of wrong image, the mean AP that returns without it, over those with a good image.
    shown : dict of int to Loss
        Of the queries with rank lists.
    """

    sampled: int
    queries: dict[str, int]
    returned: dict[str, float]
    shown: dict[int, causes.Loss]


class FromDistances(NamedTuple):
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
        None if all images are on one camera, or cameras are unknown.
    sample : DistanceSample
    lists : dict of int to RankList
        By query.
    causes : Causes
    """

    data: ResultFile
    benchmark: Recognised | None
    findings: list[Finding]
    conventions: dict[str, Result]
    left_out: dict[str, str]
    pairs: CameraPairs | None
    sample: DistanceSample
    lists: dict[int, RankList]
    causes: Causes


class Reported(NamedTuple):
    """One result.

    Parameters
    ----------
    name : str
    files : tuple of str
    result : Result
        Under the convention of the page; of several seeds that of the first.
    intervals : dict of str to Interval or None
        By metric of the headline; None if it has no interval. Of several seeds that of each
        query's mean.
    spreads : dict of str to Spread
        The same metrics over the seeds.
    more : FromDistances or None
        None of a saved result.
    """

    name: str
    files: tuple[str, ...]
    result: Result
    intervals: dict[str, Interval | None]
    spreads: dict[str, Spread]
    more: FromDistances | None


class Page(NamedTuple):
    """What a page shows.

    Parameters
    ----------
    systems : tuple of Reported
        The baseline first.
    reasons : dict of str to list of int
        Why queries are shown.
    queries : list of int
        Those with rank lists: gains and losses in turn, then the lowest AP first.
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
           seeds: Mapping[str, Sequence[Result]] = MappingProxyType({})) -> Page:
    """Find everything that a page shows.

    Parameters
    ----------
    files : mapping of str to (files, what they hold)
        By the name of the system, the baseline first.
    options : Options
        `how.progress` is called with the number of queries done, each of which counts twice: when
        it is evaluated, and with the sample of rows.
    seeds : mapping of str to sequence of Result, optional
        Results of further training runs by the name of their system; numbers and tests are of all
        runs, all else of the first.
    """
    with each_warning_once():
        convention, = options.how.conventions
        evaluated = {name: _evaluate(data, options.how) if isinstance(data, ResultFile)
                     else {convention.name: data} for name, (_, data) in files.items()}
        results = {name: by_convention[convention.name]
                   for name, by_convention in evaluated.items()}
        # Whatever is shown, queries are chosen by their AP.
        compared = list(dict.fromkeys([*(options.measures or METRICS), "mAP"]))
        runs = {name: [result, *seeds.get(name, ())] for name, result in results.items()}
        comparison = compare(runs, metrics=compared) if len(results) > 1 else None
        first = next(iter(results.values()))
        has_lists = any(isinstance(data, ResultFile) for _, data in files.values())
        n = max(1, options.queries // len(results)) if options.queries and has_lists else 0
        reasons = _reasons(first, comparison, n, options.seed) if n else {}
        ap = np.nan_to_num(first.of_query("mAP"), nan=-1.0)
        in_turn = zip_longest(reasons.get("gain", ()), reasons.get("loss", ()))
        changed = [query for pair in in_turn for query in pair if query is not None]
        queries = list(dict.fromkeys([*changed, *sorted(
            {query for chosen in reasons.values() for query in chosen},
            key=lambda query: (ap[query], query))]))
        headlines = {name: {metric: result.value(metric) for metric in options.measures}
                     or headline(result) for name, result in results.items()}
        intervals = intervals_by_metric(results, {
            name: [*headlines[name], *ranks_of_band(result, LAST_RANK).values()]
            for name, result in results.items()})
        systems = []
        for name, (paths, data) in files.items():
            more = None
            if isinstance(data, ResultFile):
                more = _from_distances(data, evaluated[name], queries, options)
            else:
                warn(f"{name}: {NO_DISTANCES}", UnreadWarning)
            of_headline = {metric: intervals[name].get(metric) for metric in headlines[name]}
            spreads = {metric: spread([run.value(metric) for run in runs[name]])
                       for metric in of_headline}
            if len(runs[name]) > 1:
                of_headline = _intervals_of_runs(runs[name], of_headline)
            systems.append(Reported(name, tuple(paths), results[name], of_headline, spreads, more))
        bands = tuple(rank_band(result, LAST_RANK, intervals[name])
                      for name, result in results.items())
    return Page(tuple(systems), reasons, queries, comparison, bands, options)


def _intervals_of_runs(runs: Sequence[Result],
                       metrics: Iterable[str]) -> dict[str, Interval | None]:
    """Return the interval of each query's mean over several seeds; None where there is none."""
    intervals = dict[str, Interval | None].fromkeys(metrics)
    for metric in intervals:
        with contextlib.suppress(InputError):
            intervals[metric] = over_runs(runs, metrics=[metric])[metric].interval
    return intervals


def _evaluate(data: ResultFile, how: How) -> dict[str, Result]:
    """Return the result under the page's convention, and under every other that applies."""
    lacking = lacking_cameras(CONVENTIONS.values(), data.query)
    conventions = dict.fromkeys((*how.conventions, *(
        convention for name, convention in CONVENTIONS.items()
        if name not in {*NOT_IN_ALL, *lacking})))
    how = replace(how, conventions=(*conventions, _OF_PAIRS))
    data.input.without_candidates("a page, which has pairs of cameras and every convention")
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
    reasons = {**lacking_cameras(CONVENTIONS.values(), data.query), **NOT_IN_ALL}
    left_out = {name: why for name, why in reasons.items() if name not in conventions}
    with warnings_to(ignored):  # the evaluation has warned; the page has the findings
        cameras = np.unique(np.concatenate([
            side.camera for side in (data.query, data.gallery) if side.camera is not None]
            or [np.zeros(0, np.int64)]))
        pairs = conventions.pop(_OF_PAIRS.name)
        provenance = {key: str(value) for key, value in pairs.signature.items()
                      if key in ("distances", "metric", "normalize", "features")}
        return FromDistances(
            data, recognise(data.query, data.gallery), doctor(data, seed=options.seed),
            conventions, left_out,
            pairs_of_ranks(pairs.ranks, data.query, data.gallery, cameras, "plain", provenance)
            if len(cameras) > 1 else None, *_from_rows(data, queries, options))


def _from_rows(data: ResultFile, shown: list[int],
               options: Options) -> tuple[DistanceSample, dict[int, RankList], Causes]:
    """Return what comes of exact distances: of the queries shown, and of a random sample."""
    n = max(1, min(SAMPLE_QUERIES, SAMPLE_VALUES // len(data.gallery), len(data.query)))
    sampled: Integers = np.sort(np.random.RandomState(options.seed).permutation(
        len(data.query))[:n])
    queries, how = np.union1d(sampled, shown).astype(np.int64), replace(
        options.how, progress=None)
    report = in_queries(options.how.progress, len(data.query))
    convention, = how.conventions
    distractors = count_distractors(data.query, data.gallery) > 0
    camera = [None] * len(data.query) if data.query.camera is None else data.query.camera.tolist()
    lists: dict[int, RankList] = {}
    kinds: dict[int, Integers] = {}

    def rows() -> Iterator[Doubles]:
        for query, (row, good, kept) in zip(queries.tolist(), rows_with_roles(data, queries, how)):
            report(1 / len(queries))
            kinds[query] = causes.kinds_of_list(
                row, good, kept, camera[query], data.gallery, distractors)
            if query in shown:
                lists[query] = rank_list(query, row, good, kept, data, convention, options.top)
            if query in sampled:
                yield row[np.newaxis]

    sample = replace(distance_sample(rows(), data.query[sampled], data.gallery, options.seed),
                     squared=data.query_features is not None and how.distance()[0] == "euclidean")
    names = causes.names_of(data.gallery)
    losses = dict(zip(kinds, causes.losses(list(kinds.values()), lambda ranks: (
        convention.average_precision(convention.cut_off(ranks))), names.kinds)))
    of_shown = {query: losses[query] for query in shown}
    return (sample, {query: lists[query] for query in shown},
            _causes([losses[query] for query in sampled.tolist()], of_shown, names))


def _causes(sample: list[causes.Loss], shown: dict[int, causes.Loss],
            names: causes.Names) -> Causes:
    """Return how often each cause is in a sample, and what each kind costs there."""
    queries = {cause: sum(loss.cause == cause for loss in sample) for cause in names.causes}
    matched = [loss.returned for loss in sample if loss.returned]
    returned = {kind: sum(loss[kind] for loss in matched) / max(1, len(matched))
                for kind in names.kinds}
    return Causes(len(sample), queries, returned, shown)
