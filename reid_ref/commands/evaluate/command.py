"""`reid-ref evaluate`: Rank-k, mAP and mINP of a result file, or of several."""
import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reid_ref.analysis.doctor.labels import no_cameras as without_cameras
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.arrays import (
    BenchmarkWarning, ConventionWarning, InputError, check_count, warn)
from reid_ref.commands import gate as gates
from reid_ref.commands.evaluate import show as tables
from reid_ref.commands.evaluate.compute import (
    PAIRS, AtRow, Details, Evaluations, Method, evaluated, groups_of, intervals_of, rows_of,
    worst_rows)
from reid_ref.commands.evaluate.show import means, parts, rows
from reid_ref.console import confidence, files as ranked_lists, options as common
from reid_ref.console import protocols
from reid_ref.console.answers import FORMATS, SCHEMA, show_answer
from reid_ref.console.given import Given, given_of
from reid_ref.console.request import CONVENTIONS, LISTS, OF_ONE, SEVERAL, Request, option
from reid_ref.console.terminal import show
from reid_ref.conventions import changed, find_convention, lacking_cameras
from reid_ref.datasets import Recognised, recognise
from reid_ref.datasets.benchmarks import unlike_market
from reid_ref.disk import check_targets, is_direct, is_json, is_packed, write_whole
from reid_ref.evaluation.how import How
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files.trec import write_ranking
from reid_ref.measures import RANKS, printed
from reid_ref.protocols import Protocol, ProtocolResult
from reid_ref.result import Result
from reid_ref.result.systems import METRICS
from reid_ref.text import percent
from reid_ref.text.numbers import numbers, whole

#: The convention whose number is named beside that of matlab on labels unlike Market-1501's.
OTHER = "fast-reid"
#: Options that write a file, and how its name may end.
_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "--save": (".json", ".json.gz", ".run"), "--per-query": (".csv", ".json")}
#: Remedy where a ranking cannot be written.
KEPT = "--save NAME.json keeps the result"

#: The formats that have room for details.
_DETAILED = {"format": ("table", "json")}


@dataclass(frozen=True, kw_only=True)
class EvaluateRequest(gates.GateRequest):
    """What the command line requests."""

    mean: str | None = option("--mean", not_of=(CONVENTIONS,), choices=tuple(means.MEANS))
    per_query: str | None = option("--per-query", **OF_ONE, more=True)
    save: str | None = option("--save", **OF_ONE)
    at: list[int] | None = option("--at", **OF_ONE, more=True, only=_DETAILED, type=numbers)
    worst: int | None = option(
        "--worst", not_of=(SEVERAL, CONVENTIONS, LISTS), without=OF_ONE["without"], more=True,
        only=_DETAILED, type=whole)
    by: list[str] | None = option(
        "--by", **OF_ONE, more=True, only=_DETAILED, action="append",
        choices=("identity", "camera", *PAIRS))


def add(command: argparse.ArgumentParser) -> None:
    """Print Rank-k, mAP and mINP of a result file, or of several.

    Examples:
        reid-ref evaluate fixtures/market_like.mat
        reid-ref evaluate fixtures/market_like.mat --convention torchreid
        reid-ref evaluate fixtures/baselines/osnet_x0_25.json.gz --confidence

    Files: features, distances or ranked lists with labels in .mat, .npz, .pt, HDF5 or a folder of
    .npy files, by the names of the arrays (docs/files.md); or in separate files, in any order.
    Files that each hold everything have a row each; one that cannot be read is named. A result
    that --save wrote is shown as it is.
    Exit code: 0 where all is well; 1 for --strict and a finding; 2 for wrong input; 3 where
    --expect is missed; 4 below --fail-under; 5 worse than --baseline.
    """
    common.add_files(command)
    group = command.add_argument_group("what is counted, and how")
    Request.add(group, "--convention", "--set", "--metric", "--normalize", "--pool",
                "--index-lists", "--max-memory", "--threads", *protocols.OF_PROTOCOLS,
                conventions="matlab")
    group = command.add_argument_group("what is printed and written")
    Request.add(group, "--measure", "--ranks", "--name", "--cmc", formats=FORMATS)
    EvaluateRequest.add(group, "--mean", "--per-query", "--save", "--at", "--worst", "--by",
                        *confidence.OF_INTERVALS)
    EvaluateRequest.add(command.add_argument_group("exit codes for CI"), "--expect", "--tolerance",
                        "--fail-under", "--baseline", "--strict")
    Request.add(command.add_argument_group("labels that are in other files"),
                *ranked_lists.OF_LABELS)


