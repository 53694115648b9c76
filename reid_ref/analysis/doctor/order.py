"""Parts of the gallery whose rows do not fit their labels."""
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.sample import Sample, means_of, shares_of_rows, standard_error
from reid_ref.analysis.doctor.subject import NotChecked, Subject
from reid_ref.arrays import Array, Integers

#: Good pairs from which on their distances are looked at, and the share of them that may be wrong:
#: benchmarks have some wrong labels, too.
MIN_PAIRS, MISLABELLED = 300, 0.05
#: Far pairs for one neither near nor far: whitened features have up to 0.47; mistakes, from 1.
BETWEEN = 0.5
#: Far pairs for one that is farther still: mistakes lie anywhere, and of a weak model fewer and
#: fewer lie farther off.
FLAT = 1.5
#: Or so many, if images of an identity are so much nearer within the queries than in the gallery.
LESS_FLAT, WORSE, MANY_QUERIES = 2.2, 0.06, 200
#: Places of far and of near pairs; and the share of far ones near another query, from which
#: several persons have one number.
FAR, NEAR, MERGED = 0.3, 0.05, 0.6
#: In fewer columns, some good pairs of a sound network lie anywhere as well.
MIN_COLUMNS = 64
#: Fewer queries than these are no evidence about a model.
MIN_QUERIES = 100
#: The gallery is looked at in so many parts of its rows; in each, so many identities at least.
PARTS, MIN_IDENTITIES = 4, 20
#: A part is at chance below the first share and three standard errors of 0.5, and sound from the
#: second on. If good images are nearer more often than the third over all, no part is at chance.
AT_CHANCE, SOUND, NO_PART = 0.58, 0.7, 0.93
#: Standard errors over identities between a part at chance and a sound one.
ERRORS = 4


class RowRange(NamedTuple):
    """Rows of the gallery, and how often a good image of them is nearer than a wrong one.

    `share` is a mean over identities, `error` its standard error.
    """

    start: int
    stop: int
    share: float
    error: float
    identities: int


def parts_of_gallery(distances: Array, sample: Sample, identity: Integers,
                     n_gallery: int) -> list[RowRange]:
    """Return each part of the gallery's rows, good images among wrong ones of the same part.

    `identity`: of each query of the sample.
    """
    edges = [n_gallery * k // PARTS for k in range(PARTS + 1)]
    parts = []
    for start, stop in zip(edges, edges[1:]):
        chosen = slice(*np.searchsorted(sample.image, [start, stop]))
        of_query = shares_of_rows(distances[:, chosen], sample.good[:, chosen],
                                  sample.wrong[:, chosen])
        shares = means_of(identity, of_query)
        if len(shares) >= MIN_IDENTITIES:
            parts.append(RowRange(start, stop, float(shares.mean()), standard_error(shares),
                                  len(shares)))
    return parts


def part_at_chance(subject: Subject) -> Iterator[Finding]:
    """Report parts of the gallery that are ranked by chance, if the others are not."""
    sample, scores, n_gallery = subject.sample, subject.scores, len(subject.gallery)
    if not len(scores) or scores.mean() > NO_PART:
        return
    parts = parts_of_gallery(subject.values.distances, sample,
                             subject.query.identity[sample.query], n_gallery)
    if len(parts) < 2:
        raise NotChecked(f"fewer than {MIN_IDENTITIES} identities in each part")
    wrong = [part for part in parts
             if part.share < AT_CHANCE and part.share - 3 * part.error < 0.5]
    sound = [part for part in parts if part.share >= SOUND]
    if not wrong or not sound or len(wrong) + len(sound) < len(parts) - 1 or any(
            clear.share - part.share < ERRORS * np.hypot(clear.error, part.error)
            for clear in sound for part in wrong):
        return
    starts, stops = {part.start for part in wrong}, {part.stop for part in wrong}
    rows = " and ".join(f"{start:,} to {stop - 1:,}" for start, stop in zip(
        sorted(starts - stops), sorted(stops - starts)))
    shares = [float(np.average([part.share for part in of],
                               weights=[part.identities for part in of])) for of in (wrong, sound)]
    yield tell("part-at-chance", rows, n_gallery, parts=len(parts), at_chance=len(wrong),
               first=wrong[0].start, share=shares[0], share_of_others=shares[1])


def two_modes(subject: Subject) -> Iterator[Finding]:
    """Good pairs that lie among the wrong ones as wrong ones do, beside many that do not.

    Of each good image, the share of wrong images that are nearer: of a pair of one identity it is
    near 0, and of a pair by mistake anything from 0 to 1. A weak model has few pairs near 0, and
    fewer and fewer towards 1; images of two kinds have a peak between.
    """
    sample = subject.sample
    subject.check_not_found("part-at-chance", "zero-features", "sides-misfit")
    if any(rows.shape[1] < MIN_COLUMNS for rows, _ in subject.values.features):
        raise NotChecked(f"fewer than {MIN_COLUMNS} columns")
    distances = subject.values.distances.real
    places = np.full(distances.shape, np.nan)
    for row, good, wrong, to in zip(distances, sample.good, sample.wrong, places):
        if wrong.any():
            to[good] = np.searchsorted(np.sort(row[wrong]), row[good]) / np.count_nonzero(wrong)
    place = places[~np.isnan(places)]
    of_query = means_of(np.nonzero(~np.isnan(places))[0], 4. * (place > 0.75))
    if len(of_query) < MIN_QUERIES or len(place) < MIN_PAIRS:
        raise NotChecked(f"fewer than {MIN_QUERIES} queries or {MIN_PAIRS} good pairs")
    near, far = float((place <= 0.02).mean()), np.histogram(place, 4, (0.5, 1))[0]
    share, error = 4 * float((place > 0.75).mean()), standard_error(of_query)
    flat = far[:2].sum() / max(far[2:].sum(), 1)
    if near <= 0.3 or share - 2 * error <= MISLABELLED / 2 or share <= max(
            MISLABELLED, BETWEEN * (1 - near - share)) or (flat > FLAT and not (
                flat <= LESS_FLAT and len(of_query) >= MANY_QUERIES and subject.values.features
                and subject.within[0] - subject.within[1] > WORSE)):
        return
    merged = _near_another(places, subject.query.identity[sample.query]) > MERGED
    yield tell("identities-merged" if merged else "two-modes", pairs=len(place),
               share=min(share, 1 - near), near=near)


def _near_another(places: Array, identity: Integers) -> float:
    """Return the share of far good pairs of which image and query are near others of the identity.
    """
    near = []
    for row, column in np.argwhere(places > FAR):
        others = places[identity == identity[row], column]
        if np.count_nonzero(~np.isnan(others)) > 1:
            near.append(max(np.nanmin(others), np.nanmin(places[row])) < NEAR)
    return float(np.mean(near)) if near else 0.0
