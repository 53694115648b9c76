"""Systems beside a baseline: tables for people and papers, JSON and CSV for programs."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

from reid_ref.commands.compare.compute import Change, Comparison, Comparisons
from reid_ref.console.confidence import NOUNS
from reid_ref.text import (
    csv_text, latex, markdown, one_line, percent, row, signature_lines, signed_percent, wrap)

#: How many of the queries that changed most a table names.
SHOWN = 3
#: Marks behind a number whose adjusted p is below these.
MARKS = {.01: "**", .05: "*"}
_FIELDS = [field.name for field in fields(Comparison) if field.name not in ("gains", "losses")]


def as_json(answer: Comparisons, files: list[str],
            signatures: Mapping[str, str]) -> dict[str, Any]:
    """Return what was compared and every comparison as plain JSON values."""
    return {"files": files, "baseline": answer.baseline, "values": answer.values,
            "comparisons": [asdict(one) for one in answer.comparisons], "unit": answer.unit,
            "level": answer.level, "resamples": answer.resamples, "seed": answer.seed,
            "signatures": dict(signatures)}


def as_csv(answer: Comparisons, signatures: Mapping[str, str]) -> str:
    """Return one line a comparison, in full precision."""
    head = [*_FIELDS, "unit", "level", "resamples", "seed", "signature"]
    shared = [answer.unit, answer.level, answer.resamples, answer.seed]
    return csv_text([head, *([*(getattr(one, name) for name in _FIELDS), *shared,
                              signatures[one.system]] for one in answer.comparisons)])


def as_table(answer: Comparisons, signatures: Mapping[str, str]) -> str:
    """Return a block for each metric, for a terminal of 80 columns, in percent."""
    lines: list[str] = []
    for metric in answer.values[answer.baseline]:
        lines += [*_block(answer, metric), ""]
    lines += row("units", f"better/worse/same: {NOUNS[answer.unit]} whose queries together "
                 "gained, lost, or did neither")
    lines += row("interval", f"{answer.unit} bootstrap-t, {answer.resamples:,} resamples, seed "
                 f"{answer.seed}; holds for this gallery and these models")
    lines += row("p" if len(answer.values) == 2 else "adj. p", _test(answer))
    return "\n".join([*lines, *signature_lines(signatures)])


def _test(answer: Comparisons) -> str:
    others = len(answer.values) - 1
    return (f"two-sided test by sign flips of {NOUNS[answer.unit]}: every choice of signs, or "
            f"{answer.resamples:,} where there are more"
            + (f"; adjusted for {others} systems by Holm's method" if others > 1 else ""))


def _block(answer: Comparisons, metric: str) -> list[str]:
    level = f"{answer.level:g} % interval"
    found = [one for one in answer.comparisons if one.metric == metric]
    p = "p" if len(found) == 1 else "adj. p"
    lines = [f"{metric:19}{'percent':>8}{'change':>8}{level:>18}{p:>9}{'better/worse/same':>18}"]
    lines += _named(answer.baseline, f"{percent(answer.values[answer.baseline][metric]):>8}")
    for one in found:
        lines += _named(one.system, _cells(answer, one))
    for one in found:
        if one.better == one.worse == 0:
            lines += wrap(f"{one.system}: identical per-query values; p = 1", "  ", "    ")
        elif not metric.startswith("Rank-"):  # whose queries change by 1, or not at all
            lines += _changes(one)
    pairs = [one for one in found if one.detectable > 0]
    if pairs:
        what = " and ".join(percent(one.detectable) for one in pairs)
        who = "this pair" if len(pairs) == 1 else "these pairs"
        lines += wrap(f"{who} could have shown {what} points (at 5 %, power 80 %)", "  ", "    ")
    return lines


def _named(name: str, text: str) -> list[str]:
    return [f"{name:19}{text}"] if len(name) < 19 else [name, " " * 19 + text]


def _cells(answer: Comparisons, one: Comparison) -> str:
    ends = f"{signed_percent(one.low)} .. {signed_percent(one.high)}"
    units = f"{one.better}/{one.worse}/{one.same}"
    return (f"{percent(answer.values[one.system][one.metric]):>8}"
            f"{signed_percent(one.difference):>8}{ends:>18}{p_text(one.p_adjusted):>9}{units:>18}")


def p_text(p: float) -> str:
    """Return p with four decimals."""
    return "1" if p == 1 else "<0.0001" if p < .0001 else f"{p:.4f}"


def _changes(one: Comparison) -> list[str]:
    lines: list[str] = []
    for word, changes in (("gained most", one.gains), ("lost most", one.losses)):
        if changes:
            lines += wrap(f"{one.system} {word}: " + ", ".join(map(_change, changes[:SHOWN])),
                          "  ", "    ")
    return lines


def _change(one: Change) -> str:
    return (f"query {one.query} (identity {one.identity}) {percent(one.baseline)} to "
            f"{percent(one.system)}")


def as_markdown(answer: Comparisons, signatures: Mapping[str, str]) -> str:
    """Return a Markdown table: a row a system, the best bold, marks for p."""
    metrics = list(answer.values[answer.baseline])
    lines = [f"| System | {' | '.join(metrics)} |", "|:--" + "|--:" * len(metrics) + "|"]
    for name in answer.values:
        cells = [_paper_cell(answer, name, metric, "**{}**", markdown, " [{}, {}]")
                 for metric in metrics]
        lines.append(f"| {markdown(name)} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", markdown(_legend(answer)), "",
                      *(f"- {markdown(name)}: `{text}`" for name, text in signatures.items()
                        if text)])


def as_latex(answer: Comparisons, signatures: Mapping[str, str]) -> str:
    """Return a LaTeX tabular for booktabs: a row a system, the best bold, marks for p."""
    metrics = list(answer.values[answer.baseline])
    lines = [r"% needs \usepackage{booktabs}", f"% {_legend(answer)}",
             rf"\begin{{tabular}}{{l{'r' * len(metrics)}}}", r"\toprule",
             rf"System & {' & '.join(map(latex, metrics))} \\", r"\midrule"]
    for name in answer.values:
        cells = [_paper_cell(answer, name, metric, r"\textbf{{{}}}",
                             lambda mark: f"$^{{{mark}}}$" if mark else "",
                             r" {{\scriptsize [{}, {}]}}") for metric in metrics]
        lines += [f"% {one_line(name)}: {signatures[name]}",
                  rf"{latex(name)} & {' & '.join(cells)} \\"]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _paper_cell(answer: Comparisons, name: str, metric: str, bold: str,
                mark: Callable[[str], str], ends: str) -> str:
    """Return a number, bold where it is the best as printed, and the interval of its change."""
    best = max(float(percent(values[metric])) for values in answer.values.values())
    text = percent(answer.values[name][metric])
    cell = bold.format(text) if float(text) == best else text
    one = next((one for one in answer.comparisons
                if (one.system, one.metric) == (name, metric)), None)
    if one is None:
        return cell
    stars = next((stars for p, stars in MARKS.items() if one.p_adjusted < p), "")
    return cell + mark(stars) + ends.format(signed_percent(one.low), signed_percent(one.high))


def _legend(answer: Comparisons) -> str:
    return (f"Brackets: {answer.level:g} % interval of the difference to {answer.baseline}, by "
            f"{answer.unit}; * p < 0.05, ** p < 0.01, {_test(answer)}. Holds for this gallery and "
            "these models.")
