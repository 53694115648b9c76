"""`reid-ref published`: figures that others published, and which of them are impossible.

A Rank-k over N queries is k/N. On a benchmark whose good images are known, mAP also lies within
the bounds that Rank-1 leaves (`reid_ref.datasets.published`).
"""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from reid_ref.arrays import InputError
from reid_ref.console.answers import add_json, show_answer
from reid_ref.console.request import Request
from reid_ref.datasets import FINGERPRINTS
from reid_ref.datasets.benchmarks import BENCHMARKS, Images, benchmark_named
from reid_ref.datasets.published import (
    RANKS, ROUNDINGS, HitCounts, MapBounds, Published, by_key, find, nearest, out_of_reach,
    paper_figure, possible_on, verdict_of)
from reid_ref.protocols import PROTOCOLS
from reid_ref.text import named_rows, wrap

#: Fields whose name is not what a reader calls them.
_NAMES = {**RANKS, "source_paper": "paper", "source_repo": "repository", "source_path": "file",
          "source_commit": "commit", "n_query": "queries", "label_minus_1": "label -1",
          "min_score": "least score"}


#: What a verdict says of the rows below it.
_TITLES = {"impossible": "Impossible",
           "padded": "Possible only if zeros were added to the digits",
           "truncated": "Possible only if the digits were cut off, not rounded"}


class DoubtRow(NamedTuple):
    """A row in doubt: each Rank-k that is not k/N, and the bounds that mAP is outside of.

    Parameters
    ----------
    key : str
    verdict : {"impossible", "truncated", "padded"}
    ranks : dict of str to HitCounts
        Each printed Rank-k that is not k/N, rounded.
    mAP : list of MapBounds
        The bounds of mAP by each AP rule, where the printed mAP is outside all of them.
    """

    key: str
    verdict: str
    ranks: dict[str, HitCounts]
    mAP: list[MapBounds]


class Checked(NamedTuple):
    """The rows in doubt as JSON has them; `checked` rows have a known number of queries."""

    rows: int
    checked: int
    doubts: list[DoubtRow]


def benchmark_of(row: Published) -> str | None:
    """Return the key of `FINGERPRINTS` whose images a row is over; None where that is not known.

    Examples
    --------
    >>> benchmark_of(by_key("market1501/bagtricks-resnet50"))
    'market1501'
    """
    for key, benchmark in FINGERPRINTS.items():
        name, _, images = benchmark.name.partition(" ")
        if (row.dataset == name and row.n_query == str(benchmark.counts.query)
                and (not images or row.split.split(",")[0] == images.strip("()"))):
            return key
    return None


def check(row: Published) -> DoubtRow | None:
    """Return what is impossible about a row, or only by cut digits or added zeros; else None."""
    ranks = {name: hits for name, hits in row.hit_counts().items() if hits.rounding != "rounded"}
    figure, queries = paper_figure(row), [int(row.n_query)] if row.n_query else []
    known = possible_on(figure, benchmark_of(row), queries)
    ways = {verdict_of(figure, *known), *(hits.rounding for hits in ranks.values())}
    worst = next(way for way in reversed(ROUNDINGS) if way in ways)
    bounds = list(known[1]) if out_of_reach(known[1]) else []
    return None if worst == "rounded" else DoubtRow(
        row.key, "impossible" if worst == "no" else worst, ranks, bounds)


def check_all(rows: Sequence[Published]) -> Checked:
    """Return the rows in doubt, the impossible ones first."""
    doubts = sorted(filter(None, map(check, rows)),
                    key=lambda doubt: list(_TITLES).index(doubt.verdict))
    return Checked(len(rows), sum(bool(row.n_query) for row in rows), doubts)


def as_list(rows: Sequence[Published]) -> str:
    """Return key, Rank-1 and mAP of each row, below its source, evaluator and protocol."""
    lines: list[str] = []
    headings = ["", ""]
    for figure in rows:
        title = f"{figure.source_repo} {figure.source_path}: {figure.evaluator}"
        of = protocol_of(figure)
        if [title, of] != headings:
            lines += ["", *wrap(title)] if title != headings[0] else []
            lines += [f"  {f'protocol {of}':53} {'Rank-1':>9} {'mAP':>9}"]
            headings = [title, of]
        lines.append(f"  {figure.key:53} {_cell(figure.rank1):>9} {_cell(figure.mAP):>9}"
                     + (" *" if figure.is_suspect else ""))
    starred = sum(figure.is_suspect for figure in rows)
    benchmarks = {benchmark_named(figure.dataset) for figure in rows}
    counts = [line for benchmark in BENCHMARKS.values() if {benchmark.key} == benchmarks
              for images in benchmark.images for line in _counts(images)]
    lines += ["", *counts] if counts else []
    lines += ["", f"{len(rows)} published figures, percent, as printed"
                  + (f"; * {starred} whose Rank-k is not k/N" if starred else "")]
    return "\n".join(lines[1:])


