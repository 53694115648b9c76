"""What is said of comparisons beside their columns: each a record, in the order of the screen.

A number in a column is a record of `analysis.compare.answer.COLUMNS`; one in a line of its own is
one of `LINES` here; what a column or a test is stands in `LEGEND`.
"""
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from string import ascii_lowercase
from typing import NamedTuple

from reid_ref.analysis.compare.answer import (
    HOW_METHODS, METHODS, MODELS, ONE_SEED, SIGNIFICANT, Change, Comparison, Comparisons,
    change_words, too_few)
from reid_ref.console.confidence import NOUNS
from reid_ref.statistics.recount import SMALL
from reid_ref.text import by_reason, percent, row, wrap

#: Below so many units that changed, the screen says so.
FEW = 10
#: How many of the queries that changed most a table names.
SHOWN = 3
#: Of more comparisons by a metric, the detectable differences are a range.
MOST_NAMED = 10
#: Marks after a number whose adjusted p is below these.
MARKS = {.01: "**", SIGNIFICANT: "*"}


class Line(NamedTuple):
    """A line below the comparisons by one metric.

    Parameters
    ----------
    fields : tuple of str
        The fields of `Comparison` that it tells; CSV and JSON have the numbers.
    words : function
        Of the answer and the comparisons, what it says; "" for nothing.
    of_each : bool
        Whether it is about one comparison, and stands once for each.
    """

    fields: tuple[str, ...]
    words: Callable[[Comparisons, Sequence[Comparison]], str]
    of_each: bool = True


class Legend(NamedTuple):
    """A row of what columns, tests and intervals are; "" where it does not apply.

    Parameters
    ----------
    name : str
        What it explains.
    words : function
        Of the answer, the row on the screen and on the page of a report.
    comment : function, optional
        Of the answer, the comment in a table for a paper.
    """

    name: str
    words: Callable[[Comparisons], str]
    comment: Callable[[Comparisons], str] = lambda answer: ""


