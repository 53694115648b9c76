"""Numbers before and after in columns, in percent, each with its change."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from reid_ref.console import confidence
from reid_ref.result import RANKS, Result, headline
from reid_ref.text import percent, row, signature_rows, signed_percent
from reid_ref.text.table import lines


def as_table(results: Mapping[str, Result], source: str, ranks: Sequence[int] = RANKS,
             intervals: confidence.Intervals = None) -> str:
    """Return one column per result; the first is what the others are compared with."""
    numbers = [headline(result, ranks) for result in results.values()]
    counts = next(iter(results.values())).counts
    first, *after = results
    text = row("input", source)
    text += row("images", f"{counts.query:,} queries, {counts.gallery:,} gallery")
    heads = ["percent", first, *(head for name in after for head in (name, "change"))]
    text += ["", *lines(heads, [
        [name, percent(original), *(cell for column in numbers[1:] for cell in (
            percent(column[name]), signed_percent(column[name] - original)))]
        for name, original in numbers[0].items()], indent=10)]
    text += confidence.several(intervals) or [""]
    for result in results.values():
        text += signature_rows(str(result.signature))
    return "\n".join(text)
