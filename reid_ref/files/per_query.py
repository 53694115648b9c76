"""The files of `reid-ref evaluate --per-query`: what each query got."""
from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.files.regular import read_lines

SUFFIXES = (".json", ".csv")
_WHAT = "what reid-ref evaluate --per-query writes"


@dataclass(frozen=True)
class QueryTable:
    """Values a query as a file has them; arrays of shape (n,).

    `signature` and the two `labels` (query, gallery) are empty where the file is CSV; `ap` and
    `inp` are NaN, `first_match` 0, where the file has none.
    """

    signature: str
    labels: tuple[str, str]
    identity: Integers
    camera: Integers
    n_good: Integers
    first_match: Integers
    ap: Doubles
    inp: Doubles
    counted: npt.NDArray[np.bool_]
    status: npt.NDArray[np.str_]


def read_per_query(path: str | os.PathLike[str]) -> QueryTable:
    """Read a file that `reid-ref evaluate --per-query` wrote, .json or .csv.

    Raises
    ------
    InputError
        A file that cannot be read, or was not written so.
    """
    path = Path(path)
    text = "\n".join(read_lines(path, _WHAT))
    try:
        head, rows = (_json if path.suffix.lower() == ".json" else _csv)(text)
        table = _table(head, rows)
        numbers = [int(row["query"]) for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error):
        raise InputError(f"{path}: expected {_WHAT}, got something else; write it again, or name "
                         "a result file, or ranked lists with --labels") from None
    if not rows or numbers != list(range(len(rows))):
        raise InputError(f"{path}: expected a line for each query, in order from 0; write the "
                         "file again")
    return table


def _table(head: dict[str, Any], rows: list[dict[str, Any]]) -> QueryTable:
    def whole(name: str) -> Integers:
        return np.array([int(row[name] or 0) for row in rows], np.int64)

    labels = head.get("labels", {"query": "", "gallery": ""})
    return QueryTable(
        str(head.get("signature", "")), (str(labels["query"]), str(labels["gallery"])),
        identity=whole("identity"), camera=whole("camera"), n_good=whole("n_good"),
        first_match=whole("first_match"), ap=np.array([_double(row["ap"]) for row in rows]),
        inp=np.array([_double(row["inp"]) for row in rows]),
        counted=np.array([str(row["counted"]) == "True" for row in rows], bool),
        status=np.array([str(row["status"]) for row in rows]))


def _double(value: Any) -> float:
    return np.nan if value in (None, "") else float(value)


def _json(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    value = json.loads(text)
    return value, value["queries"]


def _csv(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return {}, list(csv.DictReader(text.splitlines()))
