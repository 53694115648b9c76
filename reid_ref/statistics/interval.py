"""Confidence intervals of a mean over queries: bootstrap-t by unit, logit-t, exact bound."""
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reid_ref.arrays import (
    Doubles, InputError, PackageError, PackageWarning, Value, check_choice, optional_module, warn)
from reid_ref.statistics.units import (
    RESAMPLES, SEED, ZERO, UnitSums, add_up, by_unit_and_query, check_random, resampled_sums,
    warn_few)


def standard_error(sums: UnitSums) -> float:
    """Return the standard error of the mean over queries, units being independent.

    It is that of a ratio of two sums over units, linearised; with one query a unit it is the
    standard deviation over the root of the number of queries.

    References
    ----------
    Cochran, Sampling Techniques, 3rd edition, 1977, section 6.3: the ratio estimator.

    Examples
    --------
    Two identities, of two queries each: errors +1 and -1, sqrt(2/1 * 2) / 4.

    >>> from reid_ref.statistics import unit_sums
    >>> standard_error(unit_sums([1, 1, 0, 0], unit=[1, 1, 2, 2]))
    0.5
    """
    units = len(sums.weight)
    return math.sqrt(units / (units - 1) * add_up(sums.errors**2)) / sums.total


LEVEL = 95
#: The part of a resample's sum of squares that rounding may leave of an exact zero.
ROUNDING = 1e-12
#: About half of the resamples have a mean below that of all. By so many standard deviations of
#: their number it would have to be off for an end to lie on the wrong side of the mean.
APART = 5


@dataclass(frozen=True, eq=False)
class Interval(Value):
    """A mean over queries with its confidence interval; it holds for this gallery and model.

    Parameters
    ----------
    value : float
        The mean, as it is printed.
    low, high : float
        Ends of the interval; NaN where one of Student's t is left out for want of scipy.
    se, se_naive : float
        Standard error by unit, and as if queries were independent.
    design_effect : float
        ``(se / se_naive) ** 2``; NaN if no value differs from another.
    unit : str
        "identity", "query" or "group" (given by the caller).
    units, queries : int
        How many the mean is of.
    method : str
        "bootstrap-t"; "analytic", also if so few units have an error that the bootstrap
        leaves [0, 1]; or "exact" if all queries are right, or all wrong: a one-sided bound;
        or "unseen" if all have another value alike: units that were not drawn may differ.
    level : float
        In percent.
    resamples : int
        0 if no random numbers are drawn.
    seed : int or None
    """

    value: float
    low: float
    high: float
    se: float
    se_naive: float
    design_effect: float
    unit: str
    units: int
    queries: int
    method: str
    level: float
    resamples: int
    seed: int | None


def interval(values: Any, unit: Any, counted: Any = None, *, level: float = LEVEL,
             method: str = "bootstrap-t", resamples: int = RESAMPLES,
             seed: int = SEED) -> Interval:
    """Return the confidence interval of a mean of values in [0, 1], by unit.

    Parameters
    ----------
    values, unit, counted
        As `unit_sums` takes them.
    level : float
        In percent, from 50 to below 100.
    method : str
        "bootstrap-t": units are drawn with replacement, and the mean of each resample is divided
        by its own standard error. "analytic": Student's t on the logit scale, without random
        numbers.
    resamples, seed : int
        Of the bootstrap.

    Returns
    -------
    Interval
        Where all queries are right, or all wrong, no unit differs from another, and the end that
        is not 1 or 0 is the exact bound: ``(alpha / 2) ** (1 / units)`` for a mean of 1.
        Where only a few units have an error, many resamples have none, and so hardly a standard
        error: an end of the bootstrap lies outside [0, 1], and the analytic interval is taken.

    Raises
    ------
    InputError
        Names the argument, what was expected, what came and the remedy.

    References
    ----------
    Bootstrap-t: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 12.5.

    Examples
    --------
    Thirty identities of two queries each, which are alike:

    >>> found = interval([1, 1, 1, 0, 0, 0] * 10, unit=[k // 2 for k in range(60)])
    >>> found.value, found.units, round(found.design_effect, 2)
    (0.5, 30, 1.36)
    >>> round(found.low, 3), round(found.high, 3)
    (0.343, 0.657)
    """
    return mean_intervals([by_unit_and_query(values, unit, counted)], level=level, method=method,
                          resamples=resamples, seed=seed)[0]


def mean_intervals(means: Sequence[tuple[UnitSums, UnitSums]], *, level: float = LEVEL,
                   method: str = "bootstrap-t", resamples: int = RESAMPLES,
                   seed: int = SEED) -> list[Interval]:
    """As `interval`, of several means by unit and by query, with the same random numbers."""
    check_choice(method, "method", METHODS)
    alpha = check_level(level)
    resamples, seed = check_random(resamples, seed)
    uneven = [by_unit for by_unit, _ in means if standard_error(by_unit) != 0]
    ends = iter(METHODS[method](uneven, alpha, resamples, seed) if uneven else ())
    intervals = []
    for by_unit, by_query in means:
        warn_few(len(by_unit.weight))
        se, naive, how = standard_error(by_unit), standard_error(by_query), method
        if se == 0:
            low, high, how = unseen_bound(by_unit, alpha)
        else:
            low, high = next(ends)
            if low < 0 or high > 1:  # the bootstrap has broken down
                how, (low, high) = "analytic", logit_ends(by_unit, alpha, student_or_nan)
        drawn = how == "bootstrap-t"
        intervals.append(Interval(
            by_unit.mean, low, high, se, naive, (se / naive)**2 if naive else math.nan,
            "group", len(by_unit.weight), len(by_query.weight), how, level,
            resamples if drawn else 0, seed if drawn else None))
    return intervals


