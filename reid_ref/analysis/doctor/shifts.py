"""Cameras of one side that are not those of its images, or that are numbered apart.

A network leaves a trace of the camera: of images of different identities, those of one camera are
nearer. It is the same within a side and from one side to the other, if the labels are right.
"""
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from reid_ref.analysis.doctor.finding import Finding, tell
from reid_ref.analysis.doctor.sample import means_of, standard_error
from reid_ref.analysis.doctor.subject import WRONG, NotChecked, Subject
from reid_ref.arrays import Doubles, Integers

#: Shifts that are tried; the share of the clearest trace from which one is a shift.
SHIFTS, SHIFTED = (-2, -1, 1, 2), 0.7
#: Standard errors of a trace, the share of it that may be left from one side to the other, and
#: the standard errors between the two: healthy files keep 0.7 and more.
TRACE, LEFT, APART = 6, 0.35, 4
#: Identities, and cameras with such a share of each side, below which it shows nothing: the means
#: of columns, which are taken off, hold the camera of queries that have one or two.
MIN_IDENTITIES, MIN_CAMERAS, COMMON = 10, 3, 0.05


class Trace(NamedTuple):
    """How much nearer images of different identities are on one camera: a mean over identities,
    negative if nearer, and its standard error; `shift`: what is added to the queries' cameras.
    """

    mean: float
    error: float
    shift: int | None = None

    @property
    def errors(self) -> float:
        """The mean in standard errors."""
        return self.mean / max(self.error, 1e-12)


def camera_trace(distances: Doubles, identities: tuple[Integers, Integers],
                 cameras: tuple[Integers, Integers], shift: int | None = None) -> Trace | None:
    """Return the trace, after the means of rows and columns are taken off; None if too few
    identities show it.
    """
    others = (identities[0][:, np.newaxis] != identities[1]) & np.isfinite(distances)
    same = others & (cameras[0][:, np.newaxis] + (shift or 0) == cameras[1])
    values = np.where(others, distances, 0)
    for axis in (1, 0):
        means = values.sum(axis=axis) / np.maximum(others.sum(axis=axis), 1)
        values = np.where(others, values - np.expand_dims(means, axis), 0)
    number = same.sum(axis=1)
    of_identity = means_of(identities[0], np.where(
        number, np.where(same, values, 0).sum(axis=1) / np.maximum(number, 1), np.nan))
    if len(of_identity) < MIN_IDENTITIES:
        return None
    return Trace(float(of_identity.mean()), standard_error(of_identity), shift)


def camera_traces(subject: Subject) -> list[Trace]:
    """Return the traces within each side, if there are features, and across for each shift; last,
    across as the cameras are.
    """
    sample, values = subject.of_identities, subject.values_of_identities
    identities = (subject.query.identity[sample.query], subject.gallery.identity[sample.image])
    cameras = (subject.cameras[0][sample.query], subject.cameras[1][sample.image])
    across, traces = values.distances.real, []
    if values.features:
        joined = subject.joined
        query, gallery = joined.sides
        identities, cameras = ((labels[query], labels[gallery]) for labels in (
            joined.identity, joined.camera))
        across = joined.distances[query, gallery]
        traces = [camera_trace(joined.distances[side, side], (joined.identity[side],) * 2,
                               (joined.camera[side],) * 2) for side in joined.sides]
    shifts = [0] if "camera" in subject.query.words else [*SHIFTS, 0]
    traces += [camera_trace(across, identities, cameras, shift) for shift in shifts]
    return [trace for trace in traces if trace is not None]


def cameras_that_do_not_fit(subject: Subject) -> Iterator[Finding]:
    """Report cameras whose trace is within a side, or at a shift, and not across as they are."""
    shares = [np.unique(cameras, return_counts=True)[1] / len(cameras)
              for cameras in subject.cameras]
    if min(np.count_nonzero(share >= COMMON) for share in shares) < MIN_CAMERAS:
        raise NotChecked(f"fewer than {MIN_CAMERAS} cameras have a good part of a side")
    subject.check_not_found(*WRONG, "two-modes", "identities-merged", "query-in-gallery",
                            "averaged-features")
    *traces, across = camera_traces(subject) or [Trace(0, 0)]
    if not traces or across.shift != 0:
        raise NotChecked(f"fewer than {MIN_IDENTITIES} identities with images on one camera")
    clearest = min(traces, key=lambda trace: trace.mean)
    if (clearest.errors > -TRACE or across.mean < LEFT * clearest.mean
            or across.mean - clearest.mean < APART * math.hypot(across.error, clearest.error)):
        return
    shifted = min(traces, key=lambda trace: trace.mean if trace.shift else 0)
    shift = shifted.shift if shifted.mean < SHIFTED * clearest.mean else None
    yield tell("cameras-shifted" if shift else "camera-trace",
               -(shifted if shift else clearest).errors, shift, offset=shift or 0,
               trace=clearest.mean, error=clearest.error, across=across.mean,
               across_error=across.error)
