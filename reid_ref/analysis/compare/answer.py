"""What a comparison of systems found: its records, and the columns that show them."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from reid_ref.arrays import Value
from reid_ref.statistics import Difference, MethodsDifference, Spread
from reid_ref.statistics.interval import LEVEL
from reid_ref.text import signed_percent
from reid_ref.text.table import Table, as_html

#: An adjusted p below this tells two systems apart.
SIGNIFICANT = .05
#: The two questions about systems of several seeds, and the answer of one seed to the second.
MODELS, METHODS = "these trained models", "the methods"
ONE_SEED = "one seed: these models alone"
#: What is added for the answer about methods.
HOW_METHODS = ("with other seeds as well as other identities: the variances of both are added, "
               "and quantiles of Student's t are weighted by them")


@dataclass(frozen=True, eq=False)
class Change(Value):
    """One query under two systems.

    Parameters
    ----------
    query : int
        Which, from 0.
    identity : int or str
    baseline, system : float
        Its values.
    """

    query: int
    identity: int | str
    baseline: float
    system: float


@dataclass(frozen=True, eq=False)
class Methods(MethodsDifference):
    """The answer about two methods, of which identities and training runs are a sample.

    Parameters
    ----------
    p_adjusted : float
        By Holm's method, for all pairs of methods by this metric.
    """

    p_adjusted: float


@dataclass(frozen=True, eq=False)
class Comparison(Value):
    """One system against the baseline, or one before it, by one metric.

    All fields but the last two are about these trained models: each query's mean over the seeds.

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
    methods : Methods or None
        The answer about the methods; None if one of both has one seed.
    p_decides : float or None
        The adjusted p that stars and letters follow: of the methods if any system has several
        seeds, and None if this pair has no such answer; else of the models.
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
    methods: Methods | None
    p_decides: float | None

    @property
    def better_system(self) -> str | None:
        """Which one has the higher number, where the p that decides is below 0.05."""
        higher = self.system if self.difference > 0 else self.baseline
        return higher if self.p_decides is not None and self.p_decides < SIGNIFICANT else None

    @property
    def of_methods(self) -> Comparison | None:
        """This comparison with the interval and p of the methods; None if they have none."""
        if self.methods is None:
            return None
        of = self.methods
        return replace(self, low=of.low, high=of.high, p=of.p, p_adjusted=of.p_adjusted, se=of.se)

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
    spreads : dict of str to dict of str to Spread
        By system and metric: mean, number and standard deviation over its seeds.
    paired_seeds : bool
        Whether seeds of two methods were taken as pairs.
    """

    baseline: str
    values: dict[str, dict[str, float]]
    comparisons: tuple[Comparison, ...]
    unit: str
    level: float
    resamples: int
    seed: int
    too_few: dict[str, int]
    spreads: dict[str, dict[str, Spread]]
    paired_seeds: bool

    @property
    def has_seeds(self) -> bool:
        """Whether any system has several seeds, so that the question of methods is asked."""
        return any(spread.runs > 1 for by_metric in self.spreads.values()
                   for spread in by_metric.values())

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


def ends(change: Difference | Comparison, between: str = " .. ") -> str:
    """Return the interval of a difference in percentage points."""
    return f"{signed_percent(change.low)}{between}{signed_percent(change.high)}"


def p_text(p: float) -> str:
    """Return p with four decimals."""
    return "1" if p == 1 else "<0.0001" if p < .0001 else f"{p:.4f}"


def change_words(change: Difference | Comparison, level: float = LEVEL) -> str:
    """Return a difference for a sentence, with its interval and p."""
    return (f"{signed_percent(change.difference)} points, {level:g} % interval "
            f"{ends(change, ' to ')}, p = {p_text(change.p)}").replace("= <", "< ")


#: In the order of screen, page, notebook, CSV and JSON.
COLUMNS = (
    Column("change", ("difference",), "its number less that of the baseline, in points",
           lambda change: signed_percent(change.difference)),
    Column("interval", ("low", "high"), "confidence interval of the change", ends,
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
    rows = [(pair, of, question) for pair in pairs for of, question in (
        (pair, f", {MODELS}" if pair.methods else ""), (pair.of_methods, f", {METHODS}")) if of]
    return Table(["", "metric", *(column.name for column in columns)], [
        [f"{pair.system} - {pair.baseline}{question}", pair.metric,
         *(cell(of) for cell in columns.values())] for pair, of, question in rows], notes)


def too_few(answer: Comparisons) -> list[str]:
    """Return one sentence where no p by some metric can be significant; else nothing."""
    if not answer.too_few:
        return []
    return [f"too few to tell by {', '.join(answer.too_few)}: p below {SIGNIFICANT:g} takes at "
            f"least {max(answer.too_few.values())} units of equally many queries"]
