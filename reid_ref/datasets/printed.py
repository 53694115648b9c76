"""A printed figure: Rank-1 and mAP in percent, with the digits that were printed."""
from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from reid_ref.arrays import InputError

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(%?)")


@dataclass(frozen=True)
class Figure:
    """What was printed, in percent, with its decimals; None was not printed.

    Parameters
    ----------
    rank1, mean_ap : Decimal or None
    """

    rank1: Decimal | None
    mean_ap: Decimal | None

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in (
            ("Rank-1", self.rank1), ("mAP", self.mean_ap)) if value is not None)


def parse_figure(text: str) -> Figure:
    """Read RANK1/mAP in percent, as printed; either may be left out.

    Raises
    ------
    InputError
        Not that form, a decimal comma, over 100, or fractions where percent is expected.

    Examples
    --------
    >>> parse_figure("81.1/67.60")
    Figure(rank1=Decimal('81.1'), mean_ap=Decimal('67.60'))
    >>> parse_figure("/67.6").rank1 is None
    True
    """
    parts = [part.strip() for part in text.split("/")]
    if len(parts) == 1 and _NUMBER.fullmatch(parts[0]):
        raise InputError(f"published: expected RANK1/mAP, got {text!r}; for Rank-1 alone "
                         f"write '{parts[0]}/', for mAP alone '/{parts[0]}'")
    if len(parts) != 2 or not any(parts):
        raise InputError(f"published: expected RANK1/mAP in percent as printed, such as "
                         f"81.1/67.6, 81.1/ or /67.6, got {text!r}")
    rank1, mean_ap = (parse_percent(part) if part else None for part in parts)
    return Figure(rank1, mean_ap)


def parse_percent(text: str, name: str = "published") -> Decimal:
    """Read one number in percent, as printed; messages begin with `name`."""
    number = _NUMBER.fullmatch(text)
    if number is None:
        comma = _NUMBER.fullmatch(text.replace(",", "."))
        raise InputError(
            f"{name}: expected a number in percent such as 81.1, got {text!r}"
            + (f"; write the decimal point as a point: {comma[0]}" if comma else ""))
    value = Decimal(number[1])
    if value > 100:
        raise InputError(f"{name}: expected percent, 0 to 100, got {text}")
    if 0 < value <= 1 and not number[2]:
        raise InputError(
            f"{name}: expected percent, got {text}, which looks like a fraction; write "
            f"{value.scaleb(2):f} (a figure of one percent or less: {text}%)")
    return value


def agreement(value: float, printed: Decimal) -> str:
    """Say how a number gives the printed percent.

    Parameters
    ----------
    value : float
        In [0, 1], or NaN.
    printed : Decimal
        Percent; its decimals are those printed.

    Returns
    -------
    {"rounded", "truncated", "no"}

    Examples
    --------
    >>> [agreement(x, Decimal("81.1")) for x in (0.8105, 0.8115, 0.8119, 0.8104)]
    ['rounded', 'rounded', 'truncated', 'no']
    """
    if value != value:
        return "no"
    error = Decimal(repr(float(value))) * 100 - printed
    unit = unit_of(printed)
    if abs(error) <= unit / 2:
        return "rounded"
    return "truncated" if 0 <= error < unit else "no"


def unit_of(printed: Decimal) -> Decimal:
    return Decimal(1).scaleb(int(printed.as_tuple().exponent))
