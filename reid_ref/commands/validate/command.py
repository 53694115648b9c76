"""`reid-ref validate`: which convention gives a published figure, and can it be at all?"""
from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from reid_ref.analysis.validate import (
    Validation, check_same_images, hopeless, is_searched, queries_of, search_file,
    validate_dataset, validate_file, validate_protocol, warn_other_queries)
from reid_ref.analysis.validate.candidates import WORDS
from reid_ref.analysis.validate.figures import check_all
from reid_ref.analysis.validate.search import n_passes
from reid_ref.arrays import BenchmarkWarning, InputError, errors_at, warn
from reid_ref.commands import gate as gates
from reid_ref.commands.validate.show import (
    FigureVerdicts, as_answer, as_lines, figure_verdict, as_table, known_counts)
from reid_ref.commands.validate.show.headline import headline
from reid_ref.commands.validate.show.figures import as_list, as_page
from reid_ref.console import options as common, protocols
from reid_ref.console.answers import input_of, show_answer
from reid_ref.console.request import NO_FILES, Request, option
from reid_ref.console.terminal import names_of_arguments, print_stderr, shows_progress
from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.datasets import FINGERPRINTS
from reid_ref.datasets.benchmarks import BENCHMARKS, counted_benchmark, known_benchmark
from reid_ref.datasets.pooling import read_multi_query
from reid_ref.datasets.printed import Curve, numbers_in, results_on
from reid_ref.datasets.published import (
    Figure, Published, by_key, find, is_figure, paper_figure, parse_figure)
from reid_ref.disk import read_lines
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.protocols import PROTOCOLS
from reid_ref.text.numbers import natural, whole


@dataclass(frozen=True, kw_only=True)
class ValidateRequest(Request):
    """What the command line requests."""

    dataset: str | None = option("--dataset")
    queries: int | None = option("--queries", needs=("--dataset",), type=natural)
    published: list[str] | None = option("--published", nargs="+", action="extend")
    paper: str | None = option("--paper")
    page: str | None = option("--table", not_of=(NO_FILES,))
    search: bool | None = option(
        "--search", not_of=(NO_FILES,), action=argparse.BooleanOptionalAction)
    search_depth: int | None = option(
        "--search-depth", not_of=(NO_FILES,), type=whole, choices=(1, 2))
    verbose: bool = option("--verbose", False, action="store_true")


def add(command: argparse.ArgumentParser) -> None:
    """Name the conventions and metrics that reproduce a published Rank-1 and mAP on a result file,
    those that come closest, and whether the figure is possible at all; if none does, search for
    what else would print it. Or show figures that others published.

    Usage:
        reid-ref validate FILE --published RANK1/MAP [RANK1/MAP ...]
        reid-ref validate FILE --paper KEY
        reid-ref validate FILE --table PAGE
        reid-ref validate --dataset NAME [--published RANK1/MAP ...]
        reid-ref validate --published FIGURES.csv
        reid-ref validate --paper KEY

    Examples:
        reid-ref validate fixtures/market_like.mat --published 45.8/40.2
        reid-ref validate --dataset Market-1501 --published 95.7/89.1
        reid-ref validate --dataset MSMT17

    Exit code 0: some convention reproduces the printed digits (rounded); 1: none does; 2: wrong
    input. Without a file, 0: the figure is possible; 1: it is not. Of several figures, 0: that
    holds for all.
    """
    common.add_files(command, nargs="*")
    ValidateRequest.add(command, "--dataset", "--queries", "--published", "--paper", "--table",
                        "--search", "--search-depth", "--verbose", "--protocol", "--part",
                        "--convention", "--set", "--max-memory", "--labels",
                        formats=("table", "json"),
                        conventions="all that are quick")


class Question(NamedTuple):
    """The request, in which files may stand behind figures: `--published 81.1/67.6 FILE`."""

    request: ValidateRequest
    figures: list[str]
    files: list[str]

    @classmethod
    def of(cls, request: ValidateRequest) -> Question:
        published = request.published or []
        figures = [text for k, text in enumerate(published) if not k or is_figure(text)]
        files = [text for text in published if text not in figures]
        return cls(request, figures, [*request.files, *files])

    def is_only(self, *options: str) -> bool:
        """Whether one of these alone is given, without a file or another figure."""
        given = self.request.given("--dataset", "--paper", "--published")
        return not self.request.files and len(given) == 1 and given[0] in options


class Shown(NamedTuple):
    """What a use answers: whether all is well, as JSON and as a screen."""

    good: bool
    json: Callable[[], Any]
    text: Callable[[], str]


def run(request: ValidateRequest) -> int:
    question = Question.of(request)
    shown = next(answer for is_meant, answer in USES if is_meant(question))(question)
    show_answer(request.format, json=shown.json, table=shown.text)
    return 0 if shown.good else 1


