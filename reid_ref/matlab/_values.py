"""MATLAB's rules that numpy lacks, and its order of arithmetic: one small function a rule.

Each was observed in GNU Octave 7.3.0; ``tests/proof/test_matlab_octave.py`` and
``tests/proof/test_re_ranking_octave.py`` repeat it.
"""
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.matlab._inputs import Integers


def sort_ascending(column: npt.NDArray[Any]) -> Integers:
    """Return the order that ``[~, index] = sort(column)`` gives, counted from 0.

    Equal values keep their order (unlike in numpy's default sort), -0 equals 0, NaN comes
    last, in order. Complex numbers follow `sort_complex`; but a column whose imaginary parts
    are all zero counts as real, as when Octave takes the column out of a complex matrix.

    Examples
    --------
    >>> sort_ascending(np.array([np.nan, 1.0, -0.0, 0.0, -np.inf]))
    array([4, 2, 3, 1, 0])
    >>> sort_ascending(np.array([-2.0 + 0j, 1.0 + 0j])), sort_ascending(np.array([-2.0, 1j]))
    (array([0, 1]), array([1, 0]))
    """
    if column.dtype.kind == "c":
        if np.any(column.imag != 0):
            return sort_complex(column)
        column = column.real
    return np.argsort(column, kind="stable").astype(np.int64)


def sort_complex(column: npt.NDArray[np.complexfloating[Any, Any]]) -> Integers:
    """Return the ascending order of complex numbers: by modulus, then by angle.

    The angle lies in (-pi, pi]: -pi, the angle of ``complex(-1, -0.0)``, counts as pi.
    A number with a NaN part comes last, whatever the other part. Equal modulus and
    angle keep their order.

    Notes
    -----
    Octave calls the C library, whose last bits decide between near ties. So do ``np.hypot``
    and ``np.log`` of a complex number (its imaginary part is the angle). ``np.abs`` and
    ``np.arctan2`` (so ``np.angle``) have their own vector code, with different last bits on
    some processors.

    Examples
    --------
    >>> sort_complex(np.array([-1.0, 1j, 1.0, -1j, np.nan, 0.5]))
    array([5, 3, 2, 1, 0, 4])
    """
    is_nan = np.isnan(column.real) | np.isnan(column.imag)
    numbers = find(~is_nan)
    with np.errstate(all="ignore"):
        modulus = np.hypot(column.real, column.imag)[numbers]
        angle = np.log(column).imag[numbers]
    angle[angle == -angle.dtype.type(np.pi)] = np.pi
    order = np.lexsort((angle, modulus))
    return np.concatenate((numbers[order], find(is_nan)))


def divide(numerator: float, denominator: float) -> float:
    """Return ``numerator / denominator``; 0/0 is NaN and x/0 an infinity, silently.

    Examples
    --------
    >>> divide(1, 4), divide(0, 0), divide(-1, 0)
    (0.25, nan, -inf)
    """
    if denominator != 0:
        return numerator / denominator
    if numerator == 0 or math.isnan(numerator):
        return math.nan
    return math.copysign(math.inf, numerator) * math.copysign(1.0, denominator)


