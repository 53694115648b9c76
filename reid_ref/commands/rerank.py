"""`reid-ref rerank`: numbers after k-reciprocal re-ranking, or with multiple queries."""
import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

from reid_ref.analysis.compare.answer import change_words
from reid_ref.arrays import InputError, JunkWarning, check_choice, each_warning_once, warn
from reid_ref.commands import gate as gates
from reid_ref.console import confidence, options as common
from reid_ref.console.answers import Origin, dataset_of, input_of, show_answer
from reid_ref.console.files import evaluate_file
from reid_ref.console.request import Request, option
from reid_ref.conventions import Reranking
from reid_ref.datasets import recognise
from reid_ref.datasets.pooling import POOLINGS, pool_queries, read_multi_query
from reid_ref.evaluation.functions import evaluate
from reid_ref.evaluation.how import How
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.measures import RANKS, printed
from reid_ref.reranking.k_reciprocal import VARIANTS, evaluate_reranked
from reid_ref.reranking.settings import origin_of
from reid_ref.result import HEADLINE, Result, headline, query_values, unit_of_queries
from reid_ref.result.systems import METRICS
from reid_ref.result.views import Numbers, numbers_of
from reid_ref.statistics import Interval, difference
from reid_ref.text import named_rows, percent, row, signature_rows, signed_percent
from reid_ref.text.numbers import real, whole
from reid_ref.text.table import lines


@dataclass(frozen=True, kw_only=True)
class Reranked(Numbers, Origin):
    """The numbers before, or after, as JSON has them."""

    confidence: dict[str, Interval] | None = None


class Rerank(NamedTuple):
    """All numbers as JSON has them, the original ones first."""

    results: list[Reranked]


def as_table(results: Mapping[str, Result], given: Iterable[tuple[str, str]],
             measures: Sequence[str] = HEADLINE,
             intervals: confidence.Intervals = None, changes: Iterable[str] = ()) -> str:
    """Return one column per result; the first is what the others are compared with."""
    numbers = [headline(result, measures) for result in results.values()]
    first, *after = results
    text = named_rows(given)
    text += [line for result in results.values() for line in _words(result)]
    heads = ["percent", first, *(head for name in after for head in (name, "change"))]
    text += ["", *lines(heads, [
        [name, percent(original), *(cell for column in numbers[1:] for cell in (
            percent(column[name]), signed_percent(column[name] - original)))]
        for name, original in numbers[0].items()], indent=10)]
    text += [*changes, *(confidence.several(intervals, measures) or [""])]
    for result in results.values():
        text += signature_rows(str(result.signature))
    return "\n".join(text)


def _words(result: Result) -> list[str]:
    """Return the row with the re-ranking of this result, and the toolbox that it follows."""
    signature = result.signature
    if "rerank" not in signature:
        return []
    reranked = Reranking(signature["rerank"], int(signature["k1"]), int(signature["k2"]),
                         float(signature["lambda"]))
    return row("re-ranked", f"{reranked}, {origin_of(reranked, result.convention)}")


def _changes(results: Mapping[str, Result], intervals: confidence.Intervals,
             unit: Any = None, method: str = "", **options: Any) -> list[str]:
    """Return the change of mAP and Rank-1 with its interval and p, which pair the queries."""
    text, (first, *others) = list[str](), results
    for name, metric in product(others, METRICS):
        if intervals and metric in intervals[name]:
            before, after = (query_values(results[each], metric) for each in (first, name))
            name_of_unit, groups = unit_of_queries(
                results[first].per_query.texts("identity"), unit)
            change = difference(before.values, after.values, groups, before.counted, **options)
            text += row("change", f"{name}, " * (len(others) > 1) +
                        f"{metric} {change_words(change, options['level'])}")
    return ["", *text, *row("p", "of a two-sided test by sign flips of "
                            + confidence.NOUNS[name_of_unit])] if text else []


NOT_RERANKED = {"--multi-query": "which the drivers never re-rank"}


@dataclass(frozen=True, kw_only=True)
class RerankRequest(gates.GateRequest):
    """What the command line requests."""

    variant: str | None = option(
        "--variant", without=NOT_RERANKED, filled={"variants": ", ".join(VARIANTS)})
    k1: int | None = option("--k1", without=NOT_RERANKED, type=whole)
    k2: int | None = option("--k2", without=NOT_RERANKED, type=whole)
    lambda_: float | None = option("--lambda", without=NOT_RERANKED, type=real)
    multi_query: str | None = option("--multi-query")


