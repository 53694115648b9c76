"""`reid-ref check-table`: rows of printed tables of results whose numbers are impossible.

Tables are Markdown, HTML or LaTeX (`reid_ref.text.pages`), and a header names what a cell is
(`reid_ref.datasets.printed`). A signature is in a cell of its row, or in a line of its own as
`reid-ref evaluate --format markdown` and `latex` write it, after the name of the row.
"""
from __future__ import annotations

import argparse
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple, TypeAlias

from reid_ref.arrays import InputError, errors_at
from reid_ref.console.request import Request, option
from reid_ref.console.terminal import show
from reid_ref.console.words import add_argument
from reid_ref.conventions import UNMATCHED
from reid_ref.datasets import FINGERPRINTS
from reid_ref.datasets.benchmarks import BENCHMARKS, known_benchmark
from reid_ref.datasets.printed import (
    SEVERAL, UNKNOWN, Curve, Number, PrintedRow, is_table_of_results, printed_curves, rows_on)
from reid_ref.datasets.map_bounds import RULES
from reid_ref.datasets.published import (
    Figure, counts_of, nearest, out_of_reach, possible_on, unit_of, verdict_of)
from reid_ref.disk import path_of, read_lines, tables_of
from reid_ref.measures import measure
from reid_ref.signature import convention_of, off_its_name, parse_signature
from reid_ref.text.numbers import natural
from reid_ref.text.pages import Grid, markdown_plain


class CheckedRow(NamedTuple):
    """A row, and what is impossible.

    `doubts`: what is possible only if digits were cut off, or zeros added. `unjudged`: the reason
    for each of its results that was not judged. `unheld`: numbers that nothing was held against.
    """

    row: PrintedRow
    faults: tuple[str, ...]
    doubts: tuple[str, ...]
    unjudged: tuple[str, ...]
    n_results: int
    unheld: tuple[str, ...] = ()

    @property
    def is_judged(self) -> bool:
        """Some number of it was held against the number of queries, or of good images."""
        return len(self.unjudged) < self.n_results


def check_page(page: Sequence[str], dataset: str | None = None, columns: Sequence[str] = (),
               queries: int | None = None) -> tuple[list[CheckedRow], list[Grid]]:
    """Return the rows of a page, and the tables of results of which no number was read.

    Parameters
    ----------
    page : sequence of str
    dataset : str, optional
        A key of `BENCHMARKS`, of numbers whose benchmark the page does not name.
    columns : sequence of str
        The measures of a cell's or a row's numbers, where no header names them.
    queries : int, optional
        How many Rank-k counts, where that is not on record.

    Examples
    --------
    >>> page = ["## Market-1501", "| Method | Rank-1 |", "|:--|--:|", "| ours | 89.91 |"]
    >>> checked, unread = check_page(page)
    >>> checked[0].faults[0]
    'Rank-1 89.91 is no count of 3,368 queries: the nearest are 3,028 (89.9050) and ...'
    """
    tables, signatures = list(rows_on(page, columns)), list(_signatures(page))
    checked: list[CheckedRow] = []
    unread: list[Grid] = []
    # Signatures from one table to the next are of its rows.
    ends = [bisect_left(signatures, (grid.rows[0][0],)) for grid, _ in tables] + [len(signatures)]
    for (grid, rows), (first, end) in zip(tables, pairwise(ends)):
        named = {name: signature for _, name, signature in reversed(signatures[first:end])}
        inside = {line: signature for line, _, signature in signatures[first:end]}
        of_table = [check_row(row, inside.get(row.line, named.get(row.name)), dataset, queries)
                    for row in rows]
        checked += _exchanged(of_table)
        if not any(row.numbers for row in rows) and (rows or is_table_of_results(grid)):
            unread.append(grid)
    return checked, unread


def _exchanged(rows: list[CheckedRow]) -> list[CheckedRow]:
    """Return rows of a table, with a doubt where mAP is above Rank-5 in most of its results."""
    pairs = [(curve["mAP"].percent, curve["Rank-5"].percent) for row in rows
             for curve in printed_curves(row.row.numbers) if {"mAP", "Rank-5"} <= curve.keys()]
    n_above = sum(mAP > rank5 for mAP, rank5 in pairs)
    if n_above < 2 or 2 * n_above <= len(pairs):
        return rows
    doubt = (f"mAP is above Rank-5 in {n_above} of {len(pairs)} results: the columns are probably "
             "exchanged")
    return [rows[0]._replace(doubts=(*rows[0].doubts, doubt)), *rows[1:]]


