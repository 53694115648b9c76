"""Ranks from counts, against one sorted list a query in plain Python (`tests/proof/brute.py`).

Tiles, parts of the gallery and other orders of ties: the checks of `test_fast_mutants.py`. Types
of distances and their layout in memory: `test_fast_port.py`.
"""

import numpy as np
import pytest

from reid_ref import Labels
from reid_ref.ranking.counting import matrix_part
from reid_ref.ranking.good_ranks import stable_order
from reid_ref.ranking.rank import Source, in_parts, rank
from reid_ref.ranking.roles import find_all_roles
from tests import cases
from tests.proof import brute
from tests.proof.test_fast_mutants import IGNORED, LISTED, lists_of


def assert_ranks(distances, query, gallery, lists=None, ignored=(*IGNORED, LISTED)):
    """Compare all sets of ignored images, together and each alone."""
    ignored = [one for one in ignored if lists is not None or one != LISTED]
    rows = distances.tolist()
    part = matrix_part(distances)
    together = rank(in_parts([lambda: part], len(query)), query, gallery,
                    find_all_roles(query, gallery, ignored, lists))
    for one in ignored:
        expected = brute.ranks(rows, query, gallery, one, lists)
        brute.assert_equal(together[one], expected)
        brute.assert_equal(cases.good_ranks(distances, query, gallery, one, lists=lists), expected)


@pytest.mark.parametrize("seed", range(4))
def test_mostly_nan(seed):
    distances, query, gallery = cases.market_like(seed)
    distances[np.random.default_rng(seed).random(distances.shape) < (.5, .9, 1, 1)[seed]] = np.nan
    assert_ranks(distances, query, gallery, lists_of(seed, len(query), len(gallery)))


def test_what_is_not_counted_twice():
    """Sets that differ in the query's own camera alone are one count; label -1 is another."""
    distances, query, gallery = cases.market_like(2)
    part = matrix_part(distances)
    source = in_parts([lambda: part], len(query))
    groups = []

    def count(goods, asked):
        groups.append(sorted(asked))
        return source.count(goods, asked)

    plain = [("label -1", "same identity, same camera"), ("same identity, same camera",), ()]
    ranks = rank(Source(source.measure, count), query, gallery,
                 find_all_roles(query, gallery, plain))
    assert groups == [["junk", "labelled"]]
    for one in plain:
        brute.assert_equal(ranks[one], brute.ranks(distances.tolist(), query, gallery, one))


def test_labels_at_the_ends_of_int64():
    ends = np.array([np.iinfo(np.int64).min, -1, 0, np.iinfo(np.int64).max])
    rng = np.random.default_rng(9)
    query, gallery = (Labels(rng.choice(ends, n), rng.choice(ends, n)) for n in (8, 40))
    assert_ranks(rng.integers(5, size=(8, 40)), query, gallery)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("equal", [0, 1, 30, 400])
def test_the_stable_order(dtype, equal):
    rng = np.random.default_rng(equal)
    values = rng.permutation(500).astype(dtype)
    values[rng.integers(0, 500, equal)] = values[rng.integers(0, 500, equal)]
    if values.dtype.kind == "f":
        values[rng.integers(0, 500, equal // 2)] = np.nan
        values[:2] = -0.0, 0.0
    np.testing.assert_array_equal(stable_order(values), np.argsort(values, kind="stable"))
    np.testing.assert_array_equal(stable_order(values[:0]), [])
