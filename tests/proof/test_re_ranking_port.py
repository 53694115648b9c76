"""The ports of re_ranking, MahDist and my_pdist2: goldens and messages; no Octave.

Goldens: recorded answers of the originals, fixtures/goldens.
"""
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

from reid_ref.matlab import MahDist, my_pdist2, re_ranking
from tests.proof.rerank_cases import SINGLE, by_definition, whole_features

GOLDENS = Path(__file__).resolve().parents[2] / "fixtures" / "goldens"
RECORDED = sorted(path.stem for path in GOLDENS.glob("rerank_*.mat"))


# ---------------------------------------------------------------- what is answered

def test_the_goldens_are_there():
    assert len(RECORDED) == 4


@pytest.mark.parametrize("name", RECORDED)
def test_goldens(name):
    golden = loadmat(GOLDENS / f"{name}.mat")
    final_dist = re_ranking(
        golden["feat"], 1, 1,
        *(golden[name].item() for name in ("query_num", "k1", "k2", "lambda")))
    recorded = golden["final_dist"]
    assert final_dist.dtype == recorded.dtype and final_dist.shape == recorded.shape
    np.testing.assert_allclose(final_dist, recorded, rtol=0, atol=SINGLE)
    np.testing.assert_array_equal(np.argsort(final_dist, axis=0, kind="stable"),
                                  np.argsort(recorded, axis=0, kind="stable"))


@pytest.mark.parametrize("k1", [19, 23])
def test_published_python_has_another_window(k1):
    """int(around(k1 / 2)) + 1 is 11 and 13 here, not 10 and 12; the definition tells them apart.

    One more neighbour each brings other images in, so that distances move in the second digit.
    """
    given = whole_features(k1, k1, 6, n=80)
    assert int(np.around(k1 / 2)) + 1 == (k1 + 2) // 2 + 1
    other_window = by_definition(*given[:4], k1, *given[5:], window=(k1 + 2) // 2 + 1)
    final_dist = re_ranking(*given)
    assert np.abs(final_dist - by_definition(*given)).max() < SINGLE
    assert np.abs(final_dist - other_window).max() > 1e-3


def test_all_images_equal_is_NaN_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        final_dist = re_ranking(np.ones((3, 9)), 1, 1, 2, 4, 2, 0)
    assert np.isnan(final_dist).all()


def test_precision_follows_the_features():
    feat = np.random.default_rng(1).standard_normal((5, 30))
    double = re_ranking(feat, 1, 1, 6, 5, 3, 0.3)
    single = re_ranking(feat.astype(np.float32), 1, 1, 6, 5, 3, 0.3)
    assert double.dtype == single.dtype == np.float32
    assert 0 < np.abs(double - single).max() < SINGLE
    whole = re_ranking(feat.round().astype(np.int8), 1, 1, 6, 5, 3, 0.3)
    np.testing.assert_array_equal(whole, re_ranking(feat.round(), 1, 1, 6, 5, 3, 0.3))


def test_dtypes_of_MahDist():
    Xg, Xp, M = np.ones((9, 4)), np.ones((6, 4)), np.eye(4)
    for dtypes in ((np.float32, np.float64), (np.float64, np.float32)):
        assert MahDist(M.astype(dtypes[0]), Xg.astype(dtypes[1]),
                       Xp.astype(dtypes[1])).dtype == np.float32


# ---------------------------------------------------------------- what is refused

GOOD = dict(feat=np.ones((3, 10)), M=1, W=1, query_num=4, k1=5, k2=2, lambda_=0.3)


@pytest.mark.parametrize("change, message", [
    ({"k1": 10}, "^k1: expected a whole number from 1 to 9, as 10 images have 9 neighbours each; "
                 "got 10$"),
    ({"k1": 0}, "^k1: .*; got 0$"),
    ({"k1": np.nan}, "^k1: .*; got nan$"),
    ({"k1": [5, 6]}, r"^k1: .*; got \[5, 6\]$"),
    ({"k2": 11}, "^k2: expected a whole number from 1 to 10, as there are 10 images; got 11$"),
    ({"k2": 0}, "^k2: .*; got 0$"),
    ({"lambda_": 1.01}, r"^lambda_: expected a number from 0 .* to 1 .*, got 1.01$"),
    ({"lambda_": np.nan}, "^lambda_: .* got nan$"),
    ({"query_num": 10}, "^query_num: expected a whole number from 1 to 9, as feat has 10 images, "
                        "the queries first; got 10$"),
    ({"query_num": 0}, "^query_num: .*; got 0$"),
    ({"feat": np.ones(10)}, r"^feat: expected \(d, n\), one column an image .* got shape \(10,\)"),
    ({"feat": np.ones((10, 1))}, r"^feat: .* got shape \(10, 1\); .* passed transposed \(.T\)$"),
    ({"feat": np.ones((0, 10))}, r"^feat: .* got shape \(0, 10\)"),
    ({"feat": np.ones((3, 10)) + 1j}, "^feat: expected real numbers, got dtype complex128; "),
    ({"feat": [["a"] * 10]}, "^feat: expected real numbers, got dtype <U1"),
    ({"feat": [[1, 2], [3]]}, "^feat: expected an array, got rows of different length"),
    ({"W": np.ones((4, 2))}, r"^W: expected shape \(3, any\), .* got shape \(4, 2\); 1 leaves"),
    ({"W": np.ones(3)}, r"^W: .* got shape \(3,\)"),
    ({"W": 1j}, "^W: expected real numbers"),
    ({"M": np.eye(2)}, r"^M: expected shape \(3, 3\), .* got shape \(2, 2\)"),
    ({"W": np.ones((3, 2)), "M": np.eye(3)}, r"^M: expected shape \(2, 2\), .* \(3, 3\)"),
    ({"M": [[1, 2], [3]]}, "^M: expected an array, got rows of different length"),
])
def test_re_ranking_refuses(change, message):
    re_ranking(**GOOD)
    with pytest.raises(ValueError, match=message) as refused:
        re_ranking(**{**GOOD, **change})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("function", [my_pdist2, lambda A, B: MahDist(1, A, B)])
@pytest.mark.parametrize("left, right, message", [
    (np.ones(3), np.ones((2, 3)), r"expected features .*, got shape \(3,\); for one .* \(1, d\)$"),
    (np.ones((4, 3)), np.ones((0, 3)), r"got shape \(0, 3\)"),
    (np.ones((4, 3)), np.ones((4, 2)), r"expected features of 3 dimensions, .* shape \(4, 2\)"),
    (np.ones((4, 3)) * 1j, np.ones((4, 3)), "expected real numbers, got dtype complex128"),
    (np.ones((4, 3), np.float32), np.ones((2, 3)), "expected float32 as .* is, got float64"),
])
def test_distances_refuse(function, left, right, message):
    with pytest.raises(ValueError, match=message):
        function(left, right)


def test_MahDist_refuses_a_metric_that_does_not_fit():
    with pytest.raises(ValueError, match=r"^M: expected shape \(3, 3\), .* got shape \(2, 3\)"):
        MahDist(np.ones((2, 3)), np.ones((4, 3)), np.ones((4, 3)))
