"""Checks of the arguments of ported scripts on features.

Features are taken as singles where they are float32 and as doubles otherwise. MATLAB
computes in single as soon as one factor is single.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.matlab._inputs import as_matrix

Reals = npt.NDArray[np.floating[Any]]


def reals(value: Any, name: str) -> Reals:
    """Return real numbers: singles if they are float32, else doubles."""
    array = as_matrix(value, name)
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name}: expected real numbers, got dtype {array.dtype}; convert it, e.g. with "
            f"{name}.real or {name}.astype(float)")
    return array if array.dtype == np.float32 else array.astype(np.float64)


def in_one_precision(*arrays: Reals) -> list[Reals]:
    """Return all of `arrays` as singles if one of them is single, else unchanged."""
    single = any(array.dtype == np.float32 for array in arrays)
    return [array.astype(np.float32) for array in arrays] if single else list(arrays)


def rows(value: Any, name: str) -> Reals:
    """Return features, one row an image."""
    array = reals(value, name)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"{name}: expected features (images, d), one row an image and at least one of each, "
            f"got shape {array.shape}; for one image pass (1, d)")
    return array


def two_sides(left: Any, left_name: str, right: Any, right_name: str) -> tuple[Reals, Reals]:
    """Return the features of gallery and probes, of one dimension and one precision."""
    left, right = rows(left, left_name), rows(right, right_name)
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"{right_name}: expected features of {left.shape[1]} dimensions, as {left_name} has, "
            f"got shape {right.shape}; one row an image, both of the same model")
    if left.dtype != right.dtype:
        raise ValueError(
            f"{right_name}: expected {left.dtype} as {left_name} is, got {right.dtype}; convert "
            "one of them, as the answer is single or double with it")
    return left, right


def matrix_or_scalar(value: Any, name: str, n_rows: int, n_columns: int | None) -> Reals:
    """Return a matrix of that shape (None: any width), or a scalar as a 0-D array."""
    array = reals(value, name)
    if array.size == 1:
        return array.reshape(())
    if array.ndim != 2 or array.size == 0 or len(array) != n_rows or (
            array.shape[1] != (n_columns or array.shape[1])):
        raise ValueError(
            f"{name}: expected shape ({n_rows}, {n_columns or 'any'}), as the features have "
            f"{n_rows} dimensions, or a scalar, got shape {array.shape}; 1 leaves the features as "
            "they are")
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
        raise ValueError(
            f"feat: expected (d, n), one column an image and at least two of them, got shape "
            f"{feat.shape}; features with one row an image are passed transposed (.T)")
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
