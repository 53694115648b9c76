"""A device whose memory is full: all is done in main memory."""
import numpy as np
import pytest

from reid_ref import evaluate, evaluate_distances
from reid_ref.ranking import on_device
from reid_ref.ranking.on_device import is_out_of_memory
from tests.cases import special
from tests.ranking.devices.common import assert_same, labels

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def full(torch):
    return torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


@pytest.fixture
def problem(torch):
    rng = np.random.default_rng(1)
    query, gallery = (rng.standard_normal((n, 40)).astype(np.float32) for n in (30, 500))
    gallery[100:200] = gallery[:100]
    both = labels(rng, 30, 500)
    return [torch.tensor(one) for one in (query, gallery)], both, evaluate(query, gallery, *both)


def test_which_errors_speak_of_memory(torch):
    assert is_out_of_memory(full(torch))
    assert is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"))
    assert not is_out_of_memory(RuntimeError("CUDA error: an illegal memory access"))
    assert not is_out_of_memory(ValueError("CUBLAS_STATUS_ALLOC_FAILED"))


def test_in_the_end_main_memory(torch, there, problem, monkeypatch):
    tensors, both, expected = problem

    def never(*arguments):
        raise full(torch)

    told = []
    monkeypatch.setattr(on_device, "divided", never)
    assert_same(evaluate(*tensors, *both, progress=told.append), expected)
    assert there.ran() and sum(told) == 30
    monkeypatch.setattr(on_device.DeviceTile, "among", never)
    distances, *sides = special(1)
    assert_same(evaluate_distances(torch.tensor(distances), *sides),
                evaluate_distances(distances, *sides))
    assert there.ran()


def test_other_errors_of_a_device_are_not_hidden(torch, there, problem, monkeypatch):
    def broken(*arguments):
        raise RuntimeError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(on_device.DeviceTile, "among", broken)
    with pytest.raises(RuntimeError, match="device-side assert"):
        evaluate(*problem[0], *problem[1])
