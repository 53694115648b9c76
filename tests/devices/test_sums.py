"""Sums on a device: numpy's order of addition, at every length."""
import numpy as np
import pytest

from reid_ref.arrays.device import where_they_are
from reid_ref.devices.sums import pair_products, row_sums, squares
from reid_ref.ranking import exact_distances


def rows(length, seed=0):
    """Rows whose sum shows the order: numbers of very different size, both signs."""
    rng = np.random.default_rng(seed + length)
    return rng.standard_normal((3, length)) * np.exp(4 * rng.standard_normal((3, length)))


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(1, 5001, 500))
def test_rows_are_added_as_numpy_adds_them(torch, first):
    for length in range(first, first + 500):
        products = rows(length)
        sums = row_sums(torch.from_numpy(products)).numpy()
        assert (sums == products.sum(axis=1)).all(), length


@pytest.mark.parametrize("length", [6144, 8192, 8200, 10240, 12288, 16385, 65536, 100_003])
def test_long_rows(torch, length):
    products = rows(length)
    assert (row_sums(torch.from_numpy(products)).numpy() == products.sum(axis=1)).all()


def test_another_order_gives_other_doubles(torch):
    """The numbers above tell orders of addition apart, so equal sums mean the same order."""
    products = rows(2048)
    assert (np.cumsum(products, axis=1)[:, -1] != products.sum(axis=1)).any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "bool"])
@pytest.mark.parametrize("dimension", [1, 100, 2048])
def test_products_of_features(torch, there, dtype, dimension):
    rng = np.random.default_rng(dimension)
    query, gallery = (3 * rng.standard_normal((n, dimension)) for n in (5, 9))
    if dtype == "int64":
        query, gallery = query * 2.0**55, gallery * 2.0**55  # rounded when made doubles
    query, gallery = query.astype(dtype), gallery.astype(dtype)
    row, image = np.indices((5, 9)).reshape(2, -1)
    both = where_they_are(torch.tensor(query), torch.tensor(gallery))
    found = pair_products(*both, torch.tensor(row), torch.tensor(image))
    np.testing.assert_array_equal(
        found.numpy(), exact_distances.pair_products(query, gallery, row, image))
    np.testing.assert_array_equal(squares(both[1]), exact_distances.squares(gallery))
