"""Two systems on the same queries: the difference, its interval, and a paired test."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles, InputError, as_vector
from reid_ref.arrays.value import Value
from reid_ref.statistics.interval import LEVEL, bootstrap_t, check_level, standard_error, student
from reid_ref.statistics.units import (
    RESAMPLES, SEED, UnitSums, add_up, all_flipped_sums, check_random, flipped_sums, unit_sums,
    warn_few, without_rounding)

#: A test at 5 % shows a difference of so many standard errors in 80 % of cases: 1.96 + 0.84.
DETECTABLE = 2.8


@dataclass(frozen=True, eq=False)
class Difference(Value):
    """The difference of two means over the same queries.

    Parameters
    ----------
    difference : float
        Mean of the other system minus that of the baseline.
    low, high : float
        Its bootstrap-t interval; Student's where so few units differ that the bootstrap
        leaves [-1, 1].
    se : float
        Its standard error by unit.
    p : float
        Of the two-sided test by sign flips of units.
    better, worse, same : int
        Units whose queries together gained, lost, or did neither.
    detectable : float
        The smallest difference that this pair would show at 5 % in 80 % of cases.
    trials : int
        Choices of signs that were tried; fewer than `resamples` where that is every choice.
    """

    difference: float
    low: float
    high: float
    se: float
    p: float
    better: int
    worse: int
    same: int
    detectable: float
    trials: int


def difference(baseline: Any, other: Any, unit: Any, counted: Any = None, *,
               level: float = LEVEL, resamples: int = RESAMPLES, seed: int = SEED) -> Difference:
    """Compare two systems by their values on the same queries.

    Parameters
    ----------
    baseline, other : array_like, shape (n,)
        Values of each query, in [0, 1].
    unit, counted
        As `unit_sums` takes them.
    level, resamples, seed
        As `interval` takes them.

    Returns
    -------
    Difference

    Raises
    ------
    InputError
        Names the argument, what was expected, what came and the way out.

    References
    ----------
    Smucker, Allan, Carterette, A comparison of statistical significance tests for information
    retrieval evaluation, CIKM 2007: the randomisation test; here with identities for queries.

    Examples
    --------
    Of 24 identities 16 gain a tenth, 4 lose a tenth:

    >>> gains = [.1] * 16 + [0] * 4 + [-.1] * 4
    >>> found = difference([.5] * 24, [.5 + gain for gain in gains], unit=range(24))
    >>> round(found.difference, 6), found.better, found.worse, found.same
    (0.05, 16, 4, 4)
    >>> round(found.p, 3)
    0.012
    """
    return differences([(baseline, other, counted)], unit, level=level, resamples=resamples,
                       seed=seed)[0]


def differences(pairs: Iterable[tuple[Any, Any, Any]], unit: Any, *, level: float = LEVEL,
                resamples: int = RESAMPLES, seed: int = SEED) -> list[Difference]:
    """As `difference`, of several (baseline, other, counted); resamples are drawn once."""
    alpha = check_level(level)
    check_random(resamples, seed)
    gains = [_gains(*pair, unit) for pair in pairs]
    ends = bootstrap_t(gains, alpha, resamples, seed)
    return [_difference(sums, *low_high, alpha, resamples, seed)
            for sums, low_high in zip(gains, ends)]


def _gains(baseline: Any, other: Any, counted: Any, unit: Any) -> UnitSums:
    """Return how much each unit gained, and its weight."""
    before, after = as_vector(baseline, "baseline"), as_vector(other, "other")
    if len(before) != len(after):
        raise InputError("other", f"{len(before)} values, one for each of baseline", len(after))
    sums = unit_sums(np.subtract(after, before, dtype=np.float64), unit, counted)
    warn_few(len(sums.weight))
    return UnitSums(without_rounding(sums.value, sums.weight), sums.weight)


def _difference(sums: UnitSums, low: float, high: float, alpha: float, resamples: int,
                seed: int) -> Difference:
    """Return the difference, given the ends of its bootstrap-t interval."""
    se = standard_error(sums)
    if low < -1 or high > 1:  # the bootstrap has broken down
        half = student(sums, alpha) * se
        low, high = sums.mean - half, sums.mean + half
    p, trials = sign_flips(sums.value, resamples, seed)
    better, worse, same = (
        int(np.count_nonzero(np.sign(sums.value) == sign)) for sign in (1, -1, 0))
    return Difference(sums.mean, low, high, se, p, better, worse, same, DETECTABLE * se, trials)


def sign_flips(gains: Doubles, resamples: int, seed: int) -> tuple[float, int]:
    """Return p of the two-sided test that flips the signs of units, and the choices tried.

    Every choice is tried where there are no more than `resamples`; else one is added to both
    counts, for the signs as they are (Phipson and Smyth, 2010).
    """
    moved = gains[gains != 0]
    if not len(moved):
        return 1.0, 1
    exact = len(moved) < 64 and 2 ** len(moved) <= resamples
    sums = all_flipped_sums(moved) if exact else flipped_sums(moved, resamples, seed)
    # Equal sums may differ by rounding, which grows with what is added up.
    slack = 1e-12 * add_up(np.abs(moved))
    count = int(np.count_nonzero(np.abs(sums) >= abs(add_up(moved)) - slack))
    return (count / len(sums) if exact else (count + 1) / (len(sums) + 1)), len(sums)


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values of several comparisons by Holm's method, in their order.

    References
    ----------
    Holm, Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> holm([.01, .04, .03])
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [1.0] * len(p), 0.0
    for place, k in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        largest = max(largest, min(1.0, (len(p) - place) * p[k]))
        adjusted[k] = largest
    return adjusted
