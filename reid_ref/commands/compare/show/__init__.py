"""Systems and a baseline: a table for people, one for papers, CSV for programs."""
from reid_ref.analysis.compare.answer import (
    COLUMNS, METHODS, MODELS, ONE_SEED, Compared, Comparison, Comparisons, ends, shown_columns,
    too_few)
from reid_ref.commands.compare.show.notes import (
    LETTERS, MARKS, comments, legend_lines, letters_of, lines_of, pair_name, sentence,
    stars)
from reid_ref.statistics import Spread
from reid_ref.text import percent, signature_lines, wrap
from reid_ref.text.table import Cell, Table, as_csv as csv_text, lines

#: Columns of CSV: of a comparison, of its methods, and of the spread over each system's seeds.
_FIELDS = ["baseline", "system", "metric",
           *(field for column in COLUMNS for field in column.fields)]
_OF_METHODS = ("low", "high", "p", "p_adjusted", "se")
_OF_SEEDS = ("runs", "sd")


def as_csv(answer: Compared) -> str:
    """Return one line per comparison, in full precision."""
    shared = [answer.unit, answer.level, answer.resamples, answer.seed]
    heads = [*_FIELDS, *(f"methods_{name}" for name in _OF_METHODS),
             *(f"{side}_{name}" for side in ("baseline", "system") for name in _OF_SEEDS)]
    return csv_text([*heads, "unit", "level", "resamples", "seed", "signature"], [
        [*(getattr(change, name) for name in _FIELDS),
         *(getattr(change.methods, name, None) for name in _OF_METHODS),
         *(getattr(answer.spreads[name][change.metric], field)
           for name in (change.baseline, change.system) for field in _OF_SEEDS),
         *shared, answer.signatures[change.system]]
        for change in answer.comparisons])


def as_text(answer: Compared) -> str:
    """Return the answer in a sentence, then one block per metric, in percent."""
    text = sentence(answer)
    for metric in answer.values[answer.baseline]:
        text += [*block(answer, metric), ""]
    return "\n".join([*text, *legend_lines(answer), *signature_lines(answer.signatures)])


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
              for change, row in zip(changes, cells))], indent=16) + lines_of(answer, changes)
    indent = len(MODELS) if answer.has_seeds else 16
    text = [*_numbers(answer, metric, indent), "", *lines([MODELS * answer.has_seeds, *heads], [
        [pair_name(change, letters), *row] for change, row in zip(changes, cells)], indent=indent)]
    return text + lines_of(answer, changes) + _methods(answer, changes, heads)


def _numbers(answer: Comparisons, metric: str, indent: int) -> list[str]:
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
    return lines([metric, *heads], rows, (0, len(heads)) if letters else (0,), indent)


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
    rows = [[pair_name(change, letters_of(answer)), *(cell(of) for cell in columns.values())]
            for change in changes if (of := change.of_methods)]
    alone = [pair_name(change, letters_of(answer)) for change in changes if not change.methods]
    text = ["", *(lines([METHODS, *heads[:len(columns)]], rows, indent=len(MODELS)) if rows
                  else [METHODS])]
    return text + (wrap(f"{', '.join(alone)}: {ONE_SEED}", "  ", "    ") if alone else [])


def as_table(answer: Compared, underline: bool = False) -> Table:
    """Return one row per system for a paper, marked as `cell` does."""
    metrics, letters = list(answer.values[answer.baseline]), letters_of(answer)
    names = {name: f"{letters[name]} {name}" if letters else name for name in answer.values}
    return Table(["System", *metrics],
                 [[label, *(cell(answer, name, metric, underline) for metric in metrics)]
                  for name, label in names.items()],
                 [words_of_caption(answer, brackets=not letters)],
                 {label: answer.signatures[name] for name, label in names.items()},
                 comments=[*comments(answer, underline),
                           *(f"No marks: {words}." for words in too_few(answer))])


def words_of_caption(answer: Comparisons, brackets: bool = False) -> str:
    """Return the least that a reader of a table needs: about twenty words."""
    seeds = sorted({of.runs for by_metric in answer.spreads.values() for of in by_metric.values()})
    text = [f"Percent ± sd ({' or '.join(map(str, seeds))} seeds)." if answer.has_seeds
            else "In percent.", "Bold: best."]
    text += [f"Brackets: {answer.level:g} % interval of the difference to {answer.baseline}."
             ] if brackets else []
    marks = {cell(answer, name, metric).mark for name, values in answer.values.items()
             for metric in values} - {""}
    if letters_of(answer):
        text += [LETTERS + "."] if marks else []
    elif marks:
        text.append(stars(marks) + f" against {answer.baseline}" * (not brackets) + ".")
    return " ".join(text)


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
