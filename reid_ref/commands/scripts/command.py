"""`reid-ref scripts`: the MATLAB scripts and their port beside the fast path; and the drivers."""
from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

from reid_ref.arrays import check_choice, check_count, each_warning_once
from reid_ref.commands.scripts.compute.drivers import run_driver
from reid_ref.commands.scripts.compute.programs import (
    ScriptAnswer, functions_of, largest_difference, run_fast, run_octave, run_port)
from reid_ref.commands.scripts.show import Scripts, as_table, driver_lines, driver_table
from reid_ref.console import options as common
from reid_ref.console.answers import curves_of, show_answer
from reid_ref.datasets.driver_files import DRIVERS, read_inputs


def add(command: argparse.ArgumentParser) -> None:
    """Run the MATLAB scripts in GNU Octave and the line-faithful Python port on a result file, and
    print their numbers next to those of the fast path; or, with --driver, print every line that a
    MATLAB driver does: Euclidean, re-ranking, XQDA, KISSME; for MARS the means over pairs of
    cameras, too.

    FILE is any that reid-ref evaluate reads. A driver takes the files that it loads, in any order
    (train in the names of the training files), or a result file, which gives the lines that learn
    nothing. Exit code: 0 if all numbers are equal to the last bit, 1 if one differs; of a driver,
    0, also if the lines that learn are left out for want of training files, 1 if another line
    could not be computed; 2 for wrong input.
    """
    command.set_defaults(choices=[])
    common.add_files(command)
    common.add_options(command, "--convention", "--metric", "--normalize", "--ranks", "--cmc",
                       formats=("table", "json"))
    command.add_argument("--only", choices=("port", "octave"),
                         help="run this one next to the fast path; port needs no Octave")
    command.add_argument("--matlab-dir", metavar="DIR",
                         help="your own checkout of the MATLAB scripts (or REID_REF_MATLAB_DIR)")
    command.add_argument("--driver", metavar="NAME",
                         help="print every line of this driver: market1501, cuhk03, mars or ide")
    command.add_argument("--seed", type=int, metavar="N",
                         help="with --driver: of the training pairs; default 0")


def run(args: argparse.Namespace) -> int:
    if args.driver is not None:
        return _run_driver(args)
    common.refuse(args, ("--seed",), "--driver with it", "none; add it, or leave it out")
    length, ranks = common.cmc_length(args), common.ranks(args)
    if args.only == "port":
        common.refuse(args, ("--matlab-dir",), "the scripts to be run in Octave",
                      "--only port; leave one of them out")
    convention = common.one_convention(args)
    functions_of(convention)  # a convention without a script is known before the work
    data = common.read_files(args)
    distances = data.input.by_product(common.how(args, [convention]))
    programs: dict[str, Callable[..., ScriptAnswer]] = {
        "fast": run_fast, "port": run_port,
        "octave": partial(run_octave, matlab_dir=args.matlab_dir)}
    answers = {name: program(distances, data.query, data.gallery, convention)
               for name, program in programs.items() if name in ("fast", args.only or name)}
    difference = largest_difference(answers)
    show_answer(args.format, table=lambda: as_table(answers, difference, ranks),
                json=lambda: Scripts(args.files, data.layout, convention.name,
                                     curves_of(answers, length), difference))
    return 0 if difference == 0 else 1


def _run_driver(args: argparse.Namespace) -> int:
    """Print the lines of a driver."""
    check_choice(args.driver, "--driver", DRIVERS)
    common.refuse(args, ("--map", "--convention", "--metric", "--normalize", "--ranks", "--cmc",
                         "--only", "--matlab-dir"),
                  "no --driver, which brings files and rules of its own",
                  f"--driver {args.driver}; leave one of them out")
    seed = check_count(0 if args.seed is None else args.seed, "--seed", 0, 2**32 - 1)
    driver, inputs = DRIVERS[args.driver], read_inputs(args.driver, *args.files)
    total = len(inputs.query) * len(driver.methods)
    with each_warning_once(), common.progress_bar(total) as bar:

        def progress(method: str, queries: int) -> None:
            bar.set_description(method)
            bar.update(queries)

        answer = run_driver(args.driver, inputs, seed, None if bar is None else progress)
    show_answer(args.format, json=lambda: driver_lines(args.files, answer),
                table=lambda: driver_table(args.files, answer))
    return int(any(why != driver.without_training for why in answer.left_out.values()))
