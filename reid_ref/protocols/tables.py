"""A protocol from the table of its fields, as a TOML or JSON file has it, every value checked."""
from collections.abc import Mapping
from typing import Any

from reid_ref.arrays import InputError, check_choice, check_count
from reid_ref.conventions import CHOICES, Convention, find_convention
from reid_ref.labels import FURTHER
from reid_ref.protocols.box_ranks import GALLERIES, RIGHT, BoxRule
from reid_ref.protocols.record import (
    COLUMNS, DRAWS, MOST_PARTS, MOST_TRIALS, Exact, Given, Held, Later, Part, Protocol, Rows,
    Seeded, Trials)

_LABELS = ("identity", "camera", *FURTHER[:-1])
_WORDS = {str: "a text", bool: "true or false", int: "whole numbers", dict: "tables"}
#: The fields of each table, with the type of a value, or that of a list's values in a list.
_PROTOCOL = {"name": str, "source": str, "convention": object, "prepare": str, "parts": [dict],
             "trials": object, "shots": [int], "needs": [str], "cameras": [int], "columns": object,
             "sides": object, "tracks": bool, "average": object, "counts": object,
             "boxes": object, "means": object, "later": object, "note": str, "save": str,
             "held": object}
_PART = {"name": str, "query": object, "gallery": object, "ignored": [str], "unmatched": bool}
_ROWS = {"side": object, "where": object, "drawn": bool}
_TRIALS = {"kind": object, "n": object, "seed": object, "unit": [str], "draw": object, "file": str}
_CONVENTION = {**dict.fromkeys(("base", *CHOICES, "top_k", "metric", "normalize"), object),
               "name": str, "source": str, "measure": str}
_BOXES = {"gallery": object, "right": object, "score": object}
_LATER = {"protocol": str, "words": str}
_SIDES = {"query": str, "gallery": str}
_HELD = {"recordings": int, "double": str, "float32": str}


def checked_table(value: Any, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table, checked; lists are tuples, and empty ones as if they were left out.

    `fields`: the known keys, each with the type of its value; object is any, and a type in a list
    is that of a list's values.
    """
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


def protocol_from(table: Any, benchmark: str = "") -> Protocol:
    """Return the protocol of a table.

    Raises
    ------
    InputError
        An unknown field, or a wrong value.

    Examples
    --------
    >>> record = protocol_from({"name": "mine", "convention": {"base": "matlab", "ap": "step"}})
    >>> record.convention.name, record.convention.ap
    ('mine', 'step')
    """
    values = checked_table(table, "the file", _PROTOCOL)
    tables = values.get("parts", ())
    if len(tables) > MOST_PARTS:
        raise InputError("parts", f"at most {MOST_PARTS}", len(tables))
    for column in values.get("needs", ()):
        check_choice(column, "needs", _LABELS)
    if "columns" in values:
        check_choice(values["columns"], "columns", COLUMNS)
    parts = tuple(map(_part, tables)) or (Part(),)
    names = [part.name for part in parts]
    if len(set(names)) < len(names):
        raise InputError("parts", "each part by a name of its own", ", ".join(names))
    protocol = Protocol(**{
        **dict.fromkeys(("name", "source", "prepare"), ""), **values, "benchmark": benchmark,
        "convention": _convention(values.get("convention"), values.get("name", "")),
        "parts": parts, "trials": _trials(values.get("trials", {"kind": "given"}), len(tables)),
        "shots": values.get("shots") or (1,), "counts": _counts(values.get("counts", {}), names),
        "sides": checked_table(values.get("sides", {}), "sides", _SIDES),
        "means": _means(values.get("means", {}), names),
        "boxes": _boxes(values["boxes"]) if "boxes" in values else None,
        "later": Later(**{"protocol": "", "words": "", **checked_table(
            values["later"], "later", _LATER)}) if "later" in values else None,
        "held": Held(**checked_table(values.get("held", {}), "held", _HELD))})
    for part in parts:
        protocol.convention_of(part)  # refuses an unknown rule
    return protocol


def _convention(value: Any, name: str) -> Convention:
    if isinstance(value, str):
        return find_convention(value)
    choices = checked_table(value, "convention", _CONVENTION)
    if choices.keys() & {"metric", "normalize"}:
        choices.setdefault("measure", "")  # the lines of the base are of another distance
    return find_convention(choices.pop("base", "matlab")).replace(**{"name": name, **choices})


def _part(value: dict[str, Any]) -> Part:
    values = checked_table(value, "parts", _PART)
    return Part(**{**values, **{side: _rows(values.get(side, {}), side)
                                for side in ("query", "gallery")}})


def _rows(value: Any, name: str) -> Rows:
    values = {"side": name, "where": {}, **checked_table(value, name, _ROWS)}
    check_choice(values["side"], "side", ("query", "gallery"))
    values["where"] = checked_table(values["where"], "where", dict.fromkeys(_LABELS, [int]))
    return Rows(**values)


def _trials(value: Any, n_parts: int) -> Trials:
    values = checked_table(value, "trials", _TRIALS)
    check_choice(values.get("kind", ""), "kind", ("given", "seeded", "exact"))
    unit = values.get("unit") or ("identity",)
    for column in unit:
        check_choice(column, "unit", _LABELS)
    draw = values.get("draw", "sampled")
    check_choice(draw, "draw", DRAWS)
    n = check_count(values.get("n", 1), "n", 1, MOST_TRIALS // max(1, n_parts),
                    f"the most trials of {max(1, n_parts)} parts")
    kinds: dict[str, Trials] = {
        "given": Given(n, values.get("file", "")), "exact": Exact(),
        "seeded": Seeded(unit, n, check_count(values.get("seed", 0), "seed", 0), draw)}
    return kinds[values["kind"]]


def _counts(value: Any, parts: list[str]) -> dict[str, tuple[int, int]]:
    """Return the queries and gallery images of parts."""
    counts = checked_table(value, "counts", dict.fromkeys(parts, [int]))
    for part, images in counts.items():
        if len(images) != 2 or min(images) < 1:
            raise InputError("counts", f"queries and gallery images of part {part}, as [10, 100]",
                             repr(list(images)))
    return counts


def _means(value: Any, parts: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the parts of each mean over parts."""
    if not isinstance(value, Mapping):
        raise InputError("means", "a table of lists of parts", type(value).__name__)
    means = checked_table(value, "means", dict.fromkeys(value, [str]))
    for of_mean in means.values():
        for part in of_mean:
            check_choice(part, "means", parts)
    return means


def _boxes(value: Any) -> BoxRule:
    values = checked_table(value, "boxes", _BOXES)
    check_choice(values.get("gallery", ""), "gallery", GALLERIES)
    check_choice(values.get("right", ""), "right", RIGHT)
    score = values.get("score")
    if not (score is None or type(score) in (int, float) and 0 <= score <= 1):
        raise InputError("score", "a number from 0 to 1", repr(score))
    return BoxRule(**values)
