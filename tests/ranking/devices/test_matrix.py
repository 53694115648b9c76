"""A distance matrix on a device: every number is that of the matrix in main memory.

Random problems, and tiles of every size: `test_random.py`.
"""
import warnings
from functools import partial

import numpy as np
import pytest

from reid_ref import InputError, Labels, evaluate_distances
from tests.cases import market_like, special
from tests.ranking.devices import common
from tests.ranking.devices.common import BY_LISTS, BY_ROWS, assert_same, lists
from tests.nightly import cases

assert_both = partial(common.assert_both, evaluate_distances)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int16",
                                   "int32", "int64", "bool"])
@pytest.mark.parametrize("seed", range(cases(2, 4)))
def test_every_dtype(torch, there, dtype, seed):
    distances, *both = market_like(seed, levels=2 + 30 * (seed % 2))
    if dtype == "int64":
        distances = 2**62 + distances.astype(int)  # no double, and no float32, tells these apart
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert_both(torch, there, distances.astype(dtype), *both,
                    convention=["matlab", "torchreid-cython"])


def test_the_least_numbers_of_a_dtype(torch, there):
    """What fills the gaps of the table of good images are distances, too."""
    query, gallery = Labels([1, 1, 2], [1, 1, 1]), Labels([1, 1, 1, 2, 3, 3], [2] * 6)
    for dtype in ("int8", "int64"):
        least = np.iinfo(dtype).min
        distances = np.full((3, 6), least, dtype=dtype)
        assert_both(torch, there, distances, query, gallery)
        distances[:, ::2] += 1
        assert_both(torch, there, distances, query, gallery)
    assert_both(torch, there, np.full((3, 6), -np.inf), query, gallery)


def test_bfloat16(torch, there):
    distances, *both = market_like(2)
    narrow = torch.tensor(distances).to(torch.bfloat16)
    assert_same(evaluate_distances(narrow, *both),
                evaluate_distances(narrow.float().numpy(), *both))
    assert there.ran()


@pytest.mark.parametrize("seed", range(cases(2, 10)))
def test_lists(torch, there, seed):
    distances, *both = special(seed)
    rng = np.random.default_rng(seed)
    assert_both(torch, there, distances, *both, convention=BY_LISTS + ["matlab"],
                lists=lists(rng, *distances.shape))


@pytest.mark.parametrize("convention", BY_ROWS)
def test_whole_rows_are_copied_to_main_memory(torch, there, convention):
    assert_both(torch, there, *market_like(5, levels=20), convention=[convention, "matlab"],
                on_device=False)


def test_a_transposed_tensor(torch, there):
    distances, *both = special(3)
    turned = torch.tensor(np.ascontiguousarray(distances.T)).T
    assert_same(evaluate_distances(turned, *both), evaluate_distances(distances, *both))
    assert there.ran()


def test_matrices_that_are_refused(torch, there):
    sides = Labels([1, 2], [1, 1]), Labels([1, 2, 3], [2, 2, 2])
    for distances, message in ((torch.ones(3, 2), "its transpose would fit"),
                               (torch.ones(2), "expected distances .*, got 1-D shape"),
                               (torch.ones(2, 3) + 1j, "expected real numbers, got dtype complex"),
                               (torch.empty(2, 3, device="meta"), "device meta"),
                               (torch.ones(2, 3).to_sparse(), "numpy cannot read")):
        with pytest.raises(InputError, match=message):
            evaluate_distances(distances, *sides)
    assert not there.ran()
