"""What is done to the images: left out, exchanged, on both sides; and when it can be done."""
from dataclasses import replace
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, Integers, Mask, read_rows
from reid_ref.datasets.pooling import pool_queries
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import DISTRACTOR, JUNK, Labels, cameras_of


def images_of(data: ResultFile, asks: str, rows: Mask, answers: str, images: Mask) -> ResultFile:
    """Return some images as queries and some as gallery; each side is "query" or "gallery"."""
    queries, gallery = np.flatnonzero(rows), np.flatnonzero(images)
    ranked = data.input.between(asks, queries, answers, gallery)
    sides = {"query": data.query, "gallery": data.gallery}
    changed = replace(data, query=sides[asks][queries], gallery=sides[answers][gallery])
    return replace(changed, **ranked.in_file())


def without(label: int, data: ResultFile) -> ResultFile:
    """Leave images of a label out of the gallery."""
    return images_of(data, "query", np.ones(len(data.query), np.bool_),
                     "gallery", data.gallery.identity != label)


def without_largest(data: ResultFile) -> ResultFile:
    """Leave out, of the identities that no query has, but 0 and -1, that of the most images."""
    unknown, counts = np.unique(_unknown(data), return_counts=True)
    return without(int(unknown[counts.argmax()]), data)


def _unknown(data: ResultFile) -> Integers:
    known, identity = [*data.query.identity, DISTRACTOR, JUNK], data.gallery.identity
    return identity[~np.isin(identity, known)]


def known_identities(data: ResultFile) -> ResultFile:
    """Leave gallery images out whose identity no query has, but for those labelled -1."""
    return images_of(data, "query", np.ones(len(data.query), np.bool_), "gallery", np.isin(
        data.gallery.identity, [*data.query.identity, JUNK]))


def shifted_cameras(data: ResultFile) -> ResultFile:
    """Give gallery images the cameras of the first rows, as if these were not the queries'."""
    every = np.concatenate([side.camera for side in (data.query, data.gallery)])
    return replace(data, gallery=replace(data.gallery, camera=every[:len(data.gallery)]))


def from_camera(place: int, data: ResultFile) -> ResultFile:
    """Keep the queries of one camera, and the gallery images of all others."""
    cameras, others = (cameras_of(side, "one of them") for side in (data.query, data.gallery))
    if len(known := np.unique(cameras)) <= place:
        raise InputError("data", "queries of two cameras", "one camera")
    camera = known[place]
    return images_of(data, "query", cameras == camera, "gallery", others != camera)


def query_cameras_by(shift: int, data: ResultFile) -> ResultFile:
    """Add a number to the cameras of the queries alone."""
    return replace(data, query=replace(data.query, camera=np.asarray(data.query.camera) + shift))


def whole_batches(size: int, data: ResultFile) -> ResultFile:
    """Leave out the last queries, which fill no batch."""
    kept = np.arange(len(data.query)) < len(data.query) // size * size
    return images_of(data, "query", kept, "gallery", np.ones(len(data.gallery), np.bool_))


def renumbered(column: str, data: ResultFile) -> ResultFile:
    """Number a column of each side from 0, as if the other were not there; -1 stays."""
    def of_side(side: Labels) -> Labels:
        values = np.asarray(getattr(side, column))
        known = np.unique(values[values != JUNK])
        anew: Any = np.where(values == JUNK, JUNK, np.searchsorted(known, values))
        return replace(side, **{column: anew})
    return replace(data, query=of_side(data.query), gallery=of_side(data.gallery))


def exchanged(data: ResultFile) -> ResultFile:
    """Let the gallery ask and the queries answer; images labelled 0 or -1 ask nothing."""
    return images_of(data, "gallery", ~np.isin(data.gallery.identity, (DISTRACTOR, JUNK)),
                     "query", np.ones(len(data.query), np.bool_))


def with_queries(data: ResultFile) -> ResultFile:
    """Add the queries to the gallery, after its own images."""
    query, gallery = sides_of(data)
    return replace(data, gallery=joined(data.gallery, data.query),
                   gallery_features=np.concatenate([gallery, query]))


def all_as_both(data: ResultFile) -> ResultFile:
    """Take every image of the queries' identities as query, and all but label -1 as gallery."""
    both = with_queries(data)
    return images_of(both, "gallery", np.isin(both.gallery.identity, data.query.identity),
                     "gallery", both.gallery.identity != JUNK)


def multi_query(pooling: str, data: ResultFile) -> ResultFile:
    """Pool the features of all images of a query's identity on its camera."""
    assert data.multi_query is not None
    return replace(data, query_features=pool_queries(data.query, *data.multi_query, pooling))


def sides_of(data: ResultFile) -> tuple[Any, Any]:
    """Return the features of both sides, read."""
    query, gallery = data.features("data")
    return read_rows(query), read_rows(gallery)


def joined(first: Labels, second: Labels) -> Labels:
    """Return the labels of two sets of images, with the columns that both have."""
    ours, theirs = first.columns(), second.columns()
    return Labels(words=first.words, **{name: np.concatenate([ours[name], theirs[name]])
                                        for name in ours if name in theirs})


# ---------------------------------------------------------------- when it can be done

def needs_features(data: ResultFile) -> str:
    """Return why not, if there are no features."""
    return "" if data.query_features is not None and data.gallery_features is not None else (
        f"needs features, got {data.input.noun}")


def needs_cameras(data: ResultFile) -> str:
    """Return why not, if there are no cameras."""
    return "needs cameras" if data.query.camera is None else ""


def needs_columns(data: ResultFile) -> str:
    """Return why not, if the labels have all that toolboxes look at and no more."""
    known = data.query.columns().keys()
    return "needs clothes or views, or no cameras" * (
        "camera" in known and not known & {"clothes", "view"})


def needs_rest(size: int, data: ResultFile) -> str:
    """Return why not, if whole batches leave out no queries, or all."""
    return f"{len(data.query):,} queries in batches of {size}" * (
        len(data.query) // size * size in (0, len(data.query)))


def needs_unknown(data: ResultFile) -> str:
    """Return why not, if queries have all identities but 0 and -1."""
    return "queries have all identities" * (not len(_unknown(data)))


def needs_more(length: int, data: ResultFile) -> str:
    """Return why not, if no identity fills lists of a length: recall is the whole."""
    good = np.isin(data.gallery.identity, data.query.identity)
    largest = np.unique(data.gallery.identity[good], return_counts=True)[1].max(initial=0)
    return "" if largest > length else f"no query's identity has more than {length} images"


def needs_label(label: int, data: ResultFile) -> str:
    """Return why not, if no gallery image has a label."""
    return "" if (data.gallery.identity == label).any() else f"no image is labelled {label}"


def needs_part(data: ResultFile) -> str:
    """Return why not, if a part of the images cannot be taken."""
    return "" if data.ranked is None else "needs features or distances, got ranked lists"


def needs_multi_query(data: ResultFile) -> str:
    """Return why not, if the file has no multi-query images."""
    return "" if data.multi_query is not None else (
        "the file has no multi-query images (mquery_f)")
