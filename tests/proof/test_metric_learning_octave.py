"""Learnt metrics: the scripts of matlab_ref in live Octave against Python."""
import numpy as np
import pytest

from reid_ref.metric_learning import (
    TOLERANCE, kissme, kissme_pairs, mahalanobis_distances, pca, similar_pairs_metric, xqda,
    xqda_pairs)
from tests.octave import col
from tests.metric_learning.test_metric_learning import sides, world

pytestmark = pytest.mark.octave

SIZES = [(20, 3, 16, 300), (50, 6, 48, 700), (30, 4, 400, 160), (6, 2, 8, 60)]
IDS = ["16 dimensions", "48 dimensions", "more dimensions than samples", "small"]


def same_ranking(x, ours, theirs):
    """Distances and the order of every list, of queries from one end to the rest."""
    query, gallery = x[:20], x[20:]
    distances = [mahalanobis_distances(query @ space, gallery @ space, np.atleast_2d(M))
                 for space, M in (ours, theirs)]
    np.testing.assert_allclose(*distances, rtol=0, atol=TOLERANCE * np.abs(distances[1]).max())
    np.testing.assert_array_equal(*(np.argsort(rows, axis=1, kind="stable") for rows in distances))


@pytest.mark.parametrize("label_type, camera_type", [
    (np.float64, np.float64), (np.uint16, np.uint8)], ids=["double", "as the drivers load them"])
@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_pairs(octave, size, label_type, camera_type):
    x, identity, camera = world(0, *size)
    n, rng = len(x), np.random.default_rng(1)
    labels = col(identity, label_type), col(camera, camera_type)

    order = rng.permutation(n)
    theirs, = octave.run("xqda_pairs", [(*labels, col(order + 1))], 2)
    for ours, their in zip(xqda_pairs(identity, camera, order), theirs):
        np.testing.assert_array_equal(ours + 1, their.ravel())

    draws = rng.integers(n, size=(20_000, 2))
    for every in (10, 1):
        (first, second, flag), = octave.run(
            "kissme_pairs", [(*labels, draws + 1.0, every)], 3)
        ours = kissme_pairs(identity, camera, draws, every)
        for image, their in zip(ours, (first - 1, second - 1, flag), strict=True):
            np.testing.assert_array_equal(image, their.ravel())


@pytest.mark.parametrize("size", SIZES, ids=IDS)
@pytest.mark.parametrize("regularization", [0.001, 0.05])
def test_xqda(octave, size, regularization):
    gallery, query, a, b = sides(1, *size)
    if regularization == 0.05:
        a[a == a[0]] += 100  # persons of one side alone
    theirs, = octave.run(
        "XQDA", [(gallery, query, col(a), col(b), {"lambda": regularization})], 2)
    ours = xqda(gallery, query, a, b, regularization)
    assert ours[0].shape == theirs[0].shape
    same_ranking(world(2, *size)[0], ours, theirs)


def test_xqda_in_single(octave):
    gallery, query, a, b = sides(1, *SIZES[1], dtype=np.float32)
    ours = xqda(gallery, query, a, b)
    theirs, = octave.run("XQDA", [(gallery, query, col(a), col(b))], 2)
    assert ours[1].dtype == theirs[1].dtype == np.float32
    x = world(2, *SIZES[1])[0]
    distances = [mahalanobis_distances(x[:20] @ W.astype(float), x[20:] @ W.astype(float), M)
                 for W, M in (ours, theirs)]
    # Single rounds at 6e-8, and the condition number here is some 1e2.
    np.testing.assert_allclose(*distances, rtol=0, atol=1e-4 * distances[1].max())


@pytest.mark.parametrize("driver", ["ide", "mars"])
@pytest.mark.parametrize("size, dimensions", list(zip(SIZES, (10, 20, 12, 5))), ids=IDS)
def test_kissme(octave, size, dimensions, driver):
    x, identity, camera = world(3, *size)
    draws = np.random.default_rng(1).integers(len(x), size=(20_000, 2))
    first, second, similar = kissme_pairs(identity, camera, draws, every=1)

    mean, components = pca(x, dimensions, driver)
    y = (x - mean) @ components
    ours = kissme(y, first, second, similar), similar_pairs_metric(y, first, second, similar)

    (u, m), = octave.run(f"pca_{driver}", [(x.T,)], 2)
    u = u[:, :dimensions]
    theirs, = octave.run("kissme_metric", [(
        u.T @ (x.T - m.reshape(-1, 1)), col(first + 1), col(second + 1), col(similar))], 2)

    np.testing.assert_allclose(mean, m.reshape(-1), rtol=1e-12)
    test = world(4, *size)[0]
    for our, their in zip(ours, theirs):
        same_ranking(test, (components, our), (u, their))


@pytest.mark.parametrize("dissimilar_scale", [0.3, 30], ids=["clipped", "definite"])
def test_clipping(octave, dissimilar_scale):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.standard_normal((80, 5)),
                        dissimilar_scale * rng.standard_normal((80, 5))])
    first, second, similar = np.arange(0, 160, 2), np.arange(1, 160, 2), np.arange(80) < 40
    ours = kissme(x, first, second, similar)
    (theirs,), = octave.run(
        "kissme_metric", [(x.T, col(first + 1), col(second + 1), col(similar))])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE * np.abs(theirs).max())
    assert (np.linalg.eigvalsh(theirs)[0] < 2e-6) == (dissimilar_scale < 1)
