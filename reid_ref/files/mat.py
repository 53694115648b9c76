"""Numbers in MAT files of version 5, and cells of them: headers first, an array when needed.

scipy's reader of version 5 is compiled code that looks up array classes and element types without
a bound (scipy 1.17, `_mio5_utils.pyx`: `class_dtypes[mc]`, `dtypes[mdtype]`; its pull request
#25349), so one changed byte in an element's tag or flags can crash the process. Data are skipped
while headers are read, so a large file takes a few small reads.

Source: MathWorks, "MAT-File Format", chapter 1, level 5.
"""
import math
import os
import struct
import zlib
from io import BufferedReader
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

_INT32, _UINT32, _MATRIX, _COMPRESSED = 5, 6, 14, 15
_NAMES = (1, 16)     # int8 as MATLAB writes it; UTF-8, which scipy takes, too
#: Encodings of characters by their type, in the order of bytes of the file.
_CHARACTERS = {order: {2: "latin1", 4: f"utf-16-{end}", 16: "utf-8", 17: f"utf-16-{end}"}
               for order, end in (("<", "le"), (">", "be"))}
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8",
            13: "u8"}
_CLASSES = (
    "cell", "struct", "object", "char", "sparse", "double", "single", "int8", "uint8", "int16",
    "uint16", "int32", "uint32", "int64", "uint64", "function", "opaque", "object")
_COMPLEX = 0x0800
_MOST_PACKED = 1100     # zlib makes at most 1,032 bytes of one
_WINDOW = 1 << 16     # bytes at the start of a compressed array that hold its whole header

Bytes = bytes | bytearray | memoryview


class Variable(NamedTuple):
    """The header of an array, and where it is in the file.

    `packed`: its compressed bytes, or 0. `size`: its bytes with the header, decompressed. `body`:
    where the elements after its name begin.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    is_complex: bool = False
    start: int = 0
    packed: int = 0
    size: int = 0
    body: int = 0
    order: str = "<"


def variables(file: BinaryIO) -> list[Variable]:
    """Return the arrays of a file, but for nameless ones.

    Raises
    ------
    ValueError, struct.error, zlib.error
        The file is damaged.
    """
    head = file.read(128)
    if len(head) < 128:
        raise ValueError("truncated: no header of 128 bytes")
    order = "<" if head[126:128] == b"IM" else ">"
    end = file.seek(0, os.SEEK_END)
    start, arrays = 128, []
    while start + 8 <= end:
        file.seek(start)
        kind, length = struct.unpack(order + "II", file.read(8))
        start += 8
        if start + length > end:
            raise ValueError(f"truncated: an element of {length} bytes at byte {start} of {end}")
        header, packed, size = file.read(min(length, _WINDOW)), 0, length
        if kind == _COMPRESSED:
            header, packed = zlib.decompressobj().decompress(header, _WINDOW), length
            kind, size = struct.unpack_from(order + "II", header)
            header = header[8:]
        if kind != _MATRIX or packed and size > _MOST_PACKED * packed:
            raise ValueError(f"no array starts at byte {start}")
        variable = _variable(header, size, order, start, packed)
        if variable and variable.name:
            arrays.append(variable)
        start += length
    return arrays


def _variable(header: Bytes, size: int, order: str, start: int, packed: int) -> Variable | None:
    """Return the header of an array; None for an array without one."""
    if size == 0:
        return None
    kind, length, value = struct.unpack_from(order + "III", header)
    if (kind, length) != (_UINT32, 8) or not 1 <= value & 0xFF <= len(_CLASSES):
        raise ValueError(f"no array starts at byte {start}")
    name = _CLASSES[(value & 0xFF) - 1]
    if name == "opaque":     # it has no size, and nothing but MATLAB can read it
        return None
    kind, at, length, following = _element(header, 16, order)
    if kind not in (_INT32, _UINT32) or not 0 < length <= 4 * 32 or length % 4:
        raise ValueError(f"an array without its size at byte {start}")
    shape = struct.unpack_from(f"{order}{length // 4}i", header, at)
    kind, at, length, following = _element(header, following, order)
    if kind not in _NAMES or min(shape) < 0 or at + length > len(header):
        raise ValueError(f"an array without its name at byte {start}")
    text = str(header[at:at + length], "latin1")
    return Variable(text, name, shape, bool(value & _COMPLEX), start, packed, size, following,
                    order)


def _element(data: Bytes, at: int, order: str) -> tuple[int, int, int, int]:
    """Return an element's type, where its data begin, their length, where the next begins."""
    kind, length = struct.unpack_from(order + "II", data, at)
    if kind >> 16:     # a small element: type, length and data in eight bytes
        if kind >> 16 > 4:
            raise ValueError(f"a small element of {kind >> 16} bytes")
        return kind & 0xFFFF, at + 4, kind >> 16, at + 8
    return kind, at + 8, length, at + 8 + length + -length % 8


