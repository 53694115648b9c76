"""One or several files → features or distances with labels.

The layout is found, each array gets its field, and the whole is checked once, with messages that
name the file and the key.
"""
from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from reid_ref.arrays import InputError, check_finite_rows
from reid_ref.arrays.stored import is_lazy
from reid_ref.disk import check_different, renamed
from reid_ref.evaluation.result_file import Matrix, ResultFile
from reid_ref.files.formats import NPY, TEXT, Contents, read_contents
from reid_ref.files.layouts import (
    FEATURES, LAYOUTS, OPTIONAL, SEPARATE, Layout, role_of_array)
from reid_ref.files.stored_arrays import StoredArray, StoredLabels
from reid_ref.labels import FURTHER, check_distances, check_feature_shapes

#: The sides whose images are the rows, or rows and columns, of each matrix.
_SIDES = {"query_features": ("query",), "gallery_features": ("gallery",),
          "distances": ("query", "gallery")}
SEPARATE_SUFFIXES = (".mat", ".npy", ".txt", ".csv", ".tsv")
_NPY_FILES = ", ".join(SEPARATE["npy"].keys.values())


def read_result(*paths: str | os.PathLike[str]) -> ResultFile:
    """Read features or distances with their labels from one file, or from several.

    Parameters
    ----------
    *paths : str or path
        One .mat (any version), .npz, .h5 or .hdf5 file with the keys of one of `LAYOUTS`, and
        perhaps further columns of the labels (``query_clothes``, ``gallery_view``, ...); or
        a folder of .npy files named by these keys; or several .mat, .npy, .txt, .csv or .tsv
        files with one array each, in any order, recognised by variable name, then by file name
        (`SEPARATE`).

    Returns
    -------
    ResultFile

    Raises
    ------
    InputError
        The file cannot be read, or what it holds cannot be evaluated; the message names the
        file and key, what was expected, what came and the remedy.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "result.npz")
    ...     np.savez(path, query_f=np.eye(2), query_label=[3, 5], query_cam=[1, 1],
    ...              gallery_f=np.ones((3, 2)), gallery_label=[3, 5, -1],
    ...              gallery_cam=[2, 2, 2], note="epoch 60")
    ...     result = read_result(path)
    >>> result.layout
    "layumi's pytorch_result (features, one row per image), in a .npz file"
    >>> result.gallery_features.shape, result.gallery.identity, result.extra
    ((3, 2), array([ 3,  5, -1]), ('note',))
    """
    listed = _different(paths)
    if len(listed) == 1 and os.path.isdir(listed[0]):
        return _from_folder(listed[0])
    arrays = {path.stem: path for path in listed if path.suffix.lower() == ".npy"}
    layout = _layout(arrays)
    if layout and len(arrays) == len(listed) and (
            arrays.keys() <= {*layout.keys.values(), *OPTIONAL}):
        return _from_arrays(layout, arrays)
    files: dict[Path, Contents] = {}
    try:
        for path in listed:
            files[path] = read_contents(path)
        if len(files) == 1 and files[listed[0]].format != TEXT:
            return _from_file(listed[0], files[listed[0]])
        return _from_files(files)
    except InputError:
        for contents in files.values():
            contents.close()
        raise


def results_of_files(*paths: str | os.PathLike[str]) -> list[list[Path]]:
    """Return the files of each result: each file alone, or all together, by what is in them.

    No array is read. A folder is a result by itself, and so is a file with all the keys of one
    of `LAYOUTS`.

    Raises
    ------
    InputError
        Some of the files are complete and others are not, or one cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [os.path.join(folder, name) for name in ("a.npz", "b.npz")]
    ...     for path in paths:
    ...         np.savez(path, distmat=[[.1]], q_pids=[1], g_pids=[1], q_camids=[1], g_camids=[2])
    ...     [[path.name for path in files] for files in results_of_files(*paths)]
    [['a.npz'], ['b.npz']]
    """
    listed = _different(paths)
    if len(listed) == 1:
        return [listed]
    complete = [path for path in listed if _is_complete(path)]
    if complete and len(complete) < len(listed):
        part = next(path for path in listed if path not in complete)
        read_contents(part).close()  # it says better what is wrong with a file that is none
        raise InputError(part, f"a file that holds everything, as {complete[0]} does",
                         "one that lacks features or labels", "evaluate it in a call of its own, "
                         "with the files that belong to it")
    return [[path] for path in listed] if complete else [listed]


