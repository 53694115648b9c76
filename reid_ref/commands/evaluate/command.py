"""`reid-ref evaluate`: Rank-k, mAP and mINP of a result file, or of several."""
from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from reid_ref.arrays import InputError, check_count, warn
from reid_ref.commands import gate as gates
from reid_ref.commands.evaluate import show as tables
from reid_ref.commands.evaluate.compute import (
    Details, Evaluations, Method, PairMatrices, at_rows, evaluated, group_rows, intervals_of,
    pair_matrices, rows_of, worst_rows)
from reid_ref.commands.evaluate.show import means, parts, rows
from reid_ref.console import confidence, files as ranked_lists, options as common
from reid_ref.console import protocols
from reid_ref.console.answers import FORMATS, SCHEMA, show_answer
from reid_ref.console.given import Given, check_not_evaluated, is_saved, opened
from reid_ref.console.request import Request, option
from reid_ref.console.values import numbers
from reid_ref.console.terminal import show
from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.datasets.benchmarks import unlike_market
from reid_ref.disk import check_targets, is_direct, whole_files
from reid_ref.evaluation.camera_pairs import camera_pairs_of
from reid_ref.evaluation.rank_lists import nearest_wrong, worst_queries
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files.trec import write_ranking
from reid_ref.labels import IndexLists
from reid_ref.protocols import Protocol, ProtocolResult
from reid_ref.measures import printed
from reid_ref.result import Result
from reid_ref.result.runs import Runs, runs_of, splits_of
from reid_ref.result.systems import METRICS
from reid_ref.text import percent

#: Columns that no convention counts by, and what that means.
NOT_COUNTED = {
    "clothes": "these are the numbers of the standard setting; cloth-changing ones: "
               "--protocol ltcc",
    "view": "every image is ranked whatever its view",
    "video": "each row is ranked alone (--pool takes rows of one tracklet together)",
    "frame": "neighbouring frames count"}
#: The convention whose number is named beside that of matlab on labels unlike Market-1501's.
OTHER = "fast-reid"
#: Options that are about one result of one convention, and those that need features or distances.
OF_ONE_RESULT = ("--per-query", "--save", "--at", "--worst", "--by", *gates.OF_ONE_RESULT)
OF_DISTANCES = (*common.OF_FEATURES, "--map", "--pool")
#: What sums up several results, by the value of --mean.
MEANS: Mapping[str, Callable[..., dict[str, Runs]]] = {"runs": runs_of, "splits": splits_of}


def add(command: argparse.ArgumentParser) -> None:
    """Print Rank-k, mAP and mINP of a result file, or of several.

    Files: features, distances or ranked lists with labels in .mat, .npz, .pt, HDF5 or a folder of
    .npy files, by the names of the arrays (docs/files.md); or in separate files, in any order.
    Files that each hold everything are evaluated one after the other, a row each. A result that
    --save wrote is shown as it is. Exit code: 0 where all is well; 1 for --strict and a finding; 2
    for wrong input; 3 where --expect is missed; 4 below --fail-under; 5 worse than --baseline.
    What failed is one line on stderr.
    """
    common.add_files(command)
    group = command.add_argument_group("what is counted, and how")
    Request.add(group, "--convention", "--set", "--metric", "--normalize", "--pool",
                "--index-lists", "--max-memory", "--threads", conventions="matlab")
    protocols.add(command.add_argument_group("a benchmark by its name"))
    _add_output(command.add_argument_group("what is printed and written"))
    confidence.add(command.add_argument_group("how sure the numbers are"))
    gates.add(command.add_argument_group("exit codes for CI"))
    ranked_lists.add(command.add_argument_group("ranked lists instead of a result file"))


def _add_output(group: Any) -> None:
    Request.add(group, "--measure", "--ranks", "--name", "--cmc", formats=FORMATS)
    EvaluateRequest.add(group, "--mean", "--per-query", "--save", "--at", "--worst", "--by")


