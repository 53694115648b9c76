"""Systems and a baseline: a table for people, one for papers, CSV for programs."""
from __future__ import annotations

from collections.abc import Mapping
from string import ascii_lowercase

from reid_ref.commands.compare.compute import (
    COLUMNS, SIGNIFICANT, Change, Comparison, Comparisons, ends, shown_columns, too_few)
from reid_ref.console.confidence import NOUNS
from reid_ref.statistics.recount import SMALL
from reid_ref.text import percent, row, signature_lines, wrap
from reid_ref.text.table import Cell, Table, as_csv as csv_text, lines

#: Below so many units that changed, the screen says so.
FEW = 10
#: How many of the queries that changed most a table names.
SHOWN = 3
#: Of more comparisons by a metric, the detectable differences are a range.
MOST_NAMED = 10
#: Marks after a number whose adjusted p is below these.
MARKS = {.01: "**", SIGNIFICANT: "*"}
#: Columns of CSV.
_FIELDS = ["baseline", "system", "metric",
           *(field for column in COLUMNS for field in column.fields)]


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
    gained = "that" if answer.unit == "query" else "whose queries together"
    text += row("+/-/=", f"{NOUNS[answer.unit]} {gained} gained, lost, or did neither")
    text += row("p", "; ".join([_test(answer), *too_few(answer)]))
    if len(answer.values) > 2:
        n = len(answer.comparisons) // len(answer.values[answer.baseline])
        text += row("Holm", (f"p adjusted for {n} pairs by Holm's method; better than: below "
                             f"{SIGNIFICANT:g}" if letters_of(answer) else
                             f"p adjusted for {n} systems by Holm's method") + _least(answer))
    text += row("interval", "every change that the test does not reject; holds for this gallery "
                "and these models")
    return "\n".join([*text, *signature_lines(signatures)])


def _test(answer: Comparisons) -> str:
    most = max((change.trials for change in answer.comparisons), default=0)
    more = f", {most:,} where p < {SMALL:g}" if most > answer.resamples else ""
    return (f"two-sided test by sign flips of {NOUNS[answer.unit]}, {answer.resamples:,} drawn or "
            f"all if there are fewer{more}, seed {answer.seed}")


def _least(answer: Comparisons) -> str:
    """Return what Holm's method makes of the smallest p, where the column has no digits of it."""
    least = min(answer.comparisons, key=lambda change: change.p)
    possible = " possible" * (least.p * (least.trials + 1) < 1.5)
    return "" if least.p >= .0001 else (
        f"; the smallest{possible} p of {least.trials:,} flips is {least.p:.2g}, adjusted "
        f"{least.p_adjusted:.2g}")


