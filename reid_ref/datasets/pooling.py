"""Several images as one feature: frames of a tracklet, and multiple queries.

Tracklets by first and last frame are pooled as MARS's driver does (liangzheng06/MARS-evaluation,
utils/process_box_feat.m): maximum over the frames, then the 2-norm; an average is only a comment
there. Frames with labels are pooled by mean or max, and nothing is normalised.

Multiple queries: one feature pooled from all images of the query's identity on its camera.

Aim: the setting "multiple query" of Market-1501. The pooled feature takes the place of the
query's own; labels, gallery and evaluation stay as they are.

Conventions: one row per image. Every image is divided by its 2-norm, the rows are pooled by mean
or max, and the pooled row is divided by its 2-norm again. Arithmetic is in the precision of the
features, as in the originals.

The originals, and what they do otherwise:

1. layumi's test.py normalises images before it writes them, and its evaluate.py takes their mean
   and does not normalise again: it ranks by dot products, whose order no positive factor changes.
   So its numbers are those of ``pooling="mean"``, normalised or not.
2. zzd_evaluation_res_fast.m normalises before and after, by mean (avg) and by max. Its lines
   ``[ap_max(k), CMC_avg(k, :)]`` and ``[ap_avg(k), CMC_max(k, :)]`` exchange the curves: next to
   the mAP of one pooling it prints the Rank-1 of the other.
3. A query without an image: layumi's mean of no rows is NaN, and AP is that of the order in which
   sorting leaves NaN (evaluate_gpu.py gives no warning); the MATLAB driver stops. Here it is an
   `InputError`.

Source: layumi/Person_reID_baseline_pytorch, commit 82ff40f, test.py and evaluate.py;
layumi/2016_person_re-ID, commit 3ef47fe, evaluation/zzd_evaluation_res_fast.m.
"""
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.arrays import (
    Array, Doubles, InputError, as_array, as_integers, check_choice, check_finite_rows)
from reid_ref.arrays.stored import as_rows, is_lazy, read_rows
from reid_ref.disk import PathLike, renamed
from reid_ref.distances import unit_rows, working_precision
from reid_ref.files.formats import read_contents
from reid_ref.files.stored_arrays import StoredLabels
from reid_ref.labels import (
    Labels, cameras_of, cells, check_feature_shapes, check_features, check_labels, numbered)


