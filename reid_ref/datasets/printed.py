"""Printed tables of results: which cell is which number of which benchmark.

Aim: a cell is read only if a header (or the name of its row) has Rank-k, mAP or mINP. Its
benchmark is named, from the nearest on, by the header of its column, its row, the line across the
table that it is below, the caption or the line above the table, and the headings above it. A row
or a line has to be the name of a benchmark, or that of a domain after an arrow: with other words
it may be what a model learned from, and its numbers are of an unknown one. So are those next to
others whose column or data set is named, if theirs is not. What begins like a number below such a
header, and is none, is listed as unread.
"""
from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from reid_ref.datasets.benchmarks import benchmark_named, benchmarks_in, folded
from reid_ref.text.pages import Grid, tables_of

#: In the place of a benchmark: several of them, or one that is not among `BENCHMARKS`.
SEVERAL, UNKNOWN = "several", "unknown"
_WORDS = re.compile("[a-z]+")
_INTEGER = re.compile("[0-9]+")
#: mAP50 and mAP@0.5 are of detectors; R50, R-50 and R-101 are networks.
_METRIC = re.compile(
    r"(?<![a-z])(?:(map|minp)(?![a-z]|[@ ]?[0-9])|(?:rank|cmc|top|r(?![-_ ]?(?:18|34|50|101|152)))"
    r"[ @_=.-]{0,3}([1-9][0-9]{0,2}(?:\s*[/,]\s*-?[1-9][0-9]{0,2})*)(?![0-9]))",
    re.IGNORECASE)
_RANKS = {"rank", "cmc", "top", "r"}
_MEANS = {"map": "mAP", "minp": "mINP"}
#: Of a column that is what a model learned from, a change, a mean over benchmarks, or a remark.
_OTHER = set("""source init train trained training pre pretrain pretrained pretraining extra
    additional external gain drop change improvement diff delta avg average std time reference
    paper note notes remark comment link download path""".split())
#: Rows that are no result of a system, and rows that are a mean over others.
_DEVIATIONS = {"std", "sd", "stdev", "std dev", "standard deviation", "gain", "improvement"}
_AVERAGES = {"mean", "average", "avg"}
_DATASETS = {"dataset", "datasets", "benchmark", "target", "test", "testing"}
#: A longer text beside numbers is a remark, not the name of a benchmark.
_REMARK = 60
_SIGN = re.compile("→|->|=>")
#: Before the domain that a model is tested on, also in "MSMT2Market" and "market_to_duke".
_ARROW = re.compile(rf"{_SIGN.pattern}|(?<=[A-Za-z])2(?=[A-Z])|(?<![^\W_])[Tt]o(?![^\W_])")
_FORM = re.compile("{0} ?[(/] ?map|map ?[(/] ?{0}".format("(?:rank|top|r)[-@ ]?1"), re.IGNORECASE)
#: The interval beside a number.
_INTERVAL = re.compile(r"(?<=[0-9*])\s*\[[-+−.0-9]+,\s*[-+−.0-9]+\]")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?|[^\s0-9]")
#: What a number is not read after: a decimal point without digits before it, or of another kind.
_POINTS = set(".,·٫٬،，．’")
_LIKE_A_NUMBER = re.compile(r"(?:[^\w[]|_)*\d")
#: Marks next to a number without a meaning for it.
_MARKS = set("*_~`%†‡§¶★^'\"•$")


@dataclass(frozen=True)
class Number:
    """A number of a table.

    Parameters
    ----------
    metric : str
        Rank-k, mAP or mINP.
    benchmark : str or None
        A key of `BENCHMARKS`, "several" or "unknown"; None if nothing names one.
    printed : str
        As it is on the page.
    percent : Decimal
    is_mean : bool
        Printed with a spread: a mean over runs is no count of queries.
    """

    metric: str
    benchmark: str | None
    printed: str
    percent: Decimal
    is_mean: bool = False


@dataclass(frozen=True)
class PrintedRow:
    """A row of a table: its line, its name, its numbers from left to right, and what is none.

    `unread`: each cell that begins like a number and is none, after the words of its header.
    """

    line: int
    name: str
    numbers: tuple[Number, ...]
    unread: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=1024)
