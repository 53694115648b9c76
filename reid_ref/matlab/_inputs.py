"""Checks of the arguments of ported scripts.

Where the scripts fail, or return something meaningless, these functions raise `ValueError` with
the argument's name, what was expected, what came, and the remedy.

Features are taken as singles where they are float32 and as doubles otherwise. MATLAB
computes in single as soon as one factor is single.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def refused(name: str, expected: str, got: Any, remedy: str) -> ValueError:
    """Return the error of an argument."""
    return ValueError(f"{name}: expected {expected}, got {got}; {remedy}")


def as_matrix(value: Any, name: str) -> npt.NDArray[Any]:
    """Return `value` as a numpy array."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(value, (list, tuple)) and isinstance(error, ValueError):
            raise refused(name, "an array", "rows of different length",
                          "every row needs the same number of entries") from None
        reason = str(error).partition("\n")[0].rstrip(".")
        raise refused(name, "an array", f"a {type(value).__name__} that numpy cannot read "
                      f"({reason})", "pass a numpy array") from None


def first_bad(name: str, expected: str, array: Integers, is_bad: npt.NDArray[np.bool_],
              remedy: str) -> None:
    """Refuse an array with a bad entry; the message has the first."""
    for k in np.flatnonzero(is_bad)[:1]:
        raise refused(name, expected, f"{array[k]!s} at index {k}", remedy)


def whole_numbers(value: Any, name: str) -> Integers:
    """Return a row or column of whole numbers, of any type that holds them exactly."""
    array = as_matrix(value, name)
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim != 1:
        raise refused(name, "a vector (n,), (n, 1) or (1, n)", f"shape {array.shape}",
                      "pass one number per image")
    if array.dtype.kind not in "biuf":
        raise refused(name, "whole numbers", f"dtype {array.dtype}", "map names to integers "
                      "first, e.g. numpy.unique(names, return_inverse=True)[1]")
    if array.dtype.kind == "f":
        first_bad(name, "whole numbers", array, ~(np.isfinite(array) & (array == np.trunc(array))),
                  "labels and cameras are integers")
        first_bad(name, "whole numbers", array,
                  np.abs(array) >= 2.0**(np.finfo(array.dtype).nmant + 1),
                  "beyond what it tells apart different labels become one: pass int64")
    else:
        first_bad(name, "whole numbers", array, array > np.iinfo(np.int64).max,
                  "it does not fit a 64-bit integer")
    return array.astype(np.int64)


def index_list(value: Any, name: str) -> Integers:
    """Return a list of gallery numbers, of any orientation; it may be empty."""
    array = np.asarray(value)
    if array.size == 0 and array.ndim <= 2:
        return np.zeros(0, dtype=np.int64)
    return whole_numbers(array, name)


def column(value: Any, name: str, because: str) -> Integers:
    """Return whole numbers that MATLAB needs as a column; a 1-D array counts as one."""
    array = np.asarray(value)
    if array.ndim == 2 and array.shape[0] == 1 and array.shape[1] > 1:
        raise refused(name, "a column (n,) or (n, 1)", f"a row of shape {array.shape}",
                      f"MATLAB stops at {because} with a row, pass it transposed (.T)")
    return index_list(array, name)


def cameras(value: Any, name: str) -> Integers:
    """Return camera numbers, each from 1 to 6."""
    cams = index_list(value, name)
    first_bad(name, "cameras 1 to 6", cams, (cams < 1) | (cams > 6), "the multi-camera scripts "
              "have six columns: renumber the cameras, or use evaluation, which takes any")
    return cams


