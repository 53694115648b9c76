"""Measures: a name is looked up, its record is all there is to it, and no other one answers."""
import csv
import dataclasses
import json
import re
from fractions import Fraction

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, Labels, measures, metrics
from reid_ref.conventions import NOT_IN_ALL
from reid_ref.measures import COLUMNS, MEASURES, Measure, measure
from reid_ref.protocols.evaluation import evaluate_protocol
from reid_ref.result import query_values
from reid_ref.result.means import over_trials
from reid_ref.text.plain import json_values
from tests import cases
from tests.commands.common import MARKET, answer, assert_one_line_error, command, table
from tests.documents import ROOT
from tests.files.test_trec import judge, pytrec_eval, written  # noqa: F401
from tests.refusals import refused

UNMATCHED = pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning",
                                       "ignore::reid_ref.IntervalWarning",
                                       "ignore::reid_ref.BenchmarkWarning")
#: A name of each record.
NAMES = [name.replace("-k", "-3").replace("@k", "@3") for name in MEASURES]


def market(seed=0, convention="matlab"):
    return reid_ref.evaluate_distances(
        *cases.market_like(seed, n_query=60, n_gallery=150, identities=25), convention=convention)


def averaged(*trials):
    return over_trials(trials, "trials", trials[0].signature)


def drawn():
    """An expectation over all galleries of one image of each identity."""
    random = np.random.default_rng(3)
    identity = np.repeat(np.arange(12), 3)
    features = random.normal(size=(36, 4)).astype(np.float32)
    return evaluate_protocol("vehicleid", features, features, Labels(identity, identity * 0),
                             Labels(identity, identity * 0))["all"]


def share_of_last(ranks, convention, k):
    """No measure of anyone: rank of the last good image that is found over the length."""
    last = np.zeros(len(ranks.found))
    np.maximum.at(last, ranks.query, ranks.rank)
    return last / np.maximum(ranks.n_kept, 1)


@pytest.fixture
def another(monkeypatch):
    record = Measure("Last", "rank of the last good image over the length", "none", share_of_last)
    monkeypatch.setattr(measures, "MEASURES", {**MEASURES, "Last": record})
    return record


@UNMATCHED
def test_a_record_alone_is_a_measure(another, tmp_path):
    result = market()
    loaded = result.per_query.status != "not loaded"
    expected = share_of_last(result.ranks, None, 0)
    np.testing.assert_array_equal(result.of_query("Last"), np.where(loaded, expected, np.nan))
    values = query_values(result, "Last")
    assert values.mean == result.value("Last") == metrics.mean_in_order(
        values.values[values.counted])
    assert result.interval("Last", resamples=99).value == values.mean
    trials = averaged(result, market(1))
    assert trials.value("Last") == pytest.approx(
        (result.value("Last") + market(1).value("Last")) / 2, abs=1e-15)
    assert query_values(trials, "Last").mean == trials.value("Last")
    result.save(tmp_path / "a.json")
    assert reid_ref.load(tmp_path / "a.json").value("Last") == values.mean
    answer, = reid_ref.compare(result, market(), metrics=["Last"]).comparisons
    assert (answer.metric, answer.difference) == ("Last", 0)


@UNMATCHED
@pytest.mark.parametrize("name", ["F1", "map", "mAP1", "Rank-k", "P@", "P@0", "Rank-01", "", None,
                                  "AP", "recall@1", "Rank-1\n", ["mAP"]])
def test_an_unknown_name_is_an_error_everywhere(name):
    result = market()
    for use in (measure, result.value, result.of_query, result._query_values, result.interval,
                averaged(result, result).value, drawn().value, drawn()._query_values):
        assert repr(name) in refused("measure", "mAP, Rank-k", use, name).got


@UNMATCHED
def test_what_has_no_ranks_offers_what_is_defined_for_it(another):
    expectation = drawn()
    for use in (expectation.value, expectation.of_query, expectation._query_values,
                expectation.interval):
        for name in ("Last", "P@3", "AP@3"):
            assert name in str(refused("measure", "expectation", use, name))
    defined = [name for name in NAMES if measure(name).expected]
    assert {"mAP", "mINP", "Rank-3"} <= set(defined)
    for name in defined:
        value, values, counted = query_values(expectation, name)
        assert value == expectation.value(name)
        assert values[counted].mean() == pytest.approx(value, abs=1e-14)


