"""The kit by which other evaluators test themselves.

A test of five lines, in any repository::

    from reid_ref import testing

    @testing.parametrize("torchreid")          # the rule that it claims
    def test_evaluator(check):
        check(my_evaluator)

`check_evaluator` does the same without pytest, and ``python -m reid_ref.testing module:function``
from a shell. Importing this loads nothing but numpy.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reid_ref.conventions import Convention
    from reid_ref.testing.kit import check_evaluator
    from reid_ref.testing.report import CheckResult, Report

__all__ = ["CheckResult", "Report", "check_evaluator", "parametrize"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from reid_ref.testing import kit
    return getattr(kit, name)


def parametrize(convention: str | Convention, *, junk: bool | None = None,
                max_rank: int | None = None, tolerance: float | None = None,
                timeout: float = 60, except_: Mapping[str, str] = MappingProxyType({}),
                ) -> Callable[[Any], Any]:
    """Return a decorator of pytest: a test runs once for each check of a rule.

    The test takes one argument, ``check``, and calls it with the evaluator, and with further
    arguments of the evaluator by name. A check that fails raises `AssertionError`, whose message
    has the smallest problem that shows it.

    Parameters
    ----------
    convention, junk, max_rank, tolerance, timeout, except_
        As for `check_evaluator`.

    Returns
    -------
    decorator

    Raises
    ------
    InputError
        The rule, or a check in `except_`, is not known.

    Examples
    --------
    >>> from reid_ref import testing
    >>> @testing.parametrize("torchreid", except_={"small gallery": "asks for 50 images"})
    ... def test_evaluator(check):
    ...     check(my_evaluator)
    """
    import pytest

    from reid_ref.testing.kit import checkers
    checks = checkers(convention, junk=junk, max_rank=max_rank, tolerance=tolerance,
                      timeout=timeout, except_=except_)
    return pytest.mark.parametrize("check", [
        pytest.param(check, id=name.replace(" ", "-")) for name, check in checks.items()])
