"""`Expectation`: a mean over all galleries of one image of each identity, as a result."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, check_count
from reid_ref.metrics import mean_in_order
from reid_ref.ranking.good_ranks import GoodRanks
from reid_ref.result import QueryValues, Result, kind_of_metric, spread
from reid_ref.text.plain import plain


@dataclass(frozen=True)
class _NoRanks:
    """In the place of ranks where there are none: each use is refused in one sentence."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise InputError("protocol", "trials, whose ranked lists this needs", "an expectation "
                         "over all galleries, which has none", "give draws as trials")


#: The ranks of an expectation.
NO_RANKS = cast(GoodRanks, _NoRanks())


@dataclass(frozen=True, eq=False, kw_only=True)
class Expectation(Result):
    """A result that is an expectation over galleries with one image of each identity.

    It has no trials and no ranked lists: what needs them is refused, as `at`.

    Parameters
    ----------
    weight : float64, shape (n,)
        How often each query with a good image asks: an image of a pool is drawn into the gallery
        at times.
    match : float64, shape (n, length)
        Of these queries the probability of a match at rank k or before.
    draws : dict of str to float
        Standard deviation of the numbers of one drawn gallery, from 100 that seed 0 draws.
    """

    weight: Doubles = field(repr=False)
    match: Doubles = field(repr=False)
    draws: Mapping[str, float] = field(repr=False)

    @property
    def sd(self) -> dict[str, float]:
        """Standard deviations of the numbers of one drawn gallery, by their names."""
        return dict(self.draws)

    @property
    def trials(self) -> tuple[Result, ...]:
        """None."""
        return ()

    def query_values(self, metric: str) -> QueryValues:
        """As `Result.query_values`, each one weighted by how often its query asks."""
        values, weight, counted = self._weighted(metric)
        kind, k = kind_of_metric(metric)
        return QueryValues(self.rank(k) if kind == "Rank-" else self.mAP,
                           values * weight * (self.counted / weight.sum()), counted)

    def _weighted(self, metric: str) -> tuple[Doubles, Doubles, npt.NDArray[np.bool_]]:
        kind, k = kind_of_metric(metric)
        if kind in ("P@", "R@"):
            self.at(k)  # refuses
        counted = self.per_query.n_good > 0
        values = (spread(self.match[:, check_count(k, "k", 1, len(self.cmc)) - 1], counted, 0.0)
                  if kind == "Rank-" else np.where(counted, self.per_query.ap, 0.0))
        return values, spread(self.weight, counted, 0.0), counted

    def _made_of(self) -> dict[str, Any]:
        """Return what a file has in the place of ranks; `match` is row after row."""
        return {"expected": plain({"weight": self.weight, "match": self.match.ravel(),
                                   "sd": self.draws})}


def weighted_means(ap: Doubles, weight: Doubles, match: Doubles) -> tuple[float, Doubles]:
    """Return mAP and the CMC curve of the queries with a good image."""
    total = weight.sum()
    curve = np.cumsum(match * weight[:, np.newaxis], axis=0)[-1] / total
    return mean_in_order(ap * weight) * len(ap) / total, curve
