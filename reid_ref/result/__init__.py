"""What comes out: `Result`, its numbers and their intervals."""
from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from reid_ref import metrics, statistics
from reid_ref.arrays import (
    Array, Doubles, InputError, Integers, Mask, Value, check_choice, check_count, read_only)
from reid_ref.conventions import Convention
from reid_ref.disk import PathLike
from reid_ref.measures import (
    MEASURES, PLACES, RANKS, Measure, any_case, measure, printed)
from reid_ref.ranking.good_ranks import GoodRanks
from reid_ref.result import form, formula, shown
from reid_ref.result.parts import AtK, Counts, Fingerprints, PerQuery, QueryValues, for_all
from reid_ref.signature import Signature
from reid_ref.statistics.interval import LEVEL, Interval
from reid_ref.statistics.units import RESAMPLES, SEED, by_unit_and_query
from reid_ref.text.plain import json_values

#: What papers print.
HEADLINE = tuple(printed(RANKS))


def headline(result: Result, names: Iterable[str] = HEADLINE) -> dict[str, float]:
    """Return the numbers of these measures by name, Rank-k as far as the curve reaches."""
    return {each.name: result.value(each.name) for each in map(measure, names)
            if not _is_beyond(each, result)}


def sd_of(result: Result, names: Iterable[str]) -> dict[str, float]:
    """Return the standard deviations over trials, or of one draw, of those measures that have it.
    """
    if len(result.trials) > 1:
        return {name: float(np.std([trial.value(name) for trial in result.trials], ddof=1))
                for name in names}
    return {name: result.sd[name] for name in names if name in result.sd}


def values_of(result: Result, names: Iterable[str]) -> list[float]:
    """Return the numbers of these measures; NaN for a rank beyond the curve."""
    every = map(measure, names)
    return [math.nan if _is_beyond(each, result) else result.value(each.name) for each in every]


def _is_beyond(which: Measure, result: Result) -> bool:
    return which.of_curve and (which.k or 0) > len(result.cmc)


