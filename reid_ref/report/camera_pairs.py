"""Pairs of cameras as matrices of text, and as JSON."""
from __future__ import annotations

import csv
import io
from typing import Any

from reid_ref.arrays import Doubles
from reid_ref.evaluation.camera_pairs import RULES, CameraPairs
from reid_ref.words import WIDTH, number, numbers, percent, row, signature_rows


def as_json(pairs: CameraPairs) -> dict[str, Any]:
    """Return the fields of pairs of cameras as plain JSON values; NaN becomes None."""
    return {
        "rule": pairs.rule,
        "cameras": pairs.cameras.tolist(),
        "mean": {"Rank-1": number(pairs.mean_rank1), "mAP": number(pairs.mean_ap)},
        "matrix": {"Rank-1": [numbers(values) for values in pairs.rank1_matrix],
                   "mAP": [numbers(values) for values in pairs.ap_matrix]},
        "queries": {"Rank-1": pairs.rank1_count.tolist(), "mAP": pairs.ap_count.tolist()},
        "signature": pairs.signature,
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
        ("mAP", pairs.mean_ap), ("Rank-1", pairs.mean_rank1))]
    blank = ", ".join(f"{n} in {name}" for name, n in pairs.without_score().items() if n)
    if blank:
        what = ("one of them, or one on the diagonal, makes the mean NaN"
                if pairs.rule == "script" else "they are left out of the mean")
        lines += ["", *row("no score", f"pairs of different cameras: {blank}; {what}")]
    lines += ["", *signature_rows(pairs.signature)]
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
                int(pairs.rank1_count[i, j]), pairs.signature])
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
