"""What an evaluator returned, as numbers: by their names first, by their values second.

A tuple, a list, a dict, a dict of dicts, a dataclass, a named tuple, an object, a tensor or a
single number. Percent is recognised by mAP, and divided by 100.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.arrays.value import Value
from reid_ref.foreign.arguments import NAMES
from reid_ref.foreign.words import as_numbers, describe, short

#: How far above 1, or below 0, rounding may take a number: a few sums in float32.
ROUNDING = 2.0**-20
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
    order : tuple
        What its numbers are, in their order.
    drawn : shape (seeds, ranks)
        The curve by several seeds, if two of them give two.
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
    order: tuple[Any, ...] = ()
    drawn: Doubles = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def curve(self) -> Doubles:
        """The CMC, empty if it gave none."""
        return np.zeros(0) if self.cmc is None else self.cmc

    @property
    def at(self) -> Integers:
        """The ranks of the curve."""
        return np.arange(1, len(self.curve) + 1) if self.ranks is None else self.ranks

    def of_percent(self) -> Answer:
        """Return it read as percent, if its numbers are too small to tell."""
        if self.percent:
            return self
        return replace(self, percent=True, **{
            name: value / 100 for name in ("mAP", "cmc", "mINP", "ap")
            if (value := getattr(self, name)) is not None})


_MEANS = {"mAP", "AP", "mINP", "INP"}


def read_answer(value: Any, function: str = "", order: Any = None) -> Answer:
    """Return the answer as numpy values; `function` is the name of what gave it.

    `order`: what its numbers without names were before.

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
        named = [*_named_parts(value)]
        parts, told = _first_of(named), tuple[str, ...]()
        others = [(name, curve) for kind, curve, name in named
                  if kind is None and curve.ndim == 1 < curve.size]
        for name, curve in others if parts and _MEANS >= {*parts} else ():
            highest = 100 if np.mean(parts.get("mAP", 0)) > 1.5 else 1
            if _is_rank(name) and (
                    np.diff(curve, prepend=0, append=highest * (1 + ROUNDING)) >= 0).all():
                parts["CMC"] = curve
            else:
                told += f"not understood: {name}, {len(curve)} numbers",
        if not parts:
            parts, told = _by_values(value, function, order)
        if not parts:
            raise InputError("", got=f"it returned {short(value)}", remedy=_EXPECTED)
        return _answer(parts, told)
    except InputError:
        raise
    except Exception as error:  # ragged lists, numbers that refuse to be read, ...
        raise InputError(f"it returned {short(value)}, which cannot be read",
                         got=describe(error)) from None


def decimals_of(answer: Answer) -> int | None:
    """Return to how many decimals its numbers are rounded: 3 or 4 of a share, 1 or 2 of percent.

    None if they are not. The answer is one whose numbers have many decimals.

    Examples
    --------
    >>> decimals_of(read_answer({"mAP": 0.612, "R1": 0.8}))
    3
    """
    unit, few = (100, 1) if answer.percent else (1, 3)
    digits = [len(f"{value * unit:.9f}".rstrip("0").partition(".")[2])
              for value in (*answer.curve, answer.mAP) if value is not None and value == value]
    return max(few, *digits) if digits and max(digits) <= few + 1 else None


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


#: Fields of `Answer` by what is returned.
_FIELDS = {"mAP": "mAP", "CMC": "cmc", "AP": "ap", "mINP": "mINP", "INP": "mINP"}


def _answer(parts: dict[Any, Any], told: tuple[str, ...]) -> Answer:
    raw = {kind: array for kind, part in parts.items() if (array := as_numbers(part)) is not None
           and (array.size or kind in ("CMC", "mAP"))}
    if empty := [kind for kind, array in raw.items() if not array.size]:
        raise InputError("", got=f"its {empty[0]} is empty")
    if "AP" in raw and not raw["AP"].ndim:  # one number by this name is the mean
        raw.setdefault("mAP", raw.pop("AP"))
    mAP, mINP = (None if (part := raw.get(name, raw.get(of))) is None else _mean(part, name)
                 for name, of in (("mAP", "AP"), ("mINP", "INP")))
    cmc, ranks = _curve(raw)
    answer = Answer(
        mAP, cmc, mINP, raw["AP"].astype(np.float64) if "AP" in raw else None, ranks, told=told,
        single=frozenset(_FIELDS.get(kind, "cmc") for kind, array in raw.items()
                         if _is_single(array)), order=tuple(parts))
    return answer.of_percent() if _is_percent(answer) else answer


def _mean(array: npt.NDArray[Any], name: str) -> float:
    if array.ndim > 1:
        _refuse_part(array, name, 0)
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


def _is_percent(answer: Answer) -> bool:
    """Whether numbers are percent: mAP and CMC alike, as far as there are both."""
    highest = [value for value in (answer.mAP or 0, answer.curve.max(initial=0)) if value > 0]
    return bool(highest) and all(1.5 < value <= 100 * (1 + ROUNDING) for value in highest)


def _is_single(array: npt.NDArray[Any]) -> bool:
    """Whether every number is one of single precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        doubles = array.astype(np.float64)
        return bool(np.array_equal(doubles.astype(np.float32), doubles, equal_nan=True))


# ------------------------------------------------------------------ what numbers are
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


def _named_parts(value: Any,
                 parent: str = "") -> Iterator[tuple[Any, npt.NDArray[Any], str]]:
    """Yield what a name tells of numbers, "mAP", ("Rank", 5) and so on or None, with the numbers
    and the name."""
    for name, part in _members(value):
        if isinstance(part, Mapping) or is_dataclass(part):
            yield from _named_parts(part, str(name))
        elif (numbers := as_numbers(part)) is not None:
            yield meaning(name, parent), numbers, str(name)


def _is_rank(name: str) -> bool:
    """Whether a name may be that of ranks or of what is found at them: a curve."""
    return name.lower() in ("rank", "ranks")


def _first_of(named: Iterable[tuple[Any, npt.NDArray[Any], str]]) -> dict[Any, npt.NDArray[Any]]:
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
            _is_rank(parent)) else kind
    plain = re.sub(r"[^a-z0-9@]", "", str(name).lower())
    for kind, pattern in NAMES["returned"]:
        if match := re.fullmatch(pattern, plain):
            return (kind, int(match[1] or 1)) if kind == "Rank" else kind
    return None


# ------------------------------------------------------------------ without names
def _by_values(value: Any, function: str,
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
        return {**means, **_first_of(_named_parts(maps[0], "cmc"))}, ()
    sizes = [getattr(as_numbers(part), "ndim", None) for part in parts]
    if len(parts) < 2 or sizes[0] is None:
        return _refuse_part(parts[0], "cmc", 1) if len(parts) > 1 else ({}, ())
    if sizes[0] == 0 and 1 in sizes[1:2]:
        return {"mAP": parts[0], "CMC": parts[1]}, ("mAP is taken to come before CMC",)
    if sizes[0] == 0:
        return _scalars([part for part, size in zip(parts, sizes) if size == 0], order)
    return _curve_first(parts), ()


def _refuse_part(part: Any, name: str, *dimensions: int) -> NoReturn:
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
        _refuse_part(part, name, *dimensions)
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
