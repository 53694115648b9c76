"""`reid-ref published`: the built-in table of published figures."""
from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from reid_ref.commands import common
from reid_ref.commands.terminal import show

if TYPE_CHECKING:
    from reid_ref.analysis.published import Published


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "List published Rank-1 and mAP (percent, as printed) with the evaluator that "
        "computed them, or show one in full.")
    command.epilog = (
        "Hand a key to `reid-ref validate FILE --paper KEY`. An asterisk marks a "
        "Rank-k that is not k/N: a misprint, a truncation or another set of queries. "
        "Exit code 0; with --check 1 where a figure is impossible; 2: wrong input.")
    command.set_defaults(run=run)
    command.add_argument("key", nargs="?", metavar="KEY", help="show this one in full")
    command.add_argument("--dataset", default="", metavar="TEXT",
                         help="only datasets with this in their name")
    command.add_argument("--method", default="", metavar="TEXT",
                         help="only those with this in their method, backbone or key")
    command.add_argument("--check", action="store_true",
                         help="only those that are impossible: a Rank-k that is not k/N, or an "
                              "mAP out of reach with that Rank-1")
    command.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    from reid_ref.analysis.published import by_key, find
    from reid_ref.arrays import InputError
    from reid_ref.report.published import as_list, as_page

    if args.key is None:
        rows = find(args.dataset, args.method)
        if args.check:
            return _check(args, rows)
        if args.json:
            common.print_json({"published": [asdict(row) for row in rows]})
        else:
            show(as_list(rows))
        return 0
    if args.dataset or args.method:
        raise InputError(f"KEY: {args.key!r} names one figure already; leave out --dataset and "
                         "--method, or the key")
    row = by_key(args.key)
    if args.check:
        return _check(args, (row,))
    if args.json:
        common.print_json(asdict(row))
    else:
        show(as_page(row))
    return 0


def _check(args: argparse.Namespace, rows: tuple[Published, ...]) -> int:
    from reid_ref.analysis.check_published import check_all
    from reid_ref.report.published import as_doubts, doubts_as_json

    doubts = check_all(rows)
    if args.json:
        common.print_json(doubts_as_json(doubts, rows))
    else:
        show(as_doubts(doubts, rows))
    return int(any(doubt.verdict == "impossible" for doubt in doubts))
