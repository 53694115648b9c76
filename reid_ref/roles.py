"""Which gallery images are good for a query, and which are kept.

Good: the query's identity, where it is not ignored. What is ignored is up to the convention.

Source: Zheng et al., Scalable Person Re-identification: A Benchmark, ICCV 2015, section 3.3.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from reid_ref.result import IndexLists, Labels
from reid_ref.validation import Integers

JUNK = -1
#: SYSU-MM01: its cameras 2 and 3 stand at one location.
SYSU_LOCATION = {3: 2}

Mask = npt.NDArray[np.bool_]


def query_roles(query: Labels, gallery: Labels, ignored: Iterable[str],
                lists: IndexLists | None = None) -> Callable[[int], tuple[Integers, Mask]]:
    """Return the function that tells the good images and the kept ones of query k.

    An image can be good and yet not kept: label -1 makes the images of a query labelled -1
    junk, but `evaluation.m` still takes those on other cameras as good.

    Parameters
    ----------
    query, gallery : Labels
    ignored : iterable of str
        What is ignored: keys of `IGNORED` in conventions.py.
    lists : IndexLists, optional
        Good and junk images of every query, where "listed as junk" is among `ignored`.
    """
    rules = set(ignored)
    by_identity = np.argsort(gallery.identity, kind="stable")
    identities = gallery.identity[by_identity]
    start = np.searchsorted(identities, query.identity, side="left")
    stop = np.searchsorted(identities, query.identity, side="right")
    labelled = gallery.identity != JUNK if "label -1" in rules else None
    place, query_place = _locations(gallery), _locations(query)

    def roles(k: int) -> tuple[Integers, Mask]:
        kept = np.ones(len(gallery), dtype=bool)
        if lists is not None and "listed as junk" in rules:
            kept[lists.junk[k]] = False
            return np.asarray(lists.good[k]), kept
        same = by_identity[start[k]:stop[k]]
        if "same identity, same camera" in rules:
            kept[same[gallery.camera[same] == query.camera[k]]] = False
        if "same camera" in rules:
            kept &= gallery.camera != query.camera[k]
        if "same location" in rules:
            kept &= place != query_place[k]
        good = same[kept[same]]
        if labelled is not None:
            kept &= labelled
        return good, kept
    return roles


def _locations(labels: Labels) -> Integers:
    place: Integers = labels.camera.copy()
    for camera, location in SYSU_LOCATION.items():
        place[place == camera] = location
    return place
