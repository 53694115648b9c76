"""k-reciprocal re-ranking of a full benchmark, in the memory of a laptop.

Neighbours are computed tile by tile, then sparse encodings, then rows of distances, block by
block; a full matrix of all images is never in memory. `VARIANTS` describes the published codes.
"matlab" is bit-identical to `re_ranking.m` if distances are exact (features of whole numbers);
elsewhere the matrix product rounds differently, and a near tie among neighbours may change order.

Source: Z. Zhong, L. Zheng, D. Cao, S. Li, Re-ranking person re-identification with k-reciprocal
encoding, CVPR 2017.
"""
import contextlib
import numbers
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import (
    Array, InputError, as_array, blocks_of, check_count, ignored, optional_module, warnings_to,
    with_rows)
from reid_ref.arrays.stored import as_rows
from reid_ref.conventions import Convention, find_convention, find_conventions
from reid_ref.distances import working_precision
from reid_ref.evaluation.engine import as_requested, results_of
from reid_ref.evaluation.how import (
    How, Progress, in_queries, shared_progress, takes_conventions)
from reid_ref.evaluation.ranked import Blocks
from reid_ref.evaluation.ranks import features_provenance
from reid_ref.labels import JUNK, Labels, check_feature_shapes, check_features, check_labels
from reid_ref.reranking.encoding import VARIANTS, Variant, encode, invert, jaccard
from reid_ref.reranking.neighbours import (
    ImagePairs, found_neighbours, joined_features, pairs_of)
from reid_ref.reranking.settings import (
    Settings, by_settings, measured_by, settings_of, signed_reranking)
from reid_ref.result import Result

__all__ = ["VARIANTS", "Variant", "evaluate_reranked", "rerank", "rerank_blocks"]


#: Bytes of a block of rows by default.
BLOCK_BYTES = 64 * 2**20

#: Bytes of original distances that are kept; more than these are computed a second time.
KEPT_BYTES = 256 * 2**20

#: Share of the time that the search for neighbours takes, as progress counts it.
NEAREST = 0.75


def rerank(query_features: Any, gallery_features: Any, k1: int | None = None,
           k2: int | None = None, lambda_: float | None = None, variant: str | None = None, *,
           normalize: bool | None = None, mahalanobis: Any = None,
           convention: str | Convention = "matlab") -> npt.NDArray[np.float32]:
    """Return re-ranked distances; `evaluate_reranked` evaluates them.

    What is not given is what the convention's toolbox does in its own test code.

    Parameters
    ----------
    query_features : array_like, shape (n_query, d)
        One row per image; finite real numbers of any dtype. Tensors on a device are copied
        to main memory.
    gallery_features : array_like, shape (n_gallery, d)
        Junk images (label -1) are neighbours like all others, if included: `VARIANTS[name].junk`
        is whether the published code includes them.
    k1 : int, optional
        Neighbours that may be reciprocal: 1 to the number of all images less one. matlab: 20.
    k2 : int, optional
        Neighbours whose encodings are averaged: 1 (no averaging) to the number of all images.
        matlab: 6.
    lambda_ : float, optional
        Weight of the original distance, 0 to 1. matlab: 0.3.
    variant : str, optional
        A key of `VARIANTS`. matlab: "matlab".
    normalize : bool, optional
        Divide each feature by its 2-norm first. matlab does.
    mahalanobis : array_like, shape (d, d), optional
        M of MahDist, symmetric, for features that are already projected (XQDA).
    convention : str or Convention
        Whose defaults these are: a name in `reid_ref.CONVENTIONS`, or a record of your own. A
        toolbox without re-ranking has those of matlab, with a warning.

    Returns
    -------
    float32, shape (n_query, n_gallery)
        Smaller is nearer.

    Raises
    ------
    InputError
        Wrong shapes or names, numbers out of range, NaN or Inf, a feature of norm 0 with
        `normalize`, images that are all equal.

    Notes
    -----
    "matlab" computes in the precision of the features, the others in float32. Equal distances
    are ranked in the order of the images, as by MATLAB's sort; the sort of the other codes is not
    stable. Memory: a copy of the features, the result, and about 300 MiB. Nearly all the time is
    that of the matrix products of all pairs of images.

    Examples
    --------
    >>> import numpy as np
    >>> features = np.array([[0., 1], [0, 2], [0, 3], [9, 1], [9, 2], [9, 4]])
    >>> rerank(features[:1], features[1:], k1=2, k2=1, normalize=False).round(3)
    array([[0.014, 0.034, 0.97 , 0.973, 1.   ]], dtype=float32)
    """
    pairs, n_query, settings = _checked(query_features, gallery_features, settings_of(
        find_convention(convention), variant, k1, k2, lambda_, normalize), mahalanobis)
    distances = np.empty((n_query, len(pairs) - n_query), np.float32)
    kept = distances if pairs.features.dtype == distances.dtype else None
    for rows, block in with_rows(_blocks(pairs, n_query, settings, kept=kept)):
        distances[rows] = block
    return distances


