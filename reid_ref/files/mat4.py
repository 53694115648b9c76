"""Numbers in MAT v4 files, as mat5.py reads those of version 5.

scipy 1.17 never returns from some damaged headers (`_mio4.py`, `list_variables`: a negative size
leads back to an array that was read before), and so is not asked.

Source: MathWorks, "MAT-File Format", chapter 1, level 4.
"""
from __future__ import annotations

import os
import struct
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from reid_ref.files.mat5 import Variable

_CLASSES = ("double", "single", "int32", "int16", "uint16", "uint8")
_DTYPES = {"double": "f8", "single": "f4", "int32": "i4", "int16": "i2", "uint16": "u2",
           "uint8": "u1"}
_KINDS = ("", "char", "sparse matrix of version 4")     # "" is a matrix of numbers


def variables(file: BinaryIO) -> list[Variable]:
    """Return the arrays of a file.

    Raises
    ------
    ValueError, struct.error
        The file is damaged.
    """
    end, start, arrays = file.seek(0, os.SEEK_END), 0, []
    while start < end:
        file.seek(start)
        head = file.read(20)
        order = "<" if struct.unpack_from("<I", head)[0] < 5000 else ">"
        code, rows, columns, is_complex, length = struct.unpack(f"{order}5i", head)
        _, zero, precision, kind = (code // n % 10 for n in (1000, 100, 10, 1))
        if zero or precision >= len(_CLASSES) or kind >= len(_KINDS) or min(rows, columns) < 0:
            raise ValueError(f"no array starts at byte {start}")
        name = file.read(max(length, 0))[:-1].decode("latin1")
        body, numbers = start + 20 + length, _CLASSES[precision]
        size = rows * columns * np.dtype(_DTYPES[numbers]).itemsize * (2 if is_complex else 1)
        if not name or body + size > end:
            raise ValueError(f"an array without its name or numbers at byte {start}")
        arrays.append(Variable(name, _KINDS[kind] or numbers, (rows, columns), bool(is_complex),
                               start, size=size, body=body, order=order))
        start = body + size
    return arrays


def read_array(file: BinaryIO, variable: Variable) -> npt.NDArray[Any]:
    """Return an array of numbers."""
    dtype = np.dtype(variable.order + _DTYPES[variable.kind])
    file.seek(variable.body)
    numbers = np.frombuffer(bytearray(file.read(variable.size)), dtype)
    if variable.is_complex:
        real, imaginary = np.split(numbers, 2)
        numbers = real.astype(np.result_type(dtype, np.complex64))
        numbers.imag = imaginary
    return numbers.reshape(variable.shape, order="F")
