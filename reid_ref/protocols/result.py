"""What a protocol's evaluation returns: a result for each part."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers, check_count
from reid_ref.arrays.value import Value
from reid_ref.conventions import Convention
from reid_ref.labels import Labels
from reid_ref.metrics import mean_in_order
from reid_ref.result import (
    STATUSES, Counts, Fingerprints, PerQuery, QueryValues, Result, kind_of_metric, spread)
from reid_ref.result.trials import over_trials
from reid_ref.signature import Signature


@dataclass(frozen=True, eq=False)
class Expected(Value):
    """The expectation for each query over all galleries, where a protocol has no trials.

    Parameters
    ----------
    query : int64, shape (n,)
        Which queries have a good image.
    weight : float64, shape (n,)
        How often the query asks: an image of a pool is drawn into the gallery at times.
    ap : float64, shape (n,)
    match : float64, shape (n, length)
        The probability of a match at rank k or before.
    """

    query: Integers
    weight: Doubles
    ap: Doubles
    match: Doubles


@dataclass(frozen=True)
class NoRanks:
    """In the place of ranks where there are none: each use is refused in one sentence."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise InputError("protocol", "trials, whose ranked lists this needs", "an expectation "
                         "over all galleries, which has none", "give draws as trials")


@dataclass(frozen=True, eq=False, kw_only=True)
class Expectation(Result):
    """A result that is an expectation over galleries with one image of each identity.

    It has no trials and no ranked lists: what needs them is refused, as `at` and `save`.

    Parameters
    ----------
    expected : Expected
    draws : dict of str to float
        Standard deviation of the numbers of one drawn gallery, from 100 that seed 0 draws.
    """

    expected: Expected = field(repr=False)
    draws: dict[str, float] = field(repr=False)

    @property
    def sd(self) -> dict[str, float]:
        """Standard deviations of the numbers of one drawn gallery, by their names."""
        return self.draws

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
        values = (self.expected.match[:, check_count(k, "k", 1, len(self.cmc)) - 1]
                  if kind == "Rank-" else self.expected.ap)
        counted = self.per_query.n_good > 0
        return spread(values, counted, 0.0), spread(self.expected.weight, counted, 0.0), counted


def of_trials(trials: Sequence[Result], average: str, said: Mapping[str, object]) -> Result:
    """Return the mean over trials, signed by what is said of them."""
    return over_trials(trials, average, trials[0].signature.changed(said))


def of_expectation(expected: Expected, draws: dict[str, float], query: Labels, gallery: Labels,
                   convention: Convention, signature: Signature) -> Expectation:
    """Return the means of what every query has on average."""
    total, n = expected.weight.sum(), len(expected.ap)
    mAP = mean_in_order(expected.ap * expected.weight) * n / total
    curve = np.cumsum(expected.match * expected.weight[:, np.newaxis], axis=0)[-1] / total
    matched = np.isin(np.arange(len(query)), expected.query)
    ap, none = spread(expected.ap, matched, np.nan), np.zeros(len(query), dtype=np.int64)
    per_query = PerQuery(  # of each gallery's one good image AP and INP are the same
        ap, ap, none, matched.astype(np.int64), none, np.where(matched, "ok", "identity absent"),
        query.identity, query.camera)
    status = dict.fromkeys(STATUSES, 0) | {"ok": n, "identity absent": len(query) - n}
    size = len(np.unique(gallery.identity))
    return Expectation(
        mAP=mAP, cmc=curve, mINP=mAP, per_query=per_query, counted=n, signature=signature,
        counts=Counts(len(query), size, 0, 0, 0, size, n, 0, 0, status), convention=convention,
        ranks=cast(Any, NoRanks()), expected=expected, draws=draws,
        fingerprints=Fingerprints(query.fingerprint(), gallery.fingerprint()))


class ProtocolResult(Mapping[str, Result]):
    """The results of a protocol's parts by name; with one part it has that part's attributes.

    A part is a `Result`: over several trials a `TrialsResult`, without trials an `Expectation`.

    Parameters
    ----------
    parts : mapping of str to Result
    """

    def __init__(self, parts: Mapping[str, Result]) -> None:
        self._parts = dict(parts)

    def __getitem__(self, name: str) -> Result:
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __getattr__(self, name: str) -> Any:
        parts = self.__dict__.get("_parts", {})
        if len(parts) == 1 and not name.startswith("_"):
            return getattr(next(iter(parts.values())), name)
        raise AttributeError(f"{name}: a result of the parts {', '.join(parts)}; take one of "
                             "them, such as result[part]")

    def __str__(self) -> str:
        return "\n".join(f"{name}\n{part}" for name, part in self._parts.items())

    __repr__ = __str__
