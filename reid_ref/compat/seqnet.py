"""SeqNet's evaluators of person search (serend1p1ty/SeqNet edec285, eval_func.py)."""
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import Array, InputError, Integers, optional_module
from reid_ref.compat.box_lists import boxes_of_lists
from reid_ref.compat.cbgm import rows_of_images, with_context
from reid_ref.compat.common import NoMatch, Refused, keep
from reid_ref.protocols import Boxes, evaluate_person_search
from reid_ref.protocols.box_ranks import (
    Gallery, images_of_other_cameras, listed_images, other_images)
from reid_ref.ranking.good_ranks import GoodRanks

#: The ranks that are printed, and how many detections an entry of `results` has.
_TOP, _LISTED = (1, 5, 10), 10
#: Of so many detections, the nearest by a whole matrix product, the nearest are listed.
_CANDIDATES = 64
#: Queries in one matrix product.
_AT_ONCE = 64
_SHOWN = "an image of each query's person in its gallery"


def eval_search_cuhk(gallery_dataset: Any, query_dataset: Any, gallery_dets: Any,
                     gallery_feats: Any, query_box_feats: Any, query_dets: Any, query_feats: Any,
                     k1: int = 10, k2: int = 3, det_thresh: float = 0.5, cbgm: bool = False,
                     gallery_size: int = 100) -> dict[str, Any]:
    """Return what SeqNet's `eval_search_cuhk` returns, and print what it prints.

    Parameters
    ----------
    gallery_dataset, query_dataset
        With `annotations`, `img_prefix` and `root`, the folder that has
        ``annotation/test/train_test/TestG100.mat``.
    gallery_dets : list of array, shape (n, 5)
        x1, y1, x2, y2 and score of what was detected in each gallery image.
    gallery_feats : list of array, shape (n, d)
    query_box_feats : list of array, d numbers each
    query_dets, query_feats : list of array
        As the gallery's, of the image of each query, itself first; for `cbgm` alone.
    k1, k2 : int
        Of `cbgm`: gallery images whose similarities change, and people in the query's image.
    det_thresh : float
        Detections of at least this score are ranked.
    cbgm : bool
        Change similarities by the people around the query.
    gallery_size : int
        50, 100, 500, 1000, 2000 or 4000; -1 is all images, which theirs cannot do.

    Returns
    -------
    dict
        `mAP`, `accs` (top-1, top-5, top-10), `image_root`, and `results`: an entry for each query
        whose nearest detection is wrong. The file vis/results.json is not written.

    Raises
    ------
    NoMatch
        A query whose person no image of its gallery shows: also a ZeroDivisionError, as theirs.
    Refused
        Lists of other lengths: also an AssertionError, as theirs.

    Examples
    --------
    In SeqNet's folder, ``reid_ref.compat.patch("seqnet")`` in train.py calls it.

    >>> eval_search_cuhk.__defaults__
    (10, 3, 0.5, False, 100)
    """
    size = 50 if gallery_size == -1 else gallery_size
    listed = _read_galleries(gallery_dataset.root, f"TestG{size}")[:len(query_dataset)]
    _check_lengths(gallery_dataset, query_dataset, gallery_dets, gallery_feats, query_box_feats)
    others = {str(each["img_name"]): each["boxes"] for each in gallery_dataset.annotations}
    shown: dict[str, dict[int, Array]] = {name: {} for name in (
        *others, *(name for query in listed for name, _ in query.gallery))}
    for k, query in enumerate(listed, 1):
        for name, box in query.gallery:
            if box.size:
                shown[name].setdefault(k, box)
    more: list[Any] = [[]] * (len(shown) - len(gallery_dets))  # listed, but not in the data set
    boxes = _boxes(
        [{"img_name": name, "pids": [*people, *[0] * len(others.get(name, ()))],
          "boxes": [*people.values(), *others.get(name, ())]} for name, people in shown.items()],
        [{"img_name": query.image, "pids": [k]} for k, query in enumerate(listed, 1)],
        [*gallery_dets, *more], [*gallery_feats, *more], query_box_feats,
        {str(size): [[name for name, _ in query.gallery] for query in listed]})
    context = [query.box for query in listed], query_dets, query_feats, k1, k2
    search = _search("cuhk-sysu", "whole" if gallery_size == -1 else str(size), listed_images,
                     boxes, det_thresh, context if cbgm else ())
    wrong = [k for k in range(len(listed)) if not search.flags[k, 0]]
    detected = {str(boxes.image[k]) for k in np.unique(boxes.detection_image[search.kept])}
    entries = [{
        "query_img": listed[k].image, "query_roi": list(map(float, listed[k].box)),
        "query_gt": [{"img": name, "roi": list(map(float, shown[name][k + 1]))}
                     for name in dict.fromkeys(name for name, box in listed[k].gallery if box.size)
                     if name in detected],
        "gallery": nearest} for k, nearest in zip(wrong, search.nearest(wrong))]
    return _answer(gallery_dataset, entries, search)


