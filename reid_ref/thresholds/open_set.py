"""DIR at FAR: queries whose identity the gallery lacks are to be rejected."""
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles, Mask
from reid_ref.conventions import CONVENTIONS
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Ranked
from reid_ref.labels import Labels
from reid_ref.thresholds import intervals
from reid_ref.thresholds.impostors import Impostors
from reid_ref.thresholds.questions import most_accepted
from reid_ref.thresholds.values import OpenSet, OpenSetPoint

#: Ranks of DIR.
RANKS = 1, 5, 10


def open_set_of(ranked: Ranked, query: Labels, gallery: Labels, how: How, impostors: Impostors,
                absent: Mask, rates: Sequence[float],
                confidence: Mapping[str, Any] | None) -> OpenSet | None:
    """Return DIR at each rate; None without a query in `absent`, whose identity is not there."""
    if not absent.any():
        return None
    metric, normalize = how.distance()
    record = CONVENTIONS["matlab"].replace(ignored=how.conventions[0].not_ranked)
    ranks = ranked.ranks(query, gallery, replace(
        how, conventions=(record,), metric=metric, normalize=normalize, progress=None)).of(record)
    matched = ranks.found > 0
    first = (np.cumsum(ranks.found) - ranks.found)[matched]
    rank, best = np.zeros(len(query), dtype=np.int64), np.full(len(query), np.inf)
    rank[matched] = ranks.rank[first]
    best[matched] = np.minimum.reduceat(impostors.genuine, first)
    nearest = np.sort(impostors.nearest[absent])
    at, shares = {}, {}
    for rate in rates:
        value = _at_rate(nearest, rate)
        identified = {k: matched & (best <= value) & (rank <= k) for k in RANKS}
        shares.update({(rate, k): (hits.astype(np.float64), matched)
                       for k, hits in identified.items()})
        accepted = int(np.searchsorted(nearest, value, side="right"))
        at[rate] = OpenSetPoint(value, accepted, accepted / len(nearest), {
            k: float(np.count_nonzero(hits) / len(first)) for k, hits in identified.items()})
    if confidence is not None:
        found = intervals.of_shares(query, shares, **confidence)
        at = {rate: replace(point, intervals={k: found[rate, k] for k in RANKS})
              for rate, point in at.items()}
    return OpenSet(len(first), len(nearest), at)


def _at_rate(nearest: Doubles, far: float) -> float:
    """Return the threshold, as `questions.at_rate`, from all distances in ascending order."""
    most = most_accepted(far, len(nearest))
    if most < len(nearest):
        most = int(np.searchsorted(nearest, nearest[most]))
    return float(nearest[most - 1] if most else np.nextafter(nearest[0], -np.inf))
