"""Numbers do not depend on what torch was told before."""
import contextlib

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


@contextlib.contextmanager
def changed(torch, getter, setter, value):
    """A setting of torch, which no evaluation changes."""
    before = getter()
    setter(value)
    try:
        yield
        assert getter() == value
    finally:
        setter(before)


@pytest.mark.parametrize("setting", [
    lambda torch: changed(torch, torch.get_float32_matmul_precision,
                          torch.set_float32_matmul_precision, "medium"),
    lambda torch: changed(torch, torch.get_default_dtype, torch.set_default_dtype, torch.float16),
    lambda torch: torch.autocast("cpu", dtype=torch.bfloat16),
    lambda torch: torch.autocast("cpu", dtype=torch.float16),
    lambda torch: torch.inference_mode()], ids=range(5))
def test_settings(torch, there, problem, setting):
    tensors, both, expected = problem
    with setting(torch):
        inside = [one.clone() for one in tensors]
        assert_same(evaluate(*inside, *both), expected)
    assert_same(evaluate(*inside, *both), expected)
    assert there.ran()
