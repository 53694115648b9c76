"""What a command is given: files, ranked lists, saved results, parts of a protocol."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path

from reid_ref.console import files as console_files, protocols
from reid_ref.console.request import Request
from reid_ref.conventions import Convention
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import IndexLists
from reid_ref.protocols import Protocol
from reid_ref.result import Result
from reid_ref.result.saved import load


class Given:
    """One result: files that hold all of it, or ranked lists with their labels.

    Parameters
    ----------
    request : Request
    name : str
    files : list of str
    alone : bool
        Warnings and errors do not name it, for there is no other one.
    """

    #: Whether it has features, distances or ranked lists, which `data` holds.
    has_data = True

    def __init__(self, request: Request, name: str, files: list[str], alone: bool) -> None:
        self.request, self.name, self.files, self.alone = request, name, files, alone

    def told(self) -> AbstractContextManager[None]:
        """Let warnings and errors within name the result, if it is one of several."""
        return nullcontext() if self.alone else console_files.naming_errors(self.name, self.files)

    @cached_property
    def data(self) -> ResultFile:
        """What the files hold; an error of the file that holds no arrays."""
        return console_files.read_input(self.request, self.files)

    def results(self, conventions: list[Convention],
                lists: IndexLists | None = None) -> Mapping[str, Result]:
        """Return the result under each convention, by its name."""
        return console_files.evaluate_file(self.request, self.data, conventions, lists)


class SavedGiven(Given):
    """A saved result, which has the convention that it was made by."""

    has_data = False

    def results(self, conventions: list[Convention],
                lists: IndexLists | None = None) -> Mapping[str, Result]:
        result = load(self.files[0])
        return {result.convention.name: result}


class PartsGiven(Given):
    """The parts of a protocol, by their names; its files are its trials."""

    has_data = False

    def __init__(self, request: Request, name: str, files: list[str], alone: bool,
                 protocol: Protocol, later: bool) -> None:
        super().__init__(request, name, files, alone)
        self.protocol, self.later = protocol, later

    def results(self, conventions: list[Convention],
                lists: IndexLists | None = None) -> Mapping[str, Result]:
        return protocols.results_by_part(self.request, self.protocol, self.files, later=self.later)


def opened(request: Request, groups: Sequence[Sequence[Path]], protocol: Protocol | None = None,
           later: bool = False) -> Iterator[Given]:
    """Yield each result of these files, so that one at a time is in memory.

    `later` is that of `protocols.evaluated`.
    """
    names = console_files.names_of_results(request.names, groups)
    alone = len(groups) == 1 and not request.names
    for name, paths in zip(names, groups):
        yield open_one(request, name, list(map(str, paths)), alone, protocol, later)


def open_one(request: Request, name: str, files: list[str], alone: bool,
             protocol: Protocol | None, later: bool = False) -> Given:
    """Return a result of files."""
    if is_saved(request, files):
        return SavedGiven(request, name, files, alone)
    if protocol is not None:
        return PartsGiven(request, name, files, alone, protocol, later)
    return Given(request, name, files, alone)


def is_saved(request: Request, files: Sequence[str]) -> bool:
    """Return whether all files are saved results, by their names; ranked lists are not."""
    return not request.labels and not protocols.takes_boxes(request) and all(
        Path(file).suffix.lower() == ".json" for file in files)


def check_not_evaluated(request: Request) -> None:
    """Refuse options of an evaluation, if every file holds what an evaluation gave."""
    request.refuse(("--convention", "--set", "--metric", "--normalize", "--index-lists", "--map",
                    "--protocol"),
                   "features or distances", "values of each query, which are evaluated already; "
                   "name the result file")
