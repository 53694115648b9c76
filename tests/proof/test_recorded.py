"""Recorded answers: port and fast path against what Octave said, `fixtures` and its `goldens`."""
import json

import numpy as np
import pytest
from scipy.io import loadmat

import reid_ref
from reid_ref import Labels, matlab
from reid_ref.files import read_result
from tests.cases import good_ranks
from tests.documents import ROOT
from tests.proof.rerank_cases import SINGLE

FIXTURES = ROOT / "fixtures"
OURS = ["market_like", "ties", "special_values", "mars_like"]
GOLDENS = sorted(path.stem for path in (FIXTURES / "goldens").glob("*.mat")
                 if not path.stem.startswith("rerank_"))

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def fixture(name):
    """The script's arguments, from the file as a user reads it, and Octave's answers."""
    data = read_result(FIXTURES / f"{name}.mat")
    distances = data.distances
    if distances is None:
        unit = [features / np.linalg.norm(features.astype(float), axis=1, keepdims=True)
                for features in (data.query_features, data.gallery_features)]
        distances = 2 - 2 * unit[0] @ unit[1].T
    answers = json.loads((FIXTURES / f"{name}.json").read_text())
    return (distances.T, data.gallery.identity, data.query.identity, data.gallery.camera,
            data.query.camera), answers


def golden(name):
    """The script's arguments and the answers under the names of the fixtures."""
    stored = loadmat(FIXTURES / "goldens" / f"{name}.mat")
    curves, ap, map = stored["cmc_per_query"] > 0, stored["ap"][:, 0], stored["map"].item()
    given = [stored[key] for key in (
        "dist", "label_gallery", "label_query", "cam_gallery", "cam_query")]
    return given, {**stored, "ap": ap, "CMC": stored["CMC"][0], "map": map,
                   "map_mars": np.nan if np.isnan(ap).any() else map,
                   "first": np.where(curves.any(axis=0), 1 + curves.argmax(axis=0), 0)}


RECORDED = {name: make(name) for make, names in ((fixture, OURS), (golden, GOLDENS))
            for name in names}
REAL = [name for name, (given, _) in RECORDED.items() if not np.iscomplexobj(given[0])]


def same(actual, answer):
    """Equal to what was recorded, of which JSON has None for NaN."""
    np.testing.assert_array_equal(actual, np.array(answer, float))


def test_every_answer_is_stored():
    assert len(GOLDENS) == 22 and len(REAL) == 24


@pytest.mark.parametrize("name", RECORDED)
def test_port(name):
    given, answers = RECORDED[name]
    CMC, map, _, _ = matlab.evaluation(*given)
    same(CMC, answers["CMC"])
    same(map, answers["map"])
    CMC, map, *pairwise = matlab.evaluation_mars(*given)
    same(CMC, answers["CMC"])
    same(map, answers["map_mars"])
    if "ap_pairwise" in answers:
        same(pairwise, (answers["r1_pairwise"], answers["ap_pairwise"]))
    if "ap_mat" in answers:
        same(matlab.draw_confusion_matrix(*pairwise[::-1], given[-1]),
             (answers["ap_mat"], answers["r1_mat"]))


@pytest.mark.parametrize("name", RECORDED)
def test_port_on_each_query(name):
    """A query alone has the recorded first match and ap (NaN: no good image), or 0."""
    (dist, label_gallery, label_query, cam_gallery, cam_query), answers = RECORDED[name]
    aps = np.array(answers["ap"], float)
    for k, (first, ap) in enumerate(zip(answers["first"], aps, strict=True)):
        alone = dist[:, [k]], label_gallery, label_query[[k]], cam_gallery, cam_query[[k]]
        CMC, map, _, _ = matlab.evaluation(*alone)
        same(CMC, (np.arange(1, len(dist) + 1) >= first) & (first > 0))
        same(map, np.nan_to_num(ap))
        same(matlab.evaluation_mars(*alone)[1], ap)


@pytest.mark.parametrize("name", REAL)
def test_fast_path(name):
    (dist, label_gallery, label_query, cam_gallery, cam_query), answers = RECORDED[name]
    problem = dist.T, Labels(label_query, cam_query), Labels(label_gallery, cam_gallery)
    for rows in (None, 1, 7):
        results = reid_ref.evaluate_distances(
            *problem, convention=["matlab", "mars"],
            max_memory=rows and rows * problem[0][0].nbytes)
        for result, map in zip(results.values(), ("map", "map_mars"), strict=True):
            same(result.per_query.ap, answers["ap"])
            same(result.per_query.first_match, answers["first"])
            same(result.cmc, answers["CMC"])
            same(result.mAP, answers[map])
    if "ranks" in answers:
        ranks = good_ranks(*problem)
        assert [ranks.rank[ranks.query == k].tolist() for k in range(len(label_query))] == \
            answers["ranks"]


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
def test_features_give_the_recorded_numbers(metric):
    data, answers = read_result(FIXTURES / "market_like.mat"), RECORDED["market_like"][1]
    result = reid_ref.evaluate(
        data.query_features, data.gallery_features, data.query, data.gallery, metric=metric)
    same(result.per_query.ap, answers["ap"])
    same(result.mAP, answers["map"])


@pytest.mark.parametrize("name", ["default", "k2_1", "lambda0", "odd"])
def test_re_ranking(name):
    golden = loadmat(FIXTURES / "goldens" / f"rerank_{name}.mat")
    final_dist = matlab.re_ranking(
        golden["feat"], 1, 1,
        *(golden[key].item() for key in ("query_num", "k1", "k2", "lambda")))
    recorded = golden["final_dist"]
    assert (final_dist.dtype, final_dist.shape) == (recorded.dtype, recorded.shape)
    np.testing.assert_allclose(final_dist, recorded, rtol=0, atol=SINGLE)
    same(*(np.argsort(rows, axis=0, kind="stable") for rows in (final_dist, recorded)))
