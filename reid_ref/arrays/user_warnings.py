"""Warnings of this package: at the user's line, or collected, for one thread.

`warnings.catch_warnings` changes what the whole process shows, and threads that leave it in
another order than they entered it leave the process without warnings.
"""
from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import local
from typing import TypeVar

_Item = TypeVar("_Item")

#: What runs between the user's line and ours: `with`, cached properties, classes we extend.
_BETWEEN = {__name__.partition(".")[0], "contextlib", "functools", "torchmetrics", "mmengine"}
_thread = local()


def warn(message: str) -> None:
    """Warn of valid but suspect input, at the line of the first caller outside this package."""
    if receive := getattr(_thread, "receive", None):
        receive(message)
        return
    level, frame = 1, sys._getframe(0)
    # By the module: the file of what `dataclass` writes is "<string>".
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


@contextmanager
def warnings_to(receive: Callable[[str], object] | None) -> Iterator[None]:
    """Hand this thread's warnings to a function; with None, show them as Python does."""
    before = getattr(_thread, "receive", None)
    _thread.receive = receive
    try:
        yield
    finally:
        _thread.receive = before


@contextmanager
def each_warning_once(place: str = "") -> Iterator[None]:
    """Show each different warning once, after its place, if several evaluations repeat it."""
    messages: dict[str, None] = {}
    with warnings_to(messages.setdefault):
        yield
    for text in messages:
        warn(place + text)


def ignored(message: str) -> None:
    """Show no warning: an earlier evaluation has shown it."""


def without_warnings(items: Iterable[_Item]) -> Iterator[_Item]:
    """Yield items; what warns while one is made is ignored."""
    iterator, end = iter(items), object()
    while True:
        with warnings_to(ignored):
            item = next(iterator, end)
        if item is end:
            return
        yield item  # type: ignore[misc]
