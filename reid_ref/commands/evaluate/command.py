"""`reid-ref evaluate`: Rank-k, mAP and mINP of a result file, or of several."""
from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from functools import partial
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
from reid_ref.console import protocols, systems
from reid_ref.console.answers import FORMATS, SCHEMA, show_answer
from reid_ref.console.files import evaluate_file
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
#: Options that `--help-all` shows, and `--help` leaves out.
MORE = ("--cmc", "--level", "--unit", "--confidence-method", "--resamples", "--seed",
        "--tolerance", "--strict", "--labels", "--numbers-from", "--n-good", "--index-lists",
        "--part", "--trials", "--shots", "--pool", "--threads", "--min-score",
        "--boxes-per-image")


def add(command: argparse.ArgumentParser) -> None:
    """Print Rank-k, mAP and mINP of a result file, or of several.

    Files: features, distances or ranked lists with labels in .mat, .npz, .pt, HDF5 or a folder of
    .npy files, by the names of the arrays (docs/files.md); or in separate files, in any order.
    Files that each hold everything are evaluated one after the other, a row each. A result that
    --save wrote is shown as it is. Exit code: 0 where all is well; 1 for --strict and a finding; 2
    for wrong input; 3 where --expect is missed; 4 below --fail-under; 5 worse than --baseline.
    What failed is one line on stderr.
    """
    command.set_defaults(more=MORE)
    common.add_files(command)
    group = command.add_argument_group("what is counted, and how")
    common.add_options(group, "--convention", "--set", "--metric", "--normalize", "--pool",
                       "--index-lists", "--max-memory", "--threads", conventions="matlab")
    protocols.add(command.add_argument_group("a benchmark by its name"))
    _add_output(command.add_argument_group("what is printed and written"))
    confidence.add(command.add_argument_group("how sure the numbers are"))
    gates.add(command.add_argument_group("exit codes for CI"))
    ranked_lists.add(command.add_argument_group("ranked lists instead of a result file"))


def _add_output(group: Any) -> None:
    common.add_options(group, "--measure", "--ranks", "--name", "--cmc", formats=FORMATS)
    group.add_argument("--mean", choices=tuple(MEANS),
                       help="also the mean of several results, its spread and its interval: of "
                            "training runs on the same queries, or of splits, such as trials, "
                            "which have their own; of mAP and Rank-1, or of --measure")
    group.add_argument("--per-query", metavar="FILE",
                       help="write one line per query to FILE, named .csv or .json")
    group.add_argument("--save", metavar="FILE",
                       help="write the whole result to FILE, named .json, which this and other "
                            "commands read as they read a result file; or the ranking to "
                            "NAME.run, and who is good to NAME.qrels, the files of trec_eval")
    group.add_argument("--at", metavar="K[,K]", type=common.numbers,
                       help="also accuracy, precision, recall and mAP of the first K images, "
                            "e.g. 1,5,10")
    group.add_argument("--worst", type=int, metavar="N",
                       help="also the N queries of lowest AP, each with its nearest wrong image")
    group.add_argument("--by", action="append", choices=("identity", "camera", "camera-pair"),
                       help="also mAP, Rank-1 and mINP, or the numbers of --measure, of each "
                            "identity, or of each query camera; or mAP and Rank-1 of each pair "
                            "of a query's camera and one of the gallery; may be given again")


class Request(NamedTuple):
    """What is requested, read from the options before the work."""

    conventions: list[Convention]
    left_out: dict[str, str]
    intervals: dict[str, Any] | None
    gates: gates.Gates
    lists: IndexLists | None
    protocol: Protocol | None