def eval_search_prw(gallery_dataset: Any, query_dataset: Any, gallery_dets: Any,
                    gallery_feats: Any, query_box_feats: Any, query_dets: Any, query_feats: Any,
                    k1: int = 30, k2: int = 4, det_thresh: float = 0.5, cbgm: bool = False,
                    ignore_cam_id: bool = True) -> dict[str, Any]:
    """Return what SeqNet's `eval_search_prw` returns, and print what it prints.

    Parameters
    ----------
    gallery_dataset, query_dataset
        With `annotations` and `img_prefix`.
    gallery_dets, gallery_feats, query_box_feats, query_dets, query_feats, k1, k2, det_thresh, cbgm
        As for `eval_search_cuhk`.
    ignore_cam_id : bool
        False: frames of the query's camera are not in the gallery.

    Returns
    -------
    dict
        `mAP`, `accs` (top-1, top-5, top-10), `image_root`, and `results`: an entry for each query.

    Raises
    ------
    NoMatch
        A query whose person no image of its gallery shows: also a ZeroDivisionError, as theirs.
    Refused
        Lists of other lengths: also an AssertionError, as theirs.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> frames = [{"img_name": name, "cam_id": 1, "pids": np.array([7]),
    ...            "boxes": np.array([[0, 0, 40, 90]])} for name in ("a.jpg", "b.jpg")]
    >>> gallery = SimpleNamespace(annotations=frames, img_prefix="frames", __len__=None)
    >>> detected = [np.array([[0, 0, 40, 85, .9]]), np.array([[0, 0, 40, 85, .9]])]
    >>> answer = eval_search_prw(gallery, SimpleNamespace(annotations=frames[:1]), detected,
    ...                          [np.eye(2)[:1]] * 2, [np.eye(2)[:1]], None, None)
    search ranking:
      mAP = 100.00%
      top- 1 = 100.00%
      top- 5 = 100.00%
      top-10 = 100.00%
    """
    annotations, queries = gallery_dataset.annotations, query_dataset.annotations
    _check_lengths(annotations, queries, gallery_dets, gallery_feats, query_box_feats)
    boxes = _boxes(annotations, queries, gallery_dets, gallery_feats, query_box_feats, {})
    context = ([query["boxes"] for query in queries], query_dets, query_feats, k1, k2)
    search = _search(*(("prw", "all", other_images) if ignore_cam_id else
                       ("prw-multi-view", "all", images_of_other_cameras)),
                     boxes, det_thresh, context if cbgm else ())
    with_person: dict[int, dict[str, Array]] = {}
    for each in annotations:
        for person in np.unique(each["pids"]).tolist():
            with_person.setdefault(person, {})[each["img_name"]] = each["boxes"][
                each["pids"] == person]
    entries = [{
        "query_img": str(query["img_name"]),
        "query_roi": list(map(float, list(query["boxes"].squeeze()))),
        "query_gt": {name: box for name, box in with_person[int(query["pids"].item())].items()
                     if name != query["img_name"]},
        "gallery": nearest}
        for query, nearest in zip(queries, search.nearest(range(len(queries))))]
    return _answer(gallery_dataset, entries, search)


class Listed(NamedTuple):
    """What CUHK-SYSU's file has for a query: image, box; names and boxes of its gallery."""

    image: str
    box: Array
    gallery: list[tuple[str, Array]]


def _read_galleries(root: Any, name: str) -> list[Listed]:
    """Read a file such as TestG100.mat in the folder of CUHK-SYSU."""
    path = os.path.join(root, "annotation/test/train_test", f"{name}.mat")
    table = optional_module("CUHK-SYSU's galleries", "scipy.io").loadmat(path)[name].squeeze()
    return [Listed(str(query["imname"][0, 0][0]), _corners(query["idlocate"][0, 0]),
                   [(str(item[0][0]), _corners(item[1])) for item in gallery.reshape(-1)])
            for query, gallery in zip(table["Query"], table["Gallery"])]


def _corners(box: Array) -> Array:
    """Return x1, y1, x2, y2 of x, y, width, height."""
    corners = np.ravel(box).astype(np.int32)
    corners[2:] += corners[:2]
    return corners


def _check_lengths(gallery: Any, query: Any, dets: Any, feats: Any, query_feats: Any) -> None:
    for name, values, expected in (("gallery_dets", dets, gallery), (
            "gallery_feats", feats, gallery), ("query_box_feats", query_feats, query)):
        if len(values) != len(expected):
            raise Refused(name, f"{len(expected)} entries, one for each image", len(values))


def _boxes(*lists: Any) -> Boxes:
    try:
        return boxes_of_lists(*lists)
    except InputError as error:
        if error.argument == "query_identity":
            raise NoMatch("gallery_dataset", _SHOWN, error.got) from None
        raise


