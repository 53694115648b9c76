"""Small faults, put into the fast path one at a time, must be caught by a quick set of checks.

What the checks compare with is worked by hand, or comes from `brute.py`, or from a definition
written out here. The same checks pass on the source as it is.
"""
import functools
import itertools
import math
import warnings
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

from reid_ref import IndexLists, InputError, Labels
from tests import cases
from tests.proof import brute, hand_cases
from tests.proof.mutants import PACKAGE, afresh, all_checks, each, is_caught, world

ROOMS = ("ranking", "metrics", "conventions", "signature", "result", "evaluation")
NAN = float("nan")

IGNORED = [("label -1", "same identity, same camera"), ("same identity, same camera",),
           ("label -1", "same camera"), ("same camera",), ("same location",), ("label -1",), (),
           ("same identity, same camera", "same location")]
LISTED = ("listed as junk",)
MATLAB = IGNORED[0]


def same(actual, expected):
    np.testing.assert_array_equal(actual, expected)


def near(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-15)


# Ranking.

def lists_of(seed, n_query, n_gallery):
    """Lists in no order; some images stand on both, some lists are empty, one holds them all."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, [[6], [9]], (2, n_query))
    sizes[0, 0] = n_gallery
    return IndexLists(*([rng.choice(n_gallery, size, replace=False) for size in side]
                        for side in sizes))


@functools.lru_cache
def problem(seed):
    """Distances, labels and lists, and the ranks by brute force under all that is ignored."""
    make = cases.special if seed % 2 else cases.market_like
    levels = {} if seed % 2 else {"levels": 5}
    distances, query, gallery = make(seed, n_query=6, n_gallery=40, identities=3, **levels)
    query = Labels([-1, *query.identity[1:]], query.camera)
    lists = lists_of(seed, 6, 40)
    return distances, query, gallery, lists, {
        one: brute.ranks(distances.tolist(), query, gallery, one, lists)
        for one in (*IGNORED, LISTED)}


def check_roles():
    roles = afresh("ranking.roles")
    for seed in (0, 1):
        _, query, gallery, lists, _ = problem(seed)
        for one in (*IGNORED, LISTED):
            found = roles.find_roles(query, gallery, one, lists)
            of_query = roles.query_roles(query, gallery, one, lists)
            for k, n_kept in enumerate(found.n_kept(6, 40).tolist()):
                good, junk = brute.roles(query, gallery, one, lists, k)
                images, kept = of_query(k)
                # By label, the good images stand in gallery order; lists keep their own.
                assert sorted(good) == (sorted(images) if one == LISTED else images.tolist())
                same(np.flatnonzero(~kept), sorted(junk))
                assert n_kept == 40 - len(junk)


def under_matlab(*labels):
    return {MATLAB: afresh("ranking.roles").find_roles(*labels, MATLAB)}


def check_ranks():
    """All sets of ignored images together and alone, in tiles of every kind."""
    tiles, counting, rank, roles = (afresh(f"ranking.{name}") for name in (
        "tiles", "counting", "rank", "roles"))
    for seed, tile, sort_from in itertools.product((0, 1), (10**6, 1, 130), (64, 2)):
        tiles.TILE, counting._SORT_FROM = tile, sort_from
        distances, query, gallery, lists, expected = problem(seed)
        part, shares = tiles.matrix_part(distances), []
        ranks = rank.rank(rank.in_parts([lambda: part], 6, shares.append), query, gallery,
                          roles.find_all_roles(query, gallery, expected, lists))
        assert abs(sum(shares) - 1) < 1e-9
        for one in expected:
            brute.assert_equal(ranks[one], expected[one])
        brute.assert_equal(rank.good_ranks(distances, query, gallery, MATLAB), expected[MATLAB])
    tiles.TILE, counting._SORT_FROM = 2_000_000, 64


def check_parts_of_the_gallery():
    tiles, rank, roles = (afresh(f"ranking.{name}") for name in ("tiles", "rank", "roles"))
    for seed, width in ((0, 7), (1, 7), (0, 1)):
        distances, query, gallery, lists, expected = problem(seed)
        parts = []
        for start in range(0, 40, width):
            part = tiles.matrix_part(distances[:, start:start + width])
            images = slice(start, min(start + width, 40))
            parts.append(lambda part=replace(part, images=images): part)
        shares = []
        ranks = rank.rank(rank.in_parts(parts, 6, shares.append), query, gallery,
                          roles.find_all_roles(query, gallery, expected, lists))
        assert 0 < sum(shares) < 1 + 1e-9
        for one in expected:
            brute.assert_equal(ranks[one], expected[one])


def check_orders_of_ties():
    good_ranks, rank = afresh("ranking.good_ranks"), afresh("ranking.rank")
    distances, query, gallery, lists, _ = problem(0)
    for ties, one in itertools.product(("numpy", "numpy-reversed"), (MATLAB, LISTED, ())):
        order = {"numpy": lambda k: np.argsort(distances[k]).tolist(),
                 "numpy-reversed": lambda k: np.argsort(-distances[k])[::-1].tolist()}[ties]
        brute.assert_equal(
            rank.good_ranks(distances, query, gallery, one, ties, lists),
            brute.ranks(distances.tolist(), query, gallery, one, lists, order))

    def reversed_order(k):
        return sorted(range(40), key=lambda j: (distances[k, j], -j))
    ranks = good_ranks.reverse_ties(rank.good_ranks(distances, query, gallery, ()))
    brute.assert_equal(ranks, brute.ranks(distances.tolist(), query, gallery, (), None,
                                          reversed_order))
    row = np.array([2, 1, 2, 2, NAN, 1, NAN])
    same(good_ranks.in_order(row, "gallery-order"), [1, 5, 0, 2, 3, 4, 6])
    same(good_ranks.in_order(row, "reversed"), [5, 1, 3, 2, 0, 6, 4])
    many = np.array([1., 0] * 40)
    same(good_ranks.in_order(many, "gallery-order"), [*range(1, 80, 2), *range(0, 80, 2)])
    for seed in range(3):  # few are equal, of which some are NaN
        row = np.random.default_rng(seed).permutation(np.arange(900.0))
        row[[5, 77, 301, 640]], row[[8, 9, 300, 888]] = row[[4, 40, 4, 40]], NAN
        same(good_ranks.in_order(row, "gallery-order"),
             sorted(range(900), key=lambda j: (row[j] != row[j], np.nan_to_num(row[j]), j)))


def check_what_is_done_with_ranks():
    module = afresh("ranking.good_ranks")
    ranks = module.from_lists([[1, 4, 5], [], [2, 3]], n_good=[3, 0, 4], n_kept=[9, 8, 7])
    same(ranks.query, [0, 0, 0, 2, 2])
    same(ranks.nth, [1, 2, 3, 1, 2])
    same(ranks.nearer, [0, 3, 4, 1, 2])
    same(ranks.first_match, [1, 0, 2])
    same(module.from_lists([[1, 4], []]).n_kept, [4, 0])
    cut = module.truncate(ranks, 4)
    same(cut.rank, [1, 4, 2, 3])
    same(cut.found, [2, 0, 2])
    same(module.truncate(ranks, 1).first_match, [1, 0, 0])
    some = module.of_queries(ranks, np.array([True, False, True]))
    same(some.rank, [1, 4, 5, 2, 3])
    same(some.n_good, [3, 4])
    same(module.concatenate([some, ranks]).found, [3, 2, 3, 0, 2])
    junk = module.from_index([4, 9, 2, 6], good=[9, 2, 7], junk=[9])
    same(junk.rank, [2])
    same((junk.n_good[0], junk.n_junk[0], junk.n_kept[0], junk.image[0]), (3, 1, 3, 2))
    same(junk.first_match, [2])
    both = module.from_index([4, 9], good=[9], junk=[9])
    same(both.first_match, [2])
    same(module.forget_junk_matches(both).first_match, [0])
    same(module.forget_junk_matches(ranks).first_match, [1, 0, 2])
    same(module.forget_junk_matches(module.from_lists([[3]])).first_match, [3])


# Distances of features.

@functools.lru_cache
def features(kind):
    """Features of two sides with duplicates and rows of zeros, and labels."""
    rng = np.random.default_rng(3)
    query, gallery = rng.standard_normal((5, 9)), rng.standard_normal((40, 9))
    if kind == "whole":
        query, gallery = query.round(), gallery.round()
    if kind == "nearly tied":  # apart in the last bits of a double, or not
        gallery[1:] = gallery[0] * (1 + 2.0**-51 * rng.integers(-2, 3, (39, 9)))
    if kind == "single":
        query, gallery = query.astype(np.float32), gallery.astype(np.float32)
    if kind == "heavy tail":
        query, gallery = query * 1e-5, gallery * np.exp(2 * rng.standard_normal((40, 1)))
    gallery[20:25], gallery[30] = gallery[:5], query[2]
    query[1] = gallery[7] = gallery[9] = 0
    return query, gallery, Labels(rng.integers(1, 4, 5), [1] * 5), Labels(
        rng.integers(0, 4, 40), rng.integers(1, 4, 40))


@functools.lru_cache
def exact(kind, scaling):
    """What is ranked, pair by pair."""
    query, gallery, *_ = features(kind)
    rows = []
    for one in query.astype(float):
        product = [(one * other).sum() for other in gallery.astype(float)]
        square = [(other * other).sum() for other in gallery.astype(float)]
        rows.append([
            (NAN if not p_square or not one.any() else -p / np.sqrt(p_square))
            if scaling == "normalized" else p_square - 2 * p if scaling == "euclidean" else -p
            for p, p_square in zip(product, square)])
    return np.array(rows, dtype=float)


#: Kinds of features, and the memory that their distances may take: from one row to all.
KINDS = [("plain", 1), ("plain", 4000), ("plain", 2**26), ("whole", 4000), ("nearly tied", 2**26),
         ("single", 1), ("heavy tail", 1), ("heavy tail", 2**26)]
SCALINGS = {"normalized": ("euclidean", True), "euclidean": ("euclidean", False),
            "dot": ("dot", False)}


def check_features():
    """Exact distances, tiles within a quarter of the slack, and the ranks that follow."""
    module, rank, tiles = (afresh(f"ranking.{name}") for name in (
        "exact_distances", "rank", "tiles"))
    for (kind, memory), scaling in itertools.product(KINDS, SCALINGS):
        query, gallery, *labels = features(kind)
        expected = exact(kind, scaling)
        parts = module.feature_parts(query, gallery, *SCALINGS[scaling], memory)
        part = parts[0]()
        row, image = np.indices(expected.shape).reshape(2, -1)
        same(part.exact(row, image), expected.reshape(-1))
        known = ~np.isnan(expected)
        assert len(part.bands) == (3 if kind == "heavy tail" and scaling != "normalized" else 1)
        for counting in (None, np.arange(40) % 3 > 0):
            seen = np.zeros(expected.shape, int)
            for band in part.bands:
                low, high = (side.reshape(expected.shape) for side in band.bounds(
                    row, expected.reshape(-1)))
                share = 0
                both = band.columns if counting is None or band.columns is None else (
                    counting & band.columns)
                for tile in band.tiles(counting if both is None else both):
                    here = np.ix_(np.arange(5)[tile.rows], tile.columns)
                    seen[here] += 1
                    share += tile.share
                    off = np.abs(tile.values - (low[here] + high[here]) / 2)
                    assert (off <= (high[here] - low[here]) / 8 + 1e-30)[known[here]].all()
                    assert np.isnan(tile.values[~known[here]]).all()
                assert abs(share - 1) < 1e-9
            same(seen, np.ones((5, 40)) * (True if counting is None else counting))
        told = []
        ranks = rank.rank(rank.in_parts(parts, 5, told.append), *labels,
                          under_matlab(*labels))[MATLAB]
        brute.assert_equal(ranks, expected_ranks(kind, scaling))
        assert abs(sum(told) - 1) < 1e-9
    assert tiles.TILE == 2_000_000


@functools.lru_cache
def expected_ranks(kind, scaling):
    return brute.ranks(exact(kind, scaling).tolist(), *features(kind)[2:], MATLAB)


def check_bounds():
    """How far a tile may be off, from the roundings counted by hand."""
    module = afresh("ranking.exact_distances")
    unit = 2.0**-24
    assert module.slack(2048) == 2080 * unit / (1 - 2080 * unit)
    ones = np.ones((2, 9))
    square = np.array([9.0, 9.0])
    for scaling, middle, room in (("normalized", -1, 1), ("euclidean", -.5, 2), ("dot", -1, 1)):
        part = module.feature_part(ones, ones, square, square, slice(0, 2), *SCALINGS[scaling],
                                   2**20, np.float64)
        one = np.zeros(1, int)
        low, high = part.bands[0].bounds(one, part.exact(one, one))
        near(((low + high) / 2)[0], middle)
        near((high - low)[0], 2 * room * module.slack(9))
    longest = np.array([1., 2, 2, 40, 0, 0, 0, 0, 0, 0])
    bands = module.bands_of_norms(longest)
    same([band.tolist() for band in bands], [longest < 40, longest == 40])
    assert module.bands_of_norms(np.array([1., 1., 4.])) == [None]
    gallery = longest[:, np.newaxis] * np.ones(1)
    part = module.feature_part(ones[:, :1], gallery, square / 9, longest**2, slice(0, 10),
                               *SCALINGS["dot"], 2**20, np.float64)
    for band, largest in zip(part.bands, (2, 40)):  # a long feature does not spoil the others
        low, high = band.bounds(one, np.array([-1.0]))
        near(((low + high) / 2)[0], -1 / largest)
    for metric, normalized, distance in (
            ("dot", True, -3), ("dot", False, -27), ("euclidean", False, 27)):
        distances, _ = module.nearly_exact(
            ones, 3 * ones, np.array([3., 0]), 9 * square, metric, normalized)
        near(distances, [[distance] * 2, [NAN if normalized else distance] * 2])
    for metric, normalized, scale in (
            ("dot", True, 3), ("dot", False, 18), ("euclidean", False, 72)):
        _, off = module.nearly_exact(
            ones, 2 * ones, np.array([3., 3]), 4 * square, metric, normalized)
        np.testing.assert_allclose(off, 2 * 2.0**-29 * 41 * unit / (1 - 41 * unit) * scale)
    assert module.tile_shape(3368, 19732, 8192, 2**28) == (2**26 // (8192 + 4 * 16384), 16384)


def check_rows_of_features():
    module = afresh("ranking.exact_rows")
    for (kind, memory), scaling in itertools.product(KINDS, SCALINGS):
        memory = 96 * 2 * 40 if memory == 4000 else memory
        query, gallery, *_ = features(kind)
        blocks = list(module.feature_rows(query, gallery, *SCALINGS[scaling], memory))
        assert len(blocks) == {1: 5, 96 * 2 * 40: 3, 2**26: 1}[memory]
        for row, expected in zip(np.concatenate(blocks), exact(kind, scaling)):
            same(*(np.unique(one, return_inverse=True)[1] for one in (row, expected)))


class Stored:
    """A data set in a file, as far as the gallery's parts ask for it."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, rows):
        return self.array[rows]


