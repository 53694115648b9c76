"""One check at a time: for pytest, and for a process of its own."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

from reid_ref.arrays import check_choice
from reid_ref.conventions import Convention
from reid_ref.foreign.importing import ImportedEvaluator
from reid_ref.rules.candidates import find_rules
from reid_ref.rules.changed import unlike
from reid_ref.testing.checks import CHECKS, checks_of
from reid_ref.testing.kit import claimed_or_found, how_called, rule_name
from reid_ref.testing.one_check import Rules, check_one, rules_of
from reid_ref.testing.report import CheckResult, Report, without_numbers
from reid_ref.testing.subject import DEFAULT, Subject, subject


def checks_by_name(convention: str | Convention, junk: bool | None,
                   except_: Mapping[str, str]) -> list[str]:
    """Return the names of a rule's checks; refuse unknown ones in `except_`."""
    for name in except_:
        check_choice(name, "except_", CHECKS)
    return [check.name for check in checks_of(find_rules(convention)[0], junk)]


def checker(convention: str | Convention, name: str, *, junk: bool | None = None,
            except_: Mapping[str, str] = MappingProxyType({}),
            **options: Any) -> Callable[..., None]:
    """Return what a test calls with an evaluator; it raises `AssertionError` where it fails."""
    def check(evaluator: Any, **settings: Any) -> None:
        __tracebackhide__ = True
        given = evaluator, convention, junk, tuple(options.items()), tuple(settings.items())
        try:
            tested, rules = _tested(*given)
        except TypeError:  # a setting that cannot be hashed, such as a list
            tested, rules = _tested.__wrapped__(*given)
        outcome = check_one(tested, CHECKS[name], rules._replace(told=set()), except_)
        if outcome.status != "passed":
            raise AssertionError(f"{CHECKS[name].sentence}\n{outcome.message}")
    return check


@lru_cache(4)
def _tested(evaluator: Any, convention: str | Convention, junk: bool | None,
            options: tuple[tuple[str, Any], ...],
            settings: tuple[tuple[str, Any], ...]) -> tuple[Subject, Rules]:
    """Return an evaluator under test, and its rules, which the checks that fail share."""
    tested = subject(evaluator, convention, settings=dict(settings), **dict(options))
    return tested, rules_of(tested, tested.convention, junk)


def session(loaded: ImportedEvaluator, **options: Any) -> Callable[[str], Any]:
    """Return what does one task after another with an evaluator, for `report_of`.

    The name of a check gives its `CheckResult`; "checks" the rule and the names of its checks;
    "rule" the rule that is followed, and how the evaluator was called.

    Parameters
    ----------
    loaded : ImportedEvaluator
    options
        As for `subject`.
    """
    done: list[CheckResult] = []

    @cache
    def start() -> tuple[Subject, Rules, bool | None]:
        tested = subject(loaded, **options)
        return claimed_or_found(tested, options.get("convention") is not None, None)

    def run(task: str) -> Any:
        tested, rules, junk = start()
        if task == "checks":
            return tested.convention.name, [
                check.name for check in checks_of(tested.convention, junk)]
        if task == "rule":
            return (rule_name(tested, done, rules), how_called(tested),
                    "" if options.get("convention") else unlike(tested.convention))
        done.append(check_one(tested, CHECKS[task], rules))
        return done[-1]
    return run


def report_of(name: str, run: Callable[[str], Any],
              progress: Callable[[float], object] = lambda _: None) -> Report:
    """Return the report of a session.

    `run`: from a task to what it gives, or to a text if the evaluator's process failed.
    """
    started = run("checks")
    if isinstance(started, str):
        return Report(name, DEFAULT, None, "", "", (CheckResult("plain", "error", started),))
    convention, names = started
    results = []
    for check in names:
        outcome = run(check)
        results.append(CheckResult(check, "error", outcome) if isinstance(outcome, str)
                       else outcome)
        progress(1)
    found = run("rule")
    rule, how, against = (None, found, "") if isinstance(found, str) else found
    return Report(name, convention, rule, how, against, without_numbers(results))
