"""What an evaluator returned, as numbers: by their names first, by their values second.

A tuple, a list, a dict, a dict of dicts, a dataclass, a named tuple, an object, a tensor or a
single number. Percent is recognised by mAP, and divided by 100.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.arrays.value import Value
from reid_ref.testing.foreign import as_numbers, describe, short

#: How far above 1, or below 0, rounding may take a number: a few sums in float32.
ROUNDING = 2.0**-20
#: Names of what is returned, without _, - and spaces, and what it is.
_NAMES = (
    ("mINP", r"m(ean)?inp"),
    ("INP", r"(all)?inps?"),
    ("AP", r"(all|list|perquery|query)?(aps?|averageprecisions?)(s|perquery|all|list)?"),
    ("mAP", r"(mean)?m?(ap|averageprecision)(mean|score)?|map(r|topk|all)?@?\d*"),
    ("Rank", r"(?:cmc|r|rank|top|acc(?:uracy)?|recall|hits?)@?(\d+)"),
    ("Rank", r"(?:precision|p)(?:at|@)?(1)"),
    ("CMC", r"(all)?cmc(s|curve|scores?|topk)?|rankcurve"),
    ("Rank", r"acc(?:uracy)?|topone|rankone()"))
_EXPECTED = ("expected (cmc, mAP), (cmc, mAP, mINP), (cmc, all_AP, all_INP), a dict or an object "
             "that names its numbers, or a Result")


@dataclass(frozen=True, eq=False)
class Answer(Value):
    """What an evaluator answered, as numpy values; None for what it does not give.

    Parameters
    ----------
    mAP, mINP : float, optional
    cmc : Doubles, optional
        At `ranks`: 1, 2, ... if these are None.
    ap : Doubles, optional
        An entry per query, or per query that counts; NaN if it gave none.
    ranks : Integers, optional
    percent : bool
        Whether the numbers were percent before.
    single : frozenset of str
        Which of the fields have numbers of single precision.
    told : tuple of str
        How they were understood, if not by their names.
    gone : tuple of str
        Names that it asks numpy for, which numpy no longer has; put back for the call.
    """

    mAP: float | None = None
    cmc: Doubles | None = None
    mINP: float | None = None
    ap: Doubles | None = None
    ranks: Integers | None = None
    percent: bool = False
    single: frozenset[str] = frozenset()
    told: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def curve(self) -> Doubles:
        """The CMC, empty if it gave none."""
        return np.zeros(0) if self.cmc is None else self.cmc

    @property
    def at(self) -> Integers:
        """The ranks of the curve."""
        return np.arange(1, len(self.curve) + 1) if self.ranks is None else self.ranks


def read_answer(value: Any, function: str = "") -> Answer:
    """Return the answer as numpy values; `function` is the name of what gave it.

    Raises
    ------
    InputError
        Nothing in it is a number that an evaluator gives.

    Examples
    --------
    >>> read_answer(([.5, 1.], .75)).mAP, read_answer({"R1": 50., "mAP": 75.}).curve
    (0.75, array([0.5]))
    """
    try:
        return value if isinstance(value, Answer) else _read(value, function)
    except InputError:
        raise
    except Exception as error:  # ragged lists, numbers that refuse to be read, ...
        raise InputError(f"it returned {short(value)}, which cannot be read",
                         got=describe(error)) from None


def fitting(answer: Answer, n_query: int) -> Answer:
    """Return an answer to so many queries, without APs that are not one per query."""
    if answer.ap is not None and len(answer.ap) != n_query:
        return replace(answer, ap=None)
    return answer


def decimals_of(answer: Answer) -> int | None:
    """Return to how many decimals its numbers are rounded: 3 or 4 of a share, 1 or 2 of percent.

    None if they are not. The answer is one whose numbers have many decimals.

    Examples
    --------
    >>> decimals_of(read_answer({"mAP": 0.612, "R1": 0.8}))
    3
    """
    values = np.append(answer.curve, [] if answer.mAP is None else [answer.mAP])
    values = values[~np.isnan(values)] * (100 if answer.percent else 1)
    few = 1 if answer.percent else 3
    rounded = (k for k in (few, few + 1) if len(values) and not np.abs(
        values * 10**k - np.rint(values * 10**k)).max() > 1e-9 * 10**k)
    return next(rounded, None)


def merged(answers: list[Answer]) -> Answer:
    """Return the answers of functions that share the work, such as mean_ap and cmc, as one."""
    first, *others = answers
    for other in others:
        first = replace(first, **{
            name: getattr(other, name) for name in ("mAP", "cmc", "mINP", "ap", "ranks")
            if getattr(first, name) is None}, told=(*first.told, *other.told),
            single=first.single | other.single, gone=(*first.gone, *other.gone),
            percent=first.percent or other.percent)
    return first


# ------------------------------------------------------------------ by names
def _read(value: Any, function: str) -> Answer:
    parts = _of_result(value) or _first_of(_named(value))
    told: tuple[str, ...] = ()
    if not parts:
        parts, told = _by_values(value, function)
    if not parts:
        raise InputError("", got=f"it returned {short(value)}", remedy=_EXPECTED)
    return _answer(parts, told)


def _of_result(value: Any) -> dict[Any, Any] | None:
    """Return the parts of what has our own names."""
    if not (hasattr(value, "mAP") and hasattr(value, "cmc")) or isinstance(value, tuple):
        return None
    found = {"CMC": value.cmc, "mAP": value.mAP, "mINP": getattr(value, "mINP", None),
             "AP": getattr(getattr(value, "per_query", None), "ap", getattr(value, "ap", None))}
    return {name: part for name, part in found.items() if part is not None}


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((each.name, getattr(value, each.name)) for each in fields(value))
    elif hasattr(value, "_asdict"):
        yield from value._asdict().items()
    elif hasattr(value, "__dict__") and as_numbers_or_none(value) is None:
        yield from ((name, part) for name, part in vars(value).items() if name[0] != "_")


def as_numbers_or_none(value: Any) -> npt.NDArray[Any] | None:
    """Return numbers as an array, or None where looking at them fails."""
    try:
        return as_numbers(value)
    except Exception:
        return None


def _named(value: Any, parent: str = "") -> Iterator[tuple[Any, Any]]:
    """Yield what a name tells of each number, with the number: "mAP", ("Rank", 5) and so on."""
    for name, part in _members(value):
        kind = meaning(name, parent)
        if isinstance(part, Mapping) or is_dataclass(part):
            yield from _named(part, str(name))
        elif kind is not None and as_numbers_or_none(part) is not None:
            yield kind, part


def _first_of(named: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the first part of each kind, one of vectors and numbers if there is any."""
    found: dict[Any, Any] = {}
    for kind, part in named:
        before = as_numbers_or_none(found.get(kind))
        if before is None or before.ndim > 1:
            found[kind] = part
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
        return ("Rank", int(name)) if kind == "CMC" or isinstance(kind, tuple) else kind
    plain = re.sub(r"[^a-z0-9@]", "", str(name).lower())
    for kind, pattern in _NAMES:
        match = re.fullmatch(pattern, plain)
        if match:
            return (kind, int(match.groups()[0] or 1) if match.groups() else 1) \
                if kind == "Rank" else kind
    return None


