"""Ranked lists of chosen queries: hand-worked, and by plain Python over the whole gallery."""
import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, Labels, ResultFile
from reid_ref.evaluation.how import How
from reid_ref.evaluation.rank_lists import choose, rank_lists, ranked_list
from tests.cases import market_like

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def plain_list(row, identity, camera, gallery):
    """The matlab convention, image by image: (image, rank or None, role)."""
    listed, rank = [], 0
    for image in sorted(range(len(row)), key=lambda k: (row[k], k)):
        i, c = gallery.identity[image], gallery.camera[image]
        if i == -1 or (i == identity and c == camera):
            listed.append((image, None, "ignored"))
            continue
        rank += 1
        role = "good" if i == identity else "distractor" if i == 0 else "wrong"
        listed.append((image, rank, role))
    return listed


@pytest.mark.parametrize("levels", [None, 5])
@pytest.mark.parametrize("top", [1, 3, 10, 500])
def test_lists_are_those_of_a_walk_over_the_gallery(levels, top):
    distances, query, gallery = market_like(3, n_query=20, levels=levels)
    query = Labels(np.where(query.identity < 1, 1, query.identity), query.camera)
    data = ResultFile("arrays", query, gallery, distances=distances)
    for found in rank_lists(data, range(20), How(), top):
        whole = plain_list(distances[found.query], found.identity, found.camera, gallery)
        ranks = [rank for _, rank, _ in whole]
        end = ranks.index(top) + 1 if top in ranks else len(whole)
        ignored = [one for one in whole[:end] if one[1] is None]
        expected = [one for one in whole[:end] if one not in ignored[top:]]
        assert [(one.image, one.rank, one.role) for one in found.entries] == expected
        assert found.more_ignored == len(ignored[top:])
        good = [one for one in whole if one[2] == "good"]
        assert [(one.image, one.rank) for one in found.good] == [one[:2] for one in good[:top]]
        later = [one[:2] for one in whole[end:] if one[2] == "good"]
        following = found.next_good and (found.next_good.image, found.next_good.rank)
        assert following == (later[0] if later else None)
        for entry in found.entries:
            assert entry.distance == distances[found.query, entry.image]


@pytest.mark.parametrize("name", [
    "matlab", "torchreid", "torchreid-function", "simpleir", "open-reid", "light-reid"])
@pytest.mark.parametrize("ties", ["gallery-order", "reversed"])
def test_good_images_have_the_ranks_of_the_result(name, ties):
    distances, query, gallery = market_like(5, levels=6)
    convention = CONVENTIONS[name].replace(name="x", ties=ties)
    result = reid_ref.evaluate_distances(distances, query, gallery, convention=convention)
    data = ResultFile("arrays", query, gallery, distances=distances)
    for found in rank_lists(data, range(len(query)), How((convention,)), len(gallery)):
        if result.per_query.status[found.query] == "not loaded":
            continue
        expected = result.ranks.rank[result.ranks.query == found.query].tolist()
        assert [one.rank for one in found.good] == expected
        assert [one.rank for one in found.entries if one.role == "good"] == expected


def test_reasons_of_ignored_images():
    query = Labels([7], [3], clothes=[1])
    gallery = Labels([7, -1, 8, 7, 8], [3, 1, 3, 2, 2], clothes=[1, 1, 1, 1, 1])
    data = ResultFile("arrays", query, gallery, distances=np.array([[1., 2., 3., 4., 5.]]))

    def reasons(name, **changes):
        convention = CONVENTIONS[name].replace(name="x", **changes)
        found, = rank_lists(data, [0], How((convention,)))
        listed = [(one.image, one.reason) for one in found.entries if one.role == "ignored"]
        assert [f"junk ({reason})" for _, reason in listed] == [
            one.role for one in ranked_list(data.distances[0], query, gallery, [convention], 5)
            if one.ranks == (None,) and one.role != "not loaded"]
        return listed

    assert reasons("matlab") == [(0, "same camera"), (1, "label -1")]
    assert reasons("torchreid-function") == [(0, "same camera")]
    assert reasons("simpleir") == []
    of_clothes = "same identity, same camera", "same identity, same clothes"
    assert reasons("torchreid", ignored=of_clothes) == [(0, "same camera"), (3, "same clothes")]
    # SYSU-MM01: cameras 2 and 3 are at one location, which is ignored whoever is seen.
    assert reasons("sysu-mm01") == [(image, "same location") for image in (0, 2, 3, 4)]


def test_near_copies_show_the_distances_of_explain():
    """A matrix product prints 0 where the exact distance of float32 copies is 1e-8."""
    rng = np.random.default_rng(0)
    query, gallery = Labels([1], [1]), Labels([1, 2, 1, 2, 3, 3], [2, 2, 2, 2, 3, 3])
    one = rng.standard_normal((1, 64)).astype(np.float32)
    copies = np.repeat(one, 6, axis=0) + rng.standard_normal((6, 64)).astype(np.float32) * 1e-4
    data = ResultFile("arrays", query, gallery, one, copies.astype(np.float32))
    found, = rank_lists(data, [0], How())
    exact = next(data.input.exact_rows(np.array([0]), How()))
    assert [entry.distance for entry in found.entries] == np.sort(exact).tolist()
    assert found.entries[0].distance > 0


# AP: 1, 1/4 = (0 + 1/2) / 2 at rank 2, 1/6 = (0 + 1/3) / 2 at rank 3, none.
def four_queries():
    query = Labels([1, 2, 3, 9], [1, 1, 1, 1])
    gallery = Labels([1, 2, 3, 4, 5], [2, 2, 2, 2, 2])
    distances = np.array([[1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [1, 2, 3, 3, 5], [1, 2, 3, 4, 5.]])
    return reid_ref.evaluate_distances(distances, query, gallery)


def test_choices_by_hand():
    result = four_queries()
    found = choose(result, 4, seed=1)
    assert found["worst"][:2] == [2, 1]          # a query without a match has no AP
    assert found["rank-1 wrong"] == [1, 2]       # the highest AP first
    assert found["no match"] == [3]
    assert found["tied"] == [2]
    assert found["random"] and set(found["random"]) <= {0, 1, 2}
    assert found["median"][0] == 1


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 50])
def test_no_more_queries_than_asked_for(n):
    found = choose(four_queries(), n)
    assert len({query for queries in found.values() for query in queries}) == min(n, 4)


def test_what_is_drawn_depends_on_the_seed_alone():
    distances, query, gallery = market_like(1, n_query=60)
    result = reid_ref.evaluate_distances(distances, query, gallery)
    drawn = [choose(result, 12, seed)["random"] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
