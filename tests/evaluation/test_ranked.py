"""Whole matrices of distances from features: real distances, in the exact order, ties kept."""
import warnings
from fractions import Fraction

import numpy as np
import pytest

from reid_ref import Labels, ResultFile
from reid_ref.evaluation.how import How

WAYS = [(metric, normalize) for metric in ("euclidean", "cosine", "dot")
        for normalize in (True, False)]


def result_file(query, gallery):
    return ResultFile("arrays", Labels(np.ones(len(query)), np.ones(len(query))),
                      Labels(np.ones(len(gallery)), np.full(len(gallery), 2)), query, gallery)


def whole_matrix(data, metric="euclidean", normalize=True):
    how = How(metric=metric, normalize=normalize)
    return np.stack(list(data.input.exact_rows(np.arange(len(data.query)), how)))


def by_definition(query, gallery, metric, normalize):
    if normalize or metric == "cosine":
        query, gallery = (rows / np.linalg.norm(rows, axis=1, keepdims=True)
                          for rows in (query, gallery))
    if metric == "euclidean":
        return ((query[:, None] - gallery) ** 2).sum(axis=2)
    return (metric == "cosine") - query @ gallery.T


@pytest.mark.parametrize(("metric", "normalize"), WAYS)
def test_they_are_distances(metric, normalize):
    rng = np.random.default_rng(4)
    query, gallery = rng.random((6, 9)), rng.random((40, 9))
    expected = by_definition(query, gallery, metric, normalize)
    data = result_file(query, gallery)
    np.testing.assert_allclose(whole_matrix(data, metric, normalize), expected, atol=1e-13)
    how = How(metric=metric, normalize=normalize, max_memory=3000)
    blocks = list(data.input.exact_blocks(data.query, data.gallery, how))
    assert len(blocks) > 1
    np.testing.assert_allclose(np.concatenate(blocks), expected, atol=1e-13)
    for k, row in zip((4, 0), data.input.exact_rows(np.array([4, 0]), how)):
        np.testing.assert_allclose(row, expected[k], atol=1e-13)


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
def test_their_order_and_ties_are_exact(metric):
    # Whole numbers: what ranks is exact in double, the distance itself is too large to be.
    rng = np.random.default_rng(5)
    query = np.array([[2.0**30, 3.0, 1.0]])
    gallery = rng.integers(0, 3, (60, 3)).astype(float)
    row = whole_matrix(result_file(query, gallery), metric, False)[0]
    exact = []
    for image in gallery:
        pairs = [(Fraction(a), Fraction(b)) for a, b in zip(query[0], image)]
        exact.append(sum((a - b) ** 2 if metric == "euclidean" else -a * b for a, b in pairs))
    assert len(set(exact)) < 60
    if metric == "euclidean":
        assert len({float(value) for value in exact}) < len(set(exact))  # or it could not fail
    for i in range(60):
        for j in range(60):
            assert (row[i] < row[j]) == (exact[i] < exact[j])


def test_a_feature_that_is_all_zero_has_no_distance():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrix = whole_matrix(result_file(np.array([[1., 0.], [0., 0.]]),
                                          np.array([[0., 1.], [0., 0.], [1., 0.]])))
    np.testing.assert_array_equal(matrix, [[2, np.nan, 0], [np.nan] * 3])
