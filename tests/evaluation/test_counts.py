"""The inner loop: what is looked up, and what is made ahead.

Counts in tiles, exact or off by a known slack: the checks of `tests/proof/test_fast_mutants.py`.
"""
import threading
import time

import numpy as np
import pytest

from reid_ref.ranking.counting import (
    Band, Counting, Goods, Part, Tile, ahead, count_before)


def test_only_the_unclear_is_looked_at():
    distances, lookups, columns = np.arange(1000.)[np.newaxis], [], np.ones(1000, bool)

    def exact(query, image):
        lookups.append(len(query))
        return distances[query, image]

    band = Band(columns, lambda query, value: (value - 2.5, value + 2.5),
                lambda counting: iter([Tile(slice(0, 1), distances, np.arange(1000), 1)]))
    part = Part(slice(0, 1000), exact, [band], lambda query: np.isnan(distances[query]))
    query, image = np.array([0, 0]), np.array([10, 500])
    goods = Goods(query, image, distances[query, image], np.ones(2, bool))
    counted = count_before(part, goods, 1, Counting(query[:0], query[:0], columns))
    np.testing.assert_array_equal(counted, [[10, 500], [0, 0], [0, 0]])
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
