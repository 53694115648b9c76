"""Features or a distance matrix on a device, as a `Part` for `ranking.rank`.

Sums of products are in the order of numpy's sum of a row, so the same doubles. Work is in pieces,
which become smaller when a device's memory runs out.

Source: pairwise summation, N. J. Higham, The accuracy of floating point summation, SIAM J. Sci.
Comput. 14 (1993); in numpy's variant, blocks of at most 128 have eight running sums
(numpy/_core/src/umath/loops_utils.h.src). tests/ranking/devices/test_sums.py compares with numpy.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles, Integers
from reid_ref.arrays.device import DeviceArray, namespace, take, to_device, to_numpy
from reid_ref.ranking.device_counting import count_tiles, in_pieces
from reid_ref.ranking.exact_distances import (
    Arithmetic, Scales, checked_norms, divisor, feature_part)
from reid_ref.ranking.roles import Mask
from reid_ref.ranking.tiles import Array, Band, Part, Tile

#: Numbers in the products of a piece of pairs: 256 MiB of doubles, as much again for the features
#: as doubles, and their copies. Far more than an accelerator needs to be busy.
AT_ONCE = 2**25

#: Distances in a tile, and numbers in the features of its images. Large, so that a call keeps an
#: accelerator busy for longer than it takes to launch the next; a tile and its candidates take up
#: to 60 bytes a distance, 1.9 GiB.
TILE = 2**25

#: Queries in a tile, for a fast product with at least 4096 images.
ROWS = 2**13

#: The longest row that is added without being halved, and the number of running sums.
_BLOCK, _LANES = 128, 8

#: Dimensions of a product; the products of long features are added. The bound of the error grows
#: with the dimensions of one product and with their number, so a quarter of it decides of 2048
#: dimensions: fewer pairs are left undecided, whose exact distances cost more than the additions.
DEPTH = 512


def row_sums(products: Any) -> Any:
    """Return the sum of each row, shape (n,), as numpy adds a contiguous row."""
    count, width = products.shape
    if width <= _BLOCK:
        return _block_sums(products)
    half = width // 2 // _LANES * _LANES
    xp = namespace(products)
    if 2 * half == width:  # both halves in one call, because small calls leave a device idle
        halves = xp.reshape(row_sums(xp.reshape(products, (2 * count, half))), (count, 2))
        return halves[:, 0] + halves[:, 1]
    return row_sums(products[:, :half]) + row_sums(products[:, half:])


def _block_sums(products: Any) -> Any:
    width = products.shape[1]
    whole = width // _LANES * _LANES
    if whole:
        lanes = products[:, :_LANES]
        for start in range(_LANES, whole, _LANES):
            lanes = lanes + products[:, start:start + _LANES]
        pairs = lanes[:, ::2] + lanes[:, 1::2]
        total = (pairs[:, 0] + pairs[:, 1]) + (pairs[:, 2] + pairs[:, 3])
    else:
        total, whole = products[:, 0], 1
    for column in range(whole, width):
        total = total + products[:, column]
    return total


def pair_products(query: DeviceArray, gallery: DeviceArray, row: Integers,
                  image: Integers) -> Doubles:
    """Return q.g of single pairs in main memory, double, shape (pairs,)."""
    xp = query.xp

    def of_piece(pairs: slice) -> Doubles:
        left, right = (take(side.array, to_device(xp, index[pairs], query.device))
                       for side, index in ((query, row), (gallery, image)))
        if not xp.isdtype(right.dtype, "real floating"):
            right = xp.astype(right, xp.float64)
        # The product of a double and a float is a double.
        return to_numpy(row_sums(xp.astype(left, xp.float64) * right))

    products = np.empty(len(row))
    for pairs, sums in in_pieces(len(row), max(1, AT_ONCE // query.shape[1]), of_piece):
        products[pairs] = sums
    return products


def squares(features: DeviceArray) -> Doubles:
    """Return the squared 2-norm of each row in main memory, double, shape (n,)."""
    rows = np.arange(len(features))
    return pair_products(features, features, rows, rows)


def matrix_part(distances: DeviceArray) -> Part:
    """Return a distance matrix of any real dtype as a part."""
    xp, matrix = distances.xp, distances.array
    on_device = partial(to_device, xp, device=distances.device)
    name = distances.dtype.name
    dtype = getattr(xp, {"float16": "float32", "bool": "uint8"}.get(name, name))

    def exact(query: Integers, image: Integers) -> Array:
        return to_numpy(xp.astype(matrix[on_device(query), on_device(image)], dtype))

    def values(rows: slice) -> Callable[[Any], Any]:
        return lambda image: xp.astype(take(matrix[rows, :], image, axis=1), dtype)

    def is_nan(query: int) -> Mask:
        row = to_numpy(matrix[query, :])
        mask: Mask = row != row
        return mask

    band = Band(None, lambda query, value: (value, value),
                partial(_tiles, distances, distances.shape, 1, values))
    return Part(slice(0, distances.shape[1]), exact, [band], is_nan, is_exact=True,
                count_tiles=count_tiles)


def count_nan(distances: DeviceArray) -> int:
    """Return the number of NaN in a distance matrix."""
    if distances.dtype.kind != "f":
        return 0
    return int(distances.xp.count_nonzero(distances.xp.isnan(distances.array)))


def feature_parts(query: DeviceArray, gallery: DeviceArray, metric: str,
                  normalize: bool) -> list[Callable[[Any], Part]]:
    """Return a function that makes features a part, with products of tiles in a precision.

    NaN, Inf and zeros in features are refused and warned of here, as in main memory.
    """
    normalized = normalize or metric == "cosine"
    query_square = checked_norms(query, "query_features", normalized, squares)
    gallery_square = checked_norms(gallery, "gallery_features", normalized, squares)
    arithmetic = Arithmetic(
        pair_products, _products, lambda dimension: min(DEPTH, dimension) - (-dimension // DEPTH),
        count_tiles)
    return [partial(feature_part, query, gallery, query_square, gallery_square,
                    slice(0, len(gallery)), metric, normalize, 0, arithmetic=arithmetic)]


def _tiles(like: DeviceArray, shape: tuple[int, ...], dimension: int,
           values: Callable[[slice], Callable[[Any], Any]],
           counting: Mask | None) -> Iterator[Tile]:
    """Yield tiles of queries and images, whose features have so many numbers.

    `values`: the queries, to a function of the images to the distances, all on the device.
    """
    columns = np.arange(shape[1]) if counting is None else np.flatnonzero(counting)
    on_device = partial(to_device, like.xp, device=like.device)
    n_rows = max(1, min(ROWS, TILE // dimension))
    for start in range(0, shape[0], n_rows):
        rows = slice(start, min(start + n_rows, shape[0]))
        of_images, height = values(rows), rows.stop - rows.start
        for piece, tile in in_pieces(
                len(columns), max(1, TILE // max(dimension, height)),
                lambda piece: of_images(on_device(columns[piece]))):
            yield Tile(rows, tile, columns[piece], None,
                       height * (piece.stop - piece.start) / (shape[0] * len(columns)))


def _products(query: DeviceArray, gallery: DeviceArray, scales: Scales, added: Doubles | None,
              max_memory: int, precision: Any, counting: Mask | None) -> Iterator[Tile]:
    """Yield tiles of products of features, divided by their scales; see `exact_distances`."""
    on_device, dtype = partial(to_device, query.xp, device=query.device), np.dtype(precision).name
    divisors = [on_device(divisor(side.dtype, scale, precision)) for side, scale in (
        (query, -scales.query), (gallery, scales.gallery))]

    depths = [slice(first, min(first + DEPTH, query.shape[1]))
              for first in range(0, query.shape[1], DEPTH)]

    def values(rows: slice) -> Callable[[Any], Any]:
        left = divided(query, on_device(np.arange(rows.start, rows.stop)), divisors[0], dtype)

        def of_images(image: Any) -> Any:
            right = divided(gallery, image, divisors[1], dtype).T
            tile = left[:, depths[0]] @ right[depths[0], :]
            for depth in depths[1:]:
                tile = tile + left[:, depth] @ right[depth, :]
            if added is None:
                return tile
            weight, square = on_device(1 / scales.distance[rows]), take(on_device(added), image)
            return tile + query.xp.astype(weight[:, None] * square[None, :], tile.dtype)
        return of_images

    shape = len(query), len(gallery)
    return _tiles(query, shape, query.shape[1], values, counting)


def divided(features: DeviceArray, index: Any, scale: Any, precision: str) -> Any:
    """Return the rows at an index, each divided by its scale; NaN where the scale is 0."""
    xp = features.xp
    rows = xp.astype(take(features.array, index), scale.dtype)
    return xp.astype(rows / take(scale, index)[:, None], getattr(xp, precision))
