"""Distances and labels to `GoodRanks`, for all sets of ignored images at once.

What is counted is shared: images labelled -1 and the others are counted apart and added up;
the few images that some convention ignores for one query are left out, and added again pair by
pair for those that do not ignore them.

Contents: `Source`, `in_parts`; `rank`, `good_ranks`, `argsort_ranks`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Integers
from reid_ref.labels import JUNK, IndexLists, Labels
from reid_ref.ranking.counting import Counting, Goods, count_before
from reid_ref.ranking.good_ranks import GoodRanks, in_order
from reid_ref.ranking.roles import Mask, Roles, find_roles
from reid_ref.ranking.tiles import Array, Part, matrix_part

#: What is ignored: keys of `conventions.IGNORED`.
Ignored = tuple[str, ...]
#: What `count_before` returns: int64, shape (3, good pairs).
Before = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """Where distances are, and who counts in them.

    Parameters
    ----------
    measure : callable
        (query, image), both int64 of shape (pairs,), to the exact distances of these pairs.
    count : callable
        (goods, groups): the pairs to rank, and sets of gallery images by name; to what each
        set has before each good image, as `count_before` returns it.
    """

    measure: Callable[[Integers, Integers], Array]
    count: Callable[[Goods, dict[str, Counting]], dict[str, Before]]


def in_parts(parts: Sequence[Callable[[], Part]], n_query: int,
             done: Callable[[float], object] | None = None) -> Source:
    """Make a source of parts of the gallery, of which one is open at a time.

    Parameters
    ----------
    parts : sequence of callables
        Each opens a part.
    n_query : int
    done : callable, optional
        Called with shares of the work done; they add up to 1.
    """
    def measure(query: Integers, image: Integers) -> Array:
        found = [measure_part(open_part(), query, image) for open_part in parts]
        values = np.empty(len(query), dtype=found[0][1].dtype)
        for here, some in found:
            values[here] = some
        return values

    def count(goods: Goods, groups: dict[str, Counting]) -> dict[str, Before]:
        before = {name: np.zeros((3, len(goods.query)), dtype=np.int64) for name in groups}
        share = 1 / max(1, len(groups) * len(parts))
        tell = None if done is None else lambda part: done(share * part)
        for open_part in parts:
            for name, counts in count_part(open_part(), goods, groups, n_query, tell).items():
                before[name] += counts
        return before

    return Source(measure, count)


def measure_part(part: Part, query: Integers, image: Integers) -> tuple[Mask, Array]:
    """Return which of the pairs are in a part, and their exact distances."""
    here = (image >= part.images.start) & (image < part.images.stop)
    return here, part.exact(query[here], image[here] - part.images.start)


def count_part(part: Part, goods: Goods, groups: dict[str, Counting], n_query: int,
               done: Callable[[float], object] | None = None) -> dict[str, Before]:
    """Return what each group has before each good image in one part of the gallery."""
    return {name: count_before(part, goods, n_query, _within(counting, part.images), done)
            for name, counting in groups.items()}


def rank(source: Source, query: Labels, gallery: Labels, ignored: Iterable[Ignored],
         lists: IndexLists | None = None) -> dict[Ignored, GoodRanks]:
    """Rank every query's good images, ties in gallery order.

    Parameters
    ----------
    source : Source
    query, gallery : Labels
    ignored : iterable of tuples of str
    lists : IndexLists, optional

    Returns
    -------
    dict of tuple of str to GoodRanks
        By what is ignored.
    """
    n = len(gallery)
    roles = {one: find_roles(query, gallery, one, lists) for one in ignored}
    good = {one: role.good_query * n + role.good for one, role in roles.items()}
    junk = {one: role.junk_query * n + role.junk for one, role in roles.items()}
    # Pairs that one of them ignores are not counted; who does not ignore them adds them again.
    left_out = _union(junk.values())
    added = {one: _added(role, left_out, junk[one], n) for one, role in roles.items()}
    goods = _union(good.values())
    pairs = _union([goods, *added.values()])
    values = source.measure(*np.divmod(pairs, n))
    groups = _groups(roles.values(), gallery, left_out)
    wanted = Goods(*np.divmod(goods, n), values[np.searchsorted(pairs, goods)],
                   ~_member(goods, left_out))
    before = source.count(wanted, groups)
    ranks = {}
    for one, role in roles.items():
        counts = np.zeros((3, len(goods)), dtype=np.int64)
        for name in _names(role, groups):
            counts += before.get(name, 0)
        counts = counts[:, np.searchsorted(goods, good[one])]
        if len(added[one]):
            counts += _before_among(good[one], added[one], pairs, values, n)
        ranks[one] = _in_order(role, _member(good[one], junk[one]), counts, len(query), n)
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
        What is ignored; see `find_roles`.
    ties : str
        "gallery-order", or "numpy" or "numpy-reversed": as this machine's
        ``argsort(distances)`` or ``argsort(-distances)[::-1]`` happens to leave equals.
    lists : IndexLists, optional

    Returns
    -------
    GoodRanks

    Examples
    --------
    The nearest image is junk, the good ones are second and third of the kept:

    >>> gallery = Labels([-1, 8, 7, 7, 7], [1, 1, 2, 3, 1])
    >>> ranks = good_ranks(np.array([[.1, .2, .3, .4, .5]]), Labels([7], [1]), gallery)
    >>> ranks.rank, ranks.n_good, ranks.n_junk, ranks.n_kept
    (array([2, 3]), array([2]), array([2]), array([3]))
    """
    one = tuple(ignored)
    part = matrix_part(distances)
    ranks = rank(in_parts([lambda: part], len(query)), query, gallery, [one], lists)[one]
    if ties.startswith("numpy"):
        return argsort_ranks(ranks, distances, find_roles(query, gallery, one, lists), ties,
                             np.ones(len(gallery), dtype=bool))
    return ranks


