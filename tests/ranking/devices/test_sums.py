"""Sums on a device: of products, as numpy adds them.

Rows of every length: `check_sums` of `test_mutants.py`.
"""
import numpy as np
import pytest

from reid_ref.arrays.device import where_they_are
from reid_ref.ranking import exact_distances
from reid_ref.ranking.on_device import pair_products, squares


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
    np.testing.assert_array_equal(pair_products(*both, row, image),
                                  exact_distances.pair_products(query, gallery, row, image))
    np.testing.assert_array_equal(squares(both[1]), exact_distances.squares(gallery))
