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


def with_imagined(gains, weights):
    """Units that changed, two imagined ones that gained and lost the most, and the others."""
    units = list(zip(gains, weights, strict=True))
    moved = [unit for unit in units if unit[0]]
    least = min(1, 2 / len(moved) - 2 / len(units)) if moved else 1
    most = max([least, *(abs(gain / weight) for gain, weight in moved)])
    most *= math.sqrt(math.fsum(weight**2 for weight in weights) / len(weights))
    return moved, [*moved, (most, 0), (-most, 0), *(unit for unit in units if not unit[0])]


def choices_of_signs(n, leading, number, seed):
    """Whether every choice of the leading signs is tried, and the rows of signs."""
    every = 2**leading <= number
    tried, first = (number - number % 2**leading, leading) if every else (number, 0)
    each = -(-(n - first) // 64)
    drawn = words(each * tried, seed)
    bits = [[k >> j & 1 for j in range(first)]
            + [drawn[k * each + j // 64] >> j % 64 & 1 for j in range(n - first)]
            for k in range(tried)]
    return every, [[2 * bit - 1 for bit in row] for row in bits]


def sign_flips(gains, weights, number, seed):
    """Return what gives p of the two-sided test that the mean gain is d, and the choices tried."""
    moved, units = with_imagined(gains, weights)
    every, rows = choices_of_signs(len(units), len(moved) + 2, number, seed)

    def p(d):
        beyond = [gain - d * weight for gain, weight in units]
        observed = abs(math.fsum(beyond))
        count = sum(abs(math.fsum(sign * value for sign, value in zip(row, beyond, strict=True)))
                    >= observed - 1e-9 for row in rows)
        return count / len(rows) if every else (count + 1) / (len(rows) + 1)
    return p, len(rows)
