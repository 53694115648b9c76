"""`reid-ref published`: the built-in table of published figures."""
from __future__ import annotations

import argparse
from dataclasses import asdict
from itertools import chain
from typing import Any

from reid_ref.commands.published.compute import Doubt
from reid_ref.console import options as common
from reid_ref.console.terminal import show
from reid_ref.datasets.printed import nearest
from reid_ref.datasets.published import Published
from reid_ref.text import row, wrap

#: Fields whose name is not what a reader calls them.
_NAMES = {"rank1": "Rank-1", "rank5": "Rank-5", "rank10": "Rank-10", "rank20": "Rank-20",
          "source_paper": "paper", "source_repo": "repository", "source_path": "file",
          "source_commit": "commit", "n_query": "queries", "label_minus_1": "label -1"}


def as_list(figures: tuple[Published, ...]) -> str:
    """Return key, Rank-1 and mAP of each result, under its source and evaluator."""
    lines: list[str] = []
    heading = ""
    for one in figures:
        title = f"{one.source_repo} {one.source_path}: {one.evaluator}"
        if title != heading:
            heading = title
            lines += ([""] if lines else []) + wrap(title)
            lines.append(f"  {'':53} {'Rank-1':>9} {'mAP':>9}")
        lines.append(f"  {one.key:53} {_cell(one.rank1):>9} {_cell(one.mAP):>9}"
                     + (" *" if one.is_suspect else ""))
    starred = sum(one.is_suspect for one in figures)
    lines += ["", f"{len(figures)} published figures, percent, as printed"
                  + (f"; * {starred} whose Rank-k is not k/N" if starred else "")]
    return "\n".join(lines)


def as_doubts(doubts: list[Doubt], figures: tuple[Published, ...]) -> str:
    """Return the rows that are impossible, and those possible only by truncation."""
    lines: list[str] = []
    for verdict, title in (("impossible", "Impossible"),
                           ("truncated", "Possible only if the digits were cut off, not rounded")):
        found = [doubt for doubt in doubts if doubt.verdict == verdict]
        if found:
            lines += [f"{title}: {len(found)}", *chain.from_iterable(map(_doubt, found)), ""]
    known = sum(bool(figure.n_query) for figure in figures)
    lines.append(f"{known} of {len(figures)} published figures checked: those whose number of "
                 "queries is known")
    return "\n".join(lines)


def _doubt(doubt: Doubt) -> list[str]:
    lines = [f"  {doubt.row.key}"]
    for name, hits in doubt.ranks.items():
        printed = getattr(doubt.row, name.lower().replace("-", ""))
        lines += wrap(f"{name} {printed} of {hits.n_query:,} queries; nearest: {nearest(hits)}",
                      first="      ", rest="          ")
    for bound in doubt.bounds:
        lines += wrap(f"mAP {doubt.row.mAP}; {bound.ap} with that Rank-1: "
                      f"{100 * bound.low:.2f} to {100 * bound.high:.2f}", first="      ")
    return lines


def doubts_as_json(doubts: list[Doubt], figures: tuple[Published, ...]) -> dict[str, Any]:
    """Return the same as plain JSON values.

    Keys: rows (in the table, or chosen), checked (those whose queries are known), doubts: each
    with key, verdict (impossible or truncated), ranks (Rank-k to n_query, fewest, most, rounding,
    nearest), mAP (bounds that it is outside of; else empty).
    """
    return {"rows": len(figures), "checked": sum(bool(figure.n_query) for figure in figures),
            "doubts": [{"key": doubt.row.key, "verdict": doubt.verdict,
                        "ranks": {name: asdict(hits) for name, hits in doubt.ranks.items()},
                        "mAP": [asdict(bound) for bound in doubt.bounds]} for doubt in doubts]}


def _cell(text: str) -> str:
    """As printed, but for the few with more than four decimals."""
    return text if len(text) <= 7 else f"{float(text):.4f}"


def as_page(figure: Published) -> str:
    """Return everything about one result; what its source does not state is left out."""
    return "\n".join(line for name, text in asdict(figure).items() if text
                     for line in row(_NAMES.get(name, name), text, 12))


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
    from reid_ref.arrays import InputError
    from reid_ref.datasets.published import by_key, find

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
        raise InputError("KEY", got=f"{args.key!r} names one figure already",
                         remedy="leave out --dataset and --method, or the key")
    row = by_key(args.key)
    if args.check:
        return _check(args, (row,))
    if args.json:
        common.print_json(asdict(row))
    else:
        show(as_page(row))
    return 0


def _check(args: argparse.Namespace, rows: tuple[Published, ...]) -> int:
    from reid_ref.commands.published.compute import check_all

    doubts = check_all(rows)
    if args.json:
        common.print_json(doubts_as_json(doubts, rows))
    else:
        show(as_doubts(doubts, rows))
    return int(any(doubt.verdict == "impossible" for doubt in doubts))
