"""The statistics against cases worked by hand, and definitions in plain Python (`second.py`)."""
import math
import warnings

import numpy as np
import pytest

from reid_ref import (
    CONVENTIONS, IntervalWarning, Labels, evaluate_distances, evaluate_ranked_lists, statistics)
from reid_ref.result import query_values
from reid_ref.statistics import paired, units
from reid_ref.statistics.interval import bootstrap_t, interval, mean_intervals, studentized
from tests.proof.mutants import near, same
from tests.refusals import refused
from tests.statistics import second


MATLAB = CONVENTIONS["matlab"]

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")


def some():
    rng = np.random.default_rng(3)
    unit = rng.integers(0, 22, 70)
    return np.clip(rng.random(22)[unit] + .2 * rng.standard_normal(70), 0, 1), unit


def test_sums():
    sums = units.unit_sums([.5, 1, 0, .25], [7, 3, 7, 9], [True, True, True, False])
    same(sums.value, [1, .5])
    same(sums.weight, [1, 2])
    same(sums.errors, [.5, -.5])
    assert (sums.mean, sums.total) == (.5, 3)
    weighted = units.unit_sums([1, 0, 1], [1, 1, 2], weight=[3, 1, 4])
    same(weighted.value, [3, 4])
    same(weighted.weight, [4, 4])
    assert units.add_up(np.array([1.0] + [2.0**-53] * 1000)) == 1
    same(units.unit_sums([.3] * 6, [1, 1, 1, 2, 2, 2]).errors, [0, 0])
    refused("values", "nan of query 2", units.unit_sums, [.5, np.nan, np.nan], [1, 2, 3],
            [True, False, True])
    refused("unit", "at least 2", units.unit_sums, [.5] * 3, [1, 1, 2], [True, True, False])
    refused("unit", "NaN", units.unit_sums, [.5, .5], [1, np.nan])
    names = np.array([5, 2, 5, 1])  # labels of units are only names
    for unit in (names, names.astype("U"), names.astype(np.uint8), names / 2):
        same(units.unit_sums([.1, .9, .4, .3], unit).value, [.3, .9, .5])
    with pytest.warns(IntervalWarning, match="only 19"):
        units.warn_few(19)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        units.warn_few(20)
    assert not said


def test_spread():
    values, unit = [1, 1, 0, 0, 1], [1, 1, 2, 2, 3]
    by_unit = statistics.unit_sums(values, unit)
    by_query = statistics.unit_sums(values, range(5))
    # Errors by unit: .8, -1.2, .4; by query: .4 three times, -.6 twice.
    near(statistics.standard_error(by_unit), math.sqrt(1.5 * 2.24) / 5)
    near(statistics.standard_error(by_query), math.sqrt(1.25 * 1.2) / 5)
    with pytest.warns(IntervalWarning):
        found, = statistics.mean_intervals([(by_unit, by_query)])
    near(found.design_effect, 1.5 * 2.24 / (1.25 * 1.2))


def test_draws(monkeypatch):
    for block in (units.BLOCK, 100):
        monkeypatch.setattr(units, "BLOCK", block)
        columns = np.arange(14.0).reshape(2, 7)
        expected = [[sum(columns[c, k] for k in chosen) for chosen in
                     second.resamples(7, 50, 5)] for c in (0, 1)]
        same(units.resampled_sums(columns, 50, 5), expected)
        same(units.resampled_sums(np.repeat(columns, 4, axis=0), 50, 5),
             np.repeat(expected, 4, axis=0))
        for size in (5, 64, 70):
            values = np.arange(1.0, size + 1)
            for leading, number in ((size, 20), (3, 20), (4, 16)):
                every, signs = second.choices_of_signs(size, leading, number, 9)
                found = units.flipped_sums(np.stack([values, values**2]), leading, number, 9)
                assert found[0] == every
                same(found[1], [np.array(signs) @ values, np.array(signs) @ values**2])
    units.check_random(1, 0)
    refused("seed", "from 0", units.check_random, 1, -1)
    refused("resamples", "from 1", units.check_random, 0, 0)


