"""Distances of good and of wrong pairs: a sample, and its densities."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles, check_real_distances
from reid_ref.arrays.stored import as_rows
from reid_ref.drawing.style import COLOURS, add_legend_below, axes_or, label
from reid_ref.evaluation.how import Progress
from reid_ref.labels import JUNK, Labels

#: Wrong pairs that are drawn per query, of each kind of camera.
WRONG_PAIRS = 100


@dataclass(frozen=True)
class DistanceSample:
    """Finite distances of pairs of a query and a gallery image; label -1 is left out.

    Parameters
    ----------
    good, wrong : float64
        Of the same and of different identities, on different cameras. All good pairs; of the
        wrong ones at most 100 per query, drawn at random.
    good_same_camera, wrong_same_camera : float64
        The same on the query's own camera. Most conventions ignore these good pairs.
    """

    good: Doubles
    wrong: Doubles
    good_same_camera: Doubles
    wrong_same_camera: Doubles


def distance_sample(blocks: Iterable[Any], query: Labels, gallery: Labels, seed: int = 0,
                    progress: Progress | None = None) -> DistanceSample:
    """Return a sample of the distances, which come in blocks of queries.

    Examples
    --------
    >>> query, gallery = Labels([7], [1]), Labels([7, 8, 7, 8, -1], [1, 1, 2, 2, 2])
    >>> distance_sample([np.array([[.1, .2, .3, .4, .5]])], query, gallery)
    ... # doctest: +NORMALIZE_WHITESPACE
    DistanceSample(good=array([0.3]), wrong=array([0.4]), good_same_camera=array([0.1]),
                   wrong_same_camera=array([0.2]))
    """
    random = np.random.default_rng(seed)
    parts: list[tuple[Doubles, ...]] = []
    done = 0
    for block in blocks:
        rows = as_rows(block, "distances")
        check_real_distances(rows)
        rows = rows.astype(np.float64, copy=False)
        for row, identity, camera in zip(rows, query.identity[done:], query.camera[done:]):
            if identity != JUNK:
                parts.append(_of_query(row, int(identity), int(camera), gallery, random))
        done += len(rows)
        if progress:
            progress(len(rows))
    empty = (np.zeros(0),) * 4
    return DistanceSample(*map(np.concatenate, zip(empty, *parts)))


def _of_query(row: Doubles, identity: int, camera: int, gallery: Labels,
              random: np.random.Generator) -> tuple[Doubles, ...]:
    finite = np.isfinite(row) & (gallery.identity != JUNK)
    good, same_camera = gallery.identity == identity, gallery.camera == camera
    parts = []
    for pairs in (finite & ~same_camera, finite & same_camera):
        wrong = np.flatnonzero(pairs & ~good)
        if len(wrong) > WRONG_PAIRS:
            wrong = wrong[np.sort(random.choice(len(wrong), WRONG_PAIRS, replace=False))]
        parts += [row[pairs & good], row[wrong]]
    return tuple(parts)


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
        What `reid_ref.drawing.densities.distance_sample` returns.
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
    >>> from reid_ref.drawing.densities import distance_sample
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 8], [2, 2, 1])
    >>> sample = distance_sample([np.array([[.1, .2, .3]])], query, gallery)
    >>> ax = reid_ref.figures.distances(sample)
    >>> [label.get_text() for label in ax.get_legend().get_texts()][0]
    'same identity, other camera (1)'
    """
    ax = axes_or(ax, HEIGHT)
    kinds = [(getattr(sample, name), *style) for name, *style in KINDS]
    kinds = [kind for kind in kinds if len(kind[0])]
    fewest = min((len(values) for values, *_ in kinds), default=1)
    edges = np.histogram_bin_edges(np.concatenate([np.zeros(0), *(kind[0] for kind in kinds)]),
                                   int(np.clip(2 * fewest**0.5, *BINS)))
    for values, words, colour, dashes in kinds:
        ax.stairs(np.histogram(values, edges, density=True)[0], edges, color=colour,
                  linestyle=dashes, linewidth=1.2, label=f"{words} ({len(values):,})")
    label(ax, "Distances between queries and gallery images", xlabel="distance", ylabel="density")
    ax.set_ylim(bottom=0)
    # In the axes, four long lines would hide the curves.
    return add_legend_below(ax) if kinds else ax
