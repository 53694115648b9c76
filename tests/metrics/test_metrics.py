"""A single ranked list by hand, and curves over identities against slower definitions.

All metrics of one table of ranks: the checks of `tests/proof/test_fast_mutants.py`.
"""
import itertools

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, IndexLists, Labels
from reid_ref.metrics import DistanceRows, identity_ranks
from tests.proof import hand_cases
from tests.refusals import refused


# Only the script's own walk takes an image twice.
@pytest.mark.parametrize(
    "name", sorted(set(hand_cases.AP) - {"the walk ends when as many are seen as exist"}))
def test_a_ranked_list_of_indices_against_the_hand_cases(name):
    good, junk, index, ap, cmc = hand_cases.AP[name]
    answer = reid_ref.evaluate_ranked_list(index, good, junk)
    np.testing.assert_allclose(answer[0], float(ap), rtol=1e-15)
    np.testing.assert_array_equal(answer[1], cmc)


def test_unknown_ap_rule():
    refused("ap", "Did you mean 'step'", reid_ref.evaluate_ranked_list, [1], [1], ap="steps")


@pytest.mark.parametrize("ties", ["gallery-order", "reversed", "numpy"])
@pytest.mark.parametrize("values", [3, 50, 10**6])
@pytest.mark.parametrize("nan", [0, .2])
def test_rows_need_no_order(ties, values, nan):
    rng = np.random.default_rng(0)
    query, gallery = (Labels(rng.integers(-1, 6, n), rng.integers(1, 4, n)) for n in (60, 30))
    distances = rng.integers(0, values, (60, 30)).astype(float)
    distances[rng.random((60, 30)) < nan] = np.nan
    rows = DistanceRows(distances, query, gallery, ("label -1", "same location"), ties)
    expected = np.zeros(60, dtype=int)
    for k, kept, good_places in rows.matched():
        expected[k] = 1 + len(set(gallery.identity[kept[:good_places[0]]]))
    np.testing.assert_array_equal(identity_ranks(rows), expected)
    assert len(set(expected)) > 3


def identities_in_order(distances, query, gallery, by_identity):
    """For each query with a match: the places of each identity's kept images, its own first."""
    for row, pid, camid in zip(distances, query.identity, query.camera):
        ignored = (gallery.camera == camid) & ((gallery.identity == pid) | (not by_identity))
        order = [j for _, j in sorted(zip(row.tolist(), range(len(row)))) if not ignored[j]]
        places = {}
        for place, j in enumerate(order):
            places.setdefault(int(gallery.identity[j]), []).append(place)
        if int(pid) in places:
            yield [places.pop(int(pid)), *places.values()]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("convention, by_identity", [
    ("cuhk03-single-shot-function", True), ("open-reid-cuhk03-function", False)])
@pytest.mark.parametrize("seed", range(12))
def test_single_gallery_shot_equals_all_draws(seed, convention, by_identity):
    """The closed form against draws that are made here, by code that knows nothing of it."""
    rng = np.random.default_rng(100 + seed)
    gallery, query = (Labels(rng.integers(0, 5, n), rng.integers(1, 3, n)) for n in (14, 6))
    distances = rng.random((6, 14)) + 0.1 * (query.identity[:, np.newaxis] != gallery.identity)
    distances = distances.round(1) if seed % 3 == 0 else distances
    shares = []
    for groups in identities_in_order(distances, query, gallery, by_identity):
        ranks = [1 + sum(place < drawn[0] for place in drawn[1:])
                 for drawn in itertools.product(*groups)]
        shares.append([np.mean([rank <= k for rank in ranks]) for k in range(1, 15)])
    assert shares
    record = CONVENTIONS[convention].replace(name="all ranks", cmc_length="gallery")
    found = reid_ref.evaluate_distances(distances, query, gallery, convention=record)
    np.testing.assert_allclose(found.cmc, np.mean(shares, axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("cmc", [
    "single-gallery-shot", "single-gallery-shot-other-cameras", "single-gallery-shot-draws"])
@pytest.mark.parametrize("memory", [None, "20K"])
def test_a_drawn_curve_that_is_cut_to_the_fewest_kept_images(cmc, memory):
    """The first query keeps five images, the second four."""
    query, gallery = Labels([1, 2], [1, 2]), Labels([1, 2, 2, 2, 3, 1], [2, 2, 2, 1, 3, 1])
    distances = np.random.default_rng(5).random((2, 6))
    record = CONVENTIONS["torchreid-function"].replace(name="whole", cmc=cmc, cmc_length="gallery")
    whole, cut = reid_ref.evaluate_distances(
        distances, query, gallery, max_memory=memory,
        convention=[record, record.replace(name="cut", cmc_length="shortest")]).values()
    assert len(whole.cmc) == 6 and len(cut.cmc) == 4
    np.testing.assert_array_equal(cut.cmc, whole.cmc[:4])


@pytest.mark.parametrize("identity", [[9, 8, 9, 8], [7, 8, 8, 7], [8, 8, 8, 8], [7, 7, 7, 7]])
def test_draws_where_good_images_are_listed(identity):
    """Images 0 and 2 are good, whatever their labels: of the others, one of each is drawn."""
    distances, lists = np.array([[3., 1, 2, 4]]), IndexLists(good=[[0, 2]], junk=[[]])
    labels = Labels([7], [1]), Labels(identity, [2] * 4)
    record = CONVENTIONS["veri"].replace(name="drawn", cmc="single-gallery-shot-draws")
    groups = {}
    for place, image in enumerate([1, 2, 0, 3]):
        groups.setdefault("good" if image in (0, 2) else identity[image], []).append(place)
    random, ranks = np.random.RandomState(0), []
    for _ in range(10):
        drawn = {name: places[random.randint(0, len(places))] for name, places in groups.items()}
        ranks.append(sum(place <= drawn["good"] for place in drawn.values()))
    found = reid_ref.evaluate_distances(distances, *labels, convention=record, lists=lists)
    assert found.cmc.tolist() == [sum(rank <= k for rank in ranks) / 10 for k in (1, 2, 3, 4)]
