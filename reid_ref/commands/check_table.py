"""`reid-ref check-table`: rows of printed tables of results whose numbers are impossible.

Tables are Markdown, HTML or LaTeX (`reid_ref.text.pages`), and a header says what a cell is
(`reid_ref.datasets.printed`). A signature is in a cell of its row, or in a line of its own as
`reid-ref evaluate --format markdown` and `latex` write it, after the name of the row.
"""
from __future__ import annotations

import argparse
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from reid_ref.arrays import InputError
from reid_ref.console.terminal import show
from reid_ref.conventions import UNMATCHED
from reid_ref.datasets import FINGERPRINTS
from reid_ref.datasets.benchmarks import BENCHMARKS, counted_benchmark
from reid_ref.datasets.printed import (
    SEVERAL, UNKNOWN, Number, PrintedRow, forms_of, is_table_of_results, rows_of)
from reid_ref.datasets.published import hit_counts, nearest, queries_of, unit_of
from reid_ref.disk import read_lines
from reid_ref.signature import convention_of, off_its_name, parse_signature
from reid_ref.text.pages import Grid, plain, tables_of

#: Programs print float32, which has no more digits of a percentage than these.
_SINGLE = Decimal("0.00001")


class CheckedRow(NamedTuple):
    """A row, its signature, the numbers whose count k/N was checked, and what is impossible."""

    row: PrintedRow
    signature: str | None
    counted: tuple[Number, ...]
    faults: tuple[str, ...]


def check_page(page: Sequence[str], dataset: str | None = None) -> tuple[list[CheckedRow],
                                                                         list[Grid]]:
    """Return the rows of a page, and the tables of results of which no row was understood.

    `dataset` is a key of `FINGERPRINTS`: the benchmark of numbers that nothing on the page names.

    Examples
    --------
    >>> page = ["## Market-1501", "| Method | Rank-1 |", "|:--|--:|", "| ours | 89.91 |"]
    >>> checked, unread = check_page(page)
    >>> checked[0].faults[0]
    'Rank-1 89.91 is no count of 3,368 queries: the nearest are 3,028 (89.9050) and ...'
    """
    grids = tables_of(page)
    signatures, forms = list(_signatures(page)), [(0, list[str]()), *forms_of(page)]
    checked: list[CheckedRow] = []
    unread: list[Grid] = []
    # Those from one table to the next are of its rows.
    ends = [bisect_left(signatures, (grid.rows[0][0],)) for grid in grids] + [len(signatures)]
    for grid, (first, end) in zip(grids, pairwise(ends)):
        form = forms[bisect_left(forms, (grid.rows[0][0],)) - 1][1]
        rows = list(rows_of(grid, form))
        named = {name: signature for _, name, signature in reversed(signatures[first:end])}
        inside = {line: signature for line, _, signature in signatures[first:end]}
        checked += [check_row(row, inside.get(row.line, named.get(row.name)), dataset)
                    for row in rows]
        if not rows and is_table_of_results(grid):
            unread.append(grid)
    return checked, unread


