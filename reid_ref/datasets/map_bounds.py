"""The least and the greatest mAP that rankings with printed Rank-k and mINP can have.

AP by the step rule is the mean over a query's n good images of i/r, r being the rank of the i-th;
by the trapezoid rule the mean of (i/r + (i-1)/(r-1)) / 2, or 1 at r = 1. Both fall when any r
grows and the others stay. Printed Rank-k part the queries into classes by the rank f of the first
good image, such as 1, 2 to 5, 6 to 10, later. Of a query with n good and w wrong images

==========  =====================================================================
best AP     f is the first rank of its class; the good images are at f ... f+n-1
worst AP    f is the last rank of its class, at most w+1; the others at w+2 ... w+n
==========  =====================================================================

A query without a good image has AP 0 and is in the last class. Queries are ranked independently of
each other, so the extremes are those of a transport problem: how many queries of each group, alike
in n and w, are in each class, if Rank-k gives how many are in the first classes together. It has
whole solutions, so the bounds are tight: some distance matrix reaches them. Rules that count equal
distances as one group (scikit-learn's) can leave them if there are ties.

mINP adds the mean of n/l, l being the last good image's rank. AP is linear or convex in 1/l, so a
query's best AP less a multiple of its INP has l at one of its ends; every multiplier gives an
upper bound of the greatest mAP, and the least is taken (it can be above what rankings reach).

Source: derived here; `tests/datasets/test_map_bounds.py` compares with all rankings of small sets.
"""
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

import numpy as np

from reid_ref.arrays import Doubles, Integers
from reid_ref.metrics import average_precision_step, average_precision_trapezoid
from reid_ref.ranking.good_ranks import from_lists

#: AP rule to the AP of each query.
RULES = {"trapezoid": average_precision_trapezoid, "step": average_precision_step}
#: A gain that is no rounding of the sums, and the loss by what cannot be.
_GAIN, _NEVER = 1e-12, 1e9
#: The greatest multiplier of mINP that is tried, and how often its range is halved.
_MULTIPLIERS, _HALVINGS = 4.0, 24


def map_bounds(n_good: Integers, n_kept: Integers, hits: Mapping[int, tuple[int, int]], rule: str,
               drop: bool = False, most_inp: float | None = None) -> tuple[float, float] | None:
    """Least and greatest mAP over all rankings with so many first matches up to each rank.

    Parameters
    ----------
    n_good, n_kept : int64, shape (n_query,)
        Good images of each query, and images that count for it, good ones included.
    hits : mapping of int to (int, int)
        Rank k to the fewest and most queries whose first good image has rank k or less.
    rule : str
        A key of `RULES`.
    drop : bool
        Leave queries without a good image out of the mean, instead of counting AP 0.
    most_inp : float, optional
        The greatest sum of INP over the queries; the least mAP does not use it.

    Returns
    -------
    (float, float) or None
        None if no ranking has so many hits.

    Examples
    --------
    Two queries, each with two good images among four. One hit: at best ranks 1, 2 and
    2, 3, at worst 1, 4 and 3, 4. If both first matches are among the first two ranks, 2, 4.

    >>> import numpy as np
    >>> good, kept = np.array([2, 2]), np.array([4, 4])
    >>> low, high = map_bounds(good, kept, {1: (1, 1)}, "step")
    >>> round(low, 4), round(high, 4)  # (3/4 + 5/12) / 2 and (1 + 7/12) / 2
    (0.5833, 0.7917)
    >>> round(map_bounds(good, kept, {1: (1, 1), 2: (2, 2)}, "step")[0], 4)  # (3/4 + 1/2) / 2
    0.625
    """
    is_matched = n_good > 0
    divisor = int(np.count_nonzero(is_matched)) if drop else len(n_good)
    if not is_matched.any():
        found = any(fewest for fewest, _ in hits.values())
        return None if divisor == 0 or found else (0.0, 0.0)
    groups = _groups(n_good[is_matched].tobytes(), (n_kept - n_good)[is_matched].tobytes())
    sums = _least_and_greatest(groups, tuple(sorted(hits.items())), rule, most_inp)
    return None if sums is None else (sums[0] / divisor, sums[1] / divisor)


@lru_cache(maxsize=32)
def _groups(n_good: bytes, n_wrong: bytes) -> tuple[tuple[int, int, int], ...]:
    """Return the (good, wrong) that queries have, and how many have them; from bytes of int64."""
    pairs, size = np.unique(np.stack([np.frombuffer(n_good, np.int64), np.frombuffer(
        n_wrong, np.int64)]), axis=1, return_counts=True)
    return tuple(map(tuple, np.vstack([pairs, size]).T.tolist()))


@lru_cache(maxsize=4096)
def _least_and_greatest(groups: tuple[tuple[int, int, int], ...],
                        hits: tuple[tuple[int, tuple[int, int]], ...], rule: str,
                        most_inp: float | None) -> tuple[float, float] | None:
    """Return the same as sums, over queries with a good image."""
    edges = tuple(k for k, _ in hits)
    fewest, most = np.array([ends for _, ends in hits], dtype=np.int64).reshape(-1, 2).T
    sizes = Counter({(n, w): size for n, w, size in groups})
    worst = _greatest(-_average_precision(tuple(sizes), edges, rule)[0][1], sizes, fewest, most)
    if worst is None:
        return None
    if most_inp is None:  # wrong images beyond the last class's first rank change no best AP
        sizes = Counter()
        for n, w, size in groups:
            sizes[n, min(w, max(edges, default=0))] += size
    (best, _, later), inp = _average_precision(tuple(sizes), edges, rule)
    high, multiplier, step = np.inf, 0.0, _MULTIPLIERS
    for _ in range(1 if most_inp is None else _HALVINGS):
        first, second = best - multiplier * inp[0], later - multiplier * inp[2]
        total, counts = _greatest(np.maximum(first, second), sizes, fewest, most) or (np.inf, 0)
        high = min(high, total + multiplier * (most_inp or 0))
        is_over = np.nansum(counts * np.where(first >= second, inp[0], inp[2])) > (most_inp or 0)
        step /= 2
        multiplier = max(0.0, multiplier + (step if is_over else -step))
    return -worst[0], float(high)


