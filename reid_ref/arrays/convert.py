"""Lists, tensors and columns of labels as numpy arrays, and checks of these."""
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays.errors import InputError
from reid_ref.arrays.texts import check_texts, check_width, text_array, texts_within

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.str_]


def as_array(value: Any, name: str) -> Array:
    """Return `value` as a numpy array, sharing its memory if numpy can.

    Accepted: arrays, nested lists, objects with ``__array__`` (torch tensors) or ``__dlpack__``,
    and lists of these. A tensor on an accelerator is copied to main memory by its own ``cpu()``
    (torch) or ``get()`` (CuPy). A tensor that requires grad is detached; bfloat16 and float8,
    which numpy lacks, are widened to float32, which changes no value. No library is imported.

    Raises
    ------
    InputError
        Masked entries, rows of different length, a device whose memory cannot be copied (it is
        named), or anything else that numpy cannot read.
    """
    # Of a list of masked arrays numpy would drop the masks; a list of numbers may be long.
    first = next(iter(value), 0) if isinstance(value, (list, tuple)) else 0
    parts = [value] if isinstance(first, (int, float)) else value
    masked = sum(int(np.count_nonzero(part.mask)) for part in parts
                 if isinstance(part, np.ma.MaskedArray))
    if masked:
        raise InputError(name, "an array without masked entries", f"{masked:,} of them",
                         "leave out these images, or pass .filled(value) of the masked array")
    if isinstance(value, (list, tuple)) and len(value) and _is_foreign(value[0]):
        value = [as_array(item, f"{name}[{k}]") for k, item in enumerate(value)]
    try:
        if isinstance(value, (list, tuple)) and (texts := texts_within(value)):
            check_texts(texts, name)
        array = _read_array(value)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # whatever the code of others raises
        if isinstance(value, (list, tuple)) and isinstance(error, ValueError):
            raise InputError(name, "an array", "rows of different length",
                             "every row needs the same number of entries") from None
        where = f" on device {value.device}" if hasattr(value, "device") else ""
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InputError(
            name, "an array", f"a {type(value).__name__}{where} that numpy cannot read ({reason})",
            "pass a dense numpy array or a dense tensor in main memory") from None
    return array.astype(np.float32) if numpy_lacks(array.dtype) else array


#: DLPack's device types whose memory numpy can read: CPU, CUDA host, ROCm host, CUDA managed.
_MAIN_MEMORY = {1, 3, 11, 13}


def _is_foreign(value: Any) -> bool:
    return (hasattr(value, "__array__") or hasattr(value, "__dlpack__")) and not isinstance(
        value, (np.ndarray, np.generic))


def numpy_lacks(dtype: Any) -> bool:
    return str(dtype).rpartition(".")[2].startswith(("bfloat16", "float8"))


def accelerator(value: Any) -> str:
    """Return the name of the device that holds `value`, or "" if that is main memory."""
    device = str(getattr(value, "device", ""))
    if not device and hasattr(value, "__dlpack_device__"):
        kind, number = value.__dlpack_device__()
        device = "" if int(kind) in _MAIN_MEMORY else f"{number} of DLPack type {int(kind)}"
    return "" if "cpu" in device.lower() else device


def _read_array(value: Any) -> Array:
    """Return `value` as numpy reads it; errors are those of numpy or of the tensor's library."""
    if accelerator(value):
        if hasattr(value, "cpu"):
            # Detached first, or the copy would become part of the graph.
            value = (value.detach() if hasattr(value, "detach") else value).cpu()
        elif hasattr(value, "get"):
            value = value.get()
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        if accelerator(value):
            raise BufferError("not in main memory")
        return np.from_dlpack(value)
    if getattr(value, "requires_grad", False) is True:
        value = value.detach()
    if (hasattr(value, "float") and numpy_lacks(getattr(value, "dtype", ""))
            and not accelerator(value)):
        value = value.float()
    return np.asarray(value)


