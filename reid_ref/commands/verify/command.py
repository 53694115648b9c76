"""`reid-ref verify`: do the summaries of a stored result follow from its values a query?"""
from __future__ import annotations

import argparse

from reid_ref.commands.verify.compute import Check, Verified
from reid_ref.console.terminal import show
from reid_ref.result.stored import Stored
from reid_ref.text import row


def as_text(stored: Stored, verified: Verified) -> str:
    """Return what differs, and what was checked."""
    lines = row("input", stored.path)
    for check in verified.checks:
        if not check.agrees:
            lines += row("differs", _difference(check))
    for problem in verified.problems:
        lines += row("wrong", problem)
    agree = sum(check.agrees for check in verified.checks)
    n_query = len(stored.per_query.status)
    lines += row("verified", f"{agree} of {len(verified.checks)} numbers agree with the values "
                 f"of {n_query:,} queries, to the last bit")
    if verified.left_out:
        lines += row("left out", f"{', '.join(verified.left_out)}: of CMC "
                     f"{stored.convention.cmc}, which needs whole ranked lists")
    return "\n".join(lines)


def _difference(check: Check) -> str:
    written, found = check.written, check.found
    if isinstance(written, list) and isinstance(found, list):
        place = next((k for k, pair in enumerate(zip(written, found)) if pair[0] != pair[1]),
                     min(len(written), len(found)))
        return (f"{check.name}: entry {place + 1} is {_entry(written, place)}, the queries "
                f"give {_entry(found, place)}")
    return f"{check.name} is {written}, the queries give {found}"


def _entry(values: list[object], place: int) -> object:
    return values[place] if place < len(values) else "absent"


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
    from reid_ref.commands.verify.compute import verify
    from reid_ref.result.stored import read_stored

    stored = read_stored(args.file)
    verified = verify(stored)
    show(as_text(stored, verified))
    return 0 if verified.holds else 1
