"""Arrays of the images of both sides: which rows are the queries', and which the gallery's."""
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, as_integers, check_length
from reid_ref.files.layouts import HELD_OUT, IS_QUERY, TRAINING, plain_name
from reid_ref.files.stored_arrays import StoredArray

Named = Mapping[str, list[StoredArray]]
#: The rows of both sides, if they are of the same images.
SAME_IMAGES = {"query": slice(None), "gallery": slice(None)}


#: What says which images of one set are the queries, for messages.
ONE_SET = ("num_query (--map num_query=N), or is_query; or say ignored=itself (--set "
           "ignored=itself): every image against all others")


def only(named: Named, role: str) -> StoredArray:
    """Return the array of a role; an error if there are two."""
    arrays = named[role]
    if len(arrays) > 1:
        raise InputError(arrays[1].where, f"one array for {role}", f"this one and "
                         f"{arrays[0].where}",
                         "give one result at a time, or choose by names= (--map)")
    return arrays[0]


def rows_of_sides(named: Named, whole: Mapping[str, StoredArray],
                  same_images: bool = False) -> dict[str, Any]:
    """Return which images of both sides' arrays are of each side; nothing if nothing says it.

    `same_images`: all are of both sides, unless each side has a half.
    """
    for array in whole.values():
        if array.refusal:
            raise array.refusal
    lengths = {array.where: array.shape[0] if column == "features" and array.shape
               else math.prod(array.shape) for column, array in whole.items()}
    if not lengths:
        return {}
    total = next(iter(lengths.values()))
    for where, n in lengths.items():
        check_length(n, total, where)
    rows = (_by_names(named) if {"query_paths", "gallery_paths", "paths"} <= named.keys() else
            _flagged(named, total) if "is_query" in named else
            _counted(named, total, same_images))
    if same_images and len({len(np.arange(total)[images]) for images in rows.values()}) != 1:
        return SAME_IMAGES
    return rows


def _by_names(named: Named) -> dict[str, Any]:
    """Return the images of each side by the names that it has, among those of all images."""
    every = only(named, "paths")
    names, sides = every.names().tolist(), {}
    row_of = {name: row for row, name in enumerate(names)}
    if twice := {name for row, name in enumerate(names) if row_of[name] != row}:
        raise InputError(every.where, "each image once", f"{min(twice)!r} twice")
    for side in ("query", "gallery"):
        asked = only(named, f"{side}_paths")
        if lacking := set(asked.names().tolist()) - row_of.keys():
            raise InputError(every.where, f"{min(lacking)!r}, of {asked.where}", "no such name")
        sides[side] = np.array([row_of[name] for name in asked.names().tolist()])
    return sides


def _flagged(named: Named, total: int) -> dict[str, Any]:
    """Return the images of each side by a flag for each image."""
    flag = only(named, "is_query")
    if flag.text:
        return _in_words(flag, total)
    is_query = flag.load().reshape(-1)
    check_length(len(is_query), total, flag.where)
    if not np.isin(is_query, (0, 1)).all() or not 0 < is_query.sum() < total:
        raise InputError(flag.where, "1 for each query and 0 for each gallery image, or query "
                         "and gallery in words", ", ".join(map(str, np.unique(is_query)[:5])))
    return {"query": _slice(np.flatnonzero(is_query)),
            "gallery": _slice(np.flatnonzero(is_query == 0))}


def _counted(named: Named, total: int, same_images: bool) -> dict[str, Any]:
    """Return the images of each side by the number of queries; nothing if it is not known."""
    if "num_query" in named:
        count = only(named, "num_query")
        number, where = count.load().reshape(-1), count.where
        n = int(as_integers(number, where)[0]) if number.size == 1 else 0
    else:
        matrix = next((named[role][0] for role in (
            "query_features", "distances", "similarity", "ranked_lists") if role in named), None)
        if matrix is None:
            return {}
        n, where = matrix.shape[0] if matrix.shape else 0, matrix.where
        if n == total and same_images:
            return {}
        if matrix.shape == (total, total):
            raise InputError(where, ONE_SET, f"a matrix of all {total:,} images")
    if not 0 < n < total:
        raise InputError(where, f"a number of queries from 1 to {total - 1}, of {total} images", n)
    return {"query": slice(0, n), "gallery": slice(n, None)}


def _in_words(array: StoredArray, total: int) -> dict[str, Any]:
    """Return the images of each side by a word for each image.

    The queries are those called so, or else what is held out; the gallery is what is called so,
    or else the one other word, which is that of training only if there is no other. Images without
    a word are of neither side, nor are those for training next to a gallery.
    """
    words, place = np.unique(array.names(), return_inverse=True)
    check_length(len(place), total, array.where)
    plain = list(map(plain_name, words.tolist()))
    known = {"1": True, "true": True, "0": False, "false": False, **IS_QUERY}
    queries = {word for word in plain if known.get(word)} or HELD_OUT.intersection(plain)
    gallery = {word for word in plain if known.get(word) is False and word not in HELD_OUT}
    unknown = {*plain} - queries - gallery - {""}
    if not gallery and len(remaining := unknown - TRAINING or unknown) == 1:
        gallery, unknown = remaining, unknown - remaining
    if not queries or not gallery or unknown - TRAINING:
        raise InputError(array.where, "query and gallery, or test and one other word, such as "
                         "train or database", ", ".join(map(repr, words.tolist()[:8])),
                         "name a column that says which images are queries: --map is_query=NAME")
    return {side: _slice(np.flatnonzero(np.isin(plain, [*of_side])[place])) for side, of_side in (
        ("query", queries), ("gallery", gallery))}


def _slice(index: Any) -> Any:
    """Return consecutive indices as a slice, which reads no other rows."""
    return slice(int(index[0]), int(index[-1]) + 1) if np.ptp(index) + 1 == len(index) else index
