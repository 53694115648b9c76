"""Ranked lists of gallery images to `GoodRanks`, a block of queries at a time.

A server, or another engine, hands over lists, not distances. A list may be cut anywhere: a good
image that it lacks has no rank, and counts as missed.
"""
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from reid_ref.arrays import Array, InputError, Integers, Value, blocks_of, read_rows
from reid_ref.ranking.good_ranks import GoodRanks
from reid_ref.ranking.rank import in_rank_order
from reid_ref.ranking.roles import Roles

#: Bytes of a block: for each gallery image of a query, and for each entry of its list.
_PER_IMAGE, _PER_ENTRY = 6, 48


@dataclass(frozen=True, eq=False)
class RankedLists(Value):
    """The gallery images of every query, the nearest first.

    Parameters
    ----------
    lists : int array, shape (n_query, length), or sequence of int64 arrays, one a query
        Gallery indices from 0. The rows of an array are filled up with -1.
    where : callable
        What messages call list k.
    spelled : callable
        A gallery index as the user writes it.
    n_good : int64, shape (n_query,), optional
        Good images that exist, if the gallery lacks some of them.

    Examples
    --------
    >>> RankedLists([np.array([2, 0])], "lists.txt: line {}".format).where(0)
    'lists.txt: line 0'
    """

    lists: Any
    where: Callable[[int], str] = field(compare=False)
    spelled: Callable[[int], str] = field(default=str, compare=False)
    n_good: Integers | None = None

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def longest(self) -> int:
        """How many images the longest list has, or could have in an array's rows."""
        if hasattr(self.lists, "shape"):
            return int(self.lists.shape[1])
        return max(map(len, self.lists), default=0)


@dataclass(frozen=True)
class ListBlock:
    """The lists of consecutive queries, checked.

    Parameters
    ----------
    queries : slice
    image : int64, shape (entries,)
        Gallery images, list after list.
    length : int64, shape (queries,)
    n_gallery : int
    """

    queries: slice
    image: Integers
    length: Integers
    n_gallery: int

    @property
    def query(self) -> Integers:
        """int64, shape (entries,): the query of each entry, counted within the block."""
        return np.repeat(np.arange(len(self.length), dtype=np.int64), self.length)

    @property
    def start(self) -> Integers:
        """int64, shape (queries,): where each list begins."""
        return np.cumsum(self.length) - self.length

    @property
    def pair(self) -> Integers:
        """int64, shape (entries,): query and image as one number."""
        return self.query * self.n_gallery + self.image


def blocks(ranked: RankedLists, n_gallery: int, memory: int) -> Iterator[ListBlock]:
    """Yield the lists, as many queries at a time as fit the memory.

    Raises
    ------
    InputError
        An image that the gallery does not have, or that is twice in a list; an empty place
        before the end of a list.
    """
    of = _entries_of_matrix if hasattr(ranked.lists, "shape") else _entries_of_sequence
    # The place of an entry in its block is a whole number of 32 bits.
    memory = min(memory, _PER_ENTRY * 2**31)
    step = memory // (_PER_IMAGE * n_gallery + _PER_ENTRY * ranked.longest)
    for queries in blocks_of(len(ranked), step):
        image, length = of(ranked, queries)
        block = ListBlock(queries, image, length, n_gallery)
        _check(block, ranked)
        yield block


def ranks_of_block(block: ListBlock, roles: Roles) -> tuple[GoodRanks, Integers]:
    """Rank the good images of a block; `roles` are those of its queries.

    Returns
    -------
    ranks : GoodRanks
        `n_good` and `n_junk` are those of the gallery, whatever the lists hold; `n_kept` is that
        of the list.
    ranked : int64, shape (queries,)
        Good images that are not ignored as well: those that a list can hold.
    """
    n, n_gallery = len(block.length), block.n_gallery
    place = np.full((n, n_gallery), -1, dtype=np.int32)
    place.reshape(-1)[block.pair] = np.arange(len(block.image))
    place = place[roles.good_query, roles.good]
    kept = roles.kept(slice(0, n))
    is_kept = kept[roles.good_query, roles.good]
    so_far = np.concatenate([[0], np.cumsum(kept.reshape(-1)[block.pair])])
    listed = place >= 0
    query, image = roles.good_query[listed], roles.good[listed]
    nearer = so_far[place[listed]] - so_far[block.start[query]]
    ranks = in_rank_order(
        replace(roles, good_query=query, good=image), ~is_kept[listed],
        np.array([nearer, 0 * nearer, 0 * nearer]), n, n_gallery)
    n_good, n_ranked = (np.bincount(queries, minlength=n)
                        for queries in (roles.good_query, roles.good_query[is_kept]))
    return replace(ranks, n_good=n_good,
                   n_kept=so_far[block.start + block.length] - so_far[block.start]), n_ranked


def places_in_block(block: ListBlock) -> Array:
    """Return the place of every gallery image in every list, as distances; lists are complete."""
    places = np.empty((len(block.length), block.n_gallery))
    places.reshape(-1)[block.pair] = np.arange(len(block.image)) - np.repeat(
        block.start, block.length)
    return places


def _entries_of_sequence(ranked: RankedLists, queries: slice) -> tuple[Integers, Integers]:
    lists: Sequence[Integers] = ranked.lists[queries]
    empty = np.zeros(0, dtype=np.int64)
    length = np.array([len(images) for images in lists], dtype=np.int64)
    return np.concatenate([empty, *lists]), length


def _entries_of_matrix(ranked: RankedLists, queries: slice) -> tuple[Integers, Integers]:
    rows = read_rows(ranked.lists, queries.start, queries.stop)
    filler = rows == -1
    length = rows.shape[1] - np.count_nonzero(filler, axis=1)
    if not filler.any():
        return rows.reshape(-1).astype(np.int64, copy=False), length
    for k in np.flatnonzero((filler[:, :-1] & ~filler[:, 1:]).any(axis=1))[:1].tolist():
        raise InputError(ranked.where(queries.start + k), "-1 after the last image only",
                         "an image after it")
    return rows[~filler].astype(np.int64, copy=False), length


def _check(block: ListBlock, ranked: RankedLists) -> None:
    """Refuse images that are not in the gallery, and images that come twice."""
    first = block.queries.start
    outside = np.flatnonzero((block.image < 0) | (block.image >= block.n_gallery))[:1]
    for query, image in zip(block.query[outside].tolist(), block.image[outside].tolist()):
        raise InputError(
            ranked.where(first + query), f"gallery images {ranked.spelled(0)} to "
            f"{ranked.spelled(block.n_gallery - 1)}", ranked.spelled(image),
            "are these lists of this gallery?")
    seen = np.zeros((len(block.length), block.n_gallery), dtype=bool)
    seen.reshape(-1)[block.pair] = True
    for row in np.flatnonzero(np.count_nonzero(seen, axis=1) < block.length)[:1].tolist():
        images, count = np.unique(block.image[block.query == row], return_counts=True)
        raise InputError(ranked.where(first + row), "each gallery image once",
                         f"{ranked.spelled(int(images[count > 1][0]))} more than once")
