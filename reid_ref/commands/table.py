"""`reid-ref table`: the main table of a paper, methods by benchmarks, from saved results.

Each column of it is of one benchmark under one convention, over the same queries: what
`reid_ref.commands.compare` refuses is refused here, too.
"""
from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reid_ref.arrays import InputError
from reid_ref.commands.compare.compute import Compared, compare_systems, too_few
from reid_ref.commands.compare.show import cell, legend, marks_of
from reid_ref.console import options as common, systems
from reid_ref.console.answers import FORMATS, show_answer
from reid_ref.console.files import said_of
from reid_ref.datasets.fingerprints import FINGERPRINTS
from reid_ref.result import Result
from reid_ref.result.form import EXPECTED
from reid_ref.result.saved import load
from reid_ref.text import by_reason, row, signature_rows
from reid_ref.text.table import Cell, Table, as_csv as csv_text, lines


class MainTable(NamedTuple):
    """Each benchmark's systems, as `reid-ref compare` compares them, by its name."""

    benchmarks: dict[str, Compared]


def add(command: argparse.ArgumentParser) -> None:
    """Print methods by benchmarks, as the main table of a paper has them: one row per method, mAP
    and Rank-1 on each benchmark, and which differences a paired test shows.

    A method is a result that reid-ref evaluate --save wrote, a folder of them, or
    NAME=FILE[,FILE...]. A column is a protocol, which the file names, or the benchmark of its
    counts; else it is named after the file. Methods are compared with the first one on each
    benchmark, over the same queries and under one convention.
    """
    command.add_argument("methods", nargs="+", metavar="METHOD",
                         help="a saved result, a folder of them, or NAME=FILE[,FILE...]")
    systems.add_metrics(command)
    common.add_options(command, formats=FORMATS)


def run(args: argparse.Namespace) -> None:
    metrics = systems.measures_of(args)
    rows = dict(map(_files, args.methods))
    if len(rows) < len(args.methods):
        raise InputError("methods", "a name of its own for each", ", ".join(args.methods))
    answer = MainTable({benchmark: _compared(benchmark, by_method, metrics)
                        for benchmark, by_method in columns_of(rows).items()})
    show_answer(args.format, json=lambda: answer, table=lambda: as_text(answer, list(rows)),
                csv=lambda: as_csv(answer, list(rows)), paper=lambda: as_table(answer, list(rows)))


def _files(method: str) -> tuple[str, list[Path]]:
    """Return a method's name and its files."""
    folder = Path(method)
    if folder.is_dir():
        files = sorted(folder.glob("*.json"))
        if not files:
            raise InputError(method, f".json files, {EXPECTED}", "none")
        return folder.resolve().name, files
    name, equals, files_of_name = method.partition("=")
    if not equals:
        return folder.stem, [folder]
    if not name or not files_of_name:
        raise InputError(method, "NAME=FILE[,FILE...]")
    return name, list(map(Path, files_of_name.split(",")))


class Saved(NamedTuple):
    """A result and the file of it."""

    path: Path
    result: Result


def columns_of(rows: Mapping[str, list[Path]]) -> dict[str, dict[str, Saved]]:
    """Return the results of each benchmark, by the method's name."""
    columns: dict[str, dict[str, Saved]] = {}
    for method, files in rows.items():
        for file in files:
            saved = Saved(file, load(file))
            of_method = columns.setdefault(_benchmark(saved, columns), {})
            if method in of_method:
                raise InputError(file, f"one result of {method} on each benchmark", "the labels "
                                 f"of {of_method[method].path}, too")
            of_method[method] = saved
    first = next(iter(rows))
    for benchmark, of_method in columns.items():
        if first not in of_method:
            raise InputError(first, f"a result on {benchmark}, since the other methods are "
                             "compared with the first", "none", "name another method first")
    return columns


