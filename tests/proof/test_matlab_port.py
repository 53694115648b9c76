"""The port of the MATLAB scripts: what it takes, and its messages.

Its answers are held to the cases worked by hand in `test_matlab_mutants.py`, to recorded ones in
`test_recorded.py`, and to Octave's.
"""
import cmath
import sys
import warnings

import numpy as np
import pytest

import reid_ref.matlab
from reid_ref.matlab import (
    MahDist, _values, compute_AP, compute_AP_multiCam, compute_r1_multiCam, draw_confusion_matrix,
    evaluation, evaluation_mars, my_pdist2, re_ranking)
from tests.proof.rerank_cases import SINGLE, by_definition, whole_features


def test_sort_of_near_ties_is_decided_by_the_C_library():
    """Moduli and angles a few last bits apart, where numpy's vector code may differ.

    Python's abs and cmath.phase call the C library; math.hypot does not.
    """
    rng = np.random.default_rng(0)
    parts = np.repeat(rng.standard_normal((2, 10)), 60, axis=1)
    parts *= 1 + np.finfo(float).eps * rng.integers(-3, 4, parts.shape)
    column = parts[0] + 1j * parts[1]
    keys = [(abs(z), cmath.phase(z)) for z in column.tolist()]
    assert len({modulus for modulus, _ in keys}) < len(set(keys)) < len(keys)
    np.testing.assert_array_equal(
        _values.sort_ascending(column), sorted(range(len(keys)), key=keys.__getitem__))


# ---------------------------------------------------------------- what is accepted

def market_case():
    rng = np.random.default_rng(5)
    label_gallery = rng.integers(0, 9, 60)
    cams = rng.integers(1, 7, 60)
    return rng.standard_normal((60, 8)), label_gallery, np.arange(1, 9), cams, cams[:8]


@pytest.mark.parametrize("function", [evaluation, evaluation_mars])
def test_labels_of_every_dtype_and_shape(function):
    dist, *labels = market_case()
    columns = [values[:, np.newaxis] for values in labels]
    forms = [(dist, *columns), (dist, columns[0], *(values.T for values in columns[1:])),
             [values.tolist() for values in (dist, *labels)]]
    for dtype in "bBhHiIlLefd":
        typed = [values.astype(dtype) for values in labels]
        forms += [(dist, *typed), (dist, labels[0], typed[1], labels[2], typed[3])]
    expected = function(dist, *labels)
    for form in forms:
        for actual, answer in zip(function(*form), expected, strict=True):
            np.testing.assert_array_equal(actual, answer)
    for values, given in zip((dist, *labels), market_case(), strict=True):  # left alone
        np.testing.assert_array_equal(values, given)


def test_cameras_beyond_six_are_for_evaluation():
    evaluation(DIST, **{**THREE, "cam_gallery": [1, 2, 7], "cam_query": [0, 1]})


def test_nothing_warns_nor_raises_under_strict_numpy():
    numbers = [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1e308]
    column = np.array([complex(a, b) for a in numbers for b in numbers])
    assert any(z == 0 for z in column)
    n = len(column)
    labels, cams = np.arange(n) % 3 - 1, np.arange(n) % 6 + 1
    halves = np.array([0, np.nan, np.inf, -np.inf, 6e-8, 65504] * 9, np.float16)[:n]
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for dist in (column, column.real, halves):
            evaluation_mars(dist[:, None], labels, [9], cams, [1])
            evaluation(dist[:, None], labels, [1], cams, [1])
        draw_confusion_matrix(np.zeros((1, 6)), np.zeros((1, 6)) - 1, [1])
        final_dist = re_ranking(np.ones((3, 9)), 1, 1, 2, 4, 2, 0)  # all images are equal
    assert np.isnan(final_dist).all()


