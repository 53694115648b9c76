"""Several runs, or splits: the numbers of each, their mean, its spread and its interval."""
from collections.abc import Callable, Mapping
from typing import NamedTuple

from reid_ref.console.confidence import drawn, interval_ends, sentence
from reid_ref.disk import tables_of
from reid_ref.result.runs import Runs, runs, splits
from reid_ref.text import percent, row, signature_lines
from reid_ref.text.table import Cell, Table, as_csv as csv_text, lines


class Mean(NamedTuple):
    """What sums up several results; what each is called, what spread and interval say."""

    of: Callable[..., dict[str, Runs]]
    noun: str
    spread: str
    covers: str


#: By the value of --mean.
MEANS = {name: Mean({"runs": runs, "splits": splits}[name], **words)
         for name, words in tables_of("commands/evaluate/show/means.toml").items()}


class MeanAnswer(NamedTuple):
    """The answer as JSON has it, by metric."""

    files: list[str]
    metrics: dict[str, Runs]
    signatures: dict[str, str]


def as_text(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Mean) -> str:
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
        [level, "", *(interval_ends(metric.interval) for metric in columns)]], indent=20)
    how = sentence({name: metric.interval for name, metric in answer.items()}, "these models")
    text += ["", *row("sd", words.spread), *row("interval", f"{words.covers}; {how}")]
    return "\n".join([*text, *signature_lines({name: signatures[name] for name in first.values})])


def as_csv(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Mean) -> str:
    """Return one line per metric and file, in full precision, with the mean and its interval."""
    return csv_text(
        ["metric", words.noun, "value", "queries", "mean", "sd", "low", "high", "se", "units",
         "signature"],
        [[name, key, value, metric.queries[key], metric.mean, metric.sd, metric.interval.low,
          metric.interval.high, metric.interval.se, metric.interval.units, signatures[key]]
         for name, metric in answer.items() for key, value in metric.values.items()])


def as_table(answer: Mapping[str, Runs], signatures: Mapping[str, str], words: Mean) -> Table:
    """Return one row per file for a paper, then mean and interval, in percent."""
    columns = list(answer.values())
    interval = columns[0].interval
    how = drawn(interval.unit, interval.method, interval.resamples, interval.seed)
    legend = (f"In percent. ±, the standard deviation: {words.spread}. Brackets, the "
              f"{interval.level:g} % interval: {words.covers}; {how}.")
    return Table([words.noun.capitalize(), *answer], [
        *([name, *(percent(metric.values[name]) for metric in columns)]
          for name in columns[0].values),
        ["mean", *(Cell(f"{percent(metric.mean)} ± {percent(metric.sd)}",
                        ends=interval_ends(metric.interval, ", ")) for metric in columns)]],
        [legend], signatures)
