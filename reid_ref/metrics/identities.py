"""CMC curves over identities instead of images: of SYSU-MM01, and of single-gallery-shot.

They depend on which identities come before a good image, not only on the number of images. So each
row is sorted, which takes longer than ranks; only conventions with such a curve do it.

An identity is a label; -1 and 0, where they are kept, are one identity each. `ties` is a key of
`conventions.TIES`; "grouped" keeps gallery order here.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, Integers
from reid_ref.labels import IndexLists, Labels
from reid_ref.ranking.good_ranks import in_order
from reid_ref.ranking.roles import query_roles

Array = npt.NDArray[Any]
DRAWS = 10


class Rows(NamedTuple):
    """Distances of some queries to the whole gallery, and what is ignored; `lists` are theirs."""

    distances: Array
    query: Labels
    gallery: Labels
    ignored: Iterable[str]
    ties: str = "gallery-order"
    lists: IndexLists | None = None

    def matched(self) -> Iterator[tuple[int, Integers, Integers]]:
        """Yield each query with a good image: its number, its kept images by distance, and the
        positions of the good ones among them."""
        roles_of = query_roles(self.query, self.gallery, self.ignored, self.lists)
        for k, row in enumerate(self.distances):
            good, kept = roles_of(k)
            order = in_order(row, self.ties)
            order = order[kept[order]]
            is_good = np.zeros(len(row), dtype=bool)
            is_good[good] = True
            good_places = np.flatnonzero(is_good[order])
            if len(good_places):
                yield k, order, good_places


def identity_ranks(rows: Rows, *_: Any) -> Integers:
    """Rank of each query's identity among the identities, by their nearest kept image.

    Returns
    -------
    int64, shape (n_query,)
        1-based; 0 without a good image.

    References
    ----------
    Wu et al., RGB-Infrared Cross-Modality Person Re-identification, ICCV 2017:
    get_cmc_multi_cam.m.

    Examples
    --------
    Two images of identity 8 are nearer, so one identity comes before 7.

    >>> identity_ranks(Rows(np.array([[.1, .2, .3]]), Labels([7], [1]),
    ...                     Labels([8, 8, 7], [2, 2, 2]), ignored=()))
    array([2])
    """
    rank = np.zeros(len(rows.query), dtype=np.int64)
    for k, kept, good_places in rows.matched():
        rank[k] = 1 + len(np.unique(rows.gallery.identity[kept[:good_places[0]]]))
    return rank


def single_gallery_shot(rows: Rows, length: int, *_: Any) -> Doubles:
    """Expected CMC of each query if one kept image is drawn from each identity.

    Given the drawn good image, the drawn image of every other identity is nearer with a known
    probability, independently. The number of nearer ones has a Poisson-binomial distribution,
    whose first `length` terms are computed exactly.

    Returns
    -------
    float64, shape (n_query, length)
        Probability of a match at rank k or before; NaN without a good image.

    References
    ----------
    The protocol: Li et al., DeepReID, CVPR 2014; eval_cuhk03 of torchreid draws 10 times.

    Examples
    --------
    One of the two images of identity 8 is before the good image: probability 1/2.

    >>> single_gallery_shot(Rows(np.array([[.1, .2, .3]]), Labels([7], [1]),
    ...                          Labels([8, 7, 8], [2, 2, 2]), ()), length=3)
    array([[0.5, 1. , 1. ]])
    """
    identities, code = np.unique(rows.gallery.identity, return_inverse=True)
    curves = np.full((len(rows.query), length), np.nan)
    for k, kept, good_places in rows.matched():
        n_good = len(good_places)
        wrong = np.setdiff1d(np.arange(len(kept)), good_places, assume_unique=True)
        good_before = np.searchsorted(good_places, wrong)
        cell = code[kept[wrong]] * (n_good + 1) + good_before
        counts = np.bincount(cell, minlength=len(identities) * (n_good + 1))
        before = np.cumsum(counts.reshape(len(identities), n_good + 1), axis=1)
        ahead = before[(before[:, -1] > 0) & (before[:, -2] > 0)]
        beaten = ahead[:, :-1] / ahead[:, -1:]
        number = np.zeros((n_good, length))  # probability of each number of identities before
        number[:, 0] = 1
        for chance in beaten:
            moved = number[:, :-1] * chance[:, np.newaxis]
            number *= 1 - chance[:, np.newaxis]
            number[:, 1:] += moved
        curves[k] = np.minimum(np.cumsum(number, axis=1).mean(axis=0), 1.0)
    return curves


def single_gallery_shot_draws(rows: Rows, length: int, random: np.random.RandomState) -> Doubles:
    """CMC of each query as torchreid's eval_cuhk03 computes it, from 10 random draws.

    Images are drawn identity by identity, in order of the identity's nearest kept image. The
    evaluator has that order too, so that a seed gives its draws.

    Returns
    -------
    float64, shape (n_query, length)
        Multiples of 0.1; NaN without a good image.

    Examples
    --------
    >>> single_gallery_shot_draws(
    ...     Rows(np.array([[.1, .2, .3]]), Labels([7], [1]), Labels([8, 7, 8], [2, 2, 2]), ()),
    ...     length=2, random=np.random.RandomState(0))
    array([[0.8, 1. ]])
    """
    curves = np.full((len(rows.query), length), np.nan)
    for k, kept, _ in rows.matched():
        # The places of each identity, in order of its first one.
        names, first, code, n_images = np.unique(
            rows.gallery.identity[kept], return_index=True, return_inverse=True,
            return_counts=True)
        places = np.argsort(code.reshape(-1), kind="stable")
        start, order = np.cumsum(n_images) - n_images, np.argsort(first)
        good = int(np.flatnonzero(names[order] == rows.query.identity[k])[0])
        ranks = np.zeros(DRAWS, dtype=np.int64)
        for draw in range(DRAWS):
            drawn = places[start[order] + random.randint(0, n_images[order])]
            ranks[draw] = np.count_nonzero(drawn <= drawn[good])
        curves[k] = (ranks[:, np.newaxis] <= np.arange(1, length + 1)).sum(axis=0) / DRAWS
    return curves
