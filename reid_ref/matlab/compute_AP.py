"""compute_AP.m: average precision and match curve of one query."""
import numpy as np
import numpy.typing as npt

from reid_ref.matlab._inputs import whole_numbers
from reid_ref.matlab._values import divide, ismember


# compute_AP.m:1 | function [ap, cmc] = compute_AP(good_image, junk_image, index)
def compute_AP(
        good_image: npt.ArrayLike, junk_image: npt.ArrayLike, index: npt.ArrayLike,
) -> tuple[float, npt.NDArray[np.float64]]:
    """Return average precision (by trapezoids) and match curve of one ranked list.

    Parameters
    ----------
    good_image : array_like of int, shape (n_good,)
        Gallery numbers of the good images, each once.
    junk_image : array_like of int, shape (n_junk,)
        Gallery numbers of ignored images.
    index : array_like of int, shape (n,)
        Gallery numbers, nearest first; it may be truncated. Numbers count from 0, as in
        numpy; only equality between the three lists matters.

    Returns
    -------
    ap : float
        In [0, 1]. NaN without a good image, unless all of `index` is junk: then 0.
    cmc : ndarray of float64, shape (n,)
        1 from the rank of the first hit on, junk not counted; else 0.

    Raises
    ------
    ValueError
        A list that is not a vector of whole numbers.

    Notes
    -----
    Precision starts at 1; trapezoids run from each kept image to the next, not from each hit
    to the next. An image that is good and junk raises `cmc` but not `ap`.

    Source: ``compute_AP.m`` of zhunzhong07/person-re-ranking, commit 278f2c7 (the same
    file in liangzheng06/MARS-evaluation).

    Examples
    --------
    >>> compute_AP(good_image=[4, 7], junk_image=[2], index=[4, 2, 9, 7])
    (0.7916666666666666, array([1., 1., 1., 1.]))
    >>> compute_AP([], [], [1, 0])
    (nan, array([0., 0.]))
    """
    good_image = whole_numbers(good_image, "good_image")
    junk_image = whole_numbers(junk_image, "junk_image")
    index = whole_numbers(index, "index")

    # compute_AP.m:18-21 | ngood = length(good_image);
    ngood = len(good_image)
    cmc = np.zeros(len(index))
    is_good = ismember(index, good_image)
    is_junk = ismember(index, junk_image)

    # compute_AP.m:23-29 | ap = 0;
    ap = 0.0
    old_recall = 0.0
    old_precision = 1.0
    intersect_size = 0
    good_now = 0
    njunk = 0
    j = 0

    # compute_AP.m:31 | for n = 1:length(index)
    for n in range(len(index)):

        # compute_AP.m:34-37 | if is_good(n)
        if is_good[n]:
            good_now = good_now + 1
            cmc[n - njunk:] = 1

        # compute_AP.m:39-41 | if is_junk(n)
        if is_junk[n]:
            njunk = njunk + 1
        else:
            # compute_AP.m:43-47 | intersect_size = intersect_size + is_good(n);
            intersect_size = intersect_size + int(is_good[n])
            recall = divide(intersect_size, ngood)
            precision = intersect_size / (j + 1)
            height = (old_precision + precision) / 2
            ap = ap + (recall - old_recall) * height

            # compute_AP.m:49-51 | old_recall = recall;
            old_recall = recall
            old_precision = precision
            j = j + 1

            # compute_AP.m:53-58 | if good_now == ngood
            if good_now == ngood:
                break
    return ap, cmc
