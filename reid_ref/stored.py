"""Arrays that stay in a file until their rows are asked for: `numpy.memmap`, `h5py.Dataset`.

Both have `shape`, `dtype`, `ndim` and a length, and give an array for a slice of rows.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.validation import InputError, is_stored


def is_lazy(array: Any) -> bool:
    """Return whether an array's rows are still in a file.

    Examples
    --------
    >>> is_lazy(np.eye(2))
    False
    """
    return isinstance(array, np.memmap) or is_stored(array)


def read_rows(array: Any, start: int = 0, stop: int | None = None) -> npt.NDArray[Any]:
    """Return rows of an array, lazy or not, from `start` up to `stop`, or up to the last.

    Parameters
    ----------
    array : ndarray, memmap or h5py.Dataset, shape (n, ...)
    start, stop : int

    Returns
    -------
    ndarray, shape (stop - start, ...)
        In memory if it comes from an h5py.Dataset; else a view.

    Raises
    ------
    InputError
        HDF5 notices only here that data are damaged; file and key are named.

    Examples
    --------
    >>> read_rows(np.eye(3), 1, 2)
    array([[0., 1., 0.]])
    """
    try:
        return np.asarray(array[start:stop])
    except (OSError, ValueError, RuntimeError, MemoryError) as error:
        if not hasattr(array, "file"):
            raise
        raise InputError(
            f"{array.file.filename}: {array.name.lstrip('/')}: expected sound data that fit in "
            f"memory, got {type(error).__name__}: {error}; copy or write the file again") from None