def as_vector(value: Any, name: str) -> Array:
    """Return `value` as a 1-D array; a single row or column counts as a vector."""
    array = as_array(value, name)
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim != 1:
        raise InputError(name, "a vector (n,), (n, 1) or (1, n)", f"shape {array.shape}",
                         "pass one number per image")
    return array


def as_integers(value: Any, name: str) -> Integers:
    """Return `value` as a 1-D int64 array: any integer dtype, or floats that are integral.

    Raises
    ------
    InputError
        Not a vector, not numbers, a number that is not integral (its index is named), or a float
        beyond which its dtype no longer represents every integer, so that labels may have merged.
    """
    array = as_vector(value, name)
    dtype = array.dtype
    if dtype.kind == "b" or isinstance(value, (list, tuple)) and bool in set(map(type, value)):
        raise InputError(name, "whole numbers", "true or false", "give 1 and 0 if these are "
                         "meant, e.g. .astype(int)")
    if dtype.kind not in "fiu":
        raise InputError(name, "whole numbers", f"dtype {dtype}")
    too_large = array > np.iinfo(np.int64).max if dtype.kind == "u" else np.zeros(0, bool)
    if dtype.kind == "f":
        # From 2^53 (float32: 2^24, float16: 2^11) some integers are missing.
        digits = min(np.finfo(dtype).nmant, 52) + 1
        array = array.astype(np.float64)
        not_whole = ~np.isfinite(array) | (array != np.trunc(array))
        too_large = np.abs(array) >= 2.0**63
        refuse_where((np.abs(array) >= 2.0**digits) & ~too_large, array, name,
                     f"whole numbers below 2^{digits} in {dtype}",
                     "beyond it different labels become one: save them as int64")
        refuse_where(not_whole, array, name, "whole numbers", "labels and cameras are integers")
    refuse_where(too_large, array, name, "numbers that fit a 64-bit integer",
                 "give them as text: .astype(str)")
    return array.astype(np.int64)


def refuse_where(wrong: Mask, array: Array, name: str, expected: str, remedy: str) -> None:
    """Refuse an array for its first number under a mask."""
    for k in np.flatnonzero(wrong)[:1]:
        whole = abs(array[k]) < 2.0**63 and array[k] == np.trunc(array[k])
        got = int(array[k]) if whole else array[k]
        raise InputError(name, expected, f"{got!s} at index {k}", remedy)


def as_labels(value: Any, name: str) -> Array:
    """Return `value` as a 1-D array: of text, if it has some, as `as_names`, else `as_integers`.

    Examples
    --------
    >>> as_labels(["Dan", "Eve"], "identity"), as_labels([7.0, 8.0], "identity")
    (array(['Dan', 'Eve'], dtype='<U3'), array([7, 8]))
    """
    array = as_vector(value, name)
    texts = array.dtype.kind in "UT" or array.dtype.kind == "O" and any(
        isinstance(entry, str) for entry in array)
    if not array.size or not texts:
        return as_integers(value if array.size else [], name)
    names = as_names(array, name)
    for k in np.flatnonzero(names == "")[:1]:
        raise InputError(name, "a label for each image", f"an empty one at index {k}")
    return names


