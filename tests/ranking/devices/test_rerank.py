"""Re-ranking on a device: the same numbers where distances are exact, near ones elsewhere."""
import numpy as np
import pytest

from reid_ref import InputError, Labels, evaluate_reranked, rerank
from reid_ref.ranking import on_device as sums
from reid_ref.reranking import on_device
from reid_ref.reranking.encoding import VARIANTS
from tests.ranking.devices.common import assert_same, labels
from tests.ranking.devices.test_full_memory import full
from tests.nightly import cases

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(params=[False, True], ids=["one tile", "many tiles"])
def tiles(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(on_device, "TILE", 120)
        monkeypatch.setattr(on_device, "FIRST_LOOK", 1)
        monkeypatch.setattr(sums, "AT_ONCE", 64)


@pytest.fixture
def ran(monkeypatch):
    """The methods of pairs on a device that were called."""
    called = set()
    for name in ("nearest", "entries", "tile"):
        method = getattr(on_device.DevicePairs, name)

        def noted(self, *arguments, name=name, method=method):
            called.add(name)
            return method(self, *arguments)

        monkeypatch.setattr(on_device.DevicePairs, name, noted)
    return called


def whole(seed, dtype="float32", n_query=12, n_gallery=48):
    """Small whole numbers: products, sums and distances are exact, many are equal."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-4, 5, (n, 6)).astype(dtype) for n in (n_query, n_gallery)]


def same(torch, query, gallery, **options):
    """The distances of features in main memory, which are those of tensors."""
    options = {"normalize": False, "k1": 5, "k2": 3, **options}
    found = rerank(torch.tensor(query), torch.tensor(gallery), **options)
    np.testing.assert_array_equal(found, rerank(query, gallery, **options))
    return found


@pytest.mark.parametrize("variant", sorted(VARIANTS))
@pytest.mark.parametrize("seed", cases([1, 4], range(6)))
def test_the_same_where_distances_are_exact(torch, there, tiles, ran, variant, seed):
    found = same(torch, *whole(seed), variant=variant, k1=3 + seed, k2=1 + seed)
    assert found.dtype == np.float32 and ran == {"nearest", "entries", "tile"}


@pytest.mark.parametrize("dtype", ["float16", "float64", "int64", "uint8"])
def test_every_dtype(torch, there, ran, dtype):
    same(torch, *(abs(one) for one in whole(2, dtype)))
    assert ran


def test_with_a_metric(torch, there, tiles, ran):
    matrix = np.diag([1., 2, 3, 1, 1, 2])
    matrix[0, 1] = matrix[1, 0] = -1
    same(torch, *whole(3, "float64"), mahalanobis=matrix)
    assert ran


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_rounded_products_are_near(torch, there, tiles, ran, variant):
    """Well apart, no neighbour changes its place: only the last bits differ."""
    rng = np.random.default_rng(7)
    query, gallery = (rng.standard_normal((n, 32)) for n in (12, 60))
    found = rerank(torch.tensor(query), torch.tensor(gallery), 6, 3, variant=variant)
    # One unit of float16, in which strong-baseline keeps weights.
    np.testing.assert_allclose(found, rerank(query, gallery, 6, 3, variant=variant), rtol=0,
                               atol=1e-3 if variant == "strong-baseline" else 1e-6)
    assert ran


@pytest.mark.parametrize("variant", ["matlab", "torchreid"])
def test_evaluation(torch, there, ran, variant):
    query, gallery = whole(4)
    both = labels(np.random.default_rng(4), len(query), len(gallery))
    options = {"k1": 5, "k2": 3, "variant": variant, "normalize": False}
    assert_same(evaluate_reranked(torch.tensor(query), torch.tensor(gallery), *both, **options),
                evaluate_reranked(query, gallery, *both, **options))
    assert ran


def test_inputs_that_are_refused(torch, there):
    query, gallery = map(torch.tensor, whole(6))
    zero, nan, large = gallery.clone(), gallery.clone(), 1e30 * gallery
    zero[3], nan[7, 1] = 0, torch.nan
    for features, options, message in (
            (zero, {}, "gallery_features: .* got norm 0 in row 3"),
            (nan, {}, "gallery_features: expected finite numbers, got NaN in row 7"),
            (large, {"normalize": False}, "the distances overflow float32"),
            (gallery[:, :2], {}, "the same dimension"),
            (gallery, {"k1": 60}, "k1: expected a whole number from 1 to 59"),
            (gallery, {"mahalanobis": np.eye(3)}, "mahalanobis: expected a symmetric matrix of")):
        for convert in (lambda one: one, lambda one: one.numpy()):
            with pytest.raises(InputError, match=message):
                rerank(convert(query), convert(features), **options)
    with pytest.raises(InputError, match="expected images that differ"):
        rerank(torch.ones(2, 3), torch.ones(30, 3), normalize=False)
    with pytest.raises(InputError, match="gallery: expected at least one image, got none"):
        evaluate_reranked(query, gallery, Labels(np.ones(12), np.ones(12)),
                          Labels(-np.ones(48), np.ones(48)), variant="torchreid")


def test_when_memory_is_full(torch, there, monkeypatch):
    query, gallery = whole(8)
    expected = rerank(query, gallery, 5, 3, normalize=False)
    values, sizes = on_device.DevicePairs._values, []

    def few(self, rows, columns):
        sizes.append(rows.stop - rows.start)
        if sizes[-1] > 20:
            raise full(torch)
        return values(self, rows, columns)

    def never(*arguments):
        raise full(torch)

    monkeypatch.setattr(on_device.DevicePairs, "_values", few)
    both = torch.tensor(query), torch.tensor(gallery)
    np.testing.assert_array_equal(rerank(*both, 5, 3, normalize=False), expected)
    assert max(sizes) > 20 > max(sizes[1:])
    for owner, name in ((on_device.DevicePairs, "_nearest"), (on_device, "squares")):
        monkeypatch.setattr(owner, name, never)
        np.testing.assert_array_equal(rerank(*both, 5, 3, normalize=False), expected)
