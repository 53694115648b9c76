"""`reid-ref rank-list`: one query's ranked list as a picture."""
from __future__ import annotations

import argparse

from reid_ref.console import options as common
from reid_ref.console.files import add_images, check_images, image_names
from reid_ref.console.terminal import show


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Write one query, its nearest images and the next good one as a picture: "
        "green frames are good, red wrong, amber distractors, grey hatched ignored.")
    command.set_defaults(run=run)
    common.add_files(command)
    command.add_argument("-o", "--output", required=True, metavar="FILE",
                         help="the picture to write: .png or .jpg")
    command.add_argument("--query", type=int, required=True, metavar="N",
                         help="which query, from 0")
    command.add_argument("--convention", default="matlab", metavar="NAME",
                         help="whose roles and ranks are shown (default: matlab)")
    common.add_options(command, "--metric", "--normalize", "--max-memory")
    command.add_argument("--top", type=int, default=10, metavar="K",
                         help="images of the list (default: 10)")
    add_images(command)


def run(args: argparse.Namespace) -> int:
    from reid_ref.arrays import InputError, check_count
    from reid_ref.conventions import find_convention
    from reid_ref.disk import check_target
    from reid_ref.drawing.rank_list import check_picture, save_rank_list
    from reid_ref.drawing.style import written
    from reid_ref.evaluation.rank_lists import rank_lists
    from reid_ref.files.images import path_below

    convention = find_convention(args.convention, "--convention")
    if convention.needs_lists:
        raise InputError("--convention", got=f"{convention.name} takes lists of good and junk "
                         "images, which are not read here", remedy="name another")
    check_count(args.top, "--top")
    check_images(args)
    check_picture(args.output)
    check_target(args.output, args.files)
    data = common.read_files(args)
    if not 0 <= args.query < len(data.query):
        raise InputError("--query", f"a number from 0 to {len(data.query) - 1}", args.query)
    found, = rank_lists(data, [args.query], common.how(args, [convention]), args.top)
    if args.images is None:
        save_rank_list(found, args.output)
    else:
        query, gallery = image_names(args, args.files, data)
        shown = [*found.entries, *([found.next_good] if found.next_good else [])]
        save_rank_list(found, args.output, path_below(args.images, query[args.query]),
                       {entry.image: path_below(args.images, gallery[entry.image])
                        for entry in shown})
    show(written(args.output))
    return 0
