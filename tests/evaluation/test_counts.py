"""The inner loop: what is looked up, and what threads do.

Counts in tiles, exact or off by a known slack: the checks of `tests/proof/test_fast_mutants.py`.
"""
import os
import threading
import time

import numpy as np
import pytest

from reid_ref.arrays.cores import LIMITS, cores
from reid_ref.ranking.counting import (
    Band, Counting, Goods, Part, Tile, count_before, in_threads)


def test_only_the_unclear_is_looked_at():
    distances, lookups, columns = np.arange(1000.)[np.newaxis], [], np.ones(1000, bool)

    def exact(query, image):
        lookups.append(len(query))
        return distances[query, image]

    band = Band(columns, lambda query, value: (value - 2.5, value + 2.5),
                lambda counting: iter([Tile(slice(0, 1), distances, np.arange(1000), 1)]))
    part = Part(slice(0, 1000), exact, [band], lambda query: np.isnan(distances[query]))
    query, image = np.array([0, 0]), np.array([10, 500])
    goods = Goods(query, image, distances[query, image])
    counted = count_before(part, goods, 1, Counting(query[:0], query[:0], columns))
    np.testing.assert_array_equal(counted, [[10, 500], [0, 0], [0, 0]])
    assert lookups == [8]  # two on either side of each good image


# Threads.


def test_threads_pass_on_what_goes_wrong():
    answers = in_threads(lambda number: 1 // number, [1, 0, 1])
    assert next(answers) == 1
    with pytest.raises(ZeroDivisionError):
        next(answers)


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_threads_keep_the_order_and_take_a_few_items_only(threads):
    def slow(number):
        time.sleep(.002 * (number % 3))
        return number

    taken = []
    assert list(in_threads(slow, range(20), threads)) == list(range(20))
    assert list(in_threads(slow, [], threads)) == []
    next(in_threads(slow, (taken.append(k) or k for k in range(100)), threads))
    assert len(taken) <= (threads or cores()) + 1


def test_no_thread_is_left_behind():
    before = threading.active_count()
    answers = in_threads(abs, range(10))
    next(answers)
    answers.close()
    assert threading.active_count() == before


def test_cores_are_those_that_the_process_may_use(monkeypatch):
    for variable in LIMITS:
        monkeypatch.delenv(variable, raising=False)
    available = cores.__wrapped__()
    assert 1 <= available <= (os.cpu_count() or 1)
    for value, expected in (("1", 1), ("99999", available), ("", available), ("x", available),
                            ("0", 1)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert cores.__wrapped__() == expected
