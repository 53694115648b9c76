"""MahDist.m: Mahalanobis distances, without a root."""
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.matlab._inputs import in_one_precision, matrix_or_scalar, two_sides
from reid_ref.matlab._values import add_up_rows, product


# MahDist.m:1 | function dist = MahDist(M, Xg, Xp)
def MahDist(
        M: npt.ArrayLike, Xg: npt.ArrayLike, Xp: npt.ArrayLike,
) -> npt.NDArray[np.floating[Any]]:
    """Return ``(x - y) M (x - y)'`` for each gallery image x and probe y.

    Parameters
    ----------
    M : array_like of float, shape (d, d), or a scalar
        The metric; 1 gives squared Euclidean distances.
    Xg : array_like of float, shape (n_gallery, d)
        Features of the gallery, one row an image.
    Xp : array_like of float, shape (n_probe, d)
        Features of the probes (queries), in the precision of `Xg`.

    Returns
    -------
    dist : ndarray, shape (n_gallery, n_probe)
        float32 if one of the three is, else float64 (integers count as doubles). No root is
        taken, and rounding can make a small distance negative. NaN and infinities go by the
        rules of arithmetic.

    Raises
    ------
    ValueError
        Not real, shapes that do not fit, or `Xg` and `Xp` of different precision.

    Notes
    -----
    The terms of a product are added one after another; another BLAS has other last bits,
    except where the arithmetic is exact.

    Source: ``MahDist.m`` of zhunzhong07/person-re-ranking, commit 278f2c7,
    ``evaluation/LOMO_XQDA/code``. S. Liao, Y. Hu, X. Zhu, S. Z. Li: Person re-identification
    by local maximal occurrence representation and metric learning, CVPR 2015.

    Examples
    --------
    >>> MahDist(1, [[0, 0], [3, 4]], [[0, 0]])
    array([[ 0.],
           [25.]])
    >>> MahDist([[2, 0], [0, 1]], [[0, 0], [3, 4]], [[1, 4]])
    array([[18.],
           [ 8.]])
    """
    Xg, Xp = two_sides(Xg, "Xg", Xp, "Xp")
    d = Xg.shape[1]
    M, Xg, Xp = in_one_precision(matrix_or_scalar(M, "M", d, d), Xg, Xp)

    # MahDist.m:13-15 | u = sum((Xg * M) .* Xg, 2);
    with np.errstate(all="ignore"):
        u = add_up_rows(product(Xg, M) * Xg)
        v = add_up_rows(product(Xp, M) * Xp)
        dist = (u[:, np.newaxis] + v) - product(product(2 * Xg, M), Xp.T)
    return dist
