"""Identities numbered for each side apart: a one-to-one map serves the queries, the labels do not.

Half of an identity's queries vote for the identity of their nearest images; the other half is
asked. Persons who look alike are mistaken for one another as persistently, but their own images
are near; under a wrong numbering, those of the label are anywhere.
"""
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from reid_ref.analysis.doctor.finding import Finding
from reid_ref.analysis.doctor.sample import OF_ONE, Sample, share_nearer
from reid_ref.analysis.doctor.subject import NotChecked, Subject
from reid_ref.arrays import Array, Doubles, Integers, blocks_of
from reid_ref.evaluation.engine import summaries
from reid_ref.labels import JUNK, Labels, cells
from reid_ref.text import percent

#: Standard errors of a fair coin, identities that the map serves better, identities asked.
ERRORS, SERVED, ASKED = 2.2, 5, 8
#: Own images are nearer than others less often than this.
NEARER = 0.75
#: Share of the identities that one constant moves, from which it moves all.
ONE_OFFSET = 0.8
#: Identities of the gallery that are tried for one of the queries; identities at a time.
CANDIDATES, IDENTITIES = 5, 128


class Numbering(NamedTuple):
    """What the map and the labels serve.

    Parameters
    ----------
    asked : int
        Identities.
    by_map, by_label : int
        Of those that the map moves, how many it serves better, and how many the label does.
    nearer : float
        How often an image of the label is nearer than others, of those the map serves better.
    """

    asked: int
    by_map: int
    by_label: int
    nearer: float

    @property
    def errors(self) -> float:
        """The difference of the two, in standard errors of a fair coin."""
        return (self.by_map - self.by_label) / math.sqrt(max(self.by_map + self.by_label, 1))

    @property
    def is_apart(self) -> bool:
        """Whether identities are numbered apart."""
        return (self.errors >= ERRORS and self.by_map >= SERVED and self.asked >= ASKED
                and self.nearer < NEARER)


def one_to_one(group: Integers, nearest: Integers, distance: Doubles) -> dict[int, int]:
    """Return group to identity: the pairs of most votes first, then of the nearest image."""
    pairs, place = np.unique(np.stack([group, nearest]), axis=1, return_inverse=True)
    least = np.full(pairs.shape[1], np.inf)
    np.fmin.at(least, place.reshape(-1), distance)
    mapped: dict[int, int] = {}
    taken: set[int] = set()
    for k in np.lexsort((least, -np.bincount(place.reshape(-1)))):
        of_group, identity = pairs[:, k].tolist()
        if of_group not in mapped and identity not in taken:
            mapped[of_group] = identity
            taken.add(identity)
    return mapped


