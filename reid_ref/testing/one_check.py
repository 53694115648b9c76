"""What comes of one check: the rule that is followed, and the smallest problem that shows it."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from reid_ref.conventions import Convention
from reid_ref.foreign.answers import Answer
from reid_ref.foreign.arrays import Arrays
from reid_ref.testing.checks import Check
from reid_ref.rules.numbers import NEARNESS, mismatches, result_of
from reid_ref.testing.judging import Verdict, try_asking
from reid_ref.testing.report import CheckResult
from reid_ref.rules.search import Asked, FoundRule, answered, mistake_of
from reid_ref.testing.smallest import as_code, by_hand, smallest
from reid_ref.testing.subject import Subject
from reid_ref.foreign.timeout import NO_ANSWER

#: Largest smallest problem that is printed: images of the gallery.
_PRINTED = 12


class Rules(NamedTuple):
    """What gives the answers that tell rules apart, and looks for their rule, once.

    `told`: the rules that were told of already.
    """

    pairs: Callable[[], Asked]
    of_all: Callable[[], FoundRule | None]
    told: set[str]


def rules_of(tested: Subject, claimed: Convention | None, junk: bool | None) -> Rules:
    """Return what looks for the rule that an evaluator follows."""
    pairs = cache(lambda: tested.pairs(junk))
    return Rules(pairs, cache(lambda: tested.rule(pairs(), claimed, junk)), set())


def check_one(tested: Subject, check: Check, rules: Rules,
              except_: Mapping[str, str] = MappingProxyType({})) -> CheckResult:
    """Return what came of one check, with the least problem that shows a failure.

    `except_`: known deviations, with reasons.
    """
    verdict = tested.judge(check)
    if check.name in except_:
        if verdict.passed:
            return CheckResult(check.name, "failed", "it does not deviate any more: take it out "
                               f"of except_ ({except_[check.name]})")
        return CheckResult(check.name, "passed", f"deviates, as is known: {except_[check.name]}")
    if verdict.passed:
        return CheckResult(check.name, "passed", verdict.remark or NEARNESS[verdict.level])
    if verdict.error:
        shown = ["as above"] if verdict.error in rules.told else _shown(tested, verdict)
        rules.told.add(verdict.error)
        return CheckResult(check.name, "error", "\n".join([verdict.error, *shown]))
    return CheckResult(check.name, "failed", "\n".join(
        [*_first_line(verdict), *_why(tested, verdict, rules)]))


def _first_line(verdict: Verdict) -> list[str]:
    return [verdict.text or str(verdict.difference)] + (
        [str(verdict.difference)] if verdict.text and verdict.difference else [])


def _why(tested: Subject, verdict: Verdict, rules: Rules) -> list[str]:
    """Return the rule that it follows, and the problem that shows it the first time."""
    if verdict.arrays is None or verdict.text:
        return _shown(tested, verdict)
    claimed = tested.convention.name
    if verdict.difference is not None and verdict.difference.is_percent:
        return _shown(tested, verdict)
    rule = elsewhere = rules.of_all()
    if elsewhere is not None and not _gives(elsewhere, verdict):
        rule = mistake_of([*answered(rules.pairs()), *verdict.answers], elsewhere)
        if rule is None:
            return [*_shown(tested, verdict), f"elsewhere it follows {elsewhere}"]
    if rule is None or rule.name == claimed:
        if "" in rules.told:
            return ["as above: no rule that was tried gives it"]
        rules.told.add("")
        return [*_shown(tested, verdict), "it follows no convention that was tried, nor one with "
                "one or two other choices or mistakes"]
    if str(rule) in rules.told:
        return [f"as above: it follows {rule}"]
    rules.told.add(str(rule))
    return [*_shown(tested, verdict), f"it follows {rule}"]


def _gives(rule: FoundRule, verdict: Verdict) -> bool:
    return all(rule.gives(arrays, answer) for arrays, answer in verdict.answers)


def _shown(tested: Subject, verdict: Verdict) -> list[str]:
    """Return the smallest problem that shows a failure, and what the rule makes of it."""
    if verdict.arrays is None or verdict.text and verdict.difference is None or (
            verdict.error.startswith(NO_ANSWER)):
        return []
    fails = _raises(tested, verdict) if verdict.error else _differs(tested, verdict)
    arrays = smallest(verdict.arrays, fails, tested.square)
    if len(arrays.gallery) > _PRINTED:
        n = len(arrays.query)
        return [f"it takes a gallery of {len(arrays.gallery)} images or more to show it, and "
                f"{n} {'query' if n == 1 else 'queries'}"]
    lines = ["the smallest problem that shows it:",
             *(f"    {line}" for line in as_code(arrays, tested.convention))]
    if verdict.error:
        return lines
    answer, (result,) = try_asking(tested.ask, arrays, tested.timeout), result_of(
        arrays, tested.convention)
    assert isinstance(answer, Answer)
    found = mismatches(answer, result, tested.tolerance)[0]
    return [*lines, *(f"there {each}" for each in found[:2]),
            f"by hand, {tested.convention.name}:", *by_hand(arrays, tested.convention)]


def _differs(tested: Subject, verdict: Verdict) -> Callable[[Arrays], bool]:
    """Return what tells whether a problem shows the same difference."""
    kind = verdict.difference.name.split(" ")[0].split("-")[0] if verdict.difference else ""

    def fails(arrays: Arrays) -> bool:
        answer = try_asking(tested.ask, arrays, tested.timeout)
        if isinstance(answer, str):
            return False
        result, = result_of(arrays, tested.convention)
        if not result.mAP == result.mAP:
            return False
        return any(each.name.startswith(kind) for each in mismatches(
            answer, result, tested.tolerance)[0])
    return fails


def _raises(tested: Subject, verdict: Verdict) -> Callable[[Arrays], bool]:
    kind = verdict.error.split(":")[0]

    def fails(arrays: Arrays) -> bool:
        answer = try_asking(tested.ask, arrays, tested.timeout)
        return isinstance(answer, str) and answer.split(":")[0] == kind and (
            result_of(arrays, tested.convention)[0].mAP >= 0)
    return fails
