"""Inputs for re-ranking, and its definition written out with sets."""
import functools
import math

import numpy as np

#: Given the same order of images, what single precision adds to a distance of about 1.
SINGLE = 1e-6


def by_definition(feat, M, W, query_num, k1, k2, lambda_, window=None):
    """What `re_ranking` answers, one pair of images at a time, in doubles throughout.

    `window`: how many first neighbours bring others; (k1 + 1) / 2 unless told, halves up.
    """
    window = window or (k1 + 2) // 2
    images = np.asarray(feat, float).T @ np.atleast_2d(W) if np.ndim(W) else feat.T * float(W)
    metric = np.asarray(M, float) if np.ndim(M) else M * np.eye(images.shape[1])
    distance = [[(x - y) @ metric @ (x - y) for y in images] for x in images]
    n = len(images)
    ranked = [sorted(range(n), key=lambda j: (distance[i][j], j)) for i in range(n)]

    def reciprocal(i, k):
        return {j for j in ranked[i][:k] if i in ranked[j][:k]}

    encodings = []
    for i in range(n):
        neighbours = reciprocal(i, k1 + 1)
        brought = [reciprocal(j, window) for j in neighbours]
        support = neighbours.union(*(
            images for images in brought if 3 * len(images & neighbours) > 2 * len(images)))
        weight = {j: math.exp(-distance[i][j] / max(distance[i])) for j in support}
        encodings.append({j: w / sum(weight.values()) for j, w in weight.items()})
    # with k2 = 1 an image keeps its own encoding, also where a duplicate is ranked before it
    expanded = encodings if k2 == 1 else [
        {c: sum(encodings[j].get(c, 0) for j in ranked[i][:k2]) / k2
         for j in ranked[i][:k2] for c in encodings[j]} for i in range(n)]

    def jaccard(i, j):
        common = sum(min(w, expanded[j].get(c, 0)) for c, w in expanded[i].items())
        return 1 - common / (2 - common)

    return np.array([[
        jaccard(i, j) * (1 - lambda_) + distance[i][j] / max(distance[i]) * lambda_
        for i in range(query_num)] for j in range(query_num, n)])


def whole_features(seed, k1, k2=3, lambda_=0.3, n=40, d=4, query_num=9, levels=9,
                   dtype=np.float64, projected=False):
    """Arguments of `re_ranking` with small whole numbers, so that distances are exact and tie."""
    rng = np.random.default_rng(seed)
    feat = rng.integers(0, levels, (d, n)).astype(dtype)
    M, W = 1.0, 1.0
    if projected:
        W = rng.integers(-1, 3, (d, 3)).astype(float)
        half = rng.integers(-1, 2, (3, 3)).astype(float)
        M = half @ half.T + np.eye(3)
    return feat, M, W, query_num, k1, k2, lambda_


def duplicates(seed, k1, k2=2, lambda_=0.3, n=30, copies=8, **options):
    """As `whole_features`, but so many images are the same one: not all find themselves."""
    feat, *rest = whole_features(seed, k1, k2, lambda_, n=n, **options)
    chosen = np.random.default_rng(seed).choice(n, copies, replace=False)
    feat[:, chosen] = feat[:, chosen[:1]]
    return feat, *rest


def near_one(n, dtype=np.float64):
    """Features of one dimension, so close that rounding makes some squared distances negative.

    A product of one term has no order, so that any BLAS gives the same.
    """
    rng = np.random.default_rng(n)
    return (1 + rng.random((n, 1)) * np.sqrt(np.finfo(dtype).eps)).astype(dtype)


#: Without Octave: every k1 modulo 4, both sides of k2, both ends of lambda, a tiny set, and k1
#: and k2 that take all images.
CASES = {
    "k1 = 1": whole_features(1, 1),
    "k1 = 4": whole_features(2, 4),
    "k1 = 5": whole_features(3, 5),
    "k1 = 6, k2 = 1": whole_features(4, 6, 1),
    "k1 = 7": whole_features(5, 7, 6),
    "k1 = 19": whole_features(6, 19, 6),
    "k1 = 20": whole_features(7, 20, 6),
    "k1 = 23": whole_features(8, 23, 6),
    "lambda = 0": whole_features(9, 8, 4, 0),
    "lambda = 1": whole_features(10, 8, 4, 1),
    "k1 and k2 take all": whole_features(11, 39, 40),
    "two images": whole_features(12, 1, 2, 0.5, n=2, query_num=1),
    "three images": whole_features(13, 2, 1, n=3, query_num=2),
    "single": whole_features(14, 11, 5, dtype=np.float32),
    "heavy ties": whole_features(15, 9, 2, d=2, levels=3),
    "duplicates": duplicates(16, 3),
    "duplicates, k2 = 1": duplicates(17, 5, 1),
    "projected": whole_features(18, 10, projected=True),
    "projected, single": whole_features(19, 7, projected=True, dtype=np.float32),
}


@functools.cache
def defined(name):
    """What the definition makes of a case."""
    return by_definition(*CASES[name])
