"""`reid-ref protocols`: the benchmarks by their names, and what each needs."""
from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from reid_ref.console.answers import add_json, show_answer
from reid_ref.console.protocols import is_file, named, option_of_trials
from reid_ref.conventions import IGNORED, METRICS, UNMATCHED
from reid_ref.datasets.benchmarks import BENCHMARKS
from reid_ref.evaluation.how import How
from reid_ref.protocols import Exact, Part, Protocol, Rows, Seeded
from reid_ref.protocols.records import every_protocol
from reid_ref.text import named_rows, wrap


class ProtocolRecord(NamedTuple):
    """A protocol as JSON has it."""

    name: str
    benchmark: str
    source: str
    prepare: str
    parts: dict[str, str]
    trials: str
    shots: list[int]
    needs: list[str]
    convention: str
    counts: dict[str, list[int]]
    detections: str
    note: str


class ProtocolRecords(NamedTuple):
    """All protocols as JSON has them, by name."""

    protocols: dict[str, ProtocolRecord]


def record_of(protocol: Protocol) -> ProtocolRecord:
    """Return a protocol in words."""
    return ProtocolRecord(
        protocol.name, _benchmark(protocol), protocol.source, protocol.prepare,
        {part.name: words_of(protocol, part) for part in protocol.parts}, trials_of(protocol)[1],
        list(protocol.shots), list(protocol.needs), protocol.convention.name,
        {name: list(counts) for name, counts in protocol.counts.items()},
        protocol.boxes.detections if protocol.boxes else "", protocol.note)


def _benchmark(protocol: Protocol) -> str:
    known = BENCHMARKS.get(protocol.benchmark)
    return known.name if known else protocol.benchmark or "-"


def words_of(protocol: Protocol, part: Part) -> str:
    """Return what is ranked against what in a part, and what is ignored."""
    if protocol.boxes is not None:
        return protocol.boxes.words[part.name]
    ignored = protocol.convention.ignored if part.ignored is None else part.ignored
    tracks = "tracks of " if protocol.tracks else ""
    return (f"{_rows(part.query)} against {tracks}{_rows(part.gallery)}; ignored: "
            + ("; ".join(IGNORED[rule].words for rule in ignored) or "nothing"))


def _rows(rows: Rows) -> str:
    where = ", ".join(f"{column}{'s' * (len(values) > 1)} {', '.join(map(str, values))}"
                      for column, values in rows.where.items())
    drawn = {None: "", True: " that are drawn", False: " that are not drawn"}[rows.drawn]
    return ("queries" if rows.side == "query" else "gallery images") + drawn + (
        f" of {where}" if where else "")


def trials_of(protocol: Protocol) -> tuple[str, str]:
    """Return the trials in a word or two, and in full."""
    trials = protocol.trials
    if isinstance(trials, Exact):
        return "expectation", "the expectation over all galleries of one image of each identity"
    galleries = "1 gallery" if trials.n == 1 else f"{trials.n} galleries"
    if isinstance(trials, Seeded):
        seeds = f"{trials.seed} to {trials.seed + trials.n - 1}"
        return f"{trials.n} drawn", (
            f"{galleries}, one image of each {' and '.join(trials.unit)} drawn by Python's "
            f"random, " + (f"seed {trials.seed}" if trials.n == 1 else f"seeds {seeds}"))
    words = "one, of all images" if trials.n == 1 else (
        f"{trials.n} splits that come with the data set")
    if trials.file:
        words = f"{galleries} of {trials.file}, which --trials names"
    return "one" if trials.n == 1 else f"{trials.n} given", words


def as_list() -> str:
    """Return one line per protocol: its parts and its trials."""
    lines = [f"{'protocol':24}{'trials':14}parts"]
    for name, protocol in every_protocol().items():
        parts = ", ".join(part.name for part in protocol.parts)
        lines += wrap(parts, f"{name:24}{trials_of(protocol)[0]:14}", " " * 38)
    return "\n".join([*lines, "", *wrap(
        "trials: given with the data set, drawn by the seeds of the code, or the exact "
        "expectation over all galleries. reid-ref protocols NAME shows a protocol in full; "
        "reid-ref evaluate FILE --protocol NAME evaluates it.")])


def as_page(protocol: Protocol, given: str = "") -> str:
    """Return everything about one protocol in words; `given`: the file that it is from."""
    record = record_of(protocol)
    return "\n".join(named_rows(_page(record, protocol, given or record.name), 12))


def _page(record: ProtocolRecord, protocol: Protocol, given: str) -> Iterator[tuple[str, str]]:
    yield "name", record.name
    yield "benchmark", record.benchmark
    yield from ((name, words) for name, words in (
        ("follows", record.source), ("file", record.prepare)) if words)
    if record.needs:
        yield "columns", f"identity, camera, {', '.join(record.needs)}"
    yield "trials", record.trials
    if record.shots != [1]:
        yield "shots", " or ".join(map(str, record.shots)) + ", by --shots"
    for name, words in record.parts.items():
        size = record.counts.get(name)
        yield "part", f"{name}: {words}" + (
            f"; the benchmark has {size[0]:,} queries and {size[1]:,} gallery images"
            if size else "")
    if record.detections:
        yield "boxes", (f"{record.detections}, unless --min-score or --boxes-per-image say "
                        "otherwise")
    convention = protocol.convention
    yield "counted", (f"AP: {convention.ap}; query without a match: "
                      f"{UNMATCHED[convention.unmatched].words}; CMC: {convention.curve.words}")
    yield "distance", (f"{METRICS[convention.metric]}, features "
                       + ("divided by their 2-norms" if How((convention,)).distance()[1]
                          else "as they are") + ", unless --metric or --normalize say otherwise")
    if record.note:
        yield "note", record.note
    yield "", ""
    yield "command", f"reid-ref evaluate FILE --protocol {given}{option_of_trials(protocol)}"


def add(command: argparse.ArgumentParser) -> None:
    """List the benchmarks that can be evaluated by their names, or show one: the code that it
    follows, its parts and trials, and what goes into the file.
    """
    command.add_argument("protocol", nargs="?", metavar="NAME", help="show this one in full")
    add_json(command)


def run(args: argparse.Namespace) -> None:
    protocol = None if args.protocol is None else named(args.protocol, "NAME")
    if protocol is not None:
        given = args.protocol if is_file(args.protocol) else ""
        show_answer(args.format, json=lambda: record_of(protocol),
                    table=lambda: as_page(protocol, given))
    else:
        show_answer(args.format, table=as_list, json=lambda: ProtocolRecords(
            {name: record_of(record) for name, record in every_protocol().items()}))
