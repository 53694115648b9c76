"""Ranks from counts, against one sorted list a query in plain Python (`tests/proof/brute.py`)."""
import numpy as np
import pytest

from reid_ref import IndexLists, Labels
from reid_ref.ranking import counting as counts, tiles
from reid_ref.ranking.good_ranks import stable_order
from reid_ref.ranking.rank import Source, good_ranks, in_parts, rank
from reid_ref.ranking.roles import find_roles, query_roles
from reid_ref.ranking.tiles import matrix_part
from tests import cases
from tests.proof import brute

IGNORED = [
    ("label -1", "same identity, same camera"),
    ("same identity, same camera",),
    ("label -1", "same camera"),
    ("same camera",),
    ("same identity, same camera", "same location"),
    ("label -1", "same location"),
    ("label -1",),
    (),
]
LISTED = ("listed as junk",)


def some_lists(seed, n_query, n_gallery):
    """Lists in no order; some images stand on both, some lists are empty, some hold them all."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, [[6], [9]], (2, n_query))
    sizes[:, 0], sizes[:, 1] = (n_gallery, 2), (2, n_gallery)
    return IndexLists(*([rng.choice(n_gallery, size, replace=False) for size in side]
                        for side in sizes))


def assert_ranks(distances, query, gallery, lists=None, ignored=(*IGNORED, LISTED)):
    """Compare all sets of ignored images, together and each alone."""
    ignored = [one for one in ignored if lists is not None or one != LISTED]
    rows = distances.tolist()
    part = matrix_part(distances)
    together = rank(in_parts([lambda: part], len(query)), query, gallery, ignored, lists)
    for one in ignored:
        expected = brute.ranks(rows, query, gallery, one, lists)
        brute.assert_equal(together[one], expected)
        brute.assert_equal(good_ranks(distances, query, gallery, one, lists=lists), expected)


def test_a_case_worked_by_hand():
    #                  junk    own    good   wrong   good (tied with the wrong one)
    gallery = Labels([-1, 7, 7, 8, 7], [2, 1, 2, 2, 3])
    distances = np.array([[.1, .2, .3, .5, .5]])
    ranks = good_ranks(distances, Labels([7], [1]), gallery)
    np.testing.assert_array_equal(ranks.rank, [1, 3])
    np.testing.assert_array_equal(ranks.nearer, [0, 1])
    np.testing.assert_array_equal(ranks.tied, [1, 2])
    np.testing.assert_array_equal(ranks.image, [2, 4])
    assert (ranks.n_good, ranks.n_junk, ranks.n_kept) == ([2], [2], [3])
    # Nothing ignored: five images, three of them good.
    ranks = good_ranks(distances, Labels([7], [1]), gallery, ())
    np.testing.assert_array_equal(ranks.rank, [2, 3, 5])
    np.testing.assert_array_equal(ranks.tied, [1, 1, 2])


def test_an_image_on_both_lists_is_junk_but_raises_the_curve():
    lists = IndexLists(good=[[2, 0]], junk=[[0, 1]])
    ranks = good_ranks(np.array([[.2, .1, .4, .3]]), Labels([1], [1]), Labels([1] * 4, [1] * 4),
                       LISTED, lists=lists)
    assert (ranks.rank, ranks.image, ranks.n_good, ranks.n_kept) == ([2], [2], [2], [2])
    assert ranks.first_match == [1]  # image 0: no kept one is nearer


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("levels", [None, 1, 4])
def test_random(seed, levels):
    distances, query, gallery = cases.market_like(seed, levels=levels)
    assert_ranks(distances, query, gallery, some_lists(seed, len(query), len(gallery)))


@pytest.mark.parametrize("seed", range(8))
def test_special_values(seed):
    distances, query, gallery = cases.special(seed)
    assert_ranks(distances, query, gallery, some_lists(seed, len(query), len(gallery)))


@pytest.mark.parametrize("seed", range(4))
def test_mostly_nan(seed):
    distances, query, gallery = cases.market_like(seed)
    distances[np.random.default_rng(seed).random(distances.shape) < (.5, .9, 1, 1)[seed]] = np.nan
    assert_ranks(distances, query, gallery, some_lists(seed, len(query), len(gallery)))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "uint64", "float16",
                                   "float32", ">f8", "longdouble"])
def test_every_dtype(dtype):
    distances, query, gallery = cases.market_like(3, levels=2 if dtype == "bool" else 9)
    assert_ranks(distances.astype(dtype), query, gallery)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_whole_numbers_beyond_doubles(dtype):
    distances, query, gallery = cases.market_like(4, levels=3)
    assert_ranks(2**53 + distances.astype(dtype), query, gallery)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    ends = np.array([least, least + 1, most - 1, most], dtype=dtype)
    assert_ranks(ends[np.random.default_rng(4).integers(4, size=distances.shape)], query, gallery)


@pytest.mark.parametrize("layout", [
    np.asfortranarray, lambda array: np.repeat(array, 2, axis=1)[:, ::2],
    lambda array: array[::-1, ::-1].copy()[::-1, ::-1]])
def test_every_layout_in_memory(layout):
    distances, query, gallery = cases.special(5)
    assert_ranks(layout(distances), query, gallery)


@pytest.mark.parametrize("sort_from", [0, 3, 64])
@pytest.mark.parametrize("special", [False, True])
def test_many_good_images(monkeypatch, sort_from, special):
    monkeypatch.setattr(counts, "_SORT_FROM", sort_from)
    make = cases.special if special else cases.market_like
    distances, query, gallery = make(6, n_query=6, n_gallery=260, identities=2)
    lists = some_lists(6, 6, 260)
    assert_ranks(distances, query, gallery, lists)
    assert find_roles(query, gallery, LISTED, lists).good_query.tolist().count(0) > 64
    assert_ranks(distances.round(), query, gallery, lists)


@pytest.mark.parametrize("tile", [1, 80, 81, 200, 1000])
def test_every_size_of_tile(monkeypatch, tile):
    monkeypatch.setattr(tiles, "TILE", tile)
    distances, query, gallery = cases.special(7)
    assert_ranks(distances, query, gallery, some_lists(7, len(query), len(gallery)))


@pytest.mark.parametrize("share", [0, .1, .6, 1])
def test_few_and_many_columns_count(share):
    # Where fewer than half of the images count, tiles are copies of those columns.
    distances, query, gallery = cases.special(8)
    identity = gallery.identity.copy()
    identity[np.random.default_rng(8).random(len(identity)) >= share] = -1
    assert_ranks(distances, query, Labels(identity, gallery.camera))


def cut(distances, width):
    """Parts of so many gallery images each."""
    def opened(start):
        whole = matrix_part(distances[:, start:start + width])
        return tiles.Part(slice(start, min(start + width, distances.shape[1])), whole.exact,
                          whole.bands, whole.is_exact)
    return [lambda start=start: opened(start) for start in range(0, distances.shape[1], width)]


@pytest.mark.parametrize("width", [1, 7, 40, 79])
@pytest.mark.parametrize("seed", range(3))
def test_parts_of_the_gallery_add_up(width, seed):
    distances, query, gallery = cases.special(seed)
    lists = some_lists(seed, len(query), len(gallery))
    shares = []
    ranks = rank(in_parts(cut(distances, width), len(query), shares.append), query, gallery,
                 [*IGNORED, LISTED], lists)
    for one in (*IGNORED, LISTED):
        brute.assert_equal(ranks[one], brute.ranks(distances.tolist(), query, gallery, one, lists))
    assert 0 < sum(shares) <= 1 + 1e-9


def test_shares_of_the_work_add_up_to_one():
    distances, query, gallery = cases.market_like(1)
    shares = []
    rank(in_parts(cut(distances, 30), len(query), shares.append), query, gallery, IGNORED[:2])
    assert sum(shares) == pytest.approx(1)


def test_what_is_not_counted_twice():
    """Sets that differ in the query's own camera alone are one count; label -1 is another."""
    distances, query, gallery = cases.market_like(2)
    part = matrix_part(distances)
    source = in_parts([lambda: part], len(query))
    groups = []

    def count(goods, asked):
        groups.append(sorted(asked))
        return source.count(goods, asked)

    plain = [("label -1", "same identity, same camera"), ("same identity, same camera",), ()]
    ranks = rank(Source(source.measure, count), query, gallery, plain)
    assert groups == [["junk", "labelled"]]
    for one in plain:
        brute.assert_equal(ranks[one], brute.ranks(distances.tolist(), query, gallery, one))


