"""The kit: all checks of an evaluator, and the rule that it follows."""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from reid_ref.arrays import check_choice
from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.foreign.arguments import part_of
from reid_ref.foreign.arrays import Arrays
from reid_ref.foreign.calling import NO_ANSWER
from reid_ref.foreign.child import Child
from reid_ref.foreign.importing import load_evaluator
from reid_ref.rules.candidates import find_rules
from reid_ref.rules.changed import unlike
from reid_ref.rules.numbers import NEARNESS, SINGLE, result_of
from reid_ref.rules.search import (
    Asked, FoundRule, answered, mistake_of, nearest_rule, rule_of)
from reid_ref.testing.checks import CHECKS, Check, checks_of
from reid_ref.testing.judging import JUDGES, NOT_ASKED, Verdict, judge, judge_numbers
from reid_ref.testing.report import (
    AS_ABOVE, INFLUENCE, KEEPS, CheckResult, Report, without_numbers)
from reid_ref.testing.smallest import as_code, by_hand, smallest
from reid_ref.testing.subject import DEFAULT, Subject, subject


def check_evaluator(evaluator: Any, convention: str | Convention | None = None, *,
                    junk: bool | None = None, max_rank: int | None = None,
                    tolerance: float | None = None, timeout: float = 60,
                    except_: Mapping[str, str] = MappingProxyType({}), **settings: Any) -> Report:
    """Test an evaluator by made problems, each with one thing that evaluators differ in.

    It is called in this process, on copies of the arrays.

    Parameters
    ----------
    evaluator : callable, tuple of callables, or str
        Functions that share the work, such as ``mean_ap`` and ``cmc``, are a tuple. A string is
        "module:function" or "file.py:function", from the current folder: a file need not be
        importable with all that it imports. Arguments are fed by the names of the parameters:
        distances (or similarities, or features), identities, cameras, clothes, views, videos.
        What it returns is understood by its names first, by its values second.
    convention : str or Convention, optional
        The rule that it claims. Default: the one that its answers follow.
    junk : bool, optional
        Whether images labelled -1 are handed over. Default: if the rule itself decides what
        becomes of them, and not the loader of its toolbox.
    max_rank : int, optional
        The longest rank that is asked for. Default: its own, or 50 if it has none.
    tolerance : float, optional
        How far a number may be off. Default: 1e-12, what another order of additions may cost;
        half of the last decimal, if all numbers are rounded to few; 2^-20 in single precision.
    timeout : float
        Seconds that one call may take, where calls can be interrupted (not on Windows, and in the
        main thread only).
    except_ : mapping of str to str
        Known deviations: names of checks with the reason. Such a check fails when the deviation
        goes away.
    settings
        Further arguments of the evaluator.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        It cannot be called, or the rule or a check is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from reid_ref import testing
    >>> def mine(distmat, q_pids, g_pids, q_camids, g_camids):
    ...     aps = []
    ...     for row, pid, camid in zip(distmat, q_pids, q_camids):
    ...         order = np.argsort(row, kind="stable")
    ...         kept = order[(g_pids[order] != pid) | (g_camids[order] != camid)]
    ...         hits = g_pids[kept] == pid
    ...         if hits.any():
    ...             places = np.flatnonzero(hits)
    ...             aps.append(np.mean(np.arange(1, len(places) + 1) / (places + 1)))
    ...     return {"mAP": np.mean(aps) if aps else np.nan}
    >>> report = testing.check_evaluator(mine, "torchreid")
    >>> report.passed, report.rule
    (True, 'torchreid')
    """
    return report_of("", Session(
        evaluator, convention, junk, except_, max_rank=max_rank, tolerance=tolerance,
        timeout=timeout, settings=settings))


def report_of(name: str, run: Callable[[str], Any],
              progress: Callable[[float], object] = lambda _: None) -> Report:
    """Return the report of a session.

    `run`: from a task to what it gives, or to a text if the evaluator's process failed.
    """
    started = run("checks")
    if isinstance(started, str):
        failed = CheckResult("plain", "error", started)
        return Report(name, DEFAULT, None, "", "", False, (failed,))
    name, convention, names = started
    results = []
    for check in names:
        outcome = run(check)
        results.append(CheckResult(check, "error", outcome) if isinstance(outcome, str)
                       else outcome)
        progress(1)
    found = run("rule")
    rule, how, against = (None, found, "") if isinstance(found, str) else found
    passed = all(result.status == "passed" for result in results)
    return Report(name, convention, rule, how, against, passed, without_numbers(results))


