"""The cores that this process may use, and work on all of them."""
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

#: The variables by which users limit the threads of numerical libraries.
LIMITS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")

#: The number of threads that the caller asks for; 1 in a thread of `in_threads`.
_threads: ContextVar[int | None] = ContextVar("threads", default=None)


def cores() -> int:
    """Return the threads that may run at once: as requested, or all that the process may use."""
    return _threads.get() or available()


@lru_cache(maxsize=1)
def available() -> int:
    """Return the cores of the process: by affinity, quota of its group, and `LIMITS`."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows pin no process
        allowed = os.cpu_count() or 1
    limits = [allowed, _quota(allowed)]
    limits += [int(value) for value in map(os.environ.get, LIMITS) if value and value.isdecimal()]
    return max(1, min(limits))


def _quota(allowed: int) -> int:
    """Return the cores that the control group of the process grants, at least one."""
    with (suppress(OSError, ValueError),  # no such file, or "max"
          open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file):
        quota, period = file.read().split()
        return max(1, round(int(quota) / int(period)))
    return allowed


@contextmanager
def using(threads: int | None) -> Iterator[None]:
    """Let this thread, and the products of the process, take so many threads; None: all."""
    if threads is None:
        yield
        return
    token = _threads.set(threads)
    try:
        with blas_threads(threads):
            yield
    finally:
        _threads.reset(token)


def in_threads(work: Callable[[_Item], _Answer], items: Iterable[_Item]) -> Iterator[_Answer]:
    """Yield the answers in order; items are taken as threads need them, by the caller's thread.

    Examples
    --------
    >>> list(in_threads(lambda number: number ** 2, range(4)))
    [0, 1, 4, 9]
    """
    threads = cores()
    waiting: deque[Future[_Answer]] = deque()
    with ThreadPoolExecutor(threads, initializer=_threads.set, initargs=(1,)) as pool:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@lru_cache(maxsize=1)
def _blas() -> list[Any]:
    """Return what sets the threads of each BLAS that is loaded."""
    with suppress(OSError):  # no /proc
        return list(ThreadpoolController().select(user_api="blas").lib_controllers)
    return []


_lock = Lock()
_limits: list[int] = []
_before: list[int] = []


@contextmanager
def blas_threads(limit: int) -> Iterator[None]:
    """Let a matrix product take so many threads at most, in the whole process.

    Where several threads ask, the least holds; after the last, it is as before.
    """
    with _lock:
        if not _limits:
            _before[:] = [library.num_threads for library in _blas()]
        _limits.append(limit)
    try:
        with _lock:
            _set_blas()
        yield
    finally:
        with _lock:
            _limits.remove(limit)
            _set_blas()


def _set_blas() -> None:
    for library, before in zip(_blas(), _before):
        library.set_num_threads(min([*_limits, before]))
