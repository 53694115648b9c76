"""One or several files → features, distances or ranked lists with labels.

Each array gets its role, by a known layout or by its name, and the whole is checked once, with
messages that name the file and the key.
"""
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reid_ref import extensions
from reid_ref.arrays import InputError, check_choice, check_finite_rows
from reid_ref.arrays.stored import is_lazy
from reid_ref.disk import PathLike, check_different, is_json, path_of, renamed
from reid_ref.evaluation.result_file import Matrix, ResultFile
from reid_ref.files.formats import MAT, NPY, TABLE, TEXT, Contents, read_contents, read_npy_folder
from reid_ref.files.given_labels import holds_ranked, lay_labels
from reid_ref.files.image_places import GivenLabels
from reid_ref.files.layouts import (
    FEATURES, LAYOUTS, NAMES, OPTIONAL, ROLES, SEPARATE, SIDES, Layout, Reading, plain_name,
    role_of)
from reid_ref.files.lists import candidates_of_array, lists_of_array
from reid_ref.files.roles import Fields, fields_of_files
from reid_ref.files.stored_arrays import StoredArray, StoredLabels
from reid_ref.files.tables import arrays_of
from reid_ref.files.unread import warn_of_unread
from reid_ref.labels import FURTHER, check_distances, check_feature_shapes

#: The sides whose images are the rows, or rows and columns, of each matrix.
_SIDES = {"query_features": ("query",), "gallery_features": ("gallery",),
          "distances": ("query", "gallery")}


def read_result(*paths: PathLike, names: Mapping[str, str] | None = None,
                reading: Reading = Reading(), labels: Any = ()) -> ResultFile:
    """Read features, distances or ranked lists with their labels from one file, or from several.

    Parameters
    ----------
    *paths : str or path
        One .mat (any version), .npz, .pt, .pth, .h5 or .hdf5 file with arrays of known names
        (docs/files.md), and perhaps further columns of the labels (``query_clothes``, ...); or
        a folder of .npy files of these names, or one of them; or several files, also .txt, .csv
        and .tsv, in any order, recognised by variable name, then by file name.
    names : mapping of str to str, optional
        Role to the name of the array that has it, if the names are others:
        ``{"query_features": "A"}``. ``query_paths`` and ``gallery_paths`` may name a folder of
        images, or text with one name per line, ``num_query`` the number itself. Roles:
        `reid_ref.files.layouts.ROLES`.
    reading : Reading, optional
        What a protocol adds to the names, such as text for queries:
        ``reid_ref.protocols.find_protocol("cuhk-pedes").reading``.
    labels : pandas.DataFrame, or sequence of GivenLabels, optional
        Labels for files of features or distances alone: columns as a table has them (identity,
        split, path, camera), one row per image; or what `reid_ref.datasets.read_folder`
        returns. Names of the images in the file give the order; else the number of rows does, as
        the usual loaders have it, which `layout` of the result tells.

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
    >>> import os, tempfile
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
    listed, named = _different(paths), dict(names or {})
    for role in named:
        check_choice(role, "names", ROLES, NAMES.get(plain_name(str(role))))
    files: dict[Path, Contents] = {}
    try:
        for path in listed:
            files[path] = _contents(path, len(listed) == 1, named)
        if hasattr(labels, "columns"):
            cells = [labels[name].astype(object).where(labels[name].notna(), "").astype(str)
                     for name in labels.columns]
            rows = [list(map(str, labels.columns)), *map(list, zip(*cells))]
            files[Path("labels")] = Contents(arrays_of(Path("labels"), rows), TABLE)
            labels = ()
        if all(contents.format == NPY for contents in files.values()):
            together = Contents({key: value for contents in files.values()
                                 for key, value in contents.values.items()}, ".npy files")
            layout = _layout(together.values)
            if layout and together.values.keys() <= {*layout.keys.values(), *OPTIONAL}:
                files = {listed[0]: together}
        return _result_file(files, named, reading, labels)
    except InputError:
        for contents in files.values():
            contents.close()
        raise


def results_of_files(*paths: PathLike, names: Mapping[str, str] | None = None,
                     reading: Reading = Reading(), labelled: bool = True) -> list[list[Path]]:
    """Return the files of each result: each file alone, or all together, by what is in them.

    No features or distances are read. A folder is a result by itself, and so is a file with all
    that makes one; `names` and `reading` as in `read_result`. `labelled`: all that makes one has
    labels.

    Raises
    ------
    InputError
        One of the files is complete and others are not, or one of a single result cannot be read.

    Examples
    --------
    >>> import os, tempfile
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
    cameras, errors = {}, list[InputError]()
    for path in listed:
        try:
            cameras[path] = _has_cameras(path, names or {}, reading, labelled)
        except InputError as error:
            errors.append(error)
    complete = [path for path, found in cameras.items() if found is not None]
    alone = len(complete) + len(errors) == len(listed)
    if complete and (alone or len(complete) > 1 and all(cameras[path] for path in complete)):
        return [[path] for path in listed]  # what is none is named when its turn comes
    if errors:
        raise errors[0]
    if len(complete) > 1 or any(cameras.values()):  # else the cameras may be in another
        part = next(path for path in listed if path not in complete)
        read_contents(part).close()  # its error is better if the file is none
        raise InputError(part, f"a file that holds everything, as {complete[0]} does",
                         "one that lacks features or labels", "evaluate it in a call of its own, "
                         "with the files that belong to it")
    return [listed]


