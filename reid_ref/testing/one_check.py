"""What comes of one check: the rule that is followed, and the smallest problem that shows it."""
import re
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from types import MappingProxyType

import numpy as np

from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.foreign.arrays import Arrays
from reid_ref.foreign.calling import NO_ANSWER
from reid_ref.rules.numbers import NEARNESS, result_of
from reid_ref.rules.search import Asked, FoundRule, answered, mistake_of, rule_of
from reid_ref.testing.checks import Check, checks_of
from reid_ref.testing.judging import JUDGES, Verdict, judge
from reid_ref.testing.report import AS_ABOVE, CheckResult
from reid_ref.testing.smallest import as_code, by_hand, smallest
from reid_ref.testing.subject import Subject

#: Largest smallest problem that is printed: images of the gallery, or queries.
_PRINTED = 12
#: What is told of a failure that no new copy of the evaluator shows.
KEEPS = ("a new copy of it that is asked nothing else gives the rule's numbers: it keeps "
         "something between calls")


class Rules:
    """The answers that tell rules apart, and what gives them, which is looked for once.

    `told`: the rules that were told of already.
    """

    def __init__(self, tested: Subject, claimed: Convention | None, junk: bool | None) -> None:
        self._tested, self._claimed, self._junk = tested, claimed, junk
        self.told: set[str] = set()

    @cached_property
    def pairs(self) -> Asked:
        """The problems that tell rules apart, with the answers, or what was raised."""
        return self._asked(self._tested.convention)

    @cached_property
    def of_all(self) -> FoundRule | None:
        """The rule that is followed, on cameras of any kind or on those of SYSU-MM01."""
        return rule_of(
            self.pairs, [self._claimed] if self._claimed else [], self._tested.tolerance,
            lambda: [] if self._tested.square else answered(
                self._asked(CONVENTIONS["sysu-mm01"])))

    def _asked(self, convention: Convention) -> Asked:
        square = self._tested.square
        checks = checks_of(convention, self._junk)
        return [(arrays, self._tested.answer(arrays)) for check in checks
                if check.of_rule and not (square and check.takes_sides)
                for arrays in check.problems(convention, square)]


def check_one(tested: Subject, check: Check, rules: Rules,
              except_: Mapping[str, str] = MappingProxyType({})) -> CheckResult:
    """Return what came of one check, with the least problem that shows a failure.

    `except_`: known deviations, with reasons.
    """
    verdict = judge(tested, check)
    if check.name in except_:
        if verdict.passed:
            return CheckResult(check.name, "failed", "it does not deviate any more: take it out "
                               f"of except_ ({except_[check.name]})")
        return CheckResult(check.name, "passed", f"deviates, as is known: {except_[check.name]}")
    if verdict.passed:
        return CheckResult(check.name, "passed", verdict.remark or NEARNESS[verdict.level])
    if verdict.error:
        shown = [AS_ABOVE] if verdict.error in rules.told else _shown(tested, check, verdict)
        rules.told.add(verdict.error)
        return CheckResult(check.name, "error", "\n".join([verdict.error, *shown]))
    return CheckResult(check.name, "failed", "\n".join(_why(tested, check, verdict, rules)))


def _why(tested: Subject, check: Check, verdict: Verdict, rules: Rules) -> list[str]:
    """Return what is wrong, the rule that it follows, and the problem that shows it once."""
    wrong = [verdict.text or str(verdict.difference)] + (
        [str(verdict.difference)] if verdict.text and verdict.difference else [])
    rule, lead = rules.of_all, "it follows"
    if rule is None and KEEPS in rules.told:
        return [*wrong, f"{AS_ABOVE}: {KEEPS}"]
    if verdict.text or verdict.difference is not None and verdict.difference.is_percent:
        told = ""
    elif rule is not None and not all(rule.gives(*pair) for pair in verdict.answers):
        deviation = mistake_of([*answered(rules.pairs), *verdict.answers], rule)
        lead = lead if deviation else "elsewhere it follows"
        told = f"{lead} {deviation or rule}"
    elif rule is None or rule.name == tested.convention.name:
        told = "no rule, choice or mistake that was tried gives these numbers"
    else:
        told = f"{lead} {rule}"
    if told in rules.told and lead == "it follows":
        return [*wrong, f"{AS_ABOVE}: {told}"]
    shown = _shown(tested, check, verdict)
    shown += [told] * (bool(told) and shown != [KEEPS])
    rules.told.update(shown[-1:])
    return [*wrong, *shown]


def _shown(tested: Subject, check: Check, verdict: Verdict) -> list[str]:
    """Return the smallest problem that shows a failure, and what the rule makes of it.

    It shows it in a new copy of the evaluator, as it does where it is pasted.
    """
    if verdict.arrays is None or verdict.error.startswith(NO_ANSWER):
        return []
    shows = _shows(check, verdict)
    arrays, is_least = smallest(verdict.arrays, partial(shows, tested), tested.square)
    if not shows(tested.afresh(), arrays):
        if not shows(tested.afresh(), verdict.arrays):
            return [KEEPS]
        arrays, is_least = smallest(
            verdict.arrays, lambda made: shows(tested.afresh(), made), tested.square)
    if max(len(arrays.gallery), len(arrays.query)) > _PRINTED:
        sizes = f"a gallery of {len(arrays.gallery):,} images and {len(arrays.query):,} query"
        sizes = f"{sizes[:-1]}ies" if len(arrays.query) > 1 else sizes
        return [f"it takes {sizes} to show it" if is_least else f"not made smaller than {sizes}"]
    lines = ["the smallest problem that shows it:",
             *(f"    {line}" for line in as_code(arrays, tested.convention, verdict.form))]
    answer, (result,) = tested.answer(arrays, verdict.form), result_of(arrays, tested.convention)
    if isinstance(answer, str):
        return lines
    return [*lines, *(f"there {each}" for each in tested.wrong(answer, result)[:2]),
            f"by hand, {tested.convention.name}:", *by_hand(arrays, tested.convention)]


def _shows(check: Check, verdict: Verdict) -> Callable[[Subject, Arrays], bool]:
    """Return what tells whether a problem shows the same error, or the same difference."""
    def kind(verdict: Verdict) -> tuple[str, bool]:
        name = verdict.difference.name if verdict.difference else ""
        return (re.split(r"[:\d]", verdict.error)[0] or re.split("[ -]", name)[0]
                or re.split(r"\d", verdict.text)[0],
                bool(verdict.difference and np.isnan(verdict.difference.ours)))

    def shows(tested: Subject, arrays: Arrays) -> bool:
        again = JUDGES[check.judge](tested, [arrays])
        return not again.passed and kind(again) == kind(verdict)
    return shows
