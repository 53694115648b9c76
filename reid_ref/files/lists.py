"""Lists from files: ranked lists, index lists (as VeRi-776 has them), groups of queries.

Conventions of ranked lists: numbers count from 1 in text, as AI City's server takes them, and from
0 in JSON and .npy, as Python writes them; `first` changes that (VisDA-2020: text from 0). An
image named by a number, such as 003684.jpg, is that number, if the gallery's names are not
known.

Source of the formats: AI City Challenge, track2.txt; Simon4Yan/VisDA2020 37893aa,
submit_val/README.md; cvwc2019/ATRWEvalScript 8996b83, atrwtool/plain.py.
"""
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, Integers, Texts, as_integers, errors_at
from reid_ref.arrays.texts import text_array
from reid_ref.disk import PathLike, read_json, read_lines, text_of, unique
from reid_ref.evaluation.lists import (
    SUFFIX, check_matrix, in_order_of_queries, find_place, places_of)
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files.formats import read_contents
from reid_ref.files.stored_arrays import StoredArray
from reid_ref.files.tables import lists_of
from reid_ref.labels import Candidates, IndexLists, Labels
from reid_ref.ranking.ranked_lists import RankedLists

_LISTS = "ranked lists, one line per query"
_OF_IMAGES = "for lists of images, name the gallery's labels after --labels, too"
_NUMBERS = re.compile("[0-9]{1,18}(?: [0-9]{1,18})*")
_NUMBERED_IMAGE = re.compile(f"(?<=[0-9]){SUFFIX}(?= |$)", re.IGNORECASE)


def read_index_lists(good: PathLike, junk: PathLike) -> IndexLists:
    """Read two text files of gallery numbers, one line per query, counted from 1.

    Parameters
    ----------
    good, junk : str or path
        Such as VeRi-776's gt_index.txt and jk_index.txt; an empty line is an empty list.

    Returns
    -------
    IndexLists
        Counted from 0.

    Raises
    ------
    InputError
        A file that cannot be read, or a line that is not a list of numbers from 1.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [Path(folder, name) for name in ("good.txt", "junk.txt")]
    ...     for path, text in zip(paths, ("2 3\\n1\\n", "1\\n\\n")):
    ...         _ = path.write_text(text)
    ...     read_index_lists(*paths).good
    (array([1, 2]), array([0]))
    """
    lists = [[_numbers(line.split(), f"{path}: line {number}", 1) for number, line in enumerate(
        read_lines(Path(path), "gallery numbers, one line per query"), 1)]
        for path in (good, junk)]
    if len(lists[0]) != len(lists[1]):
        raise InputError(junk, f"{len(lists[0])} lines, as {good} has", len(lists[1]))
    return IndexLists(*lists)


def read_groups(path: PathLike) -> Texts:
    """Read the group of each query, one per line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tracklets.txt")
    ...     _ = path.write_text("0001C1T1\\n0001C1T1\\n0002C1T4\\n")
    ...     read_groups(path).tolist()
    ['0001C1T1', '0001C1T1', '0002C1T4']
    """
    expected = "identity, query, or a file with one group per query, a line each"
    groups = [line.strip() for line in read_lines(Path(path), expected)]
    if not groups or "" in groups:
        where = f"{path}: line {groups.index('') + 1}" if groups else path
        raise InputError(where, "one group per query, a line each", "nothing")
    return text_array(groups, path)


def read_n_good(path: PathLike) -> Integers:
    """Read how many good images exist for each query: one vector of whole numbers."""
    return read_contents(Path(path)).single(path, "one array, a number for each query").vector()


def read_ranked_lists(
        path: PathLike, n_query: int, query_names: Sequence[str] | None = None,
        gallery_names: Sequence[str] | None = None, first: int | None = None) -> RankedLists:
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
        return lists_of_array(next(iter(read_contents(path).values.values())), n_query, first or 0)
    if suffix == ".json":
        return _read_json(path, n_query, query_names, gallery_names, first or 0)
    return _read_text(path, n_query, query_names, gallery_names, 1 if first is None else first)


