"""An evaluator on the made problems of `reid_ref.testing`, in a process of its own."""
from collections.abc import Callable, Mapping
from contextlib import closing
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from reid_ref.conventions import Convention
from reid_ref.foreign.child import Child
from reid_ref.rules.candidates import find_rules
from reid_ref.testing.kit import report_of, session
from reid_ref.testing.report import Report


def crosscheck_made(evaluator: str, *, convention: str | Convention | None = None,
                    timeout: float = 600,
                    max_rank: int | None = None, tolerance: float | None = None,
                    settings: Mapping[str, Any] = MappingProxyType({}),
                    progress: Callable[[float], object] = lambda _: None) -> Report:
    """Test an evaluator by made problems, each with one thing that evaluators differ in.

    A crash or a hang ends its process, and counts as the error of one check.

    Parameters
    ----------
    evaluator : str
        "module:function" or "file.py:function"; two functions are "module:mean_ap,cmc".
    convention : str or Convention, optional
        The rule that it claims. Default: the one that its answers follow.
    timeout : float
        Seconds that importing it, or any one check, may take.
    max_rank, tolerance, settings
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
