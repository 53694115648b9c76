"""Numbers at k, the worst queries with their nearest wrong image, identities and cameras."""
import json
import re

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, IndexLists, Labels, ResultFile, by_group
from reid_ref.evaluation.how import How
from reid_ref.evaluation.rank_lists import nearest_wrong, worst_queries
from tests.cases import market_like, save
from tests.commands.common import FIXTURES, MARKET, answer, table
from tests.documents import ROOT
from tests.refusals import refused

ANSWERS = json.loads((FIXTURES / "market_like.json").read_text())

# Query 0 ranks images 1, 0, 2: good at 2 and 3. Query 1: good at 1. Query 2: nobody like it.
# Query 3: 5, 4, 1, 0, good at 4. Query 4 is labelled -1: its only good image, 3, is junk, but
# stands first, and so raises the CMC curve of compute_AP.m.
DISTANCES = np.array([
    [.2, .1, .3, .05, .4, .5], [.2, .1, .3, .0, .4, .05], [.9, .8, .8, .1, .9, .9],
    [.5, .4, .0, .0, .3, .2], [.1, .2, .3, .0, .4, .5]])
QUERY = Labels([7, 8, 9, 7, -1], [1, 1, 2, 3, 1])
GALLERY = Labels([7, 8, 7, -1, 0, 8], [2, 2, 3, 2, 3, 1])
FIRST = 1 / 2 * ((0 + 1 / 2) / 2) + 1 / 2 * ((1 / 2 + 2 / 3) / 2)
FOURTH = (0 + 1 / 4) / 2

pytestmark = pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning")


def evaluate(convention="matlab"):
    return reid_ref.evaluate_distances(DISTANCES, QUERY, GALLERY, convention=convention)


@pytest.fixture
def saved(tmp_path):
    save(tmp_path / "result.npz", DISTANCES, QUERY, GALLERY)
    return str(tmp_path / "result.npz")


# ---------------------------------------------------------------- identities and cameras

def test_rank1_of_a_curve_that_counts_no_ranks():
    name = next(one.name for one in CONVENTIONS.values() if one.curve.of_rows)
    groups = by_group(evaluate(name), QUERY)
    assert np.isnan(groups.rank1).all() and groups.mAP[groups.value == 8] == 1


#: All that need no lists, and one whose CMC curve is over the good images in its cut list.
WITHOUT_LISTS = [*(one for one in CONVENTIONS.values() if not one.needs_lists),
                 CONVENTIONS["open-reid-allshots"].replace(name="cut", recall="found", top_k=3)]


@pytest.mark.parametrize("convention", WITHOUT_LISTS, ids=lambda one: one.name)
@pytest.mark.parametrize("levels", [None, 5])
@pytest.mark.filterwarnings("ignore")
def test_a_group_is_an_evaluation_of_its_queries(convention, levels):
    distances, query, gallery = market_like(3, levels=levels)
    whole = reid_ref.evaluate_distances(distances, query, gallery, convention=convention)
    for by in ("identity", "camera"):
        groups = by_group(whole, query, by)
        for k, value in enumerate(groups.value):
            own = getattr(query, by) == value
            alone = reid_ref.evaluate_distances(distances[own], query[own], gallery,
                                                convention=convention)
            found = groups.mAP[k], groups.mINP[k], groups.counted[k], groups.queries[k]
            np.testing.assert_array_equal(
                found, (alone.mAP, alone.mINP, alone.counted, own.sum()))
            if not convention.curve.of_rows:
                np.testing.assert_array_equal(groups.rank1[k], alone.cmc[0])


def test_mINP_of_a_group_is_unknown_where_its_lists_lack_a_good_image(tmp_path):
    """That of query 7 lacks image 2, that of query 8 nothing; query 9 has no good image."""
    query, gallery = Labels([7, 8, 9], [1, 2, 3]), Labels([7, 8, 7], [4, 4, 4])
    for convention, of_9 in (("matlab", 0), ("torchreid", np.nan)):
        with pytest.warns(reid_ref.UnmatchedWarning):
            result = reid_ref.evaluate_ranked_lists([[0, 1], [0, 1], [0, 1]], query, gallery,
                                                    convention=convention)
        result.save(tmp_path / "result.json")
        for each in result, reid_ref.load(tmp_path / "result.json"):
            np.testing.assert_array_equal(by_group(each).mINP, [np.nan, .5, of_9])


def test_groups_are_refused():
    refused("by", "unknown 'place'", by_group, evaluate(), QUERY, "place")
    refused("query", "the labels of the 5 queries", by_group, evaluate(), QUERY[:3])


# ---------------------------------------------------------------- the worst queries

@pytest.mark.parametrize(("convention", "order"), [
    ("matlab", [2, 4, 3, 0, 1]),  # queries 2 and 4 count as AP 0: by their number
    ("torchreid", [3, 0, 1]),     # they do not count
    ("mars", [4, 3, 0, 1, 2])])   # AP 0, and AP NaN: that comes last
def test_the_order_of_the_worst(convention, order):
    for n in (1, 2, 5, 99):
        assert worst_queries(evaluate(convention), n).tolist() == order[:n]


# Kept for query 0 are images 1 0 2 4 5 in order, for query 1: 1 (good) 0 2 4. Image 3 is junk,
# but with a convention that keeps label -1 it is the nearest. Of query 2 images 1 and 2 are
# equally far: the first. For query 3 image 2 is junk, too. For query 4 image 3 is good and junk.
def under(name, **options):
    return How((CONVENTIONS[name],), **options)


@pytest.mark.parametrize(("convention", "images"), [
    ("matlab", [1, 0, 1, 5, 0]), ("torchreid-function", [3, 3, 3, 3, 0])])
