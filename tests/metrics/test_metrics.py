"""Hand-worked cases: seeds 000, 002, 003 and the consequences listed for compute_AP."""
import numpy as np
import pytest

import reid_ref
from reid_ref import metrics
from reid_ref.ranking.good_ranks import from_lists
from tests.proof import hand_cases

# Two queries, two similarities, five returned of five that exist.
SIMILARITY1 = from_lists([[1, 4, 5], [2, 3, 4]], n_good=5, n_kept=5)
SIMILARITY2 = from_lists([[2, 3, 4], [1, 3, 4]], n_good=5, n_kept=5)


@pytest.mark.parametrize(("ranks", "ap", "mean_ap"), [
    (SIMILARITY1, [0.39333333333333333, 0.30833333333333333], 0.35083333333333333),
    (SIMILARITY2, [0.30833333333333333, 0.45833333333333333], 0.38333333333333333),
])
def test_trapezoid_of_truncated_lists(ranks, ap, mean_ap):
    answer = metrics.average_precision_trapezoid(ranks)
    np.testing.assert_allclose(answer, ap, rtol=1e-15)
    np.testing.assert_allclose(metrics.mean_in_order(answer), mean_ap, rtol=1e-15)


@pytest.mark.parametrize("ranks", [SIMILARITY1, SIMILARITY2])
def test_cmc_of_truncated_lists(ranks):
    answer = metrics.cumulative_matching(ranks.first_match, 5, 2)
    np.testing.assert_array_equal(answer, [0.5, 1, 1, 1, 1])


def test_step_and_inp_of_seed_002():
    ranks = from_lists([[1, 2, 10], [1, 4, 5]])
    np.testing.assert_allclose(
        metrics.average_precision_step(ranks), [23 / 30, 0.7], rtol=1e-15)
    np.testing.assert_array_equal(metrics.inverse_negative_penalty(ranks), [0.3, 0.6])


def test_step_of_seed_003():
    np.testing.assert_allclose(
        metrics.average_precision_step(from_lists([[1, 3]])), [5 / 6], rtol=1e-15)


def test_a_perfect_prefix_is_1_under_both_rules():
    ranks = from_lists([[1, 2, 3, 4]], n_kept=9)
    np.testing.assert_array_equal(metrics.average_precision_trapezoid(ranks), [1.0])
    np.testing.assert_array_equal(metrics.average_precision_step(ranks), [1.0])


def test_trapezoid_uses_the_precision_of_the_position_before():
    # One hit, at rank 3: precision 1/3 there and 0 at rank 2.
    answer = metrics.average_precision_trapezoid(from_lists([[3]]))
    np.testing.assert_array_equal(answer, [1 / 3 / 2])


@pytest.mark.parametrize("rule", [
    metrics.average_precision_trapezoid, metrics.average_precision_step])
def test_no_good_image_is_nan_but_nothing_kept_is_zero(rule):
    answer = rule(from_lists([[], [], [1]], n_good=[0, 0, 1], n_kept=[7, 0, 7]))
    np.testing.assert_array_equal(answer, [np.nan, 0.0, 1.0])


@pytest.mark.parametrize("rule", [
    metrics.average_precision_trapezoid, metrics.average_precision_step])
def test_good_images_without_any_rank_are_zero(rule):
    np.testing.assert_array_equal(rule(from_lists([[]], n_good=2, n_kept=7)), [0.0])


def test_inp_needs_every_good_image():
    ranks = from_lists([[1, 2], [], [2]], n_good=[3, 0, 1], n_kept=5)
    np.testing.assert_array_equal(
        metrics.inverse_negative_penalty(ranks), [np.nan, np.nan, 0.5])


def test_cmc_leaves_out_those_who_never_match_and_ranks_beyond_its_end():
    answer = metrics.cumulative_matching(np.array([0, 1, 3, 9]), length=4, n_query=4)
    np.testing.assert_array_equal(answer, [0.25, 0.25, 0.5, 0.5])


def test_sums_run_in_order():
    # 1 + 1e-16 ten times stays 1 when added in order; pairwise addition gives more.
    values = np.array([1.0] + [1e-16] * 127)
    assert metrics.mean_in_order(values) == 1.0 / 128
    assert np.mean(values) != 1.0 / 128


# Only the script's own walk takes an image twice.
@pytest.mark.parametrize(
    "name", sorted(set(hand_cases.AP) - {"the walk ends when as many are seen as exist"}))
def test_a_ranked_list_of_indices_against_the_hand_cases(name):
    good, junk, index, ap, cmc = hand_cases.AP[name]
    answer = reid_ref.evaluate_ranked_list(index, good, junk)
    np.testing.assert_allclose(answer[0], float(ap), rtol=1e-15)
    np.testing.assert_array_equal(answer[1], cmc)


def test_mistaken_trapezoid_of_truncated_lists():
    # Precision at the hit before, not at the position before; good images at 1, 4, 5 of five.
    ranks = from_lists([[1, 4, 5], [2, 3, 4]], n_good=5)
    np.testing.assert_allclose(
        metrics.average_precision_mistaken_trapezoid(ranks),
        [((1 + 1) + (1 + 1 / 2) + (1 / 2 + 3 / 5)) / 2 / 5,
         ((0 + 1 / 2) + (1 / 2 + 2 / 3) + (2 / 3 + 3 / 4)) / 2 / 5], rtol=1e-15)


def test_precision_and_recall_table_of_seed_000():
    # Green apple, similarity 1: right at 1, 4, 5; similarity 2: at 2, 3, 4; five exist.
    precision, recall = metrics.precision_recall_curve(
        from_lists([[1, 4, 5], [2, 3, 4]], n_good=5), 5)
    np.testing.assert_allclose(precision, [[1, 1 / 2, 1 / 3, 1 / 2, 3 / 5],
                                           [0, 1 / 2, 2 / 3, 3 / 4, 3 / 5]], rtol=1e-15)
    np.testing.assert_allclose(recall, [[.2, .2, .2, .4, .6], [0, .2, .4, .6, .6]], rtol=1e-15)


def test_simpleir_of_seed_004_at_top_k():
    ranks = from_lists([[2, 3, 9], [7]], n_good=[3, 1], n_kept=10)
    np.testing.assert_array_equal(metrics.accuracy_at(ranks, 5), [1, 0])
    np.testing.assert_array_equal(metrics.precision_at(ranks, 5), [2 / 5, 0])
    np.testing.assert_array_equal(metrics.recall_at(ranks, 5), [2 / 3, 0])


def test_recall_of_nothing_is_nan():
    np.testing.assert_array_equal(metrics.recall_at(from_lists([[]], n_kept=4), 2), [np.nan])


def test_all_shots_by_hand():
    # Hits at 1 and 3 of three, and at 2: places among the wrong ones 0, 1 and 1.
    ranks = from_lists([[1, 3], [2]])
    np.testing.assert_array_equal(
        metrics.cumulative_matching_all_shots(ranks, 3, 2), [0.25, 1.0, 1.0])


def test_unknown_ap_rule():
    with pytest.raises(reid_ref.InputError, match="ap: unknown 'steps'; known: .*mean 'st"):
        reid_ref.evaluate_ranked_list([1], [1], ap="steps")
