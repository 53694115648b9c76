"""CMC curves; those that need more than ranks are collected block by block."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, Integers
from reid_ref.conventions import ARITHMETIC, CMC, Convention
from reid_ref.labels import IndexLists, Labels
from reid_ref.ranking.good_ranks import GoodRanks


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
            there = self._loaded[key]
            values = distances if there.all() else distances[:, there]
            values = ARITHMETIC[arithmetic].distances(values)
            if of_rows := CMC[cmc].of_rows:
                parts.append(of_rows(values, query, self._gallery[there], ignored, length, ties,
                                     lists, self._random[key]))

    def curve(self, ranks: GoodRanks, convention: Convention,
              there: npt.NDArray[np.bool_]) -> Doubles:
        """Return the CMC curve: shape (length,), Rank-k is entry k - 1.

        `ranks` are those of the queries that are loaded, which `there` marks among all.
        """
        kind = convention.curve
        if kind.of_rows:
            values = np.concatenate(self._parts[self._key(convention)])[there]
            return kind.curve(values, self._length(convention), convention.n_in_cmc(ranks.n_good))
        return convention.curve_of_ranks(ranks, self._length(convention, ranks.n_kept))

    def _key(self, convention: Convention) -> tuple[Any, ...]:
        return (convention.cmc, (*convention.ignored, *convention.curve.also_ignored),
                self._length(convention), convention.ties,
                "double" if self._of_features else convention.arithmetic, convention.loads)

    def _length(self, convention: Convention, n_kept: Integers | None = None) -> int:
        loaded = convention.loaded(self._gallery.identity)
        return convention.curve_length(self._gallery.identity[loaded], n_kept)
