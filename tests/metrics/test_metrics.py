"""A single ranked list, worked by hand as for the script.

All metrics of one table of ranks: the checks of `tests/proof/test_fast_mutants.py`.
"""
import numpy as np
import pytest

import reid_ref
from reid_ref import metrics
from tests.proof import hand_cases

TRAPEZOID, STEP = metrics.average_precision_trapezoid, metrics.average_precision_step


# Only the script's own walk takes an image twice.
@pytest.mark.parametrize(
    "name", sorted(set(hand_cases.AP) - {"the walk ends when as many are seen as exist"}))
def test_a_ranked_list_of_indices_against_the_hand_cases(name):
    good, junk, index, ap, cmc = hand_cases.AP[name]
    answer = reid_ref.evaluate_ranked_list(index, good, junk)
    np.testing.assert_allclose(answer[0], float(ap), rtol=1e-15)
    np.testing.assert_array_equal(answer[1], cmc)


def test_unknown_ap_rule():
    with pytest.raises(reid_ref.InputError, match="ap: unknown 'steps'; known: .*mean 'st"):
        reid_ref.evaluate_ranked_list([1], [1], ap="steps")
