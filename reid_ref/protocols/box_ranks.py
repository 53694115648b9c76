"""Boxes to ranks: which detections answer a query, which are right, how many people there are.

Two rules. By *first overlap* (CUHK-SYSU, PRW in Python) the most similar detection that overlaps
an annotated box enough is right, and every other one wrong. By *labels* (PRW in MATLAB) each
detection has the identity of the box that it overlaps most, whatever the query, and is then an
image like any other. In both, people whom no detection shows count as good images without a rank.
"""
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from reid_ref.arrays import Doubles, InputError, Integers, Mask, bytes_for
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Distances, Features, with_n_good
from reid_ref.evaluation.ranks import Curves, Ranking, features_provenance
from reid_ref.labels import DISTRACTOR, JUNK, Labels
from reid_ref.protocols.boxes import Boxes
from reid_ref.ranking.exact_distances import feature_rows
from reid_ref.ranking.good_ranks import GoodRanks
from reid_ref.ranking.roles import equal_pairs

#: The image numbers of a query's gallery, in order, given the query's number.
Gallery = Callable[[int], Integers]


class Searched(NamedTuple):
    """Queries, the detections that are kept as their gallery, and the ranks of the right ones."""

    query: Labels
    gallery: Labels
    ranking: Ranking


class BoxRule(NamedTuple):
    """How boxes become ranks.

    Parameters
    ----------
    gallery : str
        Which images are searched, a key of `GALLERIES`.
    right : str
        Which detections are right, a key of `RIGHT`.
    score : float, optional
        Detections of a lower score are left out, unless others are requested.
    """

    gallery: str
    right: str
    score: float | None = None

    def rank(self, boxes: Boxes, kept: Mask, part: str, how: How) -> Searched:
        """Return the detections that are kept as a ranked gallery."""
        return RIGHT[self.right].rank(boxes, kept, part, how, GALLERIES[self.gallery].of)

    def words(self, part: str) -> str:
        """Return what is searched in a part, and what is right."""
        return f"{GALLERIES[self.gallery].words(part)}; {RIGHT[self.right].words}"

    @property
    def kept(self) -> str:
        """Which detections are kept, in words."""
        return "all" if self.score is None else f"those of score {self.score:g} or more"


# ---------------------------------------------------------------- galleries

def listed_images(boxes: Boxes, part: str) -> Gallery:
    """CUHK-SYSU: the images that a file lists for each query."""
    if part == "whole":
        return _whole(boxes)
    if part not in boxes.galleries:
        raise InputError("galleries", f"the gallery of {part} images for each query", "none",
                         f"gallery_{part} in the file holds it")
    rows = boxes.galleries[part]
    return lambda query: rows[query][rows[query] >= 0]


def _whole(boxes: Boxes) -> Gallery:
    """Return all images but the query's own; the gallery of 50 comes first, which decides ties."""
    listed = boxes.galleries.get("50", np.full((len(boxes.query_image), 1), -1))

    def images(query: int) -> Integers:
        first = listed[query][listed[query] >= 0]
        remaining = np.ones(len(boxes.image), dtype=np.bool_)
        remaining[first] = remaining[boxes.query_image[query]] = False
        return np.concatenate([first, np.flatnonzero(remaining)])
    return images


def other_images(boxes: Boxes, _: str) -> Gallery:
    """Return all images but the query's own."""
    images = np.arange(len(boxes.image))
    return lambda query: images[images != boxes.query_image[query]]


def images_of_other_cameras(boxes: Boxes, _: str) -> Gallery:
    """Return the images of all cameras but the query's."""
    camera = camera_of(boxes)
    return lambda query: np.flatnonzero(camera != camera[boxes.query_image[query]])


def camera_of(boxes: Boxes) -> Integers:
    """Return the camera of each image, which must be there."""
    if boxes.image_camera is None:
        raise InputError("image_camera", "the camera of each image", "none",
                         "for PRW it is the digit after c in the image's name")
    return np.asarray(boxes.image_camera)


# ---------------------------------------------------------------- overlap

def overlaps(boxes: Boxes, pixel: int = 0) -> tuple[Integers, Integers, Doubles]:
    """Return annotated box, detection, and intersection over union, of all pairs in one image.

    `pixel` is 1 if the last pixel is a part of a box.

    Examples
    --------
    >>> boxes = Boxes(["a", "b"], [0, 1], [7, 7], [[0, 0, 4, 4]] * 2, [1], [[0, 0, 4, 2]], [1.],
    ...               [0], [7], similarity=[[1.]])
    >>> overlaps(boxes)
    (array([1]), array([0]), array([0.5]))
    """
    truth, detection = equal_pairs(boxes.truth_image, boxes.detection_image)
    first, second = (box.astype(np.float64) for box in (boxes.truth_box[truth],
                                                        boxes.detection_box[detection]))
    sides = np.minimum(first[:, 2:], second[:, 2:]) - np.maximum(first[:, :2], second[:, :2])
    common = (sides + pixel).clip(min=0).prod(axis=1)
    areas = [(each[:, 2:] - each[:, :2] + pixel).prod(axis=1) for each in (first, second)]
    return truth, detection, common / (areas[0] + areas[1] - common)


