"""CMC curves of every kind, gathered block by block where ranks alone do not give them."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref.arrays import Doubles
from reid_ref.conventions import Convention
from reid_ref.labels import IndexLists, Labels
from reid_ref.metrics import identities
from reid_ref.ranking.good_ranks import GoodRanks

_OVER_IDENTITIES = (
    "identities", "single-gallery-shot", "single-gallery-shot-other-cameras",
    "single-gallery-shot-draws")


def needs_rows(convention: Convention) -> bool:
    """Tell whether whole rows of distances are needed: ranks of good images do not tell all."""
    return convention.cmc in _OVER_IDENTITIES or convention.ties.startswith("numpy")


class Curves:
    """What the curves of some conventions need beyond ranks, for blocks of queries in order.

    It has a state because blocks come one after another. Exact distances of features are never
    rounded to single precision.
    """

    def __init__(self, conventions: Iterable[Convention], query: Labels, gallery: Labels,
                 of_features: bool = False) -> None:
        self._gallery, self._of_features = gallery, of_features
        over_identities = {self._key(one): one for one in conventions
                           if one.cmc in _OVER_IDENTITIES}
        self._loaded = {key: one.loaded(gallery.identity) for key, one in over_identities.items()}
        keys = list(over_identities)
        self._parts: dict[tuple[Any, ...], list[npt.NDArray[Any]]] = {key: [] for key in keys}
        # Each has a seed of its own: what it draws depends on nothing else that is asked for.
        self._random = {key: np.random.RandomState(0) for key in keys}

    def add(self, distances: npt.NDArray[Any], query: Labels,
            lists: IndexLists | None = None) -> None:
        """Take the next block: distances of shape (n_block, n_gallery), its labels and lists."""
        for key, parts in self._parts.items():
            cmc, ignored, length, ties, arithmetic, _ = key
            there = self._loaded[key]
            values = distances if there.all() else distances[:, there]
            values = values.astype(np.float32) if arithmetic == "float32" else values
            arguments = values, query, self._gallery[there], ignored
            if cmc == "identities":
                parts.append(identities.identity_ranks(*arguments, ties, lists))
            elif cmc == "single-gallery-shot-draws":
                parts.append(identities.single_gallery_shot_draws(
                    *arguments, length, self._random[key], ties, lists))
            else:
                parts.append(identities.single_gallery_shot(*arguments, length, ties, lists))

    def curve(self, ranks: GoodRanks, convention: Convention,
              there: npt.NDArray[np.bool_]) -> Doubles:
        """Return the CMC curve: shape (length,), Rank-k is entry k - 1.

        `ranks` are those of the queries that are loaded, which `there` marks among all.
        """
        drops = convention.unmatched == "drop"
        n_query = int(np.count_nonzero(ranks.n_good)) if drops else len(ranks.n_good)
        if convention.cmc in _OVER_IDENTITIES:
            values = np.concatenate(self._parts[self._key(convention)])[there]
            if convention.cmc == "identities":
                counts = np.bincount(values, minlength=self._length(convention) + 1)[1:]
                # SYSU-MM01's script adds up shares, not counts.
                curve: Doubles = np.cumsum(
                    metrics.per_query_share(counts.astype(np.float64), n_query))
                return curve
            matched = values[~np.isnan(values[:, 0])]
            total = np.cumsum(matched, axis=0)[-1] if len(matched) else np.zeros(values.shape[1])
            return metrics.per_query_share(total, n_query)
        length = self._length(convention, ranks)
        if convention.cmc == "all-shots":
            return metrics.cumulative_matching_all_shots(ranks, length, n_query)
        curve = metrics.cumulative_matching(ranks.first_match, length, n_query)
        if convention.arithmetic == "float32":
            counts = (curve * n_query).round().astype(np.float32)
            curve = metrics.per_query_share(counts, n_query).astype(np.float64)
        return curve

    def _key(self, convention: Convention) -> tuple[Any, ...]:
        ignored = convention.ignored
        if convention.cmc == "single-gallery-shot-other-cameras":
            ignored = (*ignored, "same camera")
        return (convention.cmc, ignored, self._length(convention), convention.ties,
                "double" if self._of_features else convention.arithmetic, convention.loads)

    def _length(self, convention: Convention, ranks: GoodRanks | None = None) -> int:
        identity = self._gallery.identity[convention.loaded(self._gallery.identity)]
        if not isinstance(convention.cmc_length, str):
            return min(int(convention.cmc_length), len(identity))
        if convention.cmc_length == "identities" or convention.cmc == "identities":
            return len(np.unique(identity))
        if convention.cmc_length == "shortest" and ranks is not None:
            return max(1, int(ranks.n_kept.min(initial=len(identity))))
        return len(identity)
