"""Distances, tile by tile: what `counts.py` counts in, from a matrix or from features.

Aim: one small interface for all sources. A part of the gallery tells the distance of single
pairs exactly, and yields tiles of all of them, in which a value may be off by a known slack.

Contents: `Tile`, `Part`, `matrix_part`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Integers
from reid_ref.ranking.roles import Mask

Array = npt.NDArray[Any]

#: Distances in a tile that is counted in: each tile costs something by itself, and a large one
#: memory, up to 16 bytes a distance.
TILE = 2_000_000


@dataclass(frozen=True)
class Tile:
    """Some queries against some images of a part.

    Parameters
    ----------
    rows : slice
        The queries.
    values : array, shape (rows, columns)
        Smaller is nearer.
    columns : int64, shape (columns,), or None
        Which images of the part; None is all of them.
    counting : bool, shape (columns,), or None
        Those that count; None is all.
    share : float
        Of all distances of the part; the shares of its tiles add up to 1.
    """

    rows: slice
    values: Array
    columns: Integers | None
    counting: Mask | None
    share: float


@dataclass(frozen=True)
class Part:
    """Distances from all queries to consecutive gallery images.

    Parameters
    ----------
    images : slice
        The gallery images.
    exact : callable
        (query, image of the part), both int64 of shape (pairs,), to the pairs' distances: what
        is ranked. Smaller is nearer; NaN is farthest.
    bounds : callable
        (query, distance), of pairs, to the lowest and the highest value that the pair can have
        in a tile. They are equal where tiles are exact.
    tiles : callable
        Which images of the part count (bool, or None for all) to an iterator of tiles.
    is_exact : bool
        Whether values in tiles are distances.
    """

    images: slice
    exact: Callable[[Integers, Integers], Array]
    bounds: Callable[[Integers, Array], tuple[Array, Array]]
    tiles: Callable[[Mask | None], Iterator[Tile]]
    is_exact: bool


def matrix_part(distances: Array) -> Part:
    """Make the one part of a distance matrix, shape (n_query, n_gallery), any real dtype."""
    distances = distances.view(np.uint8) if distances.dtype == bool else distances
    n_query, n_gallery = distances.shape
    step = max(1, TILE // n_gallery)

    def tiles(counting: Mask | None) -> Iterator[Tile]:
        # Few columns are cheaper copied than looked for under a mask.
        few = counting is not None and 2 * np.count_nonzero(counting) < n_gallery
        columns = np.flatnonzero(counting) if few and counting is not None else None
        for start in range(0, n_query, step):
            rows = slice(start, min(start + step, n_query))
            values = distances[rows]
            yield Tile(rows, values if columns is None else values.take(columns, axis=1), columns,
                       None if few else counting, (rows.stop - rows.start) / n_query)

    return Part(slice(0, n_gallery), lambda query, image: distances[query, image],
                lambda query, value: (value, value), tiles, is_exact=True)
