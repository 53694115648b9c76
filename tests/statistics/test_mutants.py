"""Small faults, put into the statistics one at a time, must be caught by a quick set of checks.

What the checks compare with is worked by hand, or is the definition in plain Python in
`second.py`.
"""
import math
import warnings

import numpy as np
import pytest

from reid_ref import InputError, Labels
from tests.nightly import cases
from tests.proof.mutants import afresh, all_checks, each, is_caught, world
from tests.proof.test_fast_mutants import near, same
from tests.statistics import second

ROOMS = ("statistics", "ranking", "metrics", "conventions", "result", "evaluation")


def raises(message, call):
    with pytest.raises(InputError, match=message):
        call()


def some():
    rng = np.random.default_rng(3)
    unit = rng.integers(0, 22, 70)
    return np.clip(rng.random(22)[unit] + .2 * rng.standard_normal(70), 0, 1), unit


def check_sums():
    units = afresh("statistics.units")
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
    raises("values: .* nan of query 2", lambda: units.unit_sums(
        [.5, np.nan, np.nan], [1, 2, 3], [True, False, True]))
    raises("unit: expected at least 2", lambda: units.unit_sums([.5, .5], [1, 1]))
    raises("got NaN", lambda: units.unit_sums([.5, .5], [1, np.nan]))
    with pytest.warns(UserWarning, match="only 19"):
        units.warn_few(19)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        units.warn_few(20)
    assert not said


def check_spread():
    statistics = afresh("statistics")
    values, unit = [1, 1, 0, 0, 1], [1, 1, 2, 2, 3]
    by_unit = statistics.unit_sums(values, unit)
    by_query = statistics.unit_sums(values, range(5))
    # Errors by unit: .8, -1.2, .4; by query: .4 three times, -.6 twice.
    near(statistics.standard_error(by_unit), math.sqrt(1.5 * 2.24) / 5)
    near(statistics.standard_error(by_query), math.sqrt(1.25 * 1.2) / 5)
    near(statistics.design_effect(by_unit, by_query), 1.5 * 2.24 / (1.25 * 1.2))
    # Between: .32 + .72 + .16; none within, of two degrees of freedom.
    near(statistics.intraclass_correlation(by_unit, by_query), 1)
    values = [1, .5, 0, 0, 1]
    # Means .75, 0, 1 of .5: between .125 + .5 + .25, within .125; mean size (5 - 9/5) / 2.
    near(statistics.intraclass_correlation(
        statistics.unit_sums(values, unit), statistics.unit_sums(values, range(5))),
        (.4375 - .0625) / (.4375 + .6 * .0625))
    assert math.isnan(statistics.intraclass_correlation(by_query, by_query))


def check_draws():
    draws = afresh("statistics.units")
    for block in (draws.BLOCK, 100):
        draws.BLOCK = block
        columns = np.arange(14.0).reshape(2, 7)
        expected = [[sum(columns[c, k] for k in chosen) for chosen in
                     second.resamples(7, 50, 5)] for c in (0, 1)]
        same(draws.resampled_sums(columns, 50, 5), expected)
        same(draws.resampled_sums(np.repeat(columns, 4, axis=0), 50, 5),
             np.repeat(expected, 4, axis=0))
        for size in (5, 64, 70):
            values = np.arange(1.0, size + 1)
            for leading, number in ((size, 20), (3, 20), (4, 16)):
                every, signs = second.choices_of_signs(size, leading, number, 9)
                found = draws.flipped_sums(np.stack([values, values**2]), leading, number, 9)
                assert found[0] == every
                same(found[1], [np.array(signs) @ values, np.array(signs) @ values**2])
    draws.check_random(1, 0)
    raises("seed", lambda: draws.check_random(1, -1))
    raises("resamples", lambda: draws.check_random(0, 0))


def ends(found):
    return found.low, found.high