@lru_cache(maxsize=32)
def _average_precision(pairs: tuple[tuple[int, int], ...], edges: tuple[int, ...],
                       rule: str) -> tuple[Doubles, Doubles]:
    """Return AP and INP of each group in each class, shape (3, groups, classes).

    The best; the worst; and the best with the last good image at the end. NaN if it cannot be.
    """
    ends = [*pairwise([0, *edges]), (max(edges, default=0), 10 ** 9)]
    lists: list[list[int]] = []
    for n, w in pairs:
        for before, end in ends:
            if before <= w:
                last = min(end, w + 1)
                lists += [[*range(before + 1, before + n + 1)], [last, *range(w + 2, w + n + 1)],
                          [*range(before + 1, before + n), w + n if n > 1 else last]]
    values = np.full((2, 3, len(pairs), len(ends)), np.nan)
    is_open = np.array([before for before, _ in ends]) <= np.array(pairs)[:, 1:]
    values[0][:, is_open] = RULES[rule](from_lists(lists)).reshape(-1, 3).T
    values[1][:, is_open] = np.array([len(ranks) / ranks[-1] for ranks in lists]).reshape(-1, 3).T
    return values[0], values[1]


def _greatest(value: Doubles, sizes: Counter[tuple[int, int]], fewest: Integers,
              most: Integers) -> tuple[float, Integers] | None:
    """Return the greatest sum of values over all ways to spread groups on classes, and such a way.

    From a way that the bounds allow, queries are moved round cycles of classes as long as that
    adds to the sum.

    Parameters
    ----------
    value : float64, shape (groups, classes)
        NaN where a group cannot be; a group can be in the first classes, up to one.
    sizes : Counter
        Group to its number of queries.
    fewest, most : int64, shape (classes - 1,)
        Queries in each class and those before it, together.
    """
    size, n_classes, is_open = np.array([*sizes.values()]), value.shape[1], ~np.isnan(value)
    last, total = is_open.sum(axis=1) - 1, int(size.sum())
    forced = np.array([size[last <= k].sum() for k in range(n_classes - 1)], dtype=np.int64)
    low = np.maximum.accumulate(np.maximum(fewest, forced))
    high = np.minimum.accumulate(np.minimum(most, total)[::-1])[::-1]
    if (low > high).any():
        return None
    value = np.where(is_open, value, -_NEVER)
    # Groups that must be early come first, then those that gain most by the first class.
    gain = value[:, 0] - value[:, min(1, n_classes - 1)]
    until = (high if gain.max() > 0 else low).copy()
    order = np.lexsort([-gain, last])
    ends, edges = np.cumsum(size[order])[:, None], np.array([0, *until, total])
    counts = np.zeros(value.shape, dtype=np.int64)
    counts[order] = np.maximum(0, np.minimum(ends, edges[1:]) - np.maximum(
        ends - size[order][:, None], edges[:-1]))
    while cycle := _cycle(value, counts, until - low, high - until):
        room = [int(counts[group, a]) if group >= 0 else
                int((until - low)[b] if b < a else (high - until)[a]) for a, b, group in cycle]
        for a, b, group in cycle:
            if group >= 0:
                counts[group, [a, b]] += [-min(room), min(room)]
            else:
                until[min(a, b)] += min(room) if a < b else -min(room)
    return float((value * counts).sum()), counts


def _cycle(value: Doubles, counts: Integers, below: Integers,
           above: Integers) -> list[tuple[int, int, int]]:
    """Return moves (class, class, group) that add to the sum; none if nothing does.

    Group -1 is the bounds' own room: one query more, or fewer, in the first classes.
    """
    change = np.where(counts[:, :, None] > 0, value[:, None] - value[:, :, None], -_NEVER)
    gain, group = change.max(axis=0), change.argmax(axis=0)
    np.fill_diagonal(gain, -_NEVER)
    for k, rooms in enumerate(zip(below, above)):
        for a, b, room in zip((k + 1, k), (k, k + 1), rooms):
            if room > 0 and gain[a, b] < 0:
                gain[a, b], group[a, b] = 0, -1
    reached, before = np.zeros(len(gain)), np.zeros(len(gain), dtype=np.int64)
    for _ in gain:
        ways = reached[:, None] + gain
        better = ways.max(axis=0) > reached + _GAIN
        if not better.any():
            return []
        before[better], reached[better] = ways.argmax(axis=0)[better], ways.max(axis=0)[better]
    place = int(better.argmax())
    for _ in gain:
        place = int(before[place])
    classes = [place]
    while len(classes) == 1 or classes[-1] != place:
        classes.append(int(before[classes[-1]]))
    return [(a, b, int(group[a, b])) for b, a in pairwise(classes)]
