"""Numbers of a command line: in the digits 0 to 9, of whatever script Python would read others.
"""
from __future__ import annotations

import argparse
import re

_DIGITS = re.compile("[0-9]{1,18}")  # beyond 18 digits is no rank of any gallery, and no int64


def is_whole(text: str) -> bool:
    """Return whether a text is a whole number from 0, in the digits 0 to 9."""
    return _DIGITS.fullmatch(text) is not None


def whole(text: str) -> int:
    """Read a whole number."""
    if not is_whole(text.removeprefix("-")):
        raise argparse.ArgumentTypeError(f"expected a whole number, e.g. 10, got {text!r}")
    return int(text)


def real(text: str) -> float:
    """Read a number; Python would also read digits of other scripts, and 1_0 as 10."""
    try:
        if text.isascii() and "_" not in text:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected a number, e.g. 0.5, got {text!r}")