def letters_of(answer: Comparisons) -> dict[str, str]:
    """Return the letter of each system where all pairs are compared; nothing where they are not.
    """
    if all(change.baseline == answer.baseline for change in answer.comparisons):
        return {}
    return {name: ascii_lowercase[k % 26] * (k // 26 + 1) for k, name in enumerate(answer.values)}


def _beaten(answer: Comparisons, name: str, metric: str) -> list[str]:
    """Return the letters of the systems that are significantly below one."""
    letters = letters_of(answer)
    return [letters[other] for change in answer.comparisons
            if change.metric == metric and change.better_system == name
            for other in (change.baseline, change.system) if other != name]


def _block(answer: Comparisons, metric: str) -> list[str]:
    changes = [change for change in answer.comparisons if change.metric == metric]
    several, letters = len(changes) > 1, letters_of(answer)
    numbers = {name: percent(values[metric]) for name, values in answer.values.items()}
    columns = shown_columns(several)
    heads = [(column.head or column.name).format(level=answer.level) for column in columns]
    cells = [[cell(change) for cell in columns.values()] for change in changes]
    if letters:
        text = lines([metric, "percent", "better than"], [
            [f"{letters[name]}  {name}", number, " ".join(_beaten(answer, name, metric))]
            for name, number in numbers.items()], left=(0, 2), indent=16)
        text += ["", *lines(["", *heads], [
            [_pair(change, letters), *row] for change, row in zip(changes, cells)], indent=16)]
    else:
        text = lines([metric, "percent", *heads], [
            [answer.baseline, numbers[answer.baseline], *[""] * len(heads)],
            *([change.system, numbers[change.system], *row]
              for change, row in zip(changes, cells))], indent=16)
    return text + _remarks(answer, metric, changes)


def _pair(change: Comparison, letters: Mapping[str, str]) -> str:
    """Return how the screen names a comparison."""
    return f"{letters[change.system]} - {letters[change.baseline]}" if letters else change.system


def _remarks(answer: Comparisons, metric: str, changes: list[Comparison]) -> list[str]:
    text, letters, units = list[str](), letters_of(answer), NOUNS[answer.unit]
    for change in changes:
        name = _pair(change, letters)
        if change.better == change.worse == 0:
            text += wrap(f"{name}: identical per-query values; p = 1; {units} that were not drawn "
                         "may differ", "  ", "    ")
            continue
        if change.better + change.worse < FEW:
            text += wrap(f"{name}: few {units} changed: {change.better} better, {change.worse} "
                         "worse", "  ", "    ")
        # At a rank queries change by 1, or not at all.
        if not letters and not metric.startswith("Rank-"):
            text += _extremes(change)
    if metric in answer.too_few:  # no difference is
        return text
    detectable = [change.detectable for change in changes]
    *first, last = map(percent, detectable)
    points = (" and ".join([*filter(None, [", ".join(first)]), last]) if len(changes) <= MOST_NAMED
              else f"{percent(min(detectable))} to {percent(max(detectable))}")
    return text + wrap(f"smallest detectable difference{'s' * bool(first)}: {points} points (at "
                       "5 %, power 80 %)", "  ", "    ")


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
    """Return one row per system for a paper, marked as `cell` does."""
    metrics, letters = list(answer.values[answer.baseline]), letters_of(answer)
    names = {name: f"{letters[name]} {name}" if letters else name for name in answer.values}
    brackets = ("" if letters else f"Brackets: {answer.level:g} % interval of the difference to "
                f"{answer.baseline}. ")
    return Table(["System", *metrics],
                 [[label, *(cell(answer, name, metric) for metric in metrics)]
                  for name, label in names.items()],
                 [f"In percent. {brackets}{legend(answer)}",
                  *(f"No marks: {words}." for words in too_few(answer))],
                 {label: signatures[name] for name, label in names.items()})


def marks_of(answer: Comparisons) -> str:
    """Return what stars or letters say."""
    marks = ("letters: the systems that one is better than (p < 0.05)" if letters_of(answer)
             else f"* p < 0.05, ** p < 0.01 against {answer.baseline}")
    adjusted = "; p adjusted by Holm's method" if len(answer.values) > 2 else ""
    return f"{marks}: {_test(answer)}{adjusted}"


def legend(answer: Comparisons) -> str:
    """Return what all marks of `cell` say."""
    return (f"Bold: the best, where p < 0.05 in each comparison with it; italic: the best "
            f"otherwise; {marks_of(answer)}. Holds for this gallery and these models.")


def cell(answer: Comparisons, name: str, metric: str) -> Cell:
    """Return a number with the interval of its change, and stars or letters for p.

    The best as printed is bold where the test tells it from all that it is compared with, else
    italic.
    """
    text = percent(answer.values[name][metric])
    made = [change for change in answer.comparisons
            if change.metric == metric and name in (change.baseline, change.system)]
    best = bool(made) and float(text) == max(
        float(percent(values[metric])) for values in answer.values.values())
    bold = best and all(change.better_system == name for change in made)
    mark = interval = ""
    if letters_of(answer):
        mark = "".join(_beaten(answer, name, metric))
    elif made and name != answer.baseline:
        mark = next((stars for p, stars in MARKS.items() if made[0].p_adjusted < p), "")
        interval = ends(made[0], ", ")
    return Cell(text, bold, mark, interval, best and not bold)
