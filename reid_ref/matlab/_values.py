"""MATLAB's rules for values that numpy lacks: one small function a rule.

Each was observed in GNU Octave 7.3.0; ``tests/proof/test_matlab_octave.py`` repeats it.
"""
from __future__ import annotations

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


def find(condition: npt.NDArray[np.bool_]) -> Integers:
    """Return ``find(condition)``, counted from 0.

    Examples
    --------
    >>> find(np.array([False, True, True]))
    array([1, 2])
    """
    return np.flatnonzero(condition).astype(np.int64)


def ismember(items: Integers, members: Integers) -> npt.NDArray[np.bool_]:
    """Return ``ismember(items, members)``, one truth value for each of `items`.

    Examples
    --------
    >>> ismember(np.array([3, 1, 3]), np.array([3, 2]))
    array([ True, False,  True])
    """
    return np.isin(items, members)


def setdiff(items: Integers, others: Integers) -> Integers:
    """Return ``setdiff(items, others)``: sorted, each once.

    Examples
    --------
    >>> setdiff(np.array([5, 1, 5, 3]), np.array([3]))
    array([1, 5])
    """
    return np.setdiff1d(items, others)


def unique(items: Integers) -> Integers:
    """Return ``unique(items)``: sorted, each once.

    Examples
    --------
    >>> unique(np.array([5, 1, 5]))
    array([1, 5])
    """
    return np.unique(items)