def _read_text(path: Path, n_query: int, query_names: Sequence[str] | None,
               gallery_names: Sequence[str] | None, first: int) -> RankedLists:
    text = text_of(path, _LISTS)
    if (named := lists_of(path, text)) is not None:
        return _parsed(in_order_of_queries(named[1], _names(query_names, path), str(path)),
                       partial(_named, f"{path}: the list of", query_names or ()),
                       gallery_names, first)
    lists = [line.replace(",", " ").split() for line in text.splitlines()]
    while lists and not lists[-1]:
        lists.pop()
    if not lists:
        raise InputError(path, _LISTS, "an empty file")
    where = partial(_numbered, f"{path}: line ", 1)
    if [] in lists:
        empty = lists.index([])
        raise InputError(where(empty), f"the list of query {empty + 1}", "an empty line",
                         "JSON can hold a list without images")
    if len(lists) == n_query + 1 and not re.match("[0-9]", lists[0][0]) and find_place(
            places_of(gallery_names or (), "the gallery's labels"), lists[0][0]) is None:
        raise InputError(where(0), "a ranked list", "a header of no known form", "leave it out, "
                         "or name the columns query, rank1, rank2, ... or query, image, score")
    _check_number(len(lists), n_query, where(min(len(lists), n_query)), "lines")
    return _parsed(lists, where, gallery_names, first)


def _read_json(path: Path, n_query: int, query_names: Sequence[str] | None,
               gallery_names: Sequence[str] | None, first: int) -> RankedLists:
    value = read_json(path, "ranked lists as JSON", what="query")
    where: Callable[[int], str] = partial(_numbered, f"{path}: list ", 1)
    by_id = isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
    if by_id:
        value = _by_id(value, path)
    if isinstance(value, Mapping):
        query_names = _names(query_names, path)
        value = in_order_of_queries(value, query_names, str(path))
        where = partial(_named, f"{path}: the list of", query_names)
    if not isinstance(value, list) or not all(isinstance(images, list) for images in value):
        raise InputError(path, "a list of ranked lists, one per query, or an object of query name "
                         "to list", json.dumps(value)[:40])
    if not any(value):
        raise InputError(path, "ranked lists", "no image in any of them")
    _check_number(len(value), n_query, str(path), "lists")
    if by_id or isinstance(next(filter(None, value))[0], str):
        # Names that are numbers alone count images from 1, as in text.
        return _parsed([list(map(str, images)) for images in value], where, gallery_names, 1)
    return RankedLists([_from_first(as_integers(images, where(k)), where(k), first)
                        for k, images in enumerate(value)], where, partial(_numbered, "", first))


def lists_of_array(array: StoredArray, n_query: int, first: int = 0) -> RankedLists:
    """Return the rows of an array as ranked lists; rows of a .npy file stay in the file."""
    path, matrix = array.where, array.lazy()
    check_matrix(matrix, path)
    _check_number(len(matrix), n_query, path, "rows")
    if not matrix.size:
        raise InputError(path, "ranked lists", "an array without numbers")
    where = partial(_numbered, f"{path}: row ", 1)
    if first:
        matrix = np.asarray(matrix, dtype=np.int64)
        for row in np.flatnonzero((matrix == 0).any(axis=1)).tolist():
            raise InputError(where(row), "numbers from 1", 0)
        matrix = np.where(matrix == -1, -1, matrix - 1)
    return RankedLists(matrix, where, partial(_numbered, "", first))


def candidates_of_array(array: StoredArray, n_query: int, n_gallery: int) -> Candidates:
    """Return the candidates of each query: a mask, or rows of gallery indices filled up with -1.
    """
    values = array.read()
    if values.ndim != 2 or len(values) != n_query:
        raise InputError(array.where, f"a mask of shape (n_query, n_gallery) = "
                         f"{(n_query, n_gallery)}, or a row of gallery indices for each query",
                         f"shape {values.shape}")
    is_mask = values.shape[1] == n_gallery and np.isin(values, (0, 1)).all()
    with errors_at(array.where):
        if is_mask or values.dtype == np.bool_:
            return Candidates(values.astype(np.bool_))
        return Candidates([row[row != -1] for row in values], n_gallery)


def _names(query_names: Sequence[str] | None, path: Path) -> Sequence[str]:
    if query_names is None:
        raise InputError(path, "a list of lists", "lists by the names of queries, and the labels "
                         "have no names", "name label files with names")
    return query_names


