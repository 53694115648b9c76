"""Frames to tracklets, as MARS's driver pools them.

Source: liangzheng06/MARS-evaluation, utils/process_box_feat.m (maximum over the frames, then
the 2-norm; an average is only a comment there).
"""
from __future__ import annotations

from typing import Any

import numpy as np

from reid_ref.arrays import Doubles, InputError, as_array, as_integers
from reid_ref.arrays.stored import is_lazy, read_rows


def pool_tracklets(frame_features: Any, first: Any, last: Any) -> Doubles:
    """Take the maximum of every feature over a tracklet's frames, then divide by the 2-norm.

    Squares are added one after another in double precision, so results are bit-identical to the
    driver's. Only one tracklet's frames are in memory at a time; a memory-mapped array is enough.

    Parameters
    ----------
    frame_features : array_like, shape (n_frames, d)
        One row a frame.
    first, last : array_like of int, shape (n_tracks,)
        First and last frame of each tracklet, both included, counted from 0 as `read_tracks` does.

    Returns
    -------
    float64 array, shape (n_tracks, d)
        A tracklet whose maxima are all 0 becomes NaN, as in the driver.

    Raises
    ------
    InputError
        A tracklet of no frame, or with frames that are not there or not finite.

    Examples
    --------
    >>> pool_tracklets([[3., 1.], [0., 4.], [0., 2.]], first=[0, 2], last=[1, 2])
    array([[0.6, 0.8],
           [0. , 1. ]])
    """
    frames = (frame_features if is_lazy(frame_features)
              else as_array(frame_features, "frame_features"))
    if frames.ndim != 2 or frames.dtype.kind not in "fiub":
        raise InputError("frame_features: expected real features (n_frames, d), one row a frame, "
                         f"got shape {frames.shape}, dtype {frames.dtype}")
    starts, ends = as_integers(first, "first"), as_integers(last, "last")
    if len(starts) != len(ends):
        raise InputError(f"last: expected {len(starts)} frames, one for each of first, "
                         f"got {len(ends)}")
    _check_frames(starts, ends, len(frames))
    pooled = np.empty((len(starts), frames.shape[1]))
    for k, (start, end) in enumerate(zip(starts.tolist(), ends.tolist())):
        pooled[k] = read_rows(frames, start, end + 1).max(axis=0)
    bad = np.flatnonzero(~np.isfinite(pooled).all(axis=1))
    if bad.size:
        raise InputError(f"frame_features: expected finite numbers, got NaN or Inf in tracklet "
                         f"{bad[0]} (rows {starts[bad[0]]} to {ends[bad[0]]})")
    total = np.zeros(len(pooled))
    for column in pooled.T:
        total += column * column
    with np.errstate(invalid="ignore"):
        pooled /= np.sqrt(total)[:, np.newaxis]
    return pooled


def _check_frames(first: Any, last: Any, n_frames: int) -> None:
    empty = np.flatnonzero(last < first)
    if empty.size:
        k = empty[0]
        raise InputError(f"last: expected at least one frame a tracklet, got none in tracklet {k} "
                         f"(first {first[k]}, last {last[k]}); leave that tracklet out")
    outside = np.flatnonzero((first < 0) | (last >= n_frames))
    if outside.size:
        k = outside[0]
        raise InputError(
            f"first, last: expected frames from 0 to {n_frames - 1}, got {first[k]} to {last[k]} "
            f"in tracklet {k}; "
            + ("features and tracklets must come from the same list of frames"
               if first[k] >= 0 and first.min() != 1 else
               "MARS's files count from 1: read_tracks counts from 0"))