@dataclass(frozen=True, kw_only=True)
class EvaluateRequest(gates.GateRequest):
    """What the command line requests."""

    mean: str | None = option(
        "--mean", choices=tuple(MEANS),
        help="also the mean of several results, its spread and its interval: of training runs on "
             "the same queries, or of splits, such as trials, which have their own; of mAP and "
             "Rank-1, or of --measure")
    per_query: str | None = option(
        "--per-query", metavar="FILE",
        help="write one line per query to FILE, named .csv or .json")
    save: str | None = option(
        "--save", metavar="FILE",
        help="write the whole result to FILE, named .json, which this and other commands read as "
             "they read a result file; or the ranking to NAME.run, and who is good to NAME.qrels, "
             "the files of trec_eval")
    at: list[int] | None = option(
        "--at", metavar="K[,K]", type=numbers,
        help="also accuracy, precision, recall and mAP of the first K images, e.g. 1,5,10")
    worst: int | None = option(
        "--worst", without={"--labels": "for ranked lists have no distances"}, type=int,
        metavar="N",
        help="also the N queries of lowest AP, each with its nearest wrong image")
    by: list[str] | None = option(
        "--by", action="append", choices=("identity", "camera", "camera-pair"),
        help="also mAP, Rank-1 and mINP, or the numbers of --measure, of each identity, or of "
             "each query camera; or mAP and Rank-1 of each pair of a query's camera and one of "
             "the gallery; may be given again")


class Plan(NamedTuple):
    """What is requested, read from the options before the work."""

    conventions: list[Convention]
    left_out: dict[str, str]
    intervals: dict[str, Any] | None
    gates: gates.Gates
    lists: IndexLists | None
    protocol: Protocol | None


def run(request: EvaluateRequest) -> int:
    plan = _check(request)
    groups = _groups(request, plan)
    several = len(groups) > 1 or request.names is not None
    if several and not request.mean:
        request.refuse((*OF_ONE_RESULT, "--protocol"), "one result and no --name",
                       f"{len(groups)} {'results' if len(groups) > 1 else 'result and --name'}; "
                       "evaluate each in a call of its own")
    answers = []
    for given in opened(request, groups, plan.protocol, later=True):
        with given.told():
            answers.append(_evaluated(request, plan, several, given))
    findings = [finding for answer in answers for finding in answer.findings]
    status = answers[0].status or gates.of_findings(request, findings)
    methods = [answer.method for answer in answers]
    for answer in answers:
        plan.left_out.update(answer.left_out)
    if request.mean:
        _print_mean(request, plan, request.mean, rows_of(methods))
    else:
        _print(request, plan, methods, answers[0].more, several)
        if request.format == "table" and answers[0].ranking:
            show(f"\n{answers[0].ranking}")
    return status


def _groups(request: EvaluateRequest, plan: Plan) -> list[list[Path]]:
    """Return the files of each result."""
    if plan.protocol is not None and not request.mean:  # several files are its trials
        return [list(map(Path, request.files))]
    groups = ranked_lists.groups_of(request, request.files)
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
        warn(hint)
    elif request.convention is None and (other := results.get(OTHER)):
        warn(f"{unlike_market(data.query, data.gallery)}: mAP is {percent(own.mAP)} by the "
             f"trapezoid of matlab and {percent(other.mAP)} by the step rule of {OTHER}; name the "
             "one that you print")
    unused = data.query.columns().keys() & data.gallery.columns().keys() & NOT_COUNTED.keys()
    for column in sorted(unused - {"video" if request.pool else ""}):
        warn(f"{column}: not used, {NOT_COUNTED[column]}")


def _conventions(request: EvaluateRequest, plan: Plan,
                 data: ResultFile) -> tuple[list[Convention], dict[str, str]]:
    """Return the conventions requested, and by default `OTHER` on labels that are unlike Market's.

    Of all, those that the labels suffice for.
    """
    default = request.convention is None and not request.choices
    unlike = default and unlike_market(data.query, data.gallery)
    conventions, left_out = common.that_apply(request, plan.conventions, data.query)
    return [*conventions, *([CONVENTIONS[OTHER]] if unlike else [])], left_out


class FileAnswer(NamedTuple):
    """What is known of one result; `status` is the exit code of its gates.

    `left_out`: conventions that its labels do not suffice for, and why.
    """

    method: Method
    findings: gates.Findings
    more: Details
    status: int
    ranking: str
    left_out: dict[str, str]


