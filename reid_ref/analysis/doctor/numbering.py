"""Identities numbered for each side apart.

The identities of the two sides are compared by the mean distance of their images. One half of the
pairs makes a map, one to one, the nearest first; the other half judges it. Persons who look alike
are mistaken for one another as persistently, but their own images are near.
"""
from collections.abc import Iterator
from dataclasses import replace

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
#: By how much mAP is higher once renumbered. Of the queries that move, it is at least this share
#: of the others' (true maps 0.83 and more, persons who look alike up to 0.52); and the queries of
#: the numbers that they take have at most that share of it (0.25; from 1.1 on).
CLEARLY, AS_OTHERS, TAKEN = 0.02, 0.7, 0.5
#: Share of the identities that one constant moves, from which it moves all.
ONE_OFFSET = 0.8
#: Identities of the gallery that are tried for one of the queries.
CANDIDATES = 5


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


def find_numbering(subject: Subject) -> tuple[Integers, Doubles, Doubles]:
    """Return the identity of each query by the map, -1 where it has none; and, held out, how often
    an image of the label and one of the map is nearer than others, NaN without any.
    """
    sample, distances = subject.of_identities, subject.values_of_identities.distances.real
    own = subject.query.identity[sample.query]
    of_image = subject.gallery.identity[sample.image]
    usable = (sample.good | sample.wrong) & np.isfinite(distances)
    if subject.has_cameras and len(np.unique(subject.cameras[1])) > 1:
        usable &= subject.cameras[0][sample.query, np.newaxis] != subject.cameras[1][sample.image]
    rows = np.unique(own, return_inverse=True)[1]
    theirs, columns = np.unique(of_image, return_inverse=True)
    half = (place_within(rows)[:, np.newaxis] + place_within(columns)) % 2 == 0
    means = mean_distances(distances, usable & half, rows, columns)
    mapped = one_to_one(means)
    identity = np.where(mapped < 0, JUNK, theirs[mapped])[rows]
    before, after = (shares_of_rows(distances, usable & ~half & is_own, usable & ~half & ~is_own)
                     for is_own in (label[:, np.newaxis] == of_image for label in (own, identity)))
    return identity, before, after


def numbered_apart(subject: Subject) -> Iterator[Finding]:
    """Report identities that are numbered for each side apart, with the map and its number."""
    subject.check_not_found("equal-within-identity", "repeated-images")
    mapped, before, after = find_numbering(subject)
    own = subject.query.identity[subject.of_identities.query]
    if len(np.unique(own[np.isfinite(after)])) < ASKED:
        raise NotChecked(f"fewer than {ASKED} identities can be asked")
    moved = (mapped != own) & (mapped != JUNK)
    within = subject.within if subject.values_of_identities.features else [0.0]
    least = max(RENUMBERED, *within) - WITHIN if min(within) else ALONE
    served = [values[moved & np.isfinite(values)] for values in (before, after)]
    nearer, renumbered = (float(values.mean()) if len(values) else 0.5 for values in served)
    if len(np.unique(own[moved])) >= MOVED and CHANCE <= nearer < OWN and renumbered >= least:
        yield from _numbered_apart(subject, mapped, own, nearer, renumbered)


def _numbered_apart(subject: Subject, identity: Integers, own: Integers, nearer: float,
                    renumbered: float) -> Iterator[Finding]:
    known = identity != JUNK
    offsets, n = np.unique((identity - own)[known], return_counts=True)
    is_offset = n.max() >= ONE_OFFSET * n.sum() and "identity" not in subject.query.words
    offset = int(offsets[n.argmax()]) if is_offset else None
    convention = subject.how.conventions[0]
    mapped = dict(zip(own[known].tolist(), identity[known].tolist()))
    rows = np.flatnonzero(np.isin(subject.query.identity, [*mapped, *mapped.values()]))
    asking = subject.query[rows]
    ranked = subject.given().input.between("query", rows, "gallery",
                                           np.arange(len(subject.gallery)))
    how = ranked.among(replace(subject.how, lists=None, conventions=(
        convention if subject.has_cameras else convention.without_cameras(),)))
    anew = np.array([mapped.get(label, label) for label in asking.identity.tolist()], np.int64)
    ap = [summaries(ranked.ranks(side, subject.gallery, how), side, subject.gallery, how)[0]
          .per_query.values["mAP"] for side in (asking, replace(asking, identity=anew))]
    before, after = map(np.nan_to_num, ap)
    is_mapped, moves = np.isin(asking.identity, [*mapped]), anew != asking.identity
    others, taken = is_mapped & ~moves, np.isin(asking.identity, anew[moves])
    values = [float(each[is_mapped & ~np.isnan(each)].sum() / max(
        np.count_nonzero(is_mapped & ~np.isnan(each)), 1)) for each in ap]
    least = max(AS_OTHERS * before[others].sum() / max(others.sum(), ASKED),
                before[taken].sum() / max(taken.sum(), 1) / TAKEN)
    pairs = [f"query {label} is gallery {other}" for label, other in mapped.items()
             if label != other]
    if values[1] < values[0] + CLEARLY or after[moves].mean() < least:
        return
    yield tell("numbered-apart" if offset is None else "numbered-apart-by-one-number",
               ", ".join(pairs[:5]) + f" and {len(pairs) - 5:,} more" * (len(pairs) > 5),
               is_mapped.sum(), percent(values[1]), percent(values[0]), offset, nearer=nearer,
               renumbered=renumbered, mAP=values[0], mAP_renumbered=values[1],
               **{} if offset is None else {"offset": offset},
               **{f"identity_{label}": other for label, other in mapped.items()})