def _is_complete(path: Path) -> bool:
    if path.is_dir() or path.suffix.lower() == ".json":  # a saved result
        return True
    if path.suffix.lower() in (".npy", ".txt", ".csv", ".tsv"):
        return False  # one array
    contents = read_contents(path)
    contents.close()
    return _layout(contents.values) is not None


#: `reid_ref.read`: what the commands read, by the name that users know.
read = read_result


def _different(paths: tuple[str | os.PathLike[str], ...]) -> list[Path]:
    if not paths:
        raise InputError("paths", "at least one result file", "none")
    listed = [Path(path) for path in paths]
    check_different(listed)
    return listed


def _from_folder(folder: Path) -> ResultFile:
    try:
        arrays = {path.stem: path for path in sorted(folder.iterdir()) if path.suffix == ".npy"}
    except OSError as error:
        raise InputError(folder, got=error.strerror,
                         remedy="change its rights, or name the files in it") from None
    if not arrays:
        raise InputError(folder, f"a folder of .npy files ({_NPY_FILES})", "none in it",
                         "name its other file or files, e.g. its pytorch_result.mat")
    layout = _layout(arrays)
    if layout is None:
        raise _no_layout(folder, set(arrays), ".npy files named by the keys")
    return _from_arrays(layout, arrays)


def _from_arrays(layout: Layout, arrays: Mapping[str, Path]) -> ResultFile:
    values = {key: read_contents(arrays[key]).values[key]
              for key in (*layout.keys.values(), *OPTIONAL) if key in arrays}
    return _of_layout(layout, Contents(values, ".npy files"))


def _from_file(path: Path, contents: Contents) -> ResultFile:
    if contents.format == NPY:
        raise InputError(
            path, "features or distances with labels", f"{NPY}, which holds one array",
            f"give the folder that holds {_NPY_FILES}, or name these files")
    layout = _layout(contents.values)
    if layout is None:
        raise _no_layout(path, set(contents.values), "the keys")
    return _of_layout(layout, contents)


def _of_layout(layout: Layout, contents: Contents) -> ResultFile:
    values = contents.values
    used = {**layout.keys, **{key: key for key in OPTIONAL if key in values and (
        values[key].text or not key.endswith("_name"))}}     # text in .mat files is not read
    return _result(
        f"{layout.title}, in {contents.format}",
        {field: values[key] for field, key in used.items()},
        columns=set(_SIDES) if layout.columns else set(), transposable=contents.transposable,
        extra=tuple(key for key in values if key not in used.values()))


def _layout(values: Mapping[str, Any]) -> Layout | None:
    return next((layout for layout in LAYOUTS.values()
                 if set(layout.keys.values()) <= values.keys()), None)


def _no_layout(path: Path, keys: set[str], what: str) -> InputError:
    """Return the error of a file without a layout; it names what the nearest layout lacks."""
    nearest = max(LAYOUTS.values(), key=lambda layout: len(keys & set(layout.keys.values())))
    missing = [key for key in nearest.keys.values() if key not in keys]
    listed = ", ".join(sorted(keys)[:20]) + (", ..." if len(keys) > 20 else "")
    remedy = "add what is missing"
    if len(missing) >= len(nearest.keys) / 2:  # it is not clear which one is meant
        remedy = "known layouts are " + "; ".join(
            f"{layout.title}: {', '.join(layout.keys.values())}"
            for layout in (*LAYOUTS.values(), *SEPARATE.values()))
    if len(missing) < len(nearest.keys):
        remedy = f"for {nearest.title} it lacks {', '.join(missing)}; {remedy}"
    return InputError(path, f"{what} of a known layout", listed or "no keys", remedy)


