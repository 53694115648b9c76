"""Densities of the distances of good and wrong pairs."""
from __future__ import annotations

from typing import Any

import numpy as np

from reid_ref.drawing.style import COLOURS, add_legend_below, add_title, axes_or
from reid_ref.evaluation.distance_sample import DistanceSample

#: Fewest and most bins.
BINS = 10, 60
#: Height of a figure a column wide, in inches.
HEIGHT = 2.9
#: Field, words, colour and line style of each kind of pair.
KINDS: tuple[tuple[str, str, str, Any], ...] = (
    ("good", "same identity, other camera", COLOURS[0], "-"),
    ("good_same_camera", "same identity, same camera", COLOURS[5], "--"),
    ("wrong", "other identity, other camera", COLOURS[1], "-."),
    ("wrong_same_camera", "other identity, same camera", COLOURS[4], ":"))


def distances(sample: DistanceSample, ax: Any = None) -> Any:
    """Draw the densities of distances by identity and camera; a kind without pairs is left out.

    Parameters
    ----------
    sample : DistanceSample
        What `reid_ref.evaluation.distance_sample.distance_sample` returns.
    ax
        As for `cmc`.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> from reid_ref.evaluation.distance_sample import distance_sample
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 8], [2, 2, 1])
    >>> sample = distance_sample([np.array([[.1, .2, .3]])], query, gallery)
    >>> ax = reid_ref.figures.distances(sample)
    >>> [label.get_text() for label in ax.get_legend().get_texts()][0]
    'same identity, other camera (1)'
    """
    ax = axes_or(ax, HEIGHT)
    parts = {name: getattr(sample, name) for name, *_ in KINDS}
    every = np.concatenate(list(parts.values()))
    fewest = min((len(values) for values in parts.values() if len(values)), default=1)
    edges = np.histogram_bin_edges(every, int(np.clip(2 * fewest**0.5, *BINS)))
    for name, words, colour, dashes in KINDS:
        values = parts[name]
        if len(values):
            ax.stairs(np.histogram(values, edges, density=True)[0], edges, color=colour,
                      linestyle=dashes, linewidth=1.2, label=f"{words} ({len(values):,})")
    add_title(ax, "Distances between queries and gallery images")
    ax.set(xlabel="distance", ylabel="density")
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3, linewidth=0.4)
    if len(every):
        add_legend_below(ax)  # in the axes, four long lines would hide the curves
    return ax
