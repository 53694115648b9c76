"""`reid-ref verify`: do the summaries of a stored result follow from its values a query?"""
from __future__ import annotations

import argparse

from reid_ref.commands.terminal import show


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Compute mAP, mINP, Rank-k and the counts of a stored result again from the "
        "values of each query, and check its signature.")
    command.epilog = (
        "Exit code: 0 where every number agrees to the last bit, 1 where one differs, 2 "
        "for wrong input.")
    command.set_defaults(run=run)
    command.add_argument("file", metavar="FILE",
                         help="what reid-ref evaluate --per-query OUT.json wrote")


def run(args: argparse.Namespace) -> int:
    from reid_ref.analysis.stored import read_stored
    from reid_ref.analysis.verify import verify
    from reid_ref.report.verify import as_text

    stored = read_stored(args.file)
    verified = verify(stored)
    show(as_text(stored, verified))
    return 0 if verified.holds else 1
