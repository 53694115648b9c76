"""Curves over identities instead of images: SYSU-MM01's, and single-gallery-shot's.

These need to know which identities, not only how many images, come before a good image. So
each row is sorted here: they cost more than ranks, and run only when a convention asks.

An identity is a label; -1 and 0, where they are kept, are one each. `ties` is an order of
`conventions.TIES`; "grouped" has none, so there ties keep gallery order.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, Integers
from reid_ref.labels import IndexLists, Labels
from reid_ref.ranking.good_ranks import in_order
from reid_ref.ranking.roles import query_roles

Array = npt.NDArray[Any]
DRAWS = 10


def identity_ranks(distances: Array, query: Labels, gallery: Labels,
                   ignored: Iterable[str], ties: str = "gallery-order",
                   lists: IndexLists | None = None) -> Integers:
    """Rank of each query's identity among the identities, by their nearest kept image.

    Returns
    -------
    int64, shape (n_query,)
        1-based; 0 without a good image.

    Source
    ------
    Wu et al., RGB-Infrared Cross-Modality Person Re-identification, ICCV 2017:
    get_cmc_multi_cam.m.

    Examples
    --------
    Two images of identity 8 come first: one identity before 7.

    >>> identity_ranks(np.array([[.1, .2, .3]]), Labels([7], [1]),
    ...                Labels([8, 8, 7], [2, 2, 2]), ignored=())
    array([2])
    """
    roles_of = query_roles(query, gallery, ignored, lists)
    rank = np.zeros(len(query), dtype=np.int64)
    for k in range(len(query)):
        kept, good_places = _walk(distances[k], *roles_of(k), ties)
        if len(good_places):
            rank[k] = 1 + len(np.unique(gallery.identity[kept[:good_places[0]]]))
    return rank


def single_gallery_shot(distances: Array, query: Labels, gallery: Labels,
                        ignored: Iterable[str], length: int, ties: str = "gallery-order",
                        lists: IndexLists | None = None) -> Doubles:
    """Expected CMC of each query when one kept image is drawn from each identity.

    The good image is drawn among the query's good ones. Every other identity's drawn image
    comes before it with a known probability, independently: their number follows a
    Poisson-binomial distribution, whose first `length` terms are summed exactly.

    Returns
    -------
    float64, shape (n_query, length)
        Probability of a match at rank k or before; NaN without a good image.

    Source
    ------
    The protocol: Li et al., DeepReID, CVPR 2014; eval_cuhk03 of torchreid draws 10 times.

    Examples
    --------
    Identity 8 comes before the good image with one of its two images: half a chance.

    >>> single_gallery_shot(np.array([[.1, .2, .3]]), Labels([7], [1]),
    ...                     Labels([8, 7, 8], [2, 2, 2]), (), length=3)
    array([[0.5, 1. , 1. ]])
    """
    roles_of = query_roles(query, gallery, ignored, lists)
    identities, code = np.unique(gallery.identity, return_inverse=True)
    curves = np.full((len(query), length), np.nan)
    for k in range(len(query)):
        kept, good_places = _walk(distances[k], *roles_of(k), ties)
        if not len(good_places):
            continue
        n_good = len(good_places)
        others = np.setdiff1d(np.arange(len(kept)), good_places, assume_unique=True)
        good_before = np.searchsorted(good_places, others)
        cell = code[kept[others]] * (n_good + 1) + good_before
        counts = np.bincount(cell, minlength=len(identities) * (n_good + 1))
        before = np.cumsum(counts.reshape(len(identities), n_good + 1), axis=1)
        ahead = before[(before[:, -1] > 0) & (before[:, -2] > 0)]
        beaten = ahead[:, :-1] / ahead[:, -1:]
        number = np.zeros((n_good, length))  # chances that so many identities come before
        number[:, 0] = 1
        for chance in beaten:
            moved = number[:, :-1] * chance[:, np.newaxis]
            number *= 1 - chance[:, np.newaxis]
            number[:, 1:] += moved
        curves[k] = np.minimum(np.cumsum(number, axis=1).mean(axis=0), 1.0)
    return curves


def single_gallery_shot_draws(distances: Array, query: Labels, gallery: Labels,
                              ignored: Iterable[str], length: int,
                              random: np.random.RandomState, ties: str = "gallery-order",
                              lists: IndexLists | None = None) -> Doubles:
    """CMC of each query as torchreid's eval_cuhk03 draws it, 10 times.

    Identities are drawn from in order of their nearest kept image, so that a seed gives the
    draws that the evaluator makes with it.

    Returns
    -------
    float64, shape (n_query, length)
        Multiples of 0.1; NaN without a good image.

    Examples
    --------
    >>> single_gallery_shot_draws(np.array([[.1, .2, .3]]), Labels([7], [1]),
    ...     Labels([8, 7, 8], [2, 2, 2]), (), length=2, random=np.random.RandomState(0))
    array([[0.8, 1. ]])
    """
    roles_of = query_roles(query, gallery, ignored, lists)
    curves = np.full((len(query), length), np.nan)
    for k in range(len(query)):
        kept, good_places = _walk(distances[k], *roles_of(k), ties)
        if not len(good_places):
            continue
        names, first = np.unique(gallery.identity[kept], return_index=True)
        names = names[np.argsort(first)]
        places = [np.flatnonzero(gallery.identity[kept] == name) for name in names]
        own = int(np.flatnonzero(names == query.identity[k])[0])
        ranks = np.zeros(DRAWS, dtype=np.int64)
        for draw in range(DRAWS):
            drawn = np.array([place[random.randint(0, len(place))] for place in places])
            ranks[draw] = np.count_nonzero(drawn <= drawn[own])
        curves[k] = (ranks[:, np.newaxis] <= np.arange(1, length + 1)).sum(axis=0) / DRAWS
    return curves


def _walk(row: Array, good: Integers, kept: npt.NDArray[np.bool_],
          ties: str) -> tuple[Integers, Integers]:
    """Return the kept images in order of distance, and the places of the good among them."""
    order = in_order(row, ties)
    order = order[kept[order]]
    is_good = np.zeros(len(row), dtype=bool)
    is_good[good] = True
    return order, np.flatnonzero(is_good[order])
