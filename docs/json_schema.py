"""The text of docs/schema.json, from the dataclasses that `--json` prints.

`written.py` writes it.
"""
import json
import types
import typing
from dataclasses import fields, is_dataclass
from decimal import Decimal

import numpy as np

from reid_ref.analysis.compare.answer import Compared
from reid_ref.analysis.validate.figures import Figures
from reid_ref.commands.compare.show.benchmarks import MainTable
from reid_ref.commands.conventions import Record, Records
from reid_ref.commands.crosscheck.command import Answered
from reid_ref.commands.doctor.command import Diagnosed
from reid_ref.commands.evaluate.compute import Evaluated, Evaluations, PerQueryFile
from reid_ref.commands.evaluate.show.means import MeanAnswer
from reid_ref.commands.evaluate.show.parts import ProtocolAnswer
from reid_ref.commands.explain.command import Explained
from reid_ref.commands.protocols import ProtocolRecord, ProtocolRecords
from reid_ref.commands.rerank import Rerank
from reid_ref.commands.scripts.show import DriverLines, Scripts
from reid_ref.commands.thresholds import ThresholdAnswer
from reid_ref.commands.ties import TieAnswer
from reid_ref.commands.validate.show import FigureVerdicts, Validated
from reid_ref.console.answers import SCHEMA
from reid_ref.conventions import Convention
from reid_ref.ranking.good_ranks import GoodRanks
from reid_ref.result.parts import Counts, Fingerprints, PerQuery
from reid_ref.result.views import Means, Ranks
from reid_ref.result.form import OF_CHANCES, OF_RANKS, PAIRS, QUERIES, SAVED
from reid_ref.result.means import AVERAGES
from reid_ref.testing.report import Report
from reid_ref.text.plain import is_optional, key

#: What is printed, by its name: the dataclass and the command.
SHAPES = {
    "evaluate": (Evaluated, "reid-ref evaluate FILE"),
    "evaluate_several": (Evaluations, "reid-ref evaluate of several files or conventions"),
    "evaluate_protocol": (ProtocolAnswer, "reid-ref evaluate FILE --protocol NAME"),
    "per_query": (PerQueryFile, "the file of reid-ref evaluate FILE --per-query OUT.json"),
    "compare": (Compared, "reid-ref compare FILE FILE"),
    "compare_benchmarks": (MainTable, "reid-ref compare NAME=FILE,FILE NAME=FILE,FILE"),
    "mean": (MeanAnswer, "reid-ref evaluate FILE FILE --mean runs|splits"),
    "rerank": (Rerank, "reid-ref rerank FILE"),
    "explain": (Explained, "reid-ref explain FILE"),
    "conventions": (Records, "reid-ref conventions"),
    "conventions_name": (Record, "reid-ref conventions NAME"),
    "protocols": (ProtocolRecords, "reid-ref protocols"),
    "protocols_name": (ProtocolRecord, "reid-ref protocols NAME"),
    "thresholds": (ThresholdAnswer, "reid-ref thresholds FILE"),
    "ties": (TieAnswer, "reid-ref ties FILE"),
    "doctor": (Diagnosed, "reid-ref doctor FILE"),
    "validate": (Validated, "reid-ref validate FILE --published RANK1/MAP"),
    "validate_figures": (Figures, "reid-ref validate --dataset NAME or --paper KEY"),
    "validate_pairs": (FigureVerdicts, "reid-ref validate FILE --published RANK1/MAP RANK1/MAP"),
    "crosscheck": (Answered, "reid-ref crosscheck FILE --evaluator SPEC"),
    "crosscheck_made": (Report, "reid-ref crosscheck --evaluator SPEC"),
    "scripts": (Scripts, "reid-ref scripts FILE"),
    "scripts_driver": (DriverLines, "reid-ref scripts FILE --driver NAME"),
}
#: Shapes of files that commands write; nothing is warned of in them.
FILES = ("per_query",)
_PLAIN = {str: "string", int: "integer", bool: "boolean", type(None): "null", Decimal: "string"}
_NUMPY = {np.float64: float, np.int64: int, np.str_: str}


