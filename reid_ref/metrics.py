"""`GoodRanks` to one number per query: a function for each metric and each AP rule.

Sums add one term after another, in order of rank, as Octave does.

All rules of average precision (AP) return shape (n_query,), in [0, 1]: NaN if no good image
exists (0/0 in the scripts), but 0 if no image is kept, because then the scripts' loop adds no
term.

CMC curves over identities (of SYSU-MM01, and of single-gallery-shot) depend on which identities
come before a good image, not only on the number of images. So each row is sorted, which takes
longer than ranks; only conventions with such a curve do it. An identity is a label; -1 and 0,
if they are kept, are one identity each. `ties` is a key of `conventions.TIES`; "grouped" keeps
gallery order here.
"""
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Array, Doubles, Integers, Mask
from reid_ref.labels import Labels, QueryLists
from reid_ref.ranking.good_ranks import GoodRanks, first_ranks, in_order
from reid_ref.ranking.roles import query_roles

#: Galleries that `single_gallery_shot_draws` draws.
DRAWS = 10


def per_query_share(sums: Array, n_query: int) -> Doubles:
    """Return sums over queries divided by `n_query`, in the precision of `sums`; NaN of none.

    Examples
    --------
    >>> per_query_share(np.array([1., 2.]), 2), per_query_share(np.array([1.]), 0)
    (array([0.5, 1. ]), array([nan]))
    """
    if not n_query:
        return np.full(len(sums), np.nan)
    return sums / (sums.dtype.type(n_query) if sums.dtype.kind == "f" else n_query)


def mean_in_order(values: Doubles) -> float:
    """Mean by adding one value after another, as Octave's `sum` does; NaN of no value."""
    return float(np.cumsum(values)[-1] / len(values)) if len(values) else float("nan")


def mean_in_float32(values: Doubles) -> float:
    """Mean by a running sum in float32; NaN of no value."""
    if not len(values):
        return float("nan")
    total = np.cumsum(values.astype(np.float32), dtype=np.float32)[-1]
    return float(total / np.float32(len(values)))


def n_good_of(ranks: GoodRanks) -> Doubles:
    return np.repeat(ranks.n_good, ranks.found).astype(np.float64)


def precision_before(nth: npt.NDArray[np.number], rank: Integers) -> Doubles:
    """Precision at the position before each hit; 1 before the first position."""
    before = np.ones(len(rank))
    np.divide(nth - 1, rank - 1, out=before, where=rank > 1)
    return before


def tie_groups(ranks: GoodRanks) -> tuple[GoodRanks, Integers, Integers]:
    """Return one entry for each group of equally distant good images of a query.

    Returns
    -------
    groups : GoodRanks
        `rank`, `nearer` and `tied` of the first of each group; `found` counts groups.
    before, hits : int64
        Good images strictly nearer than the group, and in it.
    """
    query, nth = ranks.query, ranks.nth
    first = (nth == 1) | (ranks.nearer != np.roll(ranks.nearer, 1))
    if first.all():  # the common case, and the quick one
        return ranks, nth - 1, np.ones_like(nth)
    index = np.flatnonzero(first)
    hits = np.diff(np.append(index, len(query)))
    groups = replace(ranks, rank=ranks.rank[index], nearer=ranks.nearer[index],
                     tied=ranks.tied[index], image=ranks.image[index],
                     found=np.bincount(query[index], minlength=len(ranks.found)))
    return groups, nth[index] - 1, hits


def tied_queries(ranks: GoodRanks) -> Integers:
    """Return the queries with a good and a wrong image at one distance."""
    groups, _, hits = tie_groups(ranks)
    return np.unique(groups.query[groups.tied > hits])


def sum_by_query(ranks: GoodRanks, terms: Doubles) -> Doubles:
    # bincount adds to 0 in order of rank, as compute_AP.m does.
    total = np.bincount(ranks.query, weights=terms, minlength=len(ranks.found))
    return unmatched_as_nan(ranks, total)


def mean_over_good(ranks: GoodRanks, terms: Doubles) -> Doubles:
    """Return each query's sum of terms over its number of good images."""
    total = sum_by_query(ranks, terms)
    return np.divide(total, ranks.n_good, out=total, where=ranks.n_good > 0)