@takes_conventions
def evaluate_reranked(query_features: Any, gallery_features: Any, query: Labels, gallery: Labels,
                      *, k1: int | None = None, k2: int | None = None,
                      lambda_: float | None = None, variant: str | None = None,
                      normalize: bool | None = None, mahalanobis: Any = None,
                      convention: str | Convention = "matlab",
                      progress: Progress | None = None) -> Result:
    """Re-rank and evaluate as a toolbox does: Rank-k, mAP, mINP.

    Gallery images labelled -1 are left out if the convention's loader leaves them out, or the
    published code of the variant re-ranks a gallery without them (`Variant.junk` is "out");
    counts and signature are those of the remaining gallery.

    Parameters
    ----------
    query_features, gallery_features, k1, k2, lambda_, variant, normalize, mahalanobis
        As for `rerank`.
    query, gallery : Labels
    convention : str or Convention, or several of them
        As for `reid_ref.evaluate`, except those that need index lists. Each is re-ranked by its
        own defaults; those that share them are re-ranked once.
    progress : callable, optional
        Called with the number of queries done since the last call.

    Returns
    -------
    Result, or dict of str to Result
        The signature has the variant and its parameters.

    Raises
    ------
    InputError
        As `rerank` and `reid_ref.evaluate_distances`; a gallery of label -1 only, if that is
        left out.

    Examples
    --------
    >>> import numpy as np
    >>> features = np.array([[0., 1], [0, 2], [0, 3], [9, 1], [9, 2], [9, 4]])
    >>> result = evaluate_reranked(features[:1], features[1:], Labels([7], [1]),
    ...                            Labels([7, 8, 8, 7, 8], [2] * 5), k1=2, k2=1)
    >>> round(result.mAP, 4), result.signature["rerank"], result.signature["k1"]
    (0.7083, 'matlab', '2')
    """
    conventions = find_conventions(convention)
    for record in conventions:
        if record.needs_lists:
            raise InputError("convention", "one without index lists", repr(record.name),
                             "pass what rerank(...) returns to evaluate_distances(..., lists=...)")
    query_features = as_rows(query_features, "query_features")
    gallery_features = as_rows(gallery_features, "gallery_features")
    query, gallery = check_labels(query, gallery)
    check_feature_shapes(query_features, gallery_features, query, gallery)
    groups = by_settings(conventions, variant, k1, k2, lambda_, normalize)
    report = shared_progress(progress, len(groups))
    results: dict[int, Result] = {}
    for k, (settings, records) in enumerate(groups.items()):
        how = How(tuple(measured_by(settings, record) for record in records),
                  normalize=settings.normalize, progress=report)
        with warnings_to(ignored) if k else contextlib.nullcontext():  # of the first alone
            results.update(zip(map(id, records), reranked_results(
                query_features, gallery_features, query, gallery, settings, mahalanobis, how)))
    return as_requested([results[id(record)] for record in conventions], convention)


def reranked_results(query_features: Any, gallery_features: Any, query: Labels, gallery: Labels,
                     settings: Settings, mahalanobis: Any, how: How) -> list[Result]:
    """Re-rank by these settings, and evaluate under the conventions of `how`."""
    kept = gallery.identity != JUNK
    if settings.without_junk and not kept.all():
        gallery_features, gallery = gallery_features[kept], gallery[kept]
        check_labels(query, gallery)
    checked = _checked(query_features, gallery_features, settings, mahalanobis)
    provenance = signed_reranking(settings)
    if mahalanobis is not None:
        matrix = np.ascontiguousarray(as_array(mahalanobis, "mahalanobis"), "<f8")
        provenance["mahalanobis"] = f"{zlib.crc32(matrix.tobytes()):08x}"
    measured = features_provenance(query_features, gallery_features, how)
    provenance.update((key, measured[key]) for key in ("normalize", "features"))
    report = in_queries(how.progress, len(query))
    blocks = _blocks(*checked, report=lambda share: report(share * NEAREST), shared=how.shared)
    how = replace(how, progress=lambda n: report(n / len(query) * (1 - NEAREST)))
    return results_of(Blocks(blocks, provenance), query, gallery, how)


def rerank_blocks(query_features: Any, gallery_features: Any, k1: int | None = None,
                  k2: int | None = None, lambda_: float | None = None,
                  variant: str | None = None, *, normalize: bool | None = None,
                  mahalanobis: Any = None, convention: str | Convention = "matlab",
                  block_size: int | None = None) -> Iterator[npt.NDArray[np.float32]]:
    """Yield the distances of `rerank` in blocks of consecutive queries.

    Parameters
    ----------
    query_features, gallery_features, k1, k2, lambda_, variant, normalize, mahalanobis, convention
        As for `rerank`.
    block_size : int, optional
        Queries in a block.

    Yields
    ------
    float32, shape (n_block, n_gallery)

    Raises
    ------
    InputError
        As `rerank`, at the call, before the first block.

    Examples
    --------
    >>> import numpy as np
    >>> features = np.random.default_rng(0).standard_normal((30, 8))
    >>> [block.shape for block in rerank_blocks(features[:5], features[5:], block_size=2)]
    [(2, 25), (2, 25), (1, 25)]
    """
    checked = _checked(query_features, gallery_features, settings_of(
        find_convention(convention), variant, k1, k2, lambda_, normalize), mahalanobis)
    if block_size is not None:
        check_count(block_size, "block_size")
    return _blocks(*checked, block_size)


