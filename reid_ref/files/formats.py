"""The file formats: MAT v5 to v7.3, .npz, .npy, HDF5 and text, each as named arrays.

One function per format. It reads names and headers; an array is read when it is needed. What a
library raises on a damaged file becomes an `InputError`. A MATLAB array has MATLAB's orientation,
whether stored in MAT v5 or (transposed) in v7.3. Text is read at once.
"""
import io
import math
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from reid_ref.arrays import Array, InputError, Texts, memory, optional_module
from reid_ref.arrays.stored import read_rows
from reid_ref.arrays.texts import check_width, text_array
from reid_ref.disk import check_regular, is_json, text_of
from reid_ref.files import mat, tables
from reid_ref.files.layouts import role_of
from reid_ref.files.saved_tensors import read_tensors
from reid_ref.files.stored_arrays import StoredArray, pickled, saved_again


@dataclass(frozen=True)
class Contents:
    """The arrays of a file by key, not yet read, and its format in words.

    `transposable`: the format does not define which axis comes first (HDF5). After `close` no
    array can be read.
    """

    values: dict[str, StoredArray]
    format: str
    transposable: bool = False
    close: Callable[[], object] = lambda: None

    def single(self, path: object, expected: str) -> StoredArray:
        """Return the array of a file that holds no other."""
        if len(self.values) != 1:
            raise InputError(path, expected, ", ".join(self.values) or "none")
        array, = self.values.values()
        return array


