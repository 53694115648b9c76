"""`reid-ref plot`: figures for a paper."""
from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reid_ref.console import options as common, systems
from reid_ref.console.files import evaluate_file, names_of_results, said_of
from reid_ref.console.terminal import show

if TYPE_CHECKING:
    from reid_ref.conventions import Convention
    from reid_ref.drawing.densities import DistanceSample
    from reid_ref.evaluation.result_file import ResultFile

FIGURES = ("cmc", "pr", "ap", "cameras", "distances", "conventions")


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Draw result files, several methods in one figure, in the fonts and the "
        "width of a page with two columns.")
    command.epilog = (
        "cmc: CMC curves with their 95 % intervals. pr: mean precision at levels of "
        "recall. ap: AP by query, of one method by identity, too. cameras: each pair of "
        "cameras. distances: of the same and of other identities. conventions: mAP and "
        "Rank-1 under each. FILE is any that reid-ref evaluate reads. The same files give "
        "the same bytes.")
    command.set_defaults(run=run)
    command.add_argument("figure", choices=FIGURES, metavar="|".join(FIGURES), help="what to draw")
    common.add_files(command)
    command.add_argument("-o", "--output", required=True, metavar="FILE",
                         help="file to write: .pdf, .svg or .png")
    command.add_argument("--width", default="3.3in", metavar="LENGTH",
                         help="width of the figure, such as 3.3in (default: one column), 84mm; "
                              "panels stand side by side where there is room")
    common.add_options(command, "--convention", "--set", "--metric", "--normalize",
                       "--index-lists", "--max-memory", "--name")


def run(args: argparse.Namespace) -> int:
    from reid_ref.disk import check_target
    from reid_ref.drawing import style as saving, whole
    from reid_ref.files import results_of_files

    width = whole.inches(args.width, "--width")
    saving.check_figure(args.output)
    check_target(args.output, [*args.files, *(args.index_lists or ())])
    asked = _conventions(args)
    groups = results_of_files(*args.files)
    saving.save(_figure(args, groups, asked, width), args.output)
    show(saving.written(args.output))
    return 0


def _conventions(args: argparse.Namespace) -> list[Convention]:
    """Return the conventions to draw: matlab if none is named, all for their own figure."""
    from reid_ref.arrays import InputError
    from reid_ref.conventions import CONVENTIONS, NOT_IN_ALL

    if args.figure in ("cameras", "distances"):
        if args.convention is not None or args.choices or args.index_lists:
            raise InputError("--convention, --set, --index-lists", got=f"{args.figure} are drawn "
                             "from the labels alone", remedy="leave them out")
        return []
    names = common.convention_names(args, "all" if args.figure == "conventions" else "matlab")
    if names is None:
        names = [name for name, one in CONVENTIONS.items()
                 if name not in NOT_IN_ALL or (args.index_lists and one.needs_lists)]
    return common.with_choices(args, [CONVENTIONS[name] for name in names])


def _figure(args: argparse.Namespace, groups: list[list[Path]], asked: list[Convention],
            width: float) -> Any:
    from reid_ref.commands.evaluate.compute import by_row
    from reid_ref.drawing import whole
    from reid_ref.evaluation.camera_pairs import camera_pairs_of

    if args.figure == "cameras":
        return whole.of_cameras(_of_each(
            args, groups, lambda data: camera_pairs_of(
                data.input, data.query, data.gallery, "plain", common.how(args, ()))), width)
    if args.figure == "distances":
        return whole.of_distances(_of_each(
            args, groups, lambda data: _sample(args, data)), width)
    lists = common.read_lists(args, asked)
    results = _of_each(args, groups, lambda data: evaluate_file(args, data, asked, lists),
                       takes_saved=args.figure != "conventions")
    if args.figure == "conventions":
        return whole.of_conventions(results, width)
    return whole.of_results(args.figure, by_row(results), width)


def _of_each(args: argparse.Namespace, groups: list[list[Path]],
             work: Callable[[ResultFile], Any], takes_saved: bool = False) -> dict[str, Any]:
    """Read one result after the other, and return what `work` makes of each by its name."""
    if takes_saved and systems.is_saved(args, args.files):
        systems.check_not_evaluated(args)
    found: dict[str, Any] = {}
    for name, paths in zip(names_of_results(args.names, groups), groups):
        files = list(map(str, paths))
        with said_of(name, files):
            saved = systems.saved_results(args, files) if takes_saved else None
            found[name] = work(common.read_files(args, files)) if saved is None else saved
    return found


def _sample(args: argparse.Namespace, data: ResultFile) -> DistanceSample:
    from reid_ref.drawing.densities import distance_sample

    with common.progress_bar(len(data.query)) as bar:
        blocks = data.input.exact_blocks(data.query, data.gallery, common.how(args, ()))
        return distance_sample(blocks, data.query, data.gallery,
                               progress=None if bar is None else bar.update)
