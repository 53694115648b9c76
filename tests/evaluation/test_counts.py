"""The inner loop: counts in exact tiles, and in tiles that are off by a known slack."""
import threading
import time

import numpy as np
import pytest

from reid_ref.ranking import counting as counts, tiles
from reid_ref.ranking.counting import Counting, Goods, TooFarOff, ahead, count_before
from reid_ref.ranking.tiles import Band, Part, Tile, matrix_part
from tests.nightly import cases
from tests.proof import brute

NOTHING = np.zeros(0, dtype=np.int64)
ALL = Counting(NOTHING, NOTHING)


def goods_of(distances, query, image, does_count=None):
    query, image = np.array(query), np.array(image)
    return Goods(query, image, distances[query, image],
                 np.ones(len(query), bool) if does_count is None else does_count)


def expected_counts(distances, goods, does_count):
    """Count one image at a time; `does_count` tells it of every pair."""
    before = np.zeros((3, len(goods.query)), dtype=np.int64)
    for k, (row, good) in enumerate(zip(goods.query.tolist(), goods.image.tolist())):
        value = distances[row, good]
        for image in range(distances.shape[1]):
            if image != good and does_count[row, image]:
                tied = brute.is_as_near(distances[row, image], value)
                before[:, k] += (brute.is_nearer(distances[row, image], value), tied,
                                 tied and image < good)
    return before


def test_a_case_worked_by_hand():
    distances = np.array([[.1, .3, .2, .3, .3], [.5, .4, .5, np.nan, np.nan]])
    goods = goods_of(distances, [0, 0, 1, 1], [0, 3, 1, 4])
    np.testing.assert_array_equal(
        count_before(matrix_part(distances), goods, 2, ALL),
        [[0, 2, 0, 3], [0, 2, 0, 1], [0, 1, 0, 1]])
    nobody = Counting(NOTHING, NOTHING, np.zeros(5, bool))
    np.testing.assert_array_equal(count_before(matrix_part(distances), goods, 2, nobody), 0)
    shares, none = [], goods_of(distances, NOTHING, NOTHING)
    assert count_before(matrix_part(distances), none, 2, ALL, shares.append).shape == (3, 0)
    assert sum(shares) == 1


def problem(seed, n_query=5, n_gallery=60, special=True, n_good=4):
    """Distances, good pairs of which some do not count, and who counts."""
    rng = np.random.default_rng(seed)
    distances = rng.standard_normal((n_query, n_gallery)).round(1)
    if special:
        for value in (np.nan, np.inf, -np.inf, 0.0, -0.0):
            distances[rng.random(distances.shape) < 0.08] = value
    out = rng.random(distances.shape) < 0.1
    columns = rng.random(n_gallery) < rng.choice([.3, .9])
    place, query_place = rng.integers(0, 4, n_gallery), rng.integers(0, 4, n_query)
    images = [np.sort(rng.choice(n_gallery, n_good * (k != 1), replace=False))
              for k in range(n_query)]  # query 1 has none
    query = np.repeat(np.arange(n_query), [len(one) for one in images])
    image = np.concatenate(images)
    goods = goods_of(distances, query, image, ~out[query, image])
    counting = [Counting(*np.nonzero(out)), Counting(*np.nonzero(out), columns),
                Counting(*np.nonzero(out), None, place, query_place),
                Counting(*np.nonzero(out), columns, place, query_place)]
    elsewhere = place != query_place[:, np.newaxis]
    does_count = [~out, ~out & columns, ~out & elsewhere, ~out & columns & elsewhere]
    return distances, goods, list(zip(counting, does_count))


@pytest.mark.parametrize("seed", range(cases(5, 10)))
@pytest.mark.parametrize("sort_from", [0, 64])
def test_against_one_image_at_a_time(monkeypatch, seed, sort_from):
    monkeypatch.setattr(counts, "_SORT_FROM", sort_from)
    monkeypatch.setattr(tiles, "TILE", (1, 130, 10**6)[seed % 3])
    distances, goods, sets = problem(seed)
    for counting, does_count in sets:
        np.testing.assert_array_equal(
            count_before(matrix_part(distances), goods, len(distances), counting),
            expected_counts(distances, goods, does_count))


# Tiles that are not exact.

