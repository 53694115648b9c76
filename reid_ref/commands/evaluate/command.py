"""`reid-ref evaluate`: Rank-k, mAP and mINP of a result file, or of several."""
from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reid_ref.analysis.doctor.labels import label_findings
from reid_ref.arrays import BenchmarkWarning, ConventionWarning, InputError, UnreadWarning, warn
from reid_ref.commands import gate as gates
from reid_ref.commands.evaluate import show as tables
from reid_ref.commands.evaluate.compute import (
    Details, Evaluations, Method, PairMatrices, at_rows, evaluated, group_rows, intervals_of,
    pair_matrices, rows_of, worst_rows)
from reid_ref.commands.evaluate.request import (
    MEANS, PAIRS, EvaluateRequest, Plan, files_of_ranking, plan_of)
from reid_ref.commands.evaluate.show import means, parts, rows
from reid_ref.console import confidence, files as ranked_lists, options as common
from reid_ref.console import protocols
from reid_ref.console.answers import FORMATS, SCHEMA, show_answer
from reid_ref.console.confidence import Intervals
from reid_ref.console.given import Given, given_of
from reid_ref.console.request import SEVERAL, Request
from reid_ref.console.terminal import show
from reid_ref.conventions import CONVENTIONS, changed
from reid_ref.datasets import Recognised, recognise
from reid_ref.datasets.benchmarks import unlike_market
from reid_ref.disk import whole_files
from reid_ref.evaluation.camera_pairs import camera_pairs_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.rank_lists import worst_queries
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files.trec import write_ranking
from reid_ref.measures import printed
from reid_ref.protocols import ProtocolResult
from reid_ref.result import Result
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
#: Remedy where a ranking cannot be written.
KEPT = "--save NAME.json keeps the result"


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
    ranked_lists.add(command.add_argument_group("labels that are in other files"))


def _add_output(group: Any) -> None:
    Request.add(group, "--measure", "--ranks", "--name", "--cmc", formats=FORMATS)
    EvaluateRequest.add(group, "--mean", "--per-query", "--save", "--at", "--worst", "--by")


def run(request: EvaluateRequest) -> int:
    plan = plan_of(request)
    groups = _groups(request, plan)
    several = len(groups) > 1 or request.names is not None
    if several and not request.mean:
        request.check(SEVERAL, "one result and no --name",
                      f"{len(groups)} {'results' if len(groups) > 1 else 'result and --name'}",
                      "evaluate each in a call of its own")
    answers = []
    for given in given_of(request, groups, plan.protocol, later=True):
        with given.opened():
            answers.append(_evaluated(request, plan, several, given))
    findings = [finding for answer in answers for finding in answer.findings]
    status = answers[0].status or gates.of_findings(request, findings)
    methods = [answer.method for answer in answers]
    for answer in answers:
        plan.left_out.update(answer.left_out)
    if request.mean:
        _print_mean(request, plan, request.mean, rows_of(methods))
    else:
        more = answers[0].more
        _print(request, _shape(request, plan, methods, more, several), more)
        if request.format == "table" and answers[0].ranking:
            show(f"\n{answers[0].ranking}")
    return status


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
    unused = data.query.columns().keys() & data.gallery.columns().keys() & NOT_COUNTED.keys()
    for column in sorted(unused - {"video" if request.pool else ""}):
        warn(f"{column}: not used, {NOT_COUNTED[column]}", UnreadWarning)


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
    _check_data(request, given)
    findings, results, benchmark, left_out = (
        _of_data(request, plan, given) if given.has_data else
        ([], given.results(plan.how), None, {}))
    also, read_as = ((results.also, results.layout) if isinstance(results, ProtocolResult)
                     else (None, ""))
    common.check_measures(request, results.values())
    result, more, status, ranking = next(iter(results.values())), Details(), 0, ""
    layout, sizes = given.layout_and_sizes(result)
    how = replace(plan.how, conventions=(result.convention,))
    if not several:
        status = gates.status(request, plan.gates, result)
        more = _details(request, given, result, how)
    intervals = None
    if not request.mean:
        results, intervals = confidence.results_with_intervals(request, results, plan.intervals)
    if not several:
        ranking = _write(request, given, result, how)
    return FileAnswer(Method(given.name, given.files, layout, sizes, benchmark, dict(results),
                             intervals, also, read_as),
                      findings, more, status, ranking, left_out)


def _check_data(request: EvaluateRequest, given: Given) -> None:
    """Refuse what a saved result, parts of a protocol or ranked lists are not enough for."""
    for by in PAIRS.keys() & {*(request.by or ())}:
        given.data_for(f"--by {by}")
    if files_of_ranking(request.save):
        given.data_for("--save", KEPT)


