"""Made problems: small, the same on every machine, each with one thing that evaluators differ in.

Distances are whole numbers over 256, exact in every precision, without ties unless a problem is
about ties. Features of norm 1 rank as the distances do.
"""
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles
from reid_ref.conventions import Convention
from reid_ref.foreign.arrays import Arrays
from reid_ref.labels import Labels, cameras_of
from reid_ref.rules.numbers import result_of

#: Cameras of queries and of the gallery; SYSU-MM01's where a rule looks at its locations.
_CAMERAS = ((1, 2, 3, 4), (1, 2, 3, 4))
_SYSU = ((3, 6), (1, 2, 4, 5))
_IDENTITIES = 6


def problem(seed: int, convention: Convention, n_query: int = 9, n_gallery: int = 84,
            square: bool = False) -> Arrays:
    """Return a problem in which every query has good images, and keeps more than 50 images."""
    random = np.random.RandomState(seed)
    sides = _SYSU if "same location" in convention.ignored else _CAMERAS
    query = _labels(random, 70 if square else n_query, sides[0])
    if square:  # names tell that a query is itself in the gallery, whatever rows are left out
        query = Labels(**{**query.columns(), "name": np.arange(len(query)).astype(np.str_)})
    gallery = query if square else _labels(random, n_gallery, sides[1])
    return ranked(random, query, gallery, square)