def metrics_in(text: str) -> list[str]:
    """Return the Rank-k, mAP and mINP that a header names, in its order.

    Examples
    --------
    >>> metrics_in("Rank-1 / 5 / 10"), metrics_in("R@1 (mAP)"), metrics_in("mAP gain")
    (['Rank-1', 'Rank-5', 'Rank-10'], ['Rank-1', 'mAP'], [])
    """
    text = text.casefold().replace("δ", "delta ")
    if _OTHER & set(_WORDS.findall(text)):
        return []
    found: list[str] = []
    for match in _METRIC.finditer(text):
        found += ([_MEANS[match[1]]] if match[1] else
                  [f"Rank-{k}" for k in _INTEGER.findall(match[2])])
    return list(dict.fromkeys(found))


@lru_cache(maxsize=1024)
def numbers_in(cell: str) -> tuple[list[str], bool]:
    """Return the numbers of a cell that holds nothing else, and whether a spread follows.

    Examples
    --------
    >>> numbers_in("**94.2** (84.1)"), numbers_in("94.2 ± 0.3"), numbers_in("84.1 (+0.3)")
    ((['94.2', '84.1'], False), (['94.2'], True), (['84.1'], False))
    >>> numbers_in("84.1 [81.0, 86.2]")
    (['84.1'], False)
    >>> numbers_in("ResNet-50"), numbers_in("94,2")
    (([], False), ([], False))
    """
    numbers: list[str] = []
    before, spread = "", False
    for token in _NUMBER.findall(_INTERVAL.sub("", cell)):
        if token[0].isdecimal():
            if (len(token) > 24 or not token.isascii() or before.isdecimal()
                    or before in _POINTS and before):
                return [], False
            if before not in ("±", "+", "-", "−", "↑", "↓"):
                numbers.append(token)
            elif not numbers:
                return [], False
        elif token.isalpha() or token in "=:<>" or token == "," and numbers:
            return [], False
        spread |= token == "±"
        before = before if token in _MARKS else token
    return numbers, spread


@lru_cache(maxsize=1024)
def benchmark_in(text: str) -> str | None:
    """Return the one benchmark that a text is about; "several", "unknown", or None.

    Examples
    --------
    >>> benchmark_in("MSMT2Market"), benchmark_in("MS+D+C->M"), benchmark_in("Market -> Mine")
    ('market1501', 'unknown', 'unknown')
    >>> benchmark_in("Market-1501 & DukeMTMC")
    'several'
    """
    *sources, target = _ARROW.split(text)
    keys = benchmarks_in(target)
    if not keys and (_SIGN.search(text) or any(map(benchmarks_in, sources))):
        return UNKNOWN
    return SEVERAL if len(keys) > 1 else keys[0] if keys else None


def _named(text: str) -> str | None:
    """Return the benchmark whose name a text is, "unknown" if other words are next to it."""
    key = benchmark_in(text)
    return key if key is None or _SIGN.search(text) or benchmark_named(text) else UNKNOWN


def is_table_of_results(grid: Grid) -> bool:
    """Return whether a table has a number, and names Rank-k, mAP, mINP or a benchmark."""
    cells = {cell for _, row in grid.rows for cell in row}
    return any(numbers_in(cell)[0] for cell in cells) and any(
        metrics_in(cell) or benchmark_in(cell) for cell in cells)


def forms_of(page: Sequence[str]) -> list[tuple[int, list[str]]]:
    """Return each order of numbers in a cell that a page states, with its line.

    Examples
    --------
    >>> forms_of(["Results are in the format of *<Rank-1 (mAP)>*."])
    [(1, ['Rank-1', 'mAP'])]
    """
    found = ((number, _FORM.search(line[:500])) for number, line in enumerate(page, 1))
    return [(number, metrics_in(form[0])) for number, form in found if form]


