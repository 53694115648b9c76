"""A cross-check as a report for people; `plain` makes the JSON for programs."""
from __future__ import annotations

import math

from reid_ref.commands.crosscheck.compute import CrossCheck, Reference
from reid_ref.commands.crosscheck.compute.comparison import LEVELS
from reid_ref.commands.crosscheck.compute.evaluators import shorten
from reid_ref.result import RANKS
from reid_ref.text import row

#: How many of the queries that differ are named.
_NAMED = 10


def as_text(check: CrossCheck, source: str = "") -> str:
    """Return the report for a terminal of 80 columns."""
    rows = [("input", source)] if source else []
    name = f"{check.evaluator} {check.version}".strip()
    rows += [("evaluator", f"{name}: {check.computes}" if check.computes else name),
             ("given", check.fed), ("verdict", verdict(check))]
    label = "" if check.verdict == "failed" else "invalid"
    rows += [(label, problem) for problem in check.problems]
    lines = _wrapped(rows)
    if check.reference is not None:
        lines += ["", *_numbers(check, check.reference), "", *_per_query(check)]
    rows = [("note", remark) for remark in check.remarks]
    rows += [("known fault", text) for text in check.defects.values()]
    rows += [("it warned", text) for text in check.warned[:5]]
    if check.printed:
        rows.append(("it printed", shorten(check.printed)))
    return "\n".join(lines + _wrapped(rows))


def verdict(check: CrossCheck) -> str:
    """Return the verdict as one sentence."""
    agreement = check.agreement
    near = bool(agreement) and all(item.level != "differs" for item in agreement.values())
    if check.verdict == "failed":
        alone = f"; asked query by query, its APs are those of {check.closest}" if near else ""
        return f"FAILED: {check.failure}{alone}"
    if check.follows is None:
        words = "; the closest is" if not near else ", although its numbers are near"
        return "DIFFERENT: it follows no convention known here" + (
            f"{words} {check.closest}" if check.closest else "")
    expected = ""
    if check.expected not in (None, check.follows.split("[")[0]):
        expected = f" (expected: {check.expected})"
    levels = [agreement[name].level for name in ("ap", "mAP", "mINP") if name in agreement]
    how = LEVELS[max(levels, key=list(LEVELS).index, default="bit")][0].removeprefix("equal")
    also = f"; here the same as {', '.join(check.also)}" if check.also else ""
    return f"EQUAL to convention {check.follows}{expected},{how}{also}"


def _numbers(check: CrossCheck, ours: Reference) -> list[str]:
    name = str(check.closest) if len(str(check.closest)) <= 23 else "ours"
    lines = []
    for field in ("mAP", "mINP", *(f"Rank_{k}" for k in RANKS)):
        pair = getattr(check, field), getattr(ours, field)
        if None not in pair:
            same = pair[0] == pair[1] or all(map(math.isnan, pair))
            lines.append(f"{field.replace('_', '-'):10}{pair[0]!r:>23}{pair[1]!r:>23}  "
                         f"{0.0 if same else pair[0] - pair[1]:.2g}")
    if lines:
        lines.insert(0, f"{'':10}{'theirs':>23}{name:>23}  difference")
    words = {"ap": "AP of each query", "cmc": "all of CMC"}
    return lines + _wrapped([
        ("", f"{words[name]}: {LEVELS[item.level][0]} (largest difference "
             f"{item.largest_difference:.2g})")
        for name, item in check.agreement.items() if name in words])


def _per_query(check: CrossCheck) -> list[str]:
    queries, first = check.queries, check.first_difference
    if queries is None or check.ap is None:
        return []
    rows = [("per query", f"{queries.equal:,} of {queries.compared:,} APs agree with "
                          f"{check.closest}")]
    if queries.differing:
        more = len(queries.differing) - _NAMED
        rows.append(("differing", ", ".join(map(str, queries.differing[:_NAMED]))
                     + (f" and {more:,} more" if more > 0 else "")))
    if first is not None:
        rows += [("first", f"query {first.query}: {first.theirs!r} for {first.ours!r}"),
                 ("why", first.why)]
    return _wrapped(rows)


def _wrapped(rows: list[tuple[str, str]]) -> list[str]:
    return [line for name, text in rows for line in row(name, text, 12)]