def divide_elements(
        numerator: npt.NDArray[np.float64],
        denominator: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return ``numerator ./ denominator`` by the rule of `divide`.

    Examples
    --------
    >>> divide_elements(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    array([0.5, nan])
    """
    with np.errstate(all="ignore"):
        return numerator / denominator


def add_up(column: npt.NDArray[np.float64]) -> float:
    """Return ``sum(column)``: one after another; ``np.sum`` adds in pairs of blocks.

    Examples
    --------
    >>> add_up(np.array([0.5, 0.25])), add_up(np.zeros(0))
    (0.75, 0.0)
    """
    with np.errstate(all="ignore"):
        return float(np.cumsum(column)[-1]) if column.size else 0.0


#: By MATLAB's names; indices count from 0.
find, ismember, setdiff, unique = np.flatnonzero, np.isin, np.setdiff1d, np.unique

Reals = npt.NDArray[np.floating[Any]]


def product(A: Reals, B: Reals) -> Reals:
    """Return the matrix product ``A * B``, its terms added one after another.

    A scalar multiplies elements. The order is that of the reference BLAS, to which Octave
    is linked where no other is installed. ``A @ B`` adds in an order that depends on the
    processor and on the library; both orders agree where the arithmetic is exact.

    Examples
    --------
    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    >>> product(np.array([[1.0, 2.0]]), np.array(3.0))
    array([[3., 6.]])
    """
    with np.errstate(all="ignore"):
        if A.ndim == 0 or B.ndim == 0:
            return A * B
        total = np.zeros((len(A), B.shape[1]), A.dtype)
        term = np.empty_like(total)
        for k in range(A.shape[1]):
            np.multiply(A[:, [k]], B[k], out=term)
            total += term
        return total


def add_up_rows(rows: Reals) -> Reals:
    """Return ``sum(rows, 2)`` of one or several rows: one after another, in their precision.

    Examples
    --------
    >>> add_up_rows(np.array([[1, 2**-24, 2**-24]], np.float32)) == 1
    array([ True])
    """
    if rows.shape[-1] == 0:
        return np.zeros(rows.shape[:-1], rows.dtype)
    with np.errstate(all="ignore"):
        return np.cumsum(rows, axis=-1)[..., -1]


def mean_of_columns(matrix: Reals) -> Reals:
    """Return ``sum(matrix, 1) / size(matrix, 1)``, added as `add_up_rows` does.

    Examples
    --------
    >>> mean_of_columns(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([2., 3.])
    """
    return add_up_rows(matrix.T) / len(matrix)


def divide_rows(rows: Reals, divisor: Reals) -> Reals:
    """Return each row divided by its divisor; 0/0 is NaN, silently.

    Examples
    --------
    >>> divide_rows(np.array([[1.0, 4.0], [0.0, 0.0]]), np.array([4.0, 0.0]))
    array([[0.25, 1.  ],
           [ nan,  nan]])
    """
    with np.errstate(all="ignore"):
        return rows / divisor[..., np.newaxis]


def weigh(matrix: Reals, share: float) -> npt.NDArray[np.float32]:
    """Return ``matrix * share`` as single, the precision in which it is then added.

    A single `matrix` is multiplied by `share` as a single.

    Examples
    --------
    >>> weigh(np.array([3.0]), 0.1), weigh(np.array([3.0], np.float32), 0.1)
    (array([0.3], dtype=float32), array([0.3], dtype=float32))
    """
    with np.errstate(all="ignore"):
        weighed: npt.NDArray[np.float32] = (matrix * matrix.dtype.type(share)).astype(np.float32)
    return weighed


def exponential(numbers: Reals) -> Reals:
    """Return ``exp(numbers)`` of the C library, which Octave calls.

    ``np.exp`` of real numbers has its own vector code, with different last bits on some
    processors: for 5 % of the doubles and 40 % of the singles in [-1, 0]. For complex numbers it
    calls the C library.

    Examples
    --------
    >>> exponential(np.array([0.0, -np.inf])), exponential(np.array([-1], np.float32))
    (array([1., 0.]), array([0.36787945], dtype=float32))
    """
    is_number = np.isfinite(numbers)
    with np.errstate(all="ignore"):
        value = np.exp(numbers)  # exact for infinities and NaN
        as_complex = numbers[is_number].astype(np.result_type(numbers, np.complex64))
        value[is_number] = np.exp(as_complex).real
    return value


def root(numbers: Reals) -> npt.NDArray[np.inexact[Any]]:
    """Return ``sqrt(numbers)``: complex if one of them is negative.

    Examples
    --------
    >>> root(np.array([4.0, -0.0])), root(np.array([4.0, -9.0]))
    (array([ 2., -0.]), array([2.+0.j, 0.+3.j]))
    """
    if not np.any(numbers < 0):
        return np.sqrt(numbers)
    value = np.zeros(numbers.shape, np.result_type(numbers, np.complex64))
    negative = numbers < 0
    value.real[~negative] = np.sqrt(numbers[~negative])
    value.imag[negative] = np.sqrt(-numbers[negative])
    return value


def round_half_away(number: float) -> int:
    """Return ``round(number)``: halves go away from zero; numpy's go to the even number.

    Examples
    --------
    >>> round_half_away(0.5), round_half_away(10.5), round_half_away(-2.5)
    (1, 11, -3)
    """
    return int(math.copysign(math.floor(abs(number) + 0.5), number))
