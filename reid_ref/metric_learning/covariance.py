"""Inverses of covariances; one that cannot be inverted is refused."""
from __future__ import annotations

import warnings
from typing import Any

import numpy.typing as npt
from scipy import linalg

from reid_ref.arrays import InputError

Array = npt.NDArray[Any]


def solve(covariance: Array, right: Array, name: str, what: str, way_out: str) -> Array:
    """Return inv(covariance) @ right, or refuse a covariance that has no usable inverse."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", linalg.LinAlgWarning)
        try:
            solution: Array = linalg.solve(symmetric(covariance), right, assume_a="pos")
        except (linalg.LinAlgError, linalg.LinAlgWarning):
            raise InputError(
                f"{name}: the {what} is singular in {len(covariance)} dimensions; {way_out}"
            ) from None
    return solution


def symmetric(matrix: Array) -> Array:
    half: Array = (matrix + matrix.T) / 2
    return half
