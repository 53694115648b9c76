"""Pairs of cameras: the fast path against the port, live Octave and recorded answers.

Recorded: fixtures/goldens.
"""
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

import reid_ref
from reid_ref import Labels
from reid_ref.evaluation.camera_pairs import (
    camera_pairs, camera_pairs_features, camera_pairs_of)
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Lists
from reid_ref.matlab import compute_AP, draw_confusion_matrix, evaluation_mars
from reid_ref.ranking.ranked_lists import RankedLists
from tests import nightly
from tests.cases import market_like, save, special
from tests.commands.common import MARKET, answer, table
from tests.octave import col
from tests.refusals import refused

ROOT = Path(__file__).resolve().parents[2]
MARS = ROOT / "fixtures" / "mars_like.mat"
NAN = np.nan

pytestmark = pytest.mark.filterwarnings("ignore::reid_ref.NaNWarning")

#: `compute_AP_multiCam.m`, `compute_r1_multiCam.m` and `draw_confusion_matrix.m` of
#: layumi/2016_person_re-ID, commit 3ef47fe, on fixtures/mars_like.mat, called as
#: zzd_evaluation_res_fast.m calls them; GNU Octave 7.3.0.
LAYUMI = json.loads(Path(__file__).with_name("layumi_pairs.json").read_text())
#: Its driver takes the trace off the sum of all; 36 sums of numbers up to 1.
SUM_LESS_TRACE = 36 * np.finfo(float).eps


def in_the_gallery(seed):
    """As in MARS: queries are rows of the gallery, nearest to themselves or not quite."""
    distances, _, gallery = market_like(seed, n_query=20, n_gallery=90, cameras=6, levels=30)
    rows = np.random.default_rng(seed).integers(0, 90, 20)
    distances[np.arange(20), rows] = -1 if seed % 2 else 3
    return distances, Labels(gallery.identity[rows], gallery.camera[rows]), gallery


def problems():
    for seed in range(nightly.cases(16, 40)):
        rng = np.random.default_rng(seed)
        sizes = {"n_query": int(rng.integers(1, 9)), "n_gallery": int(rng.integers(1, 50)),
                 "identities": int(rng.integers(1, 6)), "cameras": int(rng.integers(2, 7))}
        yield special(seed, **sizes)
        yield market_like(seed, **sizes, levels=4 if seed % 3 else None,
                          dtype=np.float32 if seed % 2 else np.float64)
        yield in_the_gallery(seed)


def as_arguments(distances, query, gallery):
    return (distances.T, col(gallery.identity), col(query.identity), col(gallery.camera),
            col(query.camera))


def mars():
    file = loadmat(MARS)
    return (file["dist"].T, Labels(file["label_query"], file["cam_query"]),
            Labels(file["label_gallery"], file["cam_gallery"]))


def equal(pairs, ap, r1, ap_mat, r1_mat):
    np.testing.assert_array_equal(pairs.ap, ap)
    np.testing.assert_array_equal(pairs.rank1, r1)
    np.testing.assert_array_equal(pairs.ap_matrix, ap_mat)
    np.testing.assert_array_equal(pairs.rank1_matrix, r1_mat)


# ---------------------------------------------------------------- as the scripts

@pytest.mark.filterwarnings("ignore::reid_ref.CameraWarning")
def test_script_is_the_port():
    seen = set()
    for distances, query, gallery in problems():
        _, _, r1, ap = evaluation_mars(*as_arguments(distances, query, gallery))
        equal(camera_pairs(distances, query, gallery, rule="script"), ap, r1,
              *draw_confusion_matrix(ap, r1, query.camera))
        seen |= set(r1.ravel())
    assert seen == {-2, -1, 0, 1}


@pytest.mark.octave
def test_script_is_octave(octave):
    for script in ("evaluation_mars", "draw_confusion_matrix"):
        if not (octave.folder / f"{script}.m").is_file():
            pytest.skip(f"{octave.folder} has no {script}.m")
    cases = [case for case in problems() if len(case[2]) > 9][::3]
    cases.append(mars())
    octave.eval(
        "function [ap, r1, ap_mat, r1_mat, ap_mean, r1_mean] = pairs(varargin)\n"
        "  [~, ~, r1, ap] = evaluation_mars(varargin{:});\n"
        "  [ap_mat, r1_mat] = draw_confusion_matrix(ap, r1, varargin{5});\n"
        "  ap_mean = (sum(ap_mat(:)) - sum(diag(ap_mat))) / 30;\n"
        "  r1_mean = (sum(r1_mat(:)) - sum(diag(r1_mat))) / 30;\n"
        "end")
    answers = octave.run("pairs", [as_arguments(*case) for case in cases], nout=6)
    for case, (*theirs, ap_mean, r1_mean) in zip(cases, answers, strict=True):
        pairs = camera_pairs(*case, rule="script")
        equal(pairs, *theirs)
        np.testing.assert_equal((pairs.mAP, pairs.mean_rank1),
                                (ap_mean.item(), r1_mean.item()))
    assert not np.isnan(ap_mean)


