"""What several commands do: take files, turn them into distances, print, show progress."""
from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from reid_ref.commands.terminal import WARNINGS, show

if TYPE_CHECKING:
    from reid_ref.conventions import Convention
    from reid_ref.files import ResultFile
    from reid_ref.labels import IndexLists

#: The version of every JSON object; it rises when a key is renamed or means another thing.
SCHEMA = 1


def add_files(command: argparse.ArgumentParser) -> None:
    """Take result files, and how near two features are."""
    command.add_argument("files", nargs="+", metavar="FILE",
                         help="result file or files, or a folder of .npy files")
    command.add_argument("--metric", metavar="NAME",
                         help="how near two features are: euclidean (default), cosine or dot")
    command.add_argument("--no-normalize", dest="normalize", action="store_false",
                         help="do not divide features by their 2-norm")


def read_files(args: argparse.Namespace) -> ResultFile:
    """Read what `add_files` took; how to measure is refused where there is nothing to."""
    from reid_ref.arrays import InputError, check_choice
    from reid_ref.distances import METRICS
    from reid_ref.files import read_result

    asked = args.metric is not None or not args.normalize
    args.metric = args.metric or "euclidean"
    check_choice(args.metric, "--metric", METRICS)
    data = read_result(*args.files)
    if asked and data.distances is not None:
        raise InputError(f"--metric, --no-normalize: expected features, got distances "
                         f"({data.layout}); leave them out")
    return data


def distance_matrix(args: argparse.Namespace, data: ResultFile) -> Any:
    """Return the file's distances, or those of its features."""
    from reid_ref import distances
    from reid_ref.arrays.stored import read_rows

    if data.distances is not None:
        return read_rows(data.distances)
    return distances.distance_matrix(
        read_rows(data.query_features), read_rows(data.gallery_features), args.metric,
        args.normalize)


def distance_rows(args: argparse.Namespace, data: ResultFile) -> Iterable[Any]:
    """Return distances as blocks of queries, which rank as `evaluate` ranks; one is in memory."""
    from reid_ref.arrays.memory import bytes_of
    from reid_ref.evaluation.engine import row_blocks
    from reid_ref.ranking.exact_rows import feature_rows

    if data.distances is not None:
        return row_blocks(data.distances)
    return feature_rows(data.query_features, data.gallery_features, args.metric, args.normalize,
                        bytes_of(None))


def made_of(args: argparse.Namespace, data: ResultFile) -> dict[str, str]:
    """Return what the signature says of the distances."""
    from reid_ref.evaluation.engine import features_made_of

    if data.distances is not None:
        return {"distances": str(data.distances.dtype)}
    return features_made_of(data.query_features, data.gallery_features, args.metric,
                            args.normalize)


def convention_names(args: argparse.Namespace, default: str) -> list[str] | None:
    """Return the names after every --convention, each once; None for `all`."""
    from reid_ref.arrays import InputError, check_choice
    from reid_ref.conventions import CONVENTIONS, known_as

    given = [default] if args.convention is None else args.convention
    asked = list(dict.fromkeys(known_as(name.strip())
                               for names in given for name in names.split(",")))
    for name in asked:
        check_choice(name, "--convention", [*CONVENTIONS, "all"])
    if "all" not in asked:
        return asked
    if len(asked) > 1:
        raise InputError(f"--convention: expected all, or names, got {', '.join(asked)}; all has "
                         "every convention that applies")
    return None


def add_lists(command: argparse.ArgumentParser) -> None:
    """Take the good and junk images of every query."""
    command.add_argument("--index-lists", nargs=2, metavar=("GOOD", "JUNK"),
                         help="good and junk gallery images of each query, for veri and oxford: "
                              "text, one line a query, numbers from 1")


def read_lists(args: argparse.Namespace, conventions: Iterable[Convention]) -> IndexLists | None:
    """Read what `add_lists` took, if one of the conventions wants it."""
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
    """A bar on stderr for work over two seconds; none where stderr is not a terminal."""
    if not sys.stderr.isatty():
        return contextlib.nullcontext()
    from tqdm import tqdm

    return tqdm(total=total, unit="query", delay=2, leave=False, file=sys.stderr)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object: its version, what was warned of, `value`, where NaN is None."""
    value = {"schema": SCHEMA, "warnings": WARNINGS, **value}
    show(json.dumps(value, allow_nan=False).replace("\x7f", "\\u007f"))
