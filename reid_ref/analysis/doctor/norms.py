"""What dividing features by their 2-norms changes: the share of wrong pairs, raw and normalised.

A pair of a good and a wrong image is wrong where the wrong one is nearer; a tie is half. The ratio
of the two shares is as good for strong models as for weak ones (docs/baselines.md).
"""
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from reid_ref.analysis.doctor.finding import Finding
from reid_ref.analysis.doctor.sample import Sample, shares_nearer
from reid_ref.analysis.doctor.sides import norms_of_sides
from reid_ref.arrays import Array, Doubles
from reid_ref.evaluation.how import NORMALISED, How
from reid_ref.evaluation.norms import some_names
from reid_ref.evaluation.ranked import lengths

#: Reported from this ratio of the shares on, either way, ...
RATIO = 1.2
#: ... if more queries gain than lose by so many standard errors of a fair coin. The mean of a
#: strong model hangs on a few queries; their signs do not.
ERRORS = 2


class WrongShares(NamedTuple):
    """The shares of wrong pairs, means over queries, and of how many queries normalising makes the
    share smaller or greater.
    """

    raw: float
    normalised: float
    smaller: int
    greater: int

    @property
    def falls(self) -> bool:
        """Whether normalising makes the share smaller by `RATIO` or more."""
        return self._clearer > ERRORS and self.raw >= RATIO * self.normalised

    @property
    def rises(self) -> bool:
        """Whether normalising makes the share greater by `RATIO` or more."""
        return self._clearer < -ERRORS and self.normalised >= RATIO * self.raw

    @property
    def _clearer(self) -> float:
        """Queries that gain less those that lose, in standard errors."""
        changed = self.smaller + self.greater
        return (self.smaller - self.greater) / math.sqrt(max(changed, 1))


@dataclass(frozen=True)
class SampleFeatures:
    """The features of a sample.

    Parameters
    ----------
    query : array, shape (n, d)
    gallery : array, shape (m, d)
    distances : float64, shape (n, m)
        Minus the cosine.
    sample : Sample
    scores : float64, shape (k,)
        `shares_nearer` of these distances.
    """

    query: Array
    gallery: Array
    distances: Doubles
    sample: Sample
    scores: Doubles
    _raw: dict[str, Doubles] = field(default_factory=dict)

    def scores_of(self, scaling: str) -> Doubles:
        """Return `shares_nearer` of normalised features, or of raw ones by a metric."""
        if scaling == NORMALISED:
            return self.scores
        if scaling not in self._raw:
            norms = lengths(self.gallery)
            raw = norms * self.distances
            if scaling == "euclidean":
                raw = norms * norms + 2 * lengths(self.query)[:, np.newaxis] * raw
            self._raw[scaling] = shares_nearer(raw, self.sample)
        return self._raw[scaling]

    def wrong_shares(self, metric: str = "euclidean") -> WrongShares | None:
        """Return both shares, the raw one by "euclidean" or "dot"; None without wrong images."""
        if not len(self.scores):
            return None
        scores = self.scores_of(metric)
        return WrongShares(1 - float(scores.mean()), 1 - float(self.scores.mean()),
                           int((scores < self.scores).sum()), int((scores > self.scores).sum()))


Findings = Iterator[Finding]


class OfNorms(NamedTuple):
    """How the features are ranked, by `How.scaling`, and what to check of their norms."""

    ranked: Sequence[str]
    check: Callable[[SampleFeatures], Findings]


def norms_vary(features: SampleFeatures) -> Findings:
    """Report norms of two kinds, or raw features that rank otherwise, by Euclidean distance."""
    if of_sides := list(norms_of_sides(features.query, features.gallery)):
        yield from of_sides
        return
    shares = features.wrong_shares()
    if shares is None or not (shares.falls or shares.rises):
        return
    norms = lengths(features.gallery)
    spread = float(norms.std() / norms.mean())
    yield Finding(
        "doctor:norms-vary", "note",
        f"The norms of the gallery's features vary by {100 * spread:.1f} % (standard deviation "
        "over mean), and raw features rank otherwise: a wrong image is nearer than a good one in "
        f"{_percent(shares.raw)} % of the pairs, normalised in {_percent(shares.normalised)} %.",
        {"spread": round(spread, 4), **_evidence(shares)},
        "torchreid and open-reid rank raw features by default, matlab, BoT and TransReID "
        "normalised ones: print the signature with the number.")


#: Of a file alone, without a convention.
norms_of_a_file = OfNorms([NORMALISED], norms_vary)


def raw_features(how: How) -> OfNorms:
    """Return what warns where a convention ranks raw features and normalised ones rank better."""
    ranked: dict[str, list[str]] = {}
    for convention in how.conventions:
        ranked.setdefault(how.scaling(convention), []).append(convention.name)
    raw = {scaling: names for scaling, names in ranked.items() if scaling != NORMALISED}
    return OfNorms([*ranked], lambda features: _better_normalised(features, raw))


def _better_normalised(features: SampleFeatures, ranked: Mapping[str, Sequence[str]]) -> Findings:
    of_sides = list(norms_of_sides(features.query, features.gallery)) if ranked else []
    yield from of_sides
    for metric, names in {} if of_sides else ranked.items():
        shares = features.wrong_shares(metric)
        if shares is not None and shares.falls:
            yield Finding(
                "doctor:norms-vary", "warning",
                f"Features are ranked as they are ({some_names(names)}): in a sample, a "
                f"wrong image is nearer than a good one in {_percent(shares.raw)} % of the pairs; "
                f"divided by their 2-norms, in {_percent(shares.normalised)} %.",
                _evidence(shares), "Codes that normalise print another number.")


def _evidence(shares: WrongShares) -> dict[str, int | float]:
    return {"wrong_raw": round(shares.raw, 6), "wrong_normalised": round(shares.normalised, 6)}


def _percent(share: float) -> str:
    """Return a share in percent, to two significant digits."""
    return np.format_float_positional(
        100 * share, 2, unique=False, fractional=False, trim="k").rstrip(".")
