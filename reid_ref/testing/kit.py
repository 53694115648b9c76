"""The kit: all checks of an evaluator, and the rule that it follows."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import cache, cached_property, partial
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np

from reid_ref.arrays import check_choice
from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.foreign.arguments import part_of
from reid_ref.foreign.arrays import Arrays
from reid_ref.foreign.calling import NO_ANSWER
from reid_ref.foreign.child import Child
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
    return report_of("", session(
        evaluator, convention=convention, junk=junk, except_=except_, max_rank=max_rank,
        tolerance=tolerance, timeout=timeout, settings=settings))


def session(evaluator: Any, *, convention: str | Convention | None, junk: bool | None = None,
            except_: Mapping[str, str] = MappingProxyType({}),
            **options: Any) -> Callable[..., Any]:
    """Return what does one task after another with an evaluator, for `report_of`.

    The name of a check gives its `CheckResult`; "checks" the evaluator's name, the rule and the
    names of its checks; "rule" the rule that is followed, and how the evaluator was called.

    Parameters
    ----------
    evaluator, convention, junk, except_
        As for `check_evaluator`.
    options
        As for `subject`.
    """
    _refuse_unknown(except_)
    done: list[CheckResult] = []

    @cache
    def start() -> tuple[Subject, Rules]:
        return claimed_or_found(subject(evaluator, convention, **options), convention is not None,
                                junk)

    def run(task: str, alone: bool = False) -> Any:
        tested, rules = start()
        if task == "checks":
            return tested.name, tested.convention.name, [
                check.name for check in checks_of(tested.convention, rules.junk)]
        if task == "rule":
            return (rule_name(tested, done, rules), how_called(tested),
                    "" if convention else unlike(tested.convention))
        if alone:
            rules.told.clear()
            rules.causes.clear()
        done.append(check_one(tested, CHECKS[task], rules, except_))
        return done[-1]
    return run


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


def crosscheck_made(evaluator: str, *, convention: str | Convention | None = None,
                    timeout: float = 600,
                    max_rank: int | None = None, tolerance: float | None = None,
                    settings: Mapping[str, Any] = MappingProxyType({}),
                    progress: Callable[[float], object] = lambda _: None) -> Report:
    """As `check_evaluator`, in a process of its own.

    A crash or a hang ends that process, and counts as the error of one check.

    Parameters
    ----------
    evaluator : str
        "module:function" or "file.py:function"; two functions are "module:mean_ap,cmc".
    timeout : float
        Seconds that importing it, or any one check, may take.
    convention, max_rank, tolerance, settings
        As for `reid_ref.testing.check_evaluator`; settings by name.
    progress : callable, optional
        Called with 1 after each check.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        It cannot be imported, or the rule is not known.
    """
    if convention is not None:
        find_rules(convention)
    with TemporaryDirectory(prefix="reid-ref-", ignore_cleanup_errors=True) as folder, \
            closing(Child(evaluator, timeout, folder, max_rank, settings, session, {
                "convention": convention, "timeout": timeout, "tolerance": tolerance})) as child:
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
    _refuse_unknown(except_)
    sessions: dict[tuple[int, str], Callable[..., Any]] = {}  # the last one, which they share

    def check(name: str, evaluator: Any, /, **settings: Any) -> None:
        __tracebackhide__ = True
        key = id(evaluator), repr(settings)
        if key not in sessions:
            sessions.clear()
            sessions[key] = session(evaluator, convention=convention, junk=junk, except_=except_,
                                    settings=settings, **options)
        outcome = sessions[key](name, alone=True)
        if outcome.status != "passed":
            raise AssertionError(f"{CHECKS[name].sentence}\n{outcome.message}")
    return {each.name: partial(check, each.name)
            for each in checks_of(find_rules(convention)[0], junk)}


def _refuse_unknown(except_: Mapping[str, str]) -> None:
    for name in except_:
        check_choice(name, "except_", CHECKS)


def claimed_or_found(tested: Subject, claims: bool, junk: bool | None) -> tuple[Subject, Rules]:
    """Return it with the rule that it claims, or else follows; and its rules."""
    if claims:
        if judge(tested, CHECKS["plain"]).difference and judge(
                replace(tested, tolerance=SINGLE), CHECKS["plain"]).passed:
            tested = in_single_precision(tested, SINGLE)
        return tested, Rules(tested, tested.convention, junk)
    rules = Rules(tested, None, junk is not False)
    found = rules.of_all
    way = found.convention if found else nearest_rule(answered(rules.pairs), tested.tolerance)
    tested = replace(tested, convention=way)
    return in_single_precision(tested, found.tolerance if found else 0), rules


def in_single_precision(tested: Subject, tolerance: float) -> Subject:
    """Return it with a larger tolerance, if that is what a rule needs; its words tell."""
    if tolerance <= tested.tolerance:
        return tested
    return replace(tested, tolerance=tolerance, words=f"{tested.words}; its numbers differ by "
                   "more than double precision allows, so they are compared in single precision")


def rule_name(tested: Subject, checks: Iterable[CheckResult], rules: Rules) -> str | None:
    """Return the claimed rule if its numbers were those, or the rule that was found."""
    numbers = [check for check in checks if CHECKS[check.name].of_rule
               and check.status != "error" and not check.message.startswith(NOT_ASKED)]
    if numbers and all(check.status == "passed" for check in numbers):
        return tested.convention.name
    found = rules.of_all
    return found and (str(found) if found.mistakes else found.name)


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


# ------------------------------------------------------------------ one check
#: Largest smallest problem that is printed: images of the gallery, or queries.
_PRINTED = 12


class Rules:
    """The answers that tell rules apart, and what gives them, which is looked for once.

    `told`: what was told already; `causes`: the rules and mistakes among it.
    """

    def __init__(self, tested: Subject, claimed: Convention | None, junk: bool | None) -> None:
        self._tested, self._claimed, self.junk = tested, claimed, junk
        self.told: set[str] = set()
        self.causes: list[FoundRule] = []

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
        checks = checks_of(convention, self.junk)
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
        shown = [AS_ABOVE] if verdict.error in rules.told else _shown(
            tested, check, verdict)[0]
        rules.told.add(verdict.error)
        return CheckResult(check.name, "error", "\n".join([verdict.error, *shown]))
    return CheckResult(check.name, "failed", "\n".join(_why(tested, check, verdict, rules)))


def _why(tested: Subject, check: Check, verdict: Verdict, rules: Rules) -> list[str]:
    """Return what is wrong, the rule that it follows, and the problem that shows it once."""
    wrong = [verdict.text or str(verdict.difference)] + (
        [str(verdict.difference)] if verdict.text and verdict.difference else [])
    if rules.of_all is None and KEEPS in rules.told:
        return [*wrong, f"{AS_ABOVE}: {KEEPS}"]
    for cause in rules.causes if verdict.answers else ():
        if all(cause.gives(*pair) for pair in verdict.answers):
            return [*wrong, f"{AS_ABOVE}: it follows {cause}"]
    shown, least = _shown(tested, check, verdict)
    told = "" if verdict.text and not verdict.answers or shown == [KEEPS] or (
        verdict.difference is not None and verdict.difference.is_percent) else (
            _cause(tested, verdict, rules, least))
    if told and told in rules.told:
        return [*wrong, f"{AS_ABOVE}: {told}"]
    rules.told.update([told or shown[-1]] if told or shown else [])
    return [*wrong, *shown, *[told] * bool(told)]


_NO_CAUSE = "no rule, choice or mistake that was tried gives these numbers"


def _cause(tested: Subject, verdict: Verdict, rules: Rules, least: Arrays | None) -> str:
    """Return the rule, or the rule and the mistake, that a failed check follows; or whether
    queries influence one another."""
    rule, way = rules.of_all, tested.convention
    if rule is None or not all(rule.gives(*pair) for pair in verdict.answers):
        base = rule or FoundRule(way.name, "", 0, way, (), tested.tolerance)
        pairs = answered([(each, tested.answer(each, verdict.form)) for each in [least] if each])
        rule = mistake_of([*pairs, *verdict.answers, *(
            pair for pair in answered(rules.pairs) if base is rules.of_all or base.gives(*pair))],
            base)
        pairs = answered(rules.pairs)  # what seldom holds elsewhere is no cause
        if rule and 2 * sum(rule.gives(*pair) for pair in pairs) < len(pairs):
            rule = None
    if rule and not (rule.mistakes or rule.name != way.name):
        rule = None
    if (rule is None or "follows no rule" in rule.words) and least is not None and (
            1 < len(least.query) < 20) and all(judge_numbers(tested, [least.take(slice(
                k, k + 1))], verdict.form).passed for k in range(len(least.query))):
        return f"it is the rule's number {NEARNESS[2]}" if verdict.difference and abs(
            verdict.difference.theirs - verdict.difference.ours) <= SINGLE else INFLUENCE
    if rule:
        rules.causes.append(rule)
        return f"it follows {rule}"
    return f"elsewhere it follows {rules.of_all}" if rules.of_all and (
        rules.of_all.name != way.name) else _NO_CAUSE


def _shown(tested: Subject, check: Check,
           verdict: Verdict) -> tuple[list[str], Arrays | None]:
    """Return what shows a failure and what the rule makes of it, and the smallest problem.

    It shows it in a new copy of the evaluator, as it does where it is pasted.
    """
    if verdict.arrays is None or verdict.error.startswith(NO_ANSWER):
        return [], None
    shows = _shows(check, verdict)
    arrays, is_least = smallest(verdict.arrays, partial(shows, tested), tested.square)
    if not shows(tested.afresh(), arrays):
        if not shows(tested.afresh(), verdict.arrays):
            return [KEEPS], None
        arrays, is_least = smallest(
            verdict.arrays, lambda made: shows(tested.afresh(), made), tested.square)
    if max(len(arrays.gallery), len(arrays.query)) > _PRINTED:
        sizes = f"a gallery of {len(arrays.gallery):,} images and {len(arrays.query):,} query"
        sizes = f"{sizes[:-1]}ies" if len(arrays.query) > 1 else sizes
        return [f"it takes {sizes} to show it" if is_least else
                f"not made smaller than {sizes}"], arrays
    lines = ["the smallest problem that shows it:",
             *(f"    {line}" for line in as_code(arrays, tested.convention, verdict.form)),
             *[f"    similarity = -distmat.astype('{part_of('similarity', arrays).dtype}')"] * (
                 "similarity" in tested.takes)]
    answer, (result,) = tested.answer(arrays, verdict.form), result_of(arrays, tested.convention)
    if isinstance(answer, str):
        return lines, arrays
    return [*lines, *(f"there {each}" for each in tested.wrong(answer, result)[:2]),
            f"by hand, {tested.convention.name}:", *by_hand(arrays, tested.convention)], arrays


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
