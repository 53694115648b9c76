"""AP by query and by identity, and by number of good images."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles
from reid_ref.drawing.style import (
    COLOURS, MARKERS, add_legend, add_title, axes_or, conventions_of, line_style, results_by_name)
from reid_ref.evaluation import figure_values as ap_spread
from reid_ref.result import Result
from reid_ref.text import percent

#: Width of the histogram's bins, in percent of AP.
BIN = 5


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
    results, ax = results_by_name(results), axes_or(ax)
    if len(results) == 1:
        (name, result), = results.items()
        title = "AP by query and by identity"
        _histograms(ax, name, ap_spread.counted_ap(result)[0], ap_spread.identity_ap(result))
        ax.set_ylabel("queries, or identities (%)")
        add_legend(ax, loc="upper center")
    else:
        title = "AP by query, cumulative"
        for k, (name, result) in enumerate(results.items()):
            ap = 100 * np.sort(_numbers(ap_spread.counted_ap(result)[0]))
            share = 100 * np.arange(1, len(ap) + 1) / max(1, len(ap))
            ax.step(ap, share, where="post", **line_style(k),
                    label=f"{name} (mAP {percent(result.mAP)})")
        ax.set_ylim(0, 101)
        ax.set_ylabel("queries up to this AP (%)")
        add_legend(ax)
    add_title(ax, title, f"convention {conventions_of(results.values())}")
    ax.set(xlabel="average precision (%)", xlim=(0, 100))
    ax.grid(alpha=0.3, linewidth=0.4)
    return ax


def _numbers(values: Doubles) -> Doubles:
    return values[~np.isnan(values)]


def _histograms(ax: Any, name: str, by_query: Doubles, by_identity: Doubles) -> None:
    edges, tallest = np.arange(0, 100 + BIN, BIN), 1.0
    for values, one, many, style in (
            (by_query, "query", "queries", {"fill": True, "color": COLOURS[0], "alpha": 0.35}),
            (by_identity, "identity", "identities",
             {"color": COLOURS[1], "linestyle": "--", "linewidth": 1.2})):
        values = _numbers(values)
        counts = np.histogram(100 * values, edges)[0]
        mean = float(np.mean(values)) if len(values) else float("nan")
        share = 100 * counts / max(1, len(values))
        tallest = max(tallest, share.max())
        ax.stairs(share, edges, **style, label=f"{name}: {len(values):,} "
                  f"{one if len(values) == 1 else many}, mean {percent(mean)}")
    ax.set_ylim(0, 1.3 * tallest)  # with room for the key


def ap_by_good(results: Mapping[str, Result], ax: Any = None) -> Any:
    """Draw the mean AP of queries with 1, 2, 3 to 4, 5 to 8 ... good images.

    Of one result, the number of queries stands below each group.

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
    results, ax = results_by_name(results), axes_or(ax)
    groups = [ap_spread.ap_by_good(result) for result in results.values()]
    for k, (name, group) in enumerate(zip(results, groups)):
        ax.plot(range(len(group.mAP)), 100 * group.mAP, **line_style(k), markersize=3.5,
                marker=MARKERS[k % len(MARKERS)], label=name)
    longest = max(groups, key=lambda group: len(group.low))
    labels = [str(low) if low == high else f"{low}\u2013{high}"
              for low, high in zip(longest.low.tolist(), longest.high.tolist())]
    below = "good images of the query"
    if len(results) == 1:
        labels = [f"{label}\n{n:,}" for label, n in zip(labels, longest.queries.tolist())]
        below += " (below: queries)"
    ax.set_xticks(range(len(labels)), labels)
    first = min((int(np.flatnonzero(group.queries)[0]) for group in groups
                 if group.queries.any()), default=0)
    ax.set_xlim(first - 0.4, max(len(labels), first + 1) - 0.6)
    ax.set(xlabel=below, ylabel="mean AP (%)")
    ax.margins(y=0.1)
    ax.set_ylim(bottom=0)
    add_title(ax, "AP by number of good images",
              f"convention {conventions_of(results.values())}")
    ax.grid(alpha=0.3, linewidth=0.4, axis="y")
    add_legend(ax)
    return ax
