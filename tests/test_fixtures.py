"""Recorded answers: fast path and port against what Octave said when the fixtures were made."""
import json
from pathlib import Path

import numpy as np
import pytest

import reid_ref
from reid_ref import matlab
from reid_ref.files import read_result
from reid_ref.ranking.rank import good_ranks

FIXTURES = Path(__file__).parents[1] / "fixtures"
NAMES = ["market_like", "ties", "special_values", "mars_like"]

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(params=NAMES)
def fixture(request):
    """The file as a user reads it, its distances, and Octave's answers."""
    data = read_result(FIXTURES / f"{request.param}.mat")
    answers = json.loads((FIXTURES / f"{request.param}.json").read_text())
    distances = data.distances
    if distances is None:
        unit = [features / np.linalg.norm(features.astype(float), axis=1, keepdims=True)
                for features in (data.query_features, data.gallery_features)]
        distances = 2 - 2 * unit[0] @ unit[1].T
    return data, distances, answers


def as_doubles(values):
    return np.array(values, dtype=np.float64)  # None becomes NaN


def test_fast_path(fixture):
    data, distances, answers = fixture
    result = reid_ref.evaluate_distances(distances, data.query, data.gallery)
    np.testing.assert_array_equal(result.per_query.ap, as_doubles(answers["ap"]))
    np.testing.assert_array_equal(result.per_query.first_match, answers["first"])
    np.testing.assert_array_equal(result.cmc, answers["CMC"])
    assert result.mAP == answers["map"]


def test_ranks(fixture):
    data, distances, answers = fixture
    ranks = good_ranks(distances, data.query, data.gallery)
    assert [ranks.rank[ranks.query == k].tolist() for k in range(len(data.query))] == \
        answers["ranks"]


def test_features_give_the_recorded_numbers():
    data = read_result(FIXTURES / "market_like.mat")
    answers = json.loads((FIXTURES / "market_like.json").read_text())
    for metric in ("euclidean", "cosine", "dot"):
        result = reid_ref.evaluate(
            data.query_features, data.gallery_features, data.query, data.gallery, metric=metric)
        np.testing.assert_array_equal(result.per_query.ap, as_doubles(answers["ap"]))
        assert result.mAP == answers["map"]


def test_port(fixture):
    data, distances, answers = fixture
    labels = (data.gallery.identity, data.query.identity, data.gallery.camera, data.query.camera)
    cmc, mAP, _, _ = matlab.evaluation(distances.T, *labels)
    np.testing.assert_array_equal(cmc, answers["CMC"])
    assert mAP == answers["map"]
    _, mars_ap, r1_pairwise, ap_pairwise = matlab.evaluation_mars(distances.T, *labels)
    np.testing.assert_array_equal(mars_ap, as_doubles(answers["map_mars"]))
    np.testing.assert_array_equal(r1_pairwise, answers["r1_pairwise"])
    np.testing.assert_array_equal(ap_pairwise, answers["ap_pairwise"])
    ap_mat, r1_mat = matlab.draw_confusion_matrix(ap_pairwise, r1_pairwise, data.query.camera)
    np.testing.assert_array_equal(ap_mat, as_doubles(answers["ap_mat"]))
    np.testing.assert_array_equal(r1_mat, as_doubles(answers["r1_mat"]))
