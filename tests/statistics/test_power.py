"""The least p of a paired test, held to the test itself over every pattern of gains."""
from itertools import product

import numpy as np
import pytest

from reid_ref.statistics import paired, units

STEPS = -1, -.5, 0, .25, 1


@pytest.mark.parametrize("weight", [
    [1, 1], [1, 1, 1], [1, 1, 1, 1], [1] * 5, [3, 1, 1, 1], [9, 1, 1, 1], [4, 3, 2, 1], [2, 2, 5]])
def test_no_gains_have_a_smaller_p(weight):
    weight = np.array(weight, float)
    found = [paired.sign_flips(units.UnitSums(np.array(gains) * weight, weight), .05,
                               2**(len(weight) + 2), 1)[2]
             for gains in product(STEPS, repeat=len(weight))]
    assert paired.least_p(weight) == min(found)


@pytest.mark.parametrize("tests", [1, 2, 10, 45])
def test_the_fewest_units_are_those_of_the_test(tests):
    fewest = paired.fewest_units(tests, .05)
    p = {n: paired.sign_flips(units.UnitSums(np.ones(n), np.ones(n)), .05, 2**(n + 2), 1)[2]
         for n in (fewest - 1, fewest)}
    assert tests * p[fewest] < .05 <= tests * p[fewest - 1]


def test_a_unit_with_most_of_the_queries_decides_alone():
    assert paired.least_p(np.array([1000.] + [1] * 19)) == (2 + 2**19) / 2**21
    assert 0 <= paired.least_p(np.ones(2000)) < 1e-300
    assert paired.least_p(np.ones(1)) == paired.least_p(np.ones(0)) == 1


def test_units_are_weighted_by_the_queries_that_count():
    counted = np.array([True, True, False, True, False])
    np.testing.assert_array_equal(paired.unit_weights(list("babac"), counted), [2, 1])
