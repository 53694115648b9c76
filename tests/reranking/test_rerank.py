"""Re-ranking against the originals' recorded answers, the port, and the other codes.

Recorded: fixtures/goldens by MATLAB's scripts, fixtures/peers/rerank by the other codes.
"""
import json
import re
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

from reid_ref import CONVENTIONS, Labels, evaluate_distances, matlab
from reid_ref.reranking import k_reciprocal, neighbours
from reid_ref.reranking.k_reciprocal import VARIANTS, evaluate_reranked, rerank, rerank_blocks
from tests import cases
from tests.refusals import refused

ROOT = Path(__file__).resolve().parents[2]
GOLDENS = ROOT / "fixtures" / "goldens"
GOLDEN_NAMES = sorted(path.stem for path in GOLDENS.glob("rerank_*.mat"))
RECORDED = ROOT / "fixtures" / "peers" / "rerank"
ANSWERS = json.loads((RECORDED / "answers.json").read_text())

#: float32 rounds at 6e-8; matrix products, exp and sums of about 50 numbers in another order.
ROUNDING = 1e-6
#: One unit in the last place of a float16 just below 1, which another rounding of a weight can
#: move. On the recorded cases it never does: 1.2e-7 is the largest difference.
HALF = 2.0**-11


@pytest.fixture(params=[None, 7], ids=["one tile", "many tiles"])
def tiles(request, monkeypatch):
    """Everything in one tile, and in tiles of which the last is not full."""
    if request.param:
        monkeypatch.setattr(neighbours, "TILE", request.param)
        monkeypatch.setattr(neighbours, "STRIP", 3)


def port(features, n_query, k1, k2, lambda_, M=1):
    return matlab.re_ranking(features.T, M, 1, n_query, k1, k2, lambda_).T


def fast(features, n_query, *numbers, **options):
    return rerank(features[:n_query], features[n_query:], *numbers, normalize=False, **options)


def assert_same_order(ours, theirs, tolerance):
    """Wherever two neighbours in their order lie apart by more than the tolerance, ours agrees."""
    order = np.argsort(theirs, axis=1, kind="stable")
    steps = np.diff(np.take_along_axis(ours, order, axis=1), axis=1)
    apart = np.diff(np.take_along_axis(theirs, order, axis=1), axis=1) > 2 * tolerance
    assert apart.any() and (steps[apart] > 0).all()


# Against MATLAB

@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_goldens(name, tiles):
    golden = loadmat(GOLDENS / f"{name}.mat")
    found = fast(golden["feat"].T, *(golden[key].item() for key in
                                     ("query_num", "k1", "k2", "lambda")))
    np.testing.assert_allclose(found, golden["final_dist"].T, rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(np.argsort(found, axis=1, kind="stable"),
                                  np.argsort(golden["final_dist"].T, axis=1, kind="stable"))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("k1", "k2", "lambda_"), [
    (20, 6, 0.3), (19, 6, 0.3), (23, 6, 0.3), (18, 4, 0.5), (7, 3, 0.1), (20, 1, 0.3),
    (20, 6, 0), (20, 6, 1), (1, 1, 0.3), (2, 2, 0.3), (3, 30, 0.3), (59, 60, 0.3)])
@pytest.mark.parametrize("levels", [3, 100])
def test_bits_of_the_port_on_whole_numbers(levels, k1, k2, lambda_, dtype, tiles):
    """Exact distances, many ties (levels 3): every neighbourhood and every bit is the port's."""
    rng = np.random.default_rng(levels)
    features = rng.integers(0, levels, (60, 4)).astype(dtype)
    np.testing.assert_array_equal(fast(features, 12, k1, k2, lambda_),
                                  port(features, 12, k1, k2, lambda_))


def test_more_copies_than_neighbours(tiles):
    """The last of ten equal images are not among their own five: they have no encoding at all."""
    features = np.concatenate([np.zeros((10, 2)), np.arange(20.0).reshape(10, 2)])
    np.testing.assert_array_equal(fast(features, 12, 4, 2, 0.3), port(features, 12, 4, 2, 0.3))
    assert (fast(features, 12, 4, 1, 0)[9] == 1).all()


def test_bits_of_the_port_with_a_metric(tiles):
    """M of MahDist, which need not be positive: a distance of XQDA can be negative."""
    rng = np.random.default_rng(5)
    features = rng.integers(-9, 10, (50, 3)).astype(float)
    M = np.array([[4, 1, 0], [1, 3, -2], [0, -2, -1]], float)
    np.testing.assert_array_equal(fast(features, 10, 8, 3, 0.3, mahalanobis=M),
                                  port(features, 10, 8, 3, 0.3, M))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_near_the_port_on_any_features(dtype, tiles):
    rng = np.random.default_rng(6)
    identity = rng.integers(0, 12, 150)
    features = (rng.standard_normal((12, 16))[identity]
                + 0.5 * rng.standard_normal((150, 16))).astype(dtype)
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    ours = rerank(features[:30], features[30:])
    assert ours.dtype == np.float32
    theirs = port(unit, 30, 20, 6, 0.3)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=ROUNDING)
    assert_same_order(ours, theirs, ROUNDING)
    query, gallery = (Labels(one, np.arange(len(one)) % 3)
                      for one in (identity[:30], identity[30:]))
    found = [evaluate_distances(one, query, gallery) for one in (ours, theirs)]
    assert found[0].mAP == pytest.approx(found[1].mAP, abs=1e-6)


