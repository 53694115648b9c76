"""Distances between images, and the nearest images of every image, tile by tile.

The full matrix is never in memory. Distances are symmetric, so each tile is computed once, and
used for its rows and its columns. Of each tile the nearest images are kept, ties by index as in a
stable sort, and the largest distance.
"""
from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Array, InputError, Value, blocks_of
from reid_ref.distances import row_norms


#: Images on each side of a tile. Larger tiles: fewer merges, more memory.
TILE = 4096

#: Rows of a tile that are computed at a time, so that they stay in the processor's cache.
STRIP = 32

#: Kernels of OpenBLAS for arm64 multiply a matrix of single precision by its own transpose wrongly
#: (numpy issue 31776), in numpy 1.26 with SVE of 512 bits or more, in 2.4 with SME. They multiply
#: by the transpose of a copy rightly.
COPIED = platform.machine() in ("arm64", "aarch64")


#: Neighbours that a shared search finds, as many as the published re-ranking that needs most.
SHARED = 51


@dataclass(frozen=True, eq=False)
class ImagePairs(Value):
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

    features: Any
    metric: Any
    squares: Any
    squared_again: bool

    def __len__(self) -> int:
        return len(self.features)

    def times_metric(self, rows: Any) -> Any:
        """Return rows of features times the metric."""
        return rows if self.metric is None else rows @ self.metric

    def left(self, rows: slice) -> Any:
        """Return the left factor of a product of tiles."""
        left = self.times_metric(self.features[rows])
        return left.copy() if COPIED and self.metric is None else left

    def tile(self, rows: slice, columns: slice) -> Array:
        """Return the distances of the images `rows` to the images `columns`."""
        tile: Array = self.left(rows) @ self.features[columns].T
        return _finish_tile(self, tile, rows, columns)

    def entries(self, indptr: Array, indices: Array) -> Array:
        """Return the distances of the pairs of a sparse matrix in CSR form."""
        products = np.empty(len(indices), self.features.dtype)
        for rows in blocks_of(len(indptr) - 1, TILE):
            left = self.times_metric(self.features[rows])
            for i, row in enumerate(left, rows.start):
                entries = slice(indptr[i], indptr[i + 1])
                np.matmul(self.features[indices[entries]], row, out=products[entries])
        squares = np.repeat(self.squares, np.diff(indptr))
        return _finish(self, products, squares + self.squares[indices], out=products)

    def nearest(self, count: int, original: Array | None = None,
                report: Callable[[float], object] | None = None) -> tuple[Array, Array]:
        """Return the `count` nearest images of every image, itself included, and its largest
        distance: shapes (n, count) and (n,). Equal distances are in the order of the images.

        `original`, if given, gets the distances of the queries to the gallery: shape
        (n_query, n_gallery). `report` gets the share of the work done since the last call.
        """
        size, dtype = len(self), self.features.dtype
        nearest = _Nearest(np.full((size, count), np.inf, dtype),
                           np.zeros((size, count), np.int32), np.full(size, -np.inf, dtype))
        room = np.empty(min(size, TILE)**2, dtype)
        blocks = blocks_of(size, TILE)
        for k, rows in enumerate(blocks):
            left = self.left(rows)
            for columns in blocks[k:]:  # ascending for every image, as `_merge` needs
                tile = room[:len(left) * (columns.stop - columns.start)].reshape(len(left), -1)
                np.matmul(left, self.features[columns].T, out=tile)
                _merge_tile(self, tile, rows, columns, nearest)
                if original is not None:
                    _keep(tile, rows, columns, original)
            if report is not None:
                report((len(blocks) - k) * 2 / (len(blocks) * (len(blocks) + 1)))
        return nearest.index, nearest.farthest


def found_neighbours(pairs: ImagePairs, count: int, original: Array | None,
                     report: Callable[[float], object] | None,
                     shared: list[Any] | None) -> tuple[Array, Array, Array | None]:
    """Return what `ImagePairs.nearest` finds, for `count` images or more, and `original`.

    `shared`: what was found last, which is returned again for the same pairs.
    """
    if shared is None:
        return *pairs.nearest(count, original, report), original
    if not (shared and shared[0].shape[1] >= count and shared[-1] == pairs):
        shared.clear()  # to free the memory first
        count = min(max(count, SHARED), len(pairs))
        shared += *pairs.nearest(count, original, report), original, pairs
    return shared[0], shared[1], shared[2]


def joined_features(query: Array, gallery: Array, dtype: npt.DTypeLike,
                    normalize: bool) -> Array:
    """Return the features of all images, the queries first; with `normalize` of norm 1."""
    features = np.empty((len(query) + len(gallery), query.shape[1]), dtype)
    features[:len(query)], features[len(query):] = query, gallery
    if normalize:
        norms = row_norms(features)
        for row in np.flatnonzero(norms == 0)[:1]:
            side, row = ("query", row) if row < len(query) else ("gallery", row - len(query))
            raise InputError(
                f"{side}_features", "features that can be normalised", f"norm 0 in row {row}",
                "look at how that image was read, or pass normalize=False")
        features /= norms[:, np.newaxis]
    return features


def pairs_of(features: Array, metric: Array | None, distance: str) -> ImagePairs:
    """Return the pairs of these features under a `Variant.distance`."""
    if distance == "cosine-fourth":
        return ImagePairs(features, metric, np.ones(len(features), features.dtype), True)
    pairs = ImagePairs(features, metric, np.empty(len(features), features.dtype),
                       distance != "squared")
    for rows in blocks_of(len(features), TILE):
        part = features[rows]
        pairs.squares[rows] = np.einsum("ij,ij->i", pairs.times_metric(part), part)
    return pairs


