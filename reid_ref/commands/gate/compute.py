"""Gates: numbers that a result must have, floors, and a stored result that it must not lose to."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from reid_ref.arrays import InputError
from reid_ref.commands.compare.compute import Comparison, compare_systems
from reid_ref.datasets.published import parse_percent, unit_of
from reid_ref.result import Result
from reid_ref.result.stored import Stored
from reid_ref.statistics import holm


@dataclass(frozen=True)
class Missed:
    """A number that is not as it was asked for.

    Parameters
    ----------
    name : str
        mAP, mINP or Rank-k.
    value : Decimal or None
        In percent; None is NaN.
    wanted : Decimal
        The number expected, or the least that is allowed.
    tolerance : Decimal or None
        None for a least number.
    """

    name: str
    value: Decimal | None
    wanted: Decimal
    tolerance: Decimal | None = None


def parse_wanted(texts: Iterable[str], option: str) -> dict[str, Decimal]:
    """Read numbers by name, in any case, from every use of an option.

    Examples
    --------
    >>> parse_wanted(["mAP=76.12,rank1=90.1"], "--expect")
    {'mAP': Decimal('76.12'), 'Rank-1': Decimal('90.1')}
    """
    wanted: dict[str, Decimal] = {}
    for part in (part for text in texts for part in text.split(",")):
        name, equals, number = (word.strip() for word in part.partition("="))
        name = re.sub("^rank-?", "Rank-", name.lower()).replace("ap", "AP").replace("inp", "INP")
        if not equals or not re.fullmatch("mAP|mINP|Rank-[1-9][0-9]{0,17}", name):
            raise InputError(option, "NAME=PERCENT, NAME being mAP, mINP or Rank-k, e.g. "
                             "mAP=76.12,Rank-1=90.1", repr(part.strip()))
        if name in wanted:
            raise InputError(option, f"{name} once", "it twice", "leave one out")
        wanted[name] = parse_percent(number, f"{option} {name}")
    return wanted


#: Percent points; a tolerance above it would pass almost any number.
MOST = 5


def parse_tolerance(text: str) -> Decimal:
    """Read percent points."""
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?", text) or Decimal(text) > MOST:
        raise InputError("--tolerance", f"percent points up to {MOST}, such as 0.01", repr(text))
    return Decimal(text)


def unexpected(result: Result, wanted: Mapping[str, Decimal],
               tolerance: Decimal | None) -> Iterator[Missed]:
    """Yield the numbers that are off; without a tolerance, those that round to other digits."""
    for name, number in wanted.items():
        value = percent_of(result, name, "--expect")
        allowed = unit_of(number) / 2 if tolerance is None else tolerance
        if value is None or abs(value - number) > allowed:
            yield Missed(name, value, number, allowed)


def too_low(result: Result, least: Mapping[str, Decimal]) -> Iterator[Missed]:
    """Yield the numbers below the least that is allowed; NaN is below every number."""
    for name, number in least.items():
        value = percent_of(result, name, "--fail-under")
        if value is None or value < number:
            yield Missed(name, value, number)


def percent_of(result: Result, name: str, option: str) -> Decimal | None:
    """Return a number of the result in percent, exactly as its double prints."""
    kind, _, k = name.partition("-")
    if k and int(k) > len(result.cmc):
        raise InputError(option, f"a rank up to {len(result.cmc)}, where this CMC curve ends",
                         name)
    value = result.rank(int(k)) if k else float(getattr(result, kind))
    return None if value != value else Decimal(repr(value)) * 100


#: Of the test, over the metrics together (Holm).
ALPHA = 0.05


def worse_than(stored: Stored, result: Result) -> list[Comparison]:
    """Return the metrics in which the result is significantly worse: mAP, Rank-1, or both.

    Raises
    ------
    InputError
        Another convention, other labels, or a metric that is NaN.
    """
    # The name of a stored result is that of its file, for messages.
    metrics = ["mAP", *(["Rank-1"] if result.convention.curve.has_values(1) else [])]
    compared = compare_systems({stored.path: stored, "result": result}, metrics).comparisons
    adjusted = holm([comparison.p for comparison in compared])
    return [replace(comparison, p_adjusted=p) for comparison, p in zip(compared, adjusted)
            if comparison.difference < 0 and p < ALPHA]