def test_nearest_wrong_image(convention, images):
    data = ResultFile("arrays", QUERY, GALLERY, distances=DISTANCES)
    for order in ([0, 1, 2, 3, 4], [4, 2, 0]):
        assert nearest_wrong(data, np.array(order), under(convention)) == [
            images[k] for k in order]


def test_a_query_that_is_not_loaded_is_not_among_the_worst():
    convention = CONVENTIONS["torchreid"].replace(unmatched="zero")
    assert worst_queries(evaluate(convention), 9).tolist() == [2, 3, 0, 1]


def test_nearest_wrong_image_of_features():
    # Distances of unit features on a circle are in the order of their angles.
    angles = np.array([0, .1, .2, .3, -.15])
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    data = ResultFile("arrays", Labels([7, 8], [1, 1]), Labels([7, 7, 8, 0], [2, 1, 2, 3]),
                      query_features=points[:2], gallery_features=points[1:])
    assert nearest_wrong(data, np.array([0]), under("matlab")) == [3]  # 1 is junk
    for memory in (None, "1K"):
        assert nearest_wrong(data, np.array([1, 0]), under("matlab", max_memory=memory)) == [0, 3]
    assert nearest_wrong(data, np.array([], dtype=int), under("matlab")) == []


def test_no_wrong_image_and_nan():
    data = ResultFile("arrays", Labels([7, 8], [1, 1]), Labels([7, 7], [2, 3]),
                      distances=np.array([[.1, .2], [np.nan, np.inf]]))
    assert nearest_wrong(data, np.array([0, 1]), under("matlab")) == [None, 1]


def test_nearest_wrong_image_of_lists():
    lists = IndexLists([[0], [1], [], [5], []], [[1, 3], [], [0, 1, 2, 3, 4], [], []])
    data = ResultFile("arrays", QUERY, GALLERY, distances=DISTANCES)
    assert nearest_wrong(data, np.array([3, 0, 2]), under("veri", lists=lists)) == [2, 2, 5]


# ---------------------------------------------------------------- the command

def test_json(saved):
    found = answer("evaluate", saved, "--at", "1,3", "--worst", "2", "--by", "camera",
                   "--by", "identity", "--by", "camera")
    assert len(found["at"]) == len(found["worst"]) == len(found["by"]) == 2
    assert list(found)[-3:] == ["at", "worst", "by"]
    # The first three hold two matches of query 0, one of query 1, none of the others.
    assert found["at"][0] == {"k": 1, "accuracy": 2 / 5, "precision": 1 / 5, "recall": 1 / 5,
                              "mAP": 1 / 5}
    assert found["at"][1] == {
        "k": 3, "accuracy": 3 / 5, "precision": (2 / 3 + 1 / 3) / 5, "recall": 2 / 5,
        "mAP": (FIRST + 1) / 5}
    assert found["worst"] == [
        {"query": 2, "identity": 9, "camera": 2, "status": "identity absent", "counted": True,
         "ap": None, "inp": None, "first_match": None, "n_good": 0, "n_junk": 1,
         "nearest_wrong": {"image": 1, "identity": 8, "camera": 2}},
        {"query": 4, "identity": -1, "camera": 1, "status": "only junk", "counted": True,
         "ap": 0.0, "inp": None, "first_match": 1, "n_good": 1, "n_junk": 1,
         "nearest_wrong": {"image": 0, "identity": 7, "camera": 2}}]
    assert found["by"]["camera"] == [
        {"camera": 1, "queries": 3, "counted": 3, "mAP": (FIRST + 1) / 3, "Rank-1": 2 / 3,
         "mINP": (2 / 3 + 1) / 3},
        {"camera": 2, "queries": 1, "counted": 1, "mAP": 0, "Rank-1": 0, "mINP": 0},
        {"camera": 3, "queries": 1, "counted": 1, "mAP": FOURTH, "Rank-1": 0, "mINP": 1 / 4}]
    assert [row["identity"] for row in found["by"]["identity"]] == [-1, 9, 7, 8]


def test_features_and_groups_without_a_number():
    ap = ANSWERS["ap"]
    worst = answer("evaluate", MARKET, "--worst", "4")["worst"]
    assert [row["query"] for row in worst] == [
        *(k for k, one in enumerate(ap) if one is None), ap.index(min(filter(None, ap)))]
    rows = answer("evaluate", MARKET, "--convention", "torchreid", "--by",
                  "identity")["by"]["identity"]
    # The three that nobody matches, behind all numbers.
    assert [(row["identity"], row["mAP"]) for row in rows[-3:]] == [
        (62, None), (63, None), (64, None)]
    assert [row["mAP"] for row in rows[:-3]] == sorted(row["mAP"] for row in rows[:-3])


def test_a_table_shows_twenty_identities(tmp_path):
    people = np.arange(1, 24)
    save(tmp_path / "many.npz", 1 - np.eye(23), *(Labels(people, [k] * 23) for k in (1, 2)))
    many = str(tmp_path / "many.npz")
    shown = table("evaluate", many, "--by", "identity").splitlines()
    assert shown[-1] == "and 3 more; --json has all" and shown[-2].startswith("20 ")
    assert len(answer("evaluate", many, "--by", "identity")["by"]["identity"]) == 23


SCREENS = re.findall(r"^`reid-ref ([^`]*)` ends in\n\n```text\n(.*?)^```",
                     (ROOT / "docs/tables.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("arguments", "end"), SCREENS, ids=[one for one, _ in SCREENS])
def test_screens_of_the_page(arguments, end):
    assert len(SCREENS) == 3
    assert table(*arguments.split(), cwd=ROOT).endswith("\n\n" + end)
