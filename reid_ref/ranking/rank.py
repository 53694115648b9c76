"""Distances and labels to `GoodRanks`, for several rules of ignored images at once.

The rules share their counts. Images labelled -1 and all others are counted separately, and added
if a rule keeps both. Pairs of query and image that any rule ignores are left out, and added
pair by pair for the rules that keep them.
"""
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from reid_ref.arrays import Array, Integers, Mask
from reid_ref.labels import JUNK, Labels
from reid_ref.ranking.counting import (
    Before, Counting, GalleryPart, Goods, before_among, count_before)
from reid_ref.ranking.gates import every_pair
from reid_ref.ranking.good_ranks import GoodRanks, in_order
from reid_ref.ranking.roles import Roles

#: A rule: keys of `conventions.IGNORED`.
Ignored = tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """Distances of all queries to the gallery, as two functions.

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


def in_parts(parts: Sequence[Callable[[], GalleryPart]], n_query: int,
             done: Callable[[float], object] | None = None) -> Source:
    """Return the source of a gallery in parts, of which one is open at a time.

    Each of `parts` opens one; `done` is called with shares of the work, which add up to 1.
    """
    def measure(query: Integers, image: Integers) -> Array:
        measured = [_measured(open_part(), query, image) for open_part in parts]
        values = np.empty(len(query), dtype=measured[0][1].dtype)
        for is_inside, distances in measured:
            values[is_inside] = distances
        return values

    def count(goods: Goods, groups: dict[str, Counting]) -> dict[str, Before]:
        before: dict[str, Before] = {}
        share = 1 / max(1, len(groups) * len(parts))
        report = None if done is None else lambda of_part: done(share * of_part)
        for open_part in parts:
            part = open_part()
            for name, counting in groups.items():
                counted = count_before(part, goods, n_query, counting.within(part.images), report)
                before[name] = counted + before[name] if name in before else counted
        return before

    return Source(measure, count)


def _measured(part: GalleryPart, query: Integers, image: Integers) -> tuple[Mask, Array]:
    """Return a mask of the pairs that are in a part, and their exact distances."""
    is_inside = (image >= part.images.start) & (image < part.images.stop)
    return is_inside, part.exact(query[is_inside], image[is_inside] - part.images.start)


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
    values = source.measure(*_split(pairs, n))
    groups, names = _groups(roles, gallery, left_out)
    before = source.count(Goods(*_split(goods, n), values[_find(goods, pairs)]), groups)
    ranks = {}
    for rule, role in roles.items():
        counted = [before[name] for name in names[rule] if name in before]
        counts = reduce(np.add, counted or [np.zeros((3, len(goods)), dtype=np.int64)])
        place = _find(good[rule], goods)
        counts = counts[:, place]
        if len(added[rule]):
            counts = counts + before_among(*(
                Goods(*_split(keys, n), values[_find(keys, pairs)])
                for keys in (good[rule], added[rule])))
        ranks[rule] = in_rank_order(role, _in(goods, junk[rule])[place], counts, len(query), n)
    return ranks


def argsort_ranks(ranks: GoodRanks, distances: Array, roles: Roles, ties: str,
                  loaded: Mask) -> GoodRanks:
    """Return the ranks with ties in the order of numpy's default sort, which is not stable.

    That order depends on the processor, and on all that is sorted: the images that are `loaded`.
    """
    n_query, n_gallery = distances.shape
    images = None if loaded.all() else np.flatnonzero(loaded)
    new_rank = np.empty(len(roles.good), dtype=np.int64)
    is_kept = np.empty(len(roles.good), dtype=bool)
    place = np.zeros(n_gallery, dtype=np.int64)
    for k in range(n_query):
        pairs = slice(*np.searchsorted(roles.good_query, [k, k + 1]))
        kept, good = roles.kept(slice(k, k + 1))[0], roles.good[pairs]
        order = (in_order(distances[k], ties) if images is None
                 else images[in_order(distances[k, images], ties)])
        place[order] = np.arange(len(order))
        is_kept[pairs] = kept[good]
        before = np.append(np.cumsum(kept[order]), 0)  # no image may be loaded
        new_rank[pairs] = before[place[good]] + ~kept[good]
    first_match = _least(new_rank, roles.good_query, n_query)
    row, image, new_rank = roles.good_query[is_kept], roles.good[is_kept], new_rank[is_kept]
    by_image = np.lexsort((ranks.image, ranks.query))
    by_new_rank = np.lexsort((new_rank[np.lexsort((image, row))], ranks.query[by_image]))
    order = by_image[by_new_rank]
    return replace(ranks, rank=new_rank[np.lexsort((new_rank, row))], nearer=ranks.nearer[order],
                   tied=ranks.tied[order], image=ranks.image[order], first_match=first_match)


def _union(keys: Iterable[Integers]) -> Integers:
    """Return all keys, each once, ascending."""
    # The stable sort is fast on a few ascending runs.
    union = np.sort(np.concatenate(list(keys)), kind="stable")
    is_new: Mask = np.append(True, union[1:] != union[:-1])[:len(union)]
    return union[is_new]


def _split(keys: Integers, n_gallery: int) -> tuple[Integers, Integers]:
    """Return query and image of pairs; np.divmod takes five times as long."""
    query = keys // n_gallery
    return query, keys - n_gallery * query


def _in(keys: Integers, among: Integers) -> Mask:
    """Return a mask of the keys that are among others; the keys ascend, and none is negative."""
    place = np.searchsorted(keys, among)
    is_in: Mask = np.zeros(len(keys) + 1, dtype=bool)
    is_in[place[np.append(keys, -1)[place] == among]] = True
    return is_in[:-1]


def _find(keys: Integers, among: Integers) -> Any:
    """Return the place of each key in `among`, which ascends and has them all, as an index."""
    return slice(None) if np.array_equal(keys, among) else np.searchsorted(among, keys)


def _added(role: Roles, left_out: Integers, junk: Integers, n_gallery: int) -> Integers:
    """Return the pairs that were left out, but are kept under these roles."""
    added = left_out[~_in(left_out, junk)]
    row, image = _split(added, n_gallery)
    return added[role.columns[image] & every_pair(role.gates, row, image)]


def _groups(roles: Mapping[Ignored, Roles], gallery: Labels, left_out: Integers,
            ) -> tuple[dict[str, Counting], dict[Ignored, list[str]]]:
    """Return the groups of gallery images to be counted, and those that each rule keeps."""
    out = _split(left_out, len(gallery))
    split = any(not role.gates and not role.columns.all() for role in roles.values())
    groups: dict[str, Counting] = {}
    names: dict[Ignored, list[str]] = {}
    for rule, role in roles.items():
        if role.gates:
            names[rule] = [f"gates of {rule}"]
            group = Counting(*out, role.columns, role.gates)
        elif not role.columns.all():
            names[rule], group = ["labelled"], Counting(*out, role.columns)
        elif split:
            names[rule], group = ["labelled", "junk"], Counting(*out, gallery.identity == JUNK)
        else:
            names[rule], group = ["all"], Counting(*out, role.columns)
        if group.columns.any():
            groups[names[rule][-1]] = group
    return groups, names


def in_rank_order(roles: Roles, is_junk: Mask, before: Before, n_query: int,
                  n_gallery: int) -> GoodRanks:
    """Turn counts into ranks, in order; `is_junk` marks good images that are ignored as well."""
    rank_ = before[0] + before[2] + 1
    order = np.argsort(roles.good_query * (n_gallery + 1) + rank_, kind="stable")
    first_match = _least(rank_[order], roles.good_query, n_query)
    kept = ~is_junk & roles.columns[roles.good]
    order = order if kept.all() else order[kept[order]]
    n_kept = roles.n_kept(n_query)
    return GoodRanks(
        rank=rank_[order], nearer=before[0, order], tied=before[1, order] + 1,
        image=roles.good[order], found=np.bincount(roles.good_query[order], minlength=n_query),
        n_good=np.bincount(roles.good_query, minlength=n_query), n_junk=n_gallery - n_kept,
        n_kept=n_kept, first_match=first_match)


def _least(ranks: Integers, row: Integers, n_query: int) -> Integers:
    """Return each query's smallest rank, or 0; `row` ascends."""
    least = np.zeros(n_query, dtype=np.int64)
    if len(ranks):
        first = np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1]]))
        least[row[first]] = np.minimum.reduceat(ranks, first)
    return least
