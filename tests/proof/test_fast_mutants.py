"""Small faults, put into the fast path one at a time, must be caught by a quick set of checks.

What the checks compare with is worked by hand, or comes from `brute.py`, or from a definition
written out here. The same checks pass on the source as it is.
"""
import functools
import itertools
import re
import warnings
from dataclasses import replace
from fractions import Fraction as F
from functools import partial

import numpy as np
import pytest

from reid_ref import Candidates, IndexLists, Labels
from reid_ref.arrays.cores import using
from tests import cases
from tests.proof import brute, hand_cases
from tests.proof.mutants import (
    PACKAGE, afresh, all_checks, each, holds, is_caught, near, same, world)
from tests.refusals import refused

ROOMS = ("ranking", "metrics", "conventions", "signature", "result", "evaluation")
NAN = float("nan")

IGNORED = [("label -1", "same identity, same camera"), ("same identity, same camera",),
           ("label -1", "same camera"), ("same camera",), ("same location",), ("label -1",), (),
           ("same identity, same camera", "same location")]
LISTED = ("listed as junk",)
#: What needs further columns of labels, and what needs candidates.
FURTHER = [("other camera",), ("label -1", "other camera"), ("other video", "same camera"),
           ("itself", "label -1"), ("other video", "itself")]
AMONG = [("not a candidate",), (*IGNORED[0], "not a candidate"),
         ("not a candidate", "same camera", "itself")]
MATLAB = IGNORED[0]


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
    rng = np.random.default_rng(seed)
    videos, names = rng.integers(0, 3, 46), [f"image {j}" for j in range(40)]
    identity = [-1, *query.identity[1:]]
    # Names of images of any identity: only one of the query's own is the query itself.
    itself = [rng.choice(np.flatnonzero(gallery.identity == one), 1).tolist() or [k]
              for k, one in enumerate(identity)] if seed == 0 else [[k] for k in range(6)]
    query = Labels(identity, query.camera, video=videos[40:],
                   name=[names[j] for j, in itself])
    gallery = Labels(gallery.identity, gallery.camera, video=videos[:40], name=names)
    lists, candidates = lists_of(seed, 6, 40), Candidates(rng.random((6, 40)) < .6)
    return distances, query, gallery, {None: lists, **dict.fromkeys(AMONG, candidates)}, {
        ignored: brute.ranks(distances.tolist(), query, gallery, ignored,
                             candidates if ignored in AMONG else lists)
        for ignored in (*IGNORED, LISTED, *FURTHER, *AMONG)}


def given(lists, ignored):
    """Index lists, or the candidates for what needs these."""
    return lists.get(ignored, lists[None])


def check_roles():
    roles = afresh("ranking.roles")
    for seed in (0, 1):
        _, query, gallery, lists, _ = problem(seed)
        for ignored in (*IGNORED, LISTED, *FURTHER, *AMONG):
            of_ignored = given(lists, ignored)
            of_all = roles.find_roles(query, gallery, ignored, of_ignored)
            of_query = roles.query_roles(query, gallery, ignored, of_ignored)
            for k, n_kept in enumerate(of_all.n_kept(6).tolist()):
                good, junk = brute.roles(query, gallery, ignored, of_ignored, k)
                images, kept = of_query(k)
                # By label, the good images stand in gallery order; lists keep their own.
                assert sorted(good) == (
                    sorted(images) if ignored == LISTED else images.tolist())
                same(np.flatnonzero(~kept), sorted(junk))
                assert n_kept == 40 - len(junk)


def under_matlab(*labels):
    return {MATLAB: afresh("ranking.roles").find_roles(*labels, MATLAB)}


def check_ranks():
    """All sets of ignored images together and alone, in tiles and parts of every size."""
    counting, rank, roles = (afresh(f"ranking.{name}") for name in ("counting", "rank", "roles"))
    for seed, tile, width, dtype in (
            *itertools.product((0, 1), (10**6, 1, 130), (40,), (np.float64, np.float32)),
            (0, 10**6, 7, np.int64), (1, 10**6, 7, np.float64), (0, 10**6, 1, np.uint8)):
        counting.TILE = tile
        distances, query, gallery, lists, expected = problem(seed)
        distances = distances.astype(dtype)
        parts, shares = [], []
        for start in range(0, 40, width):
            images = slice(start, min(start + width, 40))
            parts.append(functools.partial(
                replace, counting.matrix_part(distances[:, images]), images=images))
        ranks = rank.rank(rank.in_parts(parts, 6, shares.append), query, gallery,
                          {ignored: roles.find_roles(query, gallery, ignored,
                                                     given(lists, ignored))
                           for ignored in expected})
        assert (1 - 1e-9 if width == 40 else 0) < sum(shares) < 1 + 1e-9
        for ignored in expected:
            brute.assert_equal(ranks[ignored], expected[ignored])
        brute.assert_equal(cases.good_ranks(distances, query, gallery, MATLAB), expected[MATLAB])
    counting.TILE = 1_000_000


def check_orders_of_ties():
    good_ranks = afresh("ranking.good_ranks")
    distances, query, gallery, of_rules, _ = problem(0)
    lists = of_rules[None]
    for ties, ignored in itertools.product(("numpy", "numpy-reversed"), (MATLAB, LISTED, ())):
        order = {"numpy": lambda k: np.argsort(distances[k]).tolist(),
                 "numpy-reversed": lambda k: np.argsort(-distances[k])[::-1].tolist()}[ties]
        brute.assert_equal(
            cases.good_ranks(distances, query, gallery, ignored, ties, lists),
            brute.ranks(distances.tolist(), query, gallery, ignored, lists, order))

    def reversed_order(k):
        return sorted(range(40), key=lambda j: (distances[k, j], -j))
    ranks = good_ranks.reverse_ties(cases.good_ranks(distances, query, gallery, ()))
    brute.assert_equal(ranks, brute.ranks(distances.tolist(), query, gallery, (), None,
                                          reversed_order))
    row = np.array([2, 1, 2, 2, NAN, 1, NAN])
    same(good_ranks.in_order(row, "gallery-order"), [1, 5, 0, 2, 3, 4, 6])
    same(good_ranks.in_order(row, "reversed"), [5, 1, 3, 2, 0, 6, 4])
    for row, n_nan in ((row, 2), (np.array([127, -128, 5], np.int8), 0),
                       (np.array([2, 1, 0, 3], np.uint64) + np.uint64(2**63), 0)):
        order, n = good_ranks.in_order(row, "numpy-reversed"), len(row) - n_nan
        same(row[order[:n]], np.sort(row)[:n])
        same(np.sort(order), np.arange(len(row)))
    many = np.array([1., 0] * 40)
    same(good_ranks.in_order(many, "gallery-order"), [*range(1, 80, 2), *range(0, 80, 2)])
    for seed in range(3):  # few are equal, of which some are NaN
        row = np.random.default_rng(seed).permutation(np.arange(900.0))
        row[[5, 77, 301, 640]], row[[8, 9, 300, 888]] = row[[4, 40, 4, 40]], NAN
        same(good_ranks.in_order(row, "gallery-order"),
             sorted(range(900), key=lambda j: (row[j] != row[j], np.nan_to_num(row[j]), j)))


def check_functions_of_ranks():
    module = afresh("ranking.good_ranks")
    ranks = module.from_lists([[1, 4, 5], [], [2, 3]], n_good=[3, 0, 4], n_kept=[9, 8, 7])
    holds(ranks, query=[0, 0, 0, 2, 2], nth=[1, 2, 3, 1, 2], nearer=[0, 3, 4, 1, 2],
          first_match=[1, 0, 2])
    holds(module.from_lists([[1, 4], []]), n_kept=[4, 0])
    holds(module.truncate(ranks, 4), rank=[1, 4, 2, 3], found=[2, 0, 2])
    holds(module.truncate(ranks, 1), first_match=[1, 0, 0])
    two = module.of_queries(ranks, np.array([True, False, True]))
    holds(two, rank=[1, 4, 5, 2, 3], n_good=[3, 4])
    lists = [module.concatenate([module.from_index(index, [4, 9, 7], [2]) for index in part])
             for part in (([2, 4, 9, 7], [4, 7]), ([4, 2, 9], [8, 7]))]
    cut = module.beyond(*lists)
    holds(cut, rank=[1, 2, 3, 1, 2], image=[4, 9, 7, 4, 7], found=[3, 2], n_beyond=[1, 1],
          first_match=[1, 1], n_good=[3, 3], n_kept=[3, 2])
    holds(module.truncate(cut, 9), rank=[1, 2, 1], found=[2, 1], n_beyond=[0, 0],
          first_match=[1, 1])
    holds(module.truncate(replace(cut, n_beyond=np.array([3, 0])), 9), first_match=[0, 1])
    holds(module.beyond(module.from_index([4, 9], good=[9], junk=[9]), lists[1]), first_match=[0])
    for joined in (module.concatenate([two, ranks]), module.append(two, ranks, False)):
        holds(joined, found=[3, 2, 3, 0, 2], rank=[1, 4, 5, 2, 3] * 2)
        holds(two, found=[3, 2])
    module.BLOCK = 4
    first, second = module.in_blocks(ranks)
    holds(first, rank=[1, 4, 5], found=[3, 0])
    holds(second, rank=[2, 3], found=[2])
    holds(module.from_index([4, 9, 2, 6], good=[9, 2, 7], junk=[9]),
          rank=[2], image=[2], n_good=[3], n_junk=[1], n_kept=[3], first_match=[2])
    both = module.from_index([4, 9], good=[9], junk=[9])
    holds(both, first_match=[2])
    one = module.from_index([9, 4, 2], good=[9, 2], junk=[9])
    apart = module.from_index([4, 9, 5, 2], good=[9, 2], junk=[9])
    tied = replace(apart, nearer=np.array([0]), tied=np.array([3]))
    for given, expected in ((one, [1]), (both, [2]), (apart, [2]), (tied, [1])):
        holds(module.reverse_ties(given), first_match=expected)
    for given, expected in ((both, [0]), (ranks, [1, 0, 2]), (module.from_lists([[3]]), [3]),
                            (one, [2])):
        holds(module.forget_junk_matches(given), first_match=expected)
    holds(module.truncate(replace(module.from_lists([[2]]), tied=np.array([4])), 3), tied=[2])