def run(args: argparse.Namespace) -> int:
    request = _check(args)
    groups = _groups(args, request)
    several = len(groups) > 1 or args.names is not None
    if several and not args.mean:
        common.refuse(args, (*OF_ONE_RESULT, "--protocol"), "one result and no --name",
                      f"{len(groups)} {'results' if len(groups) > 1 else 'result and --name'}; "
                      "evaluate each in a call of its own")
    answers = systems.of_each(args, groups, partial(_evaluated, args, request, several),
                              request.protocol, later=True)
    findings = [finding for answer in answers for finding in answer.findings]
    status = answers[0].status or gates.of_findings(args, findings)
    methods = [answer.method for answer in answers]
    if args.mean:
        _print_mean(args, request, rows_of(methods))
    else:
        _print(args, request, methods, answers[0].more, several)
        if args.format == "table" and answers[0].ranking:
            show(f"\n{answers[0].ranking}")
    return status


def _groups(args: argparse.Namespace, request: Request) -> list[list[Path]]:
    """Return the files of each result."""
    if request.protocol is not None and not args.mean:  # several files are its trials
        return [list(map(Path, args.files))]
    groups = ranked_lists.groups_of(args, args.files)
    if not args.mean:
        return groups
    if len(groups) == 1:  # what a file lacks is the error of that file
        groups = [[path] for path in groups[0]]
    if (n := len({path for path, in groups})) < max(2, len(groups)):
        raise InputError("FILE", "at least 2 different results", n, "leave --mean out")
    return groups


def _warn_of(args: argparse.Namespace, data: ResultFile, results: Mapping[str, Result]) -> None:
    """Warn of labels on which papers print other numbers than these of matlab."""
    own = next(iter(results.values()))
    if args.convention is None and (hint := protocols.hint(data.query, data.gallery, own)):
        warn(hint)
    elif args.convention is None and (other := results.get(OTHER)):
        warn(f"{unlike_market(data.query, data.gallery)}: mAP is {percent(own.mAP)} by the "
             f"trapezoid of matlab and {percent(other.mAP)} by the step rule of {OTHER}; name the "
             "one that you print")
    unused = data.query.columns().keys() & data.gallery.columns().keys() & NOT_COUNTED.keys()
    for column in sorted(unused - {"video" if args.pool else ""}):
        warn(f"{column}: not used, {NOT_COUNTED[column]}")


def _conventions(args: argparse.Namespace, request: Request,
                 data: ResultFile) -> list[Convention]:
    """Return the conventions requested, and by default `OTHER` on labels that are unlike Market's.
    """
    default = args.convention is None and not args.choices
    unlike = default and unlike_market(data.query, data.gallery)
    return [*request.conventions, *([CONVENTIONS[OTHER]] if unlike else [])]


class FileAnswer(NamedTuple):
    """What is known of one result; `status` is the exit code of its gates."""

    method: Method
    findings: gates.Findings
    more: Details
    status: int
    ranking: str


def _evaluated(args: argparse.Namespace, request: Request, several: bool, name: str,
               files: list[str], made: Mapping[str, Result] | None) -> FileAnswer:
    """Evaluate the files of one result, or take what is `made`; write what is requested of one."""
    findings: gates.Findings = []
    if made is None:
        data = ranked_lists.read(args, files)
        results = evaluate_file(args, data, _conventions(args, request, data), request.lists)
        findings = gates.examine(args, data, request.conventions)
        _warn_of(args, data, results)
        results = dict(list(results.items())[:len(request.conventions)])
        benchmark = common.recognised(data)
    else:
        data, results, benchmark = None, dict(made), None
    common.check_measures(args, results.values())
    result, more, status, ranking = next(iter(results.values())), Details(), 0, ""
    layout, sizes = tables.about(result, data)
    if not several:
        status = gates.status(args, request.gates, result)
        more = _details(args, data, result, request.lists)
    intervals = None
    if not args.mean:
        results, intervals = confidence.find(args, results, request.intervals)
    if not several:
        ranking = _write(args, data, result)
    method = Method(name, files, layout, sizes, benchmark, results, intervals)
    if isinstance(made, ProtocolResult):
        method = method._replace(also=made.also)
    return FileAnswer(method, findings, more, status, ranking)


