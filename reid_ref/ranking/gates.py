"""Gates: what an image must pass to be kept for a query, whatever its identity.

A gate is asked for a tile of queries and images, or pair by pair. Those of a place (camera, video)
compare a column of labels; the candidates of each query are a gate as well.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reid_ref.arrays import Integers, Mask
from reid_ref.labels import Candidates


@dataclass(frozen=True)
class Places:
    """Images are kept by their place and the query's.

    Parameters
    ----------
    image, query : int64, shape (n_gallery,) and (n_query,)
    keeps : callable
        Places of images and of queries to a mask.
    """

    image: Integers
    query: Integers
    keeps: Callable[[Any, Any], Mask]

    @property
    def key(self) -> Integers:
        """int64, shape (n_query,): queries with the same number keep the same images."""
        return self.query

    def tile(self, queries: slice, images: Any) -> Mask:
        """Return which images pass: bool, shape (queries, images)."""
        return self.keeps(self.image[images], self.query[queries, np.newaxis])

    def pairs(self, query: Integers, image: Integers) -> Mask:
        """Return which pairs pass: bool, shape (pairs,)."""
        return self.keeps(self.image[image], self.query[query])

    def within(self, images: slice) -> Places:
        """Return the gate of some gallery images, which then count from 0."""
        return replace(self, image=self.image[images])


#: What each image must pass to be kept for a query.
Gate = Places | Candidates


def every_gate(gates: Iterable[Gate], queries: slice, images: Any) -> Any:
    """Return which images pass all gates: a mask of shape (queries, images), or ones to broadcast.

    Examples
    --------
    >>> gate = Places(np.array([1, 2, 1]), np.array([1, 2]), np.not_equal)
    >>> every_gate([gate], slice(0, 2), slice(None)).astype(int)
    array([[0, 1, 0],
           [1, 0, 1]])
    """
    passed: Any = np.ones((1, 1), dtype=np.bool_)
    for gate in gates:
        passed = passed & gate.tile(queries, images)
    return passed


def every_pair(gates: Iterable[Gate], query: Integers, image: Integers) -> Mask:
    """Return which pairs pass all gates: bool, shape (pairs,)."""
    passed: Mask = np.ones(len(query), dtype=np.bool_)
    for gate in gates:
        passed &= gate.pairs(query, image)
    return passed
