"""What compare, runs and splits take: result files, ranked lists, saved results."""
from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from reid_ref.arrays import InputError
from reid_ref.console import (
    confidence, files as ranked_lists, options as common, protocols)
from reid_ref.console.answers import FORMATS
from reid_ref.console.files import evaluate_file, names_of_results, said_of
from reid_ref.console.request import Request
from reid_ref.console.terminal import phase
from reid_ref.conventions import Convention
from reid_ref.protocols import Protocol
from reid_ref.measures import names
from reid_ref.result import Result
from reid_ref.result.saved import load
from reid_ref.result.systems import METRICS
from reid_ref.statistics.units import RESAMPLES

FILES = ("Files: result files that hold everything, as reid-ref evaluate reads them; ranked "
         "lists, with --labels; or .json files that reid-ref evaluate --save wrote, which need "
         "no features.")


def add(command: argparse.ArgumentParser) -> None:
    """Take what says how files are evaluated, and how intervals are made."""
    command.epilog = " ".join(filter(None, (FILES, command.epilog)))
    add_metrics(command)
    Request.add(command, "--convention", "--set", "--normalize", "--index-lists", "--max-memory",
                "--threads", "--name", formats=FORMATS)
    protocols.add(command)
    ranked_lists.add(command)
    confidence.add_options(command)


def add_metrics(command: argparse.ArgumentParser) -> None:
    # Of distances; there is the usual one alone.
    command.add_argument("--metric", metavar="NAME", help=argparse.SUPPRESS)
    command.add_argument("--measure", metavar="NAME[,NAME]", default=",".join(METRICS),
                         help=f"{names()}, k a number (default: {','.join(METRICS)})")


def measures_of(request: Request) -> list[str]:
    """Return the names of --measure, all of which are known."""
    if request.metric is not None:
        raise InputError("--metric", "--measure for the numbers to print, such as --measure "
                         "mAP,Rank-1", f"--metric {request.metric}, which elsewhere is the "
                         "distance between features", "there is no choice of distances here")
    return common.named(request)


def check(request: Request) -> tuple[list[str], dict[str, Any]]:
    """Return the metrics and the options of intervals; refuse what does not go together."""
    if len(request.files) < 2:
        raise InputError("FILE", "at least 2", len(request.files), "reid-ref evaluate shows one")
    metrics = measures_of(request)
    ranked_lists.check(request, *common.OF_FEATURES, "--map")
    return metrics, confidence.read_options(request)


class Read(NamedTuple):
    """A result, and the file that it is from."""

    file: str
    result: Result


def read(request: Request) -> dict[str, list[Read]]:
    """Read the files of every system; evaluate those that are no saved results."""
    systems = _files(request)
    saved = {file: is_saved(request, [file]) for files in systems.values() for file in files}
    if all(saved.values()):
        check_not_evaluated(request)
    protocol = protocols.check_part(request)
    convention = common.one_convention(request, ", since systems are compared under one")
    results: dict[str, list[Read]] = {name: [] for name in systems}
    for name, files in systems.items():
        for file in files:
            with said_of(name, [file]):
                results[name].append(Read(file, load(file) if saved[file] else _evaluated(
                    request, file, convention, protocol)))
    phase(f"tests and intervals from {request.resamples or RESAMPLES:,} resamples")
    return results


def _files(request: Request) -> dict[str, list[str]]:
    """Return the files of each system by its name; a name that comes twice has a number."""
    named = [_named(text) for text in request.files]
    if request.names is not None:
        names = names_of_results(request.names, [[Path(text)] for text in request.files])
    else:
        # Only a file that is named twice can have the name of another.
        alone = list(dict.fromkeys(files[0] for name, files in named if not name))
        by_file = dict(zip(alone, names_of_results(None, [[Path(file)] for file in alone])))
        names = [name or by_file[files[0]] for name, files in named]
    return {f"{name} ({names[:k].count(name) + 1})" if name in names[:k] else name: files
            for k, (name, (_, files)) in enumerate(zip(names, named))}


def _named(text: str) -> tuple[str, list[str]]:
    """Return the name and the files of a system; no name of a single file."""
    path = Path(text)
    if path.is_dir() and (files := sorted(map(str, path.glob("*.json")))):
        return path.resolve().name, files
    name, equals, files_of_name = text.partition("=")
    if not equals or path.exists():
        return "", [text]
    if not name or not files_of_name:
        raise InputError(text, "NAME=FILE[,FILE...]")
    return name, files_of_name.split(",")


def check_not_evaluated(request: Request) -> None:
    """Refuse options of an evaluation, where every file holds what an evaluation gave."""
    request.refuse(("--convention", "--set", "--metric", "--normalize", "--index-lists", "--map",
                    "--protocol"),
                   "features or distances", "values of each query, which are evaluated already; "
                   "name the result file")


def of_each(request: Request, groups: Sequence[Sequence[Path]],
            work: Callable[[str, list[str], Mapping[str, Result] | None], Any],
            protocol: Protocol | None = None, later: bool = False) -> list[Any]:
    """Return what `work` makes of each result: of its name, its files, and the result that is
    saved in them, by its convention, or those that a protocol makes of them, by part.

    `later` is that of `protocols.evaluated`. Of several results, warnings and errors say which
    one they are about.
    """
    answers = []
    for name, paths in zip(names_of_results(request.names, groups), groups):
        files = list(map(str, paths))
        made: Mapping[str, Result] | None = None
        with said_of(name, files) if len(groups) > 1 or request.names else nullcontext():
            if is_saved(request, files):
                result = load(files[0])
                made = {result.convention.name: result}
            elif protocol is not None:
                made = protocols.evaluated(request, protocol, files, later=later)
            answers.append(work(name, files, made))
    return answers


def is_saved(request: Request, files: Sequence[str]) -> bool:
    """Return whether all files are saved results, by their names; ranked lists are not."""
    return not request.labels and not protocols.takes_boxes(request) and all(
        Path(file).suffix.lower() == ".json" for file in files)


def _evaluated(request: Request, file: str, convention: Convention,
               protocol: Protocol | None) -> Result:
    results: Mapping[str, Result]
    if protocol is not None:
        results = protocols.evaluated(request, protocol, [file])
    else:
        data, lists = ranked_lists.read(request, [file]), common.read_lists(request, [convention])
        results = evaluate_file(request, data, [convention], lists)
    result, = results.values()
    return result
