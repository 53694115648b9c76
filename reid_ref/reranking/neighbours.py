"""Distances between images, and the nearest images of every image, tile by tile.

The full matrix is never in memory. Distances are symmetric, so each tile is computed once, and
used for its rows and its columns. Of each tile the nearest images are kept, ties by index as in a
stable sort, and the largest distance.

`on_device.py` does the same on an accelerator. Contents: `Pairs`, `pairs_of`.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Images on each side of a tile. Larger tiles: fewer merges, more distances computed twice.
TILE = 4096

#: Rows of a tile that are computed at a time, so that they stay in the processor's cache.
STRIP = 32

#: Images that give a first bound of the nearest. More images: fewer candidates.
FIRST_LOOK = 1024


@dataclass(frozen=True)
class Pairs:
    """Features of all images, and the distance between any two.

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

    def __len__(self) -> int:
        return len(self.features)

    def tile(self, rows: slice, columns: slice, room: Array | None = None) -> Array:
        """Return the distances of the images `rows` to the images `columns`.

        `room`, a vector of at least the size of the tile, is overwritten, to save allocations.
        """
        own, others = self.squares[rows, np.newaxis], self.squares[columns]
        if room is None:
            room = np.empty(len(own) * len(others), self.features.dtype)
        tile = room[:len(own) * len(others)].reshape(len(own), len(others))
        np.matmul(self._left(rows), self.features[columns].T, out=tile)
        for start in range(0, len(tile), STRIP):
            strip = tile[start:start + STRIP]
            self._finish(strip, own[start:start + STRIP] + others)
        return tile

    def entries(self, indptr: Array, indices: Array) -> Array:
        """Return the distances of the pairs of a sparse matrix in CSR form."""
        products = np.empty(len(indices), self.features.dtype)
        for rows in _blocks(len(indptr) - 1):
            left = self._left(rows)
            for i, row in enumerate(left, rows.start):
                entries = slice(indptr[i], indptr[i + 1])
                np.matmul(self.features[indices[entries]], row, out=products[entries])
        own = np.repeat(self.squares, np.diff(indptr))
        return self._finish(products, own + self.squares[indices])

    def nearest(self, count: int) -> tuple[Array, Array]:
        """Return the `count` nearest images of every image, itself included, and its largest
        distance: shapes (n, count) and (n,). Equal distances are in the order of the images.
        """
        size, dtype = len(self), self.features.dtype
        values = np.full((size, count), np.inf, dtype)
        index = np.zeros((size, count), np.int32)
        farthest = np.full(size, -np.inf, dtype)
        blocks = _blocks(size)
        room = np.empty(min(size, TILE)**2, dtype)
        # In this order, blocks are merged by ascending index for every image, as `_merge` needs.
        for k, rows in enumerate(blocks):
            for columns in blocks[k:]:
                tile = self.tile(rows, columns, room)
                _merge(tile, columns.start, values[rows], index[rows], farthest[rows])
                if columns != rows:
                    _merge(tile.T, rows.start, values[columns], index[columns], farthest[columns])
        return index, farthest

    def _left(self, rows: slice) -> Array:
        left: Array = self.features[rows]
        return left if self.metric is None else left @ self.metric

    def _finish(self, products: Array, sums: Array) -> Array:
        """Return sums - 2 products, rounded in the order of MahDist.m, in place of products."""
        np.multiply(products, 2, out=products)
        np.subtract(sums, products, out=products)
        return np.square(products, out=products) if self.squared_again else products


def pairs_of(features: Array, metric: Array | None, distance: str) -> Pairs:
    """Return the pairs of these features under a `Variant.distance`."""
    if distance == "cosine-fourth":
        squares = np.ones(len(features), features.dtype)
    else:
        squares = np.empty(len(features), features.dtype)
        for rows in _blocks(len(features)):
            part = features[rows]
            left = part if metric is None else part @ metric
            squares[rows] = np.einsum("ij,ij->i", left, part)
    return Pairs(features, metric, squares, distance != "squared")


def _merge(tile: Array, first: int, values: Array, index: Array, farthest: Array) -> None:
    """Merge the distances of images `first`, `first` + 1, ... into the nearest of the rows."""
    np.maximum(farthest, tile.max(axis=1), out=farthest)
    count, bound = values.shape[1], values[:, -1]
    if np.isinf(bound).any() and tile.shape[1] >= count:  # the first tile of these rows
        partitioned = np.partition(tile[:, :max(count, FIRST_LOOK)], count - 1, axis=1)
        bound = np.nextafter(partitioned[:, count - 1], np.inf)
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
    """Return the rows and columns where a mask is set, row by row; it may be a transposed view."""
    if mask.flags.c_contiguous:
        row, column = np.divmod(np.flatnonzero(mask), mask.shape[1])
        return row, column
    column, row = np.divmod(np.flatnonzero(mask.T), mask.shape[0])
    order = np.argsort(row.astype(np.int16), kind="stable")  # int16: radix sort; TILE fits
    return row[order], column[order]


def _blocks(size: int) -> list[slice]:
    return [slice(start, min(start + TILE, size)) for start in range(0, size, TILE)]
