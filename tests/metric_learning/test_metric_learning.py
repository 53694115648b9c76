"""Learnt metrics against the originals' recorded answers, and by hand.

Against the scripts run live: `tests/proof/test_metric_learning_octave.py`.
"""
import numpy as np
import pytest

from reid_ref.metric_learning import (
    TOLERANCE, kissme, kissme_pairs, mahalanobis_distances, pca, similar_pairs_metric, xqda,
    xqda_pairs)
from tests.refusals import refused

# ---------------------------------------------------------------- recorded from the originals

# GNU Octave 7.3.0 ran the unmodified XQDA.m, applypca2.m, KISSME.m (with LearnAlgoKISSME.m and
# LearnAlgoMahal.m), gen_train_sample_xqda.m and gen_train_sample_kissme.m of zhunzhong07/
# IDE-baseline-Market-1501 (8be027b), and applypca2.m of liangzheng06/MARS-evaluation (3a91bbc),
# on the images below. rand and randperm were replaced by functions that return the draws and
# the order below; SOPD (a compiled file), cholcov (of a toolbox) and nchoosek (which fails for
# a column in Octave 7.3) by functions that do what their documentation says. Of each metric
# here is the matrix in the space of the features, W M W' or u M u': the upper triangle.

I = np.arange(36)  # noqa: E741
J = np.arange(4)[:, np.newaxis]
IDENTITY, CAMERA = I % 6 + 1, I * I // 5 % 3 + 1
FEATURES = ((7 * I**2 + 3 * I * J + J**2 * I + 5 * J) % 11 + 2 * (IDENTITY * (J + 2) % 7)
            ).T.astype(float)