@dataclass(frozen=True, eq=False)
class Result(Value):
    """The numbers of one evaluation, with all that is needed to believe them.

    Parameters
    ----------
    cmc : float64, shape (n_gallery,)
        Rank-k is ``cmc[k - 1]``, in [0, 1].
    per_query : PerQuery
    counts : Counts
    signature : Signature
        Everything that could change the numbers, the version last: a mapping whose `str()` is
        its text.
    ranks : GoodRanks
        The ranks of each query's good images among the images that it keeps, to the end of the
        list and in the convention's order of equal distances: ``ranks.rank`` holds the ranks,
        query after query, ``ranks.found`` how many of them each query has.
    convention : Convention
        What was evaluated.
    fingerprints : Fingerprints
        Of identities and cameras of `query` and `gallery`, eight hexadecimal digits each: where
        they are the same, two results are of the same images in the same order.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> from reid_ref import Labels
    >>> result = reid_ref.evaluate_distances(
    ...     np.array([[.2, .1, .3]]), Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3]))
    >>> result.ranks.rank, result.ranks.image
    (array([2, 3]), array([0, 2]))
    >>> round(result.mAP, 4), result.rank(1), round(result.mINP, 4)
    (0.4167, 0.0, 0.6667)
    >>> result.signature["convention"], result.signature["reid-ref"] == reid_ref.__version__
    ('matlab', True)
    >>> print(result)  # doctest: +ELLIPSIS
    percent:   mAP 41.67, Rank-1 0.00, mINP 66.67
    queries:   1 of 1 counted
    signature: convention:matlab | ap:trapezoid | unmatched:zero |...
    """

    cmc: Doubles
    per_query: PerQuery
    counts: Counts
    signature: Signature
    ranks: GoodRanks = field(repr=False)
    convention: Convention = field(repr=False)
    fingerprints: Fingerprints = field(default=Fingerprints(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cmc", read_only(self.cmc))
        object.__setattr__(self, "ranks", copy.copy(self.ranks))  # read-only

    @property
    def mAP(self) -> float:
        """Mean average precision, in [0, 1]."""
        return self.value("mAP")

    @property
    def mINP(self) -> float:
        """Mean inverse negative penalty, in [0, 1].

        A query without a good image counts as it does in mAP.
        """
        return self.value("mINP")

    @property
    def counted(self) -> int:
        """Queries in the mean of mAP: all, or those with a good image, by the convention."""
        return int(np.count_nonzero(in_mean(self)))

    @property
    def trials(self) -> tuple[Result, ...]:
        """The results whose mean it is: itself, but for a mean over the trials of a protocol."""
        return (self,)

    @property
    def sd(self) -> dict[str, float]:
        """Standard deviations over the trials, by the names of the numbers; none of one trial."""
        return {} if len(self.trials) < 2 else sd_of(self, headline(self))

    def __getitem__(self, name: str) -> float:
        """Return the number of a measure, in any case: ``result["Rank-1"]``; see `value`."""
        return self.value(any_case(str(name)))

    __iter__ = None  # else Python would ask for result[0], result[1] ...

    def __repr__(self) -> str:
        numbers = "".join(f"{name}={value:.4f}, " for name, value in headline(
            self, ("mAP", "Rank-1", "mINP")).items()).replace("Rank-1", "rank1")
        return (f"{type(self).__name__}({numbers}queries={self.counted}/{self.counts.query}, "
                f"convention={self.convention.name!r})")

    def __str__(self) -> str:
        """Return mAP, Rank-k and mINP in percent, the queries counted, and the signature."""
        return shown.as_text(headline(self), self.counted, self.counts.query, self.signature)

    def _repr_html_(self) -> str:
        """Return what `__str__` has as a table, which notebooks show."""
        return shown.as_html(headline(self), self.counted, self.counts.query, self.signature)

    def rank(self, k: int) -> float:
        """Return Rank-k, the point k of the CMC curve, in [0, 1].

        Raises
        ------
        InputError
            `k` is not a whole number from 1 to the length of the curve.

        Examples
        --------
        >>> import reid_ref
        >>> result = reid_ref.evaluate_distances(
        ...     [[.2, .1, .3]], reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3]))
        >>> result.rank(1), result.rank(2)
        (0.0, 1.0)
        """
        k = check_count(k, "k", 1, len(self.cmc), "the length of this CMC curve")
        return float(self.cmc[k - 1])

    def at(self, k: int) -> AtK:
        """Return accuracy, precision, recall and AP at k: of the first k images that are kept.

        A convention that looks at fewer than k images (its `top_k`) ends the list there.

        accuracy at k
            1 where a match has rank k or less, else 0. Its mean is Rank-k where the CMC
            curve is that of the first match, over the same queries. (success_k in trec_eval)
        precision at k
            Good images among the first k, over k, also where fewer than k are kept. (P_k)
        recall at k
            Good images among the first k, over all that exist. (recall_k)
        AP at k
            The convention's rule of AP on the list cut after k images. Recall is over all good
            images that exist, or those in the cut list where the convention's `recall` is
            "found". (map_cut_k, where the rule is "step".) Equal distances that the convention
            takes as one group are cut where gallery order cuts them.

        The last three are NaN where a ranked list ends before k and lacks a good image, unless the
        convention takes what is not listed for wrong (`unlisted`).

        Of a query without a good image accuracy and precision are 0, recall is NaN, and AP is
        what the rule returns: NaN, or 0 if it keeps no image. All four are NaN if the
        query is not loaded. Means are over the queries that are in the mean of mAP; where those
        without a good image count as 0 there, their recall does here.

        Parameters
        ----------
        k : int
            From 1; may be beyond the gallery.

        Returns
        -------
        AtK
            The four means (`mAP` is that of AP at k), and `per_query`.

        Raises
        ------
        InputError
            `k` is not a whole number from 1, or does not fit 64 bits.

        Notes
        -----
        Sources: usnistgov/trec_eval f425365, m_success.c, m_P.c, m_recall.c, m_map_cut.c;
        zjykzj/SimpleIR 9bc420d, simpleir/metric/impl (accuracy, precision, recall).

        Examples
        --------
        Good images at ranks 2 and 3. AP at 2 by the trapezoid: 1/2 * (0 + 1/2)/2.

        >>> import reid_ref
        >>> result = reid_ref.evaluate_distances(
        ...     [[.2, .1, .3]], reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3]))
        >>> result.at(2)
        AtK(k=2, accuracy=1.0, precision=0.5, recall=0.5, mAP=0.125)
        """
        k = check_count(k, "k", most=2**63 - 1)
        of_list = (MEASURES[name] for name in ("P@k", "R@k", "AP@k"))
        made = self._numbers([each.at(k) for each in (_ACCURACY, *of_list)])
        accuracy, precision, recall, mAP = made.means.values()
        names = ("accuracy", "precision", "recall", "ap")
        return AtK(k, accuracy, precision, recall, mAP, per_query={
            name: self._for_all(values) for name, values in zip(names, made.values.values())})

    def value(self, name: str) -> float:
        """Return the number of a measure, such as "mAP", "Rank-1" or "P@10", in [0, 1].

        Raises
        ------
        InputError
            No measure has this name, or the CMC curve ends before Rank-k.

        Examples
        --------
        >>> import reid_ref
        >>> result = reid_ref.evaluate_distances(
        ...     [[.2, .1, .3]], reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3]))
        >>> result.value("Rank-2"), result.value("P@2"), result.value("mAP") == result.mAP
        (1.0, 0.5, True)
        """
        which = measure(name)
        if which.of_curve:
            if _is_beyond(which, self):
                raise InputError("measure", f"a rank up to {len(self.cmc)}, where this CMC curve "
                                 "ends", repr(which.name))
            return self.rank(which.k or 0)
        return self._mean_of(which)

    def of_query(self, name: str) -> Doubles:
        """Return the value of each query under a measure: float64, shape (n_query,).

        NaN if the query has none: one that is not loaded, mostly one without a good image. How
        such queries count in the mean is the convention's; `reid_ref.result.query_values` has
        them as they count.

        Raises
        ------
        InputError
            No measure has this name, or Rank-k is not made of ranks of images.

        Examples
        --------
        >>> import reid_ref
        >>> result = reid_ref.evaluate_distances(
        ...     [[.2, .1]] * 2, reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8], [2, 2]))
        >>> result.of_query("Rank-1"), result.of_query("mAP")
        (array([0., 1.]), array([0.25, 1.  ]))
        """
        return self._of_query(measure(name))

    def _mean_of(self, which: Measure) -> float:
        """Return the mean, at which results that average otherwise enter the formula."""
        per_query = self.per_query
        return self._numbers([which], per_query.matched[self._loaded], {
            name: values[self._loaded] for name, values in per_query.values.items()}
        ).means[which.name]

    def _of_query(self, which: Measure) -> Doubles:
        if which.name in self.per_query.values:
            return self.per_query.values[which.name]
        return self._for_all(self._numbers([which]).values[which.name])

    def _numbers(self, measures: Iterable[Measure], matched: Any = None,
                 known: Mapping[str, Doubles] | None = None) -> formula.Numbers:
        """Return what the formula gives, from these ranks on."""
        is_complete = self.signature.get("ranked", "complete") == "complete"
        return formula.numbers(
            self.ranks, self.convention, measures, self._loaded, lambda cut: self.cmc,
            matched=matched, known=known, n_gallery=None if is_complete else self.counts.loaded[1])

    @property
    def _loaded(self) -> Mask:
        return np.asarray(self.per_query.status != "not loaded")

    def _for_all(self, values: Doubles) -> Doubles:
        return read_only(for_all(values, self._loaded, np.nan))

    def _query_values(self, metric: str) -> QueryValues:
        """Return what `query_values` does."""
        which = measure(metric)
        mean, values = self.value(metric), self._of_query(which)
        loaded = self.per_query.status != "not loaded"
        n_good, convention = self.per_query.n_good[loaded], self.convention
        in_mean = which.in_mean(convention, n_good)
        values, counted = values[loaded], for_all(in_mean, loaded, False)
        values = values[in_mean] if which.of_curve else convention.counted(
            values, n_good, self.per_query.matched[loaded])
        if np.isnan(mean) or np.isnan(values).any():
            raise _no_interval(which, convention.name, values, self.per_query.matched[counted])
        return QueryValues(mean, for_all(values, counted, 0.0), counted)

    def _weighted(self, metric: str) -> tuple[Any, Any, Any]:
        """Return what an interval takes: values of each query, weights, and which ones count."""
        _, values, counted = self._query_values(metric)
        return values, None, counted

    def interval(self, measure: str = "mAP", *, level: float = LEVEL, unit: Any = "identity",
                 method: str = "bootstrap-t", resamples: int = RESAMPLES,
                 seed: int = SEED) -> Interval:
        """Return the confidence interval of a number, given this gallery and this model.

        Queries of one identity share their good images, so identities are what is resampled. A
        query without a match counts as it does in the number itself.

        Parameters
        ----------
        measure : str
            The name of a measure (`reid_ref.measures.MEASURES`), with a number for k, such as
            "mAP", "Rank-1" or "P@10".
        level : float
            In percent, from 50 to below 100.
        unit : str or array_like, shape (n_query,)
            "identity", "query" (as if queries were independent), or one group per query: a number
            or a text, for tracklets or videos.
        method : str
            "bootstrap-t", or "analytic": without random numbers.
        resamples, seed : int
            Of the bootstrap.

        Returns
        -------
        Interval

        Raises
        ------
        InputError
            An argument is not one of these; the number is NaN; fewer than two units count; or
            Rank-k is not made of ranks of images (conventions that draw images or count
            identities).

        Examples
        --------
        Thirty identities, of which ten have a wrong image first:

        >>> import numpy as np, reid_ref
        >>> labels = reid_ref.Labels(range(30), [1] * 30), reid_ref.Labels(range(30), [2] * 30)
        >>> distances = 1 - np.eye(30)
        >>> distances[:10, 20] = -1
        >>> result = reid_ref.evaluate_distances(distances, *labels)
        >>> interval = result.interval("Rank-1")
        >>> interval.value == result.rank(1), interval.units, round(interval.se, 4)
        (True, 30, 0.0875)
        >>> round(interval.low, 3), round(interval.high, 3)
        (0.456, 0.824)
        """
        return sum_intervals([sums_of_units(self, measure, unit)], level=level, method=method,
                             resamples=resamples, seed=seed)[0]

    def scalars(self, prefix: str = "",
                measures: Iterable[str] = HEADLINE) -> dict[str, float]:
        """Return numbers as floats by name, for wandb and its like.

        Parameters
        ----------
        prefix : str
            Before each name, e.g. ``"test/"``.
        measures : iterable of str
            Default: mAP, Rank-1, 5, 10, 20 and mINP. Rank-k is left out beyond the CMC curve.

        Returns
        -------
        dict of str to float
            In [0, 1], or NaN.

        Examples
        --------
        >>> import reid_ref
        >>> result = reid_ref.evaluate_distances(
        ...     [[.1, .2]], reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8], [2, 2]))
        >>> result.scalars("test/")
        {'test/mAP': 1.0, 'test/Rank-1': 1.0, 'test/mINP': 1.0}
        >>> result.scalars(measures=["mAP", "P@5"])
        {'mAP': 1.0, 'P@5': 0.2}
        """
        return {f"{prefix}{name}": value for name, value in headline(self, measures).items()}

    def save(self, path: PathLike) -> None:
        """Write all of the result to one JSON file, which `reid_ref.load` reads.

        Parameters
        ----------
        path : str or path
            A file of that name is replaced, whole or not at all. Commands know a saved result by
            a name that ends in .json, or in .json.gz, which is packed.

        Raises
        ------
        InputError
            The file cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> import reid_ref
        >>> result = reid_ref.evaluate_distances(
        ...     [[.2, .1, .3]], reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "ours.json")
        ...     result.save(path)
        ...     reid_ref.load(path).at(2) == result.at(2)
        True
        """
        form.write(path, self._saved())

    def _saved(self) -> dict[str, Any]:
        """Return what a file has, by key."""
        return {
            **self._printed(), "convention": json_values(self.convention),
            "labels": json_values(self.fingerprints),
            "counts": {**json_values(self.counts), **self._pairs()},
            "queries": {name: self.per_query.texts(name).tolist() for name in form.QUERIES},
            **self._source_values()}

    def _printed(self) -> dict[str, Any]:
        return {"schema": form.SAVED, **json_values(headline(self)),
                "signature": str(self.signature)}

    def _pairs(self) -> dict[str, int]:
        ranks, first = self.ranks, self.ranks.first_match
        sums = (ranks.n_kept, ranks.rank - 1, first[first > 0] - 1, ranks.n_beyond)
        return {name: int(each.sum()) for name, each in zip(form.PAIRS, sums)}

    def _source_values(self) -> dict[str, Any]:
        """Return the ranks, and the curve if they do not give it."""
        curve = ({"cmc": json_values(self.cmc)} if self.convention.curve.of_rows else
                 {"cmc_length": len(self.cmc)})
        return {**curve, "ranks": {name: getattr(self.ranks, name).tolist()
                                   for name in form.kinds_of_ranks(self.convention.cut)}}


def in_mean(result: Result) -> Mask:
    """Return which queries are in the mean of mAP: bool, shape (n,)."""
    loaded = result.per_query.status != "not loaded"
    return for_all(MEASURES["mAP"].in_mean(result.convention, result.per_query.n_good[loaded]),
                   loaded, False)


def counted_values(result: Result, values: Doubles, queries: Any) -> Doubles:
    """Return the values of some queries as the mean of a measure takes them."""
    per_query = result.per_query
    return result.convention.counted(values[queries], per_query.n_good[queries],
                                     per_query.matched[queries])


#: 1 where a match is among the first k, whatever the CMC curve counts.
_ACCURACY = Measure("accuracy@k", "", "",
                    lambda ranks, convention, k: metrics.accuracy_at(ranks, k))


def query_values(result: Result, metric: str) -> QueryValues:
    """Return the values of each query whose mean a metric is; `Result.interval` names the metrics.

    Examples
    --------
    >>> import reid_ref
    >>> result = reid_ref.evaluate_distances(
    ...     [[.2, .1]] * 2, reid_ref.Labels([7, 8], [1, 1]), reid_ref.Labels([7, 8], [2, 2]))
    >>> query_values(result, "Rank-1").values
    array([0., 1.])
    """
    return result._query_values(metric)


class SumsOfUnits(NamedTuple):
    """What an interval is made of: the number, the name of the unit, sums by unit and by query."""

    mean: float
    unit: str
    by_unit: statistics.UnitSums
    by_query: statistics.UnitSums


def sums_of_units(result: Result, metric: str, unit: Any = "identity") -> SumsOfUnits:
    """Return what the interval of a metric is made of; refuses what has none."""
    values, weight, counted = result._weighted(metric)
    name, groups = unit_of_queries(result.per_query.identity, unit)
    return SumsOfUnits(result._query_values(metric).mean, name,
                       *by_unit_and_query(values, groups, counted, weight))


def sum_intervals(numbers: Iterable[SumsOfUnits], **options: Any) -> list[Interval]:
    """Return the intervals of several numbers, for which random numbers are drawn once.

    `options` are those of `Result.interval`, but for the unit.
    """
    sums = list(numbers)
    intervals = statistics.mean_intervals([(each.by_unit, each.by_query) for each in sums],
                                          **options)
    return [replace(interval, value=each.mean, unit=each.unit)
            for each, interval in zip(sums, intervals)]


def _no_interval(which: Measure, convention: str, values: Doubles,
                 matched: Mask) -> InputError:
    """Return the reason why a number that is NaN has no interval, given what it is the mean of."""
    reason, remedy = ", for no query counts", "check the labels"
    if (np.isnan(values) & matched).any():
        reason = ", for " + PLACES[which.places or "the last good image"].why.format(k=which.k)
        remedy = "take complete lists, or another metric"
    elif len(values):
        reason = f" under convention {convention!r}, for a query without a value counts"
        remedy = ("take a convention that counts such queries as 0 or leaves them out: "
                  "unmatched='zero' or 'drop'")
    return InputError("measure", got=f"{which.name} is NaN{reason}, so there is no interval",
                      remedy=remedy)


def unit_of_queries(identity: Integers, unit: Any) -> tuple[str, Array]:
    """Return the name of a unit, and the unit of each query, given the identities."""
    if not isinstance(unit, str):
        return "group", np.asarray(unit)
    units = {"identity": identity, "query": np.arange(len(identity))}
    check_choice(unit, "unit", units)
    return unit, units[unit]
