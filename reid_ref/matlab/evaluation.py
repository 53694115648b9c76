"""evaluation.m: CMC and mAP of a Market-1501 style test."""
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.matlab._inputs import labelled_distances
from reid_ref.matlab._values import add_up, find, sort_ascending
from reid_ref.matlab.compute_AP import compute_AP

Doubles = npt.NDArray[np.float64]


# evaluation.m:1-2 | function [CMC, map, r1_pairwise, ap_pairwise] = evaluation( ...
def evaluation(
        dist: Any, label_gallery: npt.ArrayLike, label_query: npt.ArrayLike,
        cam_gallery: npt.ArrayLike, cam_query: npt.ArrayLike,
) -> tuple[Doubles, float, Doubles, Doubles]:
    """Return the mean match curve and the mean average precision over all queries.

    Parameters
    ----------
    dist : array_like, shape (n_gallery, n_query)
        Distances, smaller is nearer: real, integer, bool or complex, NaN and infinities
        included, in the order of MATLAB's ``sort``.
    label_gallery : array_like of int, shape (n_gallery,) or (n_gallery, 1)
        Person of each gallery image; -1 is junk. A row is refused, as MATLAB fails on it.
        Here and below: any integer dtype, compared by value, or whole floats.
    label_query : array_like of int, shape (n_query,), (n_query, 1) or (1, n_query)
        Person of each query.
    cam_gallery : array_like of int, n_gallery entries in the same three shapes
        Camera of each gallery image.
    cam_query : array_like of int, n_query entries in the same three shapes
        Camera of each query.

    Returns
    -------
    CMC : ndarray of float64, shape (n_gallery,)
        ``CMC[r - 1]`` is the share of all queries with a hit among the first r kept images.
    map : float
        In [0, 1]. A query without a good image counts as 0.
    r1_pairwise, ap_pairwise : ndarray of float64, shape (n_query, 6)
        All 0: the script does not fill them.

    Raises
    ------
    ValueError
        `dist` is not a non-empty numeric matrix, or labels or cameras are not whole
        numbers or do not fit it.

    Notes
    -----
    Good: the query's person on another camera. Ignored: label -1, and the query's person
    on the query's own camera.

    Source: ``evaluation.m`` of zhunzhong07/person-re-ranking, commit 278f2c7.

    Examples
    --------
    >>> dist = np.array([[0.1, 0.9], [0.2, 0.3], [0.4, 0.2]])
    >>> CMC, map, r1_pairwise, ap_pairwise = evaluation(dist, [5, 5, 6], [5, 6], [2, 1, 2], [1, 1])
    >>> CMC, map
    (array([1., 1., 1.]), 1.0)
    """
    dist, label_gallery, label_query, cam_gallery, cam_query = labelled_distances(
        dist, label_gallery, label_query, cam_gallery, cam_query)

    # evaluation.m:20-25 | n_query = size(dist, 2);
    n_query = dist.shape[1]
    n_gallery = dist.shape[0]
    CMC = np.zeros(n_gallery)
    ap = np.zeros(n_query)
    r1_pairwise = np.zeros((n_query, 6))
    ap_pairwise = np.zeros((n_query, 6))

    # evaluation.m:27 | junk0 = find(label_gallery == -1);
    junk0 = find(label_gallery == -1)

    # evaluation.m:29 | for k = 1:n_query
    for k in range(n_query):
        # evaluation.m:31 | [~, index] = sort(dist(:, k));
        index = sort_ascending(dist[:, k])

        # evaluation.m:34-37 | pos = find(label_gallery == label_query(k));
        pos = find(label_gallery == label_query[k])
        same_cam = cam_gallery[pos] == cam_query[k]
        good_image = pos[~same_cam]
        junk = pos[same_cam]

        # evaluation.m:39-41 | [ap(k), cmc] = compute_AP(good_image, [junk0; junk], index);
        ap[k], cmc = compute_AP(good_image, np.concatenate((junk0, junk)), index)
        CMC = CMC + cmc

    # evaluation.m:43-46 | CMC = CMC / n_query;
    CMC = CMC / n_query
    ap[np.isnan(ap)] = 0
    map = add_up(ap) / n_query
    return CMC, map, r1_pairwise, ap_pairwise
