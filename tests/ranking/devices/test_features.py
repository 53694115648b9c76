"""Features on a device: every number is that of features in main memory.

Random problems, tiles of every size, products that are far off: `test_random.py`.
"""
from functools import partial

import numpy as np
import pytest

from reid_ref import InputError, Labels, evaluate
from reid_ref.ranking import on_device as parts
from tests.ranking.devices import common
from tests.ranking.devices.common import (
    BY_LABELS, BY_LISTS, BY_ROWS, assert_same, features, labels, lists, problem)
from tests.nightly import cases

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

METRICS = ("euclidean", "cosine", "dot")

assert_both = partial(common.assert_both, evaluate)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int32", "int64", bool])
@pytest.mark.parametrize("seed", range(cases(2, 12)))
def test_every_dtype(torch, there, dtype, seed):
    assert_both(torch, there, *problem(seed, dtype), metric=METRICS[seed % 3],
                normalize=bool(seed // 3 % 2))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("normalize", [True, False])
def test_half_precision(torch, there, dtype, normalize):
    rng = np.random.default_rng(3)
    query, gallery = (torch.tensor(one).to(getattr(torch, dtype)) for one in features(rng))
    both = labels(rng, len(query), len(gallery))
    wide = [one.float().numpy() if dtype == "bfloat16" else one.numpy()
            for one in (query, gallery)]
    expected = evaluate(*wide, *both, normalize=normalize)
    assert_same(evaluate(query, gallery, *both, normalize=normalize), expected)
    assert there.ran()


def test_two_dtypes(torch, there):
    query, gallery, *both = problem(1)
    assert_both(torch, there, query.astype(np.float16), gallery.astype(np.float64), *both)


@pytest.mark.parametrize("seed", range(cases(3, 20)))
def test_lists(torch, there, seed):
    rng = np.random.default_rng(seed)
    query, gallery = features(rng)
    assert_both(torch, there, query, gallery, *labels(rng, len(query), len(gallery)),
                convention=BY_LABELS + BY_LISTS, lists=lists(rng, len(query), len(gallery)))


@pytest.mark.parametrize("seed", range(cases(3, 20)))
def test_several_scalings(torch, there, seed):
    """Toolboxes that measure distances differently share the products."""
    assert_both(torch, there, *problem(seed), convention=["matlab", "torchreid", "layumi"])


@pytest.mark.parametrize("convention", BY_ROWS)
def test_whole_rows_are_made_in_main_memory(torch, there, convention):
    assert_both(torch, there, *problem(4), convention=[convention, "matlab"],
                normalize=True, on_device=False)


def test_few_long_features(torch, there, monkeypatch):
    """The features of a tile's images are bounded, too, not only its distances."""
    rng = np.random.default_rng(0)
    query, gallery = (rng.standard_normal((n, 300)).astype(np.float32) for n in (7, 90))
    divided, sizes = parts.divided, set()

    def noted(features, index, *arguments):
        sizes.add(index.shape[0])
        return divided(features, index, *arguments)

    monkeypatch.setattr(parts, "divided", noted)
    monkeypatch.setattr(parts, "TILE", 900)
    assert_both(torch, there, query, gallery, *labels(rng, 7, 90))
    assert sizes <= {1, 2, 3} and 3 in sizes


def test_features_that_are_refused(torch, there):
    sides = Labels([1, 2], [1, 1]), Labels([1, 2, 3], [2, 2, 2])
    good = [torch.ones(2, 3), torch.ones(3, 3)]
    for bad, row in ((torch.nan, 1), (torch.inf, 2), (1e200, 2)):
        gallery = torch.ones(3, 3, dtype=torch.float64)
        gallery[row, 1] = bad
        gallery[0] = 0
        with pytest.raises(InputError) as of_tensors:
            evaluate(good[0], gallery, *sides)
        with pytest.raises(InputError) as of_arrays:
            evaluate(good[0].numpy(), gallery.numpy(), *sides)
        assert str(of_tensors.value) == str(of_arrays.value)
        assert f"row {row}" in str(of_tensors.value)
    with pytest.raises(InputError, match="query_features: expected real features, got dtype comp"):
        evaluate(good[0] + 1j, good[1], *sides)


@pytest.mark.parametrize("metric", ["euclidean", "dot"])
def test_norms_that_are_far_apart(torch, there, metric):
    """Neither warns of an overflow: the warnings are compared, too."""
    rng = np.random.default_rng(4)
    query, gallery = (rng.standard_normal((n, 20)) for n in (9, 80))
    gallery[::9] *= 1e30
    assert_both(torch, there, query, gallery, *labels(rng, 9, 80), metric=metric, normalize=False)


def test_products_that_are_wrong_in_double_too(torch, there, monkeypatch):
    divided = parts.divided
    monkeypatch.setattr(parts, "divided", lambda *arguments: 1.1 * divided(*arguments))
    with pytest.raises(InputError, match="matrix products are wrong even in double"):
        evaluate(torch.ones(1, 4), torch.ones(2, 4), Labels([1], [1]), Labels([1, 1], [2, 2]))


def test_tensors_that_require_grad(torch, there):
    query, gallery, *both = problem(0)
    tensors = [torch.tensor(one, requires_grad=True) for one in (query, gallery)]
    assert_same(evaluate(*tensors, *both), evaluate(query, gallery, *both))
    assert there.ran() and tensors[0].grad is None


def test_a_side_in_main_memory(torch, there):
    query, gallery, *both = problem(0)
    expected = evaluate(query, gallery, *both)
    for mixed in ((torch.tensor(query), gallery), (query, torch.tensor(gallery))):
        assert_same(evaluate(*mixed, *both), expected)
        assert not there.ran()
