"""Named arrays → features, distances or ranked lists, and the labels of both sides.

Each array gets its role by the map of the user, else by its name (`layouts`). Arrays of all images
are split into query and gallery; labels that are missing come from the names of the images.
"""
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType

import numpy as np

from reid_ref.arrays import InputError, check_choice, errors_at
from reid_ref.arrays.texts import text_array
from reid_ref.files.formats import TABLE, Contents
from reid_ref.files.image_names import form_of, listed_names, names_in_folder, parse_names
from reid_ref.files.layouts import (
    BOXES, CAMERAS, COLUMNS, FEATURES, LABELS, NAMES, SET_OF, SIDES, WHOLE, Reading, plain_name,
    role_of_array, side_in)
from reid_ref.files.split import ONE_SET, SAME_IMAGES, Named, only, rows_of_sides
from reid_ref.files.stored_arrays import StoredArray
from reid_ref.files.tables import BY_NAME
from reid_ref.text.numbers import is_whole

Files = Mapping[Path, Contents]
#: What is ranked, the first that is complete: roles, and words for them.
_RANKED = {FEATURES: "features, one row per image", ("features",): "features, one row per image",
           ("distances",): "distances, query x gallery",
           ("similarity",): "similarity, query x gallery, larger is nearer",
           ("ranked_lists",): "ranked lists"}
#: Names of texts, which are no side's unless a protocol says so.
_OF_TEXT = re.compile("te?xt|caption", re.IGNORECASE)
#: Between the places of arrays that are joined.
_AND = " + "


@dataclass(frozen=True)
class Fields:
    """The arrays of a result by their roles, all of one side or distances, none missing.

    `title` names the input, `ranked` the roles of what is ranked (a similarity is there as
    distances), `used` the arrays' source.
    """

    arrays: dict[str, StoredArray]
    ranked: tuple[str, ...]
    title: str
    used: frozenset[str]


def fields_of_files(files: Files, names: Mapping[str, str], labels_alone: bool = False,
                    reading: Reading = Reading()) -> Fields:
    """Return the arrays that make a result, or its labels, by their roles.

    Raises
    ------
    InputError
        An array that is missing, or two for one role.
    """
    keys = {key for contents in files.values() for key in contents.values}
    if any(boxes <= keys for boxes in BOXES):
        raise InputError(next(iter(files)), "features or distances with labels", "boxes, as for "
                         "person search", "evaluate them by their protocol: reid-ref evaluate "
                         "FILE --protocol cuhk-sysu; `reid-ref protocols` lists all")
    named = arrays_by_role(files, names, len(files) > 1 or labels_alone, reading.names())
    ranked = () if labels_alone else next((
        roles for roles in sorted(_RANKED, key=names.keys().isdisjoint)
        if named.keys() >= set(roles)), FEATURES)
    sided = [f"{side}_{column}" for side in SIDES for column in COLUMNS if column != "features"]
    arrays = {role: only(named, role) for role in (*ranked, *sided, "candidates")
              if role in named and role != "features"}
    measured = ranked
    if ranked == ("similarity",):
        measured, arrays["distances"] = ("distances",), arrays.pop("similarity").negative()
    used = {**arrays, **_of_both_sides(named, arrays, ranked)}
    whole = {column: array for column, array in used.items() if column in COLUMNS}
    rows = rows_of_sides(named, whole, reading.same_images)
    for column, array in whole.items():
        shared = replace(array, read=cache(array.read))     # it is read once for both sides
        for side, images in rows.items():
            arrays.setdefault(f"{side}_{column}", shared.part(images, column != "features"))
    by_name = [_add_labels_of_names(arrays, side) for side in SIDES]
    matrices = FEATURES if ranked == ("features",) else measured
    missing = [role for role in (*matrices, *LABELS) if role not in arrays]
    if missing and (set(missing) != CAMERAS or _guesses(_by_key(files), missing)):
        raise _lacking(files, missing, bool(ranked), bool(whole) and not rows)
    ranked_keys = ", ".join(Path(place.rpartition(": ")[2]).name for role in measured
                            for place in _places(used[role], files))
    title = (f"{_RANKED.get(ranked, 'labels')} ({ranked_keys})"
             + (", the same images on both sides" if rows is SAME_IMAGES else "")
             + (", labels by image names" if any(by_name) else "")
             + _left_out(whole, arrays)
             + (f"; identity: {BY_NAME}" if any(
                 array.where.endswith(BY_NAME) for array in arrays.values()) else ""))
    return Fields(
        {role: array for role, array in arrays.items()
         if array.text or not role.endswith("paths")}, ranked, title,
        frozenset(place for array in (*used.values(), *(
            array for role in WHOLE if role not in ("distances", "similarity")
            for array in named.get(role, ()))) for place in _places(array, files)))


