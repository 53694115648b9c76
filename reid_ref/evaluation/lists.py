"""What a user hands over as ranked lists: indices or names, in an array, in lists or by query."""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, Integers, as_integers, stored_or_array
from reid_ref.ranking.ranked_lists import RankedLists

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
    """Return the place of each image, by its name, and by its short name if no two share it.

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
    """Return the place of the image of that name, or None."""
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
