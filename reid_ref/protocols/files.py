"""A protocol of one's own, as a TOML or JSON file with the fields of `Protocol`."""
from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from reid_ref import extensions
from reid_ref.arrays import InputError, check_choice, check_count, errors_at
from reid_ref.conventions import CHOICES, NAMES, Convention, find_convention
from reid_ref.disk import PathLike, read_json
from reid_ref.labels import FURTHER
from reid_ref.protocols.record import (
    MOST_PARTS, MOST_TRIALS, Exact, Given, Part, Protocol, Rows, Seeded, Trials)
from reid_ref.protocols.records import PROTOCOLS

#: Of a file, and dots of a line of TOML.
_MOST_BYTES, _MOST_DOTS = 2**16, 100
_COLUMNS = ("identity", "camera", *FURTHER[:-1])
_WORDS = {str: "a text", bool: "true or false", int: "whole numbers", dict: "tables"}
#: The fields of each table, with the type of a value, or that of a list's values in a list.
_PROTOCOL = {"name": str, "source": str, "convention": object, "prepare": str, "parts": [dict],
             "trials": object, "shots": [int], "needs": [str], "cameras": [int], "tracks": bool,
             "average": object, "note": str}
_PART = {"name": str, "query": object, "gallery": object, "ignored": [str], "unmatched": bool}
_ROWS = {"side": object, "where": object, "drawn": bool}
_TRIALS = {"kind": object, "n": object, "seed": object, "unit": [str]}
_CONVENTION = dict.fromkeys(("base", *CHOICES, "top_k", "metric", "normalize"), object)


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
    expected = "a protocol in TOML (Python 3.11 or later) or JSON"
    with suppress(OSError):  # `read_json` says it
        if os.path.getsize(path) > _MOST_BYTES:
            raise InputError(path, f"{expected}, of at most {_MOST_BYTES:,} bytes",
                             f"{os.path.getsize(path):,}")
    loads = None if Path(path).suffix.lower() == ".json" else partial(_toml, path)
    values = read_json(path, expected, loads)
    with errors_at(path):
        protocol = _protocol(_table(values, "the file", _PROTOCOL))
        _check_names(protocol)
        return protocol


def _toml(path: PathLike, text: str) -> Any:
    # The time that `tomllib` takes for a dotted key grows faster than the square of its length.
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > _MOST_DOTS:
            raise InputError(f"{path}: line {number}", f"at most {_MOST_DOTS} dots",
                             line.count("."), "begin a new line")
    return import_module("tomllib").loads(text)


def _check_names(protocol: Protocol) -> None:
    """Refuse the names of reid-ref's own records, which signatures and reports would show."""
    own = {extensions.plain(name) for name in (*NAMES, *PROTOCOLS, *(
        record.convention_of(part).name for record in PROTOCOLS.values()
        for part in record.parts))}
    for name in (protocol.name, *(protocol.convention_of(part).name for part in protocol.parts
                                  if part.ignored is not None)):
        if extensions.plain(name.partition("[")[0]) in own:
            raise InputError("name", "a name of your own", f"{name!r}, which is one of reid-ref",
                             "give the file's protocol another name")


def _table(value: Any, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table, checked; lists are tuples, and empty ones as if they were left out."""
    if not isinstance(value, Mapping):
        raise InputError(name, f"a table of {', '.join(fields)}", type(value).__name__)
    for key, each in value.items():
        check_choice(key, name, fields)
        kind = fields[key]
        if isinstance(kind, list):
            if not isinstance(each, list) or not all(type(entry) is kind[0] for entry in each):
                raise InputError(key, f"a list of {_WORDS[kind[0]]}", repr(each))
        elif kind is not object and type(each) is not kind:
            raise InputError(key, _WORDS[kind], repr(each))
    return {key: tuple(each) if isinstance(each, list) else each for key, each in value.items()}


def _protocol(values: dict[str, Any]) -> Protocol:
    if len(values.get("parts", ())) > MOST_PARTS:
        raise InputError("parts", f"at most {MOST_PARTS}", len(values["parts"]))
    for column in values.get("needs", ()):
        check_choice(column, "needs", _COLUMNS)
    protocol = Protocol(**{
        **dict.fromkeys(("name", "benchmark", "source", "prepare"), ""), **values,
        "convention": _convention(values.get("convention"), values.get("name", "")),
        "parts": tuple(map(_part, values.get("parts", ()))) or (Part(),),
        "trials": _trials(values.get("trials", {"kind": "given"}), len(values.get("parts", ()))),
        "shots": values.get("shots") or (1,)})
    names = [part.name for part in protocol.parts]
    if len(set(names)) < len(names):
        raise InputError("parts", "each part by a name of its own", ", ".join(names))
    for part in protocol.parts:
        protocol.convention_of(part)  # refuses an unknown rule
    return protocol


def _convention(value: Any, name: str) -> Convention:
    if isinstance(value, str):
        return find_convention(value)
    choices = _table(value, "convention", _CONVENTION)
    return find_convention(choices.pop("base", "matlab")).replace(name=name, **choices)


def _part(value: dict[str, Any]) -> Part:
    values = _table(value, "parts", _PART)
    return Part(**{**values, **{side: _rows(values.get(side, {}), side)
                                for side in ("query", "gallery")}})


def _rows(value: Any, name: str) -> Rows:
    values = {"side": name, "where": {}, **_table(value, name, _ROWS)}
    check_choice(values["side"], "side", ("query", "gallery"))
    values["where"] = _table(values["where"], "where", dict.fromkeys(_COLUMNS, [int]))
    return Rows(**values)


def _trials(value: Any, n_parts: int) -> Trials:
    values = _table(value, "trials", _TRIALS)
    check_choice(values.get("kind", ""), "kind", ("given", "seeded", "exact"))
    unit = values.get("unit") or ("identity",)
    for column in unit:
        check_choice(column, "unit", _COLUMNS)
    n = check_count(values.get("n", 1), "n", 1, MOST_TRIALS // max(1, n_parts),
                    f"the most trials of {max(1, n_parts)} parts")
    kinds: dict[str, Trials] = {
        "given": Given(n), "exact": Exact(),
        "seeded": Seeded(unit, n, check_count(values.get("seed", 0), "seed", 0))}
    return kinds[values["kind"]]
