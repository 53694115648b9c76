"""Figures of results and of distances: CMC, precision and recall, AP, conventions, densities."""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, cycle
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles, check_count, check_real_distances
from reid_ref.arrays.stored import as_rows
from reid_ref.drawing.style import (
    COLOURS, HEIGHT, MARKERS, add_legend, add_legend_below, axes_or, joined_conventions, label,
    line_style, drawable_results, text_size)
from reid_ref.evaluation import groups as figure_values
from reid_ref.evaluation.how import Progress
from reid_ref.labels import JUNK, Labels
from reid_ref.result import Result, values_of
from reid_ref.result.systems import METRICS
from reid_ref.text import percent

#: The CMC curve is drawn to this rank by default, or to its end if that comes before.
LAST_RANK = 20
#: Curves that are nowhere further apart, in percent, are drawn with thin lines of this width.
NEAR, THIN = 1, .7
#: Of more curves the bands would cover each other, and the key would cover the curves.
MOST_BANDS = 3
#: Width of the histogram's bins, in percent of AP.
BIN = 5


def cmc(results: Mapping[str, Result], ax: Any = None,
        bands: bool | Sequence[figure_values.RankBand | None] = True,
        last: int = LAST_RANK) -> Any:
    """Draw CMC curves from rank 1 to `last`, with Rank-1 in the key.

    Parameters
    ----------
    results : dict of str to Result
        By the names that the key shows.
    ax : matplotlib Axes, optional
        Default: those of a new figure, a column wide (3.3 inches).
    bands : bool, or sequence of RankBand or None
        Draw the 95 % intervals of `Result.interval`, by identity, if a result has them, of up to
        three results; or those of each result to `last`, if they are computed already.
    last : int
        The last rank drawn, from 2.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        No results; `last` is no such number; matplotlib is not installed.

    Examples
    --------
    >>> import reid_ref
    >>> labels = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances([[.2, .1, .3]], *labels)
    >>> ax = reid_ref.figures.cmc({"ours": result})
    >>> [line.get_ydata().tolist() for line in ax.lines]
    [[0.0, 100.0, 100.0]]
    """
    check_count(last, "last", 2)
    results, ax = _with_axes(results, ax)
    drawn, bottom, end = None, 100.0, 2
    curves = [100 * result.cmc[:last] for result in results.values()]
    width = {"linewidth": THIN} if _near(curves) else {}
    for k, ((name, result), y) in enumerate(zip(results.items(), curves)):
        ax.plot(range(1, len(y) + 1), y, **line_style(k), **width, zorder=3,
                label=f"{name} (Rank-1 {percent(float(result.cmc[0]))})" if len(y) else name)
        bottom, end = min([bottom, *y[:1]]), max(end, len(y))
        band = (bands[k] if isinstance(bands, Sequence) else
                figure_values.rank_band(result, last) if bands and len(results) <= MOST_BANDS
                else None)
        if band is not None:
            drawn, bottom = band, min(bottom, 100 * min(band.low))
            ax.fill_between(band.rank, 100 * band.low, 100 * band.high, alpha=0.2, linewidth=0,
                            color=line_style(k)["color"])
    label(ax, f"CMC, convention {joined_conventions(results)}",
          f"bands: {drawn.words}" if drawn else "", xlabel="rank",
          ylabel="queries with a match (%)", xlim=(1, end), ylim=(max(0, bottom - 5), 101))
    step = next((step for step in (10, 20, 50, 100, 200, 500) if end <= 6 * step), end)
    ax.set_xticks([k for k in (1, 2, 3, 5, *range(step, end + 1, step)) if k <= end
                   and (k == 1 or k == 5 and step == 10 or k > 5 or end < 10)])
    return _add_key(ax, results, "lower right")


def curves_height(n: int) -> float:
    """Return the height of a figure of n curves, in inches: with room for the key of many."""
    return HEIGHT + 0.14 * n * (n > MOST_BANDS)


def _with_axes(results: Mapping[str, Result], ax: Any) -> tuple[dict[str, Result], Any]:
    results = drawable_results(results)
    return results, axes_or(ax, curves_height(len(results)))


def _add_key(ax: Any, results: Mapping[str, Result], loc: str = "best") -> Any:
    return add_legend_below(ax) if len(results) > MOST_BANDS else add_legend(ax, loc=loc)


