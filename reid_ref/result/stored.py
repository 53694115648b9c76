"""A result as `evaluate --per-query` wrote it: the values of each query, and its convention."""
from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.conventions import Convention
from reid_ref.disk import read_lines
from reid_ref.result import STATUSES, PerQuery
from reid_ref.signature import convention_of, parse_signature

SUFFIXES = (".json", ".csv")


@dataclass(frozen=True)
class QueryTable:
    """One file.

    Parameters
    ----------
    path : str
    numbers : dict
        The whole object; without a signature where the file is CSV.
    per_query : PerQuery
    camera : int64, shape (n_query,)
    counted : bool, shape (n_query,)
        As written: which queries are in the mean of mAP.
    """

    path: str
    numbers: Mapping[str, Any]
    per_query: PerQuery
    camera: Integers
    counted: npt.NDArray[np.bool_]

    @property
    def labels(self) -> Mapping[str, str]:
        """Fingerprints of the labels, by query and gallery; empty where the file has none."""
        labels = self.numbers.get("labels")
        return labels if isinstance(labels, dict) else {}


def read_per_query(path: str | os.PathLike[str], expected: str) -> QueryTable:
    """Read a file that `reid-ref evaluate --per-query` wrote; JSON but for a name in .csv.

    `expected` is for messages: what the file should be.

    Raises
    ------
    InputError
        It cannot be read, or is not such a file: the query and the key are named.
    """
    value = _load(path, expected)
    rows = _one(value, "queries", lambda rows: isinstance(rows, list) and len(rows) > 0,
                str(path), expected)
    columns = {key: [_one(row, key, fits, f"{path}: query {k}", expected)
                     for k, row in enumerate(rows)] for key, fits in _COLUMNS.items()}
    for k, number in enumerate(columns["query"]):
        if number != k:
            raise InputError(f"{path}: query {k}: query: expected {k}, for queries are numbered "
                             f"from 0, in order, got {number}; write the file again")
    whole = {key: np.array([value or 0 for value in columns[key]], dtype=np.int64)
             for key in ("identity", "camera", "first_match", "n_good", "n_junk")}
    camera = whole.pop("camera")
    per_query = PerQuery(
        ap=_doubles(columns["ap"]), inp=_doubles(columns["inp"]),
        status=np.array(columns["status"]), **whole)
    return QueryTable(str(path), value, per_query, camera, np.array(columns["counted"]))


def _load(path: str | os.PathLike[str], expected: str) -> dict[str, Any]:
    """Return the object, its queries not yet checked."""
    is_csv = Path(path).suffix.lower() == ".csv"
    text = "\n".join(read_lines(Path(path), expected))
    try:
        value = {"queries": _csv_rows(text)} if is_csv else json.loads(text)
    except (ValueError, RecursionError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as {'CSV' if is_csv else 'JSON'} ({error}); "
                         f"expected {expected}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected one JSON object, {expected}")
    if "signature" in value and "queries" not in value:
        raise InputError(f"{path}: expected the values of each query, got summaries alone; write "
                         "them with reid-ref evaluate FILE --per-query OUT.json")
    if not is_csv:
        _one(value, "signature", lambda text: isinstance(text, str), str(path), expected)
    return value


def _one(value: Any, key: str, fits: Callable[[Any], bool], where: str, expected: str) -> Any:
    """Return what stands under a key."""
    if not isinstance(value, dict) or key not in value or not fits(value[key]):
        got = json.dumps(value[key])[:40] if isinstance(value, dict) and key in value else "none"
        raise InputError(f"{where}: {key}: expected {expected}, got {got}")
    return value[key]


def _csv_rows(text: str) -> list[dict[str, Any]]:
    """Return the rows as JSON has them."""
    return [{key: _csv_value(row[key]) for key in _COLUMNS if row.get(key) is not None}
            for row in csv.DictReader(text.splitlines())]


def _csv_value(text: str) -> Any:
    words = {"": None, "True": True, "False": False}
    if text in words:
        return words[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_share(value: Any) -> bool:
    # Not above the bound: NaN, infinity, and what no double holds.
    return value is None or isinstance(value, (int, float)) and not isinstance(
        value, bool) and abs(value) < 2**63


#: Each key of a query, and what may stand there.
_COLUMNS: dict[str, Callable[[Any], bool]] = {
    "query": _is_whole, "identity": _is_whole, "camera": _is_whole,
    "status": lambda value: isinstance(value, str) and value in STATUSES,
    "counted": lambda value: isinstance(value, bool),
    "ap": _is_share, "inp": _is_share,
    "first_match": lambda value: value is None or _is_whole(value) and value > 0,
    "n_good": lambda value: _is_whole(value) and value >= 0,
    "n_junk": lambda value: _is_whole(value) and value >= 0}


def _doubles(values: list[float | None]) -> Doubles:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@dataclass(frozen=True)
class Stored(QueryTable):
    """One file.

    Parameters
    ----------
    fields : dict of str to str
        Of the signature.
    convention : Convention
        What the signature says was evaluated.
    """

    fields: Mapping[str, str]
    convention: Convention

    def in_mean(self, values: Doubles) -> Doubles:
        """Return the values, one a query, that the convention takes into a mean."""
        there = self.per_query.status != "not loaded"
        return self.convention.counted(values[there], self.per_query.n_good[there])


def read_stored(path: str) -> Stored:
    """Read a file of --per-query.

    Raises
    ------
    InputError
        It cannot be read, is not such a file, or is CSV, which has no signature.
    """
    table = read_per_query(path, "what reid-ref evaluate FILE --per-query OUT.json writes")
    if "signature" not in table.numbers:
        raise InputError(f"{path}: expected JSON, which has the signature, got CSV; write it with "
                         "reid-ref evaluate FILE --per-query OUT.json")
    try:
        fields = parse_signature(table.numbers["signature"])
        return Stored(**vars(table), fields=fields, convention=convention_of(fields))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
