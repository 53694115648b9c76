"""Labels that come from elsewhere than the file: which row is which image of them.

Rows are recognised by the names of the images beside them. Without names they are in the order of
a loader: the first whose numbers of images are those of the rows and whose identities, if the file
has any, are the file's. An order that nobody can know, that of a file system, needs identities.
"""
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reid_ref.arrays import InputError, Integers, LabelWarning, warn
from reid_ref.files.formats import MAT, Contents
from reid_ref.files.image_places import GivenLabels, Order, by_names
from reid_ref.files.layouts import SIDES
from reid_ref.files.roles import Files, arrays_by_role
from reid_ref.files.split import Named, rows_of_sides
from reid_ref.files.stored_arrays import StoredArray

#: What is ranked, and the columns of the file that are compared with the labels given.
_RANKED = ("query_features", "gallery_features", "features", "distances", "ranked_lists")
_COLUMNS = ("identity", "camera", "clothes")


class Laid(NamedTuple):
    """Files with the labels among their arrays.

    Parameters
    ----------
    files, names
        As for `reid_ref.files.roles.fields_of_files`.
    words : str
        Whose labels, in which order.
    used : frozenset of str
        Keys of arrays that the labels were compared with.
    """

    files: dict[Path, Contents]
    names: dict[str, str]
    words: str
    used: frozenset[str]


def lay_labels(files: Files, names: Mapping[str, str], sets: Sequence[GivenLabels]) -> Laid:
    """Return files to which the labels of their rows were added.

    Parameters
    ----------
    files : mapping of path to Contents
        With features or distances.
    names : mapping of str to str
        As for `reid_ref.read`.
    sets : sequence of GivenLabels

    Raises
    ------
    InputError
        Another number of rows, names that are not of the set, or identities that are not in any
        of the orders.
    """
    named = arrays_by_role(files, names, len(files) > 1)
    if not any(role in named for role in _RANKED):
        raise InputError(next(iter(files)), "features or distances, to which labels belong",
                         ", ".join(key for part in files.values() for key in part.values)
                         or "no arrays", "--map says which array is which")
    by_name = by_names(named, sets)
    turnable = any(part.transposable or part.format == MAT for part in files.values())
    given, order = by_name or _by_size(named, sets, turnable)
    used = _compare(named, given, order, bool(by_name))
    read = {path: part for path, part in files.items()
            if not {array.where for array in part.values.values()} <= used}
    path, contents = next(iter(read.items()))
    added, roles = _arrays(given, order, any(role.endswith("paths") for role in named))
    roles |= _rows(named, given, order)
    return Laid({**read, path: replace(contents, values={**contents.values, **added})},
                {**names, **roles}, f"labels of {given.title}'s folder: {order.words}",
                frozenset(key for part in files.values() for key, array in part.values.items()
                          if array.where in used))


def holds_ranked(files: Files, names: Mapping[str, str]) -> bool:
    """Return whether files hold features of both sides, distances or ranked lists."""
    named = arrays_by_role(files, names, len(files) > 1)
    return any(set(roles) <= named.keys() for roles in (
        _RANKED[:2], _RANKED[2:3], _RANKED[3:4], _RANKED[4:]))


def _arrays(given: GivenLabels, order: Order,
            has_names: bool) -> tuple[dict[str, StoredArray], dict[str, str]]:
    """Return the columns of both sides as arrays by key, and role to key."""
    added, roles = {}, {}
    for side in SIDES:
        labels = getattr(given, side)[getattr(order, side)]
        for column, values in labels.columns().items():
            if column != "name" or not has_names:
                role = f"{side}_{'paths' if column == 'name' else column}"
                key = f"{given.where}: {role}"
                added[key] = StoredArray.of(key, values)
                roles[role] = key
    return added, roles


def _rows(named: Named, given: GivenLabels, order: Order) -> dict[str, str]:
    """Return what says which rows of features of both sides are the queries, if nothing does."""
    if not {"query_features", "gallery_features"} - named.keys() or "features" not in named:
        return {}
    if given.same and named["features"][0].shape[:1] == (len(order.query),):
        key = named["features"][0].where.rpartition(": ")[2]
        return {"query_features": key, "gallery_features": key}
    if "num_query" in named or "is_query" in named:
        return {}
    return {"num_query": str(len(order.query))}


# ---------------------------------------------------------------- by the number of rows

