"""Checks of single arrays: shape, dtype, NaN, repeated numbers."""
from __future__ import annotations

import numbers
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays.convert import Integers, as_array, as_integers
from reid_ref.arrays.device import DeviceArray, to_numpy
from reid_ref.arrays.errors import InputError


def check_distinct(value: Any, name: str) -> Integers:
    """Return `value` as whole numbers without repetition; it may be empty."""
    numbers = as_integers(value if np.size(value) else np.zeros(0, np.int64), name)
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) < len(numbers):
        raise InputError(f"{name}: expected each image once, got {values[counts > 1][0]} "
                         f"{counts.max()} times")
    return numbers


def check_same_length(n_identity: int, n_camera: int,
                      names: tuple[str, str] = ("identity", "camera"),
                      n_images: Collection[int] = ()) -> None:
    """Check that every image has one identity and one camera.

    `names` are the two arguments'. The message names the wrong one where `n_images`, the numbers
    of images in features or distances, tells which it is; else both.
    """
    if n_identity == n_camera:
        return
    for name, length, other in ((names[0], n_identity, n_camera),
                                (names[1], n_camera, n_identity)):
        if length not in n_images and other in n_images:
            raise InputError(f"{name}: expected {other} entries, one for each image, got {length}")
    raise InputError(f"{', '.join(names)}: expected one of each for every image, got "
                     f"{n_identity} and {n_camera}")


def check_length(n: int, n_images: int, name: str) -> None:
    """Check that a column has one entry for each image."""
    if n != n_images:
        raise InputError(f"{name}: expected {n_images:,} entries, one for each image, got {n:,}")


def is_stored(value: Any) -> bool:
    """Return whether a value is a dataset of h5py or zarr, or a dask array: read in blocks."""
    return type(value).__module__.split(".")[0] in ("dask", "h5py", "zarr")


def check_known_shape(value: Any, name: str) -> None:
    """Refuse a dask array of unknown shape."""
    if any(size != size for size in value.shape or ()):
        raise InputError(f"{name}: expected chunks of known sizes, got shape {value.shape}; call "
                         f"{name}.compute_chunk_sizes() first")


def stored_or_array(value: Any, name: str) -> Any:
    """Return a stored dataset or an array on an accelerator as it is, anything else as numpy."""
    if isinstance(value, DeviceArray):
        return value
    if not is_stored(value):
        return as_array(value, name)
    check_known_shape(value, name)
    return value


def check_real_distances(distances: npt.NDArray[Any]) -> None:
    """Refuse complex distances; only the port of the scripts orders them as MATLAB does."""
    if distances.dtype.kind == "c":
        raise InputError(
            f"distances: expected real numbers, got dtype {distances.dtype}; complex distances "
            "come from the root of a tiny negative square. Use reid_ref.matlab.evaluation, "
            "which orders them as MATLAB does, or clamp the squares at 0")


def check_numeric_matrix(array: npt.NDArray[Any], name: str, what: str) -> None:
    if array.ndim != 2:
        raise InputError(f"{name}: expected {what}, got {array.ndim}-D shape {array.shape}")
    if array.dtype.kind not in "fciub":
        raise InputError(f"{name}: expected numbers, got dtype {array.dtype}")


def check_finite_rows(array: npt.NDArray[Any] | DeviceArray, name: str,
                      first_row: int = 0) -> None:
    """Refuse NaN and Inf; the message names the first such row."""
    if array.dtype.kind != "f":
        return
    if isinstance(array, DeviceArray):
        finite = to_numpy(array.xp.all(array.xp.isfinite(array.array), axis=1))
        odd = np.flatnonzero(~finite)[:1]
        array, first_row = to_numpy(array[odd]), first_row + int(odd.sum())
    step = 4096
    for start in range(0, len(array), step):
        finite = np.isfinite(array[start:start + step]).all(axis=1)
        if not finite.all():
            row = start + int(np.argmin(finite))
            kind = "NaN" if np.isnan(array[row]).any() else "Inf"
            raise InputError(
                f"{name}: expected finite numbers, got {kind} in row {first_row + row}; "
                "look at how that image was read or normalised")


def check_whole(value: Any, name: str, least: int = 1, most: int | None = None,
                what: str = "") -> int:
    """Return a whole number from `least` to `most`; `what` says what the end of this range is.

    Examples
    --------
    >>> check_whole(np.int64(3), "k", 1, 5)
    3
    """
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or not least <= int(value) <= (int(value) if most is None else most):
        end = "" if most is None else f" to {most}"
        raise InputError(f"{name}: expected a whole number from {least}{end}{what}, got {value!r}")
    return int(value)