def sum_in_float32(ranks: GoodRanks, terms: Doubles) -> npt.NDArray[np.float32]:
    """Running sum of each query, rounded to float32 after each addition in double."""
    total = np.zeros(len(ranks.found), dtype=np.float32)
    start = np.cumsum(ranks.found) - ranks.found
    more = np.arange(len(total))
    for k in range(int(ranks.found.max(initial=0))):
        more = more[ranks.found[more] > k]
        total[more] = (total[more] + terms[start[more] + k]).astype(np.float32)
    return total


def unmatched_as_nan(ranks: GoodRanks, values: npt.NDArray[np.number]) -> Doubles:
    doubles = values.astype(np.float64)
    doubles[(ranks.n_good == 0) & (ranks.n_kept > 0)] = np.nan
    return doubles


def average_precision_trapezoid(ranks: GoodRanks) -> Doubles:
    """Average precision as `compute_AP.m` computes it.

    The area under the precision-recall curve by trapezoids. The precision before a hit is
    that of the *position* before it, not of the hit before it, and 1 before the first
    position. The recall step is k/n - (k-1)/n, which is not the same double as 1/n.

    Examples
    --------
    Three lists of five images; five good images exist for each.

    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> lists = from_lists([[1, 4, 5], [2, 3, 4], [1, 3, 4]], n_good=5, n_kept=5)
    >>> average_precision_trapezoid(lists).round(5)
    array([0.39333, 0.30833, 0.45833])
    """
    nth, n_good = ranks.nth.astype(np.float64), n_good_of(ranks)
    recall, old_recall = nth / n_good, (nth - 1) / n_good
    precision, old_precision = nth / ranks.rank, precision_before(nth, ranks.rank)
    return sum_by_query(ranks, (recall - old_recall) * ((old_precision + precision) / 2))


def average_precision_layumi(ranks: GoodRanks) -> Doubles:
    """The trapezoid of layumi's evaluate.py: the recall step is 1/n, and is halved last.

    It differs from `average_precision_trapezoid` in the last bits only.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> average_precision_layumi(from_lists([[1, 4, 5]], n_good=5)).round(5)
    array([0.39333])
    """
    nth = ranks.nth.astype(np.float64)
    both = precision_before(nth, ranks.rank) + nth / ranks.rank
    return sum_by_query(ranks, 1.0 / n_good_of(ranks) * both / 2)


def average_precision_mistaken_trapezoid(ranks: GoodRanks) -> Doubles:
    """The trapezoid with the precision of the *hit* before, not of the position before.

    A common mistake, implemented so that published numbers computed with it can be checked. The
    precision before the first hit is 1 at rank 1, else 0.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> average_precision_mistaken_trapezoid(from_lists([[1, 4, 5]], n_good=5)).round(5)
    array([0.46])
    """
    nth = ranks.nth.astype(np.float64)
    precision = nth / ranks.rank
    first = nth == 1
    old_precision = np.where(first, ranks.rank == 1, np.roll(precision, 1))
    return sum_by_query(ranks, (old_precision + precision) / 2 / n_good_of(ranks))


def average_precision_step(ranks: GoodRanks) -> Doubles:
    """Average precision by rectangles: the mean precision at the good images.

    The AP of most Python evaluators. Never below the trapezoid on the same ranking.

    Examples
    --------
    Good images at ranks 1, 2, 10, at 1, 4, 5, and at 1, 3:

    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> average_precision_step(from_lists([[1, 2, 10], [1, 4, 5], [1, 3]])).round(4)
    array([0.7667, 0.7   , 0.8333])
    """
    return mean_over_good(ranks, ranks.nth / ranks.rank)


def average_precision_grouped_trapezoid(ranks: GoodRanks) -> Doubles:
    """scikit-learn 0.18: trapezoids over one point for each distinct distance.

    Without ties this is the official trapezoid. Equal distances share one point of the curve.

    Examples
    --------
    Two good and two wrong images at the smallest distance: 2/2 * (1 + 2/4) / 2.

    >>> from dataclasses import replace
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> tied = from_lists([[1, 2]], n_kept=4)
    >>> tied = replace(tied, nearer=np.zeros(2, int), tied=np.full(2, 4))
    >>> average_precision_grouped_trapezoid(tied)
    array([0.75])
    """
    groups, before, hits = tie_groups(ranks)
    n_good = n_good_of(groups)
    precision = (before + hits) / (groups.nearer + groups.tied)
    old_precision = np.ones_like(precision)
    np.divide(before, groups.nearer, out=old_precision, where=groups.nearer > 0)
    recall_step = (before + hits) / n_good - before / n_good
    return sum_by_query(groups, recall_step * (old_precision + precision) / 2)