def _by_size(named: Named, sets: Sequence[GivenLabels],
             turnable: bool) -> tuple[GivenLabels, Order]:
    """Return the first order of as many images as rows, of the identities of the file.

    `turnable`: the matrices may have one column per image.
    """
    pairs = [(given, order) for given in sets for order in given.orders]
    fitting = [pair for pair in pairs if _fit(named, *pair)]
    if turnable and not fitting:
        fitting = [pair for pair in pairs if _fit(named, *pair, axis=-1)]
    own = _own(named, "identity", fitting[0][1]) if fitting else None
    if own is None:
        known = [pair for pair in fitting if pair[1].known]
        if not known:
            raise _misfit(named, sets)
        return known[0]
    for given, order in fitting:
        if _alike(own, _column(given, order, "identity")):
            return given, replace(
                order, words=f"{order.words}; the identities in the file confirm it")
    given, _ = fitting[0]
    raise InputError(_first(named, "identity").where,
                     f"the identities of {given.title} in {given.where}, in one of these orders: "
                     f"{'; '.join(dict.fromkeys(order.words for _, order in fitting))}", "others",
                     "save the names of the images beside the features, e.g. as query_paths and "
                     "gallery_paths; or the labels of the file are wrong: leave them out")


def _fit(named: Named, given: GivenLabels, order: Order, axis: int = 0) -> bool:
    """Return whether what is ranked is of as many images along an axis: rows or columns."""
    n_query, n_gallery = order.sizes
    sizes = {"query_features": n_query, "gallery_features": n_gallery,
             "features": n_query if given.same else n_query + n_gallery}
    matrices = {"distances": {(n_query, n_gallery)[::-1 if axis else 1]}}
    if "ranked_lists" in named:  # cut lists, if no loader counts other images of the gallery
        galleries = {len(other.gallery) for other in given.orders if len(other.query) == n_query}
        length = named["ranked_lists"][0].shape[-1:]
        matrices["ranked_lists"] = {(n_query, n_gallery), *(
            [(n_query, *length)] if len(galleries) == 1 else [])}
    return all(named[role][0].shape[axis:][:1] == (size,) for role, size in sizes.items()
               if role in named) and all(named[role][0].shape in shapes
                                         for role, shapes in matrices.items() if role in named)


def _misfit(named: Named, sets: Sequence[GivenLabels]) -> InputError:
    """Return the error of rows that no order has; it lists the numbers of every one."""
    arrays = [named[role][0] for role in _RANKED if role in named]
    shapes = " and ".join(f"{array.where.rpartition(': ')[2]} {array.shape}" for array in arrays)
    listed: dict[tuple[int, int], str] = {}
    for given in sets:
        for order in given.orders:
            listed.setdefault(order.sizes, order.words)
    numbers = "; ".join(f"{n_query:,} query and {n_gallery:,} gallery images ({words})"
                        for (n_query, n_gallery), words in listed.items())
    remarks = dict.fromkeys(given.remark for given in sets if given.remark)
    return InputError(
        arrays[0].where, f"rows of {sets[0].title} in {sets[0].where}: {numbers}", shapes,
        "; ".join([*remarks, "with the names of the images in the file (query_paths, "
                   "gallery_paths), any number and order of rows is read"]))


# ---------------------------------------------------------------- what the file has itself

def _first(named: Named, column: str) -> StoredArray:
    return next(named[role][0] for role in (f"query_{column}", f"gallery_{column}", column)
                if role in named)


def _own(named: Named, column: str, order: Order) -> Integers | None:
    """Return a column that the file has of both sides, the queries first, or None."""
    roles = [f"{side}_{column}" for side in SIDES]
    if set(roles) <= named.keys():
        sides = [named[role][0] for role in roles]
    elif column in named:
        whole = named[column][0]
        rows = rows_of_sides(named, {column: whole}) or {
            "query": slice(0, len(order.query)), "gallery": slice(len(order.query), None)}
        sides = [whole.part(rows[side], True) for side in SIDES]
    else:
        return None
    vectors = [side.vector() for side in sides]
    return np.concatenate(vectors) if tuple(map(len, vectors)) == order.sizes else None


def _column(given: GivenLabels, order: Order, column: str) -> Integers:
    return np.concatenate([getattr(getattr(given, side), column)[getattr(order, side)]
                           for side in SIDES])


def _alike(first: Integers, second: Integers) -> bool:
    """Return whether two columns of labels differ in their numbers alone."""
    pairs = len(np.unique(np.stack([first, second]), axis=1).T)
    return pairs == len(np.unique(first)) == len(np.unique(second))


def _compare(named: Named, given: GivenLabels, order: Order, by_name: bool) -> frozenset[str]:
    """Warn of labels in the file that are not those given; return where they are from."""
    used = [array.where for array in _arrays_of(named, ("paths",) if by_name else ())]
    for column in _COLUMNS:
        own = _own(named, column, order)
        if own is None or getattr(given.query, column) is None:
            continue
        used += [array.where for array in _arrays_of(named, (column,))]
        if not _alike(own, _column(given, order, column)):
            warn(f"{_first(named, column).where}: these are not the {column} labels of "
                 f"{given.title} in {given.where}, which are taken instead", LabelWarning)
    return frozenset(used)


def _arrays_of(named: Named, columns: Sequence[str]) -> Iterator[StoredArray]:
    for column in columns:
        for role in (*(f"{side}_{column}" for side in SIDES), column):
            yield from named.get(role, ())
