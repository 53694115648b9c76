"""What torch.save wrote (.pt, .pth): tensors by name, still in the file.

Nothing in such a file is run: torch's reader of weights takes tensors, numbers, text and
containers of these, and here numpy's arrays, each by its name. Any other object is refused.
Tensors stay in the file, as arrays of .npy files do; bfloat16 and float8, which numpy lacks, are
read and widened to float32, which changes no value.
"""
from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, as_array
from reid_ref.arrays.convert import numpy_lacks
from reid_ref.files.stored_arrays import StoredArray, as_npz, pickled

#: Older versions run code of a hostile file all the same (CVE-2025-32434).
_VERSION = (2, 6)
#: Messages of torch about objects that only their code can make.
_NEEDS_CODE = re.compile("GLOBAL|Can only|Trying to")
#: What numpy's arrays of numbers and text are made of in a pickle.
_OF_NUMPY: list[Any] = [np.ndarray, np.dtype, *(
    type(np.dtype(kind)) for kind in "?bhilqBHILQefdgFDGU")]
_RECONSTRUCT: Any = np.zeros(0).__reduce__()[0]


def read_tensors(path: Path) -> dict[str, StoredArray]:
    """Return the tensors and arrays of a file by name; keys of nested dicts are joined by dots.

    Raises
    ------
    InputError
        torch is not installed or too old, the file holds objects that need code, or is damaged.
    """
    try:
        import torch
    except ImportError:
        raise _needs_torch(path) from None
    if tuple(map(int, re.findall("[0-9]+", torch.__version__)[:2])) < _VERSION:
        raise _needs_torch(path)
    names: list[Any] = [(_RECONSTRUCT, f"numpy.{core}.multiarray._reconstruct")
                        for core in ("core", "_core")]
    with path.open("rb") as file:
        mapped = file.read(4) == b"PK\x03\x04"     # torch 1.5 and older wrote no zip archive
    try:
        with torch.serialization.safe_globals([*_OF_NUMPY, *names]):
            value = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
        return dict(_arrays(value, path.stem if _is_array(value) else "", path))
    except Exception as error:
        if isinstance(error, pickle.UnpicklingError) and _NEEDS_CODE.search(str(error)):
            raise pickled(path, f"torch.load({path.name!r}, weights_only=False)") from None
        raise InputError(path, "a file of torch.save", f"something else or damage "
                         f"({type(error).__name__})", "copy or write the file again") from None


def _needs_torch(path: Path) -> InputError:
    return InputError(path, got="this is a file of torch.save, which needs torch 2.6 or newer",
                      remedy='pip install "reid-ref[torch]", or on a machine with torch: '
                      + as_npz(path, f"torch.load({path.name!r})"))


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype")


def _arrays(value: Any, name: str, path: Path) -> Iterator[tuple[str, StoredArray]]:
    """Yield what a value holds; numbers and text, or lists of them, are arrays, too."""
    where = f"{path}: {name}"
    items: Any = value.items() if isinstance(value, Mapping) else ()
    if isinstance(value, (list, tuple)):
        if all(isinstance(entry, (int, float, str)) for entry in value):
            value = np.array(value)
        else:
            items = enumerate(value)
    if isinstance(value, (int, float, str)):
        value = np.array(value)
    if _is_array(value):
        yield name, _stored(value, where)
    elif items:
        for key, entry in items:
            yield from _arrays(entry, f"{name}.{key}" if name else str(key), path)
    else:
        yield name, StoredArray.refused(InputError(where, "an array", type(value).__name__))


def _stored(value: Any, where: str) -> StoredArray:
    if isinstance(value, np.ndarray):
        return StoredArray.of(where, value)
    if numpy_lacks(value.dtype):
        return StoredArray(where, tuple(value.shape), np.dtype(np.float32),
                           lambda: as_array(value, where))
    try:
        return StoredArray.of(where, as_array(value, where), in_file=value.ndim == 2)
    except InputError as error:     # such as a sparse tensor
        return StoredArray.refused(error)
