"""The files that a command is given: results, their names, ranked lists, names of images."""
import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reid_ref.arrays import InputError, each_warning_once
from reid_ref.console import options as common
from reid_ref.console.protocol_names import reading
from reid_ref.console.request import LISTS, NO_LISTS, Request
from reid_ref.console.terminal import names_of_arguments, phase, progress_prefix
from reid_ref.datasets.folders import read_folder
from reid_ref.datasets.labels import is_one_side, read_sides, side_as_written
from reid_ref.disk import check_not_written, is_packed
from reid_ref.evaluation.engine import by_name, results_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files import results_of_files
from reid_ref.files.given_lists import holds_lists, lists_with_labels
from reid_ref.files.image_names import check_names, names_of_side
from reid_ref.files.image_places import GivenLabels
from reid_ref.files.lists import lists_of_identities, read_n_good, read_ranked_lists
from reid_ref.labels import Labels
from reid_ref.result import Result


def evaluate_file(request: Request, data: ResultFile, how: How) -> dict[str, Result]:
    """Evaluate what a file holds under each convention, with a bar."""
    with common.progress_bar(len(data.query)) as bar:
        results = results_of(data.input, data.query, data.gallery, common.with_bar(how, bar))
        return by_name([common.signed(request, result) for result in results])


@contextlib.contextmanager
def naming_errors(name: str, files: list[str]) -> Iterator[None]:
    """Name the result in its warnings and errors."""
    with each_warning_once(f"{name}: "), progress_prefix(name):
        try:
            yield
        except InputError as error:
            error = error.renamed(names_of_arguments(files))
            raise error if error.argument.startswith(tuple(files)) else error.at(name) from None


def names_of_results(given: list[str] | None, groups: Sequence[Sequence[str | Path]]) -> list[str]:
    """Return the names of the rows: those given with --name, or after the files."""
    if given is None:
        return _names_of_files([Path(files[0]) for files in groups])
    names = given if len(given) == len(groups) else ",".join(given).split(",")
    names = [name.strip() for name in names]
    if len(names) != len(groups) or "" in names or len(set(names)) < len(names):
        raise InputError("--name", f"a name of its own for each of {len(groups)} results",
                         ', '.join(map(repr, names)))
    return names


def _names_of_files(paths: list[Path]) -> list[str]:
    """Return file names; names of folders where those are alike; whole paths at the worst."""
    stems = [path.name if path.is_dir() else path.with_suffix("").stem if is_packed(path) else
             path.stem for path in paths]
    names = [path.absolute().parent.name if stems.count(stem) > 1 else stem
             for path, stem in zip(paths, stems)]
    return names if len({*names, ""}) > len(names) else list(map(str, paths))


#: Options of labels in other files, and of images.
OF_LABELS = ("--labels", "--numbers-from", "--n-good")
OF_IMAGES = ("--images", "--query-names", "--gallery-names")


def files_per_result(request: Request, files: Sequence[str]) -> list[list[Path]]:
    """Return the files of each result; ranked lists have their labels in others: each is one."""
    return ([[Path(file)] for file in files] if are_lists(request, files) else
            results_of_files(*files, names=common.names_of_arrays(request),
                             labelled=not request.labels, reading=reading(request)))


def are_lists(request: Request, files: Sequence[str]) -> bool:
    """Return whether files are ranked lists, whose labels --labels names."""
    return bool(request.labels) and holds_lists(Path(files[0]))


def _folder(request: Request) -> str | None:
    """Return the data set's folder after --labels, if it is one."""
    labels = request.labels or []
    return labels[0] if len(labels) == 1 and os.path.isdir(labels[0]) else None


def read_input(request: Request, files: Sequence[str]) -> ResultFile:
    """Read one result's files, or the lists of a file, and their labels."""
    folder = _folder(request)
    if not are_lists(request, files):
        request.check(NO_LISTS, "ranked lists (--labels)", "features or distances")
        return common.read_files(request, files, () if folder is None else read_folder(folder))
    request.check(LISTS, "features or distances", "ranked lists (--labels)")
    phase(f"reading {os.path.basename(files[0])}")
    sets: tuple[GivenLabels, ...] = ()
    if folder is not None:
        with contextlib.suppress(InputError):  # of a set whose names alone are known
            sets = read_folder(folder)
    data = (lists_with_labels(Path(files[0]), sets, request.numbers_from) if sets else
            _of_label_files(request, files[0]))
    if request.n_good is None or data.ranked is None:
        return data
    return replace(data, ranked=replace(data.ranked, n_good=read_n_good(request.n_good)))


def _of_label_files(request: Request, file: str) -> ResultFile:
    labels = request.labels or []
    if len(labels) == 1 and is_one_side(labels[0]):
        return lists_of_identities(file, side_as_written(labels[0]))
    query, gallery = read_sides(*labels)
    ranked = read_ranked_lists(file, len(query), query.names(), gallery.names(),
                               request.numbers_from)
    return ResultFile("ranked lists", query, gallery, ranked=ranked)


def image_names(request: Request, files: Sequence[str],
                data: ResultFile) -> tuple[list[str], list[str]]:
    """Return the names of both sides, which fit the labels."""
    root = request.images or ""

    def of_side(side: str, labels: Labels, listed: str | None) -> list[str]:
        names = names_of_side(side, len(labels), files, root, listed, labels.names())
        check_names(names, labels, side)
        check_not_written(os.path.join(root, name) for name in names)
        return names

    return (of_side("query", data.query, request.query_names),
            of_side("gallery", data.gallery, request.gallery_names))