def run(request: EvaluateRequest) -> int:
    plan = plan_of(request)
    groups = _groups(request, plan)
    several = len(groups) > 1 or request.names is not None
    if several and not request.mean:
        request.check(SEVERAL, "one result and no --name",
                      f"{len(groups)} {'results' if len(groups) > 1 else 'result and --name'}",
                      "evaluate each in a call of its own")
    methods, errors, more, status, ranking = list[Method](), list[InputError](), Details(), 0, ""
    for given in given_of(request, groups, plan.protocol, later=True):
        with given.opened(None if request.mean else errors):
            method = _evaluated(request, plan, given)
            result = next(iter(method.results.values()))
            how = replace(plan.how, conventions=(result.convention,))
            if not several:
                status = gates.status(request, plan.gates, result)
                more = _details(request, plan, given, result, how)
            if not request.mean:
                results, intervals = confidence.results_with_intervals(
                    method.results, plan.measures, plan.intervals)
                method = method._replace(results=results, intervals=intervals)
            methods.append(method)
            if not several:
                ranking = _write(request, plan, given, result, how)
    status = status or gates.of_findings(
        request, [finding for method in methods for finding in method.findings])
    if request.mean:
        _print_mean(request, plan, request.mean, rows_of(methods))
    elif methods:
        show_answer(request.format, **_writers(request, plan, methods, more, several))
        if request.format == "table" and more != Details():
            show(tables.details(more, plan.named))
        if request.format == "table" and ranking:
            show(f"\n{ranking}")
    return 2 if errors else status


class Plan(NamedTuple):
    """What is requested, read from the options before the work.

    Parameters
    ----------
    how : How
    left_out : dict of str to str, or None
        Conventions that are not tried, and why, if all are requested.
    intervals : dict or None
        Options of intervals.
    gates : Gates
    protocol : Protocol or None
    named, measures : list of str
        What --measure names; that, or else what papers print.
    length : int or None
        Of the CMC curve in JSON.
    """

    how: How
    left_out: dict[str, str] | None
    intervals: dict[str, Any] | None
    gates: gates.Gates
    protocol: Protocol | None
    named: list[str]
    measures: list[str]
    length: int | None


def plan_of(request: EvaluateRequest) -> Plan:
    """Return what is requested; what is wrong, or does not go together, is known before the work.
    """
    length, named = common.cmc_length(request), common.named(request)
    of_one = request.unfit(CONVENTIONS)  # options about one result of one convention
    protocol = protocols.check_part(request) if of_one else protocols.requested_protocol(request)
    how, left_out = common.requested(request)
    if (n := len(how.conventions)) > 1:
        request.check(CONVENTIONS, "one convention", f"{n}", "name one")
    if request.worst is not None:
        check_count(request.worst, "--worst")
    _check_written(request)
    intervals = confidence.interval_options(request, always=request.mean is not None)
    read = gates.read_gates(request)
    if read.baseline is not None and not (request.convention or request.choices or protocol):
        how = replace(how, conventions=(read.baseline.convention,))
    measures = named or printed(request.ranks or RANKS)
    return Plan(how, left_out, intervals, read, protocol, named, measures, length)


def files_of_ranking(name: str | None) -> tuple[str, ...]:
    """Return the names of qrels and run; nothing of a name for another file."""
    if name is None or Path(name).suffix.lower() != ".run":
        return ()
    return str(Path(name).with_suffix(".qrels")), name


def _check_written(request: EvaluateRequest) -> None:
    """Refuse, before any work, a file that could not be written as its option says."""
    written = {flag: name for flag, name in (
        ("--save", request.save), ("--per-query", request.per_query)) if name is not None}
    for flag, name in written.items():
        suffix, suffixes = Path(name).suffix.lower(), _SUFFIXES[flag]
        if is_json(name) and is_packed(name):
            suffix = ".json.gz"
        if suffix not in suffixes and not (suffix == "" and is_direct(name)):
            *others, last = suffixes
            raise InputError(flag, f"a name that ends in {', '.join(others)} or {last}", name)
    check_targets(*files_of_ranking(request.save)[:1], *written.values())


