"""mAP and Rank-1 of one ranking under several conventions."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reid_ref.drawing.style import COLOURS, add_legend_below, add_title, axes_or, results_by_name
from reid_ref.result import Result
from reid_ref.text import percent

#: Height of a row and of what stands around the rows, in inches.
ROW, AROUND = 0.15, 1.1


def height(n: int) -> float:
    """Return the height of a figure of n conventions, in inches."""
    return AROUND + ROW * n


def conventions(results: Mapping[str, Result], ax: Any = None) -> Any:
    """Draw mAP and Rank-1 of one ranking under several conventions, the first on top.

    Parameters
    ----------
    results : dict of str to Result
        By convention, as `reid_ref.evaluate` returns them for several conventions.
    ax
        As for `cmc`.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        As `cmc`.

    Examples
    --------
    >>> import reid_ref
    >>> labels = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> results = reid_ref.evaluate_distances([[.2, .1, .3]], *labels,
    ...                                       convention=["matlab", "torchreid"])
    >>> ax = reid_ref.figures.conventions(results)
    >>> ax.lines[0].get_xdata().round(2).tolist()
    [41.67, 58.33]
    """
    results = results_by_name(results)
    ax = axes_or(ax, height(len(results)))
    rows = np.arange(len(results))
    ap = 100 * np.array([result.mAP for result in results.values()])
    rank1 = 100 * np.array([result.cmc[0] if len(result.cmc) else np.nan
                            for result in results.values()])
    for values, label, colour, marker in ((ap, "mAP", COLOURS[0], "o"),
                                          (rank1, "Rank-1", COLOURS[1], "D")):
        ax.plot(values, rows, linestyle="none", marker=marker, markersize=4, color=colour,
                label=label)
    ax.set_yticks(rows, [name if not np.isnan(value) else f"{name} (no mAP)"
                         for name, value in zip(results, ap.tolist())])
    ax.set_ylim(len(results) - 0.5, -0.5)
    first = next(iter(results))
    if not np.isnan(ap[0]):
        ax.axvline(ap[0], color=COLOURS[0], linewidth=0.6, alpha=0.6)
    add_title(ax, f"One ranking, {len(results)} conventions",
              f"line: mAP of {first}, {percent(results[first].mAP)}", loc="right")
    ax.set_xlabel("percent")
    ax.margins(x=0.06)
    ax.grid(alpha=0.3, linewidth=0.4)
    add_legend_below(ax, ncols=2)
    return ax
