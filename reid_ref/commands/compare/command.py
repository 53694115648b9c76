"""`reid-ref compare`: is one system better than another? Differences with their intervals."""
from __future__ import annotations

import argparse

from reid_ref.commands.compare.compute import Compared, compare_systems
from reid_ref.commands.compare.show import as_csv, as_table, as_text
from reid_ref.console import options as common, systems
from reid_ref.console.answers import show_answer


def add(command: argparse.ArgumentParser) -> None:
    """Print the difference of each system to the baseline, over the same queries: its interval,
    and p of a paired test by identity.

    Exit code: 0; 2 for wrong input, or other labels.
    """
    common.add_files(command, words="the first is the baseline")
    command.add_argument("--all-pairs", action="store_true",
                         help="compare each system with each other one; p is adjusted for all "
                              "pairs, and letters name the systems that each one beats")
    systems.add(command)


def run(args: argparse.Namespace) -> None:
    metrics, options = systems.check(args)
    by_name = systems.read(args)
    answer = compare_systems(by_name, metrics, **{**options, "resamples": args.resamples},
                             all_pairs=args.all_pairs)
    signatures = systems.signatures(by_name)
    show_answer(
        args.format,
        json=lambda: Compared(**vars(answer), files=args.files, signatures=signatures),
        table=lambda: as_text(answer, signatures), csv=lambda: as_csv(answer, signatures),
        paper=lambda: as_table(answer, signatures))