def _signatures(page: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the line of each signature, the name before it, and itself."""
    for number, line in enumerate(page, 1):
        line = line.replace("\\|", "|").strip()
        start = line.find("convention:")
        end = line.find("|reid-ref:", start)
        if 0 <= start < end:
            version = line[end + 10:end + 60].replace("`", " ").replace("|", " ").split()
            name = line[:start].strip("-*+%` ").removesuffix(":")
            yield (number, name if line[0] == "%" else plain(name),
                   line[start:end + 10] + "".join(version[:1]))


def check_row(row: PrintedRow, signature: str | None, dataset: str | None) -> CheckedRow:
    """Return what is impossible in a row; a signature says how many queries Rank-k counts."""
    faults: list[str] = []
    n_signed: int | None = None
    if signature is not None:
        try:
            fields = parse_signature(signature)
            faults, n_signed = off_its_name(fields), _queries_of_rank(fields)
        except InputError as error:
            faults = [str(error)]
    counted = []
    for number in row.numbers:
        n_query = n_signed if signature is not None else queries_of(number.benchmark or dataset
                                                                    or "")
        faults += _impossible(number, n_query)
        if n_query is not None and not number.is_mean and number.metric.startswith("Rank-"):
            counted.append(number)
    return CheckedRow(row, signature, tuple(counted), (*faults, *_falling(row.numbers)))


def _queries_of_rank(fields: Mapping[str, str]) -> int | None:
    """Return how many queries Rank-k counts; None where it is no such count, or unknown."""
    convention = convention_of(fields)
    n_query, n_gallery = int(fields["queries"]), int(fields["gallery"])
    if not n_query:
        raise InputError("signature", "a number of queries from 1", "queries:0")
    if not convention.curve.counts:
        return None
    # Queries without a match may be left out; on a benchmark none is without one.
    counted = UNMATCHED[convention.unmatched].in_cmc or any(
        counts.query == n_query and n_gallery in (counts.gallery, counts.gallery - counts.junk)
        for counts in (benchmark.counts for benchmark in FINGERPRINTS.values()))
    return n_query if counted else None


def _impossible(number: Number, n_query: int | None) -> Iterator[str]:
    """Yield what is impossible about one number: beyond 100 percent, a share of no count."""
    value = number.percent
    if value > 100:
        yield f"{number.metric} {number.printed} is over 100 percent"
    elif n_query is not None and not number.is_mean and number.metric.startswith("Rank-"):
        counts = hit_counts(value if unit_of(value) >= _SINGLE else value.quantize(_SINGLE),
                            n_query)
        if counts.rounding == "no":
            yield (f"{number.metric} {number.printed} is no count of {n_query:,} queries: the "
                   f"nearest are {nearest(counts)}")


def _falling(numbers: Sequence[Number]) -> Iterator[str]:
    """Yield where a CMC curve falls; a metric that comes again begins another one."""
    curves: list[dict[str, Number]] = []
    for number in numbers:
        last = curves[-1] if curves else {}
        if (not last or number.metric in last
                or number.benchmark != next(iter(last.values())).benchmark):
            curves.append({})
        curves[-1][number.metric] = number
    for curve in curves:
        ranks = sorted((int(name.removeprefix("Rank-")), number)
                       for name, number in curve.items() if name.startswith("Rank-"))
        for (k, number), (larger, other) in pairwise(ranks):
            value = number.percent
            # They may be one number, printed with different numbers of digits.
            if value - other.percent >= max(unit_of(value), unit_of(other.percent)):
                yield (f"Rank-{larger} {other.printed} is below Rank-{k} {number.printed}, but a "
                       "CMC curve never falls")


def as_read(row: PrintedRow) -> str:
    """Return the numbers of a row as they were read, after the benchmark where it changes."""
    return "; ".join(
        f"{_name(key)} {', '.join(f'{one.metric} {one.printed}' for one in numbers)}".lstrip()
        for key, numbers in groupby(row.numbers, key=lambda number: number.benchmark))


def _name(key: str | None) -> str:
    if key and key in BENCHMARKS:
        return BENCHMARKS[key].name
    return {SEVERAL: "(several benchmarks)", UNKNOWN: "(another benchmark)"}.get(key or "", "")


#: Why numbers are unchecked: those of a benchmark, and those of several or of another.
_REASONS = {
    True: "how many queries Rank-k counts is not on record, or not the same in every protocol",
    False: "it is not clear which benchmark they are of"}


def summary(checked: Sequence[CheckedRow], dataset: str | None) -> list[str]:
    """Return what was checked, and what was not."""
    read = "1 row" if len(checked) == 1 else f"{len(checked):,} rows"
    lines = [f"{read} with Rank-k, mAP or mINP: "
             f"{sum(one.signature is not None for one in checked):,} with a signature; counts "
             f"k/N checked in {sum(bool(one.counted) for one in checked):,}; "
             f"{sum(bool(one.faults) for one in checked):,} impossible"]
    unsigned = [number.benchmark for one in checked if one.signature is None
                for number in one.row.numbers]
    unchecked = Counter(key for key in unsigned if key and queries_of(key) is None)
    for is_named, reason in _REASONS.items():
        numbers = [f"{_name(key)} ({n:,} number{'s' * (n > 1)})" for key, n in unchecked.items()
                   if (key in BENCHMARKS) is is_named]
        if numbers:
            lines.append(f"unchecked, because {reason}: {', '.join(numbers)}")
    nameless = 0 if dataset else unsigned.count(None)
    if nameless:
        lines.append(f"unchecked, because nothing names the benchmark: {nameless:,} numbers; "
                     "--dataset NAME says which it is")
    return lines


#: Characters of a row's name that are printed.
LONGEST = 80


def add(command: argparse.ArgumentParser) -> None:
    """Read the tables of results in Markdown, HTML and LaTeX, and look for impossible numbers:
    Rank-k that is no count k/N of the queries, Rank-k that falls, a signature that contradicts
    itself.

    The number of queries is that of the row's signature, as reid-ref evaluate --format markdown or
    latex writes it, or of the benchmark that the column, the row, the caption or a heading names.
    Exit code: 0 where every row can be, 1 where one cannot, 2 for wrong input, and where no row of
    a table of results was understood.
    """
    command.add_argument("files", nargs="+", metavar="FILE", help="Markdown, HTML or LaTeX")
    command.add_argument("--dataset", metavar="NAME",
                         help="of numbers whose benchmark nothing on the page names, e.g. "
                              "Market-1501; a wrong name lists the known ones")


def run(args: argparse.Namespace) -> int:
    dataset = None if args.dataset is None else counted_benchmark(args.dataset, "--dataset")
    lines: list[str] = []
    every: list[CheckedRow] = []
    unread: dict[str, list[Grid]] = {}
    for path in args.files:
        checked, not_understood = check_page(
            read_lines(Path(path), "Markdown, HTML or LaTeX"), dataset)
        for one in checked:
            name = one.row.name
            place = f"{path}:{one.row.line}: {name if len(name) <= LONGEST else name[:77] + '...'}"
            lines.append(f"{place}: {as_read(one.row)}")
            lines += [f"{place}: impossible: {fault}" for fault in one.faults]
        every += checked
        if not_understood and not checked:
            unread[path] = not_understood
    if every:
        show("\n".join([*lines, *summary(every, dataset)]))
    for path, grids in unread.items() or ({} if every else {args.files[0]: []}).items():
        heads = dict.fromkeys(cell for grid in grids[:3] for cell in grid.rows[0][1] if cell)
        raise InputError(path, "a table with Rank-k, mAP or mINP in its header",
                         f"the columns {', '.join(list(heads)[:12])}" if heads else "none")
    return int(any(one.faults for one in every))
