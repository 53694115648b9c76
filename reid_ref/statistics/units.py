"""Values of each query added up by unit; resamples and signs of units, the same with every numpy.

numpy may change what `Generator.integers` draws from a seed; the words of a bit generator it
keeps (NEP 19). Work is done in blocks, which the numbers drawn do not depend on.
"""
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import (
    Doubles, InputError, IntervalWarning, Value, as_vector, blocks_of, check_count, warn)

#: With fewer units than these an interval is printed with a warning.
FEW_UNITS = 20
#: What rounding leaves of an exact zero is below this, for values up to 1.
ZERO = 1e-12


@dataclass(frozen=True, eq=False)
class UnitSums(Value):
    """Sums over the queries of each unit that has a query that counts, in order of its label.

    Parameters
    ----------
    value : float64, shape (G,)
        Sum of the values.
    weight : float64, shape (G,)
        Number of queries, or sum of their weights.
    """

    value: Doubles
    weight: Doubles

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return add_up(self.weight)

    @property
    def mean(self) -> float:
        """Mean over queries, not over units."""
        return add_up(self.value) / self.total

    @property
    def errors(self) -> Doubles:
        """How far each unit's sum is from what the mean lets expect."""
        return without_rounding(self.value - self.mean * self.weight, self.weight)


def unit_sums(values: Any, unit: Any, counted: Any = None, weight: Any = None) -> UnitSums:
    """Add up values by unit.

    Parameters
    ----------
    values : array_like, shape (n,)
        One number per query.
    unit : array_like, shape (n,)
        The identity of each query, or another group: numbers or texts.
    counted : array_like of bool, shape (n,), optional
        Which queries are in the mean; all by default.
    weight : array_like, shape (n,), optional
        Of each query in the mean; 1 by default.

    Returns
    -------
    UnitSums
        Of the units that have a query that counts.

    Raises
    ------
    InputError
        Arrays of different length, a value that is NaN or infinite and counts, or fewer than two
        units.

    Examples
    --------
    >>> sums = unit_sums([1, .5, 0, .25], unit=[7, 3, 7, 9], counted=[True, True, True, False])
    >>> sums.value, sums.weight, sums.mean
    (array([0.5, 1. ]), array([1., 2.]), 0.5)
    """
    numbers = as_vector(values, "values").astype(np.float64)
    keep = np.ones(len(numbers), bool) if counted is None else as_vector(counted, "counted") != 0
    groups = as_vector(unit, "unit")
    weights = (np.ones(len(numbers)) if weight is None
               else as_vector(weight, "weight").astype(np.float64))
    for name, array in (("counted", keep), ("unit", groups), ("weight", weights)):
        if len(array) != len(numbers):
            raise InputError(name, f"{len(numbers)} entries, one for each query", len(array))
    if groups.dtype.kind not in "iubUSf" or (groups.dtype.kind == "f" and np.isnan(groups).any()):
        raise InputError("unit", "a number or a text for each query",
                         "NaN" if groups.dtype.kind == "f" else f"dtype {groups.dtype}")
    for query in np.flatnonzero(keep & ~np.isfinite(numbers))[:1]:
        raise InputError(
            "values", "a number of every query that counts", f"{numbers[query]} of query "
            f"{query}: the mean is no number and has no interval",
            "choose a convention that counts such queries as 0 or leaves them out")
    numbers, weights = numbers[keep], weights[keep]
    code = np.unique(groups[keep], return_inverse=True)[1].reshape(-1)
    sums = UnitSums(by_code(code, numbers * weights), by_code(code, weights))
    if len(sums.weight) < 2:
        raise InputError("unit", "at least 2 units with a query that counts", len(sums.weight),
                         "how much units differ cannot be estimated")
    return sums


def by_unit_and_query(values: Any, unit: Any, counted: Any = None,
                      weight: Any = None) -> tuple[UnitSums, UnitSums]:
    """Return the sums of an interval: those of `unit_sums`, and with each query for a unit."""
    return (unit_sums(values, unit, counted, weight),
            unit_sums(values, np.arange(np.size(values)), counted, weight))


def warn_few(units: int) -> None:
    """Warn if units are too few for an interval to be relied on."""
    if units < FEW_UNITS:
        warn(f"only {units} units for these intervals, which may be too narrow below {FEW_UNITS}",
             IntervalWarning)


def by_code(code: npt.NDArray[np.intp], values: Doubles) -> Doubles:
    # bincount adds in order of the queries, one after another; of nothing it gives integers.
    return np.bincount(code, weights=values).astype(np.float64)


def add_up(values: Doubles) -> float:
    """Sum of one value after another, which `sum` does not do."""
    return float(np.cumsum(values)[-1])


