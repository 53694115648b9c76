"""Answers as plain JSON values: one function for every dataclass."""
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Annotated, Any, NamedTuple


class Bounds(NamedTuple):
    """The least and the greatest value of a number."""

    minimum: float
    maximum: float


#: A number in [0, 1]; a toolbox's own sum may be above 1 by its last bits; like every float
#: here it may be NaN, which JSON has as null.
Share = Annotated[float, Bounds(0, 1 + 1e-12)]


#: Metadata of a field of values by name, which are keys of the object that has the field.
KEYS = {"keys": True}


def key(name: str) -> str:
    """Return the key of a field: `Rank_1` is "Rank-1", and `from_` is "from"."""
    return name.rstrip("_").replace("Rank_", "Rank-")


def is_optional(field: Any) -> bool:
    """Return whether a field is a key only if it has a value: of keywords, None by default."""
    return field.kw_only and field.default is None


def json_values(value: Any) -> Any:
    """Return dataclasses, mappings, sequences and arrays as plain JSON values.

    NaN and infinity become None. A keyword-only field whose default is None is left out if it
    is None.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(kw_only=True)
    ... class Answer:
    ...     mAP: float
    ...     Rank_5: float | None = None
    >>> json_values(Answer(mAP=math.nan)), json_values([Answer(mAP=.5, Rank_5=.75)])
    ({'mAP': None}, [{'mAP': 0.5, 'Rank-5': 0.75}])
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if type(value) in (int, str):  # most values
        return value
    if is_dataclass(value):
        values: dict[str, Any] = {}
        for field in fields(value):
            item = getattr(value, field.name)
            if field.metadata:
                values.update(json_values(item))
            elif item is not None or not is_optional(field):
                values[key(field.name)] = json_values(item)
        return values
    if hasattr(value, "_asdict"):
        return json_values(value._asdict())
    if isinstance(value, Mapping):
        return {key(str(name)): json_values(item) for name, item in value.items()}
    if hasattr(value, "tolist"):
        return json_values(value.tolist())
    if isinstance(value, (list, tuple)):
        return [json_values(item) for item in value]
    return str(value) if isinstance(value, Decimal) else value