def test_script_is_what_the_originals_answered():
    golden = loadmat(ROOT / "fixtures" / "goldens" / "mars.mat")
    pairs = camera_pairs(golden["dist"].T, Labels(golden["label_query"], golden["cam_query"]),
                         Labels(golden["label_gallery"], golden["cam_gallery"]), rule="script")
    np.testing.assert_array_equal(pairs.ap, golden["ap_pairwise"])
    np.testing.assert_array_equal(pairs.rank1, golden["r1_pairwise"])


# ---------------------------------------------------------------- without their quirks

def plain_by_the_port(distances, query, gallery, cameras, length=None):
    """Each query on each camera is a call of compute_AP, with the other cameras as junk."""
    shape = len(query), len(cameras)
    ap, rank1 = np.full(shape, NAN), np.full(shape, NAN)
    for k in range(shape[0]):
        index = np.argsort(distances[k], kind="stable")[:length]
        same = gallery.identity == query.identity[k]
        if query.identity[k] == -1:
            continue
        for c, camera in enumerate(cameras):
            good = same & (gallery.camera == camera)
            junk = same & ~good | (gallery.identity == -1)
            if good.any():
                ap[k, c], curve = compute_AP(np.flatnonzero(good), np.flatnonzero(junk), index)
                rank1[k, c] = curve[0]
    return ap, rank1


@pytest.mark.filterwarnings("ignore::reid_ref.CameraWarning")
def test_plain_is_compute_AP_with_the_other_cameras_as_junk():
    cases = [*problems(), market_like(1, n_query=40, n_gallery=900, cameras=15)]
    for distances, query, gallery in cases:
        pairs = camera_pairs(distances, query, gallery)
        ap, rank1 = plain_by_the_port(distances, query, gallery, pairs.cameras)
        np.testing.assert_array_equal(pairs.ap, ap)
        np.testing.assert_array_equal(pairs.rank1, rank1)
    assert len(pairs.cameras) == 15


def test_plain_is_what_layumi_computes():
    pairs = camera_pairs(*mars())
    np.testing.assert_array_equal(pairs.ap_matrix, LAYUMI["AP"])
    np.testing.assert_array_equal(pairs.rank1_matrix, LAYUMI["Rank-1"])
    np.testing.assert_allclose((pairs.mAP, pairs.mean_rank1), LAYUMI["means"],
                               atol=SUM_LESS_TRACE)


def test_by_hand():
    """Nearest is a junk image, then one of the own camera, a wrong one, two of camera 2."""
    query, gallery = Labels([7], [1]), Labels([-1, 7, 8, 7, 7], [3, 1, 2, 2, 2])
    distances = np.array([[.1, .2, .3, .4, .5]])
    plain = camera_pairs(distances, query, gallery)
    on_2 = 1 / 2 * (0 + 1 / 2) / 2 + 1 / 2 * (1 / 2 + 2 / 3) / 2
    np.testing.assert_allclose(plain.ap, [[1, on_2, NAN]], atol=1e-15)
    np.testing.assert_array_equal(plain.rank1, [[1, 0, NAN]])
    np.testing.assert_array_equal(plain.ap_count, [[1, 1, 0], [0, 0, 0], [0, 0, 0]])
    assert plain.mAP == plain.ap[0, 1] and plain.mean_rank1 == 0
    # The junk image is taken for the query; the only own image is then one too many.
    script = camera_pairs(distances, query, gallery, rule="script")
    behind_two = 1 / 2 * (0 + 1 / 3) / 2 + 1 / 2 * (1 / 3 + 2 / 4) / 2
    np.testing.assert_allclose(script.ap, [[0, behind_two, 0, 0, 0, 0]], atol=1e-15)
    np.testing.assert_array_equal(script.rank1, [[-1, 0, -2, -2, -2, -2]])
    assert np.isnan(script.mAP) and np.isnan(script.mean_rank1)


def test_means_over_queries_leave_out_what_has_no_score():
    query, gallery = Labels([7, 8, 9], [1, 1, 1]), Labels([7, 8, 8], [2, 2, 3])
    pairs = camera_pairs([[.1, .2, .3], [.1, .2, .3], [.1, .2, .3]], query, gallery)
    np.testing.assert_array_equal(pairs.ap_count[0], [0, 2, 1])
    np.testing.assert_array_equal(pairs.rank1_matrix[0], [NAN, .5, 0])
    assert pairs.mean_rank1 == .25


