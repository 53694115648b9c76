"""Label files of the data sets → `Labels` of query and gallery.

VeRi-776's lists of good and junk images are read by `reid_ref.files.lists.read_index_lists`.
"""
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reid_ref.arrays import InputError, Integers, LabelWarning, as_integers, errors_at, warn
from reid_ref.arrays.value import Value
from reid_ref.disk import PathLike, check_different, check_regular, read_lines
from reid_ref.files.formats import Contents, read_contents
from reid_ref.files.image_names import (
    FOLDERS, FORMS, folder_of_side, form_of, names_in_folder, parse_names)
from reid_ref.files.layouts import FEATURES, NAMES, plain_name, role_of, role_of_array
from reid_ref.files.roles import fields_of_files
from reid_ref.files.stored_arrays import StoredArray, StoredLabels
from reid_ref.files.tables import labels_of, rows_of
from reid_ref.labels import WHOLE, Labels, numbered

#: The arrays of CUHK03-NP's configuration.
CUHK03_KEYS = ("labels", "camId", "train_idx", "query_idx", "gallery_idx")
#: Suffixes of tables of one side.
TABLES = (".npy", ".txt", ".csv", ".tsv")


@dataclass(frozen=True, eq=False)
class Tracks(Value):
    """The tracklets of MARS.

    Parameters
    ----------
    first, last : int64 arrays, shape (n_tracks,)
        First and last frame of each, counted from 0: see `pool_tracklets`.
    labels : Labels
        Identity and camera of each.
    """

    first: Integers
    last: Integers
    labels: Labels


@dataclass(frozen=True, eq=False)
class Partition(Value):
    """All images of CUHK03, and which of them are for training, query and gallery.

    Parameters
    ----------
    labels : Labels
        Identity and camera of every image, in the order of the features.
    train, query, gallery : int64 arrays
        Places in `labels`, counted from 0.
    """

    labels: Labels
    train: Integers
    query: Integers
    gallery: Integers


def read_list(path: PathLike) -> Labels:
    """Read a list of image names, one per line, alone or with the identity.

    Parameters
    ----------
    path : str or path
        Text: `name`, `name identity` (MSMT17's list_query.txt) or `identity,name` (csv); or a
        folder of images.

    Returns
    -------
    Labels
        Of the names, in the order of the file; they are its column `name`.

    Raises
    ------
    InputError
        The file cannot be read, or a line holds no name of the first one's form, or an identity
        that is not the name's; the line is named.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "list_query.txt")
    ...     _ = path.write_text("0007/0007_000_01_0303morning_0015_0.jpg 7\\n")
    ...     labels = read_list(path)
    >>> labels.identity, labels.camera
    (array([7]), array([1]))
    """
    path = Path(path)
    if not path.is_dir():
        return _labels_from_names(path, _lines_of_words(path))
    names = names_in_folder(path, path)
    with errors_at(path):
        parsed = parse_names(names)
    return Labels(parsed["identity"], parsed["camera"], name=names)


def _lines_of_words(path: Path) -> list[tuple[int, list[str]]]:
    """Return the lines that are not empty, each with its number."""
    expected = "image names, one per line"
    rows = [(number, line.replace(",", " ").split())
            for number, line in enumerate(read_lines(path, expected), 1) if line.strip(" ,\t")]
    if not rows:
        raise InputError(path, expected, "none")
    return rows


def _labels_from_names(path: Path, rows: list[tuple[int, list[str]]]) -> Labels:
    form = next(filter(None, map(form_of, rows[0][1])), None)
    names = []
    for number, words in rows:
        named = [word for word in words if form and FORMS[form].pattern.fullmatch(word)]
        if len(named) != 1 or len(words) > 2:
            such = f" of {FORMS[form].title}, such as {FORMS[form].example}" if form else ""
            raise InputError(
                f"{path}: line {number}", f"an image name{such}, alone or with its identity",
                repr(" ".join(words)[:60]))
        names += named
    parsed = parse_names(names, form)
    for (number, words), name, identity in zip(rows, names, parsed["identity"].tolist()):
        words.remove(name)
        if words and not (WHOLE.fullmatch(words[0]) and int(words[0]) == identity):
            raise InputError(f"{path}: line {number}", f"{identity}, the identity in the "
                             "name", repr(words[0][:20]), "names alone are enough")
    with errors_at(path):
        return Labels(parsed["identity"], parsed["camera"], name=names)


def read_side(path: PathLike) -> Labels:
    """Read the labels of one side, with the names of its images if the file has them.

    Parameters
    ----------
    path : str or path
        ``.npy``: two columns, camera and identity, as CityFlow's annotations have them. Text: a
        table whose first line names its columns, identity, perhaps camera and name, in any order;
        or a list of image names that contain identity and camera, as `read_list` reads it.

    Raises
    ------
    InputError
        The file cannot be read, or holds none of these; the line is named.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "query.csv")
    ...     _ = path.write_text("name,camera,identity\\n000001.jpg,6,17\\n000002.jpg,7,9\\n")
    ...     side = read_side(path)
    >>> side.identity, side.camera, side.names()
    (array([17,  9]), array([6, 7]), ['000001.jpg', '000002.jpg'])
    """
    side = side_as_written(path)
    return numbered(side, side)[0]


