"""Methods of several training runs: quantiles against scipy, the test against its definition."""
import math
from dataclasses import replace

import numpy as np
import pytest

from reid_ref import InputError
from reid_ref.statistics import between_methods, difference, spread
from reid_ref.statistics.quantiles import (
    chi_square_quantile, chi_square_tail, student_quantile, student_tail)

special = pytest.importorskip("scipy.special")


@pytest.mark.parametrize("degrees", [1, 1.0001, 1.3, 2, 3.7, 8, 99, 749, 3059, 1e5])
def test_student_is_that_of_scipy(degrees):
    for tail in (1e-12, 1e-6, 1e-3, .01, .05, .2, .5, .9, .999):
        t = student_quantile(tail, degrees)
        assert t == pytest.approx(-special.stdtrit(degrees, tail / 2), rel=1e-9)
        assert student_tail(t, degrees) == pytest.approx(tail, rel=1e-9)
    assert student_tail(0, degrees) == 1 and student_tail(1e200, degrees) == 0


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 30])
def test_chi_square_is_that_of_scipy(degrees):
    for tail in (.001, .025, .5, .975, .999):
        x = chi_square_quantile(tail, degrees)
        assert x == pytest.approx(special.chdtri(degrees, tail), rel=1e-10)
        assert chi_square_tail(x, degrees) == pytest.approx(tail, rel=1e-10)


def models(value, se, units=100):
    """The answer about trained models: here Student's, so that many are made in a moment."""
    half = student_quantile(.05, units - 1) * se
    return replace(
        difference([.5] * 20, [.6] * 20, range(20)), difference=value, low=value - half,
        high=value + half, se=se, p=student_tail(value / se, units - 1), better=units)


def test_spread_of_seeds():
    found = spread([.42, .40, .44])
    assert (found.runs, found.mean) == (3, .42) and found.sd == pytest.approx(.02)
    # "Of three seeds .5 to 6.3 times it."
    assert [round(end / found.sd, 1) for end in (found.low, found.high)] == [.5, 6.3]
    assert spread([.4]).__dict__ == dict(mean=.4, runs=1, sd=None, low=None, high=None)
    # Runs that are all alike have no interval, which would be of width 0.
    assert spread([.4, .4]).__dict__ == dict(mean=.4, runs=2, sd=0, low=None, high=None)


def test_three_seeds_by_definition():
    before, after = [.41, .43, .42], [.44, .48, .43]
    alone = models(.03, .01)
    found = between_methods(alone, before, after)
    a, b = (np.var(runs, ddof=1) / 3 for runs in (before, after))
    welch = (a + b)**2 / (a**2 / 2 + b**2 / 2)
    quantile = (.01**2 * special.stdtrit(99, .975) + (a + b) * special.stdtrit(welch, .975)) / (
        .01**2 + a + b)
    assert found.se == pytest.approx(math.sqrt(.01**2 + a + b), rel=1e-12)
    assert found.se_runs == pytest.approx(math.sqrt(a + b), rel=1e-12)
    assert found.high == pytest.approx(.03 + quantile * found.se, rel=1e-9)
    assert found.low == pytest.approx(.03 - quantile * found.se, rel=1e-9)
    # p is the level whose interval ends at 0.
    at_p = between_methods(alone, before, after, level=100 * (1 - found.p))
    assert at_p.low == pytest.approx(0, abs=1e-9)


def test_two_seeds_have_quantiles_of_their_own():
    before, after = [.41, .43], [.44, .48, .43, .45, .45]
    found = between_methods(models(.03, .01), before, after)
    parts = [(.01**2, 99), (np.var(before, ddof=1) / 2, 1), (np.var(after, ddof=1) / 5, 4)]
    total = sum(variance for variance, _ in parts)
    quantile = sum(
        variance * special.stdtrit(degrees, .975) for variance, degrees in parts) / total
    assert found.high == pytest.approx(.03 + quantile * math.sqrt(total), rel=1e-9)


def test_paired_seeds():
    before, after = [.41, .43, .42], [.44, .46, .455]
    found = between_methods(models(.03, .01), before, after, paired=True)
    assert found.se_runs == pytest.approx(np.std([.03, .03, .035], ddof=1) / math.sqrt(3))
    assert found.p < between_methods(models(.03, .01), before, after).p
    with pytest.raises(InputError, match="^other: expected 3 runs, as of baseline"):
        between_methods(models(.03, .01), before, after[:2], paired=True)


def test_the_answer_about_models_is_a_bound():
    """Runs that do not differ add nothing; a test of the models that doubts is believed."""
    alone = models(.03, .01)
    same = between_methods(alone, [.4] * 3, [.43] * 3)
    assert (same.low, same.high, same.p) == pytest.approx((alone.low, alone.high, alone.p))
    doubted = replace(alone, low=-.5, p=.7)
    found = between_methods(doubted, [.40, .41, .42], [.43, .44, .45])
    assert found.low == -.5 and found.p == .7 and found.high < .5
    nothing = difference([.5] * 30, [.5] * 30, range(30))
    found = between_methods(nothing, [.5, .5], [.5, .5])
    assert (found.low, found.high, found.p) == (nothing.low, nothing.high, 1)
    assert between_methods(nothing, [.4, .6], [.5, .5]).p == 1


@pytest.mark.parametrize(("seeds", "sd"), [(2, (0, 2)), (3, (1, 1)), (5, (.5, 2))])
def test_equal_methods_are_rarely_told_apart(seeds, sd):
    """Of 750 identities; the difference of trained models has a standard error of .5 points."""
    draws, rng = 400, np.random.default_rng(5)
    alone = wrong = 0
    for _ in range(draws):
        before, after = (each / 100 * rng.standard_normal(seeds) for each in sd)
        found = models(.005 * rng.standard_normal() + after.mean() - before.mean(), .005, 750)
        methods = between_methods(found, before, after)
        assert methods.p >= found.p and (methods.p > .05) == (methods.low <= 0 <= methods.high)
        alone, wrong = alone + (found.p <= .05), wrong + (methods.p <= .05)
    assert wrong <= .08 * draws < .25 * draws < alone


def test_one_run_is_refused():
    with pytest.raises(InputError, match="^baseline: expected the numbers of at least 2 runs"):
        between_methods(models(.03, .01), [.4], [.4, .5])
    with pytest.raises(InputError, match="^values: "):
        spread([])
