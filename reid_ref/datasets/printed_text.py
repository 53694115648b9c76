"""Tables of plain text, as `pdftotext -layout` or a paste gives them, as grids of cells.

A header is a line with Rank-k, mAP or mINP between few other words. Figures are neighbouring
words whatever the blanks; they are those of a group of measures in the header, if there are as
many, else each is of the nearest word. What is left of them names the row. The nearest word of a
line just above the header may name the benchmark, and a line "Table 3: ..." before it is the
caption. The text of another column of the page is no cell: it is far from the header's words.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from reid_ref.text.pages import Grid

#: Characters read of a line, words of a header, and lines without a figure in a table, at most.
_LONGEST, _WIDEST, _GAP = 1000, 100, 8
#: Words between the measures of a header, columns to what is of another text, and lines to names
#: of benchmarks above it, at most.
_WORDS, _FAR, _ABOVE = 4, 12, 3
_WORD, _CHUNK = re.compile(r"\S+"), re.compile(r"\S+(?: \S+)*")
_FIGURE = re.compile(r"[*†‡(]*[0-9]{1,3}(?:[.,][0-9]{1,3})?[*†‡%)]*(?:±[0-9.]+|\([0-9.]+\))?%?")
_ABSENT = {"-", "–", "—", "--", "n/a", "N/A", "×"}
#: Blanks within a figure; citations; blanks between columns.
_BLANKS = re.compile(r"(?<=[0-9%])\s+(?=±|\([0-9])|(?<=±)\s+(?=[0-9.])")
_CITATION, _SEVERAL = re.compile(r"\[[0-9, ]+\]"), re.compile(r"\S {2,}\S")
_CAPTION = re.compile(r"(?:table|tab\.)\s*[0-9IVX]+[ .:]*", re.IGNORECASE)


class _Cell(NamedTuple):
    start: int
    end: int
    text: str

    def distance(self, other: _Cell) -> float:
        return abs(self.start + self.end - other.start - other.end) / 2


def text_tables(page: Sequence[str], metric: re.Pattern[str],
                is_benchmark: Callable[[str], bool]) -> Iterator[Grid]:
    """Yield the tables of plain text; `metric` is the pattern of a measure in a header.

    Examples
    --------
    >>> page = ["Table 1: On Market-1501", "Method        R-1   mAP", "PCB [3]  92.3  77.4"]
    >>> grid, = text_tables(page, re.compile("R-1|mAP"), lambda text: False)
    >>> grid.rows[1:], grid.above
    ([(2, ['', '', 'R-1', 'mAP']), (3, ['PCB', '', '92.3', '77.4'])], ['On Market-1501'])
    """
    header, grid, upper, caption, last, named = None, Grid([]), list[_Cell](), "", 0, 0
    for number, line in enumerate(page, 1):
        line = _CITATION.sub(lambda match: " " * len(match[0]), _BLANKS.sub("", line[:_LONGEST]))
        found = _Header.of(line, upper if number - named <= _ABOVE else [], metric, is_benchmark)
        if found:
            header, last = found, number
            grid = Grid([(number, row) for row in header.rows], [caption] if caption else [])
            yield grid
            caption = ""
        elif header and number - last <= _GAP and (rows := list(header.rows_of(line))):
            grid.rows += [(number, row) for row in rows]
            last = number
        elif chunks := _cells(_CHUNK, line):
            title = next((chunk.text for chunk in chunks if _CAPTION.match(chunk.text)), "")
            caption = _CAPTION.sub("", title, 1) if title else caption
            if any(is_benchmark(chunk.text) for chunk in chunks):
                named = number
                upper = [chunk for chunk in chunks if len(chunk.text.split()) <= _WORDS]


def _cells(pattern: re.Pattern[str], line: str, start: int = 0) -> list[_Cell]:
    return [_Cell(start + match.start(), start + match.end(), match[0])
            for match in pattern.finditer(line)]


def _is_figure(cell: _Cell) -> bool:
    return cell.text in _ABSENT or _FIGURE.fullmatch(cell.text) is not None


def _is_decimal(cell: _Cell) -> bool:
    return "." in cell.text and _FIGURE.fullmatch(cell.text) is not None


class _Header(NamedTuple):
    """The words of a header, a measure as one, and those of the line above it."""

    heads: list[_Cell]
    measures: list[_Cell]
    groups: list[list[_Cell]]
    rows: list[list[str]]
    left: int
    is_paste: bool

    @classmethod
    def of(cls, line: str, upper: Sequence[_Cell], metric: re.Pattern[str],
           is_benchmark: Callable[[str], bool]) -> _Header | None:
        """Return the header in a line, None if it is none."""
        heads, measures = list[_Cell](), list[_Cell]()
        for chunk in _cells(_CHUNK, line):
            words = _cells(metric, chunk.text, chunk.start)
            rest = _cells(_WORD, metric.sub(lambda match: " " * len(match[0]), chunk.text),
                          chunk.start)
            if len(rest) <= _WORDS and not any(map(_is_decimal, rest)):
                heads += sorted(words + rest)
                measures += words
        if not 0 < len(heads) <= _WIDEST or not measures:
            return None
        groups = [list(cells) for is_measure, cells in groupby(heads, measures.__contains__)
                  if is_measure]
        above = [min(upper, key=cell.distance).text if upper else "" for cell in measures]
        left = [cell.start for cell in {*heads, *upper}.difference(measures)
                if not is_benchmark(cell.text)]
        rows = [["", "", *above], ["", "", *(cell.text for cell in measures)]]
        return cls(heads, measures, groups, rows, min(left, default=0), not _SEVERAL.search(line))

    def rows_of(self, line: str) -> Iterator[list[str]]:
        """Yield the rows of a line, which may be of several tables side by side."""
        is_paste, end = self.is_paste and not _SEVERAL.search(line), 0
        for is_figure, words in groupby(_cells(_WORD, line), _is_figure):
            run = list(words)
            if not is_figure or not any(map(_is_decimal, run)):
                continue
            alike = [group for group in self.groups if len(group) == len(run)]
            of = min(alike, key=lambda group: group[-1].distance(run[-1]), default=[])
            if not of or not is_paste and of[-1].distance(run[-1]) > _FAR:
                of = self.heads[-len(run):] if is_paste else [
                    min(self.heads, key=cell.distance) for cell in run]
                of = [head if is_paste or cell.distance(head) <= _FAR else cell
                      for cell, head in zip(run, of)]
            texts = {head: cell.text for head, cell in zip(of, run)}
            figures = [texts.get(cell, "") for cell in self.measures]
            names = [chunk.text for chunk in _cells(_CHUNK, line[end:run[0].start], end)
                     if chunk.end > self.left or is_paste]
            names += [cell.text for cell, head in zip(run, of) if head not in self.measures]
            end = run[-1].end
            if names and any(figures):
                yield [names[0], " ".join(names[1:]), *figures]
