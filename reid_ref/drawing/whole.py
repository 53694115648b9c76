"""Whole figures of several methods: one panel for all, or one panel per method."""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from reid_ref.arrays import InputError
from reid_ref.drawing import camera_matrix, densities, results
from reid_ref.drawing.densities import DistanceSample
from reid_ref.drawing.style import COLUMN, HEIGHT, add_title, columns_of, panels, plain
from reid_ref.evaluation.camera_pairs import CameraPairs
from reid_ref.result import Result

#: Figures in which all methods share the axes, by the name of the command's choice.
SHARED = {"cmc": results.cmc, "pr": results.precision_recall, "ap": results.average_precision}
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
    length = re.fullmatch(r"\s*(\d{1,4}(?:\.\d{1,6})?)\s*(in|cm|mm|pt|)\s*", text, re.ASCII)
    width = float(length[1]) * UNITS[length[2] or "in"] if length else 0.0
    if not NARROWEST <= width <= WIDEST:
        raise InputError(name, f"a length from {NARROWEST:g}in to {WIDEST:g}in, such as 3.3in, "
                         "84mm or 8.4cm", repr(text))
    return width


def of_results(kind: str, by_name: Mapping[str, Result], width: float = COLUMN) -> Any:
    """Return a figure in which all methods share the axes; `kind` is a key of `SHARED`."""
    return _panels([("", by_name)], SHARED[kind], width, _height(HEIGHT, 1, width))


def of_cameras(pairs: Mapping[str, CameraPairs], width: float = COLUMN) -> Any:
    """Return the figure of mAP and Rank-1 of one method, or of mAP of several on one scale."""
    shown: list[Any] = [(name, (of_method, "mAP")) for name, of_method in pairs.items()]
    scale = camera_matrix.shared_scale(list(pairs.values()), "mAP") if len(pairs) > 1 else None
    if scale is None:
        shown = [("", (shown[0][1][0], metric)) for metric in camera_matrix.METRICS]
    return _panels(shown, lambda panel, ax: camera_matrix.cameras(panel[0], ax, panel[1], scale),
                   width, _height(camera_matrix.HEIGHT, len(shown), width))


def of_distances(samples: Mapping[str, DistanceSample], width: float = COLUMN) -> Any:
    """Return the figure of the distances, one panel per method."""
    return _panels(list(samples.items()), densities.distances, width,
                   _height(densities.HEIGHT, len(samples), width))


def of_conventions(by_method: Mapping[str, Mapping[str, Result]], width: float = COLUMN) -> Any:
    """Return the figure of the conventions, one panel per method."""
    height = results.conventions_height(max(map(len, by_method.values())))
    return _panels(list(by_method.items()), results.conventions, width, height, "right")


def _height(height: float, n: int, width: float) -> float:
    """Return the height of a panel that keeps the shape that it has in one column."""
    return max(LOWEST, height * width / columns_of(n, width) / COLUMN)


def _panels(named: list[tuple[str, Any]], draw: Callable[[Any, Any], Any], width: float,
            height: float, loc: str = "center") -> Any:
    """Return a figure with one panel per value; of several each has its name above it."""
    axes = panels(len(named), width, height)
    for ax, (name, value) in zip(axes, named):
        draw(value, ax)
        if name and len(named) > 1:
            add_title(ax, plain(name), *ax.get_title(loc).split("\n"), loc=loc)
    return axes[0].figure
