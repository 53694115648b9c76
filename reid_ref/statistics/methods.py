"""Two methods of several training runs each: the difference that training again would show.

A test by identity over the runs' means is about these trained models. Other runs of the same
methods would have other means, and that test declares such noise significant; here the variance of
a mean over runs is added to that over identities. benchmarks/methods.py is the simulation.
"""
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, Value, as_vector
from reid_ref.statistics.interval import LEVEL, check_level
from reid_ref.statistics.paired import Difference
from reid_ref.statistics.quantiles import chi_square_quantile, student_quantile, student_tail

#: With so few runs of a method, Welch's degrees of freedom are too many.
FEW_RUNS = 2
#: A quantile so near is that of p; the smallest p; steps of its iteration, which takes about ten.
SAME, LEAST, STEPS = 1e-10, 1e-15, 100


@dataclass(frozen=True, eq=False)
class Spread(Value):
    """One number over the training runs of a method.

    Parameters
    ----------
    mean : float
    runs : int
    sd : float or None
        Standard deviation over runs; None of a single run.
    low, high : float or None
        Ends of its confidence interval, if runs are normal about the method's mean; None of runs
        without any difference, which have none.
    """

    mean: float
    runs: int
    sd: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class MethodsDifference(Value):
    """The difference of two methods, of which training runs and identities are a sample.

    Parameters
    ----------
    low, high : float
        Ends of its interval; never narrower than that of the trained models.
    p : float
        That the methods do not differ; never smaller than that of the trained models.
    se : float
        Standard error, of identities and runs.
    se_runs : float
        The part of the runs: its square is the variance of the difference of two means over runs.
    """

    low: float
    high: float
    p: float
    se: float
    se_runs: float


def spread(values: Any, *, level: float = LEVEL) -> Spread:
    """Return mean and standard deviation of one number over training runs.

    Parameters
    ----------
    values : array_like, shape (n,)
        The number of each run.
    level : float
        Of the interval of the standard deviation, in percent.

    Returns
    -------
    Spread

    Raises
    ------
    InputError
        No values, or no one-dimensional array of them.

    Examples
    --------
    Three runs hardly tell a standard deviation: it may be half of what it seems, or six times it.

    >>> found = spread([.40, .42, .44])
    >>> round(found.mean, 6), found.runs, round(found.sd, 6)
    (0.42, 3, 0.02)
    >>> round(found.low, 4), round(found.high, 4)
    (0.0104, 0.1257)
    """
    alpha = check_level(level)
    runs = as_vector(values, "values").astype(np.float64).tolist()
    if not runs:
        raise InputError("values", "the number of at least one run", "none")
    mean, degrees = math.fsum(runs) / len(runs), len(runs) - 1
    if not degrees:
        return Spread(mean, 1, None, None, None)
    squares = math.fsum((value - mean)**2 for value in runs)
    if len(set(runs)) == 1:
        return Spread(mean, len(runs), 0.0, None, None)
    low, high = (math.sqrt(squares / chi_square_quantile(tail, degrees))
                 for tail in (alpha / 2, 1 - alpha / 2))
    return Spread(mean, len(runs), math.sqrt(squares / degrees), low, high)


