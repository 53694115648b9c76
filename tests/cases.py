"""Made inputs that several test files share, and the comparison of two results."""
import dataclasses
import importlib
import tracemalloc
import warnings

import numpy as np

from reid_ref import Labels


def market_like(seed, n_query=12, n_gallery=80, identities=6, cameras=4, levels=None,
                dtype=np.float64):
    """Random distances and labels with junk (-1), distractors (0) and unknown identities.

    `levels`: draw distances from so many whole numbers, so that they tie.
    """
    rng = np.random.default_rng(seed)
    gallery = Labels(
        rng.integers(-1, identities, n_gallery), rng.integers(1, cameras + 1, n_gallery))
    query = Labels(
        rng.integers(-1, identities + 1, n_query), rng.integers(1, cameras + 1, n_query))
    if levels is None:
        distances = rng.standard_normal((n_query, n_gallery))
    else:
        distances = rng.integers(0, levels, (n_query, n_gallery)).astype(np.float64)
    return distances.astype(dtype), query, gallery


def nearly_tied(n_query=30, n_gallery=200, lowest=-1, seed=8):
    """Features of which the single-precision product orders many images wrongly, and labels."""
    rng = np.random.default_rng(seed)
    centre = rng.random(64)
    labels = [Labels(rng.integers(lowest, 5, n), rng.integers(1, 4, n))
              for n in (n_query, n_gallery)]
    return *((centre + 1e-5 * rng.standard_normal((n, 64))).astype(np.float32)
             for n in (n_query, n_gallery)), *labels


def same(actual, expected):
    """Compare all fields, each with ==, NaN with NaN."""
    for field in dataclasses.fields(actual):
        value, wanted = getattr(actual, field.name), getattr(expected, field.name)
        if dataclasses.is_dataclass(value):
            same(value, wanted)
        elif isinstance(value, dict):
            assert value.keys() == wanted.keys(), field.name
            for key, array in value.items():
                np.testing.assert_array_equal(array, wanted[key], err_msg=key, strict=True)
        else:
            np.testing.assert_array_equal(value, wanted, err_msg=field.name, strict=True)


def good_ranks(distances, query, gallery, ignored=("label -1", "same identity, same camera"),
               ties="gallery-order", lists=None):
    """Rank every query's good images in a matrix, under one rule, by the rooms loaded now."""
    counting, rank, roles = (importlib.import_module(f"reid_ref.ranking.{name}")
                             for name in ("counting", "rank", "roles"))
    rule, part = tuple(ignored), counting.matrix_part(distances)
    found = roles.find_roles(query, gallery, rule, lists)
    ranks = rank.rank(rank.in_parts([lambda: part], len(query)), query, gallery, {rule: found})
    return ranks[rule] if ties == "gallery-order" else rank.argsort_ranks(
        ranks[rule], distances, found, ties, np.ones(len(gallery), dtype=bool))


def quietly(function, *arguments, **options):
    """The answer, and the texts of the warnings in order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = function(*arguments, **options)
    return answer, [str(warning.message) for warning in caught]


def peak(function, *arguments):
    """The answer, and the bytes that numpy and Python held at most beyond those before."""
    tracemalloc.start()
    try:
        answer = function(*arguments)
        return answer, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def save(path, distances, query, gallery, **more):
    """Write distances and labels under torchreid's keys."""
    np.savez(path, distmat=distances, q_pids=query.identity, q_camids=query.camera,
             g_pids=gallery.identity, g_camids=gallery.camera, **more)


def save_features(path, features, query, gallery):
    """Write the features of both sides and labels under layumi's keys."""
    np.savez(path, query_f=features[0], query_label=query.identity, query_cam=query.camera,
             gallery_f=features[1], gallery_label=gallery.identity, gallery_cam=gallery.camera)


def special(seed, **sizes):
    """As `market_like`, with NaN, Inf, -Inf, -0 and ties among the distances."""
    distances, query, gallery = market_like(seed, **sizes)
    rng = np.random.default_rng(seed + 1)
    distances = distances.round(1)
    for value in (np.nan, np.inf, -np.inf, 0.0, -0.0):
        distances[rng.random(distances.shape) < 0.1] = value
    return distances, query, gallery


def put(*keys):
    """A change of a value of JSON: the last of these is put below the others."""
    def change(value):
        *inside, last, new = keys
        for key in inside:
            value = value[key]
        value[last] = new
    return change


def signed(old, new):
    """A change of a value of JSON: a part of its signature."""
    return lambda value: value.update(signature=value["signature"].replace(old, new))
