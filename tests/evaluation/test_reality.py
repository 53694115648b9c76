"""The fast path on real files, which are read where they are: see `tests.shared`.

The recorded answers of fixtures/goldens: `tests/proof/test_recorded.py`.
"""

import numpy as np
import pytest
import scipy.io

import reid_ref
from reid_ref import Labels
from reid_ref.files import read_result
from tests.shared import shared

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_all_of_market1501():
    recorded = scipy.io.loadmat(shared("goldens/market1501_full.mat"))
    query = Labels(recorded["query_label"], recorded["query_cam"])
    gallery = Labels(recorded["gallery_label"], recorded["gallery_cam"])
    features = recorded["query_f"], recorded["gallery_f"]
    result = reid_ref.evaluate(*features, query, gallery, normalize=False)
    np.testing.assert_array_equal(result.per_query.ap, recorded["ap"].ravel())
    np.testing.assert_array_equal(result.cmc, recorded["CMC"].ravel())
    assert result.mAP == recorded["map"].item()
    # The known counts of the benchmark.
    assert result.counts.query == 3368 and result.counts.gallery == 19732
    assert result.counts.gallery_junk == 3819 and result.counts.gallery_distractors == 2798
    assert result.counts.good == 49649 and result.counts.status["ok"] == 3368


def test_sketch_reid():
    data = read_result(shared("real/sketch_reid") / "pytorch_result.mat")
    result = reid_ref.evaluate(
        data.query_features, data.gallery_features, data.query, data.gallery)
    np.testing.assert_array_equal(result.cmc[[0, 4, 9]], [0.14, 0.36, 0.48])
    assert f"{result.mAP:.12f}" == "0.177999718544"
    assert f"{result.mINP:.6f}" == "0.187561"
    log = (shared("real/sketch_reid") / "logged.txt").read_text()
    assert log.split() == [f"Rank@1:{result.cmc[0]:.6f}", f"Rank@5:{result.cmc[4]:.6f}",
                           f"Rank@10:{result.cmc[9]:.6f}", f"mAP:{result.mAP:.6f}"]


def test_sketch_reid_by_the_rule_of_torchreid():
    # As its evaluator printed it; mINP by the same ranks.
    data = read_result(shared("real/sketch_reid") / "pytorch_result.mat")
    for name in ("torchreid", "fast-reid", "reid-survey"):
        result = reid_ref.evaluate(data.query_features, data.gallery_features, data.query,
                                   data.gallery, convention=name)
        assert f"{result.mAP:.6f} {result.mINP:.6f}" == "0.217137 0.187561"


def test_cuhk03_np():
    folder = shared("real/cuhk03_np_100q")
    data = read_result(*(folder / f"{name}.txt" for name in (
        "query_gallery_distance", "query_id", "gallery_id", "query_cam", "gallery_cam")))
    result = reid_ref.evaluate_distances(data.distances, data.query, data.gallery)
    assert f"{result.mAP:.15f}" == "0.640337161526478"
    assert f"{result.mINP:.15f}" == "0.536818961902077"
    logged = np.loadtxt(folder / "logged_matlab_CMC.txt")
    np.testing.assert_array_equal(result.cmc[:len(logged)].round(2), logged)
    assert len(logged) == 100
