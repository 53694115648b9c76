"""Named arrays → features, distances or ranked lists, and the labels of both sides.

Each array gets its role by the map of the user, else by its name (`layouts`). Arrays of all images
are split into query and gallery; labels that are missing come from the names of the images.
"""
from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, as_integers, check_choice, check_length, errors_at
from reid_ref.files.formats import Contents
from reid_ref.files.image_names import listed_names, names_in_folder, parse_names
from reid_ref.files.layouts import (
    BOXES, COLUMNS, FEATURES, IS_QUERY, LABELS, NAMES, SIDES, WHOLE, plain_name, role_of_array)
from reid_ref.files.stored_arrays import StoredArray

Files = Mapping[Path, Contents]
Named = Mapping[str, list[StoredArray]]
#: What is ranked, the first that is complete: roles, and words for them.
_RANKED = {FEATURES: "features, one row per image", ("features",): "features, one row per image",
           ("distances",): "distances, query x gallery", ("ranked_lists",): "ranked lists"}


@dataclass(frozen=True)
class Fields:
    """The arrays of a result by their roles, all of one side or distances, none missing.

    `title` says what is ranked, `used` where the arrays are from.
    """

    arrays: dict[str, StoredArray]
    title: str
    used: frozenset[str]


def fields_of_files(files: Files, names: Mapping[str, str], labels_alone: bool = False) -> Fields:
    """Return the arrays that make a result, or its labels, by their roles.

    Raises
    ------
    InputError
        An array that is missing, or two for one role.
    """
    named = _by_role(files, names, len(files) > 1 or labels_alone)
    ranked = () if labels_alone else next((
        roles for roles in sorted(_RANKED, key=names.keys().isdisjoint)
        if named.keys() >= set(roles)), FEATURES)
    matrices = FEATURES if ranked == ("features",) else ranked
    sided = [f"{side}_{column}" for side in SIDES for column in COLUMNS if column != "features"]
    arrays = {role: _only(named, role) for role in (*ranked, *sided)
              if role in named and role != "features"}
    used = {**arrays, **_of_both_sides(named, arrays, ranked)}
    whole = {column: array for column, array in used.items() if column in COLUMNS}
    rows = _rows_of_sides(named, whole)
    for column, array in whole.items():
        shared = replace(array, read=cache(array.read))     # it is read once for both sides
        for side, images in rows.items():
            arrays.setdefault(f"{side}_{column}", shared.part(images, column != "features"))
    by_name = [_add_labels_of_names(arrays, side) for side in SIDES]
    missing = [role for role in (*matrices, *LABELS) if role not in arrays]
    if missing:
        raise _lacking(files, missing, bool(ranked), bool(whole) and not rows)
    keys = ", ".join(Path(used[role].where.rpartition(": ")[2]).name for role in ranked)
    title = f"{_RANKED.get(ranked, 'labels')} ({keys})"
    return Fields(
        {role: array for role, array in arrays.items()
         if array.text or not role.endswith("paths")},
        title + (", labels by image names" if any(by_name) else ""),
        frozenset(array.where for array in (*used.values(), *(
            array for role in WHOLE for array in named.get(role, ()) if role != "distances"))))


def _of_both_sides(named: Named, arrays: Mapping[str, StoredArray],
                   ranked: tuple[str, ...]) -> dict[str, StoredArray]:
    """Return the arrays of the images of both sides, by column, where those of a side are missing.

    Without features, identity or camera among them, other columns are not of the same images.
    """
    whole = {column: _only(named, column) for column in COLUMNS
             if column in named and (column in ranked or column != "features")
             and not {f"{side}_{column}" for side in SIDES} <= arrays.keys()}
    needed = {"features", "identity", "camera"} | (
        set() if set(LABELS) <= arrays.keys() else {"paths"})
    return whole if needed & whole.keys() else {}


def _by_role(files: Files, names: Mapping[str, str], by_words: bool) -> Named:
    """Return the arrays that may have each role; what the user maps is alone.

    `by_words`: a name may have other words, and be the file's.
    """
    by_role: dict[str, list[StoredArray]] = {role: [] for role in names}
    keys = {}
    for path, contents in files.items():
        for key, value in contents.values.items():
            keys.update(dict.fromkeys(
                (key, path.name, path.stem) if len(contents.values) == 1 else (key,), value))
            role = (role_of_array(key, path, len(contents.values)) if by_words
                    else NAMES.get(plain_name(key)))
            if role and role not in names and not (role.endswith("paths") and value.numbers):
                by_role.setdefault(role, []).append(_turned(role, path, value, len(files) > 1))
    for role, name in names.items():
        by_role[role].append(_mapped(role, str(name), keys))
    mapped = {array.where for role in names for array in by_role[role]}
    return {role: kept for role, arrays in by_role.items() if (kept := [
        array for array in arrays if role in names or array.where not in mapped])}


def _turned(role: str, path: Path, value: StoredArray, several: bool) -> StoredArray:
    """Return a matrix with one row per image: separate .mat files have one column."""
    if several and path.suffix.lower() == ".mat" and role in (*FEATURES, "distances"):
        return value.T
    if role == "distances" and path.suffix.lower() in (".txt", ".csv", ".tsv"):
        return value.as_floats()
    return value


def _mapped(role: str, name: str, keys: Mapping[str, StoredArray]) -> StoredArray:
    """Return what the user maps to a role: an array; names of images in a folder or a text file;
    a number of queries.
    """
    path = Path(name)
    if name not in keys and role == "num_query" and name.isdecimal():
        return StoredArray.of(name, np.array(int(name)))
    if name not in keys and role.endswith("paths") and path.exists():
        listed = names_in_folder(path, path) if path.is_dir() else listed_names(path)
        return StoredArray.of(name, np.array(listed, dtype=np.str_))
    check_choice(name, f"names: {role}", keys)
    return keys[name]


