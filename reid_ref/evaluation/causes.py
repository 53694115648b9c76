"""Why a query loses average precision: which wrong images before its good ones cost most.

Aim: one cause per query, from its ranked list and the labels alone. Each kind of wrong image is
taken out of the list in turn; the kind whose absence raises AP most is the cause.

Conventions: the lists are those of kept images, up to the last good one. Equal distances keep
the order of the gallery, whatever the convention's order of ties.

Source: Bolya et al., TIDE: A General Toolbox for Identifying Object Detection Errors, ECCV 2020,
section 2.2, weighs an error of a detector by the AP that mending it returns; so here. Its kinds
of errors are those of boxes; ours are those of labels.
"""
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reid_ref.arrays import Array, Doubles, Integers, Mask
from reid_ref.disk import tables_of
from reid_ref.labels import DISTRACTOR, JUNK, Labels
from reid_ref.ranking.good_ranks import GoodRanks, from_lists, stable_order

GOOD = 0
_WORDS = tables_of("evaluation/words.toml")
#: The kinds of wrong images, numbered from 1; of two that cost the same the first is the cause.
KINDS: Mapping[str, str] = _WORDS["kinds"]
FEW = "few good images"
#: What becomes of a query, with its meaning.
CAUSES = {**KINDS, **_WORDS["causes"]}
#: Good images that are few.
FEWEST = 2


class Names(NamedTuple):
    """The kinds of wrong images and the causes, with their meanings."""

    kinds: Mapping[str, str]
    causes: Mapping[str, str]


def names_of(gallery: Labels) -> Names:
    """Return the kinds and the causes that such labels can have."""
    if gallery.camera is not None:
        return Names(KINDS, CAUSES)
    kinds = _WORDS["kinds without cameras"]
    return Names(kinds, kinds | _WORDS["causes"])


class Loss(NamedTuple):
    """What one query loses.

    Parameters
    ----------
    cause : str
        A key of `CAUSES`, or of what `names_of` has.
    returned : dict of str to float
        By kind, how much higher AP is without these images; empty without a good image.
    """

    cause: str
    returned: dict[str, float]


def kinds_of_list(row: Array, good: Integers, kept: Mask,
                  camera: int | None, gallery: Labels, distractors: bool = True) -> Integers:
    """Return the kinds of a query's kept images in order, up to the last good one.

    Parameters
    ----------
    row : array, shape (n_gallery,)
        Distances; smaller is nearer, NaN is farthest.
    good : int64
        Gallery indices of the good images.
    kept : bool, shape (n_gallery,)
    camera : int or None
        The query's; None if the labels have no cameras.
    gallery : Labels
    distractors : bool
        Whether label 0 is a distractor; False if it is a person, as in MSMT17.

    Returns
    -------
    int64
        `GOOD`, or the number of one of `KINDS`, from 1.

    Examples
    --------
    >>> gallery = Labels([7, 8, 9, 0, 7], [2, 2, 1, 2, 3])
    >>> kinds_of_list(np.array([.4, .1, .2, .3, .0]), np.array([0, 4]), np.ones(5, bool), 1,
    ...               gallery)
    array([0, 1, 2, 3, 0])
    """
    good = good[kept[good]]
    if not len(good):
        return np.zeros(0, np.int64)
    images = np.flatnonzero(kept & ~(row > row[good].max()))
    images = images[stable_order(row[images])]
    identity = gallery.identity[images]
    kinds = np.where(identity == JUNK, 2, 1)
    if gallery.camera is not None:
        kinds[gallery.camera[images] == camera] = 2
    if distractors:
        kinds[identity == DISTRACTOR] = 3
    is_good = np.isin(images, good)
    kinds[is_good] = GOOD
    return kinds[:np.flatnonzero(is_good)[-1] + 1]


def losses(lists: Sequence[Integers],
           average_precision: Callable[[GoodRanks], Doubles],
           kinds: Iterable[str] = KINDS) -> list[Loss]:
    """Return what each query loses.

    Parameters
    ----------
    lists : sequence of int64
        As `kinds_of_list` returns them.
    average_precision : callable
        Ranks to the AP of each query, by the rule of the convention.
    kinds : iterable of str
        In the order of their numbers; `names_of` has those of labels.

    Examples
    --------
    One distractor before the first of three good images, by the step rule:

    >>> from reid_ref import metrics
    >>> loss, = losses([np.array([3, 0, 0, 0])], metrics.average_precision_step)
    >>> loss.cause, round(loss.returned["distractor"], 4)
    ('distractor', 0.3611)
    """
    before, names = average_precision(_ranks_without(lists, -1)), list(kinds)
    gains = [average_precision(_ranks_without(lists, kind)) - before
             for kind in range(1, len(names) + 1)]
    return [_loss(of_query, dict(zip(names, returned)))
            for of_query, returned in zip(lists, np.transpose(gains).tolist())]


def _ranks_without(lists: Iterable[Integers], kind: int) -> GoodRanks:
    """Return the ranks of the good images once the images of a kind are taken out."""
    return from_lists([np.cumsum(kinds != kind)[kinds == GOOD].tolist() for kinds in lists])


def _loss(kinds: Integers, returned: dict[str, float]) -> Loss:
    n_good = np.count_nonzero(kinds == GOOD)
    n_wrong = len(kinds) - n_good
    if not n_good:
        return Loss("no match", {})
    if not n_wrong:
        return Loss("nothing lost", returned)
    if n_wrong <= n_good <= FEWEST:
        return Loss(FEW, returned)
    return Loss(max(returned, key=lambda kind: returned[kind]), returned)
