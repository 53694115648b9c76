"""`reid-ref camera-pairs`: AP and Rank-1 for each pair of cameras."""
from __future__ import annotations

import argparse
import csv
import io
from typing import TYPE_CHECKING, Any

from reid_ref.arrays import Doubles
from reid_ref.console import options as common
from reid_ref.console.terminal import show
from reid_ref.evaluation.camera_pairs import RULES, CameraPairs
from reid_ref.text import WIDTH, number, numbers, percent, row, signature_rows

if TYPE_CHECKING:
    from reid_ref.evaluation.result_file import ResultFile


def as_json(pairs: CameraPairs) -> dict[str, Any]:
    """Return the fields of pairs of cameras as plain JSON values; NaN becomes None."""
    return {
        "rule": pairs.rule,
        "cameras": pairs.cameras.tolist(),
        "mean": {"Rank-1": number(pairs.mean_rank1), "mAP": number(pairs.mAP)},
        "matrix": {"Rank-1": [numbers(values) for values in pairs.rank1_matrix],
                   "mAP": [numbers(values) for values in pairs.ap_matrix]},
        "queries": {"Rank-1": pairs.rank1_count.tolist(), "mAP": pairs.ap_count.tolist()},
        "signature": str(pairs.signature),
    }


def as_table(pairs: CameraPairs, source: str) -> str:
    """Return both matrices and their means for a terminal of 80 columns, in percent."""
    lines = row("input", source)
    lines += row("rule", f"{pairs.rule}: {RULES[pairs.rule]}")
    for name, matrix in (("mAP", pairs.ap_matrix), ("Rank-1", pairs.rank1_matrix)):
        lines += ["", f"{name}, percent; down: camera of the query, across: of the gallery"]
        lines += _matrix(matrix, pairs.cameras.tolist())
    lines += ["", f"{'mean over different cameras':30}{'percent':>9}  full precision"]
    lines += [f"{name:30}{percent(value):>9}  {value!r}" for name, value in (
        ("mAP", pairs.mAP), ("Rank-1", pairs.mean_rank1))]
    blank = ", ".join(f"{n} in {name}" for name, n in pairs.without_score().items() if n)
    if blank:
        what = ("one of them, or one on the diagonal, makes the mean NaN"
                if pairs.rule == "script" else "they are left out of the mean")
        lines += ["", *row("no score", f"pairs of different cameras: {blank}; {what}")]
    lines += ["", *signature_rows(str(pairs.signature))]
    return "\n".join(lines)


def as_csv(pairs: CameraPairs) -> str:
    """Return a header and one line a pair of cameras, in full precision, with the signature."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["query camera", "gallery camera", "mAP", "Rank-1", "mAP queries",
                     "Rank-1 queries", "signature"])
    cameras = pairs.cameras.tolist()
    for i, camera in enumerate(cameras):
        for j, other in enumerate(cameras):
            writer.writerow([
                camera, other, number(float(pairs.ap_matrix[i, j])),
                number(float(pairs.rank1_matrix[i, j])), int(pairs.ap_count[i, j]),
                int(pairs.rank1_count[i, j]), str(pairs.signature)])
    return text.getvalue().removesuffix("\n")


def as_markdown(pairs: CameraPairs) -> str:
    """Return both matrices as Markdown tables, in percent, and a line with the signature."""
    cameras = pairs.cameras.tolist()
    lines: list[str] = []
    for name, matrix in (("mAP", pairs.ap_matrix), ("Rank-1", pairs.rank1_matrix)):
        lines += [f"| {name} | {' | '.join(map(str, cameras))} |",
                  "|:--" + "|--:" * len(cameras) + "|"]
        lines += [f"| {camera} | {' | '.join(map(percent, values.tolist()))} |"
                  for camera, values in zip(cameras, matrix)]
        lines.append("")
    return "\n".join([*lines, "Rows: camera of the query; columns: of the gallery; percent.", "",
                      f"`{pairs.signature}`"])


def _matrix(matrix: Doubles, cameras: list[int]) -> list[str]:
    """Return the lines of a matrix; columns that do not fit follow below."""
    width = max(8, 2 + max(len(str(camera)) for camera in cameras))
    step = (WIDTH - width) // width
    lines: list[str] = []
    for start in range(0, len(cameras), step):
        columns = slice(start, start + step)
        lines += [""] if start else []
        lines.append(" " * width + "".join(f"{camera:>{width}}" for camera in cameras[columns]))
        lines += [f"{camera:>{width}}" + "".join(f"{percent(value):>{width}}"
                                                 for value in values[columns])
                  for camera, values in zip(cameras, matrix)]
    return lines


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
    from reid_ref.disk import check_target
    from reid_ref.drawing import style as saving, whole
    from reid_ref.evaluation.camera_pairs import RULES
    from reid_ref.text import source

    check_choice(args.rule, "--rule", RULES)
    if args.plot is not None:
        saving.check_figure(args.plot)
        check_target(args.plot, args.files)
    data = common.read_files(args)
    pairs = pairs_of(args, data, args.rule)
    if args.plot is not None:
        saving.save(whole.of_cameras({"": pairs}, whole.TWO_COLUMNS), args.plot)
    if args.format == "json":
        common.print_json({"files": args.files, "layout": data.layout, **as_json(pairs)})
    elif args.format != "table":
        show({"csv": as_csv, "markdown": as_markdown}[args.format](pairs))
    else:
        show(as_table(pairs, source(args.files, data.layout)))
    return 0


def pairs_of(args: argparse.Namespace, data: ResultFile, rule: str) -> CameraPairs:
    from reid_ref.evaluation.camera_pairs import camera_pairs_of

    return camera_pairs_of(data.input, data.query, data.gallery, rule, common.how(args, ()))
