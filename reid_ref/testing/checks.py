"""The checks: one record each, with the sentence that it stands for, from checks.toml."""
from collections.abc import Callable
from typing import Any, NamedTuple

from reid_ref.conventions import Convention
from reid_ref.disk import tables_of
from reid_ref.foreign.arrays import Arrays
from reid_ref.testing import problems


class Check(NamedTuple):
    """One check.

    Parameters
    ----------
    name, sentence : str
        Its pytest id, and what an evaluator that passes does.
    problems : callable
        (convention, whether one set is evaluated against itself) to the problems.
    judge : str
        How answers are judged; "numbers": they are those of the rule.
    of_rule : bool
        Whether the problems tell rules apart.
    takes_sides : bool
        Whether it needs two sets.
    of_junk : bool
        Whether there are images labelled -1.
    """

    name: str
    sentence: str
    problems: Callable[[Convention, bool], list[Arrays]]
    judge: str = "numbers"
    of_rule: bool = False
    takes_sides: bool = False
    of_junk: bool = False


def _check(name: str, made: list[Any], **fields: Any) -> Check:
    """Return the check of a table of checks.toml."""
    kind, *values = made
    return Check(name, problems=lambda *given: getattr(problems, kind)(*given, *values), **fields)


CHECKS = {name: _check(name, table.pop("problems"), **table)
          for name, table in tables_of("testing/checks.toml").items()}


def checks_of(convention: Convention, junk: bool | None = None) -> list[Check]:
    """Return the checks that a rule is tested by.

    Parameters
    ----------
    convention : Convention
    junk : bool, optional
        Whether images labelled -1 are handed over. Default: where the rule itself decides what
        becomes of them, and not its loader.

    Examples
    --------
    >>> from reid_ref.conventions import CONVENTIONS
    >>> names = [check.name for check in checks_of(CONVENTIONS["torchreid"])]
    >>> "ties" in names, "label -1" in names
    (True, False)
    """
    given = convention.loads == "all images" if junk is None else junk
    return [check for check in CHECKS.values() if given or not check.of_junk]
