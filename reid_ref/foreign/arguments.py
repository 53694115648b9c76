"""How an evaluator is called: its parameters are fed by their names, or by their places."""
import argparse
import ast
import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.disk import tables_of
from reid_ref.foreign.arrays import MAX_RANK, Arrays
from reid_ref.foreign.source import StandIn
from reid_ref.foreign.words import name_of

#: Names and what they mean, by the tables of names.toml.
NAMES = tables_of("foreign/names.toml")
PLACES = tuple[str, ...](NAMES["places"])
BY_PLACE = tuple(("", part) for part in PLACES)
_WORDS: dict[str, str] = {**NAMES["given"], "rank": str(MAX_RANK)}
#: What distances, places and the like say: how far images are.
_RANKING = frozenset(("distances", "similarity", "q_features", "ranked", "places", "features"))


FORMS: dict[str, str] = NAMES["forms"]


class Form(NamedTuple):
    """The form in which arrays are handed over; all that was, with what it is, if asked for."""

    tensors: bool = False
    name: str = ""
    handed: list[tuple[str, Any]] | None = None

    def expression(self, part: str) -> str:
        """Return how an array is handed over, as an expression of it."""
        is_label = part not in ("distances", "similarity", "places") and "features" not in part
        form = self.name if is_label == (self.name != "a matrix by columns") else ""
        return FORMS.get("tensors" if self.tensors else form, "{}")

    def make(self, part: str, array: Any) -> Any:
        """Return an array as it is handed over."""
        expression = self.expression(part)
        torch = importlib.import_module("torch") if "torch" in expression else None
        made = eval(expression.format("array"), {"np": np, "torch": torch, "array": array})
        if self.handed is not None:
            self.handed.append((part, made))
        return made


class Fed(NamedTuple):
    """What one function is given: each part by the name of a parameter, or "" by its place, and
    settings.

    `optional` has the names with a default; `ordered`: places told what names did not; `ranks`:
    those of the curve, where an argument lists them.
    """

    function: Callable[..., Any]
    given: tuple[tuple[str, str], ...]
    optional: frozenset[str] = frozenset()
    settings: Mapping[str, Any] = MappingProxyType({})
    ordered: bool = False
    ranks: Sequence[int] = ()

    @property
    def parts(self) -> frozenset[str]:
        """What it is given."""
        return frozenset(part for _, part in self.given)

    @property
    def is_square(self) -> bool:
        """Whether it takes one set, which is evaluated against itself."""
        return not any(part[0] == "g" for part in self.parts) and "ranked" not in self.parts

    def words(self, rank: int | None) -> str:
        """Return what it is given, in words."""
        def named(key: str, part: str) -> str:
            value = str(rank or MAX_RANK) if part == "rank" else _WORDS.get(part, part)
            return key if key in (value, part) else f"{key}={value}" if key else value
        return ", ".join(named(*each) for each in self._at(rank))

    def _at(self, rank: int | None) -> list[tuple[str, str]]:
        """Return what is given: a longest rank only if one is asked for, or needed."""
        return [(key, part) for key, part in self.given
                if part != "rank" or rank is not None or key not in self.optional]

    def call(self, arrays: Arrays, rank: int | None = None, form: Form = Form()) -> Any:
        """Call it on copies of the arrays, in a form."""
        made = [(key, form.make(part, value) if isinstance(value, np.ndarray) else value)
                for key, part in self._at(rank) for value in [part_of(part, arrays, rank)]]
        return self.function(*(value for key, value in made if not key), **{
            key: value for key, value in made if key}, **self.settings)


