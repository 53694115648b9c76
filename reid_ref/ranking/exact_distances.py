"""Features to distances: exact for single pairs; for all pairs fast, with a bounded error.

The ranked distance is a double, defined pair by pair: products of the stored features, in double,
added in the fixed order of numpy's sum of a row. It does not depend on the BLAS, the processor,
the number of threads, or other data; equal features are at equal distance. All pairs are computed
by a matrix product in single precision, whose error `slack` bounds; `counting.py` compares values
within that bound again, by exact distances. Rounding in the matrix product cannot change a result.

Ranked for each query, smaller is nearer (the norm of the query changes no order):

* normalised features, and "cosine": -q.g / |g|, the order of the Euclidean and of the cosine
  distance of normalised features; NaN if a feature is all zero.
* "euclidean", not normalised: |g|^2 - 2 q.g, the order of the Euclidean distance.
* "dot", not normalised: -q.g.

Toolboxes differ in this scaling, so a part may have several: of n scalings, row n * k + s holds
query k under scaling s. Tiles of all of them are made from one product, that of unit features.

For whole rows in exact order (`feature_rows`) the product is in double: images whose distances
differ by more than twice its error bound are in their exact order, all other distances are
replaced by exact ones. So the order of a row, ties included, depends neither on the BLAS nor on
the size of a block. Few distances are replaced, so this takes little longer than the product.
"""
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import (
    Array, Doubles, InputError, Integers, Mask, NaNWarning, blocks_of, check_finite_rows,
    read_rows, warn)
from reid_ref.arrays.cores import cores, in_threads
from reid_ref.arrays.stored import in_rows
from reid_ref.ranking.counting import Band, Block, ExactTile, GalleryPart, Tile, tile_size
from reid_ref.ranking.rank import in_parts

#: Range of the squared norms of features (0 aside) in which no product overflows a double.
SQUARES = 1e-280, 1e300

#: Unit roundoff of single precision.
ROUNDOFF = 2.0**-24

#: The error of products in double, as a share of `slack`: twice that of its roundings, since the
#: exact distance is a rounded sum too.
OF_DOUBLE = 2 * 2.0**-29

#: Numbers of a feature that are multiplied at once: a product of longer features is the sum of
#: those of their parts. Its error bound is smaller, so that fewer pairs are compared again. If all
#: distances are nearly equal, this saves a tenth to a half of the time (`benchmarks/parts.py`).
INNER = 1024

#: Numbers in a chunk of rows, so that their products stay in the processor's cache.
CHUNK = 2**17


def slack(dimension: int) -> float:
    """Return the largest error of a product of unit features in single precision.

    The bound holds for d rounded products and sums in any order: Higham, Accuracy and Stability of
    Numerical Algorithms, 2nd ed., section 3.1. The 32 more roundings cover the scaling of both
    features and of their product, and the bounds themselves (at most 20), and keep products of
    few dimensions below a quarter of the bound. `counting.py` checks at every good pair that the
    error is below a quarter; if it is not, all products are repeated in double.

    Examples
    --------
    >>> f"{slack(2048):.1e}"
    '1.2e-04'
    """
    error = (dimension + 32) * ROUNDOFF
    return error / (1 - error)