# Against the other codes

def recorded():
    with np.load(RECORDED / "answers.npz") as answers:
        return dict(answers)


def ask(key):
    """Return our answer to a recorded question, and the variant's name."""
    variant, k1, k2, norm, junk = re.fullmatch(
        r"(\S+) k1=(\d+) k2=(\d+) (normalized|as-is) junk-(in|out)", key).groups()
    with np.load(RECORDED / "features.npz") as stored:
        query, gallery, left_out = stored["query"], stored["gallery"], stored["junk"]
    if junk == "out":
        gallery = gallery[~left_out]
    return variant, rerank(query, gallery, int(k1), int(k2), 0.3, variant,
                           normalize=norm == "normalized")


@pytest.mark.parametrize("key", list(recorded()))
def test_recorded_answers(key, tiles):
    theirs = recorded()[key]
    variant, ours = ask(key)
    tolerance = HALF if VARIANTS[variant].stored == "float16" else ROUNDING
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)
    assert_same_order(ours, theirs, tolerance)
    assert ours.dtype == np.float32


def test_recorded_features_are_made_again():
    subprocess.run([sys.executable, str(RECORDED / "generate.py"), "--check"], check=True)


def test_every_variant_is_recorded():
    assert {key.split()[0] for key in recorded()} == set(ANSWERS["variants"]) == (
        set(VARIANTS) - {"matlab"})


def test_fast_reid_has_no_distance_below_zero():
    """Six weights of 1/6 add up to more than 1 in float32; its own code puts such images at 0."""
    features = np.repeat(2 * np.eye(6, dtype=np.float32), 6, axis=0)
    order = np.argsort(np.arange(36) % 6, kind="stable")  # one of each kind, then the others
    least = {name: fast(features[order], 6, 8, 6, 0, name).min()
             for name in ("fast-reid", "ranklist")}
    assert least["ranklist"] < 0 and least["fast-reid"] == 0


# Evaluated and signed

@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("variant", VARIANTS)
def test_evaluated_and_signed_in_one_call(variant):
    _, query, gallery = cases.market_like(4)
    rng = np.random.default_rng(4)
    features = rng.standard_normal((12, 6)).astype(np.float32), rng.standard_normal((80, 6))
    names = ["matlab", "torchreid"]
    results = evaluate_reranked(*features, query, gallery, k1=7, k2=3, lambda_=.5,
                                variant=variant, normalize=True, convention=names)
    for name, result in results.items():
        left_out = VARIANTS[variant].junk == "out" or CONVENTIONS[name].loads != "all images"
        kept = gallery.identity != -1 if left_out else np.ones(len(gallery), bool)
        labels = Labels(gallery.identity[kept], gallery.camera[kept])
        distances = rerank(features[0], features[1][kept], 7, 3, .5, variant)
        expected = evaluate_distances(distances, query, labels, convention=name)
        assert result.mAP == expected.mAP
        np.testing.assert_array_equal(result.cmc, expected.cmc)
        n_query, n_gallery = (CONVENTIONS[name].loaded(one.identity).sum()
                              for one in (query, labels))
        assert (f"|rerank:{variant}|k1:7|k2:3|lambda:0.5|normalize:yes|features:float64|"
                f"queries:{n_query}|gallery:{n_gallery}|") in str(result.signature)


