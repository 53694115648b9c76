"""Multiple queries: pooling against what the originals printed, of layumi and in Octave."""
import numpy as np
import pytest
from scipy.io import savemat

import reid_ref
from reid_ref import Labels
from reid_ref.datasets.pooling import pool_queries, read_multi_query
from tests.refusals import refused


def made():
    """A made set with several images of each identity on a camera, keys as in layumi's files.

    RandomState's stream is one that numpy does not change.
    """
    random = np.random.RandomState(15)
    n_identity, d = 12, 16
    centre = random.randn(n_identity + 2, d)

    def labels(n):
        return random.randint(1, n_identity + 1, n), random.randint(1, 7, n)

    def features(identity):
        rows = centre[identity] + 1.2 * random.randn(len(identity), d)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    identity, camera = labels(150)
    _, first = np.unique([identity, camera], axis=1, return_index=True)
    first = first[:40]
    gallery, gallery_camera = labels(200)
    gallery[:30] = random.randint(-1, 1, 30)
    gallery[gallery == 3] = 4               # an identity that the gallery lacks
    mquery_f = features(identity)
    return {"query_f": mquery_f[first], "query_label": identity[first], "query_cam": camera[first],
            "gallery_f": features(np.where(gallery < 0, n_identity + 1, gallery)),
            "gallery_label": gallery, "gallery_cam": gallery_camera,
            "mquery_f": mquery_f, "mquery_label": identity, "mquery_cam": camera}


DATA = made()
QUERY, GALLERY, IMAGES = (Labels(DATA[f"{side}_label"], DATA[f"{side}_cam"])
                          for side in ("query", "gallery", "mquery"))


@pytest.fixture
def multi_query(tmp_path):
    """The file as layumi's test.py writes it: labels in one row."""
    path = tmp_path / "multi_query.mat"
    savemat(path, {key: value for key, value in DATA.items() if key.startswith("m")})
    return path


# ---------------------------------------------------------------- the originals' numbers

@pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning")
@pytest.mark.parametrize("normalize", [True, False])
def test_layumi_single_and_multiple_side_by_side(multi_query, normalize):
    """evaluate.py and evaluate_gpu.py of layumi/Person_reID_baseline_pytorch, commit 82ff40f.

    Both print for `made()`: Rank@1:0.575000 Rank@5:0.750000 Rank@10:0.825000 mAP:0.455176 and
    multi Rank@1:0.775000 Rank@5:0.850000 Rank@10:0.875000 mAP:0.602985; the last in full below.
    numpy 2.4.6 (in1d replaced from outside), torch 2.13.0 on a CPU (cuda() replaced).
    """
    pooled = pool_queries(QUERY, *read_multi_query(multi_query), normalize=normalize)
    single, multiple = (
        reid_ref.evaluate(features, DATA["gallery_f"], QUERY, GALLERY, metric="dot",
                          normalize=False, convention="layumi")
        for features in (DATA["query_f"], pooled))
    np.testing.assert_array_equal(single.cmc[[0, 4, 9]], [.575, .75, .825])
    assert f"{single.mAP:.6f}" == "0.455176"
    np.testing.assert_array_equal(multiple.cmc[[0, 4, 9]], [.775, .85, .875])
    assert multiple.mAP == 0.6029847335575376


@pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning")
@pytest.mark.parametrize(("pooling", "mAP", "rank1"), [
    ("mean", 0.6029847335575375, .775), ("max", 0.5098104942240369, .7)])
def test_matlab_driver(pooling, mAP, rank1):
    """zzd_evaluation_res_fast.m of layumi/2016_person_re-ID, commit 3ef47fe, in Octave 7.3.0.

    Its lines 95 to 206, with the vectors of `made()` (as doubles) for those of the network and
    the whole gallery for `rank_size`. mAP from its ap_avg and ap_max, NaN as 0; Rank-1 from the
    curve that belongs to the pooling, which it prints beside the other one.
    """
    double = {key: DATA[key].astype(float) for key in ("mquery_f", "gallery_f")}
    pooled = pool_queries(QUERY, IMAGES, double["mquery_f"], pooling)
    result = reid_ref.evaluate(pooled, double["gallery_f"], QUERY, GALLERY)
    assert (result.mAP, result.cmc[0]) == (mAP, rank1)


