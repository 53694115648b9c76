"""What a command is given: files, ranked lists, saved results, parts of a protocol."""
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from reid_ref.arrays import InputError, Integers
from reid_ref.console import files as console_files, protocols
from reid_ref.console.answers import layout_and_sizes
from reid_ref.console.request import SAVED, Request
from reid_ref.console.terminal import print_stderr
from reid_ref.disk import is_json
from reid_ref.evaluation.how import How
from reid_ref.evaluation.rank_lists import nearest_wrong
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.protocols import Protocol
from reid_ref.result import Result
from reid_ref.result.means import Expectation
from reid_ref.result.saved import load


class Image(NamedTuple):
    """A gallery image, by its number from 0; without cameras, `camera` is null."""

    image: int
    identity: int | str
    camera: int | str | None


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

    @contextlib.contextmanager
    def opened(self, errors: list[InputError] | None = None) -> Iterator[None]:
        """Let warnings and errors within name the result, if it is one of several.

        What was read is let go at the end, so that one result at a time is in memory. `errors`: to
        which the error of one of several is added, which is printed, so that others can follow;
        but not that of an option.
        """
        try:
            with (contextlib.nullcontext() if self.alone else
                  console_files.naming_errors(self.name, self.files)):
                yield
        except InputError as error:
            if self.alone or errors is None or error.argument.startswith(f"{self.name}: --"):
                raise
            print_stderr(f"error: {error}")
            errors.append(error)
        self.__dict__.pop("data", None)

    @cached_property
    def data(self) -> ResultFile:
        """What the files hold; an error of the file that holds no arrays."""
        return console_files.read_input(self.request, self.files)

    def data_for(self, option: str, remedy: str = "name the result file") -> ResultFile:
        """Return what the files hold; refuse an option that needs more than was given."""
        return self.data

    def results(self, how: How) -> Mapping[str, Result]:
        """Return the result under each convention, by its name."""
        return console_files.evaluate_file(self.request, self.data, how)

    def layout_and_sizes(self, result: Result) -> tuple[str, str]:
        """Return the layout of what was given, and its sizes, in words."""
        return layout_and_sizes(result, self.data if self.has_data else None)

    def nearest_wrong(self, queries: Integers, how: How) -> list[Image | None]:
        """Return the nearest wrong image of each query; None without one, or without data."""
        gallery = self.data.gallery
        return [None if image is None else Image(
            image, gallery.identity_of(image), gallery.camera_of(image))
            for image in nearest_wrong(self.data, queries, how)]


class _WithoutData(Given):
    """Numbers without what they were made of."""

    has_data = False
    words = ""

    def data_for(self, option: str, remedy: str = "name the result file") -> ResultFile:
        raise InputError(option, "features or distances", self.words, remedy)

    def nearest_wrong(self, queries: Integers, how: How) -> list[Image | None]:
        return [None] * len(queries)


class SavedGiven(_WithoutData):
    """A saved result, which has the convention that it was made by."""

    words = "a saved result"

    def results(self, how: How) -> Mapping[str, Result]:
        result = load(self.files[0])
        return {result.convention.name: result}

    def layout_and_sizes(self, result: Result) -> tuple[str, str]:
        layout, sizes = super().layout_and_sizes(result)
        return layout, "; ".join(filter(None, (sizes, _as_stored(result))))


def _as_stored(result: Result) -> str:
    """Return which numbers of a saved result do not follow from ranks, in words."""
    if isinstance(result, Expectation):
        return "all numbers as stored: no ranks give them"
    curve = result.convention.curve
    if not curve.of_rows:
        return ""
    return f"Rank-k{' beyond Rank-1' * curve.has_values(1)} as stored: no ranks give it"


class PartsGiven(_WithoutData):
    """The parts of a protocol, by their names; its files are its trials."""

    def __init__(self, request: Request, name: str, files: list[str], alone: bool,
                 protocol: Protocol, later: bool) -> None:
        super().__init__(request, name, files, alone)
        self.protocol, self.later = protocol, later
        self.words = f"--protocol {protocol.name}"

    def results(self, how: How) -> Mapping[str, Result]:
        return protocols.results_by_part(self.request, self.protocol, self.files, later=self.later)


def given_of(request: Request, groups: Sequence[Sequence[str | Path]],
             protocol: Protocol | None = None, later: bool = False,
             names: Sequence[str] | None = None) -> list[Given]:
    """Return each result of these files, of which none is read yet; `names`: if not by --name.

    Saved results are told by the names of their files; ranked lists are none. Options of an
    evaluation are refused if every result is a saved one. `later` is that of
    `protocols.results_by_part`.
    """
    alone, every = len(groups) == 1 and not request.names, list[Given]()
    for name, paths in zip(names or console_files.names_of_results(request.names, groups), groups):
        of_one = request, name, list(map(str, paths)), alone
        if not request.labels and (protocol is None or protocol.boxes is None) and all(
                map(is_json, paths)):
            every.append(SavedGiven(*of_one))
        else:
            every.append(Given(*of_one) if protocol is None else
                         PartsGiven(*of_one, protocol, later))
    if all(isinstance(given, SavedGiven) for given in every):
        request.check(SAVED, "features or distances", "a saved result" if len(every) == 1 else
                      "saved results", "name the result file")
    return every


def under_saved(request: Request, how: How, every: Sequence[Given]) -> How:
    """Return how to evaluate beside saved results: by their rule, unless the request names one."""
    saved = [given.files[0] for given in every if isinstance(given, SavedGiven)]
    if len(saved) in (0, len(every)) or request.convention or request.choices or request.protocol:
        return how
    return replace(how, conventions=(load(saved[0]).convention,))
