"""Intervals of the numbers on a screen: options, intervals, words and tables."""
from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from reid_ref.arrays import each_warning_once, warn
from reid_ref.console import options as common
from reid_ref.result import Result, intervals_of, named_ranks, sums_of_units
from reid_ref.statistics import Interval
from reid_ref.text import by_reason, cells, number as json_number, percent, row


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
    drawn = {"n": resamples, "seed": seed} if method == "bootstrap-t" else {}
    fields = {"ci": f"{name}-{method}", "level": f"{level:g}", **drawn}
    return replace(result, signature=result.signature.changed(fields, before="reid-ref"))


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


METHODS = ("bootstrap-t", "analytic")


def add(command: Any) -> None:
    command.add_argument("--confidence", action="store_true",
                         help="also the confidence interval and the standard error of each "
                              "number; queries of one identity are not independent")
    add_options(command)
    command.add_argument("--confidence-method", choices=METHODS,
                         help="bootstrap-t (default), or analytic: without random numbers")


def add_options(command: Any) -> None:
    """Take what intervals and paired tests share."""
    command.add_argument("--level", type=number, metavar="PERCENT",
                         help="of the intervals; default 95")
    command.add_argument("--unit", metavar="UNIT",
                         help="what is independent: identity (default), query, or a file with "
                              "one group a query, a line each")
    command.add_argument("--resamples", type=int, metavar="N",
                         help="how many are drawn; default 10000")
    command.add_argument("--seed", type=int, metavar="N", help="of what is drawn; default 12345")


def number(text: str) -> float:
    value = float(text)
    return int(value) if value.is_integer() else value


def check(args: argparse.Namespace) -> dict[str, Any] | None:
    """Return the options of intervals, None without --confidence, where none may be given."""
    from reid_ref.arrays import InputError

    if not args.confidence:
        given = [args.level, args.unit, args.confidence_method, args.resamples, args.seed]
        if given != [None] * len(given):
            raise InputError("--level, --unit, --confidence-method, --resamples, --seed: expected "
                             "--confidence beside them")
        return None
    if args.ties == "bounds" or args.implementation != "fast":
        raise InputError("--confidence: needs a value for each query; leave out --ties bounds and "
                         "--implementation")
    return {**read_options(args), "method": args.confidence_method or METHODS[0]}


def read_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of intervals; wrong ones are known before the work."""
    from reid_ref.files.lists import read_groups
    from reid_ref.statistics.interval import LEVEL, check_level
    from reid_ref.statistics.units import RESAMPLES, SEED, check_random

    unit = "identity" if args.unit is None else args.unit
    options = {
        "unit": unit if unit in ("identity", "query") else read_groups(unit),
        "level": LEVEL if args.level is None else args.level,
        "resamples": RESAMPLES if args.resamples is None else args.resamples,
        "seed": SEED if args.seed is None else args.seed}
    check_level(options["level"])
    check_random(options["resamples"], options["seed"])
    return options


def find(args: argparse.Namespace, results: dict[str, Result], options: dict[str, Any] | None,
         ) -> tuple[dict[str, Result], dict[str, dict[str, Interval]] | None]:
    """Return results whose signature says how intervals are made, and the intervals by name.

    Without options, the results as they are, and None.
    """
    if options is None:
        return results, None
    found = intervals(results, common.ranks(args), **options)
    return {name: with_signature(result, **options) for name, result in results.items()}, found
