"""The port of the MATLAB scripts: what it takes, and its messages.

Its answers are held to the cases worked by hand in `test_matlab_mutants.py`, and to Octave's.
"""
import cmath
import sys
import warnings

import numpy as np
import pytest

import reid_ref.matlab
from reid_ref.matlab import (
    _values, compute_AP, compute_AP_multiCam, compute_r1_multiCam, draw_confusion_matrix,
    evaluation, evaluation_mars)


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


def same(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("function", [evaluation, evaluation_mars])
@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64,
              np.float16, np.float32, np.float64])
def test_labels_of_every_dtype(function, dtype):
    dist, *labels = market_case()
    expected = function(dist, *labels)
    same(function(dist, *(values.astype(dtype) for values in labels)), expected)
    mixed = [values.astype(dtype if k % 2 else np.int64) for k, values in enumerate(labels)]
    same(function(dist, *mixed), expected)


@pytest.mark.parametrize("function", [evaluation, evaluation_mars])
def test_columns_and_rows(function):
    dist, label_gallery, label_query, cam_gallery, cam_query = market_case()
    expected = function(dist, label_gallery, label_query, cam_gallery, cam_query)
    same(function(dist, label_gallery[:, None], label_query[:, None], cam_gallery[:, None],
                  cam_query[:, None]), expected)
    same(function(dist, label_gallery[:, None], label_query[None], cam_gallery[None],
                  cam_query[None]), expected)
    same(function(dist.tolist(), label_gallery.tolist(), *map(list, (
        label_query, cam_gallery, cam_query))), expected)


def test_inputs_are_left_alone():
    given = market_case()
    copies = [values.copy() for values in given]
    evaluation_mars(*given)
    same(given, copies)


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


# ---------------------------------------------------------------- what is refused

DIST, SIX = np.arange(6.0).reshape(3, 2), np.zeros((2, 6))
GIVEN = {"dist": DIST, "label_gallery": [1, 2, 3], "label_query": [1, 2],
         "cam_gallery": [1, 2, 2], "cam_query": [1, 1]}


@pytest.mark.parametrize("function", [evaluation, evaluation_mars])
@pytest.mark.parametrize("change, message", [
    ({"dist": [1.0, 2.0, 3.0]},
     r"^dist: expected a matrix \(gallery, query\), got shape \(3,\); for a single query pass a "
     r"column \(gallery, 1\)$"),
    ({"dist": np.zeros((3, 2, 1))}, r"^dist: expected a matrix .* got shape \(3, 2, 1\)"),
    ({"dist": [[1.0], [1.0, 2.0]]}, "^dist: expected a matrix .* rows of different length; pass"),
    ({"dist": np.array([["a", "b"]] * 3)},
     r"^dist: expected numbers .*, got dtype <U1; convert it, e.g. with dist.astype"),
    ({"dist": DIST.astype(object)}, "^dist: expected numbers .*, got dtype object; convert it"),
    ({"dist": np.zeros((3, 0)), "label_query": [], "cam_query": []},
     r"^dist: expected at least one query \(a column each\), got shape \(3, 0\); check how"),
    ({"dist": np.zeros((0, 2)), "label_gallery": [], "cam_gallery": []},
     r"^dist: expected at least one gallery image \(a row each\), got shape \(0, 2\); check how"),
    ({"dist": DIST.T},
     r"^label_gallery: expected 2 entries, one for each row of dist \(2, 3\) \(gallery x query\), "
     r"got 3; the transpose would fit: pass dist.T$"),
    ({"label_gallery": [1, 2]},
     r"^label_gallery: expected 3 entries, one for each row of dist \(3, 2\) .* got 2; pass one"),
    ({"label_query": [1, 2, 3]}, "^label_query: expected 2 entries, one for each column .* got 3"),
    ({"cam_gallery": [1]}, "^cam_gallery: expected 3 entries, one for each row of dist .* got 1"),
    ({"cam_query": []}, "^cam_query: expected 2 entries, one for each column of dist .* got 0"),
    ({"label_gallery": [[1, 2, 3]]},
     r"^label_gallery: expected a column \(n,\) or \(n, 1\), got a row of shape \(1, 3\); MATLAB "
     r"stops at \[junk0; junk\] with a row, pass it transposed \(\.T\)$"),
    ({"label_gallery": [1, 2.5, 3]}, "^label_gallery: expected whole numbers, got 2.5 at index 1"),
    ({"label_query": [1, np.nan]}, "^label_query: expected whole numbers, got nan at index 1"),
    ({"cam_gallery": ["a", "b", "c"]}, "^cam_gallery: expected whole numbers, got dtype <U1"),
    ({"cam_query": np.ones((2, 2))}, r"^cam_query: expected a vector .*, got shape \(2, 2\)"),
])
def test_evaluation_refuses(function, change, message):
    with pytest.raises(ValueError, match=message):
        function(**{**GIVEN, **change})


