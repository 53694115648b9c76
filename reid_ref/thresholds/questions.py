"""Thresholds and rates, from what is known of the impostor pairs.

Each function returns its answer and the bins that it needs resolved; as long as there are such,
the answer is of no use. Counts are integers, and thresholds are distances of pairs.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Array, Doubles, Integers, Mask
from reid_ref.thresholds.impostors import BINS, Impostors

#: No bin.
SETTLED: Mask = np.zeros(BINS, dtype=bool)
#: The rates at which fast-reid reads its curve.
FASTREID_RATES = 1e-4, 1e-3, 1e-2


class Genuine(NamedTuple):
    """The distinct distances of genuine pairs, ascending, and how many pairs are up to each."""

    values: Doubles
    up_to: Integers

    @classmethod
    def of(cls, distances: Doubles) -> Genuine:
        """Return them of the distances of all pairs."""
        values, counts = np.unique(distances, return_counts=True)
        return cls(values, np.cumsum(counts))

    def below(self, values: npt.ArrayLike, side: str = "right") -> Integers:
        """Return the number of genuine pairs up to each value; below it with side "left"."""
        place = np.searchsorted(self.values, values, side="left" if side == "left" else "right")
        return np.append(0, self.up_to)[place]


def most_accepted(far: float, number: int) -> int:
    """Return the largest number of impostors whose share is at most the false accept rate.

    Examples
    --------
    >>> most_accepted(.5, 5), most_accepted(.29, 100), most_accepted(1 / 3, 3)
    (2, 29, 1)
    """
    count = min(int(far * number) + 1, number)  # the product may be rounded down
    return next(k for k in range(count, -1, -1) if k / number <= far)


def likely_ranges(rates: Sequence[float], genuine: Doubles, sample: Doubles) -> Doubles:
    """Return ranges of distance, shape (n, 2), that the questions are likely to need.

    Guessed from the distances of the genuine pairs and of a sample of all pairs, with room for a
    FAR that is a fifth higher, and for a TAR - FAR that is .01 off.
    """
    genuine, sample = np.sort(genuine), np.sort(sample)
    tar = np.arange(1, len(genuine) + 1) / len(genuine)
    far = np.searchsorted(sample, genuine, side="right") / len(sample)
    gain = tar - far
    best, equal = np.argmax(gain), np.argmax(far + tar >= 1)
    after = np.append(np.flatnonzero(gain[best:] < gain[best] - .02) + best, -1)[0]
    # numpy finds places that are fewer than a tenth no sooner.
    share = max(.12, 1.2 * max(*rates, far[equal]) + .005, far[after])
    near = sample[min(int(share * len(sample)), len(sample) - 1)]
    ranges = [(-np.inf, near)]
    for rate in FASTREID_RATES:
        k = len(genuine) - round(len(genuine) * rate)
        ranges.append((genuine[max(k - 2, 0)], genuine[min(k + 1, len(genuine) - 1)]))
    # Between two of these, TAR at the end less FAR at the start is below the best.
    value, last = near, -np.inf
    while value > last:
        ranges.append((value, value))
        last, passed = value, np.searchsorted(sample, value, side="right") / len(sample)
        value = genuine[max(np.searchsorted(tar, passed + gain[best] - .01) - 1, 0)]
    return np.array(ranges)


def at_rate(impostors: Impostors, far: float) -> tuple[float, Mask]:
    """Return the largest distance of an impostor up to which their share is at most the rate.

    It is just below that of the nearest impostor if even this one is too much.
    """
    most = most_accepted(far, impostors.number)
    beyond, needed = _distance(impostors, min(most + 1, impostors.number))
    last, needs_too = _distance(impostors, max(most, 1))
    needed = needed | needs_too
    if needed.any():
        return np.nan, needed
    if last == beyond and most < impostors.number:  # ties are accepted together, or not at all
        most = int(impostors.below(beyond, "left")[0])
        last, needed = _distance(impostors, max(most, 1))
    return (last if most else float(np.nextafter(last, -np.inf))), needed


def _distance(impostors: Impostors, place: int) -> tuple[float, Mask]:
    """Return the distance of the impostor at a place, counted from 1."""
    low, high = impostors.range_of(place)
    needed = impostors.overlap(low, high)
    if needed.any():
        return np.nan, needed
    values = impostors.resolved(low, high)
    value = float(values[np.searchsorted(impostors.below(values)[0], place)])
    below = np.nextafter(value, -np.inf)  # counted there, too
    return value, impostors.overlap(below, value)


def _times(counts: Integers, number: int) -> Array:
    """Return products of two numbers of pairs, as Python's integers if 64 bits may be too few."""
    fits = int(counts.max(initial=0)) * number < 2**63
    return (counts if fits else counts.astype(object)) * number


