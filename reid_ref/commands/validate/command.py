"""`reid-ref validate`: which convention gives a published figure, and can it be at all?"""
from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from reid_ref.analysis.validate import (
    Validation, check_same_images, quick_conventions, search_file, validate_dataset,
    validate_file, validate_protocol, warn_other_queries, with_search)
from reid_ref.analysis.validate.figures import Figures, check_all
from reid_ref.analysis.validate.search import Trials, n_passes
from reid_ref.arrays import InputError
from reid_ref.commands import gate as gates
from reid_ref.commands.validate.show import (
    FigureVerdict, FigureVerdicts, as_answer, as_lines, figure_verdict, as_table, known_counts)
from reid_ref.commands.validate.show.figures import as_list, as_page
from reid_ref.console import options as common
from reid_ref.console.answers import input_of, show_answer
from reid_ref.console.request import NO_FILES, Request, option
from reid_ref.console.terminal import names_of_arguments
from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.datasets import FINGERPRINTS
from reid_ref.datasets.benchmarks import counted_benchmark
from reid_ref.datasets.pooling import read_multi_query
from reid_ref.datasets.printed import results_on
from reid_ref.datasets.published import (
    Figure, Published, by_key, find, is_figure, paper_figure, parse_figure, read_figures)
from reid_ref.disk import read_lines
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.protocols import PROTOCOLS
from reid_ref.text.numbers import whole


@dataclass(frozen=True, kw_only=True)
class ValidateRequest(Request):
    """What the command line requests."""

    dataset: str | None = option(
        "--dataset", metavar="NAME",
        help="instead of a file: is the figure possible on this benchmark, such as Market-1501? "
             "Without a figure: list those published of it, percent, as printed, and mark the "
             "impossible")
    published: list[str] | None = option(
        "--published", metavar="RANK1/MAP", nargs="+", action="extend",
        help="percent, with the decimals printed: 81.1/67.6; one alone: 81.1/ or /67.6; several "
             "have a line each, and so have the rows of a .csv with columns name, dataset, Rank-1 "
             "and mAP")
    paper: str | None = option(
        "--paper", metavar="KEY",
        help="take the figure from the built-in table, whose keys --dataset lists, and compare "
             "with its protocol alone; without a file: show it in full")
    page: str | None = option(
        "--table", not_of=(NO_FILES,), metavar="FILE",
        help="take the figures from the tables of results in a Markdown, HTML or LaTeX file, and "
             "compare all of them with the result file in one search")
    search: bool | None = option(
        "--search", not_of=(NO_FILES,), action=argparse.BooleanOptionalAction,
        help="try what people did besides: re-ranking, lists without distractors, half of the "
             "features ... (default: if no convention gives the figure)")
    search_depth: int | None = option(
        "--search-depth", not_of=(NO_FILES,), type=whole, choices=(1, 2),
        help="2: also pairs, of label 0 and -1 or re-ranking with any other")