def inner_parts(dimension: int) -> list[slice]:
    """Return the parts of features that are multiplied at once: of one size, as few as can be."""
    return blocks_of(dimension, -(-dimension // -(-dimension // INNER)))


def roundings(dimension: int) -> int:
    """Return how many roundings an entry of a product of all pairs passes through at most.

    Examples
    --------
    >>> roundings(512), roundings(2048)
    (512, 1025)
    """
    first, *others = inner_parts(dimension)
    return int(first.stop) + len(others)


# Products of single pairs: rows are gathered into buffers chunk by chunk, by all cores.


def squares(features: Array) -> Doubles:
    """Return the squared 2-norm of each row, double, shape (n,)."""
    sums = np.empty(len(features))

    def work(chunks: list[slice]) -> None:
        room = np.empty((chunks[0].stop - chunks[0].start, features.shape[1]))
        for chunk in chunks:
            sums[chunk] = _row_sums(features[chunk], features[chunk], room)

    _in_chunks(work, len(features), features.shape[1])
    return sums


def pair_products(query: Array, gallery: Array, row: Integers, image: Integers,
                  row_sums: Callable[..., Doubles] | None = None) -> Doubles:
    """Return q.g of single pairs, double, shape (pairs,).

    Examples
    --------
    >>> pair_products(np.eye(2), np.array([[3, 4]]), np.array([0, 1]), np.array([0, 0]))
    array([3., 4.])
    """
    sums, row_sums = np.empty(len(row)), row_sums or _row_sums

    def work(chunks: list[slice]) -> None:
        # Buffers, for fresh memory takes longer than the sums.
        shape = chunks[0].stop - chunks[0].start, query.shape[1]
        left, right = (np.empty(shape, side.dtype) for side in (query, gallery))
        room = np.empty(shape)
        for chunk in chunks:
            n = chunk.stop - chunk.start
            # No index is out of range; but "raise" would copy the buffer.
            query.take(row[chunk], axis=0, out=left[:n], mode="clip")
            gallery.take(image[chunk], axis=0, out=right[:n], mode="clip")
            sums[chunk] = row_sums(left[:n], right[:n], room)

    _in_chunks(work, len(row), query.shape[1])
    return sums


def _row_sums(left: Array, right: Array, room: Array) -> Doubles:
    product = room[:len(left)]  # numpy's order of addition depends on strides
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # `checked_squares` checks
        np.multiply(left, right, out=product, dtype=np.float64, casting="same_kind")
        sums: Doubles = product.sum(axis=1)
    return sums


#: Products that are added in single precision by `_estimates`.
_ADDED = 128


def _estimates(left: Array, right: Array, _: Array) -> Doubles:
    """Return the sum of each row's products: `_ADDED` at a time in single precision."""
    whole = left.shape[1] // _ADDED * _ADDED
    parts = [side[:, :whole].reshape(len(side), -1, _ADDED) for side in (left, right)]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        sums: Doubles = np.einsum("nij,nij->ni", *parts).sum(axis=1, dtype=np.float64)
        sums += np.einsum("ni,ni->n", left[:, whole:], right[:, whole:])
    return sums


def products_within(query: Array, gallery: Array, query_norm: Doubles, gallery_norm: Doubles,
                    row: Integers, image: Integers) -> tuple[Doubles, Doubles]:
    """Return a highest and a lowest value of q.g of single pairs, features in single precision.

    The bound is that of `slack` for `_ADDED` products, a hundredth larger for what is in double,
    and for products too small for a normal single.
    """
    middle = pair_products(query, gallery, row, image, _estimates)
    off = 1.01 * slack(_ADDED) * query_norm[row] * gallery_norm[image] + query.shape[1] * 2.0**-126
    too_large = ~np.isfinite(middle)  # for a single
    middle[too_large], off[too_large] = 0, np.inf
    return middle + off, middle - off


def _in_chunks(work: Callable[[list[slice]], None], count: int, dimension: int) -> None:
    """Do `work` on consecutive chunks, the first the longest; each core takes some of them."""
    chunks = blocks_of(count, CHUNK // dimension)
    if len(chunks) < 8 or cores() == 1:  # faster without threads
        if chunks:
            work(chunks)
        return
    size = -(-len(chunks) // cores())
    list(in_threads(work, (chunks[first:first + size] for first in range(0, len(chunks), size))))


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
        gallery = _in_rows(gallery_features, "gallery_features", images)
        if start not in known:
            known[start] = checked_squares(gallery, "gallery_features", start)
            if len(known) == len(starts) and normalized:
                square = np.concatenate([known[first] for first in starts])
                warn_of_zeros("gallery_features", np.flatnonzero(square == 0), n_gallery)
        return images, gallery, known[start]

    return [partial(opened, start) for start in starts]


def feature_parts(query_features: Any, gallery_features: Any, scalings: Sequence[str],
                  max_memory: int) -> list[Callable[..., GalleryPart]]:
    """Return functions that open the parts of the gallery, cut as by `galleries`.

    Each takes the `precision` of `feature_part`; NaN, Inf and zeros are handled as by `galleries`.
    """
    normalized = "normalized" in scalings
    query, square = checked_query(query_features, normalized)
    opened = galleries(gallery_features, normalized, max_memory)
    in_memory = has_rows(gallery_features)
    return parts_of(query, square, opened, scalings,
                    max_memory if in_memory else max_memory - max_memory // 4)


def parts_of(query: Array, query_square: Doubles, opened: list[Callable[[], Gallery]],
             scalings: Sequence[str], max_memory: int) -> list[Callable[..., GalleryPart]]:
    """Return functions of the precision, by default single, that open parts of the gallery."""
    def open_part(open_gallery: Callable[[], Gallery], precision: Any = np.float32) -> GalleryPart:
        images, gallery, gallery_square = open_gallery()
        return feature_part(query, gallery, query_square, gallery_square, images, scalings,
                            max_memory, precision)

    return [partial(open_part, open_gallery) for open_gallery in opened]


def has_rows(features: Any) -> bool:
    """Return whether features are in memory, or mapped, and the numbers of a row side by side.

    Single rows are read, which takes four times as long where the numbers of a column are.
    """
    return isinstance(features, np.ndarray) and (
        features.shape[1] < 2 or features.strides[1] == features.itemsize)


def checked_query(features: Any, normalized: bool) -> tuple[Array, Doubles]:
    """Return the queries' features in memory and their squared norms, checked; warn of zeros."""
    query = _in_rows(features, "query_features", slice(0, None))
    square = checked_squares(query, "query_features")
    if normalized:
        warn_of_zeros("query_features", np.flatnonzero(square == 0), len(query))
    return query, square


def _in_rows(features: Any, name: str, images: slice) -> Array:
    rows = read_rows(features, images.start, images.stop, name)
    return rows if has_rows(rows) else in_rows(rows)


def warn_of_zeros(name: str, zero: Integers, count: int) -> None:
    """Warn of features that cannot be normalised: their number among `count`, and the first."""
    if zero.size:
        warn(f"{name}: {zero.size} of {count} rows are all zero (first: row {zero.min()}); they "
             "cannot be normalised, so their distances are NaN", NaNWarning)


def checked_squares(features: Array, name: str, first_row: int = 0) -> Doubles:
    """Return the squared norms of all rows; refuse NaN, Inf and norms out of range."""
    square = squares(features)
    if not np.isfinite(square).all():
        check_finite_rows(features, name, first_row)
    odd = np.flatnonzero(~((square >= SQUARES[0]) & (square <= SQUARES[1])))
    rows = features[odd]
    odd, rows = odd[rows.any(axis=1)], rows[rows.any(axis=1)]
    if odd.size:
        raise InputError(
            name, f"norms from {SQUARES[0]**.5:.0e} to {SQUARES[1]**.5:.0e}, or 0",
            f"entries up to {abs(rows[0]).max():.1e} in row {first_row + odd[0]}, whose "
            "squares do not fit a double", "multiply all features by one constant")
    return square


@dataclass(frozen=True)
class Scale:
    """How tiles of one scaling come from products of unit features, and their error.

    Parameters
    ----------
    distance, off : float64, shape (n_query,)
        What distances are divided by in tiles; the largest error of a quotient.
    of_query, of_image : float64, shape (n_query,), (images of the part,), or None
        Factors of the product; None if it is the tile.
    added : float64, shape (n_query,), or None
        Times `of_image`, is added to the product before that is multiplied by it.
    """

    distance: Doubles
    off: Doubles
    of_query: Doubles | None = None
    of_image: Doubles | None = None
    added: Doubles | None = None


def feature_part(query: Array, gallery: Array, query_square: Doubles, gallery_square: Doubles,
                 images: slice, scalings: Sequence[str], max_memory: int,
                 precision: Any = np.float32, error: float = 1) -> GalleryPart:
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
    scalings : sequence of {"normalized", "euclidean", "dot"}
        Of distances, as defined above; the rows of the part are query-scaling pairs.
    max_memory : int
        Bytes.
    precision : dtype
        Of the products of tiles.
    error : float
        The largest error in tiles, as a share of that of products in single precision.
    """
    query_norm, gallery_norm, n = np.sqrt(query_square), np.sqrt(gallery_square), len(scalings)
    ranked = partial(_ranked_by_scalings, scalings, query_norm, gallery_norm, gallery_square)

    def exact(row: Integers, image: Integers) -> Doubles:
        if n == 1:
            return ranked(pair_products(query, gallery, row, image), row, image)
        pair, place = np.unique(image * len(query) + row // n, return_inverse=True)
        product = pair_products(query, gallery, pair % len(query), pair // len(query))
        return ranked(product[place], row, image)

    def is_nan(row: int) -> Mask:
        mask: Mask = (gallery_square == 0) | (query_square[row // n] == 0)
        return mask & (scalings[row % n] == "normalized")

    bands = []
    for columns in bands_of_norms(np.ones(len(gallery)) if {*scalings} == {"normalized"} else
                                  gallery_norm):
        scales = [scale_of(query_norm, gallery_norm, query.shape[1], scaling, columns)
                  for scaling in scalings]
        distance, off = (np.stack(of_scalings, axis=1).reshape(-1) for of_scalings in zip(
            *((scale.distance, error * scale.off) for scale in scales)))
        blocks = partial(_blocks, query, gallery, query_norm, gallery_norm, max_memory, precision,
                         n)
        bands.append(Band(columns, partial(_in_scalings, blocks, scales), distance, off,
                          precision))

    def within(row: Integers, image: Integers) -> tuple[Doubles, Doubles]:
        # Each step of `ranked` is monotone as rounded, so it keeps the order of bounds.
        highest, lowest = products_within(query, gallery, query_norm, gallery_norm, row // n,
                                          image)
        return ranked(highest, row, image), ranked(lowest, row, image)

    is_single = query.dtype == gallery.dtype == np.float32
    part = GalleryPart(images, exact, bands, is_nan, within=within if is_single else None)
    if precision == np.float64:
        return part

    @lru_cache(maxsize=1)
    def finer() -> GalleryPart:
        """Return a part with exact products, if they can be had for all pairs, or in double."""
        products = _exact_products(query, gallery, query_square, gallery_square, max_memory, n)
        if products is None:
            return feature_part(query, gallery, query_square, gallery_square, images, scalings,
                                max_memory, np.float64, error=OF_DOUBLE)

        def tiles(of_products: Callable[[], Iterator[Tile]]) -> Iterator[Tile]:
            for tile in of_products():
                row = np.arange(tile.rows.start, tile.rows.stop)[:, np.newaxis]
                of_scalings = [_ranked(scaling, query_norm, gallery_norm, gallery_square,
                                       tile.values, row, tile.columns) for scaling in scalings]
                values = of_scalings[0] if n == 1 else np.stack(of_scalings, axis=1).reshape(
                    -1, len(tile.columns))
                yield ExactTile(_scaled_rows(tile.rows, n), values, tile.columns, tile.share)

        def blocks(counting: Mask) -> Iterator[Block]:
            return (Block(_scaled_rows(block.rows, n), partial(tiles, block.tiles))
                    for block in products(counting))

        return replace(part, bands=[Band(np.ones(len(gallery), bool), blocks)])

    return replace(part, finer=finer)


#: Features that are multiples of it have exact products in double, in any order of addition, if
#: their norms are not too large: codes, counts, quantised features.
UNIT = 2.0**-10

#: Share of different rows among the images' features, at most, for which their exact products
#: take little longer than a product of all.
DIFFERENT = 1 / 32


def _exact_products(query: Array, gallery: Array, query_square: Doubles, gallery_square: Doubles,
                    max_memory: int, n: int) -> Callable[[Mask], Iterator[Block]] | None:
    """Return what makes blocks of the exact q.g of all pairs; None if that takes too long."""
    largest = float(np.sqrt(query_square.max(initial=0) * gallery_square.max(initial=0)))
    if largest <= UNIT**2 * 2**53 and _are_multiples(query) and _are_multiples(gallery):
        return partial(_blocks, query, gallery, -np.ones(len(query)), np.ones(len(gallery)),
                       max_memory, np.float64, n)
    first = _first_equal(gallery)
    different, place = np.unique(first, return_inverse=True)
    if (len(different) > DIFFERENT * len(gallery)
            or 8 * len(different) * len(query) > max_memory // 4):
        return None
    products = pair_products(query, gallery, np.repeat(np.arange(len(query)), len(different)),
                             np.tile(different, len(query))).reshape(len(query), -1)

    def blocks(counting: Mask) -> Iterator[Block]:
        columns = np.flatnonzero(counting)
        of_columns = place[columns]

        def tiles(rows: slice) -> Iterator[Tile]:
            yield Tile(rows, products[rows][:, of_columns], columns,
                       (rows.stop - rows.start) / len(query))

        step = tile_size(max_memory) // n // max(1, len(columns))
        return (Block(rows, partial(tiles, rows)) for rows in blocks_of(len(query), step))

    return blocks


def _are_multiples(features: Array) -> bool:
    """Return whether all features are multiples of `UNIT`."""
    def is_whole(rows: slice) -> bool:
        numbers = features[rows].astype(np.float64) / UNIT
        return bool((numbers == np.rint(numbers)).all())

    return all(map(is_whole, blocks_of(len(features), CHUNK // features.shape[1])))


def _first_equal(features: Array) -> Integers:
    """Return the index of the first row that equals each row; of some rows, their own."""
    own = np.arange(len(features))
    # Equal rows have one product with any row.
    weights = np.random.default_rng(0).standard_normal((1, features.shape[1]))
    products = pair_products(weights, features, 0 * own, own)
    _, first, place = np.unique(products, return_index=True, return_inverse=True)
    first = first[place]
    equal = [(features[rows] == features[first[rows]]).all(axis=1)
             for rows in blocks_of(len(features), CHUNK // features.shape[1])]
    return np.where(np.concatenate(equal), first, own)


def _ranked_by_scalings(scalings: Sequence[str], query_norm: Doubles, gallery_norm: Doubles,
                        gallery_square: Doubles, product: Doubles, row: Integers,
                        image: Integers) -> Doubles:
    """Return the ranked distances of query-scaling pairs and images, given their products."""
    values, n = np.empty_like(product), len(scalings)
    for k, scaling in enumerate(scalings):
        pairs = row % n == k
        values[pairs] = _ranked(scaling, query_norm, gallery_norm, gallery_square,
                                product[pairs], row[pairs] // n, image[pairs])
    return values


def _blocks(query: Array, gallery: Array, query_norm: Doubles, gallery_norm: Doubles,
            max_memory: int, precision: Any, n: int, counting: Mask) -> Iterator[Block]:
    """Yield blocks of products of unit features, negative, in tiles of an `n`-th of the size."""
    first, *others = inner_parts(query.shape[1])
    shape = tile_shape(len(query), len(gallery), query.shape[1] * np.dtype(precision).itemsize,
                       max_memory, 2 if others else 1)
    # The size is that of all threads: each of them has one core for itself.
    columns, size = np.flatnonzero(counting), tile_size(max_memory) // n

    def tiles(rows: slice, chosen: Integers, scaled: Array) -> Iterator[Tile]:
        unit = _scaled(query, np.arange(rows.start, rows.stop), -query_norm, precision)
        product = unit[:, first] @ scaled[:, first].T
        for part in others:
            product += unit[:, part] @ scaled[:, part].T
        for inner in blocks_of(len(product), size // len(chosen)):
            values = product[inner]
            yield Tile(slice(rows.start + inner.start, rows.start + inner.stop), values, chosen,
                       values.size / (len(query) * len(columns)))

    for part in blocks_of(len(columns), shape[1]):
        chosen = columns[part]
        scaled = _scaled(gallery, chosen, gallery_norm, precision)
        for rows in blocks_of(len(query), shape[0]):
            yield Block(rows, partial(tiles, rows, chosen, scaled))


def _in_scalings(blocks: Callable[[Mask], Iterator[Block]], scales: list[Scale],
                 counting: Mask) -> Iterator[Block]:
    """Yield blocks of query-scaling pairs, whose tiles are made from products of unit features."""
    n = len(scales)

    def tiles(of_units: Callable[[], Iterator[Tile]]) -> Iterator[Tile]:
        for tile in of_units():
            values = tile.values if n == 1 else np.repeat(tile.values, n, axis=0)
            for k, scale in enumerate(scales):
                _rescale(values[k::n], scale, tile.rows, tile.columns)
            yield replace(tile, rows=_scaled_rows(tile.rows, n), values=values)

    return (Block(_scaled_rows(block.rows, n), partial(tiles, block.tiles))
            for block in blocks(counting))


def _scaled_rows(rows: slice, n: int) -> slice:
    return slice(n * rows.start, n * rows.stop)


def _rescale(values: Array, scale: Scale, rows: slice, columns: Integers) -> None:
    """Make a tile from products of unit features, in place, in few roundings."""
    if scale.of_query is None or scale.of_image is None:
        return
    of_query, of_image = scale.of_query[rows], scale.of_image[columns]
    rounded = partial(np.asarray, dtype=values.dtype)
    if not (of_query.all() and of_image.all()):  # features of norm 0 have no unit
        values[np.isnan(values)] = 0
    if (of_query < 1).any():
        values *= rounded(of_query)[:, None]
    if scale.added is not None:
        values += rounded(scale.added[rows])[:, None] * rounded(of_image)[None, :]
    values *= rounded(of_image)[None, :]


def bands_of_norms(norm: Doubles) -> list[Mask]:
    """Return masks of images of similar norms, each image in one of them.

    The error of a product grows with the norms, so one long feature would spoil the bound of all
    others, if they were in one band. Norms up to twice the median are one band, longer ones up to
    twice that the next, and so on: most features as networks make them are one band.

    Examples
    --------
    >>> bands_of_norms(np.array([1., 1., 1., 9.]))
    [array([ True,  True,  True, False]), array([False, False, False,  True])]
    """
    longer = norm > 0
    median = np.median(norm[longer]) if longer.any() else 1
    with np.errstate(divide="ignore"):
        number = np.ceil(np.log2(norm / median) - 1).clip(min=0)
    return [number == band for band in np.unique(number)]


def _ranked(scaling: str, query_norm: Doubles, gallery_norm: Doubles, gallery_square: Doubles,
            product: Doubles, row: Any, image: Any) -> Doubles:
    """Return the ranked distances of pairs, or of rows and images, given their products."""
    if scaling == "normalized":
        with np.errstate(invalid="ignore"):
            unit: Doubles = -product / gallery_norm[image]
        norm = query_norm[row]
        return unit if norm.all() else np.where(norm == 0, np.nan, unit)
    return gallery_square[image] - 2 * product if scaling == "euclidean" else -product


def scale_of(query_norm: Doubles, gallery_norm: Doubles, dimension: int, scaling: str,
             columns: Mask) -> Scale:
    """Return the scale of tiles of the images under the mask `columns`."""
    off = np.full(len(query_norm), slack(roundings(dimension)))
    if scaling == "normalized":
        return Scale(query_norm, off)
    largest = float(gallery_norm[columns].max()) or 1.0
    # For a query of a far smaller norm than the gallery's, |g|^2 dominates the product.
    scale = np.maximum(query_norm, largest / 2**10)
    of_query, of_image = query_norm / scale, gallery_norm / largest
    if scaling == "dot":
        return Scale(scale * largest, off, of_query, of_image)
    # The squared norm is added after the product, so that it has few roundings.
    return Scale(scale * largest * 2, off + slack(0) * largest / scale, of_query, of_image,
                 largest / (2 * scale))


def nearly_exact(query: Array, gallery: Array, query_norm: Doubles, gallery_square: Doubles,
                 scaling: str) -> tuple[Doubles, Doubles]:
    """Return the distances of all pairs by a matrix product in double, and the error of each row.

    The error is the difference from `Part.exact`.
    """
    norm = np.sqrt(gallery_square)
    product = query.astype(np.float64, copy=False) @ gallery.astype(np.float64, copy=False).T
    distances = _ranked(scaling, query_norm[:, np.newaxis], norm, gallery_square, product,
                        slice(None), slice(None))
    largest = float(norm.max())
    scale = (query_norm if scaling == "normalized" else
             (2 * query_norm + largest) * largest if scaling == "euclidean" else
             query_norm * largest)
    return distances, OF_DOUBLE * slack(query.shape[1]) * scale


def tile_shape(n_query: int, n_gallery: int, row_bytes: int, max_memory: int,
               products: int = 1) -> tuple[int, int]:
    """Return the numbers of queries and images of one product within the memory.

    `products`: how many of this size are in memory for each core.

    Examples
    --------
    >>> rows, columns = tile_shape(3368, 19732, 4 * 2048, 2**28)
    >>> columns
    8192
    """
    # Half for scaled images: all, or those of two tiles, the next being scaled meanwhile. A
    # quarter for scaled queries and their products, one for each core, and a quarter for tiles
    # being counted. A few hundred queries are enough for a fast product.
    columns = n_gallery
    if columns * row_bytes > max_memory // 2:
        columns = min(n_gallery, max(1, max_memory // 4 // row_bytes))
    most = max_memory // 4 // cores() // (row_bytes + 4 * products * columns)
    return min(-(-n_query // cores()), max(1, most)), columns


def _scaled(features: Array, rows: Integers, scales: Doubles, precision: Any) -> Array:
    """Return the rows `rows`, ascending, each divided by its scale; NaN if the scale is 0."""
    scaled = np.empty((len(rows), features.shape[1]), dtype=precision)
    scales = divisor(features.dtype, scales, precision)

    def work(chunks: list[slice]) -> None:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
            for part in chunks:
                block = rows[part]
                whole = len(block) == block[-1] - block[0] + 1
                chunk = features[block[0]:block[-1] + 1] if whole else features[block]
                np.divide(chunk, scales[block, np.newaxis], out=scaled[part], casting="same_kind")

    _in_chunks(work, len(rows), features.shape[1])
    return scaled


def divisor(dtype: npt.DTypeLike, scale: Doubles, precision: Any) -> Array:
    """Return the scales of features in the precision in which these are divided by them."""
    dtype, size, limits = np.dtype(dtype), abs(scale), np.finfo(precision)
    is_narrow = dtype.kind == "f" and dtype.itemsize <= limits.dtype.itemsize
    fits = size.max() < limits.max / 2 and size.min() > limits.tiny
    return scale.astype(precision) if is_narrow and fits else scale


# Whole rows.


def feature_rows(query_features: Any, gallery_features: Any, scaling: str,
                 max_memory: int) -> Iterator[Doubles]:
    """Yield the distances of blocks of queries to the whole gallery, in exact order.

    NaN if a feature of norm 0 is normalised; NaN or Inf in a feature are refused.

    Examples
    --------
    >>> next(feature_rows(np.eye(2), np.array([[3., 4.]]), "dot", 2**20))
    array([[-3.],
           [-4.]])
    """
    normalized = scaling == "normalized"
    query, square = checked_query(query_features, normalized)
    parts = galleries(gallery_features, normalized, max_memory)
    n_gallery = gallery_features.shape[0]
    # Replacing a distance takes ten times its bytes, and all may need it.
    for block in blocks_of(len(query), max_memory // 12 // (8 * n_gallery)):
        rows, of_rows = query[block], square[block]
        values, off = _rough(rows, of_rows, parts, n_gallery, scaling, max_memory)
        exact = in_parts(parts_of(rows, of_rows, parts, [scaling], max_memory), len(rows))
        _replace_undecided(values, off, exact.measure)
        yield values
        del values  # to free the memory before the next block


def _rough(rows: Array, square: Doubles, parts: list[Callable[[], Gallery]], n_gallery: int,
           scaling: str, max_memory: int) -> tuple[Doubles, Doubles]:
    """Return the distances of a block of queries by products in double, and each row's error."""
    values, off = np.empty((len(rows), n_gallery)), np.zeros(len(rows))
    rows, norm = rows.astype(np.float64, copy=False), np.sqrt(square)
    step = max_memory // 8 // (8 * rows.shape[1])
    for open_part in parts:
        images, gallery, gallery_square = open_part()
        for block in blocks_of(len(gallery), step):
            distances, most = nearly_exact(rows, gallery[block], norm, gallery_square[block],
                                           scaling)
            start = images.start + block.start
            values[:, start:start + distances.shape[1]] = distances
            off = np.maximum(off, most)
    return values, off


def _replace_undecided(values: Doubles, off: Doubles, measure: Callable[..., Array]) -> None:
    """Replace distances within the error of another one in their row by exact distances."""
    n_rows, width = values.shape
    undecided = np.zeros(values.shape, dtype=bool)
    # One pair of every row is always replaced, to check the error of the product.
    undecided[np.arange(n_rows), np.arange(n_rows) % width] = True
    for k, row in enumerate(values):
        in_order = np.sort(row)
        close = in_order[1:] - in_order[:-1] <= 2 * off[k]
        if close.any():  # np.sort is several times faster than np.argsort
            order = np.argsort(row)
            undecided[k, order[1:][close]] = True
            undecided[k, order[:-1][close]] = True
    row, image = np.divmod(np.flatnonzero(undecided), width)
    del undecided
    exact = measure(row, image)
    if (abs(exact - values[row, image]) > off[row] / 4).any():
        # The error exceeds the bound, so the product is not used.
        row, image = np.divmod(np.arange(values.size), width)
        exact = measure(row, image)
    values[row, image] = exact
