"""One line for each gate that a result did not pass."""
from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from reid_ref.analysis.gates import Missed


def unexpected(missed: Sequence[Missed]) -> str:
    """Return what is expected otherwise."""
    return "--expect: " + "; ".join(
        f"{one.name} is {_percent(one.value)}, expected {one.wanted} within {one.tolerance}"
        for one in missed)


def too_low(missed: Sequence[Missed]) -> str:
    """Return what is below its floor."""
    return "--fail-under: " + "; ".join(
        f"{one.name} is {_percent(one.value)}, below {one.wanted}" for one in missed)


def _percent(value: Decimal | None) -> str:
    return "NaN" if value is None else f"{value.normalize():f}"
