"""Tensors are taken to main memory by one door, `as_array`: every number is that of the array.

What other libraries hand in, and that nothing is copied: `tests/evaluation/test_evaluator.py`.
"""
import importlib

import numpy as np
import pytest

from reid_ref import (
    CONVENTIONS, Evaluator, Labels, evaluate, evaluate_distances, evaluate_protocol,
    evaluate_thresholds, evaluate_thresholds_distances, rerank)
from reid_ref.arrays import as_array
from tests.cases import market_like, same, special
from tests.installed import version_of
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

DTYPES = ("float16", "float32", "float64", "int8", "uint8", "int64", "bool")
BY_LABELS = [name for name, convention in CONVENTIONS.items() if not convention.needs_lists]


@pytest.fixture(scope="module")
def torch():
    version_of("torch")
    return importlib.import_module("torch")


@pytest.fixture
def sides():
    """Features of both sides, with equal rows, and labels."""
    rng = np.random.default_rng(0)
    query, gallery = (rng.integers(-9, 9, (n, 24)) for n in (9, 50))
    gallery[::5], query[0] = gallery[1], gallery[1]
    return query, gallery, *(Labels(rng.integers(-1, 5, n), rng.integers(1, 4, n))
                             for n in (9, 50))


def assert_same(found, expected):
    assert list(found) == list(expected)
    for name in expected:
        same(found[name], expected[name])


@pytest.mark.parametrize("dtype", DTYPES)
def test_features(torch, sides, dtype):
    features, labels = [side.astype(dtype) for side in sides[:2]], sides[2:]
    expected = evaluate(*features, *labels, convention=BY_LABELS)
    tensors = [torch.tensor(side) for side in features]
    assert_same(evaluate(*tensors, *labels, convention=BY_LABELS), expected)
    assert_same(evaluate(tensors[0], features[1], *labels, convention=BY_LABELS), expected)
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        inside = [tensor.clone() for tensor in tensors]
        assert_same(evaluate(*inside, *labels, convention=BY_LABELS), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_matrix(torch, dtype):
    distances, *labels = market_like(1, levels=20)
    distances = distances.astype(dtype)
    expected = evaluate_distances(distances, *labels, convention=BY_LABELS)
    turned = torch.tensor(np.ascontiguousarray(distances.T)).T
    for tensor in (torch.tensor(distances), turned):
        assert_same(evaluate_distances(tensor, *labels, convention=BY_LABELS), expected)


def test_batches(torch, sides):
    """A batch is copied; the dtype of all is numpy's choice, not torch's."""
    query, gallery, *labels = sides
    dtypes, kept = [torch.int64, torch.float32, torch.bfloat16], []
    evaluator = Evaluator()
    for features, side, is_query in ((query, labels[0], True), (gallery, labels[1], False)):
        for nth, start in enumerate(range(0, len(features), 3)):
            rows = slice(start, start + 3)
            kept.append(torch.tensor(features[rows]).to(dtypes[nth % 3]))
            evaluator.update(kept[-1], torch.tensor(side.identity[rows]),
                             torch.tensor(side.camera[rows]), is_query=is_query)
    for batch in kept:
        batch.zero_()
    state = evaluator.state()
    assert state["query_features"].dtype == np.float64
    assert {type(array) for array in state.values()} == {np.ndarray}
    same(evaluator.compute(), evaluate(*(side.astype(float) for side in (query, gallery)),
                                       *labels))


def test_thresholds(torch, sides):
    features, labels = [side + .5 for side in sides[:2]], sides[2:]
    tensors = [torch.tensor(side, requires_grad=True) for side in features]
    assert evaluate_thresholds(*tensors, *labels) == evaluate_thresholds(*features, *labels)
    assert tensors[0].grad is None
    distances, *labels = special(2)
    assert evaluate_thresholds_distances(torch.tensor(distances), *labels) == (
        evaluate_thresholds_distances(distances, *labels))


def test_rerank(torch, sides):
    query, gallery = (side.astype(np.float32) + 20 for side in sides[:2])
    np.testing.assert_array_equal(rerank(torch.tensor(query), torch.tensor(gallery), 6, 3),
                                  rerank(query, gallery, 6, 3))


def test_tensors_that_numpy_cannot_read(torch):
    labels = Labels([1, 2], [1, 1]), Labels([1, 2, 3], [2, 2, 2])
    for tensor, noun in ((torch.empty(2, 3, device="meta"), "Tensor on device meta"),
                         (torch.ones(2, 3).to_sparse(), "that numpy cannot read")):
        refused("distances", noun, evaluate_distances, tensor, *labels)


class OfMps:
    """A tensor whose device has no doubles: it is copied as it is, by its own `cpu`."""

    device, dtype, requires_grad = "mps:0", "torch.float32", False

    def __init__(self, values):
        self._values = values

    def cpu(self):
        return self._values

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert mps:0 device type tensor to numpy")


def test_a_device_without_doubles(sides):
    features, labels = [side.astype(np.float32) for side in sides[:2]], sides[2:]
    assert as_array(OfMps(features[0]), "features") is features[0]
    same(evaluate(*map(OfMps, features), *labels), evaluate(*features, *labels))


def test_many_trials_take_one_copy(sides, monkeypatch):
    features, labels = [side.astype(np.float32) for side in sides[:2]], sides[2:]
    copies, trials = [], [(np.arange(2), np.arange(start, start + 9)) for start in range(5)]
    cpu = OfMps.cpu
    monkeypatch.setattr(OfMps, "cpu", lambda self: (copies.append(self), cpu(self))[1])
    protocol = "regdb", {"part": "visible-to-thermal", "trials": trials}
    expected = evaluate_protocol(protocol[0], *features, *labels, **protocol[1])
    found = evaluate_protocol(protocol[0], *map(OfMps, features), *labels, **protocol[1])
    assert found.mAP == expected.mAP and len(copies) == 2
