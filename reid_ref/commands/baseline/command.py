"""`reid-ref baseline`: every line that a MATLAB driver prints of these features."""
from __future__ import annotations

import argparse

from reid_ref.arrays import check_choice, check_count, each_warning_once
from reid_ref.commands.baseline.compute import baseline
from reid_ref.commands.baseline.show import as_answer, as_table
from reid_ref.console import options as common
from reid_ref.console.terminal import show
from reid_ref.datasets.driver_files import DRIVERS, read_inputs


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Print method, Rank-1 and mAP as a MATLAB driver does: Euclidean, re-ranking, "
        "XQDA, KISSME; for MARS the means over pairs of cameras, too.")
    command.epilog = (
        "Files: those that the driver loads, in any order (train in the names of the "
        "training files), or a result file as reid-ref evaluate reads it, which gives the "
        "lines that learn nothing. Exit code: 0, also where training files are not given "
        "and the lines that learn from them are left out; 1 when another line could not "
        "be computed; 2 for wrong input.")
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE",
                         help="files of the driver, or a result file")
    command.add_argument("--driver", required=True, metavar="NAME",
                         help="market1501, cuhk03, mars or ide")
    command.add_argument("--seed", type=int, default=0, metavar="N",
                         help="of the training pairs; default 0")
    command.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    check_choice(args.driver, "--driver", DRIVERS)
    check_count(args.seed, "--seed", 0, 2**32 - 1)
    inputs = read_inputs(args.driver, *args.files)
    total = len(inputs.query) * len(DRIVERS[args.driver].methods)
    with each_warning_once(), common.progress_bar(total) as bar:

        def progress(method: str, queries: int) -> None:
            bar.set_description(method)
            bar.update(queries)

        answer = baseline(args.driver, inputs, args.seed, None if bar is None else progress)
    if args.json:
        common.print_json(as_answer(args.files, answer))
    else:
        show(as_table(args.files, answer))
    return int(any(why != DRIVERS[args.driver].without_training
                   for why in answer.left_out.values()))