def lists_of_identities(path: PathLike, query: Labels) -> ResultFile:
    """Read ranked lists of identities, of queries whose true ones are known.

    The gallery has one image of each identity; where a list has one again, the place counts, but
    not as another match. So only Rank-k and MRR@k are defined.

    Raises
    ------
    InputError
        A file that cannot be read, is of no form with names (`tables.LISTS`), or lacks a query.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "lists.csv")
    ...     _ = path.write_text("Image,Id\\na.jpg,w_1 w_1 w_2\\n")
    ...     data = lists_of_identities(path, Labels(["w_2"], name=["a.jpg"]))
    >>> data.ranked.lists, data.gallery.texts("identity").tolist()
    ([array([1, 2, 0])], ['w_2', 'w_1', '(again)'])
    """
    path = Path(path)
    named = lists_of(path, text_of(path, _LISTS))
    if named is None:
        raise InputError(path, "lists of identities with a header, a row for each query",
                         "no known header", _OF_IMAGES)
    names = _names(query.names(), path)
    lists = in_order_of_queries(named[1], names, str(path))
    true = list(map(str, query.texts("identity").tolist()))
    listed = [word for words in lists for word in words]
    if {*true}.isdisjoint(listed):
        raise InputError(path, "lists of the identities of queries", "none of them in any list",
                         _OF_IMAGES)
    known = dict.fromkeys([*true, *listed])
    place = {word: k for k, word in enumerate(known)}
    again = max((len(words) - len(set(words)) for words in lists), default=0)
    ranked = []
    for words in lists:
        spare = iter(range(len(known), len(known) + again))
        ranked.append(np.array([place[word] if word not in words[:k] else next(spare)
                                for k, word in enumerate(words)], dtype=np.int64))
    gallery = Labels([*known, *["(again)"] * again])
    return ResultFile("ranked lists of identities, without a gallery: only Rank-k and MRR@k are "
                      "defined", Labels(true, name=query.name), gallery,
                      ranked=RankedLists(ranked, partial(_named, f"{path}: the list of", names)))


def _numbered(prefix: str, first: int, k: int) -> str:
    return f"{prefix}{k + first}"


def _named(prefix: str, names: Sequence[str], k: int) -> str:
    return f"{prefix} {names[k]!r}"


def _check_number(n: int, n_query: int, where: str, what: str) -> None:
    if n != n_query:
        reason = "a query is missing" if n < n_query else ""
        raise InputError(
            where, f"{n_query:,} {what}, one for each query of the labels", f"{n:,}", reason)


def _parsed(lists: Iterable[Sequence[str]], where: Callable[[int], str],
            gallery_names: Sequence[str] | None, first: int) -> RankedLists:
    """Read lists of names if the first word is a name; else of numbers."""
    names = [] if gallery_names is None else list(gallery_names)
    places = places_of(names, "the gallery's labels")
    sample = next(filter(None, lists))[0]
    if find_place(places, sample) is not None or not re.fullmatch(f"[0-9]+(?:{SUFFIX})?", sample):
        return RankedLists([_by_name(words, where(k), places) for k, words in enumerate(lists)],
                           where, names.__getitem__)
    return RankedLists([_numbers(words, where(k), first) for k, words in enumerate(lists)],
                       where, partial(_numbered, "", first))


def _by_name(words: Sequence[str], where: str, places: Mapping[str, int]) -> Integers:
    images = [find_place(places, word) for word in words]
    if None in images:
        word = repr(words[images.index(None)][:60])
        if places:
            raise InputError(where, got=f"{word} is no name of a gallery image in the labels",
                             remedy="are these lists of this gallery?")
        raise InputError(where, got=f"{word} is no number, and the labels have no names",
                         remedy="name a label file of the gallery that has names")
    return np.array(images, dtype=np.int64)


def _numbers(words: Sequence[str], where: str, first: int) -> Integers:
    line = _NUMBERED_IMAGE.sub("", " ".join(words))
    if words and not _NUMBERS.fullmatch(line):
        wrong = next(word for word in words
                     if not _NUMBERS.fullmatch(_NUMBERED_IMAGE.sub("", word)))
        raise InputError(where, f"gallery numbers from {first}", repr(wrong[:40]))
    return _from_first(np.array(list(map(int, line.split())), dtype=np.int64), where, first)


def _from_first(numbers: Integers, where: str, first: int) -> Integers:
    if first and (numbers == 0).any():
        raise InputError(where, "gallery numbers from 1", 0, "index lists count from 1; for "
                         "ranked lists from 0, set first=0 (--numbers-from 0)")
    return numbers - first


def _by_id(rows: list[dict[str, Any]], path: Path) -> dict[str, Any]:
    """Return ATRW's rows as query name to list."""
    for k, row in enumerate(rows):
        if not {"query_id", "ans_ids"} <= row.keys():
            raise InputError(f"{path}: list {k + 1}", "an object with query_id and ans_ids",
                             ", ".join(row) or "none")
    return unique(path, "query", [(str(row["query_id"]), row["ans_ids"]) for row in rows])
