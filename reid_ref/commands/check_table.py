"""`reid-ref check-table`: rows of Markdown tables of results whose numbers are impossible.

A table is a line of headings, a line of dashes, and rows, outside of blocks of code. A signature
is in a cell of its row, or below the table as `reid-ref evaluate --format markdown` writes it:
``- NAME: `SIGNATURE` ``, NAME being the first cell of the row.
"""
from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise, takewhile
from pathlib import Path

from reid_ref.arrays import InputError, check_choice
from reid_ref.console.terminal import show
from reid_ref.conventions import UNMATCHED
from reid_ref.datasets import FINGERPRINTS
from reid_ref.datasets.published import hit_counts, unit_of
from reid_ref.disk import read_lines
from reid_ref.signature import convention_of, off_its_name, parse_signature

_DASHES = re.compile(r"\s*\|?(\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_SIGNATURE = re.compile(r"convention:[^`]*\|reid-ref:[^\s`|<]+")
_BELOW = re.compile(rf"\s*[-*+] (.*): `({_SIGNATURE.pattern})`\s*")
_RANK = re.compile(r"(?:rank|cmc|top|r)[ @_-]*([1-9][0-9]{0,5})", re.IGNORECASE)


@dataclass(frozen=True)
class TableRow:
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


def result_rows(page: Sequence[str]) -> list[TableRow]:
    """Return the rows of a page that have a Rank-k, mAP or mINP.

    Examples
    --------
    >>> page = ["| Method | Rank-1 | mAP |", "|:--|--:|--:|", "| ours | **94.2** | 84.1% |"]
    >>> rows = result_rows(page)
    >>> rows[0].name, rows[0].numbers
    ('ours', {'Rank-1': Decimal('94.2'), 'mAP': Decimal('84.1')})
    """
    lines = _without_code(page)
    rows: list[TableRow] = []
    for start, (heading, dashes) in enumerate(pairwise(lines), 2):
        columns = _columns(heading, dashes)
        if columns:
            body = list(takewhile(lambda line: "|" in line, lines[start:]))
            below = _signatures_below(lines[start + len(body):])
            rows += _rows(columns, body, start + 1, below)
    return rows


def _without_code(lines: Sequence[str]) -> list[str]:
    """Return the lines, those of blocks of code empty."""
    text, fence = [], ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence and line.strip().startswith(fence):
            fence, line = "", ""
        text.append("" if fence else line)
    return text


def _cells(line: str) -> list[str]:
    line = re.sub(r"\\\|", "\0", line.strip())
    return [cell.strip().replace("\0", "|")
            for cell in line.removeprefix("|").removesuffix("|").split("|")]


def _columns(heading: str, dashes: str) -> dict[int, str]:
    """Return Rank-k, mAP or mINP of each column that is headed so; none if this is no table."""
    columns = {}
    if "|" in heading and "-" in dashes and _DASHES.fullmatch(dashes):
        for place, cell in enumerate(_cells(heading)):
            plain = re.sub(r"<[^>]*>|\(.*?\)|[*`%\\↑]", "", cell).strip()
            rank, mean = _RANK.fullmatch(plain), {"map": "mAP", "minp": "mINP"}.get(plain.lower())
            if rank:
                columns[place] = f"Rank-{rank[1]}"
            elif mean:
                columns[place] = mean
    return columns


def _rows(columns: dict[int, str], lines: Sequence[str], first: int,
          below: dict[str, str]) -> Iterator[TableRow]:
    for number, line in enumerate(lines, first):
        cells = _cells(line)
        read = {name: _percent(cells[place]) for place, name in columns.items()
                if place < len(cells)}
        values = {name: value for name, value in read.items() if value is not None}
        if values:
            # Fractions, where all numbers of a row are.
            scale = 2 if max(values.values()) <= 1 else 0
            inside, name = _SIGNATURE.search(line.replace("\\|", "|")), _plain(cells[0])
            yield TableRow(number, name, {key: value.scaleb(scale)
                                          for key, value in values.items()},
                           inside[0] if inside else below.get(name))


def _percent(cell: str) -> Decimal | None:
    plain = re.sub(r"<[^>]*>|[*_~`%\\\s]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", cell))
    return Decimal(plain) if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,20})?", plain) else None


