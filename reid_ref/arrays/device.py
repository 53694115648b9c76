"""Arrays in the memory of an accelerator, and checks of arrays that may be there."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays.convert import accelerator, as_array, blocks_of, is_stored, numpy_lacks
from reid_ref.arrays.errors import InputError

#: What is taken where it is, by the name that its library and numpy share. Whole numbers that an
#: accelerator's library can only store (torch's uint16 and wider) are copied to main memory.
_DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")


@dataclass(frozen=True)
class DeviceArray:
    """An array that stays where it is, described as a numpy array is.

    Parameters
    ----------
    array : array, any shape
        Of a library that keeps the array API standard, without a graph of gradients.
    dtype : numpy dtype
        That of its copy in main memory: float32 for bfloat16, which numpy lacks.
    """

    array: Any
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def xp(self) -> Any:
        """The functions of its library, by the names of the array API standard."""
        return namespace(self.array)

    @property
    def device(self) -> Any:
        return self.array.device

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: npt.NDArray[Any]) -> DeviceArray:
        """Return a copy of the rows under a mask, or at an array of indices."""
        place = np.flatnonzero(rows) if rows.dtype == bool else rows
        return DeviceArray(take(self.array, to_device(self.xp, place, self.device)), self.dtype)

    def astype(self, dtype: npt.DTypeLike) -> DeviceArray:
        named = np.dtype(dtype)
        return DeviceArray(self.xp.astype(self.array, getattr(self.xp, named.name)), named)


def namespace(array: Any) -> Any:
    """Return the functions of an array's library, by the names of the array API standard."""
    from array_api_compat import array_namespace

    return array_namespace(array)


def take(array: Any, index: Any, axis: int = 0) -> Any:
    """Return the entries at indices of one axis; none of them is negative."""
    xp = namespace(array)
    if hasattr(xp, "index_select"):  # torch: its `take` of the standard first looks for negative
        return xp.index_select(array, axis, index)
    return xp.take(array, index, axis=axis)


def is_elsewhere(value: Any) -> bool:
    """Return whether a value lies in the memory of an accelerator."""
    return not isinstance(value, np.ndarray) and bool(accelerator(value))


def where_they_are(*values: Any) -> tuple[Any, ...]:
    """Return the values as `DeviceArray` if all lie on one accelerator; else unchanged.

    Unchanged, and so copied to main memory later, are also arrays of a library without the array
    API standard, of an accelerator without doubles (Apple's), and of a dtype that it cannot count.
    """
    described = [value if isinstance(value, DeviceArray) else _described(value)
                 for value in values]
    arrays = [array for array in described if array is not None]
    if len(arrays) < len(values):
        return tuple(map(in_main_memory, values))
    if any(array.xp is not arrays[0].xp or array.device != arrays[0].device for array in arrays):
        return tuple(map(to_numpy, arrays))
    return tuple(arrays)


def to_numpy(value: Any) -> npt.NDArray[Any]:
    """Return the copy of an array in main memory."""
    return as_array(value.array if isinstance(value, DeviceArray) else value, "array")


def joined(arrays: Sequence[DeviceArray]) -> DeviceArray:
    """Join arrays of one device as ``numpy.concatenate`` does: their dtype is numpy's choice."""
    xp, dtype = arrays[0].xp, np.result_type(*(array.dtype for array in arrays))
    if any(array.array.dtype != arrays[0].array.dtype for array in arrays):
        arrays = [array.astype(dtype) for array in arrays]
    return DeviceArray(xp.concat([array.array for array in arrays]), dtype)


def in_main_memory(value: Any) -> Any:
    """Return the copy in main memory of a `DeviceArray`; anything else unchanged."""
    return to_numpy(value) if isinstance(value, DeviceArray) else value


def to_device(xp: Any, array: npt.NDArray[Any], device: Any) -> Any:
    """Return the copy of a numpy array on a device."""
    return xp.asarray(np.array(array), device=device)


def _described(value: Any) -> DeviceArray | None:
    if not is_elsewhere(value):
        return None
    from array_api_compat import is_array_api_obj

    dense = str(getattr(value, "layout", "torch.strided")) == "torch.strided"
    if not is_array_api_obj(value) or not dense:
        return None
    name = str(value.dtype).rpartition(".")[2]
    lacks = numpy_lacks(value.dtype) and not name.startswith("float8")
    if not (name in _DTYPES or lacks) or not _has_doubles(namespace(value), value.device):
        return None
    plain = value.detach() if hasattr(value, "detach") else value
    return DeviceArray(plain, np.dtype(np.float32 if lacks else name))


@lru_cache(maxsize=None)
def _has_doubles(xp: Any, device: Any) -> bool:
    """Return whether a device of a library keeps the digits of a double."""
    try:
        third = xp.asarray([1.0], dtype=xp.float64, device=device) / 3
        return bool(float(third[0]) == 1 / 3)
    except Exception:  # each library has errors of its own for what a device cannot do
        return False


def stored_or_array(value: Any, name: str) -> Any:
    """Return a stored dataset or an array on an accelerator as it is, anything else as numpy."""
    if isinstance(value, DeviceArray):
        return value
    if not is_stored(value):
        return as_array(value, name)
    if any(size != size for size in value.shape or ()):  # NaN: unknown to dask
        raise InputError(name, "chunks of known sizes", f"shape {value.shape}",
                         f"call {name}.compute_chunk_sizes() first")
    return value


def check_finite_rows(array: npt.NDArray[Any] | DeviceArray, name: str,
                      first_row: int = 0) -> None:
    """Refuse NaN and Inf; the message names the first such row."""
    if array.dtype.kind != "f":
        return
    rows = in_main_memory(array)
    for block in blocks_of(len(rows), 4096):
        finite = np.isfinite(rows[block]).all(axis=1)
        if not finite.all():
            row = block.start + int(np.argmin(finite))
            kind = "NaN" if np.isnan(rows[row]).any() else "Inf"
            raise InputError(name, "finite numbers", f"{kind} in row {first_row + row}",
                             "look at how that image was read or normalised")
