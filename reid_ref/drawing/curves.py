"""CMC and precision-recall curves."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reid_ref.drawing.style import (
    COLOURS, add_legend, add_title, axes_or, conventions_of, line_style, results_by_name)
from reid_ref.evaluation import figure_values as curves
from reid_ref.result import Result
from reid_ref.text import percent

#: The CMC curve is drawn to this rank, or to its end if that comes before.
LAST_RANK = 50


def cmc(results: Mapping[str, Result], ax: Any = None, bands: bool = True) -> Any:
    """Draw CMC curves to rank 50, with Rank-1 in the key.

    Parameters
    ----------
    results : dict of str to Result
        By the names that the key shows.
    ax : matplotlib Axes, optional
        Default: those of a new figure, a column wide (3.3 inches).
    bands : bool
        Draw the 95 % intervals of `Result.interval`, by identity, where a result has them.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        No results; matplotlib is not installed.

    Examples
    --------
    >>> import reid_ref
    >>> labels = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances([[.2, .1, .3]], *labels)
    >>> ax = reid_ref.figures.cmc({"ours": result})
    >>> [line.get_ydata().tolist() for line in ax.lines]
    [[0.0, 100.0, 100.0]]
    """
    results, ax = results_by_name(results), axes_or(ax)
    drawn, bottom = None, 100.0
    for k, (name, result) in enumerate(results.items()):
        y = 100 * result.cmc[:LAST_RANK]
        ax.plot(range(1, len(y) + 1), y, **line_style(k), zorder=3,
                label=f"{name} (Rank-1 {percent(float(result.cmc[0]))})" if len(y) else name)
        bottom = min([bottom, *y[:1]])
        band = curves.rank_band(result, LAST_RANK) if bands else None
        if band is not None:
            drawn, bottom = band, min(bottom, 100 * min(band.low))
            ax.fill_between(band.rank, 100 * band.low, 100 * band.high, alpha=0.2, linewidth=0,
                            color=line_style(k)["color"])
    add_title(ax, f"CMC, convention {conventions_of(results.values())}", "" if drawn is None else
              f"bands: {drawn.level:g} % intervals by {drawn.unit}")
    ax.set(xlabel="rank", ylabel="queries with a match (%)",
           ylim=(max(0, bottom - 5), 101))
    last = max([2, *(min(len(result.cmc), LAST_RANK) for result in results.values())])
    ax.set_xlim(1, last)
    ax.set_xticks([k for k in (1, 2, 3, 5, 10, 20, 30, 40, 50) if k <= last
                   and (k in (1, 5) or k > 5 or last < 10)])
    ax.grid(alpha=0.3, linewidth=0.4)
    add_legend(ax, loc="lower right")
    return ax


def precision_recall(results: Mapping[str, Result], ax: Any = None) -> Any:
    """Draw mean precision at levels of recall.

    Of one result the areas of both rules of AP are told apart: below the trapezoid, and what the
    step rule adds. Of several, the step curve of each is drawn.

    Parameters
    ----------
    results, ax
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
    >>> result = reid_ref.evaluate_distances([[.2, .1, .3]], *labels)
    >>> ax = reid_ref.figures.precision_recall({"ours": result})
    >>> [line.get_label() for line in ax.lines]
    ['ours, step (mAP 58.33)', 'ours, trapezoid (mAP 41.67)']
    """
    results, ax = results_by_name(results), axes_or(ax)
    found = {name: curves.precision_recall(result) for name, result in results.items()}
    if len(found) == 1:
        (name, one), = found.items()
        _both_rules(ax, name, one)
    else:
        for k, (name, one) in enumerate(found.items()):
            ax.plot(100 * one.recall, 100 * one.step, **line_style(k),
                    label=f"{name} (mAP {percent(one.map_step)})")
    add_title(ax, f"Mean precision, convention {conventions_of(results.values())}",
              "area below a line: mAP" + (" by the step rule" if len(found) > 1 else ""))
    ax.set(xlabel="recall (%)", ylabel="mean precision (%)", xlim=(0, 100), ylim=(0, 101))
    ax.grid(alpha=0.3, linewidth=0.4)
    add_legend(ax)
    return ax


def _both_rules(ax: Any, name: str, one: curves.PrecisionRecall) -> None:
    """Draw one result: the area of the trapezoid, and hatched what the step rule adds."""
    recall, step, trapezoid = 100 * one.recall, 100 * one.step, 100 * one.trapezoid
    ax.fill_between(recall, 0, trapezoid, color=COLOURS[0], alpha=0.15, linewidth=0)
    ax.fill_between(recall, trapezoid, step, facecolor="none", edgecolor=COLOURS[1], hatch="////",
                    linewidth=0)
    ax.plot(recall, step, color=COLOURS[1], linestyle="--",
            label=f"{name}, step (mAP {percent(one.map_step)})")
    ax.plot(recall, trapezoid, color=COLOURS[0],
            label=f"{name}, trapezoid (mAP {percent(one.map_trapezoid)})")
