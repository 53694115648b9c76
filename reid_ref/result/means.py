"""Results that are means: `TrialsResult`, over trials, whose queries are those of every trial, and
`Expectation`, over all galleries of one image of each identity.
"""
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

import numpy as np

from reid_ref.arrays import Doubles, InputError, Mask, check_count, read_only
from reid_ref.conventions import Convention
from reid_ref.labels import Labels
from reid_ref.measures import COLUMNS, Measure, measure
from reid_ref.metrics import mean_in_order
from reid_ref.ranking.good_ranks import GoodRanks, concatenate
from reid_ref.result import Result
from reid_ref.result.parts import (
    STATUSES, AtK, Counts, Checksums, Fingerprints, PerQuery, QueryValues, for_all)
from reid_ref.result.made import Asked
from reid_ref.signature import Signature
from reid_ref.text.plain import json_values

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

    def _of_query(self, which: Measure) -> Doubles:
        return read_only(np.concatenate([trial._of_query(which) for trial in self.trials]))

    def _mean_of(self, which: Measure) -> float:
        return mean([trial.value(which.name) for trial in self.trials], self.trials, self.average)

    def _query_values(self, metric: str) -> QueryValues:
        """As `Result._query_values`, weighted where trials have different numbers of queries."""
        every = [trial._query_values(metric) for trial in self.trials]
        sizes = np.array([np.count_nonzero(scored.counted) for scored in every])
        weight = np.array(_weights(self.trials, self.average))
        scale = weight * sizes.sum() / (weight.sum() * np.maximum(sizes, 1))
        return QueryValues(
            mean([scored.mean for scored in every], self.trials, self.average),
            np.concatenate([scored.values * by for scored, by in zip(every, scale)]),
            np.concatenate([scored.counted for scored in every]))

    def _saved(self) -> dict[str, Any]:
        return {**self._printed(), "average": self.average,
                "trials": [trial._saved() for trial in self.trials]}

    def _weighted(self, metric: str) -> tuple[Any, Any, Any]:
        """As `Result._weighted`, each trial's values moved to the mean of all."""
        return pooled([trial._query_values(metric) for trial in self.trials])


def over_trials(trials: Sequence[Result], average: str, signature: Signature) -> Result:
    """Return the means over trials as one result; of a single trial, that trial, so signed."""
    first = trials[0]
    if len(trials) == 1:
        return replace(first, signature=signature)
    length = min(len(trial.cmc) for trial in trials)
    offsets = np.cumsum([0, *(trial.counts.gallery for trial in trials)])
    return TrialsResult(
        cmc=mean_curve([trial.cmc[:length] for trial in trials], trials, average),
        per_query=_joined_queries([trial.per_query for trial in trials]),
        counts=_added([trial.counts for trial in trials]), signature=signature,
        ranks=concatenate([
            replace(ranks, image=np.where(ranks.image < 0, ranks.image, ranks.image + start))
            for ranks, start in zip((trial.ranks for trial in trials), offsets.tolist())]),
        convention=first.convention,
        fingerprints=Fingerprints(*(
            Checksums(*map(joined, zip(*sides)))
            for sides in zip(*(trial.fingerprints for trial in trials)))),
        trials=tuple(trials), average=average)


def _joined_queries(trials: Sequence[PerQuery]) -> PerQuery:
    arrays: dict[str, Any] = {
        name: np.concatenate([trial.texts(name) for trial in trials])
        for name in PerQuery.__dataclass_fields__ if name not in ("values", "words")}
    identity, camera, status = (arrays[name] for name in ("identity", "camera", "status"))
    asked = Asked.of(Labels(identity, camera if camera.size else None), status)
    return PerQuery(**arrays | asked._asdict(), values={
        name: np.concatenate([trial.values[name] for trial in trials])
        for name in trials[0].values})


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


def _added(counts: Sequence[Counts]) -> Counts:
    every = [asdict(each) for each in counts]
    status = {name: sum(each["status"][name] for each in every) for name in every[0]["status"]}
    return Counts(**{name: sum(each[name] for each in every)
                     for name in every[0] if name != "status"}, status=status)


