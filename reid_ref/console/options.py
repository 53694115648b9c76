"""What several commands do: take files, turn them into distances, print, show progress."""
from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from reid_ref.console.terminal import WARNINGS, show_plain, shows_progress

if TYPE_CHECKING:
    from reid_ref.conventions import Convention
    from reid_ref.datasets import Recognised
    from reid_ref.evaluation.how import How
    from reid_ref.evaluation.result_file import ResultFile
    from reid_ref.labels import IndexLists

#: The version of every JSON object; it rises when a key is renamed or means another thing.
SCHEMA = 1


#: What --metric is where it is not given.
METRIC = "euclidean"
FORMATS = ("table", "json", "csv", "markdown", "latex")
#: Options of the commands that rank: where a command takes one, it means the same.
_OPTIONS: dict[str, dict[str, Any]] = {
    "--convention": {
        "action": "append", "metavar": "NAME[,NAME]",
        "help": "conventions that `reid-ref conventions` lists, or all: every one that applies; "
                "several make one table (default: matlab; validate tries all that are quick)"},
    "--set": {
        "action": "append", "metavar": "KEY=VALUE", "default": [], "dest": "choices",
        "help": "another choice in each convention, e.g. ap=step,top_k=100; keys are those of "
                "`reid-ref conventions NAME --json`, and a wrong value lists the known ones"},
    "--metric": {
        "metavar": "NAME",
        "help": "how near two features are: euclidean (default), cosine or dot"},
    "--no-normalize": {
        "dest": "normalize", "action": "store_false",
        "help": "do not divide features by their 2-norm"},
    "--index-lists": {
        "nargs": 2, "metavar": ("GOOD", "JUNK"),
        "help": "good and junk gallery images of each query, for veri and oxford: text, one line "
                "a query, numbers from 1"},
    "--max-memory": {
        "metavar": "SIZE",
        "help": "memory to work in besides the file's arrays, e.g. 512M; the numbers do not "
                "depend on it"},
    "--name": {
        "action": "append", "metavar": "NAME[,NAME]", "dest": "names",
        "help": "names of the rows, one a result (default: the name of its file, or of its "
                "folder where the files are named alike)"},
    "--ranks": {
        "metavar": "K[,K]",
        "help": "which Rank-k tables and rows show (default: 1,5,10,20)"},
}
_FORMAT_WORDS = {
    "table": "table (default)", "json": "json, in full precision", "csv": "csv, as precise",
    "markdown": "markdown", "latex": "latex: a whole tabular for booktabs"}


def add_files(command: argparse.ArgumentParser) -> None:
    """Take result files."""
    command.add_argument("files", nargs="+", metavar="FILE",
                         help="result file or files, or a folder of .npy files")


def add_options(command: Any, *names: str,
                formats: tuple[str, ...] = ()) -> None:
    """Take the options of these names, and --format and --json where there are formats."""
    for name in names:
        command.add_argument(name, **_OPTIONS[name])
    if formats:
        command.add_argument("--format", choices=formats, default="table",
                             help="; ".join(_FORMAT_WORDS[name] for name in formats))
        command.add_argument("--json", dest="format", action="store_const", const="json",
                             help="the same as --format json")


def read_files(args: argparse.Namespace, files: Iterable[str] | None = None) -> ResultFile:
    """Read one result's files, or all of them; --metric is refused where there are no features.
    """
    from reid_ref.arrays import check_choice
    from reid_ref.distances import METRICS
    from reid_ref.files import read_result

    max_memory(args)  # a wrong one is known before the work
    asked = args.metric is not None or not args.normalize
    check_choice(args.metric or METRIC, "--metric", METRICS)
    data = read_result(*(args.files if files is None else files))
    if asked:
        data.features("--metric, --no-normalize", remedy="leave them out")
    return data


def how(args: argparse.Namespace, conventions: Iterable[Convention],
        lists: IndexLists | None = None, bar: Any = None) -> How:
    """Return how a command ranks and evaluates, from its options; `bar`: a progress bar."""
    from reid_ref.evaluation.how import How

    return How(tuple(conventions), args.metric or METRIC, args.normalize, lists,
               max_memory(args), None if bar is None else bar.update)