def _evaluated(request: EvaluateRequest, plan: Plan, several: bool, given: Given) -> FileAnswer:
    """Return what is known of one result; write what is requested of it."""
    findings: gates.Findings = []
    data: ResultFile | None = None
    benchmark = made = None
    left_out: dict[str, str] = {}
    if given.has_data:
        data = given.data
        conventions, left_out = _conventions(request, plan, data)
        results = dict(given.results(conventions, plan.lists))
        findings = gates.examine(request, data, plan.conventions)
        _warn_of(request, data, results)
        results = dict(list(results.items())[:len(plan.conventions)])
        benchmark = common.recognised(data)
    else:
        made = given.results(plan.conventions)
        results = dict(made)
    common.check_measures(request, results.values())
    result, more, status, ranking = next(iter(results.values())), Details(), 0, ""
    layout, sizes = tables.about(result, data)
    if not several:
        status = gates.status(request, plan.gates, result)
        more = _details(request, data, result, plan.lists)
    intervals = None
    if not request.mean:
        results, intervals = confidence.find(request, results, plan.intervals)
    if not several:
        ranking = _write(request, data, result)
    method = Method(given.name, given.files, layout, sizes, benchmark, results, intervals)
    if isinstance(made, ProtocolResult):
        method = method._replace(also=made.also)
    return FileAnswer(method, findings, more, status, ranking, left_out)


def _print(request: EvaluateRequest, plan: Plan, methods: list[Method],
           more: Details, several: bool) -> None:
    protocol, first = plan.protocol, methods[0]
    named, measures = common.named(request), common.measures(request)
    chosen = "" if protocol is None else protocols.chosen(protocol, request, all(
        "metric" in result.signature for result in first.results.values()))
    by_convention = not several and (len(first.results) > 1 or bool(plan.left_out))
    results, intervals = (
        (first.results, first.intervals) if by_convention or protocol is not None
        else (rows_of(methods), intervals_of(methods)))

    def as_json() -> Any:
        length = common.cmc_length(request)
        if protocol is not None:
            return parts.as_answer(protocol, first, length, more, chosen, named)
        values = evaluated(methods, length, more, named)
        return Evaluations(values, plan.left_out) if several or by_convention else values[0]

    def as_text() -> str:
        if protocol is not None:
            return parts.as_text(protocol, first, measures, chosen)
        if several:
            return tables.by_method(methods, plan.left_out, measures)
        if by_convention:
            return tables.by_convention(
                first, plan.left_out, common.measures(request, (1, 5, 10)))
        return tables.one_result(first, measures)

    show_answer(request.format, json=as_json, table=as_text,
                csv=lambda: rows.as_csv(results, measures=measures, intervals=intervals),
                paper=lambda: rows.table(results, measures=measures, intervals=intervals))
    if request.format == "table" and more != Details():
        show(tables.details(more, named))


def _print_mean(request: EvaluateRequest, plan: Plan, of: str,
                results: Mapping[str, Result]) -> None:
    """Print the numbers of each result, and their mean, spread and interval."""
    measures = common.named(request) or (printed(request.ranks) if request.ranks else METRICS)
    answer = MEANS[of](results, measures, **plan.intervals or {})
    signatures = {name: str(result.signature) for name, result in results.items()}
    shown = answer, signatures, means.WORDS[of]
    show_answer(request.format, json=lambda: means.Spread(request.files, answer, signatures),
                table=lambda: means.as_text(*shown), csv=lambda: means.as_csv(*shown),
                paper=lambda: means.as_table(*shown))


def _details(request: EvaluateRequest, data: ResultFile | None, result: Result,
             lists: IndexLists | None) -> Details:
    """Return what --at, --worst and --by request; a saved result has no wrong images."""
    worst, measures = None, common.named(request)
    if request.worst is not None:
        queries = worst_queries(result, request.worst)
        how = common.how(request, [result.convention], lists)
        images = [None] * len(queries) if data is None else nearest_wrong(data, queries, how)
        worst = worst_rows(result, dict(zip(queries.tolist(), images)),
                           None if data is None else data.gallery, measures)
    return Details(
        at=None if request.at is None else at_rows(result, request.at), worst=worst,
        by=None if request.by is None else {
            by: group_rows(result, by, measures) if data is None or by != "camera-pair" else
            _pairs(request, data, result) for by in dict.fromkeys(request.by)})


def _pairs(request: EvaluateRequest, data: ResultFile, result: Result) -> PairMatrices:
    """Return the numbers of pairs of cameras, by the distances of the result."""
    return pair_matrices(camera_pairs_of(data.input, data.query, data.gallery, "plain",
                                         common.how(request, [result.convention])))


