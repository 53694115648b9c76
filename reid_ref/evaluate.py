"""The one path from what the user has to a `Result`.

validate -> distances, block by block -> ranks -> per query -> summary.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref._version import __version__
from reid_ref.conventions import AP_RULES, CONVENTIONS, Convention
from reid_ref.distances import BLOCK_BYTES, METRICS, distance_blocks
from reid_ref.ranks import JUNK, GoodRanks, concatenate, good_ranks
from reid_ref.result import FATES, Counts, Labels, PerQuery, Result
from reid_ref.validation import (
    check_block_size, check_choice, check_distances, check_features, check_real_distances)

#: Called with the number of queries done after each block.
Progress = Callable[[int], object]


def evaluate(query_features: Any, gallery_features: Any, query: Labels, gallery: Labels,
             metric: str = "euclidean", normalize: bool = True, convention: str = "matlab", *,
             block_size: int | None = None, progress: Progress | None = None) -> Result:
    """Evaluate features: Rank-k, mAP, mINP.

    Parameters
    ----------
    query_features : array_like, shape (n_query, d)
        One row an image; finite real numbers of any dtype.
    gallery_features : array_like, shape (n_gallery, d)
    query, gallery : Labels
        Identity and camera of each row.
    metric : {"euclidean", "cosine", "dot"}
        How near two features are. On normalised features all three rank alike.
    normalize : bool
        Divide each feature by its 2-norm first, as the Market-1501 drivers do.
    convention : str
        A key of `CONVENTIONS`.
    block_size : int, optional
        Queries in a block of distances.
    progress : callable, optional
        Called with the number of queries done after each block.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        Wrong shapes, dtypes, counts or names; NaN or Inf features.

    Warns
    -----
    UserWarning
        Legal but hollow input: a feature of norm 0, queries without a match, one camera.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> rng = np.random.default_rng(0)
    >>> identity, camera = np.arange(12) % 4, np.arange(12) // 4
    >>> features = np.eye(4)[identity] + 0.8 * rng.standard_normal((12, 4))
    >>> query = reid_ref.Labels(identity[:4], camera[:4])
    >>> gallery = reid_ref.Labels(identity[4:], camera[4:])
    >>> result = reid_ref.evaluate(features[:4], features[4:], query, gallery)
    >>> round(result.mean_ap, 4), float(result.cmc[0])
    (0.5396, 0.5)
    """
    check_choice(metric, "metric", METRICS)
    check_choice(convention, "convention", CONVENTIONS)
    check_block_size(block_size)
    query_features, gallery_features = check_features(
        query_features, gallery_features, query, gallery)
    if normalize or metric == "cosine":
        _warn_zero_norm("query_features", query_features)
        _warn_zero_norm("gallery_features", gallery_features)
    blocks = distance_blocks(query_features, gallery_features, metric, normalize, block_size)
    dtype = np.result_type(query_features, gallery_features)
    signature = {"metric": metric, "normalize": "yes" if normalize else "no",
                 "features": str(dtype)}
    return _evaluate_blocks(blocks, query, gallery, CONVENTIONS[convention], signature, progress)


def evaluate_distances(distances: Any, query: Labels, gallery: Labels,
                       convention: str = "matlab", *, block_size: int | None = None,
                       progress: Progress | None = None) -> Result:
    """Evaluate a distance matrix: Rank-k, mAP, mINP.

    Exact: the numbers are the doubles that the MATLAB scripts give in Octave, for every
    dtype and block size.

    Parameters
    ----------
    distances : array_like, shape (n_query, n_gallery)
        Smaller is nearer. Any real dtype; NaN is farther than everything. MATLAB keeps
        gallery x query: pass that transposed.
    query, gallery : Labels
    convention : str
        A key of `CONVENTIONS`.
    block_size : int, optional
        Queries handled at a time.
    progress : callable, optional
        Called with the number of queries done after each block.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        Wrong shape (says so when the transpose would fit), counts, names; complex distances.

    Warns
    -----
    UserWarning
        Legal but hollow input: NaN distances, queries without a match, one camera.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances(np.array([[.1, .2, .3]]), query, gallery)
    >>> round(result.mean_ap, 4), result.cmc, result.per_query.first_match
    (0.7917, array([1., 1., 1.]), array([1]))
    """
    check_choice(convention, "convention", CONVENTIONS)
    check_block_size(block_size)
    distances = check_distances(distances, query, gallery)
    check_real_distances(distances)
    blocks = _row_blocks(distances, block_size)
    signature = {"distances": str(distances.dtype)}
    return _evaluate_blocks(blocks, query, gallery, CONVENTIONS[convention], signature, progress)


def _row_blocks(distances: npt.NDArray[Any],
                block_size: int | None) -> Iterator[npt.NDArray[Any]]:
    if block_size is None:
        block_size = max(1, BLOCK_BYTES // (distances.shape[1] * distances.itemsize))
    for start in range(0, len(distances), block_size):
        # Rows are read one by one: a transposed MATLAB matrix is copied a block at a time.
        yield np.ascontiguousarray(distances[start:start + block_size])


def _evaluate_blocks(blocks: Iterable[npt.NDArray[Any]], query: Labels, gallery: Labels,
                     convention: Convention, signature: dict[str, str],
                     progress: Progress | None) -> Result:
    parts: list[GoodRanks] = []
    done = n_nan = 0
    for block in blocks:
        rows = slice(done, done + len(block))
        parts.append(good_ranks(
            block, Labels(query.identity[rows], query.camera[rows]), gallery))
        done += len(block)
        if np.isnan(block.min()):  # min keeps NaN, and costs one read
            n_nan += int(np.count_nonzero(np.isnan(block)))
        if progress is not None:
            progress(len(block))
    if n_nan:
        warnings.warn(f"distances: {n_nan} of {len(query) * len(gallery)} are NaN; they rank "
                      "last, as in MATLAB", UserWarning, stacklevel=3)
    result = summarize(concatenate(parts), query, gallery, convention, signature)
    _warn_unmatched(result, query, gallery)
    return result


def summarize(ranks: GoodRanks, query: Labels, gallery: Labels, convention: Convention,
              signature: dict[str, str]) -> Result:
    """Turn ranks into a `Result`: pure arithmetic on a few numbers a query."""
    per_query = PerQuery(
        ap=AP_RULES[convention.ap](ranks), inp=metrics.inverse_negative_penalty(ranks),
        first_match=ranks.first_match, n_good=ranks.n_good, n_junk=ranks.n_junk,
        fate=_fates(ranks, query, gallery))
    ap, inp = per_query.ap, per_query.inp
    if convention.unmatched == "zero":
        ap, inp = np.nan_to_num(ap, nan=0.0), np.nan_to_num(inp, nan=0.0)
    return Result(
        mean_ap=metrics.mean_in_order(ap),
        cmc=metrics.cumulative_matching(ranks.first_match, len(gallery), len(query)),
        mean_inp=metrics.mean_in_order(inp),
        per_query=per_query,
        counts=_counts(per_query, query, gallery),
        signature=_signature(convention, signature, query, gallery))


def _fates(ranks: GoodRanks, query: Labels, gallery: Labels) -> npt.NDArray[np.str_]:
    fate = np.full(len(query), "fine", dtype=f"<U{max(map(len, FATES))}")
    fate[ranks.n_good == 0] = "only same camera"
    fate[~np.isin(query.identity, gallery.identity)] = "identity absent"
    fate[(query.identity == JUNK) & (ranks.n_good > 0)] = "only junk"
    fate[ranks.n_kept == 0] = "nothing kept"
    return fate


def _counts(per_query: PerQuery, query: Labels, gallery: Labels) -> Counts:
    n_junk = int(np.count_nonzero(gallery.identity == JUNK))
    same_camera = per_query.n_junk[query.identity != JUNK] - n_junk
    return Counts(
        query=len(query), gallery=len(gallery), gallery_junk=n_junk,
        gallery_distractors=int(np.count_nonzero(gallery.identity == 0)),
        gallery_kept=len(gallery) - n_junk,
        good=int(per_query.n_good.sum()), junk_same_camera=int(same_camera.sum()),
        fate={name: int(np.count_nonzero(per_query.fate == name)) for name in FATES})


def _signature(convention: Convention, extra: dict[str, str], query: Labels,
               gallery: Labels) -> str:
    fields = {"convention": convention.name, "ap": convention.ap,
              "unmatched": convention.unmatched, "ties": "gallery-order", **extra,
              "queries": str(len(query)), "gallery": str(len(gallery)), "reid-ref": __version__}
    return "|".join(f"{key}:{value}" for key, value in fields.items())


def _warn_zero_norm(name: str, features: npt.NDArray[Any]) -> None:
    zero = np.flatnonzero(~features.any(axis=1))
    if zero.size:
        warnings.warn(
            f"{name}: {zero.size} of {len(features)} rows are all zero (first: row {zero[0]}); "
            "they cannot be normalised, so their distances are NaN", UserWarning, stacklevel=3)


def _warn_unmatched(result: Result, query: Labels, gallery: Labels) -> None:
    unmatched = np.flatnonzero(result.per_query.fate != "fine")
    if not unmatched.size:
        return
    if len(np.union1d(query.camera, gallery.camera)) == 1:
        way_out = ("all images are on one camera, and images of the query's own camera are "
                   "ignored: give each camera its own number")
    else:
        way_out = "check that identities and cameras are numbered alike on both sides"
    first = ", ".join(str(k) for k in unmatched[:5])
    fates = ", ".join(f"{count} {name}" for name, count in result.counts.fate.items()
                      if count and name != "fine")
    warnings.warn(
        f"{unmatched.size} of {len(query)} queries have no good image ({fates}; first: {first}): "
        f"they count as {'NaN' if np.isnan(result.mean_ap) else 'AP 0'}; {way_out}",
        UserWarning, stacklevel=4)
