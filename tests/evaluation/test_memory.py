"""How much memory is asked for, and how much is taken."""
import os
import sys

import numpy as np
import pytest

from reid_ref import Labels, evaluate
from reid_ref.arrays import memory
from reid_ref.arrays.memory import bytes_of
from tests.cases import peak
from tests.refusals import refused

MB = 2**20


@pytest.mark.parametrize(("size", "expected"), [
    (1, 1), ("10000", 10000), (4096, 4096), (np.int64(5), 5), ("512M", 512 * MB),
    ("512m", 512 * MB),
    ("2G", 2048 * MB), ("1T", 2**40), ("3K", 3072), ("1.5GiB", 1536 * MB), (" 1.5 GB ", 1536 * MB),
    ("7B", 7), ("0.5K", 512), ("1.M", MB), (10**15, 10**15)])
def test_sizes(size, expected):
    assert bytes_of(size) == expected


@pytest.mark.parametrize("size", [
    0, -1, "0", "0M", "0.2", "-1M", "", " ", "M", "1 000", "1e9", "1,5G", "512X", "1MM", "1KB2",
    True, False, "nan", "inf", [1], b"1M", "9" * 5000, "9" * 19, "9999999999G"])
def test_no_sizes(size):
    refused("--max-memory", "512M", bytes_of, size, "--max-memory")


@pytest.fixture
def linux():
    try:
        open("/proc/self/statm", encoding="ascii").close()
    except OSError:
        pytest.skip("no /proc here")


def test_the_default_follows_what_is_free(monkeypatch, linux):
    assert memory.free_bytes() > 0 and 10 * MB < memory._held() < 2**50
    for free, expected in ((10**12, memory.DEFAULT), (400 * MB, 100 * MB), (0, MB)):
        monkeypatch.setattr(memory, "free_bytes", lambda free=free: free)
        assert bytes_of(None) == expected


def test_a_system_that_does_not_say_what_is_free(monkeypatch, linux):
    def unknown(*_, **__):
        raise FileNotFoundError
    free = memory._available()
    monkeypatch.setattr("builtins.open", unknown)
    assert free < memory._available() < 2**50
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert memory._available() == sys.maxsize


def test_the_limit_of_the_process_counts(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(memory, "_available", lambda: 1000 * MB)
    monkeypatch.setattr(memory, "_held", lambda: 100 * MB)
    for limit, expected in ((resource.RLIM_INFINITY, 1000), (5000 * MB, 1000), (300 * MB, 200),
                            (50 * MB, 0)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, limit))
        assert memory.free_bytes() == expected * MB


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 2**30)
    memory.check_fits(2**30, "r.npz: x", "an array", "leave it out")
    refused("r.npz: x", "numbers that fit in memory", memory.check_fits, 3 * 2**40, "r.npz: x",
            "an array", "leave it out")


def made(n_query, n_gallery, dimension):
    rng = np.random.default_rng(0)
    both = [Labels(rng.integers(-1, 300, n), rng.integers(1, 7, n)) for n in (n_query, n_gallery)]
    centre = rng.standard_normal((301, dimension), dtype=np.float32)
    return (*(centre[one.identity] + 2 * rng.standard_normal((len(one), dimension), np.float32)
              for one in both), *both)


#: Beside the product: the tiles that are counted in (a thread makes up to four of them ahead, each
#: with its candidates), pairs, squares and the result.
BESIDE = 96 * MB


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("metric", "normalize"), [("euclidean", True), ("euclidean", False),
                                                   ("dot", False)])
def test_features_stay_within_the_memory(metric, normalize):
    data = made(1200, 30000, 64)
    assert 1200 * 30000 * 4 > 24 * MB + BESIDE  # all distances at once would not
    taken = peak(lambda: evaluate(*data, metric=metric, normalize=normalize,
                                  max_memory=24 * MB))[1]
    assert taken < 24 * MB + BESIDE
