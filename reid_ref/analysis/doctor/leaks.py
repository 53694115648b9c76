"""Features that know the answer: averages over an identity, and columns that hold a label.

A network that sees one image at a time makes neither.
"""
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from reid_ref.analysis.doctor.finding import Finding
from reid_ref.analysis.doctor.subject import NotChecked, Subject
from reid_ref.arrays import Array, Doubles, Integers
from reid_ref.evaluation.ranked import lengths

#: The mean logarithm, and its standard errors over identities, below which a side is averaged.
CLOSER, ERRORS = -0.3, -8
#: Where labels of the two sides do not fit, it is negative as well, but not for nearly all; and
#: images of one identity are no nearer across the sides, by these standard errors.
NEARLY_ALL, FITS = 0.9, 4
#: Identities and images from which on these show something; gallery images of an identity.
MIN_IDENTITIES, MIN_IMAGES, OF_ONE = 10, 50, 8
#: Spread within a label over the whole spread; correlation with the row; share of the energy.
WITHIN, WITH_ROW, DOMINATES = 0.01, 0.999, 0.99


class Closeness(NamedTuple):
    """The logarithm of how far apart images of one identity are on a side, over query and gallery
    image; less that of different identities. A mean over identities, with its standard error, and
    the share of identities for which it is negative.
    """

    mean: float
    error: float
    negative: float
    identities: int

    @property
    def is_averaged(self) -> bool:
        """Whether the side is closer than one image at a time can make it."""
        return (self.mean < CLOSER and self.mean < ERRORS * self.error
                and self.negative >= NEARLY_ALL)


def unit_rows(features: Array) -> Doubles:
    """Return features divided by their 2-norms, in doubles."""
    norms = lengths(features)
    rows: Doubles = features / np.where(norms, norms, 1)[:, np.newaxis]
    return rows


def closeness(query: Array, gallery: Array, identities: tuple[Integers, Integers],
              cameras: tuple[Integers, Integers]) -> dict[str, Closeness]:
    """Return how close the images of each side are; images of two cameras alone are compared."""
    rows = unit_rows(np.concatenate([query, gallery]))
    identity, camera = map(np.concatenate, (identities, cameras))
    distances, n = 2 - 2 * rows @ rows.T, len(query)
    names, group = np.unique(identity, return_inverse=True)
    same = identity[:, np.newaxis] == identity
    apart = camera[:, np.newaxis] != camera
    query_side, gallery_side = slice(n), slice(n, None)

    def typical_log(first: slice, second: slice) -> Doubles:
        """Return the logarithm of the median of each identity, less that of different ones."""
        values = np.maximum(distances[first, second], 1e-12)
        of_pair, others = (same & apart)[first, second], values[(~same & apart)[first, second]]
        rows_of, columns = np.nonzero(of_pair)
        order = np.argsort(group[first][rows_of], kind="stable")
        each = np.split(values[rows_of[order], columns[order]], np.cumsum(
            np.bincount(group[first][rows_of], minlength=len(names)))[:-1])
        typical = np.log([np.median(of_identity) if len(of_identity) else np.nan
                          for of_identity in each])
        log: Doubles = typical - np.log(np.median(others) if len(others) else np.nan)
        return log
    across = typical_log(query_side, gallery_side)
    known, found = across[np.isfinite(across)], dict[str, Closeness]()
    if len(known) < MIN_IDENTITIES or known.mean() > -FITS * known.std() / np.sqrt(len(known)):
        return found  # the labels of the two sides do not fit
    for name, side in (("queries", query_side), ("gallery images", gallery_side)):
        logs = typical_log(side, side) - across
        logs = logs[np.isfinite(logs)]
        if len(logs) >= MIN_IDENTITIES:
            found[name] = Closeness(float(logs.mean()), float(logs.std(ddof=1) / np.sqrt(
                len(logs))), float((logs < 0).mean()), len(logs))
    return found


def within_label(rows: Array, label: Integers) -> Doubles:
    """Return each column's variance within a label over its whole variance; NaN of a column that
    does not vary, or that few labels tell apart from the others.
    """
    names, group = np.unique(label, return_inverse=True)
    number = np.bincount(group)
    means = np.zeros((len(names), rows.shape[1]))
    np.add.at(means, group, rows)
    means /= number[:, np.newaxis]
    whole, within = rows.var(axis=0), (rows - means[group]).var(axis=0)
    # A column that one label alone moves is that of a sparse feature.
    middle = np.quantile(means, [0.1, 0.9], axis=0)
    varies = (whole > 1e-12 * whole.max(initial=0)) & (middle[1] > middle[0])
    return np.where(varies, within / np.where(varies, whole, 1), np.nan)