def equal_error(impostors: Impostors, genuine: Genuine) -> tuple[float, Mask]:
    """Return the smallest threshold at which FAR is at least the share of genuine pairs rejected.
    """
    grid = np.sort(np.concatenate([genuine.values, impostors.edges()]))
    n_genuine = int(genuine.up_to[-1])

    def is_reached(side: int, values: Doubles) -> Mask:
        missed = _times(n_genuine - genuine.below(values), impostors.number)
        return np.asarray(_times(impostors.below(values)[side], n_genuine) >= missed)

    last, first = (_first(partial(is_reached, side), grid) for side in (0, 1))
    return float(grid[last]), impostors.overlap(grid[first - 1] if first else -np.inf, grid[last])


def _first(holds: Callable[[Doubles], Mask], grid: Doubles) -> int:
    """Return the place of the first value that a condition holds for, as it does for all later."""
    coarse = np.append(np.arange(255, len(grid) - 1, 256), len(grid) - 1)
    k = int(np.argmax(holds(grid[coarse])))
    start = coarse[k - 1] + 1 if k else 0
    return int(start + np.argmax(holds(grid[start:coarse[k] + 1])))


def rate_where_equal(accepted: tuple[int, int], before: tuple[int, int], n_impostor: int,
                     n_genuine: int) -> float:
    """Return the EER: where the line between two points of the curve has FAR = FRR.

    Both are numbers of impostor and genuine pairs: up to the threshold, and below it.

    Examples
    --------
    From FAR 0, FRR 1/2 to FAR 1/2, FRR 1/2; then the rates are equal at the second point:

    >>> rate_where_equal((1, 1), (0, 1), 2, 2)
    0.5
    """
    far, old_far = accepted[0] / n_impostor, before[0] / n_impostor
    missed, old_missed = ((n_genuine - count) / n_genuine for count in (accepted[1], before[1]))
    gap, old_gap = far - missed, old_missed - old_far
    return far if gap == 0 else old_far + (far - old_far) * old_gap / (gap + old_gap)


def crossing(impostors: Impostors, genuine: Genuine) -> tuple[float, Mask]:
    """Return the smallest threshold at which TAR - FAR is largest: there the densities cross."""
    n_genuine = int(genuine.up_to[-1])
    low, high = impostors.below(genuine.values)
    least, most = (_times(genuine.up_to, impostors.number) - _times(count, n_genuine)
                   for count in (high, low))
    best = least.max()
    candidates = genuine.values[most >= best]
    open_ = genuine.values[(most >= best) & (low != high)]
    return float(candidates[0]), impostors.overlap(open_, open_) if len(open_) else SETTLED


def fastreid_rates(impostors: Impostors, genuine: Genuine) -> tuple[dict[float, float], Mask]:
    """Return fast-reid's "TPR@FPR": its classes are exchanged, and it is no TAR at FAR.

    The share of impostors at or beyond the distance that the given share of genuine pairs
    reaches; read at the first of the nearest points of scikit-learn's curve, which leaves out
    points between equal steps.

    Source: fast-reid c9bc3ce, fastreid/evaluation/roc.py:24-61, reid_evaluation.py:117-124.
    """
    values = genuine.values[::-1]
    pairs = np.diff(np.append(0, genuine.up_to))[::-1]
    share = np.append(0, np.cumsum(pairs)) / genuine.up_to[-1]
    (below, _), (up_to, _) = bounds = [impostors.below(values, side) for side in ("left", "right")]
    is_open = np.logical_or(*(low != high for low, high in bounds))
    answers, needed = dict.fromkeys(FASTREID_RATES, 0.0), SETTLED.copy()
    for rate in FASTREID_RATES:
        for k in np.argsort(abs(share - rate), kind="stable") - 1:
            if k < 0:  # the corner (0, 0)
                break
            if is_open[k:k + 2].any():
                needed |= impostors.overlap(values[k:k + 2], values[k:k + 2])
                break
            if _is_kept(k, pairs, below, up_to, impostors.number):
                answers[rate] = float((impostors.number - below[k]) / impostors.number)
                break
    return answers, needed


def _is_kept(k: int, pairs: Integers, below: Integers, up_to: Integers, number: int) -> bool:
    """Return whether the curve has a point for a distance: at an end, or where steps differ."""
    if k == len(pairs) - 1 or (k == 0 and up_to[0] == number):
        return True
    if below[k] > up_to[k + 1]:  # the next step is of impostors alone
        return True
    tied = up_to - below
    return bool((pairs[k], tied[k]) != (pairs[k + 1], tied[k + 1]))
