"""Roles of gallery images for each query: good, ignored (junk), or kept.

Good images are those of the query's identity that are not ignored. The convention defines what is
ignored.

Source: Zheng et al., Scalable Person Re-identification: A Benchmark, ICCV 2015, section 3.3.
"""
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, Integers, Mask
from reid_ref.labels import JUNK, Candidates, IndexLists, Labels, QueryLists, cameras_of
from reid_ref.ranking.gates import Gate, Places, every_gate, every_pair

#: How many frames apart two images of one video are at most to be near, in ATRW.
NEAR_FRAMES = 3

#: Rules about the images of the query's identity: for each column, the test of the query's and
#: the image's values; an image that passes all of them is ignored.
OF_IDENTITY: dict[str, dict[str, Callable[[Any, Any], Mask]]] = {
    "same identity, same camera": {"camera": np.equal},
    "same identity, same clothes": {"clothes": np.equal},
    "same identity, other clothes": {"clothes": np.not_equal},
    "same identity, other view": {"view": np.not_equal},
    "same identity, other video": {"video": np.not_equal},
    "same identity, same view": {"view": np.equal},
    "same identity, same video": {"video": np.equal},
    "same identity, same frame": {"frame": np.equal},
    "same identity, near frame": {
        "camera": np.equal, "video": np.equal,
        "frame": lambda query, image: _distance(query, image) <= NEAR_FRAMES},
    "itself": {"name": operator.eq},
}

#: Rules about every image of a place, whatever its identity: the column of the place, what a
#: place is made of its values, and which images are kept, by the image's and the query's.
OF_PLACE: dict[str, tuple[str, Callable[[Integers], Integers], Callable[[Any, Any], Mask]]] = {
    "same camera": ("camera", lambda camera: camera, np.not_equal),
    # Cameras 2 and 3 of SYSU-MM01 are at one location.
    "same location": ("camera", lambda camera: np.where(camera == 3, 2, camera), np.not_equal),
    "other camera": ("camera", lambda camera: camera, np.equal),
    "other video": ("video", lambda video: video, np.equal),
}


def columns_of(ignored: Iterable[str]) -> set[str]:
    """Return the columns of labels, besides the identity, that rules look at.

    Examples
    --------
    >>> columns_of(["label -1", "same location"]), columns_of(["same identity, same clothes"])
    ({'camera'}, {'clothes'})
    """
    return {column for rule in ignored for column in (
        OF_PLACE[rule][:1] if rule in OF_PLACE else OF_IDENTITY.get(rule, ()))}


def _distance(first: Integers, second: Integers) -> npt.NDArray[np.uint64]:
    # A difference of any two whole numbers of 64 bits fits without a sign only.
    return (np.maximum(first, second) - np.minimum(first, second)).view(np.uint64)


@dataclass(frozen=True)
class Roles:
    """Good and ignored images of n queries, as pairs, query after query.

    Parameters
    ----------
    good_query, good : int64, shape (good pairs,)
        Query and gallery image. An image can be good and ignored at once: the images of a query
        labelled -1 are junk by their label, but `evaluation.m` takes those on other cameras as
        good; and index lists may name an image twice.
    junk_query, junk : int64, shape (ignored pairs,)
        Pairs that are ignored, besides those of `columns` and `gates`.
    columns : bool, shape (n_gallery,)
        Images that are kept for some query.
    gates : tuple of Gate
        What each image must pass to be kept for a query: a test of its place, candidates.
    """

    good_query: Integers
    good: Integers
    junk_query: Integers
    junk: Integers
    columns: Mask
    gates: tuple[Gate, ...] = ()

    def by_gate(self, n_query: int) -> Iterator[tuple[Integers, Mask]]:
        """Yield queries whose gates are the same, and a mask of the images that pass them."""
        keys = np.stack([np.zeros(n_query, np.int64), *(gate.key for gate in self.gates)])
        of_query = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
        by_key = np.argsort(of_query, kind="stable")
        for queries in np.split(by_key, np.cumsum(np.bincount(of_query))[:-1]):
            first = slice(queries[0], queries[0] + 1)
            yield queries, self.columns & every_gate(self.gates, first, slice(None))[0]

    def n_kept(self, n_query: int) -> Integers:
        """Return the number of kept gallery images of each query."""
        kept = np.zeros(n_query, dtype=np.int64)
        for queries, mask in self.by_gate(n_query):
            kept[queries] = np.count_nonzero(mask)
        return kept - np.bincount(self.junk_query, minlength=n_query)

    def kept(self, queries: slice) -> Mask:
        """Return a mask of the kept images of consecutive queries, shape (queries, n_gallery)."""
        kept: Mask = np.tile(self.columns, (queries.stop - queries.start, 1))
        kept &= every_gate(self.gates, queries, slice(None))
        pairs = slice(*np.searchsorted(self.junk_query, [queries.start, queries.stop]))
        kept[self.junk_query[pairs] - queries.start, self.junk[pairs]] = False
        return kept


