"""How answers are printed, and what the JSON of several commands has."""
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from reid_ref.arrays import Doubles
from reid_ref.console.terminal import WARNINGS, show, show_plain
from reid_ref.console.words import words_of
from reid_ref.conventions import choice_text
from reid_ref.datasets import Recognised
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.measures import words_of_ends
from reid_ref.result import Result
from reid_ref.result.views import Ranks, as_fields, named_ranks
from reid_ref.text import input_pairs
from reid_ref.text.plain import Share, json_values
from reid_ref.text.table import as_latex, as_markdown, lines

#: The version of every JSON object; it rises when a key is renamed or means another thing.
SCHEMA = 1


def input_of(files: list[str], data: ResultFile) -> list[tuple[str, str]]:
    """Return the first rows of a screen: the input, and its images."""
    n_gallery = len(data.gallery)
    return input_pairs(files, data.layout, len(data.query), n_gallery, data.input.words(n_gallery))


def add_json(command: Any, words: str = "without --format") -> None:
    """Take --json; `words`: the section that has its help, if there is no --format."""
    command.add_argument("--json", dest="format", action="store_const", const="json",
                         default="table", **words_of("--json", words))


def _as_json(answer: Any) -> str:
    """Return one object, with its version and the warnings."""
    values = {"schema": SCHEMA, "warnings": WARNINGS, **json_values(answer)}
    return json.dumps(values, allow_nan=False).replace("\x7f", "\\u007f")


class Format(NamedTuple):
    """A value of --format.

    Parameters
    ----------
    made : str
        What a command makes for it: a "table" or "csv" as text, a "paper" as Table, or "json" as
        dataclass.
    write : function
        Returns what was made as text.
    full : bool
        Numbers have full precision.
    words : str
        What its help adds.
    print : function
    """

    made: str
    write: Callable[[Any], str] = str
    full: bool = False
    words: str = ""
    print: Callable[[str], None] = show


#: By the value of --format.
FORMATS: Mapping[str, Format] = {
    "table": Format("table"),
    "json": Format("json", _as_json, full=True, print=show_plain),
    "csv": Format("csv", full=True),
    "markdown": Format("paper", as_markdown),
    "latex": Format("paper", as_latex, words="a table for the package booktabs")}


def add_format(command: Any, formats: Iterable[str]) -> None:
    """Take --format and --json."""
    full = " and ".join(name for name in formats if FORMATS[name].full)
    words = "".join(f", {name} {FORMATS[name].words}" for name in formats if FORMATS[name].words)
    command.add_argument("--format", choices=tuple(formats), default="table",
                         **words_of("--format", full=full, words=words))
    add_json(command, "shared")


def show_answer(wanted: str, **writers: Callable[[], Any]) -> None:
    """Print an answer in a format; `writers` make what formats are written from."""
    given = FORMATS[wanted]
    given.print(given.write(writers[given.made]()))


@dataclass(frozen=True)
class OfFiles:
    """What is known of files, as JSON has it."""

    files: list[str]
    layout: str


class Dataset(NamedTuple):
    """The benchmark that labels are of, and what differs from it."""

    name: str
    off: list[str]


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a result is from."""

    name: str
    files: list[str]
    layout: str
    dataset: Dataset | None
    convention: str


@dataclass(frozen=True, kw_only=True)
class NamedCurve(Ranks):
    """mAP and a CMC curve, by a name; cmc may end before the curve does."""

    name: str
    mAP: Share
    cmc: list[Share]


def dataset_of(benchmark: Recognised | None) -> Dataset | None:
    """Return a benchmark for JSON."""
    return None if benchmark is None else Dataset(benchmark.fingerprint.name, list(benchmark.off))


#: mAP and CMC curves by name.
Curves = Mapping[str, tuple[float, Doubles]]


def curves_of(curves: Curves, length: int | None) -> list[NamedCurve]:
    """Return curves to rank `length` for JSON."""
    return [NamedCurve(name=name, cmc=cmc[:length].tolist(),
                       **as_fields({"mAP": mAP, **named_ranks(cmc)}))
            for name, (mAP, cmc) in curves.items()]


def table_of_curves(title: str, curves: Curves, ranks: Iterable[int],
                    form: Callable[[float], str]) -> list[str]:
    """Return one column per curve, mAP and Rank-k of it below each other."""
    columns = [{"mAP": mAP, **named_ranks(cmc, ranks)} for mAP, cmc in curves.values()]
    return lines([title, *curves], [[name, *(form(column[name]) for column in columns)]
                                    for name in columns[0]], indent=10)


def layout_and_sizes(result: Result, data: ResultFile | None) -> tuple[str, str]:
    """Return the layout of what was evaluated, and its sizes, in words.

    Without data it is a saved result, or a part of a protocol, whose signature has them.
    """
    signature = result.signature
    ends = (f"; {words_of_ends(result.convention)}"
            if signature.get("ranked", "complete") != "complete" else "")
    convention = result.convention
    rules = convention.not_ranked if result.counts.gallery_junk else convention.ignored
    cameras = "" if signature.get("cameras") != "none" else (
        f"; no cameras; ignored: {choice_text(rules)}" if rules else
        "; no cameras: no image is ignored")
    if data is not None:
        return data.layout + cameras, data.input.words(len(data.gallery)) + ends
    layout = (f"part {signature['part']} of protocol {signature['protocol']}"
              if "protocol" in signature else "a saved result") + cameras
    return layout, next((f"{key} {signature[key]}" for key in ("features", "distances")
                         if key in signature), "ranked lists") + ends