@UNMATCHED
@pytest.mark.parametrize("convention", [name for name in CONVENTIONS if name not in NOT_IN_ALL])
def test_values_of_every_measure(convention):
    """Within bounds, with the number as their mean, under each convention."""
    result = market(2, convention)
    for name in NAMES:
        record = measure(name)
        if record.of_curve and not result.convention.curve.has_values(3):
            continue
        value, of_query = result.value(name), result.of_query(name)
        known = of_query[~np.isnan(of_query)]
        assert ((known >= 0) & (known <= 1 + 1e-7)).all(), name
        assert np.isnan(of_query[result.per_query.status == "not loaded"]).all() or (
            record.of_curve)
        if not np.isnan(value):
            scored = query_values(result, name)
            assert scored.mean == value and not scored.values[~scored.counted].any()
            assert scored.values[scored.counted].mean() == pytest.approx(value, abs=1e-6), name


@UNMATCHED
def test_public_numbers():
    result = market()
    at = result.at(3)
    assert result.value("Rank-3") == result.rank(3) and result.value("mINP") == result.mINP
    assert (result.value("P@3"), result.value("R@3"), result.value("AP@3")) == (
        at.precision, at.recall, at.mAP)
    for name, key in (("P@3", "precision"), ("R@3", "recall"), ("AP@3", "ap")):
        np.testing.assert_array_equal(result.of_query(name), at.per_query[key])
        assert not result.of_query(name).flags.writeable
    np.testing.assert_array_equal(result.of_query("mAP"), result.per_query.ap)


def test_records_say_what_they_are():
    for name, record in MEASURES.items():
        assert record.name == name and record.words and record.source
        assert re.fullmatch(r"[A-Za-z-]+|[A-Za-z]+[-@][kR]", name)
        assert (record.at(7).name.endswith("7") and record.at(7).k == 7) or not record.takes_k
    assert [field.name for field in dataclasses.fields(Measure)][0] == "name"


def by_hand(good, n_good):
    """MAP@R as its definition has it, over the first R places one by one."""
    hits, total = 0, Fraction(0)
    for rank in range(1, n_good + 1):
        if rank in good:
            hits += 1
            total += Fraction(hits, rank)
    return float(total / n_good)


@UNMATCHED
@pytest.mark.parametrize("seed", range(5))
def test_map_at_r_is_that_of_its_definition(seed):
    """pytorch-metric-learning 2.9.0 has the same on 30 such problems, to 1.2e-16."""
    result = market(seed)
    values, ends = result.of_query("mAP@R"), np.cumsum(result.ranks.found)
    for k, good in enumerate(np.split(result.ranks.rank, ends[:-1])):
        n_good = int(result.ranks.n_good[k])
        assert not n_good or abs(values[k] - by_hand({*good.tolist()}, n_good)) < 1e-15
        assert n_good or np.isnan(values[k])
    first = result.per_query.first_match
    np.testing.assert_array_equal(
        np.nan_to_num(result.of_query("MRR@3")),
        np.where((first > 0) & (first <= 3), 1 / np.maximum(first, 1), 0))


#: Our name, trec_eval's, and that of its answer.
TREC = [("mAP", "map", "map"), ("R-Prec", "Rprec", "Rprec"),
        ("MRR", "recip_rank", "recip_rank"), ("P@5", "P.5", "P_5"),
        ("R@5", "recall.5", "recall_5"),
        ("AP@5", "map_cut.5", "map_cut_5"), ("Rank-5", "success.5", "success_5"),
        ("nDCG@5", "ndcg_cut.5", "ndcg_cut_5"), ("nDCG@40", "ndcg_cut.40", "ndcg_cut_40")]


def test_every_measure_is_in_the_glossary_and_compared():
    """Of all but those that trec_eval lacks."""
    compared = {re.sub("[0-9]+$", "k", name) for name, _, _ in TREC}
    assert compared == MEASURES.keys() - {"mINP", "mAP@R", "MRR@k"}
    glossary = (ROOT / "docs/glossary.md").read_text()
    assert [name for name in MEASURES if name not in glossary] == []


@UNMATCHED
@pytest.mark.parametrize("levels", [None, 4])
@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_trec_eval(seed, levels, pytrec_eval):  # noqa: F811
    distances, query, gallery = cases.market_like(seed, levels=levels)
    mine = query.identity != -1
    distances, query = distances[mine], Labels(query.identity[mine], query.camera[mine])
    result = reid_ref.evaluate_distances(distances, query, gallery, convention="trec-eval")
    answers = judge(pytrec_eval, *written(distances, query, gallery), len(query),
                    {asked for _, asked, _ in TREC})
    for name, _, key in TREC:
        np.testing.assert_allclose(
            np.nan_to_num(result.of_query(name)), [answer[key] for answer in answers],
            rtol=0, atol=1e-14, err_msg=name)