def test_whatever_changes_re_ranked_numbers_is_signed():
    _, query, gallery = cases.market_like(4)
    rng = np.random.default_rng(4)
    features = rng.standard_normal((12, 6)), rng.standard_normal((80, 6))
    changes = [{}, {"k1": 7}, {"k2": 3}, {"lambda_": .5}, {"variant": "torchreid"},
               {"normalize": False}, {"mahalanobis": np.eye(6)}, {"convention": "mars"},
               {"mahalanobis": np.diag(np.arange(1., 7.))}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        signatures = {evaluate_reranked(*features, query, gallery, **change).signature
                      for change in changes}
    assert len(signatures) == len(changes)


def test_re_ranking_takes_no_lists_and_needs_a_gallery():
    features, query = (np.eye(2)[:1], np.eye(2)), Labels([7], [1])
    refused("convention", "one without index lists", evaluate_reranked, *features, query,
            Labels([7, 8], [2, 2]), convention="veri")
    refused("gallery", "at least one image", evaluate_reranked, *features, query,
            Labels([-1, -1], [2, 2]), variant="fast-reid")


def test_stored_features_are_read(tmp_path):
    h5py, da = pytest.importorskip("h5py"), pytest.importorskip("dask.array")
    features = np.random.default_rng(0).standard_normal((40, 6))
    expected = rerank(features[:9], features[9:])
    with h5py.File(tmp_path / "f.h5", "w") as file:
        stored = [file.create_dataset(str(k), data=one)
                  for k, one in enumerate((features[:9], features[9:]))]
        np.testing.assert_array_equal(rerank(*stored), expected)
    lazy = [da.from_array(one, chunks=(5, 4)) for one in (features[:9], features[9:])]
    np.testing.assert_array_equal(rerank(*lazy), expected)


# Blocks and memory

@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("block_size", [None, 1, 5, 100])
def test_blocks_are_the_rows(variant, block_size):
    features = np.random.default_rng(9).integers(-30, 31, (60, 6)).astype(np.float32)
    whole = fast(features, 13, 9, 3, 0.3, variant)
    blocks = list(rerank_blocks(features[:13], features[13:], 9, 3, 0.3, variant,
                                normalize=False, block_size=block_size))
    assert all(block.dtype == np.float32 for block in blocks)
    if block_size:
        assert [len(block) for block in blocks] == [
            min(block_size, 13 - start) for start in range(0, 13, block_size)]
    np.testing.assert_array_equal(np.concatenate(blocks), whole)


@pytest.mark.parametrize("variant", VARIANTS)
def test_original_distances_that_do_not_fit_are_computed_again(variant, monkeypatch, tiles):
    features = np.random.default_rng(16).integers(-30, 31, (60, 6)).astype(np.float32)
    whole = fast(features, 13, 9, 3, 0.3, variant)
    monkeypatch.setattr(k_reciprocal, "KEPT_BYTES", 0)
    blocks = rerank_blocks(features[:13], features[13:], 9, 3, 0.3, variant, normalize=False)
    np.testing.assert_array_equal(np.concatenate(list(blocks)), whole)


@pytest.mark.nightly
def test_no_matrix_of_all_images_is_held(monkeypatch):
    monkeypatch.setattr(neighbours, "TILE", 256)
    size = 3000
    rng = np.random.default_rng(10)
    features = (rng.standard_normal((200, 16))[rng.integers(0, 200, size)]
                + 0.4 * rng.standard_normal((size, 16))).astype(np.float32)
    tracemalloc.start()
    for block in rerank_blocks(features[:300], features[300:], block_size=20):
        assert block.shape == (20, 2700)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size * size * 4 / 2


# Bad input

FEATURES = np.random.default_rng(13).standard_normal((20, 3))


def with_row_4(value):
    changed = FEATURES[5:].copy()
    changed[4] = value
    return changed


@pytest.mark.parametrize(("change", "argument", "noun"), [
    ({"k1": 20}, "k1", "from 1 to 19"), ({"k2": 21}, "k2", "from 1 to 20"),
    ({"lambda_": 1.1}, "lambda_", "from 0 to 1"),
    ({"variant": "torchried"}, "variant", "Did you mean 'torchreid'"),
    ({"block_size": 0}, "block_size", "from 1"),
    ({"mahalanobis": np.eye(4)}, "mahalanobis", "shape (4, 4)"),
    ({"mahalanobis": np.full((3, 3), np.nan)}, "mahalanobis", "a symmetric matrix"),
    ({"gallery_features": np.ones((15, 4))}, "query_features, gallery_features", "dimension"),
    ({"gallery_features": with_row_4(np.nan)}, "gallery_features", "NaN in row 4"),
    ({"gallery_features": with_row_4(0)}, "gallery_features", "norm 0 in row 4"),
    ({"normalize": False, "query_features": FEATURES[:5].astype(np.float32),
      "gallery_features": 1e30 * FEATURES[5:].astype(np.float32)},
     "query_features, gallery_features", "overflow float32"),
    ({"query_features": np.ones((5, 3)), "gallery_features": np.ones((15, 3))},
     "query_features, gallery_features", "images that differ"),
])
def test_bad_input(change, argument, noun):
    arguments = {"query_features": FEATURES[:5], "gallery_features": FEATURES[5:], "k1": 5,
                 "k2": 2, **change}
    error = refused(argument, noun, lambda: list(rerank_blocks(**arguments)))
    assert "\n" not in str(error)


def test_on_arm64_no_matrix_is_multiplied_by_its_own_transpose(monkeypatch):
    """Kernels of OpenBLAS are wrong there; products of whole numbers are the same either way."""
    features = np.random.default_rng(5).integers(0, 40, (60, 12)).astype(np.float32)
    sides = features[:20], features[20:]
    expected = rerank(*sides, normalize=False)
    monkeypatch.setattr(neighbours, "COPIED", True)
    pairs = neighbours.pairs_of(features, None, "squared")
    assert not np.shares_memory(pairs.left(slice(0, 20)), features)
    np.testing.assert_array_equal(rerank(*sides, normalize=False), expected)
    monkeypatch.setattr(neighbours, "COPIED", False)
    assert np.shares_memory(pairs.left(slice(0, 20)), features)