def printed_rows(grid: Grid, form: Sequence[str] = ()) -> Iterator[PrintedRow]:
    """Yield the rows of a table that have a Rank-k, mAP or mINP.

    `form` names the numbers of a cell if no header of the table does.

    Examples
    --------
    >>> from reid_ref.text.pages import tables_of
    >>> grid, = tables_of(["| Method | Market-1501 | |", "|--|--|--|", "| | R-1 | mAP |",
    ...                    "| ours | **94.2** | 0.841% |"])
    >>> for row in printed_rows(grid):
    ...     print(row.line, row.name, *((one.metric, one.benchmark, one.printed)
    ...                                 for one in row.numbers))
    4 ours ('Rank-1', 'market1501', '94.2') ('mAP', 'market1501', '0.841')
    """
    heads: list[Sequence[str]] = []
    waiting: Sequence[str] = ()  # between rows, perhaps the upper one of two headers
    in_body, above = False, grid.above
    section: str | None = None  # the benchmark of the lines across the table
    column_of: dict[int, str] = {}  # of a column of benchmarks, the last one
    columns: list[PrintedColumn] = []
    for line, cells in grid.rows:
        texts = {cell for cell in cells if cell}
        is_section = _is_section(texts, any(cells[:1]), columns)
        if not is_section and _is_header(cells, heads, in_body):
            heads = [*([] if in_body else heads), *([waiting] if waiting else []), cells]
            waiting, in_body, column_of, columns = (), False, {}, _columns(heads)
        elif is_section and not heads:
            above = [*texts, *above]
        elif is_section:
            # After one that names a benchmark, any other line may name another one.
            section, column_of = _named(*texts) or section and UNKNOWN, {}
            if section not in (None, UNKNOWN):
                columns = [column._replace(benchmark=column.benchmark and (
                    section if column.benchmark == section else SEVERAL)) for column in columns]
        elif not any(numbers_in(cell)[0] for cell in cells):
            waiting = cells
            if not in_body and not heads:
                heads, waiting = [cells], ()
                columns = _columns(heads)
            elif texts:
                yield from _row(line, cells, columns, [section], ())
            if any(column.metrics and benchmark_in(cell) for cell, column in zip(cells, columns)):
                columns = [column._replace(benchmark=UNKNOWN) for column in columns]
        elif texts:
            in_body, waiting = True, ()
            of_row = _benchmark_of_row(cells, columns, column_of) or section
            corner = [column.benchmark for column in columns
                      if not column.metrics and not column.is_other]
            nearest = [of_row, *corner, *map(benchmark_in, above)]
            yield from _row(line, cells, columns, nearest, form)


def _row(line: int, cells: Sequence[str], columns: Sequence[PrintedColumn],
         nearest: Sequence[str | None], form: Sequence[str]) -> Iterator[PrintedRow]:
    """Yield a row, if there is a number in it, or what begins like one."""
    read = list(_numbers(cells, columns, nearest, form))
    numbers = tuple(number for number in read if isinstance(number, Number))
    unread = tuple(cell for cell in read if not isinstance(cell, Number))
    if read:
        yield PrintedRow(line, next(filter(None, cells)), _in_percent(numbers), unread)


def _is_section(texts: set[str], is_first: bool, columns: Sequence[PrintedColumn]) -> bool:
    """Return whether a row has only one text, which is neither a number nor a header."""
    if len(texts) != 1 or numbers_in(*texts)[0] or metrics_in(*texts):
        return False
    # Without a cell on the left a benchmark may be above the metrics of its columns.
    return is_first or any(column.metrics for column in columns) or not benchmark_in(*texts)


def _is_header(cells: Sequence[str], heads: list[Sequence[str]], in_body: bool) -> bool:
    """Return whether a row names metrics, or benchmarks above metrics, and has no results."""
    numbers = [k for k, cell in enumerate(cells) if numbers_in(cell)[0]]
    if numbers and in_body:
        return False
    if numbers:  # "1 | 5 | 10" below "Rank"
        before, after = _columns(heads), _columns([*heads, cells])
        return numbers[-1] < len(before) and all(
            after[k].metrics and not before[k].metrics for k in numbers)
    named = [cell for cell in cells if metrics_in(cell) or not in_body and benchmark_in(cell)]
    return len(set(named)) > 1 or any(cell in named for cell in cells[1:])


#: The parts of CUHK03-NP, as their columns are called.
_BOXES = {"labeled": "labeled", "labelled": "labeled", "detected": "detected"}


class PrintedColumn(NamedTuple):
    """The contents of a column, by its header."""

    metrics: list[str]
    benchmark: str | None
    is_dataset: bool
    is_other: bool
    boxes: str


def _columns(heads: Sequence[Sequence[str]]) -> list[PrintedColumn]:
    """Read the header; a benchmark, or "Rank", goes on to the right over empty cells."""
    texts: list[list[str]] = [[] for _ in range(max(map(len, heads), default=0))]
    for head in heads:
        last = ""
        for k, above in enumerate(texts):
            cell = head[k] if k < len(head) else ""
            last = cell or last
            goes_on = benchmark_in(last) or last.casefold() in _RANKS
            if (cell or len(heads) > 1 and goes_on) and last not in above:
                above.append(last)
    return [_column(" ".join(above)) for above in texts]


def _column(text: str) -> PrintedColumn:
    words = set(_WORDS.findall(text.casefold()))
    is_dataset = bool(words & _DATASETS)
    return PrintedColumn(metrics_in(text), benchmark_in(text), is_dataset,
                         bool(words & _OTHER) and not is_dataset,
                         next((name for word, name in _BOXES.items() if word in words), ""))


