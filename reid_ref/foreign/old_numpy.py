"""Names that numpy had before, put back for code that still asks for them."""
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

#: What numpy had before, and what it is today.
_GONE: Mapping[str, Any] = MappingProxyType({
    "in1d": np.isin, "str": str, "int": int, "float": float, "bool": bool, "object": object,
    "product": np.prod, "alltrue": np.all, "sometrue": np.any, "row_stack": np.vstack,
    "Inf": np.inf, "NaN": np.nan, "float_": np.float64, "int0": np.intp})

#: What numpy tells of names that it had.
_TOLD = r"module 'numpy' has no attribute '(\w+)'|`np\.(\w+)` was removed"

_T = TypeVar("_T")


def needs(name: str) -> str:
    """Return what is told of a name that was put back."""
    return f"it needs np.{name}, which numpy {np.__version__} no longer has: put back here"


def with_old_names(work: Callable[[], _T]) -> tuple[_T, tuple[str, ...]]:
    """Return what some work gives, and the names that it needs; they leave numpy afterwards."""
    names: list[str] = []
    try:
        while True:
            try:
                return work(), tuple(names)
            except AttributeError as error:
                told = re.match(_TOLD, str(error))
                name = told[1] or told[2] if told else ""
                if name not in _GONE:
                    raise
                setattr(np, name, _GONE[name])
                names.append(name)
    finally:
        for name in names:
            delattr(np, name)
