"""What labels alone show of a broken input: identities that never meet, made-up cameras."""
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.subject import Subject
from reid_ref.arrays import Integers
from reid_ref.datasets.fingerprints import count as counts_of
from reid_ref.labels import DISTRACTOR, JUNK, Labels, is_single_shot

#: Below so many images, a pattern in camera numbers may be chance.
MIN_IMAGES = 20
#: Share of queries without a match from which a warning is given. In MARS 7 % have none.
MANY_UNMATCHED = 0.2


def placeholders(subject: Subject) -> Iterator[Finding]:
    """Report one identity everywhere, as hidden labels have."""
    query, gallery = subject.query, subject.gallery
    identities = np.union1d(query.identity, gallery.identity)
    if len(identities) == 1 and len(query) + len(gallery) > 2:
        yield tell("placeholders", identity=int(identities[0]), queries=len(query),
                   gallery=len(gallery))


def no_match(subject: Subject) -> Iterator[Finding]:
    """Report queries without a good image, if they are many, and those without a wrong one."""
    query, gallery = subject.query, subject.gallery
    if subject.by_camera and subject.has_cameras and (
            len(np.union1d(*subject.cameras)) == 1) and not subject.has_found("placeholders"):
        yield tell("single-camera", gallery.camera_of(0),
                   "" if is_single_shot(gallery) else "Store the camera of each image. ",
                   cameras=1, queries=len(query), unmatched=len(query))
        return
    good, kept = subject.matches
    if (unmatched := good == 0).any():
        yield from _no_match(query, gallery, unmatched)
    sure = (good > 0) & (good == kept)
    if sure.any() and not subject.has_found("placeholders"):
        n = int(sure.sum())
        yield tell("nothing-wrong", queries=len(query), nothing_wrong=n,
                   first=int(np.argmax(sure)),
                   severity="error" if n == (good > 0).sum() else "warning")


def wrapped_identities(subject: Subject) -> Iterator[Finding]:
    """Report identities that overflowed below -1."""
    query, gallery = subject.query.identity, subject.gallery.identity
    least = int(min(query.min(), gallery.min()))
    if least < JUNK:
        yield tell("identities-wrapped", least=least)


def camera_labels(subject: Subject) -> Iterator[Finding]:
    """Report cameras that are made up, or of which the last digit was read."""
    query, gallery, cameras = subject.query, subject.gallery, np.union1d(*subject.cameras)
    if len(cameras) < 2:
        return
    of_query, of_gallery = map(np.unique, subject.cameras)
    shown = [_range(side.texts("camera")) for side in (query, gallery)]
    n_images, is_text = len(query) + len(gallery), "camera" in query.words
    n_identities = len(np.union1d(query.identity, gallery.identity))
    evidence: dict[str, int | float] = {
        "query_cameras": len(of_query), "gallery_cameras": len(of_gallery), "images": n_images}
    if n_images >= MIN_IMAGES and len(cameras) >= 0.9 * n_images:
        yield tell("camera-per-image", n_images, len(cameras), **evidence)
    elif len(cameras) > max(50, 4 * n_identities) and (
            np.isin(*subject.cameras).mean() > 0.5):
        yield tell("labels-swapped", **evidence, identities=n_identities)
    elif not np.intersect1d(of_query, of_gallery).size:
        shifts = {other - camera for camera, other in zip(of_query.tolist(), of_gallery.tolist())
                  if not is_text}
        if len(of_query) == len(of_gallery) > 1 == len(shifts):
            yield tell("camera-offset", *shown, **evidence, offset=shifts.pop())
        else:
            yield tell("disjoint-cameras", *shown, **evidence)
    if not is_text:
        yield from _last_digit(subject)


def no_cameras(subject: Subject) -> Iterator[Finding]:
    """Say that there are no cameras, where the convention looks at them."""
    if subject.query.camera is None and subject.by_camera:
        yield tell("no-cameras", queries=len(subject.query), gallery=len(subject.gallery))


