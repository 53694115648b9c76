"""`reid-ref evaluate` with several results, a row each: one is in memory at a time."""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reid_ref.commands.gate import command as gates
from reid_ref.console import confidence, files as ranked_lists, options as common
from reid_ref.console.files import evaluate_file, names_of_results, said_of
from reid_ref.console.systems import saved_results
from reid_ref.console.terminal import show

if TYPE_CHECKING:
    from reid_ref.commands.evaluate.show.batch import Method
    from reid_ref.conventions import Convention
    from reid_ref.labels import IndexLists


def groups_of(args: argparse.Namespace) -> list[list[Path]]:
    """Return the files of each result."""
    from reid_ref.files import results_of_files

    # Ranked lists have their labels in other files: each is a result.
    return ([[Path(file)] for file in args.files] if args.labels
            else results_of_files(*args.files))


def run(args: argparse.Namespace, groups: list[list[Path]], asked: list[Convention],
        left_out: dict[str, str], lists: IndexLists | None,
        options: dict[str, Any] | None) -> int:
    """Evaluate each result under every convention, and print a row for each."""
    from reid_ref.commands.evaluate.show import batch as methods, rows

    _refuse_what_is_for_one(args, len(groups))
    names = names_of_results(args.names, groups)
    found: list[Method] = []
    findings: gates.Findings = []
    for name, files in zip(names, groups):
        method, more = _one(args, name, list(map(str, files)), asked, lists, options)
        found.append(method)
        findings += more
    if args.format == "json":
        common.print_json(methods.as_json(found, left_out, common.cmc_length(args)))
    elif args.format == "table":
        show(methods.as_table(found, left_out, common.ranks(args)))
    else:
        write = {"csv": rows.as_csv, "markdown": rows.as_markdown,
                 "latex": rows.as_latex}[args.format]
        show(write(methods.rows_of(found), ranks=common.ranks(args),
                   intervals=methods.intervals_of(found)))
    return gates.of_findings(args, findings)


def _refuse_what_is_for_one(args: argparse.Namespace, n: int) -> None:
    from reid_ref.arrays import InputError

    given = {"--per-query": args.per_query is not None, "--save": args.save is not None,
             "--ties bounds": args.ties == "bounds",
             "--implementation": args.implementation != "fast",
             "--rerank": args.rerank is not None, "--multi-query": args.multi_query is not None,
             "--at": args.at is not None, "--worst": args.worst is not None,
             "--by": args.by is not None, **gates.of_one_result(args)}
    for option in (option for option, is_given in given.items() if is_given):
        raise InputError(
            f"{option}: expected one result and no --name, got {n} "
            f"{'results' if n > 1 else 'result and --name'}; evaluate each in a call of its own")


def _one(args: argparse.Namespace, name: str, files: list[str], asked: list[Convention],
         lists: IndexLists | None, options: dict[str, Any] | None,
         ) -> tuple[Method, gates.Findings]:
    from reid_ref.commands.evaluate.show import SAVED, sizes, sizes_of_saved
    from reid_ref.commands.evaluate.show.batch import Method

    with said_of(name, files):
        if (saved := saved_results(args, files)) is not None:
            return Method(name, files, SAVED, sizes_of_saved(*saved.values()), None,
                          *confidence.find(args, saved, options)), []
        data = (ranked_lists.read(args, files[0]) if args.labels
                else common.read_files(args, files))
        results = evaluate_file(args, data, asked, lists)
        findings = gates.examine(args, data, asked)
        known = common.recognised(data)
        return Method(name, files, data.layout, sizes(data), known,
                      *confidence.find(args, results, options)), findings
