"""Intervals and paired tests: what is exact, unseen or refused.

Against the definitions in plain Python: the cases of `test_definitions.py`.
"""
import numpy as np
import pytest

from reid_ref import InputError
from reid_ref.statistics import difference, interval, unit_sums
from reid_ref.statistics.interval import bootstrap_t


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


@pytest.mark.parametrize("change, message", [
    ({"unit": [1, 2]}, "unit: expected 3 entries, one for each query, got 2"),
    ({"other": [.5, .5]}, "other: expected 3 values, one for each of baseline, got 2"),
])
def test_bad_input_of_a_difference(change, message):
    arguments = {"baseline": [.1, .2, .3], "other": [.3, .2, .1], "unit": [1, 2, 3], **change}
    with pytest.raises(InputError, match=message):
        difference(**arguments)