def argsort_ranks(ranks: GoodRanks, distances: Array, roles: Roles, ties: str,
                  there: Mask) -> GoodRanks:
    """Return the ranks as numpy's default sort leaves equals: they depend on the processor.

    `there` marks the gallery images that are sorted; nothing else can be good and kept.
    """
    n_query, n_gallery = distances.shape
    sorted_images = np.flatnonzero(there)
    everything = np.empty(len(roles.good), dtype=np.int64)
    kept_pairs = []
    place = np.zeros(n_gallery, dtype=np.int64)
    for k in range(n_query):
        pairs = slice(*np.searchsorted(roles.good_query, [k, k + 1]))
        kept = roles.kept(k, n_gallery)
        order = sorted_images[in_order(distances[k, sorted_images], ties)]
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
    every = np.sort(np.concatenate(list(keys)), kind="stable")  # of a few ascending runs: quick
    return every[np.concatenate([[True], every[1:] != every[:-1]])] if len(every) else every


def _member(keys: Integers, among: Integers) -> Mask:
    """Tell which keys are among the others."""
    if not len(among) or not len(keys):
        return np.zeros(len(keys), dtype=bool)
    among = np.sort(among, kind="stable")
    place = np.minimum(np.searchsorted(among, keys), len(among) - 1)
    is_member: Mask = among[place] == keys
    return is_member


def _added(role: Roles, left_out: Integers, junk: Integers, n_gallery: int) -> Integers:
    """Return the pairs that were not counted, but do count under these roles."""
    added = left_out[~_member(left_out, junk)]
    row, image = np.divmod(added, n_gallery)
    counts = np.ones(len(added), dtype=bool) if role.columns is None else role.columns[image]
    if role.place is not None and role.query_place is not None:
        counts &= role.place[image] != role.query_place[row]
    return added[counts]


def _groups(roles: Iterable[Roles], gallery: Labels, left_out: Integers) -> dict[str, Counting]:
    """Return which sets of gallery images must be counted, by name."""
    out = np.divmod(left_out, len(gallery))
    roles = list(roles)
    plain = [one for one in roles if one.place is None]
    labelled = [one for one in plain if one.columns is not None]
    groups: dict[str, Counting] = {}
    if labelled:
        groups["labelled"] = Counting(*out, labelled[0].columns)
    if len(labelled) < len(plain):
        groups["junk" if labelled else "all"] = Counting(
            *out, gallery.identity == JUNK if labelled else None)
    for one in roles:
        if one.place is not None:
            groups[_place_name(one)] = Counting(*out, one.columns, one.place, one.query_place)
    return {name: one for name, one in groups.items() if one.columns is None or one.columns.any()}


def _names(role: Roles, groups: dict[str, Counting]) -> list[str]:
    """Return the groups that count under these roles."""
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
    """Put counts in order of rank; `is_junk` tells which good images are ignored as well."""
    kept = ~is_junk if roles.columns is None else ~is_junk & roles.columns[roles.good]
    rank_ = before[0] + before[2] + 1
    order = np.argsort(roles.good_query * (n_gallery + 1) + rank_, kind="stable")
    before, kept, rank_ = before[:, order], kept[order], rank_[order]
    n_kept = roles.n_kept(n_query, n_gallery)
    return GoodRanks(
        rank=rank_[kept], nearer=before[0, kept], tied=before[1, kept] + 1,
        image=roles.good[order][kept],
        found=np.bincount(roles.good_query[order][kept], minlength=n_query),
        n_good=np.bincount(roles.good_query, minlength=n_query), n_junk=n_gallery - n_kept,
        n_kept=n_kept, first_match=_least(rank_, roles.good_query, n_query))


def _before_among(good: Integers, among: Integers, pairs: Integers, values: Array,
                  n_gallery: int) -> Before:
    """As `count_before` counts, but in single pairs: those of `among` before each good one."""
    key = np.concatenate([good, among])
    counts_one = np.arange(len(key)) >= len(good)
    row, image = np.divmod(key, n_gallery)
    value = values[np.searchsorted(pairs, key)]
    # A good image that is among them stands before itself: it is not behind what it is.
    order = np.lexsort((counts_one, image, value, row))
    row, value = row[order], value[order]
    new_row = np.concatenate([[True], row[1:] != row[:-1]])
    same = (value[1:] == value[:-1]) | ((value[1:] != value[1:]) & (value[:-1] != value[:-1]))
    new_value = new_row | np.concatenate([[True], ~same])
    so_far = np.concatenate([[0], np.cumsum(counts_one[order])])
    first = np.flatnonzero(new_value)
    group = np.cumsum(new_value) - 1
    row_start = np.flatnonzero(new_row)[np.cumsum(new_row) - 1]
    counts = np.empty((3, len(key)), dtype=np.int64)
    counts[:, order] = (so_far[first[group]] - so_far[row_start],
                        so_far[np.append(first[1:], len(key))[group]] - so_far[first[group]],
                        so_far[:-1] - so_far[first[group]])
    counts = counts[:, :len(good)]
    counts[1] -= _member(good, among)
    return counts


def _least(ranks: Integers, row: Integers, n_query: int) -> Integers:
    """Return each query's least rank; 0 without one. `row` ascends."""
    least = np.zeros(n_query, dtype=np.int64)
    if len(ranks):
        first = np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1]]))
        least[row[first]] = np.minimum.reduceat(ranks, first)
    return least
