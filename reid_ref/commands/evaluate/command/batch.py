"""`reid-ref evaluate` with several results, a row each: one is in memory at a time."""
from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from reid_ref.commands.gate import command as gates
from reid_ref.console import confidence, files as ranked_lists, options as common
from reid_ref.console.files import names_of_results, said_of
from reid_ref.console.systems import saved_results
from reid_ref.console.terminal import show

if TYPE_CHECKING:
    from reid_ref.commands.evaluate.show.batch import Method
    from reid_ref.conventions import Convention
    from reid_ref.evaluation.result_file import ResultFile
    from reid_ref.result import Result

    Evaluate = Callable[[argparse.Namespace, ResultFile], dict[str, Result]]


def asked_for(args: argparse.Namespace) -> bool:
    """Tell whether each result is a row: there are several, or their rows have names."""
    from reid_ref.files import results_of_files

    # Ranked lists have their labels in other files: each is a result.
    args.groups = ([[Path(file)] for file in args.files] if args.labels
                   else results_of_files(*args.files))
    return len(args.groups) > 1 or args.names is not None


def run(args: argparse.Namespace, asked: list[Convention], left_out: dict[str, str],
        evaluate: Evaluate) -> int:
    """Evaluate each result under every convention by `evaluate`, and print a row for each."""
    from reid_ref.commands.evaluate.show import batch as methods, rows

    _refuse_what_is_for_one(args)
    names = names_of_results(args)
    found: list[Method] = []
    for name, files in zip(names, args.groups):
        found.append(_one(args, name, list(map(str, files)), asked, evaluate))
    if args.format == "json":
        common.print_json(methods.as_json(found, left_out, args.cmc))
    elif args.format == "table":
        show(methods.as_table(found, left_out, common.ranks(args)))
    else:
        write = {"csv": rows.as_csv, "markdown": rows.as_markdown,
                 "latex": rows.as_latex}[args.format]
        show(write(methods.rows_of(found), ranks=common.ranks(args),
                   intervals=methods.intervals_of(found)))
    return gates.of_findings(args)


def _refuse_what_is_for_one(args: argparse.Namespace) -> None:
    from reid_ref.arrays import InputError

    given = {"--per-query": args.per_query is not None, "--save": args.save is not None,
             "--ties bounds": args.ties == "bounds",
             "--implementation": args.implementation != "fast",
             "--rerank": args.rerank is not None, "--multi-query": args.multi_query is not None,
             "--at": args.at is not None, "--worst": args.worst is not None,
             "--by": args.by is not None, **gates.of_one_result(args)}
    for option in (option for option, is_given in given.items() if is_given):
        raise InputError(
            f"{option}: expected one result and no --name, got {len(args.groups)} "
            f"{'results' if len(args.groups) > 1 else 'result and --name'}; evaluate each in a "
            "call of its own")


def _one(args: argparse.Namespace, name: str, files: list[str], asked: list[Convention],
         evaluate: Evaluate) -> Method:
    from reid_ref.commands.evaluate.show import SAVED, sizes, sizes_of_saved
    from reid_ref.commands.evaluate.show.batch import Method

    with said_of(name, files):
        own = argparse.Namespace(**{**vars(args), "files": files})
        if (saved := saved_results(args, files)) is not None:
            return Method(name, files, SAVED, sizes_of_saved(*saved.values()), None,
                          *confidence.find(own, saved))
        data = ranked_lists.read(own) if args.labels else common.read_files(own)
        results = evaluate(own, data)
        gates.examine(own, data, asked)
        known = common.recognised(data)
        return Method(name, files, data.layout, sizes(data), known,
                      *confidence.find(own, results))
