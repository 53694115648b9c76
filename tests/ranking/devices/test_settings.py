"""Numbers do not depend on what torch was told before."""
import numpy as np
import pytest

from reid_ref import evaluate
from tests.ranking.devices.common import assert_same, labels

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def problem(torch):
    rng = np.random.default_rng(11)
    query, gallery = (rng.standard_normal((n, 64)).astype(np.float32) for n in (20, 200))
    both = labels(rng, 20, 200)
    return [torch.tensor(one) for one in (query, gallery)], both, evaluate(query, gallery, *both)


def test_coarse_products(torch, there, problem):
    tensors, both, expected = problem
    torch.set_float32_matmul_precision("medium")
    try:
        assert_same(evaluate(*tensors, *both), expected)
        assert there.ran() and torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_autocast(torch, there, problem, dtype):
    tensors, both, expected = problem
    with torch.autocast("cpu", dtype=getattr(torch, dtype)):
        assert (tensors[0] @ tensors[1].T).dtype == getattr(torch, dtype)
        assert_same(evaluate(*tensors, *both), expected)
        assert there.ran()
        assert (tensors[0] @ tensors[1].T).dtype == getattr(torch, dtype)


def test_inference_mode_and_default_dtypes(torch, there, problem):
    tensors, both, expected = problem
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float16)
    try:
        with torch.inference_mode():
            inside = [one.clone() for one in tensors]
            assert_same(evaluate(*inside, *both), expected)
        assert_same(evaluate(*inside, *both), expected)
        assert there.ran()
    finally:
        torch.set_default_dtype(before)
