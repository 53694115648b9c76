"""Tables of results in Markdown: rows with Rank-k, mAP or mINP, and the signatures beside them.

A table is a line of headings, a line of dashes, and rows, outside of blocks of code. A signature
stands in a cell of its row, or below the table as `reid-ref evaluate --format markdown` writes it:
``- NAME: `SIGNATURE` ``, NAME being the first cell of the row.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

_DASHES = re.compile(r"\s*\|?(\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_SIGNATURE = re.compile(r"convention:[^`]*\|reid-ref:[^\s`|<]+")
_BELOW = re.compile(rf"\s*[-*+] (.*): `({_SIGNATURE.pattern})`\s*")
_RANK = re.compile(r"(?:rank|cmc|top|r)[ @_-]*([1-9][0-9]{0,5})", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Parameters
    ----------
    line : int
        Of the file, from 1.
    name : str
        Its first cell.
    numbers : dict of str to Decimal
        By Rank-k, mAP and mINP, in percent.
    signature : str or None
    """

    line: int
    name: str
    numbers: dict[str, Decimal]
    signature: str | None


def result_rows(page: Sequence[str]) -> list[Row]:
    """Return the rows of a page that have a Rank-k, mAP or mINP.

    Examples
    --------
    >>> page = ["| Method | Rank-1 | mAP |", "|:--|--:|--:|", "| ours | **94.2** | 84.1% |"]
    >>> rows = result_rows(page)
    >>> rows[0].name, rows[0].numbers
    ('ours', {'Rank-1': Decimal('94.2'), 'mAP': Decimal('84.1')})
    """
    lines = _without_code(page)
    rows: list[Row] = []
    for start in range(1, len(lines)):
        columns = _columns(lines[start - 1], lines[start])
        if columns:
            end = start + 1
            while end < len(lines) and "|" in lines[end]:
                end += 1
            below = _signatures_below(lines[end:])
            rows += _rows(columns, lines[start + 1:end], start + 2, below)
    return rows


def _without_code(lines: Sequence[str]) -> list[str]:
    """Return the lines, those of blocks of code empty."""
    found, fence = [], ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence and line.strip().startswith(fence):
            fence, line = "", ""
        found.append("" if fence else line)
    return found


def _cells(line: str) -> list[str]:
    line = re.sub(r"\\\|", "\0", line.strip())
    return [cell.strip().replace("\0", "|")
            for cell in line.removeprefix("|").removesuffix("|").split("|")]


def _columns(heading: str, dashes: str) -> dict[int, str]:
    """Return the number's name of each column that has one; none if this is no table."""
    if "|" not in heading or "-" not in dashes or not _DASHES.fullmatch(dashes):
        return {}
    names = {place: _number_name(cell) for place, cell in enumerate(_cells(heading))}
    return {place: name for place, name in names.items() if name}


def _number_name(heading: str) -> str:
    """Return Rank-k, mAP or mINP where that is what a column is headed."""
    plain = re.sub(r"<[^>]*>|\(.*?\)|[*`%\\↑]", "", heading).strip()
    rank = _RANK.fullmatch(plain)
    return f"Rank-{rank[1]}" if rank else {"map": "mAP", "minp": "mINP"}.get(plain.lower(), "")


def _rows(columns: dict[int, str], lines: Sequence[str], first: int,
          below: dict[str, str]) -> Iterator[Row]:
    for number, line in enumerate(lines, first):
        cells = _cells(line)
        values = {name: _percent(cells[place]) for place, name in columns.items()
                  if place < len(cells)}
        numbers = _in_percent({name: one for name, one in values.items() if one is not None})
        if numbers:
            inside = _SIGNATURE.search(line.replace("\\|", "|"))
            yield Row(number, _plain(cells[0]), numbers,
                      inside[0] if inside else below.get(_plain(cells[0])))


def _percent(cell: str) -> Decimal | None:
    plain = re.sub(r"<[^>]*>|[*_~`%\\\s]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", cell))
    return Decimal(plain) if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,20})?", plain) else None


def _in_percent(numbers: dict[str, Decimal]) -> dict[str, Decimal]:
    """Return percent where all numbers of a row are fractions."""
    fractions = all(value <= 1 for value in numbers.values())
    return {name: value.scaleb(2) if fractions else value for name, value in numbers.items()}


def _signatures_below(lines: Sequence[str]) -> dict[str, str]:
    """Return the signatures of the list right below a table, by the name of the row."""
    found: dict[str, str] = {}
    for line in lines:
        entry = _BELOW.fullmatch(line)
        if entry:
            found.setdefault(_plain(entry[1]), entry[2])
        elif line.strip():
            break
    return found


def _plain(name: str) -> str:
    """Return a name without the target of a link, and without backslashes."""
    text = re.sub(r"(?<!\\)\[(.*?)(?<!\\)\]\([^)]*\)", r"\1", name)
    return re.sub(r"\\(.)", r"\1", text).strip()
