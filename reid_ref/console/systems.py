"""Systems by their names, each of one file or of several: NAME=FILE[,FILE...], and folders."""
import os
from collections.abc import Iterable
from pathlib import Path

from reid_ref.arrays import InputError
from reid_ref.console.files import files_per_result, names_of_results
from reid_ref.console.given import Given, given_of
from reid_ref.console.request import Request
from reid_ref.disk import is_json
from reid_ref.protocols import Protocol


def systems_of(request: Request, protocol: Protocol | None) -> list[Given]:
    """Return each file of each system, of which none is read yet."""
    pairs = [(name, file) for name, files in files_of_systems(request).items() for file in files]
    return given_of(request, [[file] for _, file in pairs], protocol,
                    names=[name for name, _ in pairs])


def files_of_systems(request: Request) -> dict[str, list[str]]:
    """Return the files of each system by its name; a name that comes twice has a number."""
    named = [_named(text) for text in request.files]
    for name, files in named:
        check_seeds((name, file) for file in files)
    if request.names is not None:
        names = names_of_results(request.names, [[text] for text in request.files])
    else:
        # Only a file that is named twice can have the name of another.
        alone = list(dict.fromkeys(files[0] for name, files in named if not name))
        by_file = dict(zip(alone, names_of_results(None, [[file] for file in alone])))
        names = [name or by_file[files[0]] for name, files in named]
    return {f"{name} ({names[:k].count(name) + 1})" if name in names[:k] else name: files
            for k, (name, (_, files)) in enumerate(zip(names, named))}


def given_systems(request: Request, protocol: Protocol | None = None) -> list[Given]:
    """Return each file of each system; each result, if none is NAME=FILE[,FILE...] or a folder."""
    if any(_named(text)[0] for text in request.files):
        return systems_of(request, protocol)
    return given_of(request, files_per_result(request, request.files), protocol)


def _named(text: str) -> tuple[str, list[str]]:
    """Return the name and the files of a system; no name of a single file."""
    path = Path(text)
    if files := _saved_in(path):
        return path.resolve().name, files
    name, equals, files_of_name = text.partition("=")
    if path.exists() or (not equals and "," not in text):
        return "", [text]
    files = files_of_name.split(",")
    if not (name and equals) or "" in files:
        raise InputError(text, "NAME=FILE[,FILE...]")
    return name, [file for each in files for file in _saved_in(Path(each)) or [each]]


def _saved_in(folder: Path) -> list[str]:
    """Return the saved results of a folder; none of a folder of .npy files."""
    files = sorted(map(str, folder.iterdir())) if folder.is_dir() else []
    return [] if any(file.endswith(".npy") for file in files) else list(filter(is_json, files))


def check_seeds(files: Iterable[tuple[str, str]]) -> None:
    """Refuse a file that is named twice; each has the name of its system before it."""
    seen = set[str]()
    for name, file in files:
        if os.path.realpath(file) in seen:
            raise InputError(name, "a file of its own for each seed", f"{file} twice",
                             "leave it out once")
        seen.add(os.path.realpath(file))
