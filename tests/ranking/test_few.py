"""Counts of a group of few images, by sorting, against those of `counting.py`, by comparing."""
import numpy as np
import pytest

from reid_ref.ranking import few, rank as ranking, tiles
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


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_as_by_comparing(seed, together):
    make = cases.special if seed % 2 else cases.market_like
    distances, _, _ = make(seed, n_query=20, n_gallery=150)
    for matrix in (distances, distances.astype(np.float32), np.asfortranarray(distances)):
        assert_same(matrix, seed, together)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "uint64", "float16", "float32",
                                   ">f8", "longdouble"])
def test_every_dtype(dtype):
    distances, _, _ = cases.market_like(3, levels=9)
    assert_same(distances.astype(dtype), 3, True)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "longdouble"])
def test_whole_numbers_that_single_precision_makes_one(dtype):
    distances, _, _ = cases.market_like(4, levels=5)
    assert_same(2**60 + distances.astype(dtype), 4, False)


def test_distances_that_single_precision_makes_infinite():
    distances, _, _ = cases.special(5)
    assert_same(1e300 * distances, 5, True)


@pytest.mark.parametrize("at_once", [1, 7])
def test_ties_are_compared_a_part_at_a_time(monkeypatch, at_once):
    monkeypatch.setattr(few, "_AT_ONCE", at_once)
    distances, _, _ = cases.market_like(6, levels=2)
    assert_same(distances, 6, False)


@pytest.mark.parametrize("tile", [1, 80, 200, 1000])
def test_every_size_of_tile(monkeypatch, tile):
    monkeypatch.setattr(tiles, "TILE", tile)
    distances, _, _ = cases.special(7)
    assert_same(distances, 7, True)
    assert_same(distances, 7, False)


def test_no_image_is_near():
    distances = np.array([[1., 2, 0]])
    goods = Goods(np.array([0]), np.array([2]), np.array([0.]), np.array([True]))
    none = np.zeros(0, dtype=np.int64)
    counting = Counting(none, none, np.array([True, True, False]))
    assert not count_few(matrix_part(distances), goods, 1, counting).any()


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