def _built_in(question: Question) -> Shown:
    """Show a published figure in full, or list those of a benchmark."""
    _refuse_options_of_files(question.request)
    if question.request.paper is not None:
        answer, as_text = check_all([by_key(question.request.paper)]), as_page
    else:
        dataset = str(question.request.dataset)
        part_of = FINGERPRINTS.get(dataset)  # cuhk03-np-labeled is of CUHK03-NP
        answer = check_all(find(part_of.name.partition(" ")[0] if part_of else dataset))
        as_text = as_list
    return Shown(answer.possible, lambda: answer, lambda: as_text(answer))


def _table(question: Question) -> Shown:
    """Test each row of a table: is its figure possible on its benchmark?"""
    request = question.request
    if question.files:
        raise InputError("FILE", "none with a table of figures, which are of benchmarks",
                         ", ".join(question.files))
    _refuse_options_of_files(request)
    rows = []
    path = question.figures[0]
    for row, result in results_on(read_lines(Path(path), "a table of figures")):
        name, key = row.name, next((number.benchmark for number in result.values()), None)
        with errors_at(f"{path}: line {row.line}"):
            if row.unread:
                raise InputError("published", "numbers in percent such as 81.1", row.unread[0][1])
            dataset = known_benchmark(key or request.dataset or "")
            answer = validate_dataset(dataset, _figure_of(result), request.queries)
        rows.append(("" if numbers_in(name)[0] else name, BENCHMARKS[dataset].name, answer))
    if not rows:
        raise InputError(path, "columns name, dataset, Rank-1 and mAP in the first line, and a "
                         "row for each figure", "none")
    return _lines(rows)


def _page(question: Question) -> Shown:
    """Compare each result in the tables of a page with one file, in one search."""
    request, path = question.request, Path(str(question.request.page))
    others = request.given("--published", "--paper", "--dataset")
    if others or not request.files:
        raise InputError("--table", "a result file and no other figure", ", ".join(others) or
                         "no file", "write reid-ref validate FILE --table PAGE")
    named = [(row.name, _figure_of(result)) for row, result in results_on(
        read_lines(path, "Markdown, HTML, LaTeX, CSV or text")) if result]
    if not named:
        raise InputError(path, "a table with Rank-k, mAP or mINP in its header", "none")
    answers, _ = _of_file(request, request.files, [figure for _, figure in named], None)
    return _lines((name, None, answer) for (name, _), answer in zip(named, answers))


def _figure_of(result: Curve) -> Figure:
    numbers = {name: number.percent for name, number in result.items()}
    return Figure(numbers.pop("Rank-1", None), numbers.pop("mAP", None), tuple(numbers.items()))


def _file(question: Question) -> Shown:
    """Compare figures with a file."""
    paper, figures = _figures(question)
    try:
        answers, data = _of_file(question.request, question.files, figures, paper)
    except InputError as error:  # the files may stand behind the figures
        raise error.renamed(names_of_arguments(question.files)) from None
    return _verdicts(question, answers, paper, None, input_of(question.files, data), data.layout)


def _benchmark(question: Question) -> Shown:
    """Test whether figures are possible on a benchmark, by its counts alone."""
    (paper, figures), request = _figures(question), question.request
    dataset, n_query = known_benchmark(str(question.request.dataset), "--dataset"), request.queries
    _refuse_options_of_files(request)
    if paper is not None:
        check_same_images(paper, counted_benchmark(dataset, "--dataset"))
    answers = [validate_dataset(dataset, figure, n_query) for figure in figures]
    name, counts = BENCHMARKS[dataset].name, known_counts(dataset, queries_of(dataset, n_query))
    return _verdicts(question, answers, paper, name, [("input", counts)], counts)


def _figures(question: Question) -> tuple[Published | None, list[Figure]]:
    """Return the figures, and the published one that they are from."""
    request = question.request
    if (request.published is None) == (request.paper is None):
        raise InputError("--published, --paper", "one of them",
                         "none" if request.paper is None else "both", "write --published "
                         "81.1/67.6, or --paper KEY; for a page: reid-ref check-table paper.md")
    if bool(question.files) == (request.dataset is not None):
        raise InputError("FILE, --dataset", "one of them", "both" if question.files else "none",
                         "name a result file, or write --dataset market1501")
    if request.paper is None:
        return None, list(map(parse_figure, question.figures))
    paper = by_key(request.paper)
    return paper, [paper_figure(paper)]


