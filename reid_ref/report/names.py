"""Text from outside, file names above all, as a terminal can show it.

It imports nothing heavy: whatever the command line prints goes through `visible`.
"""
from __future__ import annotations

from collections.abc import Iterable


def visible(text: str) -> str:
    r"""Return `text` with control characters, newlines among them, as one can read them.

    Examples
    --------
    >>> print(visible("a\nb\x1b[31m.mat"))
    a\nb\x1b[31m.mat
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii")
                   for one in text)


def names(files: Iterable[str]) -> str:
    """Return file names, for people."""
    return ", ".join(map(visible, files))


def source(files: Iterable[str], layout: str) -> str:
    """Return file names and their layout, for people."""
    return f"{names(files)}: {layout}"