def _print(args: argparse.Namespace, request: Request, methods: list[Method],
           more: Details, several: bool) -> None:
    protocol, first = request.protocol, methods[0]
    named, measures = common.named(args), common.measures(args)
    chosen = "" if protocol is None else protocols.chosen(protocol, args, all(
        "metric" in result.signature for result in first.results.values()))
    by_convention = not several and len(first.results) > 1
    results, intervals = (
        (first.results, first.intervals) if by_convention or protocol is not None
        else (rows_of(methods), intervals_of(methods)))

    def as_json() -> Any:
        length = common.cmc_length(args)
        if protocol is not None:
            return parts.as_answer(protocol, first, length, more, chosen, named)
        values = evaluated(methods, length, more, named)
        return Evaluations(values, request.left_out) if several or by_convention else values[0]

    def as_text() -> str:
        if protocol is not None:
            return parts.as_text(protocol, first, measures, chosen)
        if several:
            return tables.by_method(methods, request.left_out, measures)
        if by_convention:
            return tables.by_convention(
                first, request.left_out, common.measures(args, (1, 5, 10)))
        return tables.one_result(first, measures)

    show_answer(args.format, json=as_json, table=as_text,
                csv=lambda: rows.as_csv(results, measures=measures, intervals=intervals),
                paper=lambda: rows.table(results, measures=measures, intervals=intervals))
    if args.format == "table" and more != Details():
        show(tables.details(more, named))


def _print_mean(args: argparse.Namespace, request: Request, results: Mapping[str, Result]) -> None:
    """Print the numbers of each result, and their mean, spread and interval."""
    measures = common.named(args) or (printed(args.ranks) if args.ranks else METRICS)
    answer = MEANS[args.mean](results, measures, **request.intervals or {})
    signatures = {name: str(result.signature) for name, result in results.items()}
    shown = answer, signatures, means.WORDS[args.mean]
    show_answer(args.format, json=lambda: means.Spread(args.files, answer, signatures),
                table=lambda: means.as_text(*shown), csv=lambda: means.as_csv(*shown),
                paper=lambda: means.as_table(*shown))


def _details(args: argparse.Namespace, data: ResultFile | None, result: Result,
             lists: IndexLists | None) -> Details:
    """Return what --at, --worst and --by request; a saved result has no wrong images."""
    worst, measures = None, common.named(args)
    if args.worst is not None:
        queries = worst_queries(result, args.worst)
        how = common.how(args, [result.convention], lists)
        images = [None] * len(queries) if data is None else nearest_wrong(data, queries, how)
        worst = worst_rows(result, dict(zip(queries.tolist(), images)),
                           None if data is None else data.gallery, measures)
    return Details(
        at=None if args.at is None else at_rows(result, args.at), worst=worst,
        by=None if args.by is None else {
            by: group_rows(result, by, measures) if data is None or by != "camera-pair" else
            _pairs(args, data, result) for by in dict.fromkeys(args.by)})


def _pairs(args: argparse.Namespace, data: ResultFile, result: Result) -> PairMatrices:
    """Return the numbers of pairs of cameras, by the distances of the result."""
    return pair_matrices(camera_pairs_of(data.input, data.query, data.gallery, "plain",
                                         common.how(args, [result.convention])))


