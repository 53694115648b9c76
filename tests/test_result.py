"""`Result` itself: its names, its printed form, what it becomes elsewhere."""
import copy
import json
import pickle
import sys

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from tests.refusals import refused

# Query 0 keeps images 1 (wrong), 0 and 2 (good): ranks 2 and 3. Query 1: identity absent.
DISTANCES = [[.2, .1, .3, .4]] * 2
QUERY, GALLERY = Labels([7, 9], [1, 1]), Labels([7, 8, 7, -1], [2, 2, 3, 2])
AP = 0.5 * ((0 + 1 / 2) / 2) + 0.5 * ((1 / 2 + 2 / 3) / 2)


def evaluate(convention="matlab"):
    with pytest.warns(reid_ref.UnmatchedWarning):
        return reid_ref.evaluate_distances(DISTANCES, QUERY, GALLERY, convention=convention)


@pytest.fixture
def result():
    return evaluate()


def test_the_means(result):
    assert (result.mAP, result.mINP) == (AP / 2, 2 / 3 / 2)


def test_rank(result):
    assert [result.rank(k) for k in (1, 2, np.int64(4))] == [0, .5, .5]
    assert type(result.rank(2)) is float


@pytest.mark.parametrize("k", [0, -1, 5, 1.0, "1", None])
def test_no_such_rank(result, k):
    refused("k", "from 1 to 4", result.rank, k)


def test_copies_and_pickles_stay_read_only(result):
    copies = [copy.copy(result), copy.deepcopy(result)] + [
        pickle.loads(pickle.dumps(result, k)) for k in range(pickle.HIGHEST_PROTOCOL + 1)]
    for other in copies:
        assert other == result
        for array in (other.cmc, other.per_query.ap, other.per_query.labels().identity):
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                array.flags.writeable = True


def test_print(result):
    lines = str(result).splitlines()
    assert lines[:2] == ["percent:   mAP 20.83, Rank-1 0.00, mINP 33.33",
                         "queries:   2 of 2 counted"]
    assert lines[2].startswith("signature: convention:matlab | ap:trapezoid")
    assert max(map(len, lines)) <= 80
    assert "".join(line[11:] for line in lines[2:]).replace(" ", "") == result.signature
    assert str(evaluate("mars")).startswith("percent:   mAP -, Rank-1 ")


@pytest.mark.parametrize("k", [2**63, 10**20, 10**400], ids=["2**63", "10**20", "10**400"])
def test_k_of_more_than_64_bits(result, k):
    assert result.at(2**63 - 1).accuracy == result.at(4).accuracy
    refused("k", "from 1", result.at, k)


def test_a_dictionary_is_plain_json(result):
    there = json.loads(json.dumps(reid_ref.to_dict(result), allow_nan=False))
    assert list(there) == ["Rank-1", "mAP", "mINP", "cmc", "counts", "counted", "signature"]
    assert (there["mAP"], there["mINP"], there["cmc"]) == (AP / 2, 2 / 3 / 2, [0, .5, .5, .5])
    counts = there["counts"]
    assert (counts["gallery_junk"], counts["status"]["identity absent"]) == (1, 1)
    assert reid_ref.to_dict(evaluate("mars"))["mAP"] is None


def test_a_dictionary_has_the_curve_that_is_asked_for(result):
    assert reid_ref.to_dict(result, cmc=2)["cmc"] == [0, .5]
    wide = Labels(np.arange(60), [1] * 60), Labels(np.arange(60), [2] * 60)
    wide = reid_ref.evaluate_distances(1 - np.eye(60), *wide)
    assert len(reid_ref.to_dict(wide)["cmc"]) == 50
    assert len(reid_ref.to_dict(wide, cmc=None)["cmc"]) == 60


def test_a_dictionary_of_no_such_rank(result):
    refused("cmc", "from 1; 0", reid_ref.to_dict, result, cmc=0)


def test_a_frame_has_a_row_a_query(result):
    pandas = pytest.importorskip("pandas")
    frame = reid_ref.to_frame(result)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame) == ["ap", "inp", "first_match", "n_good", "n_junk", "status", "identity",
                           "camera"]
    assert frame.index.name == "query"
    assert frame.loc[0].tolist() == [AP, 2 / 3, 2, 2, 1, "ok", 7, 1]
    assert np.isnan(frame.loc[1, "ap"]) and frame.loc[1, "status"] == "identity absent"
    frame.loc[0, "ap"] = 0.0  # its own copy
    assert result.per_query.ap[0] == AP


