"""`reid-ref splits`: several query sets, or trials, of one benchmark."""
from __future__ import annotations

import argparse

from reid_ref.commands import common, systems
from reid_ref.commands.terminal import show


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Print the number of each query set or trial, their mean and standard "
        "deviation, and the interval of the mean. Queries of one identity are one "
        "unit, also where they are in several files.")
    command.epilog = systems.FILES
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE", help="one for each split or trial")
    systems.add(command)


def run(args: argparse.Namespace) -> int:
    from reid_ref.analysis.same_queries import checked_metrics
    from reid_ref.analysis.splits import splits_of_scores
    from reid_ref.analysis.systems import all_identities, check_systems_convention
    from reid_ref.arrays import InputError
    from reid_ref.report import runs as report

    systems.check(args)
    if not isinstance(args.intervals["unit"], str):
        raise InputError(f"--unit: expected identity or query, for splits have queries of their "
                         f"own, got the file {args.unit}")
    found = systems.read(args)
    check_systems_convention(found)
    scores = {metric: {name: one.values(metric) for name, one in found.items()}
              for metric in checked_metrics(args.metrics)}
    answer = splits_of_scores(scores, identity=all_identities(found), **args.intervals)
    signatures = {name: one.signature for name, one in found.items()}
    if args.format == "json":
        common.print_json(report.as_json(answer, args.files, signatures))
    else:
        show(report.WRITERS[args.format](answer, signatures, report.SPLITS))
    return 0
