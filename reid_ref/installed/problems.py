"""Made problems for `reid_ref.installed`: the same arrays on every machine.

Every number comes from whole numbers of 64 bits (SplitMix64) and from sums, products and
divisions that IEEE 754 defines to the last bit; numpy's random streams are not used.
"""
from dataclasses import dataclass

import numpy as np

from reid_ref.arrays import Array, Integers
from reid_ref.labels import IndexLists, Labels, cameras_of

#: Numbers of distances and features.
DTYPES = ("float64", "float32", "float16", "int64", "int16", "uint8")
#: Images of either side, identities, cameras and dimensions of a problem.
N_QUERY, N_GALLERY, IDENTITIES, CAMERAS, DIMENSIONS = 20, 110, 9, 6, 33


def whole_numbers(seed: int, shape: tuple[int, ...], low: int, high: int) -> Integers:
    """Return whole numbers from `low` to `high` - 1.

    References
    ----------
    Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.

    Examples
    --------
    >>> whole_numbers(0, (4,), 0, 10)
    array([5, 0, 9, 4])
    """
    count = int(np.prod(shape))
    word = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(
        0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
    word ^= word >> np.uint64(31)
    return (word % np.uint64(high - low)).astype(np.int64).reshape(shape) + low


@dataclass(frozen=True)
class Problem:
    """Labels of both sides with every column, and lists for conventions that need them."""

    seed: int
    query: Labels
    gallery: Labels
    lists: IndexLists

    def distances(self, dtype: str, kind: str) -> Array:
        """Return a matrix: "spread", "tied", or "special" (of floats: NaN, Inf, -0 as well)."""
        shape, of_floats = (len(self.query), len(self.gallery)), np.dtype(dtype).kind == "f"
        span = 5 if kind == "tied" else 2**20 if of_floats else 120
        values = whole_numbers(self.seed * 32 + 1, shape, 0, span)
        array = (values / 2**20 if of_floats and kind != "tied" else values).astype(dtype)
        if kind == "special" and of_floats:
            for k, value in enumerate((np.nan, np.inf, -np.inf, 0.0, -0.0)):
                array[whole_numbers(self.seed * 32 + 2 + k, shape, 0, 12) == 0] = value
        return array

    def features(self, dtype: str) -> tuple[Array, Array]:
        """Return features of both sides: near ties of single precision, and equal images."""
        of_floats = np.dtype(dtype).kind == "f"
        centre = whole_numbers(self.seed * 32 + 8, (IDENTITIES + 2, DIMENSIONS), 0, 20)
        sides = []
        for k, labels in enumerate((self.query, self.gallery)):
            noise, near = (whole_numbers(self.seed * 32 + 9 + 2 * k + j, (
                len(labels), DIMENSIONS), 0, 200) for j in range(2))
            values: Array = centre[labels.identity] + noise // 8
            if of_floats:
                length = whole_numbers(self.seed * 32 + 14 + k, (len(labels), 1), 8, 12) / 8
                values = (centre[labels.identity] + noise / 8) * length
                values[2::4] = values[0] + near[2::4] / 2**14
            values[3::7] = values[1]
            sides.append(values.astype(dtype))
        return sides[0], sides[1]


def made_problem(seed: int, n_query: int = N_QUERY, n_gallery: int = N_GALLERY) -> Problem:
    """Return a problem with junk, distractors, and queries without a match."""
    sides = [_labels(seed * 32 + 16 + k, size, IDENTITIES + k)
             for k, size in enumerate((n_gallery, n_query))]
    gallery, query = sides
    same = query.identity[:, np.newaxis] == gallery.identity
    other = cameras_of(query, "lists")[:, np.newaxis] != cameras_of(gallery, "lists")
    return Problem(seed, query, gallery, IndexLists(
        [np.flatnonzero(row) for row in same & other],
        [np.flatnonzero(row) for row in same & ~other]))


def _labels(seed: int, size: int, identities: int) -> Labels:
    def column(k: int, low: int, high: int) -> Integers:
        return whole_numbers(seed * 8 + k, (size,), low, high)

    return Labels(column(0, -1, identities), column(1, 1, CAMERAS + 1), clothes=column(2, 0, 3),
                  view=column(3, 0, 3), video=column(4, 0, 30), frame=column(5, 0, 50))
