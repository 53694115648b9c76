"""What cannot be known, or has no distance: NaN, images after a cut, queries without a match."""
import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, IndexLists, Labels
from reid_ref.conventions import AP, CMC, TIES
from reid_ref.evaluation.groups import by_group
from reid_ref.evaluation.functions import evaluate_ranked_list
from reid_ref.matlab import compute_AP
from reid_ref.ranking.good_ranks import from_index, in_order, reverse_ties
from reid_ref.result import query_values
from tests.cases import market_like
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def matlab(**changes):
    return CONVENTIONS["matlab"].replace(**changes)


def same(result, expected):
    for name in ("mAP", "mINP", "cmc"):
        np.testing.assert_array_equal(getattr(result, name), getattr(expected, name), name)
    for name in ("ap", "inp", "first_match"):
        np.testing.assert_array_equal(getattr(result.per_query, name),
                                      getattr(expected.per_query, name), name)


# ---------------------------------------------------------------- one order

def conventions_of(ties):
    """Every AP rule and curve under an order of ties."""
    rules = [ap for ap, rule in AP.items() if rule.grouped] if TIES[ties].grouped else AP
    return [matlab(name=f"{ap} {cmc}", ap=ap, cmc=cmc, ties=ties) for ap in rules for cmc in CMC]


@pytest.mark.parametrize("ties", TIES)
def test_nan_is_farther_than_every_number(ties):
    """One NaN in a row is as a number that is larger than the others.

    Where it stands moves numpy's order of the others' ties, so that is tried without any.
    """
    distances, query, gallery = market_like(3, levels=None if TIES[ties].sorts else 9)
    rows, columns = np.arange(len(query)), np.random.default_rng(0).integers(
        0, len(gallery), len(query))
    good = query.identity[:, np.newaxis] == gallery.identity
    columns = np.where(good.any(axis=1) & (rows % 2 == 0), good.argmax(axis=1), columns)
    results = []
    for value in (np.nan, 100):
        distances[rows, columns] = value
        results.append(reid_ref.evaluate_distances(distances, query, gallery,
                                                   convention=conventions_of(ties)))
    for name, result in results[0].items():
        same(result, results[1][name])


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(("dtype", "least"), [
    ("uint64", 2**63), ("int64", -2**63), ("int8", -128)])
def test_whole_numbers_keep_their_order(ties, dtype, least):
    """The largest and the smallest of them, which doubles or a minus sign would merge or turn."""
    distances, query, gallery = market_like(5, levels=100)
    place = np.argsort(distances, axis=1, kind="stable").argsort(axis=1)  # no ties
    same(*(reid_ref.evaluate_distances(given, query, gallery, convention=matlab(
        ties=ties, cmc="identities", ap="sklearn-0.19")) for given in (
            place, (np.array(least, dtype) + place.astype(dtype)))))


def test_the_reversed_order_of_numbers():
    row = np.array([2, 0, 1], np.uint64) + np.uint64(2**63)
    assert in_order(row, "numpy-reversed").tolist() == [1, 2, 0]
    row = np.array([.3, np.nan, .1, -np.inf, np.inf])
    assert in_order(row, "numpy-reversed").tolist() == [3, 2, 0, 4, 1]


@pytest.mark.parametrize("rule", ["sklearn-0.18", "sklearn-0.19"])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_a_cut_list_ends_within_a_tie(rule, k):
    problem = market_like(2, levels=4)
    results = reid_ref.evaluate_distances(*problem, convention=[
        matlab(name="whole", ap=rule), matlab(name="cut", ap=rule, top_k=k)])
    cut, whole = results["cut"], results["whole"]
    np.testing.assert_array_equal(cut.per_query.ap, whole.at(k).per_query["ap"])
    assert cut.mAP == whole.at(k).mAP == cut.at(k + 5).mAP
    # Two good images and a wrong one at one distance: of the first alone precision is 1.
    tied = reid_ref.evaluate_distances(
        [[1, 1, 1]], Labels([7], [1]), Labels([7, 8, 7], [2] * 3),
        convention=matlab(ap=rule, top_k=1))
    assert tied.mAP == .5


# ---------------------------------------------------------------- lists that end early

def listed(index, good, junk, **changes):
    """One ranked list of a gallery of six images, by index lists."""
    return reid_ref.evaluate_ranked_lists(
        [index], Labels([7], [1]), Labels([7] * 6, [1] * 6), lists=IndexLists([good], [junk]),
        convention=CONVENTIONS["veri"].replace(**changes))


