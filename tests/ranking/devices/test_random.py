"""Random problems on a device, against the path in main memory and numpy's sums."""
from dataclasses import replace

import numpy as np

from reid_ref import CONVENTIONS, Labels, evaluate, evaluate_distances
from reid_ref.arrays.device import where_they_are
from reid_ref.ranking import counting, on_device
from tests.cases import market_like, special
from tests.nightly import cases
from tests.ranking.devices.common import assert_same, problem, quietly

METRICS = ("euclidean", "cosine", "dot")
SEVERAL = ["matlab", "torchreid-function", "simpleir",
           replace(CONVENTIONS["simpleir"], name="places", ignored=("label -1", "same camera"))]


def small_tiles(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    for name, most in (("TILE", 70), ("ROWS", 5), ("AT_ONCE", 500)):
        monkeypatch.setattr(on_device, name, int(rng.integers(2, most)))
    monkeypatch.setattr(counting, "OPEN_AT_ONCE", int(rng.integers(2, 30)))


def compare(torch, function, *arrays, **options):
    """Results and warnings, of tensors as of arrays."""
    both, told = arrays[-2:], []
    expected = quietly(function, *arrays, **options, convention=SEVERAL)
    found = quietly(function, *map(torch.tensor, arrays[:-2]), *both, **options,
                    convention=SEVERAL, progress=told.append)
    assert_same(found[0], expected[0])
    assert found[1] == expected[1] and sum(told) == len(arrays[0])


def test_features(torch, there, monkeypatch):
    for seed in range(cases(30, 200)):
        if seed >= 15:
            small_tiles(monkeypatch, seed)
        compare(torch, evaluate, *problem(seed, "int16" if seed % 7 == 0 else "float32"),
                metric=METRICS[seed % 3], normalize=bool(seed // 3 % 2))


def test_features_that_match_nothing_and_zeros(torch, there):
    compare(torch, evaluate, np.ones((2, 3)), np.ones((4, 3)), Labels([1, 2], [1, 1]),
            Labels([3, 3, 4, 4], [2] * 4))
    both = Labels([1, 2], [1, 1]), Labels([1, 2], [2, 2])
    for normalize in (False, True):
        compare(torch, evaluate, *[np.zeros((2, 3))] * 2, *both, normalize=normalize)


def test_matrices(torch, there, monkeypatch):
    for seed in range(cases(12, 100)):
        if seed >= 6:
            small_tiles(monkeypatch, seed)
        make = special if seed % 2 else market_like
        distances, *both = make(seed, **({} if seed % 2 else {"levels": 12}))
        if seed % 4 == 2:
            distances = (distances - 128).astype(np.int8)
        if seed % 8 == 4:
            distances = 1 + 1e-12 * distances  # one number in float32
        compare(torch, evaluate_distances, distances, *both)


def test_sums(torch):
    """Numbers of very different size and both signs, whose sum shows the order of addition."""
    rng = np.random.default_rng(0)
    lengths = range(1, cases(290, 5000))
    for length in [*lengths, 384, 512, 768, 1000, 2048, 3001, 8200, 100_003]:
        products = rng.standard_normal((4, length)) * np.exp(4 * rng.standard_normal(length))
        found = on_device.row_sums(torch.from_numpy(products)).numpy()
        np.testing.assert_array_equal(found, products.sum(axis=1))
        assert length != 2048 or (np.cumsum(products, axis=1)[:, -1] != found).any()


def test_the_bound(torch, there):
    """What exact distances decide is few; what is far off is refused; the range is the bound's."""
    rng = np.random.default_rng(5)
    query, gallery = (rng.standard_normal((n, 1100)).astype(np.float32) for n in (6, 90))
    both = where_they_are(torch.tensor(query), torch.tensor(gallery))
    row = np.arange(6)
    part = on_device.feature_parts(*both, ["normalized"])[0](np.float32)
    low, high = part.bands[0].bounds(row, np.zeros(6))
    np.testing.assert_allclose(high - low, 2 * 32 * 2.0**-24, rtol=1e-3)
    exact = part.exact(row, row) / np.sqrt((query.astype(float)**2).sum(axis=1))
    block = next(part.bands[0].blocks(part.bands[0].columns))
    tile = next(block.tiles()).values.numpy()
    assert tile.dtype == np.float64
    np.testing.assert_allclose(tile[row, row], exact, rtol=0, atol=1e-14)
