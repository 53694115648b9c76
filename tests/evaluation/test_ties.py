"""Best, worst and expected numbers over tie orders, against every order written out."""
import itertools

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, Labels
from reid_ref.commands.ties import tie_bounds
from tests.cases import good_ranks, market_like
from tests.nightly import cases
from tests.refusals import refused


def tied_problem(seed, levels):
    """Tied distances; no query is labelled -1 (its match, a junk image, keeps gallery order)."""
    distances, query, gallery = market_like(seed, levels=levels)
    return distances, Labels(np.abs(query.identity), query.camera), gallery


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("seed", range(cases(2, 6)))
def test_against_every_order(seed):
    # One query: all orders of the gallery are all orders of its ties, each equally often.
    rng, n = np.random.default_rng(seed), cases(5, 6)
    identity, camera = rng.integers(-1, 2, n), rng.integers(1, 3, n)
    identity[0], camera[0] = 1, 2  # at least one good image: torchreid would drop the query
    query, gallery = Labels([1], [1]), Labels(identity, camera)
    distances = rng.integers(0, 3, (1, n)).astype(float)
    names = ["matlab", "torchreid", "trec-eval"]
    results = [reid_ref.evaluate_distances(distances[:, order], query, gallery[order],
                                           convention=names)
               for order in map(list, itertools.permutations(range(n)))]
    for name in names:
        ranks = good_ranks(distances, query, gallery, CONVENTIONS[name].not_ranked)
        bounds = tie_bounds(ranks, CONVENTIONS[name], length=len(results[0][name].cmc))
        maps = np.array([result[name].mAP for result in results])
        curves = np.array([result[name].cmc for result in results])
        assert bounds.best[0] == maps.max() and bounds.worst[0] == maps.min()
        np.testing.assert_allclose(bounds.expected[0], maps.mean(), rtol=1e-13)
        np.testing.assert_array_equal(bounds.best[1], curves.max(axis=0))
        np.testing.assert_array_equal(bounds.worst[1], curves.min(axis=0))
        np.testing.assert_allclose(bounds.expected[1], curves.mean(axis=0), rtol=1e-13, atol=1e-15)
        assert bounds.tied == results[0][name].counts.tied


@pytest.mark.parametrize("name", ["open-reid", "torchreid-cython", "sysu-mm01"])
def test_conventions_whose_expectation_is_not_known(name):
    ranks = good_ranks(*market_like(1))
    refused("convention", name, tie_bounds, ranks, CONVENTIONS[name], 10)


@pytest.mark.parametrize("cmc", ["identities", "single-gallery-shot"])
@pytest.mark.parametrize("seed", range(2))
def test_curves_over_identities_follow_the_order_of_ties(cmc, seed):
    distances, query, gallery = tied_problem(seed, 4)
    backwards = Labels(gallery.identity[::-1], gallery.camera[::-1])
    convention = CONVENTIONS["matlab"].replace(cmc=cmc, unmatched="drop", cmc_length=20)
    expected = reid_ref.evaluate_distances(
        distances[:, ::-1], query, backwards, convention=convention)
    result = reid_ref.evaluate_distances(
        distances, query, gallery, convention=convention.replace(ties="reversed"))
    np.testing.assert_array_equal(result.cmc, expected.cmc)
    plain = reid_ref.evaluate_distances(distances, query, gallery, convention=convention)
    assert (plain.cmc != result.cmc).any()
