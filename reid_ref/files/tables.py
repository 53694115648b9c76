"""Tables with a header (.csv, .tsv): labels, distances between names, and lists of each query.

A table of labels has one row per image and is known by its columns, in any order, by the names
that arrays have (`layouts`): identity, split, path or image_id, camera. One of distances has names
in its first row and its first column. Lists are `LISTS`, one record for each form.
"""
import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reid_ref.arrays import Array, InputError, errors_at
from reid_ref.arrays.texts import text_array
from reid_ref.disk import text_of
from reid_ref.files.layouts import NAMES, plain_name
from reid_ref.files.stored_arrays import StoredArray, StoredLabels
from reid_ref.labels import Labels

Rows = list[list[str]]
#: What says where the identity of an image is from, if only its name tells it.
BY_NAME = "the part of each name before its last underscore"
_NUMBER = re.compile(
    r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?|[-+]?inf(?:inity)?|nan", re.IGNORECASE)
_RANK = re.compile(r"(?:rank|top|match|pred[a-z]*|image|id)[ _-]?[0-9]+", re.IGNORECASE)
_QUERY = {"query", "queryid", "qid", "queryname", "queryimage", "queryimageid"}
_IMAGE = {"image", "imageid", "databaseimageid", "gallery", "galleryid", "galleryname", "docid",
          "galleryimage", "galleryimageid", "match", "name"}
#: What orders a list, by plain name, and whether the largest comes first.
_ORDER = {"score": True, "similarity": True, "confidence": True, "rank": False, "distance": False}


def rows_of(path: Path, text: str | None = None) -> Rows:
    """Return the cells of the lines that are not empty, each as many as the first has."""
    text = text_of(path, "a table, a row on each line") if text is None else text
    head = text.lstrip("\n").partition("\n")[0]
    between = next((sign for sign in "\t,;" if sign in head), " ")
    rows = [[cell.strip() for cell in row] for row in csv.reader(
        io.StringIO(text), delimiter=between, skipinitialspace=between == " ")]
    numbers = [number for number, row in enumerate(rows, 1) if any(row)]
    rows = [row for row in rows if any(row)]
    for number, row in zip(numbers, rows):
        if len(row) != len(rows[0]):
            raise InputError(f"{path}: line {number}", f"{len(rows[0])} columns, as in the first "
                             "line", len(row))
    return rows


def are_numbers(cells: Iterable[str]) -> bool:
    """Return whether all cells are numbers."""
    return all(map(_NUMBER.fullmatch, cells))


def arrays_of(path: Path, rows: Rows) -> dict[str, StoredArray]:
    """Return the columns of a table by their names, or distances and the names of both sides.

    Raises
    ------
    InputError
        No row below the header, two columns of one name, or a distance that is no number.
    """
    head, *body = rows
    if not body:
        raise InputError(path, "a row for each image below the header", "none")
    known = {NAMES.get(plain_name(cell)) for cell in head}
    if not {"identity", "is_query"} & known:
        if form := _form_of(head):
            raise InputError(path, "labels, or distances between names", f"ranked lists, "
                             f"{form.title}", "name the tables of their labels with --labels")
        if len(head) > 2 and body and are_numbers(body[0][1:]):
            return _distances(path, head[1:], body)
    for name in head:
        if name and head.count(name) > 1:
            raise InputError(f"{path}: line 1", "each column once", f"{name!r} twice")
    named = dict(zip(head, zip(*body)))
    named.pop("", None)  # an index
    return {"paths" if plain_name(name) == "imageid" and "paths" not in known else name:
            StoredArray.of(f"{path}: {name}", text_array(column, f"{path}: {name}"))
            for name, column in named.items()}


def _distances(path: Path, gallery: list[str], body: Rows) -> dict[str, StoredArray]:
    for number, row in enumerate(body, 2):
        if not are_numbers(row[1:]):
            raise InputError(f"{path}: line {number}", "a name and distances",
                             repr(next(cell for cell in row[1:] if not are_numbers([cell]))))
    values: dict[str, Array] = {"distances": np.array(
        [row[1:] for row in body], dtype=np.float64)}
    sides = {"query": [row[0] for row in body], "gallery": gallery}
    for side, names in sides.items():
        values[f"{side}_paths"] = text_array(names, f"{path}: names of the {side}")
    if all("_" in name.strip("_") for names in sides.values() for name in names):
        values |= {f"{side}_identity": np.array([name.rpartition("_")[0] for name in names])
                   for side, names in sides.items()}
    return {key: StoredArray.of(f"{path}: {BY_NAME if key.endswith('identity') else key}", value)
            for key, value in values.items()}


def labels_of(path: Path, rows: Rows) -> Labels:
    """Return the labels of a table of one side, with a column of identities."""
    columns: dict[str, StoredArray] = {}
    for name, array in arrays_of(path, rows).items():
        role = NAMES.get(plain_name(name), "")
        column = "name" if role == "paths" else role
        if column in Labels.__dataclass_fields__:
            if column in columns:
                raise InputError(f"{path}: line 1", f"one column for {column}", f"{name!r} and "
                                 f"{columns[column].where.rpartition(': ')[2]!r}")
            columns[column] = array
    if "identity" not in columns:
        raise InputError(f"{path}: line 1", "a column for identity", ", ".join(rows[0]))
    return StoredLabels(columns.pop("identity"), columns.pop("camera", None), columns).load()


# ---------------------------------------------------------------- ranked lists

class ListForm(NamedTuple):
    """A form of ranked lists that names the query of each.

    Parameters
    ----------
    title : str
    fits : callable
        Whether the cells of the first line are those of this form.
    pairs : callable
        All rows to query and word of each entry, the nearest first.
    """

    title: str
    fits: Callable[[list[str]], bool]
    pairs: Callable[[Rows], Iterable[Sequence[str]]]


def _places(head: list[str]) -> list[int | None]:
    """Return which columns name the query, the image, and what orders them."""
    plain = [plain_name(cell) for cell in head]
    return [next((k for k, name in enumerate(plain) if name in names), None)
            for names in (_QUERY, _IMAGE, _ORDER)]


def _long(rows: Rows) -> Iterable[Sequence[str]]:
    query, image, order = (place or 0 for place in _places(rows[0]))
    return _sorted([(row[query], row[image], row[order]) for row in rows[1:]],
                   _ORDER[plain_name(rows[0][order])])


def _is_wide(head: list[str]) -> bool:
    names = {plain_name(cell) for cell in head}
    return len(head) > 1 and all(map(_RANK.fullmatch, head[1:])) or len(head) == 2 and all(
        name in _QUERY or NAMES.get(name) in ("identity", "paths", "video", "ranked_lists")
        for name in names)


def _wide(rows: Rows) -> Iterable[Sequence[str]]:
    return ((row[0], word) for row in rows[1:] for cell in row[1:]
            for word in cell.split() or [""])


def _sorted(entries: Sequence[tuple[str, str, str]],
            largest_first: bool) -> Iterable[Sequence[str]]:
    """Return query and image by the third, equal ones in the order of the file."""
    for query, image, value in entries:
        if not are_numbers([value]):
            raise InputError(f"the row of {query} and {image}", "a number", repr(value))
    values = np.array([float(value) for _, _, value in entries])
    order = np.argsort(-values if largest_first else values, kind="stable")
    return (entries[k][:2] for k in order.tolist())


LISTS = (
    # DrivenData, where's whale-do (query_id, database_image_id, score)
    ListForm("a row for each query and image", lambda head: None not in _places(head), _long),
    ListForm("a run of TREC", lambda head: len(  # trec_eval
        head) == 6 and head[1].upper() in ("Q0", "0") and are_numbers(head[3:5]),
        lambda rows: _sorted([(row[0], row[2], row[4]) for row in rows], True)),
    # GREW (videoId, rank1, ...); Kaggle, humpback whales (Image, Id)
    ListForm("a row for each query", _is_wide, _wide))


def _form_of(head: list[str]) -> ListForm | None:
    return next((form for form in LISTS if form.fits(head)), None)


def lists_of(path: Path, text: str) -> tuple[str, dict[str, list[str]]] | None:
    """Return the form of lists in words, and those of each query; None if no form fits."""
    head = rows_of(path, text.lstrip("\n").partition("\n")[0])
    form = _form_of(head[0]) if head else None
    if form is None:
        return None
    lists: dict[str, list[str]] = {}
    with errors_at(path):
        for query, word in form.pairs(rows_of(path, text)):
            lists.setdefault(query, []).extend([word] if word else [])
    return form.title, lists
