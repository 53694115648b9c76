"""`reid-ref scripts`: the MATLAB scripts and their port beside the fast path; and the drivers."""
import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from reid_ref.arrays import InputError, check_choice, check_count, each_warning_once
from reid_ref.commands.scripts.compute.drivers import run_driver
from reid_ref.commands.scripts.compute.programs import (
    ScriptAnswer, functions_of, largest_difference, run_fast, run_octave, run_port)
from reid_ref.commands.scripts.show import Scripts, as_table, driver_lines, driver_table
from reid_ref.console import options as common
from reid_ref.console.answers import curves_of, show_answer
from reid_ref.console.request import Request, narrowed, option
from reid_ref.datasets.driver_files import DRIVERS, read_inputs
from reid_ref.labels import cameras_of
from reid_ref.measures import RANKS
from reid_ref.text.numbers import whole


#: Why options of a comparison do not go with a driver.
_OWN_RULES = {"--driver": "which brings files and rules of its own"}


@dataclass(frozen=True, kw_only=True)
class ScriptsRequest(Request):
    """What the command line requests."""

    map: list[str] = narrowed("--map", without=_OWN_RULES)
    convention: list[str] | None = narrowed("--convention", without=_OWN_RULES)
    metric: str | None = narrowed("--metric", without=_OWN_RULES)
    normalize: bool | None = narrowed("--normalize", without=_OWN_RULES)
    ranks: list[int] | None = narrowed("--ranks", without=_OWN_RULES)
    cmc: str | None = narrowed("--cmc", without=_OWN_RULES)
    only: str | None = option("--only", without=_OWN_RULES, choices=("port", "octave"))
    matlab_dir: str | None = option("--matlab-dir", without=_OWN_RULES)
    driver: str | None = option("--driver")
    seed: int | None = option("--seed", needs=("--driver",), type=whole)


def add(command: argparse.ArgumentParser) -> None:
    """Run the MATLAB scripts in GNU Octave and the line-faithful Python port on a result file, and
    print their numbers next to those of the fast path; or, with --driver, print every line that a
    MATLAB driver does: Euclidean, re-ranking, XQDA, KISSME; for MARS the means over pairs of
    cameras, too.

    Examples:
        reid-ref scripts fixtures/market_like.mat --only port
        reid-ref scripts fixtures/market_like.mat --driver market1501

    FILE is any that reid-ref evaluate reads. A driver takes the files that it loads, in any order
    (train in the names of the training files), or a result file, which gives the lines that learn
    nothing. Exit code: 0 if all numbers are equal to the last bit, 1 if one differs; of a driver,
    0, also if the lines that learn are left out for want of training files, 1 if another line
    could not be computed; 2 for wrong input.
    """
    common.add_files(command)
    ScriptsRequest.add(command, "--convention", "--metric", "--normalize", "--ranks", "--cmc",
                       "--only", "--matlab-dir", "--driver", "--seed", formats=("table", "json"))


def run(request: ScriptsRequest) -> int:
    if request.driver is not None:
        return _run_driver(request, request.driver)
    length, ranks = common.cmc_length(request), request.ranks or RANKS
    if request.only == "port" and request.matlab_dir is not None:
        raise InputError("--matlab-dir", "the scripts to be run in Octave", "--only port",
                         "leave one of them out")
    convention = common.one_convention(request)
    functions_of(convention)  # a convention without a script is known before the work
    data = common.read_files(request)
    cameras_of(data.query, "the MATLAB scripts")
    distances = data.input.by_product(common.how(request, [convention]))
    programs: dict[str, Callable[..., ScriptAnswer]] = {
        "fast": run_fast, "port": run_port,
        "octave": partial(run_octave, matlab_dir=request.matlab_dir)}
    answers = {name: program(distances, data.query, data.gallery, convention)
               for name, program in programs.items() if name in ("fast", request.only or name)}
    difference = largest_difference(answers)
    show_answer(request.format, table=lambda: as_table(answers, difference, ranks),
                json=lambda: Scripts(request.files, data.layout, convention.name,
                                     curves_of(answers, length), difference))
    return 0 if difference == 0 else 1


def _run_driver(request: ScriptsRequest, name: str) -> int:
    """Print the lines of a driver."""
    check_choice(name, "--driver", DRIVERS)
    seed = check_count(0 if request.seed is None else request.seed, "--seed", 0, 2**32 - 1)
    driver, inputs = DRIVERS[name], read_inputs(name, *request.files)
    total = len(inputs.query) * len(driver.methods)
    with each_warning_once(), common.progress_bar(total) as bar:

        def progress(method: str, queries: int) -> None:
            bar.set_description(method)
            bar.update(queries)

        answer = run_driver(name, inputs, seed, None if bar is None else progress)
    show_answer(request.format, json=lambda: driver_lines(request.files, answer),
                table=lambda: driver_table(request.files, answer))
    return int(any(why != driver.without_training for why in answer.left_out.values()))
