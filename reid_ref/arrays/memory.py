"""Limits of memory: sizes as text, and free memory, if the system reports it."""
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any

from reid_ref.arrays.errors import InputError

#: Bytes of working memory by default, if that much is free.
DEFAULT = 256 * 2**20

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


#: Bytes that reading any file may take, and how often its own size on top of them.
_ANY_FILE, _TIMES = 200 * 10**6, 20

#: Images whose features are worked on at a time at least; with fewer, many images take hours.
_IMAGES = 16


def bytes_for(max_memory: int | str | None, gallery_features: Any) -> int:
    """Return the bytes to work in, in which features can be ranked: one query at a time at least.

    Examples
    --------
    >>> import numpy as np
    >>> bytes_for("8K", np.zeros((900, 4)))
    8192
    >>> bytes_for("4K", np.zeros((900, 4)))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    reid_ref.arrays.errors.InputError: max_memory: expected at least 8K, in which the distances ...
    """
    size = bytes_of(max_memory)
    n, dimension = gallery_features.shape
    least = 8 * (n + _IMAGES * dimension)
    if max_memory is not None and size < least:
        raise InputError("max_memory", f"at least {-(-least // 2**10)}K, in which the distances "
                         f"of one query to {n:,} images and the features of {_IMAGES} fit",
                         max_memory)
    return size


def bytes_of(max_memory: int | str | None, name: str = "max_memory") -> int:
    """Return a size in bytes: a number, or text with K, M, G or T; None is the default.

    Examples
    --------
    >>> bytes_of("512M"), bytes_of("1.5 GiB"), bytes_of(4096)
    (536870912, 1610612736, 4096)
    """
    if max_memory is None:
        return min(DEFAULT, max(free_bytes() // 4, 2**20))
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([KMGT]?)(?:i?B)?\s*", str(max_memory),
                         re.IGNORECASE)
    size = float(match[1]) * _UNITS[match[2].upper()] if match else 0.0
    if not 1 <= size < 2**63 or isinstance(max_memory, bool):
        raise InputError(name, "a size such as 512M or 2G", repr(max_memory)[:40])
    if isinstance(max_memory, str) and max_memory.strip().isdigit() and size < 10000:
        raise InputError(name, "a size such as 512M or 2G", f"{size:.0f} bytes",
                         f"do you mean {size:.0f}M?")
    return int(size)


def check_fits(n_bytes: int, where: str, what: str, remedy: str) -> None:
    """Refuse to read more bytes than are free."""
    free = free_bytes()
    if n_bytes > free:
        raise InputError(where, "numbers that fit in memory", f"{what}: {n_bytes / 2 ** 30:,.1f} "
                         f"GiB, but {free / 2 ** 30:,.1f} are free", remedy)


def most_for(file_size: int) -> int:
    """Return the bytes of memory that reading a file of that size takes at most.

    Examples
    --------
    >>> most_for(0), most_for(10**9)
    (200000000, 20200000000)
    """
    return _ANY_FILE + _TIMES * file_size


def check_share(n_bytes: int, file_size: int, where: str, what: str, remedy: str) -> None:
    """Refuse to read what takes far more memory than the file it is from."""
    if n_bytes > most_for(file_size):
        raise InputError(where, "an array at most 20 times as large as its file", f"{what}: "
                         f"{n_bytes / 1e6:,.0f} MB, from a file of {file_size / 1e6:,.2f} MB",
                         remedy)


_limiting = RLock()


@contextmanager
def limited(n_bytes: int) -> Iterator[None]:
    """Let the process allocate that many bytes more at most, if the system has such a limit.

    For libraries that believe the sizes in a damaged file. What does not fit is a MemoryError, or
    the library's own error.
    """
    with _limiting:  # another thread would take this limit for the one to restore
        held = _held()
        try:
            import resource
        except ImportError:  # Windows limits no process
            held = 0
        if not held:
            yield
            return
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        if soft == resource.RLIM_INFINITY or held + n_bytes < soft:
            resource.setrlimit(resource.RLIMIT_AS, (held + n_bytes, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def free_bytes() -> int:
    """Return the memory available without swapping, within the limit of this process, in bytes."""
    free = _available()
    try:
        import resource
    except ImportError:  # Windows limits no process
        return free
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return free
    return min(free, max(limit - _held(), 0))


def _available() -> int:
    """Return the available memory of the system, in bytes.

    Linux reports it; macOS reports the total; elsewhere no size counts as too much.
    """
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as file:
        if match := re.search(r"^MemAvailable:\s+(\d+) kB$", file.read(), re.MULTILINE):
            return 1024 * int(match[1])
    with suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return sys.maxsize


def _held() -> int:
    """Return the address space of this process, in bytes; 0 if unknown."""
    with suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0
