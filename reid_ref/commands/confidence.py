"""`--confidence`: the interval of each number, and the options that say how it is made."""
from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from reid_ref.commands import common

if TYPE_CHECKING:
    from reid_ref.result import Result
    from reid_ref.statistics import Interval

METHODS = ("bootstrap-t", "analytic")


def add(command: Any) -> None:
    command.add_argument("--confidence", action="store_true",
                         help="also the confidence interval and the standard error of each "
                              "number; queries of one identity are not independent")
    add_options(command)
    command.add_argument("--confidence-method", choices=METHODS,
                         help="bootstrap-t (default), or analytic: without random numbers")


def add_options(command: Any) -> None:
    """Take what intervals and paired tests share."""
    command.add_argument("--level", type=number, metavar="PERCENT",
                         help="of the intervals; default 95")
    command.add_argument("--unit", metavar="UNIT",
                         help="what is independent: identity (default), query, or a file with "
                              "one group a query, a line each")
    command.add_argument("--resamples", type=int, metavar="N",
                         help="how many are drawn; default 10000")
    command.add_argument("--seed", type=int, metavar="N", help="of what is drawn; default 12345")


def number(text: str) -> float:
    value = float(text)
    return int(value) if value.is_integer() else value


def check(args: argparse.Namespace) -> None:
    """Refuse options without --confidence, and what has no value for each query."""
    from reid_ref.arrays import InputError

    if not args.confidence:
        given = [args.level, args.unit, args.confidence_method, args.resamples, args.seed]
        if given != [None] * len(given):
            raise InputError("--level, --unit, --confidence-method, --resamples, --seed: expected "
                             "--confidence beside them")
        return
    if args.ties == "bounds" or args.implementation != "fast":
        raise InputError("--confidence: needs a value for each query; leave out --ties bounds and "
                         "--implementation")
    read_options(args)


def read_options(args: argparse.Namespace) -> None:
    """Put the options of intervals into `args.intervals`; wrong ones are known before the work."""
    from reid_ref.files.groups import read_groups
    from reid_ref.statistics.draws import RESAMPLES, SEED, check_random
    from reid_ref.statistics.interval import LEVEL, check_level

    unit = "identity" if args.unit is None else args.unit
    args.intervals = {
        "unit": unit if unit in ("identity", "query") else read_groups(unit),
        "level": LEVEL if args.level is None else args.level,
        "resamples": RESAMPLES if args.resamples is None else args.resamples,
        "seed": SEED if args.seed is None else args.seed}
    check_level(args.intervals["level"])
    check_random(args.intervals["resamples"], args.intervals["seed"])


def find(args: argparse.Namespace, results: dict[str, Result],
         ) -> tuple[dict[str, Result], dict[str, dict[str, Interval]] | None]:
    """Return results whose signature says how intervals are made, and the intervals by name.

    Without --confidence, the results as they are, and None.
    """
    from reid_ref.analysis.confidence import intervals, with_signature

    if not args.confidence:
        return results, None
    options: dict[str, Any] = {
        **args.intervals, "method": args.confidence_method or METHODS[0]}
    found = intervals(results, common.ranks(args), **options)
    return {name: with_signature(result, **options) for name, result in results.items()}, found
