"""A report of the kit as text."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reid_ref.testing.kit import Report

_WORDS = {"passed": "passed", "failed": "FAILED", "error": "ERROR"}


def report_text(report: Report) -> str:
    """Return the rule first, then a line per check, then what shows each failure."""
    passed = sum(check.status == "passed" for check in report.checks)
    lines = [f"{report.evaluator}: {_verdict(report)}", f"  {report.how}",
             f"  {passed} of {len(report.checks)} checks pass", ""]
    width = max(len(check.name) for check in report.checks)
    for check in report.checks:
        first = check.message.partition("\n")[0]
        lines.append(f"{_WORDS[check.status]}  {check.name:<{width}}  {first}".rstrip())
    for check in report.checks:
        if check.status != "passed" and "\nas above" not in check.message:
            lines += ["", f"{check.name}:", *(f"  {line}" for line in check.message.split("\n"))]
    return "\n".join(lines)


def _verdict(report: Report) -> str:
    if report.rule == report.convention:
        return f"its numbers are those of {report.rule}, wherever it answers"
    if report.rule is None:
        return f"its numbers are not those of {report.convention}, and no rule gives them"
    return f"its numbers are not those of {report.convention} but those of {report.rule}"
