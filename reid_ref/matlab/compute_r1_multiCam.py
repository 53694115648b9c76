"""compute_r1_multiCam.m: whether the first kept image is good, on each of six cameras."""
import numpy as np
import numpy.typing as npt

from reid_ref.matlab._inputs import Integers, camera_lists
from reid_ref.matlab._values import ismember, setdiff, unique


# compute_r1_multiCam.m:1-2 | function r1 = compute_r1_multiCam( ...
def compute_r1_multiCam(
        good_image: npt.ArrayLike, junk_image: npt.ArrayLike, index: npt.ArrayLike,
        queryCam: npt.ArrayLike, testCam: npt.ArrayLike,
) -> npt.NDArray[np.float64]:
    """Return, for each of six cameras, whether the first kept image is good.

    Parameters
    ----------
    good_image, junk_image, index, queryCam, testCam : array_like of int
        As for `compute_AP_multiCam`.

    Returns
    -------
    r1 : ndarray of float64, shape (6,)
        1 for good, 0 for wrong; -2 where the camera has no good image, or all images
        are ignored; -1 on the query's own camera if `junk_image` holds one image only.

    Raises
    ------
    ValueError
        As for `compute_AP_multiCam`.

    Notes
    -----
    Source: ``compute_r1_multiCam.m`` of zhunzhong07/person-re-ranking, commit 278f2c7
    (the same file in liangzheng06/MARS-evaluation).

    Examples
    --------
    >>> compute_r1_multiCam([1, 3], [0, 4], [0, 4, 1, 2, 3], 1, [1, 2, 2, 3, 1])
    array([ 1.,  1.,  0., -2., -2., -2.])
    """
    good_image, junk_image, index, queryCam, testCam = camera_lists(
        good_image, junk_image, index, queryCam, testCam)

    # compute_r1_multiCam.m:14-15 | good_cam = testCam(good_image);
    good_cam = testCam[good_image]
    r1 = -2 * np.ones(6)

    # compute_r1_multiCam.m:18-21 | ngood = length(junk_image) - 1;
    ngood = len(junk_image) - 1
    if ngood == 0:
        r1[queryCam - 1] = -1
    else:
        # compute_r1_multiCam.m:22-28 | good_here = setdiff(junk_image, index(1));
        good_here = setdiff(junk_image, index[:1])
        ignored = np.concatenate((good_image, index[:1]))
        found, right = first_kept(good_here, ignored, index)
        if found:
            r1[queryCam - 1] = right

    # compute_r1_multiCam.m:31-32 | cams = unique(good_cam);
    cams = unique(good_cam)
    for k in range(len(cams)):
        # compute_r1_multiCam.m:33-40 | on_cam = good_cam == cams(k);
        on_cam = good_cam == cams[k]
        ignored = np.concatenate((junk_image, good_image[~on_cam]))
        found, right = first_kept(good_image[on_cam], ignored, index)
        if found:
            r1[cams[k] - 1] = right
    return r1


# compute_r1_multiCam.m:42 | function [found, right] = first_kept(good_here, ignored, index)
def first_kept(
        good_here: Integers, ignored: Integers, index: Integers) -> tuple[bool, bool]:
    """Return whether any image is kept, and whether the first such is a good one."""
    # compute_r1_multiCam.m:45-48 | kept = index(~ismember(index, ignored));
    kept = index[~ismember(index, ignored)]
    found = len(kept) > 0
    right = found and bool(ismember(kept[:1], good_here)[0])
    return found, right
