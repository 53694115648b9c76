"""Student's t and chi-square, in the standard library's arithmetic: tails and quantiles."""
import math

#: Steps of the iterations, of which none needs as many, and the relative change that ends one.
STEPS, SAME = 500, 1e-14


def student_tail(t: float, degrees: float) -> float:
    """Return the probability that Student's t is at least this far from 0, on either side.

    Examples
    --------
    >>> round(student_tail(12.7062, 1), 6), round(student_tail(2, 7.5), 6)
    (0.05, 0.082897)
    """
    square = t * t
    if math.isinf(square):
        return 0.0
    return _beta_share(degrees / (degrees + square), square / (degrees + square), degrees / 2, .5)


def student_quantile(tail: float, degrees: float) -> float:
    """Return t that has this two-sided tail.

    The logarithm of the tail is a concave function of that of t: Newton's method converges.

    Examples
    --------
    >>> [round(student_quantile(.05, degrees), 4) for degrees in (1, 2.5, 749)]
    [12.7062, 3.5747, 1.9631]
    """
    x = 0.0
    constant = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - .5 * math.log(
        degrees * math.pi)
    for _ in range(STEPS):
        t = math.exp(x)
        found = student_tail(t, degrees)
        density = math.exp(constant - (degrees + 1) / 2 * math.log1p(t * t / degrees))
        step = (math.log(found) - math.log(tail)) * found / (2 * density * t)
        x += min(step, .5)  # further to the right the tail may be 0 in doubles
        if abs(step) < SAME * 10:
            break
    return math.exp(x)


def _beta_share(x: float, rest: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function at x = 1 - rest."""
    if x == 0 or rest == 0:
        return float(rest == 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(rest, x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
                     + a * math.log(x) + b * math.log(rest)) / a
    return front * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function.

    References
    ----------
    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.5.8, by Lentz's method.
    """
    numerator, denominator = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = denominator
    for m in range(1, STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            denominator, numerator = 1 / (1 + term * denominator), 1 + term / numerator
            factor = numerator * denominator
            value *= factor
        if abs(factor - 1) < SAME:
            break
    return value


def chi_square_tail(x: float, degrees: int) -> float:
    """Return the probability that chi-square is at least x.

    Examples
    --------
    >>> round(chi_square_tail(7.3778, 2), 5), round(chi_square_tail(3.8415, 1), 5)
    (0.025, 0.05)
    """
    half, odd = x / 2, degrees % 2
    tail = math.erfc(math.sqrt(half)) if odd else 0.0
    powers = [k + odd / 2 for k in range((degrees - odd) // 2)]
    return tail + math.fsum(math.exp(k * math.log(half) - half - math.lgamma(k + 1))
                            for k in powers)


def chi_square_quantile(tail: float, degrees: int) -> float:
    """Return the value that has this upper tail.

    Examples
    --------
    >>> round(chi_square_quantile(.025, 2), 4), round(chi_square_quantile(.975, 2), 4)
    (7.3778, 0.0506)
    """
    low, high = 0.0, 1.0
    while chi_square_tail(high, degrees) > tail:
        low, high = high, 2 * high
    while high - low > SAME * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if chi_square_tail(middle, degrees) > tail else (low, middle)
    return high
