"""Ranked lists from a file: text, JSON or .npy, as servers take them and other engines write them.

Conventions: numbers count from 1 in text, as AI City's server takes them, and from 0 in JSON and
.npy, as Python writes them; `first` says otherwise (VisDA-2020: text from 0). An image named by a
number, such as 003684.jpg, is that number, where the gallery's names are not known.

Source of the formats: AI City Challenge, track2.txt; Simon4Yan/VisDA2020 42c2b9d,
submit_val/README.md; cvwc2019/ATRWEvalScript 8996b83, atrwtool/plain.py.
"""
from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, Integers
from reid_ref.arrays.memory import check_fits
from reid_ref.disk import read_lines
from reid_ref.files.formats import read_contents
from reid_ref.ranking.ranked_lists import (
    SUFFIX, RankedLists, check_matrix, in_order_of_queries, place, places_of)

_TEXT_FACTOR = 8     # bytes of memory for each byte of text while its lines are read
_NUMBERS = re.compile("[0-9]{1,18}(?: [0-9]{1,18})*")
_NUMBERED_IMAGE = re.compile(f"(?<=[0-9]){SUFFIX}(?= |$)", re.IGNORECASE)


def read_ranked_lists(path: str | os.PathLike[str], n_query: int,
                      query_names: Sequence[str] | None = None,
                      gallery_names: Sequence[str] | None = None,
                      first: int | None = None) -> RankedLists:
    """Read one ranked list for each query.

    Parameters
    ----------
    path : str or path
        Text: a line for each query, gallery numbers or image names between blanks, tabs or
        commas. ``.json``: a list of lists; an object of query name to list; or a list of objects
        with ``query_id`` and ``ans_ids``, which are names (ATRW). ``.npy``: whole numbers, a row
        for each query, shorter rows filled up with -1.
    n_query : int
    query_names, gallery_names : sequence of str, optional
        In the order of the labels.
    first : int, optional
        What the first gallery image's number is: 0 or 1.

    Returns
    -------
    RankedLists
        Arrays of a .npy file are still in the file.

    Raises
    ------
    InputError
        A file that cannot be read, or is empty; not one list for each query; a word that is no
        number and no name; an unknown query. The line is named.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "track2.txt")
    ...     _ = path.write_text("000003.jpg 000001.jpg\\n2 1\\n")
    ...     read_ranked_lists(path, n_query=2).lists
    [array([2, 0]), array([1, 0])]
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return _read_matrix(path, n_query, 0 if first is None else first)
    if suffix == ".json":
        return _read_json(path, n_query, query_names, gallery_names, first or 0)
    return _read_text(path, n_query, gallery_names, 1 if first is None else first)


def read_n_good(path: str | os.PathLike[str]) -> Integers:
    """Read how many good images exist for each query: one vector of whole numbers."""
    values = read_contents(Path(path)).values
    if len(values) != 1:
        raise InputError(path, "one array, a number for each query", ", ".join(values) or "none")
    value, = values.values()
    return value.vector()


def _read_text(path: Path, n_query: int, gallery_names: Sequence[str] | None,
               first: int) -> RankedLists:
    lines = [" ".join(line.replace(",", " ").split())
             for line in _lines(path, "ranked lists, one line a query")]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise InputError(path, "ranked lists, one line a query", "an empty file")

    where = partial(_place, f"{path}: line")
    for k, line in enumerate(lines):
        if not line:
            raise InputError(where(k), f"the list of query {k + 1}", "an empty line",
                             "JSON can hold a list without images")
    _check_number(len(lines), n_query, f"{path}: line {min(len(lines), n_query) + 1}", "lines")
    return _parsed((line.split() for line in lines), lines[0].split(" ", 1)[0], where,
                   gallery_names, first)


def _read_json(path: Path, n_query: int, query_names: Sequence[str] | None,
               gallery_names: Sequence[str] | None, first: int) -> RankedLists:
    value = _load_json(path)
    where = partial(_place, f"{path}: list")
    by_id = isinstance(value, list) and all(isinstance(row, dict) for row in value) and value
    if by_id:
        value = _by_id(value, path)
    if isinstance(value, Mapping):
        if query_names is None:
            raise InputError(path, "a list of lists", "lists by the names of queries, and the "
                             "labels say no names", "name label files with names")
        value = in_order_of_queries(value, query_names, str(path))
        where = partial(_name, f"{path}: the list of", query_names)
    if not isinstance(value, list) or not all(isinstance(images, list) for images in value):
        raise InputError(path, "a list of ranked lists, one a query, or an object of query name "
                         "to list", json.dumps(value)[:40])
    if not any(value):
        raise InputError(path, "ranked lists", "no image in any of them")
    _check_number(len(value), n_query, str(path), "lists")
    sample = next(images for images in value if images)[0]
    if isinstance(sample, int) and not by_id:
        return RankedLists([_whole(images, where(k), first) for k, images in enumerate(value)],
                           where, partial(_number, first))
    # Names that are numbers alone count images from 1, as in text.
    return _parsed((list(map(str, images)) for images in value), str(sample), where,
                   gallery_names, 1)


def _read_matrix(path: Path, n_query: int, first: int) -> RankedLists:
    matrix = next(iter(read_contents(path).values.values())).lazy()
    check_matrix(matrix, str(path))
    _check_number(len(matrix), n_query, str(path), "rows")
    if not matrix.size:
        raise InputError(path, "ranked lists", "an array without numbers")
    where = partial(_place, f"{path}: row")
    if first:
        matrix = np.asarray(matrix, dtype=np.int64)
        for row in np.flatnonzero((matrix == 0).any(axis=1)).tolist():
            raise InputError(where(row), "numbers from 1", 0)
        matrix = np.where(matrix == -1, -1, matrix - 1)
    return RankedLists(matrix, where, partial(_number, first))


def _lines(path: Path, expected: str) -> list[str]:
    if path.is_file():
        check_fits(_TEXT_FACTOR * path.stat().st_size, str(path), "text",
                   "save complete lists as .npy")
    return read_lines(path, expected)


def _place(prefix: str, k: int) -> str:
    return f"{prefix} {k + 1}"


def _name(prefix: str, names: Sequence[str], k: int) -> str:
    return f"{prefix} {names[k]!r}"


def _number(first: int, k: int) -> str:
    return str(k + first)


def _check_number(n: int, n_query: int, where: str, what: str) -> None:
    if n != n_query:
        reason = "a query is missing" if n < n_query else "are these lists of another benchmark?"
        raise InputError(
            where, f"{n_query:,} {what}, one for each query of the labels", f"{n:,}", reason)


def _parsed(lists: Iterable[Sequence[str]], sample: str, where: Callable[[int], str],
            gallery_names: Sequence[str] | None, first: int) -> RankedLists:
    """Read lists of names where the first word, `sample`, is a name; else of numbers."""
    names = [] if gallery_names is None else list(gallery_names)
    places = places_of(names, "the gallery's labels")
    if place(places, sample) is not None or not re.fullmatch(f"[0-9]+(?:{SUFFIX})?", sample):
        return RankedLists([_by_name(words, where(k), places) for k, words in enumerate(lists)],
                           where, names.__getitem__)
    return RankedLists([_by_number(words, where(k), first) for k, words in enumerate(lists)],
                       where, partial(_number, first))


def _by_name(words: Sequence[str], where: str, places: Mapping[str, int]) -> Integers:
    images = [place(places, word) for word in words]
    if None in images:
        word = repr(words[images.index(None)][:60])
        if places:
            raise InputError(where, got=f"{word} is no name of a gallery image in the labels",
                             remedy="are these lists of this gallery?")
        raise InputError(where, got=f"{word} is no number, and the labels say no names",
                         remedy="name a label file of the gallery that has names")
    return np.array(images, dtype=np.int64)


def _by_number(words: Sequence[str], where: str, first: int) -> Integers:
    line = _NUMBERED_IMAGE.sub("", " ".join(words))
    if not _NUMBERS.fullmatch(line):
        wrong = next(word for word in words
                     if not _NUMBERS.fullmatch(_NUMBERED_IMAGE.sub("", word)))
        raise InputError(
            where, f"gallery numbers from {first}, as in the first line", repr(wrong[:60]))
    return _from_first(np.array(list(map(int, line.split(" "))), dtype=np.int64), where, first)


def _whole(images: list[Any], where: str, first: int) -> Integers:
    for word in images:
        if type(word) is not int or abs(word) >= 2**62:
            raise InputError(where, f"whole numbers from {first}", json.dumps(word)[:40])
    return _from_first(np.array(images, dtype=np.int64), where, first)


def _from_first(numbers: Integers, where: str, first: int) -> Integers:
    if first and (numbers == 0).any():
        raise InputError(where, "gallery numbers from 1", 0, "where numbers count from 0, say so "
                         "(first=0, at the command line --numbers-from 0)")
    return numbers - first


def _load_json(path: Path) -> Any:
    text = "\n".join(_lines(path, "ranked lists as JSON"))
    if not text.strip():
        raise InputError(path, "ranked lists as JSON", "an empty file")
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, path))
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(path, "JSON", f"something else ({error})", "write it again") from None


def _once(pairs: list[tuple[str, Any]], path: Path) -> dict[str, Any]:
    lists = dict(pairs)
    if len(lists) < len(pairs):
        (twice, _), = Counter(name for name, _ in pairs).most_common(1)
        raise InputError(path, "each query once", f"{twice!r} twice")
    return lists


def _by_id(rows: list[dict[str, Any]], path: Path) -> dict[str, Any]:
    """Return ATRW's rows as query name to list."""
    for k, row in enumerate(rows):
        if not {"query_id", "ans_ids"} <= row.keys():
            raise InputError(f"{path}: list {k + 1}", "an object with query_id and ans_ids",
                             ", ".join(row) or "none")
    return _once([(str(row["query_id"]), row["ans_ids"]) for row in rows], path)
