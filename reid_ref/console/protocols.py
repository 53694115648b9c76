"""A benchmark by its name on the command line: options, evaluation, tables and JSON."""
from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reid_ref.arrays import InputError, each_warning_once
from reid_ref.arrays.errors import check_count
from reid_ref.console import confidence, files as ranked_lists, options as common
from reid_ref.console.systems import is_saved, show_answer
from reid_ref.protocols import (
    Protocol, ProtocolResult, evaluate_person_search, evaluate_ranked, find_protocol, read_boxes,
    read_protocol, read_trials)
from reid_ref.protocols.record import Given
from reid_ref.protocols.result import PartResult
from reid_ref.result import Ranks, ranks_of
from reid_ref.statistics import Interval
from reid_ref.text import names, percent, row, signature_lines
from reid_ref.text.plain import Share
from reid_ref.text.table import Table, as_csv, lines


@dataclass(frozen=True, kw_only=True)
class TrialNumbers(Ranks):
    """The numbers of one trial."""

    mAP: Share
    mINP: Share
    counted: int
    queries: int
    gallery: int


@dataclass(frozen=True, kw_only=True)
class PartNumbers(TrialNumbers):
    """The means of a part over its trials; no trials where they are an expectation."""

    part: str
    cmc: list[Share]
    sd: dict[str, float]
    intervals: dict[str, Interval] | None
    trials: list[TrialNumbers]
    signature: str


@dataclass(frozen=True)
class ProtocolAnswer:
    """A benchmark's numbers by part."""

    protocol: str
    source: str
    files: list[str]
    parts: list[PartNumbers]


def add(command: Any) -> None:
    """Take the name of a protocol, and what belongs to it."""
    command.add_argument("--protocol", metavar="NAME",
                         help="evaluate a benchmark as its own code does, with its trials; "
                              "`reid-ref protocols` lists the names; or a .toml or .json file")
    command.add_argument("--part", metavar="NAME", help="one part of the protocol (default: all)")
    command.add_argument("--trials", metavar="FILE",
                         help="the rows of each trial: rand_perm_cam.mat of SYSU-MM01, .npz or "
                              ".json")
    command.add_argument("--shots", type=int, metavar="N",
                         help="images of each identity and camera in the gallery: 1 or 10 for "
                              "SYSU-MM01")
    command.add_argument("--min-score", type=common.decimals, metavar="S[,S]",
                         help="person search: keep detections of at least this score, a row for "
                              "each (default: 0.5, of prw-matlab all)")
    command.add_argument("--boxes-per-image", type=common.decimals, metavar="N[,N]",
                         help="person search: keep so many detections, those of the highest "
                              "scores; a row for each")


def named(name: str, argument: str) -> Protocol:
    """Return the protocol of a name, or of a .toml or .json file."""
    if Path(name).suffix.lower() in (".toml", ".json"):
        return read_protocol(name)
    return find_protocol(name, argument)


def refused_without(args: argparse.Namespace) -> None:
    """Refuse what belongs to a protocol where there is none."""
    common.refuse({"--part": args.part, "--trials": args.trials, "--shots": args.shots,
                   **_of_boxes(args)}, "--protocol with it", "none; add it, or leave it out")


def _of_boxes(args: argparse.Namespace) -> dict[str, Any]:
    return {"--min-score": args.min_score, "--boxes-per-image": args.boxes_per_image}


def run(args: argparse.Namespace, not_taken: Mapping[str, Any]) -> int:
    """Evaluate the files by the protocol, and print its parts; `not_taken`: options by name."""
    protocol = named(args.protocol, "--protocol")
    common.refuse(not_taken, "no protocol, which brings what is counted and has several results",
                  f"--protocol {protocol.name}; leave it out")
    if protocol.boxes is None and is_saved(args, args.files):
        raise InputError("FILE", "features or distances, of which a protocol takes its rows",
                         "a saved result")
    if isinstance(protocol.trials, Given) and protocol.trials.file and args.trials is None:
        raise InputError("--trials", f"{protocol.trials.file}, which comes with the data set",
                         "none", f"reid-ref protocols {protocol.name} says more")
    ranks, options = common.ranks(args), confidence.check(args)
    length = common.cmc_length(args)
    result = (_evaluated if protocol.boxes is None else _searched)(args, protocol)
    with each_warning_once():
        intervals = {} if options is None else {
            name: _intervals(part, ranks, options) for name, part in result.items()}
    show_answer(args.format, {
        "json": lambda: ProtocolAnswer(protocol.name, protocol.source, args.files, [
            _numbers(part, length, intervals.get(name)) for name, part in result.items()]),
        "table": lambda: _text(args.files, protocol, result, ranks, intervals),
        "csv": lambda: _csv(result, ranks),
        "paper": lambda: _table(protocol, result, ranks, intervals)})
    return 0


