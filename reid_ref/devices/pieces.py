"""Work in pieces, which become smaller when a device's memory runs out."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

_Answer = TypeVar("_Answer")

#: Rows or pairs below which a piece is not divided: then the memory is full of something else.
SMALLEST = 16


def in_pieces(count: int, step: int,
              work: Callable[[slice], _Answer]) -> Iterator[tuple[slice, _Answer]]:
    """Yield consecutive pieces of `count` items, at most `step` each, and the work on each.

    Where the device's memory runs out, this piece and those that follow have a quarter of the
    items; the error of a piece of `SMALLEST` items is raised.

    Examples
    --------
    >>> list(in_pieces(5, 2, lambda piece: piece.stop - piece.start))
    [(slice(0, 2, None), 2), (slice(2, 4, None), 2), (slice(4, 5, None), 1)]
    """
    start = 0
    while start < count:
        piece = slice(start, min(start + step, count))
        try:
            answer = work(piece)
        except Exception as error:
            size = piece.stop - piece.start
            if not is_out_of_memory(error) or size <= SMALLEST:
                raise
            step = max(SMALLEST, size // 4)
            continue
        yield piece, answer
        del answer
        start = piece.stop


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error says that a device's memory is full; no library is imported.

    torch and CuPy name it OutOfMemoryError; cuBLAS's own lack of memory is a RuntimeError.
    """
    return type(error).__name__ == "OutOfMemoryError" or (
        isinstance(error, RuntimeError) and "CUBLAS_STATUS_ALLOC_FAILED" in str(error))
