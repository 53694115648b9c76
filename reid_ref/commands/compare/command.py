"""`reid-ref compare`: is one system better than another? Differences with their intervals."""
from __future__ import annotations

import argparse

from reid_ref.console import options as common, systems
from reid_ref.console.terminal import show


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Print the difference of each system to the baseline, over the same queries: "
        "its interval, and p of a paired test by identity.")
    command.epilog = systems.FILES + " Exit code: 0; 2 for wrong input, files of other labels too."
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE", help="the first is the baseline")
    systems.add(command)


def run(args: argparse.Namespace) -> int:
    from reid_ref.commands.compare import show as report
    from reid_ref.commands.compare.compute import compare_scores
    from reid_ref.result import unit_of_queries
    from reid_ref.result.systems import check_systems_queries, checked_metrics

    metrics, options = systems.check(args)
    found = systems.read(args)
    check_systems_queries(found)
    first = next(iter(found.values()))
    unit = unit_of_queries(first.identity, options.pop("unit"))
    scores = {name: {metric: one.values(metric) for metric in checked_metrics(metrics)}
              for name, one in found.items()}
    answer = compare_scores(scores, first.identity, *unit, **options)
    signatures = {name: str(one.signature) for name, one in found.items()}
    if args.format == "json":
        common.print_json(report.as_json(answer, args.files, signatures))
    else:
        show({"table": report.as_table, "csv": report.as_csv, "markdown": report.as_markdown,
              "latex": report.as_latex}[args.format](answer, signatures))
    return 0
