"""What is done to features before they are compared."""
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from reid_ref import distances
from reid_ref.arrays import Array, blocks_of
from reid_ref.datasets.pooling import pool_frames
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import DISTRACTOR, JUNK, Labels, cameras_of
from reid_ref.variations.labels import images_of, needs_features, sides_of

#: Rows whose neighbours are in memory together.
_ROWS = 1024


def both(change: Callable[[Array], Array]) -> Callable[[ResultFile], ResultFile]:
    """Return what applies a function of an array to the features of both sides."""
    def changed(data: ResultFile) -> ResultFile:
        query, gallery = sides_of(data)
        return replace(data, query_features=change(query), gallery_features=change(gallery))
    return changed


def part(which: int, of: int, data: ResultFile) -> ResultFile:
    """Take one of several equal parts of each feature, counted from 1."""
    return both(lambda features: np.ascontiguousarray(
        np.split(features, of, axis=1)[which - 1]))(data)


def needs_parts(of: int, least: int, data: ResultFile) -> str:
    """Return why features have no such parts."""
    width: int = data.features("data")[0].shape[1]
    return f"{width} dimensions are not {of} parts" * (width % of != 0 or width < least)


def parts_normalised(of: int, data: ResultFile) -> ResultFile:
    """Divide each of several equal parts of a feature by its own 2-norm."""
    def normalised(features: Array) -> Array:
        parts = features.reshape(len(features), of, -1)
        norms = np.linalg.norm(parts, axis=2, keepdims=True)
        return np.asarray(parts / np.maximum(norms, np.finfo(norms.dtype).tiny)).reshape(
            features.shape)
    return both(normalised)(data)


def gallery_means(data: ResultFile) -> ResultFile:
    """Replace gallery images by one mean of the normalised features of each identity and camera.

    Images labelled 0 or -1 stay as they are.
    """
    # The mean of zeros alone is zeros, for which ranking has the reason.
    gallery, rows = data.gallery, np.nan_to_num(distances.unit_rows(sides_of(data)[1]))
    pooled, labels = pool_frames(rows, replace(
        gallery, video=_alone(gallery), clothes=None, view=None), "mean")
    return replace(data, gallery=replace(labels, video=None), gallery_features=pooled)


def identity_means(data: ResultFile) -> ResultFile:
    """Replace gallery images by means of their identities, on a camera that no query is on."""
    return gallery_means(replace(data, gallery=replace(
        data.gallery, camera=np.full(len(data.gallery), JUNK))))


def _alone(gallery: Labels) -> Array:
    """Return 0 for images of persons, and for each of the others a number of its own."""
    return np.where(gallery.identity > DISTRACTOR, 0, 1 + np.arange(len(gallery)))


def nearest_of_track(data: ResultFile) -> ResultFile:
    """Replace gallery images of an identity on a camera by one, as far as the nearest of them;
    where the labels have tracklets, those of one.

    Images labelled 0 or -1 stay as they are.
    """
    (query, rows), gallery = sides_of(data), data.gallery
    order = np.lexsort(keys := np.stack([
        _alone(gallery), cameras_of(gallery, "a track"), gallery.identity,
        *([] if gallery.video is None else [gallery.video])]))
    starts = np.flatnonzero(np.diff(keys[:, order], prepend=-2).any(axis=0))
    nearest = [np.fmin.reduceat(distances.distance_matrix(
        query[each], rows[order], "cosine", True), starts, axis=1)
        for each in blocks_of(len(query), _ROWS)]
    return replace(data, query_features=None, gallery_features=None,
                   gallery=gallery[order[starts]], distances=np.concatenate(nearest))


def named_by_rows(data: ResultFile) -> ResultFile:
    """Name images by their features, so that copies have one name."""
    query, gallery = _names(data)
    return replace(data, query=replace(data.query, name=query),
                   gallery=replace(data.gallery, name=gallery))


def without_copies(data: ResultFile) -> ResultFile:
    """Leave the images of queries out of the gallery."""
    query, gallery = _names(data)
    return images_of(data, "query", np.ones(len(query), np.bool_),
                     "gallery", ~np.isin(gallery, query))


def needs_copies(data: ResultFile) -> str:
    """Return why not, if no gallery image is that of a query."""
    return needs_features(data) or "no gallery image is that of a query" * (
        not np.isin(*_names(data)).any())


def _names(data: ResultFile) -> list[Any]:
    """Return names of the images of both sides: of equal features, which are not all 0, one."""
    sides = sides_of(data)
    kind = np.result_type(*sides)
    return [np.array([str(hash((row.astype(kind) + 0).tobytes())) if row.any() else f"{side} {k}"
                      for k, row in enumerate(rows)])
            for side, rows in zip(("query", "image"), sides, strict=True)]


def centred_together(data: ResultFile) -> ResultFile:
    """Subtract the mean of all images."""
    mean = np.concatenate(sides_of(data), dtype=np.float64).mean(axis=0)
    return both(lambda features: features - mean)(data)


#: The mean of each side is subtracted.
centred = both(lambda features: features - features.mean(axis=0))
signs = both(lambda features: np.where(features > 0, 1, -1).astype(np.float32))


def in_float32(data: ResultFile) -> ResultFile:
    """Replace features by the cosine distances that a toolbox computes, in single precision."""
    query, gallery = (side.astype(np.float32) for side in sides_of(data))
    return replace(data, query_features=None, gallery_features=None,
                   distances=distances.distance_matrix(query, gallery, "cosine", True))
