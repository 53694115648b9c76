"""Intervals of the numbers on a screen: options, intervals, words and tables."""
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from reid_ref.arrays import IntervalWarning, each_warning_once, warn
from reid_ref.console.request import METHODS, Request
from reid_ref.console.terminal import phase
from reid_ref.disk import tables_of
from reid_ref.files.lists import read_groups
from reid_ref.measures import measure
from reid_ref.result import Result, headline, sum_intervals, sums_of_units
from reid_ref.statistics import Interval
from reid_ref.statistics.interval import LEVEL, check_level
from reid_ref.statistics.units import RESAMPLES, SEED, check_random
from reid_ref.text import by_reason, percent, row
from reid_ref.text.table import lines


def intervals(results: Mapping[str, Result], measures: Sequence[str], unit: Any = "identity",
              **options: Any) -> dict[str, dict[str, Interval]]:
    """Return the intervals of these measures by the names of result and measure.

    They are as `Result.interval` makes them; random numbers are drawn once for all. A number
    that has none is left out, with a warning that names the reason.
    """
    sums = {}
    with each_warning_once():
        for key, result in results.items():
            numbers = headline(result, measures)
            reasons = {name: why for name, value in numbers.items()
                       if (why := _why_none(result, name, value))}
            for why, names in by_reason(reasons).items():
                warn(f"no interval of {', '.join(names)} under convention "
                     f"{result.convention.name!r}: {why}", IntervalWarning)
            sums.update({(key, name): sums_of_units(result, name, unit)
                         for name in numbers if name not in reasons})
        by_result: dict[str, dict[str, Interval]] = {key: {} for key in results}
        for (key, name), interval in zip(sums, sum_intervals(sums.values(), **options)):
            by_result[key][name] = interval
    return by_result


def _why_none(result: Result, name: str, value: float) -> str:
    if math.isnan(value):
        return ("the number is NaN, since a query that counts has no value" if result.counted
                else "no query counts")
    curve = result.convention.curve
    which = measure(name)
    if which.of_curve and not curve.has_values(which.k or 0):
        return f"the curve counts {curve.words}, which leaves no value for each query"
    return ""


def with_signature(result: Result, *, unit: Any, level: float, method: str, resamples: int,
                   seed: int) -> Result:
    """Return a result whose signature contains the options of its intervals, the version last."""
    name = unit if isinstance(unit, str) else "group"
    # The galleries of a protocol have a seed, too.
    of_draws = "ci-seed" if "seed" in result.signature else "seed"
    drawn = {"n": resamples, of_draws: seed} if method == "bootstrap-t" else {}
    fields = {"ci": f"{name}-{method}", "level": f"{level:g}", **drawn}
    return replace(result, signature=result.signature.changed(fields, before="reid-ref"))


#: By the name of a row and of a metric; None if intervals were not asked for.
Intervals = Mapping[str, Mapping[str, Interval]] | None

NOUNS = {"identity": "identities", "query": "queries", "group": "groups"}


def single(numbers: Mapping[str, float], by_metric: Mapping[str, Interval]) -> list[str]:
    """Return the table of one result: each number with its interval and standard errors."""
    level = next((f"{interval.level:g} " for interval in by_metric.values()), "")
    rows = []
    for name, value in numbers.items():
        interval = by_metric.get(name)
        rows.append([name, percent(value), *(("-", "-", "-") if interval is None else (
            interval_ends(interval), percent(interval.se), percent(interval.se_naive)))])
    return lines(["", "percent", f"{level}% interval", "SE", "naive SE"], rows, indent=10)


def several(intervals: Intervals, measures: Sequence[str]) -> list[str]:
    """Return a table of several rows, their intervals of these measures, and notes.

    Of more than three measures it has one Rank-k, the first.
    """
    if intervals is None:
        return []
    every = [interval for by_metric in intervals.values() for interval in by_metric.values()]
    title = f"{every[0].level:g} % interval" if every else "interval"
    later = [name for name in measures if measure(name).of_curve][1:] if len(measures) > 3 else ()
    columns = [name for name in measures if name not in later]
    shown = {name: {metric: by_metric[metric] for metric in columns if metric in by_metric}
             for name, by_metric in intervals.items()}
    rows = [[name, *(interval_ends(of.get(metric)) for metric in columns)]
            for name, of in shown.items()]
    return ["", *lines([title, *columns], rows), "", *notes(shown)]


