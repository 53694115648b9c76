"""Arrays that are read block by block: `numpy.memmap`, `h5py.Dataset` and dask arrays.

All have `shape`, `dtype` and `ndim`, and return an array for a slice of rows. Rows of a dask array
are computed on demand, in blocks of declared shapes.

Matrices in the order of C, whose rows are read one by one, are made here, too.
"""
from itertools import pairwise
from typing import Any

import numpy as np

from reid_ref.arrays.convert import Array, as_array, blocks_of, is_stored
from reid_ref.arrays.cores import in_threads
from reid_ref.arrays.errors import InputError


def is_lazy(array: Any) -> bool:
    """Return whether the rows of an array are not in memory.

    Examples
    --------
    >>> is_lazy(np.eye(2))
    False
    """
    return isinstance(array, np.memmap) or is_stored(array)


def is_dask(value: Any) -> bool:
    """Return whether a value is a dask array."""
    return type(value).__module__.startswith("dask.array")


def read_rows(array: Any, start: int = 0, stop: int | None = None, name: str = "array") -> Array:
    """Return the rows `start` to `stop` (not included; by default the last) of an array.

    Parameters
    ----------
    array : ndarray, memmap, h5py.Dataset or dask array, shape (n, ...)
    start, stop : int
    name : str
        For messages about a dask array.

    Returns
    -------
    ndarray, shape (stop - start, ...)
        A view of an array or a memmap; in memory otherwise.

    Raises
    ------
    InputError
        Damaged data of an HDF5 file, which appear only when they are read (file and key are
        named), or a block of a dask array of another shape than declared.

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
            f"{array.file.filename}: {array.name.lstrip('/')}", "sound data that fit in memory",
            f"{type(error).__name__}: {error}", "copy or write the file again") from None


def as_rows(value: Any, name: str) -> Array:
    """Return an array in memory; a stored one is read whole, by `read_rows`."""
    return read_rows(value, name=name) if is_stored(value) else as_array(value, name)


def joined_blocks(blocks: Any, rows: slice, widths: Any, name: str) -> Array:
    """Join the computed blocks of `rows` of a dask array, the first columns first.

    `widths` are the declared numbers of columns; a block of another shape is refused.
    """
    arrays = [as_array(block, name) for block in blocks]
    for array, width in zip(arrays, widths):
        expected = rows.stop - rows.start, width
        if array.shape != expected:
            raise InputError(
                name, f"a block of shape {expected}, as its dask array declares for rows "
                f"{rows.start} to {rows.stop - 1}", array.shape, "give map_blocks, from_delayed "
                "or from_map the chunks that the blocks really have")
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=1)


def computed_rows(array: Any, start: int, stop: int, name: str, scheduler: Any = None) -> Array:
    """Return rows of a dask array; each block that holds some of them is computed whole.

    `scheduler` is that of `dask.compute`; by default the current one.
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


#: Rows and columns of a block that is copied at a time, so that both copies are in the
#: processor's cache: eight times as fast as numpy's copy of a whole transposed matrix.
BLOCK = 128, 512


def in_rows(matrix: Array) -> Array:
    """Return a matrix whose rows are contiguous: itself, or a copy made by all cores.

    Matrices of MATLAB are transposed: gallery x query, column after column.

    Examples
    --------
    >>> in_rows(np.array([[1, 2], [3, 4]]).T)
    array([[1, 3],
           [2, 4]])
    """
    if matrix.flags.c_contiguous:
        return matrix
    copy = np.empty(matrix.shape, matrix.dtype)

    def copy_rows(rows: slice) -> None:
        for columns in blocks_of(matrix.shape[1], BLOCK[1]):
            copy[rows, columns] = matrix[rows, columns]

    blocks = blocks_of(len(matrix), BLOCK[0])
    if len(blocks) < 2:  # a thread takes longer to start than to copy little
        copy[:] = matrix
        return copy
    list(in_threads(copy_rows, blocks))
    return copy
