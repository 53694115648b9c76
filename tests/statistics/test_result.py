"""`Result.interval`: the values behind each printed number, under every convention's rule."""
import itertools

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS
from reid_ref.console.confidence import intervals
from reid_ref.conventions import NOT_IN_ALL
from reid_ref.result import query_values
from reid_ref.statistics import units as draws
from tests import cases
from tests.refusals import refused

METRICS = ("mAP", "mINP", "Rank-1", "Rank-3", "P@2", "R@5")
FEW = pytest.mark.filterwarnings("ignore::reid_ref.IntervalWarning",
                                 "ignore::reid_ref.UnmatchedWarning")


def printed(result, metric):
    """The number that a user sees, by the public names."""
    kind, _, k = metric.replace("@", "-").partition("-")
    return {"mAP": lambda: result.mAP, "mINP": lambda: result.mINP,
            "Rank": lambda: result.rank(int(k)), "P": lambda: result.at(int(k)).precision,
            "R": lambda: result.at(int(k)).recall}[kind]()


def mean(values, arithmetic):
    """Sum of one value after another, in this precision, over their number."""
    kind = {"double": np.float64, "float32": np.float32}[arithmetic]
    total = kind(0)
    for value in values:
        total = kind(total + kind(value))
    return float(total / kind(len(values)))


def results(seed):
    distances, query, gallery = cases.market_like(seed, n_query=60, n_gallery=150, identities=25)
    return reid_ref.evaluate_distances(distances, query, gallery, convention=[
        name for name in CONVENTIONS if name not in NOT_IN_ALL]), query


@FEW
@pytest.mark.parametrize("seed", range(2))
def test_values_have_the_printed_mean_under_every_convention(seed):
    found, query = results(seed)
    statuses = set().union(*(set(one.per_query.status) for one in found.values()))
    assert {"ok", "identity absent", "only junk", "not loaded"} <= statuses
    done = 0
    for (name, result), metric in itertools.product(found.items(), METRICS):
        np.testing.assert_array_equal(result.per_query.identity, query.identity)
        if np.isnan(printed(result, metric)) or (
                metric.startswith("Rank") and result.convention.curve.of_rows):
            continue
        value, values, counted = query_values(result, metric)
        assert value == printed(result, metric)
        again = mean(values[counted], result.convention.arithmetic)
        if metric.startswith("Rank") and result.convention.cmc == "all-shots":
            assert again == pytest.approx(value, abs=1e-15)  # its curve adds rank by rank
        else:
            assert again == value, (name, metric)
        assert not values[~counted].any()
        done += 1
    assert done > 5 * len(found)


def many(convention="matlab", seed=3):
    distances, query, gallery = cases.market_like(
        seed, n_query=200, n_gallery=300, identities=40)
    return reid_ref.evaluate_distances(distances, query, gallery, convention=convention), query


@FEW
def test_units():
    result, query = many()
    by_query = result.interval("Rank-1", unit="query", resamples=99)
    assert (by_query.unit, by_query.units, by_query.design_effect) == ("query", 200, 1)
    assert by_query.se == by_query.se_naive
    same = result.interval("mAP", unit=query.identity.astype(str), resamples=99)
    assert same.unit == "group"
    assert same.se == pytest.approx(result.interval("mAP", resamples=99).se, abs=1e-15)
    videos = result.interval("mAP", unit=np.arange(200) // 2, resamples=99)
    assert videos.units == 100


@FEW
@pytest.mark.parametrize("convention, metric", [
    ("sysu-mm01", "Rank-2"), ("cuhk03-single-shot", "Rank-1"), ("open-reid-cuhk03", "Rank-1")])
def test_curves_that_ranks_do_not_tell(convention, metric):
    result, _ = many(convention)
    refused("measure", f"{metric} under convention {convention!r}", result.interval, metric)
    assert result.interval("mAP", resamples=99).value == result.mAP


@FEW
def test_rank_1_of_identities_is_that_of_images():
    result, _ = many("sysu-mm01")
    values = query_values(result, "Rank-1")
    assert values.mean == result.rank(1) == values.values[values.counted].mean()
    assert 0 < values.mean < 1


@FEW
@pytest.mark.parametrize("arguments, argument, noun", [
    ({"measure": "map"}, "measure", "'map'"),
    ({"measure": "mAP1"}, "measure", "mAP"),
    ({"measure": None}, "measure", "None"),
    ({"measure": "Rank-301"}, "measure", "a rank up to 300"),
    ({"unit": np.zeros(200)}, "unit", "at least 2 units with a query"),
])
def test_bad_input(arguments, argument, noun):
    result, _ = many()
    refused(argument, noun, result.interval, **{"measure": "mAP", **arguments})


@FEW
@pytest.mark.filterwarnings("ignore::reid_ref.IntervalWarning")
def test_intervals_of_every_convention_are_drawn_once(monkeypatch):
    """Units are the same but where a loader leaves queries out."""
    (found, _), names = results(2), ["mAP", "Rank-1", "Rank-3", "mINP"]
    together = intervals(found, names, resamples=99)
    assert {(name, metric) for name, each in together.items() for metric in each} >= {
        ("matlab", "Rank-3"), ("torchreid", "mAP"), ("simpleir", "mINP")}
    for name, each in together.items():
        for metric, one in each.items():
            assert one == found[name].interval(metric, resamples=99), (name, metric)
    drawn, original = [], draws.drawn_counts
    monkeypatch.setattr(draws, "drawn_counts", lambda units, *options: (
        drawn.append(units), original(units, *options))[1])
    intervals(found, names, resamples=99)
    units = {one.units for each in together.values() for one in each.values()}
    assert sorted(drawn) == sorted(units)
