"""Printed tables of results: which cell is which number of which benchmark.

Aim: a cell is read only if a header (or the name of its row) has Rank-k, mAP or mINP, or if the
user says what it is. Its benchmark is named, from the nearest on, by the header of its column, its
row, the line across the table that it is below, the caption or the line above the table, and the
headings above it. A name with a remark ("Market-1501 + RR") is that benchmark, unless the remark
is about training, or another text names another one. What may name an unknown benchmark ends what
a higher heading says. Numbers next to others whose column or data set is named are of an unknown
one, if theirs is not. Where a text says mean, runs, seeds ..., numbers are means of runs. What
begins like a number below such a header, and is none, is listed as unread.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from reid_ref.datasets.benchmarks import (
    BENCHMARKS, benchmark_named, benchmarks_in, folded, without_names)
from reid_ref.datasets.published import unit_of
from reid_ref.datasets.printed_text import text_tables
from reid_ref.text.pages import Grid, separated_table, tables_of

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
#: Of a column or name that is about what a model learned from.
_LEARNED = set("""source init train trained training pre pretrain pretrained pretraining extra
    additional external""".split())
#: Of a column that is a change, a mean over benchmarks, or of detectors: no number of ours.
_OTHER = {*"gain drop change improvement diff delta avg average std time".split(), "detection",
          "segmentation", *_LEARNED}
#: Of a column of citations and remarks, if its cells are no numbers.
_REMARKS = set("reference paper note notes remark comment link download path".split())
#: Next to a benchmark's name, they make it that of another one; so does a hyphen to another word.
_OTHER_SETS = set("""occluded partial sketch light corrupted masked cropped subset mini synthetic
    attribute small""".split())
_HYPHENED = re.compile(r"(?<![^\W_])[^\W_]+(?:[-‐–][^\W_]+)+")
#: A heading that may be the name of a benchmark: of four letters, with two capitals or a digit.
_LIKE_A_NAME = re.compile(r"\b(?![Rr][Ee]-?[Ii][Dd])(?=[\w-]{4})[a-z]*[A-Z][a-z]*-?[A-Z0-9]",
                          re.ASCII)
#: What says that numbers are means, and of how many runs; other means are of the field.
_MEAN = re.compile(
    r"\b(?:(?:mean|averaged?|avg)\b"
    r"(?!\W{0,3}(?:average|precision|ap\b|inverse|reciprocal|teach|pool|shift))"
    r"|(?:([0-9]{1,3})(?: \w+)? )?(?:runs|seeds|trials|folds|splits)\b)", re.IGNORECASE)
#: Rows that are no result of a system.
_DEVIATIONS = {"std", "sd", "stdev", "std dev", "standard deviation", "gain", "improvement"}
_DATASETS = {"dataset", "datasets", "benchmark", "target", "test", "testing"}
#: What a pair of numbers is below, if no word says which measures they are.
_BENCHMARK = "the name of a benchmark"
#: A longer text beside numbers is a remark, not the name of a benchmark.
_REMARK = 60
_SIGN = re.compile("→|->|=>")
#: Before the domain that a model is tested on, also in "MSMT2Market" and "market_to_duke".
_ARROW = re.compile(rf"{_SIGN.pattern}|(?<=[A-Za-z])2(?=[A-Z])|(?<![^\W_])[Tt]o(?![^\W_])")
#: The interval or the citations beside a number.
_BRACKET = re.compile(r"(?<=[0-9*%])\s*\[[-+−.,;0-9 ]+\]")
#: A decimal comma, and the characters of other keyboards.
_COMMA = re.compile(r"(?<![0-9.,])([0-9]{1,2}),([0-9]{1,2})(?![0-9.,])")
_PLAIN = str.maketrans("０１２３４５６７８９．％（）［］／", "0123456789.%()[]/")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?|[^\s0-9]")
#: What a number is not read after: a decimal point without digits before it, or of another kind.
_POINTS = set(".,·٫٬،，．’")
_LIKE_A_NUMBER = re.compile(r"(?:[^\w[]|_)*\d")
#: Marks next to a number without a meaning for it.
_MARKS = set("*_~`%†‡§¶★^'\"•$")


class Number(NamedTuple):
    """A number of a table.

    Parameters
    ----------
    metric : str
        Rank-k, mAP or mINP; empty if nothing says which.
    benchmark : str or None
        A key of `BENCHMARKS`, "several" or "unknown"; None if nothing names one.
    printed : str
        As it is on the page.
    percent : Decimal
    runs : int
        That it is a mean of; 0 if it is one of an unknown number, which is no count of queries.
    """

    metric: str
    benchmark: str | None
    printed: str
    percent: Decimal
    runs: int = 1


class PrintedRow(NamedTuple):
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
    >>> numbers_in("84.1 [81.0, 86.2]"), numbers_in("**84.1** [3]"), numbers_in("84,1")
    ((['84.1'], False), (['84.1'], False), (['84.1'], False))
    >>> numbers_in("ResNet-50"), numbers_in(".842")
    (([], False), ([], False))
    """
    numbers: list[str] = []
    before, spread = "", False
    cell = _COMMA.sub(r"\1.\2", _BRACKET.sub("", cell.translate(_PLAIN)))
    for token in _NUMBER.findall(cell.replace("±.", "±0.").replace("± .", "±0.")):
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
def runs_in(text: str) -> int:
    """Return how many runs a text says that numbers are means of: 0 if only that they are.

    Examples
    --------
    >>> runs_in("mean of 3 runs"), runs_in("averaged over seeds"), runs_in("mean AP")
    (3, 0, 1)
    """
    said = [match[1] for match in _MEAN.finditer(text)]
    return int(next(filter(None, said), 0)) if said else 1


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
    if len(keys) == 1 and (_OTHER_SETS & set(without_names(target).split()) or any(
            benchmarks_in(word) and benchmark_named(word) is None
            for word in _HYPHENED.findall(_METRIC.sub("", target)))):
        return UNKNOWN
    return SEVERAL if len(keys) > 1 else keys[0] if keys else None