def _checked(query_features: Any, gallery_features: Any, settings: Settings,
             mahalanobis: Any) -> tuple[ImagePairs, int, Settings]:
    """Return all images, the queries first, the number of queries, and the settings, checked."""
    optional_module("re-ranking", "scipy.sparse")  # which `encode` needs, after long work
    record, lambda_ = VARIANTS[settings.variant], settings.lambda_
    query = as_rows(query_features, "query_features")
    gallery = as_rows(gallery_features, "gallery_features")
    check_features(query, gallery, *(
        Labels(*np.zeros((2, *features.shape[:1]))) for features in (query, gallery)))
    size = len(query) + len(gallery)
    check_count(settings.k1, "k1", 1, size - 1, "the number of images less one")
    check_count(settings.k2, "k2", 1, size, "the number of images")
    if not (isinstance(lambda_, numbers.Real) and 0 <= float(lambda_) <= 1):
        raise InputError("lambda_", "a number from 0 to 1", repr(lambda_),
                         "it is the weight of the original distance")
    matrix = _checked_matrix(mahalanobis, query.shape[1])
    dtype = (np.dtype(np.float32) if record.precision == "float32" else
             np.result_type(*(working_precision(side[:0]) for side in (query, gallery))))
    pairs = pairs_of(joined_features(query, gallery, dtype, settings.normalize),
                     None if matrix is None else matrix.astype(dtype), record.distance)
    return pairs, len(query), replace(settings, lambda_=float(lambda_))


def _blocks(pairs: ImagePairs, n_query: int, settings: Settings, block_size: int | None = None,
            kept: Array | None = None, report: Callable[[float], object] | None = None,
            shared: list[Any] | None = None) -> Iterator[npt.NDArray[np.float32]]:
    """Yield blocks of re-ranked distances; `kept` is room for the original ones of all queries,
    and `report` gets shares of the search for neighbours.
    """
    n_gallery, dtype = len(pairs) - n_query, pairs.features.dtype
    variant, lambda_ = VARIANTS[settings.variant], settings.lambda_
    if kept is None and n_query * n_gallery * dtype.itemsize <= KEPT_BYTES:
        kept = np.empty((n_query, n_gallery), dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # `_check_farthest` refuses them
        index, farthest, kept = found_neighbours(
            pairs, max(settings.k1 + variant.itself, settings.k2), kept, report, shared)
    _check_farthest(farthest, variant)
    scale = farthest if variant.scaled else np.ones_like(farthest)
    V = encode(pairs, index, scale, settings.k1, settings.k2, variant)
    inverted = invert(V, n_query, variant.stored)
    if variant.cosine and settings.normalize:
        scale = scale + 1  # 1 - cosine is half of the squared distance
    gallery = slice(n_query, len(pairs))
    for rows in blocks_of(n_query, block_size or BLOCK_BYTES // (n_gallery * 4)):
        block: Array = (kept[rows] if kept is not None else
                        pairs.tile(rows, gallery)) / scale[rows, np.newaxis]
        block *= lambda_
        block = block.astype(np.float32, copy=False)
        for k, row in enumerate(block, rows.start):
            distances = jaccard(V, k, inverted, 1 - lambda_)
            row += distances if variant.scaled else np.maximum(distances, 0)
        yield block
        del block  # to free the memory before the next block


def _checked_matrix(matrix: Any, dims: int) -> Array | None:
    if matrix is None:
        return None
    array = as_array(matrix, "mahalanobis")
    is_real = array.shape == (dims, dims) and array.dtype.kind in "fiub"
    if not (is_real and np.isfinite(array).all()
            and np.abs(array - array.T).max() <= 1e-5 * np.abs(array).max()):
        raise InputError("mahalanobis", "a symmetric matrix of finite real numbers, shape "
                         f"{(dims, dims)}", f"{array.dtype} of shape {array.shape}",
                         "a distance is the same in both directions")
    return array


def _check_farthest(farthest: Array, variant: Variant) -> None:
    if not np.isfinite(farthest).all():
        raise InputError("query_features, gallery_features", got="the distances overflow "
                         f"{farthest.dtype}", remedy="pass normalize=True, or smaller numbers")
    if variant.scaled and not farthest.all():
        raise InputError(
            "query_features, gallery_features", "images that differ", remedy="no distance of "
            f"image {int(np.argmin(np.abs(farthest)))} is above 0, so they cannot be scaled (or "
            "the metric is not positive definite)")
