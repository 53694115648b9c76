"""The kit: an evaluator, the rule that it claims, and what comes of each check."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from reid_ref.arrays import InputError, check_choice
from reid_ref.conventions import CONVENTIONS, Convention, find_conventions
from reid_ref.testing.answers import Answer, decimals_of
from reid_ref.testing.arguments import fed
from reid_ref.testing.arrays import Arrays
from reid_ref.testing.calling import Ask, ask_functions, name_of
from reid_ref.testing.candidates import rules_of_protocols
from reid_ref.testing.checks import CHECKS, Check, checks_of
from reid_ref.testing.importing import check_spec, load_functions
from reid_ref.testing.judging import (
    JUDGES, LEVELS, Verdict, differences, result_of, try_asking)
from reid_ref.testing.old_numpy import needs
from reid_ref.testing.report import CheckResult, Report
from reid_ref.testing.rules import Asked, Rule, answered, in_choices, mistake_of, rule_of
from reid_ref.testing.smallest import as_code, by_hand, smallest
from reid_ref.testing.timeout import NO_ANSWER

#: The rule that an evaluator is asked about if it claims none.
DEFAULT = "torchreid-function"
#: Largest smallest problem that is printed: images of the gallery.
_PRINTED = 12
#: How the remark begins of a check that an evaluator cannot be asked.
_NOT_ASKED = "not asked, since"


@dataclass(frozen=True)
class Subject:
    """An evaluator under test: what asks it, the rule that it claims, and how strictly."""

    name: str
    ask: Ask
    words: str
    convention: Convention
    tolerance: float
    timeout: float
    square: bool
    takes_features: bool

    @property
    def problem(self) -> Arrays:
        """The first problem."""
        return CHECKS["plain"].problems(self.convention, self.square)[0]

    def judge(self, check: Check) -> Verdict:
        """Return what comes of a check."""
        if self.square and check.takes_sides:
            return Verdict(remark=f"{_NOT_ASKED} it takes one set")
        problems = check.problems(self.convention, self.square)
        if self.takes_features and any(arrays.features is None for arrays in problems):
            return Verdict(remark=f"{_NOT_ASKED} it takes features")
        verdict = JUDGES[check.judge](self.ask, problems, self.convention, self.tolerance,
                                      self.timeout)
        gone = dict.fromkeys(name for _, answer in verdict.answers for name in answer.gone)
        if check.name == "plain" and verdict.passed and gone:
            return Verdict("; ".join(map(needs, gone)))
        return verdict

    def pairs(self, junk: bool | None) -> Asked:
        """Return the problems that tell rules apart, with its answers, or what it raised."""
        found: Asked = []
        for check in checks_of(self.convention, junk):
            if check.of_rule and not (self.square and check.takes_sides):
                for arrays in check.problems(self.convention, self.square):
                    found.append((arrays, try_asking(self.ask, arrays, self.timeout)))
        return found

    def rule(self, pairs: Asked, claimed: Convention | None, junk: bool | None) -> Rule | None:
        """Return the rule that it follows, on cameras of any kind or on those of SYSU-MM01."""
        located = replace(self, convention=CONVENTIONS["sysu-mm01"])
        return rule_of(pairs, claimed, self.tolerance,
                       lambda: [] if self.square else answered(located.pairs(junk)))


#: Each evaluator that is given by name is imported once.
_loaded = cache(load_functions)


def subject(evaluator: Any, convention: Any = None, *, max_rank: int | None = None,
            tolerance: float | None = None, timeout: float = 60,
            settings: Mapping[str, Any] = MappingProxyType({})) -> Subject:
    """Return an evaluator under test.

    Raises
    ------
    InputError
        It cannot be called, or the rule is not known or takes lists.
    """
    told, name = "", evaluator
    if isinstance(evaluator, str):
        check_spec(evaluator)
        evaluator, told = _loaded(evaluator)
    functions = tuple(evaluator) if isinstance(evaluator, (tuple, list)) else (evaluator,)
    name = name if isinstance(name, str) else ", ".join(map(name_of, functions))
    ask, words = ask_functions(functions, name, max_rank, **settings)
    plans = [fed(function, name, settings) for function in functions]
    tested = Subject(name, ask, words + told, find_rule(convention or DEFAULT),
                     1e-12 if tolerance is None else tolerance, timeout,
                     any(plan.is_square for plan in plans),
                     any("_features" in part for plan in plans for part in plan.names.values()))
    return tested if tolerance is not None else _rounded(tested)


def _rounded(tested: Subject) -> Subject:
    """Return an evaluator with the tolerance that numbers of few decimals need."""
    answer = try_asking(tested.ask, tested.problem, tested.timeout)
    decimals = decimals_of(answer) if isinstance(answer, Answer) else None
    if decimals is None:
        return tested
    unit = 100 if isinstance(answer, Answer) and answer.percent else 1
    return replace(tested, tolerance=0.5000001 * 10.0**-decimals / unit,
                   words=f"{tested.words}; its numbers are rounded to {decimals} decimal"
                   + "s" * (decimals > 1))


def find_rule(name: str | Convention) -> Convention:
    """Return a convention, or a rule of protocols, by its name.

    Raises
    ------
    InputError
        It is not known, or takes lists, which no evaluator is handed.
    """
    if isinstance(name, str) and name in rules_of_protocols():
        return rules_of_protocols()[name][0]
    found, = find_conventions(name)
    if found.needs_lists:
        raise InputError("convention", "one that takes no lists", found.name,
                         "no lists are handed to an evaluator")
    return found


# ------------------------------------------------------------------ one check
class Rules(NamedTuple):
    """What gives the answers that tell rules apart, and looks for their rule, once.

    `told`: the rules that were told of already.
    """

    pairs: Callable[[], Asked]
    of_all: Callable[[], Rule | None]
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
        return CheckResult(check.name, "passed", verdict.remark or LEVELS[verdict.level])
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
    if elsewhere is not None and not _gives(elsewhere, verdict, tested):
        rule = mistake_of([*answered(rules.pairs()), *verdict.answers], elsewhere,
                          tested.tolerance)
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


def _gives(rule: Rule, verdict: Verdict, tested: Subject) -> bool:
    return all(rule.gives(arrays, answer, tested.tolerance) for arrays, answer in verdict.answers)


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
    found = differences(answer, result, tested.tolerance)[0]
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
        return any(each.name.startswith(kind) for each in differences(
            answer, result, tested.tolerance)[0])
    return fails


def _raises(tested: Subject, verdict: Verdict) -> Callable[[Arrays], bool]:
    kind = verdict.error.split(":")[0]

    def fails(arrays: Arrays) -> bool:
        answer = try_asking(tested.ask, arrays, tested.timeout)
        return isinstance(answer, str) and answer.split(":")[0] == kind and (
            result_of(arrays, tested.convention)[0].mAP >= 0)
    return fails


# ------------------------------------------------------------------ all checks
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
    for name in except_:
        check_choice(name, "except_", CHECKS)
    tested = subject(evaluator, convention, max_rank=max_rank, tolerance=tolerance,
                     timeout=timeout, settings=settings)
    tested, rules, junk = claimed_or_found(tested, convention is not None, junk)
    checks = tuple(check_one(tested, check, rules, except_)
                   for check in checks_of(tested.convention, junk))
    return Report(tested.name, tested.convention.name, rule_name(tested, checks, rules),
                  how_called(tested), checks)


def claimed_or_found(tested: Subject, claims: bool,
                     junk: bool | None) -> tuple[Subject, Rules, bool | None]:
    """Return it with the rule that it claims, or else follows; its rules; if it gets -1."""
    if claims:
        return tested, rules_of(tested, tested.convention, junk), junk
    junk = True if junk is None else junk
    rules = rules_of(tested, None, junk)
    found = rules.of_all()
    if found is not None and found.convention is not None:
        tested = replace(tested, convention=found.convention)
    return tested, rules, junk


def rule_name(tested: Subject, checks: Iterable[CheckResult], rules: Rules) -> str | None:
    """Return the claimed rule if its numbers were those, or the rule that was found."""
    numbers = [check for check in checks if CHECKS[check.name].of_rule
               and check.status != "error" and not check.message.startswith(_NOT_ASKED)]
    if numbers and all(check.status == "passed" for check in numbers):
        return tested.convention.name
    found = rules.of_all()
    return str(found) if found is not None and found.mistakes else found and found.name


def how_called(tested: Subject) -> str:
    """Return how it was called, and how its answer was understood."""
    answer = try_asking(tested.ask, tested.problem, tested.timeout)
    if isinstance(answer, str):
        return tested.words
    given = [name for name, has in (
        ("mAP", answer.mAP is not None), ("CMC", answer.cmc is not None),
        ("mINP", answer.mINP is not None), ("AP of each query", answer.ap is not None)) if has]
    told = [*answer.told, *["its numbers are percent"] * answer.percent]
    return "; ".join([tested.words, f"it gives {', '.join(given)}", *told,
                      *in_choices(tested.convention)])
