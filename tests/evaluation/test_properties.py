"""What must hold for every ranking, on inputs that hypothesis invents."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reid_ref
from reid_ref import Labels

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@st.composite
def problems(draw, ties=True):
    """Distances, query, gallery: small whole distances, or distinct ones in random order."""
    n_query, n_gallery = draw(st.integers(1, 5)), draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if ties:
        distances = rng.integers(0, draw(st.integers(1, 30)), (n_query, n_gallery)).astype(float)
    else:
        distances = np.array([rng.permutation(n_gallery) for _ in range(n_query)], dtype=float)
    query, gallery = (Labels(rng.integers(-1, 4, n), rng.integers(1, 4, n))
                      for n in (n_query, n_gallery))
    return distances, query, gallery


def same(one, other):
    assert one.mAP == other.mAP
    assert one.mINP == other.mINP
    np.testing.assert_array_equal(one.cmc, other.cmc)
    np.testing.assert_array_equal(one.per_query.ap, other.per_query.ap)


@given(problems(ties=False), st.randoms(use_true_random=False))
def test_the_order_of_the_gallery_changes_nothing_without_ties(problem, random):
    distances, query, gallery = problem
    order = np.array(random.sample(range(len(gallery)), len(gallery)))
    moved = Labels(gallery.identity[order], gallery.camera[order])
    same(reid_ref.evaluate_distances(distances[:, order], query, moved),
         reid_ref.evaluate_distances(distances, query, gallery))


@given(problems())
def test_a_strictly_increasing_map_of_the_distances_changes_nothing(problem):
    distances, query, gallery = problem
    expected = reid_ref.evaluate_distances(distances, query, gallery)
    for mapped in (2 * distances + 7, np.expm1(distances), distances**3 - 1000, distances - 1e6):
        same(reid_ref.evaluate_distances(mapped, query, gallery), expected)


@given(problems(), st.integers(1, 8), st.integers(0, 2**32))
def test_adding_junk_changes_no_ap(problem, n_junk, seed):
    distances, query, gallery = problem
    rng = np.random.default_rng(seed)
    known = Labels(np.abs(query.identity), query.camera)
    place = rng.integers(0, len(gallery) + 1, n_junk)
    wider = np.insert(distances, place, rng.integers(0, 30, n_junk), axis=1)
    more = Labels(np.insert(gallery.identity, place, -1), np.insert(gallery.camera, place, 1))
    before = reid_ref.evaluate_distances(distances, known, gallery)
    after = reid_ref.evaluate_distances(wider, known, more)
    np.testing.assert_array_equal(after.per_query.ap, before.per_query.ap)
    np.testing.assert_array_equal(after.cmc[:len(before.cmc)], before.cmc)
