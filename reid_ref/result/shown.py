"""A result as it prints itself: as text, and as the HTML that notebooks show."""
from collections.abc import Mapping

from reid_ref import text as words
from reid_ref.signature import Signature
from reid_ref.text import table


def as_text(numbers: Mapping[str, float], counted: int, n_query: int,
            signature: Signature) -> str:
    """Return the numbers in percent, the queries counted, and the signature."""
    values = ", ".join(f"{name} {words.percent(value)}" for name, value in numbers.items())
    return "\n".join(words.named_rows([
        ("percent:", values), ("queries:", f"{counted:,} of {n_query:,} counted"),
        ("signature:", words.spaced(str(signature)))], 11))


def as_html(numbers: Mapping[str, float], counted: int, n_query: int,
            signature: Signature) -> str:
    """Return the same as a table."""
    return table.as_html(table.Table(
        ["", *numbers, "queries"],
        [["percent", *map(words.percent, numbers.values()), f"{counted:,} of {n_query:,}"]],
        [words.spaced(str(signature))]))