# ---------------------------------------------------------------- ranked lists

def pairs_of_lists(distances, query, gallery, rule="plain", length=None):
    lists = np.argsort(distances, kind="stable")[:, :length]
    ranked = Lists(RankedLists(lists, "list {}".format))
    return camera_pairs_of(ranked, query, gallery, rule, How())


@pytest.mark.parametrize("rule", ["plain", "script"])
@pytest.mark.filterwarnings("ignore::reid_ref.CameraWarning")
def test_complete_lists_are_the_distances(rule):
    for case in problems():
        whole = camera_pairs(*case, rule=rule)
        equal(pairs_of_lists(*case, rule), whole.ap, whole.rank1, whole.ap_matrix,
              whole.rank1_matrix)


@pytest.mark.filterwarnings("ignore::reid_ref.CameraWarning")
def test_good_images_that_a_cut_list_lacks_are_missed():
    missed = 0
    for distances, query, gallery in problems():
        whole = camera_pairs(distances, query, gallery)
        cut = pairs_of_lists(distances, query, gallery, length=5)
        ap, rank1 = plain_by_the_port(distances, query, gallery, cut.cameras, length=5)
        np.testing.assert_array_equal(cut.ap, ap)
        np.testing.assert_array_equal(cut.rank1, rank1)
        np.testing.assert_array_equal(cut.ap_count, whole.ap_count)
        assert not (cut.ap > whole.ap).any()
        missed += np.count_nonzero((cut.ap == 0) & (whole.ap > 0))
    assert missed > 100


def test_script_refuses_lists_that_lack_a_good_image():
    query, gallery = Labels([7], [1]), Labels([7, 7, 8], [1, 2, 3])
    case = np.array([[.1, .2, .3]]), query, gallery
    np.testing.assert_array_equal(pairs_of_lists(*case, "script", 2).ap,
                                  camera_pairs(*case, rule="script").ap)
    refused("data", "every good image", pairs_of_lists, *case, "script", 1)


# ---------------------------------------------------------------- blocks, bad input

def test_memory_and_progress_change_no_number():
    distances, query, gallery = market_like(3, n_query=12, n_gallery=40)
    whole, told = camera_pairs(distances, query, gallery), []
    parts = camera_pairs(distances, query, gallery, max_memory=5 * distances[0].nbytes,
                         progress=told.append)
    assert sum(told) == len(query) and 1 < max(told) <= 5
    equal(parts, whole.ap, whole.rank1, whole.ap_matrix, whole.rank1_matrix)
    features, told = (np.ones((12, 5)), np.ones((40, 5))), []
    camera_pairs_features(*features, query, gallery, progress=told.append)
    assert sum(told) == 12
    refused("max_memory", "512M", camera_pairs, distances, query, gallery, max_memory="much")


LABELS = Labels([7], [1]), Labels([7, 8], [2, 7])


@pytest.mark.parametrize(("arguments", "rule", "argument", "noun"), [
    (([[1, 2]], *LABELS), "script", "gallery", "cameras 1 to 6"),
    (([[1, 2]], Labels([7], [0]), LABELS[1]), "script", "query", "0 at index 0"),
    (([[1, 2]], *LABELS), "plane", "rule", "unknown 'plane'"),
])
def test_bad_input(arguments, rule, argument, noun):
    refused(argument, noun, camera_pairs, *arguments, rule=rule)


@pytest.mark.parametrize("rule", ["plain", "script"])
def test_one_camera(rule):
    with pytest.warns(reid_ref.CameraWarning, match="on camera 2, so there is no pair"):
        pairs = camera_pairs([[.1, .2, .3]], Labels([7], [2]), Labels([7, 7, 8], [2, 2, 2]),
                             rule=rule)
    assert np.isnan(pairs.mAP) and np.isnan(pairs.mean_rank1)
    assert pairs.ap_matrix[pairs.cameras == 2, pairs.cameras == 2] == 1


# ---------------------------------------------------------------- the command

def test_command():
    out = table("evaluate", "mars_like.mat", "--by", "camera-pair", cwd=MARS.parent)
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    pairs = camera_pairs(*mars())
    for name, matrix in (("mAP", pairs.ap_matrix), ("Rank-1", pairs.rank1_matrix)):
        start = next(k for k, line in enumerate(lines) if line.startswith(f"{name}, percent"))
        shown = [line.split() for line in lines[start + 1:start + 8]]
        assert shown[0] == list("123456")
        assert shown[1:] == [[str(c + 1), *(f"{100 * value:.2f}" for value in matrix[c])]
                             for c in range(6)]
    assert ["mAP", f"{100 * pairs.mAP:.2f}", repr(pairs.mAP)] in map(str.split, lines)
    assert "signature rule:plain | distances:float64" in out


