"""Labels that contradict the file's own image names: rows out of step, another number read."""
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.numbers_of_names import NumbersOfNames
from reid_ref.analysis.doctor.subject import NotChecked, Subject
from reid_ref.arrays import Integers
from reid_ref.labels import JUNK, Labels

Flags = npt.NDArray[np.bool_]


def names_differ(subject: Subject) -> Iterator[Finding]:
    """Report labels that contradict the names; a digit of the camera is a finding of its own."""
    numbers = subject.numbers_of_names
    if subject.query.name is None and subject.gallery.name is None:
        raise NotChecked("the file has no names")
    if not any(numbers.values()):
        raise NotChecked("the names are of no known form")
    yield from _differ(subject.query, subject.gallery, numbers,
                       not subject.has_found("camera-digit"))


def _differ(query: Labels, gallery: Labels, named: NumbersOfNames,
            with_cameras: bool) -> Iterator[Finding]:
    """Report identities and cameras that are not those of the names; nothing if no name has any.

    Labels may number anew what the names number: one number for each, on both sides.
    """
    sides = {"query": query, "gallery": gallery}
    columns = ["identity", *(["camera"] if with_cameras and query.camera is not None else [])]
    for place, column in enumerate(columns):
        of_names = [numbers[place] for numbers in named.values() if numbers is not None]
        known = [side for side in sides if named[side] is not None]
        if not known:
            return
        given: list[Integers] = [getattr(sides[side], column) for side in known]
        wrong = _contradicting(np.concatenate(of_names), np.concatenate(given))
        if column == "identity":  # what the names call junk has no other number
            wrong |= (np.concatenate(of_names) == JUNK) & (np.concatenate(given) != JUNK)
        if wrong.any():
            ends = np.cumsum([len(values) for values in given])[:-1]
            yield _finding(column, dict(zip(known, np.split(wrong, ends))), sides,
                           dict(zip(known, of_names)))


def _finding(column: str, wrong: dict[str, Flags], sides: dict[str, Labels],
             of_names: dict[str, Integers]) -> Finding:
    counts = [f"{flags.sum():,} of {len(flags):,} {side} images"
              for side, flags in wrong.items() if flags.any()]
    side = next(side for side, flags in wrong.items() if flags.any())
    first = int(np.flatnonzero(wrong[side])[0])
    labels = sides[side]
    names = labels.names() or []
    evidence: dict[str, int | float] = {
        **{f"{side}_wrong": int(flags.sum()) for side, flags in wrong.items()},
        **{f"{side}_images": len(flags) for side, flags in wrong.items()}, "first": first}
    return tell(f"{column}-in-names", " and ".join(counts), side, first, names[first],
                of_names[side][first], labels.texts(column)[first], **evidence)


def _contradicting(named: Integers, given: Integers) -> Flags:
    """Return which labels are not those of the names, in whichever numbering fits more."""
    offsets, place = np.unique(given - named, return_inverse=True)
    by_offset: Flags = place != np.bincount(place).argmax()
    if not by_offset.any() or len(offsets) == 1:
        return by_offset
    values, group = np.unique(named, return_inverse=True)
    pairs, n = np.unique(np.stack([group, given]), axis=1, return_counts=True)
    order = np.argsort(n, kind="stable")
    label = np.zeros(len(values), np.int64)
    label[pairs[0, order]] = pairs[1, order]  # the commonest comes last
    if len(np.unique(label)) < len(label):
        return by_offset
    by_label: Flags = given != label[group]
    return min(by_offset, by_label, key=np.count_nonzero)