def _groups(request: EvaluateRequest, plan: Plan) -> list[list[Path]]:
    """Return the files of each result."""
    if plan.protocol is not None and not request.mean:  # several files are its trials
        return [list(map(Path, request.files))]
    groups = ranked_lists.files_per_result(request, request.files)
    if not request.mean:
        return groups
    if len(groups) == 1:  # what a file lacks is the error of that file
        groups = [[path] for path in groups[0]]
    if (n := len({path for path, in groups})) < max(2, len(groups)):
        raise InputError("FILE", "at least 2 different results", n, "leave --mean out")
    return groups


def _warn_of(request: EvaluateRequest, data: ResultFile, results: Mapping[str, Result]) -> None:
    """Warn of labels on which papers print other numbers than these of matlab."""
    own = next(iter(results.values()))
    if request.convention is None and (hint := protocols.hint(data.query, data.gallery, own)):
        warn(hint, BenchmarkWarning)
    elif request.convention is None and (other := results.get(OTHER)):
        why = unlike_market(data.query, data.gallery) or "the data has no cameras"
        warn(f"{why}: mAP is {percent(own.mAP)} by the trapezoid of matlab and "
             f"{percent(other.mAP)} by the step rule of {OTHER}; name the one that you print",
             ConventionWarning)
    protocols.warn_of_columns(data.query, data.gallery, pooled=bool(request.pool))


def _evaluated(request: EvaluateRequest, plan: Plan, given: Given) -> Method:
    """Return the results of what is given; refuse what it is not enough for."""
    for by in PAIRS.keys() & {*(request.by or ())}:
        given.data_for(f"--by {by}")
    if files_of_ranking(request.save):
        given.data_for("--save", KEPT)
    benchmark = recognise(given.data.query, given.data.gallery) if given.has_data else None
    results, findings, lacking = (_of_data(request, plan, given, benchmark) if given.has_data else
                                  (given.results(plan.how), [], {}))
    common.check_measures(plan.named, results.values())
    layout, sizes = given.layout_and_sizes(next(iter(results.values())))
    method = Method(given.name, given.files, layout, sizes, benchmark, results, findings, lacking)
    return method if not isinstance(results, ProtocolResult) else method._replace(
        results=dict(results), also=results.also, read_as=results.layout)


def _of_data(request: EvaluateRequest, plan: Plan, given: Given, benchmark: Recognised | None,
             ) -> tuple[Mapping[str, Result], gates.Findings, dict[str, str]]:
    """Evaluate data; return the results, what the doctor finds, and conventions that lack cameras.

    Where there are no cameras, nothing is ignored by them. By default, labels that are unlike
    Market's are evaluated under `OTHER` as well, for a warning.
    """
    data = given.data
    conventions, of_data = plan.how.conventions, (data.query, data.gallery)
    by_default = request.convention is None and not request.choices
    other = [find_convention(OTHER)] if by_default and unlike_market(*of_data) else []
    no_cameras = _has_no_cameras(request, data, benchmark)
    lacking = ({} if plan.left_out is None or no_cameras else
               lacking_cameras(conventions, data.query))
    conventions = tuple(each for each in conventions if each.name not in lacking)
    if no_cameras:
        conventions = tuple(changed(each, each.choices_without_cameras(data.gallery), "ignored")
                            for each in conventions)
        step = find_convention(OTHER)
        other = [step.replace(**step.choices_without_cameras(data.gallery), name=OTHER)
                 ] * by_default
    results = given.results(replace(plan.how, conventions=(*conventions, *other)))
    findings = gates.examine(data, replace(plan.how, conventions=conventions))
    if no_cameras:
        findings = [*findings, *without_cameras(Subject(*of_data))]
    _warn_of(request, data, results)
    return dict(list(results.items())[:len(conventions)]), findings, lacking


def _has_no_cameras(request: EvaluateRequest, data: ResultFile,
                    benchmark: Recognised | None) -> bool:
    """Return whether labels have no cameras, and neither a choice nor a benchmark asks for any."""
    is_chosen = any("ignored" in choice for choice in request.choices)
    of_benchmark = benchmark and not benchmark.off and benchmark.fingerprint.counts.cameras
    return data.query.camera is None and not is_chosen and not of_benchmark


