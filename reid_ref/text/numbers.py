"""Numbers of a command line: in the digits 0 to 9, of whatever script Python would read others.
"""
import argparse
import math
import re
from contextlib import suppress

_DIGITS = re.compile("[0-9]{1,18}")  # beyond 18 digits is no rank of any gallery, and no int64


def is_whole(text: str) -> bool:
    """Return whether a text is a whole number from 0, in the digits 0 to 9."""
    return _DIGITS.fullmatch(text) is not None


def whole(text: str) -> int:
    """Read a whole number."""
    if not is_whole(text.removeprefix("-")):
        raise argparse.ArgumentTypeError(f"expected a whole number, e.g. 10, got {text!r}")
    return int(text)


def natural(text: str) -> int:
    """Read a whole number from 1."""
    if is_whole(text) and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number from 1, e.g. 10, got {text!r}")


def real(text: str) -> float:
    """Read a number; Python would also read digits of other scripts, and 1_0 as 10."""
    with suppress(ValueError):
        if text.isascii() and "_" not in text:
            return float(text)
    raise argparse.ArgumentTypeError(f"expected a number, e.g. 0.5, got {text!r}")


def reals(text: str) -> list[float]:
    """Read numbers between commas; none if one cannot be read."""
    try:
        return [real(word) for word in text.split(",")]
    except argparse.ArgumentTypeError:
        return []


def numbers(text: str, least: int = 1) -> list[int]:
    """Read different whole numbers, such as 1,5,10."""
    words = [word.strip() for word in text.split(",")]
    given = [int(word) for word in words if is_whole(word)]
    if len(given) < len(words) or min(given) < least or len(set(given)) < len(given):
        raise argparse.ArgumentTypeError(
            f"expected different whole numbers from {least}, e.g. 1,5,10, got {text!r}")
    return given


def decimals(text: str) -> list[float]:
    """Read different numbers from 0, such as 0.2,0.5."""
    given = reals(text)
    wrong = not given or len(set(given)) < len(given)
    if wrong or not all(0 <= value < math.inf for value in given):
        raise argparse.ArgumentTypeError(
            f"expected different numbers from 0, e.g. 0.2,0.5, got {text!r}")
    return given