def read_array(file: BufferedReader, variable: Variable) -> npt.NDArray[Any]:
    """Return an array of numbers, a sparse one in full; of a cell array one of objects, of
    characters the text of each row.

    Raises
    ------
    ValueError, struct.error, zlib.error
        The array is damaged.
    """
    data: Bytes
    file.seek(variable.start)
    if variable.packed:
        # A view, of which each cell takes a part without a copy.
        data, at = memoryview(_decompress(file, variable)), 8 + variable.body
    else:
        room = np.empty(variable.size, np.uint8)
        data, at = room.data[:file.readinto(room.data)], variable.body
    return _READERS.get(variable.kind, _numbers)(data, at, variable)


def _cells(data: Bytes, at: int, variable: Variable) -> npt.NDArray[Any]:
    """Return the arrays of a cell array, in its shape."""
    order, n = variable.order, math.prod(variable.shape)
    if 8 * n > len(data):
        raise ValueError(f"a cell array of {n} cells at byte {variable.start}")
    cells = np.empty(n, dtype=object)
    for k in range(n):
        kind, start, length, at = _element(data, at, order)
        part = data[start:start + length]
        cell = _variable(part, length, order, start, 0) if kind == _MATRIX else None
        if cell is not None:
            cells[k] = _READERS.get(cell.kind, _numbers)(part, cell.body, cell)
    return cells.reshape(variable.shape, order="F")


def _texts(data: Bytes, at: int, variable: Variable) -> npt.NDArray[Any]:
    """Return the text of each row of characters, without the blanks at its end."""
    kind, start, length, _ = _element(data, at, variable.order)
    encoding = _CHARACTERS[variable.order].get(kind)
    if encoding is None or length > len(data) or len(variable.shape) != 2:
        raise ValueError(f"no characters at byte {variable.start}")
    letters = list(str(data[start:start + length], encoding))
    rows = np.array(letters, dtype="U1").reshape(variable.shape, order="F").tolist()
    return np.array(["".join(row).rstrip() for row in rows], dtype=np.str_)


def _numbers(data: Bytes, at: int, variable: Variable) -> npt.NDArray[Any]:
    parts, rest = [], 2 if variable.kind == "sparse" else 0
    for _ in range(rest + 1 + variable.is_complex):
        kind, start, length, at = _element(data, at, variable.order)
        if kind not in _NUMBERS:
            raise ValueError(f"no numbers in an array of class {variable.kind} at byte "
                             f"{variable.start}")
        dtype = np.dtype(variable.order + _NUMBERS[kind])
        parts.append(np.frombuffer(data, dtype, length // dtype.itemsize, start))
    numbers = parts[rest]
    for imaginary in parts[rest + 1:]:     # of complex numbers
        numbers = numbers.astype(np.result_type(imaginary, np.complex64))
        numbers.imag = imaginary
    if variable.kind != "sparse":
        return numbers.reshape(variable.shape, order="F")
    rows, ends = (part.astype(np.int64) for part in parts[:rest])
    n = int(ends[-1])
    if n > len(rows) or ends[0] or rows.min(initial=0) < 0:
        raise ValueError(f"a sparse array with impossible indices at byte {variable.start}")
    dense = np.zeros(variable.shape, numbers.dtype)     # numpy checks all other indices
    dense[rows[:n], np.repeat(np.arange(variable.shape[1]), np.diff(ends))] = numbers[:n]
    return dense


_READERS = {"cell": _cells, "char": _texts}


def _decompress(file: BinaryIO, variable: Variable) -> bytearray:
    """Return the bytes of a compressed array, a part at a time: a bomb expands no further."""
    data, end, packed = bytearray(variable.size + 8), 0, variable.packed
    machine = zlib.decompressobj()
    while packed and end <= len(data):
        part = machine.decompress(file.read(min(packed, _WINDOW)), len(data) + 1 - end)
        data[end:end + len(part)] = part
        packed -= min(packed, _WINDOW)
        end += len(part)
    if end != variable.size + 8 or not machine.eof:
        raise ValueError(f"an array of {end} bytes instead of {variable.size + 8}")
    return data