class _Search(NamedTuple):
    """What was evaluated: boxes, the detections that are ranked, by image too, and the ranks.

    `flags`: bool, shape (n_query, 10), whether one of the first k + 1 detections is right.
    """

    boxes: Boxes
    kept: Array
    of_image: dict[int, Integers]
    gallery_of: Gallery
    ranks: GoodRanks
    flags: Array

    def nearest(self, queries: Sequence[int]) -> Iterator[list[dict[str, Any]]]:
        """Yield the nearest detections of each of these queries, as `results` has them."""
        boxes, right = self.boxes, np.split(self.ranks.image, np.cumsum(self.ranks.found)[:-1])
        number = np.flatnonzero(self.kept)
        rows = np.column_stack([boxes.detection_box, boxes.detection_score])
        for query, scores in zip(queries, self._scores(queries)):
            place = np.full(len(boxes.image), -1)
            listed = self.gallery_of(query)
            place[listed[::-1]] = np.arange(len(listed))[::-1]
            of_kept = place[boxes.detection_image[number]]
            candidates = np.flatnonzero(of_kept >= 0)
            if len(candidates) > _CANDIDATES:
                candidates = candidates[np.argpartition(
                    -scores[candidates], _CANDIDATES)[:_CANDIDATES]]
            exact = self._rounded(query, number[candidates], scores[candidates])
            order = np.lexsort((self._last(query, number[candidates]), -of_kept[candidates],
                                -exact))[:_LISTED]
            yield [{"img": str(boxes.image[boxes.detection_image[number[k]]]),
                    "roi": list(map(float, rows[number[k]])), "score": float(score),
                    "correct": int(k in right[query])}
                   for k, score in zip(candidates[order], exact[order])]

    def _last(self, query: int, detections: Integers) -> Integers:
        """Return what orders equal detections of an image: the last first, unless it is sorted
        by itself, as theirs sorts the images that show the query's person.
        """
        boxes = self.boxes
        shown = boxes.truth_image[boxes.truth_identity == boxes.query_identity[query]]
        is_shown = np.isin(boxes.detection_image[detections], shown)
        return np.where(is_shown, detections, -detections)

    def _scores(self, queries: Sequence[int]) -> Iterator[Array]:
        """Yield the similarity of each query and the detections that are kept."""
        boxes = self.boxes
        if boxes.similarity is not None:
            yield from (boxes.similarity[query][self.kept] for query in queries)
            return
        features = boxes.detection_features[self.kept].T
        for start in range(0, len(queries), _AT_ONCE):
            yield from boxes.query_features[list(queries[start:start + _AT_ONCE])] @ features

    def _rounded(self, query: int, detections: Integers, scores: Array) -> Array:
        """Return similarities as theirs rounds them: products of one image's detections each."""
        boxes = self.boxes
        if boxes.similarity is not None:
            return scores
        similarity = np.empty(len(self.kept), dtype=scores.dtype)
        for image in set(boxes.detection_image[detections].tolist()):
            rows = self.of_image[image]
            similarity[rows] = boxes.detection_features[rows].dot(boxes.query_features[query])
        return similarity[detections]


def _search(protocol: str, part: str, images: Callable[[Boxes, str], Gallery], boxes: Boxes,
            det_thresh: float, context: tuple[Any, ...]) -> _Search:
    """Evaluate; `context` is what changes similarities, if anything does."""
    kept = boxes.detection_score >= det_thresh
    gallery_of = images(boxes, part)
    for query, identity in enumerate(boxes.query_identity):
        shown = boxes.truth_image[boxes.truth_identity == identity]
        if not np.isin(shown, gallery_of(query)).any():
            raise NoMatch("gallery_dataset", _SHOWN, f"none for query {query}")
    if context:
        boxes = replace(boxes, similarity=with_context(boxes, kept, gallery_of, *context),
                        query_features=None, detection_features=None)
    result, = evaluate_person_search(protocol, boxes, part=part, min_score=det_thresh).values()
    ranks = keep(result).trials[0].ranks
    first = ranks.first_match[:, np.newaxis]
    return _Search(boxes, kept, rows_of_images(boxes, kept), gallery_of, ranks,
                   (first > 0) & (first <= np.arange(1, _LISTED + 1)))


def _answer(gallery_dataset: Any, entries: list[dict[str, Any]],
            search: _Search) -> dict[str, Any]:
    """Print the numbers; return them with the entries."""
    ranks = search.ranks
    ends = np.split(ranks.nearer + ranks.tied, np.cumsum(ranks.found)[:-1])
    mean = np.mean([_average_precision(end, int(n)) * (len(end) * 1.0 / n_good) if len(end) else 0
                    for end, n, n_good in zip(ends, ranks.n_kept, ranks.n_good)])
    accs = np.mean(search.flags[:, [k - 1 for k in _TOP]].astype(int), axis=0)
    print(f"search ranking:\n  mAP = {mean:.2%}")
    for k, share in zip(_TOP, accs):
        print(f"  top-{k:2d} = {share:.2%}")
    return {"image_root": gallery_dataset.img_prefix, "results": entries, "mAP": mean,
            "accs": accs}


def _average_precision(end: Integers, n: int) -> float:
    """Return scikit-learn's average precision, with its additions, of n detections.

    `end`: how many detections are as similar as each right one, or more.
    """
    last = np.flatnonzero(np.diff(end, append=n + 1))
    precision, recall = (last + 1) / end[last], (last + 1) / len(end)
    terms = np.zeros(n)
    terms[n - end[last]] = np.diff(recall, prepend=0) * -1 * precision
    return max(0.0, float(-np.sum(terms)))
