"""What a command line requests, as one frozen value, and the table of the options that set it.

argparse, `--help-all`, the names of options in messages and the refusals are made from the fields.
"""
import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, TypeVar

from reid_ref.arrays import InputError
from reid_ref.console.answers import add_format
from reid_ref.datasets.pooling import POOLINGS
from reid_ref.measures import measure_names
from reid_ref.text.numbers import decimals, numbers, real, whole

Own = TypeVar("Own", bound="Request")
METHODS = ("bootstrap-t", "analytic")


#: What a command line can amount to that some options do not go with.
SAVED, SEVERAL, CONVENTIONS = "saved results", "several results", "several conventions"
BOXES, NO_BOXES, TRIALS = "a person search", "no person search", "several trials"
LISTS, NO_LISTS, NO_FILES = "ranked lists", "no ranked lists", "figures without a file"
#: Why two options do not go together.
_BRINGS = {"--protocol": "which brings what is counted, and ranks a selection of the images"}
#: What has intervals.
_SURE = ("--confidence", "--mean")
#: Limits of options that are about one result under one convention.
OF_ONE: dict[str, Any] = {
    "without": {"--mean": "which is of several results"}, "not_of": (SEVERAL, CONVENTIONS)}


def option(flag: str, default: Any = None, *, short: str = "", more: bool = False,
           needs: tuple[str, ...] = (), without: Mapping[str, str] = MappingProxyType({}),
           not_of: tuple[str, ...] = (),
           only: Mapping[str, tuple[str, ...]] = MappingProxyType({}), **how: Any) -> Any:
    """Return a field that an option sets.

    Parameters
    ----------
    flag, default
    short : str
        A second flag.
    more : bool
        `--help` leaves it out, and `--help-all` shows it.
    needs : tuple of str
        Options of which one must be given with it, as far as the command takes them.
    without : mapping of str to str
        Options that must not be given with it, and why.
    not_of : tuple of str
        Circumstances that it does not go with, such as SAVED.
    only : mapping of str to tuple of str
        Values of other fields, such as `format`, with which alone it may be given.
    how
        As argparse takes it.
    """
    return field(default=default, metadata={
        "flag": flag, "flags": [short, flag] if short else [flag], "more": more, "needs": needs,
        "without": without, "not_of": not_of, "only": only, "how": how})


