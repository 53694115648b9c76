"""What evaluators accumulate, batch by batch, as one array for each name.

Lists of numbers, of arrays that agree but for the first axis, of dicts or tuples of these, are
joined; an array is read when it is needed. A list that lacks a batch or has one of another kind is
refused under its name.
"""
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.arrays.texts import text_array
from reid_ref.files.layouts import BOXES, IS_QUERY, NAMES, plain_name
from reid_ref.files.stored_arrays import StoredArray

#: Returns the array of a value of a file; the text is for messages.
Stored = Callable[[Any, str], StoredArray]
#: What `R1_mAP_eval.compute` of TransReID, CLIP-ReID and their copies returns, and the axes.
_COMPUTED = {"cmc": 1, "mAP": 0, "distmat": 2, "pids": 1, "camids": 1, "qf": 2, "gf": 2}
_MISSING = object()
_WORDS = {"number": "a number", "text": "text", "array": "an array"}


def named_arrays(value: Any, path: object, stem: str, stored: Stored) -> dict[str, StoredArray]:
    """Return the arrays of what a file holds; keys of nested dicts are joined by dots."""
    arrays = dict(_arrays(value, "" if _kind(value) == "container" else stem, path, stored))
    if "" in arrays:
        arrays = {stem: replace(arrays.pop(""), where=f"{path}: {stem}")}
    if isinstance(value, (tuple, list)) and _is_computed(list(arrays.values())):
        arrays = {name: replace(array, where=f"{path}: {name}")
                  for name, array in zip(_COMPUTED, arrays.values())}
    return arrays


def _is_computed(arrays: Sequence[StoredArray]) -> bool:
    if [len(array.shape) for array in arrays] != list(_COMPUTED.values()) or not all(
            array.numbers for array in arrays):
        return False
    _, _, distances, _, _, query, gallery = arrays
    return distances.shape == (query.shape[0], gallery.shape[0])


def _kind(value: Any) -> str:
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, (Mapping, list, tuple)):
        return "container"
    if not hasattr(value, "dtype"):
        return type(value).__name__
    if value.ndim:
        return "array"
    return "text" if getattr(value.dtype, "kind", "") == "U" else "number"


def _words(value: Any) -> str:
    """Return what a value is, for messages."""
    return "nothing" if value is _MISSING or value is None else _WORDS.get(
        _kind(value), f"a {type(value).__name__}")


def _arrays(value: Any, name: str, path: object, stored: Stored,
            column: bool = False) -> Iterator[tuple[str, StoredArray]]:
    """Yield the arrays of a value; `column`: a list is one array, or refused."""
    where = f"{path}: {name}" if name else str(path)
    if isinstance(value, (list, tuple)) and not isinstance(value, Mapping):
        role = NAMES.get(plain_name(name))
        column = column or name in set.union(*BOXES) or (
            role is not None and plain_name(name) not in IS_QUERY)
        columns = _columns(value)
        if columns is not None:
            for key, entries in columns.items():
                yield from _arrays(entries, _dotted(name, key), path, stored, column=True)
            return
        if isinstance(value, list) or column or _is_flat(value):
            joined = _joined(value, where, stored, (role or "").endswith("features"))
            if column or not joined.refusal or _is_flat(value):
                yield name, joined
                return
        value = dict(enumerate(value))
    if isinstance(value, Mapping):
        alone = None if name else _list_alone(value)
        for key, entry in value.items():
            yield from _arrays(entry, "" if key == alone else _dotted(name, key), path, stored)
    else:
        yield name, stored(value, where)


def _list_alone(value: Mapping[Any, Any]) -> object:
    """Return the key of the one list of dicts, whose keys are then names; None if they are not."""
    lists = [key for key, entry in value.items() if isinstance(entry, list) and entry
             and all(isinstance(batch, Mapping) for batch in entry)]
    if len(lists) != 1 or plain_name(str(lists[0])) in IS_QUERY:
        return None
    return None if value.keys() & (_columns(value[lists[0]]) or {}) else lists[0]


def _dotted(name: str, key: object) -> str:
    return f"{name}.{key}" if name else str(key)


def _is_flat(values: Sequence[Any]) -> bool:
    return {*map(_kind, values)} <= {"number", "text"}


