"""Every check of what a user hands in, and every message about it.

Aim: a wrong input gets one clear sentence that names the argument, says what was
expected, what came, and the way out. Checks run once, at the door; the rooms behind
it trust what they are given.
"""
from __future__ import annotations

import contextlib
import difflib
import os
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from reid_ref.result import IndexLists, Labels

Integers = npt.NDArray[np.int64]


class InputError(ValueError):
    """Input that cannot be evaluated; the message says what is wrong and the way out."""


def warn(message: str) -> None:
    """Warn of legal but hollow input, pointing at the first caller outside this package."""
    package = os.path.dirname(__file__) + os.sep
    level, frame = 1, sys._getframe(0)
    while frame.f_back and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


@contextlib.contextmanager
def each_warning_once() -> Iterator[None]:
    """Several evaluations of one file need not say the same thing several times."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(one.message) for one in caught):
        warn(text)


def as_array(value: Any, name: str) -> npt.NDArray[Any]:
    """Return `value` as a numpy array, sharing its memory where numpy can.

    Taken: arrays, nested lists, whatever has ``__array__`` (torch tensors in main memory) or
    only ``__dlpack__``, and lists of these. A tensor that requires grad is detached; bfloat16
    and float8, which numpy lacks, are widened to float32, which changes no value. No library is
    imported for this: what these tensors can do is asked of them.

    Raises
    ------
    InputError
        Masked entries, rows of different length, memory of an accelerator (the device is named),
        or whatever else numpy cannot read.
    """
    masked = _count_masked(value)
    if masked:
        raise InputError(
            f"{name}: expected an array without masked entries, got {masked:,} of them; leave "
            "out these images, or pass .filled(value) of the masked array")
    if isinstance(value, (list, tuple)) and len(value) and _is_foreign(value[0]):
        value = [as_array(one, f"{name}[{k}]") for k, one in enumerate(value)]
    try:
        array = _read_array(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        kind, device = type(value).__name__, _accelerator(value)
        if isinstance(value, (list, tuple)) and isinstance(error, ValueError):
            message = ("an array, got rows of different length; every row needs the same number "
                       "of entries")
        elif device:
            way_out = (f"{name}.cpu()" if hasattr(value, "cpu") else
                       f"{name}.get()" if hasattr(value, "get") else "a copy in main memory")
            message = f"an array in main memory, got a {kind} on device {device}; pass {way_out}"
        else:
            reason = str(error).partition("\n")[0].rstrip(".")
            message = (f"an array, got a {kind} that numpy cannot read ({reason}); pass a dense "
                       "numpy array or a dense tensor in main memory")
        raise InputError(f"{name}: expected {message}") from None
    return array.astype(np.float32) if _numpy_lacks(array.dtype) else array


#: DLPack's numbers of devices whose memory numpy reads: CPU, and the host's share of CUDA
#: and ROCm memory.
_MAIN_MEMORY = {1, 3, 11, 13}


def _count_masked(value: Any) -> int:
    """Count the masked entries of a masked array, or of those in a list: numpy drops the mask."""
    if isinstance(value, np.ma.MaskedArray):
        return int(np.count_nonzero(value.mask))
    if not isinstance(value, (list, tuple)) or not len(value):
        return 0
    if not any(isinstance(value[k], (list, tuple, np.ma.MaskedArray)) for k in (0, -1)):
        return 0     # numbers: a long list of them is not looked through
    return sum(map(_count_masked, value))


def _is_foreign(value: Any) -> bool:
    return (hasattr(value, "__array__") or hasattr(value, "__dlpack__")) and not isinstance(
        value, (np.ndarray, np.generic))


def _numpy_lacks(dtype: Any) -> bool:
    return str(dtype).rpartition(".")[2].startswith(("bfloat16", "float8"))


def _accelerator(value: Any) -> str:
    """Return the name of the device that holds `value`, or "" if that is main memory."""
    device = str(getattr(value, "device", ""))
    if not device and hasattr(value, "__dlpack_device__"):
        kind, number = value.__dlpack_device__()
        device = "" if int(kind) in _MAIN_MEMORY else f"{number} of DLPack type {int(kind)}"
    return "" if "cpu" in device.lower() else device


def _read_array(value: Any) -> npt.NDArray[Any]:
    """Return what numpy makes of `value`; the errors are those of whoever made it."""
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        if _accelerator(value):
            raise BufferError("not in main memory")
        shared: npt.NDArray[Any] = np.from_dlpack(value)
        return shared
    if getattr(value, "requires_grad", False) is True:
        value = value.detach()
    if (hasattr(value, "float") and _numpy_lacks(getattr(value, "dtype", ""))
            and not _accelerator(value)):
        value = value.float()
    return np.asarray(value)


def as_vector(value: Any, name: str) -> npt.NDArray[Any]:
    """Return `value` as a 1-D array; a single row or column counts as a vector."""
    array = as_array(value, name)
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim != 1:
        raise InputError(
            f"{name}: expected a vector (n,), (n, 1) or (1, n), got shape {array.shape}; "
            "pass one number per image")
    return array


def as_integers(value: Any, name: str) -> Integers:
    """Return `value` as a 1-D int64 array: any integer dtype, or floats that are integral.

    Raises
    ------
    InputError
        Not a vector, not numbers, a number that is not integral (its place is named), or a float
        so large that its dtype lacks whole numbers beside it: other labels may have become it.
    """
    array = as_vector(value, name)
    if array.dtype.kind == "f":
        _check_exact(array, name)
        array = array.astype(np.float64)
        bad = np.flatnonzero(~(np.isfinite(array) & (array == np.trunc(array))))
        if bad.size:
            raise InputError(
                f"{name}: expected whole numbers, got {array[bad[0]]!s} at index {bad[0]}; "
                "labels and cameras are integers")
        bad = np.flatnonzero(np.abs(array) >= 2.0**63)
    elif array.dtype.kind == "u":
        bad = np.flatnonzero(array > np.iinfo(np.int64).max)
    elif array.dtype.kind in "ib":
        bad = np.zeros(0, dtype=np.int64)
    else:
        raise InputError(
            f"{name}: expected whole numbers, got dtype {array.dtype}; "
            "map names to integers first, e.g. numpy.unique(names, return_inverse=True)[1]")
    if bad.size:
        raise InputError(
            f"{name}: {array[bad[0]]!s} at index {bad[0]} does not fit a 64-bit integer; "
            "renumber the identities, e.g. with numpy.unique(..., return_inverse=True)[1]")
    return array.astype(np.int64)


def _check_exact(array: npt.NDArray[Any], name: str) -> None:
    """Refuse floats from 2^53 (float32: 2^24, float16: 2^11), where they lack whole numbers."""
    digits = min(np.finfo(array.dtype).nmant, 52) + 1
    size = np.abs(array.astype(np.float64))
    bad = np.flatnonzero((size >= 2.0**digits) & (size < 2.0**63))
    if bad.size:
        raise InputError(
            f"{name}: expected whole numbers below 2^{digits} in {array.dtype}, got "
            f"{int(array[bad[0]])} at index {bad[0]}; beyond it different labels become one: "
            "save them as int64")


def check_distinct(value: Any, name: str) -> Integers:
    """Return `value` as whole numbers, each there once; it may be empty."""
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

    Parameters
    ----------
    n_identity, n_camera : int
    names : tuple of str
        Theirs, for the message.
    n_images : collection of int
        How many images there may be, where features or distances tell it.

    Raises
    ------
    InputError
        Names the one that does not fit the number of images, or both.
    """
    if n_identity == n_camera:
        return
    for name, one, other in ((names[0], n_identity, n_camera), (names[1], n_camera, n_identity)):
        if one not in n_images and other in n_images:
            raise InputError(f"{name}: expected {other} entries, one for each image, got {one}")
    raise InputError(f"{', '.join(names)}: expected one of each for every image, got "
                     f"{n_identity} and {n_camera}")


