"""`reid-ref runs`: several training runs of one method on the same queries."""
from __future__ import annotations

import argparse

from reid_ref.console import options as common, systems
from reid_ref.console.terminal import show


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
    from reid_ref.commands.runs import show as report
    from reid_ref.commands.runs.compute import runs_of_scores
    from reid_ref.result import unit_of_queries
    from reid_ref.result.systems import check_systems_queries, checked_metrics

    metrics, options = systems.check(args)
    found = systems.read(args)
    check_systems_queries(found)
    unit = unit_of_queries(next(iter(found.values())).identity, options.pop("unit"))
    scores = {metric: {name: one.values(metric) for name, one in found.items()}
              for metric in checked_metrics(metrics)}
    answer = runs_of_scores(scores, *unit, **options)
    signatures = {name: str(one.signature) for name, one in found.items()}
    if args.format == "json":
        common.print_json(report.as_json(answer, args.files, signatures))
    else:
        show(report.WRITERS[args.format](answer, signatures, report.RUNS))
    return 0