def crosscheck_made(evaluator: str, *, timeout: float = 600,
                    progress: Callable[[float], object] = lambda _: None,
                    **options: Any) -> Report:
    """As `check_evaluator`, in a process of its own.

    A crash or a hang ends that process, and counts as the error of one check.

    Parameters
    ----------
    evaluator : str
        "module:function" or "file.py:function"; two functions are "module:mean_ap,cmc".
    timeout : float
        Seconds that importing it, or any one check, may take.
    progress : callable, optional
        Called with 1 after each check.
    options
        As for `Session`.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        It cannot be imported.
    """
    with Child(evaluator, timeout, partial(Session, timeout=timeout, **options)) as child:
        child.load()

        def run(task: str) -> Any:
            # It is several calls, which are interrupted there as far as they can be.
            outcome = child.request(60 + 20 * timeout, task)
            return outcome.failure if outcome.value is None else outcome.value
        return report_of(evaluator, run, progress)


def checkers(convention: str | Convention, *, junk: bool | None, except_: Mapping[str, str],
             **options: Any) -> dict[str, Callable[..., None]]:
    """Return what a test calls with an evaluator, by check: it raises `AssertionError` on failure.
    """
    sessions: dict[tuple[int, str], Session] = {}  # the last one, which they share

    def check(name: str, evaluator: Any, /, **settings: Any) -> None:
        __tracebackhide__ = True
        key = id(evaluator), repr(settings)
        if key not in sessions:
            sessions.clear()
            sessions[key] = Session(evaluator, convention, junk, except_, settings=settings,
                                    **options)
        sessions[key].told.clear()
        outcome = sessions[key](name)
        if outcome.status != "passed":
            raise AssertionError(f"{CHECKS[name].sentence}\n{outcome.message}")
    _refuse_unknown(except_)
    return {each.name: partial(check, each.name)
            for each in checks_of(find_rules(convention)[0], junk)}


def _refuse_unknown(except_: Mapping[str, str]) -> None:
    for name in except_:
        check_choice(name, "except_", CHECKS)


def in_single_precision(tested: Subject, tolerance: float) -> Subject:
    """Return it with a larger tolerance, if that is what a rule needs; its words tell."""
    if tolerance <= tested.tolerance:
        return tested
    return replace(tested, tolerance=tolerance, words=f"{tested.words}; its numbers differ by "
                   "more than double precision allows, so they are compared in single precision")


def how_called(tested: Subject) -> str:
    """Return how it was called, and how its answer was understood."""
    answer = tested.answer(tested.problem)
    if isinstance(answer, str):
        return tested.words
    parts = {"mAP": answer.mAP, "CMC": answer.cmc, "mINP": answer.mINP,
             "AP of each query": answer.ap}
    given = [name for name, part in parts.items() if part is not None]
    told = [*answer.told, *["its numbers are percent"] * answer.percent]
    return "; ".join([tested.words, f"it gives {', '.join(given)}", *told])


# ------------------------------------------------------------------ an evaluator, task by task
#: Largest smallest problem that is printed: images of the gallery, or queries.
_PRINTED = 12
_NO_CAUSE = "no rule, choice or mistake that was tried gives these numbers"