def average_precision_grouped_step(ranks: GoodRanks) -> Doubles:
    """scikit-learn since 0.19: recall gained by each distinct distance times its precision.

    Without ties this is the step rule. Equal distances share one point of the curve.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> tied = from_lists([[1, 2]], n_kept=4)
    >>> tied = replace(tied, nearer=np.zeros(2, int), tied=np.full(2, 4))
    >>> average_precision_grouped_step(tied)
    array([0.5])
    """
    groups, before, hits = tie_groups(ranks)
    n_good = n_good_of(groups)
    precision = (before + hits) / (groups.nearer + groups.tied)
    return sum_by_query(groups, ((before + hits) / n_good - before / n_good) * precision)


def average_precision_step_float32(ranks: GoodRanks) -> Doubles:
    """The step rule of the Cython evaluators: a running sum in float32 of double quotients.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> average_precision_step_float32(from_lists([[1, 3]]))
    array([0.83333331])
    """
    total = sum_in_float32(ranks, ranks.nth / ranks.rank)
    n_good = np.maximum(ranks.n_good, 1).astype(np.float32)
    return unmatched_as_nan(ranks, total / n_good)


def average_precision_trapezoid_float32(ranks: GoodRanks) -> Doubles:
    """The trapezoid of Oxford's compute_ap.cpp: recall, precision and sum in float32.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> average_precision_trapezoid_float32(from_lists([[1, 4, 5]], n_good=5))
    array([0.39333335])
    """
    single = np.float32
    nth, n_good = ranks.nth.astype(single), n_good_of(ranks).astype(single)
    step = nth / n_good - (nth - 1) / n_good
    old_precision = precision_before(ranks.nth, ranks.rank).astype(single)
    both = old_precision + (ranks.nth / ranks.rank).astype(single)
    return unmatched_as_nan(
        ranks, sum_in_float32(ranks, step.astype(np.float64) * (both.astype(np.float64) / 2)))


def cumulative_matching(first_match: Integers, length: int, n_query: int) -> Doubles:
    """CMC: the share of queries whose first match has rank k or less.

    Parameters
    ----------
    first_match : int64, shape (n,)
        Rank of each query's first match; 0 is never.
    length : int
        Length of the curve.
    n_query : int
        The number to divide by.

    Returns
    -------
    float64, shape (length,)
        Rank-k is entry k - 1.

    Examples
    --------
    >>> cumulative_matching(np.array([2, 1]), length=5, n_query=2)
    array([0.5, 1. , 1. , 1. , 1. ])
    """
    matches = first_match[(first_match > 0) & (first_match <= length)]
    return per_query_share(np.cumsum(np.bincount(matches, minlength=length + 1)[1:]), n_query)


def cumulative_matching_all_shots(ranks: GoodRanks, length: int, n_query: int) -> Doubles:
    """CMC of open-reid without `first_match_break`: each of n good images counts 1/n.

    Each counts at its rank among the wrong images: its rank less the good images before it.

    Examples
    --------
    Two good images, at ranks 1 and 3: the second has one wrong image before it.

    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> cumulative_matching_all_shots(from_lists([[1, 3]]), length=3, n_query=1)
    array([0.5, 1. , 1. ])
    """
    place = ranks.rank - ranks.nth  # from 0
    inside = place < length
    weight = 1.0 / n_good_of(ranks)[inside]
    steps = np.bincount(place[inside], weights=weight, minlength=length).astype(np.float64)
    return per_query_share(np.cumsum(steps), n_query)


def all_shots_at(ranks: GoodRanks, k: int) -> Doubles:
    """Share of each query's good images that have fewer than k wrong ones before them.

    Its mean over queries is point k of `cumulative_matching_all_shots`.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> all_shots_at(from_lists([[1, 3], [2]]), 1)
    array([0.5, 0. ])
    """
    return _hits(ranks, ranks.rank - ranks.nth < k) / np.maximum(ranks.n_good, 1)


def accuracy_at(ranks: GoodRanks, k: int) -> Doubles:
    """AccK of each query: 1 if a good image is among the first k kept ones, else 0.

    Its mean over queries is Rank-k, one point of the CMC curve.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> accuracy_at(from_lists([[1, 4, 5], [2, 3, 4]]), 1)
    array([1., 0.])
    """
    return ((ranks.first_match > 0) & (ranks.first_match <= k)).astype(np.float64)


