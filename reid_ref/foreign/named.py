"""What a name of a returned number means: mAP, CMC, Rank-k, AP of each query, mINP."""
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.foreign.words import as_numbers

#: Names of what is returned, without _, - and spaces, and what it is.
_NAMES = (
    ("mINP", r"m(ean)?inp"),
    ("INP", r"(all)?inps?"),
    ("AP", r"(all|list|perquery|query)?(aps?|averageprecisions?)(s|perquery|all|list)?"),
    ("mAP", r"(mean)?m?(ap|averageprecision)(mean|score)?|map(r|topk|all)?@?\d*"),
    ("Rank", r"(?:cmc|r|rank|top|acc(?:uracy)?|recall|hits?)@?(\d+)"),
    ("Rank", r"(?:precision|p)(?:at|@)?(1)"),
    ("CMC", r"(all)?cmc(s|curve|scores?|topk)?|rankcurve"),
    ("Rank", r"acc(?:uracy)?|topone|rankone()"))


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif is_dataclass(value) and not isinstance(value, type):
        yield from ((each.name, getattr(value, each.name)) for each in fields(value))
    elif hasattr(value, "_asdict"):
        yield from value._asdict().items()
    elif hasattr(value, "__dict__") and as_numbers_or_none(value) is None:
        yield from ((name, part) for name, part in vars(value).items() if name[0] != "_")


def as_numbers_or_none(value: Any) -> npt.NDArray[Any] | None:
    """Return numbers as an array, or None where looking at them fails."""
    try:
        return as_numbers(value)
    except Exception:
        return None


def named_parts(value: Any, parent: str = "") -> Iterator[tuple[Any, Any]]:
    """Yield what a name tells of each number, with the number: "mAP", ("Rank", 5) and so on."""
    for name, part in _members(value):
        kind = meaning(name, parent)
        if isinstance(part, Mapping) or is_dataclass(part):
            yield from named_parts(part, str(name))
        elif kind is not None and as_numbers_or_none(part) is not None:
            yield kind, part


def first_of(named: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the first part of each kind, one of vectors and numbers if there is any."""
    found: dict[Any, Any] = {}
    for kind, part in named:
        before = as_numbers_or_none(found.get(kind))
        if before is None or before.ndim > 1:
            found[kind] = part
    return found


def meaning(name: Any, parent: str = "") -> Any:
    """Return what a name of a number means, or None.

    Examples
    --------
    >>> meaning("mean_average_precision"), meaning("rank-5"), meaning(10, "cmc"), meaning("time")
    ('mAP', ('Rank', 5), ('Rank', 10), None)
    """
    if isinstance(name, (int, np.integer)) or str(name).isdigit():
        kind = meaning(parent) if parent else None
        return ("Rank", int(name)) if kind == "CMC" or isinstance(kind, tuple) else kind
    plain = re.sub(r"[^a-z0-9@]", "", str(name).lower())
    for kind, pattern in _NAMES:
        match = re.fullmatch(pattern, plain)
        if match:
            return (kind, int(match.groups()[0] or 1) if match.groups() else 1) \
                if kind == "Rank" else kind
    return None