def find_numbering(distances: Array, sample: Sample, query: Labels, gallery: Labels) -> Numbering:
    """Return what a map of one half serves of the other half.

    Of identities with one query, the images are halved. Images on the query's own camera, near
    copies of it, do not vote.
    """
    own, of_image = query.identity[sample.query], gallery.identity[sample.image]
    usable = sample.good | sample.wrong
    if query.camera is not None and gallery.camera is not None and len(
            np.unique(gallery.camera)) > 1:
        usable &= query.camera[sample.query, np.newaxis] != gallery.camera[sample.image]
    names, group, n = np.unique(own, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    place = np.empty(len(own), np.int64)
    place[order] = np.arange(len(own)) - (np.cumsum(n) - n)[group[order]]
    alone = n[group] == 1
    nearest, least = [], []
    for half in (0, 1):
        asks = alone | (place % 2 == half)
        values = np.where(usable, distances.real, np.inf)
        values[alone, 1 - half::2] = np.inf
        values[~asks] = np.inf
        values[np.isnan(values)] = np.inf
        usable_half = np.isfinite(values)
        least.append(values.min(axis=1))
        nearest.append(of_image[values.argmin(axis=1)])
    votes, asked = (np.isfinite(values) for values in least)
    mapped = one_to_one(group[votes], nearest[0][votes], least[0][votes])
    target = np.array([mapped.get(k, JUNK) for k in range(len(names))], np.int64)
    asked &= (usable_half & (of_image == target[group][:, np.newaxis])).any(axis=1)
    served = [np.bincount(group[asked], nearest[1][asked] == value[asked], len(names))
              for value in (target[group], own)]
    moved = (target != names) & (np.bincount(group[asked], minlength=len(names)) > 0)
    by_map, by_label = moved & (served[0] > served[1]), moved & (served[1] > served[0])
    return Numbering(len(np.unique(group[asked])), int(by_map.sum()), int(by_label.sum()),
                     _nearer(distances.real, usable, np.flatnonzero(by_map[group]), own,
                             target[group], of_image))


def _nearer(distances: Array, usable: Array, rows: Integers, own: Integers, target: Integers,
            of_image: Integers) -> float:
    """Return how often an image of the label is nearer than others, but for the map's; half where
    there is none.
    """
    shares = []
    for k in rows:
        of_label = usable[k] & (of_image == own[k])
        others = usable[k] & ~of_label & (of_image != target[k])
        if of_label.any() and others.any():
            shares.append(share_nearer(distances[k, of_label], distances[k, others]))
    return float(np.mean(shares)) if shares else 0.5


def _map_of_all(subject: Subject) -> dict[int, int]:
    """Return identity of the queries to identity of the gallery, the nearest first by the mean
    distance of all their images.
    """
    assert subject.data is not None
    images = np.flatnonzero(subject.gallery.identity != JUNK)
    identity = subject.gallery.identity[images]
    order = np.argsort(identity, kind="stable")
    names, first, n = np.unique(identity[order], return_index=True, return_counts=True)
    asking = [rows[:OF_ONE] for (own,), rows in cells(subject.query, "identity").items()
              if own != JUNK]
    pairs: list[tuple[float, int, int]] = []
    for block in blocks_of(len(asking), IDENTITIES):
        rows = np.concatenate(asking[block])
        order_of_rows = np.argsort(rows)
        values = np.empty((len(rows), len(images)))
        values[order_of_rows] = subject.data.input.sample(
            rows[order_of_rows], images).distances.real
        means = np.add.reduceat(values[:, order], first, axis=1) / n
        starts = np.cumsum([0, *map(len, asking[block])])[:-1]
        for own, of_own in zip(subject.query.identity[rows[starts]].tolist(),
                               np.add.reduceat(means, starts, axis=0) / np.array(
                                   [[len(each)] for each in asking[block]])):
            pairs += [(of_own[k], own, int(names[k])) for k in np.argsort(of_own)[:CANDIDATES]]
    mapped: dict[int, int] = {}
    for _, own, other in sorted(pairs):
        if own not in mapped and other not in mapped.values():
            mapped[own] = other
    return dict(sorted(mapped.items()))


def _constant(mapped: dict[int, int]) -> tuple[dict[int, int], int | None]:
    """Return the map, and the constant by which it moves most identities, if there is one."""
    offsets, n = np.unique([other - own for own, other in mapped.items()], return_counts=True)
    offset = int(offsets[n.argmax()])
    if not offset or n.max() < ONE_OFFSET * n.sum():
        return mapped, None
    return {own: own + offset for own in mapped}, offset


def numbered_apart(subject: Subject) -> Iterator[Finding]:
    """Report identities that are numbered for each side apart, with the map and its number."""
    if subject.has_found("reversed", "equal-within-identity", "repeated-images"):
        raise NotChecked("the ranking is reversed, or queries are equal")
    sample, values = subject.of_identities, subject.values_of_identities
    found = find_numbering(values.distances, sample, subject.query, subject.gallery)
    if found.asked < ASKED:
        raise NotChecked(f"fewer than {ASKED} identities can be asked")
    if not found.is_apart or subject.data is None:
        return
    mapped, offset = _constant(_map_of_all(subject))
    convention = subject.how.conventions[0]
    how = subject.data.input.among(replace(subject.how, conventions=(
        convention if subject.has_cameras else convention.without_cameras(),)))
    free = int(max(subject.query.identity.max(), subject.gallery.identity.max())) + 1
    anew = replace(subject.query, identity=np.array(
        [mapped.get(k, free) for k in subject.query.identity.tolist()], np.int64))
    before, after = (summaries(subject.data.input.ranks(query, subject.gallery, how), query,
                               subject.gallery, how)[0].mAP for query in (subject.query, anew))
    moved = {own: other for own, other in mapped.items() if own != other}
    pairs = [f"query {own} is gallery {other}" for own, other in list(moved.items())[:5]]
    yield Finding(
        "doctor:numbered-apart" if offset is None else "doctor:identity-offset", "error",
        "The identities of the two sides seem to be numbered apart: one renumbering serves the "
        f"queries better than their labels do ({', '.join(pairs)}"
        + f" and {len(moved) - 5:,} more" * (len(moved) > 5)
        + f"). Of {found.by_map + found.by_label:,} identities of the sample that one of the two "
        f"numberings serves better, this one serves {found.by_map:,}, and images of the label are "
        f"nearer than others in {100 * found.nearer:.0f} % of the pairs, as by chance; so "
        f"renumbered, mAP is {percent(after)} for {percent(before)}.",
        {"asked": found.asked, "by_map": found.by_map, "by_label": found.by_label,
         "standard_errors": round(found.errors, 2), "nearer": round(found.nearer, 4),
         "mAP": round(before, 6), "mAP_renumbered": round(after, 6),
         **({} if offset is None else {"offset": offset}),
         **{f"identity_{own}": other for own, other in mapped.items()}},
        ("" if offset is None else f"Number them in one go: query_identity {offset:+d}; or from "
         "their names: ") + "numpy.unique(numpy.concatenate([query_names, gallery_names]), "
        "return_inverse=True)[1] numbers both sides together. If they are, check that rows are in "
        "the order of labels, and that both sides have the same columns.")
