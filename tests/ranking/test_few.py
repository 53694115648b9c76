"""Counts of a group of few images, by sorting, against those of `counting.py`, by comparing.

Tiles and ties of every kind: `check_few` of `test_fast_mutants.py`.
"""
import numpy as np
import pytest

from reid_ref.ranking import rank as ranking
from reid_ref.ranking.counting import Counting, Goods, count_before
from reid_ref.ranking.few import count_few
from reid_ref.ranking.rank import count_part, in_parts, rank
from reid_ref.ranking.tiles import matrix_part
from tests import cases
from tests.proof import brute

RULES = [("label -1", "same identity, same camera"), ()]


def a_group(seed, distances, together):
    """Good pairs, and a group of a quarter of the images, one after another or not."""
    rng = np.random.default_rng(seed)
    n_query, n_gallery = distances.shape
    columns = (np.arange(n_gallery) < n_gallery // 4 if together
               else rng.random(n_gallery) < .25)
    columns[1] = True
    query, image = np.nonzero((rng.random(distances.shape) < .2) & (distances == distances))
    left_out = np.nonzero(rng.random(distances.shape) < .1)
    is_left_out = np.zeros(distances.shape, dtype=bool)
    is_left_out[left_out] = True
    goods = Goods(query, image, distances[query, image], ~is_left_out[query, image])
    return goods, Counting(*left_out, columns)


def assert_same(distances, seed, together):
    goods, counting = a_group(seed, distances, together)
    part, n_query = matrix_part(distances), len(distances)
    np.testing.assert_array_equal(count_few(part, goods, n_query, counting),
                                  count_before(part, goods, n_query, counting))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "uint64", "float16", "float32",
                                   ">f8", "longdouble"])
def test_every_dtype(dtype):
    distances, _, _ = cases.market_like(3, levels=9)
    assert_same(distances.astype(dtype), 3, True)
    if np.dtype(dtype).itemsize >= 8:  # single precision makes them one
        assert_same(2**60 + distances.astype(dtype), 4, False)


def test_where_it_is_used(monkeypatch):
    """For images labelled -1 in a matrix, if they are few and no good image is at NaN."""
    sizes = []

    def spy(part, goods, n_query, counting):
        sizes.append(np.count_nonzero(counting.columns))
        return count_few(part, goods, n_query, counting)

    monkeypatch.setattr(ranking, "count_few", spy)
    distances, query, gallery = cases.market_like(8)
    for matrix in (distances, np.where(np.arange(80) == 3, np.nan, distances)):
        part = matrix_part(matrix)
        found = rank(in_parts([lambda: part], len(query)), query, gallery, RULES)
        for rule in RULES:
            brute.assert_equal(found[rule], brute.ranks(matrix.tolist(), query, gallery, rule))
    assert gallery.identity[3] in query.identity
    assert sizes == [np.count_nonzero(gallery.identity == -1)]


def test_its_share_of_the_work_is_told():
    distances, query, gallery = cases.market_like(9)
    goods, counting = a_group(9, distances, True)
    told = []
    count_part(matrix_part(distances), goods, {"few": counting}, len(query), told.append)
    assert told == [1]
