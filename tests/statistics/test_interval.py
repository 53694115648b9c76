"""Intervals and paired tests: against scipy, worked cases, and every choice of signs.

Against the definitions in plain Python: the cases of `test_definitions.py`.
"""
import inspect
import itertools
import math
import warnings

import numpy as np
import pytest
import scipy.special
import scipy.stats

from reid_ref import InputError
from reid_ref.statistics import UnitSums, difference, interval, unit_sums
from reid_ref.statistics.interval import bootstrap_t
from reid_ref.statistics.paired import sign_flips
from tests.statistics import cityflow

#: scipy renamed the argument.
SEEDED = ("rng" if "rng" in inspect.signature(scipy.stats.bootstrap).parameters
          else "random_state")


def some(seed, units=25, queries=90):
    rng = np.random.default_rng(seed)
    unit = rng.integers(0, units, queries)
    return np.clip(rng.random(units)[unit] + .3 * rng.standard_normal(queries), 0, 1), unit


def test_an_end_outside_of_what_can_be_is_not_taken():
    values = np.concatenate([np.full(21, .95), np.linspace(0, .9, 4)])
    (low, _), = bootstrap_t([unit_sums(values, np.arange(25))], .05, 199, 1)
    assert -1 < low < 0  # finite, by a resample with hardly a spread
    for one in (values, 1 - values):
        found = interval(one, range(25), resamples=199, seed=1)
        assert found == interval(one, range(25), method="analytic")


def test_order_of_queries_and_names_of_units_move_at_most_rounding():
    values, unit = some(8)
    order = np.random.default_rng(0).permutation(len(values))
    one, other = interval(values, unit), interval(values[order], unit[order] + 1000)
    np.testing.assert_allclose([one.low, one.high], [other.low, other.high], rtol=0, atol=1e-12)


def scipys(sums, method):
    def ratio(value, weight, axis):
        return value.sum(axis=axis) / weight.sum(axis=axis)

    return scipy.stats.bootstrap(
        (sums.value, sums.weight), ratio, paired=True, vectorized=True, n_resamples=10_000,
        batch=500, method=method, **{SEEDED: np.random.default_rng(0)})


@pytest.mark.parametrize("name", ["mat", "match30500_baseline"])
@pytest.mark.parametrize("metric", ["mAP", "Rank-1"])
def test_bootstrap_t_is_near_scipys_bca(name, metric):
    """Both are right to the second order, so on 333 units they nearly agree."""
    values, identity = cityflow.values(name)[metric], cityflow.identities("query")
    with warnings.catch_warnings(record=True):
        low, high = scipys(unit_sums(values, identity), "BCa").confidence_interval
    found = interval(values, identity)
    np.testing.assert_allclose([found.low, found.high], [low, high], rtol=0, atol=.3 * found.se)
    assert found.high - found.low == pytest.approx(high - low, rel=.1)


@pytest.mark.parametrize("level", [90, 95, 99])
def test_analytic_by_scipy(level):
    values, unit = some(2)
    found = interval(values, unit, method="analytic", level=level)
    t = scipy.stats.t.ppf(.5 + level / 200, found.units - 1)
    half = t * found.se / (found.value * (1 - found.value))
    ends = scipy.special.expit(scipy.special.logit(found.value) + np.array([-half, half]))
    np.testing.assert_allclose([found.low, found.high], ends, rtol=0, atol=1e-12)
    assert (found.method, found.resamples, found.seed) == ("analytic", 0, None)


@pytest.mark.parametrize("options, message", [
    ({"level": .95}, "level: expected percent from 50 to below 100, such as 95, got 0.95"),
    ({"seed": -1}, "seed: expected a whole number from 0, got -1"),
    ({"resamples": True}, "resamples: expected a whole number from 1 to 1000000, got True"),
    ({"resamples": 198, "level": 99}, "resamples: expected at least 199 for this level"),
    ({"method": "percentile"}, "method: unknown 'percentile'; known: bootstrap-t, analytic"),
])
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        interval(*some(0), **options)


@pytest.mark.parametrize("value", [1 - 2.0**-53, 1 + 2.0**-52])
def test_all_right_but_for_rounding(value):
    """layumi's AP adds up n times 1/n, which need not be 1."""
    found = interval(np.full(30, value), range(30))
    assert found.method == "exact" and found.high == found.value == pytest.approx(1, abs=1e-15)
    assert found.low**30 == pytest.approx(.025, abs=1e-12)


@pytest.mark.parametrize("values", [np.full(40, .5), np.tile([1., 0], 20)])
def test_no_spread_is_no_certainty(values):
    """All alike at rank 2, or one right and one wrong query of each identity: not exact."""
    found = interval(values, np.arange(40) // 2)
    # Of 20 identities: a share of up to 1 - .025**(1/20) of all may be of a kind not drawn.
    share = 1 - .025**(1 / 20)
    assert (found.method, found.se, found.value) == ("unseen", 0, .5)
    np.testing.assert_allclose([found.low, found.high], [.5 - .5 * share, .5 + .5 * share],
                               rtol=1e-14)


def chance(p, resamples=10_000):
    """Four standard errors of a p-value that is a share of resamples."""
    return 4 * math.sqrt(p * (1 - p) / resamples)


def every_choice(values):
    """p by every choice of signs, and the share that is truly larger."""
    sums = [abs(sum(sign * value for sign, value in zip(signs, values)))
            for signs in itertools.product((1, -1), repeat=len(values))]
    return np.mean(np.array(sums) >= abs(sum(values)))


@pytest.mark.parametrize("units", [8, 40])
def test_scipys_permutation_test(units):
    rng = np.random.default_rng(units)
    one, two = rng.random((2, units))
    two += .07
    largest = np.abs(two - one).max()  # of the two imagined units
    found = scipy.stats.permutation_test(
        ([*one, 0, largest], [*two, largest, 0]), lambda a, b, axis: np.sum(b - a, axis=axis),
        permutation_type="samples", vectorized=True, n_resamples=10_000,
        **{SEEDED: np.random.default_rng(0)})
    p = sign_flips(UnitSums(two - one, np.ones(units)), .05, 10_000, 1)[2]
    # Every choice of 8; of 40 both draw.
    slack = 1e-12 if units == 8 else 1.5 * chance(found.pvalue)
    assert p == pytest.approx(found.pvalue, abs=slack)


@pytest.mark.parametrize("change, message", [
    ({"unit": [1, 2]}, "unit: expected 3 entries, one for each query, got 2"),
    ({"other": [.5, .5]}, "other: expected 3 values, one for each of baseline, got 2"),
])
def test_bad_input_of_a_difference(change, message):
    arguments = {"baseline": [.1, .2, .3], "other": [.3, .2, .1], "unit": [1, 2, 3], **change}
    with pytest.raises(InputError, match=message):
        difference(**arguments)
