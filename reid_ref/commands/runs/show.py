"""Results of one method: each number, their mean, and two kinds of spread."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from reid_ref.commands.runs.compute import Runs
from reid_ref.console import systems
from reid_ref.console.confidence import drawn, ends, sentence
from reid_ref.result.systems import System
from reid_ref.text import percent, row, signature_lines
from reid_ref.text.table import Table, as_csv as csv_text, lines


class Words(NamedTuple):
    """What each file is called, and what the spread and the interval say."""

    noun: str
    spread: str
    covers: str


RUNS = Words("run", "how much the number changes when the method is trained again",
             "how much it may change with other identities: of each query's mean over the runs")
SPLITS = Words("split", "how much the number changes from one query set to another",
               "of the mean over the splits, which count alike; queries of an identity are one "
               "unit, also where they are in several splits")


@dataclass(frozen=True)
class Spread:
    """The answer as JSON has it, by metric."""

    files: list[str]
    metrics: dict[str, Runs]
    signatures: dict[str, str]


def as_text(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Words) -> str:
    """Return one line per file, then their mean, SD and interval, in percent."""
    columns = list(answer.values())
    first = columns[0]
    level = f"{first.interval.level:g} % interval"
    text = lines(["percent", "queries", *answer], [
        *([name, f"{first.queries[name]:,}", *(percent(metric.values[name]) for metric in columns)]
          for name in first.values),
        ["mean", "", *(percent(metric.mean) for metric in columns)],
        [f"sd over {words.noun}s", "", *(percent(metric.sd) for metric in columns)],
        ["SE", "", *(percent(metric.interval.se) for metric in columns)],
        [level, "", *(ends(metric.interval) for metric in columns)]], indent=20)
    how = sentence({name: metric.interval for name, metric in answer.items()}, "these models")
    text += ["", *row("sd", words.spread), *row("interval", f"{words.covers}; {how}")]
    return "\n".join([*text, *signature_lines({name: signatures[name] for name in first.values})])


def as_csv(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Words) -> str:
    """Return one line per metric and file, in full precision, with the mean and its interval."""
    return csv_text(
        ["metric", words.noun, "value", "queries", "mean", "sd", "low", "high", "se", "units",
         "signature"],
        [[name, key, value, metric.queries[key], metric.mean, metric.sd, metric.interval.low,
          metric.interval.high, metric.interval.se, metric.interval.units, signatures[key]]
         for name, metric in answer.items() for key, value in metric.values.items()])


def as_table(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Words) -> Table:
    """Return one row per file for a paper, then mean and interval, in percent."""
    columns = list(answer.values())
    interval = columns[0].interval
    how = drawn(interval.unit, interval.method, interval.resamples, interval.seed)
    legend = f"sd: {words.spread}. {interval.level:g} % interval: {words.covers}; {how}."
    return Table([words.noun.capitalize(), *answer], [
        *([name, *(percent(metric.values[name]) for metric in columns)]
          for name in columns[0].values),
        ["mean, sd", *(f"{percent(metric.mean)}, {percent(metric.sd)}" for metric in columns)],
        ["interval", *(ends(metric.interval) for metric in columns)]], [legend], signatures)


def show_spread(wanted: str, files: list[str], answer: dict[str, Runs],
                by_name: Mapping[str, System], words: Words) -> None:
    """Print the numbers of the files and their spread in the format that is wanted."""
    signatures = systems.signatures(by_name)
    systems.show_answer(wanted, {
        "json": lambda: Spread(files, answer, signatures),
        "table": lambda: as_text(answer, signatures, words),
        "csv": lambda: as_csv(answer, signatures, words),
        "paper": lambda: as_table(answer, signatures, words)})
