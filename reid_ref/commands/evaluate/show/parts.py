"""The parts of a protocol as tables, JSON and CSV."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from reid_ref.commands.evaluate.compute import Details, Method
from reid_ref.console import confidence
from reid_ref.protocols import Protocol
from reid_ref.protocols.expectation import N_DRAWS
from reid_ref.protocols.result import means_over_parts
from reid_ref.result import HEADLINE, Result, headline, sd_of
from reid_ref.result.views import Means, as_fields, means_of
from reid_ref.statistics import Interval
from reid_ref.text import filenames, percent, row, signature_lines
from reid_ref.text.plain import Share
from reid_ref.text.table import lines


@dataclass(frozen=True, kw_only=True)
class TrialNumbers(Means):
    """The numbers of one trial."""

    counted: int
    queries: int
    gallery: int


@dataclass(frozen=True, kw_only=True)
class PartNumbers(Details, TrialNumbers):
    """The means of a part over its trials; no trials where they are an expectation."""

    part: str
    cmc: list[Share]
    sd: dict[str, float]
    intervals: dict[str, Interval] | None
    trials: list[TrialNumbers]
    signature: str


@dataclass(frozen=True, kw_only=True)
class MeanNumbers(Means):
    """A mean over parts that the benchmark prints."""

    name: str
    parts: list[str]


@dataclass(frozen=True, kw_only=True)
class AlsoNumbers(Means):
    """The number that other papers print on the same files."""

    protocol: str
    words: str
    signature: str


class ProtocolAnswer(NamedTuple):
    """A benchmark's numbers by part."""

    protocol: str
    source: str
    chosen: str
    files: list[str]
    parts: list[PartNumbers]
    means: list[MeanNumbers]
    also: AlsoNumbers | None


def as_answer(protocol: Protocol, method: Method, length: int | None, more: Details,
              chosen: str, measures: Sequence[str] = ()) -> ProtocolAnswer:
    """Return the parts for JSON, their curves to rank `length`, and further measures."""
    also = None if method.also is None else AlsoNumbers(
        **method.also.later._asdict(), signature=str(method.also.result.signature),
        **means_of(method.also.result, measures))
    return ProtocolAnswer(protocol.name, protocol.source, chosen, method.files, [
        PartNumbers(part=name, cmc=part.cmc[:length].tolist(),
                    sd=sd_of(part, headline(part, [*HEADLINE, *measures])),
                    intervals=(method.intervals or {}).get(name),
                    trials=[TrialNumbers(**_numbers(trial, measures)) for trial in part.trials],
                    signature=str(part.signature), **vars(more), **_numbers(part, measures))
        for name, part in method.results.items()], [
        MeanNumbers(name=name, parts=list(protocol.means[name]), **as_fields(numbers))
        for name, numbers in means_over_parts(
            method.results, protocol.means, [*HEADLINE, *measures]).items()], also)


def _numbers(result: Result, measures: Sequence[str]) -> dict[str, Any]:
    return {**means_of(result, measures), **_first(result)}


def _first(part: Result) -> dict[str, int]:
    """Return how many images and queries the first trial has."""
    first = next(iter(part.trials), part)
    queries, gallery = first.counts.loaded
    return {"counted": first.counted, "queries": queries, "gallery": gallery}


def as_text(protocol: Protocol, method: Method, measures: Sequence[str], chosen: str) -> str:
    """Return one line per part and one of its sd, then how they were made."""
    results, intervals = method.results, method.intervals or {}
    heads = list(dict.fromkeys(
        name for part in results.values() for name in headline(part, measures)))
    cells, notes = [], list[str]()
    for name, part in results.items():
        cells.append([name, *_cells(headline(part, measures), heads)])
        if part.sd:
            over = f"{len(part.trials)} trials" if part.trials else "one draw"
            cells.append([f"sd of {over}", *_cells(sd_of(part, headline(part, measures)), heads)])
        if name in intervals:
            ends = [confidence.interval_ends(intervals[name].get(head)) for head in heads]
            cells.append(["interval", *ends])
        notes.append("{part}: {counted:,} of {queries:,} queries counted, gallery {gallery:,}"
                     .format(part=name, **_first(part))
                     + (", in the first trial." if len(part.trials) > 1 else "."))
    for name, numbers in means_over_parts(results, protocol.means, measures).items():
        cells.append([name, *_cells(numbers, heads)])
        notes.append(f"{name}: the mean of {', '.join(protocol.means[name])}.")
    if not all(part.trials for part in results.values()):
        notes.append("sd of one draw: how far the number of a single gallery is from the "
                     f"expectation, from {N_DRAWS} galleries drawn by seed 0.")
    also = [] if method.also is None else row(
        "also", f"{method.also.later.words}: {percent(method.also.result.mAP)}, "
        f"--protocol {method.also.later.protocol}")
    notes += [protocol.note] if protocol.note else []
    notes += [confidence.sentence(by_metric) for by_metric in list(intervals.values())[:1]
              if by_metric]
    text = [*row("protocol", ": ".join(filter(None, (protocol.name, protocol.source)))),
            *row("input", ": ".join(filter(None, (filenames(method.files), method.read_as)))),
            *(row("chosen", chosen) if chosen else []), "",
            *lines(["percent", *heads], cells, indent=16), "", *also,
            *(line for note in notes for line in row("note", note))]
    return "\n".join([*text, *signature_lines(
        {name: str(part.signature) for name, part in results.items()})])


def _cells(numbers: Mapping[str, float], heads: Sequence[str]) -> list[str]:
    return [percent(numbers.get(head, float("nan"))) for head in heads]
