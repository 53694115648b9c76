"""mAP or Rank-1 of each pair of cameras, as a matrix."""
from collections.abc import Mapping
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles, InputError, Integers, check_choice
from reid_ref.drawing.style import (
    COLUMN, add_legend_below, add_title, axes_or, defaults, draw_panels, panels, text_size)
from reid_ref.evaluation.camera_pairs import CameraPairs
from reid_ref.text import percent, signed_percent

#: How many cameras a figure can show.
MOST_CAMERAS = 100
METRICS = ("mAP", "Rank-1")
#: Height of a figure a column wide, in inches, and the smallest text in a cell, in points.
HEIGHT, SMALLEST = 3.2, 3.5
#: Of values, and of changes.
COLOURS, CHANGES = "viridis", "RdBu"


def cameras(pairs: CameraPairs, ax: Any = None, metric: str = "mAP",
            scale: tuple[float, float] | None = None) -> Any:
    """Draw a metric of each pair of cameras in percent, with the number of queries below it.

    Colours span the values of different cameras. The diagonal, where both cameras are one, is
    framed; pairs without a score are hatched.

    Parameters
    ----------
    pairs : CameraPairs
    ax
        As for `cmc`.
    metric : {"mAP", "Rank-1"}
    scale : (float, float), optional
        Values in [0, 1] at both ends of the colours, to compare figures.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        More cameras than a figure can show; another metric; matplotlib is not installed.

    Examples
    --------
    >>> import reid_ref
    >>> pairs = reid_ref.camera_pairs(
    ...     [[.1, .2]], reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8], [2, 2]))
    >>> ax = reid_ref.figures.cameras(pairs)
    >>> [text.get_text() for text in ax.texts]
    ['100.0', '1']
    """
    check_choice(metric, "metric", METRICS)
    if len(pairs.cameras) > MOST_CAMERAS:
        raise InputError("cameras", f"at most {MOST_CAMERAS} in a figure", len(pairs.cameras),
                         "are these the numbers of cameras?")
    ax = axes_or(ax, HEIGHT)
    matrix, count, mean = _values(pairs, metric)
    return _draw(ax, pairs.cameras.tolist(), matrix, count, scale or shared_scale([pairs], metric),
                 [f"{metric} by pair of cameras (%), rule {pairs.rule}",
                  f"mean over different cameras: {percent(mean)}"])


def camera_change(baseline: CameraPairs, pairs: CameraPairs, ax: Any = None) -> Any:
    """Draw how much higher the mAP of each pair of cameras is than a baseline's, in points.

    Both are of the same cameras. White is no change; blue is a gain, red a loss.

    Parameters
    ----------
    baseline, pairs : CameraPairs
    ax
        As for `cmc`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import reid_ref
    >>> labels = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8], [2, 2])
    >>> before, after = (reid_ref.camera_pairs(row, *labels) for row in ([[.2, .1]], [[.1, .2]]))
    >>> [text.get_text() for text in camera_change(before, after).texts]
    ['+75.0', '1']
    """
    change = pairs.ap_matrix - baseline.ap_matrix
    different = np.abs(change[~np.eye(len(change), dtype=bool)])
    most = max([0.01, *different[~np.isnan(different)].tolist()])
    title = ["Change of mAP by pair of cameras (points)",
             f"change of the mean: {signed_percent(pairs.mAP - baseline.mAP)}"]
    return _draw(axes_or(ax, HEIGHT), pairs.cameras.tolist(), change, pairs.ap_count,
                 (-most, most), title, CHANGES, "+.1f")