def _of_data(request: EvaluateRequest, plan: Plan, given: Given,
             ) -> tuple[gates.Findings, Mapping[str, Result], Recognised | None, dict[str, str]]:
    """Evaluate data; return what the doctor finds, the results, the benchmark that they are of,
    and of all conventions those that the labels do not suffice for.

    By default, labels that are unlike Market's are evaluated under `OTHER` as well, for a warning.
    """
    data = given.data
    conventions, left_out = common.that_apply(request, plan.how.conventions, data.query)
    benchmark, of_data = recognise(data.query, data.gallery), (data.query, data.gallery)
    by_default = request.convention is None and not request.choices
    other = [CONVENTIONS[OTHER]] if by_default and unlike_market(*of_data) else []
    implied = data.query.camera is None and request.convention is None and not any(
        "ignored" in choice for choice in request.choices) and not (
            benchmark and not benchmark.off and benchmark.fingerprint.counts.cameras)
    if implied:
        conventions = [changed(each, each.choices_without_cameras(data.gallery), "ignored")
                       for each in conventions]
        other = [CONVENTIONS[OTHER].replace(
            **CONVENTIONS[OTHER].choices_without_cameras(data.gallery), name=OTHER)] * by_default
    results = given.results(replace(plan.how, conventions=(*conventions, *other)))
    findings = gates.examine(request, data, conventions)
    if implied:
        findings = [*findings, *(each for each in label_findings(*of_data)
                                 if each.key == "doctor:no-cameras")]
    _warn_of(request, data, results)
    results = dict(list(results.items())[:len(conventions)])
    return findings, results, benchmark, left_out


class Shape(NamedTuple):
    """How results are shown: as JSON, as a screen, and as rows of CSV and of papers."""

    json: Callable[[], Any]
    text: Callable[[], str]
    by_name: Mapping[str, Result]
    intervals: Intervals


def _shape(request: EvaluateRequest, plan: Plan, methods: list[Method], more: Details,
           several: bool) -> Shape:
    """Return the shape of parts of a protocol, of several results, of one by convention, of one.
    """
    first, of_rows = methods[0], (rows_of(methods), intervals_of(methods))
    named, measures = common.named(request), common.measures(request)
    length, protocol, left_out = common.cmc_length(request), plan.protocol, plan.left_out
    values = partial(evaluated, methods, length, more, named)

    if protocol is not None:
        chosen = protocols.chosen(protocol, request, all(
            "metric" in result.signature for result in first.results.values()))
        return Shape(lambda: parts.as_answer(protocol, first, length, more, chosen, named),
                     lambda: parts.as_text(protocol, first, measures, chosen),
                     first.results, first.intervals)
    if several:
        return Shape(lambda: Evaluations(values(), left_out),
                     lambda: tables.by_method(methods, left_out, measures), *of_rows)
    if len(first.results) > 1 or left_out:
        return Shape(lambda: Evaluations(values(), left_out),
                     lambda: tables.by_convention(
                         first, left_out, common.measures(request, (1, 5, 10))),
                     first.results, first.intervals)
    return Shape(lambda: values()[0], lambda: tables.one_result(first, measures), *of_rows)


def _print(request: EvaluateRequest, shape: Shape, more: Details) -> None:
    measures, by_name, intervals = common.measures(request), shape.by_name, shape.intervals
    show_answer(request.format, json=shape.json, table=shape.text,
                csv=lambda: rows.as_csv(by_name, measures=measures, intervals=intervals),
                paper=lambda: rows.table(by_name, measures=measures, intervals=intervals))
    if request.format == "table" and more != Details():
        show(tables.details(more, common.named(request)))


def _print_mean(request: EvaluateRequest, plan: Plan, of: str,
                results: Mapping[str, Result]) -> None:
    """Print the numbers of each result, and their mean, spread and interval."""
    measures = common.named(request) or (printed(request.ranks) if request.ranks else METRICS)
    answer = MEANS[of](results, measures, **plan.intervals or {})
    signatures = {name: str(result.signature) for name, result in results.items()}
    shown = answer, signatures, means.WORDS[of]
    show_answer(request.format, json=lambda: means.MeanAnswer(request.files, answer, signatures),
                table=lambda: means.as_text(*shown), csv=lambda: means.as_csv(*shown),
                paper=lambda: means.as_table(*shown))


def _details(request: EvaluateRequest, given: Given, result: Result, how: How) -> Details:
    """Return what --at, --worst and --by request."""
    worst, measures = None, common.named(request)
    if request.worst is not None:
        queries = worst_queries(result, request.worst)
        worst = worst_rows(result, dict(zip(queries.tolist(), given.nearest_wrong(queries, how))),
                           measures)
    return Details(
        at=None if request.at is None else at_rows(result, request.at), worst=worst,
        by=None if request.by is None else {
            by: _pairs(given.data, how, PAIRS[by]) if by in PAIRS else
            group_rows(result, by, measures) for by in dict.fromkeys(request.by)})


def _pairs(data: ResultFile, how: How, rule: str) -> PairMatrices:
    """Return the numbers of pairs of cameras, by the distances of the result."""
    return pair_matrices(camera_pairs_of(data.input, data.query, data.gallery, rule,
                                         replace(how, lists=None)))


def _write(request: EvaluateRequest, given: Given, result: Result, how: How) -> str:
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
    if request.per_query is None:
        return ranking
    measures = common.named(request)
    text = (json.dumps({"schema": SCHEMA, **rows.per_query_json(result, measures)}, indent=1)
            + "\n" if is_json else rows.per_query_csv(result, measures))
    with whole_files(request.per_query) as (file,):
        file.write(text)
    return ranking