def side_as_written(path: PathLike) -> Labels:
    """As `read_side`, with labels that are text not yet numbered."""
    path = Path(path)
    if path.suffix.lower() == ".npy":
        return _labels_from_columns(path)
    rows = _lines_of_words(path)
    if "identity" not in {NAMES.get(plain_name(word)) for word in rows[0][1]}:
        return _labels_from_names(path, rows)
    return labels_of(path, rows_of(path))


def is_one_side(path: PathLike) -> bool:
    """Return whether a file is a table of labels, none of which says what is a query."""
    path = Path(path)
    if path.suffix.lower() not in (".csv", ".tsv"):
        return False
    roles = {NAMES.get(plain_name(cell)) for cell in rows_of(path)[0]}
    return "identity" in roles and "is_query" not in roles


def _labels_from_columns(path: Path) -> Labels:
    array = next(iter(read_contents(path).values.values())).load()
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(path, "two columns, camera and identity, one row per image",
                         f"an array of shape {array.shape}")
    camera, identity = (as_integers(array[:, k], f"{path}: column {k + 1}") for k in (0, 1))
    if len(np.unique(camera)) > len(np.unique(identity)):
        warn(f"{path}: {len(np.unique(camera))} cameras and {len(np.unique(identity))} "
             "identities; the first column is the camera, the second the identity", LabelWarning)
    return Labels(identity, camera)


def read_sides(*paths: PathLike) -> tuple[Labels, Labels]:
    """Read the labels of query and gallery, with the names of their images.

    Parameters
    ----------
    *paths : str or path
        Two tables, that of the queries first (see `read_side`); or any files that `read_labels`
        reads.

    Raises
    ------
    InputError
        A file that cannot be read, or holds no labels.
    """
    listed = [Path(path) for path in paths]
    check_different(listed)
    if len(listed) == 2 and all(path.suffix.lower() in TABLES for path in listed):
        return numbered(side_as_written(listed[0]), side_as_written(listed[1]))
    return read_labels(*listed)


def read_tracks(path: PathLike) -> Tracks:
    """Read the tracklets of MARS: tracks_test_info.mat or tracks_train_info.mat.

    Raises
    ------
    InputError
        The file cannot be read, or holds no array of four columns (first and last frame counted
        from 1, identity, camera).
    """
    path = Path(path)
    with closing(read_contents(path)) as file:
        value = next((value.load() for value in file.values.values() if _is_tracks(value)), None)
    if value is None:
        raise InputError(path, "one array of four columns (first frame, last frame, identity, "
                         "camera), as in MARS's tracks_test_info.mat", "none")
    columns = [as_integers(value[:, k], f"{path}: column {k + 1}") for k in range(4)]
    return Tracks(columns[0] - 1, columns[1] - 1, Labels(columns[2], columns[3]))


def read_indices(path: PathLike, n_all: int | None = None) -> Integers:
    """Read places counted from 1, as in MARS's query_IDX.mat, and return them counted from 0.

    Raises
    ------
    InputError
        The file cannot be read, does not hold one vector, or has a place below 1 or, if it is
        given, above `n_all`.
    """
    with closing(read_contents(Path(path))) as file:
        return _places(file.single(path, "one array of places"), n_all)


def _places(value: StoredArray, n_all: int | None) -> Integers:
    index, where = value.vector() - 1, value.where
    if len(index) and (index.min() < 0 or n_all is not None and index.max() >= n_all):
        raise InputError(where, "places from 1" + ("" if n_all is None else f" to {n_all}"),
                         f"{index.min() + 1} to {index.max() + 1}")
    return index


def read_cuhk03(path: PathLike) -> Partition:
    """Read the configuration of CUHK03-NP.

    Parameters
    ----------
    path : str or path
        cuhk03_new_protocol_config_labeled.mat or ..._detected.mat of zhunzhong07/
        person-re-ranking, evaluation/data/CUHK03: labels, camId, train_idx, query_idx,
        gallery_idx.

    Raises
    ------
    InputError
        The file cannot be read, lacks one of these, or has a place beyond the images.
    """
    path = Path(path)
    with closing(read_contents(path)) as file:
        arrays = file.values
        if missing := [key for key in CUHK03_KEYS if key not in arrays]:
            raise InputError(
                path, f"{', '.join(CUHK03_KEYS)}, as in cuhk03_new_protocol_config_labeled.mat",
                remedy=f"it lacks {', '.join(missing)}")
        labels = StoredLabels(arrays[CUHK03_KEYS[0]], arrays[CUHK03_KEYS[1]]).load()
        return Partition(labels, *(_places(arrays[key], len(labels)) for key in CUHK03_KEYS[2:]))