def test_measures_by_hand():
    """Good images at ranks 1, 4 of 5 and at 2; a third query has none."""
    labels = Labels([7, 8, 9], [1, 1, 1]), Labels([7, 8, 0, 7, 0], [2] * 5)
    distances = [[1, 2, 3, 4, 5], [1.5, 2, 3, 4, 5], [1, 2, 3, 4, 5]]
    with pytest.warns(reid_ref.UnmatchedWarning):
        result = reid_ref.evaluate_distances(distances, *labels)
    for name, expected in (
            ("R-Prec", [1 / 2, 0, np.nan]), ("MRR", [1, 1 / 2, np.nan]),
            ("nDCG@3", [1 / (1 + 1 / np.log2(3)), 1 / np.log2(3), np.nan]),
            ("nDCG@9", [(1 + 1 / np.log2(5)) / (1 + 1 / np.log2(3)), 1 / np.log2(3), np.nan])):
        np.testing.assert_allclose(result.of_query(name), expected, rtol=0, atol=1e-15)
        assert result.value(name) == pytest.approx(np.nansum(expected) / 3, abs=1e-15)


def test_the_command_line_by_hand(tmp_path, pytrec_eval):  # noqa: F811
    """Good images at ranks 1, 4 of 5 and at 2: as by hand, and as trec_eval has it."""
    query, gallery = Labels([7, 8], [1, 1]), Labels([7, 8, 0, 7, 0], [2] * 5)
    distances = np.array([[1, 2, 3, 4, 5], [1.5, 2, 3, 4, 5]])
    np.savez(tmp_path / "a.npz", distmat=distances, q_pids=query.identity,
             q_camids=query.camera, g_pids=gallery.identity, g_camids=gallery.camera)
    gain = 1 / np.log2(3)
    expected = {"P@5": [2 / 5, 1 / 5], "nDCG@10": [(1 + 1 / np.log2(5)) / (1 + gain), gain]}
    judged = judge(pytrec_eval, *written(distances, query, gallery), 2, {"P.5", "ndcg_cut.10"})
    printed = answer(
        "evaluate", tmp_path / "a.npz", "--convention", "trec-eval", "--measure",
        ",".join(expected), "--by", "identity", "--per-query", tmp_path / "a.csv")
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    for (name, values), key in zip(expected.items(), ("P_5", "ndcg_cut_10")):
        assert [each[key] for each in judged] == pytest.approx(values, abs=1e-15)
        assert printed[name] == pytest.approx(np.mean(values), abs=1e-15)
        assert [float(row[name]) for row in rows] == pytest.approx(values, abs=1e-15)
        by_identity = {group["identity"]: group[name] for group in printed["by"]["identity"]}
        assert by_identity == pytest.approx({7: values[0], 8: values[1]}, abs=1e-15)


@UNMATCHED
def test_every_command_prints_every_measure(tmp_path):
    """A loop over the table: each name, with the number of `Result.value`."""
    result, measured = of_market(), ["--measure", ",".join(NAMES)]
    shown = {name: f"{100 * result.value(name):.2f}" for name in NAMES}
    header, row = csv.reader(table("evaluate", MARKET, *measured, "--format", "csv").splitlines())
    assert dict(zip(header[1:-1], map(float, row[1:]))) == {
        name: result.value(name) for name in NAMES}
    for words in (["evaluate", MARKET], ["rerank", MARKET], ["explain", MARKET]):
        out = table(*words, *measured)  # explain has more digits
        assert [name for name in NAMES if name not in out.split() or not (
            shown[name][:-1] in out or f"{100 * result.value(name):.6f}" in out)] == []
    pages = tmp_path / "a.html", tmp_path / "a.json"
    table("report", MARKET, *measured, "--queries", "0", "-o", pages[0])
    headline, = re.findall('<dl class="headline">.*?</dl>', pages[0].read_text(), re.DOTALL)
    assert re.findall(r"<dt>(.*?) \(%\)</dt>", headline) == NAMES
    by_name = answer("evaluate", MARKET, *measured, "--confidence", "--resamples", "199",
                     "--per-query", pages[1], "--by", "camera")
    queries = json.loads(pages[1].read_text())["queries"]
    groups = reid_ref.by_group(result, by="camera", measures=NAMES).means
    assert list(by_name["confidence"]) == NAMES == list(result.scalars(measures=NAMES))
    for name in NAMES:
        as_json = reid_ref.to_dict(result, measures=NAMES)
        assert by_name[name] == result.value(name) == as_json[name]
        assert by_name["confidence"][name]["value"] == by_name[name]
        assert [group[name] for group in by_name["by"]["camera"]] == groups[name].tolist()
        column = measure(name).column or name
        assert [query[column] for query in queries] == json_values(result.of_query(name))


