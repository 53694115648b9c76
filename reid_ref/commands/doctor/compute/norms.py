"""What dividing features by their 2-norms changes: the share of wrong pairs, raw and normalised.

A pair of a good and a wrong image is wrong where the wrong one is nearer; a tie is half. The ratio
of the two shares is as good for strong models as for weak ones (docs/baselines.md).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles
from reid_ref.commands.doctor.compute.finding import Finding
from reid_ref.commands.doctor.compute.sample import Sample, shares_nearer
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import lengths

Array = npt.NDArray[Any]
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


class SampleFeatures(NamedTuple):
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

    def wrong_shares(self, metric: str = "euclidean") -> WrongShares | None:
        """Return both shares, the raw one by "euclidean" or "dot"; None without wrong images."""
        if not len(self.scores):
            return None
        norms = lengths(self.gallery)
        raw = norms * self.distances
        if metric == "euclidean":
            raw = norms * norms + 2 * lengths(self.query)[:, np.newaxis] * raw
        scores = shares_nearer(raw, self.sample)
        return WrongShares(1 - float(scores.mean()), 1 - float(self.scores.mean()),
                           int((scores < self.scores).sum()), int((scores > self.scores).sum()))


Findings = Iterator[Finding]


def norms_vary(features: SampleFeatures) -> Findings:
    """Report raw features that rank otherwise, by Euclidean distance."""
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


def raw_features(how: How) -> Callable[[SampleFeatures], Findings]:
    """Return what warns where a convention ranks raw features and normalised ones rank better."""
    ranked: dict[str, list[str]] = {}
    for convention in how.conventions:
        ranked.setdefault(how.scaling(convention), []).append(convention.name)
    ranked.pop("normalized", None)
    return lambda features: _better_normalised(features, ranked)


def _better_normalised(features: SampleFeatures, ranked: Mapping[str, Sequence[str]]) -> Findings:
    for metric, names in ranked.items():
        shares = features.wrong_shares(metric)
        if shares is not None and shares.falls:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            yield Finding(
                "doctor:norms-vary", "warning",
                f"Features are ranked as they are ({', '.join(names[:3])}{more}): in a sample, a "
                f"wrong image is nearer than a good one in {_percent(shares.raw)} % of the pairs; "
                f"divided by their 2-norms, in {_percent(shares.normalised)} %.",
                _evidence(shares), "Codes that normalise print another number.")


def _evidence(shares: WrongShares) -> dict[str, int | float]:
    return {"wrong_raw": round(shares.raw, 6), "wrong_normalised": round(shares.normalised, 6)}


def _percent(share: float) -> str:
    """Return a share in percent, to two significant digits."""
    return np.format_float_positional(
        100 * share, 2, unique=False, fractional=False, trim="k").rstrip(".")
