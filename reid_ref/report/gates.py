"""One line for each gate that a result did not pass."""
from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from reid_ref.analysis.compare import Comparison
from reid_ref.analysis.findings import Finding
from reid_ref.analysis.gates import Missed
from reid_ref.words import signed_percent


def unexpected_line(missed: Sequence[Missed]) -> str:
    """Return what is expected otherwise."""
    return "--expect: " + "; ".join(
        f"{one.name} is {_percent(one.value)}, expected {one.wanted} within {one.tolerance}"
        for one in missed)


def too_low_line(missed: Sequence[Missed]) -> str:
    """Return what is below its floor."""
    return "--fail-under: " + "; ".join(
        f"{one.name} is {_percent(one.value)}, below {one.wanted}" for one in missed)


def worse_line(path: str, found: Sequence[Comparison]) -> str:
    """Return what is worse than in the baseline."""
    return f"--baseline: significantly worse than {path}: " + "; ".join(
        f"{one.metric} {signed_percent(one.difference)} points (95 % interval "
        f"{signed_percent(one.low)} to {signed_percent(one.high)}, p = {one.p_adjusted:.2g})"
        for one in found)


def findings_line(found: Sequence[Finding]) -> str:
    """Return the keys of what the doctor found."""
    return f"--strict: {', '.join(dict.fromkeys(one.key for one in found))}"


def _percent(value: Decimal | None) -> str:
    return "NaN" if value is None else f"{value.normalize():f}"
