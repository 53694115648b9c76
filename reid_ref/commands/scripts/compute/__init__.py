"""The scripts' numbers on a user's own file: the fast path, the port, and the scripts in Octave.

All take the same distance matrix; the port and Octave share no code with the fast path.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import matlab
from reid_ref.arrays import InputError
from reid_ref.commands.scripts.compute.octave import ScriptAnswer, functions_of, run_octave
from reid_ref.conventions import Convention
from reid_ref.evaluation.functions import evaluate_distances
from reid_ref.labels import Labels


def run_fast(distances: npt.NDArray[Any], query: Labels, gallery: Labels,
             convention: Convention) -> ScriptAnswer:
    """Run the fast path."""
    result = evaluate_distances(distances, query, gallery, convention=convention)
    return ScriptAnswer(result.mAP, result.cmc)


def largest_difference(answers: Mapping[str, ScriptAnswer]) -> float:
    """Return the largest difference between any two answers, over mAP and all of CMC.

    NaN differs by 0 from NaN, and by infinity from a number.

    Examples
    --------
    >>> nothing = ScriptAnswer(np.nan, np.array([np.nan]))
    >>> largest_difference({"fast": nothing, "port": ScriptAnswer(np.nan, np.array([1.]))})
    inf
    """
    rows = np.array([[answer.mAP, *answer.cmc] for answer in answers.values()])
    nan = np.isnan(rows)
    span = np.ptp(np.where(nan, 0.0, rows), axis=0)
    span[nan.any(axis=0)] = np.inf
    span[nan.all(axis=0)] = 0.0
    return float(span.max())


def run_port(distances: npt.NDArray[Any], query: Labels, gallery: Labels,
             convention: Convention) -> ScriptAnswer:
    """Run the line-faithful port on `distances`, shape (n_query, n_gallery)."""
    script = getattr(matlab, functions_of(convention)[0])
    try:
        cmc, mAP, _, _ = script(distances.T, gallery.identity, query.identity,
                                gallery.camera, query.camera)
    except ValueError as error:  # the port shares no code with the rest, its errors neither
        raise InputError(str(error)) from None
    return ScriptAnswer(float(mAP), cmc)


#: What computes the scripts' numbers, by name, as the tables show them.
PROGRAMS: dict[str, Callable[..., ScriptAnswer]] = {
    "fast": run_fast, "port": run_port, "octave": run_octave}