def letters_of(answer: Comparisons) -> dict[str, str]:
    """Return the letter of each system where all pairs are compared; nothing where they are not.
    """
    if all(change.baseline == answer.baseline for change in answer.comparisons):
        return {}
    return {name: ascii_lowercase[k % 26] * (k // 26 + 1) for k, name in enumerate(answer.values)}


def pair_name(change: Comparison, letters: Mapping[str, str]) -> str:
    """Return how the screen names a comparison."""
    return f"{letters[change.system]} - {letters[change.baseline]}" if letters else change.system


def lines_of(answer: Comparisons, changes: list[Comparison]) -> list[str]:
    """Return the lines below the comparisons by one metric."""
    said = [line.words(answer, [change]) for change in changes for line in LINES if line.of_each]
    said += [line.words(answer, changes) for line in LINES if not line.of_each]
    return [text for words in said if words for text in wrap(words, "  ", "    ")]


def legend_lines(answer: Comparisons) -> list[str]:
    """Return what the columns of a block are, as rows of a report."""
    return [line for legend in LEGEND if (words := legend.words(answer))
            for line in row(legend.name, words)]


def comments(answer: Comparisons, underline: bool) -> list[str]:
    """Return what a caption leaves out."""
    return [*["Underlined: the second best of its column."] * underline,
            *(f"{words}." for legend in LEGEND if (words := legend.comment(answer)))]


# ------------------------------------------------------------------ lines of one metric
def _few(answer: Comparisons, changes: Sequence[Comparison]) -> str:
    change, = changes
    name, units = pair_name(change, letters_of(answer)), NOUNS[answer.unit]
    if not change.better + change.worse:
        return f"{name}: identical per-query values; p = 1; {units} that were not drawn may differ"
    return (f"{name}: few {units} changed: {change.better} better, {change.worse} worse"
            if change.better + change.worse < FEW else "")


def _extremes(field: str, words: str, answer: Comparisons, changes: Sequence[Comparison]) -> str:
    change, = changes
    queries: Sequence[Change] = getattr(change, field)[:SHOWN]
    # At a rank queries change by 1, or not at all.
    if letters_of(answer) or answer.has_seeds or change.metric.startswith("Rank-") or not (
            queries and change.better + change.worse):
        return ""
    return f"{change.system} {words}: " + ", ".join(
        f"query {one.query} (identity {one.identity}) {percent(one.baseline)} to "
        f"{percent(one.system)}" for one in queries)


def _detectable(answer: Comparisons, changes: Sequence[Comparison]) -> str:
    if changes[0].metric in answer.too_few:  # no difference is
        return ""
    detectable = [change.detectable for change in changes]
    *first, last = map(percent, detectable)
    points = (" and ".join([*filter(None, [", ".join(first)]), last]) if len(changes) <= MOST_NAMED
              else f"{percent(min(detectable))} to {percent(max(detectable))}")
    return (f"smallest detectable difference{'s' * bool(first)}: {points} points; smaller ones "
            "are often missed")


LINES = (
    Line(("better", "worse"), _few),
    Line(("gains",), partial(_extremes, "gains", "gained most")),
    Line(("losses",), partial(_extremes, "losses", "lost most")),
    Line(("detectable",), _detectable, of_each=False))


def sentence(answer: Comparisons) -> list[str]:
    """Return the answer about two systems as a sentence for a paper; [] of more systems, if one
    alone has seeds, or if interval and p could not agree, or no p be significant.
    """
    if (len(answer.values) > 2 or any(each.p_decides is None for each in answer.comparisons)
            or answer.level != 100 * (1 - SIGNIFICANT) or answer.too_few):
        return []
    verdicts = dict[str, str]()
    for change in answer.comparisons:
        now, before = (percent(answer.values[name][change.metric])
                       for name in (change.system, change.baseline))
        words = change_words(change.of_methods or change, answer.level)
        verdicts[f"{change.metric} {now} against {before} ({words})"] = {
            change.system: "better than", change.baseline: "worse than"}.get(
                str(change.better_system), "not significantly different from")
    return [*wrap(f"{change.system} is " + "; ".join(
        f"{verdict} {change.baseline}: {', '.join(numbers)}"
        for verdict, numbers in by_reason(verdicts).items()) + "."), ""]


# ------------------------------------------------------------------ what they are
def _test(answer: Comparisons) -> str:
    return "; ".join([_flips(answer), *too_few(answer)])


def _flips(answer: Comparisons) -> str:
    most = max((change.trials for change in answer.comparisons), default=0)
    more = f", {most:,} where p < {SMALL:g}" if most > answer.resamples else ""
    return (f"two-sided test by sign flips of {NOUNS[answer.unit]}, {answer.resamples:,} drawn or "
            f"all if there are fewer{more}, seed {answer.seed}")


def _holm(answer: Comparisons) -> str:
    if len(answer.values) <= 2:
        return ""
    n = len(answer.comparisons) // len(answer.values[answer.baseline])
    of = " of the methods" if answer.has_seeds else ""
    return (f"p adjusted for {n} pairs by Holm's method; better than: below {SIGNIFICANT:g}{of}"
            if letters_of(answer) else f"p adjusted for {n} systems by Holm's method"
            ) + _least(answer)


def _least(answer: Comparisons) -> str:
    """Return what Holm's method makes of the smallest p, where the column has no digits of it."""
    least = min(answer.comparisons, key=lambda change: change.p)
    possible = " possible" * (least.p * (least.trials + 1) < 1.5)
    return "" if least.p >= .0001 else (
        f"; the smallest{possible} p of {least.trials:,} flips is {least.p:.2g}, adjusted "
        f"{least.p_adjusted:.2g}")


def _holds(answer: Comparisons) -> str:
    return "Holds for this gallery" + " and these models" * (not answer.has_seeds)


LETTERS = "Letters: better than these (p < 0.05)"


def stars(marks: Iterable[str]) -> str:
    """Return what these stars are."""
    return ", ".join(f"{mark} p < {p:g}" for p, mark in reversed(MARKS.items()) if mark in marks)


def marks_of(answer: Comparisons) -> str:
    """Return what stars or letters are, and how their p is made."""
    adjusted = "; p adjusted by Holm's method" if len(answer.values) > 2 else ""
    test = (f"{METHODS}, {HOW_METHODS}; {ONE_SEED}, no mark" if answer.has_seeds
            else _flips(answer))
    marks = LETTERS if letters_of(answer) else f"{stars(MARKS.values())} against {answer.baseline}"
    return f"{marks}: {test}{adjusted}"


LEGEND = (
    Legend("+/-/=", lambda answer: NOUNS[answer.unit] + (
        " that" if answer.unit == "query" else " whose queries together")
        + " gained, lost, or did neither"),
    Legend("sd", lambda answer: "over the seeds; its interval is that of normal numbers"
           * answer.has_seeds),
    Legend("models", lambda answer: (f"{MODELS}: each query's mean over the seeds; p: "
           f"{_test(answer)}") * answer.has_seeds),
    Legend("methods", lambda answer: (
        f"{METHODS}, {HOW_METHODS}; never more certain than {MODELS}"
        + "; seeds are pairs" * answer.paired_seeds) * answer.has_seeds),
    Legend("p", lambda answer: _test(answer) * (not answer.has_seeds), comment=marks_of),
    Legend("Holm", _holm),
    Legend("interval", lambda answer: f"{answer.level:g} % confidence interval of the change; "
           + _holds(answer).lower(), comment=_holds))