def precision_at(ranks: GoodRanks, k: int) -> Doubles:
    """Share of good images among the first k kept ones, of each query.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> precision_at(from_lists([[1, 4, 5], [2, 3, 4]], n_good=5), 5)
    array([0.6, 0.6])
    """
    return _hits(ranks, ranks.rank <= k) / k


def recall_at(ranks: GoodRanks, k: int) -> Doubles:
    """Share of the existing good images that are among the first k kept ones; NaN of none.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> recall_at(from_lists([[1, 4, 5], [2, 3, 4]], n_good=5), 3)
    array([0.2, 0.4])
    """
    return _over(_hits(ranks, ranks.rank <= k), ranks.n_good)


def precision_recall_curve(ranks: GoodRanks, k: int) -> tuple[Doubles, Doubles]:
    """Precision and recall of every query at each of the first k kept places.

    Returns
    -------
    precision, recall : float64, shape (n_query, k)

    Examples
    --------
    A list of five images holds three of five existing good images:

    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> precision, recall = precision_recall_curve(from_lists([[1, 4, 5]], n_good=5), 5)
    >>> precision.round(2), recall
    (array([[1.  , 0.5 , 0.33, 0.5 , 0.6 ]]), array([[0.2, 0.2, 0.2, 0.4, 0.6]]))
    """
    n = len(ranks.found)
    inside = ranks.rank <= k
    steps = np.bincount(ranks.query[inside] * k + ranks.rank[inside] - 1, minlength=n * k)
    hits = np.cumsum(steps.reshape(n, k), axis=1).astype(np.float64)
    return hits / np.arange(1, k + 1), _over(hits, ranks.n_good[:, np.newaxis])


def _hits(ranks: GoodRanks, inside: Mask) -> Integers:
    """Return how many good images of each query are under the mask `inside`."""
    return np.bincount(ranks.query[inside], minlength=len(ranks.found))


def _over(sums: Array, numbers: Array) -> Doubles:
    """Return sums divided by numbers, NaN where a number is 0."""
    share = np.full(sums.shape, np.nan)
    np.divide(sums, numbers, out=share, where=numbers > 0)
    return share


def inverse_negative_penalty(ranks: GoodRanks) -> Doubles:
    """INP of each query: number of good images / rank of the last of them.

    Returns
    -------
    float64, shape (n_query,)
        In (0, 1]. NaN if no good image exists or if not all of them have a rank.

    References
    ----------
    Ye et al., Deep Learning for Person Re-identification: A Survey and Outlook, TPAMI 2021.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> inverse_negative_penalty(from_lists([[1, 2, 10], [1, 4, 5], []]))
    array([0.3, 0.6, nan])
    """
    values = np.full(len(ranks.found), np.nan)
    complete = (ranks.found == ranks.n_good) & (ranks.found > 0)
    last = np.cumsum(ranks.found)[complete] - 1
    values[complete] = ranks.n_good[complete] / ranks.rank[last]
    return values


def r_precision(ranks: GoodRanks) -> Doubles:
    """Share of good images among the first R kept ones, R good images existing; NaN of none.

    Examples
    --------
    Two of the first three are good; one of the first two:

    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> r_precision(from_lists([[1, 3, 5], [2, 3]])).round(4)
    array([0.6667, 0.5   ])
    """
    inside = ranks.rank <= np.repeat(ranks.n_good, ranks.found)
    return _over(_hits(ranks, inside), ranks.n_good)


def average_precision_at_r(ranks: GoodRanks) -> Doubles:
    """Precision at each good image among the first R kept ones, added up, over R, the number of
    good images that exist; NaN of none.

    Examples
    --------
    Good images at ranks 1, 3 and 5, of which two are among the first three: (1 + 2/3) / 3.

    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> average_precision_at_r(from_lists([[1, 3, 5], [2, 3]])).round(4)
    array([0.5556, 0.25  ])
    """
    inside = ranks.rank <= np.repeat(ranks.n_good, ranks.found)
    sums = np.bincount(ranks.query[inside], (ranks.nth / ranks.rank)[inside],
                       minlength=len(ranks.found))
    return _over(sums, ranks.n_good)


