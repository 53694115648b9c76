"""Small faults, put into the device path one at a time, must be caught by a quick set of checks.

The checks compare with the path in main memory, and with numpy's sums.
"""
import functools
from dataclasses import replace

import numpy as np
import pytest

from reid_ref import CONVENTIONS, Labels, evaluate, evaluate_distances
from reid_ref.arrays.device import where_they_are
from tests.cases import market_like, special
from tests.ranking.devices.common import assert_same, problem, quietly
from tests.nightly import cases
from tests.proof.mutants import afresh, all_checks, each, is_caught, world

ROOMS = ("ranking", "evaluation")
METRICS = ("euclidean", "cosine", "dot")
SEVERAL = ["matlab", "torchreid-function", "simpleir",
           replace(CONVENTIONS["simpleir"], name="places", ignored=("label -1", "same camera"))]


def full(torch):
    return torch.OutOfMemoryError("CUDA out of memory")


def small(seed):
    """Set small tiles in the rooms as they are loaded now."""
    rng = np.random.default_rng(seed)
    parts = afresh("ranking.on_device")
    parts.TILE, parts.ROWS, parts._OPEN_PAIRS = (int(rng.integers(2, most))
                                                 for most in (70, 5, 30))
    parts.AT_ONCE = int(rng.integers(1, 500))