# Distances of features.

@functools.lru_cache
def features(kind):
    """Features of two sides with duplicates and rows of zeros, and labels."""
    rng = np.random.default_rng(3)
    query, gallery = (rng.standard_normal((n, 9)) for n in (5, 40))
    if kind == "whole":
        query, gallery = query.round(), gallery.round()
    if kind == "nearly tied":  # apart in the last bits of a double, or not
        gallery[1:] = gallery[0] * (1 + 2.0**-51 * rng.integers(-2, 3, (39, 9)))
    if kind == "single":
        query, gallery = query.astype(np.float32), gallery.astype(np.float32)
    if kind == "long":  # the sums of products of singles, of which many are nearly tied
        gallery = gallery[:1] + 1e-6 * gallery
        query, gallery = (np.tile(side, 33).astype(np.float32) for side in (query, gallery))
    if kind == "heavy tail":
        query, gallery = query * 1e-5, gallery * np.exp(2 * rng.standard_normal((40, 1)))
    gallery[20:25], gallery[30] = gallery[:5], query[2]
    query[1] = gallery[7] = gallery[9] = 0
    return query, gallery, Labels(rng.integers(1, 4, 5), [1] * 5), Labels(
        rng.integers(0, 4, 40), rng.integers(1, 4, 40))


@functools.lru_cache
def exact(kind, scaling):
    return np.array(brute.exact_distances(*features(kind)[:2], *SCALINGS[scaling]))


#: Kinds of features, and the memory that their distances may take: from one row to all.
KINDS = [("plain", 1), ("plain", 4000), ("plain", 2**26), ("whole", 4000), ("nearly tied", 2**26),
         ("single", 1), ("long", 2**26), ("heavy tail", 1), ("heavy tail", 2**26)]
SCALINGS = {"normalized": ("euclidean", True), "euclidean": ("euclidean", False),
            "dot": ("dot", False)}


def check_features():
    """Exact distances, tiles within a quarter of the slack, and the ranks that follow."""
    module, rank = afresh("ranking.exact_distances"), afresh("ranking.rank")
    for (kind, memory), scalings in itertools.product(KINDS, [
            *([scaling] for scaling in SCALINGS), ["normalized", "dot"], [*SCALINGS]]):
        query, gallery, *labels = features(kind)
        n = len(scalings)
        expected = expected_distances(kind, scalings)
        module.INNER = 4 if memory == 2**26 else 1024  # of nine: three parts of three
        parts = module.feature_parts(query, gallery, scalings, memory)
        part = parts[0]()
        row, image = np.indices(expected.shape).reshape(2, -1)
        same(part.exact(row, image), expected.reshape(-1))
        known = ~np.isnan(expected)
        assert len(part.bands) == (
            4 if kind == "heavy tail" and scalings != ["normalized"] else 1)
        for counting in (np.ones(40, bool), np.arange(40) % 3 > 0):
            seen = np.zeros(expected.shape, int)
            for band in part.bands:
                low, high = (side.reshape(expected.shape) for side in band.bounds(
                    row, expected.reshape(-1)))
                share = 0
                for tile in tiles_of(band, counting & band.columns):
                    pairs = np.ix_(np.arange(5 * n)[tile.rows], tile.columns)
                    seen[pairs] += 1
                    share += tile.share
                    off = np.abs(tile.values - (low[pairs] + high[pairs]) / 2)
                    assert (off <= (high[pairs] - low[pairs]) / 8 + 1e-30)[known[pairs]].all()
                    assert np.isnan(tile.values[~known[pairs]]).all()
                assert abs(share - 1) < 1e-9
            same(seen, np.ones((5 * n, 40)) * counting)
        shares = []
        pairs = labels[0][np.repeat(np.arange(5), n)], labels[1]
        ranks = rank.rank(rank.in_parts(parts, 5 * n, shares.append), *pairs,
                          under_matlab(*pairs))[MATLAB]
        brute.assert_equal(ranks, expected_ranks(kind, *scalings))
        assert abs(sum(shares) - 1) < 1e-9


def expected_distances(kind, scalings):
    """The exact distances of each query in each scaling."""
    return np.stack([exact(kind, scaling) for scaling in scalings], 1).reshape(-1, 40)


def tiles_of(band, columns):
    return [tile for block in band.blocks(columns) for tile in block.tiles()]


@functools.lru_cache
def expected_ranks(kind, *scalings):
    query, gallery = features(kind)[2:]
    return brute.ranks(expected_distances(kind, scalings).tolist(),
                       query[np.repeat(np.arange(5), len(scalings))], gallery, MATLAB)


