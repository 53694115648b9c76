"""Text and arrays of code that is not ours, which may fail in any way when it is looked at."""
import importlib
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.text import visible

#: Frames of these files are no part of an evaluator: ours, and Python's import system.
_NOT_THEIRS = (str(Path(__file__).parent), str(Path(importlib.__file__).parent), "<frozen")


def describe(error: BaseException) -> str:
    """Return an exception as one line: its type, its own message, where it was raised."""
    message = text_of(error)
    frames = their_frames(error)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    name = text_of(type.__getattribute__(type(error), "__name__"))
    return f"{name}{': ' if message else ''}{message}{place}"


def their_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of an exception that are an evaluator's."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is where it was caught
    return [frame for frame in frames if not frame.filename.startswith(_NOT_THEIRS)]


def text_of(value: Any, length: int = 300, form: Callable[[Any], str] = str) -> str:
    """Return foreign text as one line, though its __str__ may fail."""
    try:
        return shorten(form(value), length)
    except BaseException:
        return "(its message cannot be read)"


def name_of(function: Any) -> str:
    """Return the name of a function."""
    return text_of(getattr(function, "__name__", "the evaluator"))


def shorten(text: str, length: int = 300) -> str:
    """Return text as one printable line of at most `length` characters."""
    line = visible(" ".join(text[:20 * length].split()))
    return line if len(line) <= length else line[:length - 4] + " ..."


def short(value: Any) -> str:
    """Return what a value is, in a few words."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    return "None" if value is None else f"{text_of(value, 60, repr)} ({type(value).__name__})"


def as_numbers(value: Any) -> npt.NDArray[Any] | None:
    """Return numbers as an array, a tensor's too; None if they are none, or cannot be read."""
    if isinstance(value, (str, bytes)) or value is None:
        return None
    try:
        array = np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
        if array.size and array.dtype.kind == "O" and all(
                hasattr(each, "__float__") for each in array.flat):  # fractions, decimals, ...
            array = array.astype(np.float64)
    except Exception:
        return None
    return array if array.dtype.kind in "fiub" else None
