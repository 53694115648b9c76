"""A toolbox is its evaluator on the images that its loader passes on: label -1 is never there.

Each is compared with its bare function on arrays from which these images were taken out, and, on
the labels of Market-1501, with what users of the toolboxes see.
"""
import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, IndexLists, Labels
from reid_ref.commands.ties import tie_bounds
from reid_ref.conventions import FUNCTIONS
from reid_ref.ranking.good_ranks import of_queries
from tests import cases
from tests.cases import good_ranks
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def with_junk(seed, levels=6):
    """A problem with images labelled -1 on both sides, and ties."""
    distances, query, gallery = cases.market_like(seed, levels=levels)
    rng = np.random.default_rng(seed)
    identity = query.identity.copy()
    identity[rng.permutation(len(identity))[:3]] = -1
    return distances, Labels(identity, query.camera), gallery


def without_junk(distances, query, gallery):
    rows, columns = query.identity != -1, gallery.identity != -1
    assert not rows.all() and not columns.all()
    return rows, (distances[rows][:, columns], query[rows], gallery[columns])


def assert_same(whole, part, rows):
    """The result on all images, and that on those that are loaded, the same to the bit."""
    np.testing.assert_array_equal(whole.mAP, part.mAP)
    np.testing.assert_array_equal(whole.mINP, part.mINP)
    np.testing.assert_array_equal(whole.cmc, part.cmc)
    assert whole.counted == part.counted
    for name in ("ap", "inp", "first_match", "n_good", "n_junk", "status"):
        np.testing.assert_array_equal(
            getattr(whole.per_query, name)[rows], getattr(part.per_query, name), name)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_toolbox_is_its_function_on_what_it_loads(name, seed):
    problem = with_junk(seed)
    rows, loaded = without_junk(*problem)
    whole = reid_ref.evaluate_distances(*problem, convention=name)
    assert_same(whole, reid_ref.evaluate_distances(*loaded, convention=FUNCTIONS[name]), rows)
    assert set(whole.per_query.status[~rows]) == {"not loaded"}
    assert np.isnan(whole.per_query.ap[~rows]).all()
    assert whole.per_query.first_match[~rows].max() == 0
    counts = whole.counts
    assert counts.status["not loaded"] == np.count_nonzero(~rows)
    assert counts.gallery_not_loaded == len(problem[2]) - len(loaded[2])
    assert counts.gallery_kept == len(loaded[2])
    assert f"queries:{rows.sum()}|gallery:{len(loaded[2])}|" in str(whole.signature)
    assert "loads:without label -1" in str(whole.signature)


@pytest.mark.parametrize("changes", [
    {"unmatched": "zero"}, {"unmatched": "nan"}, {"unmatched": "drop-from-map"},
    {"unmatched": "drop-from-cmc"},
    {"ties": "numpy"}, {"ties": "numpy-reversed"}, {"ties": "reversed"}, {"top_k": 3},
    {"cmc_length": "gallery"}, {"cmc_length": "identities"}, {"cmc_length": "shortest"},
    {"junk_match": "never"}, {"ignored": ()}, {"ignored": ("label -1",)},
    {"cmc": "identities"}, {"cmc": "single-gallery-shot-draws", "ties": "numpy"}])
@pytest.mark.parametrize("seed", range(4))
def test_with_every_other_choice(changes, seed):
    problem = with_junk(seed, levels=3)
    rows, loaded = without_junk(*problem)
    mine = CONVENTIONS["torchreid"].replace(**changes)
    alone = CONVENTIONS["torchreid-function"].replace(**changes)
    assert_same(reid_ref.evaluate_distances(*problem, convention=mine),
                reid_ref.evaluate_distances(*loaded, convention=alone), rows)


@pytest.mark.parametrize("seed", range(6))
def test_tie_bounds(seed):
    problem = with_junk(seed, levels=3)
    rows, loaded = without_junk(*problem)
    record = CONVENTIONS["torchreid"]
    whole = tie_bounds(of_queries(good_ranks(*problem, record.not_ranked), rows), record, 20)
    part = tie_bounds(good_ranks(*loaded, record.not_ranked), record, 20)
    for name in ("best", "worst", "expected"):
        for one, other in zip(getattr(whole, name), getattr(part, name)):
            np.testing.assert_array_equal(one, other)
    assert whole.tied == part.tied


def test_refused_with_lists():
    for field, noun, value in (("loads", "lists name every ignored image", "without label -1"),
                               ("cmc", "listed as junk", "single-gallery-shot-other-cameras")):
        refused(field, noun, CONVENTIONS["veri"].replace, **{field: value})


# What stood wrong around the label and the lists.

def test_recall_counts_in_tie_bounds():
    """Good images that are junk too are never found: recall over the found ones is larger."""
    distances = np.array([[.1, .2, .2, .4]])
    lists = IndexLists(good=[[1, 3]], junk=[[3]])
    record = CONVENTIONS["veri"].replace(name="found", recall="found", unmatched="zero")
    query, gallery = Labels([7], [1]), Labels([8, 7, 8, 7], [2, 2, 2, 2])
    ranks = good_ranks(distances, query, gallery, record.not_ranked, lists=lists)
    bounds = tie_bounds(ranks, record, 4)
    # One is found, second or third of the kept: trapezoids (0 + 1/2) / 2 and (0 + 1/3) / 2.
    assert bounds.best[0] == 1 / 4 and bounds.worst[0] == 1 / 6
    result = reid_ref.evaluate_distances(distances, query, gallery, convention=record, lists=lists)
    assert result.mAP == bounds.best[0]
    np.testing.assert_allclose(bounds.expected[0], (1 / 4 + 1 / 6) / 2, rtol=1e-15)


def test_lists_are_signed_only_where_they_are_used():
    distances, query, gallery = cases.market_like(1)
    lists = IndexLists([[1]] * len(query), [[]] * len(query))
    results = reid_ref.evaluate_distances(
        distances, query, gallery, convention=["matlab", "veri"], lists=lists)
    assert "lists" in results["veri"].signature
    assert results["matlab"].signature == reid_ref.evaluate_distances(
        distances, query, gallery).signature


def test_same_camera_pairs_of_queries_labelled_minus_1_are_counted():
    problem = np.array([[.1, .2, .3]]), Labels([-1], [1]), Labels([-1, -1, 8], [1, 2, 1])
    counts = reid_ref.evaluate_distances(*problem, convention="torchreid-function").counts
    assert (counts.good, counts.junk_same_camera) == (1, 1)
    # Where the label itself is ignored, nothing is ignored for the query alone.
    assert reid_ref.evaluate_distances(*problem).counts.junk_same_camera == 0