def ends(found):
    return found.low, found.high


def test_interval():
    values, unit = some()
    sums = units.unit_sums(values, unit)
    arguments = list(sums.value), list(sums.weight), 199, 7
    for level, place in ((95, 5), (90, 10)):
        found = interval(values, unit, level=level, resamples=199, seed=7)
        np.testing.assert_allclose(ends(found), second.bootstrap_t(*arguments, place), rtol=0,
                                   atol=1e-12)
    se, naive = second.mean_and_error(*arguments[:2])[1], values.std(ddof=1) / 70**.5
    near((found.se, found.se_naive), (se, naive))
    near(found.design_effect, (se / naive)**2)
    assert (found.units, found.queries, found.resamples, found.seed) == (
        len(set(unit)), 70, 199, 7)
    wrong = np.ones(60)
    wrong[[0, 1]] = 0
    sums = units.unit_sums(wrong, np.arange(60) // 2)
    alike = sum(0 not in chosen for chosen in second.resamples(30, 199, 1))
    assert np.count_nonzero(studentized([sums], 199, 1)[0] == np.inf) == alike > 40
    found = interval(wrong, np.arange(60) // 2, resamples=199, seed=1)
    assert (found.method, found.resamples, found.seed) == ("analytic", 0, None)
    for few in (np.arange(40) > 1, np.arange(40) < 2):  # one end is infinite
        assert interval(few, range(40), resamples=199, seed=1).method == "analytic"
    mirrored = interval(1 - wrong, np.arange(60) // 2, resamples=199, seed=1)
    near(ends(mirrored), (1 - found.high, 1 - found.low))
    t = {29: 2.045229642132703}[29]  # the table of Student's t: 97.5 %
    half = t * found.se / (found.value * (1 - found.value))
    middle = math.log(found.value / (1 - found.value))
    same(ends(found), ends(interval(wrong, np.arange(60) // 2, method="analytic")))
    # Together as alone: other numbers, other units, none of which differs.
    several = [units.unit_sums(*one) for one in ((values, unit), (wrong, np.arange(60) // 2), (
        np.ones(20), range(20)), (1 - values, unit), (values**2, np.arange(70)))]
    together = mean_intervals([(one, one) for one in several], resamples=199, seed=7)
    alone = [mean_intervals([(one, one)], resamples=199, seed=7)[0] for one in several]
    assert repr(together) == repr(alone)  # NaN is not equal to itself
    near(ends(together[0]), second.bootstrap_t(*arguments, 5))
    np.testing.assert_allclose(ends(found), [1 / (1 + math.exp(-middle + half)),
                                             1 / (1 + math.exp(-middle - half))], atol=1e-12)
    bound = .025**(1 / 20)
    near(ends(interval(np.ones(20), range(20))), (bound, 1))
    near(ends(interval(np.zeros(20), range(20))), (0, 1 - bound))
    near(ends(interval(np.full(20, .25), range(20))), (.25 * bound, 1 - .75 * bound))
    # One right and one wrong query of each identity: some of a kind that was not drawn may differ.
    found = interval(np.tile([1., 0], 20), np.arange(40) // 2)
    assert (found.method, found.se, found.value) == ("unseen", 0, .5)
    near(ends(found), (.5 * bound, 1 - .5 * bound))
    for value in (1 - 2.0**-53, 1 + 2.0**-52):  # layumi's AP adds up n times 1/n
        found = interval(np.full(20, value), range(20))
        assert found.method == "exact" and found.high == found.value == pytest.approx(1, abs=1e-15)
        near(found.low, bound)


@pytest.mark.parametrize("values, seed", [
    ([.3, .01, .8], 587), ([.37, .1, .1], 636), ([.41, .8, .41], 1155), ([.1, .1, .82], 1603)])
def test_an_interval_contains_the_number(values, seed):
    """Also where its end is the number, but for the order in which units are added up."""
    found = interval(values, range(3), level=50, resamples=100, seed=seed)
    assert found.low <= found.value <= found.high and found.method == "bootstrap-t"


def test_an_end_outside_of_what_can_be_is_not_taken():
    values = np.concatenate([np.full(21, .95), np.linspace(0, .9, 4)])
    (low, _), = bootstrap_t([units.unit_sums(values, np.arange(25))], .05, 199, 1)
    assert -1 < low < 0  # finite, by a resample with hardly a spread
    for one in (values, 1 - values):
        found = interval(one, range(25), resamples=199, seed=1)
        assert found == interval(one, range(25), method="analytic")


def test_order_of_queries_and_names_of_units_move_at_most_rounding():
    values, unit = some()
    order = np.random.default_rng(0).permutation(len(values))
    near(ends(interval(values, unit)), ends(interval(values[order], unit[order] + 1000)), 1e-12)


@pytest.mark.parametrize("options, argument, noun", [
    *(({"level": level}, "level", "percent from 50 to below 100") for level in (.95, 49, 100)),
    ({"seed": -1}, "seed", "a whole number from 0"),
    ({"resamples": True}, "resamples", "from 1 to 1000000"),
    ({"resamples": 198, "level": 99}, "resamples", "at least 199 "),
    ({"resamples": 38}, "resamples", "at least 39 "),
    ({"resamples": 99, "level": 50}, "resamples", "at least 100 "),
    ({"resamples": 39, "level": 80}, "resamples", "at least 40 "),
    ({"method": "percentile"}, "method", "unknown 'percentile'"),
])
def test_bad_input(options, argument, noun):
    refused(argument, noun, interval, *some(), **options)


def shown_by(found, by_errors):
    """What is detectable by standard errors, but never what the interval does not tell from 0."""
    return max(by_errors, found.high - found.difference, found.difference - found.low)


def test_paired():
    rng = np.random.default_rng(2)
    for gains, weights in (
            ([.5, 0, -.25], [1, 1, 1]), ([.9, 0, .8], [1, 1, 1]),
            ([2, 1, -1, 0, 0], [2, 2, 1, 1, 3]), ([-.6, .3, .3, .3], [1, 2, 1, 1]),
            ([.3, .1, .2, .3], [4, 3, 2, 3]), ([0] * 9, [1] * 9), ([.25] * 12, [1] * 12),
            (rng.integers(-3, 9, 14) / 16, rng.integers(1, 7, 14)),
            (rng.integers(0, 2, 14), rng.integers(1, 7, 14))):
        gains, weights = [[float(value) for value in column] for column in (gains, weights)]
        mean = math.fsum(gains) / math.fsum(weights)
        for alpha, number in ((.05, 99), (.2, 40), (.05, 19)):
            low, high, p, tried = paired.sign_flips(
                units.UnitSums(np.array(gains), np.array(weights)), alpha, number, 4)
            p_of, expected = second.sign_flips(gains, weights, number, 4)
            near(p, p_of(0))
            assert tried == expected and low <= mean <= high
            assert any(gains) or low == -high
            # The ends are the last that are not rejected.
            for end, outwards in ((low, -1), (high, 1)) if any(gains) else ():
                assert p_of(end - outwards * 1e-6) > alpha + 1e-9 or low == high
                assert abs(end) == 1 or p_of(end + outwards * 1e-6) <= alpha + 1e-9
            assert (p > alpha + 1e-9) == (low <= 0 <= high)
    moved = [.5, -.25, .1 + .2 - .3] + [0.] * 20
    found = paired.difference([.4] * 23, [.4 + one for one in moved], range(23), resamples=99)
    near(found.difference, .25 / 23)
    assert (found.better, found.worse, found.same, found.trials) == (1, 1, 21, 96)
    near(found.detectable, shown_by(found, 2.8 * found.se * math.sqrt(9 / 2)))  # two changed
    near(found.se, math.sqrt(23 / 22 * (.25 + .0625 - .0625 / 23)) / 23)
    down = paired.difference([.9] * 23, np.linspace(.1, .9, 23), range(23), resamples=99)
    assert down.low < down.difference < down.high < 0
    assert (down.better, down.worse, down.same) == (0, 22, 1)
    near(down.detectable, shown_by(down, 2.8 * down.se))
    refused("unit", "3 entries", paired.difference, [.1, .2, .3], [.3, .2, .1], [1, 2])
    refused("other", "3 values", paired.difference, [.1, .2, .3], [.5, .5], [1, 2, 3])
    near(paired.holm([.5, .01, .4]), [.8, .03, .8])
    near(paired.holm([.01, .02, .03, .04]), [.04, .06, .06, .06])
    assert paired.holm([.9, .9]) == [1, 1]


@pytest.mark.parametrize("changed", range(201))
def test_any_number_of_units_may_change(changed):
    """Every choice of signs is tried where 2 to the number of units to flip is no more."""
    gains, weights = [.5] * changed + [0.] * (201 - changed), [1.] * 201
    *_, p, tried = paired.sign_flips(
        units.UnitSums(np.array(gains), np.array(weights)), .05, 40, 4)
    p_of, expected = second.sign_flips(gains, weights, 40, 4)
    near(p, p_of(0))
    assert tried == expected


@pytest.mark.parametrize("weights", [[5] * 200, [1] * 50, [1, 30] * 30, [1, 2, 3, 4, 5, 6] * 20])
def test_one_changed_query_does_not_narrow_the_interval(weights):
    """It does not tell that no identity changes altogether."""
    unit = np.repeat(np.arange(len(weights)), weights)
    before, after = np.zeros((2, len(unit)))
    none = paired.difference(before, after, unit)
    after[0] = 1
    one = paired.difference(before, after, unit)
    assert one.high - one.low >= none.high - none.low == 2 * none.high
    size = math.sqrt(np.square(weights).mean())  # of the imagined identity
    assert none.high > 1.8 * size / len(unit)
    near(none.detectable, shown_by(none, 9 * size / len(unit)), 1e-12)
    near(one.detectable, shown_by(one, 2.8 * one.se * 3), 1e-12)
    assert one.p == none.p == 1
    # Where all changed a little, nothing larger is imagined than was seen.
    after[:] = np.linspace(-.01, .03, len(after))
    assert paired.difference(before, after, unit).p < .05


@pytest.mark.parametrize("n", [2, 5, 10, 20, 50, 63, 200, 750])
def test_one_changed_query_narrows_the_interval_by_a_step_at_most(n):
    """Choices of signs are counted, so that the ends of the interval move in steps."""
    rng = np.random.default_rng(n)
    for weights in (np.ones(n, int), rng.integers(1, 7, n), np.where(rng.random(n) < .8, 1, 30),
                    np.minimum(200, 1 + rng.pareto(1, n)).astype(int)):
        unit = np.repeat(np.arange(n), weights)
        before, after = np.zeros((2, len(unit)))
        none = paired.difference(before, after, unit)
        for query, gain in ((0, 1), (len(unit) // 2, .5), (-1, .01)):
            after[:], after[query] = 0, gain
            one = paired.difference(before, after, unit)
            assert one.high - one.low > .9 * (none.high - none.low)


def test_imagined_units():
    gains, weights = np.zeros(10), np.array([1., 7.] * 5)  # of root mean square 5
    for changed, rate in ((0, 1), (1, 1), (2, .8), (4, .3), (5, .25), (10, .25)):
        gains[:changed] = weights[:changed] / 4
        near(paired.largest_gain(units.UnitSums(gains, weights)), 5 * rate, 1e-14)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64])
def test_numbers_of_numpy_are_pythons(kind):
    values, unit = some()
    assert (interval(values, unit, resamples=kind(127), seed=kind(3))
            == interval(values, unit, resamples=127, seed=3))
    assert (paired.difference(values, values**2, unit, resamples=kind(127))
            == paired.difference(values, values**2, unit, resamples=127))


def test_result():
    """Queries 0, 1 match first and third; 2 has no match; 3 is labelled -1 and has junk alone."""
    query, gallery = Labels([1, 2, 3, -1], [1] * 4), Labels([1, 8, 2, 1], [2] * 4)
    distances = np.tile(np.arange(4.0), (4, 1))
    ap, inp = [(1 + 2 / 4) / 2, 1 / 3, 0, 0], [2 / 4, 1 / 3, 0, 0]
    for changes, expected in (
            ({}, {"mAP": (ap, 4), "mINP": (inp, 4), "Rank-1": ([1, 0, 0, 0], 4),
                  "Rank-3": ([1, 1, 0, 0], 4), "P@3": ([1 / 3, 1 / 3, 0, 0], 4),
                  "R@3": ([.5, 1, 0, 0], 4)}),
            ({"unmatched": "drop"}, {"mAP": (ap, 2), "Rank-1": ([1, 0, 0, 0], 2)}),
            ({"unmatched": "drop-from-map"}, {"mAP": (ap, 2), "Rank-1": ([1, 0, 0, 0], 4)}),
            ({"unmatched": "drop-from-cmc"}, {"mAP": (ap, 4), "Rank-1": ([1, 0, 0, 0], 2)}),
            ({"unmatched": "nan"}, {"Rank-1": ([1, 0, 0, 0], 4)}),
            ({"cmc": "all-shots"}, {"Rank-1": ([.5, 0, 0, 0], 4)}),
            ({"cmc": "all-shots", "unmatched": "drop"}, {"Rank-3": ([1, 1, 0, 0], 2)}),
            ({"top_k": 2}, {"Rank-3": ([1, 0, 0, 0], 4)})):
        found = evaluate_distances(
            distances, query, gallery, convention=MATLAB.replace(ap="step", **changes))
        for metric, (values, counted) in expected.items():
            scores = query_values(found, metric)
            near(scores.values, values)
            same(scores.counted, np.arange(4) < counted)
            near(scores.mean, sum(values) / counted)


def test_loaded_and_units():
    query = Labels([-1, *np.arange(40) // 2], [1] * 41)
    distances = (query.identity[:, np.newaxis] != np.arange(20)).astype(float)
    distances[1:4, 12] = -1
    found = evaluate_distances(
        distances, query, Labels(range(20), [2] * 20), convention=MATLAB.replace(
            loads="without label -1", arithmetic="float32", ap="step"))
    same(query_values(found, "Rank-1").values, [0, 0, 0, 0, *[1] * 37])
    same(query_values(found, "Rank-1").counted, np.arange(41) > 0)
    sure = found.interval("Rank-1", resamples=99)
    error = np.full(20, 2 * 3 / 40)
    error[:2] -= 2, 1
    near(sure.se, math.sqrt(20 / 19 * (error**2).sum()) / 40)
    assert (sure.value, sure.unit, sure.units, sure.queries) == (
        float(np.float32(37) / np.float32(40)), "identity", 20, 40)
    assert found.interval("Rank-1", unit="query", resamples=99).units == 40
    nan = evaluate_distances(
        np.zeros((1, 1)), Labels([1], [1]), Labels([2], [1]),
        convention=MATLAB.replace(unmatched="nan"))
    refused("measure", "mAP is NaN under convention", nan.interval, "mAP")
    cut = evaluate_ranked_lists(
        [[0, 1]], Labels([1], [1]), Labels([1, 8, 1], [2] * 3))
    refused("measure", "mINP is NaN, for some lists", cut.interval, "mINP")
