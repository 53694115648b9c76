"""Systems and a baseline: a table for people, one for papers, CSV for programs."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import ascii_lowercase

from reid_ref.analysis.compare.answer import (
    COLUMNS, HOW_METHODS, METHODS, MODELS, ONE_SEED, SIGNIFICANT, Change, Comparison, Comparisons,
    ends, shown_columns, too_few)
from reid_ref.console.confidence import NOUNS
from reid_ref.statistics import Spread
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
#: Columns of CSV: of a comparison, of its methods, and of the spread over each system's seeds.
_FIELDS = ["baseline", "system", "metric",
           *(field for column in COLUMNS for field in column.fields)]
_OF_METHODS = ("low", "high", "p", "p_adjusted", "se")
_OF_SEEDS = ("runs", "sd")


def as_csv(answer: Comparisons, signatures: Mapping[str, str]) -> str:
    """Return one line per comparison, in full precision."""
    shared = [answer.unit, answer.level, answer.resamples, answer.seed]
    heads = [*_FIELDS, *(f"methods_{name}" for name in _OF_METHODS),
             *(f"{side}_{name}" for side in ("baseline", "system") for name in _OF_SEEDS)]
    return csv_text([*heads, "unit", "level", "resamples", "seed", "signature"], [
        [*(getattr(change, name) for name in _FIELDS),
         *(getattr(change.methods, name, None) for name in _OF_METHODS),
         *(getattr(answer.spreads[name][change.metric], field)
           for name in (change.baseline, change.system) for field in _OF_SEEDS),
         *shared, signatures[change.system]]
        for change in answer.comparisons])


def as_text(answer: Comparisons, signatures: Mapping[str, str]) -> str:
    """Return one block per metric, in percent."""
    text: list[str] = []
    for metric in answer.values[answer.baseline]:
        text += [*block(answer, metric), ""]
    return "\n".join([*text, *legend_lines(answer), *signature_lines(signatures)])


def legend_lines(answer: Comparisons) -> list[str]:
    """Return what the columns of `block` are, as rows of a report."""
    gained = "that" if answer.unit == "query" else "whose queries together"
    text = row("+/-/=", f"{NOUNS[answer.unit]} {gained} gained, lost, or did neither")
    if answer.has_seeds:
        text += row("sd", "over the seeds; its interval is that of normal numbers")
        text += row("models", f"{MODELS}: each query's mean over the seeds; "
                    + "; ".join([f"p: {_test(answer)}", *too_few(answer)]))
        text += row("methods", f"{METHODS}, {HOW_METHODS}; never more certain than {MODELS}"
                    + "; seeds are pairs" * answer.paired_seeds)
    else:
        text += row("p", "; ".join([_test(answer), *too_few(answer)]))
    if len(answer.values) > 2:
        n = len(answer.comparisons) // len(answer.values[answer.baseline])
        of = " of the methods" if answer.has_seeds else ""
        text += row("Holm", (f"p adjusted for {n} pairs by Holm's method; better than: below "
                             f"{SIGNIFICANT:g}{of}" if letters_of(answer) else
                             f"p adjusted for {n} systems by Holm's method") + _least(answer))
    return text + row("interval", "every change that the test does not reject; holds for this "
                      "gallery" + " and these models" * (not answer.has_seeds))


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


def block(answer: Comparisons, metric: str) -> list[str]:
    """Return the numbers of one metric, and its comparisons."""
    changes = [change for change in answer.comparisons if change.metric == metric]
    letters = letters_of(answer)
    columns = shown_columns(several=len(changes) > 1)
    heads = [(column.head or column.name).format(level=answer.level) for column in columns]
    cells = [[cell(change) for cell in columns.values()] for change in changes]
    if not letters and not answer.has_seeds:
        return lines([metric, "percent", *heads], [
            [answer.baseline, percent(answer.values[answer.baseline][metric]), *[""] * len(heads)],
            *([change.system, percent(answer.values[change.system][metric]), *row]
              for change, row in zip(changes, cells))], indent=16) + _remarks(
                  answer, metric, changes)
    title, indent = _title(answer)
    text = [*_numbers(answer, metric), "", *lines([title, *heads], [
        [_pair(change, letters), *row] for change, row in zip(changes, cells)], indent=indent)]
    return text + _remarks(answer, metric, changes) + _methods(answer, changes, heads)


def _title(answer: Comparisons) -> tuple[str, int]:
    """Return the head of the answer about models, and the width of the first columns."""
    return (MODELS, len(MODELS)) if answer.has_seeds else ("", 16)


def _numbers(answer: Comparisons, metric: str) -> list[str]:
    """Return the number of each system, its spread over seeds, and whom it is better than."""
    letters = letters_of(answer)
    heads = ["percent", *(["sd", "its interval", "seeds"] if answer.has_seeds else []),
             *(["better than"] if letters else [])]
    rows = []
    for name, values in answer.values.items():
        of_seeds = answer.spreads[name][metric]
        row = [f"{letters[name]}  {name}" if letters else name, percent(values[metric])]
        if answer.has_seeds:
            row += [*_of_seeds(of_seeds), str(of_seeds.runs)]
        rows.append([*row, *([" ".join(_beaten(answer, name, metric))] if letters else [])])
    return lines([metric, *heads], rows, left=(0, len(heads)) if letters else (0,),
                 indent=_title(answer)[1])


def _of_seeds(spread: Spread) -> list[str]:
    """Return the standard deviation over seeds, and its interval."""
    if spread.sd is None:
        return ["-", "-"]
    return [percent(spread.sd), "-" if spread.low is None or spread.high is None else
            f"{percent(spread.low)} .. {percent(spread.high)}"]


def _methods(answer: Comparisons, changes: list[Comparison], heads: list[str]) -> list[str]:
    """Return the second answer, of systems with seeds: the same columns but the counts."""
    if not answer.has_seeds:
        return []
    columns = {column: cell for column, cell in shown_columns(len(changes) > 1).items()
               if "better" not in column.fields}
    rows = [[_pair(change, letters_of(answer)), *(cell(of) for cell in columns.values())]
            for change in changes if (of := change.of_methods)]
    alone = [_pair(change, letters_of(answer)) for change in changes if not change.methods]
    text = ["", *(lines([METHODS, *heads[:len(columns)]], rows, indent=len(MODELS)) if rows
                  else [METHODS])]
    return text + (wrap(f"{', '.join(alone)}: {ONE_SEED}", "  ", "    ") if alone else [])


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
        if not (letters or answer.has_seeds or metric.startswith("Rank-")):
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


def as_table(answer: Comparisons, signatures: Mapping[str, str],
             underline: bool = False) -> Table:
    """Return one row per system for a paper, marked as `cell` does."""
    metrics, letters = list(answer.values[answer.baseline]), letters_of(answer)
    names = {name: f"{letters[name]} {name}" if letters else name for name in answer.values}
    return Table(["System", *metrics],
                 [[label, *(cell(answer, name, metric, underline) for metric in metrics)]
                  for name, label in names.items()],
                 [words_of_caption(answer, brackets=not letters)],
                 {label: signatures[name] for name, label in names.items()},
                 comments=[*comments(answer, underline),
                           *(f"No marks: {words}." for words in too_few(answer))])


def words_of_caption(answer: Comparisons, brackets: bool = False) -> str:
    """Return the least that a reader of a table needs: about twenty words."""
    seeds = sorted({of.runs for by_metric in answer.spreads.values() for of in by_metric.values()})
    text = [f"Percent ± sd ({' or '.join(map(str, seeds))} seeds)." if answer.has_seeds
            else "In percent."]
    text += [f"Brackets: {answer.level:g} % interval of the difference to {answer.baseline}."
             ] if brackets else []
    marks = {cell(answer, name, metric).mark for name, values in answer.values.items()
             for metric in values} - {""}
    if letters_of(answer):
        text += [_LETTERS + "."] if marks else []
    elif marks:
        text.append(_stars(marks) + f" against {answer.baseline}" * (not brackets) + ".")
    return " ".join(text)


_LETTERS = "Letters: better than these (p < 0.05)"


def _stars(marks: Iterable[str]) -> str:
    return ", ".join(f"{stars} p < {p:g}" for p, stars in reversed(MARKS.items())
                     if stars in marks)


def marks_of(answer: Comparisons) -> str:
    """Return what stars or letters are, and how their p is made."""
    adjusted = "; p adjusted by Holm's method" if len(answer.values) > 2 else ""
    test = (f"{METHODS}, {HOW_METHODS}; {ONE_SEED}, no mark" if answer.has_seeds
            else _test(answer))
    marks = _LETTERS if letters_of(answer) else (
        f"{_stars(MARKS.values())} against {answer.baseline}")
    return f"{marks}: {test}{adjusted}"


def comments(answer: Comparisons, underline: bool) -> list[str]:
    """Return what a caption leaves out."""
    second = ", underlined: the second best" * underline
    return [f"Bold: the best of its column{second}.", f"{marks_of(answer)}.",
            "Holds for this gallery" + " and these models" * (not answer.has_seeds) + "."]


def cell(answer: Comparisons, name: str, metric: str, underline: bool = False) -> Cell:
    """Return a number with its sd over seeds, the interval of its change, and stars or letters.

    The best as printed is bold; the second best is underlined if that is requested.
    """
    text = percent(answer.values[name][metric])
    printed = sorted({float(percent(values[metric])) for values in answer.values.values()})
    sd = answer.spreads[name][metric].sd
    changes = [change for change in answer.comparisons
               if (change.metric, change.system) == (metric, name)]
    mark = interval = ""
    if letters_of(answer):
        mark = "".join(_beaten(answer, name, metric))
    elif changes:
        p = changes[0].p_decides
        mark = next((stars for least, stars in MARKS.items() if p is not None and p < least), "")
        interval = ends(changes[0].of_methods or changes[0], ", ")
    return Cell(text, len(printed) > 1 and float(text) == printed[-1], mark, interval,
                underline and len(printed) > 1 and float(text) == printed[-2],
                "" if sd is None else percent(sd))
