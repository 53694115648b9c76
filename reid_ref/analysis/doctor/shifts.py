"""Cameras or identities numbered one or two apart on the two sides, as nearest images show.

A network leaves a trace of the camera: of the images of one identity, those of the query's own
camera are nearer. Where query cameras are off by k, the nearest lie on camera c + k of the labels.
"""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.analysis.doctor.finding import Finding
from reid_ref.analysis.doctor.leaks import unit_rows
from reid_ref.analysis.doctor.sample import Sample
from reid_ref.analysis.doctor.subject import NotChecked, Subject
from reid_ref.arrays import Doubles, Integers
from reid_ref.labels import DISTRACTOR, Labels

Array = npt.NDArray[Any]
#: Shifts that are tried.
SHIFTS = (-2, -1, 1, 2)
#: Standard errors from which a shift is reported; of 330 healthy sets one reached 4.
ERRORS = 5
#: Standard errors of a trace within a side, the share of it that may be left from one side to the
#: other, and the standard errors between the two: healthy files keep 0.7 and more.
TRACE, LEFT, APART = 6, 0.35, 4
#: Gallery images that this looks at.
MOST_IMAGES = 800
#: Identities below which nearest images show nothing.
MIN_IDENTITIES = 10


class CameraTrace(NamedTuple):
    """Where the nearest images lie, on camera c + k or on c, of the queries that have both.

    Parameters
    ----------
    shift : int
        k.
    queries, on_shifted : float
        How many have both, and of how many the nearest lies on c + k; a tie is half.
    by_chance : float
        Of how many it would by the numbers of images alone.
    errors : float
        The difference of the two in standard errors over identities.
    first : int
        Row of the first query of `on_shifted`.
    """

    shift: int
    queries: int
    on_shifted: float
    by_chance: float
    errors: float
    first: int


def camera_traces(distances: Array, sample: Sample, query: Labels,
                  gallery: Labels) -> list[CameraTrace]:
    """Return the trace of each shift that enough queries can show."""
    if query.camera is None or gallery.camera is None:
        return []
    row, column = np.nonzero(
        query.identity[sample.query, np.newaxis] == gallery.identity[sample.image])
    apart = gallery.camera[sample.image[column]] - query.camera[sample.query[row]]
    values, n = distances.real[row, column], len(sample.query)
    near, number = {}, {}
    for shift in (0, *SHIFTS):
        chosen = apart == shift
        near[shift] = np.full(n, np.inf)
        np.fmin.at(near[shift], row[chosen], values[chosen])
        number[shift] = np.bincount(row[chosen], minlength=n)
    traces = [_trace(shift, near, number, sample, query) for shift in SHIFTS]
    return [trace for trace in traces if trace is not None]


def _trace(shift: int, near: dict[int, Doubles], number: dict[int, npt.NDArray[np.intp]],
           sample: Sample, query: Labels) -> CameraTrace | None:
    both = (number[0] > 0) & (number[shift] > 0)
    identities, group = np.unique(query.identity[sample.query[both]], return_inverse=True)
    if len(identities) < MIN_IDENTITIES:
        return None
    on_shifted = (near[shift] < near[0])[both] + (near[shift] == near[0])[both] / 2
    by_chance = (number[shift] / np.maximum(number[0] + number[shift], 1))[both]
    more = on_shifted - by_chance
    of_identity = np.bincount(group, more - more.mean())
    # Never below the error of as many coins, which few equal queries would be.
    variance = max(of_identity @ of_identity, (by_chance * (1 - by_chance)).sum())
    first = sample.query[both][np.argmax(on_shifted)]
    return CameraTrace(shift, int(both.sum()), float(on_shifted.sum()), float(by_chance.sum()),
                       float(more.sum()) / math.sqrt(variance), int(first))


def camera_shift(subject: Subject) -> Iterator[Finding]:
    """Report the shift of the largest share, if it is `ERRORS` or more from chance."""
    of_sides = subject.cameras
    traces = camera_traces(subject.values.distances, subject.sample, subject.query,
                           subject.gallery)
    if not traces:
        raise NotChecked(f"fewer than {MIN_IDENTITIES} identities with images on two such cameras")
    trace = max(traces, key=lambda trace: (trace.on_shifted - trace.by_chance) / trace.queries)
    if trace.errors < ERRORS:
        return
    of_query, of_gallery = map(np.unique, of_sides)
    alike = np.array_equal(of_query + trace.shift, of_gallery)
    yield Finding(
        "doctor:camera-offset", "warning",
        f"Of {trace.queries:,} queries of the sample with images of their identity on their own "
        f"camera c and on c{trace.shift:+d}, the nearest of these is on c{trace.shift:+d} for "
        f"{trace.on_shifted:g} (first: query {trace.first}); by the numbers of images, for "
        f"{trace.by_chance:.0f}. The cameras of queries and gallery seem to be numbered apart"
        + (f": those of the queries are those of the gallery once {trace.shift:+d} is added."
           if alike else "."),
        {"offset": trace.shift, "queries": trace.queries, "on_offset": trace.on_shifted,
         "by_chance": round(trace.by_chance, 1), "standard_errors": round(trace.errors, 1),
         "first": trace.first},
        f"Number the cameras of both sides alike: query_camera {trace.shift:+d}.")