def narrowed(flag: str, **limits: Any) -> Any:
    """Return the field of an option that commands share, with the limits of one command."""
    shared = Request.table()[flag]
    return field(default=shared.default, metadata={**shared.metadata, **limits})


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options that commands share; None is not given.

    A command with further options has a class of its own, with a field for each.
    """

    files: list[str] = field(default_factory=list)
    format: str = "table"
    map: list[str] = option(
        "--map", (), not_of=(SAVED, NO_FILES, BOXES, LISTS), action="append",
        metavar="ROLE=NAME[,...]",
        help="the role of each array: query_features=A,gallery_features=B (docs/files.md)")
    convention: list[str] | None = option(
        "--convention", not_of=(SAVED, NO_FILES), without=_BRINGS, action="append", metavar="NAME",
        help="one that `reid-ref conventions` lists (default: matlab)")
    choices: list[str] = option(
        "--set", (), not_of=(SAVED, NO_FILES), without=_BRINGS, action="append",
        metavar="KEY=VALUE",
        help="change choices, e.g. ap=step,top_k=100 (keys: `reid-ref conventions NAME --json`)")
    metric: str | None = option(
        "--metric", not_of=(SAVED, LISTS), metavar="NAME",
        help="euclidean, cosine or dot (default: that of the convention; matlab: euclidean)")
    normalize: bool | None = option(
        "--normalize", not_of=(SAVED, LISTS), action=argparse.BooleanOptionalAction,
        help="L2-normalise features, or use them as they are (default: as the convention)")
    pool: str | None = option(
        "--pool", not_of=(SAVED, LISTS), more=True, choices=list(POOLINGS),
        help="rows are frames: pool each tracklet (query_tracklet, gallery_tracklet)")
    index_lists: list[str] | None = option(
        "--index-lists", not_of=(SAVED,), without=_BRINGS, more=True, nargs=2,
        metavar=("GOOD", "JUNK"),
        help="good and junk images of each query, for veri and oxford: a line each, from 1")
    max_memory: str | None = option(
        "--max-memory", not_of=(NO_FILES,), more=True, metavar="SIZE",
        help="memory to work in besides the file's arrays, e.g. 512M; results are identical")
    threads: int | None = option(
        "--threads", more=True, metavar="N", type=whole,
        help="threads (default: the cores that it may use); results are identical")
    names: list[str] | None = option(
        "--name", action="append", metavar="NAME[,NAME]",
        help="names of the results, in order (default: of their files, or of their folders)")
    measure: str | None = option(
        "--measure", metavar="NAME[,NAME]",
        help=f"print these numbers instead of the usual ones: {measure_names()}, k a number")
    ranks: list[int] | None = option(
        "--ranks", without={"--measure": "which names each Rank-k"}, more=True, metavar="K[,K]",
        type=numbers, help="which Rank-k tables and rows show (default: 1,5,10,20)")
    cmc: str | None = option(
        "--cmc", without={"--mean": "which has no curve"}, only={"format": ("json",)}, more=True,
        metavar="RANKS", help="ranks of the CMC curve in JSON: a number, or all; default 50")
    labels: list[str] | None = option(
        "--labels", not_of=(BOXES,), more=True, nargs="+", metavar="FILE",
        help="where the labels are: the folder of the data set, a table such as metadata.csv, or "
             "files that `reid-ref doctor` reads; of ranked lists: a table for each side")
    numbers_from: int | None = option(
        "--numbers-from", not_of=(NO_LISTS,), needs=("--labels",), more=True, type=whole,
        choices=(0, 1),
        help="number of the first gallery image in the lists (default: 1; of .json, .npy 0)")
    n_good: str | None = option(
        "--n-good", not_of=(NO_LISTS,), needs=("--labels",), more=True, metavar="FILE",
        help="with --labels: how many good images exist for each query, if the gallery lacks some")
    protocol: str | None = option(
        "--protocol", not_of=(SAVED, SEVERAL), metavar="NAME",
        help="evaluate a benchmark as its code does: a name (`reid-ref protocols`), or a .toml")
    part: str | None = option(
        "--part", needs=("--protocol",), more=True, metavar="NAME",
        help="one part of the protocol (default: all)")
    trials: str | None = option(
        "--trials", not_of=(BOXES, TRIALS), needs=("--protocol",), more=True, metavar="FILE",
        help="the rows of each trial: rand_perm_cam.mat of SYSU-MM01, .npz or .json")
    shots: int | None = option(
        "--shots", not_of=(BOXES,), needs=("--protocol",), more=True, type=whole, metavar="N",
        help="images of each identity and camera in the gallery: 1 or 10 for SYSU-MM01")
    min_score: list[float] | None = option(
        "--min-score", not_of=(NO_BOXES,), needs=("--protocol",), more=True, type=decimals,
        metavar="S[,S]",
        help="person search: the least score of a detection, a row for each (default: 0.5)")
    boxes_per_image: list[float] | None = option(
        "--boxes-per-image", not_of=(NO_BOXES,), needs=("--protocol",), more=True, type=decimals,
        metavar="N[,N]",
        help="person search: keep this many detections of each image, a row for each")
    images: str | None = option(
        "--images", not_of=(SAVED,), without=_BRINGS, metavar="ROOT",
        help="folder of the images: names are those in the file, else those in its folders, in "
             "sorted order or in that of torchvision's ImageFolder")
    query_names: str | None = option(
        "--query-names", needs=("--images",), metavar="FILE",
        help="names of the query images below ROOT, one per line, in the order of the features")
    gallery_names: str | None = option(
        "--gallery-names", needs=("--images",), metavar="FILE",
        help="names of the gallery images below ROOT, one per line, in the order of the features")
    confidence: bool = option(
        "--confidence", False, action="store_true",
        help="also confidence intervals and standard errors, which allow for the identities")
    level: float | None = option(
        "--level", needs=_SURE, more=True, type=real, metavar="PERCENT",
        help="confidence level of the intervals (default: 95)")
    unit: str | None = option(
        "--unit", needs=_SURE, more=True, metavar="UNIT",
        help="what is independent: identity (default), query, or a file with a group per query")
    resamples: int | None = option(
        "--resamples", needs=_SURE, more=True, type=whole, metavar="N",
        help="number of resamples (default: 10000)")
    seed: int | None = option(
        "--seed", needs=_SURE, more=True, type=whole, metavar="N",
        help="seed of the resamples (default: 12345)")
    confidence_method: str | None = option(
        "--confidence-method", needs=_SURE, more=True, choices=METHODS,
        help="bootstrap-t (default), or analytic: without random numbers")

    @classmethod
    def of(cls: type[Own], parsed: object) -> Own:
        """Return the request of a command line; refuse options that do not go together."""
        request = cls(**{each.name: getattr(parsed, each.name) for each in fields(cls)
                         if hasattr(parsed, each.name)})
        table = cls.table()
        for given in request.given(*table):
            flag = given.replace("--no-", "--")
            needs = [each for each in table[flag].metadata["needs"]
                     if each in table and hasattr(parsed, table[each].name)]
            if needs and not request.given(*needs):
                raise InputError(given, f"{' or '.join(needs)} with it", "none",
                                 "add it, or leave it out")
            for other, why in table[flag].metadata["without"].items():
                if request.given(other):
                    raise InputError(given, got=f"does not go with {other}, {why}",
                                     remedy="leave one of them out")
            for name, values in table[flag].metadata["only"].items():
                if (value := getattr(request, name)) not in values:
                    raise InputError(given, f"the {name} {' or '.join(values)}", value,
                                     f"change the {name}, or leave it out")
        return request

    @classmethod
    def table(cls) -> dict[str, Any]:
        """Return the field of each option, by its flag."""
        return {each.metadata["flag"]: each for each in fields(cls) if "flag" in each.metadata}

    @classmethod
    def add(cls, command: Any, *flags: str, formats: Iterable[str] = (),
            conventions: str = "") -> None:
        """Let a command take these options, and --format and --json if there are formats.

        `conventions`: the default of --convention, if it takes several names.
        """
        table = cls.table()
        for flag in flags:
            how = dict(table[flag].metadata["how"])
            if flag == "--convention" and conventions:
                how |= {"metavar": "NAME[,NAME]", "help": (
                    "one or more that `reid-ref conventions` lists, or all: every one that "
                    f"applies (default: {conventions})")}
            default = table[flag].default
            action = command.add_argument(
                *table[flag].metadata["flags"], dest=table[flag].name,
                default=list(default) if default == () else default, **how)
            if how.get("action") is argparse.BooleanOptionalAction:
                action.default = None  # given at once, some Pythons would print it in the help
        if formats:
            add_format(command, formats)

    def given(self, *flags: str) -> list[str]:
        """Return which options are given: a value that is not None, False or empty."""
        table, names = self.table(), []
        for flag in flags:
            value = getattr(self, table[flag].name) if flag in table else None
            if value is False and table[flag].metadata["how"].get(
                    "action") is argparse.BooleanOptionalAction:
                names.append(flag.replace("--", "--no-", 1))
            elif not (value is None or value is False or value in ([], ())):  # 0 is given
                names.append(flag)
        return names

    def check(self, circumstance: str, expected: str, got: str, remedy: str = "leave it out",
              ) -> None:
        """Refuse the options that do not go with a circumstance, such as SAVED."""
        if names := self.unfit(circumstance):
            raise InputError(", ".join(names), expected, got, remedy)

    def unfit(self, circumstance: str) -> list[str]:
        """Return which given options do not go with a circumstance."""
        return self.given(*(flag for flag, each in self.table().items()
                            if circumstance in each.metadata["not_of"]))
