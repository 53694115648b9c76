"""Which benchmark labels are from, by its known counts, and what differs from it.

Aim: a loader that drops images, a minus sign lost in `-1`, or MARS's queries left out of its
gallery changes the numbers without an error. Each shows in the counts.

Conventions: counts are of labels, not of features. A set that no entry of `FINGERPRINTS` resembles
has no answer. Identities and cameras may be renumbered: only their number counts.

Source: with each entry. All counts are made from the label files that are named there; the numbers
of images are also those that the documents print.
"""
import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any

import numpy as np

from reid_ref.arrays import Integers, check_choice, read_only
from reid_ref.datasets.records import OnFirstUse, tables
from reid_ref.disk import rows_of_table
from reid_ref.labels import Labels, check_labels, count_distractors


@dataclass(frozen=True)
class SetCounts:
    """The counts of a data set.

    Parameters
    ----------
    query, gallery : int
        Images (MARS: tracklets).
    query_identities, gallery_identities : int
        Different labels, -1 and 0 among them.
    cameras : int or None
        Different cameras of query and gallery together. None without cameras, as is what is
        counted by them, `good` and `unmatched`.
    junk : int
        Gallery images labelled -1.
    distractors : int
        Gallery images labelled 0; none if a query is labelled 0, too, and 0 is a person.
    good : int
        Pairs of query and gallery image of one identity on different cameras.
    unmatched : int
        Queries without a good image.
    """

    query: int
    gallery: int
    query_identities: int
    gallery_identities: int
    cameras: int | None
    junk: int
    distractors: int
    good: int | None
    unmatched: int | None = 0


@dataclass(frozen=True)
class Fingerprint:
    """The counts of a data set, and where they are from.

    Parameters
    ----------
    name : str
    counts : SetCounts
    source : str
    queries_in_gallery : bool
        Whether the queries belong to the gallery (MARS).
    """

    name: str
    counts: SetCounts
    source: str
    queries_in_gallery: bool = False


@dataclass(frozen=True)
class Recognised:
    """The data set that labels resemble.

    Parameters
    ----------
    fingerprint : Fingerprint
    off : tuple of str
        What differs from it, in words; empty if all counts agree.
    has_cameras : bool
        Without cameras, fewer counts are known.
    """

    fingerprint: Fingerprint
    off: tuple[str, ...]
    has_cameras: bool = True

    @property
    def sentence(self) -> str:
        """The name and the differences, in one line."""
        if self.off:
            return f"looks like {self.fingerprint.name}, but {'; '.join(self.off)}"
        known = "" if self.has_cameras else " that needs no camera"
        return f"{self.fingerprint.name}: every count{known} agrees"

    @property
    def only_lacks_junk(self) -> bool:
        """Whether the only difference is that a loader drops label -1, as many do: no number of
        matlab changes.
        """
        return bool(self.off) and all("your loader drops them" in text for text in self.off)


def _fingerprint(benchmark: Mapping[str, Any]) -> Fingerprint:
    table = benchmark["fingerprint"]
    counts = {field.name: table[field.name] for field in fields(SetCounts)}
    return Fingerprint(benchmark["name"], SetCounts(**counts), table["source"],
                       table.get("queries_in_gallery", False))


#: Key to the counts of a data set.
FINGERPRINTS: Mapping[str, Fingerprint] = OnFirstUse(
    lambda: {key: table for key, table in tables().items() if "fingerprint" in table},
    _fingerprint)

_WORDS = {
    "query": "queries", "gallery": "gallery", "query_identities": "identities of queries",
    "gallery_identities": "identities in the gallery", "cameras": "cameras",
    "junk": "labelled -1 in the gallery", "distractors": "distractors (label 0)",
    "good": "good pairs", "unmatched": "queries without a good image"}