# ---------------------------------------------------------------- what pooling is

def test_by_hand():
    query, images = Labels([7, 8, 7], [1, 1, 2]), Labels([7, 8, 7, 7], [1, 1, 2, 1])
    features = [[3, 4], [5, 12], [1, 0], [0, 2]]
    np.testing.assert_array_equal(
        pool_queries(query, images, features, normalize=False), [[1.5, 3], [5, 12], [1, 0]])
    np.testing.assert_array_equal(
        pool_queries(query, images, features, "max", False), [[3, 4], [5, 12], [1, 0]])
    mean, largest = np.array([.3, .9]), np.array([.6, 1])
    np.testing.assert_allclose(
        pool_queries(query, images, features)[0], mean / np.hypot(*mean), rtol=1e-15)
    np.testing.assert_allclose(
        pool_queries(query, images, features, "max")[0], largest / np.hypot(*largest), rtol=1e-15)
    np.testing.assert_array_equal(  # zeros may stay without normalisation
        pool_queries(ONE, TWO, [[1, 2], [-1, -2]], normalize=False), [[0, 0]])


@pytest.mark.parametrize(("given", "kept"), [
    ("float16", "float32"), ("float32", "float32"), ("float64", "float64"), ("int16", "float64")])
def test_precision(given, kept):
    features = (9 * DATA["mquery_f"]).astype(given)
    before = features.copy()
    assert pool_queries(QUERY, IMAGES, features).dtype == kept
    np.testing.assert_array_equal(features, before)


# ---------------------------------------------------------------- bad input

ONE, TWO = Labels([7], [1]), Labels([7, 7], [1, 1])


@pytest.mark.parametrize(("arguments", "argument", "noun"), [
    ((Labels([7, 8], [1, 2]), TWO, np.eye(2)), "images", "at least one for each query"),
    ((ONE, Labels([], []), np.zeros((0, 2))), "images", "at least one image"),
    ((Labels([], []), TWO, np.eye(2)), "query", "at least one image"),
    ((ONE, TWO, [[1, 2], [np.nan, 1]]), "features", "NaN in row 1"),
    ((ONE, TWO, [[1, 2], [0, 0]]), "features", "row of zeros"),
    ((ONE, TWO, [[1, 2], [-1, -2]]), "features", "the images of query 0 cancel"),
    ((ONE, TWO, np.eye(2), "median"), "pooling", "unknown 'median'"),
])
def test_bad_input(arguments, argument, noun):
    refused(argument, noun, pool_queries, *arguments)


# ---------------------------------------------------------------- files

def test_read(multi_query, tmp_path):
    images, features = read_multi_query(multi_query)
    np.testing.assert_array_equal(images.identity, IMAGES.identity)
    np.testing.assert_array_equal(images.camera, IMAGES.camera)
    np.testing.assert_array_equal(features, DATA["mquery_f"])
    assert features.dtype == np.float32
    keys = {key: value for key, value in DATA.items() if key.startswith("m")}
    np.savez(tmp_path / "multi_query.npz", **keys)
    np.testing.assert_array_equal(read_multi_query(tmp_path / "multi_query.npz")[1], features)


@pytest.mark.parametrize(("changes", "argument", "noun"), [
    ({"mquery_f": None}, "multi_query.npz", "no mquery_f"),
    ({"mquery_cam": np.ones(3)}, "multi_query.npz: mquery_cam", "one of each"),
    ({"mquery_label": np.zeros(0), "mquery_cam": np.zeros(0), "mquery_f": np.zeros((0, 2))},
     "multi_query.npz: mquery_label", "at least one"),
])
def test_read_refuses(tmp_path, changes, argument, noun):
    keys = {key: DATA[key] for key in sorted(DATA) if key.startswith("m")} | changes
    path = tmp_path / "multi_query.npz"
    np.savez(path, **{key: value for key, value in keys.items() if value is not None})
    refused(argument, noun, read_multi_query, path)
    refused("multi_query.mat", "No such file", read_multi_query, tmp_path / "multi_query.mat")