def add(command: argparse.ArgumentParser) -> None:
    """Print Rank-k, mAP and mINP of a result file, and next to them the numbers after k-reciprocal
    re-ranking, or with multiple queries.

    Examples:
        reid-ref rerank fixtures/market_like.mat
        reid-ref rerank fixtures/market_like.mat --k1 30 --lambda 0.2

    FILE is any with features that reid-ref evaluate reads. The re-ranking is that of the
    convention's own toolbox, in its own variant, with its k1, k2, lambda and distance; the options
    above change it. A toolbox without re-ranking is re-ranked as matlab does.
    """
    common.add_files(command)
    RerankRequest.add(command, "--variant", "--k1", "--k2", "--lambda", "--multi-query")
    command.add_argument("--protocol", metavar="NAME", help=argparse.SUPPRESS)
    Request.add(command, "--convention", "--set", "--metric", "--normalize", "--max-memory",
                "--measure", "--ranks", "--cmc", formats=("table", "json"))
    RerankRequest.add(command, *confidence.OF_INTERVALS, "--strict")


def run(request: RerankRequest) -> int:
    length, named = common.cmc_length(request), common.named(request)
    measures = named or printed(request.ranks or RANKS)
    convention = common.one_convention(request)
    numbers = _check(request)
    options = confidence.interval_options(request)
    data = common.read_files(request)
    data.input.without_candidates("re-ranking, which compares images with all others")
    data.features("data", remedy="give the features of query and gallery")
    how = common.how(request, [convention])
    with each_warning_once():
        original = evaluate_file(request, data, how)
        results: Mapping[str, Result] = {"original": original[convention.name], **(
            _reranked(request, data, how, numbers) if request.multi_query is None else
            _multi_query(request, data, how))}
        common.check_measures(named, results.values())
        results, intervals = confidence.results_with_intervals(results, measures, options)
        changes = _changes(results, intervals, **options or {})
    findings = gates.examine(data, how)
    dataset = dataset_of(recognise(data.query, data.gallery)) if request.format == "json" else None
    show_answer(
        request.format,
        table=lambda: as_table(
            results, input_of(request.files, data), measures, intervals, changes),
        json=lambda: Rerank([Reranked(
            name=name, files=request.files, layout=data.layout, dataset=dataset,
            convention=convention.name, **numbers_of(result, length, named),
            confidence=None if intervals is None else intervals[name])
            for name, result in results.items()]))
    return gates.of_findings(request, findings)


def _check(request: RerankRequest) -> dict[str, Any]:
    """Return the numbers of re-ranking that are given; refuse what does not go together."""
    if request.protocol is not None:
        raise InputError("--protocol", "one gallery, in which neighbours are looked for",
                         "a protocol, which has several or takes parts of one", "pass the "
                         "distances of reid_ref.rerank to reid_ref.evaluate_protocol")
    if request.variant is not None:
        check_choice(request.variant, "--variant", VARIANTS)
    return {name: value for name in ("k1", "k2", "lambda_")
            if (value := getattr(request, name)) is not None}


def _reranked(request: RerankRequest, data: ResultFile, how: How,
              numbers: dict[str, Any]) -> dict[str, Result]:
    convention, = how.conventions
    with common.progress_bar(len(data.query), f"re-ranking {len(data.query):,} queries") as bar:
        result = evaluate_reranked(
            data.query_features, data.gallery_features, data.query, data.gallery,
            variant=request.variant, normalize=how.distance()[1], convention=convention,
            progress=common.with_bar(how, bar).progress, **numbers)
    left_out = len(data.gallery) - result.counts.gallery
    if left_out and convention.loads == "all images":
        warn(f"{result.signature['rerank']} re-ranks a gallery without label -1: {left_out:,} "
             "images left out", JunkWarning)
    return {"re-ranked": result}


def _multi_query(request: RerankRequest, data: ResultFile, how: How) -> dict[str, Result]:
    """Evaluate features with the queries pooled from the multi-query set, by each pooling."""
    images, features = read_multi_query(str(request.multi_query))
    query_features: Any = data.query_features
    width = query_features.shape[1]
    if features.shape[1] != width:
        raise InputError(request.multi_query, got=f"mquery_f: expected {width} dimensions, as the "
                         f"queries have, got {features.shape[1]}")
    results = {}
    with common.progress_bar(len(POOLINGS) * len(data.query)) as bar:
        metric, normalize = how.distance()
        for pooling in POOLINGS:
            pooled = pool_queries(data.query, images, features, pooling, normalize)
            result = evaluate(
                pooled, data.gallery_features, data.query, data.gallery, metric=metric,
                normalize=normalize, convention=how.conventions[0], max_memory=how.max_memory,
                progress=common.with_bar(how, bar).progress)
            results[f"multiple, {pooling}"] = replace(
                result, signature=result.signature.changed({"multi-query": pooling}))
    return results
