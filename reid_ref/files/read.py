"""One or several files → features or distances with labels.

Aim: find the layout (layouts.py), give each array its field, and check the whole once, with
messages that name the file and the key.
"""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.files.formats import Contents, read_contents
from reid_ref.files.layouts import FEATURES, LAYOUTS, SEPARATE, Layout, role_of
from reid_ref.result import Labels
from reid_ref.validation import InputError, as_integers, check_distances, check_features

_MATRICES = (*FEATURES, "distances")
SEPARATE_SUFFIXES = (".mat", ".txt", ".csv", ".tsv")


@dataclass(frozen=True)
class ResultFile:
    """What a result file holds; either both feature arrays or the distances are there.

    Parameters
    ----------
    layout : str
        Which layout was recognised, for people.
    query, gallery : Labels
        Identity and camera of each image.
    query_features : ndarray, shape (n_query, d), or None
    gallery_features : ndarray, shape (n_gallery, d), or None
        Real numbers of the dtype stored.
    distances : ndarray, shape (n_query, n_gallery), or None
        Smaller is nearer; may be complex, as MATLAB's can be.
    extra : dict
        The file's other keys, untouched.
    """

    layout: str
    query: Labels
    gallery: Labels
    query_features: npt.NDArray[Any] | None
    gallery_features: npt.NDArray[Any] | None
    distances: npt.NDArray[Any] | None
    extra: dict[str, Any]


@dataclass(frozen=True)
class _Found:
    """An array of the file, and where it was: "path: key"."""

    value: Any
    where: str


def read_result(*paths: str | os.PathLike[str]) -> ResultFile:
    """Read features or distances with their labels from one file, or from several.

    Parameters
    ----------
    *paths : str or path
        One .mat (any version), .npz, .h5 or .hdf5 file with the keys of one of `LAYOUTS`; or
        several .mat, .txt, .csv or .tsv files with one array each, in any order, recognised
        by variable name, then by file name (`SEPARATE`).

    Returns
    -------
    ResultFile

    Raises
    ------
    InputError
        The file cannot be read, or what it holds cannot be evaluated; the message names the
        file and key, what was expected, what came and the way out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "result.npz")
    ...     np.savez(path, query_f=np.eye(2), query_label=[3, 5], query_cam=[1, 1],
    ...              gallery_f=np.ones((3, 2)), gallery_label=[3, 5, -1],
    ...              gallery_cam=[2, 2, 2], note="epoch 60")
    ...     result = read_result(path)
    >>> result.layout
    "layumi's pytorch_result (features, one row an image), in a .npz file"
    >>> result.gallery_features.shape, result.gallery.identity, list(result.extra)
    ((3, 2), array([ 3,  5, -1]), ['note'])
    """
    files = {path: read_contents(path) for path in _different(paths)}
    if len(files) == 1 and next(iter(files.values())).format != "text":
        return _from_one(*files.popitem())
    return _from_several(files)


def _different(paths: tuple[str | os.PathLike[str], ...]) -> list[Path]:
    if not paths:
        raise InputError("paths: expected at least one result file, got none")
    listed = [Path(path) for path in paths]
    for path in listed:
        if listed.count(path) > 1:
            raise InputError(f"{path}: expected different files, got this one twice")
    return listed


def _from_one(path: Path, contents: Contents) -> ResultFile:
    values = contents.values
    layout = _layout(values)
    if layout is None:
        raise InputError(f"{path}: {_no_layout(set(values))}")
    used = layout.keys.values()
    return _result(
        f"{layout.title}, in {contents.format}",
        {field: _Found(values[key], f"{path}: {key}") for field, key in layout.keys.items()},
        columns=set(_MATRICES) if layout.columns else set(), either_way=contents.either_way,
        extra={key: value for key, value in values.items() if key not in used})


def _layout(values: Mapping[str, Any]) -> Layout | None:
    return next((layout for layout in LAYOUTS.values()
                 if set(layout.keys.values()) <= values.keys()), None)


def _no_layout(there: set[str]) -> str:
    def missing(layout: Layout) -> list[str]:
        return [key for key in layout.keys.values() if key not in there]

    nearest = max(LAYOUTS.values(), key=lambda layout: len(layout.keys) - len(missing(layout)))
    lacks = (f"; for {nearest.title} it lacks {', '.join(missing(nearest))}"
             if len(missing(nearest)) < len(nearest.keys) else "")
    listed = ", ".join(sorted(there)[:20]) + (", ..." if len(there) > 20 else "")
    known = "; ".join(f"{layout.title}: {', '.join(layout.keys.values())}"
                      for layout in (*LAYOUTS.values(), *SEPARATE.values()))
    return (f"expected the keys of a known layout, got {listed or 'no keys'}"
            f"{lacks}. Known layouts are {known}")