def reciprocal_rank(ranks: GoodRanks) -> Doubles:
    """1 / rank of each query's first good image, 0 if it has no rank; NaN of none.

    Examples
    --------
    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> reciprocal_rank(from_lists([[1, 4], [4], []], n_good=[2, 1, 1]))
    array([1.  , 0.25, 0.  ])
    """
    first, share = first_ranks(ranks), np.where(ranks.n_good > 0, 0.0, np.nan)
    np.divide(1.0, first, out=share, where=first > 0)
    return share


def normalized_gain_at(ranks: GoodRanks, k: int) -> Doubles:
    """nDCG of the first k kept images, each good one of gain 1 and all others of 0; NaN of none.

    A good image at rank r adds 1 / log2(r + 1), and the sum is divided by that of the best list.

    Examples
    --------
    Good images at ranks 1 and 3: (1 + 1/2) / (1 + 1 / log2(3)).

    >>> from reid_ref.ranking.good_ranks import from_lists
    >>> normalized_gain_at(from_lists([[1, 3], [4]]), 3).round(4)
    array([0.9197, 0.    ])
    """
    inside, n = ranks.rank <= k, len(ranks.found)
    gain = np.bincount(ranks.query[inside], weights=1 / np.log2(ranks.rank[inside] + 1.0),
                       minlength=n)
    most = np.minimum(ranks.n_good, k)
    best = np.append(0.0, np.cumsum(1 / np.log2(np.arange(2.0, most.max(initial=0) + 2))))
    return _over(gain, best[most])


class DistanceRows(NamedTuple):
    """Distances of some queries to the whole gallery, and what is ignored; `lists` are theirs."""

    distances: Array
    query: Labels
    gallery: Labels
    ignored: Iterable[str]
    ties: str = "gallery-order"
    lists: QueryLists | None = None

    def matched(self) -> Iterator[tuple[int, Integers, Integers]]:
        """Yield each query with a good image: its number, its kept images by distance, and the
        positions of the good ones among them."""
        roles_of = query_roles(self.query, self.gallery, self.ignored, self.lists)
        for k, row in enumerate(self.distances):
            good, kept = roles_of(k)
            order = in_order(row, self.ties)
            order = order[kept[order]]
            good_places = np.flatnonzero(np.isin(order, good))
            if len(good_places):
                yield k, order, good_places


def identity_ranks(rows: DistanceRows, *_: Any) -> Integers:
    """Rank of each query's identity among the identities, by their nearest kept image.

    Returns
    -------
    int64, shape (n_query,)
        1-based; 0 without a good image.

    References
    ----------
    Wu et al., RGB-Infrared Cross-Modality Person Re-identification, ICCV 2017:
    get_cmc_multi_cam.m.

    Examples
    --------
    Two images of identity 8 are nearer, so one identity comes before 7.

    >>> identity_ranks(DistanceRows(np.array([[.1, .2, .3]]), Labels([7], [1]),
    ...                     Labels([8, 8, 7], [2, 2, 2]), ignored=()))
    array([2])
    """
    rank = np.zeros(len(rows.query), dtype=np.int64)
    code = np.unique(rows.gallery.identity, return_inverse=True)[1].reshape(-1)
    roles_of = query_roles(rows.query, rows.gallery, rows.ignored, rows.lists)
    for k, row in enumerate(rows.distances):
        good, kept = roles_of(k)
        good = good[kept[good]]
        if len(good):
            rank[k] = 1 + np.count_nonzero(np.bincount(
                code[_before_first(row, good, kept, rows.ties)]))
    return rank


def _before_first(row: Array, good: Integers, kept: Mask, ties: str) -> Integers:
    """Return the kept images before the first good one; a row is sorted only if that ties."""
    first = row[good].min()
    if np.count_nonzero(kept & (row == first)) == np.count_nonzero(row[good] == first) > 0:
        return np.flatnonzero(kept & (row < first))
    order = in_order(row, ties)
    order = order[kept[order]]
    return order[:np.argmax(np.isin(order, good))]