# ------------------------------------------------------------------ by values
def _by_values(value: Any, function: str) -> tuple[dict[Any, Any], tuple[str, ...]]:
    """Return the parts of a tuple or of one number, and how they were told apart."""
    is_tuple = isinstance(value, (tuple, list)) and not (
        isinstance(value, list) and len(value) > 6)
    if not is_tuple:
        number = as_numbers_or_none(value)
        if number is None or number.ndim > 1 or not number.size:
            return {}, ()
        kind = _alone(number, function)
        return {kind: value}, (f"its one {'vector' if number.ndim else 'number'} is taken for "
                               f"{kind if isinstance(kind, str) else 'Rank-1'}",)
    parts = list(value)
    if parts and isinstance(parts[0], Mapping):
        return _first_of(_named(parts[0])), ()
    sizes = [None if (number := as_numbers_or_none(part)) is None else number.ndim
             for part in parts]
    if len(parts) < 2 or sizes[0] is None:
        return _refuse(parts[0], "cmc", 1) if len(parts) > 1 else ({}, ())
    if sizes[0] == 0 and 1 in sizes[1:2]:
        return {"mAP": parts[0], "CMC": parts[1]}, ("mAP is taken to come before CMC",)
    if sizes[0] == 0:
        return _scalars([part for part, size in zip(parts, sizes) if size == 0])
    return _curve_first(parts), ()


def _refuse(part: Any, name: str, *dimensions: int) -> Any:
    expected = "a number" if 0 in dimensions else "a vector of numbers"
    raise InputError("", got=f"its {name} is {short(part)}", remedy=f"expected {expected}")