def pool_tracklets(frame_features: Any, first: Any, last: Any) -> Doubles:
    """Take the maximum of every feature over a tracklet's frames, then divide by the 2-norm.

    Squares are added one after another in double precision, so results are bit-identical to the
    driver's. Only one tracklet's frames are in memory at a time; a memory-mapped array is enough.

    Parameters
    ----------
    frame_features : array_like, shape (n_frames, d)
        One row per frame.
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
    frames = frame_features if is_lazy(frame_features) else as_array(
        frame_features, "frame_features")
    if frames.ndim != 2 or frames.dtype.kind not in "fiub":
        raise InputError("frame_features", "real features (n_frames, d), one row per frame",
                         f"shape {frames.shape}, dtype {frames.dtype}")
    starts, ends = as_integers(first, "first"), as_integers(last, "last")
    if len(starts) != len(ends):
        raise InputError("last", f"{len(starts)} frames, one for each of first", len(ends))
    for k in np.flatnonzero((starts < 0) | (ends >= len(frames)) | (ends < starts))[:1]:
        raise InputError(
            "first, last", f"at least one frame per tracklet, from 0 to {len(frames) - 1}",
            f"{starts[k]} to {ends[k]} in tracklet {k}", "features and tracklets must be of the "
            "same frames; MARS's files count from 1, read_tracks from 0")
    pooled = np.empty((len(starts), frames.shape[1]))
    for k, (start, end) in enumerate(zip(starts.tolist(), ends.tolist())):
        pooled[k] = read_rows(frames, start, end + 1).max(axis=0)
    for k in np.flatnonzero(~np.isfinite(pooled).all(axis=1))[:1]:
        raise InputError("frame_features", "finite numbers", f"NaN or Inf in tracklet {k} "
                         f"(rows {starts[k]} to {ends[k]})")
    total = np.zeros(len(pooled))
    for column in pooled.T:
        total += column * column
    with np.errstate(invalid="ignore"):
        pooled /= np.sqrt(total)[:, np.newaxis]
    return pooled


#: Pooling to its function, of the rows of one query's images.
POOLINGS: dict[str, Callable[..., Array]] = {"mean": np.mean, "max": np.max}

#: What layumi's multi_query.mat calls identity, camera and features.
KEYS = {"identity": "mquery_label", "camera": "mquery_cam", "features": "mquery_f"}


def pool_queries(query: Labels, images: Labels, features: Any, pooling: str = "mean",
                 normalize: bool = True) -> Array:
    """Pool, for every query, the features of all images of its identity on its camera.

    Parameters
    ----------
    query : Labels
        Identity and camera of each of n queries.
    images : Labels
        Those of each image of the multi-query set, which holds the query's own image too.
    features : array_like, shape (n_image, d)
        Finite real numbers, one row per image. A dataset of an open HDF5 file, or a dask array,
        is read whole.
    pooling : {"mean", "max"}
    normalize : bool
        Divide every image by its 2-norm before pooling, and the pooled rows after it.

    Returns
    -------
    array, shape (n, d)
        float32 stays float32, float16 becomes it; all else becomes float64. To be handed to
        `reid_ref.evaluate` in the place of the queries' features.

    Raises
    ------
    InputError
        Wrong shape or count, no cameras, NaN or Inf, an unknown pooling, a query without an
        image, a feature of norm 0 if it is to be normalised.

    Examples
    --------
    Two images of the query on its camera, one on another:

    >>> query, images = Labels([7], [1]), Labels([7, 7, 7], [1, 1, 2])
    >>> pool_queries(query, images, [[3., 4.], [3., 0.], [0., 1.]], normalize=False)
    array([[3., 2.]])
    >>> pool_queries(query, images, [[3., 4.], [3., 0.], [0., 1.]]).round(4)
    array([[0.8944, 0.4472]])
    """
    check_choice(pooling, "pooling", POOLINGS)
    with renamed({"gallery": "images"}):
        query, images = check_labels(query, images)
    features = _checked(features, images)
    if normalize:
        for k in np.flatnonzero(~features.any(axis=1))[:1]:
            raise InputError("features", "no row of zeros, which cannot be normalised",
                             f"one at {k}", "leave that image out")
        features = unit_rows(features)
    rows_of = cells(images, "identity", "camera")
    pooled = np.empty((len(query), features.shape[1]), dtype=features.dtype)
    camera = cameras_of(query, "the images of each query's identity on its camera")
    for k, label in enumerate(zip(query.identity.tolist(), camera.tolist())):
        if label not in rows_of:
            raise InputError("images", "at least one for each query",
                             f"none of identity {query.identity_of(k)} on "
                             f"camera {query.camera_of(k)} (query {k})", "the multi-query set "
                             "holds the query's own image too. Are both numbered alike?")
        pooled[k] = POOLINGS[pooling](features[rows_of[label]], axis=0)
    if normalize:
        for k in np.flatnonzero(~pooled.any(axis=1))[:1]:
            raise InputError(
                "features", got=f"the images of query {k} cancel out: their {pooling} is 0 "
                "and cannot be normalised", remedy="look at these images")
        pooled = unit_rows(pooled)
    return pooled


def pool_frames(features: Any, labels: Labels, pooling: str = "mean") -> tuple[Array, Labels]:
    """Pool the features of each tracklet's frames: one row per tracklet.

    Parameters
    ----------
    features : array_like, shape (n_frames, d)
        Finite real numbers, one row per frame; read whole.
    labels : Labels
        Of each frame; `video` is the tracklet. Frames of one identity, camera and tracklet (and
        clothes and view, if they are known) belong together.
    pooling : {"mean", "max"}

    Returns
    -------
    features : array, shape (n_tracklets, d)
        Tracklets in order of their first frames; float32 stays float32, float16 becomes it, all
        else float64. Nothing is normalised.
    labels : Labels
        Of each tracklet, without `frame`; the name is that of its first frame.

    Raises
    ------
    InputError
        An unknown pooling, labels without `video`, features that do not fit them, NaN or Inf.

    Examples
    --------
    >>> frames = Labels([7, 7, 8], [1, 1, 1], video=[4, 4, 4])
    >>> features, labels = pool_frames([[1., 2.], [3., 0.], [5., 5.]], frames)
    >>> features.tolist(), labels.identity.tolist()
    ([[2.0, 1.0], [5.0, 5.0]], [7, 8])
    """
    check_choice(pooling, "pooling", POOLINGS)
    if labels.video is None:
        raise InputError("labels", "labels with video, the tracklet of each frame", "none")
    features, (labels, _) = _checked(features, labels), numbered(labels, labels)
    columns = replace(labels, frame=None).columns()
    tracklets = sorted(cells(labels, *columns.keys() - {"name"}).values(),
                       key=lambda frames: frames[0])
    first = [frames[0] for frames in tracklets]
    pooled = np.stack([POOLINGS[pooling](features[frames], axis=0) for frames in tracklets])
    return pooled, replace(labels, frame=None)[np.array(first)]


def _checked(features: Any, labels: Labels) -> Array:
    """Return features, checked: finite, a row for each image; in a precision to work in."""
    with renamed({"query_features": "features", "gallery_features": "features"}):
        check_feature_shapes(features, features, labels, labels)
    rows = as_rows(features, "features")
    check_finite_rows(rows, "features")
    return working_precision(rows)


def read_multi_query(path: PathLike) -> tuple[Labels, Array]:
    """Read the multi-query set that layumi's test.py writes with ``--multi``.

    Parameters
    ----------
    path : str or path
        multi_query.mat, or .npz or HDF5 with the same keys: mquery_f (n x d), mquery_label and
        mquery_cam.

    Returns
    -------
    images : Labels
    features : array, shape (n_image, d)
        Of the dtype stored. `pool_queries` takes both.

    Raises
    ------
    InputError
        The file cannot be read, or lacks a key; labels that are not whole numbers or do not fit
        the features.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "multi_query.npz"
    ...     np.savez(path, mquery_f=np.eye(2), mquery_label=[[7, 7]], mquery_cam=[[1, 2]])
    ...     images, features = read_multi_query(path)
    >>> images.camera, features.shape
    (array([1, 2]), (2, 2))
    """
    path = Path(path)
    with closing(read_contents(path)) as contents:
        values = contents.values
        if missing := [key for key in KEYS.values() if key not in values]:
            raise InputError(
                path, f"{', '.join(KEYS.values())}, as layumi's test.py --multi writes them",
                f"no {', no '.join(missing)}", f"it holds {', '.join(values) or '-'}")
        identity, camera, stored = (values[key] for key in KEYS.values())
        images = StoredLabels(identity, camera).load()
        turned = contents.transposable and stored.shape[:1] != (len(images),)
        features = (stored.T if turned else stored).load()
    with renamed({"query": identity.where, "gallery": identity.where,
                  "query_features": stored.where}):
        features, _ = check_features(features, features, images, images)
    return images, features
