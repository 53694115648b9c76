"""Systems beside a baseline, runs of one method, and splits of one benchmark."""
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, Labels
from reid_ref.result.runs import splits_of_scores
from reid_ref.result.parts import QueryValues
from reid_ref.statistics import differences, holm, paired
from reid_ref.statistics.recount import recounted
from tests import cases
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings(
    "ignore::reid_ref.IntervalWarning", "ignore::reid_ref.UnmatchedWarning")


#: 30 identities of two queries each; the good image of identity k is image k.
IDENTITY = np.arange(60) // 2
QUERY, GALLERY = Labels(IDENTITY, [1] * 60), Labels(range(30), [2] * 30)


def with_wrong(queries, convention="matlab"):
    """All right, but for these queries, whose good image is second."""
    distances = (IDENTITY[:, np.newaxis] != np.arange(30)).astype(float)
    distances[queries, (IDENTITY[queries] + 1) % 30] = -1
    return reid_ref.evaluate_distances(distances, QUERY, GALLERY, convention=convention)


def every_choice(values):
    """p by every choice of signs."""
    sums = [abs(sum(sign * value for sign, value in zip(signs, values)))
            for signs in itertools.product((1, -1), repeat=len(values))]
    return np.mean(np.array(sums) >= abs(sum(values)))


def test_by_hand():
    """Queries 0, 1, 2 gain, 4 loses: identities 0 and 1 gain, 2 loses."""
    one, two = with_wrong([0, 1, 2]), with_wrong([4])
    found = reid_ref.compare(one, two, metrics=["Rank-1"], names=["old", "new"])
    row, = found.comparisons
    assert (row.baseline, row.system, row.metric) == ("old", "new", "Rank-1")
    assert row.difference == pytest.approx(2 / 60, abs=1e-15)
    assert (row.better, row.worse, row.same) == (2, 1, 27)
    # Two imagined identities gained and lost as much as the one that changed most.
    assert row.p == row.p_adjusted == every_choice([2, 1, -1, 2, -2])
    assert row.trials == 10_000 - 10_000 % 32
    assert [change.query for change in row.gains] == [0, 1, 2]
    assert [(change.query, change.identity, change.baseline, change.system)
            for change in row.losses] == [(4, 2, 1, 0)]
    error = np.zeros(30)
    error[:3] = 2, 1, -1
    error -= 2 / 60 * 2
    assert row.se == pytest.approx(math.sqrt(30 / 29 * (error**2).sum()) / 60, abs=1e-15)
    assert row.detectable == pytest.approx(2.8 * row.se * math.sqrt(9 / 3))
    assert row.low < row.difference < row.high
    assert found.values == {"old": {"Rank-1": one.rank(1)}, "new": {"Rank-1": two.rank(1)}}


def test_a_dict_of_several_systems_is_adjusted():
    systems = {"base": with_wrong([0, 2, 4, 6, 8, 10]), "b": with_wrong([0]),
               "c": with_wrong([0, 2, 4, 6, 8, 10, 12])}
    found = reid_ref.compare(systems, metrics=["Rank-1", "mAP"])
    assert found.baseline == "base" and list(found.values) == ["base", "b", "c"]
    assert [(one.metric, one.system) for one in found.comparisons] == [
        ("Rank-1", "b"), ("Rank-1", "c"), ("mAP", "b"), ("mAP", "c")]
    # Five gain one query each, or one loses one; so do two imagined identities.
    p = [every_choice([1] * 5 + [1, -1]), every_choice([-1, 1, -1])]
    assert [one.p for one in found.comparisons[:2]] == p == [.125, 1]
    assert [one.p_adjusted for one in found.comparisons[:2]] == holm(p) == [.25, 1]


def test_a_system_beside_itself():
    result = with_wrong([0, 5])
    for row in reid_ref.compare(result, result).comparisons:
        assert (row.p, row.difference, row.same) == (1, 0, 30)
        # One identity may gain and another lose all: about 2 of 30.
        assert row.low == -row.high and 1 / 30 < row.high < 3 / 30
        assert row.gains == row.losses == ()


def test_cameras_that_are_not_known_are_compared_by_fingerprint():
    one = with_wrong([0])
    swapped = reid_ref.evaluate_distances(np.zeros((60, 30)), Labels(IDENTITY, [1, 3] * 30),
                                          GALLERY)
    other = replace(swapped, per_query=replace(swapped.per_query, camera=np.zeros(0, np.int64)))
    refused("other 1", "query labels of baseline", reid_ref.compare, one, other)