def least_overlap(truth_box: Doubles) -> Doubles:
    """Return the overlap from which a detection is right: 0.5, less for boxes below about 24 px.

    Examples
    --------
    >>> least_overlap(np.array([[0., 0., 100., 200.], [0., 0., 10., 20.]])).round(3)
    array([0.5  , 0.333])
    """
    sides = (truth_box[:, 2:] - truth_box[:, :2]).astype(np.float64)
    return np.asarray(np.minimum(0.5, sides.prod(axis=1) / (sides + 10).prod(axis=1)))


# ---------------------------------------------------------------- the first overlap is right

def by_first_overlap(boxes: Boxes, kept: Mask, part: str, how: How,
                     gallery_of: Callable[[Boxes, str], Gallery]) -> Searched:
    """Rank each query's right detections among those in its gallery."""
    gallery, image = gallery_of(boxes, part), boxes.detection_image[kept]
    candidates = _candidates(boxes, kept)
    position, n_good, of_queries = np.empty(len(boxes.image), dtype=np.int64), [], []
    for query, distances in enumerate(_rows(boxes, kept, how)):
        listed = gallery(query)
        position[:] = -1
        position[listed[::-1]] = np.arange(len(listed))[::-1]  # a repeated image counts once
        truth, detection, of_image = candidates(query)
        of_image = of_image[position[of_image] >= 0]
        # but its person twice
        n_good.append(np.bincount(listed, minlength=len(boxes.image))[of_image].sum())
        place = position[image]
        inside = place[detection] >= 0
        of_queries.append(_ranks(distances, place, truth[inside], detection[inside]))
    asks, answers = _labels(boxes, kept)
    ranks = _joined(of_queries, np.array(n_good), len(answers))
    ranking = Ranking(lambda convention: ranks, Curves((), asks, answers), _provenance(boxes, how))
    return Searched(asks, answers, with_n_good(ranking, ranks.n_good, int(ranks.n_kept.max())))


def _candidates(boxes: Boxes,
                kept: Mask) -> Callable[[int], tuple[Integers, Integers, Integers]]:
    """Return a function of the query: its annotated boxes, one per image.

    It returns pairs of annotated box and kept detection that overlap enough, and the images of
    all annotated boxes.
    """
    _, once = np.unique([boxes.truth_identity, boxes.truth_image], axis=1, return_index=True)
    truth, detection, overlap = overlaps(boxes)
    right = overlap >= least_overlap(boxes.truth_box)[truth]
    right &= kept[detection] & np.isin(truth, once)
    truth, detection = truth[right], (np.cumsum(kept) - 1)[detection[right]]
    by_query = [np.split(side, np.searchsorted(query, np.arange(1, len(boxes.query_identity))))
                for query, *sides in (equal_pairs(boxes.query_identity, identity)
                                      for identity in (boxes.truth_identity[truth],
                                                       boxes.truth_identity[once]))
                for side in sides]
    return lambda query: (truth[by_query[0][query]], detection[by_query[0][query]],
                          boxes.truth_image[once[by_query[1][query]]])


def _ranks(distances: Doubles, place: Integers, truth: Integers,
           detection: Integers) -> tuple[Integers, ...]:
    """Return rank, nearer, tied and detection of the right ones, and how many are kept.

    Of equal distances an image comes before those later in the gallery, and in the image of a
    right detection the last detection comes first: reversed, this is the order of SeqNet's code,
    which sorts each image with an annotated box, then all, each time from the end.
    """
    order = np.lexsort((-detection, distances[detection], truth))
    right = detection[order][np.flatnonzero(np.diff(truth[order], prepend=-1))]
    kept, values = place >= 0, distances[right]
    in_order = np.sort(distances[kept])
    nearer = np.searchsorted(in_order, values)
    tied = np.searchsorted(in_order, values, side="right") - nearer
    rank = 1 + nearer
    for k in np.flatnonzero(tied > 1):
        same = np.flatnonzero(kept & (distances == values[k]))
        before = place[same] - place[right[k]]
        rank[k] += np.count_nonzero((before < 0) | ((before == 0) & (same > right[k])))
    by_rank = np.argsort(rank)
    return (*(column[by_rank] for column in (rank, nearer, tied, right)),
            np.array([len(in_order)]))


def _joined(of_queries: list[tuple[Integers, ...]], n_good: Integers,
            n_detection: int) -> GoodRanks:
    rank, nearer, tied, image, n_kept = map(np.concatenate, zip(*of_queries))
    return GoodRanks(
        rank=rank, nearer=nearer, tied=tied, image=image,
        found=np.array([len(ranks[0]) for ranks in of_queries]), n_good=n_good,
        n_junk=n_detection - n_kept, n_kept=n_kept,
        first_match=np.array([ranks[0][0] if len(ranks[0]) else 0 for ranks in of_queries]))