def between_methods(models: Difference, baseline: Any, other: Any, *, paired: bool = False,
                    level: float = LEVEL) -> MethodsDifference:
    """Compare two methods by the numbers of their training runs.

    Parameters
    ----------
    models : Difference
        Of each query's mean over the runs of the baseline, and over those of the other method.
    baseline, other : array_like, shape (n,) and (m,)
        The number of each run, in [0, 1]; at least two of each.
    paired : bool
        Run k of one method is made as run k of the other, with the same seed, and what the seed
        changes is common to both: the runs' differences are taken.
    level : float
        In percent; that of `models`.

    Returns
    -------
    MethodsDifference
        The variance is that over identities and, of each method, that over runs divided by their
        number. Student's quantile is the mean of one with the identities less 1 degrees of freedom
        and one with those of Welch for the runs, each weighted by its variance (Cochran and Cox);
        if a method has two runs, the runs of each have their own. The interval contains that of
        `models`, and p is the larger one of both, so that they never contradict each other.

    Raises
    ------
    InputError
        Fewer than two runs of a method, or, if `paired`, other numbers of them.

    References
    ----------
    Cochran and Cox, Experimental Designs, 2nd edition, 1957, section 4.14; Welch, Biometrika 34,
    1947.

    Examples
    --------
    All of forty identities gain, and these models differ beyond doubt; their methods may not:

    >>> from reid_ref.statistics import difference
    >>> before, after = [.40, .42, .44], [.43, .44, .48]
    >>> gains = [.02] * 20 + [.04] * 20
    >>> models = difference([.42] * 40, [.42 + gain for gain in gains], unit=range(40))
    >>> models.p < .001, round(models.low, 3), round(models.high, 3)
    (True, 0.026, 0.034)
    >>> methods = between_methods(models, before, after)
    >>> round(methods.p, 3), round(methods.low, 3), round(methods.high, 3)
    (0.198, -0.025, 0.085)
    >>> round(between_methods(models, before, after, paired=True).p, 3)
    0.035
    """
    alpha = check_level(level)
    parts = _parts(models, _runs(baseline, "baseline"), _runs(other, "other"), paired)
    se = math.sqrt(math.fsum(variance for variance, _ in parts))
    half = _quantile(parts, alpha) * se if se else 0.0
    return MethodsDifference(
        max(-1.0, min(models.low, models.difference - half)),
        min(1.0, max(models.high, models.difference + half)),
        max(models.p, _p(parts, abs(models.difference) / se) if se else models.p), se,
        math.sqrt(math.fsum(variance for variance, _ in parts[1:])))


def _runs(values: Any, name: str) -> list[float]:
    runs: list[float] = as_vector(values, name).astype(np.float64).tolist()
    if len(runs) < 2:
        raise InputError(name, "the numbers of at least 2 runs", len(runs),
                         "one run does not tell how much another would differ")
    return runs


#: Variances of a difference, and the degrees of freedom of each.
_Parts = list[tuple[float, float]]


def _parts(models: Difference, before: Sequence[float], after: Sequence[float],
           paired: bool) -> _Parts:
    """Return the variance over identities, and those over runs."""
    identities = (models.se**2, float(models.better + models.worse + models.same - 1))
    if paired:
        if len(before) != len(after):
            raise InputError("other", f"{len(before)} runs, as of baseline, each with the seed of "
                             "one", len(after), "leave out what pairs seeds")
        return [identities, _of_mean([b - a for a, b in zip(before, after)])]
    runs = [_of_mean(before), _of_mean(after)]
    if min(len(before), len(after)) <= FEW_RUNS:
        return [identities, *runs]
    total = math.fsum(variance for variance, _ in runs)
    if not total:
        return [identities]
    welch = total**2 / math.fsum(variance**2 / degrees for variance, degrees in runs)
    return [identities, (total, welch)]


def _of_mean(runs: Sequence[float]) -> tuple[float, float]:
    """Return the variance of the mean of some runs, and its degrees of freedom."""
    n = len(runs)
    mean = math.fsum(runs) / n
    return math.fsum((value - mean)**2 for value in runs) / (n - 1) / n, n - 1.0


def _quantile(parts: _Parts, alpha: float) -> float:
    """Return the mean of Student's quantiles, weighted by the variances."""
    return (math.fsum(variance * student_quantile(alpha, degrees)
                      for variance, degrees in parts if variance)
            / math.fsum(variance for variance, _ in parts))


def _p(parts: _Parts, t: float) -> float:
    """Return the alpha at which the quantile is t, by the method of Illinois on logarithms."""
    # It is between the tails of the parts; those of 0 are 1.
    tails = [max(student_tail(t, degrees), LEAST) for variance, degrees in parts if variance]
    if t < 1e-6 or max(tails) - min(tails) < SAME * max(tails):
        return max(tails)

    def excess(logarithm: float) -> float:
        return math.log(_quantile(parts, math.exp(logarithm)) / t)

    (low, above), (high, below) = ((math.log(tail), excess(math.log(tail)))
                                   for tail in (min(tails), max(tails)))
    side = 0
    for _ in range(STEPS):
        middle = (low * below - high * above) / (below - above)
        found = excess(middle)
        if abs(found) < SAME:
            break
        if found > 0:
            low, above, below, side = middle, found, below / (2 if side == 1 else 1), 1
        else:
            high, below, above, side = middle, found, above / (2 if side == -1 else 1), -1
    return math.exp(middle)