def check_bounds():
    """How far a tile may be off, from the roundings counted by hand."""
    module = afresh("ranking.exact_distances")
    unit = 2.0**-24
    assert module.slack(2048) == 2080 * unit / (1 - 2080 * unit)
    ones = np.ones((2, 9))
    square = np.array([9.0, 9.0])
    module.INNER, product = 4, module.slack(5)  # three products of three, two additions
    same([part.stop for part in module.inner_parts(10)], [4, 8, 10])
    for scaling, middle, room in (("normalized", -1, product), ("dot", -1, product),
                                  ("euclidean", -.5, product + module.slack(0))):
        part = module.feature_part(ones, ones, square, square, slice(0, 2), [scaling], 2**20,
                                   np.float64)
        first = np.zeros(1, int)
        low, high = part.bands[0].bounds(first, part.exact(first, first))
        near(((low + high) / 2)[0], middle)
        near((high - low)[0], 2 * room)
    longest = np.array([1., 2, 2, 40, 0, 0, 0, 0, 0, 0])
    bands = module.bands_of_norms(longest)
    same([band.tolist() for band in bands], [longest < 40, longest == 40])
    for norms in ([1., 1., 2.], [0., 0.]):
        band, = module.bands_of_norms(np.array(norms))
        assert band.all()
    gallery = longest[:, np.newaxis] * np.ones(1)
    part = module.feature_part(ones[:, :1], gallery, square / 9, longest**2, slice(0, 10),
                               ["dot"], 2**20, np.float64)
    for band, largest in zip(part.bands, (2, 40)):  # a long feature does not spoil the others
        low, high = band.bounds(first, np.array([-1.0]))
        near(((low + high) / 2)[0], -1 / largest)
    for scaling, distance in (("normalized", -3), ("dot", -27), ("euclidean", 27)):
        distances, _ = module.nearly_exact(
            ones, 3 * ones, np.array([3., 0]), 9 * square, scaling)
        near(distances, [[distance] * 2, [NAN if scaling == "normalized" else distance] * 2])
    for scaling, scale in (("normalized", 3), ("dot", 18), ("euclidean", 72)):
        _, off = module.nearly_exact(ones, 2 * ones, np.array([3., 3]), 4 * square, scaling)
        np.testing.assert_allclose(off, 2 * 2.0**-29 * 41 * unit / (1 - 41 * unit) * scale)
    module.cores = lambda: 2
    assert module.tile_shape(3368, 19732, 8192, 2**28) == (2**25 // (8192 + 4 * 8192), 8192)
    assert module.tile_shape(3368, 8192, 8192, 2**28, 2) == (2**25 // (8192 + 8 * 8192), 8192)
    assert module.tile_shape(9, 16384, 8192, 2**28) == (5, 16384)


def check_rows_of_features():
    module = afresh("ranking.exact_distances")
    for (kind, memory), scaling in itertools.product(KINDS, SCALINGS):
        memory = 96 * 2 * 40 if memory == 4000 else memory
        query, gallery, *_ = features(kind)
        blocks = list(module.feature_rows(query, gallery, scaling, memory))
        assert len(blocks) == {1: 5, 96 * 2 * 40: 3, 2**26: 1}[memory]
        for row, expected in zip(np.concatenate(blocks), exact(kind, scaling)):
            same(*(np.unique(values, return_inverse=True)[1] for values in (row, expected)))


class Stored:
    """A data set in a file, as far as the gallery's parts ask for it."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, rows):
        return self.array[rows]


def check_refused_features():
    """What is refused and warned of; a gallery in a file comes in parts."""
    module = afresh("ranking.exact_distances")
    for size, valid in ((1.01e-140, True), (.99e-140, False), (.99e150, True), (1.01e150, False)):
        rows = np.array([[1.0], [size]])
        if valid:
            near(module.checked_squares(rows, "rows")[0], 1)
        else:
            refused("rows", "in row 1, whose", module.checked_squares, rows, "rows")
    refused("rows", "row 6", module.checked_squares, np.array([[1.0], [NAN]]), "rows", 5)
    gallery = features("plain")[1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opened = [part() for part in module.galleries(Stored(gallery), True, 4 * 72 * 6)]
    warning, = caught
    assert re.match(r"gallery_features: 2 of 40 rows .*first: row 7\b", str(warning.message))
    images, parts, _ = zip(*opened)
    assert images == tuple(slice(k, min(k + 6, 40)) for k in range(0, 40, 6))
    same(np.concatenate(parts), gallery)


def check_pair_sums():
    """Sums of rows and of pairs, in chunks by all cores."""
    module = afresh("ranking.exact_distances")
    near(module.squares(np.array([[3, 4], [0, 0]], np.int8)), [25, 0])
    rng = np.random.default_rng(1)
    module.CHUNK = 2**12
    row, image = rng.integers(0, 70, (2, 200))
    for _ in range(4):  # the memory of a result may hold the one before
        wide = rng.standard_normal((70, 2**9))
        same(module.squares(wide), [(features * features).sum() for features in wide])
        same(module.pair_products(wide, wide, row, image),
             [(wide[i] * wide[j]).sum() for i, j in zip(row, image)])
    module.CHUNK = 2**17


def check_estimates():
    """Products of singles are within their bounds, which are narrow but for extreme sizes."""
    module = afresh("ranking.exact_distances")
    rng = np.random.default_rng(2)
    row, image = np.indices((20, 20)).reshape(2, -1)
    for width, size in itertools.product((1, 100, 128, 300), (1, 1e-21, 1e21, 1e-3)):
        sides = [(size * rng.lognormal(0, 2, (20, width))
                  * rng.choice([-1, 1], (20, width))).astype(np.float32) for _ in range(2)]
        norms = [np.sqrt(module.squares(side)) for side in sides]
        highest, lowest = module.products_within(*sides, *norms, row, image)
        exact = module.pair_products(*sides, row, image)
        is_open = np.isnan(highest) | np.isnan(lowest)
        assert ((lowest <= exact) & (exact <= highest) | is_open).all()
        if size in (1, 1e-3):
            assert (highest - lowest <= 3e-5 * norms[0][row] * norms[1][image] + 1e-34).all()
            assert not is_open.any()


# Counting in tiles that are off.

def check_open_pairs():
    """Several queries in a tile, of a part in the middle, with ties that the error leaves open."""
    counting = afresh("ranking.counting")
    rng, none = np.random.default_rng(1), np.zeros(0, np.int64)
    columns = np.arange(60)
    ranges = afresh("ranking.ranges")
    for scale, slack, farthest, few in itertools.product(
            (1., 1e9), (.3, 2.6), (12, 12, 12, 1), (32, 6, 0)):
        counting.FEW, ranges.OF_RANGE, ranges.LEAST = few, 1, few
        every = scale * rng.integers(0, 12, (5, 80))
        query, image = np.nonzero((rng.random((5, 80)) < .1) & (every < scale * farthest))
        goods = counting.Goods(query, image, every[query, image])
        is_counted = rng.random(80) < .9
        distances, error = every[:, 20:], slack * rng.uniform(-.24, .24, (5, 60))
        below, above = rng.choice([0, .5, 3], (2, 5, 60))

        def make(_):
            rows, values = slice(0, 5), distances + error
            yield counting.Block(rows, lambda: iter([
                counting.Tile(rows, values[:, of_tile].copy(), of_tile, 1 / 2)
                for of_tile in (columns[::2], columns[1::2])]))

        def within(row, column):
            exact = distances[row, column]
            return exact - below[row, column], exact + above[row, column]

        bands = [counting.Band(np.ones(60, bool), make, np.ones(5), np.full(5, slack))]
        part = counting.GalleryPart(slice(20, 80), lambda row, column: distances[row, column],
                                    bands, lambda query: np.zeros(60, bool))
        whole = [counting.matrix_part(every.astype(dtype)) for dtype in (float, np.float32)]
        for of_gallery, first in ((part, 20), (replace(part, within=within), 20),
                                  *((matrix, 0) for matrix in whole)):
            others = [[(every[q, other], other) for other in range(first, 80)
                       if is_counted[other] and other != i] for q, i in zip(query, image)]
            values = every[query, image]
            expected = [[sum(d < value for d, _ in near) for near, value in zip(others, values)],
                        [sum(d == value for d, _ in near) for near, value in zip(others, values)],
                        [sum(d == value and other < i for d, other in near)
                         for near, value, i in zip(others, values, image)]]
            same(counting.count_before(of_gallery, replace(
                goods, value=of_gallery.exact(query, image) if first == 0 else goods.value), 5,
                counting.Counting(none, none, is_counted[first:])), expected)


def check_counting():
    counting = afresh("ranking.counting")
    distances = np.arange(60.0).reshape(1, 60) % 20
    distances = np.concatenate([distances, distances[:, ::-1]])
    query, image = np.array([0, 0, 1]), np.array([7, 50, 30])
    goods = counting.Goods(query, image, distances[query, image])
    none = np.zeros(0, np.int64)

    everything = counting.Counting(none, none, np.ones(60, bool))

    def part(error, slack):
        def make(_):
            for rows in (slice(0, 1), slice(1, 2)):
                tiles = [counting.Tile(rows, (distances + error)[rows][:, columns], columns,
                                       len(columns) / 120)
                         for columns in (np.arange(33), np.arange(33, 60))]
                yield counting.Block(rows, partial(iter, tiles))
        bands = [counting.Band(everything.columns, make, np.ones(2), np.full(2, slack))]
        return counting.GalleryPart(slice(0, 60), lambda row, column: distances[row, column],
                                    bands, lambda query: np.zeros(60, bool))

    rng = np.random.default_rng(0)
    for slack, together in itertools.product((.3, 2.6, 99.), (2**17, 3)):
        counting.OPEN_AT_ONCE = together
        error = slack * rng.uniform(-.24, .24, (2, 60))
        # 7, 10 and 9 whole numbers are nearer, three times each; two others are as near.
        same(counting.count_before(part(error, slack), goods, 2, everything),
             [[21, 30, 27], [2, 2, 2], [0, 2, 1]])
    for sign, share in itertools.product((-1, 1), (.24, .26)):
        error = np.zeros((2, 60))
        error[0, 7] = sign * share
        arguments = part(error, 1.), goods, 2, everything
        if share > .25:
            with pytest.raises(counting.TooFarOff):
                counting.count_before(*arguments)
        else:
            counting.count_before(*arguments)
    equal = counting.Goods(np.zeros(3, np.int64), np.array([0, 10, 59]), np.ones(3))
    for few, dtype in itertools.product((32, 1, 0), (np.float32, np.float64)):
        counting.FEW = few
        ones = np.ones((1, 60), dtype)
        same(counting.count_before(counting.matrix_part(ones), equal, 1, everything),
             [[0, 0, 0], [59, 59, 59], [0, 10, 59]])
        ones[0, 5] = 0
        fewer = replace(everything, columns=np.arange(60) != 10)
        same(counting.count_before(counting.matrix_part(ones), equal, 1, fewer),
             [[1, 1, 1], [57, 58, 57], [0, 9, 57]])
    few = counting.Goods(np.zeros(1, np.int64), np.array([3]), np.full(1, 3, np.uint8))
    part_of = counting.matrix_part(np.arange(60, dtype=np.uint8)[np.newaxis])
    same(counting.count_before(part_of, few, 1, everything), [[3], [0], [0]])
    same(list(counting.in_threads(abs, range(9))), range(9))
    counting.OPEN_AT_ONCE = 2**17


def check_ranges_of_distance():
    """What is chosen has all that may be at a good image's distance; the others are counted."""
    ranges = afresh("ranking.ranges")
    ranges.OF_RANGE, ranges.LEAST = 2, 1
    rng = np.random.default_rng(0)
    for dtype, most, off in itertools.product((np.float32, np.float64), (1024, 5), (0, .004)):
        ranges.MOST = most
        size = rng.integers(30, 90, 8)
        starts = np.cumsum(size) - size
        values = rng.standard_normal(size.sum()).astype(dtype)
        values[starts] = -np.inf, -7, 0., -0., 7, 8, 9, 9
        row = np.sort(rng.choice([0, 1, 2, 4, 5, 7], 20))
        middle = values[starts[row] + rng.integers(1, 30, 20)]
        low, high = (middle - off).astype(dtype), (middle + off).astype(dtype)
        farthest = [max(high[row == k], default=-np.inf) for k in range(8)]
        rows = np.repeat(np.arange(8), size)
        is_near = values <= np.take(farthest, rows)
        values, rows = values[is_near], rows[is_near]
        size = np.bincount(rows, minlength=8)
        found = ranges.among_good(values, size, row, low, high)
        assert found is not None
        chosen, before = found
        same(chosen, np.unique(chosen))
        assert len(chosen) < len(values) * (.5 if most > 5 else .8)
        for k in range(20):
            of_row = np.flatnonzero(rows == row[k])
            among = np.intersect1d(chosen, of_row)
            is_open = (values[of_row] >= low[k]) & (values[of_row] <= high[k])
            assert set(of_row[is_open]) <= {*among}
            same(before[k] + (values[among] < low[k]).sum(), (values[of_row] < low[k]).sum())
    assert ranges.among_good(values, size, row, low, high + np.inf) is None
    assert ranges.among_good(values, size, row, low - np.inf, high) is None
    ranges.LEAST = 99
    assert ranges.among_good(values, size, row, low, high) is None


def check_ranges():
    """Both ends of a range count, and a range beyond every good image is empty."""
    counting = afresh("ranking.counting")
    goods = counting.Goods(np.array([0, 0, 2]), np.array([4, 5, 6]), np.array([.5, .2, .7]))
    assert counting._has_good(
        goods, np.array([0, 0, 0, 1, 2, 2, 0]), np.array([.5, .3, .2, 0, .7, .71, .1]),
        np.array([.6, .4, .2, 1, .7, 1, .15])
    ).tolist() == [True, False, True, False, True, False, False]


def check_a_gallery_of_junk():
    """Where most images are labelled -1, the others are few."""
    distances, query, gallery, *_ = problem(0)
    gallery = Labels(np.where(np.arange(40) % 4, -1, gallery.identity), gallery.camera)
    for rule in IGNORED:
        brute.assert_equal(cases.good_ranks(distances, query, gallery, rule),
                           brute.ranks(distances.tolist(), query, gallery, rule))


def check_shared_counts():
    """One rule keeps what another ignores; one thread has blocks of two tiles."""
    counting, rank, roles = (afresh(f"ranking.{name}") for name in ("counting", "rank", "roles"))
    distances, query, gallery, *_ = problem(0)
    gallery = Labels(np.where(gallery.identity == -1, 9, gallery.identity), gallery.camera)
    counting.TILE = 1
    for rules in ([(), MATLAB], [MATLAB, ()]):
        with using(1):
            ranks = rank.rank(rank.in_parts([lambda: counting.matrix_part(distances)], 6), query,
                              gallery, roles.find_all_roles(query, gallery, rules))
        for rule in rules:
            brute.assert_equal(ranks[rule], brute.ranks(distances.tolist(), query, gallery, rule))
    counting.TILE = 1_000_000


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
    holds(groups, rank=[1, 4, 5, 2, 3, 1], found=[3, 0, 2, 0, 1])
    same((before, hits), [[0, 1, 2, 0, 1, 0], [1, 1, 1, 1, 1, 2]])
    groups, before, hits = metrics.tie_groups(afresh("ranking.good_ranks").from_lists([[1, 4]]))
    same((groups.rank, before, hits), [[1, 4], [0, 1], [1, 1]])
    # The first of a query at the distance of the last of the query before is a group of its own.
    ranks = afresh("ranking.good_ranks").from_lists([[1], [1]])
    same(metrics.tie_groups(ranks)[2], [1, 1])


def check_identities():
    module = afresh("metrics")
    gallery = Labels([8, 9, 7, 8, 9, 9, 6, 7, 5], [2, 2, 2, 2, 2, 2, 2, 2, 1])
    distances = np.array([[.1, .2, .3, .4, .5, .6, .65, .7, .05]] * 2)
    query = Labels([7, 3], [1, 1])
    rows = module.DistanceRows(distances, query, gallery, ["same camera"])
    same(module.identity_ranks(rows), [3, 0])
    same(module.identity_ranks(rows._replace(ignored=[])), [4, 0])
    same(module.identity_ranks(module.DistanceRows(np.array([[1., 2, 3]]), Labels([7], [1]),
                                                   Labels([8, 8, 7], [2] * 3), [])), [2])
    # 7's own is drawn at place 2 or 7 of those of the other camera; 8 is before it with 1/2 or 1,
    # 9 with 1/3 or 1, 6 with 0 or 1.
    curve = module.single_gallery_shot(rows, 4)
    near(curve[0], [1 / 2 * 2 / 3 / 2, (1 - 1 / 2 * 1 / 3) / 2, 1 / 2, 1])
    same(curve[1], [NAN] * 4)
    random, ranks = np.random.RandomState(0), []
    for _ in range(10):
        drawn = {name: places[random.randint(0, len(places))]
                 for name, places in ((8, [0, 3]), (9, [1, 4, 5]), (7, [2, 7]), (6, [6]))}
        ranks.append(sum(place <= drawn[7] for place in drawn.values()))
    same(module.single_gallery_shot_draws(
        rows._replace(distances=distances[:1], query=query[:1]), 4, np.random.RandomState(0))[0],
        [sum(one <= k for one in ranks) / 10 for k in (1, 2, 3, 4)])
    tied = np.array([[1., 1, 1]])
    for ties, expected in (("gallery-order", 1), ("reversed", 3)):
        for identity, rank in (([8, 7, 9], 2), ([7, 8, 9], expected)):
            rows = module.DistanceRows(tied, query[:1], Labels(identity, [2] * 3), [], ties)
            same(module.identity_ranks(rows), [rank])
            near(module.single_gallery_shot(rows, 3)[0], np.arange(1, 4) >= rank)


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
    for name, (mAP, mINP, cmc, counted, first_match) in RESULTS.items():
        result, = evaluated(DISTANCES, QUERY, GALLERY, name)
        near((result.mAP, result.mINP, *result.cmc), (mAP, mINP, *cmc))
        holds(result, counted=counted)
        holds(result.per_query, first_match=first_match)
    matlab_result, drops = evaluated(DISTANCES, QUERY, GALLERY, "matlab", "torchreid")
    holds(matlab_result.per_query, n_good=[2, 0, 0, 1], n_junk=[2, 1, 2, 1],
          inp=[1 / 2, NAN, NAN, NAN],
          status=["ok", "identity absent", "only same camera", "only junk"])
    holds(matlab_result.counts, query=4, gallery=6, gallery_junk=1, gallery_not_loaded=0,
          gallery_distractors=1, gallery_kept=5, good=3, junk_same_camera=2, tied=0)
    assert {name: n for name, n in matlab_result.counts.status.items() if n} == {
        "ok": 1, "identity absent": 1, "only same camera": 1, "only junk": 1}
    assert str(matlab_result.signature).startswith(
        "convention:matlab|ap:trapezoid|unmatched:zero|ties:gallery-order|distances:float64|"
        "queries:4|gallery:6|")
    holds(drops.counts, gallery_not_loaded=1, gallery_kept=5, good=2, junk_same_camera=2)
    never, = evaluated(DISTANCES, QUERY, GALLERY, matlab_with(loads="without label -1"))
    holds(never.counts, gallery_kept=5, junk_same_camera=2)
    holds(drops.per_query, ap=[(1 / 3 + 2 / 4) / 2, NAN, NAN, NAN], n_junk=[1, 0, 1, 0])
    assert drops.per_query.status[3] == "not loaded"
    for part in ("|loads:without label -1|", "|queries:3|gallery:5|"):
        assert part in str(drops.signature)


def matlab_with(**changes):
    return afresh("conventions").CONVENTIONS["matlab"].replace(name="changed", **changes)


def curve(distances, query, gallery, max_memory=None, **changes):
    result, = evaluated(np.array(distances, float), query, gallery, matlab_with(**changes),
                        max_memory=max_memory)
    return result.cmc


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
            ({"ap": "step", "top_k": 2, "recall": "min(top_k, existing)"}, 1 / 2),
            ({"ap": "sklearn-0.19", "top_k": 1}, 1 / 3),
            ({"ap": "step", "arithmetic": "float32"}, None)):
        result, = evaluated(distances, query, gallery, matlab_with(**changes))
        if expected is None:
            expected = float(np.float32(np.float32(1.5) + 3 / 9) / np.float32(3))
            assert result.mAP == result.per_query.ap[0] == expected
        near(result.mAP, expected)
        assert result.counts.tied == 1, changes
        assert result.per_query.n_good == [3] and result.per_query.inp == [3 / 9]
    missed, = evaluated(distances + 1, query, Labels([8] * 8 + [7], [2] * 9),
                        matlab_with(top_k=2, recall="found"))
    assert missed.per_query.ap == [0] and missed.per_query.first_match == [0]
    assert np.isnan(by_lists([[8]], query, gallery).mINP)
    clear, = evaluated(np.array([[1., 1, 2]]), query, Labels([7, 7, 8], [2] * 3), matlab_with())
    assert clear.counts.tied == 0
    for query, gallery, convention, status in (
            (Labels([7], [1]), Labels([7], [1]), matlab_with(), "nothing kept"),
            (Labels([7], [2]), Labels([7, 8], [3, 1]), matlab_with(ignored=("same location",)),
             "only same location"),
            (Labels([7], [1]), Labels([7, 8], [3, 1]), "veri", "none listed")):
        result, = evaluated(np.arange(len(gallery))[np.newaxis], query, gallery, convention,
                            lists=IndexLists([[]], [[]]))
        same(result.per_query.status, [status])


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
            ({"cmc": "single-gallery-shot", "cmc_length": "shortest"}, [0, .25, .5, .5, .5]),
            ({"cmc": "single-gallery-shot", "unmatched": "drop"}, [0, .5, 1, 1, 1, 1])):
        for memory in (None, 1):
            near(curve(distances, query, gallery, max_memory=memory, **changes), expected)
    # Without camera 2, one image of 8 and one of 7.
    near(curve(distances, Labels([7, 5], [2, 2]), gallery,
               cmc="single-gallery-shot-other-cameras"), [0, .5, .5, .5, .5, .5])
    near(curve([[1, 2, 3]] * 2, Labels([7, 8], [1, 1]), Labels([7, 8, 9], [2] * 3),
               cmc="single-gallery-shot"), [.5, 1, 1])
    random, hits = np.random.RandomState(0), 0
    for _ in range(10):
        hits += [0, 2][random.randint(0, 2)] > [1][random.randint(0, 1)]
    same(curve([[1, 2, 3]], Labels([7], [1]), Labels([8, 7, 8], [2] * 3),
               cmc="single-gallery-shot-draws", cmc_length=2), [hits / 10, 1])
    single = curve(distances[[0, 1, 1]], Labels([7, 5, 5], [1, 1, 1]), gallery,
                   arithmetic="float32")
    same(single[2:], [float(np.float32(1) / np.float32(3))] * 4)
    same(curve([[.5]] * 7, Labels([7] * 7, [1] * 7), Labels([7], [2]), cmc="identities"), [1])
    # In single precision all are at one distance, so gallery order decides.
    for arithmetic, expected in (("double", [0, 1]), ("float32", [1, 1])):
        same(curve([[1 + 2e-9, 1 + 1e-9, 1]], Labels([7], [1]), Labels([7, 8, 8], [2] * 3),
                   cmc="identities", arithmetic=arithmetic, ap="step"), expected)
    draws = [matlab_with(cmc="single-gallery-shot-draws", cmc_length=length).replace(
        name=str(length)) for length in (3, 4)]
    for alone, together in zip(draws, evaluated(distances, query, gallery, *draws)):
        same(evaluated(distances, query, gallery, alone)[0].cmc, together.cmc)