def _from_several(files: Mapping[Path, Contents]) -> ResultFile:
    found: dict[str, _Found] = {}
    columns = set()
    for path, contents in files.items():
        whole = _layout(contents.values)
        if whole or path.suffix.lower() not in SEPARATE_SUFFIXES:
            raise InputError(
                f"{path}: expected one of several {', '.join(SEPARATE_SUFFIXES)} files with an "
                f"array each, got {whole.title if whole else contents.format}; "
                "a file that holds everything is read alone")
        for key, value in contents.values.items():
            field = _field(path, key, contents)
            where = str(path) if contents.format == "text" else f"{path}: {key}"
            if field in found:
                raise InputError(
                    f"{where}: expected one array for {field}, got this one and "
                    f"{found[field].where}; leave one out, or rename it")
            found[field] = _Found(value, where)
            if contents.format != "text":
                columns.add(field)
    layout = SEPARATE["features" if columns and "distances" not in found else "distances"]
    missing = [field for field in layout.keys if field not in found]
    if missing:
        raise InputError(
            f"{', '.join(map(str, files))}: expected {layout.title}, got no "
            + ", no ".join(f"{field} (e.g. {layout.keys[field]})" for field in missing)
            + "; name all the files in one call")
    unused = found.keys() - layout.keys.keys()
    if unused:
        raise InputError(
            f"{found[unused.pop()].where}: expected either features or distances, got both; "
            "leave one out")
    return _result(layout.title, found, columns=columns, extra={},
                   either_way=any(contents.either_way for contents in files.values()))


def _field(path: Path, key: str, contents: Contents) -> str:
    """Return an array's field by its own name, else by the file's if it is alone there."""
    own = role_of(key)
    of_file = role_of(path.stem) if len(contents.values) == 1 else None
    field = own if own not in (None, *FEATURES) else of_file or own
    if field is None or (contents.format == "text" and field in FEATURES):
        raise InputError(
            f"{path}: {key}: expected a name that says the role, with query or gallery (probe, "
            "test) and id or cam, or dist; features only in .mat files. Rename it, e.g. "
            f"{', '.join(SEPARATE['features'].keys.values())}; a file with the keys of a known "
            "layout is read alone")
    return field


def _result(layout: str, found: dict[str, _Found], columns: set[str], either_way: bool,
            extra: dict[str, Any]) -> ResultFile:
    where = {field: one.where for field, one in found.items()}
    query, gallery = (_labels(found, side) for side in ("query", "gallery"))
    matrices = {field: _dense(found[field].value) for field in _MATRICES if field in found}
    matrices = {field: value.T if field in columns else value
                for field, value in matrices.items()}
    if either_way and _only_turned_fits(matrices, len(query), len(gallery)):
        matrices = {field: value.T for field, value in matrices.items()}
        layout += ", matrices the other way round"
    names = {**where, "query": where["query_identity"], "gallery": where["gallery_identity"],
             ", ".join(FEATURES): ", ".join(where.get(field, "") for field in FEATURES)}
    with _named(names):
        if "distances" in matrices:
            distances = check_distances(matrices["distances"], query, gallery)
            return ResultFile(layout, query, gallery, None, None, distances, extra)
        features = check_features(
            matrices["query_features"], matrices["gallery_features"], query, gallery)
        return ResultFile(layout, query, gallery, *features, None, extra)


def _labels(found: dict[str, _Found], side: str) -> Labels:
    where = {what: found[f"{side}_{what}"].where for what in ("identity", "camera")}
    columns = []
    for what in ("identity", "camera"):
        value = np.asarray(found[f"{side}_{what}"].value)
        value = value.reshape(-1) if value.size == 0 else value     # MATLAB's [] is 0 x 0
        columns.append(as_integers(value, where[what]))
    with _named(where):
        return Labels(*columns)


def _dense(value: Any) -> npt.NDArray[Any]:
    return np.asarray(value.toarray() if hasattr(value, "toarray") else value)


def _only_turned_fits(matrices: Mapping[str, npt.NDArray[Any]], n_query: int,
                      n_gallery: int) -> bool:
    rows = {"query_features": n_query, "gallery_features": n_gallery, "distances": n_query}
    columns = {"distances": n_gallery}

    def fits(turned: bool) -> bool:
        shapes = {field: value.shape[::-1] if turned else value.shape
                  for field, value in matrices.items()}
        return all(len(shape) == 2 and shape[0] == rows[field]
                   and shape[1] == columns.get(field, shape[1])
                   for field, shape in shapes.items())

    return fits(turned=True) and not fits(turned=False)


@contextmanager
def _named(names: Mapping[str, str]) -> Iterator[None]:
    """Let a message that starts with an argument's name start with the file and key."""
    try:
        yield
    except InputError as error:
        name, _, rest = str(error).partition(": ")
        raise InputError(f"{names.get(name, name)}: {rest}") from None
