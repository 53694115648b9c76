"""What compare takes: result files, ranked lists, saved results."""
from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any, NamedTuple

from reid_ref.arrays import InputError, each_warning_once
from reid_ref.console import confidence, files as ranked_lists, options as common, protocols
from reid_ref.console.answers import FORMATS
from reid_ref.console.files import names_of_results
from reid_ref.console.given import check_saved, given_of_one
from reid_ref.console.request import Request
from reid_ref.console.terminal import phase
from reid_ref.disk import is_json
from reid_ref.measures import measure_names
from reid_ref.result import Result
from reid_ref.result.systems import METRICS
from reid_ref.statistics.units import RESAMPLES

FILES = ("Files: result files that hold everything, as reid-ref evaluate reads them; ranked "
         "lists, with --labels; or .json files that reid-ref evaluate --save wrote, which need "
         "no features.")


def add(command: argparse.ArgumentParser) -> None:
    """Take the options of evaluation and of intervals."""
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
                         help=f"{measure_names()}, k a number (default: {','.join(METRICS)})")


def measures_of(request: Request) -> list[str]:
    """Return the names of --measure, all of which are known."""
    if request.metric is not None:
        raise InputError("--metric", "--measure for the numbers to print, such as --measure "
                         "mAP,Rank-1", f"--metric {request.metric}, which elsewhere is the "
                         "distance between features", "there is no choice of distances here")
    return common.named(request)


def metrics_and_options(request: Request) -> tuple[list[str], dict[str, Any]]:
    """Return the metrics and the options of intervals; refuse what does not go together."""
    if len(request.files) < 2:
        raise InputError("FILE", "at least 2", len(request.files), "reid-ref evaluate shows one")
    metrics = measures_of(request)
    return metrics, confidence.read_options(request)


class Read(NamedTuple):
    """A result, and the file that it is from."""

    file: str
    result: Result


def read_systems(request: Request) -> dict[str, list[Read]]:
    """Read the files of every system; evaluate those that are no saved results."""
    systems = files_of_systems(request)
    protocol = protocols.check_part(request)
    every = [given_of_one(request, name, [file], False, protocol)
             for name, files in systems.items() for file in files]
    check_saved(request, every)
    convention = common.one_convention(request, ", since systems are compared under one")
    results: dict[str, list[Read]] = {name: [] for name in systems}
    with each_warning_once():  # seeds of one system have the same labels
        for given in every:
            with given.opened():
                lists = common.read_lists(request, [convention])
                result, = given.results(common.how(request, [convention], lists)).values()
                results[given.name].append(Read(given.files[0], result))
    phase(f"tests and intervals from {request.resamples or RESAMPLES:,} resamples")
    return results


def files_of_systems(request: Request) -> dict[str, list[str]]:
    """Return the files of each system by its name; a name that comes twice has a number."""
    named = [_named(text) for text in request.files]
    _check_seeds(named)
    if request.names is not None:
        names = names_of_results(request.names, [[Path(text)] for text in request.files])
    else:
        # Only a file that is named twice can have the name of another.
        alone = list(dict.fromkeys(files[0] for name, files in named if not name))
        by_file = dict(zip(alone, names_of_results(None, [[Path(file)] for file in alone])))
        names = [name or by_file[files[0]] for name, files in named]
    return {f"{name} ({names[:k].count(name) + 1})" if name in names[:k] else name: files
            for k, (name, (_, files)) in enumerate(zip(names, named))}


def are_named(request: Request) -> bool:
    """Return whether an argument is NAME=FILE[,FILE...]."""
    return any(_named(text)[0] and not Path(text).is_dir() for text in request.files)


def _named(text: str) -> tuple[str, list[str]]:
    """Return the name and the files of a system; no name of a single file."""
    path = Path(text)
    if path.is_dir() and (files := sorted(filter(is_json, map(str, path.iterdir())))):
        return path.resolve().name, files
    name, equals, files_of_name = text.partition("=")
    if path.exists() or (not equals and "," not in text):
        return "", [text]
    files = files_of_name.split(",")
    if not (name and equals) or "" in files:
        raise InputError(text, "NAME=FILE[,FILE...]")
    return name, files


def _check_seeds(named: list[tuple[str, list[str]]]) -> None:
    """Refuse a file that is named twice for one system."""
    for name, files in named:
        paths = list(map(os.path.realpath, files))
        for k, file in enumerate(files):
            if paths[k] in paths[:k]:
                raise same_seed(name, file)


def same_seed(name: str, file: str) -> InputError:
    """Return the error of a file that is named twice."""
    return InputError(name, "a file of its own for each seed", f"{file} twice",
                      "leave it out once")
