"""An evaluator under test, and the rule that it claims."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.foreign.answers import Answer, decimals_of
from reid_ref.foreign.arguments import fed
from reid_ref.foreign.arrays import Arrays
from reid_ref.foreign.calling import Ask, ask_functions, name_of, with_draws
from reid_ref.rules.candidates import find_rules
from reid_ref.testing.checks import CHECKS, Check, checks_of
from reid_ref.foreign.importing import ImportedEvaluator, check_spec, load_functions
from reid_ref.testing.judging import JUDGES, Verdict, try_asking
from reid_ref.rules.search import Asked, FoundRule, answered, rule_of

#: The rule that an evaluator is asked about if it claims none.
DEFAULT = "torchreid-function"
#: How the remark begins of a check that an evaluator cannot be asked.
NOT_ASKED = "not asked, since"


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
            return Verdict(remark=f"{NOT_ASKED} it takes one set")
        problems = check.problems(self.convention, self.square)
        if self.takes_features and any(arrays.features is None for arrays in problems):
            return Verdict(remark=f"{NOT_ASKED} it takes features")
        return self.judge_on(check, problems)

    def judge_on(self, check: Check, problems: list[Arrays]) -> Verdict:
        """Return what comes of a check on these problems."""
        return JUDGES[check.judge](self.ask, problems, self.convention, self.tolerance,
                                   self.timeout)

    def pairs(self, junk: bool | None) -> Asked:
        """Return the problems that tell rules apart, with its answers, or what it raised."""
        found: Asked = []
        for check in checks_of(self.convention, junk):
            if check.of_rule and not (self.square and check.takes_sides):
                for arrays in check.problems(self.convention, self.square):
                    found.append((arrays, try_asking(self.ask, arrays, self.timeout)))
        return found

    def rule(self, pairs: Asked, claimed: Convention | None,
             junk: bool | None) -> FoundRule | None:
        """Return the rule that it follows, on cameras of any kind or on those of SYSU-MM01."""
        located = replace(self, convention=CONVENTIONS["sysu-mm01"])
        return rule_of(pairs, [claimed] if claimed else [], self.tolerance,
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
    elif isinstance(evaluator, ImportedEvaluator):
        evaluator, told, name = evaluator.functions, evaluator.told, evaluator.about.evaluator
    functions = tuple(evaluator) if isinstance(evaluator, (tuple, list)) else (evaluator,)
    name = name if isinstance(name, str) else ", ".join(map(name_of, functions))
    ask, words = ask_functions(functions, name, max_rank, **settings)
    plans = [fed(function, name, settings) for function in functions]
    tested = Subject(name, with_draws(ask), words + told, find_rules(convention or DEFAULT)[0],
                     1e-12 if tolerance is None else tolerance, timeout,
                     any(plan.is_square for plan in plans),
                     any("features" in part for plan in plans for part in plan.names.values()))
    return _in_unit(tested, tolerance is not None)


def _in_unit(tested: Subject, has_tolerance: bool) -> Subject:
    """Return an evaluator whose numbers are shares, with the tolerance that few decimals need."""
    answer = try_asking(tested.ask, tested.problem, tested.timeout)
    if isinstance(answer, Answer) and answer.percent:
        ask = tested.ask
        tested = replace(tested, ask=lambda *given: ask(*given).of_percent())
    decimals = decimals_of(answer) if isinstance(answer, Answer) else None
    if decimals is None or has_tolerance:
        return tested
    unit = 100 if isinstance(answer, Answer) and answer.percent else 1
    return replace(tested, tolerance=0.5000001 * 10.0**-decimals / unit,
                   words=f"{tested.words}; its numbers are rounded to {decimals} decimal"
                   + "s" * (decimals > 1))
