"""Shapes and dtypes of the arguments of ported scripts.

Where the scripts fail, or return something meaningless, these functions raise `ValueError` with
the argument's name, what was expected, and what came; numpy names the rest.

Features are taken as singles where they are float32 and as doubles otherwise. MATLAB
computes in single as soon as one factor is single.
"""
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.floating[Any]]


def expect(fits: Any, name: str, expected: str, got: Any) -> None:
    """Refuse an argument that does not fit."""
    if not fits:
        raise ValueError(f"{name}: expected {expected}, got {got}")


def whole_numbers(value: Any, name: str, least: float = -np.inf, most: float = np.inf) -> Integers:
    """Return whole numbers of any orientation and number type, within a range; or none."""
    array = np.asarray(value)
    expect(array.dtype.kind in "biuf" and array.size <= max(array.shape, default=0), name,
           "a vector of whole numbers", f"{array.dtype} of shape {array.shape}")
    array = array.reshape(-1)
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64)
    fits = (whole == array) & (whole >= least) & (whole <= most)
    words = f" from {least} to {most}" * bool(np.isfinite(most))
    expect(fits.all(), name, f"whole numbers{words}", array[~fits][:1].tolist())
    return whole


def whole(value: Any, name: str, last: int) -> int:
    """Return a whole number from 1 to `last`."""
    return int(whole_numbers(np.reshape(value, (1,)), name, 1, last)[0])


def cameras(value: Any, name: str) -> Integers:
    """Return camera numbers: the multi-camera scripts have six columns."""
    return whole_numbers(value, name, 1, 6)


def column(value: Any, name: str, because: str) -> Integers:
    """Return whole numbers that MATLAB needs as a column; a 1-D array counts as one."""
    shape = np.shape(value)
    expect(len(shape) < 2 or shape[0] != 1 or shape[1] < 2, name, "a column (n,) or (n, 1)",
           f"a row of shape {shape}, at which MATLAB stops at {because}")
    return whole_numbers(value, name)


def labelled_distances(
        dist: Any, label_gallery: Any, label_query: Any, cam_gallery: Any, cam_query: Any,
) -> tuple[npt.NDArray[Any], Integers, Integers, Integers, Integers]:
    """Return the five arguments of the evaluation scripts, checked against each other."""
    dist = np.asarray(dist)
    expect(dist.dtype.kind in "biufc" and dist.ndim == 2 and dist.size, "dist",
           "numbers (gallery, query), one at least", f"{dist.dtype} of shape {dist.shape}")
    labels = (column(label_gallery, "label_gallery", "[junk0; junk]"),
              whole_numbers(label_query, "label_query"),
              whole_numbers(cam_gallery, "cam_gallery"), whole_numbers(cam_query, "cam_query"))
    for array, name, axis in zip(
            labels, ("label_gallery", "label_query", "cam_gallery", "cam_query"), (0, 1, 0, 1)):
        expect(len(array) == dist.shape[axis], name, f"{dist.shape[axis]} entries, as dist is "
               f"{dist.shape} (gallery, query)", len(array))
    return dist, *labels


def camera_lists(
        good_image: Any, junk_image: Any, index: Any, queryCam: Any, testCam: Any,
) -> tuple[Integers, Integers, Integers, int, Integers]:
    """Return the five arguments of the two scripts for one query on six cameras."""
    index = whole_numbers(index, "index")
    expect(index.size, "index", "at least one gallery number", "none")
    test_cam = cameras(testCam, "testCam")
    good_image = whole_numbers(column(good_image, "good_image", "[good_image; index(1)]"),
                               "good_image", 0, len(test_cam) - 1)
    return (good_image, column(junk_image, "junk_image", "[junk_image; good_image]"), index,
            whole(queryCam, "queryCam", 6), test_cam)


def scores(value: Any, name: str, n_query: int) -> npt.NDArray[np.float64]:
    """Return the scores of `n_query` queries on six cameras as doubles."""
    array = reals(value, name).astype(np.float64)
    expect(array.shape == (n_query, 6), name, f"shape ({n_query}, 6)", array.shape)
    return array


def reals(value: Any, name: str) -> Reals:
    """Return real numbers: singles if they are float32, else doubles."""
    array = np.asarray(value)
    expect(array.dtype.kind in "biuf", name, "real numbers", f"dtype {array.dtype}")
    return array if array.dtype == np.float32 else array.astype(np.float64)


def in_one_precision(*arrays: Reals) -> list[Reals]:
    """Return all of `arrays` as singles if one of them is single, else unchanged."""
    single = any(array.dtype == np.float32 for array in arrays)
    return [array.astype(np.float32) for array in arrays] if single else list(arrays)


def two_sides(left: Any, left_name: str, right: Any, right_name: str) -> tuple[Reals, Reals]:
    """Return the features of gallery and probes, of one dimension and one precision."""
    left, right = reals(left, left_name), reals(right, right_name)
    for array, name in ((left, left_name), (right, right_name)):
        expect(array.ndim == 2 and array.size, name, "features (images, d), one at least",
               f"shape {array.shape}")
    expect(left.shape[1] == right.shape[1], right_name,
           f"features of {left.shape[1]} dimensions, as {left_name} has", f"shape {right.shape}")
    expect(left.dtype == right.dtype, right_name, f"{left.dtype}, as {left_name} is", right.dtype)
    return left, right


def matrix_or_scalar(value: Any, name: str, n_rows: int, n_columns: int | None) -> Reals:
    """Return a matrix of that shape (None: any width), or a scalar as a 0-D array."""
    array = reals(value, name)
    if array.size == 1:
        return array.reshape(())
    expect(array.size and array.shape == (n_rows, n_columns or array.shape[-1]), name,
           f"shape ({n_rows}, {n_columns or 'any'}) or a scalar", f"shape {array.shape}")
    return array


def re_ranking_inputs(
        feat: Any, M: Any, W: Any, query_num: Any, k1: Any, k2: Any, lambda_: Any,
) -> tuple[Reals, Reals, Reals, int, int, int, float]:
    """Return the seven arguments of re_ranking, checked against each other."""
    feat = reals(feat, "feat")
    expect(feat.ndim == 2 and len(feat) and feat.shape[1] > 1, "feat",
           "(d, n), one column an image and at least two of them", f"shape {feat.shape}")
    n = feat.shape[1]
    W = matrix_or_scalar(W, "W", len(feat), None)
    dimensions = W.shape[1] if W.ndim else len(feat)
    M = matrix_or_scalar(M, "M", dimensions, dimensions)
    share = float(lambda_)
    expect(0 <= share <= 1, "lambda_", "a number from 0 to 1", share)
    feat, W = in_one_precision(feat, W)
    return (feat, M, W, whole(query_num, "query_num", n - 1), whole(k1, "k1", n - 1),
            whole(k2, "k2", n), share)