@dataclass(frozen=True)
class _Nearest:
    """The nearest of some images so far, nearest first, and the largest distance."""

    values: Array
    index: Array
    farthest: Array

    def of(self, images: slice) -> _Nearest:
        return _Nearest(self.values[images], self.index[images], self.farthest[images])


def _merge_tile(pairs: ImagePairs, tile: Array, rows: slice, columns: slice,
                nearest: _Nearest) -> None:
    """Turn a tile of products into distances; merge them into the nearest of rows and columns."""
    of_rows, of_columns = nearest.of(rows), nearest.of(columns)
    _finish_tile(pairs, tile, rows, columns)
    row_bound, column_bound = _bounds(tile, of_rows), _bounds(tile.T, of_columns)
    row, column, value = _near(tile, row_bound, column_bound, of_rows, of_columns)
    nearer = value < row_bound[row]
    _merge(of_rows, row[nearer], columns.start + column[nearer], value[nearer])
    if columns != rows:
        place = np.flatnonzero(value < column_bound[column])
        # Of int16, which the columns of a tile fit, a stable sort is fast.
        place = place[np.argsort(column[place].astype(np.int16), kind="stable")]
        _merge(of_columns, column[place], rows.start + row[place], value[place])


def _near(tile: Array, row_bound: Array, column_bound: Array,
          of_rows: _Nearest, of_columns: _Nearest) -> tuple[Array, Array, Array]:
    """Return rows, columns and values of the distances below a bound of their row or column.

    The largest distances are noted. Arrays are made once: new ones for each strip take longer
    than the work.
    """
    width = len(column_bound)
    below, bounds = np.empty((STRIP, width), bool), np.empty((STRIP, width), column_bound.dtype)
    largest = np.full((STRIP, width), -np.inf, column_bound.dtype)
    places, values = [], []
    for part in blocks_of(len(tile), STRIP):
        strip = tile[part]
        all_of = slice(0, len(strip))
        np.maximum(row_bound[part, np.newaxis], column_bound, out=bounds[all_of])
        place = np.flatnonzero(np.less(strip, bounds[all_of], out=below[all_of]))
        values.append(strip.reshape(-1).take(place))
        places.append(place + part.start * width)
        np.maximum(of_rows.farthest[part], strip.max(axis=1), out=of_rows.farthest[part])
        np.maximum(largest[all_of], strip, out=largest[all_of])
    np.maximum(of_columns.farthest, largest.max(axis=0), out=of_columns.farthest)
    row, column = np.divmod(np.concatenate(places), width)
    return row, column, np.concatenate(values)


def _finish_tile(pairs: ImagePairs, tile: Array, rows: slice, columns: slice) -> Array:
    """Turn a tile of products into distances, strip by strip."""
    of_rows, of_columns = pairs.squares[rows, np.newaxis], pairs.squares[columns]
    sums = np.empty((STRIP, tile.shape[1]), tile.dtype)
    for part in blocks_of(len(tile), STRIP):
        strip = tile[part]
        np.add(of_rows[part], of_columns, out=sums[:len(strip)])
        _finish(pairs, strip, sums[:len(strip)], out=strip)
    return tile


def _keep(tile: Array, rows: slice, columns: slice, original: Array) -> None:
    """Copy what the tile has of the distances of the queries to the gallery."""
    n_query = len(original)
    first = max(columns.start, n_query)
    if rows.start < n_query and first < columns.stop:
        last = min(rows.stop, n_query)
        original[rows.start:last, first - n_query:columns.stop - n_query] = tile[
            :last - rows.start, first - columns.start:]


def _bounds(tile: Array, nearest: _Nearest) -> Array:
    """Return a bound for each row: distances below it may be among the nearest.

    While these are too few, the bound is from the tile: each row is cut into groups, and the
    `count`-th of their smallest distances is not below `count` distances of the row.
    """
    count = nearest.values.shape[1]
    bound: Array = nearest.values[:, -1].copy()
    if tile.shape[1] < count or not np.isinf(bound).any():
        return bound
    groups = 2 * count
    if width := tile.shape[1] // groups:
        tile = tile[:, :width * groups].reshape(len(tile), width, groups).min(axis=1)
    largest = np.partition(tile, count - 1, axis=1)[:, count - 1]
    np.minimum(bound, np.nextafter(largest, np.inf), out=bound)
    return bound


def _merge(nearest: _Nearest, row: Array, image: Array, value: Array) -> None:
    """Merge distances of images into the nearest of the rows.

    `row` ascends, and within it `image`, which is above all images merged before.
    """
    count = nearest.values.shape[1]
    size = np.bincount(row, minlength=len(nearest.values))
    new = np.flatnonzero(size)
    if not len(new):
        return
    size = size[new]
    start = np.cumsum(size) - size
    candidates = np.full((len(new), count + size.max()), np.inf, value.dtype)
    images = np.zeros(candidates.shape, np.int32)
    candidates[:, :count], images[:, :count] = nearest.values[new], nearest.index[new]
    place = np.arange(len(row)) + np.repeat(
        np.arange(len(new)) * candidates.shape[1] + count - start, size)
    candidates.reshape(-1)[place], images.reshape(-1)[place] = value, image
    order = np.argsort(candidates, axis=1, kind="stable")[:, :count]  # earlier images come first
    nearest.values[new] = np.take_along_axis(candidates, order, axis=1)
    nearest.index[new] = np.take_along_axis(images, order, axis=1)


def _finish(pairs: ImagePairs, products: Array, sums: Array, out: Array) -> Array:
    """Return sums - 2 products, rounded in the order of MahDist.m."""
    np.multiply(products, 2, out=out)
    np.subtract(sums, out, out=out)
    return np.square(out, out=out) if pairs.squared_again else out
