"""Features to distances: exact for single pairs; for all pairs fast, with a bounded error.

The ranked distance is a double, defined pair by pair: products of the stored features, in double,
added in the fixed order of numpy's sum of a row. It does not depend on the BLAS, the processor,
the number of threads, or other data; equal features are at equal distance. All pairs are computed
by a matrix product in single precision, whose error `slack` bounds; `counting.py` compares values
within that bound again, by closer and at last by exact distances (`pair_sums.py`). Rounding in the
matrix product cannot change a result.

Ranked for each query, smaller is nearer (the norm of the query changes no order):

* normalised features, and "cosine": -q.g / |g|, the order of the Euclidean and of the cosine
  distance of normalised features; NaN where a feature is all zero.
* "euclidean", not normalised: |g|^2 - 2 q.g, the order of the Euclidean distance.
* "dot", not normalised: -q.g.

For whole rows in exact order, `exact_rows.py` uses a product in double.

Contents: `galleries`, `feature_parts`, `feature_part`, `bands_of_norms`, `nearly_exact`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers, check_finite_rows, warn
from reid_ref.arrays.stored import in_rows, read_rows
from reid_ref.ranking.pair_sums import (
    CHUNK, error_of_runs, pair_products, rounding_error, run_products, runs_are_closer, squares)
from reid_ref.ranking.roles import Mask
from reid_ref.ranking.tiles import TILE, Array, Band, Part, Tile

#: Range of the squared norms of features (0 aside) in which no product overflows a double.
SQUARES = 1e-280, 1e300


def slack(dimension: int) -> float:
    """Return the largest error of a product of unit features in single precision.

    The bound holds for d rounded products and sums in any order: Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., section 3.1. The 32 more roundings cover the scaling of both
    features and the bounds themselves (at most 8), and keep products of few dimensions below a
    quarter of the bound. `counting.py` checks at every good pair that the error is below a
    quarter; if it is not, all products are repeated in double.

    Examples
    --------
    >>> f"{slack(2048):.1e}"
    '1.2e-04'
    """
    return rounding_error(dimension + 32)


#: Consecutive gallery images, their features, and the squared norms of these.
Gallery = tuple[slice, Array, Doubles]


def galleries(gallery_features: Any, normalized: bool,
              max_memory: int) -> list[Callable[[], Gallery]]:
    """Return functions that open the parts of the gallery; the last opened stays in memory.

    An array in memory is one part; parts of a stored dataset, and copies of parts of an array
    that is stored column after column, take a quarter of `max_memory`.
    NaN and Inf are refused when their part is opened; features that are all zero are warned of
    once, when all parts have been opened.
    """
    n_gallery = gallery_features.shape[0]
    step = n_gallery
    if not has_rows(gallery_features):
        row_bytes = gallery_features.shape[1] * gallery_features.dtype.itemsize
        step = max(1, max_memory // 4 // row_bytes)
    starts = range(0, n_gallery, step)
    known: dict[int, Doubles] = {}

    @lru_cache(maxsize=1)
    def opened(start: int) -> Gallery:
        images = slice(start, min(start + step, n_gallery))
        gallery = read_rows(gallery_features, images.start, images.stop, "gallery_features")
        gallery = gallery if has_rows(gallery) else in_rows(gallery)
        if start not in known:
            known[start] = checked_squares(gallery, "gallery_features", start)
            if len(known) == len(starts) and normalized:
                square = np.concatenate([known[first] for first in starts])
                warn_of_zeros("gallery_features", np.flatnonzero(square == 0), n_gallery)
        return images, gallery, known[start]

    return [partial(opened, start) for start in starts]


def feature_parts(query_features: Any, gallery_features: Any, metric: str, normalize: bool,
                  max_memory: int) -> list[Callable[..., Part]]:
    """Return functions that open the parts of the gallery, cut as by `galleries`.

    Each takes the `precision` of `feature_part`; NaN, Inf and zeros are handled as by `galleries`.
    """
    query, square = checked_query(query_features, normalize or metric == "cosine")
    in_memory = has_rows(gallery_features)

    def opened(open_gallery: Callable[[], Gallery], precision: Any = np.float32) -> Part:
        images, gallery, gallery_square = open_gallery()
        return feature_part(query, gallery, square, gallery_square, images, metric, normalize,
                            max_memory if in_memory else max_memory - max_memory // 4, precision)

    return [partial(opened, open_gallery) for open_gallery in galleries(
        gallery_features, normalize or metric == "cosine", max_memory)]


def has_rows(features: Any) -> bool:
    """Return whether features are in memory, or mapped, and the numbers of a row side by side.

    Single rows are read, which takes four times as long where the numbers of a column are.
    """
    return isinstance(features, np.ndarray) and (
        features.shape[1] < 2 or features.strides[1] == features.itemsize)


def checked_query(features: Any, normalized: bool) -> tuple[Array, Doubles]:
    """Return the queries' features in memory and their squared norms, checked; warn of zeros."""
    query = read_rows(features, name="query_features")
    query = query if has_rows(query) else in_rows(query)
    square = checked_squares(query, "query_features")
    if normalized:
        warn_of_zeros("query_features", np.flatnonzero(square == 0), len(query))
    return query, square


