"""The port against recorded answers of the original scripts: fixtures/goldens."""
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

from reid_ref.matlab import evaluation, evaluation_mars

GOLDENS = Path(__file__).resolve().parents[2] / "fixtures" / "goldens"
NAMES = sorted(path.stem for path in GOLDENS.glob("*.mat")
               if not path.stem.startswith("rerank_"))
INPUTS = ("dist", "label_gallery", "label_query", "cam_gallery", "cam_query")


@pytest.fixture(params=NAMES)
def golden(request):
    return loadmat(GOLDENS / f"{request.param}.mat")


def test_the_answers_are_there():
    assert len(NAMES) == 22


def test_evaluation(golden):
    CMC, map, _, _ = evaluation(*(golden[name] for name in INPUTS))
    np.testing.assert_array_equal(CMC, golden["CMC"][0])
    assert map == golden["map"].item()


def test_evaluation_mars(golden):
    CMC, map, r1_pairwise, ap_pairwise = evaluation_mars(*(golden[name] for name in INPUTS))
    np.testing.assert_array_equal(CMC, golden["CMC"][0])
    np.testing.assert_equal(
        map, np.nan if np.isnan(golden["ap"]).any() else golden["map"].item())
    if "ap_pairwise" in golden:
        np.testing.assert_array_equal(ap_pairwise, golden["ap_pairwise"])
        np.testing.assert_array_equal(r1_pairwise, golden["r1_pairwise"])


def test_each_query(golden):
    """A query alone has the recorded curve, and the recorded ap (NaN: no good image) or 0."""
    dist, label_gallery, label_query, cam_gallery, cam_query = (golden[name] for name in INPUTS)
    for k in range(dist.shape[1]):
        alone = dist[:, [k]], label_gallery, label_query[[k]], cam_gallery, cam_query[[k]]
        CMC, map, _, _ = evaluation(*alone)
        np.testing.assert_array_equal(CMC, golden["cmc_per_query"][:, k])
        np.testing.assert_equal(map, np.nan_to_num(golden["ap"][k, 0]))
        np.testing.assert_equal(evaluation_mars(*alone)[1], golden["ap"][k, 0])


def test_pairs_of_cameras_are_recorded():
    golden = loadmat(GOLDENS / "mars.mat")
    assert golden["ap_pairwise"].shape == golden["r1_pairwise"].shape == (25, 6)
    assert (golden["r1_pairwise"] == 1).any() and (golden["ap_pairwise"] > 0).any()
