"""Ranked lists of gallery images to `GoodRanks`, a block of queries at a time.

A server, or another engine, hands over lists, not distances. A list may be cut anywhere: a good
image that it lacks has no rank, and counts as missed.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, Integers, as_integers, blocks_of, stored_or_array
from reid_ref.arrays.stored import read_rows
from reid_ref.arrays.value import Value
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
        Good images that exist, where the gallery does not tell.

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
class Block:
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
        return np.repeat(np.arange(len(self.length)), self.length)

    @property
    def start(self) -> Integers:
        """int64, shape (queries,): where each list begins."""
        return np.cumsum(self.length) - self.length

    @property
    def pair(self) -> Integers:
        """int64, shape (entries,): query and image as one number."""
        return self.query * self.n_gallery + self.image


def blocks(ranked: RankedLists, n_gallery: int, memory: int) -> Iterator[Block]:
    """Yield the lists, as many queries at a time as fit the memory.

    Raises
    ------
    InputError
        An image that the gallery does not have, or that stands twice in a list; an empty place
        before the end of a list.
    """
    of = _of_matrix if hasattr(ranked.lists, "shape") else _of_sequence
    step = memory // (_PER_IMAGE * n_gallery + _PER_ENTRY * ranked.longest)
    for queries in blocks_of(len(ranked), step):
        image, length = of(ranked, queries)
        block = Block(queries, image, length, n_gallery)
        _check(block, ranked)
        yield block


def ranks_of_block(block: Block, roles: Roles) -> tuple[GoodRanks, Integers]:
    """Rank the good images of a block; `roles` are those of its queries.

    Returns
    -------
    ranks : GoodRanks
        `n_good`, `n_junk` and `n_kept` are those of the gallery, whatever the lists hold.
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
    return replace(ranks, n_good=n_good), n_ranked


def places_in_block(block: Block) -> npt.NDArray[Any]:
    """Return the place of every gallery image in every list, as distances; lists are complete."""
    places = np.empty((len(block.length), block.n_gallery))
    places.reshape(-1)[block.pair] = np.arange(len(block.image)) - np.repeat(
        block.start, block.length)
    return places


def _of_sequence(ranked: RankedLists, queries: slice) -> tuple[Integers, Integers]:
    lists: Sequence[Integers] = ranked.lists[queries]
    empty = np.zeros(0, dtype=np.int64)
    length = np.array([len(images) for images in lists], dtype=np.int64)
    return np.concatenate([empty, *lists]), length


def _of_matrix(ranked: RankedLists, queries: slice) -> tuple[Integers, Integers]:
    rows = read_rows(ranked.lists, queries.start, queries.stop)
    filler = rows == -1
    length = rows.shape[1] - np.count_nonzero(filler, axis=1)
    if not filler.any():
        return rows.reshape(-1).astype(np.int64, copy=False), length
    for k in np.flatnonzero((filler[:, :-1] & ~filler[:, 1:]).any(axis=1))[:1].tolist():
        raise InputError(ranked.where(queries.start + k), "-1 after the last image only",
                         "an image after it")
    return rows[~filler].astype(np.int64, copy=False), length


def _check(block: Block, ranked: RankedLists) -> None:
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


# What a user hands over as ranked lists.

#: Some names of Market-1501 end in .jpg.jpg.
SUFFIX = r"(?:\.(?:jpe?g|png|bmp))+"


def plain(name: str) -> str:
    """Return a name without folders and suffix.

    Examples
    --------
    >>> plain("query/0002_c1s1_000451_03.jpg.jpg"), plain("17")
    ('0002_c1s1_000451_03', '17')
    """
    return re.sub(f"{SUFFIX}$", "", re.split(r"[/\\]", name)[-1], flags=re.IGNORECASE)


