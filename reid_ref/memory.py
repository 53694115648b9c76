"""How much memory to work in."""
from __future__ import annotations

import re

from reid_ref.validation import InputError

#: Bytes to work in where that much is free.
DEFAULT = 256 * 2**20

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def bytes_of(max_memory: int | str | None, name: str = "max_memory") -> int:
    """Return a size in bytes: a number, or text with K, M, G or T; None is the default.

    Raises
    ------
    InputError
        Not a size, or none.

    Examples
    --------
    >>> bytes_of("512M"), bytes_of("1.5 GiB"), bytes_of(4096)
    (536870912, 1610612736, 4096)
    """
    if max_memory is None:
        return min(DEFAULT, max(_free() // 4, 2**20))
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([KMGT]?)(?:i?B)?\s*", str(max_memory),
                         re.IGNORECASE)
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if size < 1 or isinstance(max_memory, bool):
        raise InputError(f"{name}: expected a size such as 512M or 2G, got {max_memory!r}")
    return size


def _free() -> int:
    """Return the bytes that can be had without swapping; a lot where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found = re.search(r"^MemAvailable:\s+(\d+) kB$", file.read(), re.MULTILINE)
    except OSError:
        found = None
    return 1024 * int(found[1]) if found else 4 * DEFAULT