def joined(fingerprints: Sequence[str]) -> str:
    """Return one checksum of several; empty if one is."""
    return f"{zlib.crc32(' '.join(fingerprints).encode()):08x}" if all(fingerprints) else ""


def pooled(scores: list[QueryValues]) -> tuple[Doubles, Doubles, Mask]:
    """Return values, weights and counted flags of all queries; the weights of each set are one.

    A query weighs 1 over the queries of its set, but for a factor that makes the sum of all
    weights the number of queries. Values are shifted so that each set has the mean of all: the
    error of a query is that from its own set's mean.
    """
    mean = math.fsum(values.mean for values in scores) / len(scores)
    sizes = [int(np.count_nonzero(values.counted)) for values in scores]
    share = sum(sizes) / len(sizes)
    weight = np.concatenate([np.full(len(values.values), share / max(size, 1))
                             for values, size in zip(scores, sizes)])
    return (np.concatenate([values.values - values.mean + mean for values in scores]), weight,
            np.concatenate([values.counted for values in scores]))


# ---------------------------------------------------------------- over all galleries

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

    def _query_values(self, metric: str) -> QueryValues:
        """As `Result._query_values`, each one weighted by how often its query asks."""
        values, weight, counted = self._weighted(metric)
        weighted = values * weight * (self.counted / weight.sum())
        return QueryValues(self.value(metric), weighted, counted)

    def _mean_of(self, which: Measure) -> float:
        values, weight, counted = self._weighted(which.name)
        values, weight = values[counted], weight[counted]
        return float(mean_in_order(values * weight) * len(values) / weight.sum())

    def _of_query(self, which: Measure) -> Doubles:
        if which.of_curve:
            check_count(which.k, "k", 1, len(self.cmc))
        counted = self.per_query.n_good > 0
        return for_all(which.expectation(self.per_query.ap[counted], self.match), counted, np.nan)

    def _pairs(self) -> dict[str, int]:
        return {}

    def _source_values(self) -> dict[str, Any]:
        """Return what each query with a good image has on average; `match` is row after row."""
        return {"expected": json_values({
            "reciprocal": self.per_query.ap[self.per_query.matched], "weight": self.weight,
            "match": self.match.ravel(), "sd": self.draws})}

    def _weighted(self, metric: str) -> tuple[Doubles, Doubles, Mask]:
        values, counted = self._of_query(measure(metric)), self.per_query.n_good > 0
        return np.where(counted, values, 0.0), for_all(self.weight, counted, 0.0), counted


def of_chances(reciprocal: Doubles, weight: Doubles, match: Doubles, draws: Mapping[str, float],
               asked: Asked, n_identity: int, convention: Convention, signature: Signature,
               fingerprints: Fingerprints) -> Expectation:
    """Return the expectation, given what each query with a good image, of status "ok", has.

    Parameters
    ----------
    reciprocal : float64, shape (n,)
        The mean of 1 / rank.
    weight, match, draws
        As `Expectation` has them.
    asked : Asked
    n_identity : int
        Identities in the gallery.
    convention, signature, fingerprints
        As `Result` has them.
    """
    matched, none = asked.status == "ok", np.zeros(len(asked.status), np.int64)
    per_query = PerQuery(
        values={each.name: for_all(each.expectation(reciprocal, match), matched, np.nan)
                for each in COLUMNS},
        first_match=none, n_good=matched.astype(np.int64), n_junk=none, **asked._asdict())
    n, hits = len(weight), match * weight[:, np.newaxis]
    status = dict.fromkeys(STATUSES, 0) | {"ok": n, "identity absent": len(matched) - n}
    return Expectation(
        cmc=np.cumsum(hits, axis=0)[-1] / weight.sum(), per_query=per_query, signature=signature,
        counts=Counts(len(matched), n_identity, 0, 0, 0, n_identity, n, 0, 0, status),
        convention=convention, ranks=NO_RANKS, weight=weight, match=match, draws=draws,
        fingerprints=fingerprints)
