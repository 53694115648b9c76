"""The definitions again, one resample at a time in plain Python, for few units.

Only the words of PCG64 are shared with what is tested.
"""
import math

import numpy as np


def words(count, seed):
    return [int(one) for one in np.random.PCG64(seed).random_raw(count)]


def resamples(units, number, seed):
    drawn = [((one >> 32) * units) >> 32 for one in words(units * number, seed)]
    return [drawn[k * units:(k + 1) * units] for k in range(number)]


def mean_and_error(value, weight):
    units, total = len(value), math.fsum(weight)
    mean = math.fsum(value) / total
    square = math.fsum((s - mean * n)**2 for s, n in zip(value, weight))
    return mean, math.sqrt(units / (units - 1) * square) / total


def bootstrap_t(value, weight, number, seed, place):
    """The ends that leave out the `place` - 1 outermost resamples on either side."""
    mean, error = mean_and_error(value, weight)
    t = []
    for chosen in resamples(len(value), number, seed):
        other, spread = mean_and_error([value[k] for k in chosen], [weight[k] for k in chosen])
        if spread > 1e-9:
            t.append((other - mean) / spread)
        else:
            t.append(0 if abs(other - mean) < 1e-9 else math.copysign(math.inf, other - mean))
    t.sort()
    return mean - t[-place] * error, mean - t[place - 1] * error


def sign_flips(gains, number, seed):
    """p of the two-sided test, with one added to both counts."""
    each = -(-len(gains) // 64)
    observed, count = abs(math.fsum(gains)), 1
    drawn = words(each * number, seed)
    for k in range(number):
        bits = sum(word << 64 * place for place, word in enumerate(drawn[k * each:(k + 1) * each]))
        flipped = math.fsum(one if bits >> j & 1 else -one for j, one in enumerate(gains))
        count += abs(flipped) > observed - 1e-9
    return count / (number + 1)
