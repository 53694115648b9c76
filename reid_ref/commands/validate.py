"""`reid-ref validate`: which convention gives a published figure, and can it be at all?"""
from __future__ import annotations

import argparse
from typing import Any

from reid_ref.commands import common
from reid_ref.commands.terminal import show


def add(commands: Any) -> None:
    command = commands.add_parser(
        "validate", help="which convention gives a published figure",
        description="Say which conventions and metrics reproduce a published Rank-1 and mAP on a "
                    "result file, which come closest, and whether the figure is possible at all.",
        epilog="Exit code 0: some convention reproduces the printed digits (rounded); 1: none "
               "does; 2: wrong input.")
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE")
    command.add_argument("--published", metavar="RANK1/MAP",
                         help="percent, with the decimals printed: 81.1/67.6; one alone: 81.1/ "
                              "or /67.6")
    command.add_argument("--paper", metavar="KEY",
                         help="take the figure from the built-in table: see `reid-ref published`")
    command.add_argument("--convention", action="append", metavar="NAME[,NAME]",
                         help="only these conventions (default: all that need no more than the "
                              "file has and are quick)")
    command.add_argument("--json", action="store_true",
                         help="print JSON, in full precision, instead of the tables")


def run(args: argparse.Namespace) -> int:
    from reid_ref.analysis.figure import parse_figure
    from reid_ref.analysis.published import by_key
    from reid_ref.analysis.reproduce import (
        RANKINGS, paper_figure, validate, warn_other_queries)
    from reid_ref.arrays import InputError
    from reid_ref.conventions import CONVENTIONS
    from reid_ref.files import read_result
    from reid_ref.report.names import source
    from reid_ref.report.reproduce import as_json, as_table

    if (args.published is None) == (args.paper is None):
        raise InputError("--published, --paper: expected one of them, got "
                         + ("none" if args.paper is None else "both")
                         + "; write --published 81.1/67.6, or --paper KEY")
    names = common.convention_names(args, "all")
    for name in names or ():
        if CONVENTIONS[name].needs_lists:
            raise InputError(f"--convention: {name!r} needs lists of good and junk images, which "
                             "this command does not read; `reid-ref evaluate` does")
    paper = None if args.paper is None else by_key(args.paper)
    figure = parse_figure(args.published) if paper is None else paper_figure(paper)
    data = read_result(*args.files)
    if paper is not None:
        warn_other_queries(paper, data)
    rankings = len(RANKINGS) if data.distances is None else 1
    with common.progress_bar(rankings * len(data.query)) as bar:
        found = validate(data, figure, names,
                         label_minus_1="" if paper is None else paper.label_minus_1,
                         progress=None if bar is None else bar.update)
    if args.json:
        common.print_json({"files": args.files, "layout": data.layout, **as_json(found, paper)})
    else:
        show(as_table(found, source(args.files, data.layout), paper))
    return 0 if found.reproduced else 1
