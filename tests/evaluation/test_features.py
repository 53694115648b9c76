"""Features: exact distances decide, and nothing else, not the tiles and not the machine."""
import itertools
import json
import math
import os
import subprocess
import sys
import threading
import warnings
from functools import partial

import numpy as np
import pytest

from reid_ref import CONVENTIONS, Labels, NaNWarning, evaluate, evaluate_distances
from reid_ref.arrays.memory import bytes_of
from reid_ref.distances import distance_matrix
from reid_ref.evaluation.camera_pairs import camera_pairs_features
from reid_ref.evaluation.how import How
from reid_ref.ranking import exact_distances as features
from reid_ref.ranking.counting import TooFarOff
from reid_ref.ranking.exact_distances import (
    feature_parts, feature_rows, pair_products, slack, squares)
from reid_ref.ranking.rank import in_parts, rank
from reid_ref.ranking.roles import find_all_roles
from reid_ref.thresholds.evaluation import evaluate_thresholds
from tests.cases import nearly_tied
from tests.nightly import cases
from tests.proof import brute
from tests.refusals import refused

RULES = ("label -1", "same identity, same camera")
METRICS = ("euclidean", "cosine", "dot")
#: Normalised, all three are the cosine.
of_every_kind = pytest.mark.parametrize(("metric", "normalize"), [
    ("euclidean", True), ("euclidean", False), ("dot", False)])


def labels(n_query, n_gallery, identities=5, seed=0):
    rng = np.random.default_rng(seed)
    return (Labels(rng.integers(-1, identities, n_query), rng.integers(1, 4, n_query)),
            Labels(rng.integers(-1, identities, n_gallery), rng.integers(1, 4, n_gallery)))


def ranks_of(query, gallery, query_labels, gallery_labels, metric="euclidean", normalize=True,
             max_memory=2**26, precision=np.float32):
    """Rank by tiles of this precision; those of float32 may be TooFarOff."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        parts = [partial(one, precision) for one in feature_parts(
            query, gallery, How(metric=metric, normalize=normalize).scalings, max_memory)]
        return rank(in_parts(parts, len(query)), query_labels, gallery_labels,
                    find_all_roles(query_labels, gallery_labels, [RULES]))[RULES]


def assert_ranks(query, gallery, metric="euclidean", normalize=True, both=None, **options):
    """Compare with the sorted exact distances, in tiles of single and of double precision."""
    both = both or labels(len(query), len(gallery))
    expected = brute.ranks(brute.exact_distances(query, gallery, metric, normalize), *both, RULES)
    for precision in (np.float32, np.float64):
        brute.assert_equal(ranks_of(query, gallery, *both, metric, normalize, precision=precision,
                                    **options), expected)
    assert_rows(query, gallery, metric, normalize)
    return expected


def assert_rows(query, gallery, metric, normalize):
    """Compare the order in rows, ties included, with exact distances; in blocks of every size."""
    expected = places(brute.exact_distances(query, gallery, metric, normalize))
    for memory in (1, 96 * 3 * len(gallery), 2**26):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            blocks = list(feature_rows(
                query, gallery, How(metric=metric, normalize=normalize).scaling(), memory))
        assert len(blocks) == {1: len(query), 2**26: 1}.get(memory, -(-len(query) // 3))
        np.testing.assert_array_equal(places(np.concatenate(blocks)), expected)


def places(rows):
    """Return each distance's place among the different ones of its row; NaN is one, the last."""
    return [np.unique(row, return_inverse=True)[1].reshape(-1) for row in np.array(rows)]


def made(dtype, n_query=8, n_gallery=50, dimension=24, seed=0):
    """Features with duplicates, rows of zeros, and one that is shared by both sides."""
    rng = np.random.default_rng(seed)
    query, gallery = (3 * rng.standard_normal((n, dimension)) for n in (n_query, n_gallery))
    if dtype == "int64":
        query, gallery = query * 2.0**55, gallery * 2.0**55
    if dtype == "bool":
        query, gallery = query > 0, gallery > 0
    query, gallery = query.astype(dtype), gallery.astype(dtype)
    gallery[10:20] = gallery[:10]
    gallery[20] = query[0] = gallery[30]
    query[1] = gallery[40] = gallery[41] = 0
    return query, gallery


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4", "int8", "uint8",
                                   "int64", "bool"])