@functools.lru_cache
def of_features(seed):
    query, gallery, *both = problem(seed, "int16" if seed % 7 == 0 else "float32")
    options = {"metric": METRICS[seed % 3], "normalize": bool(seed // 3 % 2)}
    return query, gallery, both, options, quietly(evaluate, query, gallery, *both, **options,
                                                  convention=SEVERAL)


def check_features(torch, seeds=range(30)):
    for seed in seeds:
        if seed == 15:
            small(seed)
        query, gallery, both, options, expected = of_features(seed)
        told = []
        found = quietly(afresh("evaluation.functions").evaluate, torch.tensor(query),
                        torch.tensor(gallery), *both, **options, convention=SEVERAL,
                        progress=told.append)
        assert_same(found[0], expected[0])
        assert found[1] == expected[1] and sum(told) == len(query)
    told = []
    quietly(afresh("evaluation.functions").evaluate, torch.ones(2, 3), torch.ones(4, 3),
            Labels([1, 2], [1, 1]), Labels([3, 3, 4, 4], [2] * 4), progress=told.append)
    assert sum(told) == 2
    zeros, both = torch.zeros(2, 3), (Labels([1, 2], [1, 1]), Labels([1, 2], [2, 2]))
    for normalize in (False, True):
        said = quietly(afresh("evaluation.functions").evaluate, zeros, zeros, *both,
                       normalize=normalize)[1]
        assert len(said) == 2 * normalize and all("cannot be normalised" in one for one in said)


@functools.lru_cache
def of_matrix(seed):
    make = special if seed % 2 else market_like
    distances, *both = make(seed, **({} if seed % 2 else {"levels": 12}))
    if seed % 4 == 2:
        distances = (distances - 128).astype(np.int8)
    if seed % 8 == 4:
        distances = 1 + 1e-12 * distances  # one number in float32
    return distances, both, quietly(evaluate_distances, distances, *both, convention=SEVERAL)


def check_matrices(torch, seeds=range(12)):
    for seed in seeds:
        if seed == 6:
            small(seed)
        distances, both, expected = of_matrix(seed)
        found = quietly(afresh("evaluation.functions").evaluate_distances,
                        torch.tensor(distances), *both, convention=SEVERAL)
        assert_same(found[0], expected[0])
        assert found[1] == expected[1]


def check_sums(torch, lengths=range(1, 290)):
    """Numbers of very different size and both signs, whose sum shows the order of addition."""
    rng = np.random.default_rng(0)
    for length in [*lengths, 384, 512, 768, 1000, 2048, 3001, 8200, 100_003]:
        products = rng.standard_normal((4, length)) * np.exp(4 * rng.standard_normal(length))
        found = afresh("ranking.on_device").row_sums(torch.from_numpy(products)).numpy()
        np.testing.assert_array_equal(found, products.sum(axis=1))
        assert length != 2048 or (np.cumsum(products, axis=1)[:, -1] != found).any()


def check_the_bound(torch):
    """What exact distances decide is few; what is far off is refused; the range is the bound's."""
    rng = np.random.default_rng(5)
    query, gallery = (rng.standard_normal((n, 1100)).astype(np.float32) for n in (6, 90))
    both = where_they_are(torch.tensor(query), torch.tensor(gallery))
    parts, row = afresh("ranking.on_device"), np.arange(6)
    part = parts.feature_parts(*both, "cosine", True)[0](np.float32)
    low, high = part.bands[0].bounds(row, np.zeros(6))
    np.testing.assert_allclose(high - low, 2 * 32 * 2.0**-24, rtol=1e-3)
    exact = part.exact(row, row) / np.sqrt((query.astype(float)**2).sum(axis=1))
    tile = next(part.bands[0].tiles(part.bands[0].columns)).values.numpy()
    assert tile.dtype == np.float64
    np.testing.assert_allclose(tile[row, row], exact, rtol=0, atol=1e-14)


def check_full_memory(torch):
    sources = afresh("ranking.on_device")
    there = where_they_are(torch.ones(2))[0]
    assert sources.or_in_main_memory(lambda one: type(one), np.ones(2)) is np.ndarray
    seen = []

    def once(one):
        seen.append(type(one))
        if len(seen) == 1:
            raise full(torch)
        return one.tolist()

    assert sources.or_in_main_memory(once, there) == [1, 1] and seen[1] is np.ndarray
    with pytest.raises(KeyError):
        sources.or_in_main_memory(lambda one: {np.ndarray: 0}[type(one)], there)


#: File to its checks and its mutants: a snippet that is there once, and what replaces it.
MUTANTS = {
    "ranking.on_device": ([check_full_memory, check_features, check_matrices,
                           check_the_bound, check_sums], [
        ("tile.values <= on_device(far", "tile.values < on_device(far"),
        ("query_place[:, None] != place[None, :]", "query_place[:, None] == place[None, :]"),
        ("np.sort(row * len(images) + column)", "row * len(images) + column"),
        ("        key = key[take(left_out, at) != key]\n", ""),
        ("at < len(row), at", "at > 0, at"),
        ("[on_device(low), values", "[on_device(high), values"),
        ("argsort(xp.concat", "argsort(-xp.concat"),
        ("take(order, xp.argsort(take(rows, order), stable=True))", "order"),
        ("which < len(pairs), which, which", "which >= 0, which, which"),
        ("order < len(pairs) + n_image", "order <= len(pairs) + n_image"),
        ("first - row_start[row]", "first"),
        ("nonzero(is_image)[0]) - len(pairs)", "nonzero(is_image)[0])"),
        ("take(image, in_order % width)", "take(image, in_order // width)"),
        ("[bounds[0][pairs] == bounds[0][pairs]]", ""),
        ("other = open_image != goods", "other = open_image >= 0 * goods"),
        ("// _OPEN_PAIRS", "// (1 + 0 * _OPEN_PAIRS) * 0 + np.arange(len(pairs)) % 2"),
        ("        if not part.is_exact:\n", "        if False:\n"),
        ("before[0, pairs] += nearer", "before[0, pairs] = nearer"),
        ("yield tile.share, ", "yield 2 * tile.share, "),
        ("min(start + step, count)", "start + step"),
        ('== "OutOfMemoryError"', '!= "OutOfMemoryError"'),
        ("on_device(-scales.query)", "on_device(scales.query)"),
        ("on_device(1 / scales.distance[", "on_device(.5 / scales.distance["),
        ('{"float16": "float32", "bool": "uint8"}', '{"bool": "uint8", "float64": "float32"}'),
        ("row != row", "row == row"),
        ('if distances.dtype.kind != "f"', 'if distances.dtype.kind == "f"'),
        ("_BLOCK, _LANES = 128, 8", "_BLOCK, _LANES = 64, 8"),
        ("_BLOCK, _LANES = 128, 8", "_BLOCK, _LANES = 128, 4"),
        ("width // 2 // _LANES * _LANES", "width // 2"),
        ("(pairs[:, 0] + pairs[:, 1]) + (pairs[:, 2] + pairs[:, 3])",
         "pairs[:, 0] + pairs[:, 1] + pairs[:, 2] + pairs[:, 3]"),
        ("total, whole = products[:, 0], 1", "total, whole = products[:, 0], 0"),
        ("xp.float64) for side, index", "xp.float32) for side, index"),
        ('normalize or metric == "cosine"', "True"),
        ("height * (piece.stop", "2 * height * (piece.stop"),
        ("is_there and is_out_of_memory(error)", "is_there and error"),
        ("lambda dimension: 0", "lambda dimension: dimension"),
    ]),
}


@pytest.mark.parametrize("check", all_checks(MUTANTS))
def test_the_device_path_itself_passes(torch, there, check):
    with world(ROOMS):
        check(torch)


@pytest.mark.nightly
@pytest.mark.parametrize("check, more", [
    (check_features, range(30, 200)), (check_matrices, range(12, 100)),
    (check_sums, range(290, 5000))])
def test_more_problems(torch, there, check, more):
    check(torch, more)


@pytest.mark.parametrize("name, snippet, replacement", each(MUTANTS, cases(10, 1)))
def test_mutant_is_caught(torch, there, name, snippet, replacement):
    assert is_caught(ROOMS, MUTANTS[name][0], name, snippet, replacement, torch,
                     also=[RuntimeError])