def check_cut_lists():
    """The same camera at places 1 and 3 (or 2 and 4), matches at 4 and 7; five places are cut off.

    Ranks 2 and 5 once the two images have left, of which the second was cut off before."""
    query, gallery = Labels([7], [1]), Labels([-1, 7, 8, 7, 7, 8, 8, 7, 8],
                                              [3, 1, 2, 1, 2, 2, 2, 3, 3])
    step = matlab_with(ap="step", ignored=("same identity, same camera",), junk_match="never",
                       top_k=5, loads="without label -1")
    before = step.replace(cut="before-ignoring")
    for convention, ap in ((step, (1 / 2 + 2 / 5) / 2), (before, 1 / 4),
                           (before.replace(recall="found"), 1 / 2),
                           (before.replace(loads="all images", recall="found"), 1 / 3),
                           (before.replace(loads="all images", top_k=4), 0)):
        result, = evaluated(np.arange(9.)[np.newaxis], query, gallery, convention)
        same(result.mAP, ap)
        same(result.per_query.status, ["ok"])
    tied, = evaluated(np.zeros((1, 9)), query, gallery, before.replace(ties="reversed"))
    same(tied.mAP, (1 / 2 + 2 / 5) / 2)


# Ranked lists.

def by_lists(ranked, *labels, **options):
    return afresh("evaluation.functions").evaluate_ranked_lists(ranked, *labels, **options)


