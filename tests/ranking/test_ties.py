"""Many equal distances: they are counted, whatever makes them, and never listed pair by pair."""
from dataclasses import replace

import numpy as np
import pytest

from reid_ref import Labels
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Features
from reid_ref.conventions import CONVENTIONS
from reid_ref.ranking import counting, exact_distances
from reid_ref.ranking.counting import Goods, count_before, matrix_part
from tests.cases import good_ranks
from tests.proof import brute

N_QUERY, N_GALLERY, DIMENSION = 8, 150, 16
MATLAB = ("label -1", "same identity, same camera")


def labels(seed):
    rng = np.random.default_rng(seed)
    return tuple(Labels(rng.integers(-1, 3, n), rng.integers(1, 5, n))
                 for n in (N_QUERY, N_GALLERY))


def matrix(kind, seed):
    rng = np.random.default_rng(seed)
    shape = N_QUERY, N_GALLERY
    if kind == "constant":
        return np.full(shape, 2.5)
    if kind == "NaN":
        return np.full(shape, np.nan, np.float32)
    if kind == "zeros of both signs":
        return np.where(rng.random(shape) < .5, -0., 0.)
    if kind == "neighbours":  # which are one in single precision
        return 1e9 + 2.0**-20 * rng.integers(0, 3, shape)
    if kind.startswith("Hamming"):
        bits = int(kind.split()[1])
        return rng.binomial(bits, .5, shape).astype(np.uint8 if bits == 8 else np.float32)
    return rng.integers(-100, 101, shape).astype(kind)


@pytest.mark.parametrize("few", [0, 6, 10**6])
@pytest.mark.parametrize("kind", [
    "constant", "NaN", "zeros of both signs", "neighbours", "Hamming 8", "Hamming 16",
    "Hamming 64", "int8", "float16", "int64", "float64"])
def test_matrix(kind, few, monkeypatch):
    monkeypatch.setattr(counting, "FEW", few)
    for seed, tile in enumerate((10**6, 7 * N_GALLERY, 11)):
        monkeypatch.setattr(counting, "TILE", tile)
        (query, gallery), distances = labels(seed), matrix(kind, seed)
        for ignored in (MATLAB, ("same camera",)):
            brute.assert_equal(good_ranks(distances, query, gallery, ignored),
                               brute.ranks(distances.tolist(), query, gallery, ignored))


def features(kind, seed):
    rng = np.random.default_rng(seed)
    shape = N_QUERY + N_GALLERY, DIMENSION
    if kind == "constant":
        made = np.tile(rng.standard_normal(DIMENSION), (shape[0], 1))
    elif kind == "few different":
        made = rng.standard_normal((3, DIMENSION))[rng.integers(0, 3, shape[0])]
    elif kind == "nearly constant":
        made = 1 + 1e-5 * rng.standard_normal(shape)
    elif kind == "counts":
        made = rng.integers(0, 3, shape) * (rng.random((shape[0], 1)) < .9)
    else:
        made = {"codes": 1, "unit codes": .25, "other codes": .3}[kind] * np.sign(
            rng.standard_normal(shape))
    made = made.astype(np.float32)
    return made[:N_QUERY], made[N_QUERY:]


@pytest.mark.filterwarnings("ignore::reid_ref.NaNWarning")
@pytest.mark.parametrize("scaling", [("euclidean", True), ("euclidean", False), ("dot", False)])
@pytest.mark.parametrize("kind", ["constant", "few different", "nearly constant", "counts",
                                  "codes", "unit codes", "other codes"])
def test_features(kind, scaling, monkeypatch):
    """As a matrix of exact distances, whether open pairs are measured or a finer part counts."""
    query, gallery = labels(0)
    both = features(kind, 0)
    metric, normalize = scaling
    how = How((CONVENTIONS["matlab"],), metric=metric, normalize=normalize)
    part, = (opened(np.float32) for opened in exact_distances.feature_parts(
        *both, [how.scaling()], 2**28))
    pair = np.arange(N_QUERY * N_GALLERY)
    distances = part.exact(pair // N_GALLERY, pair % N_GALLERY).reshape(N_QUERY, N_GALLERY)
    expected = brute.ranks(distances.tolist(), query, gallery, MATLAB)
    for some, most, together in ((10**9, 1, 5), (10**9, 1, 2**17), (0, 0, 9)):
        monkeypatch.setattr(counting, "SOME_OPEN", some)
        monkeypatch.setattr(counting, "MOST_OPEN", most)
        monkeypatch.setattr(counting, "OPEN_AT_ONCE", together)
        ranks = Features(*both).ranks(query, gallery, how).of(CONVENTIONS["matlab"])
        brute.assert_equal(ranks, expected)


def test_several_scalings_share_a_finer_part(monkeypatch):
    query, gallery = labels(1)
    both = features("codes", 1)
    conventions = CONVENTIONS["matlab"], CONVENTIONS["torchreid"]
    expected = Features(*both).ranks(query, gallery, How(conventions))
    monkeypatch.setattr(counting, "SOME_OPEN", 0)
    monkeypatch.setattr(counting, "MOST_OPEN", 0)
    ranks = Features(*both).ranks(query, gallery, How(conventions))
    for convention in conventions:
        for name in ("rank", "nearer", "tied", "image"):
            np.testing.assert_array_equal(getattr(ranks.of(convention), name),
                                          getattr(expected.of(convention), name))


def test_a_matrix_is_not_read_pair_by_pair():
    """With half the images good and all equal, each place is known from the tile."""
    image = np.arange(0, 1000, 2)
    goods = Goods(np.zeros(500, np.int64), image, np.ones(500))
    asked = []
    part = matrix_part(np.ones((1, 1000)))
    part = replace(part, exact=lambda row, column: asked.append(len(row)) or np.ones(len(row)))
    none = np.zeros(0, np.int64)
    before = count_before(part, goods, 1, counting.Counting(none, none, np.ones(1000, bool)))
    np.testing.assert_array_equal(before, [0 * image, 0 * image + 999, image])
    assert not asked


@pytest.mark.parametrize("kind, some, most", [
    ("other codes", 10**9, N_QUERY * N_GALLERY), ("constant", 0, N_QUERY),
    ("codes", 0, 0), ("nearly constant", 0, 0)])
def test_each_pair_is_measured_once(kind, some, most, monkeypatch):
    """Not once for each good image: a third of the images are good."""
    products, counted = exact_distances.pair_products, []

    def counting_pairs(query, gallery, row, image, row_sums=None):
        counted.append(len(row) if len(query) == N_QUERY and row_sums is None else 0)
        return products(query, gallery, row, image, row_sums)

    monkeypatch.setattr(exact_distances, "pair_products", counting_pairs)
    monkeypatch.setattr(counting, "SOME_OPEN", some)
    monkeypatch.setattr(counting, "OPEN_AT_ONCE", 50)
    ranks = Features(*features(kind, 0)).ranks(*labels(0), How()).of(CONVENTIONS["matlab"])
    n_good = int(ranks.n_good.sum())
    assert n_good > N_GALLERY
    assert sum(counted) <= n_good + most
