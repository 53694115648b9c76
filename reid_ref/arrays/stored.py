"""Arrays that stay in a file until their rows are asked for: `numpy.memmap`, `h5py.Dataset`.

Both have `shape`, `dtype`, `ndim` and a length, and give an array for a slice of rows. So have
Dask's arrays, whose rows are computed when they are asked for, in blocks of declared shapes.
"""
from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, as_array, is_stored


def is_lazy(array: Any) -> bool:
    """Return whether an array's rows are still in a file.

    Examples
    --------
    >>> is_lazy(np.eye(2))
    False
    """
    return isinstance(array, np.memmap) or is_stored(array)


def is_dask(value: Any) -> bool:
    """Return whether this is an array of Dask."""
    return type(value).__module__.startswith("dask.array")


def read_rows(array: Any, start: int = 0, stop: int | None = None,
              name: str = "array") -> npt.NDArray[Any]:
    """Return rows of an array, lazy or not, from `start` up to `stop`, or up to the last.

    Parameters
    ----------
    array : ndarray, memmap, h5py.Dataset or dask array, shape (n, ...)
    start, stop : int
    name : str
        The argument's, for messages about a dask array.

    Returns
    -------
    ndarray, shape (stop - start, ...)
        In memory if it comes from an h5py.Dataset or a dask array; else a view.

    Raises
    ------
    InputError
        HDF5 notices only here that data are damaged; file and key are named. A block of a dask
        array has another shape than declared.

    Examples
    --------
    >>> read_rows(np.eye(3), 1, 2)
    array([[0., 1., 0.]])
    """
    if is_dask(array):
        return computed_rows(array, start, array.shape[0] if stop is None else stop, name)
    try:
        return np.asarray(array[start:stop])
    except (OSError, ValueError, RuntimeError, MemoryError) as error:
        if not hasattr(array, "file"):
            raise
        raise InputError(
            f"{array.file.filename}: {array.name.lstrip('/')}: expected sound data that fit in "
            f"memory, got {type(error).__name__}: {error}; copy or write the file again") from None


def as_rows(value: Any, name: str) -> npt.NDArray[Any]:
    """Return an array in memory: what is stored is read, whole, as `read_rows` reads it."""
    return read_rows(value, name=name) if is_stored(value) else as_array(value, name)


def joined_blocks(blocks: Any, rows: slice, widths: Any, name: str) -> npt.NDArray[Any]:
    """Join the computed blocks of some rows of a dask array, checked.

    Parameters
    ----------
    blocks : sequence of arrays
        From the first column on.
    rows : slice
        Where they stand in the dask array.
    widths : sequence of int
        Columns of each, as declared.
    name : str

    Raises
    ------
    InputError
        A block that has not the shape that its array declared.
    """
    arrays = [as_array(block, name) for block in blocks]
    for array, width in zip(arrays, widths):
        expected = rows.stop - rows.start, width
        if array.shape != expected:
            raise InputError(
                f"{name}: expected a block of shape {expected}, as its dask array declares for "
                f"rows {rows.start} to {rows.stop - 1}, got {array.shape}; give map_blocks, "
                "from_delayed or from_map the chunks that the blocks really have")
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=1)


def computed_rows(array: Any, start: int, stop: int, name: str,
                  scheduler: Any = None) -> npt.NDArray[Any]:
    """Return rows of a dask array; the blocks that hold them are computed whole.

    `scheduler`: as `dask.compute` takes it; by default the current one.
    """
    import dask

    edges = np.cumsum([0, *array.chunks[0]]).tolist()
    grid = array.to_delayed()
    chosen = [(slice(first, last), grid[k]) for k, (first, last) in enumerate(pairwise(edges))
              if first < stop and last > start]
    computed = dask.compute(*[list(row) for _, row in chosen], scheduler=scheduler)
    parts = [joined_blocks(blocks, rows, array.chunks[1], name)
             for (rows, _), blocks in zip(chosen, computed)]
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    offset = chosen[0][0].start
    return whole[start - offset:stop - offset]
