"""The inner loop: counts in tiles that are off by a known slack.

In exact tiles and in parts of the gallery, and tiles that are too far off: the checks of
`tests/proof/test_fast_mutants.py`.
"""
import threading
import time

import numpy as np
import pytest

from reid_ref.ranking import counting as counts
from reid_ref.ranking.counting import (
    Band, Counting, Goods, Part, Tile, ahead, count_before)
from tests.nightly import cases
from tests.proof import brute

NOTHING = np.zeros(0, dtype=np.int64)


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


def problem(seed, n_query=5, n_gallery=60, n_good=4):
    """Distances, good pairs of which some do not count, and who counts."""
    rng = np.random.default_rng(seed)
    distances = rng.standard_normal((n_query, n_gallery)).round(1)
    out = rng.random(distances.shape) < 0.1
    columns = rng.random(n_gallery) < rng.choice([.3, .9])
    place, query_place = rng.integers(0, 4, n_gallery), rng.integers(0, 4, n_query)
    images = [np.sort(rng.choice(n_gallery, n_good * (k != 1), replace=False))
              for k in range(n_query)]  # query 1 has none
    query = np.repeat(np.arange(n_query), [len(one) for one in images])
    image = np.concatenate(images)
    goods = goods_of(distances, query, image, ~out[query, image])
    everything = np.ones(n_gallery, bool)
    counting = [Counting(*np.nonzero(out), everything), Counting(*np.nonzero(out), columns),
                Counting(*np.nonzero(out), everything, place, query_place),
                Counting(*np.nonzero(out), columns, place, query_place)]
    elsewhere = place != query_place[:, np.newaxis]
    does_count = [~out, ~out & columns, ~out & elsewhere, ~out & columns & elsewhere]
    return distances, goods, list(zip(counting, does_count))


def noisy_part(distances, slack, error, shape=(2, 17), start=0, lookups=None):
    """Make a part whose tiles are off by `error` (of the shape of the distances)."""
    n_query, n_gallery = distances.shape

    def exact(query, image):
        if lookups is not None:
            lookups.append(len(query))
        return distances[query, image]

    def make_tiles(counting):
        columns = np.flatnonzero(counting)
        for first in range(0, len(columns), shape[1]):
            chosen = columns[first:first + shape[1]]
            for row in range(0, n_query, shape[0]):
                rows = slice(row, min(row + shape[0], n_query))
                yield Tile(rows, (distances + error)[rows][:, chosen], chosen,
                           (rows.stop - row) * len(chosen) / (n_query * len(columns)))

    return Part(slice(start, start + n_gallery), exact,
                [Band(np.ones(n_gallery, bool),
                      lambda query, value: (value - slack, value + slack), make_tiles)],
                lambda query: np.isnan(distances[query]))


@pytest.mark.parametrize("seed", range(cases(5, 10)))
@pytest.mark.parametrize("sort_from", [0, 64])
@pytest.mark.parametrize("slack", [1e-9, .3, 100.])
def test_errors_within_the_slack_reach_no_count(monkeypatch, seed, sort_from, slack):
    monkeypatch.setattr(counts, "_SORT_FROM", sort_from)
    distances, goods, sets = problem(seed)
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
    np.testing.assert_array_equal(
        count_before(part, goods, 1, Counting(NOTHING, NOTHING, np.ones(1000, bool))),
        [[10, 500], [0, 0], [0, 0]])
    assert lookups == [8]  # two on either side of each good image


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
