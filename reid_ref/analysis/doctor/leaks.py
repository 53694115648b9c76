"""Features that know the answer: drawn towards their identity's mean, or a label as a column."""
from collections.abc import Iterator

import numpy as np

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.sample import means_of, standard_error
from reid_ref.analysis.doctor.subject import WRONG, Joined, NotChecked, Subject
from reid_ref.analysis.doctor.values import HARDLY
from reid_ref.arrays import Array, Doubles, Integers

#: The mean logarithm, its standard errors over identities, and the share of identities that are
#: closer, from which a side is averaged; and the least logarithm of the other side.
CLOSER, ERRORS, NEARLY_ALL, NOT_BOTH = -0.3, -8, 0.9, -0.05
#: Identities and images from which on these show something.
MIN_IDENTITIES, MIN_IMAGES = 10, 50
#: Spread within a label over the whole spread; correlation with the row; share of the energy.
WITHIN, WITH_ROW, DOMINATES = 0.01, 0.999, 0.99


def closeness(joined: Joined, first: slice, second: slice) -> Doubles:
    """Return the logarithm of the mean distance of each identity's images on two cameras, less
    that of different identities; NaN without any.
    """
    distances = 2 + 2 * joined.distances[first, second]
    good, wrong = joined.pairs(first, second)
    rows, columns = np.nonzero(good)
    of = joined.identity[first][rows]
    mean = dict(zip(np.unique(of).tolist(), means_of(of, distances[rows, columns])))
    log: Doubles = np.log(np.maximum([mean.get(k, np.nan) for k in np.unique(
        joined.identity).tolist()], 1e-12) / max(distances[wrong].mean(), 1e-12))
    return log


def averaged(subject: Subject) -> Iterator[Finding]:
    """Report a side whose images of one identity are closer than one at a time can be."""
    subject.check_not_found(*WRONG)
    joined = subject.across
    across = closeness(joined, *joined.sides)
    logs = {}
    for name, side in zip(("queries", "gallery images"), joined.sides):
        values = closeness(joined, side, side) - across
        logs[name] = values[np.isfinite(values)]
        if len(logs[name]) < MIN_IDENTITIES:
            raise NotChecked(f"fewer than {MIN_IDENTITIES} identities with images to compare")
    wrong_across = 1 - joined.shares(*joined.sides).mean()
    if wrong_across > 1 - HARDLY:
        raise NotChecked("one side hardly fits the other")
    for (name, values), other, side in zip(logs.items(), reversed(logs.values()), joined.sides):
        mean = float(values.mean())
        error = standard_error(values)
        if (mean > CLOSER or mean > ERRORS * error or (values < 0).mean() < NEARLY_ALL
                or other.mean() < NOT_BOTH):
            continue
        yield tell("averaged-features", name, np.exp(-mean), mean / error, log=mean,
                   standard_error=error, identities=len(values), wrong_across=wrong_across,
                   wrong=1 - joined.shares(side, side).mean())


def within_label(rows: Array, label: Integers) -> Doubles:
    """Return each column's variance within a label over its whole variance; NaN of a column that
    does not vary, or that few labels tell apart from the others.
    """
    names, group, number = np.unique(label, return_inverse=True, return_counts=True)
    means = np.zeros((len(names), rows.shape[1]))
    np.add.at(means, group, rows)
    means /= number[:, np.newaxis]
    whole, within = rows.var(axis=0), (rows - means[group]).var(axis=0)
    # A column that one label alone moves is that of a sparse feature.
    middle = np.quantile(means, [0.1, 0.9], axis=0)
    varies = (whole > 1e-12 * whole.max(initial=0)) & (middle[1] > middle[0])
    return np.where(varies, within / np.where(varies, whole, 1), np.nan)


def telling_columns(subject: Subject) -> Iterator[Finding]:
    """Report columns that hold a label or the row, or that outweigh all others."""
    joined = subject.joined
    rows = joined.rows
    if len(rows) < MIN_IMAGES or rows.shape[1] < 2:
        raise NotChecked(f"fewer than {MIN_IMAGES} images, or one column")
    tells = {"identity": within_label(rows, joined.identity) < WITHIN}
    if subject.has_cameras:
        tells["camera"] = within_label(rows, joined.camera) < WITHIN
    centred = rows[joined.n_query:] - rows[joined.n_query:].mean(axis=0)
    places = joined.images - joined.images.mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        tells["row"] = abs(places @ centred) > WITH_ROW * np.sqrt(
            (places @ places) * (centred * centred).sum(axis=0))
    energy = (rows * rows).mean(axis=0)
    if energy.max() > DOMINATES * energy.sum():
        tells["one"] = energy == energy.max()
    for label, columns in tells.items():
        if not 0 < columns.sum() < len(columns) / 2:
            continue
        first, share = int(np.argmax(columns)), 100 * energy.max() / energy.sum()
        yield tell("one-column" if label == "one" else "column-of-labels",
                   share if label == "one" else columns.sum(), label, columns=len(columns),
                   telling=int(columns.sum()), first=first)