def _signatures(page: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the line of each signature, the name before it, and itself."""
    for number, line in enumerate(page, 1):
        line = line.replace("\\|", "|").strip()
        start = line.find("convention:")
        end = line.find("|reid-ref:", start)
        if 0 <= start < end:
            version = line[end + 10:end + 60].replace("`", " ").replace("|", " ").split()
            name = line[:start].strip("-*+%` ").removesuffix(":")
            yield (number, name if line[0] == "%" else markdown_plain(name),
                   line[start:end + 10] + "".join(version[:1]))


def check_row(row: PrintedRow, signature: str | None, dataset: str | None,
              queries: int | None) -> CheckedRow:
    """Return what is impossible in a row; a signature has the number of queries in Rank-k."""
    faults: list[str] = []
    signed: Counted = None, ()
    if signature is not None:
        try:
            fields = parse_signature(signature)
            faults, signed = off_its_name(fields), _signed(fields)
        except InputError as error:
            faults = [str(error)]
    doubts, unjudged, unheld = list[str](), list[str](), list[str]()
    curves = printed_curves(row.numbers)
    for key, curves_of_key in _by_benchmark(curves):
        benchmark = key or dataset
        over = signed if signature is not None else (
            benchmark, counts_of(benchmark or "") or (() if queries is None else (queries,)))
        for number in (number for curve in curves_of_key for number in curve.values()):
            fault, doubt = _of_number(number, over)
            faults += fault
            doubts += doubt
        faults += _out_of_reach(curves_of_key, over)
        bounded = _bounded(curves_of_key, over)
        for curve in curves_of_key:
            left = [] if any(curve is each for each in bounded) else [
                name for name, number in curve.items() if not (over[1] and _is_count(number))]
            unheld += left
            if signature is None and len(left) == len(curve):
                unjudged.append(_why_not(curve, over))
    return CheckedRow(row, (*faults, *_falling(curves)), tuple(doubts), tuple(unjudged),
                      len(curves), tuple(dict.fromkeys(unheld)))


def _why_not(curve: Curve, over: Counted) -> str:
    """Return why no number of a result is judged."""
    key, numbers = over[0], list(curve.values())
    if "" in curve:
        return "no word which measures these are (--columns Rank-1,mAP)"
    if not all(number.runs for number in numbers):
        return "mean of runs"
    if key in BENCHMARKS or key == UNKNOWN:
        lacks = ("no count on record (--queries N)" if any(map(_is_count, numbers)) else
                 "no Rank-k")
        return f"{_name(key).strip('()')}: {lacks}"
    return "several benchmarks" if key == SEVERAL else "no known benchmark named (--dataset NAME)"


#: A key of `FINGERPRINTS` whose bounds of mAP hold, or any other, and over how many queries
#: Rank-k is counted.
Counted: TypeAlias = tuple[str | None, tuple[int, ...]]


def _signed(fields: Mapping[str, str]) -> Counted:
    """Return the same of a signature: nothing where its Rank-k is no such count, or unknown."""
    convention = convention_of(fields)
    n_query, n_gallery = int(fields["queries"]), int(fields["gallery"])
    if not n_query:
        raise InputError("signature", "a number of queries from 1", "queries:0")
    key = next((key for key, benchmark in FINGERPRINTS.items()
                if n_query == benchmark.counts.query and n_gallery in (
                    benchmark.counts.gallery, benchmark.counts.gallery - benchmark.counts.junk)),
               None)
    # Queries without a match may be left out; on a benchmark none is without one.
    is_counted = convention.curve.counts and (UNMATCHED[convention.unmatched].in_cmc or key)
    has_bounds = (convention.ap in RULES and convention.recall == "existing"
                  and convention.top_k is None
                  and "same identity, same camera" in convention.ignored)
    return key if has_bounds else None, (n_query,) if is_counted else ()


def _is_count(number: Number) -> bool:
    return number.metric.startswith("Rank-") and number.runs > 0


def _of_number(number: Number, over: Counted) -> tuple[list[str], list[str]]:
    """Return what is impossible about one number, and what is possible only by other digits."""
    name, value = f"{number.metric} {number.printed}", number.percent
    if value > 100:
        return [f"{name.strip()} is over 100 percent"], []
    if not over[1] or not _is_count(number):
        return [], []
    figure, queries = Figure(value, None), [n * number.runs for n in over[1]]
    known = possible_on(figure, None, queries)
    counts, verdict = known[0], verdict_of(figure, *known)
    runs = f" in {number.runs} runs" if number.runs > 1 else ""
    no_count = f"{name} is no count of {' or '.join(f'{n:,}' for n in over[1])} queries{runs}"
    if verdict == "no":
        return [f"{no_count}: the nearest are {'; '.join(map(nearest, counts))}"], []
    as_other = next((hits.possible_as for hits in counts if hits.possible_as), None)
    return [], {"rounded": [],
                "truncated": [f"possible only if truncated, not rounded: {no_count}"],
                "padded": [f"possible as {as_other}: {no_count}; a zero may have been added"],
                }[verdict]


def _bounded(curves: Sequence[Curve], over: Counted) -> list[Curve]:
    """Return the results whose mAP is held against the bounds of their benchmark.

    Where some curve of a benchmark lacks one of the two, it is not clear which go together.
    """
    if over[0] not in FINGERPRINTS or not all(
            "Rank-1" in curve and "mAP" in curve for curve in curves):
        return []
    return [curve for curve in curves if all(
        number.runs == 1 and number.percent <= 100 for number in curve.values())]


def _out_of_reach(curves: Sequence[Curve], over: Counted) -> Iterator[str]:
    """Yield each mAP that no ranking has with its Rank-1, or with all numbers of its result."""
    for curve in _bounded(curves, over):
        mAP, ranks = curve["mAP"], ["Rank-1"] if over[1] else []
        others = [name for name in curve if name != "mAP" and (over[1] or name == "mINP")]
        for names in dict.fromkeys((tuple(ranks), tuple(others))):
            given = tuple((name, curve[name].percent) for name in names)
            bounds = possible_on(Figure(None, mAP.percent, given), *over)[1]
            if out_of_reach(bounds):
                reach = ", ".join(f"{100 * bound.low:.2f} to {100 * bound.high:.2f} ({bound.ap})"
                                  for bound in bounds)
                printed = ", ".join(f"{name} {curve[name].printed}" for name in names)
                yield f"mAP {mAP.printed} is out of reach with {printed}, which leaves {reach}"
                break


def _by_benchmark(curves: Sequence[Curve]) -> list[tuple[str | None, list[Curve]]]:
    of_key: dict[str | None, list[Curve]] = {}
    for curve in curves:
        of_key.setdefault(next(iter(curve.values())).benchmark, []).append(curve)
    return list(of_key.items())


def _falling(curves: Sequence[Curve]) -> Iterator[str]:
    """Yield where a CMC curve falls."""
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
    return "; ".join(" ".join([_name(key), ", ".join(
        f"{number.metric} {number.printed}".strip() for number in numbers)]).lstrip()
        for key, numbers in groupby(row.numbers, key=lambda number: number.benchmark))


def _name(key: str | None) -> str:
    if key and key in BENCHMARKS:
        return BENCHMARKS[key].name
    return {SEVERAL: "(several benchmarks)", UNKNOWN: "(unknown benchmark)"}.get(key or "", "")


def summary(checked: Sequence[CheckedRow]) -> str:
    """Return what was judged, and what was not, and why."""
    read = [row for row in checked if row.row.numbers]
    judged = [row for row in read if row.is_judged]
    part = sum(bool(row.unheld) for row in judged)
    why = Counter(reason for row in checked for reason in row.unjudged)
    why["unread cells"] += sum(len(row.row.unread) for row in checked)
    return (f"{len(read):,} row{'s' * (len(read) != 1)} read: {len(judged):,} judged"
            + f" ({part:,} in part)" * bool(part)
            + f", {len(read) - len(judged):,} not judged; "
            f"{sum(bool(row.faults) for row in checked):,} impossible"
            + "; not judged: " * any(why.values())
            + ", ".join(f"{reason}: {n:,}" for reason, n in why.items() if n))


#: Characters of a row's name that are printed.
LONGEST = 80


@dataclass(frozen=True, kw_only=True)
class CheckTableRequest(Request):
    """What the command line requests."""

    dataset: str | None = option("--dataset")
    columns: str | None = option("--columns")
    queries: int | None = option("--queries", type=natural)
    strict: bool = option("--strict", False, action="store_true")


def add(command: argparse.ArgumentParser) -> None:
    """Read the tables of results in Markdown, HTML, LaTeX, CSV or text, and look for impossible
    numbers: Rank-k that is no count k/N of the queries, mAP that no ranking has with its Rank-k
    and mINP, Rank-k that falls, a signature that contradicts itself.

    Examples:
        reid-ref check-table docs/baselines.md
        reid-ref check-table README.md docs/baselines.md

    The number of queries is that of the row's signature, as reid-ref evaluate --format markdown or
    latex writes it, or of the benchmark that the column, the row, the caption or a heading names.
    A number is judged if it is held against that number, or mAP against the benchmark's bounds;
    the last line says why a row was not. Exit code: 0 if every number
    that was judged is possible, 1 if one is not, 2 for wrong input and where no number was judged.
    """
    add_argument(command, "files", nargs="+")
    CheckTableRequest.add(command, "--dataset", "--columns", "--queries", "--strict")


#: What can be read, to be filled in.
EXAMPLE: str = tables_of("commands/check_table.toml")["example"]


def run(request: CheckTableRequest) -> int:
    dataset = None if request.dataset is None else known_benchmark(request.dataset, "--dataset")
    names = () if request.columns is None else request.columns.split(",")
    with errors_at("--columns"):
        columns = [measure(name.strip()).name for name in names]
    every, lines, unread = list[CheckedRow](), list[str](), list[tuple[str, list[str]]]()
    for path in request.files:
        rows, tables = check_page(_page(path), dataset, columns, request.queries)
        lines += [line for row in rows for line in _lines_of(row, path)]
        every += rows
        unread += [(f"{path}:{line}", heads) for line, heads in (grid.rows[0] for grid in tables)]
    if unread:
        places = ", ".join(place for place, _ in unread)
        lines.append(f"unread: tables of which no number was read, at {places}")
    show("\n".join([*lines, summary(every)] if every else [
        *lines, f"Nothing was read. A table to fill in:\n{EXAMPLE}"]))
    if any(checked.faults for checked in every):
        return 1
    if not any(checked.is_judged for checked in every):
        why = dict.fromkeys(why for checked in every for why in checked.unjudged)
        heads = list(dict.fromkeys(head for _, row in unread for head in row if head))
        raise InputError(
            request.files[0], "a table with Rank-k, mAP or mINP in its header, and a benchmark",
            f"the columns {', '.join(heads[:12])}" if heads and not every
            else "no number that could be judged" if every else "none", "; ".join(why))
    return int(request.strict and (bool(unread) or any(
        checked.unjudged or checked.row.unread for checked in every)))


def _page(path: str) -> list[str]:
    """Return the lines of a page; - is standard input."""
    if path.lower().endswith(".pdf"):
        raise InputError(path, "text", "a PDF", f"write pdftotext -layout {path} - | reid-ref "
                         "check-table -")
    return (sys.stdin.read().splitlines() if path == "-" else
            read_lines(path_of(path), "Markdown, HTML, LaTeX, CSV or text"))


def _lines_of(checked: CheckedRow, path: str) -> Iterator[str]:
    """Yield the numbers read in a row, and the remarks on them."""
    row = checked.row
    place = f"{path}:{row.line}: {_cut(row.name, LONGEST)}"
    if row.numbers:
        left = ", ".join(filter(None, checked.unheld))
        verdict = "" if checked.faults or checked.doubts else "not judged: " if (
            not checked.is_judged) else "possible" + f"; {left} not judged" * bool(left) + ": "
        yield f"{place}: {verdict}{as_read(row)}"
    for metrics, cell in row.unread:
        yield f"{place}: unread: {_cut(cell, LONGEST)!r} below {metrics}"
    yield from (f"{place}: impossible: {fault}" for fault in checked.faults)
    yield from (f"{place}: {doubt}" for doubt in checked.doubts)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length - 3]}..."
