"""Features or distances to the ranks of good images, once for all conventions.

Features are ranked by exact distances. The few conventions that need whole rows (numpy's order of
ties, curves over identities) get blocks of rows, which from features are in exact order too.
"""
import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from reid_ref.arrays import (
    Array, Doubles, Integers, Mask, NaNWarning, blocks_of, bytes_for, bytes_of,
    check_real_distances, read_rows, warn, with_rows)
from reid_ref.arrays.stored import in_rows
from reid_ref.conventions import ARITHMETIC, CMC, TIES, Convention, loaded_images
from reid_ref.evaluation.how import How, in_queries
from reid_ref.labels import Labels, QueryLists
from reid_ref.metrics import DistanceRows
from reid_ref.ranking.counting import TooFarOff, matrix_part, wrong_products
from reid_ref.ranking.exact_distances import feature_parts
from reid_ref.ranking.good_ranks import GoodRanks, append, of_queries
from reid_ref.ranking.rank import Ignored, Source, argsort_ranks, in_parts, rank
from reid_ref.ranking.roles import find_all_roles
from reid_ref.result import Result
from reid_ref.signature import distance_of


class Curves:
    """CMC curves of several conventions, over blocks of queries in order.

    `of_features`: the distances are exact ones of features, and are not rounded to float32.
    """

    def __init__(self, conventions: Iterable[Convention], query: Labels, gallery: Labels,
                 of_features: bool = False) -> None:
        self._gallery, self._of_features = gallery, of_features
        of_rows = {self._key(convention): convention for convention in conventions
                   if convention.curve.of_rows}
        self._loaded = {key: convention.loaded(gallery.identity)
                        for key, convention in of_rows.items()}
        self._parts: dict[tuple[Any, ...], list[Array]] = {key: [] for key in of_rows}
        # One generator each, so that draws do not depend on the other conventions.
        self._random = {key: np.random.RandomState(0) for key in of_rows}

    def add(self, distances: Array, query: Labels,
            lists: QueryLists | None = None) -> None:
        """Add the next block: distances of shape (n_block, n_gallery), its labels and lists."""
        for key, parts in self._parts.items():
            cmc, ignored, length, ties, arithmetic, _ = key
            loaded = self._loaded[key]
            values = distances if loaded.all() else distances[:, loaded]
            values = ARITHMETIC[arithmetic].distances(values)
            if of_rows := CMC[cmc].of_rows:
                rows = DistanceRows(values, query, self._gallery[loaded], ignored, ties,
                                    lists and lists.within(loaded))
                parts.append(of_rows(rows, length, self._random[key]))

    def curve(self, ranks: GoodRanks, convention: Convention, loaded: Mask) -> Doubles:
        """Return the CMC curve: shape (length,), Rank-k is entry k - 1.

        `ranks` are those of the queries that are `loaded`.
        """
        kind = convention.curve
        if kind.of_rows:
            values = np.concatenate(self._parts[self._key(convention)])[loaded]
            # How many images each query keeps is known once all rows are added.
            length = min(self._length(convention), self._length(convention, ranks.n_kept))
            return kind.curve(values, self._length(convention),
                              convention.n_in_cmc(ranks.n_good))[:length]
        return convention.curve_of_ranks(ranks, self._length(convention, ranks.n_kept))

    def _key(self, convention: Convention) -> tuple[Any, ...]:
        return (convention.cmc, (*convention.ignored, *convention.curve.also_ignored),
                self._length(convention), convention.ties,
                "double" if self._of_features else convention.arithmetic, convention.loads)

    def _length(self, convention: Convention, n_kept: Integers | None = None) -> int:
        loaded = convention.loaded(self._gallery.identity)
        return convention.curve_length(self._gallery.identity[loaded], n_kept)


