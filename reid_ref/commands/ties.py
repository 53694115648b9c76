"""`reid-ref ties`: how much the order of equal distances can change the numbers."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from reid_ref.arrays import Doubles
from reid_ref.console import options as common
from reid_ref.console.answers import NamedCurve, curve_of
from reid_ref.console.terminal import show
from reid_ref.evaluation.tie_bounds import TieBounds, tie_bounds_of
from reid_ref.result import RANKS, named_ranks
from reid_ref.text import row, signature_rows, tied_queries
from reid_ref.text.table import lines


@dataclass(frozen=True)
class TieAnswer:
    """The bounds as JSON has them."""

    files: list[str]
    layout: str
    convention: str
    tied: int
    results: list[NamedCurve]
    signature: str


def columns_of(bounds: TieBounds) -> dict[str, tuple[float, Doubles]]:
    return {"worst": bounds.worst, "expected": bounds.expected, "best": bounds.best}


def as_table(bounds: TieBounds, n_query: int, ranks: Sequence[int] = RANKS) -> str:
    """Return worst, expected and best numbers over the orders of ties, in percent."""
    columns = columns_of(bounds)
    curves = [{"mAP": mAP, **named_ranks(cmc, ranks)} for mAP, cmc in columns.values()]
    text = lines(["percent", *columns], [
        [name, *(f"{100 * curve[name]:.4f}" for curve in curves)] for name in curves[0]],
        indent=10)
    text += ["", *row("ties", tied_queries(bounds.tied, n_query)),
             *row("expected", "mean over all orders of ties, computed exactly")]
    return "\n".join([*text, "", *signature_rows(str(bounds.signature))])


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Print the best, the worst and the expected numbers over all orders of images at equal "
        "distance, computed exactly.")
    command.epilog = ("FILE is any that reid-ref evaluate reads; reid-ref evaluate "
                      "--set ties=ORDER evaluates one order.")
    common.add_files(command)
    common.add_options(command, "--convention", "--set", "--metric", "--normalize",
                       "--index-lists", "--ranks", "--cmc", formats=("table", "json"))


def run(args: argparse.Namespace) -> int:
    length, ranks = common.cmc_length(args), common.ranks(args)
    convention = common.one_convention(args)
    lists = common.read_lists(args, [convention])
    data = common.read_files(args)
    with common.progress_bar(len(data.query)) as bar:
        bounds = tie_bounds_of(data.input, data.query, data.gallery,
                               common.how(args, [convention], lists, bar))
    if args.format == "json":
        common.print_json(TieAnswer(args.files, data.layout, convention.name, bounds.tied, [
            curve_of(name, mAP, cmc, length) for name, (mAP, cmc) in columns_of(bounds).items()],
            str(bounds.signature)))
    else:
        show(as_table(bounds, len(data.query), ranks))
    return 0
