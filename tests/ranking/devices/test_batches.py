"""An evaluator keeps batches where they are; its results are those of arrays in main memory."""
import json

import numpy as np
import pytest

from reid_ref import Evaluator, evaluate
from reid_ref.arrays.device import DeviceArray
from tests.ranking.devices.common import assert_same, problem

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture
def images():
    return problem(21)


def filled(images, convert, size=7, index=False):
    """An evaluator of batches of this size, whose features are converted."""
    query, gallery, *both = images
    evaluator = Evaluator()
    for rows, side, is_query in ((gallery, both[1], False), (query, both[0], True)):
        for start in range(0, len(rows), size):
            some = slice(start, start + size)
            place = np.arange(len(rows))[some] if index else None
            evaluator.update(convert(rows[some], start), side.identity[some], side.camera[some],
                             is_query=is_query, index=place)
    return evaluator


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_batches_on_a_device(torch, there, images, size, index):
    evaluator = filled(images, lambda rows, _: torch.tensor(rows), size, index)
    assert_same(evaluator.compute(), evaluate(*images))
    assert there.ran()


def test_a_batch_is_copied(torch, there, images):
    tensors = []

    def kept(rows, _):
        tensors.append(torch.tensor(rows))
        return tensors[-1]

    evaluator = filled(images, kept)
    for one in tensors:
        one.zero_()
    assert_same(evaluator.compute(), evaluate(*images))


def test_both_sides_in_one_batch(torch, there, images):
    query, gallery, *both = images
    evaluator = Evaluator()
    is_query = torch.arange(len(query) + len(gallery)) < len(query)
    evaluator.update(torch.tensor(np.concatenate([query, gallery])),
                     torch.tensor(np.concatenate([side.identity for side in both])),
                     torch.tensor(np.concatenate([side.camera for side in both])),
                     is_query=is_query)
    assert_same(evaluator.compute(), evaluate(*images))
    assert there.ran()


def test_a_state_is_plain_arrays(torch, there, images):
    evaluator = filled(images, lambda rows, _: torch.tensor(rows).to(torch.bfloat16))
    state, expected = evaluator.state(), evaluator.compute()
    assert there.ran()
    assert {type(array) for array in state.values()} == {np.ndarray}
    assert state["query_features"].dtype == np.float32
    assert json.loads(str(state["settings"]))["normalize"] is None
    assert_same(Evaluator.from_states([state]).compute(), expected)
    assert not there.ran()


def test_batches_on_two_devices_go_to_main_memory(torch, there, images):
    evaluator = filled(images, lambda rows, start: torch.tensor(rows) if start % 2 else rows)
    assert_same(evaluator.compute(), evaluate(*images))
    assert not there.ran()


@pytest.mark.parametrize("dtypes", [("float32", "int64"), ("float16", "float32"),
                                    ("float16", "bfloat16"), ("int8", "uint8")])
def test_batches_of_two_dtypes(torch, there, images, dtypes):
    """The dtype of all is numpy's choice: torch would make float32 of int64 and float32."""
    def tensor(rows, start):
        return torch.tensor(rows).abs().to(getattr(torch, dtypes[start // 7 % 2]))

    def array(rows, start):
        made = tensor(rows, start)
        return (made.float() if made.dtype == torch.bfloat16 else made).numpy()

    expected = filled(images, array).compute()
    assert_same(filled(images, tensor).compute(), expected)
    assert there.ran()


def test_merged_evaluators_stay_there(torch, there, images):
    query, gallery, *both = images
    one, other = (filled((query[some], gallery[rest], both[0][some], both[1][rest]),
                         lambda rows, _: torch.tensor(rows))
                  for some, rest in ((slice(4), slice(20)), (slice(4, None), slice(20, None))))
    one.merge(other)
    assert isinstance(one._side("gallery")[0], DeviceArray)
    assert_same(one.compute(), evaluate(*images))
    assert there.ran()
