"""`reid-ref camera-pairs`: AP and Rank-1 for each pair of cameras."""
from __future__ import annotations

import argparse
from dataclasses import dataclass

from reid_ref.arrays import check_choice
from reid_ref.console import options as common
from reid_ref.console.answers import OfFiles, show_answer
from reid_ref.console.request import Request
from reid_ref.disk import check_targets
from reid_ref.drawing import camera_matrix, style as saving
from reid_ref.evaluation.camera_pairs import RULES, CameraPairs, camera_pairs_of
from reid_ref.text import percent, row, signature_rows, source
from reid_ref.text.table import lines


@dataclass(frozen=True)
class PairMatrices(OfFiles):
    """PairMatrices of cameras as JSON has them: each number by its name, Rank-1 or mAP."""

    rule: str
    cameras: list[int]
    mean: dict[str, float]
    matrix: dict[str, list[list[float]]]
    queries: dict[str, list[list[int]]]
    signature: str


def as_answer(pairs: CameraPairs, files: list[str], layout: str) -> PairMatrices:
    """Return the pairs for JSON."""
    return PairMatrices(
        files, layout, pairs.rule, pairs.cameras.tolist(),
        {"Rank-1": pairs.mean_rank1, "mAP": pairs.mAP},
        {"Rank-1": pairs.rank1_matrix.tolist(), "mAP": pairs.ap_matrix.tolist()},
        {"Rank-1": pairs.rank1_count.tolist(), "mAP": pairs.ap_count.tolist()},
        str(pairs.signature))


def as_text(pairs: CameraPairs, source: str) -> str:
    """Return both matrices and their means, in percent."""
    text, cameras = row("input", source), list(map(str, pairs.cameras.tolist()))
    text += row("rule", f"{pairs.rule}: {RULES[pairs.rule]}")
    for name, matrix in (("mAP", pairs.ap_matrix), ("Rank-1", pairs.rank1_matrix)):
        text += ["", f"{name}, percent; down: camera of the query, across: of the gallery"]
        text += lines(["", *cameras], [
            [camera, *(f"{percent(value):>6}" for value in values)]
            for camera, values in zip(cameras, matrix.tolist())], left=(), indent=8)
    text += ["", *lines(["mean over different cameras", "percent", "full precision"], [
        [name, percent(value), repr(value)] for name, value in (
            ("mAP", pairs.mAP), ("Rank-1", pairs.mean_rank1))], left=(0, 2), indent=30)]
    blank = ", ".join(f"{n} in {name}" for name, n in pairs.without_score().items() if n)
    if blank:
        effect = ("one of them, or one on the diagonal, makes the mean NaN"
                  if pairs.rule == "script" else "they are left out of the mean")
        text += ["", *row("no score", f"pairs of different cameras: {blank}; {effect}")]
    return "\n".join([*text, "", *signature_rows(str(pairs.signature))])


@dataclass(frozen=True, kw_only=True)
class PairsRequest(Request):
    """What the command line requests."""

    rule: str
    plot: str | None


def add(command: argparse.ArgumentParser) -> None:
    """Print mAP and Rank-1 for each camera of the query and each camera on which its identity is
    looked for, and the mean over different cameras.

    FILE is any that reid-ref evaluate reads.
    """
    common.add_files(command)
    Request.add(command, "--metric", "--normalize", "--max-memory", formats=("table", "json"))
    command.add_argument("--rule", default="plain", metavar="NAME",
                         help="plain (default): label -1 ignored, any cameras, every score "
                              "counted; script: as the driver of MARS, cameras 1 to 6, queries "
                              "in the gallery")
    command.add_argument("--plot", metavar="FILE", help="draw both matrices: .pdf, .svg or .png")


def run(request: PairsRequest) -> None:
    check_choice(request.rule, "--rule", RULES)
    if request.plot is not None:
        saving.check_figure(request.plot)
        check_targets(request.plot)
    data = common.read_files(request)
    pairs = camera_pairs_of(data.input, data.query, data.gallery, request.rule,
                            common.how(request, ()))
    if request.plot is not None:
        saving.save(camera_matrix.of_methods({"": pairs}, saving.TWO_COLUMNS), request.plot)
    show_answer(request.format, json=lambda: as_answer(pairs, request.files, data.layout),
                table=lambda: as_text(pairs, source(request.files, data.layout)))
