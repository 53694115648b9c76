"""The error of wrong input, and warnings."""
from __future__ import annotations

import contextlib
import difflib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator


class InputError(ValueError):
    """Input that cannot be evaluated; the message says what is wrong and the way out."""


def warn(message: str) -> None:
    """Warn of valid but suspect input, at the line of the first caller outside this package."""
    package = os.path.dirname(os.path.dirname(__file__)) + os.sep
    level, frame = 1, sys._getframe(0)
    while frame.f_back and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


@contextlib.contextmanager
def each_warning_once() -> Iterator[None]:
    """Show each different warning once, where several evaluations of one file repeat it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        warn(text)


def check_choice(value: str, name: str, known: Iterable[str]) -> None:
    """Refuse an unknown name; the message lists the known ones and the most similar."""
    names = list(known)
    if not isinstance(value, (str, int, float, type(None))):
        raise InputError(f"{name}: expected one of {', '.join(names)}, "
                         f"got {type(value).__name__}")
    if value not in names:
        near = difflib.get_close_matches(str(value), names, n=1)
        raise InputError(f"{name}: unknown {value!r}; known: {', '.join(names)}"
                         + (f". Did you mean {near[0]!r}?" if near else ""))
