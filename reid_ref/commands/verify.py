"""`reid-ref verify`: do the summaries of a stored result follow from its per-query values?"""
from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from reid_ref.console.terminal import show
from reid_ref.result.saved import read_stored
from reid_ref.result.stored import Check, Stored, checks, impossible, ranks_written
from reid_ref.signature import off_its_name
from reid_ref.text import row


def as_text(stored: Stored, made: Sequence[Check], problems: Iterable[str]) -> str:
    """Return what differs or is wrong otherwise, what was checked, and what could not be."""
    lines = row("input", stored.path)
    for check in made:
        if not check.agrees:
            lines += row("differs", _difference(check))
    for problem in problems:
        lines += row("wrong", problem)
    agree = sum(check.agrees for check in made)
    n_query = len(stored.per_query.status)
    made_of = ("" if stored.result is None else
               "expectations and " if "expected" in stored.numbers else "ranks and ")
    lines += row("verified", f"{agree} of {len(made)} numbers agree with the {made_of}"
                 f"values of {n_query:,} {'query' if n_query == 1 else 'queries'}, to the last "
                 "bit")
    names = {check.name for check in made}
    left_out = [name for name in (*ranks_written(stored), "cmc") if name not in names]
    if left_out:
        lines += row("left out", f"{', '.join(left_out)}: of CMC {stored.convention.cmc}, which "
                     "needs whole ranked lists")
    return "\n".join(lines)


def _difference(check: Check) -> str:
    written, computed = check.written, check.computed
    if isinstance(written, list) and isinstance(computed, list):
        place = next((k for k, pair in enumerate(zip(written, computed)) if pair[0] != pair[1]),
                     min(len(written), len(computed)))
        return (f"{check.name}: entry {place + 1} is {_entry(written, place)}, the "
                f"{check.source} give {_entry(computed, place)}")
    return f"{check.name} is {written}, the {check.source} give {computed}"


def _entry(values: list[object], place: int) -> object:
    return values[place] if place < len(values) else "absent"


def add(command: argparse.ArgumentParser) -> None:
    """Compute mAP, mINP, Rank-k and the counts of a saved result again, from the values of each
    query, and these from its ranks if the result has them; check the signature.

    Exit code: 0 where every number agrees to the last bit, 1 where one differs, 2 for wrong input.
    """
    command.add_argument("file", metavar="FILE", help="what reid-ref evaluate --save OUT.json or "
                                                      "--per-query OUT.json wrote")


def run(args: argparse.Namespace) -> int:
    stored = read_stored(args.file, must_hold=False)
    made = list(checks(stored))
    problems = [*off_its_name(stored.signature), *impossible(stored)]
    show(as_text(stored, made, problems))
    return int(bool(problems) or not all(check.agrees for check in made))
