"""A check of MAT v5 files before scipy reads them.

scipy's reader is compiled code that looks up array classes and element types without a bound
(scipy 1.17, `_mio5_utils.pyx`: `class_dtypes[mc]`, `dtypes[mdtype]`; its pull request #25349),
so one changed byte in an element's tag or flags can end the process. Here every tag is looked
at first; the data are skipped, so that a large file costs a few small reads.

Source: MathWorks, "MAT-File Format", chapter 1, level 5.
"""
from __future__ import annotations

import io
import math
import os
import struct
import zlib
from typing import BinaryIO

_UINT32, _MATRIX, _COMPRESSED = 6, 14, 15
_LEAVES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 16, 17, 18})     # numbers and text
_NESTING_CLASSES = frozenset({1, 2, 3, 16, 17, 18})     # cell, struct, object, function, opaque
_SPARSE, _DATA_CLASSES, _CLASSES = 5, range(4, 16), range(1, 19)
_COUNTED_CLASSES = frozenset({1, 2, 3})     # scipy makes room for every cell before reading
_COMPLEX = 0x0800
_WINDOW = 1 << 20     # of a compressed array, checksummed by zlib, only the start is looked at


def check_mat5(file: BinaryIO) -> None:
    """Raise ValueError (or zlib.error) where an element's tag cannot be right.

    A file of another version passes: its reader looks after itself.
    """
    head = file.read(128)
    if 0 in head[:4] or len(head) < 128:
        return
    order = "<" if head[126:128] == b"IM" else ">"
    size = file.seek(0, os.SEEK_END)
    start = 128
    while start + 8 <= size:
        file.seek(start)
        kind, length = struct.unpack(order + "II", file.read(8))
        start += 8
        if start + length > size:
            raise ValueError(f"truncated: an element of {length} bytes at byte {start} of {size}")
        if kind == _COMPRESSED:
            packed = file.read(min(length, _WINDOW))
            window = zlib.decompressobj().decompress(packed, _WINDOW)
            kind, inner = struct.unpack(order + "II", window[:8])
            _check_matrix(io.BytesIO(window), 8, 8 + inner, order)
        elif kind == _MATRIX:
            _check_matrix(file, start, start + length, order)
        start += length


def _check_matrix(stream: BinaryIO, at: int, end: int, order: str) -> None:
    stream.seek(at)
    flags = stream.read(12)     # they come first and hold the class
    if at == end or len(flags) < 12:
        return     # an empty array; or behind the window
    kind, length, value = struct.unpack(order + "III", flags)
    array_class = value & 0xFF
    if (kind, length) != (_UINT32, 8) or array_class not in _CLASSES:
        raise ValueError(f"no array starts at byte {at}")
    allowed = _LEAVES | ({_MATRIX} if array_class in _NESTING_CLASSES else set())
    left = 5 if array_class == _SPARSE else 3     # size, name, data; sparse: two of indices
    left += bool(value & _COMPLEX)
    at += 16
    if array_class in _COUNTED_CLASSES:
        stream.seek(at)
        if 8 * math.prod(_dimensions(stream.read(264), order)) > end - at:
            raise ValueError(f"more cells than there is room for at byte {at}")
    while at < end:
        stream.seek(at)
        tag = stream.read(8)
        if len(tag) < 8:
            return
        kind, length = struct.unpack(order + "II", tag)
        data, following = at + 8, at + 8 + length + -length % 8
        if kind >> 16:     # a small element: type, length and data in eight bytes
            kind, length, data, following = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        if kind not in allowed or data + length > min(end, following):
            raise ValueError(f"no element of an array of class {array_class} at byte {at}")
        if kind == _MATRIX:
            _check_matrix(stream, data, data + length, order)
        at, left = following, left - 1
    if left > 0 and array_class in _DATA_CLASSES:
        raise ValueError(f"array without its data before byte {end}")


def _dimensions(element: bytes, order: str) -> tuple[int, ...]:
    """Return the size of an array, at most 64 numbers, each of four bytes."""
    (length,) = struct.unpack(order + "I", element[4:8])
    numbers = element[8:8 + min(length, 256)]
    return struct.unpack(f"{order}{len(numbers) // 4}i", numbers[:len(numbers) // 4 * 4])
