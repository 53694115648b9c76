"""One made file in which every variation moves the numbers, and all that a search tries on it."""
import functools
import warnings
from dataclasses import replace

import numpy as np

import reid_ref
from reid_ref import Labels, ResultFile
from reid_ref.analysis.validate import quick_conventions, validate_file
from reid_ref.analysis.validate.search import Trials, run_search
from reid_ref.datasets.published import parse_figure

#: 2304 dimensions have halves, thirds and quarters.
PARTS, WIDTH = 12, 192


@functools.cache
def made(seed=3):
    """Uneven norms, parts and queries; labels 0 and -1; two queries without a good image."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(31, PARTS * WIDTH))
    identity = np.r_[np.repeat(np.arange(1, 13), rng.integers(1, 7, 12)), 29, 30]
    query = Labels(identity, rng.integers(1, 5, len(identity)))
    identity = np.r_[rng.integers(1, 13, 150), rng.integers(13, 26, 80), np.zeros(30, np.int64),
                     np.full(25, -1)]
    gallery = Labels(identity, rng.integers(1, 5, len(identity)))

    def features(labels, offset):
        n = len(labels)
        near = np.where(labels.identity > 0, labels.identity, rng.integers(1, 13, n))
        noise = np.repeat(rng.uniform(2, 9, PARTS), WIDTH)
        pulled = centres[near] + noise * rng.normal(size=(n, PARTS * WIDTH))
        # A camera moves its images, and so does each side.
        moved = pulled + rng.normal(size=(5, PARTS * WIDTH))[labels.camera] * 1.5 + offset
        return (moved * rng.uniform(.8, 1.25, (n, 1))).astype(np.float32)

    scale = np.repeat(rng.uniform(.3, 3, PARTS), WIDTH).astype(np.float32)
    sides = features(query, .1) * scale, features(gallery, -.1) * scale
    several = Labels(np.repeat(query.identity, 3), np.repeat(query.camera, 3))
    return ResultFile("made", query, gallery, *sides,
                      multi_query=(several, features(several, .1) * scale))


def narrow(data):
    """A few dimensions of each part, which are quicker to rank."""
    return replace(data, multi_query=None, **{
        name: np.ascontiguousarray(getattr(data, name)[:, ::48])
        for name in ("query_features", "gallery_features")})


def in_doubles(data):
    """Features whose cosines differ by less than single precision shows."""
    data = narrow(data)
    small = 1e-5 / np.abs(data.query_features).max()
    return replace(data, **{
        name: 1 + small * getattr(data, name).astype(np.float64)
        for name in ("query_features", "gallery_features")})


def with_junk_query(data):
    """Two queries labelled -1, which only some loaders leave out."""
    identity = data.query.identity.copy()
    identity[:2] = -1
    return replace(narrow(data), query=Labels(identity, data.query.camera))


def with_few_images(data):
    """A gallery in which some queries have one good image."""
    data = narrow(data)
    return replace(data, gallery=data.gallery[::5], gallery_features=data.gallery_features[::5])


def with_many_queries(data):
    """So many queries that each size of batches leaves out others; fewer images in the gallery."""
    data, rows = with_few_images(data), np.arange(491) % len(data.query)
    return replace(data, query=data.query[rows], query_features=data.query_features[rows])


def with_large_classes(data):
    """A gallery with more than 100 images of an identity."""
    data, rng = narrow(data), np.random.default_rng(5)
    rows = np.arange(20 * len(data.gallery)) % len(data.gallery)
    features = data.gallery_features[rows]
    return replace(data, gallery=data.gallery[rows], gallery_features=features + (
        .2 * features.std() * rng.normal(size=features.shape)).astype(np.float32))


def without_a_camera(data):
    """Queries of which none is on camera 2."""
    data = narrow(data)
    camera = np.where(data.query.camera == 2, 3, data.query.camera)
    return replace(data, query=Labels(data.query.identity, camera))


def with_copies(data):
    """A gallery that has the queries."""
    data = narrow(data)
    labels = [np.r_[getattr(data.gallery, name), getattr(data.query, name)]
              for name in ("identity", "camera")]
    return replace(data, gallery=Labels(*labels), gallery_features=np.r_[
        data.gallery_features, data.query_features])


def with_clothes(data):
    """Few images with clothes, the same in most of an identity's."""
    data = with_few_images(data)
    return replace(data, **{side: replace(labels, clothes=np.arange(len(labels)) % 4 // 3)
                            for side, labels in [("query", data.query), ("gallery", data.gallery)]
                            })


KINDS = {"made": lambda data: data, "many queries": with_many_queries, "doubles": in_doubles,
         "junk query": with_junk_query, "large classes": with_large_classes,
         "few images": with_few_images, "a camera less": without_a_camera,
         "copies": with_copies, "clothes": with_clothes}


@functools.cache
def tried(kind="made"):
    """What a search tries on the made file."""
    data, trials = KINDS[kind](made()), Trials(("Rank-1", "mAP"))
    quiet(run_search, data, quick_conventions(data), trials)
    return trials


@functools.cache
def plain(kind="made"):
    """What conventions alone give on it."""
    answer, = quiet(validate_file, KINDS[kind](made()), [parse_figure("50/50")])
    return answer


def digits(rank1, mAP, places=2):
    """Return a figure as a paper prints it."""
    return f"{100 * rank1:.{places}f}/{100 * mAP:.{places}f}"


def figure_of(result, places=2):
    return digits(result.rank(1), result.mAP, places)


def quiet(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


def evaluated(data, convention="torchreid", **options):
    """Evaluate what is in a result file."""
    return quiet(reid_ref.evaluate, data.query_features, data.gallery_features, data.query,
                 data.gallery, convention=convention, **options)
