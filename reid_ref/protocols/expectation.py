"""The expectation of CMC and AP over every gallery of one image of each identity, exactly.

Given the drawn good image, the drawn image of another identity is nearer with the share p of its
images that are nearer, independently of the others. So the number X of images before it has a
Poisson-binomial distribution, whose generating function E[t^X] is the product of 1 - p + p t over
the identities. The mean of 1 / rank is its integral from 0 to 1; CMC adds up its first
coefficients, which are a Fourier transform of its values on a circle. Most shares are 0, which
change nothing, and the others have few values; so the product is the exponential of a sparse
matrix (how many identities have which share) times a table of logarithms.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from reid_ref.arrays import Doubles, Integers, scipy_module
from reid_ref.labels import Labels
from reid_ref.ranking.good_ranks import stable_order
from reid_ref.result import RANKS

#: The integral has so many nodes times the root of the number of identities, or fewer where they
#: are exact. The error is below 1e-13 for every power of t that was tried, to 20,000.
_NODES = 4
#: Points of the circle for each rank of the curve, where identities are more than that.
_POINTS = 6
#: What coefficients that fall on the first ones are multiplied by, through the circle's radius.
_BEYOND = 1e-16
#: Galleries that are drawn to see how far a draw is from the expectation.
N_DRAWS = 100
#: Good images whose distributions are computed at a time.
_AT_ONCE = 2048


class Expected(NamedTuple):
    """The expectation for each query over all galleries.

    Parameters
    ----------
    query : int64, shape (n,)
        Which queries have a good image.
    weight : float64, shape (n,)
        How often the query asks: an image of a pool is drawn into the gallery at times.
    ap : float64, shape (n,)
    match : float64, shape (n, length)
        The probability of a match at rank k or before.
    """

    query: Integers
    weight: Doubles
    ap: Doubles
    match: Doubles


class Identities(NamedTuple):
    """The gallery by identity.

    Parameters
    ----------
    code : int64, shape (n_gallery,)
        The number of each image's identity.
    images : list of int64
        The images of each identity, in gallery order.
    shares : float64, shape (n,)
        Every share of an identity's images, ascending.
    share, start : int64
        At `share[start + c]` is the place of the share of c images of an identity.
    """

    code: Integers
    images: list[Integers]
    shares: Doubles
    share: Integers
    start: Integers


class Near(NamedTuple):
    """What is as near to a query as its farthest good image, or nearer.

    Parameters
    ----------
    query : int
    row : float64, shape (n_gallery,)
        What ranks the gallery, without ties of good images with others.
    good : int64, shape (n_good,)
    image, nth : int64, shape (n,)
        Gallery images, and how many good images are nearer.
    """

    query: int
    row: Doubles
    good: Integers
    image: Integers
    nth: Integers


class Chances(NamedTuple):
    """What is left of a query's row.

    Parameters
    ----------
    query, n_good : int
    cells : int64, shape (n,)
        What `_cells` returns.
    ranks : int64, shape (n_draws,)
    """

    query: int
    n_good: int
    cells: Integers
    ranks: Integers


class Tables(NamedTuple):
    """Logarithms of 1 - p + p t for every share p.

    Parameters
    ----------
    logs : float64, shape (n_shares, n)
        At the nodes of the integral; then their real and imaginary parts on the circle.
    weights : float64
        Of the nodes.
    n_points : int
        Of the circle; half of them are computed.
    powers : float64, shape (length,)
        Of the circle's radius.
    """

    logs: Doubles
    weights: Doubles
    n_points: int
    powers: Doubles


def expectation(rows: Iterable[Doubles], query: Labels, gallery: Labels, length: int,
                is_pool: bool, drawn: Integers) -> tuple[Expected, Integers]:
    """Return what every query has on average over all galleries, and its ranks in some of them.

    Parameters
    ----------
    rows : iterable of float64, shape (some queries, n_gallery)
        What ranks the gallery; equal values are in gallery order.
    query, gallery : Labels
    length : int
        Of the CMC curve.
    is_pool : bool
        Query k is gallery image k: it asks where it is not drawn itself.
    drawn : int64, shape (n_identity, n_draws)
        Some galleries: an image of each identity, in their order.

    Returns
    -------
    Expected
    int64, shape (n_query, n_draws)
        The rank of the good image; 0 where a query does not ask, or has none.
    """
    identities = _by_identity(gallery)
    tables = _tables(identities.shares, len(identities.images), length)
    number = np.searchsorted(np.unique(gallery.identity), query.identity)
    number[~np.isin(query.identity, gallery.identity)] = -1
    ap, match = np.full(len(query), np.nan), np.full((len(query), length), np.nan)
    ranks = np.zeros((len(query), drawn.shape[1]), dtype=np.int64)
    for batch in _batches(
            Chances(near.query, len(near.good), _cells(near, number[near.query], identities),
                    _ranks(near, number[near.query], identities, is_pool, drawn))
            for near in _near(rows, number, identities, is_pool)):
        queries = [chances.query for chances in batch]
        ranks[queries] = [chances.ranks for chances in batch]
        ap[queries], match[queries] = _means(batch, len(identities.shares), tables)
    matched = ~np.isnan(ap)
    n_images = np.array([len(identities.images[j]) for j in number[matched]])
    weight = 1 - 1 / n_images if is_pool else np.ones(len(n_images))
    return Expected(np.flatnonzero(matched), weight, ap[matched], match[matched]), ranks


def drawn_galleries(identity: Integers, n: int = N_DRAWS, seed: int = 0) -> Integers:
    """Return galleries of one image of each identity: int64, shape (n_identity, n).

    Examples
    --------
    >>> drawn_galleries(np.array([7, 8, 7]), n=4)
    array([[2, 2, 0, 0],
           [1, 1, 1, 1]])
    """
    code, sizes = np.unique(identity, return_inverse=True, return_counts=True)[1:]
    place = (np.random.RandomState(seed).random_sample((n, len(sizes))) * sizes).astype(np.int64)
    images = np.argsort(code.reshape(-1), kind="stable")
    return np.ascontiguousarray(images[np.cumsum(sizes) - sizes + place].T)


def sd_of_draws(ranks: Integers, length: int) -> dict[str, float]:
    """Return the standard deviation of mAP, Rank-k and mINP over galleries.

    Parameters
    ----------
    ranks : int64, shape (n_query, n_draws)
        Of the good image; 0 where a query does not ask.
    length : int
        The largest k.
    """
    asks, n_asks = ranks > 0, np.count_nonzero(ranks, axis=0)
    ap = np.divide(1, ranks, out=np.zeros(ranks.shape), where=asks).sum(axis=0) / n_asks
    means = {"mAP": ap, **{f"Rank-{k}": np.count_nonzero(asks & (ranks <= k), axis=0) / n_asks
                           for k in RANKS if k <= length}, "mINP": ap}
    return {name: float(np.std(values, ddof=1)) for name, values in means.items()}


def _by_identity(gallery: Labels) -> Identities:
    code, sizes = np.unique(gallery.identity, return_inverse=True, return_counts=True)[1:]
    numbers = sizes + 1
    start = np.cumsum(numbers) - numbers
    count = np.arange(numbers.sum()) - np.repeat(start, numbers)
    shares, share = np.unique(count / np.repeat(sizes, numbers), return_inverse=True)
    images = np.split(np.argsort(code.reshape(-1), kind="stable"), np.cumsum(sizes)[:-1])
    return Identities(code.reshape(-1), images, shares, share.reshape(-1), start)


def _near(rows: Iterable[Doubles], number: Integers, identities: Identities,
          is_pool: bool) -> Iterator[Near]:
    """Yield what is near to each query with a good image."""
    for k, row in enumerate(row for block in rows for row in block):
        good = identities.images[number[k]] if number[k] >= 0 else number[:0]
        good = good[good != k] if is_pool else good
        if len(good):
            yield _near_to(k, row, good)


def _near_to(k: int, row: Doubles, good: Integers) -> Near:
    """Return what is near to a query; where others tie with good images, or are NaN, by places."""
    farness = np.sort(row[good])
    image = np.flatnonzero(row <= farness[-1])
    nth = np.searchsorted(farness, row[image])
    if np.count_nonzero(farness[nth] == row[image]) == len(good):
        return Near(k, row, good, image, nth)
    places = np.empty(len(row))
    places[stable_order(row)] = np.arange(len(row))
    return _near_to(k, places, good)


def _tables(shares: Doubles, n_identity: int, length: int) -> Tables:
    p = shares[:, np.newaxis]
    nodes, weights = np.polynomial.legendre.leggauss(
        min(n_identity // 2 + 1, int(np.ceil(_NODES * np.sqrt(n_identity)))))
    n_points = min(n_identity, _POINTS * length)
    radius = np.float64(1 if n_points == n_identity else _BEYOND**(1 / n_points))
    circle = radius * np.exp(-2j * np.pi * np.arange(n_points // 2 + 1) / n_points)
    values = 1 - p + p * circle
    with np.errstate(divide="ignore"):
        logs = np.hstack([np.log(1 - p + p * (nodes + 1) / 2), np.log(np.abs(values)),
                          np.angle(values)])
    return Tables(logs, weights / 2, n_points, radius**np.arange(length))


def _batches(every: Iterable[Chances]) -> Iterator[list[Chances]]:
    """Yield as many queries as are computed at a time."""
    batch, n_good = [], 0
    for chances in every:
        batch.append(chances)
        n_good += chances.n_good
        if n_good > _AT_ONCE:
            yield batch
            batch, n_good = [], 0
    if batch:
        yield batch


def _means(batch: list[Chances], n_shares: int, tables: Tables) -> tuple[Doubles, Doubles]:
    """Return AP and CMC of each query, the mean over its good images."""
    n_good = np.array([chances.n_good for chances in batch])
    start = np.cumsum(n_good) - n_good
    cells = np.concatenate([first * n_shares + chances.cells
                            for first, chances in zip(start.tolist(), batch)])
    cell, n_identities = np.unique(cells, return_counts=True)
    ends = np.searchsorted(cell, np.arange(n_good.sum() + 1) * n_shares)
    shape = len(ends) - 1, n_shares
    csr_matrix = scipy_module("sparse", "an expectation over all galleries").csr_matrix
    logs = csr_matrix((n_identities.astype(float), cell % n_shares, ends), shape) @ tables.logs
    n_nodes = len(tables.weights)
    size, angle = np.split(logs[:, n_nodes:], 2, axis=1)
    on_circle = np.add.reduceat(np.exp(size + 1j * angle), start) / n_good[:, np.newaxis]
    match = np.fft.irfft(on_circle, tables.n_points)[:, :len(tables.powers)] / tables.powers
    inverse = np.exp(logs[:, :n_nodes]) @ tables.weights
    ap = np.add.reduceat(inverse, start) / n_good
    # Rounding can leave the range.
    return np.minimum(ap, 1), np.clip(np.cumsum(match, axis=1), 0, 1)


def _ranks(near: Near, number: int, identities: Identities, is_pool: bool,
           drawn: Integers) -> Integers:
    """Return the rank of the good image in the galleries that are drawn."""
    chosen = drawn[number]
    others = drawn[np.flatnonzero(np.bincount(identities.code[near.image]))]
    nearer = np.count_nonzero(near.row[others] < near.row[chosen], axis=0)
    return np.where(is_pool & (chosen == near.query), 0, 1 + nearer)


def _cells(near: Near, number: int, identities: Identities) -> Integers:
    """Return for each good image and identity a number: that of the image, and of the share."""
    n_good, code = len(near.good), identities.code[near.image]
    is_wrong = code != number
    counts = np.bincount(code[is_wrong] * n_good + near.nth[is_wrong],
                         minlength=len(identities.images) * n_good)
    nearer = np.cumsum(counts.reshape(-1, n_good), axis=1)
    identity, good = np.nonzero(nearer)
    share = identities.share[identities.start[identity] + nearer[identity, good]]
    cells: Integers = good * len(identities.shares) + share
    return cells
