"""What is ranked otherwise: part by part, by centroids, or after steps along neighbours."""
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from reid_ref.arrays import Array, InputError, ignored, optional_module, warnings_to
from reid_ref.evaluation.engine import results_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Distances, Features
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.labels import Labels, cameras_of
from reid_ref.reranking.neighbours import found_neighbours, joined_features, pairs_of
from reid_ref.result import Result
from reid_ref.result.means import over_trials
from reid_ref.variations.labels import images_of, shifted_cameras, sides_of

#: Cameras of a side up to which each is evaluated by itself; VehicleID's loaders number images.
MOST_CAMERAS = 20
#: How many nearest images, itself included, query expansion averages in fast-reid.
EXPANDED = 5
#: Neighbours of an image in the graph of GNN re-ranking, and those whose rows are added.
EDGES, ADDED = 26, 7
#: Distances between queries and gallery up to which they are in memory.
MOST_DISTANCES = 2**26


def over_pairs(which: str, data: ResultFile, how: How) -> list[Result]:
    """Return means over pairs of a query's and a gallery image's camera; "other": of different
    cameras alone.
    """
    query, gallery = _cameras(data)
    pairs = [(asks, answers) for asks, answers in product(np.unique(query), np.unique(gallery))
             if (which == "all" or asks != answers) and np.isin(
                 data.query.identity[query == asks],
                 data.gallery.identity[gallery == answers]).any()]
    return _over((images_of(data, "query", query == asks, "gallery", gallery == answers)
                  for asks, answers in pairs), "trials", how)


def by_centroids(which: str, data: ResultFile, how: How) -> list[Result]:
    """Return results by a gallery of centroids: of each identity, for each camera of its queries,
    the mean of its images on others, which is ignored for queries of a camera that it is of.

    "shifted": with the cameras of the wrong rows (`shifted_cameras`).
    """
    asks, answers = _cameras(shifted_cameras(data) if which == "shifted" else data)
    features, rows = sides_of(data)
    means = dict[tuple[int, ...], Any]()
    for identity, camera in np.unique(np.stack([data.query.identity, asks], 1), axis=0):
        images = (data.gallery.identity == identity) & (answers != camera)
        if images.any():
            means[identity, *np.unique(answers[images])] = rows[images].mean(axis=0)
    return _over((replace(
        data, query=data.query[asks == camera], query_features=features[asks == camera],
        gallery_features=np.array([*means.values()]), gallery=Labels(
            [key[0] for key in means], [camera + (camera not in key[1:]) for key in means]))
        for camera in np.unique(asks)), "pooled", how)


def expanded(data: ResultFile, how: How) -> list[Result]:
    """Return results after each feature became the mean of its 5 nearest, weighted by the cubes of
    their cosines.
    """
    features, index = _nearest(EXPANDED, data, how)
    every, weights = np.concatenate(sides_of(data)), _cosines(features, index)**3
    new = sum(every[images] * weight[:, np.newaxis]
              for images, weight in zip(index.T, weights.T)) / EXPANDED
    return results_of(Features(new[:len(data.query)], new[len(data.query):]), data.query,
                      data.gallery, how)


def propagated(data: ResultFile, how: How) -> list[Result]:
    """Return results after re-ranking by a graph: twice, each image's row of the adjacency matrix
    plus its transpose becomes the sum of its neighbours' rows, by squared cosines, of norm 1.
    """
    csr_array = optional_module("re-ranking", "scipy.sparse").csr_array
    features, index = _nearest(EDGES, data, how)
    near, starts, n_query = index[:, :ADDED], np.arange(len(index) + 1), len(data.query)
    # Of equal images the last may be near to none.
    graph, weights = (csr_array((values, columns.ravel(), starts * columns.shape[1]),
                                (len(index), len(index))) for values, columns in (
        (np.ones(index.size, np.float32), index), (_cosines(features, near).ravel()**2, near)))
    for _ in range(2):
        graph = csr_array(weights @ (graph + graph.T))
        norms = np.sqrt(np.add.reduceat(graph.data**2, graph.indptr[:-1]))
        graph.data /= np.repeat(norms, np.diff(graph.indptr))
    likeness = (graph[:n_query] @ graph[n_query:].T).toarray()
    return results_of(Distances(-likeness), data.query, data.gallery, how)


def needs_room(data: ResultFile) -> str:
    """Return why not, if there are too many images for it, or too few."""
    n_query, n_gallery = len(data.query), len(data.gallery)
    return f"{n_query:,} queries and {n_gallery:,} gallery images" * (
        n_query * n_gallery > MOST_DISTANCES or n_gallery <= EDGES)


def _cameras(data: ResultFile) -> list[Any]:
    cameras = [cameras_of(side, "a camera's images") for side in (data.query, data.gallery)]
    counts = [len(np.unique(each)) for each in cameras]
    if not 1 < max(counts) <= MOST_CAMERAS:
        raise InputError("data", f"2 to {MOST_CAMERAS} cameras of a side", max(counts))
    return cameras


def _over(parts: Iterable[ResultFile], average: str, how: How) -> list[Result]:
    """Return the means over parts."""
    with warnings_to(ignored):
        every = [results_of(part.input, part.query, part.gallery, how) for part in parts]
    return [over_trials(each, average, each[0].signature) for each in zip(*every, strict=True)]


def _cosines(features: Array, near: Array) -> Array:
    return np.stack([np.einsum("nd,nd->n", features[images], features) for images in near.T], 1)


def _nearest(count: int, data: ResultFile, how: How) -> tuple[Array, Array]:
    """Return the normalised features of all images, and their nearest."""
    pairs = pairs_of(joined_features(*sides_of(data), np.float32, True), None, "squared")
    room = np.empty((len(data.query), len(data.gallery)), np.float32)
    return pairs.features, found_neighbours(pairs, count, room, None, how.shared)[0][:, :count]
