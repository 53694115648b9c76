"""Identities numbered for each side apart, or stored under two numbers.

The identities of the two sides are compared by the mean distance of their images. One half of the
pairs makes a map, one to one, the nearest first; the other half judges it. Persons who look alike
are mistaken for one another as persistently, but their own images are near.
"""
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.sample import place_within, shares_of_rows
from reid_ref.analysis.doctor.subject import NotChecked, Subject
from reid_ref.arrays import Array, Doubles, Integers
from reid_ref.evaluation.engine import summaries
from reid_ref.labels import JUNK
from reid_ref.text import percent

#: Identities to ask, and of those that the map moves.
ASKED, MOVED = 8, 5
#: How often an image is nearer than others: of the label, from chance on, and at most; of the map,
#: at least, with distances alone, with features, and less than within a side.
CHANCE, OWN, ALONE, RENUMBERED, WITHIN = 0.43, 0.75, 0.92, 0.88, 0.03
#: By how much mAP is higher once renumbered.
CLEARLY = 0.02
#: Share of the identities that one constant moves, from which it moves all.
ONE_OFFSET = 0.8
#: Share of the identities that have a second number; how near it is, and how far the next one, as
#: shares of the way to the middle of all.
TWICE, ALIKE, APART = 0.4, 0.25, 0.25
#: Identities of the gallery that are tried for one of the queries.
CANDIDATES = 5


class Numbering(NamedTuple):
    """What a map of identities serves, held out.

    Parameters
    ----------
    identity : int64, shape (n,)
        By the map, of each query; -1 where it has none.
    before, after : float64, shape (n,)
        How often an image of the label, and of the map, is nearer than others; NaN without any.
    second : int64, shape (k,)
        Queries' identities that another one of the gallery serves as well, and no third.
    asked : int
        Identities that may have one.
    """

    identity: Integers
    before: Doubles
    after: Doubles
    second: Integers
    asked: int


def mean_distances(distances: Array, usable: Array, rows: Integers, columns: Integers) -> Doubles:
    """Return the mean of the usable pairs of groups of rows and of columns; inf without any."""
    shape = int(rows.max()) + 1, int(columns.max()) + 1
    place = (rows[:, np.newaxis] * shape[1] + columns)[usable]
    number = np.bincount(place, minlength=shape[0] * shape[1])
    total = np.bincount(place, distances[usable], shape[0] * shape[1])
    means: Doubles = np.where(number, total / np.maximum(number, 1), np.inf).reshape(shape)
    return means


def one_to_one(means: Doubles) -> Integers:
    """Return a column for each row, the nearest pairs first; -1 where none is left."""
    tried = np.argsort(means, axis=1)[:, :CANDIDATES]
    values, mapped = np.take_along_axis(means, tried, axis=1), np.full(len(means), -1)
    for place in np.argsort(values, axis=None, kind="stable"):
        row, candidate = np.unravel_index(place, values.shape)
        column = tried[row, candidate]
        if mapped[row] < 0 and np.isfinite(values[row, candidate]) and column not in mapped:
            mapped[row] = column
    return mapped


def find_numbering(subject: Subject) -> Numbering:
    """Make the map, and judge it."""
    sample, distances = subject.of_identities, subject.values_of_identities.distances.real
    own = subject.query.identity[sample.query]
    of_image = subject.gallery.identity[sample.image]
    usable = (sample.good | sample.wrong) & np.isfinite(distances)
    if subject.has_cameras and len(np.unique(subject.cameras[1])) > 1:
        usable &= subject.cameras[0][sample.query, np.newaxis] != subject.cameras[1][sample.image]
    names, rows = np.unique(own, return_inverse=True)
    theirs, columns = np.unique(of_image, return_inverse=True)
    half = (place_within(rows)[:, np.newaxis] + place_within(columns)) % 2 == 0
    means = mean_distances(distances, usable & half, rows, columns)
    mapped = one_to_one(means)
    identity = np.where(mapped < 0, JUNK, theirs[mapped])[rows]
    before, after = (shares_of_rows(distances, usable & ~half & is_own, usable & ~half & ~is_own)
                     for is_own in (label[:, np.newaxis] == of_image for label in (own, identity)))
    # A second number: as near as the label, held out, and far nearer than the third.
    held = mean_distances(distances, usable & ~half, rows, columns)
    label = np.minimum(np.searchsorted(theirs, names), len(theirs) - 1)
    every = np.arange(len(names))
    means[every, label] = np.inf
    second, third = np.argsort(means, axis=1)[:, :2].T if len(theirs) > 2 else (label, label)
    near = np.stack([held[every, column] for column in (label, second, third)])
    known = np.isfinite(near).all(axis=0) & (theirs[label] == names)
    near, middle = near[:, known], np.array([
        np.median(row[np.isfinite(row)]) for row in held[known]])
    twice = (abs(near[0] - near[1]) < ALIKE * (middle - near[:2].min(axis=0))) & (
        near[2] - near[1] > APART * (middle - near[1]))
    twice &= (near[0] < near[1])[twice].mean() < OWN if twice.any() else False
    return Numbering(identity, before, after, names[known][twice], int(known.sum()))


