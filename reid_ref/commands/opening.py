"""The results that files are: their names, what warnings say of them, their numbers."""
from __future__ import annotations

import argparse
import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from reid_ref.commands import common
from reid_ref.commands.terminal import in_options

if TYPE_CHECKING:
    from reid_ref.conventions import Convention
    from reid_ref.evaluation.result_file import ResultFile
    from reid_ref.labels import IndexLists
    from reid_ref.result import Result


def evaluate_file(args: argparse.Namespace, data: ResultFile, asked: list[Convention],
                  lists: IndexLists | None) -> dict[str, Result]:
    """Evaluate what a file holds under each convention, with a bar."""
    from reid_ref.evaluation.engine import results_of_distances, results_of_features
    from reid_ref.evaluation.ranked_lists import results_of_lists

    with common.progress_bar(len(data.query)) as bar:
        options = {"lists": lists, "max_memory": args.max_memory,
                   "progress": None if bar is None else bar.update}
        if data.ranked is not None:
            return results_of_lists(data.ranked, data.query, data.gallery, asked, **options)
        if data.distances is not None:
            return results_of_distances(
                data.distances, data.query, data.gallery, asked, **options)
        return results_of_features(
            data.query_features, data.gallery_features, data.query, data.gallery, asked,
            args.metric, args.normalize, **options)


@contextlib.contextmanager
def said_of(name: str, files: list[str]) -> Iterator[None]:
    """Let warnings and errors say which result they are about."""
    from reid_ref.arrays import InputError, warn

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except InputError as error:
            text = in_options(str(error))
            named = text.startswith(tuple(files))
            raise InputError(text if named else f"{name}: {text}") from None
    for text in dict.fromkeys(str(one.message) for one in caught):
        warn(f"{name}: {in_options(text)}")


def names_of_results(args: argparse.Namespace) -> list[str]:
    """Return the names of the rows: as asked for, or after the files."""
    from reid_ref.arrays import InputError

    if args.names is None:
        return _names_of_files([files[0] for files in args.groups])
    names: list[str] = args.names
    if len(names) != len(args.groups):
        names = [name for given in names for name in given.split(",")]
    names = [name.strip() for name in names]
    if len(names) != len(args.groups) or "" in names or len(set(names)) < len(names):
        raise InputError(f"--name: expected a name of its own for each of {len(args.groups)} "
                         f"results, got {', '.join(map(repr, names))}")
    return names


def _names_of_files(paths: list[Path]) -> list[str]:
    """Return file names; names of folders where those are alike; whole paths at the worst."""
    stems = [path.name if path.is_dir() else path.stem for path in paths]
    names = [path.absolute().parent.name if stems.count(stem) > 1 else stem
             for path, stem in zip(paths, stems)]
    return names if len({*names, ""}) > len(names) else list(map(str, paths))
