"""Ranks to a `Result`, under one convention; CMC curves that need more than ranks."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref.arrays import Doubles, Integers
from reid_ref.conventions import ARITHMETIC, CMC, Convention, loaded_images
from reid_ref.conventions.choices import Mask
from reid_ref.labels import JUNK, IndexLists, Labels, count_distractors
from reid_ref.metrics import Rows
from reid_ref.ranking.good_ranks import GoodRanks, of_queries, spread_queries
from reid_ref.result import STATUSES, Counts, Fingerprints, PerQuery, Result, spread
from reid_ref.signature import fields_of, signature


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
        self._parts: dict[tuple[Any, ...], list[npt.NDArray[Any]]] = {key: [] for key in of_rows}
        # One generator each, so that draws do not depend on the other conventions.
        self._random = {key: np.random.RandomState(0) for key in of_rows}

    def add(self, distances: npt.NDArray[Any], query: Labels,
            lists: IndexLists | None = None) -> None:
        """Add the next block: distances of shape (n_block, n_gallery), its labels and lists."""
        for key, parts in self._parts.items():
            cmc, ignored, length, ties, arithmetic, _ = key
            loaded = self._loaded[key]
            values = distances if loaded.all() else distances[:, loaded]
            values = ARITHMETIC[arithmetic].distances(values)
            if of_rows := CMC[cmc].of_rows:
                rows = Rows(values, query, self._gallery[loaded], ignored, ties, lists)
                parts.append(of_rows(rows, length, self._random[key]))

    def curve(self, ranks: GoodRanks, convention: Convention, loaded: Mask) -> Doubles:
        """Return the CMC curve: shape (length,), Rank-k is entry k - 1.

        `ranks` are those of the queries that are `loaded`.
        """
        kind = convention.curve
        if kind.of_rows:
            values = np.concatenate(self._parts[self._key(convention)])[loaded]
            return kind.curve(values, self._length(convention), convention.n_in_cmc(ranks.n_good))
        return convention.curve_of_ranks(ranks, self._length(convention, ranks.n_kept))

    def _key(self, convention: Convention) -> tuple[Any, ...]:
        return (convention.cmc, (*convention.ignored, *convention.curve.also_ignored),
                self._length(convention), convention.ties,
                "double" if self._of_features else convention.arithmetic, convention.loads)

    def _length(self, convention: Convention, n_kept: Integers | None = None) -> int:
        loaded = convention.loaded(self._gallery.identity)
        return convention.curve_length(self._gallery.identity[loaded], n_kept)


class Loaded:
    """What a loader passes on: which queries, the labels, and the ranks of these queries.

    Conventions that share it share what follows from it: everything is computed once. Images
    that are not loaded are still in the `n_junk` of the ranks.
    """

    def __init__(self, ranks: GoodRanks, query: Labels, gallery: Labels, loads: str) -> None:
        self.mask, in_gallery = (loaded_images(labels.identity, loads)
                                 for labels in (query, gallery))
        self.query = query if self.mask.all() else query[self.mask]
        self.gallery = gallery if in_gallery.all() else gallery[in_gallery]
        self.ranks = of_queries(ranks, self.mask)
        self._kept: dict[Any, Any] = {}

    def once(self, function: Callable[..., Any], ranks: GoodRanks, *arguments: Any) -> Any:
        """Return what the function returns for these ranks; it is called once for them."""
        key = function, ranks, arguments
        if key not in self._kept:
            self._kept[key] = function(ranks, *arguments)
        return self._kept[key]


class Shared:
    """The labels of an evaluation, and what its conventions share."""

    def __init__(self, query: Labels, gallery: Labels) -> None:
        self.query, self.gallery = query, gallery
        self.fingerprints = Fingerprints(query.fingerprint(), gallery.fingerprint())
        self._loaded: dict[tuple[GoodRanks, str], Loaded] = {}

    def loaded(self, ranks: GoodRanks, loads: str) -> Loaded:
        """Return what a loader passes on, the same object for equal ranks."""
        key = ranks, loads
        if key not in self._loaded:
            self._loaded[key] = Loaded(ranks, self.query, self.gallery, loads)
        return self._loaded[key]


def summarize(ranks: GoodRanks, shared: Shared, convention: Convention,
              provenance: dict[str, str], curves: Curves) -> Result:
    """Return the `Result` of the ranks of all queries."""
    query, gallery = shared.query, shared.gallery
    loaded = shared.loaded(ranks, convention.loads)
    mask, n_absent = loaded.mask, len(gallery) - len(loaded.gallery)
    in_order = convention.in_order(loaded.ranks)
    cut = convention.cut_off(in_order)
    ap = loaded.once(convention.average_precision, cut)
    inp = loaded.once(metrics.inverse_negative_penalty, cut)
    n_good, n_junk = in_order.n_good, in_order.n_junk - n_absent
    status, n_status = loaded.once(_statuses, in_order, loaded, gallery, convention.ignored)
    per_query = PerQuery(
        ap=spread(ap, mask, np.nan), inp=spread(inp, mask, np.nan),
        first_match=spread(cut.first_match, mask, 0), n_good=spread(n_good, mask, 0),
        n_junk=spread(n_junk, mask, 0), status=status, identity=query.identity,
        camera=query.camera)
    ap, inp = (convention.counted(values, n_good) for values in (ap, inp))
    return Result(
        mAP=convention.mean(ap), cmc=curves.curve(cut, convention, mask),
        mINP=convention.mean(inp), per_query=per_query,
        counts=_counts(per_query, loaded.once(metrics.count_tied_queries, in_order),
                       dict(n_status), query, gallery, n_absent, convention),
        counted=len(ap),
        signature=signature({**fields_of(convention), **provenance}, loaded.query,
                            loaded.gallery),
        ranks=spread_queries(replace(in_order, n_junk=n_junk), mask), convention=convention,
        fingerprints=shared.fingerprints)


def _statuses(ranks: GoodRanks, loaded: Loaded, gallery: Labels,
              ignored: tuple[str, ...]) -> tuple[npt.NDArray[np.str_], dict[str, int]]:
    """Return the status of every query, and how many queries have each."""
    identity = loaded.query.identity
    status = np.full(len(identity), "ok", dtype=f"<U{max(map(len, STATUSES))}")
    absent = ranks.n_good == 0
    status[absent] = "only same location" if "same location" in ignored else "only same camera"
    status[absent & ~np.isin(identity, gallery.identity)] = "identity absent"
    if "listed as junk" in ignored:
        status[absent] = "none listed"
    status[(ranks.n_good > 0) & (ranks.found == 0)] = "only junk"
    status[ranks.n_kept == 0] = "nothing kept"
    every = spread(status, loaded.mask, "not loaded")
    return every, {name: int(np.count_nonzero(every == name)) for name in STATUSES}


def _counts(per_query: PerQuery, tied: int, status: dict[str, int], query: Labels,
            gallery: Labels, n_absent: int, convention: Convention) -> Counts:
    n_junk = int(np.count_nonzero(gallery.identity == JUNK))
    ignored_junk = n_junk - n_absent if "label -1" in convention.ignored else 0
    other_junk = per_query.n_junk - ignored_junk
    return Counts(
        query=len(query), gallery=len(gallery), gallery_junk=n_junk,
        gallery_not_loaded=n_absent,
        gallery_distractors=count_distractors(query, gallery),
        gallery_kept=len(gallery) - ignored_junk - n_absent,
        good=int(per_query.n_good.sum()),
        junk_same_camera=int(other_junk[per_query.status != "not loaded"].sum()), tied=tied,
        status=status)
