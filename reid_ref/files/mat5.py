"""The headers of MAT v5 files, and a check of an array before scipy reads it.

scipy's reader is compiled code that looks up array classes and element types without a bound
(scipy 1.17, `_mio5_utils.pyx`: `class_dtypes[mc]`, `dtypes[mdtype]`; its pull request #25349),
so one changed byte in an element's tag or flags can crash the process. Here every tag of an array
is checked first. Data are skipped, so a large file takes a few small reads.

Source: MathWorks, "MAT-File Format", chapter 1, level 5.
"""
from __future__ import annotations

import io
import os
import struct
import zlib
from dataclasses import dataclass
from typing import BinaryIO

_INT32, _UINT32, _MATRIX, _COMPRESSED = 5, 6, 14, 15
_NAMES = (1, 16)     # int8 as MATLAB writes it; UTF-8, which scipy takes, too
_LEAVES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18})     # numbers and text
_CLASSES = (
    "cell", "struct", "object", "char", "sparse", "double", "single", "int8", "uint8", "int16",
    "uint16", "int32", "uint32", "int64", "uint64", "function", "opaque", "object")
_COMPLEX = 0x0800
_WINDOW = 1 << 16     # bytes at the start of a compressed array that hold its whole header


@dataclass(frozen=True)
class Variable:
    """The header of an array in a MAT file and, in version 5, where the array is.

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


def variables(file: BinaryIO) -> list[Variable] | None:
    """Return the arrays of a file, but for nameless ones; None for a file of version 4.

    Raises
    ------
    ValueError, struct.error, zlib.error
        The file is damaged.
    """
    head = file.read(128)
    if 0 in head[:4] or len(head) < 128:
        return None
    order = "<" if head[126:128] == b"IM" else ">"
    end = file.seek(0, os.SEEK_END)
    start, arrays = 128, []
    while start + 8 <= end:
        file.seek(start)
        kind, length = struct.unpack(order + "II", file.read(8))
        start += 8
        if start + length > end:
            raise ValueError(f"truncated: an element of {length} bytes at byte {start} of {end}")
        if kind == _COMPRESSED:
            window = _decompress(file.read(min(length, _WINDOW)), _WINDOW)
            kind, size = struct.unpack(order + "II", window[:8])
            variable = _variable(io.BytesIO(window[8:]), size, order, start, length)
        else:
            file.seek(start)
            window = file.read(min(length, _WINDOW))
            variable = _variable(io.BytesIO(window), length, order, start, 0)
        if kind != _MATRIX:
            raise ValueError(f"no array starts at byte {start}")
        if variable and variable.name:
            arrays.append(variable)
        start += length
    return arrays


def _decompress(packed: bytes, n: int) -> bytes:
    return zlib.decompressobj().decompress(packed, n)


def _variable(stream: BinaryIO, size: int, order: str, start: int, packed: int) -> Variable | None:
    """Return the header of an array; None for an array without one."""
    flags = stream.read(16)
    if size == 0:
        return None
    kind, length, value = struct.unpack(order + "III", flags[:12])
    if (kind, length) != (_UINT32, 8) or not 1 <= value & 0xFF <= len(_CLASSES):
        raise ValueError(f"no array starts at byte {start}")
    name = _CLASSES[(value & 0xFF) - 1]
    if name == "opaque":     # it has no size, and nothing but MATLAB can read it
        return None
    kind, at, length, following = _element(stream, 16, order)
    if kind not in (_INT32, _UINT32) or not 0 < length <= 4 * 32 or length % 4:
        raise ValueError(f"an array without its size at byte {start}")
    shape = struct.unpack(f"{order}{length // 4}i", _bytes(stream, at, length))
    kind, at, length, following = _element(stream, following, order)
    if kind not in _NAMES or min(shape) < 0:
        raise ValueError(f"an array without its name at byte {start}")
    text = _bytes(stream, at, length).decode("latin1")
    return Variable(text, name, shape, bool(value & _COMPLEX), start, packed, size, following,
                    order)


def _element(stream: BinaryIO, at: int, order: str) -> tuple[int, int, int, int]:
    """Return an element's type, where its data begin, their length, where the next begins."""
    tag = _bytes(stream, at, 8)
    kind, length = struct.unpack(order + "II", tag)
    if kind >> 16:     # a small element: type, length and data in eight bytes
        if kind >> 16 > 4:
            raise ValueError(f"a small element of {kind >> 16} bytes")
        return kind & 0xFFFF, at + 4, kind >> 16, at + 8
    return kind, at + 8, length, at + 8 + length + -length % 8


def _bytes(stream: BinaryIO, at: int, n: int) -> bytes:
    stream.seek(at)
    data = stream.read(n)
    if len(data) < n:
        raise ValueError("truncated: an array ends in its header")
    return data


def check_numbers(file: BinaryIO, variable: Variable) -> None:
    """Raise ValueError (or zlib.error) where the tag of an array's element is invalid."""
    n_elements = (3 if variable.kind == "sparse" else 1) + variable.is_complex
    start, stream = variable.start, file
    if variable.packed:
        file.seek(variable.start)
        # The tag of a single element is in the window; of several the whole array is unpacked.
        window = min(variable.packed, _WINDOW) if n_elements == 1 else variable.packed
        size = _WINDOW if n_elements == 1 else variable.size + 8
        start, stream = 8, io.BytesIO(_decompress(file.read(window), size))
    at = start + variable.body
    for _ in range(n_elements):
        if at + 8 > start + variable.size:
            raise ValueError(f"array without its data at byte {variable.start}")
        kind, data, length, at = _element(stream, at, variable.order)
        if kind not in _LEAVES or data + length > start + variable.size:
            raise ValueError(f"no element of an array of class {variable.kind} at byte "
                             f"{variable.start}")