def _write(request: EvaluateRequest, data: ResultFile | None, result: Result) -> str:
    """Write the files of --save and --per-query, where they are requested.

    Return what is in the files of trec_eval, and how it reads them; empty without them.
    """
    ranking = ""
    is_json = request.per_query is not None and Path(request.per_query).suffix.lower() == ".json"
    if is_json and len(result.trials) != 1:
        raise InputError("--per-query", "a name that ends in .csv where the numbers are no plain "
                         "means over queries", request.per_query, "--save keeps all that they are "
                         "made of")
    if data is not None and (paths := _files_of_ranking(request.save)):
        qrels, run = paths
        with common.progress_bar(len(data.query)) as bar:
            how = common.how(request, [result.convention], bar=bar)
            lines = write_ranking(data, qrels, run, how)
        ranking = tables.ranking(qrels, run, len(data.query), lines)
    elif request.save is not None:
        result.save(request.save)
    if request.per_query is None:
        return ranking
    measures = common.named(request)
    text = (json.dumps({"schema": SCHEMA, **rows.per_query_json(result, measures)}, indent=1)
            + "\n" if is_json else rows.per_query_csv(result, measures))
    with whole_files(request.per_query) as (file,):
        file.write(text)
    return ranking


# ---------------------------------------------------------------- before the work

def _check(request: EvaluateRequest) -> Plan:
    """Return what is requested; what is wrong, or does not go together, is known before the work.
    """
    common.cmc_length(request)
    common.named(request)
    saved = is_saved(request, request.files)
    if saved:
        check_not_evaluated(request)
    of_one = request.given(*OF_ONE_RESULT, "--mean")
    protocol = protocols.check_part(request) if of_one else protocols.check(request)
    conventions, left_out = common.conventions_of(request)
    if len(conventions) > 1:
        request.refuse((*OF_ONE_RESULT, "--mean"), "one convention",
                       f"{len(conventions)}; name one")
    if request.mean:
        request.refuse((*OF_ONE_RESULT, "--cmc"), "numbers of one result",
                       "a mean of several; evaluate each in a call of its own")
    if request.format not in ("table", "json"):
        request.refuse(("--at", "--worst", "--by"), "a table or JSON",
                       f"{request.format}; leave one of them out")
    if request.worst is not None:
        check_count(request.worst, "--worst")
    if saved:
        request.refuse((*OF_DISTANCES, "--strict"), "features or distances",
                       "a saved result; evaluate the result file anew")
    if saved or protocol is not None or request.labels is not None:
        _check_images(request, protocol, saved)
    _check_written(request)
    intervals = confidence.check(request, always=request.mean is not None)
    return Plan(conventions, left_out, intervals, gates.check(request),
                common.read_lists(request, conventions), protocol)


def _check_images(request: EvaluateRequest, protocol: Protocol | None, saved: bool) -> None:
    """Refuse what a saved result, parts of a protocol or ranked lists are not enough for."""
    got = ("a saved result; evaluate the result file anew" if saved else
           "ranked lists (--labels)" if protocol is None else f"--protocol {protocol.name}")
    if "camera-pair" in (request.by or ()) and (saved or protocol is not None):
        raise InputError("--by camera-pair", "features, distances or ranked lists", got)
    if _files_of_ranking(request.save):
        raise InputError("--save", "features or distances for a name that ends in .run", got,
                         "--save NAME.json keeps the result")


def _files_of_ranking(name: str | None) -> tuple[str, ...]:
    """Return the names of qrels and run; nothing of a name for another file."""
    if name is None or Path(name).suffix.lower() != ".run":
        return ()
    return str(Path(name).with_suffix(".qrels")), name


#: Options that write a file, and how its name may end.
_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "--save": (".json", ".run"), "--per-query": (".csv", ".json")}


def _check_written(request: EvaluateRequest) -> None:
    """Refuse, before any work, a file that could not be written as its option says."""
    written = {flag: name for flag, name in (
        ("--save", request.save), ("--per-query", request.per_query)) if name is not None}
    for flag, name in written.items():
        suffix, suffixes = Path(name).suffix, _SUFFIXES[flag]
        if suffix.lower() not in suffixes and not (suffix == "" and is_direct(name)):
            raise InputError(flag, f"a name that ends in {' or '.join(suffixes)}", name)
    check_targets(*_files_of_ranking(request.save)[:1], *written.values())
