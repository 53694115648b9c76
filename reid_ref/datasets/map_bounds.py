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
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from reid_ref.arrays import Doubles, Integers
from reid_ref.metrics import average_precision_step, average_precision_trapezoid
from reid_ref.ranking.good_ranks import from_lists

#: AP rule to the AP of each query.
RULES = {"trapezoid": average_precision_trapezoid, "step": average_precision_step}
#: A gain that is no rounding of the sums.
_GAIN = 1e-12
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
    if divisor == 0:
        return None
    edges = tuple(sorted(hits))
    bounds = np.array([hits[k] for k in edges], dtype=np.int64).reshape(-1, 2).T
    good, wrong = n_good[is_matched], (n_kept - n_good)[is_matched]
    pairs, size = _groups(good.tobytes(), wrong.tobytes())
    worst = _extreme(-_average_precision(pairs, edges, rule)[1], size, *bounds, earliest=False)
    if worst is None:
        return None
    if most_inp is None:  # other wrong images than those before the last class change no best AP
        pairs, size = _groups(good.tobytes(), np.minimum(wrong, max(edges, default=0)).tobytes())
    best, _, later, inp = _average_precision(pairs, edges, rule)
    high, multiplier, step = np.inf, 0.0, _MULTIPLIERS
    for _ in range(1 if most_inp is None else _HALVINGS):
        cost = multiplier * inp
        value = np.maximum(best - cost[0], later - cost[1])
        found = _extreme(value, size, *bounds, earliest=True)
        assert found is not None  # as of the least
        total, counts = found
        high = min(high, total + multiplier * (most_inp or 0))
        taken = np.where(best - cost[0] >= later - cost[1], *inp)
        step /= 2
        multiplier += step if (counts * taken).sum() > (most_inp or 0) else -step
        multiplier = max(multiplier, 0.0)
    return float(-worst[0] / divisor), float(high / divisor)


@lru_cache(maxsize=32)
def _groups(n_good: bytes, n_wrong: bytes) -> tuple[tuple[tuple[int, int], ...], Integers]:
    """Return the (good, wrong) that queries have, and how many have them; from bytes of int64."""
    pairs, size = np.unique(np.stack([np.frombuffer(n_good, np.int64), np.frombuffer(
        n_wrong, np.int64)]), axis=1, return_counts=True)
    return tuple(map(tuple, pairs.T.tolist())), size