def _verdicts(question: Question, answers: list[Validation], paper: Published | None,
              dataset: str | None, heading: list[tuple[str, str]], layout: str) -> Shown:
    """Show one figure in full, several a line each; well is possible, of a file reproduced."""
    if len(answers) > 1:
        return _lines(("", dataset, answer) for answer in answers)
    answer, = answers
    return Shown(answer.possible if dataset else answer.reproduced,
                 lambda: as_answer(answer, paper, question.files, layout),
                 lambda: as_table(answer, heading, paper, question.files,
                                  question.request.verbose))


def _lines(answers: Iterable[tuple[str, str | None, Validation]]) -> Shown:
    """Show figures a line each, with the name and the benchmark of each."""
    pairs = [figure_verdict(answer, name, dataset) for name, dataset, answer in answers]
    return Shown(all(pair.possible if pair.dataset else pair.reproduced for pair in pairs),
                 lambda: FigureVerdicts(pairs), lambda: as_lines(pairs))


#: Each use: whether it is meant, and its answer; the first is taken.
USES: tuple[tuple[Callable[[Question], bool], Callable[[Question], Shown]], ...] = (
    (lambda question: question.request.page is not None, _page),
    (lambda question: question.is_only("--paper", "--dataset"), _built_in),
    (lambda question: question.request.paper is None and any(
        text.endswith(".csv") for text in question.figures[:1]), _table),
    (lambda question: question.request.dataset is not None, _benchmark),
    (lambda question: True, _file))


def _refuse_options_of_files(request: ValidateRequest) -> None:
    request.check(NO_FILES, "a result file to evaluate",
                  "--dataset" if request.dataset else "figures alone",
                  "leave it out, or name a file")


def _conventions(request: ValidateRequest) -> list[Convention] | None:
    """Return the conventions to try, with their choices changed; None: all that are quick."""
    names = common.convention_names(request, "all")
    for name in names or ():
        if CONVENTIONS[name].needs_lists:
            raise InputError("--convention", got=f"{name!r} needs lists of good and junk images, "
                             "which this command does not read", remedy="`reid-ref evaluate` does")
    if names is not None:
        return common.with_choices(request, [CONVENTIONS[name] for name in names])
    if request.choices:
        raise InputError("--set", "--convention NAME with it",
                         "all" if request.convention else "none", "name what to change")
    return None


def _of_file(request: ValidateRequest, files: list[str], figures: list[Figure],
             paper: Published | None) -> tuple[list[Validation], ResultFile]:
    """Compare figures with what each convention gives on a file, which is returned, too."""
    protocol = protocols.requested_protocol(request)
    if paper is not None and paper.protocol in PROTOCOLS:
        protocol = PROTOCOLS[paper.protocol]
    if protocol is not None and (request.convention is not None or request.choices):
        raise InputError("--convention, --set", "none with a figure of a protocol",
                         ", ".join([*(request.convention or ()), *(request.choices or ())]),
                         "write its digits after --published")
    conventions = _conventions(request)
    data, memory = common.read_files(request, files), common.max_memory(request)
    if paper is not None:
        warn_other_queries(paper, len(data.query))
    found = [] if protocol is not None else gates.examine(  # it ranks a selection of the images
        data, common.how(request, conventions or [*CONVENTIONS.values()]), normalize=True)
    with common.progress_bar(len(data.input.rankings()) * len(data.query)) as bar:
        progress = None if bar is None else bar.update
        if protocol is not None:
            part = request.part or ("" if paper is None else paper.part)
            return [validate_protocol(data, figure, protocol, part, memory, progress)
                    for figure in figures], data
        answers = validate_file(data, figures, conventions,
                                label_minus_1="" if paper is None else paper.label_minus_1,
                                protocol="" if paper is None else paper.protocol,
                                max_memory=memory, progress=progress)
    if {"doctor:numbered-apart", "doctor:identity-offset"} & {finding.key for finding in found}:
        answers = [replace(answer, labels=answer.labels or WORDS["answers"]["numbered apart"])
                   for answer in answers]
    if not all(answer.reproduced for answer in answers):
        protocols.warn_of_columns(data.query, data.gallery)
        hint = protocols.hint(data.query, data.gallery) if conventions is None else None
        if hint:
            warn(hint, BenchmarkWarning)
    if is_searched(answers, request.search):
        depth, varied = request.search_depth or 1, data
        if "mquery_f" in data.extra and len(files) == 1:
            varied = replace(data, multi_query=read_multi_query(files[0]))
        left_out = {} if request.search else hopeless(answers)
        if shows_progress():  # the answer so far, while the search runs
            print_stderr(f"{dict(headline(answers[0], files))['answer']}; searching, Ctrl-C shows "
                         "what was found")
        with common.progress_bar(n_passes(varied, depth, left_out), "searching") as bar:
            answers = search_file(varied, answers, conventions, depth=depth,
                                  always=bool(request.search), max_memory=memory,
                                  progress=None if bar is None else bar.update, partial=True)
    return answers, data