def test_every_metric_and_dtype(metric, normalize, dtype):
    expected = assert_ranks(*made(dtype), metric, normalize)
    assert max(expected["tied"]) > 1


@of_every_kind
@pytest.mark.parametrize(("dtype", "scale"), [
    ("float32", 1e-42), ("float32", 1e37), ("float64", 1e-130), ("float64", 1e130)])
def test_tiny_and_huge_features(metric, normalize, dtype, scale):
    query, gallery = (np.multiply(one, scale).astype(dtype) for one in made("float64"))
    assert np.isfinite(gallery).all() and len(np.unique(gallery)) > 9
    assert_ranks(query, gallery, metric, normalize)


@of_every_kind
@pytest.mark.parametrize("dimension", [1023, 1024, 1025, 2048, 2051, 3073])
def test_long_features_in_parts(metric, normalize, dimension):
    assert len(features.inner_parts(dimension)) == -(-dimension // 1024)
    query, gallery = made("float32", dimension=dimension)
    assert_ranks(query, gallery, metric, normalize)
    # Many nearly tied, all of one sign, of which the sums grow.
    near = abs(gallery[:1]) + np.float32(1e-6) * gallery
    assert_ranks(abs(query), near, metric, normalize)


# Near-ties: what single precision cannot tell, and what double only just can.

@of_every_kind
@pytest.mark.parametrize("step", [2.0**-52, 2.0**-45, 2.0**-26])
def test_images_that_differ_in_the_last_bits(metric, normalize, step):
    rng = np.random.default_rng(2)
    query = rng.standard_normal((6, 40))
    gallery = rng.standard_normal((1, 40)) * (1 + step * rng.integers(-4, 5, (120, 40)))
    expected = assert_ranks(query, gallery, metric, normalize)
    if step > 2**-50:
        assert np.mean(np.array(expected["tied"]) == 1) > .5  # double does tell them apart


@of_every_kind
def test_products_that_cancel(metric, normalize):
    # Large numbers, which cancel, before and after the small ones that decide.
    rng = np.random.default_rng(3)
    query, gallery = rng.standard_normal((6, 40)), rng.standard_normal((120, 40))
    query[:, [0, -1]] = 3e7
    gallery[:, 0], gallery[:, -1] = 2e7, -2e7
    for dtype in (np.float64, np.float32):
        assert_ranks(query.astype(dtype), gallery.astype(dtype), metric, normalize)


# The same doubles, however it is computed.

def market(dimension=48, n_query=60, n_gallery=700, dtype=np.float32):
    """Features of noisy identities; distances of all sizes, and some equal features."""
    rng = np.random.default_rng(5)
    both = labels(n_query, n_gallery, identities=30)
    centre = rng.standard_normal((31, dimension))
    query, gallery = (
        (centre[one.identity] + 1.3 * rng.standard_normal((len(one), dimension))).astype(dtype)
        for one in both)
    gallery[n_gallery // 2:n_gallery // 2 + 10] = gallery[:10]
    return query, gallery, *both


def numbers(result):
    return (result.mAP, result.mINP, *result.cmc.tolist(),
            *np.nan_to_num(result.per_query.ap, nan=-1).tolist())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["fortran", "strided", "reversed", "mapped"])
def test_every_layout_in_memory(kind, tmp_path):
    query, gallery, *both = market(300)
    whole = numbers(evaluate(query, gallery, *both, normalize=False))

    def laid_out(array, name):
        if kind == "mapped":
            np.save(tmp_path / name, array)
            return np.load(tmp_path / name, mmap_mode="r")
        return {"fortran": np.asfortranarray,
                "strided": lambda one: np.repeat(one, 2, axis=1)[:, ::2],
                "reversed": lambda one: one[::-1, ::-1].copy()[::-1, ::-1]}[kind](array)

    other = laid_out(query, "query.npy"), laid_out(gallery, "gallery.npy")
    assert numbers(evaluate(*other, *both, normalize=False)) == whole
    np.testing.assert_array_equal(squares(other[1]), squares(gallery))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("memory", "n_parts"), [("12K", 25), ("40K", 8), (None, 1)])
