"""The inner loop: what is looked up, and what threads do.

Counts in tiles, exact or off by a known slack: the checks of `tests/proof/test_fast_mutants.py`.
"""
import os
import threading
import time

import numpy as np
import pytest
import threadpoolctl

import reid_ref
from reid_ref.arrays import cores as cores_of_process
from reid_ref.arrays.cores import (
    LIMITS, available, blas_threads, cores, in_threads, using)
from reid_ref.ranking.counting import (
    Band, Block, Counting, Goods, GalleryPart, Tile, count_before)
from tests.nightly import cases
from tests.refusals import refused


def test_only_the_unclear_is_looked_at():
    distances, lookups, columns = np.arange(1000.)[np.newaxis], [], np.ones(1000, bool)

    def exact(query, image):
        lookups.append(len(query))
        return distances[query, image]

    tile = Tile(slice(0, 1), distances, np.arange(1000), 1)
    band = Band(columns, lambda counting: iter([Block(slice(0, 1), lambda: iter([tile]))]),
                np.ones(1), np.full(1, 2.5))
    part = GalleryPart(slice(0, 1000), exact, [band], lambda query: np.isnan(distances[query]))
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
    with using(threads):
        assert list(in_threads(slow, range(20))) == list(range(20))
        assert list(in_threads(slow, [])) == []
        next(in_threads(slow, (taken.append(k) or k for k in range(100))))
        assert len(taken) <= cores() + 1


def test_no_thread_is_left_behind():
    before = threading.active_count()
    answers = in_threads(abs, range(10))
    next(answers)
    answers.close()
    assert threading.active_count() == before


def test_cores_are_those_that_the_process_may_use(monkeypatch):
    for variable in LIMITS:
        monkeypatch.delenv(variable, raising=False)
    every = available.__wrapped__()
    assert 1 <= every <= (os.cpu_count() or 1)
    for value, expected in (("1", 1), ("99999", every), ("", every), ("x", every),
                            ("0", 1)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert available.__wrapped__() == expected


@pytest.fixture
def fresh():
    """Another test may have loaded a BLAS of scipy's own."""
    cores_of_process._blas.cache_clear()


def products():
    """The threads that a matrix product takes, of each BLAS that is loaded."""
    return [library["num_threads"] for library in threadpoolctl.threadpool_info()
            if library["user_api"] == "blas"]


def test_a_worker_has_one_core_and_one_thread_of_blas(fresh):
    before = products()
    with blas_threads(1):
        assert list(in_threads(lambda _: (cores(), products()), range(3))) == [
            (1, [1] * len(before))] * 3
    assert products() == before


def test_limits_of_several_threads_end_with_the_last(fresh):
    before = products()
    first, second = blas_threads(1), blas_threads(2)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert products() == [min(2, count) for count in before]
    second.__exit__(None, None, None)
    assert products() == before
    with pytest.raises(ZeroDivisionError), using(1):
        assert cores() == 1
        1 // 0
    assert products() == before and cores() == available()


@pytest.mark.parametrize("threads", cases([3, np.int8(2)], [
    1, 2, 3, 8, np.int8(2), np.uint64(3)]))
def test_the_result_does_not_depend_on_threads(threads):
    rng = np.random.default_rng(threads)
    features = [rng.integers(-3, 4, (n, 24)).astype(np.float32) for n in (150, 4000)]
    labels = [reid_ref.Labels(rng.integers(0, 30, n), rng.integers(1, 4, n)) for n in (150, 4000)]
    expected = reid_ref.evaluate(*features, *labels, convention=["matlab", "torchreid"])
    for memory in (None, "300K"):
        assert reid_ref.evaluate(*features, *labels, convention=["matlab", "torchreid"],
                                 threads=threads, max_memory=memory) == expected
    distances = -features[0] @ features[1].T
    assert (reid_ref.evaluate_distances(distances, *labels, threads=threads)
            == reid_ref.evaluate_distances(distances, *labels))


def test_limits_end_where_the_blas_takes_none(fresh, monkeypatch):
    before = products()
    monkeypatch.setattr("reid_ref.arrays.cores._set_blas", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError), blas_threads(1):
        pass
    monkeypatch.undo()
    with blas_threads(2):
        assert products() == [min(2, count) for count in before]
    assert products() == before


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_threads_are_a_number_from_1(threads):
    given = np.ones((1, 1)), reid_ref.Labels([1], [1]), reid_ref.Labels([1], [2])
    refused("threads", "from 1", reid_ref.evaluate_distances, *given, threads=threads)
