"""The published re-ranking codes; neighbours to sparse encodings, encodings to Jaccard distances.

All codes are k-reciprocal re-ranking, but they compute different distances. `Convention.reranking`
defines which toolbox runs which, with which k1, k2 and lambda. Each record is tested against
recorded answers of its code (`fixtures/peers/rerank`).

Sets of neighbours are rows of a sparse matrix, images x images; unions, intersections and their
sizes are products of such matrices. Sums have the order and the precision of the published codes,
so that results on exact distances are bit-identical.
"""
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from reid_ref.arrays import Array, optional_module
from reid_ref.disk import tables_of
from reid_ref.reranking.neighbours import ImagePairs


def half_away(k1: int) -> int:
    """Return MATLAB's round((k1 + 1) / 2), which rounds a half away from zero.

    Examples
    --------
    >>> [half_away(k1) for k1 in (18, 19, 20, 21)]
    [10, 10, 11, 11]
    """
    return (k1 + 2) // 2


def half_to_even(k1: int) -> int:
    """Return numpy's int(around(k1 / 2)) + 1, which rounds a half to the even number.

    Differs from `half_away` for k1 = 3, 7, 11, ..., 19, 23.

    Examples
    --------
    >>> [half_to_even(k1) for k1 in (18, 19, 20, 21)]
    [10, 11, 11, 11]
    """
    return round(k1 / 2) + 1


#: The ways to halve k1.
WINDOWS = {"half_away": half_away, "half_to_even": half_to_even}


@dataclass(frozen=True)
class Variant:
    """One published code.

    Parameters
    ----------
    source : str
        Repository and file.
    distance : {"squared", "fourth", "cosine-fourth"}
        The squared Euclidean distance, its square, or the square of 2 - 2 q.g.
    window : str
        A key of `WINDOWS`: from k1 the number of neighbours of a candidate, itself included.
    itself : int
        1: the first k1 + 1 neighbours of an image are used, itself included; 0: the first k1.
    scaled : bool
        Distances are divided by the largest of their row. If not, a Jaccard distance below 0
        (rounding) becomes 0.
    cosine : bool
        The original distance in the final sum is 1 - cosine if features are normalised.
    precision : str
        That of features and distances; "features": that of the given features.
    stored : str
        Precision of encodings and Jaccard distances.
    junk : {"in", "out", "caller"}
        Whether the code's own evaluator re-ranks a gallery with images labelled -1.
    """

    source: str
    distance: str = "squared"
    window: str = "half_to_even"
    itself: int = 1
    scaled: bool = True
    cosine: bool = False
    precision: str = "float32"
    stored: str = "float32"
    junk: str = "out"


#: By name. What they share is described in `rerank`.
VARIANTS = {name: Variant(**fields) for name, fields in
            tables_of("reranking/variants.toml").items()}


def encode(pairs: ImagePairs, index: Array, scale: Array, k1: int, k2: int,
           variant: Variant) -> Any:
    """Return V, csr_array of float32, shape (n, n): the weights of neighbours, 1 in each row.

    `index` is that of `ImagePairs.nearest`, for max(k1 + 1, k2) images or more; the distances of
    each image are divided by its `scale`. Half precision is rounded to by `invert` and `jaccard`.
    """
    csr_array = optional_module("re-ranking", "scipy.sparse").csr_array
    V = expansion(index, k1 + variant.itself, WINDOWS[variant.window](k1))
    size = np.diff(V.indptr)
    distances = pairs.entries(V.indptr, V.indices)
    distances /= np.repeat(scale, size)
    if not variant.scaled:  # the softmax would be 0 / 0 for large distances
        distances -= np.repeat(_by_row(np.minimum, distances, size, np.inf), size)
    weights = c_exp(-distances)
    V.data = (weights / np.repeat(_by_row(np.add, weights, size, 0), size)).astype(variant.stored)
    V.data = V.data.astype(np.float32)
    if k2 == 1:
        return V
    neighbours = index[:, :k2 if variant.itself else min(k2, k1)]  # fast-reid keeps only k1
    V = _incidence(neighbours) @ V  # rows are added in the order of the neighbours
    V.data /= np.float32(neighbours.shape[1])
    V.sort_indices()
    return csr_array(V)


