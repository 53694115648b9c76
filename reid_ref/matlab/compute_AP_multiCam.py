"""compute_AP_multiCam.m: average precision of one query on each of six cameras."""
import numpy as np
import numpy.typing as npt

from reid_ref.matlab._inputs import Integers, camera_lists
from reid_ref.matlab._values import divide, ismember, setdiff, unique


# compute_AP_multiCam.m:1-2 | function ap_multi = compute_AP_multiCam( ...
def compute_AP_multiCam(
        good_image: npt.ArrayLike, junk_image: npt.ArrayLike, index: npt.ArrayLike,
        queryCam: npt.ArrayLike, testCam: npt.ArrayLike,
) -> npt.NDArray[np.float64]:
    """Return the average precision of one query on each of six cameras.

    Parameters
    ----------
    good_image : array_like of int, shape (n_good,) or (n_good, 1)
        Gallery numbers, from 0, of the query's person on other cameras.
    junk_image : array_like of int, shape (n_junk,) or (n_junk, 1)
        The same on the query's own camera; images labelled -1 are not part of it.
    index : array_like of int, shape (n,)
        Gallery numbers, nearest first. ``index[0]`` is assumed to be the query itself.
    queryCam : int
        Camera of the query, 1 to 6.
    testCam : array_like of int, shape (n_gallery,)
        Camera of each gallery image, 1 to 6.

    Returns
    -------
    ap_multi : ndarray of float64, shape (6,)
        In [0, 1]; 0 where there is no good image, or not all were found. On the query's own
        camera the number of good images is that of `junk_image` less one.

    Raises
    ------
    ValueError
        A camera outside 1 to 6, an empty `index`, a good image that `testCam` lacks, a
        row where MATLAB needs a column, or numbers that are not whole.

    Notes
    -----
    Source: ``compute_AP_multiCam.m`` of zhunzhong07/person-re-ranking, commit 278f2c7
    (the same file in liangzheng06/MARS-evaluation).

    Examples
    --------
    >>> compute_AP_multiCam([1, 3], [0, 4], [0, 4, 2, 1, 3], 1, [1, 2, 2, 3, 1])
    array([1.  , 0.25, 0.25, 0.  , 0.  , 0.  ])
    """
    good_image, junk_image, index, queryCam, testCam = camera_lists(
        good_image, junk_image, index, queryCam, testCam)

    # compute_AP_multiCam.m:18-19 | good_cam = testCam(good_image);
    good_cam = testCam[good_image]
    ap_multi = np.zeros(6)

    # compute_AP_multiCam.m:22-28 | good_here = setdiff(junk_image, index(1));
    good_here = setdiff(junk_image, index[:1])
    ngood = len(junk_image) - 1
    ignored = np.concatenate((good_image, index[:1]))
    ap, complete = one_camera(good_here, ignored, index, ngood)
    if complete:
        ap_multi[queryCam - 1] = ap

    # compute_AP_multiCam.m:31-32 | cams = unique(good_cam);
    cams = unique(good_cam)
    for k in range(len(cams)):
        # compute_AP_multiCam.m:33-37 | on_cam = good_cam == cams(k);
        on_cam = good_cam == cams[k]
        good_here = good_image[on_cam]
        ngood = len(good_here)
        ignored = np.concatenate((junk_image, good_image[~on_cam]))
        ap, complete = one_camera(good_here, ignored, index, ngood)
        # compute_AP_multiCam.m:38-42 | if complete
        if complete:
            ap_multi[cams[k] - 1] = ap
    return ap_multi


# compute_AP_multiCam.m:44 | function [ap, complete] = one_camera(good_here, ignored, index, ngood)
def one_camera(
        good_here: Integers, ignored: Integers, index: Integers, ngood: int,
) -> tuple[float, bool]:
    """Return the average precision, and whether all good images were found."""
    # compute_AP_multiCam.m:49-50 | is_good = ismember(index, good_here);
    is_good = ismember(index, good_here)
    is_ignored = ismember(index, ignored)

    # compute_AP_multiCam.m:52-58 | ap = 0;
    ap = 0.0
    complete = False
    old_recall = 0.0
    old_precision = 1.0
    intersect_size = 0
    good_now = 0
    j = 0

    # compute_AP_multiCam.m:60-64 | for n = 1:length(index)
    for n in range(len(index)):
        good_now = good_now + int(is_good[n])
        if is_ignored[n]:
            continue
        # compute_AP_multiCam.m:65-68 | if ngood == 0
        if ngood == 0:
            complete = True
            return ap, complete

        # compute_AP_multiCam.m:70-74 | intersect_size = intersect_size + is_good(n);
        intersect_size = intersect_size + int(is_good[n])
        recall = divide(intersect_size, ngood)
        precision = intersect_size / (j + 1)
        height = (old_precision + precision) / 2
        ap = ap + (recall - old_recall) * height

        # compute_AP_multiCam.m:76-78 | old_recall = recall;
        old_recall = recall
        old_precision = precision
        j = j + 1

        # compute_AP_multiCam.m:80-85 | if good_now == ngood
        if good_now == ngood:
            complete = True
            return ap, complete
    return ap, complete