def part_of(part: str, arrays: Arrays, rank: int | None = None) -> Any:
    """Return one thing that is handed over, as a copy of its own."""
    others = {"query": arrays.query, "gallery": arrays.gallery, "nothing": None,
              "self": StandIn(), "rank": MAX_RANK if rank is None else rank}
    if part in others:
        return others[part]
    distances = arrays.distances
    if part in ("distances", "similarity"):
        signed = distances.astype(np.promote_types(distances.dtype, np.int8))
        return np.array(distances if part == "distances" else -signed, order="C")
    if part in ("ranked", "places"):
        order = np.argsort(distances, axis=1, kind="stable")
        return order if part == "places" else arrays.gallery.identity[order]
    labels = arrays.gallery if part[0] == "g" else arrays.query
    column = part[2:] if part[1] == "_" else part
    if column == "features":
        values = arrays.features and arrays.features[part[0] == "g"]
    else:
        values = getattr(labels, column)
    if values is None:
        raise InputError("", got=f"it takes {column}, and there are none")
    return np.array(values, order="C")


# ------------------------------------------------------------------ names
def meaning_of(name: str) -> str:
    """Return what a parameter is given, by its name; "" if that tells nothing.

    Examples
    --------
    >>> [meaning_of(name) for name in ("q_pids", "gallery_cams", "distmat", "qf", "g_cloth_ids")]
    ['q_identity', 'g_camera', 'distances', 'q_features', 'g_clothes']
    >>> [meaning_of(name) for name in ("similarity", "max_rank", "img2person", "get_mAP")]
    ['similarity', 'rank', 'g_identity', '']
    """
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
    words = plain.split("_")

    def first(table: str, fits: Callable[[str], Any]) -> str:
        return next((key for key, pattern in NAMES[table].items() if fits(pattern)), "")
    side = first("side", lambda pattern: any(re.fullmatch(pattern, word) for word in words))
    column = first("columns", lambda pattern: re.search(pattern, plain))
    if side:
        return f"{side}_{column}" if column else ""
    return first("alone", lambda pattern: re.search(pattern, plain)) or first(
        "both", lambda pattern: re.fullmatch(pattern, plain))


def _meanings(parameters: list[inspect.Parameter], needed: list[inspect.Parameter],
              said: Mapping[str, Any]) -> tuple[dict[str, str], bool | None]:
    """Return what each parameter is given, by its name, and whether places told the rest; None if
    nothing does.

    A name that is known is never overruled. Places tell the others only where those that are
    known stand in torchreid's order.
    """
    named = {p.name: said.get(p.name) or meaning_of(p.name) for p in parameters}
    if [*named][1:3] == ["query", "gallery"]:
        return {**named, **dict(zip(named, ("distances", "query", "gallery")))}, False
    for name in named:  # features, if the labels of the same side have its name in theirs
        side = NAMES["side_alone"].get(name.lower(), "")
        if side and any(part == f"{side}_identity" and other.startswith(f"{name}_")
                        for other, part in named.items()):
            named[name] = f"{side}_features"
    for column in ("identity", "camera", "features"):  # the side that the other one is not
        for own, other in ("qg", "gq"):
            if f"{other}_{column}" in named.values() and f"{own}_{column}" not in named.values():
                named = {name: f"{own}_{column}" if part == column else part
                         for name, part in named.items()}
    known = {*named.values()}
    unknown = [p.name for p in needed if not named[p.name]]
    if known & _RANKING and known & {"q_identity", "identity"}:
        if not unknown or {"q_camera", "g_camera"} <= known:  # the rest can hardly matter
            return {**named, **dict.fromkeys(unknown, "nothing")}, False
    free = [p for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY][:len(PLACES)]
    in_order = {p.name: part for p, part in zip(free, PLACES)}
    if len(free) < 3 or not {*unknown} <= {*in_order} or any(
            named[p.name] not in ("", "rank", in_order.get(p.name)) for p in needed):
        return named, None
    ranks = {name: part for name, part in named.items() if part == "rank"}
    return {**{p.name: part for p, part in zip(free, PLACES)
               if p in needed or part != "rank"}, **ranks}, True


