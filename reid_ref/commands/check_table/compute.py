"""Rows of Markdown tables of results, and whether their numbers can be at all.

A table is a line of headings, a line of dashes, and rows, outside of blocks of code. A signature
stands in a cell of its row, or below the table as `reid-ref evaluate --format markdown` writes it:
``- NAME: `SIGNATURE` ``, NAME being the first cell of the row.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from reid_ref.arrays import InputError
from reid_ref.conventions import UNMATCHED
from reid_ref.datasets.fingerprints import FINGERPRINTS
from reid_ref.datasets.printed import hit_counts
from reid_ref.signature import convention_of, off_its_name, parse_signature

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


@dataclass(frozen=True)
class Checked:
    """What was found on one row.

    Parameters
    ----------
    row : Row
    n_query : int or None
        Queries that Rank-k is a share of; None where that is not known.
    problems : tuple of str
        Empty where nothing is impossible.
    """

    row: Row
    n_query: int | None
    problems: tuple[str, ...]


def check_row(row: Row, dataset: str | None = None) -> Checked:
    """Check one row; without a signature, as a row of `dataset`, a key of `FINGERPRINTS`."""
    faults: list[str] = []
    n_query = None if dataset is None else FINGERPRINTS[dataset].counts.query
    if row.signature is not None:
        try:
            fields = parse_signature(row.signature)
            faults, n_query = off_its_name(fields), _queries_of_rank(fields)
        except InputError as error:
            faults, n_query = [str(error)], None
    return Checked(row, n_query, (*faults, *_beyond(row), *_falling(row),
                                  *_no_counts(row, n_query)))


def _queries_of_rank(fields: Mapping[str, str]) -> int | None:
    """Return how many queries Rank-k counts; None where it is no such count, or unknown."""
    convention = convention_of(fields)
    n_query, n_gallery = int(fields["queries"]), int(fields["gallery"])
    if not convention.curve.counts:
        return None
    # Queries without a match may be left out; how many there are is known of benchmarks.
    known = [one.counts for one in FINGERPRINTS.values() if one.counts.query == n_query
             and n_gallery in (one.counts.gallery, one.counts.gallery - one.counts.junk)]
    if not UNMATCHED[convention.unmatched].in_cmc:
        return n_query - known[0].unmatched if known else None
    return n_query


def _beyond(row: Row) -> Iterator[str]:
    for name, value in row.numbers.items():
        if value > 100:
            yield f"{name} {value} is over 100 percent"


def _falling(row: Row) -> Iterator[str]:
    """Yield each Rank-k that is lower than one of a smaller k."""
    ranks = sorted((int(name.removeprefix("Rank-")), value)
                   for name, value in row.numbers.items() if name.startswith("Rank-"))
    for (k, value), (larger, other) in zip(ranks, ranks[1:]):
        if other < value and not _same_rounded(value, other):
            yield f"Rank-{larger} {other} is below Rank-{k} {value}, but a CMC curve never falls"


def _same_rounded(value: Decimal, other: Decimal) -> bool:
    """Tell whether two numbers may be one, printed with different numbers of digits."""
    fewer = max(value, other, key=lambda one: int(one.as_tuple().exponent))
    return bool(abs(value - other) < Decimal(1).scaleb(int(fewer.as_tuple().exponent)))


def _no_counts(row: Row, n_query: int | None) -> Iterator[str]:
    for name, value in row.numbers.items():
        if n_query is None or not name.startswith("Rank-") or value > 100:
            continue
        counts = hit_counts(value, n_query)
        if counts.rounding == "no":
            yield (f"{name} {value} is no count of {n_query:,} queries: the nearest are "
                   + " and ".join(f"{k:,} ({Decimal(100 * k) / n_query:.5f})"
                                  for k in counts.nearest))
