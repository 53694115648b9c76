"""The kit: all checks of an evaluator, and the rule that it follows."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from reid_ref.arrays import check_choice
from reid_ref.conventions import Convention
from reid_ref.testing.checks import CHECKS, checks_of
from reid_ref.rules.changed import unlike
from reid_ref.rules.numbers import SINGLE
from reid_ref.testing.judging import try_asking
from reid_ref.testing.one_check import Rules, check_one, rules_of
from reid_ref.testing.report import CheckResult, Report, without_numbers
from reid_ref.testing.subject import NOT_ASKED, Subject, subject


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
    checks = without_numbers([check_one(tested, check, rules, except_)
                              for check in checks_of(tested.convention, junk)])
    return Report(tested.name, tested.convention.name, rule_name(tested, checks, rules),
                  how_called(tested), "" if convention else unlike(tested.convention), checks)


def claimed_or_found(tested: Subject, claims: bool,
                     junk: bool | None) -> tuple[Subject, Rules, bool | None]:
    """Return it with the rule that it claims, or else follows; its rules; if it gets -1."""
    if claims:
        plain = tested.judge(CHECKS["plain"])
        if plain.difference and replace(tested, tolerance=SINGLE).judge(CHECKS["plain"]).passed:
            tested = in_single_precision(tested, SINGLE)
        return tested, rules_of(tested, tested.convention, junk), junk
    junk = True if junk is None else junk
    rules = rules_of(tested, None, junk)
    if found := rules.of_all():
        tested = in_single_precision(replace(tested, convention=found.convention), found.tolerance)
    return tested, rules, junk


def in_single_precision(tested: Subject, tolerance: float) -> Subject:
    """Return it with a tolerance that no rule could do without; that is told."""
    if tolerance <= tested.tolerance:
        return tested
    return replace(tested, tolerance=tolerance, words=f"{tested.words}; its numbers are off by "
                   "more than double precision, so single precision is asked for")


def rule_name(tested: Subject, checks: Iterable[CheckResult], rules: Rules) -> str | None:
    """Return the claimed rule if its numbers were those, or the rule that was found."""
    numbers = [check for check in checks if CHECKS[check.name].of_rule
               and check.status != "error" and not check.message.startswith(NOT_ASKED)]
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
    return "; ".join([tested.words, f"it gives {', '.join(given)}", *told])