@pytest.mark.parametrize("k1", [19, 23])
def test_published_python_has_another_window(k1):
    """int(around(k1 / 2)) + 1 is 11 and 13 here, not 10 and 12: the definition shows which.

    One more neighbour each brings other images in, so that distances move in the second digit.
    """
    given = whole_features(k1, k1, 6, n=80)
    assert int(np.around(k1 / 2)) + 1 == (k1 + 2) // 2 + 1
    other_window = by_definition(*given[:4], k1, *given[5:], window=(k1 + 2) // 2 + 1)
    final_dist = re_ranking(*given)
    assert np.abs(final_dist - by_definition(*given)).max() < SINGLE
    assert np.abs(final_dist - other_window).max() > 1e-3


def test_precision_follows_the_features():
    feat = np.random.default_rng(1).standard_normal((5, 30))
    double = re_ranking(feat, 1, 1, 6, 5, 3, 0.3)
    single = re_ranking(feat.astype(np.float32), 1, 1, 6, 5, 3, 0.3)
    assert double.dtype == single.dtype == np.float32
    assert 0 < np.abs(double - single).max() < SINGLE
    whole = re_ranking(feat.round().astype(np.int8), 1, 1, 6, 5, 3, 0.3)
    np.testing.assert_array_equal(whole, re_ranking(feat.round(), 1, 1, 6, 5, 3, 0.3))
    Xg, M = np.ones((9, 4)), np.eye(4)
    for of_metric, of_features in ((np.float32, np.float64), (np.float64, np.float32)):
        Xg = Xg.astype(of_features)
        assert MahDist(M.astype(of_metric), Xg, Xg[:6]).dtype == np.float32


# ---------------------------------------------------------------- what is refused

DIST, SIX = np.arange(6.0).reshape(3, 2), np.zeros((2, 6))
THREE = {"label_gallery": [1, 2, 3], "label_query": [1, 2], "cam_gallery": [1, 2, 2],
         "cam_query": [1, 1]}
#: Functions, what they take, and what they refuse of it.
REFUSED = [((evaluation, evaluation_mars), {"dist": DIST, **THREE}, [
    ({"dist": [1.0, 2.0, 3.0]}, r"dist.* shape \(3,\)"),
    ({"dist": np.array([["a", "b"]] * 3)}, "dist: .*numbers"),
    ({"dist": np.zeros((3, 0)), "label_query": [], "cam_query": []}, r"dist.* shape \(3, 0\)"),
    ({"dist": DIST.T}, "label_gallery: .*2 entries"),
    ({"cam_gallery": [1]}, "cam_gallery: .*3 entries"),
    ({"label_gallery": [[1, 2, 3]]}, r"label_gallery: .*a column.*\[junk0; junk\]"),
    ({"label_gallery": [1, 2.5, 3]}, "label_gallery.* whole"),
    ({"label_gallery": [1, np.nan, 3]}, "label_gallery.* whole"),
    ({"label_gallery": [[1, 2], [2, 3]]}, "label_gallery.* vector"),
]), ((evaluation_mars,), {"dist": DIST, **THREE}, [
    ({"cam_gallery": [1, 2, 7]}, r"cam_gallery: .*from 1 to 6, got \[7\]"),
]), ((compute_AP,), {"good_image": [1], "junk_image": [], "index": [1]}, [
    ({"good_image": [0.5]}, "good_image.* whole"),
    ({"index": [[1, 2], [3, 4]]}, "index: .*a vector"),
]), ((compute_AP_multiCam, compute_r1_multiCam), {
        "good_image": [1], "junk_image": [0], "index": [0, 1, 2], "queryCam": 1,
        "testCam": [1, 2, 3]}, [
    ({"good_image": [[0, 1]]}, r"good_image: .*a column.*\[good_image;"),
    ({"good_image": [3]}, "good_image: .*from 0 to 2"),
    ({"good_image": [-1]}, "good_image: .*from 0 to 2"),
    ({"index": []}, "index: .*at least one"),
    ({"queryCam": [1, 2]}, "cannot reshape"),
    ({"testCam": [1, 0, 2]}, "testCam: .*from 1 to 6"),
]), ((draw_confusion_matrix,), {"ap": SIX, "r1": SIX, "queryCam": [1, 2]}, [
    ({"ap": np.zeros((2, 5))}, r"ap: .*shape \(2, 6\)"),
    ({"r1": SIX + 1j}, "r1: .*real"),
]), ((MahDist,), {"M": 1, "Xg": np.ones((4, 3)), "Xp": np.ones((4, 3))}, [
    ({"M": np.ones((2, 3))}, r"M: .*shape \(3, 3\)"),
    ({"M": np.ones(3)}, r"M: .*shape \(3, 3\)"),
]), ((re_ranking,), {"feat": np.ones((3, 10)), "M": 1, "W": 1, "query_num": 4, "k1": 5, "k2": 2,
                     "lambda_": 0.3}, [
    ({"k1": 10}, "k1: .*whole numbers from 1 to 9"),
    ({"k2": 11}, "k2: .*whole numbers from 1 to 10"),
    ({"k2": 1.5}, "k2: .*whole"),
    ({"lambda_": 1.01}, "lambda_: .*a number from 0 to 1"),
    ({"query_num": 10}, "query_num: .*whole numbers from 1 to 9"),
    ({"feat": np.ones(10)}, r"feat.* shape \(10,\)"),
    ({"feat": np.ones((10, 1))}, r"feat.* shape \(10, 1\)"),
    ({"feat": np.ones((3, 10)) + 1j}, "feat: .*real"),
    ({"W": np.ones((4, 2))}, r"W: .*shape \(3, any\)"),
    ({"W": np.ones((3, 2)), "M": np.eye(3)}, r"M: .*shape \(2, 2\)"),
])]


@pytest.mark.parametrize("function, given, change, message", [
    (function, given, *row) for functions, given, rows in REFUSED for function in functions
    for row in rows])
def test_refused(function, given, change, message):
    function(**given)
    with pytest.raises(ValueError, match=f"^{message}") as refused:
        function(**{**given, **change})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("function", [my_pdist2, lambda A, B: MahDist(1, A, B)])
@pytest.mark.parametrize("left, right, message", [
    (np.ones(3), np.ones((2, 3)), r"features.* shape \(3,\)"),
    (np.ones((4, 3)), np.ones((4, 2)), "3 dimensions"),
    (np.ones((4, 3), np.float32), np.ones((2, 3)), "float32"),
])
def test_distances_refuse(function, left, right, message):
    with pytest.raises(ValueError, match=message):
        function(left, right)


# ---------------------------------------------------------------- the room itself

def test_public_names_are_functions():
    for name in reid_ref.matlab.__all__:
        assert getattr(reid_ref.matlab, name) is vars(sys.modules[f"reid_ref.matlab.{name}"])[name]
