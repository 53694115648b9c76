"""p of many comparisons: Holm's method multiplies the least p, so small ones take more flips.

The flipped sum of a pair is the difference of those of its two systems, so that each system is
flipped once for all pairs. Values are rounded to multiples of a power of two, whose sums are exact
in any order: a matrix product gives p the same digits on every processor.
"""
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles
from reid_ref.statistics.paired import Difference, largest_gain
from reid_ref.statistics.units import (
    MOST_RESAMPLES, RESAMPLES, UnitSums, choices_of_signs, unit_sums, without_rounding)

#: How many choices of signs as large as the data's are to be expected at a p that decides.
ENOUGH = 20
#: What is below this is counted again.
SMALL = ENOUGH / RESAMPLES
#: Bits of a sum over all queries; a difference of two, with the imagined units, has 53 at most.
BITS = 50


def flips_for(tests: int, alpha: float) -> int:
    """Return how many flips show a p of alpha / tests.

    Examples
    --------
    >>> flips_for(25, .05), flips_for(780, .05)
    (10000, 312000)
    """
    return min(MOST_RESAMPLES, max(RESAMPLES, math.ceil(ENOUGH * tests / alpha - 1e-9)))


def recounted(tests: Sequence[Difference], pairs: Sequence[tuple[Any, Any, Any]], unit: Any,
              flips: int, seed: int) -> list[Difference]:
    """Return the tests of pairs of systems, each p that is small of so many other flips.

    `pairs` are those of `differences`, over the same queries; if all choices of signs were
    tried, p stays.
    """
    small = [k for k, test in enumerate(tests) if test.p < SMALL and test.trials == RESAMPLES]
    if flips <= RESAMPLES or not small:
        return list(tests)
    again = list(tests)
    for k, count in zip(small, _as_large([pairs[k] for k in small], unit, flips, seed)):
        again[k] = replace(tests[k], p=(count + 1) / (flips + 1), trials=flips)
    return again


def _as_large(pairs: Sequence[tuple[Any, Any, Any]], unit: Any, flips: int,
              seed: int) -> list[int]:
    """Return how many of the flips give each pair as large a sum as it has."""
    counted = pairs[0][2]
    values = {id(system): system for pair in pairs for system in pair[:2]}
    sums = [unit_sums(system, unit, counted) for system in values.values()]
    weight, row = sums[0].weight, {system: k for k, system in enumerate(values)}
    scale = 2.0 ** (BITS - math.frexp(sums[0].total)[1])
    columns = np.rint(scale * np.stack([system.value for system in sums]))
    rows = [(row[id(before)], row[id(after)]) for before, after, _ in pairs]
    gains = [without_rounding(sums[after].value - sums[before].value, weight)
             for before, after in rows]
    imagined = [np.copysign(np.rint(scale * largest_gain(UnitSums(gain, weight))), gain.sum())
                for gain in gains]  # as in `sign_flips`
    # Equal sums may differ by half a step for each unit of each system.
    least = [abs(columns[after].sum() - columns[before].sum()) - 2 * len(weight)
             for before, after in rows]
    counts = [0] * len(pairs)
    for signs in choices_of_signs(len(weight) + 2, 0, flips, seed):
        flipped, both = columns @ signs[2:], signs[0] - signs[1]
        for k, (before, after) in enumerate(rows):
            beyond: Doubles = np.abs(flipped[after] - flipped[before] + imagined[k] * both)
            counts[k] += int(np.count_nonzero(beyond >= least[k]))
    return counts