def _has_cameras(path: Path, names: Mapping[str, str], reading: Reading,
                 labelled: bool) -> bool | None:
    """Return whether a file that holds all else of a result has cameras; None if it does not.

    Cameras that are no part of the file (`labelled`) are as good as its own.
    """
    if path.is_dir() or is_json(path):  # a saved result
        return True
    if path.suffix.lower() in (".npy", ".txt", ".csv", ".tsv"):
        return None  # one array
    contents = read_contents(path)
    try:
        if not labelled:
            return holds_ranked({path: contents}, names) or None
        return _layout(contents.values) is not None or (
            "query_camera" in fields_of_files({path: contents}, names, reading=reading).arrays)
    except InputError:
        return True if not names and _further_layout(contents.values) is not None else None
    finally:
        contents.close()


#: `reid_ref.read`: what the commands read, by the name that users know.
read = read_result


def _different(paths: tuple[PathLike, ...]) -> list[Path]:
    if not paths:
        raise InputError("paths", "at least one result file", "none")
    listed = [path_of(path) for path in paths]
    check_different(listed)
    return listed


def _contents(path: Path, alone: bool, names: dict[str, str]) -> Contents:
    """Return what a file holds; a single .npy file is read with those in its folder."""
    if alone and path.is_dir():
        return read_npy_folder(path)
    contents = read_contents(path)
    role = role_of(path.stem)
    if alone and contents.format == NPY and role is not None:
        names.setdefault(role, path.stem)
        return read_npy_folder(path.parent)
    return contents


def _result_file(files: Mapping[Path, Contents], names: Mapping[str, str],
                 reading: Reading, labels: Sequence[GivenLabels] = ()) -> ResultFile:
    if labels:
        laid = lay_labels(files, names, labels)
        result = _result_file(laid.files, laid.names, reading)
        return replace(result, layout=f"{result.layout}; {laid.words}", extra=tuple(
            key for key in result.extra if key not in laid.used))
    (path, contents), several = next(iter(files.items())), len(files) > 1
    layout = None if several or names else _layout(contents.values)
    if layout is None:
        try:
            fields = fields_of_files(files, names, reading=reading)
        except InputError:
            layout = None if several or names else _further_layout(contents.values)
            if layout is None:
                raise
    if layout:
        fields = _fields_of_layout(path, contents, layout)
    for path, part in files.items() if several else ():
        if fields.used.isdisjoint(value.where for value in part.values.values()):
            raise InputError(path, f"a file that belongs to the {fields.title}",
                             ", ".join(part.values), "rename it, or leave it out")
    title = f"{layout.title if layout else fields.title}, in {contents.format}"
    formats = {part.format for part in files.values()}
    if several and TABLE not in formats and fields.ranked[0] not in ("ranked_lists", "similarity"):
        title = SEPARATE["distances" if "distances" in fields.arrays else
                         "npy" if formats <= {NPY, TEXT} else "features"]
    turnable = any(part.transposable for part in files.values()) or not layout and MAT in formats
    result = _result(title, fields.arrays, turnable, () if several else tuple(
        key for key, value in contents.values.items() if value.where not in fields.used))
    if names.keys().isdisjoint({*fields.arrays, *fields.ranked}):
        warn_of_unread(result, {key: value for part in files.values() for key, value in
                                part.values.items() if value.where not in fields.used})
    return result