class Session:
    """One evaluator, of which one thing after another is asked, for `report_of`.

    The name of a check gives its `CheckResult`; "checks" the evaluator's name, the rule and the
    names of its checks; "rule" the rule that is followed, and how the evaluator was called.

    Parameters
    ----------
    evaluator, convention, junk, except_
        As for `check_evaluator`.
    max_rank, settings
        As for `load_evaluator`.
    options
        As for `subject`.
    """

    def __init__(self, evaluator: Any, convention: str | Convention | None = None,
                 junk: bool | None = None,
                 except_: Mapping[str, str] = MappingProxyType({}), *,
                 max_rank: int | None = None,
                 settings: Mapping[str, Any] = MappingProxyType({}), **options: Any) -> None:
        _refuse_unknown(except_)
        self.loaded = load_evaluator(evaluator, max_rank, settings)
        self._subject = partial(subject, self.loaded, convention, **options)
        self._claims, self._except = convention is not None, except_
        self._junk = junk if self._claims else junk is not False
        self._done: list[CheckResult] = []
        #: What was told already, with the rule and the mistake if it is one.
        self.told: dict[str, FoundRule | None] = {}
        #: What it gave where it is right: no cause may be wrong there.
        self._right: Asked = []
        #: Whether no mistake explains the plainest problem; then none explains all others.
        self._is_open = False

    def __call__(self, task: str) -> Any:
        tested = self.tested
        if task == "checks":
            return tested.loaded.name, tested.convention.name, [
                check.name for check in checks_of(tested.convention, self._junk)]
        if task == "rule":
            return (self._rule_name(), how_called(tested),
                    "" if self._claims else unlike(tested.convention))
        self._done.append(self._check(CHECKS[task]))
        return self._done[-1]

    @cached_property
    def _asked_first(self) -> Subject:
        """The evaluator by the rule that it claims, or else by any."""
        tested, plain = self._subject(), CHECKS["plain"]
        if self._claims and judge(tested, plain).difference and judge(
                replace(tested, tolerance=SINGLE), plain).passed:
            return in_single_precision(tested, SINGLE)
        return tested

    @cached_property
    def tested(self) -> Subject:
        """The evaluator by the rule that it claims, or else follows."""
        first = self._asked_first
        if self._claims:
            return first
        found = self.of_all
        way = found.convention if found else nearest_rule(answered(self.pairs), first.tolerance)
        return in_single_precision(replace(first, convention=way), found.tolerance if found else 0)

    @cached_property
    def pairs(self) -> Asked:
        """The problems that tell rules apart, with the answers, or what was raised."""
        return self._asked(self._asked_first.convention)

    @cached_property
    def of_all(self) -> FoundRule | None:
        """The rule that is followed, on cameras of any kind or on those of SYSU-MM01."""
        first = self._asked_first
        return rule_of(self.pairs, [first.convention] * self._claims, first.tolerance, lambda: (
            [] if self.loaded.is_square else answered(self._asked(CONVENTIONS["sysu-mm01"]))))

    def _asked(self, convention: Convention) -> Asked:
        first = self._asked_first
        return [(arrays, first.answer(arrays)) for check in checks_of(convention, self._junk)
                if check.of_rule and not (self.loaded.is_square and check.takes_sides)
                for arrays in check.problems(convention, self.loaded.is_square)]

    def _rule_name(self) -> str | None:
        """Return the claimed rule if its numbers were those, or the rule that was found."""
        numbers = [check for check in self._done if CHECKS[check.name].of_rule
                   and check.status != "error" and not check.message.startswith(NOT_ASKED)]
        if numbers and all(check.status == "passed" for check in numbers):
            return self.tested.convention.name
        found = self.of_all
        return found and (str(found) if found.mistakes else found.name)

    def _check(self, check: Check) -> CheckResult:
        """Return what came of one check, with the least problem that shows a failure."""
        verdict, known = judge(self.tested, check), self._except.get(check.name)
        if known is not None and verdict.passed:
            return CheckResult(check.name, "failed", "it does not deviate any more: take it out "
                               f"of except_ ({known})")
        if known is not None:
            return CheckResult(check.name, "passed", f"deviates, as is known: {known}")
        if verdict.passed:
            self._right += [pair for pair in verdict.answers if pair[0].distances.size < 100_000]
            return CheckResult(check.name, "passed", verdict.remark or NEARNESS[verdict.level])
        if verdict.error:
            shown = [AS_ABOVE] if verdict.error in self.told else _shown(
                self.tested, check, verdict)[0]
            self.told[verdict.error] = None
            return CheckResult(check.name, "error", "\n".join([verdict.error, *shown]))
        return CheckResult(check.name, "failed", "\n".join(self._why(check, verdict)))

    def _why(self, check: Check, verdict: Verdict) -> list[str]:
        """Return what is wrong, the rule that it follows, and the problem that shows it once."""
        wrong = [str(each) for each in (verdict.text, verdict.difference) if each]
        if self.of_all is None and KEEPS in self.told:
            return [*wrong, f"{AS_ABOVE}: {KEEPS}"]
        for text, rule in self.told.items() if verdict.answers else ():
            if rule and all(rule.gives(*pair) for pair in verdict.answers):
                return [*wrong, f"{AS_ABOVE}: {text}"]
        shown, least = _shown(self.tested, check, verdict)
        told, cause = ("", None) if verdict.text and not verdict.answers or shown == [KEEPS] or (
            verdict.difference is not None and verdict.difference.is_percent) else (
                self._cause(verdict, least))
        if told and told in self.told:
            return [*wrong, f"{AS_ABOVE}: {told}"]
        if told or shown:
            self.told[told or shown[-1]] = cause
        self._is_open |= check.name == "plain" and told in (_NO_CAUSE, INFLUENCE)
        return [*wrong, *shown, *[told] * bool(told)]

    def _cause(self, verdict: Verdict, least: Arrays | None) -> tuple[str, FoundRule | None]:
        """Return the rule, or the rule and the mistake, that a failed check follows; or whether
        queries influence one another."""
        rule, tested, way = self.of_all, self.tested, self.tested.convention
        if rule is None or not all(rule.gives(*pair) for pair in verdict.answers):
            known = answered(self.pairs)
            base = rule or FoundRule(way.name, "", 0, way, (), tested.tolerance)
            shown = [(each, tested.answer(each, verdict.form)) for each in [least] if each]
            rule = None if self._is_open else mistake_of([
                *answered([*shown, *self._right]), *verdict.answers, *(
                    pair for pair in known if base is self.of_all or base.gives(*pair))], base)
            # What seldom holds elsewhere is no cause.
            if rule and 2 * sum(rule.gives(*pair) for pair in known) < len(known):
                rule = None
        if rule and not (rule.mistakes or rule.name != way.name):
            rule = None
        is_open = (rule is None or "follows no rule" in rule.words) and not verdict.form.name
        if is_open and least is not None and 1 < len(least.query) < 20 and all(judge_numbers(
                tested, [least.take(slice(k, k + 1))], verdict.form).passed
                for k in range(len(least.query))):
            return f"it is the rule's number {NEARNESS[2]}" if verdict.difference and abs(
                verdict.difference.theirs - verdict.difference.ours
            ) <= SINGLE else INFLUENCE, None
        if rule:
            return f"it follows {rule}", rule
        return f"elsewhere it follows {self.of_all}" if self.of_all and (
            self.of_all.name != way.name) else _NO_CAUSE * (not verdict.form.name), None


