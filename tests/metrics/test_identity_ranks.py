"""The rank of an identity among the identities, next to sorting every row."""
import numpy as np
import pytest

from reid_ref import Labels
from reid_ref.metrics import Rows, identity_ranks


@pytest.mark.parametrize("ties", ["gallery-order", "reversed", "numpy"])
@pytest.mark.parametrize("values", [3, 50, 10**6])
@pytest.mark.parametrize("nan", [0, .2])
def test_rows_need_no_order(ties, values, nan):
    rng = np.random.default_rng(0)
    query, gallery = (Labels(rng.integers(-1, 6, n), rng.integers(1, 4, n)) for n in (60, 30))
    distances = rng.integers(0, values, (60, 30)).astype(float)
    distances[rng.random((60, 30)) < nan] = np.nan
    rows = Rows(distances, query, gallery, ("label -1", "same location"), ties)
    expected = np.zeros(60, dtype=int)
    for k, kept, good_places in rows.matched():
        expected[k] = 1 + len(set(gallery.identity[kept[:good_places[0]]]))
    np.testing.assert_array_equal(identity_ranks(rows), expected)
    assert len(set(expected)) > 3