def _labels(random: np.random.RandomState, n: int, cameras: tuple[int, ...]) -> Labels:
    """Return labels in which every identity is on every camera, as far as n reaches.

    A few images are on all cameras, too.
    """
    places = np.arange(n)
    identity = places % _IDENTITIES + 1
    camera = np.array(cameras)[(places + places // _IDENTITIES) % len(cameras)]
    order = random.permutation(n)
    return Labels(
        identity[order], camera[order], clothes=random.randint(1, 3, n),
        view=random.randint(1, 4, n), video=random.randint(1, 4, n), frame=places // 2)


def ranked(random: np.random.RandomState, query: Labels, gallery: Labels,
           square: bool = False) -> Arrays:
    """Return labels with features that tell identities apart a little, and their distances."""
    centres = random.standard_normal((64, 8))
    sides = [centres[labels.identity % 64] + 1.2 * random.standard_normal((len(labels), 8))
             for labels in (query, gallery)]
    if square:
        sides[1] = sides[0]
    features = tuple(side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
    return Arrays(by_rank(-features[0] @ features[1].T), query, gallery,
                  (features[0], features[1]))


def by_rank(values: Any) -> Doubles:
    """Return distances that differ and rank as values do, in gallery order where those are equal.
    """
    order = np.argsort(values, axis=1, kind="stable")
    distances: Doubles = (np.argsort(order, axis=1) + 1) / 256
    return distances


def relabelled(arrays: Arrays, side: str, where: Any, **columns: Any) -> Arrays:
    """Return a problem with other labels at some places of a side; one set stays one."""
    labels = getattr(arrays, side)
    changed: dict[str, Any] = {name: np.array(values) for name, values in labels.columns().items()}
    for name, values in columns.items():
        changed[name][where] = values
    sides = ("query", "gallery") if arrays.query is arrays.gallery else (side,)
    made: dict[str, Any] = dict.fromkeys(sides, Labels(**changed))
    return replace(arrays, **made)


# ------------------------------------------------------------------ one thing each
def plain(convention: Convention, square: bool = False) -> list[Arrays]:
    return [problem(seed, convention, square=square) for seed in (1, 2)]


def unmatched(convention: Convention, square: bool = False) -> list[Arrays]:
    """Queries whose identity is nowhere in the gallery; in one set, images seen once."""
    return [relabelled(plain(convention, square)[0], "query", [1, 4], identity=[31, 32])]


def only_same_camera(convention: Convention, square: bool = False) -> list[Arrays]:
    """Queries whose identity is in the gallery on their own camera alone, which may be the only
    one there."""
    arrays, = plain(convention)[:1]
    theirs, own = _one_place(convention)
    where = np.flatnonzero(cameras_of(arrays.gallery, "a problem") == theirs)[:3]
    made = relabelled(arrays, "gallery", where, identity=33)
    made = relabelled(made, "query", [2], identity=33, camera=own)
    return [made, relabelled(made, "gallery", slice(None), camera=theirs)]


def _one_place(convention: Convention) -> tuple[int, int]:
    """Return cameras of the gallery and of a query that are at one place."""
    return (2, 3) if "same location" in convention.ignored else (1, 1)


def small_gallery(convention: Convention, square: bool = False) -> list[Arrays]:
    """Fewer images than the longest rank, not the same number for each query; only right ones."""
    arrays, = plain(convention, square)[:1]
    images = np.arange(15)
    made = [arrays.take(images if square else slice(None), images)]
    if not square:  # all that a query keeps is right
        made.append(arrays.take(slice(0, 1), arrays.gallery.identity == arrays.query.identity[0]))
        made += late(convention, False, 16, 12, 3)  # first matches behind the end of other lists
    return made


def late(convention: Convention, square: bool, n_first: int, of_camera: int,
         n_other: int) -> list[Arrays]:
    """First matches at each place, behind many images of the query's camera or none.

    Queries of two identities, one after another; the first one's have images on their camera.
    """
    theirs, own = _one_place(convention)
    query, identity = np.arange(2 * n_first), np.repeat([1, 1, 2, 3], [of_camera, 5, 5, n_other])
    made = problem(13, convention, len(query), len(identity))
    made = relabelled(made, "query", slice(None), identity=query // n_first + 1, camera=own)
    made = relabelled(made, "gallery", slice(None), identity=identity, camera=np.where(
        np.arange(len(identity)) < of_camera, theirs, 4))
    is_same = np.equal.outer(made.query.identity, identity)
    is_near = is_same & (np.arange(len(identity)) < of_camera)
    place = np.where(is_same, query[:, np.newaxis] % n_first + .5, np.cumsum(~is_same, axis=1))
    return [replace(made, distances=by_rank(np.where(is_near, 0, place)), features=None)]


def one_query(convention: Convention, square: bool = False) -> list[Arrays]:
    return [each.take(slice(k, k + 1)) for k, each in enumerate(plain(convention))]


def nothing_kept(convention: Convention, square: bool = False) -> list[Arrays]:
    """No query has a match: nobody in the gallery, or only on the query's own camera."""
    arrays, = plain(convention)[:1]
    away = relabelled(arrays, "query", slice(None), identity=40)
    theirs, place = _one_place(convention)
    own = arrays.take(slice(0, 1), np.flatnonzero(
        (arrays.gallery.identity == arrays.query.identity[0])
        & (cameras_of(arrays.gallery, "a problem") == theirs)))
    return [away, relabelled(own, "query", slice(None), camera=place)]


def labelled(convention: Convention, square: bool, label: int, *which: int) -> list[Arrays]:
    """Two problems in which a ninth of the gallery has this label, near the queries; and the
    first of them in which some of the queries have it, too. `which`: of the three."""
    made = []
    for each in plain(convention):
        nearest = np.unique(np.argsort(each.distances, axis=1)[:, :2])[:len(each.gallery) // 9]
        made.append(relabelled(each, "gallery", nearest, identity=label))
    made.append(relabelled(made[0], "query", [0, 3], identity=label))
    return [made[k] for k in which]


def renamed(convention: Convention, square: bool, *names: int) -> list[Arrays]:
    """These names of its six identities."""
    made, = plain(convention, square)[:1]
    for side in ("query", "gallery")[square:]:
        identity = np.array((0, *names))[getattr(made, side).identity]
        made = relabelled(made, side, slice(None), identity=identity)
    return [made]


def ties(convention: Convention, square: bool = False) -> list[Arrays]:
    """Distances of five values, so that most images tie with others; each image twice."""
    made = [replace(each, distances=np.ceil(each.distances * 16) / 16, features=None)
            for each in plain(convention, square)]
    if not square:
        twice = np.arange(len(made[0].gallery)) // 2 * 2
        made.append(replace(made[0], distances=plain(convention)[0].distances[:, twice]))
    return made


def long(convention: Convention, square: bool = False) -> list[Arrays]:
    """More than a thousand images, with good ones everywhere."""
    made = problem(3, convention, 3, 1100)
    return [replace(made, distances=made.distances / 8)]


def _turned(arrays: Arrays) -> Arrays:
    """Return it with the order of every second query turned, so that the far end has matches."""
    assert arrays.features is not None
    sign = np.where(np.arange(len(arrays.query)) % 2, -1, 1)[:, np.newaxis]
    distances = arrays.distances
    turned = distances.max(axis=1, keepdims=True) + distances.min(axis=1, keepdims=True)
    return replace(arrays, distances=np.where(sign < 0, turned - distances, distances),
                   features=(sign * arrays.features[0], arrays.features[1]))


# ------------------------------------------------------------------ large, asked once
def very_long(convention: Convention, square: bool = False) -> list[Arrays]:
    """More images than 16 bits count, few of them good, from the first place to the last."""
    made = _turned(problem(4, convention, 2, 70_000))
    random = np.random.RandomState(5)
    others = np.where(random.rand(70_000) < .999, 100 + np.arange(70_000) % 900, 0)
    identity = np.where(others, others, made.gallery.identity)
    return [relabelled(made, "gallery", slice(None), identity=identity)]


def many_queries(convention: Convention, square: bool = False) -> list[Arrays]:
    """Queries of no round number, the better ones first; as many queries as images; queries
    without a match, most of them one after another.
    """
    made = problem(6, convention, 2111, 90)
    better = made.take(np.argsort(-result_of(made, convention)[0].of_query("mAP"), kind="stable"))
    return [better, _turned(problem(12, convention, 90, 90)), relabelled(
        better.take(slice(300)), "query", [3, *range(70, 110)], identity=41)]


def many_matches(convention: Convention, square: bool = False) -> list[Arrays]:
    """An identity with more images than eight bits, or half precision, count."""
    made = _turned(problem(7, convention, 5, 3500))
    images = np.argsort(np.random.RandomState(8).rand(3500))[:3000]
    return [relabelled(relabelled(made, "gallery", images, identity=1), "query", [0, 3],
                       identity=1)]


def cameras(convention: Convention, square: bool = False) -> list[Arrays]:
    """Cameras of any number: -1, 0, those that 3 or 8 bits merge, those of more digits, those that
    are one number with the identity, also where that is multiplied by up to 100,000.
    """
    made, = plain(convention, square)[:1]
    if "same location" in convention.ignored or made.query.camera is None:
        return [made]
    random, problems = np.random.RandomState(10), []
    made = problem(9, convention, 40, 160)
    for numbers in ([-1, 0, 1, 2, 8, 9, 10, 11, 12, 16, 32, 100, 256, 257, 300],
                    [1, 2, 129, 1001, 1025, 10001, 65537, 100001]):
        for side, n in (("query", 40), ("gallery", 160)):
            made = relabelled(made, side, slice(None), camera=random.choice(numbers, n),
                              identity=random.randint(1, 13, n))
        problems.append(made)
    return problems


#: Other distances, by the place of each image in its query's list, from 0.
_DISTANCES: dict[str, Callable[[Any], Any]] = {
    "single": lambda place: 1 + place * 2.0**-16,
    "double": lambda place: 1 + place * 2.0**-38,
    "signed": lambda place: _signed(place - place.max() // 3),
    "large": lambda place: 2.0**40 + place * 2.0**30,
    "whole": lambda place: place,
    "one below": lambda place: np.where(place == 0, -2.0**80, place),
    # The farthest image of each query is infinitely far.
    "infinite": lambda place: np.where(place == place.max(), np.inf, place),
    "NaN": lambda place: np.where(_some(place), np.nan, (place + 1) / 256),
    "large NaN": lambda place: np.where(_some(place), np.nan, (place + 1) * 2.0**22),
    "float32": lambda place: np.float32((place + 1) / 256),
    "int64": lambda place: place.astype(np.int64),
    "uint8": lambda place: place.astype(np.uint8)}


def _signed(place: Any) -> Any:
    return np.sign(place) * 2.0**(np.abs(place) / 2 - 4)


def _some(place: Any) -> Any:
    # One of a query, for several are equally far.
    random = np.random.RandomState(11).rand(*place.shape)
    return random == random.min(axis=1, keepdims=True)


def distances(convention: Convention, square: bool, *kinds: str) -> list[Arrays]:
    """Problems with distances of each kind, in which the far end of some lists has matches."""
    made, = plain(convention, square)[:1]
    made = made if square else _turned(made)
    place = np.rint(made.distances * 256) - 1
    return [replace(made, distances=_DISTANCES[kind](place), features=None) for kind in kinds]


def handed_over(convention: Convention, square: bool = False) -> list[Arrays]:
    """Distances that evaluators may clean in place: NaN, infinite or equal ones."""
    return [*plain(convention, square)[:1], *distances(convention, square, "NaN", "infinite"),
            *ties(convention, square)[:1]]
