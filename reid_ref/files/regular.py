"""What every reader of files shares: checks of a path, the lines of a text, names in messages."""
from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from reid_ref.arrays import InputError

_KINDS = {
    stat.S_IFIFO: "a pipe, such as <(...) makes,", stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def check_regular(path: Path) -> None:
    """Refuse pipes, sockets and devices, whose opening or reading may never end.

    Raises
    ------
    InputError
    OSError
        The path does not exist, or its status cannot be read.
    """
    kind = stat.S_IFMT(os.stat(path).st_mode)
    if kind in _KINDS:
        raise InputError(f"{path}: expected a file, got {_KINDS[kind]} which cannot be read "
                         "twice; write its content to a file first")


def read_lines(path: Path, expected: str) -> list[str]:
    """Return the lines of a text file.

    Raises
    ------
    InputError
        It cannot be read; the message says what was expected.
    """
    try:
        check_regular(path)
        return path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise InputError(f"{path}: cannot be read: {reason}; expected {expected}") from None


def check_different(paths: list[Path]) -> None:
    """Refuse a file that is named twice."""
    for path in paths:
        if paths.count(path) > 1:
            raise InputError(f"{path}: expected different files, got this one twice")


@contextmanager
def renamed(names: Mapping[str, str]) -> Iterator[None]:
    """Let a message that begins with an argument's name begin with another, such as a file's."""
    try:
        yield
    except InputError as error:
        name, _, rest = str(error).partition(": ")
        raise InputError(f"{names.get(name, name)}: {rest}") from None