@pytest.mark.parametrize("good", [[], [1], [1, 4]])
@pytest.mark.parametrize("junk", [[], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize("index", [[], [0], [2, 0], [0, 1], [5], [2, 5, 1], [0, 4, 3, 1, 2, 5]])
def test_one_list_through_every_door(index, good, junk):
    """As the script has it: a list of junk alone has AP 0, also without a good image."""
    result = listed(index, good, junk)
    by_script = compute_AP(good, junk, index)
    for ap, cmc in ((result.mAP, result.cmc[:len(index)]),
                    evaluate_ranked_list(index, good, junk)):
        np.testing.assert_array_equal(ap, by_script[0])
        np.testing.assert_array_equal(cmc, by_script[1])
    n_kept = len(set(index) - set(junk))
    precision, _ = reid_ref.precision_recall(result, 0)
    assert result.ranks.n_kept.tolist() == [n_kept] == [len(precision)]


@pytest.mark.parametrize("ap", AP)
def test_every_rule_has_ap_0_of_junk_alone(ap):
    for index in ([], [0], [2, 0]):
        assert listed(index, [], [0, 2], ap=ap).mAP == 0
        assert evaluate_ranked_list(index, [], [0, 2], ap)[0] == 0


def test_a_query_is_unmatched_where_no_list_could_hold_a_match():
    """Junk alone is listed: of a query with a good image that is after the cut, or without one."""
    query, gallery = Labels([7, 9], [1, 1]), Labels([-1, 7], [2, 2])
    result = reid_ref.evaluate_ranked_lists([[0], [0]], query, gallery)
    assert result.per_query.status.tolist() == ["ok", "nothing kept"]
    assert result.mAP == 0 and np.isnan(result.mINP)
    np.testing.assert_array_equal(by_group(result).mINP, [np.nan, 0])


# ---------------------------------------------------------------- unknown is not zero

@pytest.mark.parametrize("unmatched", ["zero", "drop", "drop-from-map", "drop-from-cmc"])
def test_inp_after_a_cut_is_unknown(unmatched):
    """In the mean, in groups and in an interval; a query without a match is not unknown."""
    query, gallery = Labels([7, 8, 9], [1] * 3), Labels([7, 8, 7], [2] * 3)
    convention = matlab(unmatched=unmatched)

    def of(lists):
        return reid_ref.evaluate_ranked_lists(lists, query, gallery, convention=convention)
    result = of([[0, 1], [0, 1], [1]])
    assert np.isnan(result.mINP) and not np.isnan(result.mAP)
    np.testing.assert_array_equal(by_group(result).mINP[:2], [np.nan, .5])
    refused("measure", "mINP", result.interval, "mINP")
    whole = of([[0, 1, 2], [0, 1], [1]])
    n = 3 if unmatched in ("zero", "drop-from-cmc") else 2
    assert whole.mINP == (2 / 3 + .5) / n == query_values(whole, "mINP").values.sum() / n


def test_only_what_has_no_match_becomes_zero():
    values, n_good = np.array([np.nan, np.nan, .5, np.nan]), np.array([0, 1, 1, 2])
    counted = matlab().counted(values, n_good, np.array([False, True, True, False]))
    np.testing.assert_array_equal(counted, [0, np.nan, .5, 0])


# ---------------------------------------------------------------- good and junk at once

def test_matches_of_junk_images():
    """Image 0 is good and junk, image 2 good, image 1 wrong."""
    both = dict(index=[0, 1, 2], good=[0, 2], junk=[0])
    assert listed(**both).per_query.first_match == [1]
    assert listed(**both, junk_match="never").per_query.first_match == [2]
    assert reverse_ties(from_index(**both)).first_match == [1]


def test_a_good_image_that_reversed_ties_move_before_a_junk_match():
    """All at one distance: 0 is wrong, 1 good and junk, 2 wrong, 3 good."""
    distances, lists = [[2, 2, 2, 2]], IndexLists(good=[[1, 3]], junk=[[1]])
    result = reid_ref.evaluate_distances(
        distances, Labels([7], [1]), Labels([8, 7, 8, 7], [2] * 4), lists=lists,
        convention=CONVENTIONS["veri"].replace(ties="reversed"))
    assert result.per_query.first_match == [1]
    assert result.ranks.rank == [1]