def _left_out(whole: Mapping[str, StoredArray], arrays: Mapping[str, StoredArray]) -> str:
    """Return how many images of both sides' arrays are of neither, in words."""
    for column, array in whole.items():
        sides = [arrays[f"{side}_{column}"].shape[0] for side in SIDES
                 if f"{side}_{column}" in arrays]
        n = (array.shape or (0,))[0] - sum(sides)
        return f", {n:,} images of neither side left out" if n > 0 and len(sides) == 2 else ""
    return ""


def _places(array: StoredArray, files: Files) -> list[str]:
    """Return where an array is from: one place in the files, or those of joined arrays."""
    joined = f"{_AND}{array.where}{_AND}"
    places = [value.where for contents in files.values() for value in contents.values.values()]
    return sorted((place for place in places if f"{_AND}{place}{_AND}" in joined),
                  key=joined.index)


def _of_both_sides(named: Named, arrays: Mapping[str, StoredArray],
                   ranked: tuple[str, ...]) -> dict[str, StoredArray]:
    """Return the arrays of the images of both sides, by column, where those of a side are missing.

    Without features, identity or camera among them, other columns are not of the same images.
    """
    whole = {column: only(named, column) for column in COLUMNS
             if column in named and (column in ranked or column != "features")
             and not {f"{side}_{column}" for side in SIDES} <= arrays.keys()}
    needed = {"features", "identity", "camera"} | (
        set() if set(LABELS) <= arrays.keys() else {"paths"})
    return whole if needed & whole.keys() else {}


def arrays_by_role(files: Files, names: Mapping[str, str], by_words: bool,
                   further: Mapping[str, str] = MappingProxyType({})) -> Named:
    """Return the arrays that may have each role; what the user maps is alone.

    `by_words`: a name may have other words, and be the file's. `further`: more names.
    """
    by_role: dict[str, list[StoredArray]] = {role: [] for role in names}
    keys, sets = {}, {}
    for path, contents in files.items():
        for key, value in contents.values.items():
            plain, n_arrays = plain_name(key), len(contents.values)
            keys.update(dict.fromkeys(
                (key, path.name, path.stem) if n_arrays == 1 else (key,), value))
            role = further.get(plain) or (
                role_of_array(key, path, n_arrays) if by_words else NAMES.get(plain))
            if contents.format == TABLE:
                role = _of_table(key, path)
            sets[value.where] = SET_OF.get(plain)
            if role and role not in names and not (role.endswith("paths") and value.numbers):
                by_role.setdefault(role, []).append(_turned(role, path, value, len(files) > 1))
    for role, name in names.items():
        by_role[role].append(_mapped(role, str(name), keys))
    for role, arrays in by_role.items():
        # A label of a name is taken where there is no other.
        if len(arrays) > 1 or by_role.get(role.partition("_")[2]):
            by_role[role] = [each for each in arrays if not each.where.endswith(BY_NAME)]
    mapped = {array.where for role in names for array in by_role[role]}
    return {role: _together(role, kept, sets) for role, arrays in by_role.items() if (kept := [
        array for array in arrays if role in names or array.where not in mapped])}


def _of_table(key: str, path: Path) -> str | None:
    """Return the role of a column: by its name, of the side that the table's name has."""
    role, side = NAMES.get(plain_name(key)), side_in(path.stem)
    return f"{side}_{role}" if side and role in COLUMNS else role


