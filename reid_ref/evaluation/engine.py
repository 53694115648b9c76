"""Distances or features to results: rank once for all conventions, then summarise each.

Features are ranked by exact distances. The few conventions that need whole rows (numpy's order of
ties, curves over identities) get blocks of rows, which from features are in exact order too.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, check_choice, check_real_distances, warn
from reid_ref.arrays.device import DeviceArray, in_main_memory, where_they_are
from reid_ref.arrays.memory import bytes_of
from reid_ref.arrays.stored import in_rows, read_rows
from reid_ref.conventions import TIES, Convention, find_conventions, loaded_images
from reid_ref.distances import BLOCK_BYTES, METRICS
from reid_ref.evaluation.summary import Curves, call_once, summarize
from reid_ref.labels import (
    IndexLists, Labels, check_distances, check_feature_shapes, check_labels, check_lists)
from reid_ref.ranking.counting import WRONG_PRODUCTS, TooFarOff
from reid_ref.ranking.device_sources import (
    count_nan, feature_sources, matrix_source, or_in_main_memory)
from reid_ref.ranking.exact_distances import feature_parts
from reid_ref.ranking.exact_rows import feature_rows
from reid_ref.ranking.good_ranks import GoodRanks, concatenate
from reid_ref.ranking.rank import Ignored, Source, argsort_ranks, in_parts, rank
from reid_ref.ranking.roles import find_roles
from reid_ref.ranking.tiles import matrix_part
from reid_ref.result import Result

#: Called with the number of queries done since the last call.
Progress = Callable[[int], object]


def features_provenance(query_features: Any, gallery_features: Any,
                        metric: str, normalize: bool) -> dict[str, str]:
    """Return the provenance of distances from features, for the signature."""
    normalized = normalize or metric == "cosine"  # the cosine is that of unit features
    return {"metric": metric, "normalize": "yes" if normalized else "no",
            "features": str(np.result_type(query_features.dtype, gallery_features.dtype))}


def row_blocks(distances: Any, max_memory: int = BLOCK_BYTES) -> Iterator[Any]:
    """Yield the rows of a distance matrix in blocks of at most `max_memory` bytes.

    A matrix on an accelerator is one block, of which only tiles are copied.
    """
    if isinstance(distances, DeviceArray):
        yield distances
        return
    step = max(1, max_memory // (distances.shape[1] * distances.dtype.itemsize))
    for start in range(0, distances.shape[0], step):
        yield in_rows(read_rows(distances, start, start + step, "distances"))


def results_of_features(query_features: Any, gallery_features: Any, query: Labels,
                        gallery: Labels, conventions: list[Convention],
                        metric: str = "euclidean", normalize: bool = True, *,
                        lists: IndexLists | None = None, max_memory: int | str | None = None,
                        progress: Progress | None = None) -> dict[str, Result]:
    """Evaluate features under several conventions, by their names; ranks are shared."""
    results = evaluate_each_of_features(
        query_features, gallery_features, query, gallery, conventions, metric, normalize,
        lists=lists, max_memory=max_memory, progress=progress)
    return dict(zip((one.name for one in conventions), results))


def evaluate_each_of_features(query_features: Any, gallery_features: Any, query: Labels,
                              gallery: Labels, conventions: list[Convention],
                              metric: str = "euclidean", normalize: bool = True, *,
                              lists: IndexLists | None = None,
                              max_memory: int | str | None = None,
                              progress: Progress | None = None) -> list[Result]:
    """As `results_of_features`, one result a convention, whatever their names."""
    check_labels(query, gallery)
    check_choice(metric, "metric", METRICS)
    memory = bytes_of(max_memory)
    query_features, gallery_features = where_they_are(query_features, gallery_features)
    query_features, gallery_features = check_feature_shapes(
        query_features, gallery_features, query, gallery)
    check_needed_lists(conventions, lists, query, gallery)
    if any(convention.needs_rows for convention in conventions):
        rows = feature_rows(in_main_memory(query_features), in_main_memory(gallery_features),
                            metric, normalize, memory)
        ranked, curves = rank_blocks(rows, query, gallery, conventions, lists, progress,
                                     of_features=True)
    else:
        ranks = rank_features(
            query_features, gallery_features, query, gallery,
            {convention.not_ranked for convention in conventions}, metric, normalize,
            lists=lists, max_memory=memory, progress=progress)
        ranked = {rank_key(convention, of_features=True): ranks[convention.not_ranked]
                  for convention in conventions}
        curves = Curves([], query, gallery)
    provenance = features_provenance(query_features, gallery_features, metric, normalize)
    return summaries(conventions, lambda one: ranked[rank_key(one, of_features=True)], query,
                     gallery, provenance, curves, lists)


def results_of_distances(distances: Any, query: Labels, gallery: Labels,
                         conventions: list[Convention], *, lists: IndexLists | None = None,
                         max_memory: int | str | None = None,
                         progress: Progress | None = None) -> dict[str, Result]:
    """Evaluate a distance matrix under several conventions; a dict by their names."""
    check_labels(query, gallery)
    memory = bytes_of(max_memory)
    distances = check_distances(where_they_are(distances)[0], query, gallery)
    check_real_distances(distances)
    if any(convention.needs_rows for convention in conventions):
        distances = in_main_memory(distances)
    provenance = {"distances": str(distances.dtype)}
    return evaluate_blocks(row_blocks(distances, memory), query, gallery, conventions, provenance,
                           lists, progress)


def evaluate_blocks(blocks: Iterable[npt.NDArray[Any]], query: Labels, gallery: Labels,
                    conventions: Iterable[str | Convention], provenance: dict[str, str],
                    lists: IndexLists | None = None,
                    progress: Progress | None = None) -> dict[str, Result]:
    """Evaluate blocks of distances, queries in order, under several conventions; by their names.

    `provenance` is what the signature says of the distances.
    """
    found = find_conventions(conventions)
    results = evaluate_each(blocks, query, gallery, found, provenance, lists, progress)
    return dict(zip((convention.name for convention in found), results))


def evaluate_each(blocks: Iterable[npt.NDArray[Any]], query: Labels, gallery: Labels,
                  conventions: list[Convention], provenance: dict[str, str],
                  lists: IndexLists | None = None,
                  progress: Progress | None = None) -> list[Result]:
    """Evaluate as `evaluate_blocks`, one result a convention; their names may repeat."""
    ranked, curves = rank_blocks(blocks, query, gallery, conventions, lists, progress)
    return summaries(conventions, lambda convention: ranked[rank_key(convention)], query, gallery,
                     provenance,
                     curves, lists)


def rank_blocks(blocks: Iterable[Any], query: Labels, gallery: Labels,
                conventions: list[Convention], lists: IndexLists | None = None,
                progress: Progress | None = None, *,
                of_features: bool = False) -> tuple[dict[RankKey, GoodRanks], Curves]:
    """Return ranks by `rank_key`, which conventions may share, and the curves.

    `of_features`: the distances are exact ones of features. They are not rounded to float32, and
    NaN has been warned of already.
    """
    check_needed_lists(conventions, lists, query, gallery)
    curves = Curves(conventions, query, gallery, of_features)
    keys = {rank_key(convention, of_features) for convention in conventions}
    parts: dict[RankKey, list[GoodRanks]] = {key: [] for key in keys}
    done = n_nan = 0
    for block in blocks:
        check_real_distances(block)
        rows = slice(done, done + len(block))
        block_query, block_lists = query[rows], lists and lists.of_queries(rows)
        with ThreadPoolExecutor(1) as pool:
            nan_here = pool.submit(_count_nan, block)
            ranks = _rank_block(block, block_query, gallery, keys, block_lists,
                                in_queries(progress, len(block)))
            n_nan += nan_here.result()
        for key in keys:
            parts[key].append(ranks[key])
        curves.add(block, block_query, block_lists)
        done += len(block)
        del block
    if n_nan and not of_features:
        warn(f"distances: {n_nan} of {len(query) * len(gallery)} are NaN; they rank last, as in "
             "MATLAB")
    join = functools.cache(concatenate)  # keys that share ranks share them joined
    return {key: join(tuple(ranks)) for key, ranks in parts.items()}, curves


#: All that ranks depend on: what is ignored, the order of ties, the precision of the distances,
#: and what is loaded.
RankKey = tuple[Ignored, str, str, str]


def rank_key(convention: Convention, of_features: bool = False) -> RankKey:
    """Return all that this convention's ranks depend on.

    Orders of ties that do not sort rows are derived from ranks in gallery order, and exact
    distances of features have one precision.
    """
    precision = "double" if of_features else convention.arithmetic
    if TIES[convention.ties].sorts:
        # The order of ties depends on all images that are sorted.
        return convention.not_ranked, convention.ties, precision, convention.loads
    return convention.not_ranked, "gallery-order", precision, "all images"


def rank_features(query_features: Any, gallery_features: Any, query: Labels, gallery: Labels,
                  ignored: Iterable[Ignored], metric: str = "euclidean", normalize: bool = True, *,
                  lists: IndexLists | None = None, max_memory: int | str | None = None,
                  progress: Progress | None = None) -> dict[Ignored, GoodRanks]:
    """Rank checked features by exact distances under each rule of `ignored`, as `rank` does."""
    rules, tell = list(ignored), in_queries(progress, len(query))

    def ranked(of_query: Any, of_gallery: Any) -> dict[Ignored, GoodRanks]:
        sources = _sources_of_features(of_query, of_gallery, metric, normalize,
                                       bytes_of(max_memory))
        try:
            return rank(sources(np.float32, tell), query, gallery, rules, lists)
        except TooFarOff:  # repeat in double precision
            try:
                return rank(sources(np.float64, None), query, gallery, rules, lists)
            except TooFarOff:
                raise InputError(WRONG_PRODUCTS) from None
    return or_in_main_memory(ranked, query_features, gallery_features)


def _sources_of_features(query_features: Any, gallery_features: Any, metric: str,
                         normalize: bool, max_memory: int) -> Callable[[Any, Any], Source]:
    """Return a function of the precision of products, and of progress, to a source."""
    if isinstance(query_features, DeviceArray):
        return feature_sources(query_features, gallery_features, metric, normalize)
    parts = feature_parts(query_features, gallery_features, metric, normalize, max_memory)
    return lambda precision, tell: in_parts([partial(part, precision) for part in parts],
                                            query_features.shape[0], tell)


def _rank_block(block: Any, query: Labels, gallery: Labels, keys: set[RankKey],
                lists: IndexLists | None,
                tell: Callable[[float], object] | None) -> dict[RankKey, GoodRanks]:
    """Rank one block of a matrix; keys of one precision share their counts."""
    ranks: dict[RankKey, GoodRanks] = {}
    in_float32 = {key for key in keys if key[2] == "float32" and block.dtype != np.float32}
    for subset in (keys - in_float32, in_float32):
        if not subset:
            continue
        distances = block.astype(np.float32) if subset is in_float32 else block
        rules = {key[0] for key in subset}
        shared = or_in_main_memory(
            lambda matrix: rank(_source_of_matrix(matrix, tell), query, gallery, rules, lists),
            distances)
        tell = None
        for key in subset:
            ranks[key] = shared[key[0]]
            if key[1] != "gallery-order":
                roles = find_roles(query, gallery, key[0], lists)
                there = loaded_images(gallery.identity, key[3])
                ranks[key] = argsort_ranks(ranks[key], distances, roles, key[1], there)
    return ranks


def _source_of_matrix(distances: Any, tell: Callable[[float], object] | None) -> Source:
    if isinstance(distances, DeviceArray):
        return matrix_source(distances, tell)
    part = matrix_part(distances)
    return in_parts([lambda: part], len(distances), tell)


def check_needed_lists(conventions: list[Convention], lists: IndexLists | None, query: Labels,
                       gallery: Labels) -> None:
    """Check the index lists where a convention needs them."""
    check_lists(lists, [convention.name for convention in conventions if convention.needs_lists],
                query, gallery)


def one_or_all(results: dict[str, Result], convention: Any) -> Result | dict[str, Result]:
    """Return one result if `convention` is a single one, else the dict by name."""
    if isinstance(convention, (str, Convention)):
        return next(iter(results.values()))
    return results


def summaries(conventions: list[Convention], ranks_of: Callable[[Convention], GoodRanks],
              query: Labels, gallery: Labels, provenance: dict[str, str], curves: Curves,
              lists: IndexLists | None) -> list[Result]:
    """Return the result of each convention; warn of queries without a match."""
    listed = {} if lists is None else {"lists": lists.fingerprint()}
    call = call_once()
    results = [summarize(ranks_of(convention), query, gallery, convention,
                         {**provenance, **(listed if convention.needs_lists else {})}, curves,
                         call)
               for convention in conventions]
    warn_unmatched(results[0], query, gallery)
    return results


def in_queries(progress: Progress | None, n_query: int) -> Callable[[float], object] | None:
    """Return a function that reports shares of the work as whole queries, `n_query` in all."""
    if progress is None:
        return None
    share, told = 0.0, 0

    def tell(more: float) -> None:
        nonlocal share, told
        share += more
        queries = min(int(share * n_query + 1e-6), n_query)  # work may be begun anew
        if queries > told:
            progress(queries - told)
            told = queries
    return tell


def _count_nan(block: Any) -> int:
    if isinstance(block, DeviceArray):
        return count_nan(block)
    # min() is NaN if any value is, and is faster than isnan().
    return int(np.count_nonzero(np.isnan(block))) if np.isnan(block.min()) else 0


def warn_unmatched(result: Result, query: Labels, gallery: Labels) -> None:
    """Warn of queries without a match: their number, the reasons, the first ones, the way out."""
    unmatched = np.flatnonzero(~np.isin(result.per_query.status, ("ok", "not loaded")))
    if not unmatched.size:
        return
    if (result.counts.status.get("only same camera")
            and len(np.union1d(query.camera, gallery.camera)) == 1):
        way_out = ("all images are on one camera, and images of the query's own camera are "
                   "ignored: give each camera its own number")
    else:
        way_out = "check that identities and cameras are numbered alike on both sides"
    first = ", ".join(str(k) for k in unmatched[:5])
    statuses = ", ".join(f"{count} {name}" for name, count in result.counts.status.items()
                         if count and name not in ("ok", "not loaded"))
    n_loaded = len(query) - result.counts.status["not loaded"]
    counts_as = ("count as NaN" if np.isnan(result.mAP) else
                 "count as AP 0" if result.counted == n_loaded else "are left out")
    warn(
        f"{unmatched.size} of {n_loaded} queries have no good image ({statuses}; first: {first}): "
        f"they {counts_as}; {way_out}")