def _counts(images: Images) -> list[str]:
    part = f" ({images.part})" if images.part else ""
    return wrap(f"{images.query:,} queries, {images.gallery:,} in the gallery{part}: "
                f"{'; '.join(filter(None, (images.note, images.source)))}", rest="    ")


def protocol_of(figure: Published) -> str:
    """Return the protocol of a figure, its part where it is one of several, and the score."""
    record = PROTOCOLS.get(figure.protocol)
    is_one = not figure.part or record is not None and len(record.parts) == 1
    score = f", score {figure.min_score or 'not stated'}" if record and record.boxes else ""
    return (figure.protocol or "not stated") + ("" if is_one else f", {figure.part}") + score


def _cell(text: str) -> str:
    """As printed, but for the few with more than four decimals."""
    return text if len(text) <= 7 else f"{float(text):.4f}"


def as_page(figure: Published) -> str:
    """Return everything about one row; what its source does not state is left out."""
    return "\n".join(named_rows([(_NAMES.get(name, name), text)
                                 for name, text in asdict(figure).items() if text], 12))


def as_doubts(answer: Checked, rows: Sequence[Published]) -> str:
    """Return the rows that are impossible, and those possible if digits were cut off or added."""
    lines: list[str] = []
    for verdict, title in _TITLES.items():
        chosen = [doubt for doubt in answer.doubts if doubt.verdict == verdict]
        if chosen:
            lines += [f"{title}: {len(chosen)}"]
            for doubt in chosen:
                lines += _doubt(doubt, next(row for row in rows if row.key == doubt.key))
            lines += [""]
    return "\n".join([*lines, f"{answer.checked} of {answer.rows} published figures checked: "
                              "those whose number of queries is known"])


def _doubt(doubt: DoubtRow, row: Published) -> list[str]:
    lines = [f"  {doubt.key}"]
    for name, hits in doubt.ranks.items():
        printed = getattr(row, name.lower().replace("-", ""))
        padded = f"; possible as {hits.possible_as}" if hits.possible_as is not None else ""
        lines += wrap(f"{name} {printed} of {hits.n_query:,} queries{padded}; nearest: "
                      f"{nearest(hits)}", first="      ", rest="          ")
    for bound in doubt.mAP:
        lines += wrap(f"mAP {row.mAP}; {bound.ap} with that Rank-1: "
                      f"{100 * bound.low:.2f} to {100 * bound.high:.2f}", first="      ")
    return lines


class Figures(NamedTuple):
    """The rows as JSON has them."""

    published: list[Published]


@dataclass(frozen=True, kw_only=True)
class PublishedRequest(Request):
    """What the command line requests."""

    key: str | None
    dataset: str
    method: str
    check: bool


def add(command: argparse.ArgumentParser) -> None:
    """List published Rank-1 and mAP (percent, as printed) with the evaluator that computed them,
    or show one in full.

    Pass a key to `reid-ref validate FILE --paper KEY`. An asterisk marks a Rank-k that is not k/N:
    a misprint, a truncation or another set of queries. Exit code 0; with --check 1 where a figure
    is impossible; 2: wrong input.
    """
    command.add_argument("key", nargs="?", metavar="KEY | BENCHMARK",
                         help="show this one in full; or list those of a benchmark")
    command.add_argument("--dataset", default="", metavar="TEXT",
                         help="only datasets with this in their name")
    command.add_argument("--method", default="", metavar="TEXT",
                         help="only those with this in their method, backbone or key")
    command.add_argument("--protocol", default="", metavar="NAME",
                         help="only those of this protocol or convention, such as "
                              "sysu-mm01-python or torchreid")
    command.add_argument("--check", action="store_true",
                         help="only those that are impossible: a Rank-k that is not k/N, or an "
                              "mAP out of reach with that Rank-1")
    add_json(command)


def run(request: PublishedRequest) -> int:
    key: str | None = request.key
    dataset, protocol = request.dataset, request.protocol or ""
    if key is not None and "/" not in key and benchmark_named(key) is not None:
        if dataset:
            raise InputError("BENCHMARK, --dataset", "one of them", "both")
        key, dataset = None, str(key)
    if key is not None and (dataset or request.method or protocol):
        raise InputError("KEY", got=f"{key!r} names one figure already", remedy="leave out "
                         "--dataset, --method and --protocol, or the key")
    rows = find(dataset, request.method, protocol) if key is None else (by_key(key),)
    if request.check:
        answer = check_all(rows)
        show_answer(request.format, json=lambda: answer, table=lambda: as_doubts(answer, rows))
        return int(any(doubt.verdict == "impossible" for doubt in answer.doubts))
    show_answer(request.format, json=lambda: Figures(list(rows)) if key is None else rows[0],
                table=lambda: as_list(rows) if key is None else as_page(rows[0]))
    return 0
