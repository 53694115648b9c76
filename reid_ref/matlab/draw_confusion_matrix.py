"""draw_confusion_matrix.m: mean scores of each pair of cameras, without the drawing."""
import numpy as np
import numpy.typing as npt

from reid_ref.matlab._inputs import cameras, scores
from reid_ref.matlab._values import divide_elements


# draw_confusion_matrix.m:1 | function [ap_mat, r1_mat] = draw_confusion_matrix(ap, r1, queryCam)
def draw_confusion_matrix(
        ap: npt.ArrayLike, r1: npt.ArrayLike, queryCam: npt.ArrayLike,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the mean scores of the queries of each camera on each camera.

    Parameters
    ----------
    ap : array_like of float, shape (n_query, 6)
        From `compute_AP_multiCam`, as `evaluation_mars` returns it; taken as doubles.
    r1 : array_like of float, shape (n_query, 6)
        From `compute_r1_multiCam`.
    queryCam : array_like of int, shape (n_query,)
        Camera of each query, 1 to 6.

    Returns
    -------
    ap_mat : ndarray of float64, shape (6, 6)
        Row: camera of the query. Mean of the entries of `ap` that are not 0, so that a
        true 0 is left out.
    r1_mat : ndarray of float64, shape (6, 6)
        Mean of the entries of `r1` that are 0 or more. NaN, in both, where there is none.

    Raises
    ------
    ValueError
        A camera outside 1 to 6, or scores of another shape or kind.

    Notes
    -----
    The driver of MARS reports ``(mat.sum() - mat.trace()) / 30`` of each.

    Source: ``draw_confusion_matrix.m`` of liangzheng06/MARS-evaluation and of
    zhunzhong07/person-re-ranking, commit 278f2c7, without its drawing.

    Examples
    --------
    >>> ap_mat, r1_mat = draw_confusion_matrix(
    ...     [[0, 0.5, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]],
    ...     [[-1, 1, -2, -2, -2, -2], [-1, 0, -2, -2, -2, -2]], [1, 1])
    >>> ap_mat[0, :3], r1_mat[0, :3]
    (array([nan, 0.5, nan]), array([nan, 0.5, nan]))
    """
    queryCam = cameras(queryCam, "queryCam")
    ap = scores(ap, "ap", len(queryCam))
    r1 = scores(r1, "r1", len(queryCam))

    # draw_confusion_matrix.m:16-19 | ap_mat = zeros(6, 6);
    ap_mat = np.zeros((6, 6))
    r1_mat = np.zeros((6, 6))
    ap_count = np.zeros((6, 6))
    r1_count = np.zeros((6, 6))

    # draw_confusion_matrix.m:21-23 | for n = 1:length(queryCam)
    for n in range(len(queryCam)):
        row = queryCam[n] - 1
        for col in range(6):
            # draw_confusion_matrix.m:24-27 | if ap(n, col) ~= 0
            if ap[n, col] != 0:
                ap_mat[row, col] = ap_mat[row, col] + ap[n, col]
                ap_count[row, col] = ap_count[row, col] + 1
            # draw_confusion_matrix.m:28-33 | if r1(n, col) >= 0
            if r1[n, col] >= 0:
                r1_mat[row, col] = r1_mat[row, col] + r1[n, col]
                r1_count[row, col] = r1_count[row, col] + 1

    # draw_confusion_matrix.m:35-37 | ap_mat = ap_mat ./ ap_count;
    ap_mat = divide_elements(ap_mat, ap_count)
    r1_mat = divide_elements(r1_mat, r1_count)
    return ap_mat, r1_mat