def _together(role: str, arrays: list[StoredArray],
              sets: Mapping[str, int | None]) -> list[StoredArray]:
    """Return the sets of a side as one array, in their order; other arrays as they are."""
    numbers = [sets.get(array.where) for array in arrays]
    if len(arrays) == 1 or None in numbers or len(set(numbers)) < len(numbers):
        return arrays
    arrays = [array for _, array in sorted(zip(numbers, arrays), key=lambda pair: pair[0] or 0)]
    flat = not role.endswith("features")
    parts = [array.part(slice(None), flat) for array in arrays]
    for part in parts:
        if part.refusal:
            return [part]
        if (part.shape[1:], part.text) != (parts[0].shape[1:], parts[0].text):
            raise InputError(part.where, f"rows like those of {parts[0].where}, "
                             f"{parts[0].summary}", part.summary)
    shape = (sum(part.shape[0] for part in parts), *parts[0].shape[1:])
    return [StoredArray(_AND.join(part.where for part in parts), shape, np.result_type(
        *(part.dtype for part in parts)), lambda: np.concatenate([part.read() for part in parts]),
        on_disk=sum({part.on_disk for part in parts}))]


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
    if name not in keys and role == "num_query" and is_whole(name):
        return StoredArray.of(name, np.array(int(name)))
    if name not in keys and role.endswith("paths") and path.exists():
        listed = names_in_folder(path, path) if path.is_dir() else listed_names(path)
        return StoredArray.of(name, text_array(listed, name))
    check_choice(name, f"names: {role}", keys)
    return keys[name]


def _add_labels_of_names(arrays: dict[str, StoredArray], side: str) -> bool:
    """Add the labels in the names of a side's images, if there is no array of them."""
    paths = arrays.get(f"{side}_paths")
    missing = [column for column in ("identity", "camera") if f"{side}_{column}" not in arrays]
    if paths is None or not missing:
        return False
    names = paths.names().tolist()
    if missing == ["camera"] and names and form_of(names[0]) is None:
        return False
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
LISTED = 70


def _by_key(files: Files) -> dict[str, StoredArray]:
    """Return every array by its key, or by the name of its file if that has no other."""
    return {key if len(files) == 1 or len(contents.values) > 1 else path.name: value
            for path, contents in files.items() for key, value in contents.values.items()}


def _guesses(arrays: Iterable[str], missing: list[str]) -> list[str]:
    """Return ROLE=KEY for what is missing and keys whose names are nearly those of its role."""
    return [f"{role}={key}" for key in arrays if (role := _meant(key)) in missing]


def _lacking(files: Files, missing: list[str], names: bool, no_split: bool) -> InputError:
    """Return the error of files that lack an array; it names the arrays in them.

    `names`: the user may name the roles.
    """
    arrays = _by_key(files)
    listed = [f"{key} {value.summary}" for key, value in sorted(
        arrays.items(), key=lambda pair: pair[1].refusal is None)]
    shown = max(1, sum(length <= LISTED for length in accumulate(map(len, listed))))
    more = f" and {len(listed) - shown} more" if len(listed) > shown else ""
    every = {*FEATURES, *LABELS} <= {*missing}
    lacks = ONE_SET if no_split else ", ".join(
        ["features and labels of query and gallery"] if every else missing)
    remedy = "rename them: docs/files.md lists the known names"
    if names and (guesses := _guesses(arrays, missing)):
        remedy = f"did you mean {', '.join(guesses)}? names= (--map) takes it"
    elif names and any(map(_OF_TEXT.match, arrays)):
        remedy = "if the queries are texts, say --protocol cuhk-pedes"
    elif names and {"query_identity", "gallery_identity"} <= {*missing} <= {*LABELS}:
        remedy = "labels= (--labels FOLDER) takes them from the data set's folder"
    elif names:
        remedy = "" if no_split else _example(arrays, missing)
    more_files = f" and {len(files) - 1} more file{'s' * (len(files) > 2)}" * (len(files) > 1)
    has = f"it has {', '.join(listed[:shown]) + more or 'no arrays'}"
    return InputError(f"{next(iter(files))}{more_files}", got=f"it lacks {lacks}",
                      remedy="; ".join(filter(None, (remedy, has))))


def _example(arrays: Mapping[str, StoredArray], missing: Iterable[str]) -> str:
    """Return how to name a missing role: by an array of its dimensions, if there is one."""
    role = next(iter(missing))
    n = 2 if role.endswith(("features", "distances")) else 1
    keys = [key for key, array in arrays.items() if len(array.shape) == n]
    if len(keys) == 1:
        role = role.removeprefix("query_")
    return f"names= (--map) says which is which: {role}={keys[0]}" if keys else ""


def _meant(key: str) -> str | None:
    """Return the role of the most similar name, with the side that the key itself has, or None."""
    if plain_name(key) in NAMES:
        return None
    match = difflib.get_close_matches(plain_name(key), NAMES, n=1, cutoff=.75)
    role = NAMES[match[0]] if match else ""
    side, _, column = role.partition("_")
    return role if role in WHOLE or column and side_in(key) == side else None
