"""`reid-ref protocols`: the benchmarks by their names, and what each needs."""
import argparse
import re
from collections.abc import Iterator
from typing import NamedTuple

from reid_ref.console.answers import add_json, show_answer
from reid_ref.console.protocol_names import is_file, protocol_or_file
from reid_ref.console.protocols import chosen, option_of_trials
from reid_ref.console.request import Request
from reid_ref.console.words import add_argument
from reid_ref.conventions import UNMATCHED
from reid_ref.datasets.benchmarks import BENCHMARKS, benchmark_named
from reid_ref.datasets.fingerprints import FINGERPRINTS
from reid_ref.datasets.published import Published, load
from reid_ref.protocols import Protocol
from reid_ref.protocols.record import Later
from reid_ref.protocols.records import every_protocol
from reid_ref.protocols.words import trials_of, what_to_save, words_of
from reid_ref.rules.candidates import rules_of_protocols
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
    note: str
    chosen: str
    later: Later | None
    save: str
    published: int


class ProtocolRecords(NamedTuple):
    """All protocols as JSON has them, by name."""

    protocols: dict[str, ProtocolRecord]


def protocol_record(protocol: Protocol) -> ProtocolRecord:
    """Return a protocol in words."""
    return ProtocolRecord(
        protocol.name, _benchmark(protocol), protocol.source, protocol.prepare,
        {part.name: words_of(protocol, part) for part in protocol.parts}, trials_of(protocol)[1],
        list(protocol.shots), list(protocol.needs), protocol.convention.name,
        {name: list(counts) for name, counts in protocol.counts.items()}, protocol.note,
        chosen(protocol), protocol.later, protocol.save,
        len(_published(protocol)))


def _published(protocol: Protocol) -> list[Published]:
    """Return the published figures of a protocol's benchmark."""
    return [figure for figure in load() if protocol.benchmark
            and benchmark_named(figure.dataset) == protocol.benchmark]


def _benchmark(protocol: Protocol) -> str:
    known = BENCHMARKS.get(protocol.benchmark)
    return known.name if known else protocol.benchmark or "-"


def as_list() -> str:
    """Return one line per protocol: its parts and its trials."""
    names = every_protocol()
    width = max(map(len, names)) + 2
    lines = [f"{'protocol':{width}}{'trials':14}parts"]
    for name, protocol in names.items():
        parts = ", ".join(part.name for part in protocol.parts)
        lines += wrap(parts, f"{name:{width}}{trials_of(protocol)[0]:14}", " " * (width + 14))
    return "\n".join([*lines, "", *wrap(
        "trials: given with the data set, drawn by the seeds of the code, or the exact "
        "expectation over all galleries. reid-ref protocols NAME shows a protocol in full; "
        "reid-ref evaluate FILE --protocol NAME evaluates it.")])


def as_page(protocol: Protocol, given: str = "") -> str:
    """Return everything about one protocol in words; `given`: the file that it is from."""
    record = protocol_record(protocol)
    return "\n".join([*named_rows(_page(record, protocol, given or record.name), 12), "",
                      *_plain(what_to_save(protocol))])


#: Marks of Markdown: bold, code, and links, to pages beside docs/protocols/.
_MARKS = re.compile(r"\*\*|`|\[([^]]*)\]\((?:\.\./)?([^)#]*)[^)]*\)")


def _plain(markdown: str) -> Iterator[str]:
    """Yield the lines of a recipe: paragraphs as they are wrapped, code indented, no marks."""
    code = False
    for line in markdown.strip().splitlines():
        if line.startswith("```"):
            code = not code
        else:
            yield f"    {line}" if code else _MARKS.sub(
                lambda mark: f"{mark[1]} (docs/{mark[2]})" if mark[1] else "", line)


def _has_junk(protocol: Protocol) -> bool:
    """Return whether gallery images of the benchmark are labelled -1, and not ranked."""
    known = FINGERPRINTS.get(protocol.benchmark)
    return (known is not None and known.counts.junk > 0
            and "label -1" in protocol.convention.not_ranked)


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
            + (" besides those labelled -1" if _has_junk(protocol) else "") if size else "")
    convention = protocol.convention
    yield "counted", (f"AP: {convention.ap}; query without a match: "
                      f"{UNMATCHED[convention.unmatched].words}; CMC: {convention.curve.words}")
    yield "chosen", chosen(protocol)
    if record.note:
        yield "note", record.note
    if protocol.later is not None:
        yield "also", f"{protocol.later.words}: --protocol {protocol.later.protocol}"
    yield "", ""
    yield "command", f"reid-ref evaluate FILE --protocol {given}{option_of_trials(protocol)}"
    if figures := _published(protocol):
        same = sum(figure.protocol == protocol.name for figure in figures)
        yield "published", (f"{len(figures)} figures of this benchmark" + (
            f", {same} of them by this protocol" if same else "")
            + f"; reid-ref validate --dataset {protocol.benchmark} lists them")


def add(command: argparse.ArgumentParser) -> None:
    """List the benchmarks that can be evaluated by their names, or show one: the code that it
    follows, its parts and trials, what goes into the file, and the lines that save it.

    Examples:
        reid-ref protocols
        reid-ref protocols sysu-mm01
    """
    add_argument(command, "protocol", nargs="?")
    add_json(command)


def run(request: Request) -> None:
    name = request.protocol
    if name in rules_of_protocols():  # as crosscheck names it
        name = rules_of_protocols()[name][1][0].partition(" (")[0]
    if name is not None:
        protocol, given = protocol_or_file(name, "NAME"), name if is_file(name) else ""
        show_answer(request.format, json=lambda: protocol_record(protocol),
                    table=lambda: as_page(protocol, given))
    else:
        show_answer(request.format, table=as_list, json=lambda: ProtocolRecords(
            {name: protocol_record(record) for name, record in every_protocol().items()}))
