"""An evaluator under test, and the rule that it claims."""
from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.conventions import Convention
from reid_ref.foreign.answers import Answer, decimals_of
from reid_ref.foreign.arguments import Form
from reid_ref.foreign.arrays import Arrays
from reid_ref.foreign.calling import Ask, TimeIsUp, time_limit, with_draws
from reid_ref.foreign.importing import ImportedEvaluator, load_evaluator
from reid_ref.foreign.words import describe
from reid_ref.result import Result
from reid_ref.rules.candidates import find_rules
from reid_ref.rules.numbers import Mismatch, mismatches
from reid_ref.testing.checks import CHECKS

#: The rule that an evaluator is asked about if it claims none.
DEFAULT = "torchreid-function"


@dataclass(frozen=True)
class Subject:
    """An evaluator under test: what asks it, the rule that it claims, and how strictly."""

    loaded: ImportedEvaluator
    ask: Ask
    words: str
    convention: Convention
    tolerance: float
    timeout: float

    @property
    def problem(self) -> Arrays:
        """The first problem."""
        return CHECKS["plain"].problems(self.convention, self.loaded.is_square)[0]

    def answer(self, arrays: Arrays, form: Form = Form()) -> Answer | str:
        """Return an answer, or what it raised: one line. What it prints goes nowhere."""
        printed = StringIO()
        try:
            with np.errstate(all="ignore"), redirect_stdout(printed), redirect_stderr(printed), \
                    time_limit(self.timeout):
                return self.ask(arrays, form)
        except KeyboardInterrupt:
            raise
        except (InputError, TimeIsUp) as error:
            return str(error)
        except BaseException as error:  # SystemExit is an answer, too
            return f"it ends in {describe(error)}"

    def afresh(self) -> Subject:
        """Return it imported anew, so that it keeps nothing of earlier calls; itself if it cannot.
        """
        try:
            ask = with_draws(self.loaded.again().ask)
        except Exception:
            return self
        return replace(self, ask=ask)

    def wrong(self, answer: Answer, result: Result) -> list[Mismatch]:
        """Return which numbers of an answer are not those of a result."""
        return mismatches(answer, result, self.tolerance)[0]


def subject(evaluator: Any, convention: Any = None, *, tolerance: float | None = None,
            timeout: float = 60) -> Subject:
    """Return an evaluator under test, with the unit and the decimals of its numbers.

    Raises
    ------
    InputError
        It cannot be called, or the rule is not known or takes lists.
    """
    loaded = evaluator if isinstance(evaluator, ImportedEvaluator) else load_evaluator(
        evaluator, None)
    tested = Subject(loaded, with_draws(loaded.ask), loaded.words,
                     find_rules(convention or DEFAULT)[0],
                     1e-12 if tolerance is None else tolerance, timeout)
    answer = tested.answer(tested.problem)
    if isinstance(answer, str) or tolerance is not None or (
            decimals := decimals_of(answer)) is None:
        return tested
    return replace(tested, tolerance=0.5000001 * 10.0**-decimals / (100 if answer.percent else 1),
                   words=f"{tested.words}; its numbers are rounded to {decimals} decimal"
                   + "s" * (decimals > 1))
