"""Systems and a baseline: a table for people, one for papers, CSV for programs."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from reid_ref.commands.compare.compute import Change, Comparison, Comparisons
from reid_ref.console.confidence import NOUNS
from reid_ref.text import percent, row, signature_lines, signed_percent, wrap
from reid_ref.text.table import Cell, Table, as_csv as csv_text, lines

#: Below so many units that changed, the screen says so.
FEW = 10
#: How many of the queries that changed most a table names.
SHOWN = 3
#: Marks after a number whose adjusted p is below these.
MARKS = {.01: "**", .05: "*"}
_FIELDS = [field.name for field in fields(Comparison) if field.name not in ("gains", "losses")]


def as_csv(answer: Comparisons, signatures: Mapping[str, str]) -> str:
    """Return one line per comparison, in full precision."""
    shared = [answer.unit, answer.level, answer.resamples, answer.seed]
    return csv_text([*_FIELDS, "unit", "level", "resamples", "seed", "signature"], [
        [*(getattr(change, name) for name in _FIELDS), *shared, signatures[change.system]]
        for change in answer.comparisons])


def as_text(answer: Comparisons, signatures: Mapping[str, str]) -> str:
    """Return one block per metric, in percent."""
    text: list[str] = []
    for metric in answer.values[answer.baseline]:
        text += [*_block(answer, metric), ""]
    text += row("+/-/=", f"{NOUNS[answer.unit]} whose queries together gained, lost, or did "
                "neither")
    text += row("p", _test(answer))
    if len(answer.values) > 2:
        text += row("Holm", f"p adjusted for {len(answer.values) - 1} systems by Holm's method")
    text += row("interval", "every change that the test does not reject; holds for this gallery "
                "and these models")
    return "\n".join([*text, *signature_lines(signatures)])


def _test(answer: Comparisons) -> str:
    return (f"two-sided test by sign flips of {NOUNS[answer.unit]}, {answer.resamples:,} draws or "
            f"fewer where these are all, seed {answer.seed}")


def _block(answer: Comparisons, metric: str) -> list[str]:
    changes = [change for change in answer.comparisons if change.metric == metric]
    several = len(changes) > 1
    heads = [metric, "percent", "change", f"{answer.level:g} % interval", "p",
             *["Holm"] * several, "+/-/="]
    text = lines(heads, [
        [answer.baseline, percent(answer.values[answer.baseline][metric]),
         *[""] * (len(heads) - 2)],
        *([change.system, percent(answer.values[change.system][metric]),
           signed_percent(change.difference), _ends(change, " .. "), p_text(change.p),
           *[p_text(change.p_adjusted)] * several,
           f"{change.better}/{change.worse}/{change.same}"] for change in changes)], indent=16)
    for change in changes:
        if change.better == change.worse == 0:
            text += wrap(f"{change.system}: identical per-query values; p = 1; "
                         f"{NOUNS[answer.unit]} that were not drawn may differ", "  ", "    ")
            continue
        if change.better + change.worse < FEW:
            text += wrap(f"{change.system}: few {NOUNS[answer.unit]} changed: {change.better} "
                         f"better, {change.worse} worse", "  ", "    ")
        if not metric.startswith("Rank-"):  # whose queries change by 1, or not at all
            text += _extremes(change)
    pairs = [change for change in changes if change.detectable > 0]
    if pairs:
        points = " and ".join(percent(change.detectable) for change in pairs)
        systems = "this pair" if len(pairs) == 1 else "these pairs"
        text += wrap(f"{systems} could have shown {points} points (at 5 %, power 80 %)", "  ",
                     "    ")
    return text


def _ends(change: Comparison, between: str) -> str:
    return f"{signed_percent(change.low)}{between}{signed_percent(change.high)}"


def p_text(p: float) -> str:
    """Return p with four decimals."""
    return "1" if p == 1 else "<0.0001" if p < .0001 else f"{p:.4f}"


def _extremes(change: Comparison) -> list[str]:
    text: list[str] = []
    for word, queries in (("gained most", change.gains), ("lost most", change.losses)):
        if queries:
            text += wrap(f"{change.system} {word}: " + ", ".join(map(_query, queries[:SHOWN])),
                         "  ", "    ")
    return text


def _query(change: Change) -> str:
    return (f"query {change.query} (identity {change.identity}) {percent(change.baseline)} to "
            f"{percent(change.system)}")


def as_table(answer: Comparisons, signatures: Mapping[str, str]) -> Table:
    """Return one row per system for a paper, the best bold, with marks for p."""
    metrics = list(answer.values[answer.baseline])
    legend = (f"Brackets: {answer.level:g} % interval of the difference to {answer.baseline}, by "
              f"{answer.unit}; * p < 0.05, ** p < 0.01, {_test(answer)}"
              + ("" if len(answer.values) == 2 else "; p adjusted by Holm's method")
              + ". Holds for this gallery and these models.")
    return Table(["System", *metrics],
                 [[name, *(_cell(answer, name, metric) for metric in metrics)]
                  for name in answer.values], [legend], signatures)


def _cell(answer: Comparisons, name: str, metric: str) -> Cell:
    """Return a number, bold where it is the best as printed, and the interval of its change."""
    best = max(float(percent(values[metric])) for values in answer.values.values())
    text = percent(answer.values[name][metric])
    bold = float(text) == best
    change = next((change for change in answer.comparisons
                   if (change.system, change.metric) == (name, metric)), None)
    if change is None:
        return Cell(text, bold)
    stars = next((stars for p, stars in MARKS.items() if change.p_adjusted < p), "")
    return Cell(text, bold, stars, _ends(change, ", "))