def warn_of_zeros(name: str, zero: Integers, count: int) -> None:
    """Warn of features that cannot be normalised: their number among `count`, and the first."""
    if zero.size:
        warn(f"{name}: {zero.size} of {count} rows are all zero (first: row {zero.min()}); they "
             "cannot be normalised, so their distances are NaN")


def checked_squares(features: Array, name: str, first_row: int = 0) -> Doubles:
    """Return the squared norms of all rows; refuse NaN, Inf and norms out of range."""
    square = squares(features)
    if not np.isfinite(square).all():
        check_finite_rows(features, name, first_row)
    odd = np.flatnonzero(~((square >= SQUARES[0]) & (square <= SQUARES[1])))
    odd = odd[features[odd].any(axis=1)]
    if odd.size:
        raise InputError(
            name, f"norms from {SQUARES[0] ** 0.5:.0e} to {SQUARES[1] ** 0.5:.0e}, or 0",
            f"entries up to {abs(features[odd[0]]).max():.1e} in row {first_row + odd[0]}, whose "
            "squares do not fit a double", "multiply all features by one constant")
    return square


def feature_part(query: Array, gallery: Array, query_square: Doubles, gallery_square: Doubles,
                 images: slice, metric: str, normalize: bool, max_memory: int,
                 precision: Any = np.float32) -> Part:
    """Return a part of the gallery from features; counting takes about `max_memory` more bytes.

    Parameters
    ----------
    query : array, shape (n_query, d)
    gallery : array, shape (images of the part, d)
        In memory, or mapped into it.
    query_square, gallery_square : float64, shape (n_query,), (images of the part,)
        Squared norms; see `squares`.
    images : slice
        Gallery indices of the part.
    metric : {"euclidean", "cosine", "dot"}
    normalize : bool
    max_memory : int
        Bytes.
    precision : dtype
        Of the products of tiles.
    """
    scaling = "normalized" if normalize or metric == "cosine" else metric
    query_norm, gallery_norm = np.sqrt(query_square), np.sqrt(gallery_square)

    def exact(row: Integers, image: Integers) -> Array:
        return _ranked(pair_products(query, gallery, row, image), query_norm[row],
                       gallery_square[image], scaling)

    def closer(row: Integers, image: Integers) -> tuple[Doubles, Doubles]:
        value = _ranked(run_products(query, gallery, row, image), query_norm[row],
                        gallery_square[image], scaling)
        return value, error_of_runs(query_norm[row], gallery_norm[image], scaling)

    bands = [None] if scaling == "normalized" else bands_of_norms(gallery_norm)
    return Part(
        images, exact, [_band(query, gallery, query_norm, gallery_square, columns, scaling,
                              max_memory, precision) for columns in bands],
        is_exact=False,
        closer=closer if runs_are_closer(query.shape[1], query_norm, gallery_norm) else None)


