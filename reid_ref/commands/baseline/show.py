"""The lines of a MATLAB driver, next to the figures that its authors print."""
from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from reid_ref.commands.baseline.compute import Baseline, Line
from reid_ref.console.answers import Dataset, dataset_of
from reid_ref.datasets import Recognised, recognise
from reid_ref.datasets.driver_files import DRIVERS, Driver
from reid_ref.datasets.published import Published, load
from reid_ref.text import NO_BENCHMARK, by_reason, names, percent, row, signature_rows
from reid_ref.text.plain import Share


def published_lines(driver: Driver, files: Iterable[str],
                    benchmark: Recognised | None) -> dict[str, Published]:
    """Return the figure that the driver's authors print for each method, of these images.

    The names of the files say which features these are.

    Examples
    --------
    >>> from reid_ref.datasets import FINGERPRINTS
    >>> from reid_ref.datasets.driver_files import DRIVERS
    >>> market = Recognised(FINGERPRINTS["market1501"], off=())
    >>> lines = published_lines(DRIVERS["market1501"], ["ResNet_50_IDE_test.mat"], market)
    >>> lines["Euclidean"].rank1, lines["Euclidean"].mAP
    ('78.92', '55.03')
    """
    if benchmark is None or benchmark.off:
        return {}
    text = " ".join(files).lower()
    model = ("IDE_CaffeNet" if "caffenet" in text else "LOMO" if "lomo" in text else
             "IDE_ResNet_50")
    name, _, split = benchmark.fingerprint.name.partition(" ")
    rows = [row for row in load() if row.source_repo == driver.repository
            and row.dataset == name and row.split.startswith(split.strip("()"))]
    return {method: row for method in driver.methods for row in rows
            if row.method == f"{model} + {method}"}


def _known(files: list[str], answer: Baseline) -> tuple[Recognised | None, dict[str, Published]]:
    """Return the benchmark that the images are of, and its figures by method."""
    benchmark = recognise(answer.inputs.query.labels, answer.inputs.gallery.labels)
    return benchmark, published_lines(DRIVERS[answer.name], files, benchmark)


@dataclass(frozen=True)
class PairMeans:
    """Means over pairs of different cameras."""

    Rank_1: Share
    mAP: Share


@dataclass(frozen=True, kw_only=True)
class LineNumbers:
    """The numbers of one line; `camera_pairs` where the driver prints them."""

    Rank_1: Share
    mAP: Share
    camera_pairs: PairMeans | None


@dataclass(frozen=True)
class PrintedRow:
    """The figure that the driver's authors print, with its digits."""

    key: str
    Rank_1: str
    mAP: str


@dataclass(frozen=True, kw_only=True)
class LineRow(LineNumbers):
    """One line of the driver."""

    method: str
    published: PrintedRow | None


@dataclass(frozen=True)
class DriverLines:
    """What a driver prints as JSON has it; `exact` is the line Euclidean by exact distances."""

    files: list[str]
    driver: str
    script: str
    dataset: Dataset | None
    seed: int | None
    lines: list[LineRow]
    left_out: dict[str, str]
    complex_distances: int | None
    exact: LineNumbers | None
    signature: str


def as_answer(files: list[str], answer: Baseline) -> DriverLines:
    """Return what a driver prints, for JSON."""
    benchmark, figures = _known(files, answer)
    published = {method: PrintedRow(figure.key, figure.rank1, figure.mAP)
                 for method, figure in figures.items()}
    lines = [LineRow(method=method, published=published.get(method), **_numbers(line))
             for method, line in answer.lines.items()]
    return DriverLines(
        files, answer.name, DRIVERS[answer.name].script, dataset_of(benchmark),
        answer.seed if answer.inputs.train else None, lines, answer.left_out, answer.imaginary,
        None if answer.exact is None else LineNumbers(**_numbers(answer.exact)), answer.signature)


def _numbers(line: Line) -> dict[str, Any]:
    pairs = None
    if line.pair_rank1 is not None and line.pair_mAP is not None:
        pairs = PairMeans(line.pair_rank1, line.pair_mAP)
    return {"Rank_1": line.rank1, "mAP": line.mAP, "camera_pairs": pairs}


def as_table(files: list[str], answer: Baseline) -> str:
    """Return the lines for a terminal of 80 columns, in percent."""
    driver, inputs = DRIVERS[answer.name], answer.inputs
    benchmark, figures = _known(files, answer)
    sizes = f"{len(inputs.query):,} queries, {len(inputs.gallery):,} gallery"
    sizes += f", {len(inputs.train):,} train" if inputs.train else ""
    lines = row("input", names(files))
    lines += row("driver", f"{driver.script} of {driver.repository} ({driver.commit})")
    lines += row("images", f"{sizes}; features {inputs.query.features.shape[1]}-d, computed in "
                           f"{driver.dtype}")
    lines += row("dataset", benchmark.sentence if benchmark else NO_BENCHMARK)
    lines += row("seed", f"{answer.seed}, of the training pairs") if inputs.train else []
    pairs = f"{'pairs: Rank-1':>15}{'mAP':>9}" if driver.camera_pairs else ""
    lines += ["", f"{'percent':26}{'Rank-1':>8}{'mAP':>8}{pairs}"
                  + (f"{'published':>13}" if figures else "")]
    for method in driver.methods:
        figure = figures.get(method)
        lines.append((f"{method:26}" + _cells(answer.lines.get(method)) + (
            f"{figure.rank1:>11}{figure.mAP:>7}" if figure else "")).rstrip())
    lines += [""]
    for name, text in _notes(driver, answer, figures):
        lines += row(name, text)
    return "\n".join([*lines, *signature_rows(answer.signature)])


def _cells(line: Line | None) -> str:
    if line is None:
        return f"{'-':>8}{'-':>8}"
    # A dash is a line that was not computed; NaN is what the driver prints.
    text = f"{percent(line.rank1, 'nan'):>8}{percent(line.mAP, 'nan'):>8}"
    if line.pair_rank1 is not None and line.pair_mAP is not None:
        text += f"{100 * line.pair_rank1:15.4f}{100 * line.pair_mAP:9.4f}"
    return text


def _notes(driver: Driver, answer: Baseline,
           figures: dict[str, Published]) -> list[tuple[str, str]]:
    notes = []
    if answer.exact is not None:
        n_pairs = len(answer.inputs.query) * len(answer.inputs.gallery)
        complex_distances = (
            f"{answer.imaginary:,} complex distances of {n_pairs:,}, roots of negative squares "
            "(MATLAB sorts them by absolute value)" if answer.imaginary
            else "no complex distances")
        notes.append(("Euclidean", f"{driver.dtype} rounding produced {complex_distances}; exact "
                      f"distances give Rank-1 {percent(answer.exact.rank1, 'nan')}, "
                      f"mAP {percent(answer.exact.mAP, 'nan')}"))
    values = [value for line in answer.lines.values() for value in vars(line).values()]
    if driver.camera_pairs and any(value is not None and math.isnan(value) for value in values):
        notes.append(("nan", "as in the driver: one query without a match makes mAP NaN; one pair "
                      "of cameras without a score makes the means over pairs NaN. reid-ref "
                      "evaluate and camera-pairs show which, and count the others"))
    notes += [("left out", f"{', '.join(methods)}: {reason}")
              for reason, methods in by_reason(answer.left_out).items()]
    for figure in list(figures.values())[:1]:
        notes.append(("published", f"{figure.method.partition(' + ')[0]}, {figure.source_repo}, "
                      f"{figure.source_path}: only its features give these digits"))
    return notes
