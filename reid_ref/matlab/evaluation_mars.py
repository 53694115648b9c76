"""evaluation_mars.m: CMC, mAP and the scores of each camera, for MARS."""
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.matlab._inputs import cameras, labelled_distances
from reid_ref.matlab._values import add_up, find, sort_ascending
from reid_ref.matlab.compute_AP import compute_AP
from reid_ref.matlab.compute_AP_multiCam import compute_AP_multiCam
from reid_ref.matlab.compute_r1_multiCam import compute_r1_multiCam

Doubles = npt.NDArray[np.float64]


# evaluation_mars.m:1-2 | function [CMC, map, r1_pairwise, ap_pairwise] = evaluation_mars( ...
def evaluation_mars(
        dist: Any, label_gallery: npt.ArrayLike, label_query: npt.ArrayLike,
        cam_gallery: npt.ArrayLike, cam_query: npt.ArrayLike,
) -> tuple[Doubles, float, Doubles, Doubles]:
    """Return match curve, mAP and, for each query, its scores on each of six cameras.

    Parameters
    ----------
    dist, label_gallery, label_query, cam_gallery, cam_query : array_like
        As for `evaluation`. Cameras are 1 to 6. The scores of each camera assume that
        every query is also a gallery image, and its own nearest one.

    Returns
    -------
    CMC : ndarray of float64, shape (n_gallery,)
        As for `evaluation`.
    map : float
        In [0, 1]; NaN if a query has no good image but keeps some image.
    r1_pairwise : ndarray of float64, shape (n_query, 6)
        Rows of `compute_r1_multiCam`: 1, 0, -1 or -2.
    ap_pairwise : ndarray of float64, shape (n_query, 6)
        Rows of `compute_AP_multiCam`: in [0, 1].

    Raises
    ------
    ValueError
        As for `evaluation`, and for a camera outside 1 to 6.

    Notes
    -----
    Source: ``evaluation_mars.m`` of liangzheng06/MARS-evaluation.

    Examples
    --------
    >>> dist = [[0.0], [0.1], [0.2], [0.3]]
    >>> CMC, map, r1_pairwise, ap_pairwise = evaluation_mars(
    ...     dist, [7, 7, 8, 7], [7], [1, 2, 2, 2], [1])
    >>> map
    0.7916666666666666
    >>> r1_pairwise, ap_pairwise.round(3)
    (array([[-1.,  1., -2., -2., -2., -2.]]), array([[0.   , 0.792, 0.   , 0.   , 0.   , 0.   ]]))
    """
    dist, label_gallery, label_query, cam_gallery, cam_query = labelled_distances(
        dist, label_gallery, label_query, cam_gallery, cam_query)
    cam_gallery = cameras(cam_gallery, "cam_gallery")
    cam_query = cameras(cam_query, "cam_query")

    # evaluation_mars.m:23-28 | n_query = size(dist, 2);
    n_query = dist.shape[1]
    n_gallery = dist.shape[0]
    CMC = np.zeros(n_gallery)
    ap = np.zeros(n_query)
    r1_pairwise = np.zeros((n_query, 6))
    ap_pairwise = np.zeros((n_query, 6))

    # evaluation_mars.m:30 | junk0 = find(label_gallery == -1);
    junk0 = find(label_gallery == -1)

    # evaluation_mars.m:32 | for k = 1:n_query
    for k in range(n_query):
        # evaluation_mars.m:34 | [~, index] = sort(dist(:, k));
        index = sort_ascending(dist[:, k])

        # evaluation_mars.m:37-40 | pos = find(label_gallery == label_query(k));
        pos = find(label_gallery == label_query[k])
        same_cam = cam_gallery[pos] == cam_query[k]
        good_image = pos[~same_cam]
        junk = pos[same_cam]

        # evaluation_mars.m:42-43 | [ap(k), cmc] = compute_AP(good_image, [junk0; junk], index);
        ap[k], cmc = compute_AP(good_image, np.concatenate((junk0, junk)), index)
        CMC = CMC + cmc

        # evaluation_mars.m:45-49 | ap_pairwise(k, :) = compute_AP_multiCam( ...
        ap_pairwise[k, :] = compute_AP_multiCam(
            good_image, junk, index, cam_query[k], cam_gallery)
        r1_pairwise[k, :] = compute_r1_multiCam(
            good_image, junk, index, cam_query[k], cam_gallery)

    # evaluation_mars.m:51-53 | CMC = CMC / n_query;
    CMC = CMC / n_query
    map = add_up(ap) / n_query
    return CMC, map, r1_pairwise, ap_pairwise
