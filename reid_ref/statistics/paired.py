"""Two systems on the same queries: the difference, its interval, and a paired test."""
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count
from dataclasses import dataclass
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles, InputError, Value, as_vector
from reid_ref.statistics.interval import LEVEL, check_level, standard_error
from reid_ref.statistics.units import (
    RESAMPLES, SEED, ZERO, UnitSums, add_up, check_random, flipped_sums, unit_sums, warn_few,
    without_rounding)

#: A test at 5 % shows a difference of so many standard errors in 80 % of cases: 1.96 + 0.84.
DETECTABLE = 2.8
#: It needs 7 units that change alike, which 80 % of samples have if nine do on average.
CHANGES = 9


@dataclass(frozen=True, eq=False, kw_only=True)
class Difference(Value):
    """The difference of two means over the same queries.

    Parameters
    ----------
    difference : float
        Mean of the other system minus that of the baseline.
    low, high : float
        Ends of its interval: every difference that the test of `p` does not reject.
    se : float
        Its standard error by unit.
    p : float
        Of the two-sided test by sign flips of units that there is no difference.
    better, worse, same : int
        Units whose queries together gained, lost, or did neither.
    detectable : float
        The smallest difference that this pair would show at 5 % in 80 % of cases: 2.8 standard
        errors, as if at least nine units had changed as those did that changed. If none did,
        nine units of which every query changed. Never less than the way from the difference to
        the farther end of its interval.
    trials : int
        Choices of signs that were tried; fewer than `resamples` if that is every choice.
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
        Names the argument, what was expected, what came and the remedy.

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
    0.018
    """
    return differences([(baseline, other, counted)], unit, level=level, resamples=resamples,
                       seed=seed)[0]


def differences(pairs: Iterable[tuple[Any, Any, Any]], unit: Any, *, level: float = LEVEL,
                resamples: int = RESAMPLES, seed: int = SEED) -> list[Difference]:
    """As `difference`, of several (baseline, other, counted)."""
    alpha = check_level(level)
    resamples, seed = check_random(resamples, seed)
    if resamples + 1 < 1 / alpha - 1e-9:
        raise InputError("resamples", f"at least {math.ceil(1 / alpha - 1e-9) - 1} for this level",
                         resamples)
    return [_difference(_gains(*pair, unit), alpha, resamples, seed) for pair in pairs]


def _gains(baseline: Any, other: Any, counted: Any, unit: Any) -> UnitSums:
    """Return how much each unit gained, and its weight."""
    before, after = as_vector(baseline, "baseline"), as_vector(other, "other")
    if len(before) != len(after):
        raise InputError("other", f"{len(before)} values, one for each of baseline", len(after))
    sums = unit_sums(np.subtract(after, before, dtype=np.float64), unit, counted)
    warn_few(len(sums.weight))
    return UnitSums(without_rounding(sums.value, sums.weight), sums.weight)


def _difference(sums: UnitSums, alpha: float, resamples: int, seed: int) -> Difference:
    low, high, p, trials = sign_flips(sums, alpha, resamples, seed)
    se = standard_error(sums)
    better, worse, same = (
        int(np.count_nonzero(np.sign(sums.value) == sign)) for sign in (1, -1, 0))
    changed = better + worse
    detectable = (DETECTABLE * se * math.sqrt(max(1, CHANGES / changed)) if changed else
                  CHANGES * largest_gain(sums) / sums.total)
    # No difference is detected that the interval does not tell from none.
    detectable = max(detectable, high - sums.mean, sums.mean - low)
    return Difference(
        difference=sums.mean, low=low, high=high, se=se, p=p, better=better, worse=worse,
        same=same, detectable=detectable, trials=trials)


