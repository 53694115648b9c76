"""Labels that contradict the file's own image names: rows out of step, another number read."""
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.subject import NotChecked, Subject
from reid_ref.arrays import Integers
from reid_ref.labels import JUNK

Flags = npt.NDArray[np.bool_]


def names_differ(subject: Subject) -> Iterator[Finding]:
    """Report identities and cameras that are not those of the names; a digit of the camera is a
    finding of its own.

    Labels may number anew what the names number: one number for each, on both sides.
    """
    sides = {"query": subject.query, "gallery": subject.gallery}
    if subject.query.name is None and subject.gallery.name is None:
        raise NotChecked("the file has no names")
    named = {side: numbers for side, numbers in subject.numbers_of_names.items() if numbers}
    if not named:
        raise NotChecked("the names are of no known form")
    with_cameras = not subject.has_found("camera-digit") and subject.query.camera is not None
    for place, column in enumerate(["identity", "camera"][:1 + with_cameras]):
        of_names = {side: numbers[place] for side, numbers in named.items()}
        given: list[Integers] = [getattr(sides[side], column) for side in named]
        in_names, in_labels = np.concatenate([*of_names.values()]), np.concatenate(given)
        wrong = _contradicting(in_names, in_labels)
        if column == "identity":  # what the names call junk has no other number
            wrong |= (in_names == JUNK) & (in_labels != JUNK)
        if not wrong.any():
            continue
        ends = np.cumsum([len(values) for values in given])[:-1]
        flags = dict(zip(named, np.split(wrong, ends)))
        counts = {side: f"{here.sum():,} of {len(here):,} {side} images"
                  for side, here in flags.items() if here.any()}
        side = next(iter(counts))
        first, labels = int(np.argmax(flags[side])), sides[side]
        n = [len({*values}) for values in (in_names, in_labels, zip(in_names, in_labels))]
        regrouped = column == "camera" and n[1] > 1 and n[2] in n[:2]
        yield tell("camera-regrouped" if regrouped else f"{column}-in-names",
                   " and ".join(counts.values()), side, first, (labels.names() or [])[first],
                   of_names[side][first], labels.texts(column)[first],
                   **{f"{side}_wrong": int(here.sum()) for side, here in flags.items()},
                   **{f"{side}_images": len(here) for side, here in flags.items()}, first=first)


def _contradicting(named: Integers, given: Integers) -> Flags:
    """Return which labels are not those of the names, in whichever numbering fits more; of one
    that fits few, or that contradicts those that are the names' own, all that are not.
    """
    place = np.unique(given - named, return_inverse=True)[1]
    wrong: list[Flags] = [given != named, place != np.bincount(place).argmax()]
    values, group = np.unique(named, return_inverse=True)
    pairs, n = np.unique(np.stack([group, given]), axis=1, return_counts=True)
    order = np.argsort(n, kind="stable")
    label = np.zeros(len(values), np.int64)
    label[pairs[0, order]] = pairs[1, order]  # the commonest comes last
    if len(np.unique(label)) == len(label):
        wrong.append(given != label[group])
    fewest = min(wrong, key=np.count_nonzero)
    fits = fewest.mean() <= 0.5 and 2 * (fewest & wrong[0]).sum() >= fewest.sum()
    return fewest & wrong[0] if fits else wrong[0]
