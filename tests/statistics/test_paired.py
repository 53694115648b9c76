"""Paired tests: against scipy, and every choice of signs.

Against the definition in plain Python, and by hand: the checks of `test_mutants.py`; of real
lists: `test_compare.py`.
"""
import itertools
import math

import numpy as np
import pytest
import scipy.stats

from reid_ref import InputError
from reid_ref.statistics import difference, interval
from reid_ref.statistics.paired import sign_flips
from tests.statistics.test_interval import SEEDED


def chance(p, resamples=10_000):
    """Four standard errors of a p-value that is a share of resamples."""
    return 4 * math.sqrt(p * (1 - p) / resamples)


def every_choice(values):
    """p by every choice of signs, and the share that is truly larger."""
    sums = [abs(sum(sign * value for sign, value in zip(signs, values)))
            for signs in itertools.product((1, -1), repeat=len(values))]
    return np.mean(np.array(sums) >= abs(sum(values)))


@pytest.mark.parametrize("seed", range(3))
def test_few_units_try_every_choice(seed):
    """Multiples of 1/16, so that many sums are equal."""
    values = np.random.default_rng(seed).integers(-8, 10, 10) / 16
    moved = [one for one in values.tolist() if one]
    assert sign_flips(values, 10_000, 0) == (every_choice(moved), 2 ** len(moved))


@pytest.mark.parametrize("units", [8, 40])
def test_scipys_permutation_test(units):
    rng = np.random.default_rng(units)
    one, two = rng.random((2, units))
    two += .07
    found = scipy.stats.permutation_test(
        (one, two), lambda a, b, axis: np.sum(b - a, axis=axis), permutation_type="samples",
        vectorized=True, n_resamples=10_000, **{SEEDED: np.random.default_rng(0)})
    p = sign_flips(two - one, 10_000, 1)[0]
    # Every choice of 8; of 40 both draw.
    slack = 1e-12 if units == 8 else 1.5 * chance(found.pvalue)
    assert p == pytest.approx(found.pvalue, abs=slack)


def test_against_nothing_the_difference_is_the_mean():
    rng = np.random.default_rng(5)
    values, unit = .3 + .4 * rng.random(80), rng.integers(0, 25, 80)
    found, alone = difference(np.zeros(80), values, unit), interval(values, unit)
    assert (found.difference, found.low, found.high) == (alone.value, alone.low, alone.high)


@pytest.mark.parametrize("change, message", [
    ({"seed": -3}, "seed: expected a whole number from 0, got -3"),
    ({"level": 5}, "level: expected percent from 50 to below 100"),
    ({"unit": [1, 2]}, "unit: expected 3 entries, one for each query, got 2"),
    ({"unit": [1, 1, 1]}, "unit: expected at least 2 units"),
    ({"other": [.5, .5]}, "other: expected 3 values, one for each of baseline, got 2"),
    ({"other": [.5, .5, np.nan]}, "values: expected a number of every query that counts"),
])
def test_bad_input(change, message):
    arguments = {"baseline": [.1, .2, .3], "other": [.3, .2, .1], "unit": [1, 2, 3], **change}
    with pytest.raises(InputError, match=message):
        difference(**arguments)
