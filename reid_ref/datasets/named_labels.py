"""Labels of one side from a file of its own, with the names of its images where it has them.

What ranked lists are evaluated by: a server's own labels are often two small tables.
"""
from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reid_ref.arrays import InputError, as_integers, warn
from reid_ref.datasets.labels import read_labels, read_list
from reid_ref.disk import check_different, read_lines
from reid_ref.files.formats import read_contents
from reid_ref.labels import Labels

#: Suffixes of tables of one side.
TABLES = (".npy", ".txt", ".csv", ".tsv")
#: What a column may be called.
COLUMNS = {called: column for column, names in {
    "name": "name image image_name imagename file filename file_name imgid",
    "identity": "identity id pid vehicleid vehicle_id person_id label entityid",
    "camera": "camera cam camid camera_id cameraid"}.items() for called in names.split()}


@dataclass(frozen=True)
class NamedLabels:
    """Identity, camera and name of every image; names apart, too, if the file says them."""

    labels: Labels
    names: Sequence[str] | None = None


def read_sides(*paths: str | os.PathLike[str]) -> tuple[NamedLabels, NamedLabels]:
    """Read the labels of query and gallery.

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
        return read_side(listed[0]), read_side(listed[1])
    query, gallery = read_labels(*listed)
    return NamedLabels(query), NamedLabels(gallery)


def read_side(path: str | os.PathLike[str]) -> NamedLabels:
    """Read the labels of one side.

    Parameters
    ----------
    path : str or path
        ``.npy``: two columns, camera and identity, as CityFlow's annotations have them. Text: a
        table whose first line names its columns, identity and camera, perhaps name, in any order;
        or a list of image names that say identity and camera, as `read_list` reads it.

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
    >>> side.labels.identity, side.labels.camera, side.names
    (array([17,  9]), array([6, 7]), ['000001.jpg', '000002.jpg'])
    """
    path = Path(path)
    if path.suffix.lower() == ".npy":
        return NamedLabels(_of_columns(path))
    lines = read_lines(path, "labels, one line per image")
    first = next((line for line in lines if line.strip()), "")
    columns = [COLUMNS.get(word.lower(), "") for word in _words(first)]
    if "identity" in columns:
        return _of_table(path, lines, columns)
    labels = read_list(path)
    names = [max(_words(line), key=len) for line in lines if line.strip()]
    return NamedLabels(Labels(labels.identity, labels.camera, name=names), names)


def _of_columns(path: Path) -> Labels:
    value = next(iter(read_contents(path).values.values()))
    if len(value.shape) != 2 or value.shape[1] != 2:
        raise InputError(path, "two columns, camera and identity, a row an image",
                         f"an array of shape {value.shape}")
    array = value.load()
    camera, identity = (as_integers(array[:, k], f"{path}: column {k + 1}") for k in (0, 1))
    if len(np.unique(camera)) > len(np.unique(identity)):
        warn(f"{path}: {len(np.unique(camera))} cameras and {len(np.unique(identity))} "
             "identities; the first column is the camera, the second the identity")
    return Labels(identity, camera)


def _of_table(path: Path, lines: Sequence[str], columns: list[str]) -> NamedLabels:
    for column, fits in (("identity", (1,)), ("camera", (1,)), ("name", (0, 1))):
        if columns.count(column) not in fits:
            raise InputError(f"{path}: line 1", "one column of each of identity and camera, and "
                             "name where there is one", f"{columns.count(column)} for {column}",
                             "without cameras, give each image camera 0")
    table: dict[str, list[str]] = {column: [] for column in columns}
    n_header = 1 + next(k for k, line in enumerate(lines) if line.strip())
    for number, line in enumerate(lines[n_header:], n_header + 1):
        words = _words(line)
        if not words:
            continue
        if len(words) != len(columns):
            raise InputError(f"{path}: line {number}", f"{len(columns)} columns, as in the first "
                             "line", len(words))
        for column, word in zip(columns, words):
            if column in ("identity", "camera") and not re.fullmatch("-?[0-9]{1,18}", word):
                raise InputError(
                    f"{path}: line {number}", f"a whole number for {column}", repr(word[:40]))
            table[column].append(word)
    identity, camera = (np.array(list(map(int, table[column])), dtype=np.int64)
                        for column in ("identity", "camera"))
    names = table.get("name")
    return NamedLabels(Labels(identity, camera, name=names), names)


def _words(line: str) -> list[str]:
    return line.replace(",", " ").split()