def add(command: argparse.ArgumentParser) -> None:
    """Name the conventions and metrics that reproduce a published Rank-1 and mAP on a result file,
    those that come closest, and whether the figure is possible at all; if none does, search for
    what else would print it. Or show figures that others published.

    Exit code 0: some convention reproduces the printed digits (rounded); 1: none does; 2: wrong
    input. Without a file, 0: the figure is possible; 1: it is not. Of several figures, 0: that
    holds for all.
    """
    common.add_files(command, nargs="*")
    ValidateRequest.add(command, "--dataset", "--published", "--paper", "--table", "--search",
                        "--search-depth", "--convention", "--set", "--max-memory", "--labels",
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

    def is_only(self, option: str) -> bool:
        """Whether this option alone is given, without a file or another figure."""
        given = self.request.given("--dataset", "--paper", "--published")
        return not self.request.files and given == [option]


class Shown(NamedTuple):
    """What a use answers: whether all is well, as JSON and as a screen."""

    good: bool
    json: Callable[[], Any]
    text: Callable[[], str]


class Use(NamedTuple):
    """A use of the command: whether it is meant, and its answer."""

    is_meant: Callable[[Question], bool]
    answer: Callable[[Question], Shown]


def run(request: ValidateRequest) -> int:
    asked = Question.of(request)
    shown = next(use for use in USES if use.is_meant(asked)).answer(asked)
    show_answer(request.format, json=shown.json, table=shown.text)
    return 0 if shown.good else 1


def _key(asked: Question) -> Shown:
    """Show a published figure in full."""
    _refuse_options_of_files(asked.request)
    return _built_in([by_key(str(asked.request.paper))], as_page)


def _list(asked: Question) -> Shown:
    """List the published figures of a benchmark."""
    _refuse_options_of_files(asked.request)
    dataset = str(asked.request.dataset)
    part_of = FINGERPRINTS.get(dataset)  # cuhk03-np-labeled is of CUHK03-NP
    return _built_in(find(part_of.name.partition(" ")[0] if part_of else dataset), as_list)


def _built_in(published: Sequence[Published], as_text: Callable[[Figures], str]) -> Shown:
    answer = check_all(published)
    return Shown(answer.possible, lambda: answer, lambda: as_text(answer))


def _table(asked: Question) -> Shown:
    """Test each row of a table: is its figure possible on its benchmark?"""
    request = asked.request
    if asked.files:
        raise InputError("FILE", "none with a table of figures, which are of benchmarks",
                         ", ".join(asked.files))
    _refuse_options_of_files(request)
    pairs = []
    for name, dataset, figure in read_figures(Path(asked.figures[0]), request.dataset):
        answer = validate_dataset(dataset, figure)
        pairs.append(figure_verdict(answer, name, FINGERPRINTS[dataset].name))
    return _lines(pairs, all(pair.possible for pair in pairs))


def _page(asked: Question) -> Shown:
    """Compare each result in the tables of a page with one file, in one search."""
    request, path = asked.request, Path(str(asked.request.page))
    others = request.given("--published", "--paper", "--dataset")
    if others or not request.files:
        raise InputError("--table", "a result file and no other figure", ", ".join(others) or
                         "no file", "write reid-ref validate FILE --table PAGE")
    named: list[tuple[str, Figure]] = []
    for row, result in results_on(read_lines(path, "Markdown, HTML or LaTeX")):
        numbers = {name: number.percent for name, number in result.items()}
        named.append((row.name, Figure(numbers.pop("Rank-1", None), numbers.pop("mAP", None),
                                       tuple(numbers.items()))))
    if not named:
        raise InputError(path, "a table with Rank-k, mAP or mINP in its header", "none")
    answers, _ = _of_file(request, request.files, [figure for _, figure in named], None)
    return _lines([figure_verdict(answer, name, None) for answer, (name, _) in zip(
        answers, named)], all(answer.reproduced for answer in answers))


def _file(asked: Question) -> Shown:
    """Compare figures with a file."""
    paper, figures = _figures(asked)
    try:
        answers, data = _of_file(asked.request, asked.files, figures, paper)
    except InputError as error:  # the files may stand behind the figures
        raise error.renamed(names_of_arguments(asked.files)) from None
    return _verdicts(asked, answers, paper, None, input_of(asked.files, data), data.layout,
                     all(answer.reproduced for answer in answers))


def _benchmark(asked: Question) -> Shown:
    """Test whether figures are possible on a benchmark, by its counts alone."""
    paper, figures = _figures(asked)
    dataset = counted_benchmark(str(asked.request.dataset), "--dataset")
    _refuse_options_of_files(asked.request)
    if paper is not None:
        check_same_images(paper, dataset)
    answers = [validate_dataset(dataset, figure) for figure in figures]
    counts = known_counts(FINGERPRINTS[dataset])
    return _verdicts(asked, answers, paper, FINGERPRINTS[dataset].name, [("input", counts)],
                     counts, all(answer.possible for answer in answers))


def _figures(asked: Question) -> tuple[Published | None, list[Figure]]:
    """Return the figures, and the published one that they are from."""
    request = asked.request
    if (request.published is None) == (request.paper is None):
        raise InputError("--published, --paper", "one of them",
                         "none" if request.paper is None else "both", "write --published "
                         "81.1/67.6, or --paper KEY")
    if bool(asked.files) == (request.dataset is not None):
        raise InputError("FILE, --dataset", "one of them", "both" if asked.files else "none",
                         "name a result file, or write --dataset market1501")
    if request.paper is None:
        return None, list(map(parse_figure, asked.figures))
    paper = by_key(request.paper)
    return paper, [paper_figure(paper)]


def _verdicts(asked: Question, answers: list[Validation], paper: Published | None,
              dataset: str | None, heading: list[tuple[str, str]], layout: str,
              good: bool) -> Shown:
    """Show one figure in full, several a line each."""
    if len(answers) > 1:
        return _lines([figure_verdict(answer, "", dataset) for answer in answers], good)
    answer, = answers
    return Shown(good, lambda: as_answer(answer, paper, asked.files, layout),
                 lambda: as_table(answer, heading, paper, asked.files))


def _lines(pairs: list[FigureVerdict], good: bool) -> Shown:
    return Shown(good, lambda: FigureVerdicts(pairs), lambda: as_lines(pairs))


#: The first that is meant.
USES = (
    Use(lambda asked: asked.request.page is not None, _page),
    Use(lambda asked: asked.is_only("--paper"), _key),
    Use(lambda asked: asked.is_only("--dataset"), _list),
    Use(lambda asked: asked.request.paper is None and any(
        text.endswith(".csv") for text in asked.figures[:1]), _table),
    Use(lambda asked: asked.request.dataset is not None, _benchmark),
    Use(lambda asked: True, _file))


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
    if names is None and request.choices:
        raise InputError("--set", "--convention NAME with it",
                         "all" if request.convention else "none", "name what to change")
    if names is None:
        return None
    return common.with_choices(request, [CONVENTIONS[name] for name in names])


def _of_file(request: ValidateRequest, files: list[str], figures: list[Figure],
             paper: Published | None) -> tuple[list[Validation], ResultFile]:
    """Compare figures with what each convention gives on a file, which is returned, too."""
    by_protocol = paper is not None and paper.protocol in PROTOCOLS
    if by_protocol and (request.convention is not None or request.choices):
        raise InputError("--convention, --set", "none with a figure of a protocol",
                         ", ".join([*(request.convention or ()), *(request.choices or ())]),
                         "write its digits after --published")
    conventions = _conventions(request)
    data, memory = common.read_files(request, files), common.max_memory(request)
    if paper is not None:
        warn_other_queries(paper, len(data.query))
    if not by_protocol:  # which ranks a selection of the images
        gates.examine(request, data, conventions or CONVENTIONS.values(), normalize=True)
    with common.progress_bar(len(data.input.rankings()) * len(data.query)) as bar:
        progress = None if bar is None else bar.update
        if paper is not None and by_protocol:
            return [validate_protocol(data, figures[0], paper.protocol, paper.part, memory,
                                      progress)], data
        answers = validate_file(data, figures, conventions,
                                label_minus_1="" if paper is None else paper.label_minus_1,
                                protocol="" if paper is None else paper.protocol,
                                max_memory=memory, progress=progress)
    return _searched(request, with_multi_query(data, files), answers, conventions, memory), data


def with_multi_query(data: ResultFile, files: list[str]) -> ResultFile:
    """Return the file with its multi-query images, if it has some."""
    if "mquery_f" not in data.extra or len(files) != 1:
        return data
    return replace(data, multi_query=read_multi_query(files[0]))


def _searched(request: ValidateRequest, data: ResultFile, answers: list[Validation],
              conventions: list[Convention] | None, memory: int | None) -> list[Validation]:
    """Return the answers with a search for what no convention gives; Ctrl-C ends it."""
    always = bool(request.search)
    if request.search is False or not always and all(each.reproduced for each in answers):
        return answers
    depth = request.search_depth or 1
    trials = Trials(tuple(dict.fromkeys(
        name for answer in answers for name in answer.figure.numbers())))
    records = quick_conventions(data) if conventions is None else conventions
    with common.progress_bar(n_passes(data, depth), "searching") as bar:
        try:
            return search_file(data, answers, trials, records, depth=depth,
                               always=always, max_memory=memory,
                               progress=None if bar is None else bar.update)
        except KeyboardInterrupt:
            return with_search(answers, trials, always)
