"""Whole figures of several methods: a panel for all, or a panel each."""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from reid_ref.arrays import InputError
from reid_ref.drawing import by_convention, camera_matrix, curves, densities, queries
from reid_ref.drawing.style import COLUMN, HEIGHT, add_title, columns_of, panels, plain
from reid_ref.evaluation.camera_pairs import CameraPairs
from reid_ref.drawing.densities import DistanceSample
from reid_ref.result import Result

#: Figures in which all methods share the axes, by the name of the command's choice.
SHARED = {"cmc": curves.cmc, "pr": curves.precision_recall, "ap": queries.average_precision}
#: Inches in a unit of length, and the widths that a figure can have.
UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
NARROWEST, WIDEST = 2.0, 40.0
#: Inches of the lowest panel: in a narrow figure text needs the height.
LOWEST = 2.1
#: Inches of a figure across both columns of a page.
TWO_COLUMNS = 7.0


def inches(text: str, name: str = "width") -> float:
    """Read a length such as 3.3in, 84mm or 8.4cm; without a unit it is in inches.

    Examples
    --------
    >>> inches("3.3in"), round(inches("84mm"), 3)
    (3.3, 3.307)
    """
    found = re.fullmatch(r"\s*(\d{1,4}(?:\.\d{1,6})?)\s*(in|cm|mm|pt|)\s*", text, re.ASCII)
    width = float(found[1]) * UNITS[found[2] or "in"] if found else 0.0
    if not NARROWEST <= width <= WIDEST:
        raise InputError(name, f"a length from {NARROWEST:g}in to {WIDEST:g}in, such as 3.3in, "
                         "84mm or 8.4cm", repr(text))
    return width


def of_results(kind: str, results: Mapping[str, Result], width: float = COLUMN) -> Any:
    """Return a figure in which all methods share the axes; `kind` is a key of `SHARED`."""
    ax, = panels(1, width, _height(HEIGHT, 1, width))
    SHARED[kind](results, ax)
    return ax.figure


def of_cameras(pairs: Mapping[str, CameraPairs], width: float = COLUMN) -> Any:
    """Return the figure of mAP and Rank-1 of one method, or of mAP of several on one scale."""
    every = [("", one, metric) for one in pairs.values() for metric in camera_matrix.METRICS]
    scale = None
    if len(pairs) > 1:
        every = [(name, one, "mAP") for name, one in pairs.items()]
        scale = camera_matrix.shared_scale(list(pairs.values()), "mAP")
    axes = panels(len(every), width, _height(camera_matrix.HEIGHT, len(every), width))
    for ax, (name, one, metric) in zip(axes, every):
        camera_matrix.cameras(one, ax, metric, scale)
        _name_panel(ax, name)
    return axes[0].figure


def of_distances(samples: Mapping[str, DistanceSample], width: float = COLUMN) -> Any:
    """Return the figure of the distances, a panel a method."""
    axes = panels(len(samples), width, _height(densities.HEIGHT, len(samples), width))
    for ax, (name, sample) in zip(axes, samples.items()):
        densities.distances(sample, ax)
        _name_panel(ax, name if len(samples) > 1 else "")
    return axes[0].figure


def of_conventions(results: Mapping[str, Mapping[str, Result]], width: float = COLUMN) -> Any:
    """Return the figure of the conventions, a panel a method."""
    rows = max(map(len, results.values()))
    axes = panels(len(results), width, by_convention.height(rows))
    for ax, (name, of_method) in zip(axes, results.items()):
        by_convention.conventions(of_method, ax)
        _name_panel(ax, name if len(results) > 1 else "", "right")
    return axes[0].figure


def _height(height: float, n: int, width: float) -> float:
    """Return the height of a panel that keeps the shape that it has in one column."""
    return max(LOWEST, height * width / columns_of(n, width) / COLUMN)


def _name_panel(ax: Any, name: str, loc: str = "center") -> None:
    if name:
        add_title(ax, plain(name), *ax.get_title(loc).split("\n"), loc=loc)
