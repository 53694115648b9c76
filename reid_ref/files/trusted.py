"""The line of Python that saves what a refused pickle holds, for those who trust it.

A file of torch.save is looked at once more, with an empty object for each name that it asks for,
so that the line names the entries that are arrays. Nothing of the file is run.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reid_ref.files.batches import Stored, named_arrays
from reid_ref.files.layouts import NAMES, plain_name
from reid_ref.files.numpy_pickles import STAND_INS, NotPlain, unwrapped

_MOST = 12     # entries that a message names


class _Unread:
    """What stands for an object of a file: its attributes, if it has any, and nothing else."""

    state: object = None

    def __init__(self, *_: object) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        self.state = state


def torch_remedy(path: Path, load: Callable[[Mapping[str, Any]], Any], stored: Stored) -> str:
    """Return how to save again the entries of a file of torch.save that are arrays.

    `load` reads the file as weights, with these objects for the names that it asks for.
    """
    import torch

    try:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
        value = load({**dict.fromkeys(names, _Unread),
                      "collections.defaultdict": _without_default, **STAND_INS})
        entries = _entries(value, stored)
    except Exception:     # whatever a hostile file makes of it
        entries = ("{key: value for key, value in data.items() if isinstance(value, list) or "
                   "hasattr(value, 'dtype')}")
    if not entries:
        return "save its features, distances and labels as arrays, with numpy.savez(...)"
    return (f"where you trust it: data = torch.load({path.name!r}, weights_only=False); "
            f"torch.save({entries}, {path.stem + '_arrays.pt'!r})")


def _without_default(*_: object) -> OrderedDict[Any, Any]:
    return OrderedDict()


def _entries(value: Any, stored: Stored) -> str:
    """Return Python that takes from `data` what is plain, or "" if nothing is."""
    batches = isinstance(value, list) and bool(value) and all(
        isinstance(batch, Mapping) for batch in value)
    entries: Mapping[Any, Any]
    if batches:
        entries = {key: [batch.get(key) for batch in value] for key in value[0]}
    elif isinstance(value, (list, tuple)):
        entries = dict(enumerate(value))
    else:
        held = value.state if isinstance(value, _Unread) else value
        entries = held if isinstance(held, Mapping) else {}
    keys = [key for key, entry in entries.items()
            if isinstance(key, (str, int)) and _is_plain(str(key), entry, stored)]
    keys.sort(key=lambda key: plain_name(str(key)) not in NAMES)
    if not keys:
        return ""
    if batches:
        return f"[{{key: batch[key] for key in {keys[:_MOST]}}} for batch in data]"
    name = "vars(data)" if isinstance(value, _Unread) else "data"
    return f"{{key: {name}[key] for key in {keys[:_MOST]}}}"


def _is_plain(key: str, value: Any, stored: Stored) -> bool:
    try:
        arrays = named_arrays({key: unwrapped(value)}, "", "", stored)
    except NotPlain:
        return False
    return bool(arrays) and not any(array.refusal for array in arrays.values())
