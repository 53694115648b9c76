"""Neighbours to sparse encodings, encodings to Jaccard distances.

Sets of neighbours are rows of a sparse matrix, images x images; unions, intersections and their
sizes are products of such matrices. Sums have the order and the precision of the published codes,
so that results on exact distances are bit-identical.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.reranking.neighbours import Pairs
from reid_ref.reranking.variants import Variant

Array = npt.NDArray[Any]


def encode(pairs: Pairs, index: Array, scale: Array, k1: int, k2: int,
           variant: Variant) -> Any:
    """Return V, csr_array of float32, shape (n, n): the weights of neighbours, 1 in each row.

    `index` is that of `Pairs.nearest`, for max(k1 + 1, k2) images or more; the distances of each
    image are divided by its `scale`. Half precision is rounded to by `invert` and `jaccard`.
    """
    from scipy.sparse import csr_array

    V = expansion(index, k1 + variant.itself, variant.window(k1))
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
    from scipy.sparse import csr_array

    size, count = index.shape
    return csr_array((np.ones(index.size, np.float32), index.ravel(),
                      np.arange(0, index.size + 1, count)), shape=(size, size))


def _reciprocal(index: Array) -> Any:
    forward = _incidence(index).astype(np.int32)
    forward.sort_indices()
    return forward.multiply(forward.T).tocsr()


def c_exp(values: Array) -> Array:
    """Return exp as the C library computes it, as `matlab._arithmetic.exponential` explains."""
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


def jaccard(V: Any, query: int, inverted: Any) -> Array:
    """Return the Jaccard distances of one query to the gallery, shape (n_gallery,)."""
    row = slice(V.indptr[query], V.indptr[query + 1])
    images, weights = V.indices[row], V.data[row].astype(inverted.data.dtype)
    start, stop = inverted.indptr[images], inverted.indptr[images + 1]
    size = stop - start
    entries = np.repeat(stop - np.cumsum(size), size) + np.arange(size.sum())
    shared = np.zeros(inverted.shape[0], inverted.data.dtype)
    # In order of ascending images, as re_ranking.m:60-63 adds.
    np.add.at(shared, inverted.indices[entries],
              np.minimum(np.repeat(weights, size), inverted.data[entries]))
    distances: Array = 1 - shared / (2 - shared)
    return distances
