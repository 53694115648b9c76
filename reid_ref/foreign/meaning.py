"""What returned numbers are: mAP, CMC, Rank-k, AP of each query, mINP.

By their names; without names by their shapes, their order and their values.
"""
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError
from reid_ref.foreign.arguments import NAMES
from reid_ref.foreign.words import as_numbers, short


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif hasattr(value, "mAP") and hasattr(value, "cmc") and not isinstance(value, tuple):
        # Our own names, be they of properties.
        yield from ((name, getattr(value, name, None)) for name in ("cmc", "mAP", "mINP"))
        yield "AP", getattr(getattr(value, "per_query", value), "ap", None)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((each.name, getattr(value, each.name)) for each in fields(value))
    elif hasattr(value, "_asdict"):
        yield from value._asdict().items()
    elif hasattr(value, "__dict__") and as_numbers(value) is None:
        yield from ((name, part) for name, part in vars(value).items() if name[0] != "_")


def named_parts(value: Any,
                parent: str = "") -> Iterator[tuple[Any, npt.NDArray[Any], str]]:
    """Yield what a name tells of numbers, "mAP", ("Rank", 5) and so on or None, with the numbers
    and the name."""
    for name, part in _members(value):
        if isinstance(part, Mapping) or is_dataclass(part):
            yield from named_parts(part, str(name))
        elif (numbers := as_numbers(part)) is not None:
            yield meaning(name, parent), numbers, str(name)


def is_rank(name: str) -> bool:
    """Whether a name may be that of ranks or of what is found at them: a curve."""
    return name.lower() in ("rank", "ranks")


def first_of(named: Iterable[tuple[Any, npt.NDArray[Any], str]]) -> dict[Any, npt.NDArray[Any]]:
    """Return the first part of each kind, one of vectors and numbers if there is any."""
    found: dict[Any, npt.NDArray[Any]] = {}
    for kind, numbers, _ in named:
        if kind is not None and (kind not in found or found[kind].ndim > 1):
            found[kind] = numbers
    return found


def meaning(name: Any, parent: str = "") -> Any:
    """Return what a name of a number means, or None.

    Examples
    --------
    >>> meaning("mean_average_precision"), meaning("rank-5"), meaning(10, "cmc"), meaning("time")
    ('mAP', ('Rank', 5), ('Rank', 10), None)
    """
    if isinstance(name, (int, np.integer)) or str(name).isdigit():
        kind = meaning(parent) if parent else None
        return ("Rank", int(name)) if kind == "CMC" or isinstance(kind, tuple) or (
            is_rank(parent)) else kind
    plain = re.sub(r"[^a-z0-9@]", "", str(name).lower())
    for kind, pattern in NAMES["returned"]:
        if match := re.fullmatch(pattern, plain):
            return (kind, int(match[1] or 1)) if kind == "Rank" else kind
    return None


# ------------------------------------------------------------------ without names
def by_values(value: Any, function: str,
              order: Any = None) -> tuple[dict[Any, Any], tuple[str, ...]]:
    """Return the parts of a tuple or of one number, and how they were told apart.

    `order`: what numbers without names were at the call before.
    """
    if not isinstance(value, (tuple, list)) or isinstance(value, list) and len(value) > 6:
        number = as_numbers(value)
        if number is None or number.ndim > 1 or not number.size:
            return {}, ()
        kind = _alone(number, function)
        return {kind: value}, (f"its one {'vector' if number.ndim else 'number'} is taken for "
                               f"{kind if isinstance(kind, str) else 'Rank-1'}",)
    parts = list(value)
    if maps := [part for part in parts if isinstance(part, Mapping)]:
        means = {"mAP": part for part in parts if not isinstance(part, Mapping)
                 and (number := as_numbers(part)) is not None and not number.ndim}
        return {**means, **first_of(named_parts(maps[0], "cmc"))}, ()
    sizes = [getattr(as_numbers(part), "ndim", None) for part in parts]
    if len(parts) < 2 or sizes[0] is None:
        return refuse_part(parts[0], "cmc", 1) if len(parts) > 1 else ({}, ())
    if sizes[0] == 0 and 1 in sizes[1:2]:
        return {"mAP": parts[0], "CMC": parts[1]}, ("mAP is taken to come before CMC",)
    if sizes[0] == 0:
        return _scalars([part for part, size in zip(parts, sizes) if size == 0], order)
    return _curve_first(parts), ()


def refuse_part(part: Any, name: str, *dimensions: int) -> NoReturn:
    expected = "a number" if 0 in dimensions else "a vector of numbers"
    raise InputError("", got=f"its {name} is {short(part)}", remedy=f"expected {expected}")


def _curve_first(parts: list[Any]) -> dict[Any, Any]:
    """Return (cmc, mAP, ...) or (all_cmc, all_AP, all_INP): the order of ReID code."""
    cmc, second = _checked(parts[0], "cmc", 1), _checked(parts[1], "mAP", 0, 1)
    found: dict[Any, Any] = {"CMC": cmc, "AP" if second.ndim else "mAP": parts[1]}
    third = as_numbers(parts[2]) if len(parts) > 2 else None
    if third is None or third.ndim > 1 or not third.size or third.dtype.kind not in "fiu":
        return found
    mean, mAP = float(np.mean(third)), float(np.mean(second))
    if not second.ndim and abs(mean - mAP) <= 1e-6 * abs(mAP):  # the APs, or mAP again
        return {**found, "AP": parts[2]} if third.ndim else found
    # A mean of INP is never 0: a place filled. Whole numbers are places.
    if (third.ndim or mean) and third.dtype.kind == "f":
        found["INP" if third.ndim else "mINP"] = parts[2]
    return found


def _checked(part: Any, name: str, *dimensions: int) -> npt.NDArray[Any]:
    array = as_numbers(part)
    if array is None or array.ndim not in dimensions:
        refuse_part(part, name, *dimensions)
    if not array.size and name == "mAP":
        raise InputError("", got=f"its {name} is an empty vector")
    return array


#: Orders of unnamed numbers; the first in which ranks do not fall and mINP is below mAP is taken.
_ORDERS = tuple(tuple(map(meaning, order.split())) for order in NAMES["orders"])


def _scalars(parts: list[Any], before: Any) -> tuple[dict[Any, Any], tuple[str, ...]]:
    for order in _ORDERS:
        if len(order) == len(parts) and before in (None, order):
            found = dict(zip(order, parts))
            ranks = [float(found[key]) for key in order if key[0] == "Rank"]
            if before or ranks == sorted(ranks) and not float(found.get("mINP", 0)) > float(
                    found["mAP"]):
                names = ", ".join(key if isinstance(key, str) else f"Rank-{key[1]}"
                                  for key in order)
                return found, (f"its numbers are taken for {names}",)
    return {}, ()


def _alone(number: npt.NDArray[Any], function: str) -> Any:
    """Return what a single number or vector is, by the name of its function."""
    kind = meaning(function.rpartition(":")[2].rpartition(".")[2])
    if number.ndim:
        falls = bool((np.diff(number) < 0).any())
        return "AP" if falls or kind == "AP" else "CMC"
    return ("Rank", 1) if kind == "CMC" or isinstance(kind, tuple) else "mAP"
