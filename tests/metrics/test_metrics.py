"""Worked by hand: the lists of compute_AP, and values of lists that are cut short or hollow.

All metrics of one table of ranks: the checks of `tests/proof/test_fast_mutants.py`.
"""
import numpy as np
import pytest

import reid_ref
from reid_ref import metrics
from reid_ref.ranking.good_ranks import from_lists
from tests.proof import hand_cases

TRAPEZOID, STEP = metrics.average_precision_trapezoid, metrics.average_precision_step


@pytest.mark.parametrize(("rule", "lists", "counts", "expected"), [
    # Two queries, two similarities, five returned of five that exist.
    (TRAPEZOID, [[1, 4, 5], [2, 3, 4]], {"n_good": 5}, [59 / 150, 37 / 120]),
    (TRAPEZOID, [[2, 3, 4], [1, 3, 4]], {"n_good": 5}, [37 / 120, 11 / 24]),
    (STEP, [[1, 2, 10], [1, 4, 5], [1, 3]], {}, [23 / 30, 0.7, 5 / 6]),
    # A perfect prefix; one hit, at rank 3: precision 1/3 there and 0 at rank 2.
    (TRAPEZOID, [[1, 2, 3, 4], [3]], {"n_kept": 9}, [1, 1 / 3 / 2]),
    (STEP, [[1, 2, 3, 4]], {"n_kept": 9}, [1]),
    # No good image, nothing kept, good images without any rank.
    *((rule, [[], [], [], [1]], {"n_good": [0, 0, 2, 1], "n_kept": [7, 0, 7, 7]},
       [np.nan, 0, 0, 1]) for rule in (TRAPEZOID, STEP)),
    (metrics.inverse_negative_penalty, [[1, 2, 10], [1, 4, 5]], {}, [0.3, 0.6]),
    (metrics.inverse_negative_penalty, [[1, 2], [], [2]], {"n_good": [3, 0, 1], "n_kept": 5},
     [np.nan, np.nan, 0.5]),
])
def test_by_hand(rule, lists, counts, expected):
    np.testing.assert_allclose(rule(from_lists(lists, **counts)), expected, rtol=1e-15)


# Only the script's own walk takes an image twice.
@pytest.mark.parametrize(
    "name", sorted(set(hand_cases.AP) - {"the walk ends when as many are seen as exist"}))
def test_a_ranked_list_of_indices_against_the_hand_cases(name):
    good, junk, index, ap, cmc = hand_cases.AP[name]
    answer = reid_ref.evaluate_ranked_list(index, good, junk)
    np.testing.assert_allclose(answer[0], float(ap), rtol=1e-15)
    np.testing.assert_array_equal(answer[1], cmc)


def test_precision_and_recall():
    """Green apple, similarity 1: right at 1, 4, 5; similarity 2: at 2, 3, 4; five exist."""
    precision, recall = metrics.precision_recall_curve(
        from_lists([[1, 4, 5], [2, 3, 4]], n_good=5), 5)
    np.testing.assert_allclose(precision, [[1, 1 / 2, 1 / 3, 1 / 2, 3 / 5],
                                           [0, 1 / 2, 2 / 3, 3 / 4, 3 / 5]], rtol=1e-15)
    np.testing.assert_allclose(recall, [[.2, .2, .2, .4, .6], [0, .2, .4, .6, .6]], rtol=1e-15)
    np.testing.assert_array_equal(metrics.recall_at(from_lists([[]], n_kept=4), 2), [np.nan])


def test_unknown_ap_rule():
    with pytest.raises(reid_ref.InputError, match="ap: unknown 'steps'; known: .*mean 'st"):
        reid_ref.evaluate_ranked_list([1], [1], ap="steps")