def bootstrap_t(means: Sequence[UnitSums], alpha: float, resamples: int,
                seed: int) -> list[tuple[float, float]]:
    """Return the ends of bootstrap-t intervals, which may lie outside of what a mean can be."""
    least = max(math.ceil(2 / alpha - 1e-9) - 1, math.ceil((APART / (1 - alpha))**2))
    if resamples < least:
        raise InputError("resamples", f"at least {least} for this level", resamples)
    place = math.floor(alpha / 2 * (resamples + 1) + 1e-9)
    ends = []
    for sums, t in zip(means, studentized(means, resamples, seed)):
        se, mean = standard_error(sums), sums.mean
        t.sort()
        # The mean of a resample of every unit once may differ from that of all by rounding.
        ends.append((mean - max(0.0, float(t[-place])) * se,
                     mean - min(0.0, float(t[place - 1])) * se))
    return ends


def studentized(means: Sequence[UnitSums], resamples: int, seed: int) -> list[Doubles]:
    """Return (mean - the mean of all) / standard error of each resample, in its order, of each."""
    columns = [[error, weight, error**2, error * weight, weight**2]
               for error, weight in ((sums.errors, sums.weight) for sums in means)]
    drawn: dict[bytes, Doubles] = {}
    for units in {len(sums.weight) for sums in means}:
        # Often some are the same: the weights, or a number under several conventions.
        different = {column.tobytes(): column for five in columns for column in five
                     if len(column) == units}
        drawn.update(zip(different, resampled_sums(np.array(list(different.values())), resamples,
                                                   seed)))
    return [_student_t(len(five[0]), *(drawn[column.tobytes()] for column in five))
            for five in columns]


def _student_t(units: int, e: Doubles, n: Doubles, ee: Doubles, en: Doubles,
               nn: Doubles) -> Doubles:
    """Return t of each resample, given its sums of errors and weights and of their products."""
    shift = e / n
    square = ee - 2 * shift * en + shift**2 * nn
    # Units that are all alike have no spread: what rounding leaves of it is no number to divide
    # by. Then the mean is that of all (t is 0), or infinitely many standard errors away.
    spread = square > ROUNDING * ee
    t: Doubles = np.where(ee > 0, np.copysign(np.inf, shift), 0.0)
    np.divide(e, np.sqrt(units / (units - 1) * np.where(spread, square, 1.0)), out=t, where=spread)
    return t


def logit_t(means: Sequence[UnitSums], alpha: float, *_: int) -> list[tuple[float, float]]:
    """Return the ends by Student's t on the logit scale."""
    return [logit_ends(sums, alpha, student) for sums in means]


def logit_ends(sums: UnitSums, alpha: float,
               quantile: Callable[[int, float], float]) -> tuple[float, float]:
    """Return the ends of one such interval, given a function as `student`."""
    mean, se = sums.mean, standard_error(sums)
    middle = math.log(mean / (1 - mean))
    half = quantile(len(sums.weight) - 1, alpha) * se / (mean * (1 - mean))
    return logistic(middle - half), logistic(middle + half)


def student(degrees: int, alpha: float) -> float:
    """Return the quantile 1 - alpha / 2 of Student's t."""
    stdtrit = optional_module("an analytic interval", "scipy.special").stdtrit
    return float(stdtrit(degrees, 1 - alpha / 2))


def student_or_nan(degrees: int, alpha: float) -> float:
    """As `student`, for one number of several: without scipy NaN, with a warning."""
    try:
        return student(degrees, alpha)
    except PackageError as error:
        warn(f"{error.argument} {error.got}: left out; {error.remedy}", PackageWarning)
        return math.nan


def logistic(value: float) -> float:
    # exp of a large number would overflow.
    if value < 0:
        return math.exp(value) / (1 + math.exp(value))
    return 1 / (1 + math.exp(-value))


def unseen_bound(sums: UnitSums, alpha: float) -> tuple[float, float, str]:
    """Return the interval of units that do not differ, and its method.

    A share of units that was seen in none of G has at most 1 - bound of all units, the bound
    being (alpha / 2)**(1 / G). If all are right or all wrong this is the exact bound; else such
    units could be all right or all wrong.
    """
    bound = (alpha / 2) ** (1 / len(sums.weight))
    mean = sums.mean
    # An AP that adds up n times 1/n is 1 but for rounding.
    if mean >= 1 - ZERO:
        return bound, mean, "exact"
    if mean <= ZERO:
        return mean, 1 - bound, "exact"
    return mean * bound, 1 - (1 - mean) * bound, "unseen"


#: The methods that a user may name.
METHODS: dict[
    str, Callable[[Sequence[UnitSums], float, int, int], list[tuple[float, float]]]] = {
    "bootstrap-t": bootstrap_t, "analytic": logit_t}


def check_level(level: Any, name: str = "level") -> float:
    """Return alpha = 1 - level."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 50 <= level < 100:
        raise InputError(name, "percent from 50 to below 100, such as 95", repr(level))
    return (100 - float(level)) / 100