# ------------------------------------------------------------------ what shows a failure
def _shown(tested: Subject, check: Check,
           verdict: Verdict) -> tuple[list[str], Arrays | None]:
    """Return what shows a failure and what the rule makes of it, and the smallest problem.

    It shows it in a new copy of the evaluator, as it does where it is pasted.
    """
    if verdict.arrays is None or verdict.error.startswith(NO_ANSWER):
        return [], None
    shows = _shows(check, verdict)
    arrays, is_least = smallest(verdict.arrays, partial(shows, tested), tested.loaded.is_square)
    if not shows(tested.afresh(), arrays):
        if JUDGES[check.judge](tested.afresh(), [verdict.arrays]).passed:
            return [KEEPS], None
        arrays, is_least = smallest(
            verdict.arrays, lambda made: shows(tested.afresh(), made), tested.loaded.is_square)
    if max(len(arrays.gallery), len(arrays.query)) > _PRINTED:
        sizes = f"a gallery of {len(arrays.gallery):,} images and {len(arrays.query):,} query"
        sizes = f"{sizes[:-1]}ies" if len(arrays.query) > 1 else sizes
        return [f"it takes {sizes} to show it" if is_least else
                f"not made smaller than {sizes}"], arrays
    lines = ["the smallest problem that shows it:",
             *(f"    {line}" for line in as_code(arrays, tested.convention, verdict.form)),
             *[f"    similarity = -distmat.astype('{part_of('similarity', arrays).dtype}')"] * (
                 "similarity" in tested.loaded.takes)]
    answer, (result,) = tested.answer(arrays, verdict.form), result_of(arrays, tested.convention)
    if isinstance(answer, str):
        return lines, arrays
    return [*lines, *(f"there {each}" for each in tested.wrong(answer, result)[:2]),
            f"by hand, {tested.convention.name}:", *by_hand(arrays, tested.convention)], arrays


def _shows(check: Check, verdict: Verdict) -> Callable[[Subject, Arrays], bool]:
    """Return what tells whether a problem shows the same error, or the same difference."""
    def kind(verdict: Verdict) -> tuple[str, bool]:
        wrong = verdict.difference
        words = verdict.error or (wrong.name if wrong else verdict.text)
        return re.split(r"[-:\d]", words)[0], bool(wrong and np.isnan(wrong.ours))

    def shows(tested: Subject, arrays: Arrays) -> bool:
        again = JUDGES[check.judge](tested, [arrays])
        return not again.passed and kind(again) == kind(verdict)
    return shows
