"""Features and distances in one file: which of them is not read, and whether it ranks otherwise.

A sample of both is compared: the first rows and columns, which files give without the rest. Any
distance that rises or falls with that of the features ranks alike, so rank correlations are taken.
"""
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from reid_ref.arrays import Array, UnreadWarning, warn
from reid_ref.arrays.stored import read_rows
from reid_ref.distances import distance_matrix
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files.layouts import FEATURES, NAMES, plain_name, role_of
from reid_ref.files.stored_arrays import StoredArray

#: Queries and gallery images of the sample.
_QUERIES, _IMAGES = 8, 1000
#: The least rank correlation, or most negative one, of distances that are those of the features:
#: of distances stored in 8 bits it is above 0.999.
_SAME = 0.99
#: Roles of what features give; either sign of a rank correlation is the same ranking.
_DISTANCES = ("distances", "similarity")
#: Metric, and whether features are normalised.
_MEASURES = (("euclidean", False), ("cosine", True), ("dot", False))


def warn_of_unread(result: ResultFile, unread: Mapping[str, StoredArray]) -> None:
    """Warn of unread distances next to ranked features, or of features next to distances.

    No warning if a sample of them ranks alike. `unread`: arrays of the files, by key.
    """
    matrices: dict[str, dict[str, StoredArray]] = {}
    for key, value in unread.items():
        if value.numbers and len(value.shape) == 2:
            matrices.setdefault(role_of(key) or "", {})[key] = value
    if result.query_features is not None:
        for role in _DISTANCES:
            for key, value in matrices.get(role, {}).items():
                _warn_of_distances(result, role, key, value)
    elif result.distances is not None:
        keys = {role: next(iter(matrices.get(role, ())), None) for role in FEATURES}
        if None not in keys.values():
            _warn_of_features(result, {role: str(key) for role, key in keys.items()}, unread)


def _warn_of_distances(result: ResultFile, role: str, key: str, value: StoredArray) -> None:
    n_query, n_gallery = sizes = len(result.query), len(result.gallery)
    likeness = [_likeness(given.first(_QUERIES), _first(result.query_features, _QUERIES),
                          _first(result.gallery_features, _IMAGES))
                for given in (value, value.T) if given.shape == sizes]
    names = {role: key}
    if likeness:
        _warn([value.where], "features", names, max(likeness))
    # Re-ranking needs those between queries, and between gallery images, too.
    elif NAMES.get(plain_name(key)) == role and value.shape not in (
            (n_query, n_query), (n_gallery, n_gallery)):
        warn(f"{value.where} is not read: its shape is {value.shape}, and the features in the "
             f"same file are of {n_query} queries and {n_gallery} gallery images", UnreadWarning)


def _warn_of_features(result: ResultFile, keys: Mapping[str, str],
                      unread: Mapping[str, StoredArray]) -> None:
    given, sides = _first(result.distances, _QUERIES), [unread[key] for key in keys.values()]
    likeness = [_likeness(given, query.first(_QUERIES), gallery.first(_IMAGES))
                for query, gallery in product(*((side, side.T) for side in sides))
                if (query.shape[0], gallery.shape[0]) == (len(result.query), len(result.gallery))
                and query.shape[1] == gallery.shape[1]]
    if likeness:
        _warn([side.where for side in sides], "distances", keys, max(likeness))


def _first(matrix: Any, n: int) -> Array:
    return np.asarray(read_rows(matrix, 0, min(n, matrix.shape[0])))


def _warn(unread: list[str], ranked: str, names: Mapping[str, str], likeness: float) -> None:
    """Warn that an array is not read; `likeness`: 0 to 1, below 0 if unknown."""
    if likeness >= _SAME:
        return
    verb, it = ("is", "it") if len(unread) == 1 else ("are", "they")
    mapped = ",".join(f"{role}={key}" for role, key in names.items())
    contradicts = "" if likeness < 0 else (
        f"; {it} would rank otherwise, with rank correlation {likeness:.2f} instead of 1 (first "
        f"{_QUERIES} queries, first {_IMAGES:,} images)")
    warn(f"{', '.join(unread)} {verb} not read: the {ranked} in the same file are ranked"
         f"{contradicts}; names={dict(names)!r} (--map {mapped}) ranks what is not read",
         UnreadWarning)


def _likeness(distances: Array | None, query: Array | None, gallery: Array | None) -> float:
    """Return the rank correlation, of either sign, with the most alike measure; -1 if unknown."""
    if distances is None or query is None or gallery is None:
        return -1
    given = np.real(distances[:, :_IMAGES]).astype(np.float64)
    best = -1.0
    for metric, normalize in _MEASURES:
        with np.errstate(all="ignore"):
            measured = distance_matrix(query.astype(np.float64), gallery.astype(np.float64),
                                       metric, normalize)
        if rows := [row for row in map(_correlation, given, measured) if row is not None]:
            best = max(best, abs(float(np.mean(rows))))
    return best


def _correlation(given: Array, measured: Array) -> float | None:
    """Return Spearman's rank correlation; None if the features do not rank."""
    finite = np.isfinite(given) & np.isfinite(measured)
    first, second = (_ranks(row[finite]) for row in (given, measured))
    if not finite.any() or not second.any():
        return None
    return float(first @ second / np.sqrt((first @ first) * (second @ second))) if first.any(
        ) else 0.0


def _ranks(row: Array) -> Array:
    """Return ranks less their mean; equal values have the mean of theirs."""
    _, which, n = np.unique(row, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(n) - n / 2 - len(row) / 2)[which])
