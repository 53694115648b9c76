"""Distances between images, and the nearest of every image, tile by tile.

Aim: never hold a matrix of all images against all. Distances are symmetric, so each tile of them
is made once and serves its rows and its columns; what is kept of it are the nearest of each
image, ties by index as a stable sort has them, and the distance of the farthest.

Contents: `Pairs`, `pairs_of`, `tile_of`, `distances_of_pairs`, `nearest`.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Images on each side of a tile. Larger: fewer merges, more distances made twice.
TILE = 4096

#: Rows of a tile that are handled at a time: they stay in the processor's cache.
STRIP = 32

#: Images among which a first bound of the nearest is looked for. More: fewer candidates.
FIRST_LOOK = 1024


@dataclass(frozen=True)
class Pairs:
    """Where the distance of any two images comes from.

    Parameters
    ----------
    features : float32 or float64, shape (n, d)
        Queries first.
    metric : array, shape (d, d), or None
        M of MahDist: distance (x - y) M (x - y)'.
    squares : shape (n,)
        x M x' of every image; 1 for the cosine.
    squared_again : bool
        The distance is squared once more.
    """

    features: Array
    metric: Array | None
    squares: Array
    squared_again: bool


def pairs_of(features: Array, metric: Array | None, distance: str) -> Pairs:
    """Return the distances named `distance`, a `Variant.distance`, of these features."""
    if distance == "cosine-fourth":
        squares = np.ones(len(features), features.dtype)
    else:
        squares = np.empty(len(features), features.dtype)
        for rows in _blocks(len(features)):
            part = features[rows]
            left = part if metric is None else part @ metric
            squares[rows] = np.einsum("ij,ij->i", left, part)
    return Pairs(features, metric, squares, distance != "squared")


def tile_of(pairs: Pairs, rows: slice, columns: slice, room: Array | None = None) -> Array:
    """Return the distances of the images `rows` to the images `columns`.

    `room`: a vector that holds the tile, or more; it is filled, so that memory is not asked for
    again and again.
    """
    own, others = pairs.squares[rows, np.newaxis], pairs.squares[columns]
    if room is None:
        room = np.empty(len(own) * len(others), pairs.features.dtype)
    tile = room[:len(own) * len(others)].reshape(len(own), len(others))
    np.matmul(_left(pairs, rows), pairs.features[columns].T, out=tile)
    for start in range(0, len(tile), STRIP):
        strip = tile[start:start + STRIP]
        _finish(pairs, strip, own[start:start + STRIP] + others, out=strip)
    return tile


def distances_of_pairs(pairs: Pairs, indptr: Array, indices: Array) -> Array:
    """Return the distances of the pairs of a sparse matrix in CSR form."""
    products = np.empty(len(indices), pairs.features.dtype)
    for rows in _blocks(len(indptr) - 1):
        left = _left(pairs, rows)
        for i, one in enumerate(left, rows.start):
            part = slice(indptr[i], indptr[i + 1])
            np.matmul(pairs.features[indices[part]], one, out=products[part])
    own = np.repeat(pairs.squares, np.diff(indptr))
    return _finish(pairs, products, own + pairs.squares[indices], out=products)


def nearest(pairs: Pairs, count: int) -> tuple[Array, Array]:
    """Find the nearest images of every image, itself among them.

    Parameters
    ----------
    pairs : Pairs
    count : int
        At most the number of images.

    Returns
    -------
    index : int32, shape (n, count)
        The nearest first; equal distances in the order of the images.
    farthest : shape (n,)
        The largest distance of each image.
    """
    size, dtype = len(pairs.features), pairs.features.dtype
    values = np.full((size, count), np.inf, dtype)
    index = np.zeros((size, count), np.int32)
    farthest = np.full(size, -np.inf, dtype)
    blocks = _blocks(size)
    room = np.empty(min(size, TILE)**2, dtype)
    # In this order every image meets the others by ascending index.
    for k, rows in enumerate(blocks):
        for columns in blocks[k:]:
            tile = tile_of(pairs, rows, columns, room)
            _merge(tile, columns.start, values[rows], index[rows], farthest[rows])
            if columns != rows:
                _merge(tile.T, rows.start, values[columns], index[columns], farthest[columns])
    return index, farthest


def _merge(tile: Array, first: int, values: Array, index: Array, farthest: Array) -> None:
    """Take the images `first`, `first` + 1, ... into what is known of the tile's rows."""
    np.maximum(farthest, tile.max(axis=1), out=farthest)
    count, bound = values.shape[1], values[:, -1]
    if np.isinf(bound).any() and tile.shape[1] >= count:  # nothing is known yet
        some = np.partition(tile[:, :max(count, FIRST_LOOK)], count - 1, axis=1)
        bound = np.nextafter(some[:, count - 1], np.inf)
    row, column = _nonzero(tile < bound[:, np.newaxis])
    size = np.bincount(row, minlength=len(tile))
    place = count + np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    known = np.full((len(tile), count + size.max()), np.inf, tile.dtype)
    images = np.zeros(known.shape, np.int32)
    known[:, :count], images[:, :count] = values, index
    known[row, place], images[row, place] = tile[row, column], first + column
    order = np.argsort(known, axis=1, kind="stable")[:, :count]  # earlier images come first
    values[:] = np.take_along_axis(known, order, axis=1)
    index[:] = np.take_along_axis(images, order, axis=1)


def _nonzero(mask: Array) -> tuple[Array, Array]:
    """Return rows and columns of what is set, row by row; the mask may be a transposed one."""
    if mask.flags.c_contiguous:
        row, column = np.divmod(np.flatnonzero(mask), mask.shape[1])
        return row, column
    column, row = np.divmod(np.flatnonzero(mask.T), mask.shape[0])
    order = np.argsort(row.astype(np.int16), kind="stable")  # a radix sort; tiles are smaller
    return row[order], column[order]


def _left(pairs: Pairs, rows: slice) -> Array:
    left: Array = pairs.features[rows]
    return left if pairs.metric is None else left @ pairs.metric


def _finish(pairs: Pairs, products: Array, sums: Array, out: Array) -> Array:
    """Return sums - 2 products, in that order of rounding, as MahDist has it."""
    np.multiply(products, 2, out=out)
    np.subtract(sums, out, out=out)
    return np.square(out, out=out) if pairs.squared_again else out


def _blocks(size: int) -> list[slice]:
    return [slice(start, min(start + TILE, size)) for start in range(0, size, TILE)]
