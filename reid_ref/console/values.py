"""Values of options, read from their text."""
from __future__ import annotations

import argparse
import math


def numbers(text: str, least: int = 1) -> list[int]:
    """Read different whole numbers, such as 1,5,10."""
    words = [word.strip() for word in text.split(",")]
    # Beyond 18 digits is no rank of any gallery, and no int64.
    given = [int(word) for word in words if word.isascii() and word.isdecimal() and len(word) < 19]
    if len(given) < len(words) or min(given) < least or len(set(given)) < len(given):
        raise argparse.ArgumentTypeError(
            f"expected different whole numbers from {least}, e.g. 1,5,10, got {text!r}")
    return given


def decimals(text: str) -> list[float]:
    """Read different numbers from 0, such as 0.2,0.5."""
    try:
        given = [float(word) for word in text.split(",")]
    except ValueError:
        given = []
    wrong = not given or len(set(given)) < len(given)
    if wrong or not all(0 <= value < math.inf for value in given):
        raise argparse.ArgumentTypeError(
            f"expected different numbers from 0, e.g. 0.2,0.5, got {text!r}")
    return given