def find_roles(query: Labels, gallery: Labels, ignored: Iterable[str],
               lists: QueryLists | None = None) -> Roles:
    """Find the good and the ignored images of every query.

    Parameters
    ----------
    query, gallery : Labels
    ignored : iterable of str
        Keys of `conventions.IGNORED`.
    lists : IndexLists or Candidates, optional
        Good and junk images of every query, for "listed as junk"; or its candidates, for "not a
        candidate".

    Examples
    --------
    >>> roles = find_roles(Labels([7], [1]), Labels([7, 8, 7, -1], [1, 1, 2, 3]),
    ...                    ["label -1", "same identity, same camera"])
    >>> roles.good, roles.junk, roles.columns
    (array([2]), array([0]), array([ True,  True,  True, False]))
    """
    rules = set(ignored)
    if isinstance(lists, IndexLists) and "listed as junk" in rules:
        everything = np.ones(len(gallery), dtype=bool)
        return Roles(*_flat(lists.good), *_flat(lists.junk), everything)
    row, image = equal_pairs(query.identity, gallery.identity)
    columns = (gallery.identity != JUNK) | ("label -1" not in rules)
    gates: list[Gate] = [_places(query, gallery, rule) for rule in OF_PLACE if rule in rules]
    if isinstance(lists, Candidates) and "not a candidate" in rules:
        gates.append(lists)
    inside = every_pair(gates, row, image)
    passed = np.zeros(len(row), dtype=bool)
    for rule in OF_IDENTITY.keys() & rules:
        passed |= np.logical_and.reduce([
            test(_column(query, "query", name, rule)[row],
                 _column(gallery, "gallery", name, rule)[image])
            for name, test in OF_IDENTITY[rule].items()])
    junk = inside & passed
    good = inside & ~junk
    junk &= columns[image]
    return Roles(row[good], image[good], row[junk], image[junk], columns, tuple(gates))


def _column(labels: Labels, side: str, name: str, rule: str) -> Any:
    if name == "camera":
        return cameras_of(labels, f"{rule!r} is ignored")
    values = getattr(labels, name)
    if values is None:
        raise InputError(side, f"labels with {name}, for {rule!r} is ignored", "none",
                         f"give Labels(identity, camera, {name}=...), or {side}_{name} in the "
                         "file")
    return values


def find_all_roles(query: Labels, gallery: Labels, rules: Iterable[tuple[str, ...]],
                   lists: QueryLists | None = None) -> dict[tuple[str, ...], Roles]:
    """Return the roles under each rule, which is what it ignores."""
    return {rule: find_roles(query, gallery, rule, lists) for rule in rules}


def query_roles(query: Labels, gallery: Labels, ignored: Iterable[str],
                lists: QueryLists | None = None) -> Callable[[int], tuple[Integers, Mask]]:
    """Return a function of k: the good images of query k, and the mask of the kept ones."""
    roles = find_roles(query, gallery, ignored, lists)

    def of_query(k: int) -> tuple[Integers, Mask]:
        pairs = slice(*np.searchsorted(roles.good_query, [k, k + 1]))
        return roles.good[pairs], roles.kept(slice(k, k + 1))[0]
    return of_query


def equal_pairs(first: Integers, second: Integers) -> tuple[Integers, Integers]:
    """Return all pairs of equal values as places in both: by place in `first`, then in `second`.

    Examples
    --------
    >>> equal_pairs(np.array([7, 8]), np.array([8, 7, 9, 7]))
    (array([0, 0, 1]), array([1, 3, 0]))
    """
    shared = np.flatnonzero(np.isin(second, first))
    by_value = shared[np.argsort(second[shared], kind="stable")]
    values = second[by_value]
    start = np.searchsorted(values, first, side="left")
    count = np.searchsorted(values, first, side="right") - start
    row = np.repeat(np.arange(len(first), dtype=np.int64), count)
    before = np.cumsum(count) - count
    return row, by_value[np.arange(len(row)) + np.repeat(start - before, count)]


def _flat(lists: Iterable[Integers]) -> tuple[Integers, Integers]:
    parts = list(lists)
    row = np.repeat(np.arange(len(parts), dtype=np.int64), [len(images) for images in parts])
    empty = np.zeros(0, dtype=np.int64)
    return row, np.concatenate([empty, *parts])


def _places(query: Labels, gallery: Labels, rule: str) -> Places:
    column, place, keeps = OF_PLACE[rule]
    images, queries = (place(_column(labels, side, column, rule))
                       for labels, side in ((gallery, "gallery"), (query, "query")))
    return Places(images, queries, keeps)
