"""What a command line requests, as one frozen value, and the table of the options that set it.

argparse, `--help-all`, the names of options in messages and the refusals are made from the fields.
"""
import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Self

from reid_ref.arrays import InputError
from reid_ref.console.answers import add_format
from reid_ref.console.words import words_of
from reid_ref.datasets.pooling import POOLINGS
from reid_ref.measures import measure_names
from reid_ref.text.numbers import decimals, numbers, real, whole

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
           only: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
           filled: Mapping[str, object] = MappingProxyType({}), **how: Any) -> Any:
    """Return a field that an option sets; its words are in options.toml.

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
    filled : mapping of str to object
        What its words have in braces.
    how
        As argparse takes it.
    """
    return field(default=default, metadata={
        "flag": flag, "flags": [short, flag] if short else [flag], "more": more, "needs": needs,
        "without": without, "not_of": not_of, "only": only, "filled": filled, "how": how})


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
    map: list[str] = option("--map", (), not_of=(SAVED, NO_FILES, BOXES, LISTS), action="append")
    convention: list[str] | None = option(
        "--convention", not_of=(SAVED, NO_FILES), without=_BRINGS, action="append")
    choices: list[str] = option(
        "--set", (), not_of=(SAVED, NO_FILES), without=_BRINGS, action="append")
    metric: str | None = option("--metric", not_of=(SAVED, LISTS))
    normalize: bool | None = option(
        "--normalize", not_of=(SAVED, LISTS), action=argparse.BooleanOptionalAction)
    pool: str | None = option("--pool", not_of=(SAVED, LISTS), more=True, choices=list(POOLINGS))
    index_lists: list[str] | None = option(
        "--index-lists", not_of=(SAVED,), without=_BRINGS, more=True, nargs=2)
    max_memory: str | None = option("--max-memory", not_of=(NO_FILES,), more=True)
    threads: int | None = option("--threads", more=True, type=whole)
    names: list[str] | None = option("--name", action="append")
    measure: str | None = option("--measure", filled={"measures": measure_names()})
    ranks: list[int] | None = option(
        "--ranks", without={"--measure": "which names each Rank-k"}, more=True, type=numbers)
    cmc: str | None = option(
        "--cmc", without={"--mean": "which has no curve"}, only={"format": ("json",)}, more=True)
    labels: list[str] | None = option("--labels", not_of=(BOXES,), more=True, nargs="+")
    numbers_from: int | None = option(
        "--numbers-from", not_of=(NO_LISTS,), needs=("--labels",), more=True, type=whole,
        choices=(0, 1))
    n_good: str | None = option("--n-good", not_of=(NO_LISTS,), needs=("--labels",), more=True)
    protocol: str | None = option("--protocol", not_of=(SAVED, SEVERAL))
    part: str | None = option("--part", needs=("--protocol",), more=True)
    trials: str | None = option(
        "--trials", not_of=(BOXES, TRIALS), needs=("--protocol",), more=True)
    shots: int | None = option(
        "--shots", not_of=(BOXES,), needs=("--protocol",), more=True, type=whole)
    min_score: list[float] | None = option(
        "--min-score", not_of=(NO_BOXES,), needs=("--protocol",), more=True, type=decimals)
    boxes_per_image: list[float] | None = option(
        "--boxes-per-image", not_of=(NO_BOXES,), needs=("--protocol",), more=True, type=decimals)
    images: str | None = option("--images", not_of=(SAVED,), without=_BRINGS)
    query_names: str | None = option("--query-names", needs=("--images",))
    gallery_names: str | None = option("--gallery-names", needs=("--images",))
    confidence: bool = option("--confidence", False, action="store_true")
    level: float | None = option("--level", needs=_SURE, more=True, type=real)
    unit: str | None = option("--unit", needs=_SURE, more=True)
    resamples: int | None = option("--resamples", needs=_SURE, more=True, type=whole)
    seed: int | None = option("--seed", needs=_SURE, more=True, type=whole)
    confidence_method: str | None = option(
        "--confidence-method", needs=_SURE, more=True, choices=METHODS)

    @classmethod
    def of(cls, parsed: object) -> Self:
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
        table, several = cls.table(), ["several conventions"] if conventions else []
        own = [each.__module__.split(".")[2].replace("_", "-") for each in cls.__mro__[:-2]]
        for flag in flags:
            how, default = table[flag].metadata["how"], table[flag].default
            action = command.add_argument(
                *table[flag].metadata["flags"], dest=table[flag].name,
                default=list(default) if default == () else default, **how,
                **words_of(flag, *several, *own, **table[flag].metadata["filled"],
                           conventions=conventions))
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
