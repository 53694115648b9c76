"""A cross-check as a report for people and as JSON for programs."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from reid_ref.commands.crosscheck.compute import CrossCheck
from reid_ref.commands.crosscheck.compute.foreign import Answer, ranks_and_cmc, shorten
from reid_ref.commands.crosscheck.compute.matching import LEVELS, Match
from reid_ref.result import RANKS, ranks_as_json
from reid_ref.text import number, numbers, row

#: How many of the queries that differ are named.
_NAMED = 10


def as_text(check: CrossCheck, source: str = "") -> str:
    """Return the report for a terminal of 80 columns."""
    lines = _row("input", source) if source else []
    name = f"{check.evaluator} {check.version}".strip()
    lines += _row("evaluator", f"{name}: {check.computes}" if check.computes else name)
    lines += _row("given", check.fed)
    if check.match is not None:
        n = len(check.match.result.per_query.ap)
        good = int(np.count_nonzero(check.match.result.per_query.n_good))
        lines += _row("queries", f"{n:,}, {good:,} of them with a good image")
    lines += _row("verdict", verdict(check))
    for problem in check.problems:
        lines += _row("invalid" if check.verdict != "failed" else "", problem)
    if check.match is not None and check.answer is not None:
        lines += ["", *_numbers(check.answer, check.match), ""]
        lines += _per_query(check)
    for remark in check.remarks:
        lines += _row("note", remark)
    for text in check.defects.values():
        lines += _row("known fault", text)
    for text in check.warned[:5]:
        lines += _row("it warned", text)
    if check.printed:
        lines += _row("it printed", shorten(check.printed))
    return "\n".join(lines)


def verdict(check: CrossCheck) -> str:
    """Return the verdict as one sentence."""
    if check.verdict == "equal":
        also = f"; here the same as {', '.join(check.also)}" if check.also else ""
        expected = how = ""
        if check.match is not None:
            if check.expected not in (None, check.match.convention.base):
                expected = f" (expected: {check.expected})"
            how = list(LEVELS.values())[check.match.worst].removeprefix("equal")
        return f"EQUAL to convention {check.follows}{expected},{how}{also}"
    if check.verdict == "failed":
        near = ""
        if check.match is not None and check.match.agrees:
            near = f"; asked query by query, its APs are those of {check.match.name}"
        return f"FAILED: {check.failure}{near}"
    near = f"; the closest is {check.match.name}" if check.match is not None else ""
    if check.match is not None and check.match.agrees:
        near = f", although its numbers are near {check.match.name}"
    return f"DIFFERENT: it follows no convention known here{near}"


def _numbers(answer: Answer, match: Match) -> list[str]:
    name = match.name if len(match.name) <= 23 else "ours"
    lines = [f"{quantity:10}{theirs!r:>23}{ours!r:>23}  {_difference(theirs, ours):.2g}"
             for quantity, theirs, ours in _pairs(answer, match)]
    if lines:
        lines.insert(0, f"{'':10}{'theirs':>23}{name:>23}  difference")
    for quantity, what in (("ap", "AP of each query"), ("cmc", "all of CMC")):
        if quantity in match.agreement:
            agreement = match.agreement[quantity]
            lines += _row("", f"{what}: {LEVELS[agreement.level]} (largest difference "
                              f"{agreement.largest_difference:.2g})")
    return lines


def _pairs(answer: Answer, match: Match) -> list[tuple[str, float, float]]:
    """Return each number that both give: its name, theirs, ours."""
    pairs: list[tuple[str, float, float]] = []
    for name, theirs, ours in (("mAP", answer.mAP, match.result.mAP),
                               ("mINP", answer.mINP, match.result.mINP)):
        if theirs is not None:
            pairs.append((name, theirs, ours))
    ranks, curve = ranks_and_cmc(answer)
    for k in RANKS:
        place = np.flatnonzero(ranks == k)
        if place.size and k <= len(match.result.cmc):
            pairs.append((f"Rank-{k}", float(curve[place[0]]), float(match.result.cmc[k - 1])))
    return pairs


def _difference(theirs: float, ours: float) -> float:
    if theirs == ours or math.isnan(theirs) and math.isnan(ours):
        return 0.0
    return theirs - ours


def _per_query(check: CrossCheck) -> list[str]:
    match, first = check.match, check.first_difference
    if match is None or check.answer is None or check.answer.ap is None:
        return []
    lines = _row("per query", f"{match.n_equal:,} of {match.n_compared:,} APs agree with "
                              f"{match.name}")
    differing = match.differing.tolist()
    if differing:
        more = f" and {len(differing) - _NAMED:,} more" if len(differing) > _NAMED else ""
        lines += _row("differing", ", ".join(map(str, differing[:_NAMED])) + more)
    if first is not None:
        lines += _row("first", f"query {first.query}: {first.theirs!r} for {first.ours!r}")
        lines += _row("why", first.why)
    return lines


def as_json(check: CrossCheck) -> dict[str, Any]:
    """Return the cross-check as plain JSON values; NaN and infinity become None.

    Keys: evaluator, version, computes, fed, verdict (equal, different, failed), follows, also,
    expected, closest; Rank-k, mAP, mINP, ranks, cmc, ap (theirs); reference (the same of ours, by
    `closest`); agreement (quantity to level and largest_difference); queries (compared, equal:
    how many; differing: which); first_difference (query, theirs, ours, why) or null; remarks,
    defects, problems, failure, printed, warned.
    """
    answer, match, first = check.answer or Answer(), check.match, check.first_difference
    ranks, curve = ranks_and_cmc(answer)
    return {
        "evaluator": check.evaluator, "version": check.version, "computes": check.computes,
        "fed": check.fed, "verdict": check.verdict, "follows": check.follows,
        "also": list(check.also), "expected": check.expected,
        "closest": None if match is None else match.name,
        **{f"Rank-{k}": number(value) for k, value in zip(ranks.tolist(), curve.tolist())
           if k in RANKS},
        "mAP": number(answer.mAP), "mINP": number(answer.mINP),
        "ranks": ranks.tolist(), "cmc": numbers(curve),
        "ap": None if answer.ap is None else numbers(answer.ap),
        **_match_as_json(match),
        "first_difference": None if first is None else {
            "query": first.query, "theirs": number(first.theirs), "ours": number(first.ours),
            "why": first.why},
        "remarks": list(check.remarks), "defects": check.defects,
        "problems": list(check.problems), "failure": check.failure,
        "printed": check.printed, "warned": list(check.warned),
    }


def _match_as_json(match: Match | None) -> dict[str, Any]:
    if match is None:
        return {"reference": None, "agreement": {}, "queries": None}
    ours = match.result
    return {
        "reference": {**ranks_as_json(ours.cmc), "mAP": number(ours.mAP),
                      "mINP": number(ours.mINP), "cmc": numbers(ours.cmc)},
        "agreement": {
            quantity: {"level": agreement.level,
                       "largest_difference": number(agreement.largest_difference)}
            for quantity, agreement in match.agreement.items()},
        "queries": {"compared": match.n_compared, "equal": match.n_equal,
                    "differing": match.differing.tolist()}}


def _row(name: str, text: str) -> list[str]:
    return row(name, text, 12)
