"""`reid-ref runs`: several training runs of one method on the same queries."""
from __future__ import annotations

import argparse

from reid_ref.commands.runs.compute import runs_of_scores
from reid_ref.commands.runs.show import RUNS, show_spread
from reid_ref.console import systems
from reid_ref.result import unit_of_queries
from reid_ref.result.systems import check_same_queries, checked_metrics, values_of


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Print the number of each run, their mean and standard deviation, which say "
        "what training again would change, and the interval of each query's mean over "
        "runs, which says what other identities would.")
    command.epilog = systems.FILES
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE", help="one for each run")
    systems.add(command)


def run(args: argparse.Namespace) -> int:
    metrics, options = systems.check(args)
    by_name = systems.read(args)
    check_same_queries(by_name)
    identity = next(iter(by_name.values())).per_query.identity
    unit = unit_of_queries(identity, options.pop("unit"))
    scores = {metric: {name: values_of(system, metric) for name, system in by_name.items()}
              for metric in checked_metrics(metrics)}
    show_spread(args.format, args.files, runs_of_scores(scores, *unit, **options), by_name, RUNS)
    return 0
