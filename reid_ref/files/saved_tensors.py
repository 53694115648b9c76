"""What torch.save wrote (.pt, .pth): tensors by name, still in the file.

Nothing in such a file is run: torch's reader of weights takes tensors, numbers, text and
containers of these, and here numpy's arrays and scalars, made from their bytes. Any other object
is refused. Tensors stay in the file, as arrays of .npy files do; bfloat16 and float8, which numpy
lacks, are read and widened to float32, which changes no value.
"""
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, as_array, memory, optional_module
from reid_ref.arrays.convert import numpy_lacks
from reid_ref.files.batches import named_arrays
from reid_ref.files.numpy_pickles import STAND_INS, NotPlain, unwrapped
from reid_ref.files.pickle_sizes import Oversized, check_pickles
from reid_ref.files.stored_arrays import StoredArray, pickled

#: Older versions run code of a hostile file all the same (CVE-2025-32434).
_VERSION = (2, 6)
#: Messages of torch about objects that only their code can make.
_NEEDS_CODE = re.compile("GLOBAL|Can only|Trying to")


def read_tensors(path: Path) -> dict[str, StoredArray]:
    """Return the tensors and arrays of a file by name; keys of nested dicts are joined by dots.

    Batches are joined (`batches`).

    Raises
    ------
    InputError
        torch is not installed or too old, the file holds objects that need code, or is damaged.
    """
    otherwise = ("or, if it is a dict of arrays, on a machine with torch: "
                 f"numpy.savez({path.stem + '.npz'!r}, **torch.load({path.name!r}))")
    torch = optional_module(f"{path}: a file of torch.save", "torch", otherwise=otherwise)
    if tuple(map(int, re.findall("[0-9]+", torch.__version__)[:2])) < _VERSION:
        raise InputError(path, got="a file of torch.save needs torch 2.6 or newer",
                         remedy=f'pip install --upgrade torch, {otherwise}')
    try:
        check_pickles(path)
        return named_arrays(unwrapped(_load(torch, path)), path, path.stem, _stored)
    except (Oversized, MemoryError) as error:
        raise InputError(path, "a file of torch.save", str(error) or "more than memory holds",
                         "save its features, distances and labels as arrays, with "
                         "numpy.savez(...)") from None
    except NotPlain as error:
        where = ": ".join(filter(None, (str(path), ".".join(map(str, error.keys[:3])))))
        raise InputError(where, "arrays of numbers or text", error.reason,
                         _saved_again(path)) from None
    except Exception as error:
        if isinstance(error, pickle.UnpicklingError) and _NEEDS_CODE.search(str(error)):
            raise pickled(path, _saved_again(path)) from None
        raise InputError(path, "a file of torch.save", f"something else or damage "
                         f"({type(error).__name__})", "copy or write the file again") from None


def _saved_again(path: Path) -> str:
    """Return Python that saves again the entries of a dict, or of an object, that are arrays."""
    return (f"if you trust it: data = torch.load({path.name!r}, weights_only=False); "
            "torch.save({k: v for k, v in (getattr(data, '__dict__', 0) or data).items() if "
            "isinstance(v, (int, list)) or getattr(v, 'dtype', object) != object}, "
            f"{path.stem + '_arrays.pt'!r})")


def _load(torch: Any, path: Path) -> Any:
    """Return what torch's reader of weights makes of a file."""
    with path.open("rb") as file:
        mapped = file.read(4) == b"PK\x03\x04"     # torch 1.5 and older wrote no zip archive
    with (torch.serialization.safe_globals([(value, name) for name, value in STAND_INS.items()]),
          memory.limited(memory.most_for(path.stat().st_size))):
        return torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)


def _stored(value: Any, where: str) -> StoredArray:
    if isinstance(value, (int, float, str)):
        value = np.array(value)
    if isinstance(value, np.ndarray):
        return StoredArray.of(where, value)
    if not hasattr(value, "dtype"):
        return StoredArray.refused(InputError(where, "an array", type(value).__name__))
    if numpy_lacks(value.dtype):
        return StoredArray(where, tuple(value.shape), np.dtype(np.float32),
                           lambda: as_array(value, where))
    try:
        return StoredArray.of(where, as_array(value, where), in_file=value.ndim == 2)
    except InputError as error:     # such as a sparse tensor
        return StoredArray.refused(error)