def distances(dist: Any) -> npt.NDArray[Any]:
    """Return `dist` as a matrix of numbers with at least one row and one column."""
    matrix = as_matrix(dist, "dist")
    if matrix.dtype.kind not in "biufc":
        raise refused("dist", "numbers (real, integer, bool or complex)", f"dtype {matrix.dtype}",
                      "convert it, e.g. with dist.astype(float)")
    if matrix.ndim != 2:
        raise refused("dist", "a matrix (gallery, query)", f"shape {matrix.shape}",
                      "for a single query pass a column (gallery, 1)")
    for size, word, axis in zip(matrix.shape, ("gallery image", "query"), ("row", "column")):
        if size == 0:
            raise refused("dist", f"at least one {word} (a {axis} each)", f"shape {matrix.shape}",
                          "check how the images were selected")
    return matrix


def labelled_distances(
        dist: Any, label_gallery: Any, label_query: Any, cam_gallery: Any, cam_query: Any,
) -> tuple[npt.NDArray[Any], Integers, Integers, Integers, Integers]:
    """Return the five arguments of the evaluation scripts, checked against each other."""
    dist = distances(dist)
    label_gallery = column(label_gallery, "label_gallery", "[junk0; junk]")
    label_query = index_list(label_query, "label_query")
    cam_gallery = index_list(cam_gallery, "cam_gallery")
    cam_query = index_list(cam_query, "cam_query")

    turned = (len(label_gallery), len(label_query)) == dist.shape[::-1]
    remedy = "the transpose would fit: pass dist.T" if turned else "pass one for each"
    for name, labels, axis, word in (
            ("label_gallery", label_gallery, 0, "row"),
            ("label_query", label_query, 1, "column"),
            ("cam_gallery", cam_gallery, 0, "row"),
            ("cam_query", cam_query, 1, "column")):
        if len(labels) != dist.shape[axis]:
            raise refused(name, f"{dist.shape[axis]} entries, one for each {word} of dist "
                          f"{dist.shape} (gallery x query)", len(labels), remedy)
    return dist, label_gallery, label_query, cam_gallery, cam_query


def camera_lists(
        good_image: Any, junk_image: Any, index: Any, queryCam: Any, testCam: Any,
) -> tuple[Integers, Integers, Integers, int, Integers]:
    """Return the five arguments of the two scripts for one query on six cameras."""
    good_image = column(good_image, "good_image", "[good_image; index(1)]")
    junk_image = column(junk_image, "junk_image", "[junk_image; good_image]")
    index = index_list(index, "index")
    if index.size == 0:
        raise refused("index", "at least one gallery number", "none",
                      "the first one is taken to be the query itself")
    if np.size(queryCam) != 1:
        raise refused("queryCam", "the camera of one query", f"{np.size(queryCam)} values",
                      "call once for each query")
    query_cam = int(cameras(np.reshape(queryCam, (1,)), "queryCam")[0])
    test_cam = cameras(testCam, "testCam")
    first_bad("good_image", f"gallery numbers from 0 to {len(test_cam) - 1}", good_image,
              (good_image < 0) | (good_image >= len(test_cam)), "numbers count from 0 here, and "
              "testCam has one camera for each gallery image")
    return good_image, junk_image, index, query_cam, test_cam


