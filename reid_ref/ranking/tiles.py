"""Distances in tiles, of a matrix or of features: the input of `counting.py`.

One interface for all sources. A `Part` of the gallery returns the exact distance of single pairs,
and yields tiles of all pairs, whose values may be off by a known bound.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, Integers
from reid_ref.ranking.roles import Mask

Array = npt.NDArray[Any]

#: Distances in a tile. Small tiles add overhead; a large one takes up to 16 bytes a distance.
TILE = 2_000_000


@dataclass(frozen=True)
class Tile:
    """Distances of a block of queries to images of a part.

    Parameters
    ----------
    rows : slice
        The queries.
    values : array, shape (rows, columns)
        Smaller is nearer.
    columns : int64, shape (columns,), or None
        The images' indices in the part; None is all of them.
    counting : bool, shape (columns,), or None
        Whether each image is counted; None is all.
    share : float
        Share of the band's distances; those of all its tiles add up to 1.
    """

    rows: slice
    values: Any
    columns: Integers | None
    counting: Mask | None
    share: float

    @property
    def images(self) -> Integers:
        """int64, shape (columns,): the images' indices in the part."""
        return np.arange(self.values.shape[1]) if self.columns is None else self.columns


@dataclass(frozen=True)
class Band:
    """Images of a part whose tiles have one bound of error; every image is in one band.

    Parameters
    ----------
    columns : bool, shape (images of the part,), or None
        The images of the band; None is all.
    bounds : callable
        Query and exact distance of pairs, to the lowest and the highest value that each pair can
        have in a tile. The two are equal where tiles are exact.
    tiles : callable
        Mask of the images that are counted (None: all), to an iterator of tiles of those that are
        in the band.
    """

    columns: Mask | None
    bounds: Callable[[Integers, Array], tuple[Array, Array]]
    tiles: Callable[[Mask | None], Iterator[Tile]]


@dataclass(frozen=True)
class Part:
    """Distances from all queries to consecutive gallery images.

    Parameters
    ----------
    images : slice
        The gallery images.
    exact : callable
        Indices of query and image of the part, both int64 of shape (pairs,), to the exact
        distances of these pairs, which are ranked. Smaller is nearer; NaN is farthest.
    bands : list of Band
    is_nan : callable
        A query to the mask of the images of the part at distance NaN.
    is_exact : bool
        Whether the values in tiles are the exact distances.
    closer : callable, or None
        As `exact`, but faster and not exact: the distances, and how far each may be off, both
        float64. None where it would not be closer than a tile.
    count_tiles : callable, or None
        Counts tiles that are on a device; see `device_counting.count_tiles`.
    """

    images: slice
    exact: Callable[[Integers, Integers], Array]
    bands: list[Band]
    is_nan: Callable[[int], Mask]
    is_exact: bool = False
    closer: Callable[[Integers, Integers], tuple[Doubles, Doubles]] | None = None
    count_tiles: Callable[..., Any] | None = None


def matrix_part(distances: Array) -> Part:
    """Return a distance matrix, shape (n_query, n_gallery) and of any real dtype, as one part."""
    distances = distances.view(np.uint8) if distances.dtype == bool else distances
    n_query, n_gallery = distances.shape
    step = max(1, TILE // n_gallery)

    def tiles(counting: Mask | None) -> Iterator[Tile]:
        # Copying few columns is faster than a mask over all of them.
        few = counting is not None and 2 * np.count_nonzero(counting) < n_gallery
        columns = np.flatnonzero(counting) if few and counting is not None else None
        for start in range(0, n_query, step):
            rows = slice(start, min(start + step, n_query))
            values = distances[rows]
            if values.dtype == np.float16:  # exact, and comparisons are ten times faster
                values = values.astype(np.float32)
            yield Tile(rows, values if columns is None else values.take(columns, axis=1), columns,
                       None if few else counting, (rows.stop - rows.start) / n_query)

    return Part(slice(0, n_gallery), lambda query, image: distances[query, image],
                [Band(None, lambda query, value: (value, value), tiles)],
                lambda query: distances[query] != distances[query], is_exact=True)
