"""Distances between images, and the nearest images of every image, on an accelerator.

The counterpart of `neighbours.py`. Of each row of distances the smallest of its first columns give
a bound; the few images up to that bound are sorted by distance, ties by index.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays.device import DeviceArray, joined, take, to_device, to_numpy
from reid_ref.ranking.on_device import AT_ONCE, full_precision, in_pieces, squares
from reid_ref.reranking.neighbours import Pairs

Array = npt.NDArray[Any]

#: Distances in a tile: enough to keep an accelerator busy, 128 MiB of float32.
TILE = 2**25

#: Images that give the bound of the nearest. More images: fewer to sort afterwards.
FIRST_LOOK = 4096


class DevicePairs(Pairs):
    """Pairs whose arrays are on a device; distances are returned in main memory."""

    def in_main_memory(self) -> Pairs:
        metric = None if self.metric is None else to_numpy(self.metric)
        return Pairs(to_numpy(self.features), metric, to_numpy(self.squares), self.squared_again)

    def tile(self, rows: slice, columns: slice) -> Array:
        """Return the distances of the images `rows` to the images `columns`."""
        width = columns.stop - columns.start
        tile = np.empty((rows.stop - rows.start, width), self.features.dtype)

        def of_piece(piece: slice) -> Array:
            part = slice(rows.start + piece.start, rows.start + piece.stop)
            return to_numpy(self._values(part, columns))

        with full_precision(self.features):
            for piece, values in in_pieces(len(tile), max(1, TILE // width), of_piece):
                tile[piece] = values
        return tile

    def entries(self, indptr: Array, indices: Array) -> Array:
        """Return the distances of the pairs of a sparse matrix in CSR form."""
        distances = np.empty(len(indices), self.features.dtype)
        row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        step = max(1, AT_ONCE // self.features.shape[1])
        with full_precision(self.features):
            for piece, values in in_pieces(len(indices), step, lambda piece: to_numpy(
                    self._of_pairs(row[piece], indices[piece]))):
                distances[piece] = values
        return distances

    def nearest(self, count: int, original: Array | None = None) -> tuple[Array, Array]:
        """Return the `count` nearest images of every image, itself included, and its largest
        distance: shapes (n, count) and (n,). Equal distances are in the order of the images.

        `original`, if given, gets the distances of the queries to the gallery, in main memory.
        """
        size = len(self)
        index = np.zeros((size, count), np.int32)
        farthest = np.empty(size, self.features.dtype)
        with full_precision(self.features):
            for rows, nearest in in_pieces(size, max(1, TILE // size),
                                           lambda rows: self._nearest(rows, count)):
                index[rows], farthest[rows] = nearest
        if original is not None:
            original[:] = self.tile(slice(0, len(original)), slice(len(original), size))
        return index, farthest

    def _nearest(self, rows: slice, count: int) -> tuple[Any, Array]:
        xp, size = self.features.xp, len(self)
        tile = self._values(rows, slice(0, size))
        farthest = to_numpy(xp.max(tile, axis=1))
        if not np.isfinite(farthest).all():
            return 0, farthest  # refused by who asks
        first = xp.sort(tile[:, :min(size, max(count, FIRST_LOOK))], axis=1)
        key = xp.nonzero(xp.reshape(tile <= first[:, count - 1][:, None], (-1,)))[0]
        # Two stable sorts: by distance, then by row. Keys ascend, so ties are by index.
        key = take(key, xp.argsort(take(xp.reshape(tile, (-1,)), key), stable=True))
        row = key // size
        order = xp.argsort(row, stable=True)
        key, row = take(key, order), take(row, order)
        row_number = xp.arange(tile.shape[0], device=self.features.device)
        place = xp.searchsorted(row, row_number)[:, None] + xp.arange(
            count, device=self.features.device)[None, :]
        chosen = take(key, xp.reshape(place, (-1,)))
        return to_numpy(xp.reshape(chosen, place.shape) - (row_number * size)[:, None]), farthest

    def _values(self, rows: slice, columns: slice) -> Any:
        features = self.features.array
        products = self.times_metric(features[rows, :]) @ features[columns, :].T
        return self._finished(products, self.squares[rows][:, None] + self.squares[columns])

    def _of_pairs(self, row: Array, image: Array) -> Any:
        xp, features = self.features.xp, self.features.array
        left, right = (to_device(xp, index.astype(np.int64), self.features.device)
                       for index in (row, image))
        products = xp.sum(self.times_metric(take(features, left)) * take(features, right), axis=1)
        return self._finished(products, take(self.squares, left) + take(self.squares, right))

    def _finished(self, products: Any, sums: Any) -> Any:
        distances = sums - 2 * products
        return distances * distances if self.squared_again else distances


def joined_features(query: DeviceArray, gallery: DeviceArray, dtype: np.dtype[Any],
                    normalize: bool) -> tuple[DeviceArray, Array]:
    """Return the features of all images, the queries first, and the norms of the rows.

    They are divided by their norms where all of these are above 0 and `normalize` is set.
    """
    with full_precision(query):
        features = joined([query.astype(dtype), gallery.astype(dtype)])
        norms = np.sqrt(squares(features)).astype(dtype)
        if normalize and norms.all():
            divisor = to_device(features.xp, norms, features.device)
            features = DeviceArray(features.array / divisor[:, None], features.dtype)
    return features, norms


def pairs_of(features: DeviceArray, metric: Array | None, distance: str) -> DevicePairs:
    """Return the pairs of these features under a `Variant.distance`."""
    xp, device = features.xp, features.device
    matrix = None if metric is None else to_device(xp, metric, device)
    if distance == "cosine-fourth":
        row_squares = xp.ones(len(features), dtype=features.array.dtype, device=device)
    else:
        with full_precision(features):
            left = features.array if matrix is None else features.array @ matrix
            row_squares = xp.sum(left * features.array, axis=1)
    return DevicePairs(features, matrix, row_squares, distance != "squared")
