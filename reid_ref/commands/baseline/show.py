"""The lines of a MATLAB driver, beside the figures that its authors print."""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from reid_ref.commands.baseline.compute import Baseline, Line
from reid_ref.datasets import Recognised
from reid_ref.datasets.driver_files import Driver, Inputs
from reid_ref.datasets.fingerprints import dataset_as_json
from reid_ref.datasets.published import Published, load
from reid_ref.text import NO_BENCHMARK, by_reason, names, number, percent, row, signature_rows


def published_lines(driver: Driver, files: Iterable[str],
                    found: Recognised | None) -> dict[str, Published]:
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
    if found is None or found.off:
        return {}
    names = " ".join(files).lower()
    model = ("IDE_CaffeNet" if "caffenet" in names else "LOMO" if "lomo" in names else
             "IDE_ResNet_50")
    name, _, split = found.fingerprint.name.partition(" ")
    rows = [row for row in load() if row.source_repo == driver.repository
            and row.dataset == name and row.split.startswith(split.strip("()"))]
    return {method: row for method in driver.methods for row in rows
            if row.method == f"{model} + {method}"}


def as_json(files: list[str], name: str, driver: Driver, inputs: Inputs, answer: Baseline,
            seed: int, found: Recognised | None, figures: dict[str, Published],
            signature: str) -> dict[str, Any]:
    """Return what a driver prints as plain JSON values; NaN becomes None."""
    return {
        "files": files, "driver": name, "script": driver.script,
        "dataset": dataset_as_json(found),
        "seed": seed if inputs.train else None,
        "lines": [{"method": method, **_numbers(line), "published": _published(figures, method)}
                  for method, line in answer.lines.items()],
        "left_out": answer.left_out, "complex_distances": answer.imaginary,
        "exact": answer.exact and _numbers(answer.exact), "signature": signature}


def _numbers(line: Line) -> dict[str, Any]:
    pairs = {"Rank-1": number(line.pair_rank1), "mAP": number(line.pair_ap)}
    return {"Rank-1": number(line.rank1), "mAP": number(line.mAP),
            "camera_pairs": None if line.pair_rank1 is None else pairs}


def _published(figures: dict[str, Published], method: str) -> dict[str, str] | None:
    if method not in figures:
        return None
    figure = figures[method]
    return {"key": figure.key, "Rank-1": figure.rank1, "mAP": figure.mAP}


def as_table(files: list[str], driver: Driver, inputs: Inputs, answer: Baseline, seed: int,
             found: Recognised | None, figures: dict[str, Published], signature: str) -> str:
    """Return the lines for a terminal of 80 columns, in percent."""
    lines = _heading(files, driver, inputs, seed, found)
    pairs = f"{'pairs: Rank-1':>15}{'mAP':>9}" if driver.camera_pairs else ""
    lines += ["", f"{'percent':26}{'Rank-1':>8}{'mAP':>8}{pairs}"
                  + (f"{'published':>13}" if figures else "")]
    for method in driver.methods:
        figure = figures.get(method)
        lines.append((f"{method:26}" + _cells(answer.lines.get(method)) + (
            f"{figure.rank1:>11}{figure.mAP:>7}" if figure else "")).rstrip())
    lines += [""]
    for name, text in _notes(driver, inputs, answer, figures):
        lines += row(name, text)
    return "\n".join([*lines, *signature_rows(signature)])


def _heading(files: list[str], driver: Driver, inputs: Inputs, seed: int,
             found: Recognised | None) -> list[str]:
    sizes = f"{len(inputs.query):,} queries, {len(inputs.gallery):,} gallery"
    lines = row("input", names(files))
    lines += row("driver", f"{driver.script} of {driver.repository} ({driver.commit})")
    lines += row("images", sizes + (f", {len(inputs.train):,} train" if inputs.train else "")
                 + f"; features {inputs.query.features.shape[1]}-d, computed in {driver.dtype}")
    lines += row("dataset", found.sentence if found else NO_BENCHMARK)
    if inputs.train:
        lines += row("seed", f"{seed}, of the training pairs")
    return lines


def _cells(line: Line | None) -> str:
    if line is None:
        return f"{'-':>8}{'-':>8}"
    # A dash is a line that was not computed; NaN is what the driver prints.
    text = f"{percent(line.rank1, 'nan'):>8}{percent(line.mAP, 'nan'):>8}"
    if line.pair_rank1 is not None and line.pair_ap is not None:
        text += f"{100 * line.pair_rank1:15.4f}{100 * line.pair_ap:9.4f}"
    return text


def _notes(driver: Driver, inputs: Inputs, answer: Baseline,
           figures: dict[str, Published]) -> list[tuple[str, str]]:
    notes = []
    if answer.exact is not None:
        n_pairs = len(inputs.query) * len(inputs.gallery)
        found = (f"{answer.imaginary:,} complex distances of {n_pairs:,}, roots of negative "
                 "squares (MATLAB sorts them by absolute value)" if answer.imaginary
                 else "no complex distances")
        exact = [percent(value, "nan") for value in (answer.exact.rank1, answer.exact.mAP)]
        notes.append(("Euclidean", f"{driver.dtype} rounding produced {found}; exact distances "
                      f"give Rank-1 {exact[0]}, mAP {exact[1]}"))
    if driver.camera_pairs and any(map(_has_nan, answer.lines.values())):
        notes.append(("nan", "as in the driver: one query without a match makes mAP NaN; one pair "
                      "of cameras without a score makes the means over pairs NaN. reid-ref "
                      "evaluate and camera-pairs show which, and count the others"))
    notes += [("left out", f"{', '.join(methods)}: {reason}")
              for reason, methods in by_reason(answer.left_out).items()]
    for figure in list(figures.values())[:1]:
        notes.append(("published", f"{figure.method.partition(' + ')[0]}, {figure.source_repo}, "
                      f"{figure.source_path}: only its features give these digits"))
    return notes


def _has_nan(line: Line) -> bool:
    return any(value is not None and math.isnan(value)
               for value in (line.mAP, line.pair_rank1, line.pair_ap))