def _write(args: argparse.Namespace, data: ResultFile | None, result: Result) -> str:
    """Write the files of --save and --per-query, where they are requested.

    Return what is in the files of trec_eval, and how it reads them; empty without them.
    """
    ranking = ""
    is_json = args.per_query is not None and Path(args.per_query).suffix.lower() == ".json"
    if is_json and len(result.trials) != 1:
        raise InputError("--per-query", "a name that ends in .csv where the numbers are no plain "
                         "means over queries", args.per_query, "--save keeps all that they are "
                         "made of")
    if data is not None and _is_ranking(args.save):
        qrels, run = _files_of_ranking(args.save)
        with common.progress_bar(len(data.query)) as bar:
            lines = write_ranking(data, qrels, run, common.how(args, [result.convention], bar=bar))
        ranking = tables.ranking(qrels, run, len(data.query), lines)
    elif args.save is not None:
        result.save(args.save)
    if args.per_query is None:
        return ranking
    measures = common.named(args)
    text = (json.dumps({"schema": SCHEMA, **rows.per_query_json(result, measures)}, indent=1)
            + "\n" if is_json else rows.per_query_csv(result, measures))
    with whole_files(args.per_query) as (file,):
        file.write(text)
    return ranking


# ---------------------------------------------------------------- before the work

def _check(args: argparse.Namespace) -> Request:
    """Return what is requested; what is wrong, or does not go together, is known before the work.
    """
    common.cmc_length(args)
    common.named(args)
    saved = systems.is_saved(args, args.files)
    if saved:
        systems.check_not_evaluated(args)
    of_one = common.given(args, *OF_ONE_RESULT, "--mean")
    protocol = protocols.check_part(args) if of_one else protocols.check(args)
    conventions, left_out = common.conventions_of(args)
    if len(conventions) > 1:
        common.refuse(args, (*OF_ONE_RESULT, "--mean"), "one convention",
                      f"{len(conventions)}; name one")
    if args.mean:
        common.refuse(args, (*OF_ONE_RESULT, "--cmc"), "numbers of one result",
                      "a mean of several; evaluate each in a call of its own")
    if args.format not in ("table", "json"):
        common.refuse(args, ("--at", "--worst", "--by"), "a table or JSON",
                      f"{args.format}; leave one of them out")
    if args.worst is not None:
        check_count(args.worst, "--worst")
    if saved:
        common.refuse(args, (*OF_DISTANCES, "--strict"), "features or distances",
                      "a saved result; evaluate the result file anew")
    if saved or protocol is not None or args.labels is not None:
        _check_images(args, protocol, saved)
    _check_written(args)
    request = Request(conventions, left_out, confidence.check(args), gates.check(args),
                      common.read_lists(args, conventions), protocol)
    ranked_lists.check(args, *OF_DISTANCES, "--worst")
    return request


def _check_images(args: argparse.Namespace, protocol: Protocol | None, saved: bool) -> None:
    """Refuse what a saved result, parts of a protocol or ranked lists are not enough for."""
    got = ("a saved result; evaluate the result file anew" if saved else
           "ranked lists (--labels)" if protocol is None else f"--protocol {protocol.name}")
    if "camera-pair" in (args.by or ()) and (saved or protocol is not None):
        raise InputError("--by camera-pair", "features, distances or ranked lists", got)
    if _is_ranking(args.save):
        raise InputError("--save", "features or distances for a name that ends in .run", got,
                         "--save NAME.json keeps the result")


def _is_ranking(name: str | None) -> bool:
    return name is not None and Path(name).suffix.lower() == ".run"


def _files_of_ranking(name: str) -> tuple[str, str]:
    """Return the names of qrels and run."""
    return str(Path(name).with_suffix(".qrels")), name


#: Options that write a file, and how its name may end.
_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "--save": (".json", ".run"), "--per-query": (".csv", ".json")}


def _check_written(args: argparse.Namespace) -> None:
    """Refuse, before any work, a file that could not be written as its option says."""
    written = {option: name for option, name in (
        ("--save", args.save), ("--per-query", args.per_query)) if name is not None}
    for option, name in written.items():
        suffix, suffixes = Path(name).suffix, _SUFFIXES[option]
        if suffix.lower() not in suffixes and not (suffix == "" and is_direct(name)):
            raise InputError(option, f"a name that ends in {' or '.join(suffixes)}", name)
    check_targets(*(_files_of_ranking(args.save)[:1] if _is_ranking(args.save) else ()),
                  *written.values())
