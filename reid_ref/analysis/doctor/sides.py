"""Features of the two sides that were not made alike: softmax, another preprocessing."""
from collections.abc import Iterator

import numpy as np

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.sample import share_nearer
from reid_ref.analysis.doctor.subject import Joined, NotChecked, Subject
from reid_ref.evaluation.ranked import lengths

#: Share of held-out pairs that one direction orders: healthy files have 0.3 to 0.7.
SEPARATED = 0.9
#: How much less often a good image is nearer across the sides than within the worse one, from
#: which the sides do not fit: healthy files have up to 0.01. How often it is at least; below, the
#: ranking is reversed. Rows that are asked of each side.
MISFIT, REVERSED, MIN_ROWS = 0.03, 0.25, 50
#: If good images are nearer so seldom within each side, how the sides were made is no question.
AT_CHANCE = 0.6
#: A side is out of order below the first share, or if it is by the second worse than the other.
ORDERED, WORSE = 0.85, 0.05
#: Identities of each half, and images of each side, below which it shows nothing.
MIN_IDENTITIES, MIN_IMAGES = 10, 20


def softmax_outputs(subject: Subject) -> Iterator[Finding]:
    """Rows that are non-negative, of sum 1, and not mostly 0, as a histogram is."""
    query, gallery = subject.features_of(subject.values)
    subject.check_unequal()
    rows = np.concatenate([query, gallery]).astype(np.float64)
    tolerance = 1e-2 if query.dtype == np.float16 else 1e-3
    if (rows.shape[1] > 1 and rows.min() >= 0 and abs(rows.sum(axis=1) - 1).max() <= tolerance
            and np.count_nonzero(rows) > rows.size / 2):
        yield tell("softmax", images=len(rows), columns=rows.shape[1])


def share_separated(joined: Joined) -> float | None:
    """Return how often one direction orders query and gallery image of a camera, held out.

    The direction is the difference of the means of both sides on the same cameras, of half of the
    identities; the pairs are of the other half. None if too few images share a camera.
    """
    identities = np.unique(joined.identity)
    if len(identities) < 2 * MIN_IDENTITIES:
        return None
    unit = joined.rows / np.maximum(lengths(joined.rows), 1e-300)[:, np.newaxis]
    fitted = np.isin(joined.identity, identities[::2])
    is_query = np.arange(len(unit)) < joined.n_query
    direction, right, n = np.zeros(unit.shape[1]), 0.0, np.zeros((0, 2))
    cells = [(joined.camera == camera) & half for half in (fitted, ~fitted)
             for camera in np.unique(joined.camera)]
    for place, cell in enumerate(cells):
        query, gallery = (unit[cell & side] for side in (is_query, ~is_query))
        if not len(query) or not len(gallery):
            continue
        if place < len(cells) / 2:
            direction += len(query) * (query.mean(axis=0) - gallery.mean(axis=0))
        else:
            n = np.vstack([n, [len(query), len(gallery)]])
            right += n[-1].prod() * share_nearer(gallery @ direction, query @ direction)
    return right / n.prod(axis=1).sum() if n.sum(axis=0).min() >= MIN_IMAGES else None


def sides_apart(subject: Subject) -> Iterator[Finding]:
    """Report sides that one direction separates though they share cameras and identities."""
    if 0 < max(subject.within) < AT_CHANCE:
        raise NotChecked("neither side separates identities")
    joined = subject.joined
    share = share_separated(joined) if subject.has_cameras else None
    if share is None:
        raise NotChecked("too few images of both sides share a camera")
    if share >= SEPARATED:
        yield tell("sides-apart", share=share, queries=joined.n_query, images=len(joined.images))


def sides_misfit(subject: Subject) -> Iterator[Finding]:
    """Report sides that each fit their labels, but not each other."""
    subject.check_not_found("numbered-apart", "identity-offset", "sides-apart", "part-at-chance")
    joined = subject.across
    shares = [joined.shares(first, second) for second in joined.sides for first in joined.sides]
    if min(map(len, shares)) < MIN_ROWS:
        raise NotChecked(f"fewer than {MIN_ROWS} images have a good and a wrong one on each side")
    of_query, back, across, of_gallery = (float(each.mean()) for each in shares)
    if not REVERSED < max(across, back) <= min(of_query, of_gallery) - MISFIT:
        return
    best = max(of_query, of_gallery, ORDERED + WORSE)
    worse = [side for side, share in (("queries", of_query), ("gallery", of_gallery))
             if share < best - WORSE]
    cause = (f"rows of the {' and of the '.join(worse)} are in another order than their labels"
             if worse else "a side, or a part of it, was made in another way")
    yield tell("sides-misfit", 100 * max(across, back), cause, query=of_query, gallery=of_gallery,
               across=across, back=back)