def interval_ends(interval: Interval | None, between: str = " .. ",
                  form: Callable[[float], str] = percent) -> str:
    """Return the ends of an interval in percent, a dash if they are left out."""
    if interval is None or math.isnan(interval.low):
        return "-"
    return f"{form(interval.low)}{between}{form(interval.high)}"


def notes(intervals: Mapping[str, Mapping[str, Interval]]) -> list[str]:
    """Return how the intervals of some rows are made and what they cover, as rows of a report."""
    text: list[str] = []
    kinds: dict[str, Callable[[Mapping[str, Interval]], str]] = {
        "interval": sentence, **{method: partial(_why, method) for method in _WHY}}
    for title, words in kinds.items():
        by_name = {name: words(by_metric) for name, by_metric in intervals.items() if by_metric}
        grouped = by_reason({name: note for name, note in by_name.items() if note})
        several_rows = len(grouped if title == "interval" else intervals) > 1
        for note, names in grouped.items():
            text += row(title, note + (f" ({', '.join(names)})" if several_rows else ""))
    return text


def sentence(by_metric: Mapping[str, Interval], models: str = "this model") -> str:
    """Return how the intervals of one result are made, and what they cover."""
    name = next((name for name in ("mAP", *by_metric)
                 if name in by_metric and by_metric[name].method == "bootstrap-t"),
                next(iter(by_metric)))
    interval = by_metric[name]
    how = drawn(interval.unit, interval.method, interval.resamples, interval.seed)
    return f"{how}; {_units(name, interval)}; holds for this gallery and {models}"


def drawn(unit: str, method: str, resamples: int, seed: int | None) -> str:
    """Return unit and method of an interval, in words."""
    random = f", {resamples:,} resamples, seed {seed}" if resamples else ", no random numbers"
    return f"{unit} {method}{random}"


def _units(name: str, interval: Interval) -> str:
    if interval.unit == "query":
        return f"{interval.queries:,} queries, taken as independent"
    effect = ("" if math.isnan(interval.design_effect)
              else f" (design effect of {name} {interval.design_effect:.1f})")
    return (f"{interval.queries:,} queries of {interval.units:,} {NOUNS[interval.unit]}{effect}")


#: Why a number has an interval of another method than bootstrap-t.
_WHY: Mapping[str, str] = tables_of("console/intervals.toml")


def _why(method: str, by_metric: Mapping[str, Interval]) -> str:
    methods = {name: interval.method for name, interval in by_metric.items()}
    names = [name for name in methods if methods[name] == method]
    if not names or (method == METHODS[1] and METHODS[0] not in methods.values()):
        return ""  # nothing, or what was requested
    interval = by_metric[names[0]]
    words = _WHY[method].format(units=interval.units, nouns=NOUNS[interval.unit])
    return f"{', '.join(names)}: {words}"


#: Options of paired tests, and of intervals.
OF_TESTS = ("--level", "--unit", "--resamples", "--seed")
OF_INTERVALS = ("--confidence", *OF_TESTS, "--confidence-method")


def interval_options(request: Request, always: bool = False) -> dict[str, Any] | None:
    """Return the options of intervals, None without --confidence, unless they are `always` made.
    """
    if not (request.confidence or always):
        return None
    return {**read_options(request), "method": request.confidence_method or METHODS[0]}


def read_options(request: Request) -> dict[str, Any]:
    """Return the options of intervals; wrong ones are known before the work."""
    unit = request.unit or "identity"
    options: dict[str, Any] = {
        "unit": unit if unit in ("identity", "query") else read_groups(unit)}
    for name, default in (("level", LEVEL), ("resamples", RESAMPLES), ("seed", SEED)):
        given = getattr(request, name)
        options[name] = default if given is None else given
    check_level(options["level"])
    check_random(options["resamples"], options["seed"])
    return options


def results_with_intervals(
        results: Mapping[str, Result], measures: Sequence[str], options: dict[str, Any] | None,
         ) -> tuple[Mapping[str, Result], dict[str, dict[str, Interval]] | None]:
    """Return results whose signatures contain the options of intervals, and these by name.

    Without options, the results as they are, and None.
    """
    if options is None:
        return results, None
    phase(f"intervals from {options['resamples']:,} resamples")
    by_name = intervals(results, measures, **options)
    return {name: with_signature(result, **options) for name, result in results.items()}, by_name