@pytest.mark.parametrize("rule", ["plain", "script"])
def test_signature(rule):
    distances, query, gallery = in_the_gallery(1)
    version = f"queries:{len(query)}|gallery:{len(gallery)}|reid-ref:{reid_ref.__version__}"
    assert camera_pairs(distances, query, gallery, rule=rule).signature == (
        f"rule:{rule}|distances:float64|{version}")
    features = np.eye(len(query), 5), np.ones((len(gallery), 5), np.float32)
    pairs = camera_pairs_features(*features, query, gallery, metric="dot", normalize=False,
                                  rule=rule)
    assert pairs.signature == (
        f"rule:{rule}|metric:dot|normalize:no|features:float64|{version}")


@pytest.mark.parametrize("rule", ["plain", "script"])
def test_features_are_ranked_by_exact_distances(rule):
    _, query, gallery = in_the_gallery(2)
    rng = np.random.default_rng(2)
    features = [rng.integers(-3, 4, (len(one), 6)).astype(np.float32) for one in (query, gallery)]
    exact = (features[1].astype(float) ** 2).sum(axis=1) - 2 * features[0] @ features[1].T
    expected = camera_pairs(exact, query, gallery, rule=rule)
    for memory in (None, "2K"):
        pairs = camera_pairs_features(*features, query, gallery, normalize=False, rule=rule,
                                      max_memory=memory)
        for name in ("ap", "rank1", "ap_matrix", "rank1_matrix"):
            np.testing.assert_array_equal(getattr(pairs, name), getattr(expected, name))


@pytest.mark.parametrize("kind", ["h5py", "dask"])
def test_distances_that_are_stored(kind, tmp_path):
    distances, query, gallery = in_the_gallery(3)
    expected = camera_pairs(distances, query, gallery)
    if kind == "dask":
        stored = pytest.importorskip("dask.array").from_array(distances, chunks=(4, 7))
    else:
        stored = pytest.importorskip("h5py").File(tmp_path / "d.h5", "w").create_dataset(
            "d", data=distances)
    pairs = camera_pairs(stored, query, gallery)
    np.testing.assert_array_equal(pairs.ap, expected.ap)
    np.testing.assert_array_equal(pairs.rank1, expected.rank1)


@pytest.fixture
def many_cameras(tmp_path, monkeypatch):
    """In the current folder: fifteen cameras, the last one without a gallery image."""
    distances, query, gallery = market_like(2, n_query=80, n_gallery=400, cameras=15)
    monkeypatch.chdir(tmp_path)
    save("many.npz", distances, query,
         Labels(gallery.identity, np.minimum(gallery.camera, 14)))


def test_command_with_many_cameras(many_cameras):
    out = table("evaluate", "many.npz", "--by", "camera-pair")
    assert max(map(len, out.splitlines())) <= 80
    columns = [line.split() for line in out.splitlines()
               if line.split() and line.split()[0] in ("1", "10") and "." not in line]
    assert columns == 2 * [[*map(str, range(1, 10))], [*map(str, range(10, 16))]]
    assert "14 in mAP, 14 in Rank-1; they are left out of the mean" in " ".join(out.split())
    found = answer("evaluate", "many.npz", "--by", "camera-pair")["by"]["camera-pair"]
    assert found["matrix"]["mAP"][0][14] is None


def test_pairs_are_by_the_distances_of_the_convention():
    for name in ("matlab", "torchreid"):
        found = answer("evaluate", MARKET, "--convention", name, "--by", "camera-pair")
        how = f"metric:euclidean|normalize:{'yes' if name == 'matlab' else 'no'}|"
        assert how in found["signature"] and how in found["by"]["camera-pair"]["signature"]


def test_pairs_of_ranked_lists(tmp_path):
    """Lists of all images give what distances of the same order give."""
    distances, query, gallery = market_like(3, n_query=20, n_gallery=60)
    lists = np.argsort(distances, axis=1, kind="stable")
    np.save(tmp_path / "lists.npy", lists)
    for side, labels in (("query", query), ("gallery", gallery)):
        np.save(tmp_path / f"{side}.npy", np.stack([labels.camera, labels.identity], axis=1))
    found = answer("evaluate", "lists.npy", "--labels", "query.npy", "gallery.npy", "--by",
                   "camera-pair", cwd=tmp_path)["by"]["camera-pair"]
    expected = camera_pairs(distances, query, gallery)
    assert found["mean"] == {"Rank-1": expected.mean_rank1, "mAP": expected.mAP}
