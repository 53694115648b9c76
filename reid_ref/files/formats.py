"""The file formats: MAT v4 to v7.3, .npz, .npy, HDF5 and text, each read into named arrays.

Aim: one function a format; what its library raises on a damaged file becomes `InputError`.

Conventions: arrays come out as the format's own world shows them: a MATLAB array in
MATLAB's orientation, whether stored in MAT v5 or (transposed) in v7.3. A .npy file is mapped, and
a matrix in HDF5 comes out as a `Stored` dataset: the labels beside it are small, it may not be.
"""
from __future__ import annotations

import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.files.lazy import Stored
from reid_ref.files.mat5 import check_mat5
from reid_ref.validation import InputError


@dataclass(frozen=True)
class Contents:
    """What a file holds: its arrays by key, and the format for people.

    `either_way` says that the format leaves open which axis comes first (HDF5). `close` closes
    the file of `Stored` arrays, which cannot be read any more then.
    """

    values: dict[str, Any]
    format: str
    either_way: bool = False
    close: Callable[[], object] = lambda: None


NPY = "a .npy file"

# What the libraries raise on damaged files. scipy's MAT reader raises anything, from
# IndexError to UnboundLocalError, so around that one call it is Exception.
_NUMPY_ERRORS = (OSError, ValueError, TypeError, KeyError, EOFError, RuntimeError, MemoryError,
                 OverflowError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error)
_HDF5_ERRORS = (OSError, ValueError, TypeError, KeyError, RuntimeError, MemoryError)
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_PICKLED = ("expected plain arrays, got pickled Python objects, which are not read because "
            "unpickling can run code; save numbers, or names with .astype(str)")


