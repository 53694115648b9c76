"""Products of single pairs of features: exact ones, and faster ones with a bounded error.

An exact product is a double: products of the stored features, in double, added in the order of
numpy's sum of a row. Rows are gathered into buffers chunk by chunk, by two threads.
"""
from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, Integers

Array = npt.NDArray[Any]

#: Unit roundoff of single precision.
ROUNDOFF = 2.0**-24

#: Products that `run_products` adds in single precision.
RUN = 64

#: Range of norms (0 aside) in which single precision neither overflows nor loses small products:
#: what underflows, at most d 2^-126, is far below one rounding of a product of these norms.
NORMS = 1e-12, 1e15

#: Numbers in a chunk of rows, so that their products stay in the processor's cache.
CHUNK = 2**17


def rounding_error(roundings: int) -> float:
    """Return the largest relative error of so many roundings to single precision in sequence.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1.
    """
    error = roundings * ROUNDOFF
    return error / (1 - error)


def squares(features: Array) -> Doubles:
    """Return the squared 2-norm of each row, double, shape (n,)."""
    sums = np.empty(len(features))

    def work(chunks: list[slice]) -> None:
        room = np.empty((chunks[0].stop - chunks[0].start, features.shape[1]))
        for chunk in chunks:
            sums[chunk] = _row_sums(features[chunk], features[chunk], room)

    _in_chunks(work, len(features), features.shape[1])
    return sums


def pair_products(query: Array, gallery: Array, row: Integers, image: Integers) -> Doubles:
    """Return q.g of single pairs, double, shape (pairs,).

    Examples
    --------
    >>> pair_products(np.eye(2), np.array([[3, 4]]), np.array([0, 1]), np.array([0, 0]))
    array([3., 4.])
    """
    return _of_pairs(_row_sums, query, gallery, row, image)


def run_products(query: Array, gallery: Array, row: Integers, image: Integers) -> Doubles:
    """Return q.g of single pairs, nearly: sums of `RUN` products in single precision, in double.

    Twice as fast as `pair_products`, and closer than a product in single precision, whose error
    grows with the dimension; see `error_of_runs`.

    Examples
    --------
    >>> run_products(np.eye(2), np.array([[3, 4]]), np.array([0, 1]), np.array([0, 0]))
    array([3., 4.])
    """
    return _of_pairs(_run_sums, query, gallery, row, image)


def _of_pairs(sums_of: Callable[[Array, Array, Array], Doubles], query: Array, gallery: Array,
              row: Integers, image: Integers) -> Doubles:
    """Return the sums of pairs, whose rows are gathered chunk by chunk."""
    sums = np.empty(len(row))

    def work(chunks: list[slice]) -> None:
        # Buffers, for fresh memory takes longer than the sums.
        shape = chunks[0].stop - chunks[0].start, query.shape[1]
        left, right = (np.empty(shape, side.dtype) for side in (query, gallery))
        room = np.empty(shape)
        for chunk in chunks:
            n = chunk.stop - chunk.start
            # No index is out of range; but "raise" would copy the buffer.
            query.take(row[chunk], axis=0, out=left[:n], mode="clip")
            gallery.take(image[chunk], axis=0, out=right[:n], mode="clip")
            sums[chunk] = sums_of(left[:n], right[:n], room)

    _in_chunks(work, len(row), query.shape[1])
    return sums


def _row_sums(left: Array, right: Array, room: Array) -> Doubles:
    product = room[:len(left)]  # numpy's order of addition depends on strides
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # `checked_squares` checks
        np.multiply(left, right, out=product, dtype=np.float64, casting="same_kind")
        sums: Doubles = product.sum(axis=1)
    return sums


def _run_sums(left: Array, right: Array, room: Array) -> Doubles:
    left, right = (side.astype(np.float32, copy=False) for side in (left, right))
    whole = left.shape[1] // RUN * RUN
    runs = [side[:, :whole].reshape(len(left), -1, RUN) for side in (left, right)]
    sums: Doubles = np.einsum("nrk,nrk->nr", *runs).sum(axis=1, dtype=np.float64)
    if whole < left.shape[1]:
        sums += np.einsum("nk,nk->n", left[:, whole:], right[:, whole:])
    return sums


def _in_chunks(work: Callable[[list[slice]], None], count: int, dimension: int) -> None:
    """Do `work` on consecutive chunks, the first the longest; on two halves of them at a time."""
    step = max(1, CHUNK // dimension)
    chunks = [slice(start, min(start + step, count)) for start in range(0, count, step)]
    if len(chunks) < 8:  # faster without threads
        if chunks:
            work(chunks)
        return
    middle = len(chunks) // 2
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, [chunks[:middle], chunks[middle:]]))


def runs_are_closer(dimension: int, query_norm: Doubles, gallery_norm: Doubles) -> bool:
    """Return whether `run_products` are closer than a tile, and do not over- or underflow."""
    norms = np.concatenate([query_norm, gallery_norm])
    norms = norms[norms > 0]
    return (dimension >= 4 * RUN and len(norms) > 0
            and bool(norms.min() >= NORMS[0] and norms.max() <= NORMS[1]))


def error_of_runs(query_norm: Doubles, gallery_norm: Doubles, scaling: str) -> Doubles:
    """Return how far distances of pairs by `run_products` may be from the exact ones.

    For sums of `RUN` products in any order; eight more roundings are for features that are rounded
    to single precision, and for what is rounded in double. The sums of |q g| over all runs add up
    to at most the product of the norms (Cauchy and Schwarz).
    """
    off: Doubles = rounding_error(RUN + 8) * query_norm
    if scaling == "normalized":
        return off
    off = off * gallery_norm
    return 2 * off + 2.0**-49 * gallery_norm**2 if scaling == "euclidean" else off