def identity_shift(subject: Subject) -> Iterator[Finding]:
    """Report a constant by which the identity of most nearest images differs from the query's."""
    sample, query, gallery = subject.sample, subject.query, subject.gallery
    distances = subject.values.distances
    own = query.identity[sample.query]
    nearest = gallery.identity[sample.image[np.argmin(distances.real, axis=1)]]
    real = (nearest > DISTRACTOR) & (own > DISTRACTOR)
    offsets, n = np.unique((nearest - own)[real], return_counts=True)
    if not len(n):
        return
    most, rest = int(np.argmax(n)), np.delete(n, np.argmax(n))
    offset, number = int(offsets[most]), int(n[most])
    alike = np.flatnonzero((nearest - own == offset) & real)
    if (not offset or number < 4 * rest.max(initial=1)
            or len(np.unique(own[alike])) < MIN_IDENTITIES):
        return
    first = int(sample.query[alike[0]])
    yield Finding(
        "doctor:identity-offset", "error",
        f"Of {real.sum():,} queries of the sample, the nearest image has the query's identity "
        f"{offset:+d} for {number:,} (first: query {first}), and the query's own for "
        f"{int(n[offsets == 0].sum()):,}.",
        {"offset": offset, "queries": int(real.sum()), "nearest": number, "first": first},
        f"Number the identities of both sides in one go: query_identity {offset:+d}.")


class SameCamera(NamedTuple):
    """How much nearer images of different identities are on one camera: a mean over identities,
    negative if nearer, and its standard error.
    """

    mean: float
    error: float


def same_camera(distances: Doubles, identities: tuple[Integers, Integers],
                cameras: tuple[Integers, Integers]) -> SameCamera | None:
    """Return the trace of the camera, after the means of rows and columns are taken off."""
    others = identities[0][:, np.newaxis] != identities[1]
    same = others & (cameras[0][:, np.newaxis] == cameras[1])
    values = np.where(others, distances, 0)
    for axis in (1, 0):
        means = values.sum(axis=axis) / np.maximum(others.sum(axis=axis), 1)
        values = np.where(others, values - np.expand_dims(means, axis), 0)
    number = same.sum(axis=1)
    rows = np.flatnonzero(number)
    names, group, n = np.unique(identities[0][rows], return_inverse=True, return_counts=True)
    if len(names) < MIN_IDENTITIES:
        return None
    of_row = np.where(same, values, 0).sum(axis=1)[rows] / number[rows]
    of_identity = np.bincount(group, of_row) / n
    return SameCamera(float(of_identity.mean()),
                      float(of_identity.std(ddof=1) / math.sqrt(len(names))))


def cameras_that_do_not_fit(subject: Subject) -> Iterator[Finding]:
    """Report cameras that leave a trace within a side, and none from one side to the other."""
    of_query, of_gallery = subject.cameras
    query, gallery = subject.features_of(subject.values_of_identities)
    if "sides made alike" not in subject.ran or subject.has_found("sides-apart"):
        raise NotChecked("the sides were not made alike, or that is not known")
    rows, images = subject.of_identities.query, subject.of_identities.image
    some = np.arange(0, len(images), -(-len(images) // MOST_IMAGES))
    images = images[some]
    sides = [(unit_rows(query), subject.query.identity[rows], of_query[rows]),
             (unit_rows(gallery[some]), subject.gallery.identity[images], of_gallery[images])]
    traces = [same_camera(-(first[0] @ second[0].T), (first[1], second[1]), (first[2], second[2]))
              for first, second in ((sides[0], sides[0]), (sides[1], sides[1]), sides)]
    across, within = traces.pop(), [trace for trace in traces if trace is not None]
    if across is None or not within:
        raise NotChecked(f"fewer than {MIN_IDENTITIES} identities with images on one camera")
    clearest = min(within, key=lambda trace: trace.mean / max(trace.error, 1e-12))
    if (clearest.mean > -TRACE * clearest.error or across.mean < LEFT * clearest.mean
            or across.mean - clearest.mean < APART * math.hypot(across.error, clearest.error)):
        return
    yield Finding(
        "doctor:camera-trace", "warning",
        "Images of different identities are nearer on one camera within a side of the sample "
        f"({-clearest.mean / clearest.error:.0f} standard errors), but not from one side to the "
        f"other ({100 * max(across.mean / clearest.mean, 0):.0f} % of it): the cameras of one "
        "side are not those of its images.",
        {"within": round(clearest.mean, 6), "across": round(across.mean, 6),
         "within_error": round(clearest.error, 6), "across_error": round(across.error, 6)},
        "Read the cameras of both sides anew, in the order of the features.")
