"""One query's ranked list: distances that rank, the role of each image, the nearest wrong one."""
from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Integers
from reid_ref.conventions import Convention
from reid_ref.evaluation.how import How
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import DISTRACTOR, JUNK, IndexLists, Labels
from reid_ref.ranking.roles import query_roles


def nearest_wrong(data: ResultFile, queries: Integers, how: How) -> list[int | None]:
    """Return each query's nearest image among the kept ones that are not good; None without one.

    `how` has one convention.

    Of several at the same distance it is the first in the gallery, whatever the convention's
    order of ties.
    """
    convention, = how.conventions
    roles = query_roles(data.query[queries], data.gallery, convention.not_ranked,
                        how.lists_of(queries))
    nearest: list[int | None] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the evaluation has said what is odd about the features
        for k, row in enumerate(data.input.rows(queries, how)):
            good, kept = roles(k)
            kept[good] = False
            wrong = np.flatnonzero(kept)
            order = np.argsort(row[wrong], kind="stable")
            nearest.append(int(wrong[order[0]]) if len(wrong) else None)
    return nearest


@dataclass(frozen=True)
class ListedImage:
    """One image of a ranked list.

    Parameters
    ----------
    place : int
        1-based place in the whole gallery by distance.
    ranks : tuple of int or None
        Rank among the kept images under each convention; None where it is ignored.
    image, identity, camera : int
        Gallery index from 0, and its labels.
    distance : float
    role : str
        good, junk (label -1), junk (same camera), not loaded, distractor, wrong, as the first
        convention has it; an image it does not ignore is never junk.
    """

    place: int
    ranks: tuple[int | None, ...]
    image: int
    identity: int
    camera: int
    distance: float
    role: str


def ranked_list(row: npt.NDArray[Any], query: Labels, gallery: Labels,
                conventions: list[Convention], around: int = 1,
                lists: IndexLists | None = None, distractors: bool = True) -> list[ListedImage]:
    """Return one query's ranked list around its good images, with every image's role.

    Parameters
    ----------
    row : array, shape (n_gallery,)
        The query's distances.
    query : Labels
        Of this one query.
    gallery : Labels
    conventions : list of Convention
        Whose ranks are wanted; the first one's roles are shown.
    around : int
        Images shown before and after each good image; the nearest are always shown.
    lists : IndexLists, optional
        Of this one query.
    distractors : bool
        Whether label 0 is a distractor; False where it is a person, as in MSMT17.

    Examples
    --------
    >>> from reid_ref import CONVENTIONS
    >>> for image in ranked_list(np.array([.3, .1, .2]), Labels([7], [1]),
    ...         Labels([7, -1, 7], [2, 2, 1]), [CONVENTIONS["matlab"], CONVENTIONS["torchreid"]]):
    ...     print(image.place, image.ranks, image.role)
    1 (None, None) junk (label -1)
    2 (None, None) junk (same camera)
    3 (1, 1) good
    """
    order = np.argsort(row, kind="stable")
    place_of = np.argsort(order)
    roles = [query_roles(query, gallery, convention.not_ranked, lists)(0)
             for convention in conventions]
    ranks = [np.cumsum(kept[order])[place_of] for _, kept in roles]
    loaded = conventions[0].loaded(gallery.identity)

    def role(image: int) -> str:
        return (_role(image, good, roles[0][1], gallery, distractors) if loaded[image]
                else "not loaded")

    good = set(roles[0][0].tolist())
    hits = [place for place, image in enumerate(order) if int(image) in good]
    shown = {place + step for place in hits for step in range(-around, around + 1)}
    shown |= set(range(2 * around + 1))
    return [ListedImage(
        place=place + 1,
        ranks=tuple(int(rank[image]) if kept[image] else None
                    for rank, (_, kept) in zip(ranks, roles)),
        image=int(image), identity=int(gallery.identity[image]),
        camera=int(gallery.camera[image]), distance=float(row[image]),
        role=role(int(image)))
        for place, image in enumerate(order) if place in shown]


def _role(image: int, good: set[int], kept: npt.NDArray[np.bool_], gallery: Labels,
          distractors: bool) -> str:
    identity = gallery.identity[image]
    if not kept[image]:
        kind = "label -1" if identity == JUNK else "same camera"
        return f"good+junk ({kind})" if image in good else f"junk ({kind})"
    if image in good:
        return "good"
    return "distractor" if distractors and identity == DISTRACTOR else "wrong"