def sign_flips(gains: UnitSums, alpha: float, resamples: int,
               seed: int) -> tuple[float, float, float, int]:
    """Return the interval of a mean gain, p that it is 0, and the choices of signs tried.

    The test of a gain d flips the signs of what each unit gained beyond d, and counts the choices
    whose sum is at least as large as that of the signs as they are. The interval has every d that
    the test does not reject, so p and interval never contradict each other. Two imagined units
    are flipped with the rest, one that gained (`largest_gain`) and one that lost as much: without
    them a few units that changed make the interval too narrow.

    Every choice of the units that changed is tried if there are no more than `resamples`; else
    one is added to both counts, for the signs as they are (Phipson and Smyth, 2010).
    """
    moved = gains.value != 0
    # So that the same signs flip them where the two systems change places.
    imagined = math.copysign(largest_gain(gains), gains.mean)
    sums = np.concatenate([gains.value[moved], [imagined, -imagined], gains.value[~moved]])
    weights = np.concatenate([gains.weight[moved], [0, 0], gains.weight[~moved]])
    every, tried = flipped_sums(np.stack([sums, weights]), int(np.count_nonzero(moved)) + 2,
                                resamples, seed)
    total = gains.total
    beyond = tried[0] - gains.mean * tried[1]
    slack = ZERO * add_up(np.abs(sums))
    beyond[np.abs(beyond) <= slack] = 0
    above, below = (_reach(sign * beyond, tried[1], total) for sign in (1, -1))
    # Of (count + extra) / (choices + extra), what is above alpha is not rejected.
    extra = 0 if every else 1
    least = math.floor(alpha * (len(beyond) + extra) + 1e-9) + 1 - extra
    low, high = (max(-1.0, gains.mean - _largest(below, least)),
                 min(1.0, gains.mean + _largest(above, least)))
    if not moved.any():  # the signs drawn are not symmetric, what they stand for is
        high = min(1.0, _largest(np.concatenate([above, below]), 2 * least))
        low = -high
    # No gain is as far below the mean gain as that is above 0. Equal sums may differ by rounding.
    reach = (below if gains.mean > 0 else above) + slack / total
    count = int(np.count_nonzero(reach >= abs(gains.mean)))
    if count >= least:
        low, high = min(low, 0.0), max(high, 0.0)
    return low, high, (count + extra) / (len(beyond) + extra), len(beyond)


def largest_gain(gains: UnitSums) -> float:
    """Return what a unit that was not drawn may have gained, or lost.

    Per query, that is the most that any unit changed. Few units that changed are little evidence
    of how much others may: if none did, an imagined unit changes altogether; if m of G did, at
    least by 2 / m - 2 / G. Its weight is the root mean square of all, as those of many queries may
    be missing from the units that changed. benchmarks/differences.py is the simulation.
    """
    rates = np.abs(gains.value / gains.weight)
    units, changed = len(rates), int(np.count_nonzero(rates))
    least = min(1.0, 2 / changed - 2 / units) if changed else 1.0
    return max(float(rates.max()), least) * math.sqrt(add_up(gains.weight**2) / units)


def _reach(beyond: Doubles, weight: Doubles, total: float) -> Doubles:
    """Return how far above the mean gain each choice of signs still has as large a sum.

    With the sum R of what is beyond the mean gain, the flipped weights w and their total W, it has
    where ``|R - x w| >= x W``: up to ``R / (W + w)``, or ``-R / (W - w)`` where R is below 0.
    """
    reach = np.where((beyond == 0) & (np.abs(weight) == total), np.inf, 0.0)
    positive, negative = beyond > 0, beyond < 0
    with np.errstate(divide="ignore"):
        reach[positive] = beyond[positive] / (total + weight[positive])
        reach[negative] = -beyond[negative] / (total - weight[negative])
    return reach


def _largest(values: Doubles, place: int) -> float:
    """Return the largest value but `place` - 1; infinity if `place` is below 1."""
    return float(np.partition(values, -place)[-place]) if place > 0 else math.inf


def least_p(weight: Doubles) -> float:
    """Return the smallest p that a paired test over units of these weights can give.

    It is that of a change by which each query gains as much, with every choice of signs counted.
    Where the two imagined units cancel, two choices of the other signs give as large a sum: all
    or none of the units gain. If both help, so does each choice by which no more is lost than
    one of them gains.

    Examples
    --------
    Of 2**6 choices of the signs of four identities and two imagined ones, 4 and twice 5:

    >>> least_p(np.ones(4)) == (4 + 2 * 5) / 2**6
    True
    """
    if len(weight) < 2:
        return 1.0
    gains = UnitSums(weight, weight)
    most = largest_gain(gains) + ZERO * gains.total
    choices = Counter({0.0: 1})  # by what is lost; whole numbers of Python's, of any size
    for lost in weight.tolist():
        choices.update({before + lost: n for before, n in choices.items()
                        if before + lost <= most})
    of: int = 2**(len(weight) + 1)
    return (2 + choices.total()) / of


def unit_weights(unit: Any, counted: Any) -> Doubles:
    """Return the number of queries that count of each unit that has one."""
    return np.unique(np.asarray(unit)[counted], return_counts=True)[1].astype(np.float64)


def fewest_units(tests: int, alpha: float) -> int:
    """Return how many units of one weight it takes for a p below alpha after Holm's method.

    Examples
    --------
    >>> fewest_units(1, .05), fewest_units(2, .05), fewest_units(780, .05)
    (7, 8, 18)
    """
    return next(n for n in count(2) if tests * least_p(np.ones(n)) < alpha)


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
