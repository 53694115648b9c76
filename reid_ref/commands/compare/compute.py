"""Is one system better than another? Differences over the same queries, with their intervals."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import Doubles, InputError, Integers, check_count, each_warning_once
from reid_ref.arrays.value import Value
from reid_ref.result import Result, unit_of_queries
from reid_ref.result.systems import METRICS, results_by_name, scores_of_runs
from reid_ref.statistics import differences, holm
from reid_ref.statistics.interval import LEVEL
from reid_ref.statistics.paired import least_p
from reid_ref.statistics.power import fewest_units, unit_weights
from reid_ref.statistics.recount import flips_for, recounted
from reid_ref.statistics.units import RESAMPLES, SEED
from reid_ref.text import signed_percent
from reid_ref.text.table import Table, as_html

#: How many of the queries with the largest gains and losses are named.
EXTREMES = 5
#: An adjusted p below this tells two systems apart.
SIGNIFICANT = .05


@dataclass(frozen=True, eq=False)
class Change(Value):
    """One query under two systems.

    Parameters
    ----------
    query : int
        Which, from 0.
    identity : int
    baseline, system : float
        Its values.
    """

    query: int
    identity: int
    baseline: float
    system: float


@dataclass(frozen=True, eq=False)
class Comparison(Value):
    """One system against the baseline, or one before it, by one metric.

    Parameters
    ----------
    baseline, system, metric : str
    difference : float
        The system's number minus that of the baseline, in [-1, 1].
    low, high : float
        Ends of its confidence interval: every difference that the test of `p` does not reject.
    p, p_adjusted : float
        Of a two-sided test that flips the signs of units; the second is adjusted for the number
        of comparisons by this metric, by Holm's method.
    better, worse, same : int
        Units (identities) whose queries together gained, lost, or did neither.
    detectable : float
        The smallest difference that this pair would show at 5 % in 80 % of cases.
    se : float
        Standard error of the difference.
    trials : int
        Choices of signs that were tried for p; of a small p among many comparisons more than for
        the interval.
    gains, losses : tuple of Change
        The queries that changed most, at most five of each.
    """

    baseline: str
    system: str
    metric: str
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    better: int
    worse: int
    same: int
    detectable: float
    se: float
    trials: int
    gains: tuple[Change, ...]
    losses: tuple[Change, ...]

    @property
    def better_system(self) -> str | None:
        """Which one has the higher number, where the adjusted p is below 0.05."""
        higher = self.system if self.difference > 0 else self.baseline
        return None if self.p_adjusted >= SIGNIFICANT else higher

    def _repr_html_(self) -> str:
        return as_html(_notebook_table([self], shown_columns(self.p != self.p_adjusted)))


@dataclass(frozen=True, eq=False)
class Comparisons(Value):
    """Systems against a baseline, over the same queries; given this gallery and these models.

    Parameters
    ----------
    baseline : str
    values : dict of str to dict of str to float
        By system, the baseline first, and metric: the numbers.
    comparisons : tuple of Comparison
        Metric after metric, the systems, or the pairs of them, in their order.
    unit : str
        "identity", "query" or "group".
    level : float
        Of the intervals, in percent.
    resamples, seed : int
    too_few : dict of str to int
        By metric, where over so few units no adjusted p can be below 0.05: how many it takes, of
        equally many queries.
    """

    baseline: str
    values: dict[str, dict[str, float]]
    comparisons: tuple[Comparison, ...]
    unit: str
    level: float
    resamples: int
    seed: int
    too_few: dict[str, int]

    def _repr_html_(self) -> str:
        return as_html(_notebook_table(
            self.comparisons, shown_columns(several=len(self.values) > 2), "; ".join([
                f"differences in percentage points; intervals of {self.level:g} % by {self.unit}",
                *too_few(self)])))


@dataclass(frozen=True, eq=False, kw_only=True)
class Compared(Comparisons):
    """The comparisons as JSON has them."""

    files: list[str]
    signatures: dict[str, str]


class Column(NamedTuple):
    """What is said of a comparison, wherever comparisons are shown.

    Parameters
    ----------
    name : str
        Its head.
    fields : tuple of str
        The fields of `Comparison` that it shows; CSV and JSON have these, in full precision.
    words : str
        What it means.
    cell : function, optional
        Returns it as text; without it CSV and JSON alone have it.
    head : str
        Its head where the level is known, if that is another.
    several : bool
        It differs from `p` only if p is adjusted for several comparisons.
    """

    name: str
    fields: tuple[str, ...]
    words: str
    cell: Callable[[Comparison], str] | None = None
    head: str = ""
    several: bool = False


def ends(change: Comparison, between: str = " .. ") -> str:
    """Return the interval of a difference in percentage points."""
    return f"{signed_percent(change.low)}{between}{signed_percent(change.high)}"


def p_text(p: float) -> str:
    """Return p with four decimals."""
    return "1" if p == 1 else "<0.0001" if p < .0001 else f"{p:.4f}"


#: In the order of screen, page, notebook, CSV and JSON.
COLUMNS = (
    Column("change", ("difference",), "its number less that of the baseline, in points",
           lambda change: signed_percent(change.difference)),
    Column("interval", ("low", "high"), "every change that the test does not reject", ends,
           head="{level:g} % interval"),
    Column("p", ("p",), "of a two-sided test by sign flips", lambda change: p_text(change.p)),
    Column("Holm", ("p_adjusted",), "p adjusted for all comparisons by Holm's method",
           lambda change: p_text(change.p_adjusted), several=True),
    Column("+/-/=", ("better", "worse", "same"), "how many gained, lost, or did neither",
           lambda change: f"{change.better}/{change.worse}/{change.same}"),
    Column("detectable", ("detectable",),
           "the smallest difference that would show at 5 % in 80 % of cases"),
    Column("se", ("se",), "standard error of the difference"),
    Column("trials", ("trials",), "choices of signs that were tried for p"))


def shown_columns(several: bool) -> dict[Column, Callable[[Comparison], str]]:
    """Return the columns that people are shown, and the function that makes the cells of each."""
    return {column: column.cell for column in COLUMNS
            if column.cell is not None and (several or not column.several)}


def _notebook_table(pairs: Iterable[Comparison], columns: Mapping[
        Column, Callable[[Comparison], str]], *notes: str) -> Table:
    return Table(["", "metric", *(column.name for column in columns)], [
        [f"{pair.system} - {pair.baseline}", pair.metric,
         *(cell(pair) for cell in columns.values())] for pair in pairs], notes)


def too_few(answer: Comparisons) -> list[str]:
    """Return one sentence where no p by some metric can be significant; else nothing."""
    if not answer.too_few:
        return []
    return [f"too few to tell by {', '.join(answer.too_few)}: p below {SIGNIFICANT:g} takes at "
            f"least {max(answer.too_few.values())} units of equally many queries"]


def compare(baseline: Result | Mapping[str, Result], *others: Result,
            metrics: Sequence[str] = METRICS, names: Sequence[str] | None = None,
            unit: Any = "identity", level: float = LEVEL, resamples: int | None = None,
            seed: int = SEED, all_pairs: bool = False) -> Comparisons:
    """Compare systems with a baseline, over the same queries and the same gallery.

    Parameters
    ----------
    baseline : Result or dict of str to Result
        In a dict the first is the baseline, and there are no `others`.
    others : Result
    metrics : sequence of str
        As `Result.interval` takes them.
    names : sequence of str, optional
        Of the baseline and the others.
    unit, level, seed
        As `Result.interval` takes them.
    resamples : int, optional
        Choices of signs that are drawn: by default 10,000; where p is adjusted for more than 25
        comparisons, each p below 0.002 is counted again over 400 for each of them.
    all_pairs : bool
        Each system with each one before it, and not only with the first.

    Returns
    -------
    Comparisons

    Raises
    ------
    InputError
        Results of different conventions, queries or galleries: the first difference is named. A
        metric that is NaN, `resamples` too few for an adjusted p below 0.05, and whatever
        `Result.interval` refuses.

    Examples
    --------
    Of thirty identities the other system finds ten more at rank 1:

    >>> import numpy as np, reid_ref
    >>> query = reid_ref.Labels(range(30), [1] * 30)
    >>> gallery = reid_ref.Labels(range(30), [2] * 30)
    >>> distances = 1 - np.eye(30)
    >>> other = reid_ref.evaluate_distances(distances, query, gallery)
    >>> distances[:10, 20] = -1
    >>> baseline = reid_ref.evaluate_distances(distances, query, gallery)
    >>> found, = reid_ref.compare(baseline, other, metrics=["Rank-1"]).comparisons
    >>> round(found.difference, 4), found.better, found.worse, found.same
    (0.3333, 10, 0, 20)
    >>> round(found.p, 4), found.gains[0].query
    (0.0063, 0)
    """
    if isinstance(baseline, Mapping):
        if others or names is not None:
            raise InputError("baseline", "nothing with a dict of name to Result, whose first is "
                             "the baseline")
        results = results_by_name(baseline)
    else:
        defaults = ["baseline", *(f"other {k}" for k in range(1, len(others) + 1))]
        results = results_by_name([baseline, *others], defaults if names is None else names)
    return compare_systems({name: [result] for name, result in results.items()}, metrics, unit,
                           level=level, resamples=resamples, seed=seed, all_pairs=all_pairs)


def compare_systems(systems: Mapping[str, Sequence[Result]], metrics: Sequence[str] = METRICS,
                    unit: Any = "identity", *, level: float = LEVEL,
                    resamples: int | None = None, seed: int = SEED,
                    all_pairs: bool = False) -> Comparisons:
    """As `compare`, of the runs of each system by its name, the baseline first."""
    scores = scores_of_runs(systems, metrics)
    baseline, *others = systems
    identity = systems[baseline][0].per_query.identity
    unit, groups = unit_of_queries(identity, unit)
    names = (list(combinations(systems, 2)) if all_pairs
             else [(baseline, name) for name in others])
    drawn, flips = _flips(resamples, len(names))
    compared: list[Comparison] = []
    with each_warning_once():
        for metric, of_metric in scores.items():
            pairs = [(of_metric[first].values, of_metric[second].values, of_metric[first].counted)
                     for first, second in names]
            tests = recounted(differences(pairs, groups, level=level, resamples=drawn, seed=seed),
                              pairs, groups, flips, seed)
            compared += [
                Comparison(first, second, metric, **vars(test), p_adjusted=p,
                           gains=_extremes(before, after, identity, 1),
                           losses=_extremes(before, after, identity, -1))
                for (first, second), (before, after, _), test, p in zip(
                    names, pairs, tests, holm([test.p for test in tests]))]
    values = {name: {metric: of_metric[name].mean for metric, of_metric in scores.items()}
              for name in systems}
    few = {
        metric: fewest_units(len(names), SIGNIFICANT) for metric, of_metric in scores.items()
        if len(names) * least_p(unit_weights(groups, of_metric[baseline].counted)) >= SIGNIFICANT}
    return Comparisons(baseline, values, tuple(compared), unit, level, drawn, seed, few)


def _flips(resamples: Any, tests: int) -> tuple[int, int]:
    """Return how many flips are drawn for each comparison, and for each small p among many."""
    drawn = RESAMPLES if resamples is None else check_count(resamples, "resamples", 1)
    flips = flips_for(tests, SIGNIFICANT) if resamples is None else drawn
    if tests >= SIGNIFICANT * (flips + 1) - 1e-9:
        adjusted = f" adjusted for {tests:,} comparisons" if tests > 1 else ""
        raise InputError(
            "resamples", f"at least {math.floor(tests / SIGNIFICANT + 1e-9):,} flips, for p"
            f"{adjusted} to be below {SIGNIFICANT:g}", f"{flips:,}")
    return drawn, flips


def _extremes(before: Doubles, after: Doubles, identity: Integers,
              sign: int) -> tuple[Change, ...]:
    """Return the queries that gained most, or lost most, the first of equal ones first."""
    gain = sign * (after - before)
    order = np.argsort(-gain, kind="stable")[:EXTREMES]
    return tuple(Change(int(k), int(identity[k]), float(before[k]), float(after[k]))
                 for k in order if gain[k] > 0)