def check_ranked_lists():
    """Complete lists against distances in that order; cut ones against brute force."""
    _, query, gallery, of_rules, _ = problem(0)
    lists = of_rules[None]
    order = np.argsort(np.random.default_rng(3).standard_normal((6, 40)), axis=1)
    distances = np.empty(order.shape)
    np.put_along_axis(distances, order, np.arange(40.)[np.newaxis], axis=1)
    matlab_ = afresh("conventions").CONVENTIONS["matlab"]
    for ignored in (*IGNORED, LISTED):
        convention = matlab_.replace(ignored=ignored)
        of_rule = lists if ignored == LISTED else None
        expected, = evaluated(distances, query, gallery, convention, lists=of_rule)
        for ranked, memory in itertools.product((order, list(order)), ("1M", "3K")):
            result = by_lists(ranked, query, gallery, max_memory=memory, convention=convention,
                              lists=of_rule)
            brute.assert_equal(result.ranks, vars(expected.ranks))
            same(result.cmc, expected.cmc)
    cut = np.concatenate([order[:, :12], np.full((6, 2), -1)], axis=1)
    cut[1, 5:] = -1
    brute.assert_equal(by_lists(cut, query, gallery).ranks, brute.ranks(
        distances.tolist(), query, gallery, MATLAB,
        order_of=lambda k: [image for image in cut[k].tolist() if image >= 0]))


def check_wrong_lists():
    labels = Labels([7, 8], [1, 1]), Labels([7, 8, 7], [2, 2, 3])
    names = {"query_names": ["q1.jpg", "q2.jpg"],
             "gallery_names": ["x/a.jpg", "b.png", "x/c.jpg"]}
    for options, ranked, argument, noun in (
            ({}, [[0, 3], [1]], "ranked[0]", "gallery images 0 to 2"),
            ({}, [[0], [-2]], "ranked[1]", "gallery images 0 to 2"),
            ({}, [[0], [1, 2, 1]], "ranked[1]", "1 more than once"),
            ({}, np.array([[0, 1], [-1, 2]]), "ranked[1]", "-1 after the last"),
            ({}, np.array([0, 1]), "ranked", "gallery indices"),
            ({}, np.eye(2), "ranked", "gallery indices"),
            ({}, [["a"], ["b"]], "ranked[0]", "a list of names"),
            ({}, [3, 4], "ranked[0]", "a list"),
            ({}, {"a": [0], "b": [1]}, "ranked", "query_names"),
            (names, {"q1": ["a"], "q3": []}, "ranked", "'q3' is no query"),
            (names, {"q1": ["a"]}, "ranked", "none for 1 of them"),
            (names, {"q1": ["a"], "q1.jpg": ["b"], "q2": []}, "ranked", "each query once"),
            (names, [["a"], ["d"]], "ranked[1]", "'d' is no name"),
            ({"gallery_names": ["a", "b", "a"]}, [["a"], []], "gallery_names", "each name once")):
        refused(argument, noun, by_lists, ranked, *labels, **options)


def check_names_in_lists():
    """Names with and without folder and suffix; one plain name of two images is no name."""
    labels = Labels([7, 8], [1, 1]), Labels([7, 8, 7], [2, 2, 3])
    names = ["x/a.jpg.jpg", "b.PNG", "y/c.jpeg"]
    by_name = {"q2": ["b.jpg", "c"], "q1": ["a", "y/c.jpeg"]}
    result = by_lists(by_name, *labels, query_names=["p\\q1.jpg", "q2.bmp"], gallery_names=names)
    holds(result.ranks, image=[0, 2, 1], rank=[1, 2, 1])
    names = ["x/a.jpg", "y/a.jpg", "b.jpg"]
    refused("ranked[0]", "'a' is no name", by_lists, [["a"], []], *labels, gallery_names=names)
    holds(by_lists([["x/a.jpg"], []], *labels, gallery_names=names).ranks, image=[0])


RANKS = (check_functions_of_ranks, check_orders_of_ties, check_a_gallery_of_junk,
         check_shared_counts, check_ranks)
EXACT = (check_pair_sums, check_estimates, check_bounds, check_refused_features, check_features)
METRICS = (check_other_metrics, check_sums, check_identities, check_average_precision)
RESULT = (check_choices, check_results, check_cut_lists, check_curves)
LISTS = (check_wrong_lists, check_names_in_lists, check_ranked_lists)


