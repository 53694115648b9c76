"""`reid-ref report`: one HTML page of a result file, or of several."""
from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from reid_ref.console import options as common
from reid_ref.console.files import add_images, check_images, image_names, names_of_results
from reid_ref.console.terminal import show, tell

if TYPE_CHECKING:
    from reid_ref.commands.report.compute import Options
    from reid_ref.evaluation.result_file import ResultFile


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Write one HTML file that needs no other and no network. Several results are "
        "compared with the first.")
    command.epilog = (
        "About its size is told on stderr before the page is made. The same input and "
        "versions give the same bytes.")
    command.set_defaults(run=run)
    common.add_files(command)
    command.add_argument("-o", "--output", required=True, metavar="FILE",
                         help="the page to write, e.g. report.html")
    command.add_argument("--convention", default="matlab", metavar="NAME",
                         help="of the headline and the rank lists (default: matlab)")
    common.add_options(command, "--metric", "--normalize", "--max-memory", "--name")
    command.add_argument("--queries", type=int, default=60, metavar="N",
                         help="rank lists in all (default: 60)")
    command.add_argument("--top", type=int, default=10, metavar="K",
                         help="images of each list (default: 10)")
    add_images(command)
    command.add_argument("--pixelate", type=int, metavar="N",
                         help="show each image as N blocks side by side, so that no face is known")
    command.add_argument("--seed", type=int, default=12345, metavar="N",
                         help="of the queries that are drawn; default 12345")
    command.add_argument("--max-size", default="50M", metavar="SIZE",
                         help="write no larger page (default: 50M)")


def run(args: argparse.Namespace) -> int:
    from reid_ref.commands.report.compute import gather
    from reid_ref.commands.report.show import check_size, page, size_line
    from reid_ref.disk import check_target, whole_files
    from reid_ref.drawing.rank_list import check_libraries
    from reid_ref.drawing.style import written

    options, most = _options(args)
    check_libraries()
    check_target(args.output, args.files)
    files = _read(args)
    pictures = _images(args, files)
    with common.progress_bar(sum(len(data.query) for _, data in files.values())) as bar:
        content = gather(files, options, None if bar is None else bar.update)
    check_size(content, pictures, most)
    if not args.quiet:
        tell(size_line(content, pictures))
    text = page(content, pictures, most)
    with whole_files(args.output) as (file,):
        file.write(text)
    show(written(args.output))
    return 0


def _options(args: argparse.Namespace) -> tuple[Options, int]:
    """Return how the page is made, and its most bytes."""
    from reid_ref.arrays import InputError, check_count
    from reid_ref.arrays.memory import bytes_of
    from reid_ref.commands.report.compute import Options
    from reid_ref.conventions import find_convention

    convention = find_convention(args.convention, "--convention")
    if convention.needs_lists:
        raise InputError("--convention", got=f"{convention.name} takes lists of good and junk "
                         "images, which the report does not read", remedy="name another")
    for name, least in (("queries", 0), ("top", 1), ("seed", 0), ("pixelate", 1)):
        if getattr(args, name) is not None:
            check_count(getattr(args, name), f"--{name}", least)
    if args.seed >= 2**32:
        raise InputError("--seed", "a whole number below 2**32", args.seed)
    if args.pixelate is not None and args.images is None:
        raise InputError("--pixelate", "--images ROOT beside it")
    check_images(args)
    most = bytes_of(args.max_size, "--max-size")
    return Options(convention, args.metric or common.METRIC, args.normalize, args.queries,
                   args.top, args.seed, common.max_memory(args)), most


def _read(args: argparse.Namespace) -> dict[str, tuple[list[str], ResultFile]]:
    """Return what the files of each result hold, by its name."""
    from reid_ref.files import results_of_files

    groups = results_of_files(*args.files)
    read = {}
    for name, group in zip(names_of_results(args.names, groups), groups):
        files = list(map(str, group))
        read[name] = files, common.read_files(args, files)
    return read


def _images(args: argparse.Namespace, files: dict[str, tuple[list[str], ResultFile]]) -> Any:
    """Return where the images are, or None."""
    from reid_ref.commands.report.show.lists import Images

    if args.images is None:
        return None
    return Images(args.images, {name: image_names(args, own, data)
                                for name, (own, data) in files.items()}, args.pixelate)
