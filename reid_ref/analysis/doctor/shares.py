"""The shares of wrong pairs, raw and normalised.

A pair of a good and a wrong image is wrong where the wrong one is nearer; a tie is half. The ratio
of the two shares is as good for strong models as for weak ones (docs/baselines.md).
"""
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from reid_ref.analysis.doctor.sample import Sample, shares_nearer
from reid_ref.arrays import Array, Doubles
from reid_ref.evaluation.how import NORMALISED
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