def places_of(names: Sequence[str], argument: str) -> Mapping[str, int]:
    """Return where each image stands, by its name, and by its plain name where no two share it.

    Raises
    ------
    InputError
        A name that comes twice.

    Examples
    --------
    >>> places_of(["a/1.jpg", "b/1.jpg", "b/2.jpg"], "names")
    {'2': 2, 'a/1.jpg': 0, 'b/1.jpg': 1, 'b/2.jpg': 2}
    """
    exact: dict[str, int] = {}
    short: dict[str, int] = {}
    shared = set()
    for k, name in enumerate(map(str, names)):
        if name in exact:
            raise InputError(argument, "each name once", f"{name!r} twice, for image "
                             f"{exact[name]} and image {k}")
        exact[name] = k
        if short.setdefault(plain(name), k) != k:
            shared.add(plain(name))
    return {**{name: k for name, k in short.items() if name not in shared}, **exact}


def place(places: Mapping[str, int], word: str) -> int | None:
    """Return where the image of that name stands, or None."""
    return places.get(word, places.get(plain(word)))


def as_ranked_lists(ranked: Any, query_names: Sequence[str] | None,
                    gallery_names: Sequence[str] | None) -> RankedLists:
    """Return what a user hands over as lists of gallery indices from 0."""
    if isinstance(ranked, RankedLists):
        return ranked
    if isinstance(ranked, Mapping):
        if query_names is None:
            raise InputError("ranked", got="a mapping of query name to list needs query_names=...")
        ranked = in_order_of_queries(ranked, query_names, "ranked")
    if isinstance(ranked, (list, tuple)):
        places = None if gallery_names is None else cache(
            partial(places_of, gallery_names, "gallery_names"))
        return RankedLists([_indices(one, places, f"ranked[{k}]")
                            for k, one in enumerate(ranked)], "ranked[{}]".format)
    matrix = stored_or_array(ranked, "ranked")
    check_matrix(matrix, "ranked")
    return RankedLists(matrix, "ranked[{}]".format)


def check_matrix(matrix: Any, name: str) -> None:
    """Refuse an array that holds no lists of gallery indices."""
    if matrix.ndim != 2 or matrix.dtype.kind not in "iu":
        raise InputError(name, "gallery indices from 0 as whole numbers, shape (n_query, length)",
                         f"{matrix.dtype} of shape {tuple(matrix.shape)}", "from distances, "
                         "distances.argsort(axis=1, kind='stable') makes them")


def in_order_of_queries(lists: Mapping[str, Any], query_names: Sequence[str],
                        name: str) -> list[Any]:
    """Return one list a query, of lists by the queries' names."""
    places = places_of(query_names, "query_names")
    found: dict[int, Any] = {}
    for key, value in lists.items():
        k = place(places, str(key))
        if k is None:
            raise InputError(
                name, got=f"{str(key)!r} is no query", remedy="are these lists of this benchmark?")
        if k in found:
            raise InputError(name, "each query once", f"{query_names[k]!r} twice")
        found[k] = value
    missing = [query_names[k] for k in range(len(query_names)) if k not in found]
    if missing:
        raise InputError(name, f"a list for each of {len(query_names):,} queries",
                         f"none for {len(missing):,} of them, the first {missing[0]!r}",
                         "a query that found nothing has an empty list")
    return [found[k] for k in range(len(query_names))]


def _indices(one: Any, places: Callable[[], Mapping[str, int]] | None, name: str) -> Integers:
    """Return a list of indices or of names as indices."""
    if isinstance(one, str) or np.ndim(one) != 1:
        raise InputError(name, "a list of gallery indices or names", f"{one!r:.40}")
    if not len(one):
        return np.zeros(0, dtype=np.int64)
    if not isinstance(one[0], str):
        return as_integers(one, name)
    if places is None:
        raise InputError(name, got=f"a list of names ({one[0]!r:.40}) needs gallery_names=...")
    found = [place(places(), str(word)) for word in one]
    if None in found:
        raise InputError(
            name, got=f"{str(one[found.index(None)])!r:.60} is no name of the gallery")
    return np.array(found, dtype=np.int64)
