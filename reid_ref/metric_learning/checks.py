"""Checks of training features, labels and numbers of images."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import (
    InputError, Integers, as_array, as_integers, check_finite_rows)
from reid_ref.distances import working_precision

Array = npt.NDArray[Any]


def checked_features(value: Any, name: str) -> Array:
    array = as_array(value, name)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name}: expected features (n, d), one row an image, "
                         f"got shape {array.shape}")
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name}: expected real numbers, got dtype {array.dtype}")
    array = working_precision(array)
    check_finite_rows(array, name)
    return array


def one_for_each(value: Any, name: str, features: Array) -> Integers:
    identity = as_integers(value, name)
    if len(identity) != len(features):
        raise InputError(f"{name}: expected {len(features)} entries, one for each row of the "
                         f"features, got {len(identity)}")
    return identity


def checked_labels(identity: Any, camera: Any) -> tuple[Integers, Integers]:
    identity, camera = as_integers(identity, "identity"), as_integers(camera, "camera")
    if len(identity) != len(camera) or not len(identity):
        raise InputError("identity, camera: expected one of each for every training image, got "
                         f"{len(identity)} and {len(camera)}")
    return identity, camera


def image_numbers(value: Any, name: str, n: int) -> Integers:
    images = as_integers(value, name)
    outside = np.flatnonzero((images < 0) | (images >= n))
    if outside.size:
        raise InputError(f"{name}: expected images 0 to {n - 1}, got {images[outside[0]]} at "
                         f"index {outside[0]}; numbers count from 0")
    return images
