"""`reid-ref camera-pairs`: AP and Rank-1 for each pair of cameras."""
from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from reid_ref.commands import common
from reid_ref.commands.terminal import show

if TYPE_CHECKING:
    from reid_ref.evaluation.camera_pairs import CameraPairs
    from reid_ref.evaluation.result_file import ResultFile


def add(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Print mAP and Rank-1 for each camera of the query and each camera on which "
        "its identity is looked for, and the mean over different cameras.")
    command.epilog = "FILE is any that reid-ref evaluate reads."
    command.set_defaults(run=run)
    common.add_files(command)
    common.add_options(command, "--metric", "--no-normalize", "--max-memory",
                       formats=("table", "json", "csv", "markdown"))
    command.add_argument("--rule", default="plain", metavar="NAME",
                         help="plain (default): label -1 ignored, any cameras, every score "
                              "counted; script: as the driver of MARS, cameras 1 to 6, queries "
                              "in the gallery")
    command.add_argument("--plot", metavar="FILE",
                         help="draw both matrices: .pdf, .svg or .png")


def run(args: argparse.Namespace) -> int:
    from reid_ref.arrays import check_choice
    from reid_ref.evaluation.camera_pairs import RULES
    from reid_ref.files.writing import check_target
    from reid_ref.report.camera_pairs import as_csv, as_json, as_markdown, as_table
    from reid_ref.report.figures import saving, whole
    from reid_ref.report.names import source

    check_choice(args.rule, "--rule", RULES)
    if args.plot is not None:
        saving.check_figure(args.plot)
        check_target(args.plot, args.files)
    data = common.read_files(args)
    pairs = pairs_of(args, data)
    if args.plot is not None:
        saving.save(whole.of_cameras({"": pairs}, whole.TWO_COLUMNS), args.plot)
    if args.format == "json":
        common.print_json({"files": args.files, "layout": data.layout, **as_json(pairs)})
    elif args.format != "table":
        show({"csv": as_csv, "markdown": as_markdown}[args.format](pairs))
    else:
        show(as_table(pairs, source(args.files, data.layout)))
    return 0


def pairs_of(args: argparse.Namespace, data: ResultFile) -> CameraPairs:
    from reid_ref.evaluation.camera_pairs import camera_pairs, camera_pairs_features

    labels = data.query, data.gallery
    if data.distances is not None:
        return camera_pairs(data.distances, *labels, rule=args.rule, max_memory=args.max_memory)
    return camera_pairs_features(data.query_features, data.gallery_features, *labels,
                                 metric=args.metric, normalize=args.normalize, rule=args.rule,
                                 max_memory=args.max_memory)
