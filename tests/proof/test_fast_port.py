"""Fast path against the scripts: every AP, CMC and mAP the same double as the port's and Octave's.

On random and hostile input; Octave runs live.
"""
import numpy as np
import pytest

import reid_ref
from reid_ref import Labels, matlab
from tests import cases
from tests.nightly import cases as sample
from tests.octave import col

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

SEEDS = range(sample(8, 40))
PROBLEMS = [
    *(cases.market_like(seed, levels=levels) for seed in SEEDS for levels in (None, 1, 3, 12)),
    *(cases.special(seed) for seed in SEEDS),
    cases.market_like(3, dtype=np.float32), cases.market_like(4, levels=9, dtype=np.uint8),
    cases.market_like(5, n_query=1), cases.market_like(6, n_gallery=1),
    cases.market_like(7, cameras=1)]
#: Above 64 good images the ranks come from a sort.
PROBLEMS += [cases.market_like(1, n_query=9, n_gallery=700, identities=2, levels=levels)
             for levels in (None, 7)]


def port(script, arguments, nout):
    return [getattr(matlab, script)(*given)[:nout] for given in arguments]


@pytest.fixture(params=["port", pytest.param("octave", marks=pytest.mark.octave)])
def run(request):
    """Call a script with each of several tuples of arguments, by the port or in Octave."""
    return port if request.param == "port" else request.getfixturevalue("octave").run


def arguments(distances, query, gallery):
    return (distances.T, col(gallery.identity), col(query.identity),
            col(gallery.camera), col(query.camera))


def assert_as_script(problems, run=port, convention="matlab", **options):
    """Compare curve and mAP, and every AP: the mAP of the query alone, NaN in evaluation_mars."""
    results = [reid_ref.evaluate_distances(*problem, convention=convention, **options)
               for problem in problems]
    script = {"matlab": "evaluation", "mars": "evaluation_mars"}[convention]
    answers = run(script, [arguments(*problem) for problem in problems], nout=2)
    for result, (cmc, map) in zip(results, answers, strict=True):
        np.testing.assert_array_equal(result.cmc, np.ravel(cmc))
        np.testing.assert_array_equal(result.mAP, np.ravel(map)[0])
    single = [arguments(distances[k:k + 1], query[k:k + 1], gallery)
              for distances, query, gallery in problems for k in range(len(query))]
    aps = np.concatenate([result.per_query.ap for result in results])
    np.testing.assert_array_equal(aps if convention == "mars" else np.nan_to_num(aps), [
        np.ravel(map)[0] for _, map in run(script, single, nout=2)])
    return results


@pytest.mark.parametrize("convention", ["matlab", "mars"])
def test_random_and_special_values(run, convention):
    results = assert_as_script(PROBLEMS, run, convention)
    assert results[-1].per_query.n_good.max() > 64


@pytest.mark.parametrize("dtype", [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64", ">f4", ">f8"])
def test_every_dtype(dtype):
    distances, query, gallery = cases.market_like(5, levels=2 if dtype == "bool" else 9)
    assert_as_script([(distances.astype(dtype), query, gallery)])
    if np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize == 8:
        # A double, or a single, makes many of them one.
        assert_as_script([(2**60 + distances.astype(dtype), query, gallery)])


@pytest.mark.parametrize("layout", ["C", "F", "strided", "readonly"])
def test_every_memory_layout(layout):
    distances, query, gallery = cases.market_like(4)
    if layout == "F":
        distances = np.asfortranarray(distances)
    elif layout == "strided":
        distances = np.repeat(np.repeat(distances, 2, axis=0), 2, axis=1)[::2, ::2]
    elif layout == "readonly":
        distances.flags.writeable = False
    before = distances.copy()
    assert_as_script([(distances, query, gallery)])
    np.testing.assert_array_equal(distances, before)


@pytest.mark.parametrize("dtypes", [
    ("uint16", "int16", "uint8"), ("float32", "float64", "int64"), ("int8", "int8", "int8")])
def test_label_dtypes(dtypes):
    # Market-1501's own: query labels uint16, gallery labels int16, cameras uint8.
    distances, query, gallery = cases.market_like(6)
    identity = np.abs(query.identity)
    plain = reid_ref.evaluate_distances(distances, Labels(identity, query.camera), gallery)
    given = [column.astype(dtype)[:, np.newaxis] for column, dtype in zip(
        (identity, gallery.identity, query.camera, gallery.camera), (*dtypes, dtypes[2]))]
    typed = reid_ref.evaluate_distances(distances, Labels(given[0], given[2]),
                                        Labels(given[1], given[3]))
    cases.same(typed, plain)
    cmc, map, _, _ = matlab.evaluation(distances.T, given[1], given[0], given[3], given[2])
    assert typed.mAP == map
    np.testing.assert_array_equal(typed.cmc, cmc)