def noisy_part(distances, slack, error, shape=(2, 17), start=0, lookups=None):
    """Make a part whose tiles are off by `error` (of the shape of the distances)."""
    n_query, n_gallery = distances.shape

    def exact(query, image):
        if lookups is not None:
            lookups.append(len(query))
        return distances[query, image]

    def make_tiles(counting):
        columns = np.flatnonzero(np.ones(n_gallery, bool) if counting is None else counting)
        for first in range(0, len(columns), shape[1]):
            chosen = columns[first:first + shape[1]]
            for row in range(0, n_query, shape[0]):
                rows = slice(row, min(row + shape[0], n_query))
                yield Tile(rows, (distances + error)[rows][:, chosen], chosen, None,
                           (rows.stop - row) * len(chosen) / (n_query * len(columns)))

    return Part(slice(start, start + n_gallery), exact,
                [Band(None, lambda query, value: (value - slack, value + slack), make_tiles)],
                is_exact=False)


@pytest.mark.parametrize("seed", range(cases(5, 10)))
@pytest.mark.parametrize("sort_from", [0, 64])
@pytest.mark.parametrize("slack", [1e-9, .3, 100.])
def test_errors_within_the_slack_reach_no_count(monkeypatch, seed, sort_from, slack):
    monkeypatch.setattr(counts, "_SORT_FROM", sort_from)
    distances, goods, sets = problem(seed, special=False)
    distances[0, 5], distances[3] = np.nan, np.nan  # as images and queries of norm 0 have it
    goods = goods_of(distances, goods.query, goods.image, goods.counts)
    rng = np.random.default_rng(seed)
    error = slack * rng.uniform(-.2, .2, distances.shape)
    shape = tuple(rng.integers(1, [6, 61]))
    for counting, does_count in sets:
        shares = []
        np.testing.assert_array_equal(
            count_before(noisy_part(distances, slack, error, shape), goods, len(distances),
                         counting, shares.append),
            expected_counts(distances, goods, does_count))
        assert sum(shares) == pytest.approx(1)


def test_only_the_unclear_is_looked_at():
    distances = np.arange(1000.)[np.newaxis]
    lookups = []
    goods = goods_of(distances, [0, 0], [10, 500])
    part = noisy_part(distances, 2.5, np.zeros((1, 1000)), (1, 1000), lookups=lookups)
    np.testing.assert_array_equal(count_before(part, goods, 1, ALL), [[10, 500], [0, 0], [0, 0]])
    assert lookups == [8]  # two on either side of each good image


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_tile_that_is_too_far_off(sign):
    distances = np.arange(20.)[np.newaxis]
    goods = goods_of(distances, [0], [7])
    for share, fails in ((.24, False), (.26, True)):
        error = np.zeros((1, 20))
        error[0, 7] = sign * share * .1
        part = noisy_part(distances, .1, error, (1, 20))
        if fails:
            with pytest.raises(TooFarOff):
                count_before(part, goods, 1, ALL)
        else:
            np.testing.assert_array_equal(count_before(part, goods, 1, ALL), [[7], [0], [0]])


def test_the_last_bit_of_a_double_decides():
    rng = np.random.default_rng(0)
    value = 1 / 3
    distances = value + np.spacing(value) * rng.integers(-3, 4, (4, 300))
    goods = goods_of(distances, np.repeat(np.arange(4), 5), np.tile(np.arange(0, 300, 60), 4))
    error = rng.uniform(-1e-7, 1e-7, distances.shape)
    np.testing.assert_array_equal(
        count_before(noisy_part(distances, 1e-6, error), goods, 4, ALL),
        expected_counts(distances, goods, np.ones(distances.shape, bool)))


def test_a_part_counts_its_own_images_only():
    distances, goods, sets = problem(3, special=False)
    counting, does_count = sets[0]
    total = np.zeros((3, len(goods.query)), dtype=np.int64)
    for start, stop in ((0, 13), (13, 14), (14, 60)):
        error = np.full((len(distances), stop - start), .01)
        total += count_before(noisy_part(distances[:, start:stop], .1, error, start=start), goods,
                              len(distances), counting)
    np.testing.assert_array_equal(total, expected_counts(distances, goods, does_count))


# Working ahead.


def test_ahead_passes_on_what_goes_wrong():
    def failing():
        yield 1
        raise ZeroDivisionError("here")

    items = ahead(failing())
    assert next(items) == 1
    with pytest.raises(ZeroDivisionError, match="here"):
        next(items)


def test_ahead_keeps_the_order_and_makes_a_few_items_only():
    made = []
    assert list(ahead(range(50))) == list(range(50)) and list(ahead([])) == []
    items = ahead((made.append(k) for k in range(100)), number=3)
    next(items)
    time.sleep(.05)
    assert 1 <= len(made) <= 4


def test_ahead_leaves_no_thread_behind():
    before = threading.active_count()
    for stop_at in (1, 4):
        for item in ahead(range(10)):
            if item == stop_at:
                break
        del item
    items = ahead(range(10))
    next(items)
    items.close()
    assert threading.active_count() == before
