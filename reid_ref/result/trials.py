"""`TrialsResult`: the mean over trials as one result, whose queries are those of every trial."""
from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles, Integers, read_only
from reid_ref.ranking.good_ranks import concatenate
from reid_ref.result import (
    SAVED, AtK, Counts, Fingerprints, PerQuery, QueryValues, Result)
from reid_ref.result.systems import pooled
from reid_ref.signature import Signature

#: What counts alike in a mean over trials: every trial, or every query that counts.
AVERAGES = ("trials", "pooled")


@dataclass(frozen=True, eq=False)
class TrialsResult(Result):
    """A result whose numbers are means over trials.

    Queries, counts and ranks are those of the first trial, then those of the second, and so on;
    gallery images are numbered through, too.

    Parameters
    ----------
    trials : tuple of Result
        Under one convention.
    average : str
        One of `AVERAGES`.
    """

    trials: tuple[Result, ...] = field(default=(), repr=False)
    average: str = field(default="trials", repr=False)

    def at(self, k: int) -> AtK:
        """Return the means over trials of `Result.at`, and the values of every query."""
        every = [trial.at(k) for trial in self.trials]
        means = {name: mean([getattr(at, name) for at in every], self.trials, self.average)
                 for name in ("accuracy", "precision", "recall", "mAP")}
        return AtK(k, **means, per_query={
            name: read_only(np.concatenate([at.per_query[name] for at in every]))
            for name in every[0].per_query})

    def query_values(self, metric: str) -> QueryValues:
        """As `Result.query_values`, weighted where trials have different numbers of queries."""
        every = [trial.query_values(metric) for trial in self.trials]
        sizes = np.array([np.count_nonzero(scored.counted) for scored in every])
        weight = np.array(_weights(self.trials, self.average))
        scale = weight * sizes.sum() / (weight.sum() * np.maximum(sizes, 1))
        return QueryValues(
            mean([scored.mean for scored in every], self.trials, self.average),
            np.concatenate([scored.values * by for scored, by in zip(every, scale)]),
            np.concatenate([scored.counted for scored in every]))

    def _weighted(self, metric: str) -> tuple[Any, Any, Any]:
        """As `Result._weighted`, each trial's values moved to the mean of all."""
        return pooled([trial.query_values(metric) for trial in self.trials])

    def _saved(self) -> dict[str, Any]:
        """Return what a file has: the means, and every trial as it is saved itself."""
        return {"schema": SAVED, **self.to_dict(None), "average": self.average,
                "trials": [trial._saved() for trial in self.trials]}


def over_trials(trials: Sequence[Result], average: str, signature: Signature) -> Result:
    """Return the means over trials as one result; of a single trial, that trial, so signed."""
    first = trials[0]
    if len(trials) == 1:
        return replace(first, signature=signature)
    length = min(len(trial.cmc) for trial in trials)
    offsets = np.cumsum([0, *(trial.counts.gallery for trial in trials)])
    return TrialsResult(
        mAP=mean([trial.mAP for trial in trials], trials, average),
        cmc=mean_curve([trial.cmc[:length] for trial in trials], trials, average),
        mINP=mean([trial.mINP for trial in trials], trials, average),
        per_query=PerQuery(*(np.concatenate([getattr(trial.per_query, name) for trial in trials])
                             for name in PerQuery.__dataclass_fields__)),
        counts=_added([trial.counts for trial in trials]),
        counted=sum(trial.counted for trial in trials), signature=signature,
        ranks=concatenate([replace(trial.ranks, image=_moved(trial.ranks.image, int(start)))
                           for trial, start in zip(trials, offsets)]),
        convention=first.convention,
        fingerprints=Fingerprints(*map(_joined, zip(*(trial.fingerprints for trial in trials)))),
        trials=tuple(trials), average=average)


def mean(values: Sequence[float], trials: Sequence[Result], average: str) -> float:
    """Return the mean over trials of one number of each."""
    return float(mean_curve(np.array(values)[:, np.newaxis], trials, average)[0])


def mean_curve(curves: Any, trials: Sequence[Result], average: str) -> Doubles:
    """Return the mean over trials of one curve of each."""
    weight = _weights(trials, average)
    # One trial after another, as everywhere; `mean` would add pairwise.
    total = np.cumsum(np.array(curves) * np.array(weight)[:, np.newaxis], axis=0)[-1]
    return read_only(total / sum(weight))


def _weights(trials: Sequence[Result], average: str) -> list[int]:
    return [trial.counted if average == "pooled" else 1 for trial in trials]


def _moved(image: Integers, start: int) -> Integers:
    return np.where(image < 0, image, image + start)


def _added(counts: Sequence[Counts]) -> Counts:
    every = [asdict(each) for each in counts]
    status = {name: sum(each["status"][name] for each in every) for name in every[0]["status"]}
    return Counts(**{name: sum(each[name] for each in every)
                     for name in every[0] if name != "status"}, status=status)


def _joined(fingerprints: Sequence[str]) -> str:
    return f"{zlib.crc32(' '.join(fingerprints).encode()):08x}" if all(fingerprints) else ""