def _benchmark_of_row(cells: Sequence[str], columns: Sequence[PrintedColumn],
                      column_of: dict[int, str]) -> str | None:
    """Return the benchmark of a row: a cell of a column of data sets, or any that is its name."""
    keys: set[str] = set()
    for k, (cell, column) in enumerate(zip(cells, columns)):
        if column.is_other or len(cell) > _REMARK or numbers_in(cell)[0]:
            continue
        cell = cell or column_of.get(k, "")
        key = benchmark_in(cell) if column.is_dataset else _named(cell)
        # In a column of names of benchmarks, another name is that of a benchmark, too.
        if key is None and cell and (column.is_dataset or k in column_of):
            key = UNKNOWN
        if key is not None:
            if key != UNKNOWN or k in column_of:
                column_of[k] = cell
            if column.is_dataset:
                return key
            keys.add(key)
    return keys.pop() if len(keys) == 1 else SEVERAL if keys else None


def _numbers(cells: Sequence[str], columns: Sequence[PrintedColumn], nearest: Sequence[str | None],
             form: Sequence[str]) -> Iterator[Number | tuple[str, str]]:
    """Yield each number; of a cell without one, the words of its header and the cell."""
    name = next(cell for cell in cells if cell)
    of_name, row = metrics_in(name), folded(name)
    if row in _DEVIATIONS:
        return
    with_metrics = [column for column in columns if column.metrics]
    form = () if with_metrics else form
    # Where other columns name a benchmark, this one is not of what stands above the table.
    if any(column.benchmark for column in with_metrics or columns[1:]):
        nearest = [UNKNOWN]
    for k, (cell, column) in enumerate(zip(cells, columns)):
        values, spread = numbers_in(cell)
        of_row = of_name if len(of_name) == 1 and k and not column.is_other else []
        said = column.metrics or of_row
        metrics = said or ([] if column.is_other else list(form))
        if len(metrics) == 1:
            # "95.9 (94.4)": the header does not name the second one; "95.9/94.4": both.
            values = values[:1] if "(" in cell else values
            metrics = metrics * len(values)
        if len(values) == len(metrics):
            key = column.benchmark or next(filter(None, nearest), None)
            if column.boxes and key == "cuhk03-np":
                key = f"cuhk03-np-{column.boxes}"
            for metric, value in zip(metrics, values):
                yield Number(metric, key, value, Decimal(value), spread or row in _AVERAGES)
        # A form is of the columns of benchmarks; others have numbers, too.
        named = said or (metrics if column.benchmark else [])
        if named and _LIKE_A_NUMBER.match(cell) and (not values or len(values) != len(metrics)):
            yield "/".join(named), cell


def _in_percent(numbers: tuple[Number, ...]) -> tuple[Number, ...]:
    """Return the numbers of a row in percent; they are shares if all are up to 1."""
    if max((number.percent for number in numbers), default=2) > 1:
        return numbers
    return tuple(Number(one.metric, one.benchmark, one.printed, one.percent.scaleb(2), one.is_mean)
                 for one in numbers)


#: The numbers of one result, by metric.
Curve: TypeAlias = dict[str, Number]


def printed_curves(numbers: Sequence[Number]) -> list[Curve]:
    """Part the numbers of a row; a metric that comes again begins another result."""
    curves: list[Curve] = []
    for number in numbers:
        last = curves[-1] if curves else {}
        if (not last or number.metric in last
                or number.benchmark != next(iter(last.values())).benchmark):
            curves.append({})
        curves[-1][number.metric] = number
    return curves


def results_on(page: Sequence[str]) -> Iterator[tuple[PrintedRow, Curve]]:
    """Yield each result that the tables of a page have, with its row.

    Examples
    --------
    >>> page = ["| Method | Rank-1 | mAP |", "|:--|--:|--:|", "| ours | 89.9 | 75.1 |"]
    >>> [(row.name, {name: number.printed for name, number in result.items()})
    ...  for row, result in results_on(page)]
    [('ours', {'Rank-1': '89.9', 'mAP': '75.1'})]
    """
    forms = [(0, list[str]()), *forms_of(page)]
    for grid in tables_of(page):
        form = forms[bisect_left(forms, (grid.rows[0][0],)) - 1][1]
        for row in printed_rows(grid, form):
            yield from ((row, curve) for curve in printed_curves(row.numbers))
