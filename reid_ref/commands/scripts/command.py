"""`reid-ref scripts`: the fast path next to the line-faithful port and the scripts in Octave."""
from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reid_ref.commands.scripts.compute import (
    PROGRAMS, ScriptAnswer, functions_of, largest_difference)
from reid_ref.console import options as common
from reid_ref.console.answers import NamedCurve, curve_of
from reid_ref.console.terminal import show
from reid_ref.result import RANKS, named_ranks
from reid_ref.text.table import lines


@dataclass(frozen=True)
class Scripts:
    """The answers as JSON has them."""

    files: list[str]
    layout: str
    convention: str
    results: list[NamedCurve]
    largest_difference: float


def as_table(answers: Mapping[str, ScriptAnswer], difference: float,
             ranks: Sequence[int] = RANKS) -> str:
    """Return one column per program, and their largest difference."""
    curves = [{"mAP": answer.mAP, **named_ranks(answer.cmc, ranks)} for answer in answers.values()]
    text = lines(["", *answers], [[name, *(repr(curve[name]) for curve in curves)]
                                  for name in curves[0]], indent=10)
    verdict = "equal to the last bit" if difference == 0 else "NOT equal"
    length = len(next(iter(answers.values())).cmc)
    return "\n".join([*text, "", f"largest difference, over mAP and all {length:,} entries of "
                                 f"CMC: {difference!r} ({verdict})"])


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Run the MATLAB scripts in GNU Octave and the line-faithful Python port on a result "
        "file, and print their numbers next to those of the fast path.")
    command.epilog = ("Exit code: 0 where all numbers are equal to the last bit, 1 where one "
                      "differs, 2 for wrong input. FILE is any that reid-ref evaluate reads.")
    command.set_defaults(run=run, choices=[])
    common.add_files(command)
    common.add_options(command, "--convention", "--metric", "--normalize", "--ranks", "--cmc",
                       formats=("table", "json"))
    command.add_argument("--only", choices=("port", "octave"),
                         help="run this one next to the fast path; port needs no Octave")
    command.add_argument("--matlab-dir", metavar="DIR",
                         help="your own checkout of the MATLAB scripts (or REID_REF_MATLAB_DIR)")


def run(args: argparse.Namespace) -> int:
    length, ranks = common.cmc_length(args), common.ranks(args)
    if args.only == "port":
        common.refuse({"--matlab-dir": args.matlab_dir}, "the scripts to be run in Octave",
                      "--only port; leave one of them out")
    convention = common.one_convention(args)
    functions_of(convention)  # a convention without a script is known before the work
    data = common.read_files(args)
    distances = data.input.by_product(common.how(args, [convention]))
    answers: dict[str, ScriptAnswer] = {}
    for name, program in PROGRAMS.items():
        if name in ("fast", args.only or name):
            options = {"matlab_dir": args.matlab_dir} if name == "octave" else {}
            answers[name] = program(distances, data.query, data.gallery, convention, **options)
    difference = largest_difference(answers)
    if args.format == "json":
        common.print_json(Scripts(args.files, data.layout, convention.name, [
            curve_of(name, answer.mAP, answer.cmc, length) for name, answer in answers.items()],
            difference))
    else:
        show(as_table(answers, difference, ranks))
    return 0 if difference == 0 else 1
