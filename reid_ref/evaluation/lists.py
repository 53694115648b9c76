"""What a user hands over as ranked lists: indices or names, in an array, in lists or by query."""
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, Integers, as_integers, stored_or_array
from reid_ref.ranking.ranked_lists import RankedLists

#: Some names of Market-1501 end in .jpg.jpg.
SUFFIX = r"(?:\.(?:jpe?g|png|bmp))+"


def short_name(name: str) -> str:
    """Return a name without folders and suffix.

    Examples
    --------
    >>> short_name("query/0002_c1s1_000451_03.jpg.jpg"), short_name("17")
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
        if short.setdefault(short_name(name), k) != k:
            shared.add(short_name(name))
    return {**{name: k for name, k in short.items() if name not in shared}, **exact}


def find_place(places: Mapping[str, int], word: str) -> int | None:
    """Return the place of the image of that name, or None."""
    return places.get(word, places.get(short_name(word)))


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
        return RankedLists([_indices(images, places, f"ranked[{k}]")
                            for k, images in enumerate(ranked)], "ranked[{}]".format)
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
    by_query: dict[int, Any] = {}
    for key, value in lists.items():
        k = find_place(places, str(key))
        if k is None:
            raise InputError(
                name, got=f"{str(key)!r} is no query", remedy="are these lists of this benchmark?")
        if k in by_query:
            raise InputError(name, "each query once", f"{query_names[k]!r} twice")
        by_query[k] = value
    if missing := [query_names[k] for k in range(len(query_names)) if k not in by_query]:
        raise InputError(name, f"a list for each of {len(query_names):,} queries",
                         f"none for {len(missing):,} of them, the first {missing[0]!r}",
                         "a query that found nothing has an empty list")
    return [by_query[k] for k in range(len(query_names))]


def _indices(images: Any, places: Callable[[], Mapping[str, int]] | None, name: str) -> Integers:
    """Return a list of indices or of names as indices."""
    if isinstance(images, str) or np.ndim(images) != 1:
        raise InputError(name, "a list of gallery indices or names", f"{images!r:.40}")
    if not len(images):
        return np.zeros(0, dtype=np.int64)
    if not isinstance(images[0], str):
        return as_integers(images, name)
    if places is None:
        raise InputError(name, got=f"a list of names ({images[0]!r:.40}) needs gallery_names=...")
    indices = [find_place(places(), str(word)) for word in images]
    if None in indices:
        raise InputError(
            name, got=f"{str(images[indices.index(None)])!r:.60} is no name of the gallery")
    return np.array(indices, dtype=np.int64)
