"""Words and numbers as text: wrapped rows, percent.

Nothing heavy is imported: whatever the command line prints goes through `visible`.
"""
import math
import textwrap
from collections.abc import Iterable, Mapping
from typing import TypeVar

from reid_ref.text.table import columns

Reason = TypeVar("Reason")
#: Printed in the place of a benchmark's name.
NO_BENCHMARK = "none of the known benchmarks has these counts"


def wrap(text: str, first: str = "", rest: str = "", width: int = 0) -> list[str]:
    """Return lines of at most `width` columns, by default those of the terminal, with `first`
    before the first and `rest` before others.

    A word that is longer stays whole: a file name or a signature can be copied.
    """
    return textwrap.wrap(text, width or columns(), initial_indent=first, subsequent_indent=rest,
                         break_long_words=False, break_on_hyphens=False)


def row(name: str, text: str, indent: int = 10) -> list[str]:
    """Return the lines of one row of a report: a name, and text in a column of its own.

    Examples
    --------
    >>> row("input", "result.mat")
    ['input     result.mat']
    """
    return wrap(text, f"{name:{indent}}", " " * indent)


def named_rows(pairs: Iterable[tuple[str, str]], indent: int = 10) -> list[str]:
    """Return the lines of several rows; one without name and text is an empty line."""
    return [line for name, text in pairs for line in row(name, text, indent) or [""]]


def spaced(signature: str) -> str:
    """Return a signature with spaces between its fields; without any it could not be wrapped."""
    return signature.replace("|", " | ")


def signature_rows(signature: str) -> list[str]:
    """Return a signature as rows of a report."""
    return row("signature", spaced(signature))


def percent(value: float, absent: str = "-") -> str:
    """Return percent with two decimals, `absent` for NaN.

    Examples
    --------
    >>> percent(0.5), percent(math.nan)
    ('50.00', '-')
    """
    return absent if math.isnan(value) else f"{100 * value:.2f}"


def signed_percent(difference: float) -> str:
    """Return a difference in percentage points with its sign, a dash for NaN.

    Examples
    --------
    >>> signed_percent(0.5), signed_percent(-1e-9)
    ('+50.00', '+0.00')
    """
    points = round(100 * difference, 2) + 0.0  # no -0.00
    return "-" if math.isnan(points) else f"{points:+.2f}"


def tied_queries_text(tied: int, n_query: int) -> str:
    """Return how many queries depend on the order of equal distances, in words."""
    if not tied:
        return "none that affect the result"
    return f"{tied:,} of {n_query:,} queries have a good and a wrong image at the same distance"


def by_reason(reasons: Mapping[str, Reason]) -> dict[Reason, list[str]]:
    """Return reason to names, of name to reason: what has one reason shares a line.

    Examples
    --------
    >>> by_reason({"a": "slow", "b": "needs lists", "c": "slow"})
    {'slow': ['a', 'c'], 'needs lists': ['b']}
    """
    names: dict[Reason, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    return names


def with_reasons(reasons: dict[str, str]) -> str:
    """Return names and their reasons as one paragraph.

    Examples
    --------
    >>> with_reasons({"a": "slow", "b": "needs lists", "c": "slow"})
    'a, c: slow. b: needs lists.'
    """
    sentences = [f"{', '.join(names)}: {reason}." for reason, names in by_reason(reasons).items()]
    return " ".join(sentences)


def signature_lines(signatures: Mapping[str, str]) -> list[str]:
    """Return every signature once, below the files that it is of."""
    of_files = by_reason({name: text for name, text in signatures.items() if text})
    lines: list[str] = []
    for text, names in of_files.items():
        lines += row("of", ", ".join(names)) if len(of_files) > 1 else []
        lines += signature_rows(text)
    return lines


def visible(text: str) -> str:
    r"""Return `text` with control characters, newlines among them, as one can read them.

    Examples
    --------
    >>> print(visible("a\nb\x1b[31m.mat"))
    a\nb\x1b[31m.mat
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else
        character.encode("unicode_escape").decode("ascii") for character in text)


def filenames(files: Iterable[str]) -> str:
    """Return file names, for people."""
    return ", ".join(map(visible, files))


def source(files: Iterable[str], layout: str) -> str:
    """Return file names and their layout, for people."""
    return f"{filenames(files)}: {layout}"


def input_pairs(files: Iterable[str], layout: str, n_query: int, n_gallery: int,
                sizes: str = "") -> list[tuple[str, str]]:
    """Return the first rows of a screen: the files and their layout; images, sizes and dtype."""
    images = f"{n_query:,} queries, {n_gallery:,} gallery"
    return [("input", source(files, layout)), ("images", "; ".join(filter(None, (images, sizes))))]
