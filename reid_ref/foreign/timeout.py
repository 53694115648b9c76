"""A limit of time for code that is not ours, as far as the system can interrupt it."""
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


#: How the message of a call begins that takes too long.
NO_ANSWER = "it gave no answer"


class TimeIsUp(BaseException):
    """No `Exception`, which foreign code may catch."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUp` in what runs longer; only in the main thread, and not on Windows."""
    if not hasattr(signal, "setitimer") or (
            threading.current_thread() is not threading.main_thread()):
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeIsUp(f"{NO_ANSWER} within {seconds:g} seconds")
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
