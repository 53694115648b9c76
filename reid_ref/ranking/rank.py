"""Distances and labels to `GoodRanks`, for several rules of ignored images at once.

The rules share their counts. Images labelled -1 and all others are counted separately, and added
where a rule keeps both. Pairs of query and image that any rule ignores are left out, and added
pair by pair for the rules that keep them.

Contents: `Source`, `in_parts`; `rank`, `good_ranks`, `argsort_ranks`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Integers
from reid_ref.labels import JUNK, IndexLists, Labels
from reid_ref.ranking.counting import Counting, Goods, count_before
from reid_ref.ranking.few import count_few
from reid_ref.ranking.good_ranks import GoodRanks, in_order, stable_order
from reid_ref.ranking.roles import Mask, Roles, find_roles
from reid_ref.ranking.tiles import Array, Part, matrix_part

#: A rule: keys of `conventions.IGNORED`.
Ignored = tuple[str, ...]
#: Counts, as `count_before` returns them: int64, shape (3, good pairs).
Before = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """Distances of all queries to the gallery, behind two functions.

    Parameters
    ----------
    measure : callable
        Indices of query and image, both int64 of shape (pairs,), to the exact distances.
    count : callable
        The good pairs, and groups of gallery images by name, to the counts of each group before
        each good image, as `count_before` returns them.
    """

    measure: Callable[[Integers, Integers], Array]
    count: Callable[[Goods, dict[str, Counting]], dict[str, Before]]


def in_parts(parts: Sequence[Callable[[], Part]], n_query: int,
             done: Callable[[float], object] | None = None) -> Source:
    """Return the source of a gallery in parts, of which one is open at a time.

    Each of `parts` opens one; `done` is called with shares of the work, which add up to 1.
    """
    def measure(query: Integers, image: Integers) -> Array:
        found = [measure_part(open_part(), query, image) for open_part in parts]
        values = np.empty(len(query), dtype=found[0][1].dtype)
        for here, distances in found:
            values[here] = distances
        return values

    def count(goods: Goods, groups: dict[str, Counting]) -> dict[str, Before]:
        before = {name: np.zeros((3, len(goods.query)), dtype=np.int64) for name in groups}
        share = 1 / max(1, len(groups) * len(parts))
        tell = None if done is None else lambda of_part: done(share * of_part)
        for open_part in parts:
            for name, counts in count_part(open_part(), goods, groups, n_query, tell).items():
                before[name] += counts
        return before

    return Source(measure, count)


def measure_part(part: Part, query: Integers, image: Integers) -> tuple[Mask, Array]:
    """Return a mask of the pairs that are in a part, and their exact distances."""
    here = (image >= part.images.start) & (image < part.images.stop)
    return here, part.exact(query[here], image[here] - part.images.start)


def count_part(part: Part, goods: Goods, groups: dict[str, Counting], n_query: int,
               done: Callable[[float], object] | None = None) -> dict[str, Before]:
    """Return the counts of each group before each good image in one part of the gallery."""
    groups = {name: _within(counting, part.images) for name, counting in groups.items()}
    few = _few(part, goods, groups)
    before = {}
    for name, counting in groups.items():
        if name in few:
            before[name] = count_few(part, goods, n_query, counting)
            if done is not None:
                done(1.0)
        else:
            before[name] = count_before(part, goods, n_query, counting, done)
    return before


def _few(part: Part, goods: Goods, groups: dict[str, Counting]) -> list[str]:
    """Return the groups that `count_few` is for: some of the images, but less than half."""
    if not part.is_exact or (goods.value != goods.value).any():
        return []
    return [name for name, counting in groups.items()
            if counting.place is None and counting.columns is not None
            and 0 < 2 * np.count_nonzero(counting.columns) < len(counting.columns)]


def rank(source: Source, query: Labels, gallery: Labels,
         roles: Mapping[Ignored, Roles]) -> dict[Ignored, GoodRanks]:
    """Rank every query's good images under each rule with these roles, ties in gallery order."""
    n = len(gallery)
    good = {rule: role.good_query * n + role.good for rule, role in roles.items()}
    junk = {rule: role.junk_query * n + role.junk for rule, role in roles.items()}
    # Pairs that any rule ignores are not counted; a rule that keeps them adds them below.
    left_out = _union(junk.values())
    added = {rule: _added(role, left_out, junk[rule], n) for rule, role in roles.items()}
    goods = _union(good.values())
    pairs = _union([goods, *added.values()])
    values = source.measure(*np.divmod(pairs, n))
    groups = _groups(roles.values(), gallery, left_out)
    wanted = Goods(*np.divmod(goods, n), values[_find(goods, pairs)],
                   ~_member(goods, left_out))
    before = source.count(wanted, groups)
    ranks = {}
    for rule, role in roles.items():
        counts = np.zeros((3, len(goods)), dtype=np.int64)
        for name in _names(role, groups):
            counts += before.get(name, 0)
        counts = counts.take(_find(good[rule], goods), axis=1)
        if len(added[rule]):
            counts += _before_among(good[rule], added[rule], pairs, values, n)
        ranks[rule] = _in_order(role, _member(good[rule], junk[rule]), counts, len(query), n)
    return ranks