# ------------------------------------------------------------------ functions
def fed(function: Any, name: str = "", settings: Mapping[str, Any] = MappingProxyType({})) -> Fed:
    """Return how a function is called; `settings`: arguments for it, as far as it takes them.

    Raises
    ------
    InputError
        Not callable, or its parameters are none that are known.
    """
    name, function = name or name_of(function), as_function(function)
    if not callable(function):
        raise InputError("evaluator", got=f"{name}: expected a function, got "
                         f"{type(function).__name__}")
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):  # built-in functions may have none
        signature = inspect.signature(lambda *arrays, **settings: None)
    kinds = inspect.Parameter
    found = {p.kind for p in signature.parameters.values()}
    said = {key: value for key, value in settings.items() if isinstance(value, str)
            and value in NAMES["roles"] and key in signature.parameters and not meaning_of(key)}
    settings = {key: value for key, value in settings.items() if key not in said and (
        key in signature.parameters or kinds.VAR_KEYWORD in found)}
    parameters = [p for p in signature.parameters.values() if p.name not in settings
                  and p.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)]
    if len(parameters) < 3 and kinds.VAR_POSITIONAL in found:
        return Fed(function, BY_PLACE[:5], settings=settings, ordered=True)
    needed = [p for p in parameters if p.default is kinds.empty]
    named, ordered = _meanings(parameters, needed, said)
    if ordered is None:
        raise _refusal(name, named, [p.name for p in needed if not named[p.name]])
    # Features are the caller's own affair where distances are asked for, and so are settings.
    optional = frozenset(p.name for p in parameters if p not in needed)
    at = [value for key, value in [*settings.items(), *((p.name, p.default) for p in parameters)]
          if isinstance(value, (list, tuple)) and meaning_of(key) == "rank"
          and all(isinstance(k, int) and k > 0 for k in value)]
    others = ("ranked", "similarity") if {*named.values()}.isdisjoint(
        ("distances", "similarity")) else ("features", "ranked", "similarity")
    given = tuple((p.name * (p.kind is not kinds.POSITIONAL_ONLY), part) for p in parameters
                  if (part := named.get(p.name, "")) and not (p.name in optional and (
                      part == "rank" and isinstance(p.default, (list, tuple)) or
                      part.endswith(others) or not _is_open(p.default))))
    return Fed(function, given, optional, settings, ordered, at[0] if at else ())


def _refusal(name: str, named: Mapping[str, str], unknown: list[str]) -> InputError:
    call = ", ".join(f"{key}={_WORDS.get(part, part) or '?'}" for key, part in named.items()
                     if part or key in unknown)
    guess = next(iter(unknown), "")
    role = f"{'g' if re.search(NAMES['gallery_in_name'], guess.lower()) else 'q'}_features"
    return InputError(
        "evaluator", got=f"{name}: expected a function of (distmat, q_pids, g_pids, q_camids, "
        f"g_camids), understood as ({call})",
        remedy=f"{guess}: features? then say --setting {guess}={role}"
        if guess and len(named) > 2 else "an adapter of one line gives it this form")


def as_function(evaluator: Any) -> Any:
    """Return a class, or an object, with update and compute, or `__call__`, as one function."""
    is_class = inspect.isclass(evaluator)
    if is_class and "__call__" in vars(evaluator):
        return evaluator()
    if not (hasattr(evaluator, "update") and hasattr(evaluator, "compute")):
        return evaluator

    def evaluate(*values: Any, **named: Any) -> Any:
        made = evaluator() if is_class else evaluator
        if hasattr(made, "reset"):
            made.reset()
        made.update(*values, **named)
        return made.compute()
    return wraps(partial(evaluator.update, *[None] * is_class))(evaluate)  # it has its signature


def _is_open(default: Any) -> bool:
    """Whether a default is a place for an array or for a rank, and not a setting."""
    return default is None or isinstance(default, (int, list, np.ndarray)) and (
        not isinstance(default, bool))


def setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of a setting, for argparse.

    Examples
    --------
    >>> setting("top=20"), setting("metric=cosine")
    (('top', 20), ('metric', 'cosine'))
    """
    name, equals, value = text.partition("=")
    if not (name.isidentifier() and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    with suppress(ValueError, SyntaxError):
        return name, ast.literal_eval(value)
    return name, value
