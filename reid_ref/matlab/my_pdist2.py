"""my_pdist2.m: Euclidean distances, as the drivers define them."""
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.matlab._inputs import two_sides
from reid_ref.matlab._values import add_up_rows, product, root


# my_pdist2.m:1 | function dist = my_pdist2(A, B)
def my_pdist2(A: npt.ArrayLike, B: npt.ArrayLike) -> npt.NDArray[np.inexact[Any]]:
    """Return the Euclidean distances of gallery and queries; complex if a square is negative.

    Parameters
    ----------
    A : array_like of float, shape (n_gallery, d)
        Features of the gallery, one row an image; the drivers divide each by its 2-norm.
    B : array_like of float, shape (n_query, d)
        Features of the queries, in the precision of `A`.

    Returns
    -------
    dist : ndarray, shape (n_gallery, n_query)
        float32 if the features are, else float64 (integers count as doubles); complex64 or
        complex128 if rounding makes a square negative. `evaluation` accepts all four, and
        orders complex distances as MATLAB does.

    Raises
    ------
    ValueError
        Not real, shapes that do not fit, or `A` and `B` of different precision.

    Notes
    -----
    ``sqrt(|a|^2 + |b|^2 - 2 a b)``; the square is not clamped at 0. The terms of a product
    are added one after another. Another BLAS has other last bits, except where the arithmetic
    is exact, and may so have an imaginary distance where this has none.

    Source: the function of this name in ``Market_1501_evaluation.m`` and
    ``CUHK03_evaluation.m`` of zhunzhong07/person-re-ranking, commit 278f2c7.

    Examples
    --------
    >>> my_pdist2([[0, 0], [3, 4]], [[0, 0]])
    array([[0.],
           [5.]])
    """
    A, B = two_sides(A, "A", B, "B")

    # my_pdist2.m:13-16 | aa = sum(A.^2, 2);
    with np.errstate(all="ignore"):
        aa = add_up_rows(A * A)
        bb = add_up_rows(B * B)
        square = (aa[:, np.newaxis] + bb) - 2 * product(A, B.T)
        dist = root(square)
    return dist