def _no_match(query: Labels, gallery: Labels,
              unmatched: npt.NDArray[np.bool_]) -> Iterator[Finding]:
    share = unmatched.mean()
    if share <= MANY_UNMATCHED:
        return
    absent = ~np.isin(query.identity, gallery.identity)
    evidence: dict[str, int | float] = {
        "queries": len(query), "unmatched": int(unmatched.sum()),
        "identity_absent": int(absent.sum())}
    if query.camera is not None:
        evidence["only_same_camera"] = int((unmatched & ~absent).sum())
    counts = f"{evidence['unmatched']:,} of {len(query):,} queries have no match"
    severity = "error" if share == 1 else "warning"
    offset = _offset(query.identity, gallery.identity) if (
        absent.all() and "identity" not in query.words) else None
    if offset is not None:
        yield tell("identity-offset", counts, **evidence, offset=offset)
    elif 2 * evidence["identity_absent"] >= evidence["unmatched"]:
        of_query, of_gallery = (_range(side.texts("identity")) for side in (query, gallery))
        is_swapped = query.camera is not None and gallery.camera is not None and all(
            np.isin(one, other).mean() > 0.5 for one, other in (
                (query.identity, gallery.camera), (query.camera, gallery.identity)))
        yield tell("one-side-swapped" if is_swapped else "identities-differ", counts,
                   evidence["identity_absent"], of_query, of_gallery, **evidence,
                   severity=severity)
    else:
        yield tell("same-camera-only", counts, evidence["only_same_camera"], **evidence,
                   severity=severity)


def _offset(query: Integers, gallery: Integers) -> int | None:
    """Return the constant that makes all identities of the queries identities of the gallery."""
    wanted, of_gallery = np.unique(query), np.unique(gallery)
    if len(wanted) < 5 or len(of_gallery) < len(wanted):
        return None
    # Python's whole numbers, since a difference of two of 64 bits may need more.
    numbers: list[int] = wanted.tolist()
    known: list[int] = of_gallery.tolist()
    for offset in {known[k] - numbers[k] for k in (0, -1)}:
        if offset and {number + offset for number in numbers} <= {*known}:
            return offset
    return None


def _range(values: npt.NDArray[Any]) -> str:
    """Return the first and the last of some labels, numbers or texts."""
    low, high = np.unique(values)[[0, -1]].tolist()
    return f"{low}" if low == high else f"{low} to {high}"


def _last_digit(subject: Subject) -> Iterator[Finding]:
    """Cameras 0 to 9 of data that has more: one digit was read of each number."""
    cameras, benchmark = np.union1d(*subject.cameras), subject.benchmark
    if cameras[0] < 0 or cameras[-1] > 9:
        return
    name, expected = (benchmark.fingerprint.name, benchmark.fingerprint.counts.cameras or 0) if (
        benchmark and len(cameras) == 10) else ("", 0)
    named = [of_side[1] for of_side in subject.numbers_of_names.values() if of_side is not None]
    if expected <= 10 and len(named) == 2 and all(
            np.array_equal(of_side % 10, given) for of_side, given in zip(
                named, subject.cameras)):
        name, expected = "", len(np.union1d(*named))
    if expected > 10:
        yield tell("camera-digit", _range(cameras), name or "the names of the images",
                   "has" if name else "have", cameras=len(cameras), expected=expected)


def one_good_image(subject: Subject) -> Iterator[Finding]:
    """One good image a query: mAP is then the mean reciprocal rank."""
    query, gallery = subject.query, subject.gallery
    identity, count = np.unique(gallery.identity[gallery.identity > DISTRACTOR],
                                return_counts=True)
    count = count[np.isin(identity, query.identity)]
    if len(query) >= MIN_IMAGES and len(count) and (count == 1).all():
        yield tell("one-good-image", identities=len(count))


def counts_differ(subject: Subject) -> Iterator[Finding]:
    """Report what differs from the benchmark, a note if that is custom."""
    benchmark, query, gallery = subject.benchmark, subject.query, subject.gallery
    if benchmark is None or not benchmark.off:
        return
    here = asdict(counts_of(query, gallery))
    known = benchmark.fingerprint.counts
    a_selection = len(benchmark.off) == 1 and len(query) < known.query / 2
    name = ("benchmark-counts-without-junk" if benchmark.only_lacks_junk else
            "benchmark-counts-of-a-selection" if a_selection else "benchmark-counts")
    yield tell(name, benchmark.fingerprint.name, "; ".join(benchmark.off),
               **{key: number for name, value in asdict(known).items()
                  for key, number in ((name, here[name]), (f"expected_{name}", value))
                  if None not in (here[name], value) and here[name] != value})