class Schema:
    """Definitions of the dataclasses on the way."""

    def __init__(self):
        self.defs = {}

    def of(self, hint):
        """Return the schema of a type."""
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if hasattr(origin, "__value__"):  # numpy 2.5: NDArray is an alias with a value
            return self.of(origin.__value__[arguments])
        if origin is typing.Annotated:
            return {**self.of(arguments[0]), **arguments[1]._asdict()}
        if origin in (typing.Union, types.UnionType):
            return self._either([self.of(argument) for argument in arguments])
        if hint is float:  # NaN is null
            return {"type": ["number", "null"]}
        if origin is np.ndarray:
            dtype, = typing.get_args(arguments[1])
            return {"type": "array", "items": self.of(_NUMPY[dtype])}
        if hint in _PLAIN:
            return {"type": _PLAIN[hint]}
        if origin in (list, tuple):
            items = arguments[:1] if Ellipsis in arguments else arguments
            return {"type": "array", "items": self._either([self.of(item) for item in items])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if is_dataclass(hint) or hasattr(hint, "_fields"):
            return self._reference(hint)
        raise TypeError(hint)

    @staticmethod
    def _either(choices):
        """Return one of some schemas; null and plain types go into the list of a type."""
        null = {"type": "null"}
        others = [choice for k, choice in enumerate(choices)
                  if choice != null and choice not in choices[:k]]
        if all(choice.keys() == {"type"} for choice in others) and len(others) > 1:
            others = [{"type": [*dict.fromkeys(kind for choice in others for kind in (
                [choice["type"]] if isinstance(choice["type"], str) else choice["type"]))]}]
        if null not in choices:
            return others[0] if len(others) == 1 else {"anyOf": others}
        if len(others) > 1 or "type" not in others[0]:
            return {"anyOf": [*others, null]}
        kinds = others[0]["type"]
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return {**others[0], "type": [*dict.fromkeys([*kinds, "null"])]}

    def _reference(self, cls):
        name = cls.__name__
        if name not in self.defs:
            self.defs[name] = {}
            self.defs[name] = self.object(cls)
        return {"$ref": f"#/$defs/{name}"}

    def object(self, cls, head=()):
        """Return the schema of a dataclass's keys, after those of `head`."""
        hints = typing.get_type_hints(cls, include_extras=True)
        optional = {field.name for field in fields(cls) if is_optional(field)} \
            if is_dataclass(cls) else set()
        names = [field.name for field in fields(cls)] if is_dataclass(cls) else cls._fields
        properties, others = dict(head), False
        for name in names:
            if is_dataclass(cls) and cls.__dataclass_fields__[name].metadata:
                others = self.of(hints[name])["additionalProperties"]
                continue
            kinds = typing.get_args(hints[name])
            given = [kind for kind in kinds if kind is not type(None)]
            properties[key(name)] = (self._either([self.of(kind) for kind in given])
                                     if name in optional else self.of(hints[name]))
        text = (cls.__doc__ or "").strip().split("\n\n")[0]
        return {"description": " ".join(text.split()), "type": "object", "properties": properties,
                "required": [name for name in properties if name not in map(key, optional)],
                "additionalProperties": others}


def saved(found):
    """Return the shape of a saved result: a list for each column of a query or a good image."""
    parts = {name: {column: found.of(typing.get_type_hints(cls)[column]) for column in columns}
             for name, cls, columns in (("queries", PerQuery, QUERIES),
                                        ("ranks", GoodRanks, OF_RANKS))}
    parts["queries"] |= dict.fromkeys(("identity", "camera"), found.of(list[int | str]))
    return _closed("The file of reid-ref evaluate FILE --save OUT.json and Result.save.", {
        **_every(found), "convention": found.of(Convention), "labels": found.of(Fingerprints),
        "counts": _closed("", {**found.object(Counts)["properties"],
                               **dict.fromkeys(PAIRS, found.of(int))}),
        "cmc": {"type": "array", "items": found.of(float)},
        "cmc_length": found.of(int),
        **{name: _closed("", of_part) for name, of_part in parts.items()}})


def saved_trials(found):
    """Return the shape of a saved mean over trials, each of which is a saved result."""
    return _closed("The file of a mean over the trials of a protocol.", {
        **_every(found), "average": {"enum": [*AVERAGES]},
        "trials": {"type": "array", "items": {"$ref": "#/$defs/saved"}}})


def saved_expectation(found):
    """Return the shape of a saved expectation, which has probabilities in the place of ranks."""
    numbers = {"type": "array", "items": found.of(float)}
    properties = {name: value for name, value in saved(found)["properties"].items()
                  if name not in ("ranks", "cmc", "cmc_length")}
    return _closed("The file of an expectation over all galleries.", {
        **properties, "expected": _closed("", {
            **dict.fromkeys(OF_CHANCES, numbers), "sd": found.of(dict[str, float])})})


def _every(found):
    return {"schema": {"const": SAVED}, **found.object(Means)["properties"],
            "signature": found.of(str)}


def _closed(description, properties):
    optional = {"cmc", "cmc_length", "n_beyond", *PAIRS, *map(key, Ranks.__dataclass_fields__)}
    return {**({"description": description} if description else {}), "type": "object",
            "properties": properties,
            "required": [name for name in properties if name not in optional],
            "additionalProperties": False}


def schema():
    """Return all of docs/schema.json."""
    found, shapes = Schema(), {}
    for name, (cls, command) in SHAPES.items():
        head = {"schema": {"const": SCHEMA}}
        if name not in FILES:
            head["warnings"] = {"type": "array", "items": {"type": "string"}}
        shapes[name] = {**found.object(cls, head), "description": f"{command}."}
    shapes["saved"] = saved(found)
    shapes["saved_trials"] = saved_trials(found)
    shapes["saved_expectation"] = saved_expectation(found)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "JSON of reid-ref",
        "description": "One object per command; docs/json.md says what the keys mean.",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in shapes],
        "$defs": {**shapes, **dict(sorted(found.defs.items()))}}


def text():
    """Return the file's text, one line per key."""
    def lines(value, depth):
        if depth == 4 or not isinstance(value, dict) or not value:
            return json.dumps(value)
        inner = (",\n" + " " * (depth + 1)).join(
            f"{json.dumps(name)}: {lines(item, depth + 1)}" for name, item in value.items())
        return f"{{\n{' ' * (depth + 1)}{inner}\n{' ' * depth}}}"

    return lines(schema(), 0) + "\n"
