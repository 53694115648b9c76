"""On a CUDA device, where there is one: nothing is taken for another thing here."""
import os

import numpy as np
import pytest

from reid_ref import Evaluator, evaluate, evaluate_distances
from reid_ref.arrays.device import DeviceArray, where_they_are
from reid_ref.ranking.on_device import row_sums
from tests.cases import special
from tests.ranking.devices.common import assert_same, labels, problem

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def cuda(torch):
    if torch.cuda.is_available():
        return torch.device("cuda")
    if os.environ.get("REID_REF_CUDA") == "required":
        pytest.fail("REID_REF_CUDA=required, but torch finds no CUDA device")
    pytest.skip("torch finds no CUDA device: the device path runs on the CPU only")


def test_sums(torch, cuda):
    rng = np.random.default_rng(0)
    for length in [*range(1, 300), 512, 768, 2048, 3840, 4999]:
        products = rng.standard_normal((50, length)) * np.exp(4 * rng.standard_normal(length))
        there = row_sums(torch.from_numpy(products).to(cuda)).cpu().numpy()
        assert (there == products.sum(axis=1)).all(), length


@pytest.mark.parametrize("seed", range(60))
def test_features(torch, cuda, seed):
    query, gallery, *both = problem(seed, ("float32", "float16", "float64", "int32")[seed % 4])
    tensors = [torch.tensor(one, device=cuda) for one in (query, gallery)]
    assert isinstance(where_they_are(*tensors)[0], DeviceArray)
    options = {"metric": ("euclidean", "cosine", "dot")[seed // 4 % 3],
               "normalize": bool(seed // 12 % 2), "convention": ["matlab", "simpleir"]}
    assert_same(evaluate(*tensors, *both, **options), evaluate(query, gallery, *both, **options))


@pytest.mark.parametrize("precision", ["highest", "high", "medium"])
def test_a_benchmark_s_size_in_any_precision(torch, cuda, precision):
    rng = np.random.default_rng(1)
    query, gallery = (rng.standard_normal((n, 2048), np.float32) for n in (3368, 19732))
    both = [type(one)(3 * one.identity, one.camera) for one in labels(rng, 3368, 19732)]
    expected = evaluate(query, gallery, *both)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        with torch.autocast("cuda", dtype=torch.float16):
            tensors = [torch.tensor(one, device=cuda) for one in (query, gallery)]
            assert_same(evaluate(*tensors, *both), expected)
        assert torch.get_float32_matmul_precision() == precision
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("seed", range(20))
def test_a_matrix(torch, cuda, seed):
    distances, *both = special(seed)
    assert_same(evaluate_distances(torch.tensor(distances, device=cuda), *both),
                evaluate_distances(distances, *both))


def test_batches(torch, cuda):
    rng = np.random.default_rng(3)
    query, gallery = (rng.integers(-3, 4, (n, 6)).astype(np.float32) for n in (12, 60))
    both = labels(rng, 12, 60)
    tensors = [torch.tensor(one, device=cuda) for one in (query, gallery)]
    evaluator = Evaluator()
    for one, side, is_query in zip(tensors, both, (True, False)):
        evaluator.update(one, side.identity, side.camera, is_query=is_query)
    assert_same(evaluator.compute(), evaluate(query, gallery, *both))
