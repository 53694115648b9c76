"""`reid-ref camera-pairs`: AP and Rank-1 for each pair of cameras."""
from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from reid_ref.commands import common
from reid_ref.commands.terminal import show

if TYPE_CHECKING:
    from reid_ref.arrays import Doubles
    from reid_ref.evaluation.camera_pairs import CameraPairs
    from reid_ref.files import ResultFile

WIDTH = 80


def add(commands: Any) -> None:
    command = commands.add_parser(
        "camera-pairs", help="mAP and Rank-1 for each pair of cameras",
        description="Print mAP and Rank-1 for each camera of the query and each camera on which "
                    "its identity is looked for, and the mean over different cameras.",
        epilog="FILE is any that reid-ref evaluate reads. JSON keys: files, layout, rule, "
               "cameras; mAP, rank1 (rows: the query's camera; null: no score); mAP_queries, "
               "rank1_queries (queries in each mean); mean_mAP, mean_rank1 (over different "
               "cameras); signature.")
    command.set_defaults(run=run)
    common.add_files(command)
    command.add_argument("--rule", default="plain", metavar="NAME",
                         help="plain (default): label -1 ignored, any cameras, every score "
                              "counted; script: as the driver of MARS, cameras 1 to 6, queries "
                              "in the gallery")
    command.add_argument("--plot", metavar="FILE",
                         help="draw both matrices as a heat map: .png, .pdf or .svg")
    command.add_argument("--json", action="store_true", help="print JSON instead of the table")


def run(args: argparse.Namespace) -> int:
    from reid_ref.arrays import check_choice
    from reid_ref.evaluation.camera_pairs import RULES
    from reid_ref.files.writing import check_target
    from reid_ref.report.heat_map import check_picture, heat_map

    check_choice(args.rule, "--rule", RULES)
    if args.plot is not None:
        check_picture(args.plot)
        check_target(args.plot, args.files)
    data = common.read_files(args)
    pairs = _pairs(args, data)
    if args.plot is not None:
        heat_map(pairs, args.plot)
    if args.json:
        common.print_json({"files": args.files, "layout": data.layout, **as_json(pairs)})
    else:
        show(as_table(pairs, common.source(args, data)))
    return 0


def _pairs(args: argparse.Namespace, data: ResultFile) -> CameraPairs:
    from reid_ref.evaluation.camera_pairs import camera_pairs, camera_pairs_features

    labels = data.query, data.gallery
    if data.distances is not None:
        return camera_pairs(data.distances, *labels, rule=args.rule)
    return camera_pairs_features(data.query_features, data.gallery_features, *labels,
                                 metric=args.metric, normalize=args.normalize, rule=args.rule)


def as_json(pairs: CameraPairs) -> dict[str, Any]:
    """Return the fields of pairs of cameras as plain JSON values; NaN becomes None."""
    from reid_ref.report.tables import json_number, json_numbers

    return {
        "rule": pairs.rule,
        "cameras": pairs.cameras.tolist(),
        "mAP": [json_numbers(row) for row in pairs.ap_matrix],
        "rank1": [json_numbers(row) for row in pairs.rank1_matrix],
        "mAP_queries": pairs.ap_count.tolist(),
        "rank1_queries": pairs.rank1_count.tolist(),
        "mean_mAP": json_number(pairs.mean_ap),
        "mean_rank1": json_number(pairs.mean_rank1),
        "signature": pairs.signature,
    }


def as_table(pairs: CameraPairs, source: str) -> str:
    """Return both matrices and their means for a terminal of 80 columns, in percent."""
    import textwrap

    from reid_ref.evaluation.camera_pairs import RULES

    def row(name: str, text: str) -> list[str]:
        return textwrap.wrap(text, WIDTH, initial_indent=f"{name:10}", subsequent_indent=" " * 10,
                             break_long_words=False, break_on_hyphens=False)

    lines = row("input", source)
    lines += row("rule", f"{pairs.rule}: {RULES[pairs.rule]}")
    for name, matrix in (("mAP", pairs.ap_matrix), ("Rank-1", pairs.rank1_matrix)):
        lines += ["", f"{name}, percent; down: camera of the query, across: of the gallery"]
        lines += _matrix(matrix, pairs.cameras.tolist())
    empty = {name: _empty(matrix) for name, matrix in (
        ("mAP", pairs.ap_matrix), ("Rank-1", pairs.rank1_matrix))}
    lines += ["", f"{'mean over different cameras':30}{'percent':>9}  full precision"]
    lines += [f"{name:30}{_percent(value):>9}  {value!r}" for name, value in (
        ("mAP", pairs.mean_ap), ("Rank-1", pairs.mean_rank1))]
    blank = ", ".join(f"{n} in {name}" for name, n in empty.items() if n)
    if blank:
        what = ("one of them, or one on the diagonal, makes the mean NaN"
                if pairs.rule == "script" else "they are left out of the mean")
        lines += ["", *row("no score", f"pairs of different cameras: {blank}; {what}")]
    lines += ["", *row("signature", pairs.signature.replace("|", " | "))]
    return "\n".join(lines)


def _matrix(matrix: Doubles, cameras: list[int]) -> list[str]:
    """Return the lines of a matrix; columns that do not fit follow below."""
    width = max(8, 2 + max(len(str(camera)) for camera in cameras))
    step = (WIDTH - width) // width
    lines: list[str] = []
    for start in range(0, len(cameras), step):
        columns = slice(start, start + step)
        lines += [""] if start else []
        lines.append(" " * width + "".join(f"{camera:>{width}}" for camera in cameras[columns]))
        lines += [f"{camera:>{width}}" + "".join(f"{_percent(value):>{width}}"
                                                 for value in values[columns])
                  for camera, values in zip(cameras, matrix)]
    return lines


def _empty(matrix: Doubles) -> int:
    """Number of pairs of different cameras without a score."""
    import numpy as np

    return int(np.count_nonzero(np.isnan(matrix[~np.eye(len(matrix), dtype=bool)])))


def _percent(value: float) -> str:
    return "-" if value != value else f"{100 * value:.2f}"
