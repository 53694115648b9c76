"""A protocol of one's own, as a TOML or JSON file with the fields of `Protocol`."""
from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from reid_ref.arrays import InputError, check_choice, check_count
from reid_ref.conventions import CHOICES, Convention, find_convention
from reid_ref.disk import PathLike, read_json
from reid_ref.labels import FURTHER
from reid_ref.protocols.record import Exact, Given, Part, Protocol, Rows, Seeded, Trials

_COLUMNS = ("identity", "camera", *FURTHER[:-1])
_FIELDS = ("name", "source", "convention", "prepare", "parts", "trials", "shots", "needs",
           "cameras", "tracks", "average", "note")


def read_protocol(path: PathLike) -> Protocol:
    """Read a protocol from a .toml or .json file.

    Its fields are those of `Protocol`. `convention` is a name, or a table of a `base` and other
    choices; `parts` is a list of tables with `name`, `ignored`, and for `query` and `gallery` a
    table of `side`, `drawn` and `where`; `trials` is a table of `kind` (given, seeded, exact),
    `n`, `seed` and `unit`. What is left out is as in `Protocol`.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    InputError
        The file cannot be read, or a field is unknown or wrong.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "mine.json")
    ...     with open(path, "w") as file:
    ...         _ = file.write('{"name": "mine", "convention": {"base": "matlab", "ap": "step"}}')
    ...     read_protocol(path).convention.ap
    'step'
    """
    loads = json.loads if Path(path).suffix.lower() == ".json" else _toml
    values = read_json(path, "a protocol in TOML (Python 3.11 or later) or JSON", loads)
    try:
        return _protocol(_table(values, "the file", _FIELDS))
    except InputError as error:
        raise error.at(path) from None


def _toml(text: str) -> Any:
    return import_module("tomllib").loads(text)


def _table(value: Any, name: str, fields: Collection[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(name, f"a table of {', '.join(fields)}", type(value).__name__)
    for key in value:
        check_choice(key, name, fields)
    return dict(value)


def _list(values: Mapping[str, Any], name: str, kind: type,
          choices: Collection[str] = ()) -> tuple[Any, ...]:
    given = values.get(name, [])
    if not isinstance(given, list) or not all(type(value) is kind for value in given):
        raise InputError(name, "a list of " + {int: "whole numbers", str: "texts",
                                               dict: "tables"}[kind], repr(given))
    for value in given if choices else ():
        check_choice(value, name, choices)
    return tuple(given)


def _value(values: Mapping[str, Any], name: str, default: Any, kind: type = bool) -> Any:
    value = values.get(name, default)
    if value is not default and type(value) is not kind:
        raise InputError(name, "a text" if kind is str else "true or false", repr(value))
    return value


def _protocol(values: dict[str, Any]) -> Protocol:
    texts = {name: _value(values, name, "", str) for name in ("name", "source", "prepare", "note")}
    protocol = Protocol(
        **texts, benchmark="", convention=_convention(values.get("convention"), texts["name"]),
        parts=tuple(map(_part, _list(values, "parts", dict))) or (Part(),),
        trials=_trials(values.get("trials", {"kind": "given"})),
        shots=_list(values, "shots", int) or (1,), needs=_list(values, "needs", str, _COLUMNS),
        cameras=_list(values, "cameras", int), tracks=_value(values, "tracks", False),
        average=values.get("average", "trials"))
    for part in protocol.parts:
        protocol.convention_of(part)  # refuses an unknown rule
    return protocol


def _convention(value: Any, name: str) -> Convention:
    if isinstance(value, str):
        return find_convention(value)
    choices = _table(value, "convention", ("base", *CHOICES, "top_k", "metric", "normalize"))
    base = find_convention(choices.pop("base", "matlab"))
    return base.replace(name=name, **choices)


def _part(value: dict[str, Any]) -> Part:
    values = _table(value, "parts", ("name", "query", "gallery", "ignored", "unmatched"))
    return Part(_value(values, "name", "all", str),
                _rows(values.get("query", {"side": "query"}), "query"),
                _rows(values.get("gallery", {"side": "gallery"}), "gallery"),
                _list(values, "ignored", str) if "ignored" in values else None,
                _value(values, "unmatched", False))


def _rows(value: Any, name: str) -> Rows:
    values = _table(value, name, ("side", "where", "drawn"))
    side = values.get("side", name)
    check_choice(side, "side", ("query", "gallery"))
    where = _table(values.get("where", {}), "where", _COLUMNS)
    return Rows(side, {column: _list(where, column, int) for column in where},
                _value(values, "drawn", None))


def _trials(value: Any) -> Trials:
    values = _table(value, "trials", ("kind", "n", "seed", "unit"))
    check_choice(values.get("kind", ""), "kind", ("given", "seeded", "exact"))
    unit = _list(values, "unit", str, _COLUMNS) or ("identity",)
    n = check_count(values.get("n", 1), "n")
    kinds: dict[str, Trials] = {
        "given": Given(n), "exact": Exact(),
        "seeded": Seeded(unit, n, check_count(values.get("seed", 0), "seed", 0))}
    return kinds[values["kind"]]