def _named(text: str, further: Iterable[str | None]) -> str | None:
    """Return the benchmark whose name a text is, with a remark or without.

    "unknown" where the remark is about training, or what stands further off names another one.
    """
    key = benchmark_in(text)
    if key is None or _SIGN.search(text) or benchmark_named(text):
        return key
    is_of_training = _LEARNED & set(_WORDS.findall(text.casefold()))
    others = {other for other in further if other and other in BENCHMARKS and other != key}
    return UNKNOWN if is_of_training or others else key


def _above(grid: Grid) -> str | None:
    """Return what the texts above a table name, the nearest first."""
    for text in grid.above:
        if key := benchmark_in(text):
            return key
        if text in grid.headings and _LIKE_A_NAME.search(_METRIC.sub("", text[:200])):
            return UNKNOWN if any(map(benchmark_in, grid.above)) else None
    return None


def is_table_of_results(grid: Grid) -> bool:
    """Return whether a table has a number, and names Rank-k, mAP, mINP or a benchmark."""
    cells = {cell for _, row in grid.rows for cell in row}
    return any(numbers_in(cell)[0] for cell in cells) and any(
        metrics_in(cell) or benchmark_in(cell) for cell in cells)


def printed_rows(grid: Grid, columns: Sequence[str] = ()) -> list[PrintedRow]:
    """Return the rows of a table that have a Rank-k, mAP or mINP.

    `columns` of the user name the numbers of a cell if no header of the table does, and those of a
    row, if it has as many.

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
    rows = list(_rows(grid, columns))
    if all(number.metric for row in rows for number in row.numbers):  # there are no such pairs
        rows = [row for row in rows if row.numbers or any(
            words != _BENCHMARK for words, _ in row.unread)]
    is_percent = any(number.percent > 1 for row in rows for number in row.numbers)
    return [row._replace(numbers=tuple(
        number._replace(percent=number.percent.scaleb(2)) for number in row.numbers)) if all(
            number.percent <= 1 and (not is_percent or unit_of(number.percent) < Decimal("0.01"))
            for number in row.numbers) else row for row in rows]


def _rows(grid: Grid, given: Sequence[str]) -> Iterator[PrintedRow]:
    heads: list[Sequence[str]] = []
    waiting: Sequence[str] = ()  # between rows, perhaps the upper one of two headers
    in_body = False
    section: str | None = None  # the benchmark of the lines across the table
    column_of: dict[int, str] = {}  # of a column of benchmarks, the last one
    columns: list[PrintedColumn] = []
    outside, runs = _above(grid), _fewest_runs([*grid.above, grid.sentence])
    runs_of_section = 1
    for line, cells in grid.rows:
        texts = {cell for cell in cells if cell}
        further = [outside, *(column.benchmark for column in columns)]
        is_section = _is_section(texts, any(cells[:1]), columns)
        if not is_section and _is_header(cells, heads, in_body):
            heads = [*([] if in_body else heads), *([waiting] if waiting else []), cells]
            waiting, in_body, column_of, columns = (), False, {}, _columns(heads)
        elif is_section and not heads:
            outside, runs = benchmark_in(*texts) or outside, _fewest_runs([*texts], runs)
        elif is_section:
            # After one that names a benchmark, any other line may name another one.
            section, column_of = _named(max(texts), further) or section and UNKNOWN, {}
            runs_of_section = runs_in(*texts)
            if section not in (None, UNKNOWN):
                columns = [column._replace(benchmark=column.benchmark and (
                    section if column.benchmark == section else SEVERAL)) for column in columns]
        elif not any(numbers_in(cell)[0] for cell in cells):
            waiting = cells
            if not in_body and not heads:
                heads, waiting = [cells], ()
                columns = _columns(heads)
            elif texts:
                yield from _row(line, cells, columns, [section], (), 1)
            if any(column.metrics and benchmark_in(cell) for cell, column in zip(cells, columns)):
                columns = [column._replace(benchmark=UNKNOWN) for column in columns]
        elif texts:
            in_body, waiting = True, ()
            of_row = _benchmark_of_row(cells, columns, column_of, further) or section
            corner = [column.benchmark for column in columns
                      if not column.metrics and not column.is_other]
            yield from _row(line, cells, columns, [of_row, *corner, outside], given,
                            _fewest_runs(texts, runs if runs != 1 else runs_of_section))


def _fewest_runs(texts: Iterable[str], runs: int = 1) -> int:
    """Return the runs that the first text with a word of means names; else as handed over."""
    return next((number for number in map(runs_in, texts) if number != 1), runs)


def _row(line: int, cells: Sequence[str], columns: Sequence[PrintedColumn],
         nearest: Sequence[str | None], given: Sequence[str], runs: int) -> Iterator[PrintedRow]:
    """Yield a row, if there is a number in it, or what begins like one."""
    read = list(_numbers(cells, columns, nearest, given, runs))
    numbers = tuple(number for number in read if isinstance(number, Number))
    unread = tuple(cell for cell in read if not isinstance(cell, Number))
    if read:
        yield PrintedRow(line, next(filter(None, cells)), numbers, unread)


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
    runs: int


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
    words = set(_WORDS.findall(text.casefold().replace("data set", "dataset")))
    is_dataset = bool(words & _DATASETS)
    return PrintedColumn(metrics_in(text), benchmark_in(text), is_dataset,
                         bool(words & (_OTHER | _REMARKS)) and not is_dataset,
                         next((name for word, name in _BOXES.items() if word in words), ""),
                         runs_in(text))


def _benchmark_of_row(cells: Sequence[str], columns: Sequence[PrintedColumn],
                      column_of: dict[int, str], further: Sequence[str | None]) -> str | None:
    """Return the benchmark of a row: a cell of a column of data sets, or any with its name."""
    keys: set[str] = set()
    for k, (cell, column) in enumerate(zip(cells, columns)):
        if column.is_other or len(cell) > _REMARK or numbers_in(cell)[0]:
            continue
        cell = cell or column_of.get(k, "")
        key = benchmark_in(cell) if column.is_dataset else _named(cell, further)
        # In a column of names of benchmarks, another name is that of a benchmark, too.
        if key is None and cell and (column.is_dataset or k in column_of):
            key = UNKNOWN
        if key is not None:
            if key != UNKNOWN and benchmark_named(cell) or k in column_of:
                column_of[k] = cell
            if column.is_dataset:
                return key
            keys.add(key)
    return keys.pop() if len(keys) == 1 else SEVERAL if keys else None


def _numbers(cells: Sequence[str], columns: Sequence[PrintedColumn], nearest: Sequence[str | None],
             given: Sequence[str], runs: int) -> Iterator[Number | tuple[str, str]]:
    """Yield each number; of a cell without one, the words of its header and the cell."""
    name = next(cell for cell in cells if cell)
    of_name = metrics_in(name)
    if folded(name) in _DEVIATIONS:
        return
    with_metrics = [column for column in columns if column.metrics]
    figures = {k: numbers_in(cell)[0] for k, (cell, column) in enumerate(zip(cells, columns))
               if numbers_in(cell)[0] and not (column.is_other and not column.metrics)}
    # Columns of several benchmarks, or a pair in a cell, are no row of one result.
    by_row = (len(given) == len(figures) > len(with_metrics)
              and len({columns[k].benchmark for k in figures} - {None}) < 2
              and all(len(values) == 1 or float(values[-1]) < 5 for values in figures.values()))
    # Where other columns name a benchmark, this one is not of what stands above the table.
    if any(column.benchmark for column in with_metrics or columns[1:]):
        nearest = [UNKNOWN]
    for k, (cell, column) in enumerate(zip(cells, columns)):
        values, spread = numbers_in(cell)
        of_row = of_name if len(of_name) == 1 and k and not column.is_other else []
        said = ([given[[*figures].index(k)]] if by_row and k in figures else
                column.metrics or of_row)
        metrics = said or ([] if column.is_other else list(given))
        if len(metrics) == 1 and len(values) == 2:
            low, high = sorted(map(float, values))
            if low > 20:  # "95.9 (94.4)": the header does not name the second; "95.9/94.4": both
                values = values[:1] if "(" in cell else values
                metrics = metrics * len(values)
            elif len(given) == 2:
                metrics = list(given)
            elif "(" in cell and low < 5 <= high == float(values[0]):
                values, spread = values[:1], True
        elif column.benchmark and not metrics and not with_metrics and values:
            metrics = ["", ""]
        key = column.benchmark or next(filter(None, nearest), None)
        if column.boxes and key == "cuhk03-np":
            key = f"cuhk03-np-{column.boxes}"
        if values and len(values) == len(metrics):
            of = runs if column.runs == 1 else column.runs
            for metric, value in zip(metrics, values):
                yield Number(metric, key, value, Decimal(value), 0 if spread and of == 1 else of)
        # What the user says is of the columns of benchmarks; others have numbers, too.
        named = said or (metrics if column.benchmark else [])
        if named and _LIKE_A_NUMBER.match(cell) and (not values or len(values) != len(metrics)):
            yield "/".join(named) if any(named) else _BENCHMARK, cell


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


def rows_on(page: Sequence[str],
            columns: Sequence[str] = ()) -> Iterator[tuple[Grid, list[PrintedRow]]]:
    """Yield each table of a page with its rows, as `printed_rows` reads them.

    Where no table is marked as such, the page is CSV if its first line is a header, or plain text.
    """
    grids = tables_of(page)
    if not any(map(is_table_of_results, grids)):
        table = separated_table(page)
        is_csv = table is not None and any(map(metrics_in, table.rows[0][1]))
        grids = ([table] if table and is_csv else
                 [*text_tables(page, _METRIC, lambda text: bool(benchmark_in(text)))] or grids)
    for grid in grids:
        yield grid, printed_rows(grid, columns)


def results_on(page: Sequence[str]) -> Iterator[tuple[PrintedRow, Curve]]:
    """Yield each result that the tables of a page have, with its row; an empty one if it has none.

    Examples
    --------
    >>> page = ["| Method | Rank-1 | mAP |", "|:--|--:|--:|", "| ours | 89.9 | 75.1 |"]
    >>> [(row.name, {name: number.printed for name, number in result.items()})
    ...  for row, result in results_on(page)]
    [('ours', {'Rank-1': '89.9', 'mAP': '75.1'})]
    """
    for _, rows in rows_on(page):
        yield from ((row, curve) for row in rows
                    for curve in printed_curves(row.numbers) or [{}] if "" not in curve)
