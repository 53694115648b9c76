"""What labels alone show of a broken input: identities that never meet, made-up cameras."""
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.analysis.doctor.counts import counts_differ
from reid_ref.analysis.doctor.finding import Finding
from reid_ref.analysis.doctor.names import NumbersOfNames, names_differ, numbers_of_names
from reid_ref.arrays import Integers
from reid_ref.datasets.fingerprints import Recognised, recognise
from reid_ref.labels import DISTRACTOR, JUNK, Labels, cameras_of, is_single_shot

#: Below so many images, a pattern in camera numbers may be chance.
MIN_IMAGES = 20
#: Share of queries without a match from which a warning is given. In MARS 7 % have none.
MANY_UNMATCHED = 0.2


def label_findings(query: Labels, gallery: Labels) -> Iterator[Finding]:
    """Yield what the labels show, the most serious reason for missing matches first."""
    unmatched, benchmark = ~has_match(query, gallery), recognise(query, gallery)
    one_digit: list[Finding] = []
    numbers = numbers_of_names(query, gallery)
    if query.camera is None:
        yield _no_cameras(query, gallery)
        cameras = np.zeros(0, np.int64)
    else:
        cameras = np.union1d(*_cameras(query, gallery))
    if len(cameras) == 1:
        yield _single_camera(query, gallery, unmatched)
    elif unmatched.any():
        yield from _no_match(query, gallery, unmatched)
    if len(cameras) > 1:
        yield from _made_up_cameras(query, gallery)
        one_digit = list(_last_digit(query, gallery, numbers, benchmark))
        yield from one_digit
    yield from counts_differ(query, gallery, benchmark)
    yield from names_differ(query, gallery, numbers, with_cameras=not one_digit)
    yield from _few_good(query, gallery)