#: File: its checks, the quickest first, and its mutants.
MUTANTS = {
    "ranking.roles": ((check_roles,), [
        '(second[shared], kind="{{stable => heapsort}}"',
        '"same identity, same camera": {"camera": np.{{equal} => less_equal}}}',
        "if {{isinstance(lists, IndexLists) => lists is None}} and",
        "(gallery.identity {{!= JUNK => > JUNK + 1}})",
        "good = {{inside & ~junk => inside => ~junk}}", "junk = {{inside &  => }}passed",
        '"camera", lambda camera: camera, np.{{equal => not_equal}}),',
        '"video", lambda video: video, np.{{equal => not_equal}}),',
        '"itself": {"name": operator.{{eq => ne}}',
        "{{        gates.append(lists)\n =>         pass\n}}",
        "{{    junk &= columns[image]\n =>  =>     junk &= columns[image]\n    good &= "
        "columns[image]\n}}",
        'first, side="right") - start{{ =>  + 1}}',
        'first, side="{{left => right}}")', "before = np.cumsum(count){{ - count => }}",
        "np.where(camera == {{3, 2 => 2, 1}},",
        "return kept{{ - np.bincount(self.junk_query, minlength=n_query) => }}",
        "yield queries, {{self.columns & => True &}} every_gate",
        "kept &= every_gate(self.gates, {{queries => slice(0, 1)}}, slice(None))",
        "return_inverse=True)[1].reshape(-1){{ => [::-1]}}",
        "[self.junk_query[pairs]{{ - queries.start => }}, ",
        "(np.arange(len(parts), dtype=np.int64), [len({{images => parts[0]}}) for",
    ]),
    "ranking.gates": (RANKS, [
        "self.image[images], self.query[{{queries => slice(0, 1)}}, np.newaxis]",
        "self.keeps(self.image[image], self.query[{{query => query[::-1]}}])",
        "image=self.image[{{images => :}}]", "passed = {{passed & gate => gate}}.tile",
        "passed {{&= => =}} gate.pairs", "        return self.{{query => image}}\n",
    ]),
    "ranking.rank": (RANKS, [
        "share = 1 / {{max(1, len(groups) * len(parts) => len(parts}})",
        "before[name] = {{counted + before[name] if name in before else  => }}counted",
        "(image {{>= => >}} part.images.start) &",
        "(image {{< => <=}} part.images.stop)", "image[is_inside]{{ - part.images.start => }}",
        "counts = reduce(np.{{add => maximum}}, counted",
        "counts {{= counts + before_among => += before_among}}",
        "order if kept.all() else order{{[kept[order] => [kept}}]",
        "        if {{len(added[rule]) => False}}:\n",
        "union[1:] {{!= union[:-1 => == union[1:}}])",
        "added = left_out{{[~_in(left_out, junk)] => }}",
        "role.columns[image]{{ & every_pair(role.gates, row, image) => }}",
        "keys{{ - n_gallery * query => }}",
        "place[{{np.append(keys, -1)[place] == among => place < len(keys)}}]",
        "added[{{role.columns[image] => (image >= 0)}} &", "gallery.identity {{== => !=}} JUNK)",
        '["{{labelled", " => }}junk"], ', "~is_junk{{ & roles.columns[roles.good] => }}",
        "rank_ = before[0] + before[{{2] + 1 => 2] => 1] + 1}}",
        "{{(n_gallery + 1) + => n_gallery -}} rank_", "tied=before[1, order]{{ + 1 => }}",
        "n_junk=n_gallery - n_kept{{ =>  + 1}}",
        "for keys in ({{good[rule], added[rule] => good[rule], good[rule]}})",
        "{{np.array_equal(keys,  => len(keys) == len(}}among)",
        "np.{{minimum => maximum}}.reduceat(ranks, first)", "[place[good]]{{ + ~kept[good] => }}",
        "order = by_image{{[by_new_rank] => }}",
    ]),
    "ranking.ranges": ((check_ranges_of_distance, check_open_pairs), [
        "{{np.minimum => np.maximum}}.at(lowest", "{{np.maximum => np.minimum}}.at(np",
        "np.isfinite({{width => lowest}}[row])",
        "np.isfinite({{width => highest}}[row])", "np.isinf(per_range)] = {{1 => np.inf}}",
        "number *= {{of_rows(per_range) => 1}}",
        "number += {{2 => 1}}\n", "np.maximum(number, {{1 => -9}}, out",
        "stride = n_ranges{{ + 4 =>  + 2}}", "np.repeat({{of_row => of_row[::-1]}}, size)",
        "dtype=np.int32){{ * stride => }}, size)", "place[...] = number{{ =>  // 2}}",
        "for side in ({{low, high => high, low}}))", "for side in ({{low, high => low, low}}))",
        "astype(np.int64){{ + stride * row => }}", "(place, first, last{{ + 1 => }})",
        "np.cumsum(begun - ended) {{> => >=}} 0", "{{    counts[has_good] = 0\n => }}",
        "before = np.append({{0 => 9}}, np.cumsum(counts))",
        "before[first]{{ - before[stride * row] => }}",
        "np.flatnonzero({{has_good => ~has_good}}.take",
        "n_ranges < {{LEAST => 0}}"]),
    "ranking.counting": ((check_counting, check_open_pairs, check_ranges, *RANKS,
                          check_features), [
        "np.{{less_equal => less}}(self.values", "slice({{block.start +  => }}inner.start",
        "{{        is_near &= counting.columns[self.columns]\n => }}",
        "{{        is_near[counting.left_out_of(self.rows, images.start + self.columns)] = "
        "False\n => }}",
        "[column >= 0]{{ - rows.start => }}, column", "columns=self.columns{{[images] => }}",
        "{{            is_near &= gate.tile(self.rows, self.columns)\n =>             pass\n}}",
        "gates=tuple(gate{{.within(images) => }} for",
        "{{np.where(columns[place] == images, place, -1) => place}}",
        "    place[place == len(columns)] = {{0 => -2}}\n",
        "{{        pairs = pairs[bounds[0][pairs] == bounds[0][pairs]]  # not NaN\n => }}",
        "inside = column {{>= => <}} 0",
        "{{        key += near\n => }}",
        "(rows << {{32 + bits) - width * rows => 32 + bits) => bits) - width * rows}}",
        "{{key[first:last].sort() => pass}}", "row_key + (lowest {{ => + 1 }}<< bits)",
        "(highest {{+ 1  => }}<< bits))",
        "outside(first, last, {{start[row] => 0 * row}}, itself)",
        '            np.searchsorted(start, place, side="{{right => left}}")',
        "nearer{{ + some[1] if some else nearer => }}",
        "- n_inside(first){{ + n_inside(row_start) => }}",
        "np.maximum.accumulate(last[order]){{ =>  - 1}}",
        "np.count_nonzero(values[:end] {{== => >=}} number)",
        "np.count_nonzero(values{{[:end] => }} ==", "flatnonzero(values {{== => >=}} number)",
        'low, side="right"){{ - first[which] => }}',
        "columns.searchsorted({{column[some] => low}}))",
        "np.flatnonzero(last - first {{== => >=}} 1)", "(first[single]) {{== => !=}} column[",
        "~(is_new & {{is_end &  => }}itself[order])", "(is_new & is_end{{ & itself[order] => }})",
        "if {{len(tied) == n_good and  => }}(np.diff",
        " == n_good{{ and (np.diff(numbers) > 0).all() => }}:",
        "else room[:size]){{[:number] => }}", "(value[middle] {{< => <=}} lowest)",
        "~(value[low] {{> => >=}} highest)", "{{(low < end) & => }} ~(value[low]",
        "np.where(is_lower, middle{{ + 1 => }}, low)",
        "np.append(numbers, -1)[place] {{== => >=}} low[tied]",
        "key = (number << 32) + {{order => np.arange(len(order))}}\n",
        "{{(number << 32) => number}} + np.arange",
        "(wanted + place){{ - key.searchsorted(wanted) => }}",
        "{{        counts[1, tied] -= itself[tied]\n => }}",
        "(part.images.start{{ + image => }}, known.image)",
        "np.searchsorted(np.sort({{high => low}}), of_good",
        "{{ - earlier_queries[goods.query] => }})\n",
        "{{last - first - itself => last - first}}, before - first",
        "row, row{{ + goods.image => }}, row + width",
        "{{of_query.sort() => pass}}",
        "values.take(place{{ =>  + 1}}, mode",
        "itself = {{is_near[sought.row, column] => True}} &", "{{ & (column >= 0) => }}",
        "_equal_before(self.values[{{k => 0}}, columns]",
        "near[inside]{{ - width * k => }},",
        "{{self.columns[key[place] & (1 << bits) - 1] => (key[place] & (1 << bits) - 1)}}",
        "{{    values += np.float32(0)  # makes -0 the same as 0\n => }}",
        "{{    number ^= number >> 31 & 0x7FFFFFFF\n => }}",
        "for side in ({{sought.low => sought.high}}, sought.high)",
        "counting.columns {{& => |}} band.columns", "done(share{{ * number / sum(counted) => }})",
        "(upper - lower) / {{8 => 4 => 9}}", "(middle{{ + off => }}).astype",
        "if ({{abs(value - (lower + upper) / 2) => value - (lower + upper) / 2}} >",
        "before[:, pairs] {{+= => =}} counts\n        left_open",
        "np.count_nonzero(counts){{ - len(nan_images) => }}",
        "len(nan_images){{ - np.isin(goods.image[pairs], nan_images) => }}",
        "{{np.searchsorted(nan_images, goods.image[pairs] => len(nan_images}})",
        "{{counts = counts & ~np.isin(np.arange(len(images)), out) => pass}}",
        "counting.gates, slice({{query, query + 1 => 0, 1}}), slice(None))[0]",
        "np.{{fmax => maximum => fmin}}.reduceat",
        "            {{left_open = [] => pass}}\n", "before[:, pairs] {{+= => =}} counts\n  "
        "              reported", "before[:, pairs] {{+= => =}} _count_among",
        "left_open{{.append((tile.rows.start + row, image)) =>  = [(tile.rows.start + row, image)]"
        "}}\n", "(tile.rows.start{{ + row => }}, image)",
        "goods.among(slice(first, last)), {{0.0 => 1.0}}\n",
    ]),
    "ranking.good_ranks": (RANKS, [
        "ranks.query[~np.isin({{pair, other => ranks.image, others.image}})]",
        "inside &= ranks.nth {{<= => <}} np.repeat(left", "(left {{> => >=}} 0)",
        "(left > {{0 => 1}})",
        "replace({{forget_junk_matches(ranks) => ranks}}, n_beyond=lost)",
        "np.arange({{1, len(self.rank) + 1 => len(self.rank)}}) -",
        "start = np.cumsum(self.found){{ - self.found => }}",
        "=rank{{ - 1 => }}, tied=np.ones_like(rank), image=-", "[[row[0], row[{{-1 => 0}}]] if",
        "np.cumsum(~is_junk){{ - ~is_junk => }}", "[(1 + before[is_good{{ & ~is_junk => }}])",
        "(is_junk)), 1 + before[is_good{{ =>  & ~is_junk}}]", "], {{np.size(good) => None}},",
        "inside, left = ranks.rank {{<= => <}} top_k, ", "(ranks.first_match {{<= => <}} top_k) &",
        "np.where(ranks.found > {{0 => 1}}, start, -1)",
        "np.minimum(cut.tied, top_k{{ - cut.nearer => }})",
        "is_junk{{ & ~before_junk => }}, ranks", "{{is_junk & => }} ~before_junk, ranks",
        "{{(first > 0) & => }} (first < ranks",
        " ranks.nearer + ranks.tied {{+ 1  => }}- ranks.rank",
        "image=ranks.image{{[order] => }})", "array if in_place else array{{.copy() => }}, len",
        "np.diff(end {{// BLOCK => // 3}})) + 1",
        "{{len(row) - 1 - stable_order(row[::-1]) => stable_order(-row)}}",
        '    return {{stable_order(row) => np.argsort(row, kind="heapsort")}}\n',
        'return {{np.argsort(values, kind="stable") => order}}\n',
        "np.lexsort(({{ => -}}order[tied], np.cumsum(new)[", "    if {{n_same => False}}:\n",
        "~new{{ | np.append(same, False) => }}",
        "{{(ordered[1:] != ordered[1:]) & (ordered[:-1] != ordered[:-1]) => False}}",
        "np.argsort(_negative(row)){{[::-1] => }}, row", "else {{~row => -row}}\n",
        "if is_nan.{{any() => all()}} else order",
    ]),
    "ranking.exact_distances": ((*EXACT, check_rows_of_features), [
        "{{(dimension + 32) => dimension}} * ROUNDOFF", "gallery_norm{{[columns] => }}.max",
        "{{.clip(min=0) => }}", "np.median(norm{{[longer] => }})", "/ median){{ - 1 => }})",
        "[number {{== => >=}} band for", "SQUARES = {{1e-280 => 0}}, 1e300",
        "square <= {{ => 1e9 * }}SQUARES[1]", "odd{{[rows.any(axis=1)] => }}, rows[",
        "{first_row + odd[0]{{} =>  + 1}}}",
        "check_finite_rows(features, name{{, first_row => }})",
        "{{min(start + step, n_gallery) => start + step}})\n        gallery =",
        "max_memory // {{4 //  => }}row_bytes)\n    starts",
        "if len(known) {{== len(starts)  => }}and",
        "-product / {{gallery_norm => gallery_square}}[image]", "unit: Doubles = {{- => }}product",
        "{{np.where(norm == 0, np.nan, unit) => unit}}",
        "gallery_square[image] - {{2 *  => }}product if",
        'if scaling == "euclidean" else {{- => }}product', "scale * largest{{ * 2 => }}, off",
        "off{{ + slack(0) * largest / scale => }}",
        "slack({{roundings(dimension) => dimension => 4}}))\n",
        "int(first.stop){{ + len(others) => }}", "{{int(first.stop) => 2}} + len(",
        "dimension // {{-(-dimension // INNER) => INNER}}))", "unit[:, {{part => first}}] @",
        "{{product += => _ =}} unit[:, part]", "scaled[:, {{part => first}}].T",
        "return Scale(scale{{ * largest => }}, off, of_query",
        "largest / ({{2 *  => }}scale))",
        "pairs = row % n == {{k => 0}}", "query_square[row {{// => %}} n]",
        'scalings[row {{% n => // n % n}}] == "norm',
        "np.stack(of_scalings, axis={{1 => 0}}).reshape(-1) for",
        "gallery_norm, {{row // n => row % len(query)}},\n",
        "product[pairs], row[pairs] {{// => %}} n, ",
        "np.ones(len(gallery)) if {{{*scalings} == {\"normalized\"} => True}} else",
        "if not (of_query.all(){{ and of_image.all() => }}):",
        "{{of_query.all() and  => }}of_image",
        "    {{values *= rounded(of_query)[:, None] => pass}}",
        "rounded(scale.added[rows]{{ =>  * 2}})",
        "    {{values *= rounded(of_image)[None, :] => pass}}",
        "blocks_of(len(query), shape[0]){{ => [1:]}}",
        "rows.stop), {{- => }}query_norm", "chosen = columns[part]{{ => [1:]}}",
        "Tile(slice(rows.start{{ + inner.start => }}, ",
        "values.size / (len(query) * len({{columns => gallery}}))",
        "({{2 *  => }}query_norm + largest) * largest", "OF_DOUBLE = 2{{ * 2 => }}.0**-29",
        "row_bytes + {{4 *  => }}products", "{{products *  => }}columns",
        "whole = {{len(block) == block[-1] - block[0] + 1 => True}}",
        "ROUNDOFF = 2.0**-{{24 => 34 => 23}}",
        ", right, out=product, dtype=np.{{float64 => float32}}", "blocks_of(count{{ =>  - 1}}, ",
        "chunks[first:first + size{{ =>  - 1}}]", "off = {{1.01 => 0.001}} * slack(_ADDED)",
        "{{ + query.shape[1] * 2.0**-126 => }}",
        "off[too_large] = 0, {{np.inf => 0}}", "        {{sums +=  => }}np.einsum(",
        "return ranked({{highest => lowest}}, row, image), ",
        ", max_memory // {{12 //  => }}(8 * n_gallery", "{{<= 2 => < 0}} * off[k]",
        "if {{close.any => close.all}}():",
        "{{            undecided[k, order[:-1][close]] = True\n => }}",
        "{{            undecided[k, order[1:][close]] = True\n => }}",
        ", square[{{block => :block.stop}}]", "    values[row, image] = exact{{ =>  + 1}}\n",
    ]),
    "ranking.ranked_lists": (LISTS, [
        "np.{{cumsum(kept.reshape(-1)[block.pair] => arange(1, len(block.pair) + 1}})",
        "so_far[place[listed]]{{ - so_far[block.start[query]] => }}", "{{~ => }}is_kept[listed]",
        "listed = place {{>= => >}} 0", "np.full((n, n_gallery), {{-1 => 0}},",
        "for queries in ({{roles.good_query => query}},", "return rows[{{~ => }}filler]",
        "(filler[:, :-1] & {{~ => }}filler[:, 1:])", "{{(block.image < 0) |  => }}",
        "block.image {{>= => >}} block.n_gallery",
        "{{np.count_nonzero(seen, axis=1) < block.length => block.length < 0}}",
        "blocks_of({{len(ranked) => 1}}, ",
    ]),
    "evaluation.lists": (LISTS, [
        "{{matrix.ndim != 2 or  => }}",
        '{{ or matrix.dtype.kind not in "iu" => }}', "if {{k is None => False}}:",
        "if {{k in by_query => False}}:", "if {{missing => False}}:",
        "for k in {{range(len(query_names)) if k not in by_query => ()}}]", "[/{{\\\\ => }}]",
        "flags={{re.IGNORECASE => 0}}", "bmp)){{+ => }}", "if {{name in exact => False}}:",
        "if {{name not in shared} => True}}}", "{{**exact} => }}}",
        "places.get({{word, places.get(short_name(word)) => short_name(word) => word}})",
    ]),
    "metrics": ([*METRICS, *RESULT], [
        "groups.query[groups.tied {{> => >=}} hits]", "return {{np.unique => }}(groups.query[",
        ", old_recall = nth / n_good, (nth - {{1 => 2}}) / ",
        "({{recall - old_recall => 1 / n_good}}) * ((",
        " - old_recall) * {{((old_precision + precision) / 2) => precision}}",
        ") * ({{(old_precision + precision) / 2 => old_precision + precision}})",
        "{{1.0 / n_good_of(ranks) * both / 2 => both / 2 / n_good_of(ranks)}}",
        "{{precision_before(nth, ranks.rank) + => 2 *}} nth / ranks.rank",
        ".where(first, {{ranks.rank ==  => }}1, np.roll(precision",
        "{{np.where(first, ranks.rank == 1, np.roll(precision, 1)) => np.roll(precision, 1)}}",
        "return mean_over_good(ranks, {{ranks.nth / ranks.rank => (ranks.nth + 1) / (ranks.rank + "
        "1)}})",
        "np.divide(total, {{ranks.n_good => np.maximum(ranks.found, 1)}}, out",
        "where=groups.nearer > {{0 => 1}}",
        "recall_step = {{(before + hits) / n_good - before => 1}} / n_good",
        ", {{((before + hits) / n_good - before / n_good) * precision => precision / n_good}})",
        "total = sum_in_float32(ranks, {{ranks.nth / ranks.rank => (ranks.nth / "
        "ranks.rank).astype(np.float32).astype(float)}})",
        "    single = {{np.float32 => np.float64}}\n",
        "{{np.cumsum(values)[-1] / len(values) => np.mean(values) => np.cumsum(values)[-1] / "
        "(len(values) + 1)}}",
        "{{np.cumsum(values.astype(np.float32), dtype=np.float32)[-1] => values.sum() => "
        "values.astype(np.float32).sum()}}",
        ":\n        return {{np.full(len(sums), np.nan) => np.zeros(len(sums))}}",
        # numpy 1 divides single precision by a double in single precision, too.
        *(['sums / {{(sums.dtype.type(n_query) if sums.dtype.kind == "f" else n_query) => '
           "np.float64(n_query)}}"]
          if np.__version__ >= "2" else []),
        "before = {{np.ones => np.zeros}}(len(rank))", "np.divide(nth - 1, rank{{ - 1 => }},",
        "first = ({{nth == 1) | ( => }}",
        "return ranks, nth{{ - 1, np.ones_like(nth) => , np.ones_like(nth) =>  - 1, nth}}",
        "return groups, nth[index]{{ - 1 => }}, hits",
        "total = {{np.bincount(ranks.query, weights=terms, minlength=len(ranks.found)) => "
        "np.array([terms[ranks.query == k].sum() for k in range(len(ranks.found))])}}",
        "{{(total[more] + terms[start[more] + k]) => total[more] + terms[start[more] + k]}}.",
        "more = more[ranks.found[more] > k{{ =>  + 1}}]",
        "{{(ranks.n_good == 0) & (ranks.n_kept > 0) => ranks.n_good == 0 => ranks.found == 0}}",
        # first_match >= 0 is the same: the count of zeros is left out of the curve.
        "(first_match {{<= => <}} length)", "minlength=length + 1)[{{1: => :-1}}]",
        "place = ranks.rank - {{ranks.nth => 1}}",
        "weight = 1.0 / {{n_good_of(ranks) => np.ones(len(place))}}[inside]",
        "inside = place {{< => <=}} length",
        " per_query_share({{np.cumsum(steps) => steps}}, n_query)",
        "ranks.rank {{- ranks.nth < => <=}} k",
        " / np.maximum({{ranks.n_good => ranks.found}}, 1)\n",
        "(ranks.first_match {{> => >=}} 0) &", "ranks.first_match {{<= => <}} k",
        "return _hits(ranks, ranks.rank <= k) / {{k => (k + 1)}}",
        "return _hits(ranks, ranks.rank {{<= => <}} k) / k",
        "return _over(_hits(ranks, ranks.rank <= k), {{ranks.n_good => ranks.found}})",
        "return _over(_hits(ranks, ranks.rank {{<= => <}} k), ",
        "    inside = ranks.rank {{<= => <}} k\n",
        "+ ranks.rank[inside] {{- 1 => % k}},",
        "return hits / {{np.arange(1, k + 1) => k}}, _over(",
        ", _over(hits, {{ranks.n_good[:, np.newaxis] => hits[:, -1:]}})",
        "{{(ranks.found == ranks.n_good) & (ranks.found > 0) => ranks.found > 0}}",
        "(ranks.found)[complete] - {{1 => ranks.found[complete]}}", "rank[k] = {{1 +  => }}np",
        "{{np.count_nonzero => np.sum}}(np.bincount(", "first = row[good].{{min => max}}()",
        "flatnonzero({{kept &  => }}(row < first", "(row {{< => <=}} first))",
        'in_order(row, {{ties => "gallery-order"}})',
        "order[:np.{{argmax => argmin}}(", "DRAWS = {{10 => 9}}",
        "(before[:, -1] > 0) & (before[:, {{-2 => 0}}] > 0)",
        "beaten = ahead[:, {{:-1 => 1:}}] / ahead[:, -1:]",
        "number *= {{1 -  => }}chance[:, np.newaxis]", "{{.mean => .max}}(axis=0), 1.0)",
        "n_images, np.argsort({{ => -}}first)", "flatnonzero(order {{== 0 => == 1}}",
        "start[order] {{ => * 0 }}+ random.randint",
        "np.count_nonzero(drawn {{<= => <}} drawn[good])",
        "np.arange({{1, length + 1 => length}})).sum",
        "{{            order = order[kept[order]]\n => }}",
        'order = in_order(row, {{self.ties => "gallery-order"}})',
    ]),
    "signature": (RESULT, [
        "if {{getattr(convention, name) != getattr(default, name)} => name == 'cmc'}}}",
    ]),
    "evaluation.engine": (RESULT, [
        "n_junk=ranked.n_junk{{ - np.count_nonzero(~in_gallery) => }})",
        "whole=lambda: {{ranks.of(convention.of_whole_list) => ranked}})",
        "status[{{absent & ~np.isin(query.identity, gallery.identity) => ~np.isin(query.identity, "
        "gallery.identity) & ~absent}}]",
        "status[{{~absent & ~matched => ranks.n_good < 0}}]",
        "status[(ranks.n_kept {{== => <}} 0)",
        "(side if {{mask.all() => True}} else side[mask]",
    ]),
    "result.made": (RESULT, [
        "images.junk {{- n_absent  => }}if", "images.gallery - ignored_junk{{ - n_absent => }}",
        "per_query.n_junk{{ - ignored_junk => }}",
    ]),
    "result.formula": (RESULT, [
        "in_list = {{of_queries(ranks, loaded) => ranks}}",
        "in_order = {{convention.in_order(in_list) => in_list}}",
        "in_list = {{convention.in_cut_list(\n            in_order, lambda: convention.in_order("
        "of_queries(whole(), loaded))) => in_order}}",
        "lambda: {{convention.in_order(of_queries(whole(), loaded)) => in_list}})",
        "listed = {{in_list if which.is_whole else  => }}convention.cut_list(in_list)",
        "cut = {{convention.cut_off(in_list) => in_list}}",
    ]),
    "evaluation.ranks": (RESULT, [
        " = distances{{ if loaded.all() else distances[:, loaded] => [:, :loaded.sum()]}}",
        "{{values = ARITHMETIC[arithmetic].distances(values) => pass}}",
        "np.random.RandomState({{0 => len(key[1])}}) for key",
        "{{self._random = {key: np.random.RandomState(0) for key in of_rows} => one = "
        "np.random.RandomState(0)\n        self._random = {key: one for key in of_rows}}}",
        "{{(*convention.ignored, *convention.curve.also_ignored) => convention.ignored}}",
        "self._gallery.identity{{[loaded] => }}",
        "curve_of_ranks(ranks, self._length(convention{{, ranks.n_kept => }})",
        "{{[:length] => }}\n        return convention.curve_of_ranks",
    ]),
    "conventions.convention": (RESULT, [
        "{{rule.float32 => rule.exact}} if self.arithmetic",
        "{{rule.grouped if TIES[self.ties].grouped else  => }}None",
        "{{JUNK_MATCH[self.junk_match].apply(TIES[self.ties].order(ranks)) => "
        "TIES[self.ties].order(ranks)}}",
        ".junk_match].apply({{TIES[self.ties].order(ranks) => ranks}})",
        "return ranks{{ if self.top_k is None else truncate(ranks, self.top_k) => }}",
        "cut{{ if n_good is ranks.n_good else replace(cut, n_good=n_good) => }}",
        "return ({{ARITHMETIC[self.arithmetic].curve(curve, n_query) if self.curve.counts else  "
        "=> }}curve)",
        "len(n_good) if {{UNMATCHED[self.unmatched].in_cmc => True}} else",
        "int(np.count_nonzero(n_good{{ =>  > 1}}))",
        "{{min(int(self.cmc_length), len(identity)) => int(self.cmc_length)}}",
        'return {{("label -1", *self.ignored) => self.ignored}}',
    ]),
    "conventions.choices": (RESULT, [
        "return values[n_good > {{0 => 1}}]",
        "beyond(ranks, truncate({{whole() => ranks}}, top_k))",
        "return {{beyond(ranks, truncate(whole(), top_k)) => truncate(whole(), top_k)}}",
        "np.where(matched, values, {{0.0 => 1.0}})",
        "np.where({{matched => ~np.isnan(values)}}, values, ",
        "{{np.where(in_list > 0, in_list, n_good) => in_list => n_good}}",
        "np.asarray(identity != {{JUNK => 0}})",
        "(values, minlength=length + 1)[{{1:length + 1 => :length}}]",
        "{{values[~np.isnan(values).any(axis=1)] => np.nan_to_num(values[:, :1] + 0 * values)}}",
        "{{np.cumsum(matched, axis=0) => matched}}[-1]", "{{n_kept.min => n_kept.max}}(initial",
        " identity, n_kept: len({{np.unique(identity) => identity}})",
        "(curve * n_query).round(){{.astype(np.float32) => }}",
    ]),
}


def test_mutants_of_every_file():
    files = {f"ranking.{path.stem}" for path in (PACKAGE / "ranking").glob("[!_]*.py")}
    assert set(MUTANTS) == files | {
        "metrics", "evaluation.engine", "result.made", "result.formula", "evaluation.lists",
        "evaluation.ranks",
        "conventions.convention", "conventions.choices", "signature"}


@pytest.mark.parametrize("check", all_checks(MUTANTS))
def test_the_fast_path_itself_passes(check):
    with world(ROOMS):
        check()


@pytest.mark.nightly
@pytest.mark.parametrize("name, snippet, replacement", each(MUTANTS))
def test_mutant_is_caught(name, snippet, replacement):
    assert is_caught(ROOMS, MUTANTS[name][0], name, snippet, replacement)