def _signatures_below(lines: Sequence[str]) -> dict[str, str]:
    """Return the signatures of the list right below a table, by the name of the row."""
    signatures: dict[str, str] = {}
    for line in lines:
        entry = _BELOW.fullmatch(line)
        if entry:
            signatures.setdefault(_plain(entry[1]), entry[2])
        elif line.strip():
            break
    return signatures


def _plain(name: str) -> str:
    """Return a name without the target of a link, and without backslashes."""
    text = re.sub(r"(?<!\\)\[(.*?)(?<!\\)\]\([^)]*\)", r"\1", name)
    return re.sub(r"\\(.)", r"\1", text).strip()


def check_row(row: TableRow, dataset: str | None = None) -> tuple[int | None, list[str]]:
    """Return how many queries Rank-k counts, None where unknown, and what is impossible.

    Without a signature, a row is one of `dataset`, a key of `FINGERPRINTS`.
    """
    faults: list[str] = []
    n_query = None if dataset is None else FINGERPRINTS[dataset].counts.query
    if row.signature is not None:
        try:
            fields = parse_signature(row.signature)
            faults, n_query = off_its_name(fields), _queries_of_rank(fields)
        except InputError as error:
            faults, n_query = [str(error)], None
    return n_query, [*faults, *_impossible(row.numbers, n_query)]


def _queries_of_rank(fields: Mapping[str, str]) -> int | None:
    """Return how many queries Rank-k counts; None where it is no such count, or unknown."""
    convention = convention_of(fields)
    n_query, n_gallery = int(fields["queries"]), int(fields["gallery"])
    if not convention.curve.counts:
        return None
    if UNMATCHED[convention.unmatched].in_cmc:
        return n_query
    # Queries without a match may be left out; how many is known of benchmarks.
    for counts in (benchmark.counts for benchmark in FINGERPRINTS.values()):
        if counts.query == n_query and n_gallery in (counts.gallery, counts.gallery - counts.junk):
            return n_query - counts.unmatched
    return None


def _impossible(numbers: dict[str, Decimal], n_query: int | None) -> Iterator[str]:
    """Yield what is impossible: beyond 100 percent, a falling curve, a share of no count."""
    for name, value in numbers.items():
        if value > 100:
            yield f"{name} {value} is over 100 percent"
    ranks = {int(name.removeprefix("Rank-")): value for name, value in numbers.items()
             if name.startswith("Rank-")}
    for k, larger in pairwise(sorted(ranks)):
        value, other = ranks[k], ranks[larger]
        # They may be one number, printed with different numbers of digits.
        if value - other >= max(unit_of(value), unit_of(other)):
            yield f"Rank-{larger} {other} is below Rank-{k} {value}, but a CMC curve never falls"
    for k, value in ranks.items():
        counts = hit_counts(value, n_query) if n_query is not None and value <= 100 else None
        if counts and counts.rounding == "no":
            yield (f"Rank-{k} {value} is no count of {n_query:,} queries: the nearest are "
                   + " and ".join(f"{hits:,} ({Decimal(100 * hits) / counts.n_query:.5f})"
                                  for hits in counts.nearest))


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Look for impossible numbers in the Markdown tables of README files: Rank-k "
        "that is no count k/N of the queries, Rank-k that falls, a signature that "
        "contradicts itself.")
    command.epilog = (
        "The number of queries is that of the row's signature, as reid-ref evaluate "
        "--format markdown writes it, or of --dataset. Exit code: 0 where every row can "
        "be, 1 where one cannot, 2 for wrong input.")
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE", help="Markdown")
    command.add_argument("--dataset", metavar="NAME",
                         help="of rows without a signature, e.g. market1501; a wrong name lists "
                              "the known ones")


def run(args: argparse.Namespace) -> int:
    if args.dataset is not None:
        check_choice(args.dataset, "--dataset", FINGERPRINTS)
    lines, n_rows, signed, counted, bad = [], 0, 0, 0, 0
    for path in args.files:
        for row in result_rows(read_lines(Path(path), "Markdown")):
            n_query, problems = check_row(row, args.dataset)
            lines += [f"{path}:{row.line}: {row.name}: {problem}" for problem in problems]
            n_rows += 1
            signed += row.signature is not None
            counted += n_query is not None
            bad += bool(problems)
    read = "1 row" if n_rows == 1 else f"{n_rows:,} rows"
    show("\n".join([*lines, f"{read} with Rank-k, mAP or mINP: {signed:,} with a "
                    f"signature; counts k/N checked in {counted:,}; {bad:,} impossible"]))
    return int(bad > 0)
