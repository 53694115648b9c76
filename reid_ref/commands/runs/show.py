"""Several results of one method: each number, their mean, and two kinds of spread."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reid_ref.commands.runs.compute import Runs
from reid_ref.console.confidence import drawn, ends, interval_as_json, sentence
from reid_ref.text import (
    csv_text, latex, markdown, number, one_line, percent, row, signature_lines)

#: Columns of a table of 80.
_ACROSS = 3


class Words(NamedTuple):
    """What one file is called, and what its spread and its interval say."""

    one: str
    spread: str
    covers: str


RUNS = Words("run", "how much the number changes when the method is trained again",
             "how much it may change with other identities: of each query's mean over the runs")
SPLITS = Words("split", "how much the number changes from one query set to another",
               "of the mean over the splits, which count alike; queries of an identity are one "
               "unit, also where they are in several splits")


def as_json(answer: Mapping[str, Runs], files: list[str],
            signatures: Mapping[str, str]) -> dict[str, Any]:
    """Return every number, the mean, the spread and the interval as plain JSON values."""
    return {"files": files, "metrics": {
        metric: {"values": {name: number(value) for name, value in one.values.items()},
                 "counted": one.queries, "mean": number(one.mean), "sd": number(one.sd),
                 "interval": interval_as_json(one.interval)}
        for metric, one in answer.items()}, "signatures": dict(signatures)}


def as_table(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Words) -> str:
    """Return a line for each file, and what is said of all, for a terminal of 80 columns."""
    lines: list[str] = []
    names = list(answer)
    for start in range(0, len(names), _ACROSS):
        lines += [*_block([answer[name] for name in names[start:start + _ACROSS]], words), ""]
    first = next(iter(answer.values()))
    lines += row("sd", words.spread)
    how = sentence({name: one.interval for name, one in answer.items()}, "these models")
    lines += row("interval", f"{words.covers}; {how}")
    return "\n".join([*lines, *signature_lines(
        {name: signatures[name] for name in first.values})])


def _block(columns: list[Runs], words: Words) -> list[str]:
    first = columns[0]
    lines = [f"{'percent':20}{'queries':>8}" + "".join(f"{one.metric:>17}" for one in columns)]
    for name in first.values:
        cells = "".join(f"{percent(one.values[name]):>17}" for one in columns)
        start = [] if len(name) < 20 else [name]
        lines += [*start, f"{'' if start else name:20}{first.queries[name]:>8,}{cells}"]
    level = f"{first.interval.level:g} % interval"
    for title, values in (
            ("mean", [percent(one.mean) for one in columns]),
            (f"sd over {words.one}s", [percent(one.sd) for one in columns]),
            ("SE", [percent(one.interval.se) for one in columns]),
            (level, [ends(one.interval) for one in columns])):
        lines.append(f"{title:28}" + "".join(f"{value:>17}" for value in values))
    return lines


def _rows(answer: Mapping[str, Runs]) -> list[tuple[str, list[str]]]:
    """Return name and cells of each row of a paper's table."""
    every = list(answer.values())
    rows = [(name, [percent(one.values[name]) for one in every]) for name in every[0].values]
    return [*rows, ("mean, sd", [f"{percent(one.mean)}, {percent(one.sd)}" for one in every]),
            ("interval", [ends(one.interval) for one in every])]


def as_csv(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Words) -> str:
    """Return one line for each metric and file, in full precision, with what is said of all."""
    head = ["metric", words.one, "value", "queries", "mean", "sd", "low", "high", "se", "units",
            "signature"]
    return csv_text([head, *(
        [metric, name, value, one.queries[name], one.mean, one.sd, one.interval.low,
         one.interval.high, one.interval.se, one.interval.units, signatures[name]]
        for metric, one in answer.items() for name, value in one.values.items())])


def as_markdown(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Words) -> str:
    """Return a Markdown table, in percent."""
    lines = [f"| {words.one.capitalize()} | {' | '.join(answer)} |",
             "|:--" + "|--:" * len(answer) + "|"]
    lines += [f"| {markdown(name)} | {' | '.join(cells)} |" for name, cells in _rows(answer)]
    return "\n".join([*lines, "", markdown(_legend(answer, words)), "",
                      *(f"- {markdown(name)}: `{text}`" for name, text in signatures.items()
                        if text)])


def as_latex(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Words) -> str:
    """Return a LaTeX tabular for booktabs, in percent."""
    lines = [r"% needs \usepackage{booktabs}", f"% {_legend(answer, words)}",
             *(f"% {one_line(name)}: {text}" for name, text in signatures.items()),
             rf"\begin{{tabular}}{{l{'r' * len(answer)}}}", r"\toprule",
             rf"{words.one.capitalize()} & {' & '.join(map(latex, answer))} \\", r"\midrule"]
    lines += [rf"{latex(name)} & {' & '.join(cells)} \\" for name, cells in _rows(answer)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _legend(answer: Mapping[str, Runs], words: Words) -> str:
    one = next(iter(answer.values())).interval
    how = drawn(one.unit, one.method, one.resamples, one.seed)
    return f"sd: {words.spread}. {one.level:g} % interval: {words.covers}; {how}."


WRITERS = {"table": as_table, "csv": as_csv, "markdown": as_markdown, "latex": as_latex}
