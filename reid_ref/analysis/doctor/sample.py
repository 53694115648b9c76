"""A sample of queries and images, and how often a good image of it is nearer than a wrong one."""
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Array, Doubles, Integers
from reid_ref.labels import JUNK, Candidates, IndexLists, Labels, QueryLists
from reid_ref.ranking.roles import find_roles

#: Queries and wrong gallery images in the sample.
SAMPLE = 300, 2000
#: Queries of one identity at most, where whole identities are drawn.
OF_ONE = 6


class Matches(NamedTuple):
    """How many images are good, and how many are kept, of each query; images labelled -1 are not
    good.
    """

    good: Integers
    kept: Integers


def find_matches(query: Labels, gallery: Labels, ignored: tuple[str, ...],
                 lists: QueryLists | None) -> Matches:
    """Count the good and the kept images of each query."""
    roles = find_roles(query, gallery, ignored, lists)
    of_junk = np.zeros(0, bool) if isinstance(lists, IndexLists) else (
        gallery.identity[roles.good] == JUNK)
    good = roles.good_query if isinstance(lists, IndexLists) else roles.good_query[~of_junk]
    return Matches(np.bincount(good, minlength=len(query)), roles.n_kept(len(query)))


class Sample(NamedTuple):
    """Some queries with all their good images, and some images of other identities.

    Parameters
    ----------
    query : int64, shape (n,)
        Which queries, ascending.
    image : int64, shape (m,)
        Which gallery images, ascending: those of these queries' identities, and others.
    good, wrong : bool, shape (n, m)
        Kept for the query: same identity, another identity.
    """

    query: Integers
    image: Integers
    good: npt.NDArray[np.bool_]
    wrong: npt.NDArray[np.bool_]


def draw_sample(query: Labels, gallery: Labels, seed: int, size: tuple[int, int],
                ignored: tuple[str, ...], lists: QueryLists | None,
                rows: npt.NDArray[np.bool_], whole: bool) -> Sample:
    """Draw queries and images by a seeded permutation.

    `rows`: which queries may be drawn; `whole`: up to `OF_ONE` queries of an identity together.
    """
    asking = np.flatnonzero(rows)
    generator = np.random.PCG64(seed)
    order = asking[_first(generator, len(asking), len(asking))]
    if whole:
        _, first, group = np.unique(query.identity[order], return_index=True, return_inverse=True)
        by_identity = np.argsort(first[group], kind="stable")
        order = order[by_identity]
        order = order[place_within(query.identity[order]) < OF_ONE]
    chosen = np.sort(order[:size[0]])
    images = np.flatnonzero(gallery.identity != JUNK)
    own = images[np.isin(gallery.identity[images], query.identity[chosen])]
    others = np.setdiff1d(images, own, assume_unique=True)
    image = np.union1d(own, others[_first(generator, len(others), size[1])])
    if isinstance(lists, Candidates):
        lists = lists.of_queries(chosen).within(image)
    roles = find_roles(query[chosen], gallery[image], ignored, lists)
    good = np.zeros((len(chosen), len(image)), bool)
    good[roles.good_query, roles.good] = True
    kept = roles.kept(slice(0, len(chosen)))
    return Sample(chosen, image, good,
                  kept & (query.identity[chosen, np.newaxis] != gallery.identity[image]))


def _first(generator: np.random.PCG64, n: int, most: int) -> npt.NDArray[np.intp]:
    """Return at most so many of n places, drawn without replacement."""
    return np.argsort(generator.random_raw(n), kind="stable")[:most]


def place_within(labels: Integers) -> Integers:
    """Return how many of the same label come before each."""
    order = np.argsort(labels, kind="stable")
    place = np.empty(len(labels), np.int64)
    place[order] = np.arange(len(labels)) - np.searchsorted(labels[order], labels[order])
    return place


def means_of(labels: Integers, values: Doubles) -> Doubles:
    """Return the mean of each label's values, but for NaN."""
    known = ~np.isnan(values)
    _, group, n = np.unique(labels[known], return_inverse=True, return_counts=True)
    means: Doubles = np.bincount(group, values[known]) / n
    return means


def standard_error(values: Doubles) -> float:
    """Return the standard error of a mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def shares_nearer(distances: Array, good: Array, wrong: Array) -> Doubles:
    """Return `share_nearer` of each row that has a good and a wrong image."""
    shares = shares_of_rows(distances, good, wrong)
    return shares[~np.isnan(shares)]


def shares_of_rows(distances: Array, good: Array, wrong: Array) -> Doubles:
    """Return `share_nearer` of each row; NaN without a good or without a wrong image."""
    return np.array([share_nearer(row[is_good], row[is_wrong])
                     if is_good.any() and is_wrong.any() else np.nan
                     for row, is_good, is_wrong in zip(distances.real, good, wrong)])


def share_nearer(good: Array, wrong: Array) -> float:
    """Return the share of pairs in which the good image is nearer; a tie is half."""
    wrong = np.sort(wrong)
    before = (np.searchsorted(wrong, good, side="left")
              + np.searchsorted(wrong, good, side="right"))
    return float((2 * len(wrong) - before).sum() / (2 * len(wrong) * len(good)))
