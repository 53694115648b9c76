"""Made data with the label statistics of Market-1501, at three difficulties.

Aim: galleries on which the cost of an evaluation is that of the real one. Counts are those of
Market-1501's test set: images, identities, cameras, how many cameras see an identity, and so the
good images of a query; rows stand in the order of its file names (-1, 0, then by identity).
Features are made: a point for each identity, moved by the camera and by each image's own noise,
some images much noisier than others, as in the real thing, so that a query's last good image
stands far behind its first. A fourth kind of features is "blurred": a point for each identity, and
noise in all dimensions, so that all distances are nearly equal.

No real label, image or feature is used; the seed makes everything.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import Labels
from reid_ref.labels import JUNK

Array = npt.NDArray[Any]

SEED = 1501
IMAGES = {"identified": 13115, "junk": 3819, "distractors": 2798}
#: How many of Market-1501's 750 identities are seen by so many of its 6 cameras.
CAMERAS_OF_IDENTITY = {2: 27, 3: 89, 4: 222, 5: 313, 6: 99}
#: Queries of each camera, one an identity.
QUERIES_OF_CAMERA = np.array([668, 530, 717, 248, 622, 583])
#: Gamma shapes of how much oftener one identity, and one camera of it, is seen than another, and
#: how that grows with the identity's cameras: 17.5 +- 9.7 images an identity, 3.9 +- 2.9 a camera.
SHAPE_IDENTITY, SHAPE_CAMERA, MORE_CAMERAS = 4.0, 4.0, 0.4
#: Dimensions in which features differ; the rest of a long feature is a rotation of these.
LATENT = 64
CAMERA_OFFSET = 0.5
#: Difficulty: noise of an image, beside identities at distance about 1.
NOISE = {"hard": 1.31, "middle": 0.885, "easy": 0.555}
#: How many standard deviations of the cosine of blurred features identities are apart: mAP 0.24.
APART = 2.66
DIFFICULTIES = (*NOISE, "blurred")
#: Sigma of the log-normal factor between the noise of one image and another's.
UNEVEN = 0.5


@dataclass(frozen=True)
class Market:
    """Labels of both sides."""

    query: Labels
    gallery: Labels


def market(share: float = 1.0) -> Market:
    """Make the labels; `share` below 1 makes fewer identities, junk and distractors."""
    rng = np.random.default_rng(SEED)
    n_cameras = np.repeat(list(CAMERAS_OF_IDENTITY), list(CAMERAS_OF_IDENTITY.values()))
    n_cameras = rng.permutation(n_cameras)[:max(1, round(share * len(n_cameras)))]
    count = {kind: round(share * images) for kind, images in IMAGES.items()}
    odds = QUERIES_OF_CAMERA / QUERIES_OF_CAMERA.sum()
    camera = np.concatenate([np.sort(rng.choice(6, n, replace=False, p=odds)) for n in n_cameras])
    identity = np.repeat(1 + np.arange(len(n_cameras)), n_cameras)
    seen = n_cameras ** MORE_CAMERAS * rng.gamma(SHAPE_IDENTITY, size=len(n_cameras))
    weight = np.repeat(seen, n_cameras) * rng.gamma(SHAPE_CAMERA, size=len(identity))
    images = 1 + rng.multinomial(count["identified"] - len(identity), weight / weight.sum())
    others = rng.choice(6, count["junk"] + count["distractors"], p=odds)
    return Market(
        query=Labels(identity, camera + 1),
        gallery=Labels(
            np.repeat(np.concatenate([[-1, 0], identity]),
                      np.concatenate([[count["junk"], count["distractors"]], images])),
            np.concatenate([others, np.repeat(camera, images)]) + 1))


def features(labels: Labels, difficulty: str, dims: int, seed: int) -> Array:
    """Make one float32 feature a row; the same labels look alike for every `dims` and seed."""
    if difficulty == "blurred":
        return blurred(labels, dims, seed)
    shared = np.random.default_rng(SEED)
    centre = shared.standard_normal((1 + int(labels.identity.max()), LATENT), np.float32)
    moved = CAMERA_OFFSET * shared.standard_normal((7, LATENT), np.float32)
    rotation = np.linalg.qr(np.random.default_rng(SEED + dims).standard_normal((dims, LATENT)))[0]
    rng = np.random.default_rng(seed)
    latent = centre[np.maximum(labels.identity, 0)]
    nobody = labels.identity <= 0
    latent[nobody] = rng.standard_normal((int(nobody.sum()), LATENT), np.float32)
    latent += moved[labels.camera]
    uneven = np.exp(UNEVEN * rng.standard_normal((len(labels), 1), np.float32))
    latent += NOISE[difficulty] * uneven * rng.standard_normal(latent.shape, np.float32)
    return latent @ rotation.T.astype(np.float32)


def blurred(labels: Labels, dims: int, seed: int) -> Array:
    """Make features whose noise, in all dimensions, is several times as strong as identities."""
    count = 1 + int(labels.identity.max())
    centre = np.random.default_rng(SEED).standard_normal((count, dims), np.float32)
    noise = np.float32(np.sqrt(np.sqrt(dims) / APART - 1))  # 4 in 2,048 dimensions
    made_features = noise * np.random.default_rng(seed).standard_normal(
        (len(labels), dims), np.float32)
    known = labels.identity > 0
    made_features[known] += centre[labels.identity[known]]
    return made_features


def both_features(made: Market, difficulty: str, dims: int) -> tuple[Array, Array]:
    """Return query and gallery features."""
    return (features(made.query, difficulty, dims, SEED + 1),
            features(made.gallery, difficulty, dims, SEED + 2))


def kept(made: Market, gallery: Array) -> Array:
    """Return the features of the images that the convention keeps, those without label -1."""
    return np.ascontiguousarray(gallery[made.gallery.identity != JUNK])


def distances(made: Market, difficulty: str) -> Array:
    """Make the distance matrix, queries x gallery, float32: roots, as the drivers make them."""
    query, gallery = (one / np.linalg.norm(one, axis=1, keepdims=True)
                      for one in both_features(made, difficulty, LATENT))
    made_distances: Array = query @ gallery.T
    np.subtract(1, made_distances, out=made_distances)
    made_distances *= 2
    return np.sqrt(np.maximum(made_distances, 0, out=made_distances), out=made_distances)