def _benchmark(saved: Saved, columns: Mapping[str, Mapping[str, Saved]]) -> str:
    """Return the protocol, with its part, or the benchmark that a result has the counts of; else
    the column of the same labels, or the name of its file for a new one.
    """
    signature, counts = saved.result.signature, saved.result.counts
    if "protocol" in signature:
        part = signature.get("part", "all")
        return signature["protocol"] + ("" if part == "all" else f" {part}")
    identities = len(set(saved.result.per_query.identity.tolist()))
    for benchmark in FINGERPRINTS.values():
        expected = benchmark.counts
        if (counts.query, identities) == (expected.query, expected.query_identities) and (
                # Many loaders leave out the images labelled -1.
                counts.gallery in (expected.gallery, expected.gallery - expected.junk)):
            return benchmark.name
    return next((name for name, others in columns.items() if saved.result.fingerprints in (
        other.result.fingerprints for other in others.values())), saved.path.stem)


def _compared(benchmark: str, by_method: Mapping[str, Saved], metrics: list[str]) -> Compared:
    by_name = {name: saved.result for name, saved in by_method.items()}
    files = [str(saved.path) for saved in by_method.values()]
    with said_of(benchmark, files):
        compared = compare_systems(by_name, metrics)
    return Compared(**vars(compared), files=files, signatures=systems.signatures(by_name))


def _metrics(answer: Compared) -> list[str]:
    return list(answer.values[answer.baseline])


def _cells(answer: MainTable, method: str) -> list[Cell]:
    """Return the numbers of a row, without intervals."""
    return [cell(compared, method, metric)._replace(ends="") if method in compared.values
            else Cell("-")
            for compared in answer.benchmarks.values() for metric in _metrics(compared)]


def _signatures(answer: MainTable) -> dict[str, str]:
    """Return the signatures by benchmark, and by method where they differ."""
    named = {}
    for benchmark, compared in answer.benchmarks.items():
        methods_of = by_reason(compared.signatures)
        named.update({benchmark if len(methods_of) == 1 else f"{benchmark}, {', '.join(methods)}":
                      signature for signature, methods in methods_of.items()})
    return named


def _largest(answer: MainTable) -> Compared:
    """Return the benchmark with the most methods, whose legend is that of all."""
    return max(answer.benchmarks.values(), key=lambda compared: len(compared.values))


def _too_few(answer: MainTable) -> list[str]:
    """Return on which benchmarks no mark can stand."""
    return [f"{benchmark}: {words}" for benchmark, compared in answer.benchmarks.items()
            for words in too_few(compared)]


def as_text(answer: MainTable, methods: list[str]) -> str:
    """Return one line per method for a terminal, and what the marks say."""
    table = as_table(answer, methods)
    above = [head for name, span in table.groups for head in (name, *[""] * (span - 1))]
    text = [*lines(["", *above], [["percent", *(f"{head}  " for head in table.heads[1:])], *(
        [method, *(f"{'>' if number.bold or number.italic else ''}{number.text}{number.mark:2}"
                   for number in _cells(answer, method))] for method in methods)]), ""]
    if len(methods) > 1:
        text += row(">", "the best of its column") + row("p", marks_of(_largest(answer)))
    for words in _too_few(answer):
        text += row("no marks", words)
    for name, signature in table.signatures.items():
        text += [*row("of", name), *signature_rows(signature)]
    return "\n".join(text)


def as_csv(answer: MainTable, methods: list[str]) -> str:
    """Return one line per method in full precision, with the signature on each benchmark."""
    heads, rows = ["name"], {method: list[Any]([method]) for method in methods}
    for benchmark, compared in answer.benchmarks.items():
        metrics = _metrics(compared)
        heads += [f"{benchmark} {name}" for name in (*metrics, "signature")]
        for method, values in rows.items():
            values += [*map(compared.values.get(method, {}).get, metrics),
                       compared.signatures.get(method)]
    return csv_text(heads, rows.values())


def as_table(answer: MainTable, methods: list[str]) -> Table:
    """Return one row per method for a paper, the benchmarks above their metrics."""
    groups = {name: _metrics(compared) for name, compared in answer.benchmarks.items()}
    return Table(["Method", *(metric for metrics in groups.values() for metric in metrics)],
                 [[method, *_cells(answer, method)] for method in methods],
                 ["In percent.", *([legend(_largest(answer))] if len(methods) > 1 else []),
                  *(f"No marks on {words}." for words in _too_few(answer))],
                 _signatures(answer), [(name, len(metrics)) for name, metrics in groups.items()])