ORDER = np.argsort((I * I * 11 + 5 * I) % 37, kind="stable")
K = np.arange(150_000)
DRAWS = np.stack([(5 * K + 1) % 36, (11 * K + K // 7) % 36], 1)

FIRST, SECOND = [0, 12, 25, 14, 33, 10, 5, 17], [6, 30, 19, 20, 15, 4, 11, 35]
ONE, OTHER = [0, 13, 15, 5, 9, 7, 29, 32], [6, 25, 21, 23, 34, 10, 12, 35]
RECORDED = {
    "xqda": [
        0.02958853371469305, 0.01082136292617978, 0.03902405614731254, -0.02603117795719583,
        0.02615921131043059, -0.00203602601251896, -0.01917502403882826,
        0.0634477570810728, -0.02724040180263206, 0.02710000690710591],
    "kissme ide": [
        0.00761383996938672, -0.01731874045536437, 0.01274496781662376, 0.0028825617601746,
        0.4342507894999863, -0.09773704085879883, -0.8775145313289671,
        0.03569695479558865, 0.15030710083360022, 1.9380470120745517],
    "similar ide": [
        0.14905031172973743, -0.23583310269778057, -0.01457748431297586, 0.4618068462539052,
        0.4222873316968979, 0.01325186800980699, -0.8358529379036889,
        0.03382347986280562, -0.10245650668725693, 1.8572492306847832],
    "kissme mars": [
        0.03259815689361395, -0.06412838687320645, 0.06646540593258046, 0.09135140974623245,
        0.12864559692979413, -0.13397263892929442, -0.20099930306005784,
        0.13968111092419497, 0.21379137356349937, 0.4382458288351876],
    "similar mars": [
        0.14905031172973757, -0.11681716762908702, 0.10443845075571799, 0.2237749761165182,
        0.11411354260494407, -0.10704993379051395, -0.18587999590057705,
        0.10139366535411808, 0.1717724607325891, 0.49005261904015135],
}


def kernel(space, M):
    """The metric in the space of the features, which no sign of a column changes."""
    return space @ M @ space.T


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCE * np.abs(theirs).max())


def recorded(name):
    upper = np.zeros((4, 4))
    upper[np.triu_indices(4)] = RECORDED[name]
    return upper + np.triu(upper, 1).T


def test_pairs_of_the_originals():
    first, second = xqda_pairs(IDENTITY, CAMERA, ORDER)
    assert first.tolist() == FIRST and second.tolist() == SECOND
    one, other, similar = kissme_pairs(IDENTITY, CAMERA, DRAWS)
    assert one.tolist() == ONE and other.tolist() == OTHER
    assert similar.tolist() == [True] * 4 + [False] * 4


def test_xqda_of_the_original():
    W, M = xqda(FEATURES[FIRST], FEATURES[SECOND], IDENTITY[FIRST], IDENTITY[SECOND])
    assert W.shape == (4, 2) and M.shape == (2, 2)
    close(kernel(W, M), recorded("xqda"))


@pytest.mark.parametrize("driver", ["ide", "mars"])
def test_kissme_of_the_originals(driver):
    mean, components = pca(FEATURES, 3, driver)
    np.testing.assert_allclose(mean, FEATURES.mean(axis=0), rtol=1e-15)
    arguments = (FEATURES - mean) @ components, ONE, OTHER, [True] * 4 + [False] * 4
    close(kernel(components, kissme(*arguments)), recorded(f"kissme {driver}"))
    close(kernel(components, similar_pairs_metric(*arguments)), recorded(f"similar {driver}"))


# ---------------------------------------------------------------- against the definitions

def world(seed, n_identity, n_camera, d, n, dtype=np.float64):
    """Made features of unit length, identities and cameras."""
    rng = np.random.default_rng(seed)
    identity, camera = rng.integers(1, n_identity + 1, n), rng.integers(1, n_camera + 1, n)
    size = max(4, d // 2)
    hidden = (rng.standard_normal((n_identity + 1, size))[identity]
              + rng.standard_normal((n_camera + 1, size))[camera] / 2
              + rng.standard_normal((n, size)))
    x = np.maximum(hidden @ rng.standard_normal((size, d)) / size**.5
                   + .3 * rng.standard_normal((n, d)), 0) + 1e-3
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype), identity, camera


def sides(seed, *size, **dtype):
    x, identity, camera = world(seed, *size, **dtype)
    first, second = xqda_pairs(identity, camera, np.random.default_rng(seed).permutation(len(x)))
    return x[first], x[second], identity[first], identity[second]


def test_one_dimension_is_kept_where_no_singular_value_is_above_1():
    gallery, query = np.array([[0., 0], [0, 1]]), np.array([[4., 1], [3, 0]])
    assert xqda(gallery, query, [1, 2], [1, 2], regularization=50)[0].shape == (2, 1)


def test_more_pairs_than_a_block():
    rng = np.random.default_rng(1)
    x, pairs = rng.standard_normal((50, 3)), rng.integers(50, size=(2, 9000))
    M = similar_pairs_metric(x, *pairs, np.ones(9000))
    close(np.linalg.inv(M), np.mean([np.outer(x[a] - x[b], x[a] - x[b]) for a, b in pairs.T], 0))


def test_a_definite_metric_is_not_clipped_however_small():
    """Images 2k and 2k + 1 are similar; dissimilar pairs are of 80 other images."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.standard_normal((80, 5)), 30 * rng.standard_normal((80, 5))])
    pairs = np.arange(0, 160, 2), np.arange(1, 160, 2), np.arange(80) < 40
    close(kissme(1e7 * x, *pairs), kissme(x, *pairs) / 1e14)


def test_mahalanobis_distances_are_their_definition():
    rng = np.random.default_rng(0)
    query, gallery = rng.standard_normal((4, 3)), rng.standard_normal((6, 3))
    M = np.array([[2., 1, 0], [1, -1, 0], [0, 0, 1]])
    plain = [[(q - g) @ M @ (q - g) for g in gallery] for q in query]
    distances = mahalanobis_distances(query, gallery, M)
    np.testing.assert_allclose(distances, plain, atol=1e-14)
    assert distances.min() < 0


# ---------------------------------------------------------------- pairs by hand

def test_xqda_pairs_by_hand():
    # Person 4: images 1, 5, 3, 0 in this order; 1 with 3 and 5 with 0. Person 9: 4 with 2, and
    # 6 is left over. Person 2 has one image.
    identity, camera = [4, 4, 9, 4, 9, 4, 9, 2], [2, 1, 3, 1, 1, 1, 1, 1]
    first, second = xqda_pairs(identity, camera, [4, 1, 5, 2, 3, 7, 0, 6])
    assert first.tolist() == [5, 4] and second.tolist() == [0, 2]


def test_kissme_pairs_by_hand():
    identity, camera = [4, 4, 9, 4, 2, 9], [1, 2, 1, 1, 3, 2]
    draws = [[0, 1], [0, 2], [2, 1], [4, 4], [5, 3], [4, 5], [2, 4]]
    first, second, similar = kissme_pairs(identity, camera, draws, every=1)
    # (0, 1), (1, 3) and (2, 5) are similar; (0, 1) is of one person, (0, 2) of one camera
    assert list(zip(first, second, similar)) == [
        (0, 1, True), (1, 3, True), (2, 5, True), (2, 1, False), (5, 3, False), (4, 5, False)]
    third = kissme_pairs(identity, camera, draws, every=3)
    assert [part.tolist() for part in third] == [[0, 2], [1, 1], [True, False]]


# ---------------------------------------------------------------- bad input

X = np.random.default_rng(0).standard_normal((8, 3))
TWO = [1, 1, 1, 1, 2, 2, 2, 2]
NAN = np.where(np.arange(24).reshape(8, 3) == 7, np.nan, X)
FLAT = X[:, [0, 1, 1]]
PAIRS = [0, 1, 2, 3, 0, 1, 2, 3], [4, 5, 6, 7, 5, 6, 7, 4]


@pytest.mark.parametrize("call, argument, noun", [
    (lambda: xqda(X, X[:, :2], TWO, TWO), "gallery_features, query_features", "3 and 2"),
    (lambda: xqda(X, X, TWO[:5], TWO), "gallery_identity", "8 entries"),
    (lambda: xqda(X, X, [1] * 8, [1] * 8), "gallery_identity, query_identity", "two persons"),
    (lambda: xqda(X, X, TWO, [3] * 8), "gallery_identity, query_identity", "in both"),
    (lambda: xqda(X, X, TWO, TWO, -1), "regularization", "-1"),
    (lambda: xqda(FLAT, FLAT[::-1], TWO, TWO, 0),
     "gallery_features, query_features", "similar pairs is singular in 3"),
    (lambda: xqda(X * 0, X * 0, TWO, TWO),
     "gallery_features, query_features", "dissimilar pairs is singular in 1"),
    (lambda: pca(X, 4), "dimensions", "at most 3"),
    (lambda: pca(X, 2, "MARS"), "driver", "unknown 'MARS'"),
    (lambda: kissme(X, *PAIRS, [1] * 8), "similar", "at least one dissimilar pair"),
    (lambda: kissme(X, *PAIRS, [1] * 7), "first, second, similar", "8, 8 and 7"),
    (lambda: kissme(X[:7], *PAIRS, [1, 0] * 4), "second", "images 0 to 6"),
    (lambda: kissme(X, *PAIRS, [1] * 2 + [0] * 6), "features", "2 similar pairs is singular in 3"),
    (lambda: mahalanobis_distances(X, X, np.eye(2)),
     "query_features, gallery_features, M", "(8, 3), (8, 3) and (2, 2)"),
    (lambda: xqda_pairs(TWO, TWO, np.arange(8)), "identity, camera", "images of two cameras"),
    (lambda: xqda_pairs(TWO, TWO, [0] * 8), "order", "a permutation of 0 to 7"),
    (lambda: kissme_pairs(TWO, [1, 2] * 4, [[0, 5]] * 3), "draws", "3 in 3"),
    (lambda: kissme_pairs(TWO, [1, 2] * 4, [[0, 8]]), "draws[:, 1]", "images 0 to 7"),
])
def test_bad_input_is_one_line(call, argument, noun):
    assert "\n" not in str(refused(argument, noun, call))
