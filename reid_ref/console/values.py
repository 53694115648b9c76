"""Values of options, read from their text."""
from __future__ import annotations

import argparse
import math

from reid_ref.text.numbers import is_whole, real


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