def test_a_frame_without_pandas(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    refused("to_frame", "pip install pandas", reid_ref.to_frame, result)


# ---------------------------------------------------------------- ranks, at, precision_recall
# Query 0 keeps, in order, wrong, good, good, wrong, good: ranks 2, 3, 5; image 3 is junk.
# Query 1 has no image. Query 2 is labelled -1: its image 3 is good and junk at once, so it has
# no rank, and yet raises the CMC curve, at rank 2.
FRUIT = np.array([[.3, .1, .2, .15, .5, .4]] * 3)
THREE = Labels([7, 9, -1], [1, 1, 1])
SIX = Labels([7, 8, 7, -1, 7, 8], [2, 2, 3, 2, 2, 2])


def fruit(convention="matlab", distances=FRUIT):
    with pytest.warns(reid_ref.UnmatchedWarning):
        return reid_ref.evaluate_distances(distances, THREE, SIX, convention=convention)


def test_ranks_of_the_good_images():
    ranks = fruit().ranks
    assert ranks.rank.tolist() == [2, 3, 5] and ranks.image.tolist() == [2, 0, 4]
    assert (ranks.found.tolist(), ranks.n_good.tolist()) == ([3, 0, 0], [3, 0, 1])
    assert (ranks.n_kept.tolist(), ranks.n_junk.tolist()) == ([5, 5, 5], [1, 1, 1])
    with pytest.raises(ValueError, match="read-only"):
        ranks.rank[0] = 1
    ranks = fruit("torchreid").ranks  # query 2 is not loaded
    assert (ranks.found.tolist(), ranks.n_kept.tolist()) == ([3, 0, 0], [5, 5, 0])


def test_at_k_under_the_default():
    two, third = 2 / 3 - 1 / 3, 1 / 3
    ap = third * ((0 + 1 / 2) / 2) + two * ((1 / 2 + 2 / 3) / 2)
    at = fruit().at(4)
    assert at.k == 4
    np.testing.assert_array_equal(at.per_query["accuracy"], [1, 0, 1])
    np.testing.assert_array_equal(at.per_query["precision"], [2 / 4, 0, 0])
    np.testing.assert_array_equal(at.per_query["recall"], [2 / 3, np.nan, 0])
    np.testing.assert_array_equal(at.per_query["ap"], [ap, np.nan, 0])
    assert (at.accuracy, at.precision, at.recall, at.mAP) == (
        2 / 3, .5 / 3, (2 / 3) / 3, ap / 3)
    assert not at.per_query["ap"].flags.writeable
    at = fruit("mars").at(2)  # where unmatched queries are NaN
    assert at.accuracy == 2 / 3 and np.isnan(at.recall) and np.isnan(at.mAP)


@pytest.mark.parametrize(("k", "accuracy", "precision", "recall", "ap"), [
    (1, 0, 0, 0, 0), (2, 1, 1 / 2, 1 / 3, 1 / 2 / 3), (3, 1, 2 / 3, 2 / 3, (1 / 2 + 2 / 3) / 3),
    (5, 1, 3 / 5, 1, (1 / 2 + 2 / 3 + 3 / 5) / 3),
    (50, 1, 3 / 50, 1, (1 / 2 + 2 / 3 + 3 / 5) / 3)])
def test_at_k_under_the_step_rule_without_unmatched_queries(k, accuracy, precision, recall, ap):
    at = fruit("torchreid").at(k)  # queries 1 (no match) and 2 (not loaded) do not count
    assert (at.accuracy, at.precision, at.recall, at.mAP) == (accuracy, precision, recall, ap)
    for name in ("accuracy", "precision", "recall", "ap"):
        assert np.isnan(at.per_query[name][2])


def test_recall_of_what_the_cut_list_holds():
    # simpleir: label -1 is kept, at rank 2 of query 0: wrong, wrong, good, good.
    result = fruit(reid_ref.CONVENTIONS["simpleir"])
    at = result.at(3)
    assert (at.per_query["ap"][0], at.per_query["recall"][0]) == (1 / 3, 1 / 3)
    assert at.per_query["ap"][2] == 1 / 2  # labelled -1, and image 3 its match at rank 2
    # One good image of the first 3: AP divides by it, not by the three that exist.
    assert result.at(4).per_query["ap"][0] == (1 / 3 + 2 / 4) / 2


def test_a_convention_that_cuts_ends_the_list_there():
    result = fruit(reid_ref.CONVENTIONS["torchreid"].replace(name="cut", top_k=2))
    at = result.at(4)
    assert (at.recall, at.precision) == (1 / 3, 1 / 4)
    assert result.at(2).mAP == at.mAP == 1 / 2 / 3 == result.mAP
    assert len(reid_ref.precision_recall(result, 0)[0]) == 2
    assert result.ranks.rank.tolist() == [2, 3, 5]  # to the end, all the same


@pytest.mark.parametrize("choices", [
    {"top_k": 1}, {"top_k": 2}, {"top_k": 2, "recall": "found"},
    {"top_k": 1, "recall": "min(top_k, existing)"}])
def test_inp_is_of_the_whole_list_wherever_a_convention_cuts_it(choices):
    rule = reid_ref.CONVENTIONS["matlab"].replace(ap="step", **choices)
    result = reid_ref.evaluate_distances(
        [[.1, .2, .3]], Labels([7], [1]), Labels([7, 8, 7], [2, 2, 2]), convention=rule)
    assert result.mINP == 2 / 3 and result.per_query.inp.tolist() == [2 / 3]
    cut = reid_ref.evaluate_ranked_lists(
        [[0, 1]], Labels([7], [1]), Labels([7, 8, 7], [2, 2, 2]), convention=rule)
    assert np.isnan(cut.mINP) and np.isnan(cut.per_query.inp).all()


def test_a_cut_through_equal_distances():
    # Images 0 to 2 are equal, in gallery order good, wrong, good; then wrong, good. Cut after 2
    # the group holds two images, one of them good: precision 1/2, recall 1/3.
    distances = np.array([[.1, .1, .1, .9, .5, .4]] * 3)
    at = fruit("open-reid", distances).at(2)
    assert at.mAP == 1 / 3 * (1 / 2)
    assert fruit("open-reid", distances).at(3).mAP == 2 / 3 * (2 / 3)


def test_the_curve_of_one_query():
    precision, recall = reid_ref.precision_recall(fruit(), 0)
    np.testing.assert_array_equal(precision, [0, 1 / 2, 2 / 3, 2 / 4, 3 / 5])
    np.testing.assert_array_equal(recall, [0, 1 / 3, 2 / 3, 2 / 3, 1])
    precision, recall = reid_ref.precision_recall(fruit("torchreid"), 2)  # it keeps nothing
    assert precision.shape == recall.shape == (0,)
    precision, recall = reid_ref.precision_recall(fruit(), np.int64(1))
    assert precision.tolist() == [0] * 5 and np.isnan(recall).all() and len(recall) == 5