def good_ranks(distances: npt.NDArray[Any], query: Labels, gallery: Labels,
               ignored: Iterable[str] = ("label -1", "same identity, same camera"),
               ties: str = "gallery-order", lists: IndexLists | None = None) -> GoodRanks:
    """Rank every query's good images among its kept ones, in a distance matrix.

    Parameters
    ----------
    distances : real array, shape (n_query, n_gallery)
        Smaller is nearer; NaN is farthest.
    query, gallery : Labels
    ignored : iterable of str
        As for `find_roles`.
    ties : str
        Order of equal distances: "gallery-order", or "numpy" or "numpy-reversed": that of this
        machine's ``argsort(distances)`` or ``argsort(-distances)[::-1]``.
    lists : IndexLists, optional

    Returns
    -------
    GoodRanks

    Examples
    --------
    The nearest image is junk; the good ones have ranks 2 and 3 among the kept images:

    >>> gallery = Labels([-1, 8, 7, 7, 7], [1, 1, 2, 3, 1])
    >>> ranks = good_ranks(np.array([[.1, .2, .3, .4, .5]]), Labels([7], [1]), gallery)
    >>> ranks.rank, ranks.n_good, ranks.n_junk, ranks.n_kept
    (array([2, 3]), array([2]), array([2]), array([3]))
    """
    rule = tuple(ignored)
    part = matrix_part(distances)
    roles = find_roles(query, gallery, rule, lists)
    ranks = rank(in_parts([lambda: part], len(query)), query, gallery, {rule: roles})[rule]
    if ties.startswith("numpy"):
        return argsort_ranks(ranks, distances, roles, ties, np.ones(len(gallery), dtype=bool))
    return ranks


def argsort_ranks(ranks: GoodRanks, distances: Array, roles: Roles, ties: str,
                  there: Mask) -> GoodRanks:
    """Return the ranks with ties in the order of numpy's default sort, which is not stable.

    That order depends on the processor, and on all that is sorted: the gallery images `there`.
    """
    n_query, n_gallery = distances.shape
    sorted_images = None if there.all() else np.flatnonzero(there)
    everything = np.empty(len(roles.good), dtype=np.int64)
    kept_pairs = []
    place = np.zeros(n_gallery, dtype=np.int64)
    for k in range(n_query):
        pairs = slice(*np.searchsorted(roles.good_query, [k, k + 1]))
        kept = roles.kept(k, n_gallery)
        order = (in_order(distances[k], ties) if sorted_images is None
                 else sorted_images[in_order(distances[k, sorted_images], ties)])
        place[order] = np.arange(len(order))
        up_to = np.cumsum(kept[order])
        good = roles.good[pairs]
        everything[pairs] = up_to[place[good]] + ~kept[good]
        kept_pairs.append(kept[good])
    is_kept = np.concatenate(kept_pairs)
    row, image = roles.good_query[is_kept], roles.good[is_kept]
    in_both = np.lexsort((ranks.image, ranks.query)), np.lexsort((image, row))
    new_rank = np.empty_like(ranks.rank)
    new_rank[in_both[0]] = everything[is_kept][in_both[1]]
    order = np.lexsort((new_rank, ranks.query))
    return GoodRanks(
        rank=new_rank[order], nearer=ranks.nearer[order], tied=ranks.tied[order],
        image=ranks.image[order], found=ranks.found, n_good=ranks.n_good, n_junk=ranks.n_junk,
        n_kept=ranks.n_kept, first_match=_least(everything, roles.good_query, n_query))


def _union(keys: Iterable[Integers]) -> Integers:
    """Return all keys, each once, ascending."""
    # The stable sort is fast on a few ascending runs.
    union = np.sort(np.concatenate(list(keys)), kind="stable")
    return union[np.concatenate([[True], union[1:] != union[:-1]])] if len(union) else union


def _find(keys: Integers, among: Integers) -> Integers:
    """Return the place of each key in `among`, which ascends and has them all."""
    if np.array_equal(keys, among):  # often, and quicker
        return np.arange(len(keys))
    return np.searchsorted(among, keys)


def _member(keys: Integers, among: Integers) -> Mask:
    """Return a mask of the keys that are `among` the others."""
    if not len(among) or not len(keys):
        return np.zeros(len(keys), dtype=bool)
    among = np.sort(among, kind="stable")
    place = np.minimum(np.searchsorted(among, keys), len(among) - 1)
    is_member: Mask = among[place] == keys
    return is_member