def _from_files(files: Mapping[Path, Contents]) -> ResultFile:
    by_field: dict[str, StoredArray] = {}
    columns = set()
    for path, contents in files.items():
        whole = _layout(contents.values)
        if whole or path.suffix.lower() not in SEPARATE_SUFFIXES:
            raise InputError(path, f"one of several {', '.join(SEPARATE_SUFFIXES)} files with an "
                             "array each", whole.title if whole else contents.format,
                             "a file that holds everything is read alone")
        for key, value in contents.values.items():
            field = _field(path, key, contents)
            if field in by_field:
                raise InputError(
                    value.where, f"one array for {field}", f"this one and {by_field[field].where}",
                    "leave one out, or rename it")
            by_field[field] = value.as_floats() if contents.format == TEXT and (
                field == "distances") else value
            if contents.format not in (TEXT, NPY):
                columns.add(field)
    formats = {contents.format for contents in files.values()}
    layout = SEPARATE["distances" if "distances" in by_field or formats == {TEXT}
                      else "npy" if formats <= {NPY, TEXT} else "features"]
    missing = [field for field in layout.keys if field not in by_field]
    if missing:
        raise InputError(
            ", ".join(map(str, files)), layout.title,
            ", ".join(f"no {field} (e.g. {layout.keys[field]})" for field in missing),
            "name all the files in one call")
    unused = by_field.keys() - layout.keys.keys()
    if unused:
        raise InputError(
            by_field[unused.pop()].where, "either features or distances", "both", "leave one out")
    return _result(layout.title, by_field, columns=columns,
                   transposable=any(contents.transposable for contents in files.values()))


def _field(path: Path, key: str, contents: Contents) -> str:
    field = role_of_array(key, path, len(contents.values))
    if field is None or (contents.format == TEXT and field in FEATURES):
        raise InputError(
            f"{path}: {key}", "a name that says the role, with query or gallery (probe, test) "
            "and id or cam, or dist", remedy="features only in .mat or .npy files. Rename it, "
            f"e.g. {', '.join(SEPARATE['features'].keys.values())}; a file with the keys of a "
            "known layout is read alone; ranked lists need files of labels")
    return field


def _result(layout: str, by_field: dict[str, StoredArray], columns: set[str], transposable: bool,
            extra: tuple[str, ...] = ()) -> ResultFile:
    where = {field: array.where for field, array in by_field.items()}
    names = {**where, "query": where["query_identity"], "gallery": where["gallery_identity"],
             ", ".join(FEATURES): ", ".join(where.get(field, "") for field in FEATURES)}
    stored = {field: by_field[field].T if field in columns else by_field[field]
              for field in _SIDES if field in by_field}
    labels = {side: StoredLabels(
        by_field[f"{side}_identity"], by_field[f"{side}_camera"],
        _n_images(stored, side, transposable),
        {column: by_field[f"{side}_{column}"] for column in FURTHER
         if f"{side}_{column}" in by_field}) for side in ("query", "gallery")}
    turned = {field: value.T for field, value in stored.items()}
    if transposable and _fit(turned, labels) and not _fit(stored, labels):
        stored, layout = turned, layout + ", matrices the other way round"
    with renamed(names):
        # The shapes are checked before anything large is read.
        _check_matrices({field: value.outline() for field, value in stored.items()},
                        *labels.values())
        query, gallery = (side.load() for side in labels.values())
        ready: dict[str, Matrix] = {field: value.lazy() for field, value in stored.items()}
        _check_matrices(ready, query, gallery)
        for field in FEATURES:
            if field in ready and not is_lazy(ready[field]):
                check_finite_rows(ready[field], field)
    return ResultFile(layout, query, gallery, **ready, extra=extra)


def _n_images(matrices: Mapping[str, StoredArray], side: str,
              transposable: bool) -> Collection[int]:
    """Return how many images a side may have by its features or the distances."""
    field = next(field for field in matrices if side in _SIDES[field])
    shape, axis = matrices[field].shape, _SIDES[field].index(side)
    return shape if transposable else shape[axis:axis + 1]


def _fit(matrices: Mapping[str, StoredArray], labels: Mapping[str, StoredLabels]) -> bool:
    return all(len(value.shape) == 2
               and value.shape[:len(_SIDES[field])] == tuple(
                   len(labels[side]) for side in _SIDES[field])
               for field, value in matrices.items())


def _check_matrices(matrices: Mapping[str, Matrix], query: Any, gallery: Any) -> None:
    if "distances" in matrices:
        check_distances(matrices["distances"], query, gallery)
    else:
        check_feature_shapes(matrices[FEATURES[0]], matrices[FEATURES[1]], query, gallery)
