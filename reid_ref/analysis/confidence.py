"""The intervals of the numbers that a report shows, and what a signature says of them."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from reid_ref.arrays import each_warning_once, warn
from reid_ref.result import Result, intervals_of, named_ranks, sums_of_units
from reid_ref.statistics import Interval
from reid_ref.words import by_reason


def intervals(results: Mapping[str, Result], ranks: Iterable[int], unit: Any = "identity",
              **options: Any) -> dict[str, dict[str, Interval]]:
    """Return the intervals of each Rank-k, mAP and mINP by the names of result and number.

    They are as `Result.interval` makes them; random numbers are drawn once for all. A number
    that has none is left out, with a warning that says why.
    """
    ranks = list(ranks)
    sums = {}
    with each_warning_once():
        for key, result in results.items():
            numbers = {**named_ranks(result.cmc, ranks), "mAP": result.mAP, "mINP": result.mINP}
            reasons = {name: why for name, value in numbers.items()
                       if (why := _why_none(result, name, value))}
            for why, names in by_reason(reasons).items():
                warn(f"no interval of {', '.join(names)} under convention "
                     f"{result.convention.name!r}: {why}")
            sums.update({(key, name): sums_of_units(result, name, unit)
                         for name in numbers if name not in reasons})
        found: dict[str, dict[str, Interval]] = {key: {} for key in results}
        for (key, name), interval in zip(sums, intervals_of(sums.values(), **options)):
            found[key][name] = interval
    return found


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