def _searched(args: argparse.Namespace, protocol: Protocol) -> ProtocolResult:
    common.refuse({"--trials": args.trials, "--shots": args.shots, "--labels": args.labels,
                   "--map": args.map}, "another protocol", f"{protocol.name}, of person search; "
                  "leave it out")
    if len(args.files) > 1:
        raise InputError("FILE", "one file of boxes", len(args.files))
    return evaluate_person_search(
        protocol, read_boxes(args.files[0]), part=args.part, min_score=args.min_score,
        boxes_per_image=args.boxes_per_image, metric=args.metric, normalize=args.normalize,
        max_memory=common.max_memory(args))


def _evaluated(args: argparse.Namespace, protocol: Protocol) -> ProtocolResult:
    common.refuse(_of_boxes(args), "a protocol of person search", f"{protocol.name}; leave it out")
    data = (ranked_lists.read(args, args.files[0]) if args.labels
            else common.read_files(args))
    shots = args.shots if args.shots is None else check_count(args.shots, "--shots")
    trials = None if args.trials is None else read_trials(
        args.trials, data.gallery, shots or protocol.shots[0])
    return evaluate_ranked(protocol, data.input, data.query, data.gallery,
                           common.how(args, ()), part=args.part, trials=trials, shots=shots)


def _intervals(part: PartResult, ranks: tuple[int, ...],
               options: dict[str, Any]) -> dict[str, Interval]:
    """Return the intervals of a part's numbers, but for those that have none."""
    has_ranks = part.expected is not None or (
        part.trials[0].convention.curve.of_query is not None)
    return {name: part.interval(name, **options) for name, value in part.headline(ranks).items()
            if value == value and (has_ranks or not name.startswith("Rank-"))}


def _numbers(part: PartResult, length: int | None,
             intervals: dict[str, Interval] | None) -> PartNumbers:
    trials = [TrialNumbers(
        **ranks_of(trial.cmc), mAP=trial.mAP, mINP=trial.mINP, counted=trial.counted,
        queries=trial.counts.query, gallery=trial.counts.gallery) for trial in part.trials]
    return PartNumbers(
        **ranks_of(part.cmc), part=part.name, mAP=part.mAP, mINP=part.mINP,
        counted=part.counted, queries=part.queries, gallery=part.gallery,
        cmc=part.cmc[:length].tolist(), sd=part.sd, intervals=intervals, trials=trials,
        signature=str(part.signature))


def _text(files: list[str], protocol: Protocol, result: ProtocolResult, ranks: tuple[int, ...],
          intervals: Mapping[str, Mapping[str, Interval]]) -> str:
    """Return one line per part and one of its sd, then how they were made."""
    table = _table(protocol, result, ranks, intervals)
    text = [*row("protocol", f"{protocol.name}: {protocol.source}"), *row("input", names(files)),
            "", *lines(table.heads, [list(map(str, cells)) for cells in table.rows], indent=16),
            "", *(line for note in table.notes for line in row("note", note))]
    return "\n".join([*text, *signature_lines(dict(table.signatures))])


def _table(protocol: Protocol, result: ProtocolResult, ranks: tuple[int, ...],
           intervals: Mapping[str, Mapping[str, Interval]]) -> Table:
    heads = list(dict.fromkeys(name for part in result.values() for name in part.headline(ranks)))
    rows = []
    for name, part in result.items():
        values = part.headline(ranks)
        rows.append([name, *(percent(values.get(head, float("nan"))) for head in heads)])
        if part.sd:
            rows.append([f"sd of {len(part.trials)} trials", *(
                percent(part.sd.get(head, float("nan"))) for head in heads)])
        if name in intervals:
            rows.append(["interval", *(
                confidence.ends(intervals[name][head]) if head in intervals[name] else "-"
                for head in heads)])
    notes = [f"{name}: {part.counted:,} of {part.queries:,} queries counted, gallery "
             f"{part.gallery:,}." for name, part in result.items()]
    notes += [protocol.note] if protocol.note else []
    notes += [confidence.sentence(by_metric) for by_metric in list(intervals.values())[:1]
              if by_metric]
    return Table(["percent", *heads], rows, notes,
                 {name: str(part.signature) for name, part in result.items()})


def _csv(result: ProtocolResult, ranks: tuple[int, ...]) -> str:
    heads = list(dict.fromkeys(name for part in result.values() for name in part.headline(ranks)))
    return as_csv(
        ["part", *heads, "counted", "queries", "gallery", "signature"],
        [[name, *map(part.headline(ranks).get, heads), part.counted, part.queries, part.gallery,
          part.signature] for name, part in result.items()])