def _columns(values: Sequence[Any]) -> dict[object, list[Any]] | None:
    """Return the entries by key, or by place, of batches that are dicts or tuples; else None."""
    if values and all(isinstance(batch, Mapping) for batch in values):
        keys = dict.fromkeys(key for batch in values for key in batch)
        return {key: [batch.get(key, _MISSING) for batch in values] for key in keys}
    if values and isinstance(values, list) and all(
            isinstance(batch, tuple) and not _is_flat(batch) for batch in values):
        return {place: [batch[place] if place < len(batch) else _MISSING for batch in values]
                for place in range(max(map(len, values)))}
    return None


def _joined(values: Sequence[Any], where: str, stored: Stored, rows: bool) -> StoredArray:
    """Return one array of numbers, of text, or of batches; `rows`: vectors are rows."""
    n_all, full = len(values), [k for k, value in enumerate(values)
                                if not (isinstance(value, (list, tuple)) and not value)]
    if full and len(full) < n_all:     # a batch without images may be an empty list
        joined = _joined([values[k] for k in full], where, stored, rows)
        sizes = dict(zip(full, joined.parts))
        return replace(joined, parts=tuple(sizes.get(k, 0) for k in range(n_all)))
    kinds = [_kind(value) for value in values]
    odd = next((k for k, kind in enumerate(kinds)
                if kind != kinds[0] or kind not in _WORDS and kind != "container"), None)
    if odd is not None:
        return StoredArray.refused(InputError(
            where, "numbers, text or arrays, of one kind",
            f"{_words(values[odd])} as entry {odd} of {len(values):,}"
            + f" (the first is {_words(values[0])})" * (odd > 0)))
    if kinds and kinds[0] == "text":
        try:
            return StoredArray.of(where, text_array([str(value) for value in values], where))
        except InputError as error:
            return StoredArray.refused(error)
    if not kinds or kinds[0] == "number":
        array = np.array([value.tolist() if hasattr(value, "tolist") else value
                          for value in values])
        if array.dtype.kind == "O":
            return StoredArray.refused(InputError(where, "numbers of 64 bits", "larger ones"))
        return StoredArray.of(where, array)
    if any(isinstance(value, Mapping) for value in values):
        return StoredArray.refused(InputError(where, "an array", "a list of dicts"))
    if (table := _table(values)) is not None:
        flat = StoredArray.of(where, table if rows else table.reshape(-1))
        return replace(flat, parts=(table.shape[1],) * len(table))
    parts = [_joined(value, f"{where}[{k}]", stored, rows) if kinds[0] == "container"
             else stored(value, f"{where}[{k}]") for k, value in enumerate(values)]
    return _concatenated(parts, where, rows)


def _table(values: Sequence[Any]) -> Any:
    """Return rows of as many numbers of one type as an array; None of anything else."""
    if {*map(type, values)} <= {list, tuple} and len({*map(len, values)}) == 1 and len(
            kinds := {kind for row in values for kind in map(type, row)}) == 1 and kinds <= {
                int, float}:
        table = np.array(values)
        return table if table.dtype in (np.int64, np.float64) else None
    return None


def _concatenated(parts: Sequence[StoredArray], where: str, rows: bool) -> StoredArray:
    """Return arrays that agree but for the first axis as one; `rows`: vectors are its rows."""
    for k, part in enumerate(parts):
        if part.refusal:
            return part
        if (part.shape[1:], len(part.shape), part.dtype.kind) != (
                parts[0].shape[1:], len(parts[0].shape), parts[0].dtype.kind):
            return StoredArray.refused(InputError(
                where, "batches that agree but for their number of images",
                f"{part.summary} as entry {k} of {len(parts):,}, after {parts[0].summary}",
                "save that batch again"))
    shape = (sum(part.shape[0] for part in parts), *parts[0].shape[1:])
    join: Callable[[list[Any]], Any] = np.concatenate
    if rows and len(parts[0].shape) == 1 and len({part.shape for part in parts}) == 1:
        shape, join = (len(parts), *parts[0].shape), np.stack
    return StoredArray(where, shape, np.result_type(*{part.dtype for part in parts}),
                       lambda: join([part.read() for part in parts]),
                       parts=tuple(part.shape[0] for part in parts))