def test_unit():
    one, two = with_wrong([0, 1, 2]), with_wrong([4])
    row, = reid_ref.compare(one, two, metrics=["Rank-1"], unit="query").comparisons
    assert (row.better, row.worse, row.same) == (3, 1, 56)
    video = np.arange(60) // 3
    row, = reid_ref.compare(one, two, metrics=["Rank-1"], unit=video).comparisons
    assert (row.better, row.worse, row.same) == (1, 1, 18)


def test_dropped_queries_are_in_neither():
    distances, query, gallery = cases.market_like(1, n_query=200, n_gallery=300, identities=40)
    one, two = (reid_ref.evaluate_distances(distances**power, query, gallery,
                                            convention="torchreid") for power in (1, 2))
    row, = reid_ref.compare(one, two, metrics=["mAP"], resamples=99).comparisons
    assert row.difference == pytest.approx(two.mAP - one.mAP, abs=1e-14)
    kept = one.per_query.n_good > 0
    assert row.better + row.worse + row.same == len(np.unique(query.identity[kept]))


def test_other_labels_are_refused():
    one = with_wrong([0])
    identity = IDENTITY.copy()
    identity[[7, 9]] = 11, 11
    others = {
        "query 7 has identity 3 in baseline and identity 11 in other 1, and 2 of 60": (
            Labels(identity, [1] * 60), GALLERY),
        "query 24 has 1 good images in baseline and 2 good images in other 1, and 2 of": (
            QUERY, Labels([*range(30), 12], [2] * 31)),
        "gallery labels of baseline": (QUERY, Labels([*range(30), 99], [2] * 31)),
        "the same images, in the same order": (QUERY, Labels(range(30), [3] * 30)),
        "query 59 has camera 1 in baseline and camera 3 in other 1, and 1 of 60": (
            Labels(IDENTITY, [1] * 59 + [3]), GALLERY),
        "60 queries, as in baseline; 59": (QUERY[:59], GALLERY)}
    for noun, (query, gallery) in others.items():
        distances = np.zeros((len(query), len(gallery)))
        other = reid_ref.evaluate_distances(distances, query, gallery)
        for function in (lambda two: reid_ref.compare(one, two),
                         lambda two: reid_ref.runs({"baseline": one, "other 1": two})):
            refused("other 1", noun, function, other)


@pytest.mark.parametrize("arguments, options, argument, noun", [
    ([], {}, "results", "2 results; 1"),
    (["result"], {}, "results", "a Result for 'other 1'; str"),
    ([with_wrong([0], "torchreid")], {}, "other 1", "matlab, as in baseline; torchreid"),
    ([with_wrong([0])], {"metrics": "mAP"}, "metrics", "a list of metrics"),
    ([with_wrong([0])], {"names": ["a", "a"]}, "names", "2 different names"),
    ([with_wrong([0])], {"unit": [1, 2]}, "unit", "60 entries"),
])
def test_bad_input(arguments, options, argument, noun):
    refused(argument, noun, reid_ref.compare, with_wrong([1]), *arguments, **options)


def test_bad_dicts():
    one = with_wrong([1])
    refused("baseline", "dict", reid_ref.compare, {"a": one, "b": one}, one)
    refused("results", "name of each; 1", reid_ref.compare, {1: one, 2: one})
    refused("results", "2 results; 1", reid_ref.runs, one)
    nan = reid_ref.evaluate_distances(np.eye(2), *[Labels([1, 2], [1, 1])] * 2, convention="mars")
    refused("measure", "NaN under convention 'mars'", reid_ref.compare, nan, nan)


def test_runs_by_hand():
    """Three runs: 2, 4 and 6 of 60 wrong; identity 0 wrong in all, 1 in two, 2 in one."""
    found = reid_ref.runs({"s1": with_wrong([0, 1]), "s2": with_wrong([0, 1, 2, 3]),
                           "s3": with_wrong([0, 1, 2, 3, 4, 5])}, metrics=["Rank-1"])["Rank-1"]
    assert found.values == {"s1": 58 / 60, "s2": 56 / 60, "s3": 54 / 60}
    assert found.mean == found.interval.value == pytest.approx(56 / 60, abs=1e-15)
    assert found.sd == pytest.approx(2 / 60, abs=1e-15)
    sums = np.full(30, 2.0)
    sums[:3] = 0, 2 / 3, 4 / 3
    error = sums - 2 * 56 / 60
    assert found.interval.se == pytest.approx(
        math.sqrt(30 / 29 * (error**2).sum()) / 60, abs=1e-15)
    assert (found.interval.units, found.interval.queries, found.interval.unit) == (
        30, 60, "identity")
    assert found.queries == {"s1": 60, "s2": 60, "s3": 60}