def _band(query: Array, gallery: Array, query_norm: Doubles, gallery_square: Doubles,
          columns: Mask | None, scaling: str, max_memory: int, precision: Any) -> Band:
    """Return the tiles of the images under the mask `columns`, and their bounds."""
    scale, gallery_scale, divisor, off = scales(
        query_norm, np.sqrt(gallery_square), query.shape[1], scaling, columns)

    def bounds(row: Integers, value: Array) -> tuple[Array, Array]:
        # A good image of another band may be infinitely far in this one's tiles.
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            middle = value / divisor[row]
            return ((middle - off[row]).astype(precision), (middle + off[row]).astype(precision))

    shape = tile_shape(len(query), len(gallery), query.shape[1] * np.dtype(precision).itemsize,
                       max_memory)

    def tiles(counting: Mask | None) -> Iterator[Tile]:
        columns = np.arange(len(gallery)) if counting is None else np.flatnonzero(counting)
        for first in range(0, len(columns), shape[1]):
            chosen = columns[first:first + shape[1]]
            scaled = _scaled(gallery, chosen, gallery_scale, precision)
            for start in range(0, len(query), shape[0]):
                rows = slice(start, min(start + shape[0], len(query)))
                product = _scaled(query, np.arange(len(query))[rows], -scale, precision) @ scaled.T
                step = max(1, min(TILE, max_memory // 192) // len(chosen))
                for row in range(0, len(product), step):
                    values = product[row:row + step]
                    block = slice(start + row, start + row + len(values))
                    if scaling == "euclidean":
                        values = values + np.multiply.outer(
                            1 / divisor[block], gallery_square[chosen]).astype(precision)
                    yield Tile(block, values, chosen, None,
                               values.size / (len(query) * len(columns)))
                del product, values  # to free the memory before the next product

    return Band(columns, bounds, tiles)


def bands_of_norms(norm: Doubles) -> list[Mask | None]:
    """Return masks of images of similar norms, all images in one of them; None is all.

    The error of a product grows with the norms, so one long feature would spoil the bound of all
    others, if they were in one band. Norms up to four times the median are one band, longer ones
    up to four times that the next, and so on: features as networks make them are one band.

    Examples
    --------
    >>> bands_of_norms(np.array([1., 2., 3., 5.]))
    [None]
    >>> bands_of_norms(np.array([1., 1., 1., 9.]))
    [array([ True,  True,  True, False]), array([False, False, False,  True])]
    """
    longer = norm > 0
    if not longer.any():
        return [None]
    with np.errstate(divide="ignore"):
        number = np.ceil(np.log2(norm / np.median(norm[longer])) / 2 - 1).clip(min=0)
    found = np.unique(number)
    return [None] if len(found) == 1 else [number == one for one in found]


def _ranked(product: Doubles, query_norm: Doubles, gallery_square: Doubles,
            scaling: str) -> Doubles:
    """Return the ranked distances of pairs, given their products."""
    if scaling == "normalized":
        with np.errstate(invalid="ignore"):
            unit: Doubles = -product / np.sqrt(gallery_square)
        unit[query_norm == 0] = np.nan
        return unit
    return gallery_square - 2 * product if scaling == "euclidean" else -product


def scales(query_norm: Doubles, gallery_norm: Doubles, dimension: int, scaling: str,
           columns: Mask | None = None) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Return what tiles divide queries, images and distances by, and the error of their values.

    `columns` is the mask of the images that are in the tiles; None is all.
    """
    off = np.full(len(query_norm), slack(dimension))
    if scaling == "normalized":
        return query_norm, gallery_norm, query_norm, off
    largest = float((gallery_norm if columns is None else gallery_norm[columns]).max()) or 1.0
    # For a query of a far smaller norm than the gallery's, |g|^2 dominates the product.
    scale = np.maximum(query_norm, largest / 2**10)
    gallery_scale = np.full(len(gallery_norm), largest)
    if scaling == "euclidean":
        return scale, gallery_scale, scale * largest * 2, off * (1 + largest / scale)
    return scale, gallery_scale, scale * largest, off


def nearly_exact(query: Array, gallery: Array, query_norm: Doubles, gallery_square: Doubles,
                 metric: str, normalized: bool) -> tuple[Doubles, Doubles]:
    """Return the distances of all pairs by a matrix product in double, and the error of each row.

    The error is the difference from `Part.exact`: twice `slack` in double, since the exact
    distance is a rounded sum too.
    """
    norm = np.sqrt(gallery_square)
    distances = query.astype(np.float64, copy=False) @ gallery.astype(np.float64, copy=False).T
    with np.errstate(invalid="ignore"):
        if normalized:
            distances /= -norm
            distances[query_norm == 0] = np.nan
        elif metric == "euclidean":
            distances *= -2
            distances += gallery_square
        else:
            np.negative(distances, out=distances)
    largest = float(norm.max())
    scale = (query_norm if normalized else
             (2 * query_norm + largest) * largest if metric == "euclidean" else
             query_norm * largest)
    return distances, 2 * 2.0**-29 * slack(query.shape[1]) * scale


def tile_shape(n_query: int, n_gallery: int, row_bytes: int,
               max_memory: int) -> tuple[int, int]:
    """Return the numbers of queries and images of one product within the memory.

    Examples
    --------
    >>> tile_shape(3368, 19732, 4 * 2048, 2**28)
    (910, 16384)
    """
    # Half for scaled images, because each tile has a cost for every query; a quarter for scaled
    # queries and their product, and a quarter for tiles being counted (three of them, 16 bytes a
    # distance). A few hundred queries are enough for a fast product.
    columns = min(n_gallery, max(1, max_memory // 2 // row_bytes))
    return min(n_query, max(1, max_memory // 4 // (row_bytes + 4 * columns))), columns


def _scaled(features: Array, rows: Integers, scales: npt.NDArray[Any], precision: Any) -> Array:
    """Return the rows `rows`, ascending, each divided by its scale; NaN where the scale is 0."""
    scaled = np.empty((len(rows), features.shape[1]), dtype=precision)
    step = max(1, CHUNK // features.shape[1])
    with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
        for start in range(0, len(rows), step):
            block = rows[start:start + step]
            whole = len(block) == block[-1] - block[0] + 1
            chunk = features[block[0]:block[-1] + 1] if whole else features[block]
            scale = scales[block]
            if features.dtype == precision and _fits(scale, precision):
                scale = scale.astype(precision)
            scaled[start:start + step] = chunk / scale[:, np.newaxis]
    return scaled


def _fits(scale: npt.NDArray[Any], precision: Any) -> bool:
    limits = np.finfo(precision)
    size = abs(scale)
    return bool(size.max() < limits.max / 2 and size.min() > limits.tiny)