def _curve_first(parts: list[Any]) -> dict[Any, Any]:
    """Return (cmc, mAP, ...) or (all_cmc, all_AP, all_INP): the order of ReID code."""
    cmc, second = (_checked(part, name, *dimensions) for part, name, dimensions in (
        (parts[0], "cmc", (1,)), (parts[1], "mAP", (0, 1))))
    found: dict[Any, Any] = {"CMC": cmc, "AP" if second.ndim else "mAP": parts[1]}
    third = as_numbers_or_none(parts[2]) if len(parts) > 2 else None
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
        # What numpy makes of it is told if it has a shape.
        made = np.asarray(part) if array is None and not isinstance(part, (str, list)) else part
        _refuse(made if isinstance(made, np.ndarray) and made.ndim else part, name, *dimensions)
        raise AssertionError
    if not array.size and name == "mAP":
        raise InputError("", got=f"its {name} is an empty vector")
    return array


#: Orders of unnamed numbers; the first in which ranks do not fall and mINP is below mAP is taken.
_ORDERS: tuple[tuple[Any, ...], ...] = (
    (("Rank", 1), "mAP"), ("mAP", ("Rank", 1)), (("Rank", 1), "mAP", "mINP"),
    (("Rank", 1), ("Rank", 5), ("Rank", 10), "mAP"),
    ("mAP", ("Rank", 1), ("Rank", 5), ("Rank", 10)),
    (("Rank", 1), ("Rank", 5), ("Rank", 10), "mAP", "mINP"),
    ("mAP", ("Rank", 1), ("Rank", 5), ("Rank", 10), "mINP"))


def _scalars(parts: list[Any]) -> tuple[dict[Any, Any], tuple[str, ...]]:
    for order in _ORDERS:
        if len(order) == len(parts):
            found = dict(zip(order, parts))
            ranks = [float(found[key]) for key in order if key[0] == "Rank"]
            if ranks == sorted(ranks) and not float(found.get("mINP", 0)) > float(found["mAP"]):
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


# ------------------------------------------------------------------ to numbers
#: Fields of `Answer` by what is returned.
_FIELDS = {"mAP": "mAP", "CMC": "cmc", "AP": "ap", "mINP": "mINP", "INP": "mINP"}


def _answer(parts: dict[Any, Any], told: tuple[str, ...]) -> Answer:
    arrays = {kind: as_numbers(part) for kind, part in parts.items()}
    raw = {kind: array for kind, array in arrays.items() if array is not None and (
        array.size or kind == "CMC")}
    if "AP" in raw and not raw["AP"].ndim:  # one number by this name is the mean
        raw.setdefault("mAP", raw.pop("AP"))
    means = {name: _mean(raw[of], name) for name, of in (("mAP", "AP"), ("mINP", "INP"))
             if of in raw and name not in raw}
    means |= {name: _mean(raw[name], name) for name in ("mAP", "mINP") if name in raw}
    cmc, ranks = _curve(raw)
    percent = _is_percent(means.get("mAP"), cmc)
    unit = 100.0 if percent else 1.0
    ap = raw["AP"].astype(np.float64) / unit if raw.get("AP") is not None else None
    single = {_FIELDS.get(kind if isinstance(kind, str) else "CMC", "")
              for kind, array in raw.items() if _is_single(array)}
    return Answer(mAP=means["mAP"] / unit if "mAP" in means else None, ap=ap, ranks=ranks,
                  cmc=None if cmc is None else cmc / unit, percent=percent, told=told,
                  mINP=means["mINP"] / unit if "mINP" in means else None,
                  single=frozenset(single))


def _mean(array: npt.NDArray[Any], name: str) -> float:
    if array.ndim > 1:
        _refuse(array, name, 0)
    return float(np.mean(array))  # in its own dtype, as fast-reid's evaluator does


def _curve(raw: dict[Any, Any]) -> tuple[Doubles | None, Integers | None]:
    """Return the curve, or Rank-k where there is no curve, with its ranks."""
    if "CMC" in raw and raw["CMC"].ndim == 1:
        return raw["CMC"].astype(np.float64), None
    at = {kind[1]: float(array) for kind, array in raw.items()
          if isinstance(kind, tuple) and not array.ndim}
    if "CMC" in raw and not raw["CMC"].ndim:
        at.setdefault(1, float(raw["CMC"]))
    if not at:
        return None, None
    ranks = np.array(sorted(at))
    return np.array([at[k] for k in ranks.tolist()]), ranks


def _is_percent(mAP: float | None, cmc: Doubles | None) -> bool:
    """Whether numbers are percent: mAP and CMC alike, as far as there are both."""
    highest = [value for value in (mAP, None if cmc is None or not len(cmc) else float(cmc.max()))
               if value is not None and value > 0]
    return bool(highest) and all(1.5 < value <= 100 * (1 + ROUNDING) for value in highest)


def _is_single(array: npt.NDArray[Any]) -> bool:
    """Whether every number is one of single precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        doubles = array.astype(np.float64)
        return bool(np.array_equal(doubles.astype(np.float32), doubles, equal_nan=True))
