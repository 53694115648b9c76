"""The expectation of CMC and AP over every gallery of one image of each identity, exactly.

Given the drawn good image, the drawn image of another identity is nearer with the share p of its
images that are nearer, independently of the others. So the number of images before it has a
Poisson-binomial distribution: CMC adds up its first terms, and the mean of 1 / rank is the
integral of the product of 1 - p + p t over t from 0 to 1, a polynomial.
"""
from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles
from reid_ref.labels import Labels
from reid_ref.protocols.result import Expected
from reid_ref.ranking.good_ranks import stable_order

#: Nodes of the integral: exact to degree 255, and to the last digits far beyond it.
_NODES = 128
#: Good images whose distributions are computed at a time.
_AT_ONCE = 256


def expectation(blocks: Iterable[Doubles], query: Labels, gallery: Labels, length: int,
                is_pool: bool) -> Expected:
    """Return what every query has on average over all galleries.

    Parameters
    ----------
    blocks : iterable of float64, shape (some queries, n_gallery)
        Distances; equal ones are in gallery order.
    query, gallery : Labels
    length : int
        Of the CMC curve.
    is_pool : bool
        Query k is gallery image k: it asks where it is not drawn itself.
    """
    code = np.unique(gallery.identity, return_inverse=True)[1].reshape(-1)
    ap, match = np.full(len(query), np.nan), np.full((len(query), length), np.nan)
    k, queries, chances = 0, [], []
    for block in blocks:
        for row in block:
            before = _chances(row, code, gallery.identity == query.identity[k],
                              k if is_pool else None)
            if before.shape[1]:
                queries.append(k)
                chances.append(before)
            k += 1
            if sum(each.shape[1] for each in chances) > _AT_ONCE or (k == len(query) and chances):
                ap[queries], match[queries] = _means(chances, length)
                queries, chances = [], []
    matched = ~np.isnan(ap)
    n_images = np.bincount(code)[np.searchsorted(np.unique(gallery.identity),
                                                 query.identity[matched])]
    weight = 1 - 1 / n_images if is_pool else np.ones(len(n_images))
    return Expected(np.flatnonzero(matched), weight, ap[matched], match[matched])


def _chances(row: Doubles, code: npt.NDArray[np.intp], is_good: npt.NDArray[np.bool_],
             itself: int | None) -> Doubles:
    """Return for each identity and each good image the share of its images that are nearer."""
    order = stable_order(row)
    if itself is not None:
        order = order[order != itself]
    good = np.flatnonzero(is_good[order])
    wrong = np.flatnonzero(~is_good[order])
    n_identity, n_good = int(code.max()) + 1, len(good)
    cell = code[order[wrong]] * (n_good + 1) + np.searchsorted(good, wrong)
    counts = np.bincount(cell, minlength=n_identity * (n_good + 1))
    before = np.cumsum(counts.reshape(n_identity, n_good + 1), axis=1)
    shares: Doubles = before[:, :-1] / np.maximum(before[:, -1:], 1)
    return shares


def _means(chances: list[Doubles], length: int) -> tuple[Doubles, Doubles]:
    """Return AP and CMC of each query, the mean over its good images."""
    every = np.concatenate(chances, axis=1)
    number = np.zeros((length, every.shape[1]))
    number[0] = 1
    for chance in every:
        moved = number[:-1] * chance
        number *= 1 - chance
        number[1:] += moved
    nodes, weights = np.polynomial.legendre.leggauss(min(_NODES, len(every) // 2 + 1))
    inverse = np.zeros(every.shape[1])
    for node, weight in zip((nodes + 1) / 2, weights / 2):
        inverse += weight * np.prod(1 - every + every * node, axis=0)
    n_good = np.array([each.shape[1] for each in chances])
    start = np.cumsum(n_good) - n_good
    return (np.add.reduceat(inverse, start) / n_good,
            np.minimum(np.add.reduceat(np.cumsum(number, axis=0), start, axis=1) / n_good, 1).T)