def max_memory(args: argparse.Namespace) -> int | None:
    """Return the bytes of --max-memory, where a command has it and it was given."""
    from reid_ref.arrays.memory import bytes_of

    given = getattr(args, "max_memory", None)
    return None if given is None else bytes_of(given, "--max-memory")


def recognised(data: ResultFile) -> Recognised | None:
    """Return the benchmark that the labels are of; warn of what differs from it."""
    from reid_ref.arrays import warn
    from reid_ref.datasets.fingerprints import recognise

    known = recognise(data.query, data.gallery)
    # That a loader drops label -1 changes no number of matlab, and is the custom of many.
    if known and any("your loader drops them" not in one for one in known.off):
        warn(known.sentence)
    return known


def convention_names(args: argparse.Namespace, default: str) -> list[str] | None:
    """Return the names after every --convention, each once; None for `all`."""
    from reid_ref.arrays import InputError, check_choice
    from reid_ref.conventions import CONVENTIONS, NAMES, known_as

    given = [default] if args.convention is None else args.convention
    asked = list(dict.fromkeys(known_as(name.strip())
                               for names in given for name in names.split(",")))
    for name in asked:
        if name not in NAMES:
            check_choice(name, "--convention", [*CONVENTIONS, "all"])
    if "all" not in asked:
        return asked
    if len(asked) > 1:
        raise InputError(f"--convention: expected all, or names, got {', '.join(asked)}; all has "
                         "every convention that applies")
    return None


def with_choices(args: argparse.Namespace, conventions: Iterable[Convention],
                 **choices: Any) -> list[Convention]:
    """Return the conventions with the choices after --set, and with `choices`."""
    from reid_ref.arrays import InputError
    from reid_ref.conventions import changed, choices_of_text

    for key, value in choices_of_text(args.choices, "--set").items():
        if key in choices:
            raise InputError(f"--{key}, --set {key}: expected one of them, got both")
        choices[key] = value
    return [changed(convention, choices, "--set") for convention in conventions]


def ranks(args: argparse.Namespace, default: tuple[int, ...] = (1, 5, 10, 20)) -> tuple[int, ...]:
    """Return the k after --ranks, as they were given."""
    from reid_ref.arrays import InputError

    if args.ranks is None:
        return default
    words = [word.strip() for word in args.ranks.split(",")]
    asked = [int(word) for word in words
             if word.isascii() and word.isdecimal() and len(word) < 19]
    if len(asked) < len(words) or min(asked) < 1 or len(set(asked)) < len(asked):
        raise InputError("--ranks: expected different whole numbers from 1, e.g. 1,5,10, got "
                         f"{args.ranks!r}")
    return tuple(asked)


def read_lists(args: argparse.Namespace, conventions: Iterable[Convention]) -> IndexLists | None:
    """Read the lists after --index-lists, if one of the conventions takes them."""
    from reid_ref.arrays import InputError
    from reid_ref.files.lists import read_index_lists

    if not args.index_lists:
        return None
    if not any(one.needs_lists for one in conventions):
        raise InputError("--index-lists: expected a convention that takes lists, veri or oxford; "
                         "leave it out, or name one of them")
    return read_index_lists(*args.index_lists)


def cmc_length(args: argparse.Namespace) -> int | None:
    """Return how many ranks of the CMC curve JSON has; None is all."""
    from reid_ref.arrays import InputError

    if args.cmc is None:
        return 50
    if args.format != "json":
        raise InputError("--cmc: only JSON has the curve; add --json, or leave --cmc out")
    if args.cmc == "all":
        return None
    if not args.cmc.isdecimal() or int(args.cmc) < 1:
        raise InputError(f"--cmc: expected all or a whole number from 1, got {args.cmc!r}")
    return int(args.cmc)


def progress_bar(total: int) -> Any:
    """A bar on stderr for work over two seconds; none where stderr is no terminal, or --quiet."""
    if not shows_progress():
        return contextlib.nullcontext()
    from tqdm import tqdm

    return tqdm(total=total, unit="query", delay=2, leave=False, file=sys.stderr)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object: its version, what was warned of, `value`, where NaN is None."""
    value = {"schema": SCHEMA, "warnings": WARNINGS, **value}
    show_plain(json.dumps(value, allow_nan=False).replace("\x7f", "\\u007f"))
