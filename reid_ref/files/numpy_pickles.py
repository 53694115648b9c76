"""numpy's arrays and scalars in a pickle, made from their bytes without numpy's own code for it.

`numpy.dtype.__setstate__` believes what a pickle claims of fields, sizes and flags, and then reads
memory by it. So a reader of pickles maps numpy's names to these stand-ins, which make plain
arrays of numbers and text, and of anything else keep the reason why it is none.
"""
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

#: Booleans, integers, floating point, complex numbers and text, as numpy pickles their dtypes.
_PLAIN = re.compile(r"b1|[iu][1248]|f(?:[248]|12|16)|c(?:8|16|24|32)|U[1-9][0-9]{0,6}", re.ASCII)
_DIMENSIONS = 32


class PickledDtype:
    """A dtype of a pickle; `dtype` is None if it is not plain, and `fault` the reason."""

    dtype: np.dtype[Any] | None = None
    fault = "a dtype without a name"

    def __init__(self, name: object = "", *_: object) -> None:
        self.fault = f"dtype {str(name)[:20]}" if isinstance(name, str) else "a structured dtype"
        if isinstance(name, str) and _PLAIN.fullmatch(name):
            self.dtype = np.dtype(name)

    def __setstate__(self, state: object) -> None:
        """Take the order of bytes; all else must be as numpy pickles a fresh dtype."""
        if self.dtype is None:
            return
        reverse = isinstance(state, tuple) and state[1:2] == (">",)
        fresh = self.dtype.newbyteorder(">" if reverse else "<")
        expected: Any = fresh.__reduce__()[2]
        if isinstance(state, tuple) and len(state) == len(expected) and all(
                type(given) is type(value) and given == value
                for given, value in zip(state, expected)):
            self.dtype = fresh
        else:
            self.dtype, self.fault = None, "a dtype of other fields, size or flags than its type"


class PickledArray:
    """An array of a pickle; `array` is None if it is not plain, and `fault` the reason."""

    array: npt.NDArray[Any] | None = None
    fault = "an array without numbers"
    plain = True

    def __setstate__(self, state: object) -> None:
        if self.plain and isinstance(state, tuple) and len(state) == 5:
            self.fill(*state[1:])

    def fill(self, shape: object, dtype: object, by_columns: object, data: object) -> None:
        """Take the numbers, if they are as many bytes as the shape and the dtype need."""
        self.array = None
        if not isinstance(dtype, PickledDtype) or dtype.dtype is None:
            self.fault = dtype.fault if isinstance(dtype, PickledDtype) else "no dtype"
        elif not isinstance(shape, tuple) or len(shape) > _DIMENSIONS or not all(
                type(n) is int and 0 <= n < 2**62 for n in shape):
            self.fault = "a shape that no array has"
        elif not isinstance(data, bytes):
            self.fault = f"an array whose numbers are a {type(data).__name__}"
        elif len(data) != math.prod(shape) * dtype.dtype.itemsize:
            self.fault = f"{len(data):,} bytes for {str(dtype.dtype)[:20]} {str(shape)[:60]}"
        else:
            self.array = np.ndarray(shape, dtype.dtype, data,
                                    order="F" if by_columns is True else "C")


def _array(kind: object = None, *_: object) -> PickledArray:
    """Return the empty array that the pickle then fills; `kind`: its class."""
    array = PickledArray()
    if kind is not PickledArray:
        array.plain, array.fault = False, "an array of a class of its own"
    return array


def _scalar(dtype: object = None, data: object = None, *_: object) -> PickledArray:
    """Return a number or text as an array without axes."""
    scalar = PickledArray()
    scalar.fill((), dtype, False, data)
    return scalar


def _no_bytes(*_: object) -> bytes:
    """Return the numbers of an array without any."""
    return b""


#: numpy's names in a pickle, of version 1 and 2, to what stands in for them.
STAND_INS: Mapping[str, Any] = {
    "numpy.ndarray": PickledArray, "numpy.dtype": PickledDtype, "builtins.bytes": _no_bytes,
    **{f"numpy.{core}.multiarray.{name}": function for core in ("core", "_core")
       for name, function in (("_reconstruct", _array), ("scalar", _scalar))}}


class NotPlain(Exception):
    """Something in a pickle is no plain array: the reason, and below which keys it is."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason, self.keys = reason, tuple[object, ...]()


def unwrapped(value: Any) -> Any:
    """Return what was unpickled with numpy's arrays in the place of the stand-ins.

    Raises
    ------
    NotPlain
        An array is none of numbers or text, or containers hold one another so often that
        they have no end.
    """
    sizes: dict[int, tuple[Any, int]] = {}
    plain, size = _unwrapped(value, sizes)
    if size > 10 * sum(len(kept) for kept, _ in sizes.values()) + 10**6:
        raise NotPlain("containers that hold one another")
    return plain


def _unwrapped(value: Any, seen: dict[int, tuple[Any, int]]) -> tuple[Any, int]:
    """Return a value and how many it holds; `seen`: the same of containers, by identity."""
    if isinstance(value, PickledDtype):
        value = PickledArray() if value.dtype is None else value.dtype
    if isinstance(value, PickledArray):
        if value.array is None:
            raise NotPlain(value.fault)
        return value.array, 1
    if not isinstance(value, (Mapping, list, tuple)):
        return value, 1
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = (), 0      # a container within itself is empty there
    entries, size = [], 1
    for key, entry in value.items() if isinstance(value, Mapping) else enumerate(value):
        try:
            plain, n = _unwrapped(entry, seen)
        except NotPlain as error:
            error.keys = (key, *error.keys)
            raise
        entries.append(plain)
        size += n
    seen[id(value)] = (dict(zip(value, entries)) if isinstance(value, Mapping) else
                       tuple(entries) if isinstance(value, tuple) else entries), size
    return seen[id(value)]