def check_interval():
    module, units = afresh("statistics.interval"), afresh("statistics.units")
    values, unit = some()
    sums = units.unit_sums(values, unit)
    arguments = list(sums.value), list(sums.weight), 199, 7
    for level, place in ((95, 5), (90, 10)):
        found = module.interval(values, unit, level=level, resamples=199, seed=7)
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
    assert np.count_nonzero(module.studentized([sums], 199, 1)[0] == np.inf) == alike > 40
    found = module.interval(wrong, np.arange(60) // 2, resamples=199, seed=1)
    assert (found.method, found.resamples, found.seed) == ("analytic", 0, None)
    for few in (np.arange(40) > 1, np.arange(40) < 2):  # one end is infinite
        assert module.interval(few, range(40), resamples=199, seed=1).method == "analytic"
    mirrored = module.interval(1 - wrong, np.arange(60) // 2, resamples=199, seed=1)
    near(ends(mirrored), (1 - found.high, 1 - found.low))
    t = {29: 2.045229642132703}[29]  # the table of Student's t: 97.5 %
    half = t * found.se / (found.value * (1 - found.value))
    middle = math.log(found.value / (1 - found.value))
    same(ends(found), ends(module.interval(wrong, np.arange(60) // 2, method="analytic")))
    # Together as alone: other numbers, other units, none of which differs.
    several = [units.unit_sums(*one) for one in ((values, unit), (wrong, np.arange(60) // 2), (
        np.ones(20), range(20)), (1 - values, unit), (values**2, np.arange(70)))]
    together = module.intervals_of([(one, one) for one in several], resamples=199, seed=7)
    alone = [module.interval_of(one, one, resamples=199, seed=7) for one in several]
    assert repr(together) == repr(alone)  # NaN is not equal to itself
    near(ends(together[0]), second.bootstrap_t(*arguments, 5))
    np.testing.assert_allclose(ends(found), [1 / (1 + math.exp(-middle + half)),
                                             1 / (1 + math.exp(-middle - half))], atol=1e-12)
    bound = .025**(1 / 20)
    near(ends(module.interval(np.ones(20), range(20))), (bound, 1))
    near(ends(module.interval(np.zeros(20), range(20))), (0, 1 - bound))
    near(ends(module.interval(np.full(20, .25), range(20))), (.25 * bound, 1 - .75 * bound))
    for level in (49, 100):
        raises("level", lambda: module.interval(values, unit, level=level))
    raises("at least 39", lambda: module.interval(values, unit, resamples=38))


def check_paired():
    paired = afresh("statistics.paired")
    rng = np.random.default_rng(2)
    units = afresh("statistics.units")
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
            assert any(gains) or low == -high  # of no difference it is symmetric, the wider way
            # The ends are the last that are not rejected.
            for end, outwards in ((low, -1), (high, 1)) if any(gains) else ():
                assert p_of(end - outwards * 1e-6) > alpha + 1e-9 or low == high
                assert abs(end) == 1 or p_of(end + outwards * 1e-6) <= alpha + 1e-9
            assert (p > alpha + 1e-9) == (low <= 0 <= high)
    moved = [.5, -.25, .1 + .2 - .3] + [0.] * 20
    found = paired.difference([.4] * 23, [.4 + one for one in moved], range(23), resamples=99)
    near(found.difference, .25 / 23)
    assert (found.better, found.worse, found.same, found.trials) == (1, 1, 21, 96)
    near(found.detectable, 2.8 * found.se)
    near(found.se, math.sqrt(23 / 22 * (.25 + .0625 - .0625 / 23)) / 23)
    down = paired.difference([.9] * 23, np.linspace(.1, .9, 23), range(23), resamples=99)
    assert down.low < down.difference < down.high < 0
    assert (down.better, down.worse, down.same) == (0, 22, 1)
    near(paired.holm([.5, .01, .4]), [.8, .03, .8])
    near(paired.holm([.01, .02, .03, .04]), [.04, .06, .06, .06])
    assert paired.holm([.9, .9]) == [1, 1]


def check_result():
    """Queries 0, 1 match first and third; 2 has no match; 3 is labelled -1 and has junk alone."""
    functions, result = afresh("evaluation.functions"), afresh("result")
    matlab = afresh("conventions").CONVENTIONS["matlab"]
    query, gallery = Labels([1, 2, 3, -1], [1] * 4), Labels([1, 8, 2, 1], [2] * 4)
    distances = np.tile(np.arange(4.0), (4, 1))
    ap, inp = [(1 + 2 / 4) / 2, 1 / 3, 0, 0], [2 / 4, 1 / 3, 0, 0]
    for changes, expected in (
            ({}, {"mAP": (ap, 4), "mINP": (inp, 4), "Rank-1": ([1, 0, 0, 0], 4),
                  "Rank-3": ([1, 1, 0, 0], 4), "P@3": ([1 / 3, 1 / 3, 0, 0], 4),
                  "R@3": ([.5, 1, 0, 0], 4)}),
            ({"unmatched": "drop"}, {"mAP": (ap, 2), "Rank-1": ([1, 0, 0, 0], 2)}),
            ({"unmatched": "drop-from-map"}, {"mAP": (ap, 2), "Rank-1": ([1, 0, 0, 0], 4)}),
            ({"unmatched": "nan"}, {"Rank-1": ([1, 0, 0, 0], 4)}),
            ({"cmc": "all-shots"}, {"Rank-1": ([.5, 0, 0, 0], 4)}),
            ({"cmc": "all-shots", "unmatched": "drop"}, {"Rank-3": ([1, 1, 0, 0], 2)}),
            ({"top_k": 2}, {"Rank-3": ([1, 0, 0, 0], 4)})):
        found = functions.evaluate_distances(
            distances, query, gallery, convention=matlab.replace(ap="step", **changes))
        for metric, (values, counted) in expected.items():
            scores = result.query_values(found, metric)
            near(scores.values, values)
            same(scores.counted, np.arange(4) < counted)
            near(scores.mean, sum(values) / counted)
    check_loaded_and_units(functions, result, matlab)


def check_loaded_and_units(functions, result, matlab):
    query = Labels([-1, *np.arange(40) // 2], [1] * 41)
    distances = (query.identity[:, np.newaxis] != np.arange(20)).astype(float)
    distances[1:4, 12] = -1
    found = functions.evaluate_distances(
        distances, query, Labels(range(20), [2] * 20), convention=matlab.replace(
            loads="without label -1", arithmetic="float32", ap="step"))
    same(result.query_values(found, "Rank-1").values, [0, 0, 0, 0, *[1] * 37])
    same(result.query_values(found, "Rank-1").counted, np.arange(41) > 0)
    sure = found.interval("Rank-1", resamples=99)
    error = np.full(20, 2 * 3 / 40)
    error[:2] -= 2, 1
    near(sure.se, math.sqrt(20 / 19 * (error**2).sum()) / 40)
    assert (sure.value, sure.unit, sure.units, sure.queries) == (
        float(np.float32(37) / np.float32(40)), "identity", 20, 40)
    assert found.interval("Rank-1", unit="query", resamples=99).units == 40
    nan = functions.evaluate_distances(
        np.zeros((1, 1)), Labels([1], [1]), Labels([2], [1]),
        convention=matlab.replace(unmatched="nan"))
    raises("metric: mAP is NaN under convention", lambda: nan.interval("mAP"))
    cut = afresh("evaluation.functions").evaluate_ranked_lists(
        [[0, 1]], Labels([1], [1]), Labels([1, 8, 1], [2] * 3))
    raises("metric: mINP is NaN, for some lists", lambda: cut.interval("mINP"))


#: By file: its checks, and snippet and replacement of each mutant.
MUTANTS = {
    "statistics.units": ([check_sums, check_spread, check_interval, check_paired, check_draws], [
        # Units ignored, counts ignored, queries that do not count.
        (" np.unique(groups[keep], return_inverse=True)[1].reshape(-1", " np.arange(len(weights)"),
        ("add_up(self.value) / self.total", "add_up(self.value / self.weight) / len(self.weight)"),
        ("self.value - self.mean * self.weight", "self.value - self.mean"),
        ("    numbers, weights = numbers[keep], weights[keep]\n",
         "    keep[:] = True\n    numbers[np.isnan(numbers)] = 0\n"),
        ("by_code(code, numbers * weights)", "by_code(code, numbers)"),
        (" * weights), by_code(code, weights))", " * weights), by_code(code, weights * 0 + 1))"),
        ("np.cumsum(values)[-1]", "np.sum(values)"),
        ("<= ZERO * weight", "<= 0 * weight"),
        ("np.flatnonzero(~np.isfinite(numbers))", "np.flatnonzero(np.isinf(numbers))"),
        ("np.flatnonzero(keep)[bad[0]]", "bad[0]"),
        ("len(sums.weight) < 2", "len(sums.weight) < 1"),
        ("np.isnan(groups).any()", "np.isnan(groups).all()"),
        ("units < FEW_UNITS", "units <= FEW_UNITS"), ("units < FEW_UNITS", "units < 19"),
        ("words >>= np.uint64(32)\n        words *= np.uint64(units)",
         "words &= np.uint64(2**32 - 1)\n        words *= np.uint64(units)"),
        ("words *= np.uint64(units)\n", "words *= np.uint64(units - 1)\n"),
        ("np.arange(size, dtype=np.uint64)[:, np.newaxis]", "np.uint64(0)"),
        (".reshape(units, size).astype(", ".reshape(units, size).astype(bool).astype("),
        ("columns[k:k + TOGETHER], counts", "columns[:TOGETHER], counts"),
        ("-(-(columns.shape[1] - first) // 64)", "(columns.shape[1] - first) // 64 + 1"),
        ("2**leading <= resamples", "2**leading < resamples"),
        ("resamples - resamples % 2**leading", "resamples"),
        ("np.arange(start, start + size", "np.arange(size"),
        ('bitorder="little"', 'bitorder="big"'), ("signs *= 2", "signs *= 1"),
        ("min(step, resamples - start)", "step"),
        ("    source = np.random.PCG64(seed)\n    for size in block_sizes(units, resamples):\n",
         "    for size in block_sizes(units, resamples):\n"
         "        source = np.random.PCG64(seed)\n"),
        ('check_count(resamples, "resamples")', 'check_count(resamples, "resamples", 2)'),
    ]),
    "statistics.interval": ([check_interval, check_paired, check_spread], [
        ("mean - float(t[-place]) * se, mean - float(t[place - 1]) * se",
         "mean + float(t[place - 1]) * se, mean + float(t[-place]) * se"),
        ("mean - float(t[place - 1]) * se", "mean - float(t[place]) * se"),
        ("alpha / 2 * (resamples + 1)", "alpha * (resamples + 1)"),
        ("if place < 1:", "if place < 0:"),
        ("2 * shift * en", "shift * en"), (" + shift**2 * nn", ""),
        ("units / (units - 1) * np.where", "np.where"), ("        t.sort()\n", ""),
        ("if len(column) == units}", "if True}"),
        (", studentized(means, resamples, seed", ", studentized(means[::-1], resamples, seed"),
        ("square > ROUNDING * ee", "square > 0"),
        ("np.copysign(np.inf, shift)", "0.0"),
        ("bound = (alpha / 2) **", "bound = alpha **"), ("** (1 / len(sums.weight))", "** .1"),
        ("return mean, 1 - bound", "return mean, bound"),
        ("return bound, mean", "return mean, mean"),
        ("return mean * bound", "return mean"), ("1 - (1 - mean) * bound", "mean"),
        ("stdtrit(len(sums.weight) - 1,", "stdtrit(len(sums.weight),"),
        ("1 - alpha / 2))", "1 - alpha))"),
        ("se / (mean * (1 - mean))", "se / mean"), ("if low < 0 or high > 1:", "if high > 1:"),
        ("if low < 0 or high > 1:", "if low < 0:"),
        ("unit_sums(values, np.arange(np.size(values)), ", "unit_sums(values, unit, "),
        ("(se / naive)**2 if", "se / naive if"),
        ("not 50 <= level < 100", "not 0 <= level < 100"),
        ("not 50 <= level < 100", "not 50 <= level <= 100"),
        ("units / (units - 1) * add_up", "add_up"), ("/ sums.total", "/ units"),
        ("(standard_error(by_unit) / naive) ** 2", "standard_error(by_unit) / naive"),
        ("max(within, 0.0) / (queries - units)", "max(within, 0.0) / queries"),
        ("between / (units - 1), max", "between / units, max"),
        ("(size - 1) * mean_within", "size * mean_within"),
        ("add_up(by_unit.weight**2) / queries", "add_up(by_unit.weight**2) / units"),
        ("by_unit.errors**2 / by_unit.weight", "by_unit.errors**2"),
        ("within = add_up(by_query.errors**2) - between", "within = add_up(by_query.errors**2)"),
        ("queries == units or ", ""),
    ]),
    "statistics.paired": ((check_paired, check_interval), [
        # `>` for `>=`, no plus one, one side, no imagined units.
        ("reach >= abs(gains.mean)", "reach - 2 * slack / total > abs(gains.mean)"),
        (" + slack / total", ""), ("(count + extra) / (len(beyond) + extra)",
                                   "count / len(beyond)"),
        ("extra = 0 if every else 1", "extra = 1"), ("extra = 0 if every else 1", "extra = 0"),
        ("+ 1e-9) + 1 - extra", "+ 1e-9) - extra"),
        ("[largest, -largest]", "[0, 0]"), ("[largest, -largest]", "[largest, largest]"),
        ("largest * gains.total / len(gains.weight) or 1.0", "largest or 1.0"),
        ("len(gains.weight) or 1.0", "len(gains.weight)"),
        ("np.abs(gains.value / gains.weight)", "gains.value / gains.weight"),
        ("np.count_nonzero(moved) + 2,", "np.count_nonzero(moved),"),
        ("below if gains.mean > 0 else above", "above if gains.mean > 0 else below"),
        ("low, high = min(low, 0.0), max(high, 0.0)", "pass"),
        ("tried[0] - gains.mean * tried[1]", "tried[0]"),
        ("np.inf, 0.0)", "0.0, 0.0)"),
        ("total + weight[positive]", "total"), ("total - weight[negative]", "total"),
        ("max(-1.0, ", "max(-9.0, "), ("min(1.0, gains", "min(9.0, gains"),
        ("np.subtract(after, before,", "np.subtract(before, after,"),
        ("DETECTABLE = 2.8", "DETECTABLE = 1.96"),
        ("UnitSums(without_rounding(sums.value, sums.weight), sums.weight)", "sums"),
        ("for sign in (1, -1, 0)", "for sign in (-1, 1, 0)"),
        ("(len(p) - place) * p[k]", "len(p) * p[k]"),
        ("max(largest, min(1.0, ", "max(0, min(1.0, "),
        ("min(1.0, (len(p) - place) * p[k])", "(len(p) - place) * p[k]"),
    ]),
    "result": ((check_result,), [
        ("(n_good > 0) | (convention.n_in_cmc(n_good) == len(n_good))", "n_good > 0"),
        ("(n_good > 0) | (convention.n_in_cmc(n_good) == len(n_good))", "n_good >= 0"),
        ("spread(in_cmc, loaded, False)", "loaded"),
        ("convention, counted = result.convention, in_mean(result)",
         "convention, counted = result.convention, result.per_query.n_good >= 0"),
        ("return result.mINP, result.per_query.inp", "return result.mINP, result.per_query.ap"),
        ("return result.mAP, result.per_query.ap", "return result.mINP, result.per_query.ap"),
        (' at_k.precision, at_k.per_query["precision', ' at_k.precision, at_k.per_query["recall'),
        ("of_query(result.convention.cut_off(of_queries(result.ranks, loaded)), k)",
         "of_query(of_queries(result.ranks, loaded), k)"),
        ('{"identity": identity, "query"', '{"identity": np.arange(len(identity)), "query"'),
        (".unit_sums(values, groups, counted)", ".unit_sums(values, groups, None)"),
        ("np.arange(len(values)), counted)", "np.arange(len(values)), None)"),
        ("replace(interval, value=each.mean, unit=each.unit)",
         "replace(interval, unit=each.unit)"),
        ("    if np.isnan(values).any():\n        raise", "    if False:\n        raise"),
        ("    if np.isnan(mean):\n        raise", "    if False:\n        raise"),
    ]),
}


@pytest.mark.parametrize("check", all_checks(MUTANTS))
def test_the_source_itself_passes(check):
    with world(ROOMS):
        check()


@pytest.mark.parametrize("name, snippet, replacement", each(MUTANTS, cases(10, 1)))
def test_mutant_is_caught(name, snippet, replacement):
    assert is_caught(ROOMS, MUTANTS[name][0], name, snippet, replacement)