def _only(named: Named, role: str) -> StoredArray:
    arrays = named[role]
    if len(arrays) > 1:
        raise InputError(arrays[1].where, f"one array for {role}", f"this one and "
                         f"{arrays[0].where}", "leave one out, or choose by names= (--map)")
    return arrays[0]


def _rows_of_sides(named: Named, whole: Mapping[str, StoredArray]) -> dict[str, Any]:
    """Return which images of both sides' arrays are of each side; nothing if nothing says it."""
    lengths = {array.where: array.shape[0] if column == "features" and array.shape
               else math.prod(array.shape) for column, array in whole.items()}
    if not lengths:
        return {}
    total = next(iter(lengths.values()))
    for where, n in lengths.items():
        check_length(n, total, where)
    if "is_query" in named:
        flag = _only(named, "is_query")
        is_query = _flags(flag)
        check_length(len(is_query), total, flag.where)
        if not np.isin(is_query, (0, 1)).all() or not 0 < is_query.sum() < total:
            values = flag.names() if flag.text else is_query
            raise InputError(flag.where, "1 for each query and 0 for each gallery image, or query "
                             "and gallery in words", ", ".join(map(str, np.unique(values)[:5])))
        return {"query": _slice(np.flatnonzero(is_query)),
                "gallery": _slice(np.flatnonzero(is_query == 0))}
    if "num_query" in named:
        count = _only(named, "num_query")
        number, where = count.load().reshape(-1), count.where
        n = int(as_integers(number, where)[0]) if number.size == 1 else 0
    else:
        matrix = next((named[role][0] for role in ("query_features", "distances", "ranked_lists")
                       if role in named), None)
        if matrix is None:
            return {}
        n, where = matrix.shape[0] if matrix.shape else 0, matrix.where
    if not 0 < n < total:
        raise InputError(where, f"a number of queries from 1 to {total - 1}, of {total} images", n)
    return {"query": slice(0, n), "gallery": slice(n, None)}


def _flags(array: StoredArray) -> Any:
    """Return an array of flags; of words 1 for each query, 0 for each gallery image, 2 for others.
    """
    if not array.text:
        return array.load().reshape(-1)
    words, place = np.unique(array.names(), return_inverse=True)
    return np.array([IS_QUERY.get(plain_name(word), 2) for word in words.tolist()])[place]


def _slice(index: Any) -> Any:
    """Return consecutive indices as a slice, which reads no other rows."""
    return slice(int(index[0]), int(index[-1]) + 1) if np.ptp(index) + 1 == len(index) else index


def _add_labels_of_names(arrays: dict[str, StoredArray], side: str) -> bool:
    """Add what the names of a side's images say, where there is no array of it."""
    paths = arrays.get(f"{side}_paths")
    missing = [column for column in ("identity", "camera") if f"{side}_{column}" not in arrays]
    if paths is None or not missing:
        return False
    names = paths.names().tolist()
    matrix = arrays.get(f"{side}_features", arrays.get("distances"))
    if matrix is not None and len(names) not in matrix.shape:
        raise InputError(paths.where, "a name for each image", f"{len(names):,} names, where "
                         f"{matrix.where} has shape {matrix.shape}")
    with errors_at(paths.where):
        parsed = parse_names(names)
    arrays.update({f"{side}_{column}": StoredArray.of(paths.where, parsed[column])
                   for column in missing})
    return True


#: Characters of the arrays that an error lists.
LISTED = 120


def _lacking(files: Files, missing: list[str], names: bool, no_split: bool) -> InputError:
    """Return the error of files that lack an array; it says what is in them.

    `names`: the user may say which array is which.
    """
    expected = ("features or distances with labels" if names else
                "the labels of query and gallery")
    arrays = {key if len(files) == 1 or len(contents.values) > 1 else path.name: value
              for path, contents in files.items() for key, value in contents.values.items()}
    listed = [f"{key} {value.summary}" for key, value in arrays.items()]
    shown = max(1, sum(length <= LISTED for length in accumulate(map(len, listed))))
    more = f" and {len(listed) - shown} more" if len(listed) > shown else ""
    near = {key: difflib.get_close_matches(plain_name(key), NAMES, n=1, cutoff=.75)
            for key in arrays if plain_name(key) not in NAMES}
    guesses = [f"{NAMES[match[0]]}={key}" for key, match in near.items()
               if match and NAMES[match[0]] in missing]
    lacks = ", ".join(missing) if not no_split else (
        "num_query, how many of the images are queries (it may be a number), or is_query")
    if BOXES <= arrays.keys():
        raise InputError(next(iter(files)), expected, "boxes, as for person search",
                         "evaluate them by their protocol: reid-ref evaluate FILE --protocol "
                         "cuhk-sysu; `reid-ref protocols` lists all")
    more_files = f" and {len(files) - 1} more files" if len(files) > 1 else ""
    return InputError(
        f"{next(iter(files))}{more_files}", got=f"it lacks {lacks}"
        + (f" (did you mean {', '.join(guesses)}?)" if guesses else "")
        + ("; names= (--map) says which array is which, docs/files.md which names are known"
           if names else "; rename them: docs/files.md says which names are known"),
        remedy=f"expected {expected}, got {', '.join(listed[:shown]) + more or 'no arrays'}")