def as_names(value: Any, name: str) -> Texts:
    """Return `value` as a 1-D array of text: str, or paths.

    Raises
    ------
    InputError
        Not a vector, or anything else than text in it.

    Examples
    --------
    >>> as_names(["a.jpg", "bc.jpg"], "name")
    array(['a.jpg', 'bc.jpg'], dtype='<U6')
    """
    array = as_vector(value, name)
    if array.dtype.kind in "OT" or not array.size:
        for entry in array:
            if not isinstance(entry, (str, os.PathLike)):
                raise InputError(name, "text, one name per image", type(entry).__name__)
        return text_array([os.fspath(entry) for entry in array], name)
    if array.dtype.kind != "U":
        raise InputError(name, "text, one name per image", f"dtype {array.dtype}")
    check_width(array.dtype.itemsize // 4, name)
    code = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
    for block in blocks_of(len(array), 2**20 // max(1, array.dtype.itemsize)):
        characters = np.frombuffer(array[block].tobytes(), code)
        if characters.max(initial=0) > sys.maxunicode:  # numpy makes broken str of it
            raise InputError(name, "text in Unicode", "something else or damage")
    return array


def read_only(array: Array) -> Array:
    """Return a read-only copy; as a view of a read-only array it cannot be made writeable."""
    copy: Array = np.array(array)
    copy.flags.writeable = False
    return copy[:]


def blocks_of(count: int, step: int) -> list[slice]:
    """Return consecutive blocks of `count` rows: `step` rows each or what is left, one at least.

    Examples
    --------
    >>> blocks_of(5, 2), blocks_of(2, 0), blocks_of(0, 2)
    ([slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)], \
[slice(0, 1, None), slice(1, 2, None)], [])
    """
    step = max(1, step)
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def with_rows(blocks: Iterable[Any]) -> Iterator[tuple[slice, Any]]:
    """Yield each of consecutive blocks of rows with its rows.

    Examples
    --------
    >>> [rows for rows, block in with_rows(["ab", "c"])]
    [slice(0, 2, None), slice(2, 3, None)]
    """
    done = 0
    for block in blocks:
        done += len(block)
        yield slice(done - len(block), done), block
        del block  # to free the memory before the next block


def check_distinct(value: Any, name: str) -> Integers:
    """Return `value` as whole numbers without repetition; it may be empty."""
    integers = as_integers(value if np.size(value) else np.zeros(0, np.int64), name)
    values, counts = np.unique(integers, return_counts=True)
    if len(values) < len(integers):
        raise InputError(name, "each image once", f"{values[counts > 1][0]} {counts.max()} times")
    return integers


def check_numeric_matrix(array: Array, name: str, what: str) -> None:
    if array.ndim != 2:
        raise InputError(name, what, f"{array.ndim}-D shape {array.shape}")
    if array.dtype.kind not in "fciub":
        raise InputError(name, "numbers", f"dtype {array.dtype}")


def check_real_distances(distances: Array) -> None:
    """Refuse complex distances; only the port of the scripts orders them as MATLAB does."""
    if distances.dtype.kind == "c":
        raise InputError(
            "distances", "real numbers", f"dtype {distances.dtype}", "complex distances come "
            "from the root of a tiny negative square: clamp the squares at 0, or let the scripts "
            "order them (reid_ref.matlab.evaluation, `reid-ref scripts`)")


def stored_or_array(value: Any, name: str) -> Any:
    """Return a stored dataset as it is, anything else as numpy."""
    if not is_stored(value):
        return as_array(value, name)
    if any(size != size for size in value.shape or ()):  # NaN: unknown to dask
        raise InputError(name, "chunks of known sizes", f"shape {value.shape}",
                         f"call {name}.compute_chunk_sizes() first")
    return value


def check_finite_rows(rows: Array, name: str, first_row: int = 0) -> None:
    """Refuse NaN and Inf; the message names the first such row."""
    if rows.dtype.kind != "f":
        return
    for block in blocks_of(len(rows), 4096):
        finite = np.isfinite(rows[block]).all(axis=1)
        if not finite.all():
            row = block.start + int(np.argmin(finite))
            kind = "NaN" if np.isnan(rows[row]).any() else "Inf"
            raise InputError(name, "finite numbers", f"{kind} in row {first_row + row}",
                             "look at how that image was read or normalised")


def is_stored(value: Any) -> bool:
    """Return whether a value is a dataset of h5py or zarr, or a dask array: read in blocks."""
    return type(value).__module__.split(".")[0] in ("dask", "h5py", "zarr")