def _near(curves: Sequence[Doubles]) -> bool:
    """Return whether two of the curves are nowhere further apart than `NEAR`."""
    return any(bool(np.all(np.abs(one[:n] - other[:n]) < NEAR))
               for one, other in combinations(curves, 2) if (n := min(len(one), len(other))))


def precision_recall(results: Mapping[str, Result], ax: Any = None) -> Any:
    """Draw mean precision at levels of recall, by the rule of each convention's AP.

    The key has the mAP of each result; by the trapezoid and by the step rule it is the area below
    the curve.

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
    ['ours (mAP 41.67)']
    """
    results, ax = _with_axes(results, ax)
    for k, (name, result) in enumerate(results.items()):
        ax.plot(range(figure_values.LEVELS), 100 * figure_values.mean_precision(result),
                **line_style(k), label=f"{name} (mAP {percent(result.mAP)})")
    label(ax, f"Mean precision, convention {joined_conventions(results)}", xlabel="recall (%)",
          ylabel="mean precision (%)", xlim=(0, 100), ylim=(0, 101))
    return _add_key(ax, results)


def average_precision(results: Mapping[str, Result], ax: Any = None) -> Any:
    """Draw how AP is spread: of one result by query and by identity, of several by query.

    One result is a histogram in bins of 5 percent. Several are cumulative: the share of queries
    whose AP is at most the value below.

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
    >>> ax = reid_ref.figures.average_precision({"ours": result})
    >>> [label.get_text() for label in ax.get_legend().get_texts()]
    ['ours: 1 query, mean 41.67', 'ours: 1 identity, mean 41.67']
    """
    results, ax = _with_axes(results, ax)
    title, ylabel, place = "AP by query, cumulative", "queries up to this AP (%)", "best"
    if len(results) == 1:
        (name, result), = results.items()
        title, ylabel = "AP by query and by identity", "queries, or identities (%)"
        place = "upper center"
        _histograms(ax, name, figure_values.counted_ap(result)[0],
                    figure_values.identity_ap(result))
    else:
        for k, (name, result) in enumerate(results.items()):
            ap = 100 * np.sort(figure_values.counted_ap(result)[0])
            ap = ap[~np.isnan(ap)]
            share = 100 * np.arange(1, len(ap) + 1) / max(1, len(ap))
            ax.step(ap, share, where="post", **line_style(k),
                    label=f"{name} (mAP {percent(result.mAP)})")
        ax.set_ylim(0, 101)
    label(ax, title, f"convention {joined_conventions(results)}", xlabel="average precision (%)",
          ylabel=ylabel, xlim=(0, 100))
    return _add_key(ax, results, place)


def _histograms(ax: Any, name: str, by_query: Doubles, by_identity: Doubles) -> None:
    edges, tallest = np.arange(0, 100 + BIN, BIN), 1.0
    outline = {"color": COLOURS[1], "linestyle": "--", "linewidth": 1.2}
    for values, singular, plural, style in (
            (by_query, "query", "queries", {"fill": True, "color": COLOURS[0], "alpha": 0.35}),
            (by_identity, "identity", "identities", outline)):
        values = values[~np.isnan(values)]
        share = 100 * np.histogram(100 * values, edges)[0] / max(1, len(values))
        tallest = max(tallest, share.max())
        mean = float(np.mean(values)) if len(values) else float("nan")
        ax.stairs(share, edges, **style, label=f"{name}: {len(values):,} "
                  f"{singular if len(values) == 1 else plural}, mean {percent(mean)}")
    ax.set_ylim(0, 1.3 * tallest)  # with room for the key