def _fields_of_layout(path: Path, contents: Contents, layout: Layout) -> Fields:
    """Return the arrays by a layout's map: nothing else has a role; no text in MAT is read."""
    names = {**layout.keys, **{
        role: key for key, role in OPTIONAL.items() if key in contents.values and (
            contents.values[key].text or not role.endswith("_paths"))}}
    return fields_of_files({path: replace(contents, values={
        key: contents.values[key].T if layout.columns and role in (*_SIDES, "features")
        else contents.values[key] for role, key in names.items()})}, names)


def _layout(values: Mapping[str, Any], layouts: Mapping[str, Layout] = LAYOUTS) -> Layout | None:
    return next((layout for layout in layouts.values()
                 if set(layout.keys.values()) <= values.keys()), None)


def _further_layout(values: Mapping[str, Any]) -> Layout | None:
    """Return the layout of an installed package that fits what is not known here."""
    return _layout(values, extensions.installed("layout", Layout, LAYOUTS))


def _result(layout: str, by_field: Mapping[str, StoredArray], transposable: bool,
            extra: tuple[str, ...] = ()) -> ResultFile:
    where = {field: array.where for field, array in by_field.items()}
    names = {**where, "query": where["query_identity"], "gallery": where["gallery_identity"],
             ", ".join(FEATURES): ", ".join(where.get(field, "") for field in FEATURES),
             **{column: ", ".join(where.get(f"{side}_{column}", "") for side in SIDES)
                for column in ("identity", "camera")}}
    stored = {field: by_field[field] for field in _SIDES if field in by_field}
    labels = {side: StoredLabels(by_field[f"{side}_identity"], by_field.get(f"{side}_camera"), {
        column: by_field[OPTIONAL[f"{side}_{column}"]] for column in FURTHER
        if OPTIONAL[f"{side}_{column}"] in by_field}) for side in SIDES}
    turned = {field: value.T for field, value in stored.items()}
    if transposable and _fit(turned, labels) and not _fit(stored, labels):
        stored, layout = turned, layout + ", matrices the other way round"
    candidates = candidates_of_array(by_field["candidates"], *map(len, labels.values())) if (
        "candidates" in by_field) else None
    if "ranked_lists" in by_field:
        query, gallery = (side.load() for side in labels.values())
        return ResultFile(layout, query, gallery, extra=extra, candidates=candidates,
                          ranked=lists_of_array(by_field["ranked_lists"], len(query)))
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
        return ResultFile(layout, query, gallery, **ready, extra=extra, candidates=candidates)


def _fit(matrices: Mapping[str, StoredArray], labels: Mapping[str, StoredLabels]) -> bool:
    return all(len(value.shape) == 2 and value.shape[:len(_SIDES[field])] == tuple(
        len(labels[side]) for side in _SIDES[field]) for field, value in matrices.items())


def _check_matrices(matrices: Mapping[str, Matrix], query: Any, gallery: Any) -> None:
    if "distances" in matrices:
        check_distances(matrices["distances"], query, gallery)
    else:
        check_feature_shapes(matrices[FEATURES[0]], matrices[FEATURES[1]], query, gallery)
