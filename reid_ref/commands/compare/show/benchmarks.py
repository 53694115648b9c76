"""Systems on several benchmarks: the main table of a paper.

Each column is of one benchmark under one convention, over the same queries.
"""
from typing import Any, NamedTuple

from reid_ref.analysis.compare.answer import Compared, too_few
from reid_ref.commands.compare.show import block, cell, words_of_caption
from reid_ref.commands.compare.show.notes import comments, legend_lines, marks_of
from reid_ref.text import by_reason, row, signature_rows
from reid_ref.text.table import Cell, Table, as_csv as csv_text, lines


class MainTable(NamedTuple):
    """Each benchmark's comparison, by its name."""

    benchmarks: dict[str, Compared]


def _names(answer: MainTable) -> list[str]:
    return list(dict.fromkeys(name for compared in answer.benchmarks.values()
                              for name in compared.values))


def _metrics(answer: Compared) -> list[str]:
    return list(answer.values[answer.baseline])


def _cells(answer: MainTable, name: str, underline: bool = False) -> list[Cell]:
    """Return the numbers of a row, without intervals."""
    return [cell(compared, name, metric, underline)._replace(ends="") if name in compared.values
            else Cell("-")
            for compared in answer.benchmarks.values() for metric in _metrics(compared)]


def _signatures(answer: MainTable) -> dict[str, str]:
    """Return the signatures by benchmark, and by name where they differ."""
    named = {}
    for benchmark, compared in answer.benchmarks.items():
        names_of = by_reason(compared.signatures)
        named.update({benchmark if len(names_of) == 1 else f"{benchmark}, {', '.join(names)}":
                      signature for signature, names in names_of.items()})
    return named


def _largest(answer: MainTable) -> Compared:
    """Return the benchmark with the most names, whose legend is that of all."""
    return max(answer.benchmarks.values(), key=lambda compared: len(compared.values))


def _too_few(answer: MainTable) -> list[str]:
    """Return on which benchmarks no mark can stand."""
    return [f"{benchmark}: {words}" for benchmark, compared in answer.benchmarks.items()
            for words in too_few(compared)]


def as_text(answer: MainTable) -> str:
    """Return one line per system for a terminal, and what the marks mean; of systems with seeds
    then both answers on each benchmark.
    """
    table, names = as_table(answer), _names(answer)
    above = [head for name, span in table.groups for head in (name, *[""] * (span - 1))]
    text = [*lines(["", *above], [["percent", *(f"{head}  " for head in table.heads[1:])], *(
        [name, *(f"{'>' if number.bold else ''}{number.text}{number.mark:2}"
                 for number in _cells(answer, name))] for name in names)]), ""]
    seeds = {name: each for name, each in answer.benchmarks.items() if each.has_seeds}
    for name, compared in seeds.items():
        text += [line for metric in _metrics(compared)
                 for line in (f"{name}, {metric}", *block(compared, metric), "")]
    text += row(">", "the best of its column") + row("p", marks_of(_largest(answer)))
    text += legend_lines(next(iter(seeds.values()))) if seeds else []
    for words in _too_few(answer):
        text += row("no marks", words)
    for name, signature in table.signatures.items():
        text += [*row("of", name), *signature_rows(signature)]
    return "\n".join(text)


def as_csv(answer: MainTable) -> str:
    """Return one line per system in full precision, with the signature on each benchmark."""
    heads, rows = ["name"], {name: list[Any]([name]) for name in _names(answer)}
    for benchmark, compared in answer.benchmarks.items():
        metrics = _metrics(compared)
        heads += [f"{benchmark} {head}" for head in (*metrics, "signature")]
        for name, values in rows.items():
            values += [*map(compared.values.get(name, {}).get, metrics),
                       compared.signatures.get(name)]
    return csv_text(heads, rows.values())


def as_table(answer: MainTable, underline: bool = False) -> Table:
    """Return one row per system for a paper, the benchmarks above their metrics."""
    groups = {name: _metrics(compared) for name, compared in answer.benchmarks.items()}
    largest = _largest(answer)
    return Table(["System", *(metric for metrics in groups.values() for metric in metrics)],
                 [[name, *_cells(answer, name, underline)] for name in _names(answer)],
                 [words_of_caption(largest)], _signatures(answer),
                 [(name, len(metrics)) for name, metrics in groups.items()],
                 [*comments(largest, underline),
                  *(f"No marks on {words}." for words in _too_few(answer))])
