"""The one path from what the user has to a `Result`.

validate -> distances, block by block -> ranks -> per query -> summary.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref.conventions import OWN_CAMERA, Convention, find_convention
from reid_ref.curves import Curves
from reid_ref.distances import BLOCK_BYTES, METRICS, distance_blocks
from reid_ref.metrics import AP_RULES
from reid_ref.ranks import GoodRanks, concatenate, count_junk_as_wrong, from_index, good_ranks
from reid_ref.result import IndexLists, Labels, Result
from reid_ref.summary import summarize
from reid_ref.validation import (
    InputError, check_block_size, check_choice, check_distances, check_distinct, check_features,
    check_lists, check_real_distances, warn)

#: Queries ranked at a time: progress is told of each piece, and copies stay small.
PIECE = 128

#: Called with the number of queries done after each piece.
Progress = Callable[[int], object]


def evaluate(query_features: Any, gallery_features: Any, query: Labels, gallery: Labels,
             metric: str = "euclidean", normalize: bool = True,
             convention: str | Convention = "matlab", *, lists: IndexLists | None = None,
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
    convention : str or Convention
        A name in `CONVENTIONS`, or a record of your own.
    lists : IndexLists, optional
        Good and junk images of every query, for conventions that list them.
    block_size : int, optional
        Queries in a block of distances.
    progress : callable, optional
        Called with the number of queries done, piece by piece.

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
    one = find_convention(convention)
    check_block_size(block_size)
    query_features, gallery_features = check_features(
        query_features, gallery_features, query, gallery)
    if normalize or metric == "cosine":
        _warn_zero_norm("query_features", query_features)
        _warn_zero_norm("gallery_features", gallery_features)
    blocks = distance_blocks(query_features, gallery_features, metric, normalize, block_size)
    results = evaluate_blocks(
        blocks, query, gallery, [one], features_made_of(query_features, gallery_features,
                                                        metric, normalize),
        lists, progress)
    return results[one.name]


def features_made_of(query_features: npt.NDArray[Any], gallery_features: npt.NDArray[Any],
                     metric: str, normalize: bool) -> dict[str, str]:
    """Return what the signature says of distances that come from features."""
    return {"metric": metric, "normalize": "yes" if normalize else "no",
            "features": str(np.result_type(query_features, gallery_features))}


def evaluate_distances(distances: Any, query: Labels, gallery: Labels,
                       convention: str | Convention = "matlab", *,
                       lists: IndexLists | None = None, block_size: int | None = None,
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
    convention : str or Convention
        A name in `CONVENTIONS`, or a record of your own.
    lists : IndexLists, optional
        Good and junk images of every query, for conventions that list them.
    block_size : int, optional
        Queries handled at a time.
    progress : callable, optional
        Called with the number of queries done, piece by piece.

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
    results = evaluate_conventions(distances, query, gallery, [convention], lists=lists,
                                   block_size=block_size, progress=progress)
    return next(iter(results.values()))


def evaluate_conventions(distances: Any, query: Labels, gallery: Labels,
                         conventions: Iterable[str | Convention], *,
                         lists: IndexLists | None = None, block_size: int | None = None,
                         progress: Progress | None = None) -> dict[str, Result]:
    """Evaluate a distance matrix under several conventions; ranks are shared.

    Parameters
    ----------
    distances, query, gallery, lists, block_size, progress
        As for `evaluate_distances`.
    conventions : iterable of str or Convention
        Names in `CONVENTIONS`, or records of your own.

    Returns
    -------
    dict of str to Result
        By the convention's name, in the order asked for.

    Raises
    ------
    InputError
        As `evaluate_distances`.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> results = evaluate_conventions(np.array([[.1, .2, .3]]), query, gallery,
    ...                                ["matlab", "torchreid"])
    >>> {name: round(result.mean_ap, 4) for name, result in results.items()}
    {'matlab': 0.7917, 'torchreid': 0.8333}
    """
    check_block_size(block_size)
    distances = check_distances(distances, query, gallery)
    check_real_distances(distances)
    blocks = row_blocks(distances, block_size)
    made_of = {"distances": str(distances.dtype)}
    return evaluate_blocks(blocks, query, gallery, conventions, made_of, lists, progress)


def evaluate_with_index(index: Sequence[int], good: Sequence[int], junk: Sequence[int] = (),
                        ap: str = "trapezoid") -> tuple[float, npt.NDArray[np.float64]]:
    """Evaluate one ranked list of gallery indices, whole or truncated.

    Parameters
    ----------
    index : sequence of int
        Gallery indices, the nearest first.
    good : sequence of int
        The good images that exist, also those that the list lacks: recall is over them.
    junk : sequence of int
        Ignored images.
    ap : str
        A key of `metrics.AP_RULES`.

    Returns
    -------
    ap : float
        In [0, 1]; NaN without a good image, as `compute_AP.m` returns it.
    cmc : float64, shape (len(index),)

    Raises
    ------
    InputError
        An unknown rule; an index that is not a whole number, or stands twice in a list.

    Examples
    --------
    Seed 000: five exist, the list of five holds three of them, at 1, 4 and 5.

    >>> evaluate_with_index([0, 9, 8, 1, 2], good=[0, 1, 2, 3, 4])
    (0.3933333333333333, array([1., 1., 1., 1., 1.]))
    """
    check_choice(ap, "ap", AP_RULES)
    lists = [check_distinct(value, name) for value, name in (
        (index, "index"), (good, "good"), (junk, "junk"))]
    ranks = from_index(*lists)
    return (float(AP_RULES[ap](ranks)[0]),
            metrics.cumulative_matching(ranks.first_match, len(lists[0]), 1))


def row_blocks(distances: npt.NDArray[Any],
               block_size: int | None) -> Iterator[npt.NDArray[Any]]:
    """Yield the rows of a distance matrix, so many queries at a time."""
    if block_size is None:
        block_size = max(1, BLOCK_BYTES // (distances.shape[1] * distances.itemsize))
    for start in range(0, len(distances), block_size):
        # Rows are read one by one: a transposed MATLAB matrix is copied a block at a time.
        yield np.ascontiguousarray(distances[start:start + block_size])


def evaluate_blocks(blocks: Iterable[npt.NDArray[Any]], query: Labels, gallery: Labels,
                    conventions: Iterable[str | Convention], made_of: dict[str, str],
                    lists: IndexLists | None = None,
                    progress: Progress | None = None) -> dict[str, Result]:
    """Evaluate blocks of distances, queries in order, under several conventions at once.

    Parameters
    ----------
    blocks : iterable of arrays, shape (n_block, n_gallery)
    query, gallery : Labels
    conventions : iterable of str or Convention
    made_of : dict of str to str
        What the signature says of the distances.
    lists : IndexLists, optional
        For conventions that list the good and junk images.
    progress : callable, optional

    Returns
    -------
    dict of str to Result
        By the convention's name, in the order asked for.

    Raises
    ------
    InputError
        No convention, two of one name, lists that are missing, complex distances.
    """
    asked = [find_convention(convention) for convention in conventions]
    names = [one.name for one in asked]
    if not names:
        raise InputError("conventions: expected at least one, got none")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"conventions: expected different names, got {twice[0]!r} twice; "
                         "replace(name=...) gives one of them another")
    results = evaluate_each(blocks, query, gallery, asked, made_of, lists, progress)
    return dict(zip(names, results))


def evaluate_each(blocks: Iterable[npt.NDArray[Any]], query: Labels, gallery: Labels,
                  conventions: list[Convention], made_of: dict[str, str],
                  lists: IndexLists | None = None,
                  progress: Progress | None = None) -> list[Result]:
    """As `evaluate_blocks`, one result a convention, whatever their names."""
    ranked, curves = rank_blocks(blocks, query, gallery, conventions, lists, progress)
    if lists is not None:
        made_of = {**made_of, "lists": lists.fingerprint()}
    results = [summarize(ranked[rank_key(one)], query, gallery, one, made_of, curves)
               for one in conventions]
    warn_unmatched(results[0], query, gallery)
    return results


def rank_blocks(blocks: Iterable[npt.NDArray[Any]], query: Labels, gallery: Labels,
                conventions: list[Convention], lists: IndexLists | None = None,
                progress: Progress | None = None) -> tuple[dict[RankKey, GoodRanks], Curves]:
    """Rank all blocks: once for each set of choices that ranks depend on, not each convention.

    Returns
    -------
    ranks : dict
        By `rank_key` of the conventions.
    curves : Curves
        What their CMC curves need beyond ranks.

    Raises
    ------
    InputError
        Complex distances; lists that are missing or do not fit.
    """
    check_lists(lists, [one.name for one in conventions if "listed as junk" in one.ignored],
                query, gallery)
    curves = Curves(conventions, query, gallery)
    parts: dict[RankKey, list[GoodRanks]] = {key: [] for key in _cheapest_first(conventions)}
    done = n_nan = 0
    for block in _pieces(blocks):
        check_real_distances(block)
        part = slice(done, done + len(block))
        rows = Labels(query.identity[part], query.camera[part])
        own_lists = lists and lists.of_queries(part)
        for key in parts:
            parts[key].append(_ranks(key, parts, block, rows, gallery, own_lists))
        curves.add(block, rows, own_lists)
        done += len(block)
        if np.isnan(block.min()):  # min keeps NaN, and costs one read
            n_nan += int(np.count_nonzero(np.isnan(block)))
        if progress is not None:
            progress(len(block))
        del block
    if n_nan:
        warn(f"distances: {n_nan} of {len(query) * len(gallery)} are NaN; they rank last, as in "
             "MATLAB")
    return {key: concatenate(ranks) for key, ranks in parts.items()}, curves


#: What ranks depend on: what is ignored, the order of ties, the precision of the distances.
RankKey = tuple[tuple[str, ...], str, str]


def rank_key(convention: Convention) -> RankKey:
    """Return what this convention's ranks depend on; orders that counts give count as one."""
    order = convention.ties if convention.ties.startswith("numpy") else "gallery-order"
    return convention.ignored, order, convention.arithmetic


