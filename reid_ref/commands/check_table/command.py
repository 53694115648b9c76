"""`reid-ref check-table`: rows of Markdown tables that cannot be."""
from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from reid_ref.commands.check_table.compute import Checked
from reid_ref.console.terminal import show


def as_text(files: Mapping[str, Sequence[Checked]]) -> str:
    """Return a line for each problem, and how many rows were looked at."""
    rows = [one for checked in files.values() for one in checked]
    lines = [f"{path}:{one.row.line}: {one.row.name}: {problem}"
             for path, checked in files.items() for one in checked for problem in one.problems]
    signed = sum(one.row.signature is not None for one in rows)
    counts = sum(one.n_query is not None for one in rows)
    bad = sum(bool(one.problems) for one in rows)
    read = "1 row" if len(rows) == 1 else f"{len(rows):,} rows"
    return "\n".join([*lines, f"{read} with Rank-k, mAP or mINP: {signed:,} with a "
                      f"signature; counts k/N checked in {counts:,}; {bad:,} impossible"])


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Look for impossible numbers in the Markdown tables of README files: Rank-k "
        "that is no count k/N of the queries, Rank-k that falls, a signature that "
        "contradicts itself.")
    command.epilog = (
        "The number of queries is that of the row's signature, as reid-ref evaluate "
        "--format markdown writes it, or of --dataset. Exit code: 0 where every row can "
        "be, 1 where one cannot, 2 for wrong input.")
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE", help="Markdown")
    command.add_argument("--dataset", metavar="NAME",
                         help="of rows without a signature, e.g. market1501; a wrong name lists "
                              "the known ones")


def run(args: argparse.Namespace) -> int:
    from reid_ref.arrays import check_choice
    from reid_ref.commands.check_table.compute import check_row, result_rows
    from reid_ref.datasets import FINGERPRINTS
    from reid_ref.disk import read_lines

    if args.dataset is not None:
        check_choice(args.dataset, "--dataset", FINGERPRINTS)
    found = {path: [check_row(row, args.dataset)
                    for row in result_rows(read_lines(Path(path), "Markdown"))]
             for path in args.files}
    show(as_text(found))
    return int(any(one.problems for checked in found.values() for one in checked))
