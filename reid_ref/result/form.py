"""The form of a saved result: its version, its keys and columns, its writer and its reader.

A file keeps what cannot be computed again: ranks, the labels of the queries, statuses, counts, and
beside them what the writer printed.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from operator import index
from typing import Any, NamedTuple

from reid_ref.arrays import InputError
from reid_ref.conventions import is_only_ignored
from reid_ref.disk import PathLike, is_packed, pack, path_of, read_json, write_whole
from reid_ref.measures import RANKS, printed
from reid_ref.ranking.good_ranks import GoodRanks
from reid_ref.result.parts import STATUSES

#: The version of the form, and those that can be read: 3 has no labels of text.
SAVED, READ = 4, (3, 4)
#: What is read here, for messages.
EXPECTED = "what reid-ref evaluate FILE --save OUT.json or Result.save wrote"


class Kind(NamedTuple):
    """What a JSON value may be, in words and as a check."""

    words: str
    fits: Callable[[Any], bool]


TEXT = Kind("text", lambda value: type(value) is str)
WHOLE = Kind("whole numbers below 2**63",
             lambda value: type(value) is int and -2**63 <= value < 2**63)
COUNT = Kind("whole numbers from 0, below 2**63",
             lambda value: type(value) is int and 0 <= value < 2**63)
CRC = Kind("eight hexadecimal digits, or nothing", lambda value: type(value) is str and bool(
    re.fullmatch("([0-9a-f]{8})?", value)))
STATUS = Kind(f"one of {', '.join(STATUSES)}", lambda value: type(value) is str and (
    value in STATUSES or is_only_ignored(value)))
# Not above the bound: NaN, infinity, and what no double holds.
NUMBER = Kind("numbers or null", lambda value: value is None or (
    type(value) in (int, float) and abs(value) < 2**63))
# A sum of shares can be above 1 by its last bits.
SHARE = Kind("numbers from 0 to 1", lambda value: type(value) in (int, float) and (
    0 <= value <= 1 + 1e-12))
CURVE = Kind("numbers from 0 to 1, or null", lambda value: value is None or SHARE.fits(value))
LIST = Kind("a list", lambda value: type(value) is list)
OBJECT = Kind("an object", lambda value: type(value) is dict)

#: The columns of the queries, with an entry for each; labels may be `TEXT`.
QUERIES = {"identity": WHOLE, "camera": WHOLE, "status": STATUS}
#: The columns of the ranks: those of `GoodRanks`, the last one where a cut loses good images.
OF_RANKS = {name: WHOLE if name == "image" else COUNT for name in GoodRanks.__dataclass_fields__}
#: What an expectation has in their place, of each query with a good image; `match` row after row.
OF_CHANCES = {"reciprocal": SHARE, "weight": SHARE, "match": SHARE}
#: Pairs that a file counts as well: kept images, those before good ones and before first matches,
#: and good ones beyond a cut.
PAIRS = ("kept", "before_good", "before_match", "beyond")
#: What every file has, one of a single result, and one of a mean over trials.
EVERY = ("schema", *printed(RANKS), "signature")
ONE = (*EVERY, "convention", "labels", "counts", "queries", "cmc", "cmc_length", "ranks",
       "expected")
TRIALS = (*EVERY, "average", "trials")


def kinds_of_ranks(cut: str) -> dict[str, Kind]:
    """Return the columns of the ranks under a convention that cuts lists so."""
    return {name: kind for name, kind in OF_RANKS.items()
            if name != "n_beyond" or cut != "after-ignoring"}


def write(path: PathLike, values: Mapping[str, Any]) -> None:
    """Write an object to one JSON file, packed if its name says so, whole or not at all.

    There is a line for each key.
    """
    lines = (f" {json.dumps(key)}: {json.dumps(value, allow_nan=False, default=index)}"
             for key, value in values.items())
    content = "{{\n{}\n}}\n".format(",\n".join(lines)).encode()
    write_whole(path, pack(content) if is_packed(path) else content)


def read_values(path: PathLike) -> Values:
    """Return the object of a file whose version is this one, its values not yet checked."""
    value = read_json(path_of(path), EXPECTED)
    if not isinstance(value, dict):
        raise InputError(path, f"one JSON object, {EXPECTED}")
    if "detection_box" in value:
        raise InputError(path, EXPECTED, "boxes, as for person search", "evaluate them by "
                         "their protocol: reid-ref evaluate FILE --protocol cuhk-sysu; `reid-ref "
                         "protocols` lists all")
    schema = value.get("schema")
    summary = "signature" in value and not {"queries", "trials"} & value.keys()
    if summary or type(value.get("queries")) is list:
        raise InputError(path, EXPECTED, "what another option wrote", "--save keeps what commands "
                         "need, the ranks: reid-ref evaluate FILE --save OUT.json")
    if schema not in READ or type(schema) is not int:
        newer = type(schema) is int and schema > SAVED
        raise InputError(f"{path}: schema", f"{SAVED}, {EXPECTED}",
                         "none" if schema is None else shown(schema),
                         "take a newer reid-ref" if newer else "save the result anew")
    return Values(value, str(path), [])


def shown(value: Any) -> str:
    """Return the beginning of a JSON value, for messages."""
    return json.dumps(value)[:40]


class Values(NamedTuple):
    """An object of a file, whose values are checked as they are read.

    Parameters
    ----------
    values : dict
    where : str
        The file, and the way to the object.
    unknown : list of str
        Keys that were skipped.
    """

    values: Any
    where: str
    unknown: list[str]

    def value(self, key: str, kind: Kind) -> Any:
        """Return the value of a key."""
        if key not in self.values or not kind.fits(self.values[key]):
            raise InputError(f"{self.where}: {key}", kind.words,
                             shown(self.values[key]) if key in self.values else "none",
                             f"the file is not {EXPECTED}, or it is damaged")
        return self.values[key]

    def of(self, known: Any) -> Values:
        """Return it, once keys that are not known are noted."""
        self.unknown.extend(key for key in self.values if key not in known)
        return self

    def inside(self, key: str, known: Any) -> Values:
        """Return the object that is the value of a key."""
        return Values(self.value(key, OBJECT), f"{self.where}: {key}", self.unknown).of(known)

    def column(self, key: str, kind: Kind, n: int | None = None) -> list[Any]:
        """Return a list of such values, `n` of them."""
        values: list[Any] = self.value(key, LIST)
        if n is not None and len(values) != n:
            raise InputError(f"{self.where}: {key}", f"{n} values", len(values),
                             "is the file complete?")
        if set(map(type, values)) == {int} and kind.fits(min(values)) and kind.fits(max(values)):
            return values  # the common case, and the quick one
        for k, value in enumerate(values):
            if not kind.fits(value):
                raise InputError(f"{self.where}: {key}", kind.words,
                                 f"{shown(value)} in entry {k}")
        return values
