"""Near images that need no order: those at distances that no good image can be at.

To count them takes less time than to put them in order (`benchmarks/stages.py`).
"""
from collections.abc import Callable
from typing import Any

import numpy as np

from reid_ref.arrays import Array, Integers
from reid_ref.arrays.scratch import scratch


#: Images of a row for each range on average; the ranges of a row at most, and for fewer than the
#: least a sort takes no longer.
OF_RANGE, MOST, LEAST = 8, 1024, 128


def among_good(values: Array, size: Integers, row: Integers, low: Array,
               high: Array) -> tuple[Integers, Integers] | None:
    """Choose the images that must be put in order, and count the others before each good image.

    The distances of a row, from its nearest good image to its farthest, are cut into ranges of
    one width. An image in a range that no good image can be in comes before or after each of
    them. The number of a range, as it is rounded, never falls as the distance grows.

    Parameters
    ----------
    values : array, shape (n,)
        Distances, row after row, up to the row's farthest good image; none is NaN.
    size : int64, shape (rows,)
        How many of them each row has.
    row, low, high : array, shape (good pairs,)
        The row of a good image, its lowest and its highest distance.

    Returns
    -------
    chosen : int64
        Places in `values`, ascending.
    before : int64, shape (good pairs,)
        The others that come before the good image. None instead of both: all are to be put in
        order, which takes no longer, or the width is not finite.

    Examples
    --------
    >>> values = np.linspace(0, 1, 4001)
    >>> chosen, before = among_good(values, np.array([4001]), np.array([0, 0]),
    ...                             np.array([.25, 1.]), np.array([.25, 1.]))
    >>> len(chosen), before
    (7, array([1000, 3994]))
    """
    n_ranges = min(MOST, len(values) // (OF_RANGE * len(size)))
    if n_ranges < LEAST:
        return None
    lowest, highest = np.full((2, len(size)), np.inf, values.dtype)
    np.minimum.at(lowest, row, low)
    np.maximum.at(np.negative(highest, out=highest), row, high)
    with np.errstate(all="ignore"):
        width = highest - lowest
        per_range = n_ranges / width
    if not np.isfinite(width[row]).all():
        return None
    per_range[np.isinf(per_range)] = 1  # one distance alone

    def number_of(distance: Array, of_rows: Callable[[Array], Array], out: Any = None) -> Array:
        """Return the numbers of ranges, from 2; 1 for what is nearer than all."""
        number: Array = np.subtract(distance, of_rows(lowest), out=out)
        number *= of_rows(per_range)
        number += 2
        return np.maximum(number, 1, out=number)

    stride = n_ranges + 4
    room = scratch("key", values.shape, values.dtype)
    number = scratch("number", values.shape, np.dtype(np.int32))
    with np.errstate(over="ignore"):
        number[...] = number_of(values, lambda of_row: np.repeat(of_row, size), room)
    number += np.repeat(np.arange(len(size), dtype=np.int32) * stride, size)
    place = scratch("key", values.shape, np.dtype(np.int64))
    place[...] = number
    first, last = (number_of(side, lambda of_row: of_row[row]).astype(np.int64) + stride * row
                   for side in (low, high))
    counts, begun, ended = (np.bincount(each, minlength=stride * len(size))
                            for each in (place, first, last + 1))
    has_good = np.cumsum(begun - ended) > 0
    counts[has_good] = 0
    before = np.append(0, np.cumsum(counts))
    return (np.flatnonzero(has_good.take(place, mode="clip")),
            before[first] - before[stride * row])