def row_blocks(distances: Any, max_memory: int) -> Iterator[Any]:
    """Yield the rows of a distance matrix in blocks of at most `max_memory` bytes."""
    row_bytes = distances.shape[1] * distances.dtype.itemsize
    for rows in blocks_of(distances.shape[0], max_memory // row_bytes):
        yield in_rows(read_rows(distances, rows.start, rows.stop, "distances"))


@dataclass(frozen=True)
class Ranking:
    """The ranks of good images that conventions need, and what else makes results of them.

    Parameters
    ----------
    of : callable
        Convention to `GoodRanks`.
    curves : Curves
        CMC curves that need more than ranks.
    provenance : dict of str to str
        The signature's fields of the distances.
    finish : callable
        Result to result: the signature of distances that are its convention's own.
    can_rank : callable, optional
        What is ignored to the number of good images that each query's list would hold if it were
        not cut. None: each list holds them.
    longest : int, optional
        Images in the longest list, where CMC curves end.
    """

    of: Callable[[Convention], GoodRanks]
    curves: Curves
    provenance: dict[str, str]
    finish: Callable[[Result], Result] = lambda result: result
    can_rank: Callable[[Ignored], Integers] | None = None
    longest: int | None = None


def rank_blocks(blocks: Iterable[Any], query: Labels, gallery: Labels, how: How,
                provenance: dict[str, str], *, of_features: bool = False) -> Ranking:
    """Rank blocks of distances, queries in order; conventions share ranks by `rank_key`.

    `of_features`: the distances are exact ones of features. They are not rounded to float32, and
    NaN has been warned of already.
    """
    curves = Curves(how.conventions, query, gallery, of_features)
    keys = {rank_key(convention, of_features) for convention in how.ranked}
    joined: dict[RankKey, GoodRanks] = {}
    n_nan, cut = 0, _cut_blocks(blocks, query, gallery, bytes_of(how.max_memory))
    for nth, (rows, block) in enumerate(with_rows(cut)):
        check_real_distances(block)
        block_query, block_lists = query[rows], how.lists_of(rows)
        with ThreadPoolExecutor(1) as pool:
            counting = pool.submit(_count_nan, block)
            ranks = _rank_block(block, block_query, gallery, keys, block_lists,
                                in_queries(how.progress, len(block)))
            n_nan += counting.result()
        # Keys that share ranks in one block share them in all.
        shared = {key: next(k for k in ranks if ranks[k] is ranks[key]) for key in keys}
        joined = {key: append(joined[key], ranks[key], in_place=nth > 1) if nth else ranks[key]
                  for key in set(shared.values())}
        curves.add(block, block_query, block_lists)
        del block
    if n_nan and not of_features:
        warn_of_nan(n_nan, len(query) * len(gallery))
    return Ranking(lambda convention: joined[shared[rank_key(convention, of_features)]], curves,
                   provenance)


#: Bytes that the tables of a pair of query and image of the same identity take at most.
PAIR_BYTES = 400


def _cut_blocks(blocks: Iterable[Any], query: Labels, gallery: Labels,
                max_memory: int) -> Iterator[Any]:
    """Cut blocks so that the tables of their good and ignored pairs fit in the memory."""
    identity, count = np.unique(np.append(gallery.identity, query.identity), return_counts=True)
    so_far = np.cumsum(count[np.searchsorted(identity, query.identity)])
    for rows, block in with_rows(blocks):
        number = so_far[rows] * PAIR_BYTES // max_memory
        cuts = (np.flatnonzero(np.diff(number)) + 1).tolist()
        yield from (block[first:last] for first, last in pairwise([0, *cuts, len(block)]))


def warn_of_nan(number: int, pairs: int) -> None:
    """Warn of distances that are NaN."""
    warn(f"distances: {number} of {pairs} are NaN; they rank last, as in MATLAB", NaNWarning)


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
                  how: How) -> Ranking:
    """Rank checked features by exact distances, ties in gallery order."""
    parts = feature_parts(query_features, gallery_features, how.scalings,
                          bytes_for(how.max_memory, gallery_features))
    report = in_queries(how.progress, len(query))
    for precision in (np.float32, np.float64):
        with suppress(TooFarOff):  # then in double precision
            source = in_parts([partial(part, precision) for part in parts],
                              len(how.scalings) * len(query), report)
            return Ranking(rank_scalings(source, query, gallery, how), Curves((), query, gallery),
                           features_provenance(query_features, gallery_features, how))
    raise wrong_products()


def rank_scalings(source: Source, query: Labels, gallery: Labels,
                  how: How) -> Callable[[Convention], GoodRanks]:
    """Return each convention's ranks, of query-scaling pairs (`exact_distances`)."""
    scalings = how.scalings
    pair = np.arange(len(scalings) * len(query))
    row, scaling_of = np.divmod(pair, len(scalings))
    asks, lists = (query, how.lists) if len(scalings) == 1 else (query[row], how.lists_of(row))
    ranks = rank(source, asks, gallery, find_all_roles(asks, gallery, how.not_ranked, lists))

    @functools.cache
    def of(rule: Ignored, scaling: str) -> GoodRanks:
        return of_queries(ranks[rule], scaling_of == scalings.index(scaling))

    return lambda convention: of(convention.not_ranked, how.scaling(convention))


def features_provenance(query_features: Any, gallery_features: Any, how: How) -> dict[str, str]:
    """Return the provenance of distances from features, for the signature."""
    return {**_distance(how), "features": str(np.result_type(query_features.dtype,
                                                             gallery_features.dtype))}


def measured(ranks: Ranking, how: How) -> Ranking:
    """Sign each result with the distances of its own convention."""
    return replace(ranks, finish=lambda result: replace(
        result, signature=result.signature.changed(_distance(how, result.convention))))


def _distance(how: How, convention: Convention | None = None) -> dict[str, str]:
    return distance_of(*how.distance(convention))


def _rank_block(block: Any, query: Labels, gallery: Labels, keys: set[RankKey],
                lists: QueryLists | None,
                report: Callable[[float], object] | None) -> dict[RankKey, GoodRanks]:
    """Rank one block of a matrix; keys of one precision share their counts."""
    ranks: dict[RankKey, GoodRanks] = {}
    roles = find_all_roles(query, gallery, {key[0] for key in keys}, lists)
    in_float32 = {key for key in keys if key[2] == "float32" and block.dtype != np.float32}
    for subset in (keys - in_float32, in_float32):
        if not subset:
            continue
        distances = block.astype(np.float32) if subset is in_float32 else block
        of_subset = {key[0]: roles[key[0]] for key in subset}
        source = in_parts([partial(matrix_part, distances)], len(distances), report)
        shared = rank(source, query, gallery, of_subset)
        report = None
        for key in subset:
            ranks[key] = shared[key[0]]
            if key[1] != "gallery-order":
                loaded = loaded_images(gallery.identity, key[3])
                ranks[key] = argsort_ranks(ranks[key], distances, roles[key[0]], key[1], loaded)
    return ranks


def _count_nan(block: Any) -> int:
    # min() is NaN if any value is, and is faster than isnan().
    return int(np.count_nonzero(np.isnan(block))) if np.isnan(block.min()) else 0