def without_rounding(sums: Doubles, weight: Doubles) -> Doubles:
    """Replace sums over queries that are 0 but for rounding by 0."""
    return np.where(np.abs(sums) <= ZERO * weight, 0.0, sums)


RESAMPLES, MOST_RESAMPLES = 10_000, 1_000_000
SEED = 12_345
#: Entries of a block: 16 MiB as doubles, and few of them are held at once.
BLOCK = 2**21
#: Columns that are added up together: their sums stay in the processor's cache.
TOGETHER = 5


def resampled_sums(columns: Doubles, resamples: int, seed: int) -> Doubles:
    """Return sums over units drawn with replacement, as many as there are.

    Parameters
    ----------
    columns : float64, shape (C, G)
        What is added up, of each unit.

    Returns
    -------
    float64, shape (C, resamples)
    """
    parts = [np.concatenate([add_rows(columns[k:k + TOGETHER], counts)
                             for k in range(0, len(columns), TOGETHER)])
             for counts in drawn_counts(columns.shape[1], resamples, seed)]
    return np.concatenate(parts, axis=1)


def drawn_counts(units: int, resamples: int, seed: int) -> Iterator[Doubles]:
    """Yield how often each unit is drawn: shape (units, resamples of this block)."""
    source = np.random.PCG64(seed)
    for block in blocks_of(resamples, BLOCK // units):
        size = block.stop - block.start
        words = source.random_raw(size * units).reshape(size, units)
        words >>= np.uint64(32)
        words *= np.uint64(units)
        words >>= np.uint64(32)
        words *= np.uint64(size)
        words += np.arange(size, dtype=np.uint64)[:, np.newaxis]
        place = words.reshape(-1).view(np.int64)  # unit and resample
        yield np.bincount(place, minlength=units * size).reshape(units, size).astype(np.float64)


def flipped_sums(columns: Doubles, leading: int, resamples: int,
                 seed: int) -> tuple[bool, Doubles]:
    """Return whether every choice of signs of the leading units is tried, and the flipped sums.

    Parameters
    ----------
    columns : float64, shape (C, G)
        What is added up, of each unit, with one sign per unit.
    leading : int
        Units whose signs are each tried once in `resamples`, or as often each, if that many
        suffice; the signs of the others are drawn.

    Returns
    -------
    bool
    float64, shape (C, tried)
    """
    every = leading < resamples.bit_length()  # 2**leading <= resamples, whatever its type can hold
    tried = resamples - resamples % 2**leading if every else resamples
    parts = [add_rows(columns, signs)
             for signs in choices_of_signs(columns.shape[1], leading if every else 0, tried, seed)]
    return every, np.concatenate(parts, axis=1)


def choices_of_signs(units: int, counted: int, number: int, seed: int) -> Iterator[Doubles]:
    """Yield signs, the first `counted` in every choice, the others drawn: shape (units, choices of
    this block).
    """
    source, drawn = np.random.PCG64(seed), units - counted
    n_words = -(-drawn // 64)
    for block in blocks_of(number, BLOCK // (64 * (n_words + bool(counted)))):
        signs = []
        choice = np.arange(block.start, block.stop, dtype=np.uint64)[:, np.newaxis]
        if counted:
            signs.append(_signs(choice)[:counted])
        if drawn:
            words = source.random_raw(len(choice) * n_words).reshape(len(choice), n_words)
            signs.append(_signs(words)[:drawn])
        yield np.concatenate(signs) if len(signs) > 1 else signs[0]


#: Each bit of an octet, the lowest first.
_BITS = np.array([[1 << bit] for bit in range(8)], np.uint8)


def _signs(words: npt.NDArray[np.uint64]) -> Doubles:
    """Return 1 for each bit that is set and -1 for the others, the words of a row in a column."""
    octets = words.astype("<u8").view(np.uint8).reshape(len(words), -1)
    rows = np.ascontiguousarray(octets.T)[:, np.newaxis]
    bits = ((rows & _BITS) != 0).reshape(-1, len(words)).view(np.int8)
    bits += bits
    bits -= 1
    signs: Doubles = bits.astype(np.float64)
    return signs


def add_rows(columns: Doubles, factors: Doubles) -> Doubles:
    """Return ``columns @ factors``, added up one unit after another.

    A matrix product adds in an order that depends on the processor and the number of threads.
    """
    total = np.zeros((len(columns), factors.shape[1]))
    term = np.zeros_like(total)
    for column, factor in zip(columns.T[:, :, np.newaxis], factors):
        np.multiply(column, factor, out=term)
        total += term
    return total


def check_random(resamples: Any, seed: Any) -> tuple[int, int]:
    """Return the two as Python's whole numbers, or refuse what nothing can be drawn with."""
    return check_count(resamples, "resamples", 1, MOST_RESAMPLES), check_count(seed, "seed", 0)