def _rows(boxes: Boxes, kept: Mask, how: How) -> Iterator[Doubles]:
    """Yield each query's distances to the kept detections, in their exact order."""
    if boxes.similarity is not None:
        yield from (0.0 - row[kept] for row in boxes.similarity)
        return
    features = boxes.detection_features[kept]
    memory = bytes_for(how.max_memory, features)
    if features.dtype.kind == "f" and 8 * features.size <= memory:
        features = features.astype(np.float64)  # once, not in every block
    for block in feature_rows(boxes.query_features, features, how.scaling(), memory):
        block[np.isnan(block)] = np.inf  # of features that are all zero
        yield from block


def _provenance(boxes: Boxes, how: How) -> dict[str, str]:
    if boxes.similarity is not None:
        return {"similarity": str(boxes.similarity.dtype)}
    return features_provenance(boxes.query_features, boxes.detection_features, how)


def _labels(boxes: Boxes, kept: Mask) -> tuple[Labels, Labels]:
    """Return labels of queries and detections, of which these have no identity here."""
    camera = np.zeros(len(boxes.image)) if boxes.image_camera is None else boxes.image_camera
    image = boxes.detection_image[kept]
    return (Labels(boxes.query_identity, camera[boxes.query_image]),
            Labels(np.full(len(image), DISTRACTOR), camera[image]))


# ---------------------------------------------------------------- detections with labels

def by_labels(boxes: Boxes, kept: Mask, part: str, how: How, _: object) -> Searched:
    """Rank all detections as images with the identity of the annotated box that each overlaps.

    The convention ignores those of the query's camera.
    """
    camera = camera_of(boxes)
    identity, missed = identities_of_detections(boxes)
    of_queries, cameras = camera[boxes.query_image], camera[boxes.detection_image]
    query = Labels(boxes.query_identity, of_queries)
    row, good = equal_pairs(query.identity, np.append(identity, boxes.truth_identity[missed]))
    other = np.append(cameras, camera[boxes.truth_image[missed]])[good] != of_queries[row]
    n_good = np.bincount(row[other], minlength=len(query))
    gallery = Labels(identity, cameras)[kept]
    ranked = (Features(boxes.query_features, boxes.detection_features[kept])
              if boxes.similarity is None else Distances(0.0 - boxes.similarity[:, kept]))
    ranking = replace(ranked.ranks(query, gallery, how), provenance=_provenance(boxes, how))
    return Searched(query, gallery, with_n_good(ranking, n_good, len(gallery)))


def identities_of_detections(boxes: Boxes) -> tuple[Integers, Integers]:
    """Return the identity of each detection, and the annotated boxes that the detector missed.

    From an overlap of 0.5 on a detection has the identity of the box that it overlaps most; from
    0.3 on, and if another one overlaps that person more, it is junk; below, it is wrong. People
    in images without any detection are not among the missed: the code skips these images.
    """
    truth, detection, overlap = overlaps(boxes, pixel=1)
    order = np.lexsort((truth, -overlap, detection))  # of equal ones the first
    most = order[np.flatnonzero(np.diff(detection[order], prepend=-1))]
    truth, detection, overlap = truth[most], detection[most], overlap[most]
    matched = truth[overlap >= 0.5]
    best = np.where(overlap >= 0.5, boxes.truth_identity[truth],
                    np.where(overlap >= 0.3, JUNK, DISTRACTOR))
    order = np.lexsort((detection, -overlap, best, boxes.detection_image[detection]))
    same = np.diff([best[order], boxes.detection_image[detection[order]]], axis=1) == 0
    second = order[1:][same.all(axis=0)]
    best[second[best[second] > 0]] = JUNK
    identity = np.full(len(boxes.detection_image), DISTRACTOR)
    identity[detection] = np.where(best < 0, JUNK, best)
    missed = np.setdiff1d(np.flatnonzero(np.isin(boxes.truth_image, boxes.detection_image)
                                         & (boxes.truth_identity > 0)), matched)
    return identity, missed


# ---------------------------------------------------------------- by name

class _Searches(NamedTuple):
    """Which images are searched for a query, and the words for a part."""

    of: Callable[[Boxes, str], Gallery]
    words: Callable[[str], str]


class _Rule(NamedTuple):
    """How detections become right or wrong, and the words."""

    rank: Callable[[Boxes, Mask, str, How, Callable[[Boxes, str], Gallery]], Searched]
    words: str


#: Name to the images that are searched.
GALLERIES: Mapping[str, _Searches] = {
    "listed images": _Searches(listed_images, lambda part: (
        "all images but the query's own are searched" if part == "whole" else
        f"the {int(part):,} images that the file lists for each query are searched")),
    "other images": _Searches(other_images, lambda _: (
        "all test frames but the query's own are searched")),
    "images of other cameras": _Searches(images_of_other_cameras, lambda _: (
        "the test frames of other cameras are searched"))}

#: Name to how detections become right.
RIGHT: Mapping[str, _Rule] = {
    "first overlap": _Rule(by_first_overlap, (
        "the most similar detection that overlaps the annotated box enough is right")),
    "labels": _Rule(by_labels, (
        "a detection from an overlap of 0.5 on has the identity of the box that it overlaps most, "
        "and is junk from 0.3 on or if another one overlaps that person more"))}