@lru_cache(maxsize=32)
def _average_precision(pairs: tuple[tuple[int, int], ...], edges: tuple[int, ...],
                       rule: str) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Return APs of each group in each class, -inf where it cannot be (worst: +inf).

    The best; the worst; the best with the last good image at the end; and the INP of the first and
    the third, shape (2, groups, classes).
    """
    classes = [*pairwise([0, *edges]), (max(edges, default=0), 10 ** 9)]
    lists: dict[tuple[int, ...], int] = {}

    def at(ranks: Sequence[int]) -> tuple[int, float]:
        return lists.setdefault(tuple(ranks), len(lists)), len(ranks) / ranks[-1]

    cells = [[(at(range(before + 1, before + n + 1)), at([last := min(end, w + 1), *range(
        w + 2, w + n + 1)]), at([*range(before + 1, before + n), w + n if n > 1 else last]))
        if before <= w else None for before, end in classes] for n, w in pairs]
    ap = RULES[rule](from_lists(list(lists))) if lists else np.zeros(0)
    shape = len(pairs), len(classes)
    out = (np.full(shape, -np.inf), np.full(shape, np.inf), np.full(shape, -np.inf))
    inp = np.zeros((2, *shape))
    for place in np.ndindex(shape):
        cell = cells[place[0]][place[1]]
        for values, (index, _) in zip(out, cell or ()):
            values[place] = ap[index]
        if cell:
            inp[:, place[0], place[1]] = cell[0][1], cell[2][1]
    return (*out, inp)


def _extreme(value: Doubles, size: Integers, fewest: Integers, most: Integers, *,
             earliest: bool) -> tuple[float, Integers] | None:
    """Return the greatest sum of values over all ways to spread groups on classes, and such a way.

    From a way that the bounds allow, with as many or as few queries in the first classes as they
    allow, queries are moved round cycles of classes as long as that adds to the sum.

    Parameters
    ----------
    value : float64, shape (groups, classes)
        -inf where a group cannot be; a group can be in the first classes, up to one.
    size : int64, shape (groups,)
    fewest, most : int64, shape (classes - 1,)
        Queries in each class and those before it, together.
    earliest : bool
    """
    n_classes, is_open = value.shape[1], np.isfinite(value)
    last, total = is_open.sum(axis=1) - 1, int(size.sum())
    forced = np.array([size[last <= k].sum() for k in range(n_classes - 1)], dtype=np.int64)
    low = np.maximum.accumulate(np.maximum(fewest, forced))
    high = np.minimum.accumulate(np.minimum(most, total)[::-1])[::-1]
    if (low > high).any():
        return None
    until = (high if earliest else low).copy()
    # Groups that must be early come first, then those that gain most by the first class.
    gain = value[:, 0] - value[:, 1] if n_classes > 1 and len(value) else np.zeros(len(value))
    order = np.lexsort([-gain, last])
    ends, edges = np.cumsum(size[order]), np.array([0, *until, total])
    starts = ends - size[order]
    counts = np.zeros(value.shape, dtype=np.int64)
    counts[order] = np.maximum(0, np.minimum(ends[:, None], edges[1:])
                               - np.maximum(starts[:, None], edges[:-1]))
    value = np.where(is_open, value, -np.inf)
    while cycle := _cycle(value, counts, until - low, high - until):
        room = [int(counts[group, a].item()) if group >= 0 else
                int((until - low)[b] if b < a else (high - until)[a]) for a, b, group in cycle]
        moved = min(room)
        for a, b, group in cycle:
            if group >= 0:
                counts[group, [a, b]] += [-moved, moved]
            else:
                until[min(a, b)] += moved if a < b else -moved
    return float(np.where(counts > 0, value, 0).ravel() @ counts.ravel()), counts


def _cycle(value: Doubles, counts: Integers, below: Integers,
           above: Integers) -> list[tuple[int, int, int]]:
    """Return moves (class, class, group) that add to the sum; none if nothing does.

    Group -1 is the bounds' own room: one query more, or fewer, in the first classes.
    """
    n_classes = value.shape[1]
    gain = np.full((n_classes, n_classes), -np.inf)
    group = np.full((n_classes, n_classes), -1)
    for a in range(n_classes):
        there = np.flatnonzero(counts[:, a])
        if len(there):
            change = value[there] - value[there, a][:, None]
            best = change.argmax(axis=0)
            gain[a], group[a] = change[best, np.arange(n_classes)], there[best]
    np.fill_diagonal(gain, -np.inf)
    for k, (less, more) in enumerate(zip(below, above)):
        for a, b, room in ((k + 1, k, less), (k, k + 1, more)):
            if room > 0 and gain[a, b] < 0:
                gain[a, b], group[a, b] = 0, -1
    reached, before = np.zeros(n_classes), np.zeros(n_classes, dtype=np.int64)
    for _ in range(n_classes):
        ways = reached[:, None] + gain
        better = ways.max(axis=0) > reached + _GAIN
        if not better.any():
            return []
        before[better], reached[better] = ways.argmax(axis=0)[better], ways.max(axis=0)[better]
    place = int(np.flatnonzero(better)[0])
    for _ in range(n_classes):
        place = int(before[place])
    moves, b = list[tuple[int, int, int]](), place
    while not moves or b != place:
        a = int(before[b])
        moves.append((a, b, int(group[a, b])))
        b = a
    return moves