def ap_by_good(results: Mapping[str, Result], ax: Any = None) -> Any:
    """Draw the mean AP of queries with 1, 2, 3 to 4, 5 to 8 ... good images.

    Of one result, the number of queries is printed below each group.

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
    >>> ax = reid_ref.figures.ap_by_good({"ours": result})
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['1\\n0', '2\\n1']
    """
    results, ax = _with_axes(results, ax)
    groups = [figure_values.ap_by_good_images(result) for result in results.values()]
    for k, (name, group) in enumerate(zip(results, groups)):
        ax.plot(range(len(group.mAP)), 100 * group.mAP, **line_style(k), markersize=3.5,
                marker=MARKERS[k % len(MARKERS)], label=name)
    longest = max(groups, key=lambda group: len(group.low))
    ticks = [str(low) if low == high else f"{low}\u2013{high}"
             for low, high in zip(longest.low.tolist(), longest.high.tolist())]
    below = "good images of the query"
    if len(results) == 1:
        ticks = [f"{tick}\n{n:,}" for tick, n in zip(ticks, longest.queries.tolist())]
        below += " (below: queries)"
    ax.set_xticks(range(len(ticks)), ticks)
    first = min((int(np.flatnonzero(group.queries)[0]) for group in groups
                 if group.queries.any()), default=0)
    ax.margins(y=0.1)
    label(ax, "AP by number of good images", f"convention {joined_conventions(results)}",
          xlabel=below, ylabel="mean AP (%)", grid="y",
          xlim=(first - 0.4, max(len(ticks), first + 1) - 0.6))
    ax.set_ylim(bottom=0)
    return _add_key(ax, results)


def conventions_height(n: int) -> float:
    """Return the height of a figure of n conventions, in inches."""
    return 1.1 + 0.15 * n


def conventions(results: Mapping[str, Result], ax: Any = None,
                measures: Sequence[str] = METRICS) -> Any:
    """Draw mAP and Rank-1 of one result under several conventions, the first on top.

    The results are by convention, as `reid_ref.evaluate` returns them for several conventions.

    Parameters
    ----------
    results, ax
        As for `cmc`.
    measures : sequence of str
        What is drawn in place of mAP and Rank-1.

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
    results, ax = drawable_results(results), axes_or(ax, conventions_height(len(results)))
    rows, main = np.arange(len(results)), measures[0]
    every = 100 * np.array([values_of(result, measures) for result in results.values()]).T
    for values, name, colour, marker in zip(every, measures, cycle(COLOURS), cycle("oDs^v")):
        ax.plot(values, rows, linestyle="none", marker=marker, markersize=4, color=colour,
                label=name)
    ax.set_yticks(rows, [name if not np.isnan(value) else f"{name} (no {main})"
                         for name, value in zip(results, every[0].tolist())])
    for row, value in enumerate(every[0].tolist()):
        if not np.isnan(value):
            ax.annotate(f"{value:.2f}", (value, row), (-4, 0), textcoords="offset points",
                        ha="right", va="center", fontsize=0.9 * text_size(ax))
    first = next(iter(results))
    if not np.isnan(every[0, 0]):
        ax.axvline(every[0, 0], color=COLOURS[0], linewidth=0.6, alpha=0.6)
    ax.margins(x=0.2)  # with room for the numbers
    label(ax, f"One result, {len(results)} conventions",
          f"line: {main} of {first}, {percent(values_of(results[first], [main])[0])}", loc="right",
          xlabel="percent" if len(measures) > 1 else f"{main} (%)",
          ylim=(len(results) - 0.5, -0.5))
    return add_legend_below(ax, ncols=len(measures)) if len(measures) > 1 else ax


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
    has_cameras : bool
        Whether cameras are known; if not, all pairs are in `good` and `wrong`.
    squared : bool
        Whether the distances are squared, as Euclidean ones of features are here.
    """

    good: Doubles
    wrong: Doubles
    good_same_camera: Doubles
    wrong_same_camera: Doubles
    has_cameras: bool = field(default=True, repr=False)
    squared: bool = field(default=False, repr=False)


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
        for k, row in enumerate(rows, done):
            if query.identity[k] != JUNK:
                camera = None if query.camera is None else int(query.camera[k])
                parts.append(_of_query(row, int(query.identity[k]), camera, gallery, random))
        done += len(rows)
        if progress:
            progress(len(rows))
    good, wrong, good_same, wrong_same = map(np.concatenate, zip((np.zeros(0),) * 4, *parts))
    return DistanceSample(good, wrong, good_same, wrong_same, gallery.camera is not None)


def _of_query(row: Doubles, identity: int, camera: int | None, gallery: Labels,
              random: np.random.Generator) -> tuple[Doubles, ...]:
    finite = np.isfinite(row) & (gallery.identity != JUNK)
    good, same_camera = gallery.identity == identity, np.zeros(len(gallery), dtype=bool)
    if gallery.camera is not None:
        same_camera = gallery.camera == camera
    parts = []
    for pairs in (finite & ~same_camera, finite & same_camera):
        wrong = np.flatnonzero(pairs & ~good)
        if len(wrong) > WRONG_PAIRS:
            wrong = wrong[np.sort(random.choice(len(wrong), WRONG_PAIRS, replace=False))]
        parts += [row[pairs & good], row[wrong]]
    return tuple(parts)