def test_a_gallery_on_the_disk_in_parts(memory, n_parts, tmp_path):
    h5py = pytest.importorskip("h5py")
    query, gallery, *both = market(n_query=20, n_gallery=400)
    with h5py.File(tmp_path / "features.h5", "w") as file:
        stored = [file.create_dataset(name, data=one) for name, one in
                  (("query", query), ("gallery", gallery))]
        assert len(feature_parts(*stored, ["dot"], bytes_of(memory))) == n_parts
        for metric, normalize, convention in itertools.product(
                METRICS, (True, False), ("matlab", "sysu-mm01")):
            options = {"metric": metric, "normalize": normalize, "convention": convention}
            assert (numbers(evaluate(*stored, *both, **options, max_memory=memory))
                    == numbers(evaluate(query, gallery, *both, **options)))


@pytest.mark.parametrize("convention", ["matlab", "sysu-mm01"])
def test_rows_of_zeros_on_the_disk_are_told_once(tmp_path, convention, monkeypatch):
    h5py = pytest.importorskip("h5py")
    query, gallery, *both = market(n_query=20, n_gallery=400)
    gallery[[7, 150, 151, 399]] = 0
    told_ = ("gallery_features: 4 of 400 rows are all zero (first: row 7); they cannot be "
             "normalised, so their distances are NaN")
    for roundoff in (2.0**-24, 2.0**-40):  # the second time, products are made in double
        monkeypatch.setattr(features, "ROUNDOFF", roundoff)
        with h5py.File(tmp_path / "features.h5", "w") as file:
            stored = file.create_dataset("gallery", data=gallery)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                evaluate(query, stored, *both, convention=convention, normalize=True,
                         max_memory="40K")
        assert [str(one.message) for one in caught if one.category is NaNWarning] == [told_]


@pytest.mark.parametrize("function", [
    evaluate, camera_pairs_features, partial(evaluate, convention="sysu-mm01"),
    partial(evaluate_thresholds, far=[.1])])
def test_memory_for_one_query_is_needed(function):
    """With less, products are as small as one number, and a large gallery takes hours."""
    *arrays, query, gallery = market(n_query=3, n_gallery=400)
    least = 8 * (400 + 16 * arrays[1].shape[1])
    error = refused("max_memory", "400 images", function, *arrays, query, gallery,
                    max_memory=least - 1)
    assert f"{-(-least // 1024)}K" in error.expected


# ---- whole rows -------------------------------------------------------------------------

BY_ROWS = [one for one in CONVENTIONS.values() if one.cmc in (
    "identities", "single-gallery-shot", "single-gallery-shot-other-cameras",
    "single-gallery-shot-draws")] + [
    CONVENTIONS["torchreid"].replace(name=ties, ties=ties) for ties in (
        "numpy", "numpy-reversed")] + [
    CONVENTIONS["torchreid-cython"].replace(name="float32", cmc="single-gallery-shot"),
    CONVENTIONS["torchreid-cython"].replace(name="numpy in float32", ties="numpy")]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(cases(1, 3)))
@of_every_kind
def test_curves_and_orders_of_ties_come_from_exact_distances(seed, metric, normalize):
    query, gallery, *both = nearly_tied(seed=seed)
    exact = np.array(brute.exact_distances(query, gallery, metric, normalize))
    rounded = distance_matrix(query, gallery, metric, normalize)
    results = evaluate(query, gallery, *both, convention=[*BY_ROWS, "matlab"], metric=metric,
                       normalize=normalize, max_memory="30K")
    differ = 0
    for one in [*BY_ROWS, CONVENTIONS["matlab"]]:
        # From features no distance is rounded, also where sums are: order alone counts.
        order = np.array(places(exact)) if one.arithmetic == "float32" else exact
        expected = evaluate_distances(order, *both, convention=one)
        assert numbers(results[one.name]) == numbers(expected), one.name
        differ += numbers(expected) != numbers(evaluate_distances(rounded, *both, convention=one))
    assert differ > len(BY_ROWS) / 2  # or this test could not fail


