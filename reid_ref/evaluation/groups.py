"""Numbers of groups of queries, and the curves and bands of figures, by the convention's rules."""
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from reid_ref.arrays import (
    Doubles, InputError, Integers, Value, check_choice, each_warning_once, read_only)
from reid_ref.conventions import AP
from reid_ref.labels import Labels, cameras_of
from reid_ref.metrics import mean_in_order, precision_before
from reid_ref.ranking.good_ranks import GoodRanks, of_queries, split_queries
from reid_ref.measures import measure, printed
from reid_ref.result import Result, counted_values, in_mean, sum_intervals, sums_of_units
from reid_ref.statistics import Interval

#: Recall in percent at which mean precision is computed.
LEVELS = 101


@dataclass(frozen=True, eq=False)
class Groups(Value):
    """The numbers of each group of queries; every array has shape (n_groups,).

    Parameters
    ----------
    value : int64
        The identity or camera of each group, ascending.
    queries : int64
        Queries of the group.
    counted : int64
        Those in the mean of mAP, as `Result.counted`.
    means : dict of str to float64
        By measure, in [0, 1]; NaN if no query counts, or a value that counts is unknown.
    """

    value: Integers
    queries: Integers
    counted: Integers
    means: dict[str, Doubles]

    def __post_init__(self) -> None:
        for name in ("value", "queries", "counted"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        object.__setattr__(self, "means", {name: read_only(values)
                                           for name, values in self.means.items()})

    def mean(self, measure: str = "mAP") -> float:
        """Return the mean over groups, whatever their numbers of queries.

        Over identities it is what some toolboxes of metric learning call mAP: the mean over
        classes. Groups without a query that counts are left out; NaN if there is no other.

        Parameters
        ----------
        measure : str
            A key of `means`.

        Raises
        ------
        InputError
            A measure that the groups do not have.

        Examples
        --------
        >>> Groups([7, 8], [3, 1], [3, 1], {"mAP": [.5, 1.]}).mean()
        0.75
        """
        check_choice(measure, "measure", self.means)
        values = self.means[measure][self.counted > 0]
        return mean_in_order(values) if len(values) else float("nan")

    @property
    def mAP(self) -> Doubles:
        """The means of mAP."""
        return self.means["mAP"]

    @property
    def rank1(self) -> Doubles:
        """The means of Rank-1."""
        return self.means["Rank-1"]

    @property
    def mINP(self) -> Doubles:
        """The means of mINP."""
        return self.means["mINP"]


#: The measures that every group has.
BY_DEFAULT = tuple(printed([1]))


def by_group(result: Result, query: Labels | None = None, by: str = "identity",
             measures: Iterable[str] = ()) -> Groups:
    """Return mAP, Rank-1 and mINP of each identity, or of each query camera, and other measures.

    The numbers of a group are those of an evaluation of its queries alone: a query without a
    good image counts as the convention of `result` has it.

    Parameters
    ----------
    result : Result
    query : Labels, optional
        The queries that were evaluated, in their order. Default: as the result has them.
    by : {"identity", "camera"}
        What the queries of a group have in common.
    measures : iterable of str
        Further measures, such as "P@10".

    Returns
    -------
    Groups
        Plain arrays: `value`, `queries`, `counted`, `mAP`, `rank1`, `mINP`; `means` has these and
        the others by name. Rank-k is NaN if the convention's CMC curve counts identities or
        drawn images, not ranks.

    Raises
    ------
    InputError
        `query` has another length, or no cameras; another `by`; no measure has such a name.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8], [2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2], [.1, .2]], query, gallery)
    >>> groups = reid_ref.by_group(result)
    >>> groups.value, groups.mAP, groups.rank1
    (array([7, 8]), array([1.  , 0.25]), array([1., 0.]))
    """
    check_choice(by, "by", ("identity", "camera"))
    n = len(result.per_query.status)
    query = result.per_query.labels() if query is None else query
    if len(query) != n:
        raise InputError("query", f"the labels of the {n} queries evaluated", len(query))
    if by == "camera":
        cameras_of(query, "groups of queries by it")
    value, group = np.unique(query.texts(by), return_inverse=True)
    group = group.reshape(-1)
    loaded = result.per_query.status != "not loaded"
    order = np.flatnonzero(loaded)[np.argsort(group[loaded], kind="stable")]
    edges = np.cumsum([0, *np.bincount(group[loaded], minlength=len(value))])
    queries, means = [order[start:stop] for start, stop in pairwise(edges)], {}
    ranks = result.convention.cut_off(of_queries(result.ranks, loaded))
    parts = list(split_queries(ranks, group[loaded], len(value)))
    for which in map(measure, dict.fromkeys((*BY_DEFAULT, *measures))):
        if which.of_curve and result.convention.curve.of_rows is not None:
            numbers = [float("nan")] * len(parts)
        elif which.of_curve:
            k = which.k or 0
            numbers = [float(result.convention.curve_of_ranks(part, k)[k - 1]) for part in parts]
        else:
            values = result.of_query(which.name)
            numbers = [result.convention.mean(counted_values(result, values, each))
                       for each in queries]
        means[which.name] = np.array(numbers)
    counted = np.bincount(group[in_mean(result)], minlength=len(value))
    return Groups(value, np.bincount(group), counted, means)


def mean_precision(result: Result) -> Doubles:
    """Return the mean precision of a result at each percent of recall from 0, shape (101,).

    By the step rule a query has precision k/rank between recall (k - 1)/n and k/n; by the
    trapezoid it goes in a line from the precision at the place before that image to k/rank: as
    the convention computes AP. After the last good image of a cut list it is 0.

    Examples
    --------
    Good images at ranks 2 and 3:

    >>> import reid_ref
    >>> result = reid_ref.evaluate_distances(
    ...     [[.2, .1, .3]], reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3]))
    >>> mean_precision(result)[[0, 25, 50, 100]].round(2)
    array([0.  , 0.25, 0.5 , 0.67])
    """
    loaded = of_queries(result.ranks, result.per_query.status != "not loaded")
    convention = result.convention
    ranks, has_steps = convention.cut_off(loaded), AP[convention.ap].has_steps
    return np.array([convention.mean(convention.counted(
        _at_level(ranks, level, has_steps), loaded.n_good)) for level in range(LEVELS)])


def _at_level(ranks: GoodRanks, level: int, has_steps: bool) -> Doubles:
    """Return the precision of each query; NaN without a good image."""
    scaled, last = level * ranks.n_good, LEVELS - 1
    nth = np.maximum(-(-scaled // last), 1)  # the good image at which this recall is reached
    precision = np.where((ranks.n_good > 0) | (ranks.n_kept == 0), 0.0, np.nan)
    in_list = nth <= ranks.found
    start = np.cumsum(ranks.found) - ranks.found
    nth, rank = nth[in_list], ranks.rank[(start + nth - 1)[in_list]]
    at_image = nth / rank
    if not has_steps:
        before = precision_before(nth, rank)
        part = (scaled[in_list] - last * (nth - 1)) / last
        at_image = before + (at_image - before) * part
    precision[in_list] = at_image
    return precision


class RankBand(NamedTuple):
    """Intervals of Rank-k, as `Result.interval` gives them, or the range of several runs.

    Parameters
    ----------
    rank : int64, shape (n,)
    low, high : float64, shape (n,)
    words : str
        What they are.
    """

    rank: Integers
    low: Doubles
    high: Doubles
    words: str


def range_of_runs(runs: Sequence[Result], last: int) -> RankBand | None:
    """Return the lowest and highest Rank-1 to Rank-`last` of several runs; None of one."""
    n = min(len(run.cmc[:last]) for run in runs)
    cmc = np.array([run.cmc[:n] for run in runs])
    return None if len(runs) == 1 else RankBand(
        np.arange(1, n + 1), cmc.min(axis=0), cmc.max(axis=0), "range of the runs")


def ranks_of_band(result: Result, last: int) -> dict[int, str]:
    """Return the ranks of a band, and the metric that has the interval of each.

    Beyond Rank-10 it has every fifth rank, and the last.
    """
    n = len(result.cmc[:last])
    ranks = [k for k in range(1, n + 1) if k <= 10 or k % 5 == 0 or k == n]
    # The curve never falls: of equal means the values are the same, query by query.
    return {k: f"Rank-{1 + np.searchsorted(result.cmc, result.cmc[k - 1])}" for k in ranks}


def rank_band(result: Result, last: int,
              intervals: Mapping[str, Interval] | None = None) -> RankBand | None:
    """Return the intervals of Rank-1 to Rank-`last`, as far as the curve reaches.

    `intervals` are those of the metrics of `ranks_of_band`, if they are known. None if
    some are missing, as for a single identity.

    Examples
    --------
    >>> import reid_ref
    >>> result = reid_ref.evaluate_distances(
    ...     [[.2, .1, .3]], reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3]))
    >>> rank_band(result, 20) is None
    True
    """
    metrics = ranks_of_band(result, last)
    with each_warning_once():
        known = intervals_by_metric({"": result}, {"": metrics.values()})[""] if (
            intervals is None) else intervals
    every = [known[metric] for metric in metrics.values() if metric in known]
    if not every or len(every) < len(metrics):
        return None
    low, high = np.array([(interval.low, interval.high) for interval in every]).T
    if np.isnan(low).any():
        return None
    return RankBand(np.array(list(metrics), np.int64), low, high,
                    f"{every[0].level:g} % intervals by {every[0].unit}")


def intervals_by_metric(results: Mapping[str, Result], metrics: Mapping[str, Iterable[str]],
                        ) -> dict[str, dict[str, Interval]]:
    """Return the intervals of metrics of each result, for which random numbers are drawn once.

    A number that has none is left out: of a single identity, a mean that is NaN, a curve of
    identities.
    """
    sums = {}
    for name, result in results.items():
        for metric in dict.fromkeys(metrics[name]):
            with contextlib.suppress(InputError):
                sums[name, metric] = sums_of_units(result, metric)
    intervals: dict[str, dict[str, Interval]] = {name: {} for name in results}
    for (name, metric), interval in zip(sums, sum_intervals(sums.values())):
        intervals[name][metric] = interval
    return intervals


def counted_ap(result: Result) -> tuple[Doubles, Integers]:
    """Return AP and the number of good images of the queries that are in the mean of mAP.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8], [2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2]] * 2, query, gallery)
    >>> counted_ap(result)
    (array([1.  , 0.25]), array([1, 1]))
    """
    counted = in_mean(result)
    return (counted_values(result, result.of_query("mAP"), counted),
            result.per_query.n_good[counted])


def identity_ap(result: Result) -> Doubles:
    """Return the mean AP of each identity with a query that counts.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8, 7], [1] * 3), reid_ref.Labels([7, 8], [2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2], [.1, .2], [.2, .1]], query, gallery)
    >>> identity_ap(result)
    array([0.625, 0.25 ])
    """
    identity = result.per_query.identity
    groups = by_group(result, Labels(identity))
    return groups.mAP[groups.counted > 0]


class ByGood(NamedTuple):
    """Mean AP of the queries with a similar number of good images; the shape is (n,).

    Parameters
    ----------
    low, high : int64
        Fewest and most good images of each group.
    queries : int64
        Queries of the group that are in the mean of mAP.
    mAP : float64
        NaN if there are none.
    """

    low: Integers
    high: Integers
    queries: Integers
    mAP: Doubles


def ap_by_good_images(result: Result) -> ByGood:
    """Return mean AP by number of good images: 1, 2, 3 to 4, 5 to 8, and so on.

    Queries without a good image are left out.

    Examples
    --------
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8, 8], [2, 2, 2])
    >>> result = reid_ref.evaluate_distances([[.1, .2, .3]] * 2, query, gallery)
    >>> ap_by_good_images(result).low, ap_by_good_images(result).mAP.round(4)
    (array([1, 2]), array([1.    , 0.4167]))
    """
    ap, n_good = counted_ap(result)
    # The exponent of 2n - 1 is 1, 2, 3, 3, 4 ... for n = 1, 2, 3, 4, 5 ...
    group = np.frexp(2.0 * n_good - 1)[1]
    groups = range(1, int(group.max(initial=0)) + 1)
    parts = [ap[(group == k) & (n_good > 0)] for k in groups]
    low, high = ([2**k // share for k in groups] for share in (4, 2))
    return ByGood(np.array(low, np.int64) + 1, np.array(high, np.int64),
                  np.array(list(map(len, parts))),
                  np.array([result.convention.mean(part) for part in parts]))
