"""A result as `evaluate --per-query FILE.json` wrote it: its numbers, and what each query got."""
from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.analysis.signatures import convention_of, parse_signature
from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.conventions import Convention
from reid_ref.files.regular import read_lines
from reid_ref.result import STATUSES, PerQuery

_WRITTEN_BY = "what reid-ref evaluate FILE --per-query OUT.json writes"


@dataclass(frozen=True)
class Stored:
    """One file.

    Parameters
    ----------
    path : str
    numbers : dict
        The whole object.
    fields : dict of str to str
        Of the signature.
    convention : Convention
        What the signature says was evaluated.
    per_query : PerQuery
    camera : int64, shape (n_query,)
    counted : bool, shape (n_query,)
        As written: which queries are in the mean of mAP.
    """

    path: str
    numbers: Mapping[str, Any]
    fields: Mapping[str, str]
    convention: Convention
    per_query: PerQuery
    camera: Integers
    counted: npt.NDArray[np.bool_]

    def in_mean(self, values: Doubles) -> Doubles:
        """Return the values, one a query, that the convention takes into a mean."""
        there = self.per_query.status != "not loaded"
        return self.convention.counted(values[there], self.per_query.n_good[there])


def read_stored(path: str) -> Stored:
    """Read a file of --per-query.

    Raises
    ------
    InputError
        It cannot be read, or is not such a file.
    """
    value = _load(path)
    if "signature" in value and "queries" not in value:
        raise InputError(f"{path}: expected the values of each query, got summaries alone; write "
                         "them with reid-ref evaluate FILE --per-query OUT.json")
    try:
        fields = parse_signature(_one(value, "signature", _is_text))
        convention = convention_of(fields)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    rows = _one(value, "queries", lambda one: isinstance(one, list) and len(one) > 0,
                path)
    columns = {key: [_one(row, key, fits, f"{path}: query {k}") for k, row in enumerate(rows)]
               for key, fits in _COLUMNS.items()}
    whole = {key: np.array([value or 0 for value in columns[key]], dtype=np.int64)
             for key in ("identity", "camera", "first_match", "n_good", "n_junk")}
    camera = whole.pop("camera")
    per_query = PerQuery(
        ap=_doubles(columns["ap"]), inp=_doubles(columns["inp"]),
        status=np.array(columns["status"]), **whole)
    return Stored(path, value, fields, convention, per_query, camera,
                  np.array(columns["counted"]))


def _load(path: str) -> Any:
    try:
        value = json.loads("\n".join(read_lines(Path(path), _WRITTEN_BY)))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read as JSON ({error}); expected "
                         f"{_WRITTEN_BY}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected one JSON object, {_WRITTEN_BY}")
    return value


def _one(value: Any, key: str, fits: Callable[[Any], bool], where: str = "") -> Any:
    """Return what stands under a key."""
    if not isinstance(value, dict) or key not in value or not fits(value[key]):
        got = json.dumps(value[key])[:40] if isinstance(value, dict) and key in value else "none"
        raise InputError(f"{f'{where}: ' if where else ''}{key}: expected {_WRITTEN_BY}, got "
                         f"{got}")
    return value[key]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_share(value: Any) -> bool:
    return value is None or isinstance(value, (int, float)) and not isinstance(
        value, bool) and math.isfinite(value)


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
