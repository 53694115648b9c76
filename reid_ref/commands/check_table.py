"""`reid-ref check-table`: rows of Markdown tables that cannot be."""
from __future__ import annotations

import argparse
from pathlib import Path

from reid_ref.commands.terminal import show


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
    from reid_ref.analysis.check_table import check_row
    from reid_ref.analysis.markdown_tables import result_rows
    from reid_ref.arrays import check_choice
    from reid_ref.datasets import FINGERPRINTS
    from reid_ref.files.regular import read_lines
    from reid_ref.report.check_table import as_text

    if args.dataset is not None:
        check_choice(args.dataset, "--dataset", FINGERPRINTS)
    found = {path: [check_row(row, args.dataset)
                    for row in result_rows(read_lines(Path(path), "Markdown"))]
             for path in args.files}
    show(as_text(found))
    return int(any(one.problems for checked in found.values() for one in checked))