def recognise(query: Labels, gallery: Labels) -> Recognised | None:
    """Return the benchmark that labels are from, and what differs from it.

    Parameters
    ----------
    query, gallery : Labels

    Returns
    -------
    Recognised or None
        None if they resemble no benchmark.

    Raises
    ------
    InputError
        Query or gallery is empty.

    Examples
    --------
    >>> recognise(Labels([1, 2], [1, 1]), Labels([1, 2, 2], [2, 2, 1])) is None
    True
    """
    counts, has_cameras = count(query, gallery), query.camera is not None
    for exact in FINGERPRINTS.values():
        if not _differing(exact.counts, counts):
            return Recognised(exact, (), has_cameras)
    near = [benchmark for benchmark in FINGERPRINTS.values() if _resembles(benchmark, counts)]
    if not near:
        return None
    nearest = min(near, key=lambda benchmark: (
        len(_differing(benchmark.counts, counts)), abs(benchmark.counts.gallery - counts.gallery)))
    return Recognised(nearest, tuple(_what_is_off(nearest, counts, gallery)), has_cameras)


def count(query: Labels, gallery: Labels) -> SetCounts:
    """Count what a fingerprint holds.

    Raises
    ------
    InputError
        Query or gallery is empty.

    Examples
    --------
    >>> count(Labels([7, 8], [1, 1]), Labels([7, 7, -1, 0], [1, 2, 3, 3])).good
    1
    """
    query, gallery = check_labels(query, gallery)
    cameras: Integers | None = None
    if query.camera is not None and gallery.camera is not None:
        cameras = np.union1d(query.camera, gallery.camera)
    n_good, _ = good_and_same_camera(query, gallery)
    n_good[query.identity == -1] = 0
    return SetCounts(
        query=len(query), gallery=len(gallery),
        query_identities=len(np.unique(query.identity)),
        gallery_identities=len(np.unique(gallery.identity)),
        cameras=None if cameras is None else len(cameras),
        junk=int((gallery.identity == -1).sum()),
        distractors=count_distractors(query, gallery),
        good=None if cameras is None else int(n_good.sum()),
        unmatched=None if cameras is None else int((n_good == 0).sum()))


def count_rows(counts: SetCounts,
               benchmark: Fingerprint | None = None) -> list[tuple[str, int, int | None]]:
    """Return each count that is known: its name, its value, and the value expected, or None."""
    expected = asdict(benchmark.counts) if benchmark else {}
    return [(_WORDS[name], value, expected.get(name)) for name, value in asdict(counts).items()
            if value is not None]


def good_and_same_camera(query: Labels, gallery: Labels) -> tuple[Integers, Integers]:
    """Count the images of each query's identity on other cameras, and on its own camera.

    Without cameras all of them are good.
    """
    if query.camera is None or gallery.camera is None:
        return (_occurrences(gallery.identity, query.identity),
                np.zeros(len(query), dtype=np.int64))
    camera, identity = (
        np.unique(np.concatenate(both), return_inverse=True)[1].astype(np.int64)
        for both in ((query.camera, gallery.camera), (query.identity, gallery.identity)))
    code, n = identity * (int(camera.max(initial=0)) + 1) + camera, len(query)
    n_same = _occurrences(code[n:], code[:n])
    return _occurrences(gallery.identity, query.identity) - n_same, n_same


def _occurrences(values: Integers, wanted: Integers) -> Integers:
    """Return how often each of `wanted` is among `values`."""
    ordered = np.sort(values)
    first, last = (np.searchsorted(ordered, wanted, side) for side in ("left", "right"))
    return (last - first).astype(np.int64)


def _differing(expected: SetCounts, counts: SetCounts) -> list[str]:
    """Return the counts that are known and not those expected."""
    return [name for name, value in asdict(counts).items()
            if value is not None and value != getattr(expected, name)]


