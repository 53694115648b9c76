"""`reid-ref validate`: which convention gives a published figure, and can it be at all?"""
from __future__ import annotations

import argparse

from reid_ref.arrays import InputError, check_choice
from reid_ref.arrays.memory import bytes_of
from reid_ref.commands.validate.compute import (
    validate_dataset, validate_file, warn_other_queries)
from reid_ref.commands.validate.show import as_answer, as_table, known_counts
from reid_ref.console import options as common
from reid_ref.console.terminal import show
from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.datasets import FINGERPRINTS
from reid_ref.datasets.published import by_key, paper_figure, parse_figure
from reid_ref.files import read_result
from reid_ref.text import source


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Say which conventions and metrics reproduce a published Rank-1 and mAP on a "
        "result file, which come closest, and whether the figure is possible at all.")
    command.epilog = (
        "Exit code 0: some convention reproduces the printed digits (rounded); 1: none "
        "does; 2: wrong input. With --dataset, 0: the figure is possible; 1: it is not.")
    command.set_defaults(run=run)
    command.add_argument("files", nargs="*", metavar="FILE",
                         help="result file or files, or a folder of .npy files")
    command.add_argument("--dataset", metavar="NAME",
                         help="instead of a file: say whether the figure is possible on this "
                              "benchmark, such as market1501")
    command.add_argument("--published", metavar="RANK1/MAP",
                         help="percent, with the decimals printed: 81.1/67.6; one alone: 81.1/ "
                              "or /67.6")
    command.add_argument("--paper", metavar="KEY",
                         help="take the figure from the built-in table: see `reid-ref published`")
    common.add_options(command, "--convention", "--set", "--max-memory",
                       formats=("table", "json"))


def run(args: argparse.Namespace) -> int:
    if (args.published is None) == (args.paper is None):
        raise InputError("--published, --paper", "one of them",
                         "none" if args.paper is None else "both", "write --published 81.1/67.6, "
                         "or --paper KEY")
    if bool(args.files) == (args.dataset is not None):
        raise InputError("FILE, --dataset", "one of them", "both" if args.files else "none",
                         "name a result file, or write --dataset market1501")
    return _of_file(args) if args.dataset is None else _of_dataset(args)


def _conventions(args: argparse.Namespace) -> list[Convention] | None:
    """Return the conventions to try, with their choices changed; None: all that are quick."""
    names = common.convention_names(args, "all")
    for name in names or ():
        if CONVENTIONS[name].needs_lists:
            raise InputError("--convention", got=f"{name!r} needs lists of good and junk images, "
                             "which this command does not read", remedy="`reid-ref evaluate` does")
    if names is None and args.choices:
        raise InputError("--set", "--convention NAME with it",
                         "all" if args.convention else "none", "name what to change")
    if names is None:
        return None
    return common.with_choices(args, [CONVENTIONS[name] for name in names])


def _of_file(args: argparse.Namespace) -> int:
    conventions = _conventions(args)
    memory = None if args.max_memory is None else bytes_of(args.max_memory, "--max-memory")
    paper = None if args.paper is None else by_key(args.paper)
    figure = parse_figure(args.published) if paper is None else paper_figure(paper)
    data = read_result(*args.files)
    if paper is not None:
        warn_other_queries(paper, "this file", len(data.query))
    with common.progress_bar(len(data.input.rankings()) * len(data.query)) as bar:
        answer = validate_file(data, figure, conventions,
                               label_minus_1="" if paper is None else paper.label_minus_1,
                               max_memory=memory,
                               progress=None if bar is None else bar.update)
    if args.format == "json":
        common.print_json(as_answer(answer, paper, args.files, data.layout))
    else:
        show(as_table(answer, source(args.files, data.layout), paper))
    return 0 if answer.reproduced else 1


def _of_dataset(args: argparse.Namespace) -> int:
    """Say whether the figure is possible on a benchmark, by its counts alone."""
    check_choice(args.dataset, "--dataset", FINGERPRINTS)
    if args.convention is not None or args.choices or args.max_memory is not None:
        raise InputError("--convention, --set, --max-memory", "a result file to evaluate",
                         "--dataset", "leave them out, or name a file")
    benchmark = FINGERPRINTS[args.dataset]
    paper = None if args.paper is None else by_key(args.paper)
    if paper is not None:
        warn_other_queries(paper, benchmark.name, benchmark.counts.query)
    figure = parse_figure(args.published) if paper is None else paper_figure(paper)
    answer = validate_dataset(args.dataset, figure)
    if args.format == "json":
        common.print_json(as_answer(answer, paper, [], known_counts(benchmark)))
    else:
        show(as_table(answer, known_counts(benchmark), paper))
    return 0 if answer.possible else 1