def _pieces(blocks: Iterable[npt.NDArray[Any]]) -> Iterator[npt.NDArray[Any]]:
    """Yield the blocks in pieces of `PIECE` queries."""
    for block in blocks:
        for start in range(0, len(block), PIECE):
            yield block[start:start + PIECE]
        del block  # before the next one is made


def _cheapest_first(conventions: list[Convention]) -> list[RankKey]:
    """Return each rank key once, in an order in which `_ranks` can build on earlier ones."""
    keys = dict.fromkeys(map(rank_key, conventions))
    return sorted(keys, key=lambda key: (key[2] != "double", "label -1" not in key[0]))


def _ranks(key: RankKey, parts: dict[RankKey, list[GoodRanks]], block: npt.NDArray[Any],
           query: Labels, gallery: Labels, lists: IndexLists | None) -> GoodRanks:
    """Rank one block, from ranks that an earlier key has for it where these are of use."""
    ignored, order, arithmetic = key
    in_double = parts.get((ignored, order, "double"))
    if arithmetic == "float32" and block.dtype == np.float32 and in_double:
        return in_double[-1]
    without_junk = parts.get((("label -1", *ignored), order, arithmetic))
    if without_junk and key == (OWN_CAMERA, "gallery-order", "double"):
        return count_junk_as_wrong(without_junk[-1], block, query, gallery, ignored)
    distances = block.astype(np.float32) if arithmetic == "float32" else block
    return good_ranks(distances, query, gallery, ignored, order, lists)


def _warn_zero_norm(name: str, features: npt.NDArray[Any]) -> None:
    zero = np.flatnonzero(~features.any(axis=1))
    if zero.size:
        warn(
            f"{name}: {zero.size} of {len(features)} rows are all zero (first: row {zero[0]}); "
            "they cannot be normalised, so their distances are NaN")


def warn_unmatched(result: Result, query: Labels, gallery: Labels) -> None:
    """Warn of queries without a good image: how many, why, the first ones, the way out."""
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
    counts_as = ("count as NaN" if np.isnan(result.mean_ap) else
                 "count as AP 0" if result.counted == len(query) else "are left out")
    warn(
        f"{unmatched.size} of {len(query)} queries have no good image ({fates}; first: {first}): "
        f"they {counts_as}; {way_out}")