def check_doors():
    """What is refused and warned of; a gallery in a file comes in parts."""
    module = afresh("ranking.exact_distances")
    for size, valid in ((1.01e-140, True), (.99e-140, False), (.99e150, True), (1.01e150, False)):
        rows = np.array([[1.0], [size]])
        if valid:
            near(module.checked_squares(rows, "rows")[0], 1)
        else:
            with pytest.raises(InputError, match="^rows: .* in row 1, whose"):
                module.checked_squares(rows, "rows")
    with pytest.raises(InputError, match="expected finite.* row 6"):
        module.checked_squares(np.array([[1.0], [NAN]]), "rows", 5)
    gallery = features("plain")[1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opened = [part() for part in module.galleries(Stored(gallery), True, 4 * 72 * 6)]
    assert [str(one.message).partition(" rows")[0] for one in caught] == [
        "gallery_features: 2 of 40"]
    assert "first: row 7" in str(caught[0].message)
    assert [(one[0].start, one[0].stop) for one in opened] == [
        (0, 6), (6, 12), (12, 18), (18, 24), (24, 30), (30, 36), (36, 40)]
    same(np.concatenate([one[1] for one in opened]), gallery)


def check_pair_sums():
    """Sums of rows and of pairs, in chunks by two threads, and how far the fast ones are off."""
    module, unit = afresh("ranking.pair_sums"), 2.0**-24
    assert module.rounding_error(1) == unit / (1 - unit)
    near(module.squares(np.array([[3, 4], [0, 0]], np.int8)), [25, 0])
    rng = np.random.default_rng(1)
    module.CHUNK, wide = 2**12, rng.standard_normal((70, 2**9))
    same(module.squares(wide), [(row * row).sum() for row in wide])
    row, image = rng.integers(0, 70, (2, 200))
    exact = [(wide[i] * wide[j]).sum() for i, j in zip(row, image)]
    same(module.pair_products(wide, wide, row, image), exact)
    norm = np.sqrt(module.squares(wide))
    for features, factor in ((wide, 1.), (wide.astype(np.float32), 1.), (wide[:, :300], .01)):
        features = features * features.dtype.type(factor)
        exact = np.array([math.fsum(features[i].astype(float) * features[j])
                          for i, j in zip(row, image)])
        norm = np.sqrt(module.squares(features))
        error = abs(module.run_products(features, features, row, image) - exact)
        assert (error <= 72 * unit * norm[row] * norm[image]).all()
    # 64 products are rounded in single precision, not more: 2^24 + 1 is 2^24 there.
    steps = np.zeros((1, 129))
    steps[0, ::64] = 2**12, 1, 1
    one = np.zeros(1, np.int64)
    same(module.run_products(steps, steps, one, one), [2**24 + 2])
    left, right = np.array([2.0]), np.array([3.0])
    off = 72 * unit / (1 - 72 * unit)
    for scaling, expected in (("normalized", 2 * off), ("dot", 6 * off), ("euclidean", 12 * off)):
        found = module.error_of_runs(left, right, scaling)[0]
        assert expected <= found <= expected * (1 + 1e-6)
    huge = module.error_of_runs(np.array([1e-9]), np.array([1e9]), "euclidean")[0]
    assert huge >= 2 * off + 2.0**-50 * 1e18
    for norms, dimension, closer in (
            ([1., 0], 256, True), ([1.], 255, False), ([0.], 256, False),
            ([1e-13], 256, False), ([1e-12], 256, True), ([1.1e15], 256, False)):
        assert module.runs_are_closer(dimension, np.array(norms), np.zeros(0)) == closer
        assert module.runs_are_closer(dimension, np.zeros(0), np.array(norms)) == closer


def check_closer():
    """Distances by runs, off by what is said at most; who is nearer is then told exactly."""
    module, rank = afresh("ranking.exact_distances"), afresh("ranking.rank")
    for scaling in SCALINGS:
        query, gallery, *labels = alike()
        part = module.feature_parts(query, gallery, *SCALINGS[scaling], 2**26)[0]()
        row, image = np.indices((5, 40)).reshape(2, -1)
        exact_ = part.exact(row, image)
        value, off = part.closer(row, image)
        assert (abs(value - exact_) <= off).all() and (off < 1e-4 * abs(exact_)).all()
        ranks = rank.rank(rank.in_parts([lambda: part], 5), *labels, under_matlab(*labels))[MATLAB]
        brute.assert_equal(ranks, brute.ranks(exact_.reshape(5, 40).tolist(), *labels, MATLAB))


@functools.lru_cache
def alike():
    """Features of 300 dimensions that hardly differ, some of them equal."""
    rng = np.random.default_rng(0)
    query, gallery = (1 + 1e-4 * rng.standard_normal((n, 300)) for n in (5, 40))
    gallery[20:30] = gallery[10:20]
    return (query, gallery, Labels(np.arange(5) % 2, np.ones(5)),
            Labels(np.arange(40) % 3, 1 + np.arange(40) % 2))


# Counting in tiles that are off.

def check_counting():
    counting, tiles = afresh("ranking.counting"), afresh("ranking.tiles")
    distances = np.arange(60.0).reshape(1, 60) % 20
    distances = np.concatenate([distances, distances[:, ::-1]])
    query, image = np.array([0, 0, 1]), np.array([7, 50, 30])
    goods = counting.Goods(query, image, distances[query, image], np.ones(3, bool))
    none = np.zeros(0, np.int64)

    def part(error, slack):
        def make(_):
            for rows in (slice(0, 1), slice(1, 2)):
                for columns in (np.arange(33), np.arange(33, 60)):
                    yield tiles.Tile(rows, (distances + error)[rows][:, columns], columns, None,
                                     len(columns) / 120)
        bands = [tiles.Band(None, lambda row, value: (value - slack, value + slack), make)]
        return tiles.Part(slice(0, 60), lambda row, column: distances[row, column], bands,
                          lambda query: np.zeros(60, bool), closer=closer)

    def by_half(row, column):
        # The nearest of the good images' neighbours are told apart by these alone.
        asked.append(len(row))
        return distances[row, column] + beside, np.full(len(row), .5)

    rng = np.random.default_rng(0)
    for slack, sort_from, together in itertools.product((.3, 2.6, 99.), (64, 0), (2**17, 3)):
        counting._SORT_FROM, counting._AT_ONCE = sort_from, together
        error = slack * rng.uniform(-.24, .24, (2, 60))
        for closer, beside in ((None, 0), (by_half, .4), (by_half, -.4)):
            asked = []
            # 7, 10 and 9 whole numbers are nearer, three times each; two others are as near.
            same(counting.count_before(part(error, slack), goods, 2,
                                       counting.Counting(none, none)),
                 [[21, 30, 27], [2, 2, 2], [0, 2, 1]])
            assert (sum(asked) > 0) == (closer is not None)
    closer = None
    for sign, share in itertools.product((-1, 1), (.24, .26)):
        error = np.zeros((2, 60))
        error[0, 7] = sign * share
        arguments = part(error, 1.), goods, 2, counting.Counting(none, none)
        if share > .25:
            with pytest.raises(counting.TooFarOff):
                counting.count_before(*arguments)
        else:
            counting.count_before(*arguments)
    same(list(counting.ahead(iter(range(9)))), range(9))
    counting._SORT_FROM, counting._AT_ONCE = 64, 2**17


def check_a_gallery_of_junk():
    """Where most images are labelled -1, the others are few."""
    rank = afresh("ranking.rank")
    distances, query, gallery, *_ = problem(0)
    gallery = Labels(np.where(np.arange(40) % 4, -1, gallery.identity), gallery.camera)
    for rule in IGNORED:
        brute.assert_equal(rank.good_ranks(distances, query, gallery, rule),
                           brute.ranks(distances.tolist(), query, gallery, rule))


# Metrics.

def ranks_by_hand(**changes):
    """Good images at 1, 4, 5; none; at 2, 3 of four; all ignored; at 1, 2 (one distance)."""
    ranks = afresh("ranking.good_ranks").from_lists(
        [[1, 4, 5], [], [2, 3], [], [1, 2]], n_good=[3, 0, 4, 0, 2], n_kept=[9, 8, 7, 0, 4])
    return replace(ranks, **{"nearer": np.array([0, 3, 4, 1, 2, 0, 0]),
                             "tied": np.array([1, 1, 1, 1, 1, 4, 4]), **changes})


#: AP rule: AP of the first, third and last query by hand, from precisions at and before the hits.
AP = {
    "trapezoid": ((1 + F(1) + F(1, 3) + F(1, 2) + F(1, 2) + F(3, 5)) / 6,
                  (0 + F(1, 2) + F(1, 2) + F(2, 3)) / 8, F(1)),
    "mistaken-trapezoid": ((1 + 1 + 1 + F(1, 2) + F(1, 2) + F(3, 5)) / 6,
                           (0 + F(1, 2) + F(1, 2) + F(2, 3)) / 8, F(1)),
    "step": ((1 + F(1, 2) + F(3, 5)) / 3, (F(1, 2) + F(2, 3)) / 4, F(1)),
    "sklearn-0.18": ((1 + F(1) + F(1, 3) + F(1, 2) + F(1, 2) + F(3, 5)) / 6,
                     (0 + F(1, 2) + F(1, 2) + F(2, 3)) / 8, F(3, 4)),
    "sklearn-0.19": ((1 + F(1, 2) + F(3, 5)) / 3, (F(1, 2) + F(2, 3)) / 4, F(1, 2)),
}
AP["trapezoid-layumi"] = AP["trapezoid"]


def sums_by_definition(places, n_good):
    """AP in float32 by steps and by trapezoids, and layumi's: one hit after another."""
    single, step, trapezoid, layumi = np.float32, np.float32(0), np.float32(0), 0.0
    for k, place in enumerate(places, 1):
        step = single(float(step) + k / place)
        old = 1.0 if place == 1 else (k - 1) / (place - 1)
        recall = single(k) / single(n_good) - single(k - 1) / single(n_good)
        trapezoid = single(float(trapezoid) + float(recall) * (
            float(single(old) + single(k / place)) / 2))
        layumi += 1.0 / n_good * (old + k / place) / 2
    return float(step / single(n_good)), float(trapezoid), layumi


def check_average_precision():
    metrics, good_ranks = afresh("metrics"), afresh("ranking.good_ranks")
    for rule, (first, third, last) in AP.items():
        near(afresh("conventions").AP[rule].exact(ranks_by_hand()),
             [float(first), NAN, float(third), 0, float(last)])
    for rule, table in (("trapezoid", "sklearn-0.18"), ("step", "sklearn-0.19")):
        near(afresh("conventions").AP[rule].grouped(ranks_by_hand()),
             [*map(float, AP[table][:1]), NAN, float(AP[table][1]), 0, float(AP[table][2])])
    for good, expected in hand_cases.LAST_BITS.values():
        ranks = good_ranks.from_lists([[place + 1 for place in good]])
        assert metrics.average_precision_trapezoid(ranks)[0] == expected
    rng = np.random.default_rng(0)
    for places in (np.sort(rng.choice(70, 12, replace=False) + 1).tolist() for _ in range(30)):
        ranks = good_ranks.from_lists([places], n_good=13)
        step, trapezoid, layumi = sums_by_definition(places, 13)
        same(metrics.average_precision_step_float32(ranks), [step])
        same(metrics.average_precision_trapezoid_float32(ranks), [trapezoid])
        same(metrics.average_precision_layumi(ranks), [layumi])
    rules = [rule.float32 for rule in afresh("conventions").AP.values() if rule.float32]
    assert len(rules) == 2
    for rule in rules:
        same(np.isnan(rule(ranks_by_hand())), [False, True, False, False, False])
        assert rule(ranks_by_hand())[3] == 0


def check_other_metrics():
    metrics = afresh("metrics")
    ranks = ranks_by_hand()
    near(metrics.inverse_negative_penalty(ranks), [3 / 5, NAN, NAN, NAN, 1])
    same(metrics.accuracy_at(ranks, 1), [1, 0, 0, 0, 1])
    same(metrics.accuracy_at(ranks, 2), [1, 0, 1, 0, 1])
    same(metrics.precision_at(ranks, 4), [2 / 4, 0, 2 / 4, 0, 2 / 4])
    same(metrics.recall_at(ranks, 4), [2 / 3, NAN, 2 / 4, NAN, 1])
    precision, recall = metrics.precision_recall_curve(ranks, 2)
    same(precision, [[1, .5], [0, 0], [0, .5], [0, 0], [1, 1]])
    same(recall[[0, 2, 4]], [[1 / 3, 1 / 3], [0, 1 / 4], [1 / 2, 1]])
    same(metrics.cumulative_matching(np.array([0, 1, 3, 9, 4]), 4, 5), [.2, .2, .4, .6])
    # Wrong images before the hits: 0, 2, 2; 1, 1 (of four); 0, 0 (of two).
    near(metrics.cumulative_matching_all_shots(ranks, 3, 4),
         [(1 / 3 + 1) / 4, (1 / 3 + 2 / 4 + 1) / 4, (1 + 2 / 4 + 1) / 4])
    near(metrics.cumulative_matching_all_shots(ranks, 2, 4),
         [(1 / 3 + 1) / 4, (1 / 3 + 2 / 4 + 1) / 4])
    near(metrics.all_shots_at(ranks, 1), [1 / 3, 0, 0, 0, 1])
    near(metrics.all_shots_at(ranks, 2), [1 / 3, 0, 2 / 4, 0, 1])


def check_sums():
    metrics = afresh("metrics")
    assert metrics.mean_in_order(np.array([1.0] + [2.0**-53] * 1000)) == 1 / 1001
    assert metrics.mean_in_float32(np.array([1.0] + [2.0**-24] * 1000)) == float(
        np.float32(1) / np.float32(1001))
    for mean in (metrics.mean_in_order, metrics.mean_in_float32):
        assert np.isnan(mean(np.zeros(0)))
    share = metrics.per_query_share(np.array([1], np.float32), 3)
    assert share.dtype == np.float32 and share == np.float32(1) / np.float32(3)
    same(metrics.per_query_share(np.array([1, 3]), 4), [.25, .75])
    same(metrics.per_query_share(np.array([1]), 0), [NAN])
    groups, before, hits = metrics.tie_groups(ranks_by_hand())
    same(groups.rank, [1, 4, 5, 2, 3, 1])
    same(groups.found, [3, 0, 2, 0, 1])
    same(before, [0, 1, 2, 0, 1, 0])
    same(hits, [1, 1, 1, 1, 1, 2])
    groups, before, hits = metrics.tie_groups(afresh("ranking.good_ranks").from_lists([[1, 4]]))
    same((groups.rank, before, hits), [[1, 4], [0, 1], [1, 1]])
    # The first of a query at the distance of the last of the query before is a group of its own.
    ranks = afresh("ranking.good_ranks").from_lists([[1], [1]])
    same(metrics.tie_groups(ranks)[2], [1, 1])


def check_identities():
    module = afresh("metrics.identities")
    gallery = Labels([8, 9, 7, 8, 9, 9, 6, 7, 5], [2, 2, 2, 2, 2, 2, 2, 2, 1])
    distances = np.array([[.1, .2, .3, .4, .5, .6, .65, .7, .05]] * 2)
    query = Labels([7, 3], [1, 1])
    same(module.identity_ranks(distances, query, gallery, ["same camera"]), [3, 0])
    same(module.identity_ranks(distances, query, gallery, []), [4, 0])
    same(module.identity_ranks(np.array([[1., 2, 3]]), Labels([7], [1]),
                               Labels([8, 8, 7], [2] * 3), []), [2])
    # 7's own is drawn at place 2 or 7 of those of the other camera; 8 is before it with 1/2 or 1,
    # 9 with 1/3 or 1, 6 with 0 or 1.
    curve = module.single_gallery_shot(distances, query, gallery, ["same camera"], 4)
    near(curve[0], [1 / 2 * 2 / 3 / 2, (1 - 1 / 2 * 1 / 3) / 2, 1 / 2, 1])
    same(curve[1], [NAN] * 4)
    random, ranks = np.random.RandomState(0), []
    for _ in range(10):
        drawn = {name: places[random.randint(0, len(places))]
                 for name, places in ((8, [0, 3]), (9, [1, 4, 5]), (7, [2, 7]), (6, [6]))}
        ranks.append(sum(place <= drawn[7] for place in drawn.values()))
    same(module.single_gallery_shot_draws(
        distances[:1], query[:1], gallery, ["same camera"], 4, np.random.RandomState(0))[0],
        [sum(one <= k for one in ranks) / 10 for k in (1, 2, 3, 4)])
    tied = np.array([[1., 1, 1]])
    for ties, expected in (("gallery-order", 2), ("reversed", 3)):
        same(module.identity_ranks(tied, query[:1], Labels([8, 7, 9, ], [2] * 3), [], ties),
             [2])
        same(module.identity_ranks(tied, query[:1], Labels([7, 8, 9], [2] * 3), [], ties),
             [1 if ties == "gallery-order" else 3])


# Results.

#: Query 0: matched. 1: identity absent. 2: only on its own camera. 3: labelled -1.
QUERY = Labels([1, 9, 2, -1], [1, 1, 2, 1])
GALLERY = Labels([1, 1, 2, -1, 0, 1], [1, 2, 2, 2, 3, 3])
DISTANCES = np.array([[.1, .4, .2, .3, .25, .6]] * 4)

#: Convention: mAP, mINP, CMC, queries counted, first matches. Query 0 keeps a wrong image, a
#: distractor and its good ones: ranks 3 and 4; where label -1 is not ignored, 4 and 5.
RESULTS = {
    "matlab": ((1 / 6 + 5 / 12) / 8, 1 / 8, [0, 0, .25, .5, .5, .5], 4, [3, 0, 0, 4]),
    "mars": (NAN, NAN, [0, 0, .25, .5, .5, .5], 4, [3, 0, 0, 4]),
    "layumi": ((1 / 6 + 5 / 12) / 8, 1 / 8, [0, 0, .25, .5, .5, .5], 4, [3, 0, 0, 4]),
    "torchreid": ((1 / 3 + 2 / 4) / 2, 1 / 2, [0, 0, 1, 1, 1], 1, [3, 0, 0, 0]),
    "torchreid-function": (((1 / 4 + 2 / 5) / 2 + 1 / 4) / 2, (2 / 5 + 1 / 4) / 2,
                           [0, 0, 0, 1, 1, 1], 2, [4, 0, 0, 4]),
    "triplet-reid": ((1 / 3 + 2 / 4) / 4, NAN, [0, 0, .25, .5, .5, .5], 2, [3, 0, 0, 4]),
    "light-reid": ((1 / 3 + 2 / 4) / 8, 1 / 8, [0, 0, .25, .25], 4, [3, 0, 0, 0]),
}


def evaluated(distances, query, gallery, *conventions, lists=None, **options):
    return list(afresh("evaluation.functions").evaluate_distances(
        distances, query, gallery, convention=conventions, lists=lists, **options).values())


def check_results():
    for name, (mean_ap, mean_inp, cmc, counted, first_match) in RESULTS.items():
        result, = evaluated(DISTANCES, QUERY, GALLERY, name)
        near(result.mAP, mean_ap)
        near(result.mINP, mean_inp)
        near(result.cmc, cmc)
        assert result.counted == counted, name
        same(result.per_query.first_match, first_match)
    matlab_result, drops = evaluated(DISTANCES, QUERY, GALLERY, "matlab", "torchreid")
    same(matlab_result.per_query.n_good, [2, 0, 0, 1])
    same(matlab_result.per_query.n_junk, [2, 1, 2, 1])
    same(matlab_result.per_query.inp, [1 / 2, NAN, NAN, NAN])
    same(matlab_result.per_query.status,
         ["ok", "identity absent", "only same camera", "only junk"])
    counts = matlab_result.counts
    assert (counts.query, counts.gallery, counts.gallery_junk, counts.gallery_not_loaded,
            counts.gallery_distractors, counts.gallery_kept, counts.good,
            counts.junk_same_camera, counts.tied) == (4, 6, 1, 0, 1, 5, 3, 2, 0)
    assert {name: n for name, n in counts.status.items() if n} == {
        "ok": 1, "identity absent": 1, "only same camera": 1, "only junk": 1}
    assert matlab_result.signature.startswith(
        "convention:matlab|ap:trapezoid|unmatched:zero|ties:gallery-order|distances:float64|"
        "queries:4|gallery:6|")
    counts = drops.counts
    assert (counts.gallery_not_loaded, counts.gallery_kept, counts.good,
            counts.junk_same_camera) == (1, 5, 2, 2)
    never, = evaluated(DISTANCES, QUERY, GALLERY, own(loads="without label -1"))
    assert (never.counts.gallery_kept, never.counts.junk_same_camera) == (5, 2)
    same(drops.per_query.ap, [(1 / 3 + 2 / 4) / 2, NAN, NAN, NAN])
    same(drops.per_query.n_junk, [1, 0, 1, 0])
    same(drops.per_query.status[3], "not loaded")
    assert "|loads:without label -1|" in drops.signature
    assert "|queries:3|gallery:5|" in drops.signature


def own(**changes):
    return afresh("conventions").CONVENTIONS["matlab"].replace(name="own", **changes)


def check_choices():
    """Good images at 1, 4 and 9; the first tied with the next, the second with the one before."""
    gallery, query = Labels([7, 8, 8, 7, 8, 8, 8, 8, 7], [2] * 9), Labels([7], [1])
    distances = np.array([[0., 0, 2, 2, 4, 5, 6, 7, 8]])
    for changes, expected in (
            ({"ap": "step"}, (1 + 2 / 4 + 3 / 9) / 3),
            ({"ap": "step", "ties": "reversed"}, (1 / 2 + 2 / 3 + 3 / 9) / 3),
            ({"ap": "step", "ties": "grouped"}, (1 / 2 + 2 / 4 + 3 / 9) / 3),
            ({"ap": "step", "top_k": 4}, (1 + 2 / 4) / 3),
            ({"ap": "step", "top_k": 3}, 1 / 3),
            ({"ap": "step", "top_k": 4, "recall": "found"}, (1 + 2 / 4) / 2),
            ({"ap": "step", "arithmetic": "float32"}, None)):
        result, = evaluated(distances, query, gallery, own(**changes))
        if expected is None:
            expected = float(np.float32(np.float32(1.5) + 3 / 9) / np.float32(3))
            assert result.mAP == result.per_query.ap[0] == expected
        near(result.mAP, expected)
        assert result.counts.tied == 1, changes
        assert result.per_query.n_good == [3]
    behind, = evaluated(distances + 1, query, Labels([8] * 8 + [7], [2] * 9),
                        own(top_k=2, recall="found"))
    assert behind.per_query.ap == [0] and behind.per_query.first_match == [0]
    clear, = evaluated(np.array([[1., 1, 2]]), query, Labels([7, 7, 8], [2] * 3), own())
    assert clear.counts.tied == 0
    nothing, = evaluated(np.array([[1.]]), query, Labels([7], [1]), own())
    same(nothing.per_query.status, ["nothing kept"])
    location, = evaluated(np.array([[1., 2]]), Labels([7], [2]), Labels([7, 8], [3, 1]),
                          own(ignored=("same location",)))
    same(location.per_query.status, ["only same location"])
    listed, = evaluated(np.array([[1., 2]]), query, Labels([7, 8], [3, 1]), "veri",
                        lists=IndexLists([[]], [[]]))
    same(listed.per_query.status, ["none listed"])


def check_curves():
    #                  q: 7 on camera 1; the second query has no match
    gallery = Labels([-1, 8, 8, 7, 9, 7], [2, 2, 3, 2, 2, 3])
    query, distances = Labels([7, 5], [1, 1]), np.array([[6., 1, 2, 3, 4, 5]] * 2)
    for changes, expected in (
            ({"cmc_length": 2}, [0, 0]),
            ({"cmc_length": 4}, [0, 0, .5, .5]),
            ({"cmc_length": 99}, [0, 0, .5, .5, .5, .5]),
            ({"cmc_length": "identities"}, [0, 0, .5, .5]),
            ({"cmc_length": "shortest"}, [0, 0, .5, .5, .5]),
            ({"unmatched": "drop"}, [0, 0, 1, 1, 1, 1]),
            ({"loads": "without label -1"}, [0, 0, .5, .5, .5]),
            ({"cmc": "all-shots", "unmatched": "drop"}, [0, 0, .5, 1, 1, 1]),
            ({"cmc": "identities", "unmatched": "drop"}, [0, 1, 1, 1]),
            ({"cmc": "identities"}, [0, .5, .5, .5]),
            ({"cmc": "identities", "loads": "without label -1"}, [0, .5, .5]),
            ({"cmc": "single-gallery-shot"}, [0, .25, .5, .5, .5, .5]),
            ({"cmc": "single-gallery-shot", "loads": "without label -1"}, [0, .25, .5, .5, .5]),
            ({"cmc": "single-gallery-shot", "unmatched": "drop"}, [0, .5, 1, 1, 1, 1])):
        result, = evaluated(distances, query, gallery, own(**changes))
        near(result.cmc, expected)
        part, = evaluated(distances, query, gallery, own(**changes), max_memory=1)
        near(part.cmc, expected)
    other, = evaluated(distances, Labels([7, 5], [2, 2]), gallery,
                       own(cmc="single-gallery-shot-other-cameras"))
    near(other.cmc, [0, .5, .5, .5, .5, .5])  # without camera 2, one image of 8 and one of 7
    both, = evaluated(np.array([[1., 2, 3]] * 2), Labels([7, 8], [1, 1]),
                      Labels([7, 8, 9], [2] * 3), own(cmc="single-gallery-shot"))
    near(both.cmc, [.5, 1, 1])
    random, hits = np.random.RandomState(0), 0
    for _ in range(10):
        hits += [0, 2][random.randint(0, 2)] > [1][random.randint(0, 1)]
    drawn, = evaluated(np.array([[1., 2, 3]]), Labels([7], [1]), Labels([8, 7, 8], [2] * 3),
                       own(cmc="single-gallery-shot-draws", cmc_length=2))
    same(drawn.cmc, [hits / 10, 1])
    three = Labels([7, 5, 5], [1, 1, 1])
    single, = evaluated(distances[[0, 1, 1]], three, gallery, own(arithmetic="float32"))
    same(single.cmc[2:], [float(np.float32(1) / np.float32(3))] * 4)
    shares, = evaluated(np.zeros((7, 1)) + .5, Labels([7] * 7, [1] * 7), Labels([7], [2]),
                        own(cmc="identities"))
    same(shares.cmc, [1])
    # In single precision all are at one distance, so gallery order decides.
    close = np.array([[1 + 2e-9, 1 + 1e-9, 1.]])
    for arithmetic, expected in (("double", [0, 1]), ("float32", [1, 1])):
        result, = evaluated(close, Labels([7], [1]), Labels([7, 8, 8], [2] * 3),
                            own(cmc="identities", arithmetic=arithmetic, ap="step"))
        same(result.cmc, expected)
    draws = [own(cmc="single-gallery-shot-draws").replace(name=name, cmc_length=length)
             for name, length in (("one", 3), ("other", 4))]
    together = evaluated(distances, query, gallery, *draws)
    for alone, one in zip(draws, together):
        same(evaluated(distances, query, gallery, alone)[0].cmc, one.cmc)


# Ranked lists.

def by_lists(ranked, *labels, **options):
    return afresh("evaluation.ranked_lists").evaluate_ranked_lists(ranked, *labels, **options)


def check_ranked_lists():
    """Complete lists against distances in that order; cut ones by counting along each list."""
    _, query, gallery, lists, _ = problem(0)
    order = np.argsort(np.random.default_rng(3).standard_normal((6, 40)), axis=1)
    distances = np.empty(order.shape)
    np.put_along_axis(distances, order, np.arange(40.)[np.newaxis], axis=1)
    matlab_ = afresh("conventions").CONVENTIONS["matlab"]
    for ignored in (*IGNORED, LISTED):
        convention = matlab_.replace(ignored=ignored)
        options = {"convention": convention, "lists": lists if ignored == LISTED else None}
        expected, = evaluated(distances, query, gallery, convention, lists=options["lists"])
        for ranked in (order, list(order)):
            for memory in ("1M", "3K"):
                found = by_lists(ranked, query, gallery, max_memory=memory, **options)
                for name in ("rank", "image", "found", "n_good", "n_junk", "n_kept",
                             "first_match"):
                    same(getattr(found.ranks, name), getattr(expected.ranks, name))
                same(found.cmc, expected.cmc)
    cut = np.concatenate([order[:, :12], np.full((6, 2), -1)], axis=1)
    cut[1, 5:] = -1
    found = by_lists(cut, query, gallery)
    ranks, n_found = [], []
    for k, row in enumerate(cut):
        place, here = 0, 0
        for image in row[row >= 0]:
            same_identity = gallery.identity[image] == query.identity[k]
            other_camera = gallery.camera[image] != query.camera[k]
            if gallery.identity[image] == -1 or same_identity and not other_camera:
                continue
            place += 1
            if same_identity:
                ranks.append(place)
                here += 1
        n_found.append(here)
    same(found.ranks.rank, ranks)
    same(found.ranks.found, n_found)
    same(found.ranks.n_good, by_lists(order, query, gallery).ranks.n_good)


def check_wrong_lists():
    labels = Labels([7, 8], [1, 1]), Labels([7, 8, 7], [2, 2, 3])
    for ranked, message in (
            ([[0, 3], [1]], r"ranked\[0\]: expected gallery images 0 to 2, got 3"),
            ([[0], [-2]], r"ranked\[1\]: expected gallery images 0 to 2, got -2"),
            ([[0], [1, 2, 1]], r"ranked\[1\]: expected each gallery image once, got 1 more"),
            (np.array([[0, 1], [-1, 2]]), r"ranked\[1\]: expected -1 behind the last"),
            (np.array([0, 1]), "ranked: expected gallery indices"),
            (np.eye(2), "ranked: expected gallery indices"),
            ([["a"], ["b"]], r"ranked\[0\]: a list of names"),
            ([3, 4], r"ranked\[0\]: expected a list"), ({"a": [0], "b": [1]}, "query_names")):
        with pytest.raises(InputError, match=message):
            by_lists(ranked, *labels)
    names = ["x/a.jpg", "b.png", "x/c.jpg"]
    for ranked, message in (
            ({"q1": ["a"], "q3": []}, "'q3' is no query"), ({"q1": ["a"]}, "none for 1 of them"),
            ({"q1": ["a"], "q1.jpg": ["b"], "q2": []}, "each query once"),
            ([["a"], ["d"]], r"ranked\[1\]: 'd' is no name")):
        with pytest.raises(InputError, match=message):
            by_lists(ranked, *labels, query_names=["q1.jpg", "q2.jpg"], gallery_names=names)
    with pytest.raises(InputError, match="each name once"):
        by_lists([["a"], []], *labels, gallery_names=["a", "b", "a"])


def check_names_in_lists():
    """Names with and without folder and suffix; one plain name of two images is no name."""
    labels = Labels([7, 8], [1, 1]), Labels([7, 8, 7], [2, 2, 3])
    names = ["x/a.jpg.jpg", "b.PNG", "y/c.jpeg"]
    by_name = {"q2": ["b.jpg", "c"], "q1": ["a", "y/c.jpeg"]}
    found = by_lists(by_name, *labels, query_names=["p\\q1.jpg", "q2.bmp"], gallery_names=names)
    same(found.ranks.image, [0, 2, 1])
    same(found.ranks.rank, [1, 2, 1])
    with pytest.raises(InputError, match="'a' is no name"):
        by_lists([["a"], []], *labels, gallery_names=["x/a.jpg", "y/a.jpg", "b.jpg"])
    found = by_lists([["x/a.jpg"], []], *labels, gallery_names=["x/a.jpg", "y/a.jpg", "b.jpg"])
    same(found.ranks.image, [0])


RANKS = (check_what_is_done_with_ranks, check_orders_of_ties, check_a_gallery_of_junk,
         check_parts_of_the_gallery, check_ranks)
EXACT = (check_bounds, check_doors, check_closer, check_features)
METRICS = (check_other_metrics, check_sums, check_identities, check_average_precision)
RESULT = (check_choices, check_results, check_curves)
LISTS = (check_wrong_lists, check_names_in_lists, check_ranked_lists)


#: File: its checks, the quickest first, and its mutants: snippet, replacement.
MUTANTS = {
    "ranking.roles": ((check_roles,), [
        ('(gallery.identity[shared], kind="stable"', '(gallery.identity[shared], kind="heapsort"'),
        ("gallery.camera[image] == query.camera[row]", "gallery.camera[image] > 0"),
        ("if lists is not None and", "if lists is None and"),
        ("gallery.identity != JUNK if", "gallery.identity > JUNK + 1 if"),
        ("place[image] != query_place[row]", "place[image] == query_place[row]"),
        ("good = elsewhere & ~junk", "good = elsewhere"),
        ("good = elsewhere & ~junk", "good = ~junk"),
        ("junk = elsewhere & same_camera", "junk = same_camera"),
        ("        junk &= columns[image]\n", "        pass\n"),
        (" junk &= columns[image]\n", " junk &= columns[image]\n        good &= columns[image]\n"),
        ('query.identity, side="right") - start', 'query.identity, side="right") - start + 1'),
        ('query.identity, side="left")', 'query.identity, side="right")'),
        ("before = np.cumsum(count) - count", "before = np.cumsum(count)"),
        ("SYSU_LOCATION = {3: 2}", "SYSU_LOCATION = {2: 1}"),
        ("kept[self.query_place == place] -= images", "kept[self.query_place == place] -= 1"),
        ("return kept - np.bincount(self.junk_query, minlength=n_query)", "return kept"),
        ("np.unique(self.place[counting], return_counts", "np.unique(self.place, return_counts"),
        ("!= self.query_place[queries, np.newaxis]", "!= self.query_place[0, np.newaxis]"),
        ("[self.junk_query[pairs] - queries.start, ", "[self.junk_query[pairs], "),
        ("(np.arange(len(parts)), [len(images) for", "(np.arange(len(parts)), [len(parts[0]) for"),
    ]),
    "ranking.rank": (RANKS, [
        ("share = 1 / max(1, len(groups) * len(parts))", "share = 1 / len(parts)"),
        ("before[name] += count_before", "before[name] = count_before"),
        ("(image >= part.images.start) &", "(image > part.images.start) &"),
        ("(image < part.images.stop)", "(image <= part.images.stop)"),
        ("image[is_inside] - part.images.start", "image[is_inside]"),
        ("~_member(goods, left_out)), groups)",
         "_member(goods, left_out) | True), groups)"),
        ("           counts += before.get(name, 0", "           counts = before.get(name, counts"),
        ("        if len(added[rule]):\n", "        if False:\n"),
        ("union[1:] != union[:-1]]", "union[1:] == union[1:]]"),
        ("among[place] == keys", "among[place] >= keys"),
        ("added = left_out[~_member(left_out, junk)]", "added = left_out"),
        ("        counts &= role.place[image] != role.query_place[row]\n", "        pass\n"),
        ("dtype=bool) if role.columns is None else role.columns[image]", "dtype=bool)"),
        ("gallery.identity == JUNK)", "gallery.identity != JUNK)"),
        ('["labelled", "junk"], ', '["junk"], '),
        ("is_junk if roles.columns is None else ~is_junk & roles.columns[roles.good]", "is_junk"),
        ("rank_ = before[0] + before[2] + 1", "rank_ = before[0] + before[2]"),
        ("rank_ = before[0] + before[2] + 1", "rank_ = before[0] + before[1] + 1"),
        ("(n_gallery + 1) + rank_", "n_gallery - rank_"),
        ("tied=before[1, kept] + 1", "tied=before[1, kept]"),
        ("n_junk=n_gallery - n_kept", "n_junk=n_gallery - n_kept + 1"),
        ("level * n_gallery + key % n_gallery", "level * n_gallery - key % n_gallery"),
        ("key // n_gallery * len(key) + value", "value"),
        ("np.array([first - row_start,", "np.array([first,"),
        ("last - first - _member(good, among)", "last - first"),
        ("place - first])", "last - place])"),
        ("np.array_equal(keys, among)", "len(keys) == len(among)"),
        ("np.minimum.reduceat(ranks, first)", "np.maximum.reduceat(ranks, first)"),
        ("[place[good]] + ~kept[good]", "[place[good]]"),
        ("order = by_image[by_new_rank]", "order = by_image"),
    ]),
    "ranking.counting": ((check_counting, *RANKS, check_features), [
        ("is_near = tile.values <= farthest", "is_near = tile.values < farthest"),
        ("        is_near &= counts\n", "        pass\n"),
        ("    is_near[counting.left_out_of(tile.rows, images)] = False\n", ""),
        ("[column >= 0] - rows.start, column", "[column >= 0], column"),
        ("self.columns[images]", "self.columns"),
        ("place != counting.query_place[tile.rows, ", "place == counting.query_place[tile.rows, "),
        ("elsewhere if counts is None else elsewhere & counts", "elsewhere"),
        ("goods.counts[pairs] & (good_column >= 0)", "good_column >= 0"),
        ("np.where(columns[place] == images, place, -1)", "place"),
        ("(tile.good_column >= 0) & known)", "(tile.good_column >= 0))"),
        ("    place[place == len(columns)] = 0\n", "    place[place == len(columns)] = -2\n"),
        ("below = candidates < low", "below = candidates <= low"),
        ("within = candidates <= high", "within = candidates < high"),
        ("(within) - sum(nearer) == themselves:", "(within) - sum(nearer) <= themselves + 1:"),
        ('np.searchsorted(ordered, low, side="left', 'np.searchsorted(ordered, low, side="right'),
        ('.searchsorted(ordered, high, side="right"', '.searchsorted(ordered, high, side="left"'),
        ("nearer = known * np", "nearer = 1 * np"),
        ("return nearer.tolist(), good, order[place]", "return nearer.tolist(), good, place"),
        ("other = column != tile.good_column[good]", "other = column >= 0"),
        ("_add(before[0], good[farther < -off])", "pass"),
        ("_add(before[0], good[farther < -off])", "_add(before[0], good[farther < 0])"),
        ("is_open = abs(farther) <= off", "is_open = abs(farther) <= off / 2"),
        ("both: Mask = mask & other", "both: Mask = mask | other"),
        ("done(share * number / sum(counted))", "done(share)"),
        ("(upper - lower) / 8", "(upper - lower) / 4"),
        ("(upper - lower) / 8", "(upper - lower) / 9"),
        ("if (abs(value - (lower + upper) / 2) >", "if (value - (lower + upper) / 2 >"),
        ("good[image < goods.image[good]]", "good[image > goods.image[good]]"),
        ("good[exact < goods.value[good]]", "good[exact <= goods.value[good]]"),
        ("tied = exact == goods.value[good]", "tied = exact >= goods.value[good]"),
        ("return pairs.start + good[other]", "return good[other]"),
        ("np.count_nonzero(counts) - len(nan_images)", "np.count_nonzero(counts)"),
        ("len(nan_images) - np.isin(goods.image[pairs], nan_images)", "len(nan_images)"),
        ("np.searchsorted(nan_images, goods.image[pairs])", "len(nan_images)"),
        ("counts = counts & ~np.isin(np.arange(len(images)), out)", "pass"),
        ("counts & (counting.place != counting", "counts & (counting.place == counting"),
        ("np.fmax.reduceat", "np.maximum.reduceat"),
        ("np.fmax.reduceat", "np.fmin.reduceat"),
        ("                batch, size = [], 0\n", "                size = 0\n"),
        ("    if batch:\n", "    if size > 9:\n"),
        ("                open_pairs = []\n", "                pass\n"),
        ("            open_pairs.append(pairs)\n", "            open_pairs = [pairs]\n"),
    ]),
    "ranking.good_ranks": (RANKS, [
        ("np.arange(1, len(self.rank) + 1) -", "np.arange(len(self.rank)) -"),
        ("start = np.cumsum(self.found) - self.found", "start = np.cumsum(self.found)"),
        ("=rank - 1, tied=np.ones_like(rank), image=-", "=rank, tied=np.ones_like(rank), image=-"),
        ("[[row[0], row[-1]] if", "[[row[0], row[0]] if"),
        ("np.cumsum(~is_junk) - ~is_junk", "np.cumsum(~is_junk)"),
        ("[(1 + before[is_good & ~is_junk])", "[(1 + before[is_good])"),
        ("(is_junk), 1 + before[is_good]", "(is_junk), 1 + before[is_good & ~is_junk]"),
        ("], np.size(good),", "], None,"),
        ("inside = ranks.rank <= top_k", "inside = ranks.rank < top_k"),
        ("ranks.first_match <= top_k, ranks", "ranks.first_match < top_k, ranks"),
        (".where(ranks.found > 0, ranks.first_match", ".where(ranks.found > 1, ranks.first_match"),
        (" ranks.nearer + ranks.tied + 1 - ranks.rank", " ranks.nearer + ranks.tied - ranks.rank"),
        ("image=ranks.image[order], first_match", "image=ranks.image, first_match"),
        ("len(row) - 1 - stable_order(row[::-1])", "stable_order(-row)"),
        ('    return stable_order(row)\n', '    return np.argsort(row, kind="heapsort")\n'),
        ('return np.argsort(values, kind="stable")\n', "return order\n"),
        ("np.lexsort((order[tied], np.cumsum(new)[", "np.lexsort((-order[tied], np.cumsum(new)["),
        ("    if n_same:\n", "    if False:\n"),
        ("~new | np.append(same, False)", "~new"),
        ("(ordered[1:] != ordered[1:]) & (ordered[:-1] != ordered[:-1])", "False"),
        ("np.argsort(-signed)[::-1]", "np.argsort(signed)"),
    ]),
    "ranking.exact_distances": (EXACT, [
        ("rounding_error(dimension + 32)", "rounding_error(dimension)"),
        ("((gallery_norm if columns is None else gallery_norm[columns]).max", "(gallery_norm.max"),
        (".clip(min=0)", ""),
        ("np.median(norm[longer])", "np.median(norm)"),
        ("/ 2 - 1)", "/ 2)"),
        ("[number == band for band in numbers]", "[number >= band for band in numbers]"),
        ("                error_of_runs(", "                1e-3 * error_of_runs("),
        ("SQUARES = 1e-280, 1e300", "SQUARES = 0, 1e300"),
        ("square <= SQUARES[1]", "square <= 1e9 * SQUARES[1]"),
        ("odd[rows.any(axis=1)], rows[", "odd, rows["),
        ("{first_row + odd[0]}", "{first_row + odd[0] + 1}"),
        ("check_finite_rows(features, name, first_row)", "check_finite_rows(features, name)"),
        ("min(start + step, n_gallery))\n        gallery =", "start + step)\n        gallery ="),
        ("max_memory // 4 // row_bytes)\n    starts", "max_memory // row_bytes)\n    starts"),
        ("if len(known) == len(starts) and", "if len(known) and"),
        ("-product / gallery_norm[image]", "-product / gallery_square[image]"),
        ("unit: Doubles = -product", "unit: Doubles = product"),
        ("np.where(query_norm[row] == 0, np.nan, unit)", "unit"),
        ("gallery_square[image] - 2 * product if", "gallery_square[image] - product if"),
        ('if scaling == "euclidean" else -product', 'if scaling == "euclidean" else product'),
        ("scale * largest * 2, off", "scale * largest, off"),
        ("off * (1 + largest / scale)", "off"),
        ("slack(dimension))\n    if", "slack(dimension) / 2)\n    if"),
        ("Scales(scale, gallery_scale, scale * largest, ", "Scales(scale, gallery_scale, scale, "),
        ("middle + self.off[row]).astype", "middle).astype"),
        (" start in range(0, len(query), shape[0]", " start in range(0, len(query), shape[0] + 1"),
        ("_scaled(query, rows, -scales", "_scaled(query, rows, scales"),
        ("chosen = columns[first:first + shape[1]", "chosen = columns[first:first + shape[1] - 1"),
        ("block = slice(start + row, start", "block = slice(start, start"),
        ("values.size / (len(query) * len(columns))", "values.size / (len(query) * len(gallery))"),
        ("1 / scales.distance[block], added", "2 / scales.distance[block], added"),
        ("(2 * query_norm + largest) * largest", "(query_norm + largest) * largest"),
        ("return distances, 2 * 2.0**-29 *", "return distances, 2.0**-29 *"),
        ("row_bytes + 4 * columns", "row_bytes + columns"),
        ("whole = len(block) == block[-1] - block[0] + 1", "whole = True"),
    ]),
    "ranking.pair_sums": ((check_pair_sums,), [
        ("ROUNDOFF = 2.0**-24", "ROUNDOFF = 2.0**-34"),
        ("ROUNDOFF = 2.0**-24", "ROUNDOFF = 2.0**-23"),
        ("RUN = 64", "RUN = 129"),
        ("rounding_error(RUN + 8)", "rounding_error(RUN // 2)"),
        ("NORMS = 1e-12, 1e15", "NORMS = 1e-20, 1e15"),
        ("NORMS = 1e-12, 1e15", "NORMS = 1e-12, 1e19"),
        ("dimension >= 4 * RUN", "dimension >= 3 * RUN"),
        ("    norms = norms[norms > 0]\n", ""),
        ("np.concatenate([query_norm, gallery_norm])", "query_norm"),
        (", right, out=product, dtype=np.float64", ", right, out=product, dtype=np.float32"),
        ("min(start + step, count)", "start + step"),
        ("range(0, count, step)", "range(0, count - 1, step)"),
        ("[chunks[:middle], chunks[middle:]]", "[chunks[:middle], chunks[middle + 1:]]"),
        (".sum(axis=1, dtype=np.float64)", ".sum(axis=1, dtype=np.float32)"),
        ("if whole < left.shape[1]:", "if not whole:"),
        ("2 * off + 2.0**-49", "2 * off + 2.0**-59"),
        ("2 * off + 2.0**-49", "off + 2.0**-49"),
        ("    off = off * gallery_norm\n", ""),
    ]),
    "ranking.exact_rows": ((check_rows_of_features,), [
        (" = max(1, max_memory // 12 // (8 * n_gallery", " = max(1, max_memory // (8 * n_gallery"),
        ("<= 2 * off[k]", "< 0 * off[k]"), ("if close.any():", "if close.all():"),
        ("            undecided[k, order[:-1][close]] = True\n", ""),
        ("            undecided[k, order[1:][close]] = True\n", ""),
        (", square[start:start + step]", ", square[:step]"),
        ("    values[row, image] = exact\n", "    values[row, image] = exact + 1\n"),
    ]),
    "ranking.ranked_lists": (LISTS, [
        ("np.cumsum(kept.reshape(-1)[block.pair])", "np.arange(1, len(block.pair) + 1)"),
        ("so_far[place[listed]] - so_far[block.start[query]]", "so_far[place[listed]]"),
        ("~is_kept[listed]", "is_kept[listed]"), ("listed = place >= 0", "listed = place > 0"),
        ("np.full((n, n_gallery), -1,", "np.full((n, n_gallery), 0,"),
        ("for queries in (roles.good_query,", "for queries in (query,"),
        ("return rows[~filler]", "return rows[filler]"),
        ("(filler[:, :-1] & ~filler[:, 1:])", "(filler[:, :-1] & filler[:, 1:])"),
        ("(block.image < 0) | ", ""),
        ("block.image >= block.n_gallery", "block.image > block.n_gallery"),
        ("np.count_nonzero(seen, axis=1) < block.length", "block.length < 0"),
        ("for start in range(0, len(ranked), step):", "for start in range(0, 1):"),
    ]),
    "ranking.list_inputs": (LISTS, [
        ("matrix.ndim != 2 or ", ""), (' or matrix.dtype.kind not in "iu"', ""),
        ("if k is None:", "if False:"), ("if k in found:", "if False:"),
        ("if missing:", "if False:"),
        ("for k in range(len(query_names)) if k not in found]", "for k in ()]"),
        ("[/\\\\]", "[/]"), ("flags=re.IGNORECASE", "flags=0"), ("bmp))+", "bmp))"),
        ("if name in exact:", "if False:"), ("if name not in shared}", "if True}"),
        ("**exact}", "}"),
        ("places.get(word, places.get(plain(word)))", "places.get(plain(word))"),
        ("places.get(word, places.get(plain(word)))", "places.get(word)"),
    ]),
    "metrics.average_precision": ([*METRICS, *RESULT], [
        ("groups.query[groups.tied > hits]", "groups.query[groups.tied >= hits]"),
        ("len(np.unique(groups.query[", "len((groups.query["),
        (", old_recall = nth / n_good, (nth - 1) / ", ", old_recall = nth / n_good, (nth - 2) / "),
        ("(recall - old_recall) * ((", "(1 / n_good) * (("),
        (" - old_recall) * ((old_precision + precision) / 2)", " - old_recall) * precision"),
        (") * ((old_precision + precision) / 2)", ") * (old_precision + precision)"),
        ("1.0 / n_good_of(ranks) * both / 2", "both / 2 / n_good_of(ranks)"),
        ("precision_before(nth, ranks.rank) + nth / ranks.rank", "2 * nth / ranks.rank"),
        (".where(first, ranks.rank == 1, np.roll(precision", ".where(first, 1, np.roll(precision"),
        ("np.where(first, ranks.rank == 1, np.roll(precision, 1))", "np.roll(precision, 1)"),
        ("total = sum_by_query(ranks, ranks.nth / ranks.rank)",
         "total = sum_by_query(ranks, (ranks.nth + 1) / (ranks.rank + 1))"),
        ("np.divide(total, ranks.n_good, out", "np.divide(total, np.maximum(ranks.found, 1), out"),
        ("where=groups.nearer > 0", "where=groups.nearer > 1"),
        ("recall_step = (before + hits) / n_good - before / n_good", "recall_step = 1 / n_good"),
        (", ((before + hits) / n_good - before / n_good) * precision)", ", precision / n_good)"),
        ("total = sum_in_float32(ranks, ranks.nth / ranks.rank)",
         "total = sum_in_float32(ranks, (ranks.nth / ranks.rank).asty"
         "pe(np.float32).astype(float))"),
        ("    single = np.float32\n", "    single = np.float64\n"),
        ("np.cumsum(values)[-1] / len(values)", "np.mean(values)"),
        ("np.cumsum(values)[-1] / len(values)", "np.cumsum(values)[-1] / (len(values) + 1)"),
        ("np.cumsum(values.astype(np.float32), dtype=np.float32)[-1]", "values.sum()"),
        ("np.cumsum(values.astype(np.float32), dtype=np.float32)[-1]",
         "values.astype(np.float32).sum()"),
        (":\n        return np.full(len(sums), np.nan)", ":\n        return np.zeros(len(sums))"),
        # numpy 1 divides single precision by a double in single precision, too.
        *([("sums / (sums.dtype.type(n_query) if sums.dtype.kind == \"f\" else n_query)",
            "sums / np.float64(n_query)")] if np.__version__ >= "2" else []),
        ("before = np.ones(len(rank))", "before = np.zeros(len(rank))"),
        ("np.divide(nth - 1, rank - 1,", "np.divide(nth - 1, rank,"),
        ("first = (nth == 1) | (", "first = ("),
        ("return ranks, nth - 1, np.ones_like(nth)", "return ranks, nth, np.ones_like(nth)"),
        ("return ranks, nth - 1, np.ones_like(nth)", "return ranks, nth - 1, nth"),
        ("return groups, nth[index] - 1, hits", "return groups, nth[index], hits"),
        ("total = np.bincount(ranks.query, weights=terms, minlength=len(ranks.found))",
         "total = np.array([terms[ranks.query == k].sum() for k in range(len(ranks.found))])"),
        ("(total[more] + terms[start[more] + k]).", "total[more] + terms[start[more] + k]."),
        ("more = more[ranks.found[more] > k]", "more = more[ranks.found[more] > k + 1]"),
        ("(ranks.n_good == 0) & (ranks.n_kept > 0)", "ranks.n_good == 0"),
        ("(ranks.n_good == 0) & (ranks.n_kept > 0)", "ranks.found == 0"),
    ]),
    "metrics.matching": (METRICS, [
        # first_match >= 0 is the same: the count of zeros is left out of the curve.
        ("(first_match <= length)", "(first_match < length)"),
        ("minlength=length + 1)[1:]", "minlength=length + 1)[:-1]"),
        ("place = ranks.rank - ranks.nth", "place = ranks.rank - 1"),
        ("weight = 1.0 / n_good_of(ranks)[inside]", "weight = 1.0 / np.ones(len(place))[inside]"),
        ("inside = place < length", "inside = place <= length"),
        (" per_query_share(np.cumsum(steps), n_query)", " per_query_share(steps, n_query)"),
        ("ranks.rank - ranks.nth < k", "ranks.rank <= k"),
        ("hits / np.maximum(ranks.n_good, 1)", "hits / np.maximum(ranks.found, 1)"),
        ("(ranks.first_match > 0) &", "(ranks.first_match >= 0) &"),
        ("ranks.first_match <= k", "ranks.first_match < k"),
        ("return _hits_at(ranks, k) / k", "return _hits_at(ranks, k) / (k + 1)"),
        (".divide(_hits_at(ranks, k), ranks.n_good,", ".divide(_hits_at(ranks, k), ranks.found,"),
        ("ranks.query[ranks.rank <= k]", "ranks.query[ranks.rank < k]"),
        ("    inside = ranks.rank <= k\n", "    inside = ranks.rank < k\n"),
        ("+ ranks.rank[inside] - 1,", "+ ranks.rank[inside] % k,"),
        ("return hits / np.arange(1, k + 1), recall", "return hits / k, recall"),
        ("np.divide(hits, n_good, out=recall", "np.divide(hits, hits[:, -1:], out=recall"),
        ("(ranks.found == ranks.n_good) & (ranks.found > 0)", "ranks.found > 0"),
        ("(ranks.found)[complete] - 1", "(ranks.found)[complete] - ranks.found[complete]"),
    ]),
    "metrics.identities": (METRICS, [
        ("1 + len(np.unique(", "len(np.unique("),
        ("len(np.unique(gallery.identity[kept[:good_places[0]]]))", "len(kept[:good_places[0]])"),
        ("kept[:good_places[0]]", "kept[:good_places[-1]]"),
        ("DRAWS = 10", "DRAWS = 9"),
        ("(before[:, -1] > 0) & (before[:, -2] > 0)", "(before[:, -1] > 0) & (before[:, 0] > 0)"),
        ("beaten = ahead[:, :-1] / ahead[:, -1:]", "beaten = ahead[:, 1:] / ahead[:, -1:]"),
        ("number *= 1 - chance[:, np.newaxis]", "number *= chance[:, np.newaxis]"),
        (".mean(axis=0), 1.0)", ".max(axis=0), 1.0)"),
        ("n_images, np.argsort(first)", "n_images, np.argsort(-first)"),
        ("names[order] == query", "names == query"),
        ("start[order] + random.randint", "start[order] * 0 + random.randint"),
        ("np.count_nonzero(drawn <= drawn[own])", "np.count_nonzero(drawn < drawn[own])"),
        ("np.arange(1, length + 1)).sum", "np.arange(length)).sum"),
        ("    order = order[kept[order]]\n", ""),
        ("order = in_order(row, ties)", 'order = in_order(row, "gallery-order")'),
    ]),
    "signature": (RESULT, [
        ("if getattr(convention, name) != getattr(default, name)}", "if name == 'cmc'}"),
    ]),
    "evaluation.summary": (RESULT, [
        ("in_order.n_junk - n_absent\n", "in_order.n_junk\n"),
        ("in_order = convention.in_order(loaded.ranks)", "in_order = loaded.ranks"),
        ("cut = convention.cut_off(in_order)", "cut = in_order"),
        ("for values in (ap, inp))", "for values in (ap, ap))"),
        ("mINP=convention.mean(inp)", "mINP=convention.mean(ap)"),
        ("counted=len(ap)", "counted=len(query)"),
        ("status[absent & ~np.isin(identity, gallery.identity)]",
         "status[~np.isin(identity, gallery.identity) & ~absent]"),
        ("(ranks.n_good > 0) & (ranks.found == 0)", "ranks.n_good < 0"),
        ("status[ranks.n_kept == 0]", "status[ranks.n_kept < 0]"),
        ("n_junk - n_absent if", "n_junk if"),
        ("=len(gallery) - ignored_junk - n_absent", "=len(gallery) - ignored_junk"),
        ("per_query.n_junk - ignored_junk", "per_query.n_junk"),
        ("(convention, provenance, loaded.query, loaded.gallery)",
         "(convention, provenance, query, gallery)"),
        (" = distances if there.all() else distances[:, there]", " = distances[:, :there.sum()]"),
        ("values = ARITHMETIC[arithmetic].distances(values)", "pass"),
        ("np.random.RandomState(0) for key", "np.random.RandomState(len(key[1])) for key"),
        ("self._random = {key: np.random.RandomState(0) for key in of_rows}",
         "one = np.random.RandomState(0)\n        self._random = {key: one for key in of_rows}"),
        ("(*convention.ignored, *convention.curve.also_ignored)", "convention.ignored"),
        ("self._gallery.identity[loaded]", "self._gallery.identity"),
        ("self._length(convention, ranks.n_kept)", "self._length(convention)"),
    ]),
    "conventions.convention": (RESULT, [
        ("rule.float32 if self.arithmetic", "rule.exact if self.arithmetic"),
        ("rule.grouped if TIES[self.ties].grouped else None", "None"),
        ("JUNK_MATCH[self.junk_match].matches(TIES[self.ties].order(ranks))",
         "TIES[self.ties].order(ranks)"),
        (".junk_match].matches(TIES[self.ties].order(ranks))", ".junk_match].matches(ranks)"),
        ("ranks if self.top_k is None else truncate(ranks, self.top_k)", "ranks"),
        ("cut if n_good is ranks.n_good else replace(cut, n_good=n_good)", "cut"),
        ("ARITHMETIC[self.arithmetic].curve(curve, n_query) if self.curve.counts\n"
         "                else curve", "curve"),
        ("len(n_good) if UNMATCHED[self.unmatched].in_cmc else", "len(n_good) if True else"),
        ("int(np.count_nonzero(n_good))", "int(np.count_nonzero(n_good > 1))"),
        ("min(int(self.cmc_length), len(identity))", "int(self.cmc_length)"),
        ('return ("label -1", *self.ignored)', "return self.ignored"),
    ]),
    "conventions.choices": (RESULT, [
        ("matched: Doubles = values[n_good > 0]", "matched: Doubles = values[n_good > 1]"),
        ("np.nan_to_num(values, nan=0.0)", "np.nan_to_num(values, nan=1.0)"),
        ("np.where(found > 0, found, n_good)", "found"),
        ("np.where(found > 0, found, n_good)", "n_good"),
        ("np.asarray(identity != JUNK)", "np.asarray(identity != 0)"),
        ("(values, minlength=length + 1)[1:]", "(values, minlength=length + 1)[:-1]"),
        ("values[~np.isnan(values[:, 0])]", "np.nan_to_num(values[:, :1] + 0 * values)"),
        ("np.cumsum(matched, axis=0)[-1]", "matched[-1]"),
        ("n_kept.min(initial", "n_kept.max(initial"),
        (" identity, n_kept: len(np.unique(identity))", " identity, n_kept: len(identity)"),
        ("(curve * n_query).round().astype(np.float32)", "(curve * n_query).round()"),
    ]),
}


def test_mutants_of_every_file():
    files = {f"{room}.{path.stem}" for room in ("ranking", "metrics")
             for path in (PACKAGE / room).glob("[!_]*.py") if not path.stem.startswith("device_")}
    assert set(MUTANTS) == files - {"ranking.tiles"} | {
        "evaluation.summary", "conventions.convention", "conventions.choices", "signature"}


@pytest.mark.parametrize("check", all_checks(MUTANTS))
def test_the_fast_path_itself_passes(check):
    with world(ROOMS):
        check()


@pytest.mark.parametrize("name, snippet, replacement", each(MUTANTS))
def test_mutant_is_caught(name, snippet, replacement):
    assert is_caught(ROOMS, MUTANTS[name][0], name, snippet, replacement)
