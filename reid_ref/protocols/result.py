"""What a protocol's evaluation returns: for each part, means over its trials."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reid_ref import text
from reid_ref.arrays import Doubles, Integers, check_count, read_only
from reid_ref.arrays.value import Value
from reid_ref.metrics import mean_in_order
from reid_ref.result import (
    RANKS, Result, SumsOfUnits, in_mean, intervals_of, named_ranks, query_values, unit_of_queries)
from reid_ref.result.systems import pooled
from reid_ref.signature import Signature
from reid_ref.statistics import Interval, unit_sums


@dataclass(frozen=True, eq=False)
class Expected(Value):
    """The expectation for each query over all galleries, where a protocol has no trials.

    Parameters
    ----------
    identity : int64, shape (n,)
    weight : float64, shape (n,)
        How often the query asks: an image of a pool is drawn into the gallery at times.
    ap : float64, shape (n,)
    match : float64, shape (n, length)
        The probability of a match at rank k or before.
    """

    identity: Integers
    weight: Doubles
    ap: Doubles
    match: Doubles


@dataclass(frozen=True, eq=False)
class PartResult(Value):
    """The numbers of one part of a protocol: means over its trials, in [0, 1].

    Parameters
    ----------
    name : str
        Of the part.
    mAP, mINP : float
    cmc : float64
        Rank-k is ``cmc[k - 1]``; as long as that of the shortest trial.
    sd : dict of str to float
        Standard deviation over the trials, empty where there is one; of an expectation, that of
        the number of one drawn gallery, from 100 galleries that seed 0 draws.
    counted, queries : int
        Queries in the mean of mAP, and all, of the first trial.
    gallery : int
        Images of its gallery.
    signature : Signature
        Of the first trial, with protocol, part, trials, seed and the code that it follows.
    trials : tuple of Result
        Empty where the number is an expectation.
    expected : Expected, optional
    """

    name: str
    mAP: float
    mINP: float
    cmc: Doubles
    sd: dict[str, float]
    counted: int
    queries: int
    gallery: int
    signature: Signature
    trials: tuple[Result, ...] = field(default=(), repr=False)
    expected: Expected | None = field(default=None, repr=False)

    def rank(self, k: int) -> float:
        """Return Rank-k, the point k of the CMC curve, in [0, 1]."""
        return float(self.cmc[check_count(k, "k", 1, len(self.cmc),
                                          "the length of this CMC curve") - 1])

    def interval(self, metric: str = "mAP", unit: Any = "identity", **options: Any) -> Interval:
        """Return the confidence interval of a mean over trials, by identity or query.

        `metric` and `options` are those of `Result.interval`. Queries of one identity are one
        unit, also where they are in several trials.
        """
        if self.expected is None:
            values, weight, counted = pooled([query_values(result, metric)
                                              for result in self.trials])
            identity = np.concatenate([result.per_query.identity for result in self.trials])
            mean = self._mean(metric)
        else:
            rank = metric.removeprefix("Rank-")
            values = (self.expected.ap if rank == metric
                      else self.expected.match[:, int(rank) - 1])
            weight, identity, counted = self.expected.weight, self.expected.identity, None
            mean = self._mean(metric)
        name, groups = unit_of_queries(identity, unit)
        return intervals_of([SumsOfUnits(
            mean, name, unit_sums(values, groups, counted, weight),
            unit_sums(values, np.arange(len(values)), counted, weight))], **options)[0]

    def _mean(self, metric: str) -> float:
        if metric.startswith("Rank-"):
            return self.rank(int(metric[5:]))
        if metric in ("mAP", "mINP"):
            return float(getattr(self, metric))
        return mean_in_order(np.array([query_values(result, metric).mean
                                       for result in self.trials]))

    def headline(self, ranks: tuple[int, ...] = RANKS) -> dict[str, float]:
        """Return mAP, Rank-k and mINP by name."""
        return {"mAP": self.mAP, **named_ranks(self.cmc, ranks), "mINP": self.mINP}

    def __str__(self) -> str:
        """Return mAP, Rank-k and mINP in percent, and the signature."""
        said = ", ".join(f"{name} {text.percent(value)}"
                         for name, value in self.headline().items())
        return f"{self.name}: {said} ({self.signature})"


class ProtocolResult(Mapping[str, PartResult]):
    """The results of a protocol's parts by name; with one part it has that part's attributes.

    Parameters
    ----------
    parts : mapping of str to PartResult
    """

    def __init__(self, parts: Mapping[str, PartResult]) -> None:
        self._parts = dict(parts)

    def __getitem__(self, name: str) -> PartResult:
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
        return "\n".join(map(str, self._parts.values()))

    __repr__ = __str__


def of_trials(name: str, trials: list[Result], average: str,
              said: Mapping[str, object]) -> PartResult:
    """Return the means over trials: of their means, or over the queries of all."""
    length = min(len(result.cmc) for result in trials)
    curves = np.array([result.cmc[:length] for result in trials])
    mAP, mINP = (np.array([getattr(result, metric) for result in trials])
                 for metric in ("mAP", "mINP"))
    first, ranks = trials[0], [k for k in RANKS if k <= length]
    values = {**{f"Rank-{k}": curves[:, k - 1] for k in ranks}, "mAP": mAP, "mINP": mINP}
    weight = [result.counted if average == "pooled" else 1 for result in trials]
    total = np.cumsum(curves * np.array(weight)[:, np.newaxis], axis=0)[-1] / sum(weight)
    return PartResult(
        name, _mean(mAP, weight), _mean(mINP, weight), read_only(total),
        {metric: float(np.std(each, ddof=1)) for metric, each in values.items()}
        if len(trials) > 1 else {}, int(np.count_nonzero(in_mean(first))), first.counts.query,
        first.counts.gallery, first.signature.changed(said), tuple(trials))


def _mean(values: Doubles, weight: list[int]) -> float:
    return float(np.cumsum(values * weight)[-1] / sum(weight))
