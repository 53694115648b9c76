"""p of many comparisons, counted again over more flips: against the definition, one by one."""
import math

import numpy as np
import pytest

from reid_ref.statistics import differences, paired, recount
from tests.statistics import second

FLIPS = 11_000


def some():
    """Values of four systems on 40 queries of 24 units, two of them far above the others."""
    rng = np.random.default_rng(5)
    unit = np.concatenate([np.arange(24), rng.integers(0, 24, 16)])
    counted = rng.random(40) > .05
    low, high = rng.integers(0, 3, (2, 40)) / 7, rng.integers(3, 8, (2, 40)) / 7
    systems = [*low, *high]
    return unit, counted, [(systems[k], systems[j], counted) for j in range(4) for k in range(j)]


def test_small_p_is_that_of_the_definition():
    unit, counted, pairs = some()
    tests = differences(pairs, unit)
    found = recount.recounted(tests, pairs, unit, FLIPS, 3)
    again = [k for k, test in enumerate(found) if test.trials == FLIPS]
    assert again == [k for k, test in enumerate(tests) if test.p < .002] and 1 < len(again) < 6
    for k, (before, after, _) in enumerate(pairs):
        if k not in again:
            assert found[k] == tests[k]
            continue
        rows = [[one for one in range(40) if counted[one] and unit[one] == label]
                for label in sorted(set(unit[counted].tolist()))]
        gains = [math.fsum(after[row] - before[row]) for row in rows]
        moved, units = second.with_imagined(gains, [len(row) for row in rows])
        imagined = units[len(moved)][0]
        _, signs = second.choices_of_signs(len(rows) + 2, 99, FLIPS, 3)
        count = sum(abs(math.fsum(sign * gain for sign, gain in zip(
            row, [imagined, -imagined, *gains], strict=True))) >= abs(math.fsum(gains)) - 1e-9
            for row in signs)
        assert found[k].p == (count + 1) / (FLIPS + 1)
        assert (found[k].low, found[k].high) == (tests[k].low, tests[k].high)


def test_where_few_comparisons_are_made_nothing_is_counted_again():
    unit, _, pairs = some()
    tests = differences(pairs, unit)
    assert recount.recounted(tests, pairs, unit, 10_000, 3) == tests


def test_p_does_not_depend_on_the_scale_of_values():
    unit, _, pairs = some()
    tests = differences(pairs, unit)
    found = recount.recounted(tests, pairs, unit, FLIPS, 3)
    scaled = [(before / 2, after / 2, counted) for before, after, counted in pairs]
    assert [one.p for one in recount.recounted(tests, scaled, unit, FLIPS, 3)] == [
        one.p for one in found]


@pytest.mark.parametrize("tests", [1, 25, 26, 780, 2_499, 100_000])
def test_flips_suffice(tests):
    flips = recount.flips_for(tests, .05)
    assert 10_000 <= flips <= 1_000_000
    assert tests > 2_500 or 20 * tests / .05 <= max(flips, 10_000)
    assert (flips == 10_000) == (tests <= 25)
    assert paired.holm([1 / (flips + 1)] * tests)[0] < (.01 if tests < 10_000 else 1)