MAT, NPY, TEXT, TABLE = "a MAT file", "a .npy file", "text", "a table"
_ROWS = "rows of equally many numbers, separated by blanks or commas"

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_ZIP = b"PK\x03\x04"
_HEADER = 2**14     # bytes of a .npy file that hold its header: numpy reads 10,000 at most
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0}
# numpy parses headers by `ast`, which may fail in two threads of Python 3.11 (gh-106905).
_parsing = Lock()
_COMMENT, _NO_DIGIT = re.compile("#.*"), re.compile(r"[^-+0-9,\s]")
_LARGE = re.compile("([-+]?)0*([1-9][0-9]{18,})")     # numbers that may not be 64-bit integers
_OTHER_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")     # of lines, besides \n
_VIRTUAL = 3     # HDF5's number of this layout
_MOST_ARRAYS = 100_000     # a hundred bytes of a file can name one, which takes thousands
_DIMENSIONS = 32     # the most that every version of numpy takes
# MATLAB's classes of numbers. No other class is needed, and scipy may never return from one.
_MATLAB_NUMBERS = {name: np.dtype(name) for name in (
    "double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
    } | {"sparse": np.dtype(float), "logical": np.dtype(np.uint8)}
_MATLAB_TEXT = ("cell", "char")


def _check_number(n: int) -> None:
    if n > _MOST_ARRAYS:
        raise ValueError(f"more than {_MOST_ARRAYS:,} arrays")


def _damaged(where: object, expected: str, error: Exception) -> InputError:
    return InputError(where, expected, f"something else or damage ({type(error).__name__}: "
                      f"{error!s:.100})", "copy or write the file again")


@contextmanager
def _reading(where: object, what: str) -> Iterator[None]:
    """Turn what a library raises on damage, which may be anything, into an `InputError`."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise _damaged(where, what, error) from None


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(600)


def read_mat(path: Path) -> Contents:
    """Read the headers of a MAT file of version 5 or later; stored dtypes may be smaller."""
    head = _head(path)
    if _HDF5_SIGNATURE in (head[:8], head[512:520]):
        return read_hdf5(path)
    if head and 0 in head[:4]:  # the text at the head of a later one has no zeros
        raise InputError(path, "a MAT file of version 5 or later", "one of version 4, or damage",
                         "save it in MATLAB with save(name, ..., '-v7')")
    with _reading(path, "a MAT file"), path.open("rb") as file:
        arrays = mat.variables(file)
        values = {variable.name: _mat_array(path, variable) for variable in arrays}
        if len(values) < len(arrays):
            raise ValueError("Duplicate variable name")
    return Contents(values, MAT)


def _mat_array(path: Path, variable: mat.Variable) -> StoredArray:
    where = f"{path}: {variable.name}"
    is_text = variable.kind in _MATLAB_TEXT
    dtype = np.dtype(np.str_) if is_text else _MATLAB_NUMBERS.get(variable.kind)
    if dtype is None:
        return StoredArray.refused(InputError(where, "numbers", f"a MATLAB {variable.kind}"))
    if variable.is_complex:
        dtype = np.result_type(dtype, np.complex64)

    def read() -> Any:
        with _reading(path, "a MAT file"), path.open("rb") as file:
            value = mat.read_array(file, variable)
            return _text_of_cells(value, where) if is_text else value

    shape = variable.shape[:1] if variable.kind == "char" else variable.shape
    return StoredArray(where, shape, dtype, read, size=variable.size)


def _text_of_cells(values: Array, where: str) -> Texts:
    """Return text as an array: that of rows of characters, or of cells with a row each."""
    cells = [np.ravel(value) for value in values.ravel().tolist()]
    if not all(cell.dtype.kind == "U" and len(cell) <= 1 for cell in cells):
        raise InputError(where, "numbers, or text in each cell", "a MATLAB cell")
    return text_array(["".join(cell.tolist()) for cell in cells], where)


def read_npz(path: Path) -> Contents:
    """Read the headers of a .npz file; objects in it are never unpickled."""
    if not _head(path).startswith((_ZIP, b"PK\x05\x06")):
        raise InputError(path, "a .npz file (a zip archive)", "something else",
                         "write it with numpy.savez(path, key=array, ...)")
    values: dict[str, StoredArray] = {}
    with _reading(path, "a .npz file"), zipfile.ZipFile(path) as archive:
        _check_number(len(archive.infolist()))
        for entry in archive.infolist():
            key = entry.filename.removesuffix(".npy")
            if key in values:
                raise ValueError(f"two arrays of the name {key!r}")
            values[key] = _npz_array(path, archive, entry, key)
    return Contents(values, "a .npz file")


def _npz_array(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo,
               key: str) -> StoredArray:
    where = f"{path}: {key}"
    try:
        with archive.open(entry) as file, _parsing:
            shape, dtype = _npy_header(file)
    except Exception as error:
        return StoredArray.refused(_damaged(where, "an array as numpy.savez writes it", error))
    if dtype.hasobject:
        return StoredArray.refused(pickled(where))
    return StoredArray(where, shape, dtype, partial(_read_npz_array, path, entry.filename),
                       head=partial(_read_npz_rows, path, entry.filename))


def _read_npz_array(path: Path, name: str) -> Any:
    with (_reading(path, "a .npz file"), zipfile.ZipFile(path) as archive,
          archive.open(name) as file, _parsing):
        return np.lib.format.read_array(file, allow_pickle=False)


def _read_npz_rows(path: Path, name: str, n: int) -> Any:
    """Return the first rows; None if the array is stored by columns."""
    with (_reading(path, "a .npz file"), zipfile.ZipFile(path) as archive,
          archive.open(name) as file, _parsing):
        shape, by_columns, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
        rows = (min(n, shape[0]), *shape[1:])
        return None if by_columns else np.frombuffer(
            file.read(math.prod(rows) * dtype.itemsize), dtype).reshape(rows)


def _npy_header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and dtype."""
    head = io.BytesIO(file.read(_HEADER))
    read = _HEADERS.get(np.lib.format.read_magic(head))
    if read is None:     # version 3.0 is for structured arrays, which hold no plain numbers
        return (), np.dtype([("field", "V1")])
    shape, _, dtype = read(head)
    if min(shape, default=0) < 0 or len(shape) > _DIMENSIONS:
        raise ValueError(f"an array of shape {str(shape)[:60]}")
    return tuple(map(int, shape)), dtype


def read_npy(path: Path) -> Contents:
    """Map a .npy file as an array named after the file; objects in it are never unpickled."""
    with _reading(path, NPY), _parsing:
        with path.open("rb") as file:
            _, dtype = _npy_header(file)
        if dtype.hasobject:
            raise pickled(path, saved_again(
                path, f"numpy.load({path.name!r}, allow_pickle=True).tolist()"))
        array = np.lib.format.open_memmap(path, mode="r")
    return _single(path, array, NPY, dataset=array)


def _single(path: Path, array: Array, kind: str, dataset: Any = None) -> Contents:
    return Contents({path.stem: StoredArray(
        str(path), array.shape, array.dtype, lambda: array, dataset=dataset)}, kind)


def read_torch(path: Path) -> Contents:
    """Map what torch.save wrote."""
    return Contents(read_tensors(path), "a file of torch.save")


def read_hdf5(path: Path) -> Contents:
    """Read the headers of the top-level arrays of an HDF5 file, MATLAB's v7.3 or any other.

    The file stays open.
    """
    h5py = optional_module(f"{path}: an HDF5 file (MATLAB's v7.3)", "h5py",
                           otherwise="or save it with -v7")
    with (_reading(path, "an HDF5 file"), ExitStack() as stack,
          memory.limited(memory.most_for(path.stat().st_size))):
        # libhdf5 believes the sizes in a damaged file, and takes all memory while it reads them.
        _check_hdf5_is_whole(_head(path))
        file = stack.enter_context(h5py.File(path, "r"))
        values = dict(_hdf5_arrays(file, path))
        stack.pop_all()
    matlab = any(value.turned for value in values.values())
    return Contents(values, "a MAT v7.3 file" if matlab else "an HDF5 file", transposable=True,
                    close=file.close)


def _check_hdf5_is_whole(head: bytes) -> None:
    """Refuse a file of which HDF5's split or family driver has other parts.

    Where that is damage, libhdf5 takes some number in the file for the bytes to allocate:
    gigabytes for a file of 5 kB. The address of the driver's block is all ones in every other file
    (HDF5 File Format Specification, superblock versions 0 and 1).
    """
    for block in (head, head[512:]):  # MATLAB writes a text of 512 bytes first
        if block.startswith(_HDF5_SIGNATURE) and len(block) > 80 and block[8] < 2:
            size = block[13]
            address = 24 + 4 * block[8] + 3 * size
            if block[address:address + size] != b"\xff" * size:
                raise ValueError("one of several files of a split or family driver")


def _hdf5_arrays(file: Any, path: Path) -> Iterator[tuple[str, StoredArray]]:
    """Yield the datasets and the links of a file by name; an array is opened when it is read."""
    import h5py

    for n, key in enumerate(file, 1):
        _check_number(n)
        where = f"{path}: {key}"
        name = key if isinstance(key, bytes) else key.encode("utf-8", "surrogateescape")
        if file.id.links.get_info(name).type != h5py.h5l.TYPE_HARD:
            yield str(key), StoredArray.refused(InputError(
                where, "an array", "a link to one elsewhere", "copy the array into the file"))
            continue
        item = h5py.h5o.open(file.id, name)
        if isinstance(item, h5py.h5d.DatasetID):
            yield str(key), _hdf5_array(file, key, h5py.Dataset(item), where)


def _hdf5_array(file: Any, key: str, item: Any, where: str) -> StoredArray:
    """Return a dataset as MATLAB shows it, or as stored if another program wrote it."""
    import h5py

    try:
        matlab_class = item.attrs.get("MATLAB_class") if len(item.attrs) else None
        if isinstance(matlab_class, bytes):
            matlab_class = matlab_class.decode("latin1")
        refusal = _refusal(item, where, matlab_class)
        if matlab_class is not None and "MATLAB_empty" in item.attrs:     # it stores the shape
            return StoredArray(where, (0,), np.dtype(float), lambda: np.zeros(0), refusal,
                               turned=True)
        shape, dtype = item.shape or (), item.dtype
    except Exception as error:
        return StoredArray.refused(_damaged(where, "numbers", error))
    if matlab_class in _MATLAB_TEXT:
        rows = shape[::-1] if matlab_class == "cell" else shape[1:2]
        return StoredArray(where, rows, np.dtype(np.str_),
                           partial(_read_mat_text, file, key, where), refusal, turned=True)
    if h5py.check_string_dtype(dtype) and matlab_class is None:
        return StoredArray(where, shape, np.dtype(np.str_),
                           partial(_read_hdf5_text, file, key, where), refusal)
    chunk = math.prod(item.chunks or ()) * dtype.itemsize
    return StoredArray(where, shape, dtype, lambda: read_rows(file[key]), refusal, size=chunk,
                       dataset=item if len(shape) == 2 else None, turned=matlab_class is not None)


def _read_hdf5_text(file: Any, key: str, where: str) -> Texts:
    """Return names; many of them may be one long text of the file."""
    item = file[key]
    check_width(item.dtype.itemsize // 4, where)     # a character takes four bytes at most
    with (_reading(where, "text in UTF-8"),
          memory.limited(memory.most_for(os.path.getsize(file.filename)))):
        return text_array(np.ravel(item.asstr()[...]).tolist(), where)


def _read_mat_text(file: Any, key: str, where: str) -> Texts:
    """Return the rows of a char matrix of MATLAB's v7.3, or of the cells of one row each."""
    with (_reading(where, "text in each cell, or a char matrix"),
          memory.limited(memory.most_for(os.path.getsize(file.filename)))):
        item = file[key]
        if item.attrs["MATLAB_class"] == b"char":
            return text_array(_rows_of_characters(item, where), where)
        cells = [_rows_of_characters(file[cell], where) for cell in np.ravel(item[...]).tolist()]
        if max(map(len, cells), default=1) > 1:
            raise InputError(where, "a row of text in each cell", "several rows")
        return text_array(["".join(rows) for rows in cells], where)


def _rows_of_characters(item: Any, where: str) -> list[str]:
    """Return the text of a dataset of UTF-16, a column for each row."""
    kind, is_empty = item.attrs.get("MATLAB_class"), "MATLAB_empty" in item.attrs
    if kind != b"char" or item.dtype != np.uint16 and not is_empty:
        raise InputError(where, "text in each cell", f"a MATLAB {(kind or b'object').decode()}")
    if is_empty:
        return []
    if refusal := _refusal(item, where, "char"):
        raise refusal
    width, _ = item.shape
    check_width(width, where)
    return [row.astype("<u2").tobytes().decode("utf-16-le").rstrip() for row in item[...].T]


def _refusal(item: Any, where: str, matlab_class: str | None) -> InputError | None:
    """Return why a dataset's numbers cannot be read, or are not in its file; else None."""
    if item.shape is None:
        return InputError(where, "numbers", "a dataset without any (its data space is null)")
    created = item.id.get_create_plist()
    is_virtual = created.get_layout() == _VIRTUAL
    if is_virtual or created.get_external_count():
        kind = "virtual" if is_virtual else "external"
        return InputError(where, "the numbers themselves", f"a dataset whose bytes are in another "
                          f"file (HDF5 calls it {kind})", "copy them into one file")
    if item.chunks:     # a chunk that was never written would be read as zeros
        n_chunks = math.prod(-(-n // size) for n, size in zip(item.shape, item.chunks))
        sizes: list[int] = []
        item.id.chunk_iter(lambda chunk: sizes.append(chunk.size))
        # HDF5 2.0 crashes on a chunk that is smaller than its checksum
        written = len(sizes) == n_chunks and min(sizes, default=5) > (4 if item.fletcher32 else 0)
    else:
        written = item.id.get_storage_size() > 0 or not item.size
    if not written:
        return InputError(where, "numbers", "a dataset of which all or a part was never written, "
                          "or is damaged", "write the file again")
    if matlab_class not in (None, *_MATLAB_NUMBERS, *_MATLAB_TEXT):
        return InputError(where, "numbers", f"a MATLAB {matlab_class}")
    return None


def read_text(path: Path) -> Contents:
    """Read numbers separated by whitespace or commas as a 2-D array named after the file.

    They are 64-bit integers if all are whole and fit, with a sign or without, else doubles.
    """
    text = text_of(path, "numbers or a table, in UTF-8; is it a .mat or .npz file?")
    if _OTHER_ENDS.search(text):
        text = "\n".join(text.splitlines())
    first = next((row for row in io.StringIO(text) if row.split("#")[0].strip()), "")
    if first.startswith("query,identity,"):
        raise InputError(path, "features or labels", "what --per-query wrote", "--save keeps what "
                         "commands need")
    if first and not tables.are_numbers(
            first.replace(",", " ").replace(";", " ").split("#")[0].split()):
        return _table(path, text, first)
    reason = "none"
    if first:
        try:
            return _single(path, np.loadtxt(
                io.StringIO(text), _type_of(text), delimiter="," if "," in first else None,
                ndmin=2), TEXT)
        except (ValueError, OverflowError) as error:
            # Its rows count from 0 here, and from 1 if a row is too short.
            reason = re.sub(" at row [0-9]+, column.*|;.*", "", str(error).rstrip("."))
    raise InputError(path, _ROWS, reason, "start other lines with #")


def _table(path: Path, text: str, first: str) -> Contents:
    """Read a table with a header, or a text for each image on a line of its own."""
    rows = tables.rows_of(path, text)
    if len(rows[0]) == 1 and role_of(first.strip()) is None:
        return _single(path, text_array([cell for row in rows for cell in row], path), TEXT)
    if path.suffix.lower() == ".txt":
        raise InputError(path, _ROWS, repr(first.strip()[:40]), "start other lines with #; tables "
                         "with a header are .csv or .tsv, and ranked lists need --labels")
    return Contents(tables.arrays_of(path, rows), TABLE)


def _type_of(text: str) -> type[np.int64 | np.uint64 | np.float64]:
    """Return the type of these numbers: of others numpy 1 makes whole ones, and warns."""
    text = _COMMENT.sub("", text) if "#" in text else text
    if _NO_DIGIT.search(text):
        return np.float64
    large = _LARGE.findall(text)
    if any(len(digits) > 20 for _, digits in large):
        return np.float64
    numbers = [int(sign + digits) for sign, digits in large]
    if all(-2**63 <= number < 2**63 for number in numbers):
        return np.int64
    return np.uint64 if "-" not in text and max(numbers) < 2**64 else np.float64


def read_npy_folder(folder: Path) -> Contents:
    """Map the .npy files of a folder; what is wrong with one is known when it is needed."""
    values: dict[str, StoredArray] = {}
    try:
        for path in sorted(folder.iterdir()):
            if path.suffix == ".npy":
                try:
                    values |= read_contents(path).values
                except InputError as error:
                    values[path.stem] = StoredArray.refused(error)
    except OSError as error:
        raise InputError(folder, got=error.strerror,
                         remedy="change its rights, or name the files in it") from None
    if not values:
        raise InputError(folder, "a folder of .npy files", "none in it", "name its other file or "
                         "files, e.g. its pytorch_result.mat")
    return Contents(values, ".npy files")


#: Suffix, in lower case, to the function that reads it.
FORMATS: Mapping[str, Callable[[Path], Contents]] = {
    ".mat": read_mat, ".npz": read_npz, ".npy": read_npy, ".h5": read_hdf5, ".hdf5": read_hdf5,
    ".txt": read_text, ".csv": read_text, ".tsv": read_text, ".pt": read_torch,
    ".pth": read_torch}

_REMEDIES: Mapping[type[OSError], str] = {
    FileNotFoundError: "check the name and the folder you are in",
    IsADirectoryError: "name the files in it; only a folder of .npy files is given as a whole",
    PermissionError: "change its rights, e.g. with chmod +r",
}


def read_contents(path: Path) -> Contents:
    """Read the headers of one file, in the format that its suffix names.

    Raises
    ------
    InputError
        The file cannot be opened, is no regular file, is empty, of an unknown kind, or damaged.
    """
    try:
        check_regular(path)
        head = _head(path)
        if not head:
            raise InputError(path, "a result file", "an empty one", "write it again")
    except OSError as error:
        raise InputError(
            path, got=error.strerror, remedy=_REMEDIES.get(type(error), "copy it again")) from None
    if is_json(path):
        raise InputError(
            path, "a file of arrays", "a JSON file, such as a saved result, which has no "
            "features, distances or gallery labels", "name the file that was evaluated")
    if path.suffix.lower() in (".pkl", ".pickle"):
        if head.startswith(_ZIP):     # torch.save, under a name that light-reid gives
            return read_torch(path)
        raise pickled(path, saved_again(path, f"pickle.load(open({path.name!r}, 'rb'))"))
    if path.suffix.lower() not in FORMATS:
        raise InputError(path, f"one of {', '.join(FORMATS)}", path.suffix or "no suffix",
                         "from Python, write numpy.savez(path, query_f=..., gallery_f=..., ...)")
    contents = FORMATS[path.suffix.lower()](path)
    size = os.path.getsize(path)
    return replace(contents, values={key: replace(value, on_disk=size)
                                     for key, value in contents.values.items()})
