"""re_ranking, MahDist and my_pdist2 in live Octave against the ports.

Whole numbers make every product exact, and then the answers are equal to the last bit on any
BLAS. For other features they are where Octave's BLAS adds one term after another, as the
reference BLAS does; with another library the last bits of the distances differ.
"""
import numpy as np
import pytest

from reid_ref.matlab import MahDist, _values, my_pdist2, re_ranking
from tests.nightly import cases as sample
from tests.proof.rerank_cases import CASES, SINGLE, duplicates, near_one, whole_features

pytestmark = pytest.mark.octave

#: What another order of summation may change, relative to the largest: products of about 12
#: terms, and re-ranked distances.
OTHER_ORDER = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-5}
RE_RANKED = {np.dtype(np.float32): SINGLE}


def as_matlab(case):
    """Every number as a double, as MATLAB has it, and matrices as they are."""
    return tuple(value if np.ndim(value) else float(value) for value in case)


def compare(octave, function, cases, off=None):
    """The port is the script of its name, exactly, or within what is given for each type."""
    answers = octave.run(function.__name__, list(map(as_matlab, cases)))
    for case, (theirs,) in zip(cases, answers, strict=True):
        ours = function(*case)
        theirs = theirs.reshape(ours.shape)
        # oct2py makes a double of a single number
        assert ours.dtype == theirs.dtype or theirs.size == 1
        atol = off[ours.dtype] * np.abs(theirs).max() if off else 0
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol)


@pytest.fixture(scope="module")
def one_after_another(octave):
    """Does Octave's BLAS add the terms of a product one after another?"""
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        A, B = rng.random((2, 40, 200)).astype(dtype)
        ((theirs,),) = octave.run("mtimes", [(A, B.T.copy())])
        if not np.array_equal(theirs, _values.product(A, B.T)):
            return False
    return True


# ---------------------------------------------------------------- exact on any BLAS

@pytest.mark.parametrize("name", CASES)
def test_cases(octave, name):
    compare(octave, re_ranking, [CASES[name]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k1", sample([2, 3, 9, 22], [1, 2, 3, 4, 7, 10, *range(15, 28)]))
def test_whole_features(octave, k1, dtype):
    compare(octave, re_ranking, [
        whole_features(100 * k1 + k2, k1, k2, lambda_, n=30, levels=levels, dtype=dtype)
        for k2, lambda_, levels in (
            (1, 0.3, 9), (2, 0, 3), (6, 0.3, 20), (7, 1, 5))])


@pytest.mark.parametrize("k1", sample([4, 5], [1, 4, 5, 19]))
def test_duplicates(octave, k1):
    compare(octave, re_ranking, [duplicates(k1 + copies, k1, k2, copies=copies)
                                 for copies in (2, 8, 25, 29) for k2 in (1, 2, 6)])


def test_tiny_sets(octave):
    compare(octave, re_ranking, [
        whole_features(n, k1, k2, n=n, query_num=query_num, d=2)
        for n in (2, 3, 4, 5) for k1 in range(1, n) for k2 in (1, 2, n)
        for query_num in {1, n - 1}])


@pytest.mark.parametrize("value", [np.nan, np.inf, "equal", "minus"])
def test_values_that_no_feature_should_have(octave, value):
    """NaN, infinities, images at distance 0 from all others, negative distances."""
    cases = []
    for seed in range(4):
        feat, M, *rest = whole_features(seed, 5, 1 + seed % 4, n=20)
        if value == "equal":
            feat[:] = 3
        elif value == "minus":
            M = -1.0
        else:
            feat[0, seed] = value
        cases.append((feat, M, *rest))
    compare(octave, re_ranking, cases)


def test_k1_may_not_be_larger_than_the_set(octave):
    from oct2py import Oct2PyError
    for k1, k2 in ((10, 2), (4, 11)):
        case = whole_features(1, k1, k2, n=10, query_num=3)
        with pytest.raises(Oct2PyError, match="out of bound"):
            octave.run("re_ranking", [as_matlab(case)])
        with pytest.raises(ValueError, match="^k[12]: "):
            re_ranking(*case)


# ---------------------------------------------------------------- any features

@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_normalised_features(octave, one_after_another, dtype):
    """As the drivers have them: each column divided by its 2-norm."""
    cases = []
    for seed, (k1, k2) in enumerate(sample(
            [(20, 6), (7, 1)], [(20, 6), (7, 1), (19, 6), (23, 1), (30, 15)])):
        feat = np.random.default_rng(seed).standard_normal((16, 40))
        feat = (feat / np.linalg.norm(feat, axis=0)).astype(dtype)
        cases.append((feat, 1.0, 1.0, 15, k1, k2, 0.3))
        projection = np.random.default_rng(seed).standard_normal((16, 6))
        cases.append((feat, projection.T @ projection, projection, 15, k1, k2, 0.3))
    compare(octave, re_ranking, cases, None if one_after_another else RE_RANKED)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances(octave, one_after_another, dtype, whole):
    rng = np.random.default_rng(5)
    squared, plain = [], []
    for n_gallery, n_probe, d in ((1, 1, 1), (1, 5, 3), (5, 1, 3), (6, 4, 1), (30, 9, 12)):
        Xg, Xp, M = (rng.standard_normal(shape) * 3 for shape in (
            (n_gallery, d), (n_probe, d), (d, d)))
        if whole:
            Xg, Xp, M = Xg.round(), Xp.round(), M.round()
        Xg, Xp = Xg.astype(dtype), Xp.astype(dtype)
        squared += [(1.0, Xg, Xp), (M, Xg, Xp), (M.astype(np.float32), Xg, Xp)]
        plain.append((Xg, Xp))
    off = None if whole or one_after_another else OTHER_ORDER
    compare(octave, MahDist, squared, off)
    compare(octave, my_pdist2, plain, off)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_imaginary_distances(octave, dtype):
    cases = [(near_one(10, dtype), near_one(8, dtype)), (near_one(30, dtype), near_one(9, dtype))]
    assert all(np.iscomplexobj(my_pdist2(*case)) for case in cases)
    compare(octave, my_pdist2, cases)


# ---------------------------------------------------------------- rules

@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rules(octave, dtype):
    """Each function of `_values` whose numpy twin has other bits, asked of Octave."""
    rng = np.random.default_rng(6)
    numbers = -rng.random((3, 4000)).astype(dtype)
    for script, arguments, function in (
            ("exp", (), _values.exponential), ("sum", (2.0,), _values.add_up_rows),
            ("mean", (1.0,), _values.mean_of_columns)):
        ((theirs,),) = octave.run(script, [(numbers, *arguments)])
        np.testing.assert_array_equal(function(numbers).ravel(), theirs.ravel())
    ((theirs,),) = octave.run("mtimes", [(numbers, 0.7)])
    np.testing.assert_array_equal(_values.weigh(numbers, 0.7), theirs.astype(np.float32))
    halves = np.arange(-6, 7) / 2
    answers = octave.run("round", [(half,) for half in halves])
    assert [_values.round_half_away(half) for half in halves] == [
        answer.item() for (answer,) in answers]
