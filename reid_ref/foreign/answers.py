"""What an evaluator returned, as numbers: by their names first, by their values second.

A tuple, a list, a dict, a dict of dicts, a dataclass, a named tuple, an object, a tensor or a
single number. Percent is recognised by mAP, and divided by 100.
"""
from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.arrays.value import Value
from reid_ref.foreign.meaning import by_values, first_of, is_rank, named_parts, refuse_part
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
        named = [*named_parts(value)]
        parts, told = first_of(named), tuple[str, ...]()
        others = [(name, curve) for kind, curve, name in named
                  if kind is None and curve.ndim == 1 < curve.size]
        for name, curve in others if parts and _MEANS >= {*parts} else ():
            highest = 100 if np.mean(parts.get("mAP", 0)) > 1.5 else 1
            if is_rank(name) and (
                    np.diff(curve, prepend=0, append=highest * (1 + ROUNDING)) >= 0).all():
                parts["CMC"] = curve
            else:
                told += f"not understood: {name}, {len(curve)} numbers",
        if not parts:
            parts, told = by_values(value, function, order)
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


#: Fields of `Answer` by what is returned.
_FIELDS = {"mAP": "mAP", "CMC": "cmc", "AP": "ap", "mINP": "mINP", "INP": "mINP"}


def _answer(parts: dict[Any, Any], told: tuple[str, ...]) -> Answer:
    raw = {kind: array for kind, part in parts.items()
           if (array := as_numbers(part)) is not None and (array.size or kind == "CMC")}
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
        refuse_part(array, name, 0)
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
