"""Standard error, design effect, intraclass correlation: without random numbers."""
from __future__ import annotations

import math

from reid_ref.statistics.units import UnitSums, add_up


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


def design_effect(by_unit: UnitSums, by_query: UnitSums) -> float:
    """Return how many times larger the variance is than independent queries would have it.

    NaN where no value differs from another.

    Examples
    --------
    >>> from reid_ref.statistics import unit_sums
    >>> values = [1, 1, 0, 0]
    >>> round(design_effect(unit_sums(values, [1, 1, 2, 2]), unit_sums(values, range(4))), 6)
    3.0
    """
    naive = standard_error(by_query)
    return (standard_error(by_unit) / naive) ** 2 if naive else math.nan


def intraclass_correlation(by_unit: UnitSums, by_query: UnitSums) -> float:
    """Return how alike queries of one unit are: 1 if equal, about 0 if no more than others.

    The estimate of one-way analysis of variance, for units of different size. NaN where each
    unit has one query, or no value differs from another.

    References
    ----------
    Donner, International Statistical Review 54, 1986, section 2: the ANOVA estimator.

    Examples
    --------
    >>> from reid_ref.statistics import unit_sums
    >>> values = [1, 1, 0, 0]
    >>> intraclass_correlation(unit_sums(values, [1, 1, 2, 2]), unit_sums(values, range(4)))
    1.0
    """
    units, queries = len(by_unit.weight), len(by_query.weight)
    between = add_up(by_unit.errors**2 / by_unit.weight)
    within = add_up(by_query.errors**2) - between
    if queries == units or between + within <= 0:
        return math.nan
    mean_between, mean_within = between / (units - 1), max(within, 0.0) / (queries - units)
    size = (queries - add_up(by_unit.weight**2) / queries) / (units - 1)
    return (mean_between - mean_within) / (mean_between + (size - 1) * mean_within)
