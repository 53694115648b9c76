"""Resamples and signs from the raw words of PCG64: the same with every numpy.

numpy may change what `Generator.integers` draws from a seed; the words of a bit generator it
keeps (NEP 19). Work is done in blocks, which the numbers drawn do not depend on.
"""
from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError

RESAMPLES = 10_000
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
    for size in block_sizes(units, resamples):
        words = source.random_raw(size * units).reshape(size, units)
        words >>= np.uint64(32)
        words *= np.uint64(units)
        words >>= np.uint64(32)
        words *= np.uint64(size)
        words += np.arange(size, dtype=np.uint64)[:, np.newaxis]
        place = words.reshape(-1).view(np.int64)  # unit and resample
        yield np.bincount(place, minlength=units * size).reshape(units, size).astype(np.float64)


def flipped_sums(values: Doubles, resamples: int, seed: int) -> Doubles:
    """Return sums of values with random signs: shape (resamples,)."""
    source = np.random.PCG64(seed)
    n_words = -(-len(values) // 64)
    parts = []
    for size in block_sizes(64 * n_words, resamples):
        parts.append(_with_signs(values, source.random_raw(size * n_words).reshape(size, n_words)))
    return np.concatenate(parts)


def all_flipped_sums(values: Doubles) -> Doubles:
    """Return the sums with every choice of signs: shape (2**len(values),); fewer than 64."""
    return _with_signs(values, np.arange(2 ** len(values), dtype=np.uint64)[:, np.newaxis])


def _with_signs(values: Doubles, words: npt.NDArray[np.uint64]) -> Doubles:
    """Return one sum for each row of words; a bit that is set keeps the sign of its value."""
    octets = words.astype("<u8").view(np.uint8).reshape(len(words), -1)
    bits = np.unpackbits(octets, axis=1, bitorder="little")[:, :len(values)]
    signs = np.ascontiguousarray(bits.T, dtype=np.float64)
    signs *= 2
    signs -= 1
    sums: Doubles = add_rows(values[np.newaxis], signs)[0]
    return sums


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


def block_sizes(units: int, resamples: int) -> list[int]:
    step = max(1, BLOCK // units)
    return [min(step, resamples - start) for start in range(0, resamples, step)]


def check_random(resamples: Any, seed: Any) -> None:
    """Refuse what nothing can be drawn with."""
    for name, value, least in (("resamples", resamples, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
            raise InputError(f"{name}: expected a whole number from {least}, got {value!r}")
