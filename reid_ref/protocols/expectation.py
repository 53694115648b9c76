"""The expectation of CMC and AP over every gallery of one image of each identity, exactly.

Given the drawn good image, the drawn image of another identity is nearer with the share p of its
images that are nearer, independently of the others. So the number X of images before it has a
Poisson-binomial distribution, whose generating function E[t^X] is the product of 1 - p + p t over
the identities. The mean of 1 / rank is its integral from 0 to 1; CMC adds up its first
coefficients, which are a Fourier transform of its values on a circle. Most shares are 0, which
change nothing, and the others have few values; so the product is the exponential of a sparse
matrix (how many identities have which share) times a table of logarithms.
"""
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from reid_ref.arrays import Doubles, Integers, optional_module
from reid_ref.labels import Labels, cells
from reid_ref.measures import RANKS, measure, printed
from reid_ref.ranking.good_ranks import stable_order

#: The integral has so many nodes times the root of the number of identities, or fewer if they
#: are exact. The error is below 1e-13 for every power of t that was tried, to 20,000.
_NODES = 4
#: Points of the circle for each rank of the curve, if identities are more than that.
_POINTS = 6
#: What coefficients that fall on the first ones are multiplied by, through the circle's radius.
_BEYOND = 1e-16
#: Galleries that are drawn to see how far a draw is from the expectation.
N_DRAWS = 100
#: Good images whose distributions are computed at a time.
_AT_ONCE = 2048


class Expected(NamedTuple):
    """The expectation for each query over all galleries; NaN if it has no good image.

    Parameters
    ----------
    weight : float64, shape (n_query,)
        How often the query asks: an image of a pool is drawn into the gallery at times.
    ap : float64, shape (n_query,)
    match : float64, shape (n_query, length)
        The probability of a match at rank k or before.
    ranks : int64, shape (n_query, n_draws)
        The rank of the good image in some galleries; 0 if a query does not ask, or has none.
    """

    weight: Doubles
    ap: Doubles
    match: Doubles
    ranks: Integers


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
                is_pool: bool, drawn: Integers) -> Expected:
    """Return what every query has on average over all galleries, and its ranks in some of them.

    Parameters
    ----------
    rows : iterable of float64, shape (some queries, n_gallery)
        What ranks the gallery; equal values are in gallery order.
    query, gallery : Labels
    length : int
        Of the CMC curve.
    is_pool : bool
        Query k is gallery image k: it asks if it is not drawn itself.
    drawn : int64, shape (n_identity, n_draws)
        Some galleries: an image of each identity, in their order.
    """
    identities = _by_identity(gallery)
    tables = _tables(identities.shares, len(identities.images), length)
    weight, ap = np.full((2, len(query)), np.nan)
    expected = Expected(weight, ap, np.full((len(query), length), np.nan),
                        np.zeros((len(query), drawn.shape[1]), dtype=np.int64))
    for batch in _batches(_chances(rows, query, gallery, identities, is_pool, drawn)):
        queries = [chances.query for chances in batch]
        weight[queries] = [1 - 1 / (chances.n_good + 1) if is_pool else 1 for chances in batch]
        expected.ranks[queries] = [chances.ranks for chances in batch]
        ap[queries], expected.match[queries] = _means(batch, len(identities.shares), tables)
    return expected


def drawn_galleries(gallery: Labels, n: int = N_DRAWS, seed: int = 0) -> Integers:
    """Return galleries of one image of each identity: int64, shape (n_identity, n).

    Examples
    --------
    >>> drawn_galleries(Labels([7, 8, 7], [1, 1, 1]), n=4)
    array([[2, 2, 0, 0],
           [1, 1, 1, 1]])
    """
    images = cells(gallery, "identity").values()
    shares = np.random.RandomState(seed).random_sample((n, len(images)))
    return np.array([rows[(share * len(rows)).astype(np.int64)]
                     for rows, share in zip(images, shares.T)])


def sd_of_draws(ranks: Integers, length: int) -> dict[str, float]:
    """Return the standard deviation of mAP, Rank-k and mINP over galleries.

    Parameters
    ----------
    ranks : int64, shape (n_query, n_draws)
        Of the good image; 0 if a query does not ask.
    length : int
        The largest k.
    """
    asks, n_asks = ranks > 0, np.count_nonzero(ranks, axis=0)
    ap = np.divide(1, ranks, out=np.zeros(ranks.shape), where=asks).sum(axis=0) / n_asks
    match = np.stack([np.count_nonzero(asks & (ranks <= k), axis=0) / n_asks
                      for k in range(1, min(length, max(RANKS)) + 1)], axis=1)
    return {name: float(np.std(measure(name).expectation(ap, match), ddof=1))
            for name in printed(k for k in RANKS if k <= length)}