def test_six_cameras_only():
    with pytest.raises(ValueError, match=(
            "^cam_gallery: expected cameras 1 to 6, got 7 at index 2; the multi-camera scripts "
            "have six columns: renumber the cameras, or use evaluation")):
        evaluation_mars(**{**GIVEN, "cam_gallery": [1, 2, 7]})
    with pytest.raises(ValueError, match="^cam_query: expected cameras 1 to 6, got 0 at index 0"):
        evaluation_mars(**{**GIVEN, "cam_query": [0, 1]})
    evaluation(**{**GIVEN, "cam_gallery": [1, 2, 7], "cam_query": [0, 1]})


@pytest.mark.parametrize("function", [compute_AP_multiCam, compute_r1_multiCam])
@pytest.mark.parametrize("change, message", [
    ({"good_image": [[0, 1]]},
     r"^good_image: expected a column .* row of shape \(1, 2\); MATLAB stops at \[good_image;"),
    ({"junk_image": [[0, 1]]},
     r"^junk_image: expected a column .* row of shape \(1, 2\); MATLAB stops at \[junk_image;"),
    ({"good_image": [3]},
     "^good_image: expected gallery numbers from 0 to 2, got 3 at index 0; numbers count from 0"),
    ({"good_image": [-1]}, "^good_image: expected gallery numbers from 0 to 2, got -1 at index 0"),
    ({"index": []}, "^index: expected at least one gallery number, got none; the first"),
    ({"index": [0.5]}, "^index: expected whole numbers, got 0.5 at index 0"),
    ({"queryCam": [1, 2]}, "^queryCam: expected the camera of one query, got 2 values; call once"),
    ({"queryCam": 7}, "^queryCam: expected cameras 1 to 6, got 7 at index 0"),
    ({"testCam": [1, 0, 2]}, "^testCam: expected cameras 1 to 6, got 0 at index 1"),
])
def test_multiCam_refuses(function, change, message):
    given = {"good_image": [1], "junk_image": [0], "index": [0, 1, 2], "queryCam": 1,
             "testCam": [1, 2, 3]}
    with pytest.raises(ValueError, match=message):
        function(**{**given, **change})


@pytest.mark.parametrize("function, arguments, message", [
    (compute_AP, ([0.5], [], [1]), "^good_image: expected whole numbers, got 0.5"),
    (compute_AP, ([1], [np.inf], [1]), "^junk_image: expected whole numbers, got inf"),
    (compute_AP, ([1], [], [[1, 2], [3, 4]]),
     r"^index: expected a vector .* got shape \(2, 2\)"),
    (draw_confusion_matrix, (np.zeros((2, 5)), SIX, [1, 2]),
     r"^ap: expected shape \(2, 6\), a row for each entry of queryCam, got \(2, 5\); "),
    (draw_confusion_matrix, (SIX, np.zeros((3, 6)), [1, 2]),
     r"^r1: expected shape \(2, 6\), .* got \(3, 6\)"),
    (draw_confusion_matrix, (SIX, SIX + 1j, [1, 2]),
     "^r1: expected real numbers, got dtype complex128; pass"),
    (draw_confusion_matrix, (SIX, SIX, [1, 9]),
     "^queryCam: expected cameras 1 to 6, got 9 at index 1"),
])
def test_the_others_refuse(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)


# ---------------------------------------------------------------- the room itself

def test_public_names_are_functions():
    for name in reid_ref.matlab.__all__:
        assert getattr(reid_ref.matlab, name) is vars(sys.modules[f"reid_ref.matlab.{name}"])[name]
