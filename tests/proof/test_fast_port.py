"""Port against fast path: every AP, CMC and mAP the same double, on random and hostile input."""
import numpy as np
import pytest

import reid_ref
from reid_ref import Labels, matlab
from tests import cases as made
from tests.nightly import cases

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def port_ap(distances, query, gallery):
    """AP of each query from compute_AP of the port."""
    answers = []
    for k in range(len(query)):
        same = gallery.identity == query.identity[k]
        own = gallery.camera == query.camera[k]
        junk = np.concatenate([np.flatnonzero(gallery.identity == -1), np.flatnonzero(same & own)])
        index = np.argsort(distances[k], kind="stable")
        answers.append(matlab.compute_AP(np.flatnonzero(same & ~own), junk, index)[0])
    return np.array(answers)


def assert_equal_to_port(distances, query, gallery, convention="matlab", **options):
    fast = reid_ref.evaluate_distances(distances, query, gallery, convention=convention, **options)
    script = {"matlab": matlab.evaluation, "mars": matlab.evaluation_mars}[convention]
    cmc, mAP, _, _ = script(
        distances.T, gallery.identity, query.identity, gallery.camera, query.camera)
    np.testing.assert_array_equal(fast.per_query.ap, port_ap(distances, query, gallery))
    np.testing.assert_array_equal(fast.cmc, cmc)
    np.testing.assert_array_equal(fast.mAP, mAP)
    return fast


@pytest.mark.parametrize("seed", range(cases(8, 40)))
@pytest.mark.parametrize("levels", [None, 1, 3, 12])
def test_random(seed, levels):
    assert_equal_to_port(*made.market_like(seed, levels=levels))


@pytest.mark.parametrize("seed", range(cases(8, 40)))
def test_special_values(seed):
    assert_equal_to_port(*made.special(seed))


@pytest.mark.parametrize("convention", ["matlab", "mars"])
@pytest.mark.parametrize("seed", range(5))
def test_conventions_of_the_scripts(convention, seed):
    assert_equal_to_port(*made.market_like(seed), convention)


@pytest.mark.parametrize("levels", [None, 7])
def test_many_good_images(levels):
    # Above 64 good images the ranks come from a sort.
    fast = assert_equal_to_port(
        *made.market_like(1, n_query=20, n_gallery=700, identities=2, levels=levels))
    assert fast.per_query.n_good.max() > 64


@pytest.mark.parametrize("dtype", [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64", ">f4", ">f8"])
def test_every_dtype(dtype):
    distances, query, gallery = made.market_like(5, levels=2 if dtype == "bool" else 9)
    assert_equal_to_port(distances.astype(dtype), query, gallery)
    if np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize == 8:
        # A double, or a single, makes many of them one.
        assert_equal_to_port(2**60 + distances.astype(dtype), query, gallery)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_whole_numbers_beyond_doubles_keep_their_order(dtype):
    distances = np.array([[2**53 + 1, 2**53]], dtype=dtype)
    query, gallery = Labels([1], [1]), Labels([1, 2], [2, 2])
    assert reid_ref.evaluate_distances(distances, query, gallery).per_query.first_match == [2]
    assert_equal_to_port(distances, query, gallery)


@pytest.mark.parametrize("block_size", [1, 2, 5, 12, 100])
def test_every_block_size(block_size):
    distances, query, gallery = made.special(3)
    whole = reid_ref.evaluate_distances(distances, query, gallery)
    blocks = assert_equal_to_port(distances, query, gallery,
                                  max_memory=block_size * distances[0].nbytes)
    assert blocks.mINP == whole.mINP
    for name in reid_ref.PerQuery.__dataclass_fields__:
        np.testing.assert_array_equal(
            getattr(blocks.per_query, name), getattr(whole.per_query, name))


@pytest.mark.parametrize("layout", ["C", "F", "strided", "readonly"])
def test_every_memory_layout(layout):
    distances, query, gallery = made.market_like(4)
    if layout == "F":
        distances = np.asfortranarray(distances)
    elif layout == "strided":
        distances = np.repeat(np.repeat(distances, 2, axis=0), 2, axis=1)[::2, ::2]
    elif layout == "readonly":
        distances.flags.writeable = False
    before = distances.copy()
    assert_equal_to_port(distances, query, gallery)
    np.testing.assert_array_equal(distances, before)


@pytest.mark.parametrize("dtypes", [
    ("uint16", "int16", "uint8"), ("float32", "float64", "int64"), ("int8", "int8", "int8")])
def test_label_dtypes(dtypes):
    # Market-1501's own: query labels uint16, gallery labels int16, cameras uint8.
    distances, query, gallery = made.market_like(6)
    known = np.abs(query.identity)
    plain = reid_ref.evaluate_distances(distances, Labels(known, query.camera), gallery)
    typed = reid_ref.evaluate_distances(
        distances, Labels(known.astype(dtypes[0])[:, np.newaxis], query.camera.astype(dtypes[2])),
        Labels(gallery.identity.astype(dtypes[1])[:, np.newaxis],
               gallery.camera.astype(dtypes[2])))
    np.testing.assert_array_equal(typed.per_query.ap, plain.per_query.ap)
    cmc, mAP, _, _ = matlab.evaluation(
        distances.T, gallery.identity.astype(dtypes[1]), known.astype(dtypes[0]),
        gallery.camera.astype(dtypes[2]), query.camera.astype(dtypes[2]))
    assert typed.mAP == mAP
    np.testing.assert_array_equal(typed.cmc, cmc)


def test_the_fast_path_never_ranks_through_the_port(monkeypatch):
    # The two share no code: with the port broken, the fast path still answers.
    distances, query, gallery = made.market_like(2)
    expected = reid_ref.evaluate_distances(distances, query, gallery).mAP

    def broken(*_):
        raise AssertionError("the fast path called the port")
    for name in matlab.__all__:
        monkeypatch.setattr(matlab, name, broken)
    assert reid_ref.evaluate_distances(distances, query, gallery).mAP == expected
