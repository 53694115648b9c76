"""`reid-ref published`: the built-in table of published figures."""
from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from reid_ref.commands import common
from reid_ref.commands.terminal import show

if TYPE_CHECKING:
    from reid_ref.analysis.published import Published

WIDTH = 80


def add(commands: Any) -> None:
    command = commands.add_parser(
        "published", help="figures that others published, with their sources",
        description="List published Rank-1 and mAP (percent, as printed) with the evaluator that "
                    "computed them, or show one in full.",
        epilog="Hand a key to `reid-ref validate FILE --paper KEY`. An asterisk marks a "
               "Rank-k that is not k/N: a misprint, a truncation or another set of queries.")
    command.set_defaults(run=run)
    command.add_argument("key", nargs="?", metavar="KEY", help="show this one in full")
    command.add_argument("--dataset", default="", metavar="TEXT",
                         help="only datasets with this in their name")
    command.add_argument("--method", default="", metavar="TEXT",
                         help="only those with this in their method, backbone or key")
    command.add_argument("--json", action="store_true",
                         help="print JSON: the one result, or `published`, a list of them")


def run(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from reid_ref.analysis.published import by_key, find
    from reid_ref.arrays import InputError

    if args.key is None:
        rows = find(args.dataset, args.method)
        if args.json:
            common.print_json({"published": [asdict(row) for row in rows]})
        else:
            show(as_list(rows))
        return 0
    if args.dataset or args.method:
        raise InputError(f"KEY: {args.key!r} names one figure already; leave out --dataset and "
                         "--method, or the key")
    row = by_key(args.key)
    if args.json:
        common.print_json(asdict(row))
    else:
        show(as_page(row))
    return 0


def as_list(rows: tuple[Published, ...]) -> str:
    """Return key, Rank-1 and mAP of each result, under its source and evaluator."""
    from textwrap import wrap

    # As printed, but for the few with more than four decimals.
    def cell(text: str) -> str:
        return text if len(text) <= 7 else f"{float(text):.4f}"

    lines: list[str] = []
    heading = ""
    for row in rows:
        title = f"{row.source_repo} {row.source_path}: {row.evaluator}"
        if title != heading:
            heading = title
            lines += ([""] if lines else []) + wrap(
                title, WIDTH, break_long_words=False, break_on_hyphens=False)
            lines.append(f"  {'':53} {'Rank-1':>9} {'mAP':>9}")
        lines.append(f"  {row.key:53} {cell(row.rank1):>9} {cell(row.mAP):>9}"
                     + (" *" if row.is_suspect else ""))
    starred = sum(row.is_suspect for row in rows)
    lines += ["", f"{len(rows)} published figures, percent, as printed"
                  + (f"; * {starred} whose Rank-k is not k/N" if starred else "")]
    return "\n".join(lines)


def as_page(row: Published) -> str:
    """Return everything about one result; what its source does not state is left out."""
    from dataclasses import asdict
    from textwrap import wrap

    names = {"rank1": "Rank-1", "rank5": "Rank-5", "rank10": "Rank-10", "rank20": "Rank-20",
             "source_paper": "paper", "source_repo": "repository", "source_path": "file",
             "source_commit": "commit", "n_query": "queries",
             "label_minus_1": "label -1"}
    return "\n".join(
        line for name, text in asdict(row).items() if text
        for line in wrap(text, WIDTH, initial_indent=f"{names.get(name, name):12}",
                         subsequent_indent=" " * 12, break_long_words=False,
                         break_on_hyphens=False))
