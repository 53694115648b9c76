"""Cameras or identities numbered one or two apart on the two sides, as nearest images show.

A network leaves a trace of the camera: of the images of one identity, those of the query's own
camera are nearer. Where query cameras are off by k, the nearest lie on camera c + k of the labels.
"""
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.analysis.doctor.finding import Finding
from reid_ref.analysis.doctor.sample import Sample
from reid_ref.arrays import Array, Doubles
from reid_ref.labels import DISTRACTOR, Labels, cameras_of

#: Shifts that are tried.
SHIFTS = (-2, -1, 1, 2)
#: Standard errors from which a shift is reported; healthy files reach 2.3.
ERRORS = 4
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
    if query.camera is None or gallery.camera is None or "camera" in query.words:
        return []
    row, column = np.nonzero(~sample.wrong)
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


def camera_shift(distances: Array, sample: Sample, query: Labels,
                 gallery: Labels) -> Iterator[Finding]:
    """Report the shift of the largest share, if it is `ERRORS` or more from chance."""
    traces = camera_traces(distances, sample, query, gallery)
    if not traces:
        return
    trace = max(traces, key=lambda trace: (trace.on_shifted - trace.by_chance) / trace.queries)
    if trace.errors < ERRORS:
        return
    of_query, of_gallery = (np.unique(cameras_of(side, "shifts")) for side in (query, gallery))
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


def identity_shift(distances: Array, sample: Sample, query: Labels,
                   gallery: Labels) -> Iterator[Finding]:
    """Report a constant by which the identity of most nearest images differs from the query's."""
    own = query.identity[sample.query]
    nearest = gallery.identity[sample.image[np.argmin(distances.real, axis=1)]]
    real = (nearest > DISTRACTOR) & (own > DISTRACTOR)
    offsets, n = np.unique((nearest - own)[real], return_counts=True)
    if not len(n) or "identity" in query.words:
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
