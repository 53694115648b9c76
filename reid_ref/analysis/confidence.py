"""The intervals of the numbers that a report shows, and what a signature says of them."""
from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from reid_ref.arrays import each_warning_once, warn
from reid_ref.result import Result, named_ranks
from reid_ref.statistics import Interval
from reid_ref.words import by_reason


def intervals(result: Result, ranks: Iterable[int], **options: Any) -> dict[str, Interval]:
    """Return the interval of each Rank-k, mAP and mINP by name, as `Result.interval` makes it.

    A number that has none is left out, with a warning that says why.
    """
    numbers = {**named_ranks(result.cmc, ranks), "mAP": result.mAP, "mINP": result.mINP}
    reasons = {name: why for name, value in numbers.items()
               if (why := _why_none(result, name, value))}
    with each_warning_once():
        for why, names in by_reason(reasons).items():
            warn(f"no interval of {', '.join(names)} under convention "
                 f"{result.convention.name!r}: {why}")
        return {name: result.interval(name, **options) for name in numbers if name not in reasons}


def _why_none(result: Result, name: str, value: float) -> str:
    if math.isnan(value):
        return "the number is NaN, since a query that counts has no value"
    curve = result.convention.curve
    if name.startswith("Rank-") and curve.of_query is None:
        return f"the curve counts {curve.words}, which leaves no value for each query"
    return ""


def with_signature(result: Result, *, unit: Any, level: float, method: str, resamples: int,
                   seed: int) -> Result:
    """Return a result whose signature says how its intervals are made, the version still last."""
    name = unit if isinstance(unit, str) else "group"
    drawn = f"|n:{resamples}|seed:{seed}" if method == "bootstrap-t" else ""
    head, version, number = result.signature.rpartition("|reid-ref:")
    return replace(result, signature=(
        f"{head}|ci:{name}-{method}|level:{level:g}{drawn}{version}{number}"))