def _added(role: Roles, left_out: Integers, junk: Integers, n_gallery: int) -> Integers:
    """Return the pairs that were left out, but are kept under these roles."""
    added = left_out[~_member(left_out, junk)]
    row, image = np.divmod(added, n_gallery)
    counts = np.ones(len(added), dtype=bool) if role.columns is None else role.columns[image]
    if role.place is not None and role.query_place is not None:
        counts &= role.place[image] != role.query_place[row]
    return added[counts]


def _groups(roles: Iterable[Roles], gallery: Labels, left_out: Integers) -> dict[str, Counting]:
    """Return the groups of gallery images that must be counted, by name."""
    out = np.divmod(left_out, len(gallery))
    roles = list(roles)
    plain = [role for role in roles if role.place is None]
    labelled = [role for role in plain if role.columns is not None]
    groups: dict[str, Counting] = {}
    if labelled:
        groups["labelled"] = Counting(*out, labelled[0].columns)
    if len(labelled) < len(plain):
        groups["junk" if labelled else "all"] = Counting(
            *out, gallery.identity == JUNK if labelled else None)
    for role in roles:
        if role.place is not None:
            groups[_place_name(role)] = Counting(*out, role.columns, role.place, role.query_place)
    return {name: group for name, group in groups.items()
            if group.columns is None or group.columns.any()}


def _names(role: Roles, groups: dict[str, Counting]) -> list[str]:
    """Return the names of the groups that are kept under these roles."""
    if role.place is not None:
        return [_place_name(role)]
    if role.columns is not None:
        return ["labelled"]
    return ["all"] if "all" in groups else ["labelled", "junk"]


def _place_name(role: Roles) -> str:
    return f"places {id(role)}"


def _within(counting: Counting, images: slice) -> Counting:
    return replace(
        counting, columns=None if counting.columns is None else counting.columns[images],
        place=None if counting.place is None else counting.place[images])


def _in_order(roles: Roles, is_junk: Mask, before: Before, n_query: int,
              n_gallery: int) -> GoodRanks:
    """Turn counts into ranks, in order; `is_junk` marks good images that are ignored as well."""
    kept = ~is_junk if roles.columns is None else ~is_junk & roles.columns[roles.good]
    rank_ = before[0] + before[2] + 1
    order = np.argsort(roles.good_query * (n_gallery + 1) + rank_, kind="stable")
    before, kept, rank_ = before.take(order, axis=1), kept[order], rank_[order]
    n_kept = roles.n_kept(n_query, n_gallery)
    return GoodRanks(
        rank=rank_[kept], nearer=before[0, kept], tied=before[1, kept] + 1,
        image=roles.good[order][kept],
        found=np.bincount(roles.good_query[order][kept], minlength=n_query),
        n_good=np.bincount(roles.good_query, minlength=n_query), n_junk=n_gallery - n_kept,
        n_kept=n_kept, first_match=_least(rank_, roles.good_query, n_query))


def _before_among(good: Integers, among: Integers, pairs: Integers, values: Array,
                  n_gallery: int) -> Before:
    """Count as `count_before` does, but only the pairs of `among` before each good pair."""
    key = _union([good, among])
    row, value = key // n_gallery, values[_find(key, pairs)]
    order = stable_order(value)
    short = row[order].astype(np.min_scalar_type(row[-1]))  # sorted in less time
    order = order[np.argsort(short, kind="stable")]
    row, value = row[order], value[order]
    new_row = np.concatenate([[True], row[1:] != row[:-1]])
    same = (value[1:] == value[:-1]) | ((value[1:] != value[1:]) & (value[:-1] != value[:-1]))
    new_value = new_row | np.concatenate([[True], ~same])
    group = np.cumsum(new_value) - 1
    counted = _member(key, among)[order]
    so_far = np.concatenate([[0], np.cumsum(counted)])
    first = np.flatnonzero(new_value)
    row_start = np.flatnonzero(new_row)[np.cumsum(new_row) - 1]
    counts = np.empty((3, len(key)), dtype=np.int64)
    counts[:, order] = (so_far[first[group]] - so_far[row_start],
                        so_far[np.append(first[1:], len(key))[group]] - so_far[first[group]]
                        - counted,
                        so_far[:-1] - so_far[first[group]])
    return counts.take(_find(good, key), axis=1)


def _least(ranks: Integers, row: Integers, n_query: int) -> Integers:
    """Return each query's smallest rank, or 0; `row` ascends."""
    least = np.zeros(n_query, dtype=np.int64)
    if len(ranks):
        first = np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1]]))
        least[row[first]] = np.minimum.reduceat(ranks, first)
    return least