def _draw(ax: Any, names: list[int], matrix: Doubles, count: Integers,
          scale: tuple[float, float], title: list[str], colours: str = COLOURS,
          form: str = ".1f") -> Any:
    low, high = scale
    image = ax.imshow(100 * matrix, vmin=100 * low, vmax=100 * high, cmap=colours)
    box = ax.get_window_extent()
    cell = min(box.width, box.height) / len(names) * 72 / ax.figure.dpi  # its side in points
    fits = _write_cells(ax, image, count, cell, form)
    handles = _mark_cells(ax, matrix, fits)
    ax.spines[:].set_visible(False)
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0, labelsize=min(text_size(ax), 0.5 * cell))
    add_title(ax, *title, "" if fits else "(too narrow for numbers)")
    ax.set(xlabel="gallery camera", ylabel="query camera")
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=text_size(ax))
    return add_legend_below(ax, handles=handles, ncols=3, handlelength=1, handleheight=1,
                            columnspacing=1.2)


def matrix_per_method(pairs: Mapping[str, CameraPairs], width: float = COLUMN) -> Any:
    """Return the figure of mAP and Rank-1 of one method, or of mAP of several on one scale."""
    if len(pairs) == 1:
        only, = pairs.values()
        with defaults():
            axes = panels(len(METRICS), width, HEIGHT, scaled=True)
            for metric, ax in zip(METRICS, axes):
                cameras(only, ax, metric)
        return axes[0].figure
    scale = shared_scale(list(pairs.values()), "mAP")
    return draw_panels(lambda of_method, ax: cameras(of_method, ax, scale=scale), pairs, width,
                       HEIGHT)


def _values(pairs: CameraPairs, metric: str) -> tuple[Doubles, Integers, float]:
    """Return the matrix of a metric, its numbers of queries, and its mean."""
    if metric == "mAP":
        return pairs.ap_matrix, pairs.ap_count, pairs.mAP
    return pairs.rank1_matrix, pairs.rank1_count, pairs.mean_rank1


def shared_scale(pairs: list[CameraPairs], metric: str) -> tuple[float, float]:
    """Return the lowest and the highest value of a metric on pairs of different cameras."""
    matrices = [_values(each, metric)[0] for each in pairs]
    values = np.concatenate([matrix[~np.eye(len(matrix), dtype=bool)] for matrix in matrices])
    if np.isnan(values).all():
        return 0.0, 1.0
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return (low, high) if low < high else (max(0.0, low - 0.05), min(1.0, high + 0.05))


def _write_cells(ax: Any, image: Any, count: Integers, cell: float, form: str) -> bool:
    """Write value and number of queries into the cells; return False if they do not fit."""
    size = min(text_size(ax), 0.34 * cell)
    if 0.75 * size < SMALLEST:
        return False
    values = image.get_array().filled(np.nan)
    for (i, j), (red, green, blue, _) in zip(np.ndindex(values.shape),
                                             image.to_rgba(values).reshape(-1, 4)):
        if np.isnan(values[i, j]):
            continue
        # Black has more contrast from a relative luminance of 0.18 on. Not quite black: black
        # text follows the theme of a page.
        is_light = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.18
        style = {"ha": "center", "va": "center", "color": "#111111" if is_light else "white"}
        ax.text(j, i - 0.12, f"{values[i, j]:{form}}", fontsize=size, in_layout=False, **style)
        ax.text(j, i + 0.28, f"{count[i, j]:,}", fontsize=0.75 * size, in_layout=False, **style)
    return True


def _mark_cells(ax: Any, matrix: Doubles, has_counts: bool) -> list[Any]:
    """Frame the diagonal, hatch empty cells; return what the key shows."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    frame: dict[str, Any] = {"fill": False, "edgecolor": "#D55E00", "linewidth": 1.2}
    empty: dict[str, Any] = {
        "facecolor": "none", "edgecolor": "#888888", "hatch": "/////", "linewidth": 0}
    handles: list[Any] = [Rectangle((0, 0), 1, 1, **frame, label="same camera")]
    for i, j in np.argwhere(np.isnan(matrix)).tolist():
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, **empty))
        handles[1:] = [Rectangle((0, 0), 1, 1, **empty, label="no score")]
    for i in range(len(matrix)):
        ax.add_patch(Rectangle((i - 0.46, i - 0.46), 0.92, 0.92, **frame))
    return handles + ([Line2D([], [], linestyle="none", label="small: queries")]
                      if has_counts else [])