def numbered_apart(subject: Subject) -> Iterator[Finding]:
    """Report identities that are numbered for each side apart, with the map and its number."""
    if subject.has_found("equal-within-identity", "repeated-images"):
        raise NotChecked("images are equal")
    found = find_numbering(subject)
    own = subject.query.identity[subject.of_identities.query]
    asked = len(np.unique(own[np.isfinite(found.after)]))
    if asked < ASKED:
        raise NotChecked(f"fewer than {ASKED} identities can be asked")
    if found.asked >= ASKED and len(found.second) > TWICE * found.asked:
        yield tell("identities-split", found.second[0], asked=found.asked,
                   twice=len(found.second))
    moved = (found.identity != own) & (found.identity != JUNK)
    within = subject.within if subject.values_of_identities.features else [0.0]
    least = max(RENUMBERED, *within) - WITHIN if min(within) else ALONE
    of_label = found.before[moved & np.isfinite(found.before)]
    nearer = float(of_label.mean()) if len(of_label) else 0.5
    of_map = found.after[moved & np.isfinite(found.after)]
    after = float(of_map.mean()) if len(of_map) else 0.0
    if len(np.unique(own[moved])) >= MOVED and CHANCE <= nearer < OWN and after >= least:
        yield from _numbered_apart(subject, found, own, nearer, after)


def _numbered_apart(subject: Subject, found: Numbering, own: Integers, nearer: float,
                    after: float) -> Iterator[Finding]:
    known = found.identity != JUNK
    offsets, n = np.unique((found.identity - own)[known], return_counts=True)
    is_offset = n.max() >= ONE_OFFSET * n.sum() and "identity" not in subject.query.words
    offset = int(offsets[n.argmax()]) if is_offset else None
    convention = subject.how.conventions[0]
    mapped = dict(zip(own[known].tolist(), found.identity[known].tolist()))
    rows = np.flatnonzero(np.isin(subject.query.identity, [*mapped]))
    asking = subject.query[rows]
    ranked = subject.given().input.between("query", rows, "gallery",
                                           np.arange(len(subject.gallery)))
    how = ranked.among(replace(subject.how, lists=None, conventions=(
        convention if subject.has_cameras else convention.without_cameras(),)))
    anew = np.array([*map(mapped.get, asking.identity.tolist())], np.int64)
    values = [summaries(ranked.ranks(side, subject.gallery, how), side, subject.gallery,
                        how)[0].mAP for side in (asking, replace(asking, identity=anew))]
    pairs = [f"query {label} is gallery {other}" for label, other in mapped.items()
             if label != other]
    if values[1] < values[0] + CLEARLY:
        return
    yield tell("numbered-apart" if offset is None else "numbered-apart-by-one-number",
               ", ".join(pairs[:5]) + f" and {len(pairs) - 5:,} more" * (len(pairs) > 5),
               len(asking), percent(values[1]), percent(values[0]), offset, nearer=nearer,
               renumbered=after, mAP=values[0], mAP_renumbered=values[1],
               **{} if offset is None else {"offset": offset},
               **{f"identity_{label}": other for label, other in mapped.items()})
