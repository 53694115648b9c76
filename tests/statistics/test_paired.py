"""Paired tests: against scipy, and every choice of signs.

Against the definition in plain Python, and Holm's by hand: the checks of `test_mutants.py`.
"""
import itertools
import math

import numpy as np
import pytest
import scipy.stats

from reid_ref import InputError
from reid_ref.statistics import difference, interval
from reid_ref.statistics.paired import sign_flips
from tests.statistics import cityflow
from tests.statistics.test_interval import SEEDED

#: Baseline, other, metric, difference, standard error by identity, p of 100,000 sign flips by
#: numpy's generator, units better / worse / same: computed apart from this package.
PAIRS = [
    ("match6500", "mat", "mAP", 0.010676583543, 0.007289796577, .144, (177, 149, 7)),
    ("match6500", "mat", "Rank-1", 0.015209125475, 0.017220691075, .411, (70, 67, 196)),
    ("mat", "match28000_Mslm", "mAP", 0.012254154454, 0.004811049050, .0117, (189, 136, 8)),
    ("mat", "match28000_Mslm", "Rank-1", 0.024714828897, 0.012802807264, .0635, (58, 46, 229)),
]


def chance(p, resamples=10_000):
    """Four standard errors of a p-value that is a share of resamples."""
    return 4 * math.sqrt(p * (1 - p) / resamples)


@pytest.mark.parametrize("baseline, other, metric, mean, error, p, units", PAIRS)
def test_submitted_lists(baseline, other, metric, mean, error, p, units):
    identity = cityflow.identities("query")
    one, two = cityflow.values(baseline)[metric], cityflow.values(other)[metric]
    found = difference(one, two, identity)
    assert found.difference == pytest.approx(mean, abs=1e-12)
    assert found.se == pytest.approx(error, abs=1e-12)
    assert found.detectable == pytest.approx(2.8 * error, abs=3e-12)
    assert found.p == pytest.approx(p, abs=chance(p)) and found.trials == 10_000
    assert (found.better, found.worse, found.same) == units
    back = difference(two, one, identity)
    assert (back.p, back.better, back.worse) == (found.p, units[1], units[0])


def test_lists_that_are_the_same_have_p_of_exactly_1():
    """mat.txt and track2.txt hold the same lists in two spellings."""
    identity = cityflow.identities("query")
    for metric in ("mAP", "Rank-1"):
        one, two = (cityflow.values(name)[metric] for name in ("mat", "track2"))
        found = difference(one, two, identity)
        assert (found.p, found.difference, found.low, found.high) == (1, 0, 0, 0)
        assert (found.better, found.worse, found.same, found.detectable) == (0, 0, 333, 0)


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


def test_difference_by_hand():
    """Identity 1 gains 1/2 in two queries, 2 loses 1/4, 3 does not change, 4 does not count."""
    with pytest.warns(UserWarning, match="only 3 units"):
        found = difference([0, 0, .5, .5, np.nan], [.25, .25, .25, .5, 1], [1, 1, 2, 3, 4],
                           [True, True, True, True, False], resamples=99)
    assert found.difference == .25 / 4 and (found.better, found.worse, found.same) == (1, 1, 1)
    errors = np.array([.5 - 2 / 16, -.25 - 1 / 16, -1 / 16])
    assert found.se == pytest.approx(math.sqrt(1.5 * (errors**2).sum()) / 4, abs=1e-15)
    # Signs of 1/2 and -1/4: sums 1/4, 3/4 and their mirror images.
    assert (found.p, found.trials) == (1, 4)


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