def single_gallery_shot(rows: DistanceRows, length: int, *_: Any) -> Doubles:
    """Expected CMC of each query if one kept image is drawn from each identity.

    Given the drawn good image, the drawn image of every other identity is nearer with a known
    probability, independently. The number of nearer ones has a Poisson-binomial distribution,
    whose first `length` terms are computed exactly.

    Returns
    -------
    float64, shape (n_query, length)
        Probability of a match at rank k or before; NaN without a good image.

    References
    ----------
    The protocol: Li et al., DeepReID, CVPR 2014; eval_cuhk03 of torchreid draws 10 times.

    Examples
    --------
    One of the two images of identity 8 is before the good image: probability 1/2.

    >>> single_gallery_shot(DistanceRows(np.array([[.1, .2, .3]]), Labels([7], [1]),
    ...                          Labels([8, 7, 8], [2, 2, 2]), ()), length=3)
    array([[0.5, 1. , 1. ]])
    """
    identities, code = np.unique(rows.gallery.identity, return_inverse=True)
    curves = np.full((len(rows.query), length), np.nan)
    roles_of = query_roles(rows.query, rows.gallery, rows.ignored, rows.lists)
    for k, row in enumerate(rows.distances):
        good, kept = roles_of(k)
        good = good[kept[good]]
        n_good = len(good)
        if not n_good:
            continue
        kept[good] = False
        wrong = np.flatnonzero(kept)
        cell = code[wrong] * (n_good + 1) + _good_before(row, good, wrong, rows.ties)
        counts = np.bincount(cell, minlength=len(identities) * (n_good + 1))
        before = np.cumsum(counts.reshape(len(identities), n_good + 1), axis=1)
        ahead = before[(before[:, -1] > 0) & (before[:, -2] > 0)]
        beaten = ahead[:, :-1] / ahead[:, -1:]
        number = np.zeros((n_good, length))  # probability of each number of identities before
        number[:, 0] = 1
        if length == 1:  # the same products, in the same order
            number[:, 0] = np.multiply.reduce(1 - beaten, axis=0)
            beaten = beaten[:0]
        for chance in beaten:
            moved = number[:, :-1] * chance[:, np.newaxis]
            number *= 1 - chance[:, np.newaxis]
            number[:, 1:] += moved
        curves[k] = np.minimum(np.cumsum(number, axis=1).mean(axis=0), 1.0)
    return curves


def _good_before(row: Array, good: Integers, wrong: Integers, ties: str) -> Integers:
    """Return how many good images are before each wrong one; a row is sorted only if these tie."""
    ordered, values = np.sort(row[good]), row[wrong]
    before = np.searchsorted(ordered, values)
    if np.array_equal(before, np.searchsorted(ordered, values, side="right")):
        return before
    place = np.argsort(in_order(row, ties))
    return np.searchsorted(np.sort(place[good]), place[wrong])


def single_gallery_shot_draws(rows: DistanceRows, length: int,
                              random: np.random.RandomState) -> Doubles:
    """CMC of each query as torchreid's eval_cuhk03 computes it, from 10 random draws.

    Images are drawn identity by identity, in order of the identity's nearest kept image. The
    evaluator has that order too, so that a seed gives its draws.

    Returns
    -------
    float64, shape (n_query, length)
        Multiples of 0.1; NaN without a good image.

    Examples
    --------
    >>> single_gallery_shot_draws(
    ...     DistanceRows(np.array([[.1, .2, .3]]), Labels([7], [1]),
    ...                  Labels([8, 7, 8], [2, 2, 2]), ()),
    ...     length=2, random=np.random.RandomState(0))
    array([[0.8, 1. ]])
    """
    curves = np.full((len(rows.query), length), np.nan)
    codes = np.unique(rows.gallery.identity, return_inverse=True)[1].reshape(-1)
    for k, kept, good_places in rows.matched():
        # The places of each identity, in order of its first one. Good images are one identity,
        # whatever the labels of images that are listed as good.
        code = codes[kept]
        code[good_places] = -1
        _, first, code, n_images = np.unique(
            code, return_index=True, return_inverse=True, return_counts=True)
        places = np.argsort(code.reshape(-1), kind="stable")
        start, order = np.cumsum(n_images) - n_images, np.argsort(first)
        good = int(np.flatnonzero(order == 0)[0])
        ranks = np.zeros(DRAWS, dtype=np.int64)
        for draw in range(DRAWS):
            drawn = places[start[order] + random.randint(0, n_images[order])]
            ranks[draw] = np.count_nonzero(drawn <= drawn[good])
        curves[k] = (ranks[:, np.newaxis] <= np.arange(1, length + 1)).sum(axis=0) / DRAWS
    return curves
