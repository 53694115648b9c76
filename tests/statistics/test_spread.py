"""Sums of units: what is taken and refused. By hand: `test_definitions.py`."""
import numpy as np
import pytest

from reid_ref import InputError
from reid_ref.statistics import unit_sums


def test_labels_of_units_are_only_names():
    values, numbers = [.1, .9, .4, .3], np.array([5, 2, 5, 1])
    for unit in (numbers, numbers.astype("U"), numbers.astype(np.uint8), numbers / 2):
        np.testing.assert_array_equal(unit_sums(values, unit).value, [.3, .9, .5])


@pytest.mark.parametrize("arguments, message", [
    (([.5, .7], [1, 2], [True, False]),
     "unit: expected at least 2 units with a query that counts, got 1"),
    (([.5, .7], [1, 2, 3]), "unit: expected 2 entries, one for each query, got 3"),
    (([.5, np.nan], [1, 2]), "values: expected a number of every query that counts, got nan of "
                             "query 1: the mean is no number and has no interval"),
    (([.5, .7], [1, np.nan]), "unit: expected a number or a text for each query, got NaN"),
])
def test_bad_input(arguments, message):
    with pytest.raises(InputError, match=message):
        unit_sums(*arguments)
