"""Standard errors, design effects and intraclass correlation: no random numbers.

By hand: the cases of `test_definitions.py`.
"""
import numpy as np
import pytest

from reid_ref import InputError
from reid_ref.statistics import design_effect, standard_error, unit_sums
from tests.statistics import cityflow

#: List, metric, mean, standard error by query and by identity, design effect: computed apart from
#: this package, from the same lists.
LISTS = [
    ("match28000_Mslm", "mAP", 0.27583642683733, 0.008718109797, 0.015739740862, 3.259496),
    ("match30500_baseline", "Rank-1", 0.39828897338403, 0.015100515333, 0.023450002661, 2.411583),
    ("match6500", "Rank-1", 0.46197718631179, 0.015378332702, 0.024070498114, 2.449919),
    ("track2", "mAP", 0.26358227238296, 0.008584249788, 0.015327222267, 3.188029),
]


@pytest.mark.parametrize("name, metric, mean, by_query, by_identity, effect", LISTS)
def test_submitted_lists(name, metric, mean, by_query, by_identity, effect):
    values, identity = cityflow.values(name)[metric], cityflow.identities("query")
    units, queries = unit_sums(values, identity), unit_sums(values, np.arange(len(values)))
    assert (len(units.weight), len(queries.weight)) == (333, 1052)
    # As many digits as are written down.
    assert units.mean == pytest.approx(mean, abs=1e-12)
    assert standard_error(units) == pytest.approx(by_identity, abs=1e-12)
    assert standard_error(queries) == pytest.approx(by_query, abs=1e-12)
    assert design_effect(units, queries) == pytest.approx(effect, abs=6e-7)


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
