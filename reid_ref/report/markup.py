"""Text and cells as CSV, Markdown and LaTeX have them."""
from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"}}


def csv_text(lines: Iterable[Iterable[Any]]) -> str:
    """Return lines of cells as CSV, without a newline at the end."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().removesuffix("\n")


def one_line(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def markdown(text: str) -> str:
    """Return a text as Markdown shows it."""
    return re.sub(r"([\\`*_{}\[\]<>|#~$&])", r"\\\1", one_line(text))


def latex(text: str) -> str:
    """Return a text as LaTeX sets it."""
    return "".join(_LATEX.get(character, character) for character in one_line(text))
