"""Intervals of TAR, FAR and DIR at given thresholds, by identity.

A genuine pair is of one identity, so TAR and DIR are means over queries, whose intervals
`reid_ref.statistics` makes. An impostor pair is of two: resampling the queries' identities alone
gives FAR too short an interval, so identities are drawn on both sides, a person once for both. To
first order the number accepted then changes by the identity's pairs as query and as image.
"""
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from reid_ref import statistics
from reid_ref.arrays import Doubles, Integers, Mask
from reid_ref.labels import DISTRACTOR, Labels
from reid_ref.ranking.roles import Roles
from reid_ref.statistics import Interval, UnitSums
from reid_ref.statistics.interval import check_level, logistic, student_or_nan
from reid_ref.statistics.units import by_unit_and_query


def of_shares(query: Labels, shares: Mapping[Any, tuple[Doubles, Integers | Mask]],
              **options: Any) -> dict[Any, Interval]:
    """Return the interval of each mean over queries, given their values and weights, by key."""
    sums = [by_unit_and_query(values, query.identity, weight > 0, weight)
            for values, weight in shares.values()]
    intervals = statistics.mean_intervals(sums, **options)
    return {key: replace(interval, unit="identity") for key, interval in zip(shares, intervals)}


def impostors_of(roles: Roles, row: Integers, image: Integers, n_query: int,
                 ) -> tuple[Integers, Integers]:
    """Return the number of impostor pairs of each query, and of each image.

    `row` and `image` are the genuine pairs.
    """
    n_gallery = len(roles.columns)
    of_query = roles.n_kept(n_query) - np.bincount(row, minlength=n_query)
    of_image = -np.bincount(np.append(roles.junk, image), minlength=n_gallery)
    for queries, mask in roles.by_gate(n_query):
        of_image += len(queries) * mask
    return of_query, of_image


def of_false_accepts(query: Labels, gallery: Labels, accepted: tuple[Integers, Integers],
                     every: tuple[Integers, Integers], level: float) -> Interval | None:
    """Return the interval of FAR, given pairs of each query and image; None if all are alike.

    Distractors are of unknown identity: each is one of its own.

    References
    ----------
    Hoeffding, A class of statistics with asymptotically normal distribution, Annals of
    Mathematical Statistics 19, 1948: the first-order variance of a mean over pairs.
    """
    alone = -1 - np.arange(len(gallery))
    identity = np.append(query.identity, np.where(gallery.identity <= DISTRACTOR, alone,
                                                  gallery.identity))
    unit = np.unique(identity, return_inverse=True)[1].reshape(-1)
    value, weight = (np.bincount(unit, weights=np.append(*sides)).astype(np.float64)
                     for sides in (accepted, every))
    sums = UnitSums(value[weight > 0], weight[weight > 0])
    rate, total = sums.mean, float(every[0].sum())
    # Every pair is in two units, so the sums are twice those of the pairs.
    error = 2 * statistics.standard_error(sums)
    if not 0 < rate < 1 or error == 0:
        return None
    identities = len(np.unique(query.identity))
    quantile = student_or_nan(max(identities - 1, 1), check_level(level))
    half = quantile * error / (rate * (1 - rate))
    middle, naive = math.log(rate / (1 - rate)), math.sqrt(rate * (1 - rate) / total)
    return Interval(rate, logistic(middle - half), logistic(middle + half), error, naive,
                    (error / naive)**2, "identity", len(sums.weight), len(query), "analytic",
                    level, 0, None)
