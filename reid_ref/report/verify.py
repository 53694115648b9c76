"""What verifying a stored result showed, as text."""
from __future__ import annotations

from reid_ref.analysis.stored import Stored
from reid_ref.analysis.verify import Check, Verified
from reid_ref.words import row


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
