"""What is done to ranks and values of queries after ranking: other rules of AP."""
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from reid_ref.arrays import Doubles, read_only
from reid_ref.measures import MEASURES
from reid_ref.metrics import average_precision_step, average_precision_trapezoid
from reid_ref.ranking.good_ranks import GoodRanks, truncate
from reid_ref.result import Result


def in_whole_numbers(ranks: GoodRanks) -> Doubles:
    """Return AP where 1/n is divided in whole numbers: 0 but for queries with one good image.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> in_whole_numbers(from_lists([[2], [1, 2]]))
    array([0.25, 0.  ])
    """
    return np.where(ranks.n_good > 1, 0.0, average_precision_trapezoid(ranks))


def at_largest(ranks: GoodRanks) -> Doubles:
    """Return AP of as many places as any query has good images, over those found there.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> at_largest(from_lists([[1, 4], [2, 3, 4]])).round(4)
    array([1.    , 0.5833])
    """
    cut = truncate(ranks, int(ranks.n_good.max(initial=1)))
    return average_precision_step(
        replace(cut, n_good=np.where(cut.found > 0, cut.found, cut.n_good)))


def at_most(length: int, ranks: GoodRanks) -> Doubles:
    """Return AP of the first places, over as many good images as these can hold.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> at_most(2, from_lists([[1, 3, 4], [3]]))
    array([0.5, 0. ])
    """
    return average_precision_step(replace(
        truncate(ranks, length), n_good=np.minimum(ranks.n_good, length)))


def with_ap(rule: Callable[[GoodRanks], Doubles] | None) -> Callable[[Result], Result]:
    """Return what replaces the AP of each query; without a rule, by that of the whole list."""
    def changed(result: Result) -> Result:
        which = replace(
            MEASURES["mAP"], name="changed", places="the last good image" * (rule is None),
            of_ranks=lambda ranks, convention, k: rule(convention.cut_off(ranks)) if rule else
            convention.average_precision(ranks))
        return _with_values(result, result._of_query(which))
    return changed


#: AP of the whole list, where Rank-1 is of a cut one.
of_whole_list = with_ap(None)


def over_drawn(result: Result) -> Result:
    """Return the result with AP over drawn images, 1 over the rank of the good one: each query has
    the mean, for the curve does not tell queries apart.
    """
    mean = np.sum(np.diff(result.cmc, prepend=0) / np.arange(1, len(result.cmc) + 1))
    return _with_values(result, np.where(result.per_query.matched, mean, np.nan))


def _with_values(result: Result, ap: Doubles) -> Result:
    values = {**result.per_query.values, "mAP": read_only(ap)}
    return replace(result, per_query=replace(result.per_query, values=values))
