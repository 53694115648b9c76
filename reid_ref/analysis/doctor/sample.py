"""A sample of queries and images, and how often a good image of it is nearer than a wrong one."""
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.analysis.doctor.labels import has_match
from reid_ref.arrays import Array, Doubles, Integers
from reid_ref.labels import JUNK, Labels

#: Queries and wrong gallery images in the sample.
SAMPLE = 300, 2000


class Sample(NamedTuple):
    """Some queries with all their good images, and some images of other identities.

    Parameters
    ----------
    query : int64, shape (n,)
        Which queries, ascending.
    image : int64, shape (m,)
        Which gallery images, ascending: the good ones of these queries, and others.
    good, wrong : bool, shape (n, m)
        Same identity on another camera, or anywhere without cameras; another identity.
    """

    query: Integers
    image: Integers
    good: npt.NDArray[np.bool_]
    wrong: npt.NDArray[np.bool_]


def draw_sample(query: Labels, gallery: Labels, seed: int,
                size: tuple[int, int] = SAMPLE) -> Sample | None:
    """Draw queries that have a match, by a seeded permutation; None if there is none."""
    matched = np.flatnonzero(has_match(query, gallery) & (query.identity != JUNK))
    if not len(matched):
        return None
    generator = np.random.PCG64(seed)
    chosen = np.sort(matched[_first(generator, len(matched), size[0])])
    images = np.flatnonzero(gallery.identity != JUNK)
    own = images[np.isin(gallery.identity[images], query.identity[chosen])]
    others = np.setdiff1d(images, own, assume_unique=True)
    image = np.union1d(own, others[_first(generator, len(others), size[1])])
    same = query.identity[chosen, np.newaxis] == gallery.identity[image]
    good = same
    if query.camera is not None and gallery.camera is not None:
        good = same & (query.camera[chosen, np.newaxis] != gallery.camera[image])
    return Sample(chosen, image, good, ~same)


def _first(generator: np.random.PCG64, n: int, most: int) -> npt.NDArray[np.intp]:
    """Return at most so many of n places, drawn without replacement."""
    return np.argsort(generator.random_raw(n), kind="stable")[:most]


def shares_nearer(distances: Array, sample: Sample) -> Doubles:
    """Return `share_nearer` of each query that has a wrong image."""
    return np.array([share_nearer(row[good], row[wrong]) for row, good, wrong in zip(
        distances.real, sample.good, sample.wrong) if wrong.any()])


def share_nearer(good: Array, wrong: Array) -> float:
    """Return the share of pairs in which the good image is nearer; a tie is half."""
    wrong = np.sort(wrong)
    before = (np.searchsorted(wrong, good, side="left")
              + np.searchsorted(wrong, good, side="right"))
    return float((2 * len(wrong) - before).sum() / (2 * len(wrong) * len(good)))
