"""Standard errors of real networks on Market-1501: do identities spread as they say?"""
from itertools import combinations

import numpy as np
import pytest

import reid_ref
from reid_ref.statistics import difference
from tests.documents import ROOT

SAVED = {name: reid_ref.load(ROOT / f"fixtures/baselines/{name}-matlab.json.gz") for name in (
    "osnet_x0_25", *(f"person-reidentification-retail-0{n}" for n in (286, 287, 288)))}
AP = {name: result.of_query("mAP") for name, result in SAVED.items()}
IDENTITY = SAVED["osnet_x0_25"].per_query.identity


def spread_of_halves(values, n=1000):
    """The standard deviation of the difference between the means of two halves of the persons.

    It is twice the standard error of the mean of all, with no formula.
    """
    persons, row = np.unique(IDENTITY, return_inverse=True)
    number, total = np.bincount(row), np.bincount(row, values)
    random, found = np.random.default_rng(58), []
    for _ in range(n):
        half = random.permutation(len(persons)) < len(persons) // 2
        found.append(total[half].sum() / number[half].sum()
                     - total[~half].sum() / number[~half].sum())
    return np.std(found)


@pytest.mark.parametrize("name", AP)
def test_halves_of_the_persons_differ_as_the_standard_error_says(name):
    """By identity; that of queries as if they were independent is far too small."""
    halves = spread_of_halves(AP[name])
    assert halves == pytest.approx(2 * SAVED[name].interval("mAP").se, rel=.1)
    assert halves > 1.5 * 2 * SAVED[name].interval("mAP", unit="query").se


@pytest.mark.parametrize(("one", "other"), [*combinations(AP, 2)])
def test_halves_of_the_persons_differ_as_the_paired_standard_error_says(one, other):
    """And two unpaired standard errors are too large, though these networks are unlike."""
    found = difference(AP[one], AP[other], IDENTITY, resamples=100)
    assert spread_of_halves(AP[other] - AP[one]) == pytest.approx(2 * found.se, rel=.1)
    assert found.se < .75 * np.hypot(*(SAVED[name].interval("mAP").se for name in (one, other)))


def test_the_smallest_detectable_difference_is_found_in_four_of_five_draws():
    """Persons of two real networks drawn again, their mean moved to the smallest detectable."""
    one, other = (AP[f"person-reidentification-retail-0{n}"] for n in (287, 286))
    found = difference(one, other, IDENTITY, resamples=100)
    gain = other - one - found.difference + found.detectable
    rows = [np.flatnonzero(IDENTITY == person) for person in np.unique(IDENTITY)]
    random, significant = np.random.default_rng(58), 0
    for _ in range(200):
        drawn = [rows[k] for k in random.integers(len(rows), size=len(rows))]
        unit = np.repeat(np.arange(len(drawn)), [len(person) for person in drawn])
        values = gain[np.concatenate(drawn)]
        significant += difference(0 * values, values, unit, resamples=400).p <= .05
    assert .72 < significant / 200 < .88