def scores(value: Any, name: str, n_query: int) -> npt.NDArray[np.float64]:
    """Return the scores of `n_query` queries on six cameras as doubles."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise refused(name, "real numbers", f"dtype {array.dtype}",
                      "pass what evaluation_mars returned")
    if array.shape != (n_query, 6):
        raise refused(name, f"shape ({n_query}, 6), a row for each entry of queryCam", array.shape,
                      "pass what evaluation_mars returned")
    return array.astype(np.float64)


Reals = npt.NDArray[np.floating[Any]]


def reals(value: Any, name: str) -> Reals:
    """Return real numbers: singles if they are float32, else doubles."""
    array = as_matrix(value, name)
    if array.dtype.kind not in "biuf":
        raise refused(name, "real numbers", f"dtype {array.dtype}",
                      f"convert it, e.g. with {name}.real or {name}.astype(float)")
    return array if array.dtype == np.float32 else array.astype(np.float64)


def in_one_precision(*arrays: Reals) -> list[Reals]:
    """Return all of `arrays` as singles if one of them is single, else unchanged."""
    single = any(array.dtype == np.float32 for array in arrays)
    return [array.astype(np.float32) for array in arrays] if single else list(arrays)


def rows(value: Any, name: str) -> Reals:
    """Return features, one row an image."""
    array = reals(value, name)
    if array.ndim != 2 or 0 in array.shape:
        raise refused(name, "features (images, d), one row an image and at least one of each",
                      f"shape {array.shape}", "for one image pass (1, d)")
    return array


def two_sides(left: Any, left_name: str, right: Any, right_name: str) -> tuple[Reals, Reals]:
    """Return the features of gallery and probes, of one dimension and one precision."""
    left, right = rows(left, left_name), rows(right, right_name)
    if left.shape[1] != right.shape[1]:
        raise refused(right_name, f"features of {left.shape[1]} dimensions, as {left_name} has",
                      f"shape {right.shape}", "one row an image, both of the same model")
    if left.dtype != right.dtype:
        raise refused(right_name, f"{left.dtype} as {left_name} is", right.dtype,
                      "convert one of them, as the answer is single or double with it")
    return left, right


def matrix_or_scalar(value: Any, name: str, n_rows: int, n_columns: int | None) -> Reals:
    """Return a matrix of that shape (None: any width), or a scalar as a 0-D array."""
    array = reals(value, name)
    if array.size == 1:
        return array.reshape(())
    if array.ndim != 2 or array.size == 0 or len(array) != n_rows or (
            array.shape[1] != (n_columns or array.shape[1])):
        raise refused(name, f"shape ({n_rows}, {n_columns or 'any'}), as the features have "
                      f"{n_rows} dimensions, or a scalar", f"shape {array.shape}",
                      "1 leaves the features as they are")
    return array


def metric(value: Any, dimensions: int) -> Reals:
    """Return M, for features of so many dimensions."""
    return matrix_or_scalar(value, "M", dimensions, dimensions)


def whole(value: Any, name: str, last: int, what: str) -> int:
    """Return a whole number from 1 to `last`; `what` is the reason of that limit."""
    number = np.asarray(value)
    if number.size != 1 or number.dtype.kind not in "iuf" or not (
            1 <= number.item() <= last and number.item() == int(number.item())):
        raise ValueError(f"{name}: expected a whole number from 1 to {last}, {what}; "
                         f"got {number.tolist()}")
    return int(number.item())


def re_ranking_inputs(
        feat: Any, M: Any, W: Any, query_num: Any, k1: Any, k2: Any, lambda_: Any,
) -> tuple[Reals, Reals, Reals, int, int, int, float]:
    """Return the seven arguments of re_ranking, checked against each other."""
    feat = reals(feat, "feat")
    if feat.ndim != 2 or len(feat) < 1 or feat.shape[1] < 2:
        raise refused("feat", "(d, n), one column an image and at least two of them",
                      f"shape {feat.shape}",
                      "features with one row an image are passed transposed (.T)")
    n = feat.shape[1]
    W = matrix_or_scalar(W, "W", len(feat), None)
    M = metric(M, W.shape[1] if W.ndim else len(feat))
    query_num = whole(query_num, "query_num", n - 1, f"as feat has {n} images, the queries first")
    k1 = whole(k1, "k1", n - 1, f"as {n} images have {n - 1} neighbours each")
    k2 = whole(k2, "k2", n, f"as there are {n} images")
    share = np.asarray(lambda_)
    if share.size != 1 or share.dtype.kind not in "iuf" or not 0 <= share.item() <= 1:
        raise ValueError(
            f"lambda_: expected a number from 0 (Jaccard distance alone) to 1 (original distance "
            f"alone), got {share.tolist()}")
    feat, W = in_one_precision(feat, W)
    return feat, M, W, query_num, k1, k2, float(share.item())