def test_equal_runs_are_one_run():
    result = with_wrong([0, 1, 7, 20])
    found = reid_ref.runs([result, result], resamples=199)
    assert list(found) == ["mAP", "Rank-1"] and list(found["mAP"].values) == ["1", "2"]
    for metric, one in found.items():
        assert one.sd == 0 and one.interval == result.interval(metric, resamples=199)


def test_splits_by_hand():
    """Identities 0..29 with two queries each, then the first twenty with one query each."""
    first = with_wrong([0, 1, 2])
    query = Labels(range(20), [1] * 20)
    distances = 1 - np.eye(20, 30)
    distances[[0, 5], 29] = -1
    second = reid_ref.evaluate_distances(distances, query, GALLERY)
    found = reid_ref.splits({"a": first, "b": second}, metrics=["Rank-1"])["Rank-1"]
    assert found.values == {"a": 57 / 60, "b": 18 / 20} and found.queries == {"a": 60, "b": 20}
    assert found.mean == found.interval.value == pytest.approx((57 / 60 + 18 / 20) / 2, abs=1e-15)
    assert found.sd == pytest.approx(abs(57 / 60 - 18 / 20) / math.sqrt(2), abs=1e-15)
    # One unit per identity: what it adds to each mean, less what that set's mean lets expect.
    error = np.full(30, (1 - 57 / 60) * 2 / 60 / 2)
    error[:20] += (1 - 18 / 20) / 20 / 2
    error[[0, 1]] -= 2 / 60 / 2, 1 / 60 / 2
    error[[0, 5]] -= 1 / 20 / 2
    assert found.interval.se == pytest.approx(math.sqrt(30 / 29 * (error**2).sum()), abs=1e-15)
    assert (found.interval.units, found.interval.queries) == (30, 80)


@pytest.mark.nightly
@pytest.mark.parametrize("shared", [0, 60, 120])
def test_the_error_of_splits_is_that_of_simulation(shared):
    """Two sets of 120 identities, some of them in both, at .9 and at .3."""
    rng = np.random.default_rng(2)
    means, errors = [], []
    for _ in range(400):
        level = rng.normal(0, .08, 240)  # of identities, alike in both sets
        sets, identities = {}, []
        for share, first in ((.9, 0), (.3, 120 - shared)):
            identity = first + np.repeat(np.arange(120), rng.integers(1, 7, 120))
            chance = np.clip(share + level[identity], 0, 1)
            values = (rng.random(len(identity)) < chance).astype(float)
            counted = np.ones(len(values), bool)
            sets[str(share)] = QueryValues(float(values.mean()), values, counted)
            identities.append(identity)
        answer = splits_of_scores({"Rank-1": sets}, "identity", np.concatenate(identities),
                                  resamples=199)["Rank-1"]
        means.append(np.mean([values.mean for values in sets.values()]))
        errors.append(answer.interval.se)
    np.testing.assert_allclose(np.mean(errors), np.std(means), rtol=.1)


def test_splits_refuse():
    one = with_wrong([0])
    refused("2", "convention matlab, as in 1", reid_ref.splits,
            [one, with_wrong([0], CONVENTIONS["torchreid"])])
    refused("unit", "groups", reid_ref.splits, [one, one], unit=[1, 2])
    refused("results", "2 results; 0", reid_ref.splits, [])


def test_comparisons_of_several_systems_are_those_of_each():
    rng = np.random.default_rng(8)
    unit, values = np.arange(90) // 3, rng.random((4, 90))
    counted = rng.random((3, 90)) < .9
    pairs = [(values[0], other, kept) for other, kept in zip(values[1:], counted)]
    alone = [paired.difference(*pair[:2], unit, pair[2], resamples=199, seed=3) for pair in pairs]
    assert differences(pairs, unit, resamples=199, seed=3) == alone
    assert differences([], unit) == []


@pytest.mark.parametrize("units", [6, 12, 60])
def test_which_comes_first_changes_no_digit(units):
    """Issue 65: p was 0.0485 of A and B, and 0.0501 of B and A."""
    random = np.random.default_rng(units)
    unit = np.arange(units).repeat(3)
    before, after, other = random.choice([0., .5, 1.], (3, len(unit)))
    for one, two in ((before, after), (before, np.maximum(before, after))):
        there, back = (differences([pair], unit)[0]
                       for pair in ((one, two, None), (two, one, None)))
        assert (there.p, there.low, there.high, there.detectable) == (
            back.p, -back.high, -back.low, back.detectable)
    pairs = [(before, after, None), (after, before, None), (before, other, None)]
    tests = [replace(test, p=.001) for test in differences(pairs, unit)]
    there, back, _ = recounted(tests, pairs, unit, 50_000, 1)
    assert there.p == back.p