@UNMATCHED
@pytest.mark.parametrize("words, argument", [
    ("evaluate {} --measure P@5 --ranks 3", "--ranks"),
    ("evaluate {} --measure Rank-346", "--measure"), ("rerank {} --measure mAP1", "--measure"),
    ("evaluate {} --metric mAP", "--metric: .*--measure mAP"),
    ("plot cmc {} -o a.png --measure P@5", "--measure")])
def test_a_wrong_measure_is_one_line(words, argument):
    assert_one_line_error(command(*words.format(MARKET).split()), argument)


@UNMATCHED
@pytest.mark.parametrize("name", ["R-Prec", "MRR", "nDCG@5"])
def test_intervals_and_paired_tests(name):
    first = market(4)
    interval = first.interval(name, resamples=199)
    assert interval.low < interval.value == first.value(name) < interval.high
    random = np.random.default_rng(1)
    distances, query, gallery = cases.market_like(4, n_query=60, n_gallery=150, identities=25)
    noisy = reid_ref.evaluate_distances(
        distances + 9 * random.random(distances.shape), query, gallery)
    compared, = reid_ref.compare(first, noisy, metrics=[name], resamples=199).comparisons
    assert (compared.metric, compared.p < 1) == (name, True)
    assert compared.difference == pytest.approx(
        noisy.value(name) - first.value(name), abs=1e-15)


def of_market():
    data = reid_ref.read(MARKET)
    return reid_ref.evaluate(
        data.query_features, data.gallery_features, data.query, data.gallery)


@UNMATCHED
@pytest.mark.parametrize("name, spelled", [("R-Prec", "r-prec"), ("MRR", "mrr"),
                                           ("nDCG@5", "ndcg@5"), ("P@5", "p@5")])
def test_gates(name, spelled):
    value = 100 * of_market().value(name)
    right = command("evaluate", MARKET, "--expect", f"{spelled}={value:.4f}")
    assert right.returncode == 0, right.stderr
    low = command("evaluate", MARKET, "--fail-under", f"{spelled}={value + 1:.4f}")
    assert low.returncode == 4 and f"{name} is" in low.stderr


@UNMATCHED
def test_of_one_good_image_in_each_gallery():
    """What an expectation has of these measures is the mean over all galleries."""
    identity = np.repeat(np.arange(3), 2)
    labels, distances = Labels(identity, identity * 0), np.random.default_rng(0).random((6, 6))
    found = evaluate_protocol("vehicleid", None, None, labels, labels, distances=distances)["all"]
    galleries = [[a, 2 + b, 4 + c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    for name in ("mAP", "mINP", "R-Prec", "MRR", "Rank-2"):
        every = []
        for drawn in galleries:
            rest = np.setdiff1d(np.arange(6), drawn)
            every.append(reid_ref.evaluate_distances(
                distances[np.ix_(rest, drawn)], labels[rest], labels[drawn],
                convention=found.convention).value(name))
        assert found.value(name) == pytest.approx(np.mean(every), abs=1e-14), name


@pytest.mark.parametrize("choices", [{}, {"top_k": 2}, {"top_k": 2, "recall": "found"}])
def test_columns_of_a_result_have_the_values_of_their_records(choices):
    rule = reid_ref.CONVENTIONS["matlab"].replace(ap="step", **choices)
    result = reid_ref.evaluate_distances(
        [[.1, .2, .3]], Labels([7], [1]), Labels([7, 8, 7], [2, 2, 2]), convention=rule)
    assert [*result.per_query.values] == [record.name for record in COLUMNS]
    for record in COLUMNS:
        np.testing.assert_array_equal(
            result.of_query(record.name), record.of_ranks(result.ranks, rule, 0), record.name)