@pytest.mark.parametrize(("identity", "camera"), [
    ([9, 9], [1, 2]), ([-1, -1], [1, 2]), ([-1, 3], [1, 1]), ([0, 0], [1, 2])])
def test_queries_without_a_good_image(identity, camera):
    query, gallery = Labels(identity, camera), Labels([3, -1, 3, 0, -1], [1, 1, 1, 2, 3])
    assert_ranks(np.arange(10.).reshape(2, 5) % 3, query, gallery)


@pytest.mark.parametrize("identity", [-1, 1])
@pytest.mark.parametrize("camera", [1, 2])
def test_one_query_one_image(identity, camera):
    assert_ranks(np.array([[.5]]), Labels([1], [1]), Labels([identity], [camera]))


def test_labels_at_the_ends_of_int64():
    ends = np.array([np.iinfo(np.int64).min, -1, 0, np.iinfo(np.int64).max])
    rng = np.random.default_rng(9)
    query, gallery = (Labels(rng.choice(ends, n), rng.choice(ends, n)) for n in (8, 40))
    assert_ranks(rng.integers(5, size=(8, 40)), query, gallery)


@pytest.mark.parametrize("one", [*IGNORED, LISTED])
def test_roles_of_one_query_at_a_time(one):
    _, query, gallery = cases.market_like(10)
    lists = some_lists(10, len(query), len(gallery))
    roles = find_roles(query, gallery, one, lists)
    of_query = query_roles(query, gallery, one, lists)
    n_kept = roles.n_kept(len(query), len(gallery))
    for k in range(len(query)):
        good, junk = brute.roles(query, gallery, one, lists, k)
        images, kept = of_query(k)
        assert set(images.tolist()) == good and len(images) == len(good)
        assert set(np.flatnonzero(~kept).tolist()) == junk
        assert n_kept[k] == len(gallery) - len(junk)


@pytest.mark.parametrize("ties", ["numpy", "numpy-reversed"])
@pytest.mark.parametrize("one", [*IGNORED, LISTED])
def test_numpy_s_order_of_ties(ties, one):
    distances, query, gallery = cases.market_like(11, n_query=9, n_gallery=200, levels=4)
    lists = some_lists(11, len(query), len(gallery))

    def order_of(k):
        row = distances[k]
        return (np.argsort(row) if ties == "numpy" else np.argsort(-row)[::-1]).tolist()

    brute.assert_equal(good_ranks(distances, query, gallery, one, ties, lists),
                       brute.ranks(distances.tolist(), query, gallery, one, lists, order_of))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("equal", [0, 1, 30, 400])
def test_the_stable_order(dtype, equal):
    rng = np.random.default_rng(equal)
    values = rng.permutation(500).astype(dtype)
    values[rng.integers(0, 500, equal)] = values[rng.integers(0, 500, equal)]
    if values.dtype.kind == "f":
        values[rng.integers(0, 500, equal // 2)] = np.nan
        values[:2] = -0.0, 0.0
    np.testing.assert_array_equal(stable_order(values), np.argsort(values, kind="stable"))
    np.testing.assert_array_equal(stable_order(values[:0]), [])
