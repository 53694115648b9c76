"""Labels that contradict the file's own image names: rows out of step, another number read."""
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from reid_ref.analysis.doctor.finding import Finding
from reid_ref.arrays import Integers
from reid_ref.files.image_names import FORMS, form_of
from reid_ref.labels import JUNK, Labels

Flags = npt.NDArray[np.bool_]


#: Side to identity and camera of each name; None if a name is of no known form.
NumbersOfNames = Mapping[str, tuple[Integers, Integers] | None]


def names_differ(query: Labels, gallery: Labels, named: NumbersOfNames,
                 with_cameras: bool = True) -> Iterator[Finding]:
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
    cause = ("rows of names and labels out of step, or numbers read of another place"
             if column == "identity" else "another number of the name read as the camera")
    return Finding(
        f"doctor:{column}-in-names", "warning",
        f"The {column} of {' and '.join(counts)} is not that of its name (first: {side} image "
        f"{first}, {names[first]!r}, {column} {of_names[side][first]} by its name and "
        f"{labels.texts(column)[first]} by its label): {cause}.", evidence,
        "Read identity and camera of the names: leave the label arrays out, and reid-ref does it "
        "with query_paths and gallery_paths.")


def numbers_of_names(query: Labels, gallery: Labels) -> NumbersOfNames:
    """Return what the names of each side hold."""
    return {"query": _numbers(query), "gallery": _numbers(gallery)}


def _numbers(labels: Labels) -> tuple[Integers, Integers] | None:
    """Return identity and camera of each name; None if a name is of no known form."""
    names = labels.names()
    form = form_of(names[0]) if names else None
    if form is None:
        return None
    pattern = FORMS[form].pattern
    found = [match.group("identity", "camera") for match in map(pattern.fullmatch, names or ())
             if match is not None]
    if len(found) < len(labels):
        return None
    identity, camera = zip(*found)
    return (np.array([JUNK if "-" in text else int(text) for text in identity], np.int64),
            np.array(list(map(int, camera)), np.int64))


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