def check_labels(query: Labels, gallery: Labels, surplus: tuple[Any, ...] = ()) -> None:
    """Check that both sides hold images.

    `surplus`: arguments beyond those that a function takes by position. Other evaluators take
    four arrays in the place of query and gallery: that is said first.

    Raises
    ------
    InputError
        Not `Labels`, or empty; anything in `surplus`.
    """
    for name, labels in (("query", query), ("gallery", gallery)):
        if not (hasattr(labels, "identity") and hasattr(labels, "camera")):
            raise InputError(
                f"{name}: expected Labels(identity, camera), got {type(labels).__name__}; wrap "
                "the four arrays: Labels(query_identity, query_camera), "
                "Labels(gallery_identity, gallery_camera)")
    if surplus:
        raise InputError(f"expected the options after query and gallery by name, got "
                         f"{len(surplus)} more argument(s) by position, the first of type "
                         f"{type(surplus[0]).__name__}; write lists=..., max_memory=...")
    for name, labels in (("query", query), ("gallery", gallery)):
        if len(labels) == 0:
            raise InputError(f"{name}: expected at least one image, got none")


def check_features(
        query_features: Any, gallery_features: Any, query: Labels, gallery: Labels,
        ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return both feature arrays, checked: one row an image, equal dimension, finite.

    Raises
    ------
    InputError
        Names the argument, what was expected, what came and the way out.
    """
    checked = check_feature_shapes(query_features, gallery_features, query, gallery)
    for name, array in zip(("query_features", "gallery_features"), checked):
        check_finite_rows(array, name)
    return checked


def check_feature_shapes(
        query_features: Any, gallery_features: Any, query: Labels, gallery: Labels,
        ) -> tuple[Any, Any]:
    """Return both feature arrays, checked in shape and dtype; what is stored stays there.

    Raises
    ------
    InputError
        Names the argument, what was expected, what came and the way out.
    """
    check_labels(query, gallery)
    checked = []
    for name, value, labels in (("query_features", query_features, query),
                                ("gallery_features", gallery_features, gallery)):
        array = _stored_or_array(value, name)
        _check_numeric_matrix(array, name, "features (n, d), one row an image")
        if array.dtype.kind == "c":
            raise InputError(f"{name}: expected real features, got dtype {array.dtype}")
        if array.shape[0] != len(labels):
            fits = array.shape[1] == len(labels)
            raise InputError(
                f"{name}: expected {len(labels)} rows, one for each label, got shape "
                f"{array.shape}; "
                + ("its transpose would fit: pass or save it transposed" if fits
                   else "features and labels must come from the same run"))
        checked.append(array)
    dimensions = [array.shape[1] for array in checked]
    if dimensions[0] != dimensions[1]:
        raise InputError(
            f"query_features, gallery_features: expected the same dimension, got "
            f"{dimensions[0]} and {dimensions[1]}; both must come from the same model")
    if dimensions[0] == 0:
        raise InputError(
            "query_features, gallery_features: expected at least one dimension, got 0")
    return checked[0], checked[1]


def is_stored(value: Any) -> bool:
    """Tell a dataset on disk, of h5py or zarr, or a dask array: read by its rows."""
    return type(value).__module__.split(".")[0] in ("dask", "h5py", "zarr")


def check_known_shape(value: Any, name: str) -> None:
    """Refuse an array of Dask that does not know how many rows it has."""
    if any(size != size for size in value.shape or ()):
        raise InputError(f"{name}: expected chunks of known sizes, got shape {value.shape}; call "
                         f"{name}.compute_chunk_sizes() first")


def _stored_or_array(value: Any, name: str) -> Any:
    if not is_stored(value):
        return as_array(value, name)
    check_known_shape(value, name)
    return value


def check_distances(distances: Any, query: Labels, gallery: Labels) -> npt.NDArray[Any]:
    """Return the distances as an array, checked: queries in rows, gallery in columns.

    Raises
    ------
    InputError
        Names the argument, what was expected, what came and the way out.
    """
    check_labels(query, gallery)
    array: npt.NDArray[Any] = _stored_or_array(distances, "distances")
    _check_numeric_matrix(array, "distances", "distances (n_query, n_gallery)")
    expected = (len(query), len(gallery))
    if array.shape != expected:
        fits = array.shape == expected[::-1]
        raise InputError(
            f"distances: expected shape (n_query, n_gallery) = {expected}, got {array.shape}; "
            + ("its transpose would fit: pass or save it transposed (MATLAB keeps "
               "gallery x query)" if fits else "distances and labels must come from the same run"))
    return array


def check_real_distances(distances: npt.NDArray[Any]) -> None:
    """Refuse complex distances, which only the port orders as MATLAB does."""
    if distances.dtype.kind == "c":
        raise InputError(
            f"distances: expected real numbers, got dtype {distances.dtype}; complex distances "
            "come from the root of a tiny negative square. Use reid_ref.matlab.evaluation, "
            "which orders them as MATLAB does, or clamp the squares at 0")


def check_choice(value: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is not known, listing the known ones and the nearest."""
    names = list(known)
    if not isinstance(value, (str, int, float, type(None))):
        raise InputError(f"{name}: expected one of {', '.join(names)}, "
                         f"got {type(value).__name__}")
    if value not in names:
        near = difflib.get_close_matches(str(value), names, n=1)
        raise InputError(f"{name}: unknown {value!r}; known: {', '.join(names)}"
                         + (f". Did you mean {near[0]!r}?" if near else ""))


def _check_numeric_matrix(array: npt.NDArray[Any], name: str, what: str) -> None:
    if array.ndim != 2:
        raise InputError(f"{name}: expected {what}, got {array.ndim}-D shape {array.shape}")
    if array.dtype.kind not in "fciub":
        raise InputError(f"{name}: expected numbers, got dtype {array.dtype}")


def check_finite_rows(array: npt.NDArray[Any], name: str, first_row: int = 0) -> None:
    """Refuse NaN and Inf, naming the first row that has one."""
    if array.dtype.kind != "f":
        return
    step = 4096
    for start in range(0, len(array), step):
        finite = np.isfinite(array[start:start + step]).all(axis=1)
        if not finite.all():
            row = start + int(np.argmin(finite))
            kind = "NaN" if np.isnan(array[row]).any() else "Inf"
            raise InputError(
                f"{name}: expected finite numbers, got {kind} in row {first_row + row}; "
                "look at how that image was read or normalised")


def check_lists(lists: IndexLists | None, names: list[str], query: Labels,
                gallery: Labels) -> None:
    """Check the index lists of the conventions `names`, which cannot do without.

    Raises
    ------
    InputError
        No lists, not one for each query, or an index that the gallery does not have.
    """
    if not names:
        return
    if lists is None:
        raise InputError(
            f"lists: convention {names[0]!r} takes the good and junk images of every query from "
            "lists, got none; pass lists=IndexLists(good, junk)")
    if not (hasattr(lists, "good") and hasattr(lists, "junk")):
        raise InputError(f"lists: expected IndexLists(good, junk), got {type(lists).__name__}")
    if len(lists.good) != len(query):
        raise InputError(f"lists: expected {len(query)} lists, one for each query, "
                         f"got {len(lists.good)}")
    for name, side in (("good", lists.good), ("junk", lists.junk)):
        for k, one in enumerate(side):
            if len(one) and one.max() >= len(gallery):
                raise InputError(f"lists: {name}[{k}]: expected indices below {len(gallery)}, the "
                                 f"number of gallery images, got {one.max()}")