def has_match(query: Labels, gallery: Labels) -> npt.NDArray[np.bool_]:
    """Return which queries have an image of their identity on another camera, or at all without
    cameras.

    An identity that is on two cameras is on another one than the query's, whichever that is; of
    the identities on one camera it must be another than the query's.
    """
    real = gallery.identity != JUNK
    if query.camera is None:
        return np.isin(query.identity, gallery.identity[real])
    identity, of_image = np.unique(gallery.identity[real], return_inverse=True)
    if not len(identity):
        return np.zeros(len(query), dtype=bool)
    cameras, camera = np.unique(_cameras(gallery)[0][real], return_inverse=True)
    pairs = np.unique(of_image * len(cameras) + camera)  # sorting numbers is faster than rows
    _, first, n_cameras = np.unique(pairs // len(cameras), return_index=True, return_counts=True)
    place = np.minimum(np.searchsorted(identity, query.identity), len(identity) - 1)
    in_gallery = identity[place] == query.identity
    only_camera = cameras[pairs[first[place]] % len(cameras)]
    matched: npt.NDArray[np.bool_] = in_gallery & (
        (n_cameras[place] > 1) | (only_camera != query.camera))
    return matched


def _cameras(*sides: Labels) -> list[Integers]:
    return [cameras_of(labels, "checks of cameras") for labels in sides]


def _no_cameras(query: Labels, gallery: Labels) -> Finding:
    return Finding(
        "doctor:no-cameras", "note",
        "The labels have no cameras, so what concerns cameras is not checked, and any image of "
        "the query's identity is taken for a good one.",
        {"queries": len(query), "gallery": len(gallery)},
        "If the data has none, this is right: evaluate then ignores no image for its camera. "
        "Otherwise give query_camera and gallery_camera.")


def _single_camera(query: Labels, gallery: Labels, unmatched: npt.NDArray[np.bool_]) -> Finding:
    return Finding(
        "doctor:single-camera", "error",
        f"All images are of camera {gallery.camera_of(0)}, and a query ignores its identity's "
        "images on its own camera, so no query can have a match.",
        {"cameras": 1, "queries": len(query), "unmatched": int(unmatched.sum())},
        ("" if is_single_shot(gallery) else "Store the camera of each image. ")
        + "If the data has no cameras, as RegDB and VehicleID, use --set ignored=nothing.")


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
        yield Finding(
            "doctor:identity-offset", "error",
            f"{counts}, but all identities of the queries are in the gallery once {offset:+d} "
            "is added to them.", {**evidence, "offset": offset},
            "Number the identities of query and gallery in one go.")
    elif 2 * evidence["identity_absent"] >= evidence["unmatched"]:
        of_query, of_gallery = (_range(side.texts("identity")) for side in (query, gallery))
        yield Finding(
            "doctor:identities-differ", severity,
            f"{counts}, {evidence['identity_absent']:,} of them because their identity is not in "
            f"the gallery (queries have {of_query}, the gallery {of_gallery}).", evidence,
            "Check that identities are numbered alike on both sides, and that query and gallery "
            "are of the same split.")
    else:
        yield Finding(
            "doctor:same-camera-only", severity,
            f"{counts}, {evidence['only_same_camera']:,} of them because the gallery has their "
            "identity on the query's own camera alone, and those images are ignored.", evidence,
            "Check the camera of each image; `reid-ref evaluate FILE --by camera-pair` shows what "
            "is there.")


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


def _made_up_cameras(query: Labels, gallery: Labels) -> Iterator[Finding]:
    of_query, of_gallery = (np.unique(cameras) for cameras in _cameras(query, gallery))
    shown = [_range(side.texts("camera")) for side in (query, gallery)]
    n_images = len(query) + len(gallery)
    cameras = np.union1d(of_query, of_gallery)
    evidence: dict[str, int | float] = {
        "query_cameras": len(of_query), "gallery_cameras": len(of_gallery), "images": n_images}
    if n_images >= MIN_IMAGES and len(cameras) >= 0.9 * n_images:
        yield Finding(
            "doctor:camera-per-image", "warning",
            f"{n_images:,} images have {len(cameras):,} different cameras, so no image is ever "
            "ignored.", evidence, "Store the camera of each image, not its number.")
    elif _swapped(query, gallery):
        yield Finding(
            "doctor:labels-swapped", "warning",
            "There are more cameras than identities, as if identity and camera had been "
            "swapped.", {**evidence, "identities": _identities(query, gallery)},
            "Check which of the two label arrays is which.")
    elif not np.intersect1d(of_query, of_gallery).size:
        shifts = {other - camera for camera, other in zip(of_query.tolist(), of_gallery.tolist())
                  if "camera" not in query.words}
        if len(of_query) == len(of_gallery) > 1 == len(shifts):
            yield Finding(
                "doctor:camera-offset", "warning",
                f"The cameras of the queries ({shown[0]}) are those of the gallery "
                f"({shown[1]}) but for a constant: numbered for each folder apart, they "
                "never meet, and same-camera images are not ignored.",
                {**evidence, "offset": shifts.pop()}, "Number the cameras of both sides alike.")
        else:
            yield Finding(
                "doctor:disjoint-cameras", "note",
                f"Queries ({shown[0]}) and gallery ({shown[1]}) share no "
                "camera, so no "
                "same-camera image is ever ignored.", evidence,
                "Right where query and gallery are of different kinds (sketch and photo, infrared "
                "and visible); wrong where cameras were made up.")


def _last_digit(query: Labels, gallery: Labels, numbers: NumbersOfNames,
                benchmark: Recognised | None) -> Iterator[Finding]:
    """Cameras 0 to 9 of data that has more: one digit was read of each number."""
    cameras = np.union1d(*_cameras(query, gallery))
    if cameras[0] < 0 or cameras[-1] > 9 or "camera" in query.words:
        return
    expected = benchmark.fingerprint.counts.cameras if benchmark and len(cameras) == 10 else None
    if benchmark is not None and expected and expected > 10:
        n_cameras, origin = expected, benchmark.fingerprint.name
    else:
        n_cameras, origin = _cameras_in_names(query, gallery, numbers), "the names of the images"
    if n_cameras > 10:
        yield Finding(
            "doctor:camera-digit", "warning",
            f"There are {len(cameras)} cameras, {_range(cameras)}, where {origin} "
            f"{'have' if origin.startswith('the') else 'has'} {n_cameras}: only the last digit of "
            "the camera was read, so images of other cameras are ignored.",
            {"cameras": len(cameras), "expected": n_cameras},
            "Read the whole number, as in c(\\d+).")


def _cameras_in_names(query: Labels, gallery: Labels, numbers: NumbersOfNames) -> int:
    """Return the number of cameras in the names, if the labels have their last digits; else 0."""
    in_names: set[int] = set()
    for side, cameras in zip(("query", "gallery"), _cameras(query, gallery)):
        of_names = numbers[side]
        if of_names is None or not np.array_equal(of_names[1] % 10, cameras):
            return 0
        in_names.update(of_names[1].tolist())
    return len(in_names)


def _identities(query: Labels, gallery: Labels) -> int:
    return len(np.union1d(query.identity, gallery.identity))


def _swapped(query: Labels, gallery: Labels) -> bool:
    of_query, of_gallery = _cameras(query, gallery)
    n_cameras = len(np.union1d(of_query, of_gallery))
    return (n_cameras > 50 and n_cameras > 4 * _identities(query, gallery)
            and bool(np.isin(of_query, of_gallery).mean() > 0.5))


def _few_good(query: Labels, gallery: Labels) -> Iterator[Finding]:
    """One good image a query: mAP is then the mean reciprocal rank."""
    identity, count = np.unique(gallery.identity[gallery.identity > DISTRACTOR],
                                return_counts=True)
    count = count[np.isin(identity, query.identity)]
    if len(query) >= MIN_IMAGES and len(count) and (count == 1).all():
        yield Finding(
            "doctor:one-good-image", "note",
            "Every identity has one image in the gallery, so the step rule's mAP is the mean "
            "reciprocal rank and never below Rank-1, and the trapezoid's is lower.",
            {"identities": len(count)}, "Do not compare mAP with that of other galleries.")
