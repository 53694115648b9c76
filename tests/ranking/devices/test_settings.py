"""Products in full precision, whatever torch was told before; its settings are restored.

After an exception, too, and of one library alone: `check_settings` of `test_mutants.py`.
"""
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from reid_ref import evaluate
from reid_ref.arrays.device import where_they_are
from reid_ref.ranking.on_device import full_precision
from tests.ranking.devices.common import assert_same, labels

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def problem(torch):
    rng = np.random.default_rng(11)
    query, gallery = (rng.standard_normal((n, 64)).astype(np.float32) for n in (20, 200))
    both = labels(rng, 20, 200)
    return [torch.tensor(one) for one in (query, gallery)], both, evaluate(query, gallery, *both)


@pytest.fixture
def restored(torch):
    """Put back what a test sets."""
    products = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul
    before = [one.fp32_precision for one in products]
    yield products
    torch.set_float32_matmul_precision("highest")
    for one, precision in zip(products, before):
        one.fp32_precision = precision


def settings(torch, products):
    return torch.get_float32_matmul_precision(), [one.fp32_precision for one in products]


def assert_full(torch, products):
    """Both kinds of settings say so; torch raises where they contradict each other."""
    assert torch.get_float32_matmul_precision() == "highest"
    assert torch.backends.cuda.matmul.allow_tf32 is False
    assert {one.fp32_precision for one in products} <= {"ieee", "none"}


@pytest.mark.parametrize("precision", ["medium", "high", "highest"])
def test_the_precision_of_products(torch, there, problem, restored, precision):
    tensors, both, expected = problem
    torch.set_float32_matmul_precision(precision)
    before = settings(torch, restored)
    assert before[0] == precision
    with full_precision(where_they_are(tensors[0])[0]):
        assert_full(torch, restored)
    assert settings(torch, restored) == before
    assert_same(evaluate(*tensors, *both), expected)
    assert there.ran() and settings(torch, restored) == before


def test_tf32_by_its_own_name(torch, there, problem, restored):
    torch.backends.cuda.matmul.allow_tf32 = True
    with full_precision(where_they_are(problem[0][0])[0]):
        assert_full(torch, restored)
    assert torch.backends.cuda.matmul.allow_tf32 is True
    torch.backends.cuda.matmul.allow_tf32 = False


def test_before_torch_had_them_for_each_library(torch, there, problem, restored, monkeypatch):
    """torch before 2.9 has one setting of all products, and no `fp32_precision`."""
    torch.set_float32_matmul_precision("medium")
    before = settings(torch, restored)
    with monkeypatch.context() as patch:
        for library in (torch.backends.cuda, torch.backends.mkldnn):
            patch.setattr(library, "matmul", object())
        with full_precision(where_they_are(problem[0][0])[0]):
            assert torch.get_float32_matmul_precision() == "highest"
    assert settings(torch, restored) == before


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


def test_two_threads(torch, there, problem, restored):
    """The settings are restored when both have ended, whichever ends first."""
    tensors, both, expected = problem
    torch.set_float32_matmul_precision("medium")
    before = settings(torch, restored)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: evaluate(*tensors, *both), range(12)):
            assert_same(result, expected)
    assert settings(torch, restored) == before