def _by_identity(gallery: Labels) -> Identities:
    code, sizes = np.unique(gallery.identity, return_inverse=True, return_counts=True)[1:]
    numbers = sizes + 1
    start = np.cumsum(numbers) - numbers
    count = np.arange(numbers.sum()) - np.repeat(start, numbers)
    shares, share = np.unique(count / np.repeat(sizes, numbers), return_inverse=True)
    images = np.split(np.argsort(code.reshape(-1), kind="stable"), np.cumsum(sizes)[:-1])
    return Identities(code.reshape(-1), images, shares, share.reshape(-1), start)


def _chances(rows: Iterable[Doubles], query: Labels, gallery: Labels, identities: Identities,
             is_pool: bool, drawn: Integers) -> Iterator[Chances]:
    """Yield what is left of the row of each query with a good image."""
    number = np.searchsorted(np.unique(gallery.identity), query.identity)
    is_shown = np.isin(query.identity, gallery.identity)
    for k, row in enumerate(row for block in rows for row in block):
        good = identities.images[number[k]] if is_shown[k] else number[:0]
        good = good[good != k] if is_pool else good
        if len(good):
            row, image, nth = _near(row, good)
            code, chosen = identities.code[image], drawn[number[k]]
            others = drawn[np.flatnonzero(np.bincount(code))]
            nearer = np.count_nonzero(row[others] < row[chosen], axis=0)
            is_wrong = code != number[k]
            yield Chances(k, len(good),
                          _cells(code[is_wrong], nth[is_wrong], len(good), identities),
                          np.where(is_pool & (chosen == k), 0, 1 + nearer))


def _near(row: Doubles, good: Integers) -> tuple[Doubles, Integers, Integers]:
    """Return the row, the images up to the farthest good one, and how many good ones are nearer.

    Where others tie with good images, or are NaN, the row is that of their places.
    """
    farness = np.sort(row[good])
    image = np.flatnonzero(row <= farness[-1])
    nth = np.searchsorted(farness, row[image])
    if np.count_nonzero(farness[nth] == row[image]) == len(good):
        return row, image, nth
    places = np.empty(len(row))
    places[stable_order(row)] = np.arange(len(row))
    return _near(places, good)


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
    cell, n_identities = np.unique(
        np.concatenate([first * n_shares + chances.cells
                        for first, chances in zip(start.tolist(), batch)]), return_counts=True)
    ends = np.searchsorted(cell, np.arange(n_good.sum() + 1) * n_shares)
    shape = len(ends) - 1, n_shares
    csr_matrix = optional_module("an expectation over all galleries", "scipy.sparse").csr_matrix
    logs = csr_matrix((n_identities.astype(float), cell % n_shares, ends), shape) @ tables.logs
    n_nodes = len(tables.weights)
    size, angle = np.split(logs[:, n_nodes:], 2, axis=1)
    on_circle = np.add.reduceat(np.exp(size + 1j * angle), start) / n_good[:, np.newaxis]
    match = np.fft.irfft(on_circle, tables.n_points)[:, :len(tables.powers)] / tables.powers
    inverse = np.exp(logs[:, :n_nodes]) @ tables.weights
    ap = np.add.reduceat(inverse, start) / n_good
    # Rounding can leave the range.
    return np.minimum(ap, 1), np.clip(np.cumsum(match, axis=1), 0, 1)


def _cells(code: Integers, nth: Integers, n_good: int, identities: Identities) -> Integers:
    """Return for each good image and identity a number: that of the image, and of the share.

    `code` and `nth` are the identity of each wrong image, and how many good ones are nearer.
    """
    counts = np.bincount(code * n_good + nth, minlength=len(identities.images) * n_good)
    nearer = np.cumsum(counts.reshape(-1, n_good), axis=1)
    identity, good = np.nonzero(nearer)
    share = identities.share[identities.start[identity] + nearer[identity, good]]
    return np.asarray(good * len(identities.shares) + share)