def _writers(request: EvaluateRequest, plan: Plan, methods: list[Method], more: Details,
             several: bool) -> dict[str, Callable[[], Any]]:
    """Return what makes JSON, the screen, CSV and tables for papers: of the parts of a protocol,
    of several results, of one by convention, of one.
    """
    first, protocol, named, measures = methods[0], plan.protocol, plan.named, plan.measures
    left_out = dict(plan.left_out or {}, **{
        name: reason for method in methods for name, reason in method.lacking.items()})
    by_name, intervals = rows_of(methods), intervals_of(methods)
    values = partial(evaluated, methods, plan.length, more, named)
    as_json: Callable[[], Any] = lambda: Evaluations(values(), left_out)
    if protocol is not None or not several and (len(first.results) > 1 or left_out):
        by_name, intervals = dict(first.results), first.intervals

    if protocol is not None:
        chosen = protocols.chosen(protocol, request, all(
            "metric" in result.signature for result in by_name.values()))
        as_json = partial(parts.as_answer, protocol, first, plan.length, more, chosen, named)
        text = partial(parts.as_text, protocol, first, measures, chosen)
    elif several:
        text = partial(tables.by_method, methods, left_out, measures)
    elif len(first.results) > 1 or left_out:
        text = partial(tables.by_convention, first, left_out,
                       named or printed(request.ranks or (1, 5, 10)))
    else:
        as_json, text = (lambda: values()[0]), partial(tables.one_result, first, measures)
    return {"json": as_json, "table": text,
            "csv": partial(rows.as_csv, by_name, measures=measures, intervals=intervals),
            "paper": partial(rows.table, by_name, measures=measures, intervals=intervals)}


def _print_mean(request: EvaluateRequest, plan: Plan, of: str,
                results: Mapping[str, Result]) -> None:
    """Print the numbers of each result, and their mean, spread and interval."""
    measures = plan.named or (printed(request.ranks) if request.ranks else METRICS)
    mean = means.MEANS[of]
    answer = mean.of(results, metrics=measures, **plan.intervals or {})
    signatures = {name: str(result.signature) for name, result in results.items()}
    shown = answer, signatures, mean
    show_answer(request.format, json=lambda: means.MeanAnswer(request.files, answer, signatures),
                table=lambda: means.as_text(*shown), csv=lambda: means.as_csv(*shown),
                paper=lambda: means.as_table(*shown))


def _details(request: EvaluateRequest, plan: Plan, given: Given, result: Result,
             how: How) -> Details:
    """Return what --at, --worst and --by request."""
    return Details(
        at=None if request.at is None else [AtRow(*(getattr(at, name) for name in AtRow._fields))
                                            for at in map(result.at, request.at)],
        worst=None if request.worst is None else worst_rows(result, given, how, request.worst,
                                                            plan.named),
        by=None if request.by is None else {
            by: groups_of(result, given, how, by, plan.named) for by in dict.fromkeys(request.by)})


def _write(request: EvaluateRequest, plan: Plan, given: Given, result: Result, how: How) -> str:
    """Write the files of --save and --per-query, where they are requested.

    Return what is in the files of trec_eval, and how it reads them; empty without them.
    """
    ranking = ""
    is_json = request.per_query is not None and Path(request.per_query).suffix.lower() == ".json"
    if is_json and len(result.trials) != 1:
        raise InputError("--per-query", "a name that ends in .csv where the numbers are no plain "
                         "means over queries", request.per_query, "--save keeps all that they are "
                         "made of")
    if paths := files_of_ranking(request.save):
        (qrels, run), n_query = paths, len(given.data.query)
        with common.progress_bar(n_query) as bar:
            lines = write_ranking(given.data, qrels, run, common.with_bar(how, bar))
        ranking = tables.ranking(qrels, run, n_query, lines)
    elif request.save is not None:
        result.save(request.save)
    if request.per_query is not None:
        write_whole(request.per_query, rows.per_query_csv(result, plan.named) if not is_json else
                    json.dumps({"schema": SCHEMA, **rows.per_query_json(result, plan.named)},
                               indent=1) + "\n")
    return ranking
