"""A benchmark by its name on the command line: the options, and the results of its parts."""
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reid_ref.arrays import InputError, NormWarning, UnreadWarning, check_count, warn
from reid_ref.console import files as ranked_lists, options as common
from reid_ref.console.protocol_names import protocol_or_file
from reid_ref.console.request import BOXES, NO_BOXES, TRIALS, Request
from reid_ref.console.terminal import OPTIONS
from reid_ref.conventions import Convention
from reid_ref.datasets.benchmarks import BENCHMARKS
from reid_ref.disk import tables_of
from reid_ref.evaluation.norms import normalised_already
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import Labels
from reid_ref.protocols import (
    Protocol, average_trials, evaluate_person_search, evaluate_ranked, find_protocol, read_boxes,
    read_trials)
from reid_ref.protocols.evaluation import first_trial
from reid_ref.protocols.records import gives, protocols_of
from reid_ref.protocols.result import ProtocolResult
from reid_ref.protocols.trials import ONE_OF_SEVERAL, check_averaged
from reid_ref.protocols.words import choices_of
from reid_ref.result import Result

#: Columns that no convention counts by, and what that means.
NOT_COUNTED: dict[str, str] = tables_of("console/not_counted.toml")


def warn_of_columns(query: Labels, gallery: Labels, pooled: bool = False) -> None:
    """Warn of columns of both sides that no convention counts by."""
    unused = query.columns().keys() & gallery.columns().keys() & NOT_COUNTED.keys()
    for column in sorted(unused - {"video" if pooled else ""}):
        warn(f"{column}: not used, {NOT_COUNTED[column]}", UnreadWarning)


#: The name of a protocol, and what belongs to it.
OF_PROTOCOLS = ("--protocol", "--part", "--trials", "--shots", "--min-score", "--boxes-per-image")


def hint(query: Labels, gallery: Labels, result: Result | None = None) -> str:
    """Return which protocols have these counts, and the option; empty if none has.

    Empty also if `result` has the number of the first of them.
    """
    records = list(map(find_protocol, protocols_of(query, gallery)))
    if not records or result is not None and gives(records[0], result):
        return ""
    later = [record.later for record in records if record.later]
    options = " or ".join(f"--protocol {record.name}{option_of_trials(record)}"
                          for record in records
                          if record.name not in [each.protocol for each in later])
    names = dict.fromkeys(BENCHMARKS[record.benchmark].name for record in records)
    return (f"the counts are those of {' or '.join(names)}: {options} evaluates it as its code "
            "does" + "".join(f"; {each.words}: --protocol {each.protocol}" for each in later))


def chosen(protocol: Protocol, request: Request | None = None, measured: bool = True) -> str:
    """Return what a protocol chooses if no option does, each with its options.

    `measured`: whether distances are measured between features.
    """
    choices = [(choice.words, choice.arguments) for choice in choices_of(protocol)
               if not any(getattr(request, name, None) is not None for name in choice.arguments)
               and (measured or "metric" not in choice.arguments)]
    return "; ".join(words + (f" ({', '.join(OPTIONS[name] for name in arguments)})"
                              if arguments else "") for words, arguments in choices)


def option_of_trials(protocol: Protocol) -> str:
    """Return the option that a command needs, if it needs one."""
    return f" --trials {name}" if (name := protocol.file_of_trials) else ""


def requested_protocol(request: Request) -> Protocol | None:
    """Return the protocol that is named, if one is, and what it needs is given."""
    if request.protocol is None:
        return None
    protocol = protocol_or_file(request.protocol, "--protocol")
    if protocol.file_of_trials and request.trials is None:
        raise InputError("--trials", f"{protocol.file_of_trials}, which comes with the data set",
                         "none", f"see reid-ref protocols {protocol.name}")
    return protocol


def check_part(request: Request) -> Protocol | None:
    """As `requested_protocol`, if a single part is meant."""
    protocol = requested_protocol(request)
    if protocol is not None and request.part is None and len(protocol.parts) > 1:
        raise InputError("--part", f"one of {', '.join(part.name for part in protocol.parts)}, "
                         f"the parts of {protocol.name}", "none",
                         f"say --part {protocol.parts[0].name}")
    return protocol


def selected(request: Request, protocol: Protocol,
             data: ResultFile) -> tuple[ResultFile, Convention]:
    """Return what one part of a protocol ranks in its first trial, and how it is evaluated."""
    if protocol.boxes is not None:
        raise InputError("--protocol", "a protocol of images", f"{protocol.name}, of boxes")
    shots = request.shots or protocol.shots[0]
    trials = request.trials and read_trials(request.trials, data.gallery, shots)
    part = protocol.part(request.part) if request.part else protocol.parts[0]
    ranked, query, gallery = first_trial(
        protocol, part, data.input, data.query, data.gallery, trials or None, shots)
    nothing = {"query_features": None, "gallery_features": None}
    return (replace(data, query=query, gallery=gallery, **{**nothing, **ranked.in_file()}),
            protocol.convention_of(part))


def results_by_part(request: Request, protocol: Protocol, files: Sequence[str],
                    later: bool = False) -> ProtocolResult:
    """Return the results of the protocol's parts, or of the one that is named.

    Several results are the trials of one. `later`: see `evaluate_ranked`.
    """
    if protocol.boxes is not None:
        return _searched(request, protocol, files)
    request.check(NO_BOXES, "a protocol of person search", protocol.name)
    groups = ranked_lists.files_per_result(request, files)
    if len(groups) == 1:
        return _of_files(request, protocol, list(map(str, groups[0])), None, later)
    check_averaged(protocol, "FILE", len(groups))
    request.check(TRIALS, "one result", f"{len(groups)}, each a trial of its own")
    results = []
    for paths in groups:
        with ranked_lists.naming_errors(str(paths[0]), list(map(str, paths))):
            results.append(_of_files(request, protocol, list(map(str, paths)), ONE_OF_SEVERAL))
    return average_trials(protocol, results)


def _of_files(request: Request, protocol: Protocol, files: list[str], trials: Any,
              later: bool = False) -> ProtocolResult:
    data = ranked_lists.read_input(request, files)
    if sentence := normalised_already(data, common.how(request, [protocol.convention])):
        warn(sentence, NormWarning)
    shots = request.shots if request.shots is None else check_count(request.shots, "--shots")
    if request.trials is not None:
        trials = read_trials(request.trials, data.gallery, shots or protocol.shots[0])
    result = evaluate_ranked(protocol, data.input, data.query, data.gallery,
                             common.how(request, ()), part=request.part, trials=trials,
                             shots=shots, later=later)
    return ProtocolResult({name: common.signed(request, part) for name, part in result.items()},
                          result.also, protocol.means, data.layout)


def _searched(request: Request, protocol: Protocol, files: Sequence[str]) -> ProtocolResult:
    request.check(BOXES, "another protocol", f"{protocol.name}, of person search")
    common.check_metric(request)
    if len(files) > 1:
        raise InputError("FILE", "one file of boxes", len(files))
    return evaluate_person_search(
        protocol, read_boxes(files[0]), part=request.part, min_score=request.min_score,
        boxes_per_image=request.boxes_per_image, metric=request.metric,
        normalize=request.normalize, max_memory=common.max_memory(request))