#: Fewest and most bins of densities.
BINS = 10, 60
#: Height of their figure a column wide, in inches.
DISTANCES_HEIGHT = 2.9
#: Field, words, colour and line style of each kind of pair.
KINDS: tuple[tuple[str, str, str, Any], ...] = (
    ("good", "same identity, other camera", COLOURS[0], "-"),
    ("good_same_camera", "same identity, same camera", COLOURS[5], "--"),
    ("wrong", "other identity, other camera", COLOURS[1], "-."),
    ("wrong_same_camera", "other identity, same camera", COLOURS[4], ":"))


def shared_axes(samples: Sequence[DistanceSample]) -> tuple[float, float, float] | None:
    """Return the ends of the axis of distances and the top of densities that fit all samples.

    None if one is spread over less than half of the axis: the units differ.
    """
    ends = [(min(map(np.min, kinds)), max(map(np.max, kinds))) for kinds in (
        [values for values, *_ in _kinds(sample)] for sample in samples) if kinds]
    if not ends:
        return None
    low, high = (float(end(column)) for end, column in zip((min, max), zip(*ends)))
    if any(last - first < (high - low) / 2 for first, last in ends):
        return None
    top = max(float(density.max()) for sample in samples
              for density, _ in _densities(sample, (low, high)))
    return low, high, 1.05 * top


def caption_of(samples: Iterable[DistanceSample]) -> str:
    """Return the name of the caption of samples: another one if none has cameras."""
    return ("distances" if any(sample.has_cameras for sample in samples) else
            "distances, no cameras")


def _kinds(sample: DistanceSample) -> list[tuple[Doubles, str, str, Any]]:
    """Return the kinds of pairs that a sample has: distances, words, colour and line style."""
    kinds = [(getattr(sample, name), words if sample.has_cameras else words.partition(",")[0],
              *style) for name, words, *style in KINDS]
    return [kind for kind in kinds if len(kind[0])]


def _densities(sample: DistanceSample,
               ends: tuple[float, float] | None) -> list[tuple[Doubles, Doubles]]:
    """Return the density of each kind that a sample has, and its edges."""
    values = [kind[0] for kind in _kinds(sample)]
    fewest = min(map(len, values), default=1)
    edges = np.histogram_bin_edges(np.concatenate([np.zeros(0), *values]),
                                   int(np.clip(2 * fewest**0.5, *BINS)), ends)
    return [(np.histogram(each, edges, density=True)[0], edges) for each in values]


def distances(sample: DistanceSample, ax: Any = None,
              scale: tuple[float, float, float] | None = None) -> Any:
    """Draw the densities of distances by identity and camera; a kind without pairs is left out.

    Parameters
    ----------
    sample : DistanceSample
        What `reid_ref.drawing.results.distance_sample` returns.
    ax
        As for `cmc`.
    scale : (float, float, float), optional
        The distances at both ends of the axis, and the top of densities, to compare figures.

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
    >>> from reid_ref.drawing.results import distance_sample
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 8], [2, 2, 1])
    >>> sample = distance_sample([np.array([[.1, .2, .3]])], query, gallery)
    >>> ax = reid_ref.figures.distances(sample)
    >>> [label.get_text() for label in ax.get_legend().get_texts()][0]
    'same identity, other camera (1)'
    """
    ax = axes_or(ax, DISTANCES_HEIGHT)
    kinds, ends = _kinds(sample), scale and scale[:2]
    for (values, words, colour, dashes), (density, edges) in zip(kinds, _densities(sample, ends)):
        ax.stairs(density, edges, color=colour, linestyle=dashes, linewidth=1.2,
                  label=f"{words} ({len(values):,})")
    label(ax, "Distances between queries and gallery images", ylabel="density",
          xlabel="squared distance" if sample.squared else "distance",
          xlim=ends, ylim=(0, scale and scale[2]))
    # In the axes, four long lines would hide the curves.
    return add_legend_below(ax) if kinds else ax