@pytest.mark.parametrize("error", [1e-9, 1e-3])
def test_rows_of_a_product_that_is_too_far_off(monkeypatch, error):
    query, gallery, *_ = nearly_tied(seed=6)
    rng, product = np.random.default_rng(0), features.nearly_exact

    def sloppy(*arguments):
        values, off = product(*arguments)
        return values + error * rng.standard_normal(values.shape), off

    monkeypatch.setattr(features, "nearly_exact", sloppy)
    assert_rows(query, gallery, "euclidean", True)


ON_ANOTHER_MACHINE = """
import json, sys, warnings
from tests.evaluation.test_features import market, numbers
import reid_ref
warnings.simplefilter("ignore")
print(json.dumps([numbers(reid_ref.evaluate(*market(dimension), metric=metric,
                                            normalize=normalize))
                  for dimension in (48, 1100)
                  for metric, normalize in (("euclidean", True), ("euclidean", False),
                                            ("dot", False))]))
"""


def test_every_number_of_threads_and_kernel_of_the_blas():
    # Haswell, Nehalem: other kernels, with other last bits, where numpy's BLAS is OpenBLAS.
    machines = [{"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"},
                {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
                {"OPENBLAS_CORETYPE": "Haswell"}, {"OPENBLAS_CORETYPE": "Nehalem"}]
    answers = []
    for settings in machines[:cases(2, None)]:
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", ON_ANOTHER_MACHINE],
                              env={**os.environ, **settings}, capture_output=True, text=True,
                              check=True)
        answers.append(json.loads(done.stdout))
    for answer in answers[1:]:
        assert answer == answers[0]


# The exact distance itself.

@pytest.mark.parametrize("dimension", [1, 2, 7, 8, 9, 127, 128, 129, 1000, 8192, 8193])
def test_products_of_pairs(dimension):
    rng = np.random.default_rng(dimension)
    query, gallery = (rng.standard_normal((n, dimension)).astype(np.float32) for n in (5, 9))
    row, image = rng.integers(5, size=333), rng.integers(9, size=333)
    products = pair_products(query, gallery, row, image)
    for k in range(0, 333, 17):
        terms = query[row[k]].astype(float) * gallery[image[k]]
        assert products[k] == terms.sum()
        assert products[k] == pair_products(query, gallery, row[k:k + 1], image[k:k + 1])[0]
        # Pairwise summation: a few roundings of the largest partial sum.
        assert abs(products[k] - math.fsum(terms)) <= 2.0**-49 * abs(terms).sum()
    np.testing.assert_array_equal(products, pair_products(
        gallery, query, image, row))  # who is the query does not matter
    np.testing.assert_array_equal(squares(gallery), [
        pair_products(gallery, gallery, np.array([k]), np.array([k]))[0] for k in range(9)])


# Single precision and its slack.


@pytest.mark.filterwarnings("ignore::UserWarning")
@of_every_kind
def test_a_sloppy_product_is_noticed_and_made_again(monkeypatch, metric, normalize):
    data = market()
    whole = numbers(evaluate(*data, metric=metric, normalize=normalize))
    scaled = features._scaled
    asked = []

    def sloppy(array, rows, scales, precision):
        asked.append(precision)
        sharp = scaled(array, rows, scales, precision)
        return sharp.astype(np.float16).astype(precision) if precision == np.float32 else sharp

    monkeypatch.setattr(features, "_scaled", sloppy)
    with pytest.raises(TooFarOff):
        ranks_of(*data, metric, normalize)
    assert numbers(evaluate(*data, metric=metric, normalize=normalize)) == whole
    assert {np.dtype(one) for one in asked} == {np.dtype("f4"), np.dtype("f8")}
    # Progress of work that is thrown away is not told twice.
    done = []
    evaluate(*data, metric=metric, normalize=normalize, progress=done.append)
    assert sum(done) <= len(data[0])


def test_the_slack_covers_every_order_of_summation():
    for dimension in (1, 59, 2048, 10**6):
        # The worst that d products and sums and the scaling of both sides can make of 1.
        assert slack(dimension) > (1 + 2.0**-24) ** (dimension + 4) - 1


# Ctrl-C.


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_interrupt_leaves_no_thread_at_work():
    def stop(_):
        raise KeyboardInterrupt
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        evaluate(*market(), progress=stop, max_memory="20K")
    assert threading.active_count() == before