def read_labels(*paths: PathLike) -> tuple[Labels, Labels]:
    """Read the labels of query and gallery from the files of any benchmark.

    Parameters
    ----------
    *paths : str or path
        Two lists of names (see `read_list`; the file's name contains query, or gallery or test);
        MARS's tracks_test_info.mat and query_IDX.mat; CUHK03-NP's configuration; the four label
        vectors of the MATLAB drivers, each in a file; one file that holds the four, such as
        pytorch_result.mat; a folder of images for each list of names; or the folder of a data
        set that holds both. In any order.

    Returns
    -------
    query, gallery : Labels

    Raises
    ------
    InputError
        A file that cannot be read, or files that do not contain all four: identity and camera of
        query and gallery.
    """
    listed = [Path(path) for path in paths]
    if not listed:
        raise InputError("paths", "at least one label file", "none")
    check_different(listed)
    if len(listed) == 1 and listed[0].is_dir():
        sides = [folder_of_side(listed[0], side) for side in FOLDERS]
        listed = [folder for folder in sides if folder] if all(sides) else listed
    if any(_is_list(path) for path in listed):
        return _from_lists(listed)
    with ExitStack() as stack:
        files = {path: stack.enter_context(closing(read_contents(path))) for path in listed}
        if len(listed) == 1 and set(CUHK03_KEYS) <= files[listed[0]].values.keys():
            whole = read_cuhk03(listed[0])
            return whole.labels[whole.query], whole.labels[whole.gallery]
        if tracks := _tracks_of_mars(files):
            gallery = read_tracks(tracks).labels
            queries, = files.keys() - {tracks}
            return gallery[read_indices(queries, len(gallery))], gallery
        return _from_vectors(files)


def hold_labels_alone(*paths: PathLike) -> bool:
    """Return whether files that `read_labels` reads hold no features and no distances.

    Raises
    ------
    InputError
        A file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "result.npz")
    ...     np.savez(path, q_pids=[1], q_camids=[1], g_pids=[1, 2], g_camids=[2, 2])
    ...     alone = hold_labels_alone(path)
    ...     np.savez(path, q_pids=[1], q_camids=[1], g_pids=[1, 2], g_camids=[2, 2],
    ...              distmat=[[.1, .2]])
    ...     alone, hold_labels_alone(path)
    (True, False)
    """
    listed = [Path(path) for path in paths]
    if len(listed) == 1 and listed[0].is_dir():
        return all(folder_of_side(listed[0], side) for side in FOLDERS)
    lists = [_is_list(path) for path in listed]
    if any(lists):
        return all(lists)
    if len(listed) == 1 and listed[0].suffix.lower() == ".npy":  # read with those beside it
        return False
    with ExitStack() as stack:
        files = {path: stack.enter_context(closing(read_contents(path))) for path in listed}
        return bool(_tracks_of_mars(files)) or not any(
            _is_ranked(value, role_of_array(key, path, len(contents.values)))
            for path, contents in files.items() for key, value in contents.values.items())


def _from_lists(paths: list[Path]) -> tuple[Labels, Labels]:
    sides = {(role_of(path.stem) or "").partition("_")[0]: path for path in paths}
    if len(paths) != 2 or sides.keys() != {"query", "gallery"}:
        raise InputError(", ".join(map(str, paths)), "two lists of names or folders of images, "
                         "one with query and one with gallery or test in its name",
                         remedy="rename them")
    return read_list(sides["query"]), read_list(sides["gallery"])


def _from_vectors(files: Mapping[Path, Contents]) -> tuple[Labels, Labels]:
    arrays = fields_of_files(files, {}, labels_alone=True).arrays
    return numbered(*(StoredLabels(
        arrays[f"{side}_identity"], arrays.get(f"{side}_camera"),
        {"name": arrays[key] for key in (f"{side}_paths",) if key in arrays}).load()
        for side in ("query", "gallery")))


def _tracks_of_mars(files: Mapping[Path, Contents]) -> Path | None:
    """Return which of two files has the tracklets of MARS, if one has."""
    tracks = [path for path, contents in files.items()
              if any(map(_is_tracks, contents.values.values()))]
    return tracks[0] if len(tracks) == 1 and len(files) == 2 else None


def _is_ranked(value: StoredArray, role: str | None) -> bool:
    """Return whether an array is of features or distances, also of unknown name."""
    if role is None:
        return value.numbers and len(value.shape) == 2 and min(value.shape) > 1
    return role in ("features", *FEATURES, "distances", "similarity")


def _is_tracks(value: StoredArray) -> bool:
    shape = value.shape
    return value.numbers and len(shape) == 2 and shape[1] == 4 and shape[0] > 1


def _is_list(path: Path) -> bool:
    """Return whether the first line of a file has an image name; a folder has images."""
    if path.is_dir():
        return True
    try:
        check_regular(path)
        with path.open(encoding="utf-8-sig") as file:
            words = file.readline(1000).replace(",", " ").split()
    except (OSError, UnicodeDecodeError):
        return False
    return any(form_of(word) for word in words)
