"""`Value`: frozen dataclasses with arrays in them are equal, copied and pickled by value.

What dataclasses bring along compares arrays with ``==``, which has no one answer, takes NaN for
different from itself, and makes copies that can be written to.
"""
import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from reid_ref.arrays.convert import blocks_of, read_only
from reid_ref.arrays.memory import check_fits
from reid_ref.arrays.stored import is_lazy, read_rows

Self = TypeVar("Self", bound="Value")

_SHOWN = 12         # entries of the longest array that is printed
_BLOCK = 2**24     # bytes of rows that are compared at a time if they are in a file


class Value:
    """What a frozen dataclass inherits, with ``eq=False``.

    Equal are values of one class whose fields are; see `same`. A field with ``compare=False`` is
    left out. Hashes look at the shapes of arrays alone; a dict has none. Arrays of copies, and of
    what was pickled, are read-only. A copy shares arrays that are in a file; a pickle holds their
    numbers.
    """

    def __init_subclass__(cls) -> None:
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # not that of dataclasses

    def __repr__(self) -> str:
        shown = (f"{name}={shortened(getattr(self, name))}"
                 for name, each in vars(type(self))["__dataclass_fields__"].items() if each.repr)
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(map(same, _compared(self), _compared(other)))

    def __hash__(self) -> int:
        return hash(tuple(map(_hashable, _compared(self))))

    def __getstate__(self) -> dict[str, Any]:
        return {name: _in_memory(value, name) for name, value in vars(self).items()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, _each(value, _lock))

    def _copy_arrays(self) -> None:
        """Replace the arrays of it, also in dicts, by read-only copies."""
        for name, value in vars(self).items():
            object.__setattr__(self, name, _each(value, lambda each: read_only(each) if isinstance(
                each, np.ndarray) else each))

    def __copy__(self: Self) -> Self:
        return _made(self, {name: _each(value, _view) for name, value in vars(self).items()})

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return _made(self, {name: _view(value) if is_lazy(value) else copy.deepcopy(value, memo)
                            for name, value in vars(self).items()})


def shortened(value: Any) -> str:
    """Return what a value prints as on one line: of a long array its dtype and shape.

    Examples
    --------
    >>> shortened({"ap": np.zeros(2), "rank": np.zeros((900, 3), np.int64)})
    "{'ap': array([0., 0.]), 'rank': int64 (900, 3)}"
    """
    if _is_array(value):
        short = not is_lazy(value) and value.size <= _SHOWN and value.ndim == 1
        return repr(value) if short else f"{value.dtype} {tuple(value.shape)}"
    if type(value) is dict:
        return f"{{{', '.join(f'{key!r}: {shortened(entry)}' for key, entry in value.items())}}}"
    return repr(value)


def same(value: Any, other: Any) -> bool:
    """Return whether two values are equal; NaN equals NaN, also within.

    Arrays are equal if dtype, shape and numbers are; how wide the longest text is makes no
    difference. Arrays in a file are read block by block.

    Examples
    --------
    >>> same({"ap": np.array([1, np.nan])}, {"ap": np.array([1, np.nan])}), same([1], (1,))
    (True, False)
    >>> same(np.zeros(1), np.zeros(1, np.float32)), same(np.zeros((1, 2)), np.zeros(2))
    (False, False)
    """
    if value is other:
        return True
    if _is_array(value) or _is_array(other):
        return _is_array(value) and _is_array(other) and _same_arrays(value, other)
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(same(value[key], other[key]) for key in value)
    if isinstance(value, (tuple, list)):
        return type(value) is type(other) and len(value) == len(other) and all(
            map(same, value, other))
    return bool(value == other or (value != value and other != other))


def _compared(value: Any) -> list[Any]:
    return [getattr(value, field.name) for field in fields(value) if field.compare]


def _hashable(value: Any) -> Any:
    if _is_array(value):
        return tuple(value.shape)
    return None if isinstance(value, float) and value != value else value


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or is_lazy(value)


def _same_arrays(value: Any, other: Any) -> bool:
    texts = value.dtype.kind == other.dtype.kind == "U"
    if tuple(value.shape) != tuple(other.shape) or (value.dtype != other.dtype and not texts):
        return False
    numbers = value.dtype.kind in "fc"
    if not (is_lazy(value) or is_lazy(other)):
        return np.array_equal(value, other, equal_nan=numbers)
    step = _BLOCK // max(1, value.dtype.itemsize * math.prod(value.shape[1:]))
    return all(np.array_equal(read_rows(value, block.start, block.stop),
                              read_rows(other, block.start, block.stop), equal_nan=numbers)
               for block in blocks_of(value.shape[0], step))


def _in_memory(value: Any, name: str) -> Any:
    if not is_lazy(value):
        return value
    check_fits(math.prod(value.shape) * value.dtype.itemsize, name,
               f"an array of shape {tuple(value.shape)} and dtype {value.dtype}",
               "name the file to another process, and read it there")
    return read_rows(value, name=name)


def _made(like: Self, state: Mapping[str, Any]) -> Self:
    new = object.__new__(type(like))
    new.__setstate__(state)
    return new


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return what is in a container, changed, in a new one; else the value, changed."""
    if type(value) is dict:
        return {key: _each(entry, change) for key, entry in value.items()}
    if type(value) in (tuple, list):
        return type(value)(_each(entry, change) for entry in value)
    return change(value)


def _view(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.view()
    return copy.copy(value) if isinstance(value, Value) else value


def _lock(value: Any) -> Any:
    """Make an array read-only; as a view of a read-only array it cannot be made writeable."""
    if not isinstance(value, np.ndarray):
        return value
    value.flags.writeable = False
    return value[...]