def _rows_of_identities(subject: Subject) -> tuple[Array, Array, Integers]:
    """Return features of whole identities of both sides, and the gallery rows of the second."""
    sample = subject.of_identities
    query, gallery = subject.features_of(subject.values_of_identities)
    identity = subject.gallery.identity[sample.image]
    own = np.flatnonzero(np.isin(identity, subject.query.identity[sample.query]))
    own = own[np.argsort(identity[own], kind="stable")]
    place = np.arange(len(own)) - np.searchsorted(identity[own], identity[own])
    own = np.sort(own[place < OF_ONE])
    return query, gallery[own], sample.image[own]


def averaged(subject: Subject) -> Iterator[Finding]:
    """Report a side whose images of one identity are closer than one at a time can be."""
    query, gallery, images = _rows_of_identities(subject)
    if "sides made alike" not in subject.ran:
        raise NotChecked("whether the sides were made alike is not known")
    if subject.has_found("sides-apart", "numbered-apart", "identity-offset", "reversed",
                         "chance-level", "below-chance", "part-at-chance"):
        raise NotChecked("the sides do not fit each other")
    rows = subject.of_identities.query
    identities = subject.query.identity[rows], subject.gallery.identity[images]
    cameras = np.arange(len(query)), len(query) + np.arange(len(gallery))
    if subject.query.camera is not None and subject.gallery.camera is not None:
        cameras = subject.query.camera[rows], subject.gallery.camera[images]
    found = closeness(query, gallery, identities, cameras)
    if not found:
        raise NotChecked(f"fewer than {MIN_IDENTITIES} identities with images to compare")
    cells = np.unique(np.stack([identities[1], cameras[1]]), axis=1).shape[1]
    may_be_tracklets = cells > 0.8 * len(images)
    for side, closer in found.items():
        if closer.is_averaged:
            is_note = side == "gallery images" and may_be_tracklets
            yield Finding(
                "doctor:averaged-features", "note" if is_note else "warning",
                f"The {side} of one identity are {np.exp(-closer.mean):.2g} times as close to one "
                "another as to images of the other side, beyond what different identities are "
                f"({closer.identities:,} identities, {closer.mean / closer.error:.0f} standard "
                "errors): as if each feature had been drawn towards the mean of its identity.",
                {"log": round(closer.mean, 4), "standard_error": round(closer.error, 4),
                 "identities": closer.identities},
                "Evaluate the feature of each image alone. Means over tracklets on one side look "
                "alike, and may be intended.")


def telling_columns(subject: Subject) -> Iterator[Finding]:
    """Report columns that hold a label or the row, or that outweigh all others."""
    query, gallery, images = _rows_of_identities(subject)
    rows = np.concatenate([query, gallery]).astype(np.float64)
    if len(rows) < MIN_IMAGES or rows.shape[1] < 2:
        raise NotChecked(f"fewer than {MIN_IMAGES} images, or one column")
    asked = subject.of_identities.query
    tells = {}
    for label in ("identity", "camera"):
        of_query, of_gallery = (getattr(side, label) for side in (subject.query, subject.gallery))
        if of_query is not None and of_gallery is not None:
            tells[label] = within_label(rows, np.r_[of_query[asked], of_gallery[images]]) < WITHIN
    centred = gallery - gallery.mean(axis=0, dtype=np.float64)
    places = images - images.mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        tells["row"] = abs(places @ centred) > WITH_ROW * np.sqrt(
            (places @ places) * (centred * centred).sum(axis=0))
    for label, columns in tells.items():
        if 0 < columns.sum() < len(columns) / 2:
            yield Finding(
                "doctor:column-of-labels", "warning",
                f"{columns.sum():,} of {len(columns):,} columns of the features tell the {label} "
                f"of an image (first: column {np.argmax(columns)}).",
                {"columns": len(columns), "telling": int(columns.sum()),
                 "first": int(np.argmax(columns))},
                "Leave what is no feature out: numbers of identity, camera or row.")
    energy = (rows * rows).mean(axis=0)
    if energy.max() > DOMINATES * energy.sum():
        share = float(energy.max() / energy.sum())
        yield Finding(
            "doctor:one-column", "warning",
            f"Column {energy.argmax()} of {len(energy):,} has {100 * share:.4g} % of the "
            "features' squared length, so it alone decides distances.",
            {"columns": len(energy), "column": int(energy.argmax()), "share": round(share, 6)},
            "Leave it out, or scale columns alike before images are compared.")