def expansion(index: Array, count: int, window: int) -> Any:
    """Return the expanded k-reciprocal neighbours of every image, as a sparse pattern.

    `count` neighbours of an image are used, and `window` neighbours of each candidate.

    Examples
    --------
    Two pairs of reciprocal neighbours, and an image without one.

    >>> import numpy as np
    >>> index = np.array([[0, 1], [1, 0], [2, 3], [3, 2], [4, 0]])
    >>> expansion(index, 2, 1).toarray()
    array([[1, 1, 0, 0, 0],
           [1, 1, 0, 0, 0],
           [0, 0, 1, 1, 0],
           [0, 0, 1, 1, 0],
           [0, 0, 0, 0, 1]], dtype=int32)
    """
    reciprocal = _reciprocal(index[:, :count])
    brought = _reciprocal(index[:, :window])  # row c: the neighbours of candidate c; symmetric
    joins = (reciprocal @ brought).multiply(reciprocal).tocsr()  # sizes of the intersections
    joins.data = (joins.data > 2 / 3 * np.diff(brought.indptr)[joins.indices]).astype(np.int32)
    joins.eliminate_zeros()
    pattern = (reciprocal + joins @ brought).tocsr()
    pattern.data[:] = 1
    pattern.sort_indices()
    return pattern


def _incidence(index: Array) -> Any:
    """Return the matrix that is 1 at each row's images, in their order."""
    csr_array = optional_module("re-ranking", "scipy.sparse").csr_array
    size, count = index.shape
    return csr_array((np.ones(index.size, np.float32), index.ravel(),
                      np.arange(0, index.size + 1, count)), shape=(size, size))


def _reciprocal(index: Array) -> Any:
    forward = _incidence(index).astype(np.int32)
    forward.sort_indices()
    return forward.multiply(forward.T).tocsr()


def c_exp(values: Array) -> Array:
    """Return exp as the C library computes it, as `matlab._values.exponential` explains."""
    wide = np.complex64 if values.dtype == np.float32 else np.complex128
    exponential: Array = np.exp(values.astype(wide)).real
    return exponential


def _by_row(function: np.ufunc, values: Array, size: Array, start: float) -> Array:
    """Return each row's sum or minimum, one term after another."""
    answer = np.full(len(size), start, values.dtype)
    function.at(answer, np.repeat(np.arange(len(size)), size), values)
    return answer


def invert(V: Any, n_query: int, stored: str) -> Any:
    """Return the gallery's encodings by columns, csc_array of the precision `stored`: for each
    image, the gallery images that have it.
    """
    columns = V[n_query:].tocsc()
    columns.sort_indices()
    columns.indptr = columns.indptr.astype(np.intp)
    columns.indices = columns.indices.astype(np.intp)
    columns.data = columns.data.astype(stored)
    return columns


def jaccard(V: Any, query: int, inverted: Any, weight: float = 1) -> Array:
    """Return the Jaccard distances of one query to the gallery, times a weight: (n_gallery,)."""
    row = slice(V.indptr[query], V.indptr[query + 1])
    images, dtype = V.indices[row], inverted.data.dtype
    start, stop = inverted.indptr[images], inverted.indptr[images + 1]
    size = stop - start
    entries = np.repeat(stop - np.cumsum(size), size) + np.arange(size.sum())
    # The bits of weights, none of which is below 0, are in their order, and faster to compare.
    weights, others = (each.view(f"u{dtype.itemsize}")
                       for each in (V.data[row].astype(dtype), inverted.data))
    shared = np.zeros(inverted.shape[0], dtype)
    # In order of ascending images, as re_ranking.m:60-63 adds.
    np.add.at(shared, inverted.indices[entries],
              np.minimum(np.repeat(weights, size), others[entries]).view(dtype))
    if dtype == np.float16:  # whose arithmetic is slow
        return _of_halves(weight)[shared.view(np.uint16)]
    return np.asarray((1 - shared / (2 - shared)) * weight)


@lru_cache(maxsize=1)
def _of_halves(weight: float) -> Array:
    """Return the distances of all numbers in half precision, by their bits."""
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        return np.asarray((1 - every / (2 - every)) * weight)