@contextmanager
def _reading(path: Path, what: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # scipy only warns about these two, and answers with something else
            warnings.filterwarnings("error", "Unreadable variable|Duplicate variable")
            yield
    except InputError:
        raise
    except errors as error:
        raise InputError(
            f"{path}: expected {what}, got something else or a damaged file "
            f"({type(error).__name__}: {error}); copy or write it again") from None


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(520)


def read_mat(path: Path) -> Contents:
    """Read a MAT file of any version; dtypes are those stored, which may be smaller."""
    head = _head(path)
    if _HDF5_SIGNATURE in (head[:8], head[512:520]):
        return read_hdf5(path)
    with _reading(path, "a MAT file", (Exception,)):
        from scipy.io import loadmat
        with path.open("rb") as file:
            check_mat5(file)
        values = loadmat(str(path), appendmat=False)
    return Contents({key: value for key, value in values.items() if not key.startswith("__")},
                    "a MAT file")


def read_npz(path: Path) -> Contents:
    """Read a .npz file; objects in it are never unpickled."""
    if _head(path)[:4] not in (b"PK\x03\x04", b"PK\x05\x06"):
        raise InputError(
            f"{path}: expected a .npz file (a zip archive), got something else; "
            "write it with numpy.savez(path, key=array, ...)")
    values: dict[str, Any] = {}
    with (_reading(path, "a .npz file", _NUMPY_ERRORS), path.open("rb") as file,
          np.load(file, allow_pickle=False) as stored):
        for key in stored.files:
            try:
                values[key] = stored[key]
            except ValueError as error:
                if "pickle" not in str(error):
                    raise
                raise InputError(f"{path}: {key}: {_PICKLED}") from None
    return Contents(values, "a .npz file")


def read_npy(path: Path) -> Contents:
    """Map a .npy file as an array named after the file; objects in it are never unpickled."""
    with _reading(path, NPY, _NUMPY_ERRORS):
        try:
            array = np.lib.format.open_memmap(path, mode="r")
        except ValueError as error:
            if "Python objects" not in str(error):
                raise
            raise InputError(f"{path}: {_PICKLED}") from None
    return Contents({path.stem: array}, NPY)


def read_hdf5(path: Path) -> Contents:
    """Read the top-level arrays of an HDF5 file: MATLAB's v7.3, or any other.

    A matrix of numbers is not read, and then the file stays open.
    """
    try:
        import h5py  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise InputError(
            f"{path}: this is an HDF5 file (MATLAB's v7.3), which needs h5py; "
            'pip install "reid-ref[hdf5]", or save it with -v7') from None
    with _reading(path, "an HDF5 file", _HDF5_ERRORS), ExitStack() as stack:
        file = stack.enter_context(h5py.File(path, "r"))
        arrays = {str(key): item for key, item in file.items() if isinstance(item, h5py.Dataset)}
        matlab = any("MATLAB_class" in item.attrs for item in arrays.values())
        values = {key: Stored(item, turned="MATLAB_class" in item.attrs) if _is_matrix(item)
                  else _hdf5_value(item) for key, item in arrays.items()}
        stack.pop_all()
    return Contents(values, "a MAT v7.3 file" if matlab else "an HDF5 file", either_way=True,
                    close=file.close)


def _is_matrix(item: Any) -> bool:
    return (item.ndim == 2 and item.dtype.kind in "biufc"
            and item.attrs.get("MATLAB_class") not in (b"char", b"cell"))


def _hdf5_value(item: Any) -> Any:
    """Return a dataset as MATLAB shows it, or as stored where MATLAB did not write it."""
    matlab_class = item.attrs.get("MATLAB_class")
    value = item[()]
    if matlab_class is None:
        return value
    if "MATLAB_empty" in item.attrs:
        return np.zeros(tuple(int(size) for size in value))     # it stores the shape
    if matlab_class == b"char":
        return "".join(map(chr, value.reshape(-1)))
    if matlab_class == b"cell":
        cells = np.empty(value.shape, dtype=object)
        for place, reference in np.ndenumerate(value):
            cells[place] = _hdf5_value(item.file[reference])
        return cells.T
    return value.T


def read_text(path: Path) -> Contents:
    """Read numbers separated by whitespace or commas as a 2-D array named after the file."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: expected text with numbers, got byte {error.object[error.start]:#04x} at "
            f"{error.start}, which is not UTF-8; is it a .mat or .npz file?") from None
    rows = [(number, line.split("#")[0]) for number, line in enumerate(lines, 1)]
    rows = [(number, line) for number, line in rows if line.strip()]
    if not rows:
        raise InputError(f"{path}: expected numbers, got none; is it the right file?")
    delimiter = "," if "," in rows[0][1] else None
    try:
        array = np.loadtxt([line for _, line in rows], delimiter=delimiter, ndmin=2)
    except ValueError as error:
        raise InputError(f"{path}: {_bad_line(rows, delimiter) or error}") from None
    return Contents({path.stem: array}, "text")


def _bad_line(rows: list[tuple[int, str]], delimiter: str | None) -> str | None:
    """Return a message about the first line that is not a row of numbers like the first."""
    width = len(rows[0][1].split(delimiter))
    for number, line in rows:
        words = line.split(delimiter)
        for word in words:
            try:
                float(word)
            except ValueError:
                return (f"line {number}: expected numbers separated by whitespace or commas, "
                        f"got {word.strip()!r}; start other lines with #")
        if len(words) != width:
            return (f"line {number}: expected {width} numbers as in the first row, "
                    f"got {len(words)}; is the file complete?")
    return None


#: Suffix, in lower case, to the function that reads it.
FORMATS: Mapping[str, Callable[[Path], Contents]] = {
    ".mat": read_mat, ".npz": read_npz, ".npy": read_npy, ".h5": read_hdf5, ".hdf5": read_hdf5,
    ".txt": read_text, ".csv": read_text, ".tsv": read_text}

_WAYS_OUT: Mapping[type[OSError], str] = {
    FileNotFoundError: "check the name and the folder you are in",
    IsADirectoryError: "name the files in it; only a folder of .npy files is given as a whole",
    PermissionError: "change its rights, e.g. with chmod +r",
}


def read_contents(path: Path) -> Contents:
    """Read one file by its suffix.

    Raises
    ------
    InputError
        The file cannot be opened, is empty, of an unknown kind, or damaged.
    """
    try:
        if not _head(path):
            raise InputError(f"{path}: expected a result file, got an empty one; write it again")
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}; {_WAYS_OUT.get(type(error), 'copy it again')}") from None
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"{path}: expected one of {', '.join(FORMATS)}, got {path.suffix or 'no suffix'}; "
            "from Python, write numpy.savez(path, query_f=..., gallery_f=..., ...)")
    return FORMATS[path.suffix.lower()](path)
