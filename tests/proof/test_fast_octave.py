"""Live Octave against the fast path: every AP, CMC and mAP the same double."""
import numpy as np
import pytest

import reid_ref
from tests import cases, nightly
from tests.octave import col

pytestmark = [pytest.mark.octave, pytest.mark.filterwarnings("ignore::UserWarning")]

SEEDS = nightly.cases(2, 12)
PROBLEMS = [
    *(cases.market_like(seed, levels=levels)
      for seed in range(SEEDS) for levels in (None, 2, 15)),
    *(cases.special(seed) for seed in range(SEEDS)),
    cases.market_like(1, n_query=4, n_gallery=400, identities=2),
    cases.market_like(2, n_query=4, n_gallery=400, identities=3, levels=9),
    cases.market_like(3, dtype=np.float32),
    cases.market_like(4, levels=9, dtype=np.uint8),
    cases.market_like(5, n_query=1), cases.market_like(6, n_gallery=1),
    cases.market_like(7, cameras=1),
]


def arguments(distances, query, gallery):
    return (distances.T, col(gallery.identity), col(query.identity),
            col(gallery.camera), col(query.camera))


@pytest.mark.parametrize(("script", "convention"), [
    ("evaluation", "matlab"), ("evaluation_mars", "mars")])
def test_cmc_and_map(octave, script, convention):
    answers = octave.run(script, [arguments(*problem) for problem in PROBLEMS], nout=2)
    for problem, (cmc, mAP) in zip(PROBLEMS, answers, strict=True):
        result = reid_ref.evaluate_distances(*problem, convention=convention)
        np.testing.assert_array_equal(result.cmc, np.ravel(cmc))
        np.testing.assert_array_equal(result.mAP, np.ravel(mAP)[0])


def test_every_ap(octave):
    # Each query alone: evaluation.m's map is then its AP, with 0 for NaN.
    single, expected = [], []
    for distances, query, gallery in PROBLEMS:
        result = reid_ref.evaluate_distances(distances, query, gallery)
        expected.append(np.nan_to_num(result.per_query.ap))
        single += [arguments(distances[k:k + 1], reid_ref.Labels(
            query.identity[k:k + 1], query.camera[k:k + 1]), gallery) for k in range(len(query))]
    answers = octave.run("evaluation", single, nout=2)
    np.testing.assert_array_equal(
        [np.ravel(mAP)[0] for _, mAP in answers], np.concatenate(expected))