def _resembles(benchmark: Fingerprint, counts: SetCounts) -> bool:
    """Return whether a number of images and one more count are the set's, with a similar size.

    A single count may agree by chance, such as 1,400 queries or 200 identities.
    """
    expected = benchmark.counts
    sizes = [counts.query == expected.query, _explained(benchmark, counts) is not None]
    more = [counts.query_identities == expected.query_identities,
            counts.gallery_identities == expected.gallery_identities,
            counts.good == expected.good]
    return (any(sizes) and sum(sizes + more) >= 2
            and 0.6 * expected.gallery <= counts.gallery <= 1.3 * expected.gallery)


def _explained(benchmark: Fingerprint, counts: SetCounts) -> tuple[str, ...] | None:
    """Return what is missing or too much, as the gallery's size shows; None if it does not."""
    expected = benchmark.counts
    parts = {"junk": expected.junk if not counts.junk else 0,
             "distractors": expected.distractors if not counts.distractors else 0,
             "query": expected.query if benchmark.queries_in_gallery else 0,
             "query added": 0 if benchmark.queries_in_gallery else -expected.query}
    parts = {name: size for name, size in parts.items() if size}
    for number in range(len(parts) + 1):
        for chosen in itertools.combinations(parts, number):
            if expected.gallery - sum(parts[name] for name in chosen) == counts.gallery:
                return chosen
    return None


def _what_is_off(benchmark: Fingerprint, counts: SetCounts, gallery: Labels) -> list[str]:
    expected = benchmark.counts
    changed = _explained(benchmark, counts)
    off = []
    if counts.query != expected.query:
        off.append(f"there are {counts.query:,} queries instead of {expected.query:,}")
    if changed is None:
        off.append(f"the gallery has {counts.gallery:,} images instead of {expected.gallery:,}")
    words = {
        "junk": f"lacks the {expected.junk:,} labelled -1: your loader drops them (Rank-k and mAP "
                "of matlab do not change, re-ranking does)",
        "distractors": f"lacks the {expected.distractors:,} distractors (label 0): the numbers "
                       "are too high",
        "query": f"lacks the {expected.query:,} queries, which {benchmark.name} keeps in it" + (
            "" if counts.unmatched is None else
            f": {counts.unmatched:,} queries have no good image"),
        "query added": f"holds the {expected.query:,} queries, too"}
    off += [f"the gallery {words[part]}" for part in changed or ()]
    if "junk" not in (changed or ()) and counts.junk != expected.junk:
        off.append(_junk_off(expected, counts, gallery))
    if "cameras" in _differing(expected, counts):
        off.append(f"the number of cameras is {counts.cameras} instead of {expected.cameras}")
    if off:
        return off
    # Other counts follow from those above; they are given only if those agree.
    return [f"there are {getattr(counts, field):,} {_WORDS[field]} instead of "
            f"{getattr(expected, field):,}: some identities or cameras are not the set's"
            for field in _differing(expected, counts)]


def _junk_off(expected: SetCounts, counts: SetCounts, gallery: Labels) -> str:
    """Return what differs in images labelled -1, with the label that they may have instead."""
    if counts.junk:
        return f"{counts.junk:,} of the gallery are labelled -1 instead of {expected.junk:,}"
    labels, numbers = np.unique(gallery.identity, return_counts=True)
    where = [f"; label {label} has {number:,}, which count as wrong answers"
             for label, number in zip(labels.tolist(), numbers.tolist())
             if number >= expected.junk and (label or number != expected.distractors)]
    return (f"nothing in the gallery is labelled -1 instead of {expected.junk:,}"
            + "".join(where[:1]))


@cache
def good_and_wrong(key: str) -> tuple[Integers, Integers]:
    """Return the two counts of every query of a benchmark, in no particular order.

    Examples
    --------
    >>> good, wrong = good_and_wrong("market1501")
    >>> len(good), int(good.sum())
    (3368, 49649)
    """
    check_choice(key, "dataset", FINGERPRINTS)
    rows = [tuple(row.values())[1:] for row in rows_of_table("datasets/good_images.csv")
            if row["dataset"] == key]
    good, wrong, queries = np.array(rows, dtype=np.int64).T
    return read_only(np.repeat(good, queries)), read_only(np.repeat(wrong, queries))
