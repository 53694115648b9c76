"""Intervals in words and tables; what they cover is said beside them."""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from reid_ref.statistics import Interval
from reid_ref.words import by_reason, cells, number as json_number, percent, row

#: By the name of a row and of a metric; None where intervals were not asked for.
Intervals = Mapping[str, Mapping[str, Interval]] | None

COVERS = "holds for this gallery and {}"
NOUNS = {"identity": "identities", "query": "queries", "group": "groups"}


def as_json(intervals: Intervals, name: str) -> dict[str, Any]:
    """Return the key `confidence` of one result, or nothing where none was asked for."""
    if intervals is None:
        return {}
    return {"confidence": {metric: interval_as_json(one)
                           for metric, one in intervals[name].items()}}


def interval_as_json(one: Interval) -> dict[str, Any]:
    """Return the fields of an interval, but for the number itself."""
    return {key: json_number(value) if isinstance(value, float) else value
            for key, value in asdict(one).items() if key != "value"}


def single(numbers: list[tuple[str, float]], found: Mapping[str, Interval]) -> list[str]:
    """Return the table of one result: each number with its interval and standard errors."""
    level = next((f"{one.level:g}" for one in found.values()), "")
    lines = [f"{'':10}{'percent':>13}{level + ' % interval':>18}{'SE':>8}{'naive SE':>12}"]
    for name, value in numbers:
        one = found.get(name)
        values = ("-", "-", "-") if one is None else (
            ends(one), percent(one.se), percent(one.se_naive))
        lines.append(f"{name:10}{percent(value):>13}{values[0]:>18}{values[1]:>8}{values[2]:>12}")
    return lines


def several(intervals: Intervals) -> list[str]:
    """Return a table of several rows, the intervals of mAP, one Rank-k and mINP, and notes."""
    if intervals is None:
        return []
    every = [one for found in intervals.values() for one in found.values()]
    title = f"{every[0].level:g} % interval" if every else "interval"
    ranks = [name for found in intervals.values() for name in found if name.startswith("Rank-")]
    columns = ["mAP", *(ranks[:1] or ["Rank-1"]), "mINP"]
    lines = ["", *cells(title, columns, 26, 18)]
    for name, found in intervals.items():
        lines += cells(name, [ends(found[metric]) if metric in found else "-"
                              for metric in columns], 26, 18)
    return [*lines, "", *notes(intervals)]


def ends(one: Interval) -> str:
    """Return the ends of an interval in percent."""
    return f"{percent(one.low)} .. {percent(one.high)}"


def notes(intervals: Mapping[str, Mapping[str, Interval]]) -> list[str]:
    """Return how the intervals of some rows are made and what they cover, as rows of a report."""
    sentences = {name: sentence(found) for name, found in intervals.items() if found}
    grouped = by_reason(sentences)
    lines: list[str] = []
    for text, names in grouped.items():
        lines += row("interval", text + (f" ({', '.join(names)})" if len(grouped) > 1 else ""))
    exact = {name: _exact(found) for name, found in intervals.items()}
    for text, names in by_reason({name: text for name, text in exact.items() if text}).items():
        lines += row("exact", text + (f" ({', '.join(names)})" if len(intervals) > 1 else ""))
    few = {name: _few(found) for name, found in intervals.items()}
    for text, names in by_reason({name: text for name, text in few.items() if text}).items():
        lines += row("analytic", text + (f" ({', '.join(names)})" if len(intervals) > 1 else ""))
    return lines


def sentence(found: Mapping[str, Interval], models: str = "this model") -> str:
    """Return how the intervals of one result are made, and what they cover."""
    name, one = next(((name, found[name]) for name in ("mAP", *found)
                      if name in found and found[name].method == "bootstrap-t"),
                     next(iter(found.items())))
    how = drawn(one.unit, one.method, one.resamples, one.seed)
    return f"{how}; {_behind(name, one)}; {COVERS.format(models)}"


def drawn(unit: str, method: str, resamples: int, seed: int | None) -> str:
    """Return unit and method of an interval, in words."""
    random = f", {resamples:,} resamples, seed {seed}" if resamples else ", no random numbers"
    return f"{unit} {method}{random}"


def _behind(name: str, one: Interval) -> str:
    if one.unit == "query":
        return f"{one.queries:,} queries, taken as independent"
    effect = ("" if math.isnan(one.design_effect)
              else f" (design effect of {name} {one.design_effect:.1f})")
    return f"{one.units:,} {NOUNS[one.unit]} stand behind {one.queries:,} queries{effect}"


def _few(found: Mapping[str, Interval]) -> str:
    """Return which intervals the bootstrap did not give, where it gave others."""
    names = [name for name, one in found.items() if one.method == "analytic"]
    if not names or not any(one.method == "bootstrap-t" for one in found.values()):
        return ""
    return (f"{', '.join(names)}: so few {NOUNS[found[names[0]].unit]} have an error, or are "
            "right, that the bootstrap fails; the interval is Student's on the logit scale")


def _exact(found: Mapping[str, Interval]) -> str:
    names = [name for name, one in found.items() if one.method == "exact"]
    if not names:
        return ""
    one = found[names[0]]
    return (f"{', '.join(names)}: all queries are alike, so no spread tells the interval; it is "
            f"the exact one-sided bound of {one.units:,} {NOUNS[one.unit]}")
