"""Several methods in one table: a row a method, or a row a method and convention."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from reid_ref.commands.evaluate.show import results_as_json
from reid_ref.console import confidence
from reid_ref.datasets import Recognised
from reid_ref.result import Result
from reid_ref.statistics import Interval
from reid_ref.text import WIDTH, by_reason, cells, percent, row, signature_lines, source

One = TypeVar("One")


@dataclass(frozen=True)
class Method:
    """One result: where it was read, and its numbers by convention.

    Parameters
    ----------
    name : str
        Of its row.
    files : list of str
    layout, sizes : str
        As reports show them.
    known : Recognised or None
        The benchmark that its labels are of.
    results : dict of str to Result
        By convention.
    intervals : dict of str to dict of str to Interval, or None
        By convention and metric.
    """

    name: str
    files: list[str]
    layout: str
    sizes: str
    known: Recognised | None
    results: dict[str, Result]
    intervals: dict[str, dict[str, Interval]] | None = None


def rows_of(methods: list[Method]) -> dict[str, Result]:
    """Return row name to result: the method's, with its convention where there are several."""
    return by_row({method.name: method.results for method in methods})


def intervals_of(methods: list[Method]) -> dict[str, dict[str, Interval]] | None:
    """Return the intervals by the name of each row; None where none were asked for."""
    return by_row({method.name: method.intervals or {} for method in methods}) or None


def by_row(results: Mapping[str, Mapping[str, One]]) -> dict[str, One]:
    """As `rows_of`, of results, or what else there is, by method and convention."""
    return {f"{name} ({convention})" if len(by_convention) > 1 else name: one
            for name, by_convention in results.items()
            for convention, one in by_convention.items()}


def as_json(methods: list[Method], left_out: dict[str, str],
            length: int | None) -> dict[str, Any]:
    """Return what each method's files hold and its numbers, by the method's name."""
    return {"results": {
        method.name: {"files": method.files, "layout": method.layout,
                      **results_as_json(method.results, left_out, method.known, length,
                                        method.intervals)}
        for method in methods}}


def as_table(methods: list[Method], left_out: dict[str, str], ranks: tuple[int, ...]) -> str:
    """Return what each method's files hold, and one line a row in percent.

    Parameters
    ----------
    methods : list of Method
    left_out : dict of str to str
        Conventions that were not computed, and why.
    ranks : tuple of int
        Which Rank-k are shown.
    """
    lines: list[str] = []
    for method in methods:
        counts = next(iter(method.results.values())).counts
        lines += row("input", f"{method.name}: {source(method.files, method.layout)}")
        lines += row("", f"{counts.query:,} queries, {counts.gallery:,} gallery; {method.sizes}"
                     + (f"; {method.known.sentence}" if method.known else ""))
    rows = rows_of(methods)
    indent = max(12, WIDTH - 7 * (len(ranks) + 2) - 6)
    heads = [*(f"R-{k}" for k in ranks), "mAP", "mINP"]
    lines += ["", cells("percent", heads, indent)[-1] + f"{'used':>6}"]
    for name, result in rows.items():
        points = [percent(float(result.cmc[k - 1])) if k <= len(result.cmc) else "-"
                  for k in ranks]
        lines += cells(name, [*points, percent(result.mAP), percent(result.mINP)], indent)
        lines[-1] += f"{result.counted:>6}"
    lines += ["", *row("used", "number of queries in the mean of mAP")]
    lines += confidence.several(intervals_of(methods))
    for why, names in by_reason(left_out).items():
        lines += row("left out", f"{', '.join(names)}: {why}")
    return "\n".join([*lines, *signature_lines(
        {name: str(result.signature) for name, result in rows.items()})])
