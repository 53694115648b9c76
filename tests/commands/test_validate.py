"""A published figure against a file: reading it, matching it, and the bounds on what can be.

The bounds are compared with every ranking of small sets, by AP rules written anew in fractions.
A real result file is read where it is: see `tests.shared`.
"""
import json
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.analysis.validate import (
    Way, _candidates, share_near, by_far_the_closest, validate_file)
from reid_ref.cli import main
from reid_ref.conventions import CONVENTIONS, NOT_IN_ALL
from reid_ref.datasets import read_labels
from reid_ref.datasets.map_bounds import RULES, map_bounds
from reid_ref.datasets.published import (
    Figure, agreement, by_key, hit_counts, parse_figure, possible, possible_on, verdict_of)
from reid_ref.files import ResultFile, read_result
from tests.cases import save_features
from tests.commands.common import MARKET, assert_one_line_error, command
from tests.refusals import refused
from tests.shared import shared

unmatched_allowed = pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning")


def validate(data, figure, conventions=None, **options):
    return validate_file(data, [figure], conventions, **options)[0]


# Reading what was printed.

@pytest.mark.parametrize(("text", "rank1", "mAP"), [
    ("81.1/67.6", "81.1", "67.6"), ("81.10/67.60", "81.10", "67.60"), ("81.1/", "81.1", None),
    ("/67.6", None, "67.6"), (" 100 / 0 ", "100", "0"), ("0.8%/0.3%", "0.8", "0.3"),
    ("1.5/0.9%", "1.5", "0.9")])
def test_a_figure_keeps_its_decimals(text, rank1, mAP):
    figure = parse_figure(text)
    assert figure == Figure(rank1 and Decimal(rank1), mAP and Decimal(mAP))
    assert str(figure) == ", ".join(f"{name} {value}" for name, value in (
        ("Rank-1", rank1), ("mAP", mAP)) if value)


@pytest.mark.parametrize(("text", "noun"), [
    ("abc", "RANK1/mAP in percent"), ("/", "RANK1/mAP in percent"),
    ("81.1", "for Rank-1 alone write '81.1/', for mAP alone '/81.1'"),
    ("abc/67.6", "'abc'"), ("81,1/67.6", "write the decimal point as a point: 81.1"),
    ("-3/67.6", "'-3'"), ("nan/67.6", "'nan'"),
    ("0.811/0.676", "write 81.1 (a figure of one percent or less: 0.811%)"),
    ("81.1/0.676", "write 67.6 "), ("1/67.6", "write 100 ")])
def test_a_malformed_figure_is_refused_with_the_way_out(text, noun):
    refused("published", noun, parse_figure, text)


# Which numbers print as it.

@pytest.mark.parametrize(("value", "printed", "expected"), [
    (0.811, "81.1", "rounded"), (0.8105, "81.1", "rounded"), (0.8105, "81.0", "rounded"),
    (0.8115, "81.1", "rounded"), (0.8115, "81.2", "rounded"),
    (0.81049, "81.1", "no"), (0.81151, "81.1", "truncated"), (0.81199999, "81.1", "truncated"),
    (0.812, "81.1", "no"), (0.811, "81.10", "rounded"), (0.81109, "81.10", "truncated"),
    (0.8111, "81.10", "no"),
    (0.81105, "81.10", "rounded"), (0.815, "81", "rounded"), (0.8151, "81", "truncated"),
    (0.0, "0", "rounded"), (1.0, "100", "rounded"), (0.9951, "99.5", "rounded"),
    (float("nan"), "81.1", "no"), (np.float32(0.14), "14.0", "rounded")])
def test_the_printed_decimals_decide(value, printed, expected):
    assert agreement(value, Decimal(printed)) == expected


# Rank-1 is k/N.

@pytest.mark.parametrize(("printed", "n", "expected"), [
    ("14.0", 50, (7, 7, "rounded", (7, 7))),
    ("14.1", 50, (8, 7, "no", (7, 8))),
    ("81.1", 3368, (2730, 2733, "rounded", (2731, 2732))),
    ("66.6", 3, (2, 2, "truncated", (1, 2))),
    ("50", 1, (1, 0, "no", (0, 1)))])
def test_hit_counts(printed, n, expected):
    found = hit_counts(Decimal(printed), n)
    assert (found.fewest, found.most, found.rounding, found.nearest) == expected
    assert found.n_query == n


@pytest.mark.parametrize("n", [1, 3, 7, 48, 50, 64])
@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_hit_counts_are_what_agreement_says_of_every_k(n, decimals):
    step = Decimal(1).scaleb(-decimals)
    for place in np.random.default_rng(n).integers(0, 100 * 10**decimals + 1, 60).tolist():
        printed = place * step
        fits = {way: [k for k in range(n + 1) if agreement(k / n, printed) == way]
                for way in ("rounded", "truncated")}
        found = hit_counts(printed, n)
        fits["padded"] = without_zeros(str(printed), n)
        way = next((way for way in ("rounded", "truncated") if fits[way]), "padded")
        assert list(range(found.fewest, found.most + 1)) == fits[way]
        assert found.rounding == (way if fits[way] else "no")


def without_zeros(text, n):
    """The k that round to a figure of fewer zeros, the most of them first."""
    while "." in text and text[-1] == "0":
        text = text[:-1].rstrip(".")
        fits = [k for k in range(n + 1) if agreement(k / n, Decimal(text)) == "rounded"]
        if fits:
            return fits
    return []


@pytest.mark.parametrize(("printed", "n", "shorter", "fewest", "most"), [
    ("89.70", 1678, "89.7", 1505, 1506), ("81.90", 3368, "81.9", 2757, 2760),
    ("80.90", 2228, "80.9", 1802, 1803), ("89.700", 1678, "89.7", 1505, 1506),
    ("13.0", 60, "13", 8, 8)])
def test_zeros_that_a_page_added(printed, n, shorter, fewest, most):
    found = hit_counts(Decimal(printed), n)
    assert (found.rounding, str(found.possible_as)) == ("padded", shorter)
    assert (found.fewest, found.most) == (fewest, most)
    # Without a zero at its end no digit can have been added, nor before the decimal point.
    assert hit_counts(Decimal("89.71"), 1678).rounding == "no"
    assert hit_counts(Decimal("10"), 3).rounding == "no"


@pytest.mark.parametrize("text", ["100.1/50", "50/100.01", "101/102", "9" * 5000 + "/50"])
def test_nothing_over_100_is_possible(text):
    for dataset in ("market1501", "mars"):
        assert not reid_ref.validate(dataset=dataset, published=text).possible
    figure = parse_figure(text)
    assert verdict_of(figure, *possible_on(figure, None, [])) == "no"


# Bounds on mAP given Rank-1.

def step(ranks):
    return sum(Fraction(i, r) for i, r in enumerate(ranks, 1)) / len(ranks)


def trapezoid(ranks):
    return sum((Fraction(i, r) + (Fraction(i - 1, r - 1) if r > 1 else 1)) / 2
               for i, r in enumerate(ranks, 1)) / len(ranks)


OWN_RULES = {"step": step, "trapezoid": trapezoid}


def every_map(sizes, rule):
    """Every (hits, sum of AP) that rankings of these (good, kept) can have."""
    outcomes = [{(int(ranks[:1] == (1,)), rule(ranks) if ranks else Fraction(0))
                 for ranks in combinations(range(1, kept + 1), good)} for good, kept in sizes]
    return {(sum(hit for hit, _ in choice), sum(ap for _, ap in choice))
            for choice in product(*outcomes)}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("sizes", [
    [(1, 1)], [(1, 4)], [(2, 4)], [(3, 3)], [(2, 5), (2, 5)], [(1, 3), (3, 5)], [(2, 2), (1, 4)],
    [(0, 3), (2, 4)], [(0, 2), (2, 2), (1, 3)], [(1, 2), (2, 6), (3, 4)], [(4, 5), (1, 5), (2, 3)],
    [(1, 5), (1, 2), (2, 4), (0, 1)],
], ids=str)
def test_bounds_are_those_of_every_ranking(sizes, drop, rule):
    n_good, n_kept = np.array(sizes).T
    everything = every_map(sizes, OWN_RULES[rule])
    divisor = np.count_nonzero(n_good) if drop else len(sizes)
    for fewest in range(len(sizes) + 1):
        for most in range(fewest, len(sizes) + 1):
            sums = [total for hits, total in everything if fewest <= hits <= most]
            found = map_bounds(n_good, n_kept, {1: (fewest, most)}, rule, drop)
            if not sums:
                assert found is None
                continue
            expected = float(min(sums) / divisor), float(max(sums) / divisor)
            np.testing.assert_allclose(found, expected, rtol=1e-14)


# The whole.

def one_query(*printed, distances=(.1, .2, .3), conventions=("matlab", "torchreid")):
    """Identity 7 stands first and third of three: step AP 5/6, trapezoid 19/24."""
    data = ResultFile("made", Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3]), None, None,
                      np.array([distances]), {})
    return validate(data, parse_figure(*printed), conventions)


def test_no_bounds_where_no_query_counts():
    assert map_bounds(np.array([0]), np.array([3]), {1: (0, 0)}, "step", drop=True) is None
    assert map_bounds(np.array([0]), np.array([3]), {1: (0, 0)}, "step") == (0, 0)


def ways(candidate):
    return [(ranking, name) for ranking, name, _ in candidate.ways]


def test_the_rule_that_gives_the_figure_is_found():
    found = one_query("100.0/79.2")
    assert found.reproduced
    assert [(one.match, ways(one)) for one in found.candidates] == [
        ("rounded", [("distances", "matlab")]), ("no", [("distances", "torchreid")])]
    assert found.candidates[0].mAP == pytest.approx(19 / 24, rel=1e-15)
    assert found.candidates[1].difference == pytest.approx(500 / 6 - 79.2, rel=1e-12)
    assert "convention:matlab|" in found.candidates[0].ways[0][2]


def test_one_number_alone_decides_where_only_one_was_printed():
    assert [one.match for one in one_query("/83.3").candidates] == ["rounded", "no"]
    # Both rules have the same Rank-1, and stay apart by their mAP.
    assert [one.match for one in one_query("100/").candidates] == ["rounded", "rounded"]
    assert [one.match for one in one_query("50/83.3").candidates] == ["no", "no"]


def test_truncated_digits_are_told_apart_and_do_not_count_as_reproduced():
    found = one_query("100/79.1")
    assert not found.reproduced
    assert [one.match for one in found.candidates] == ["truncated", "no"]
    # A rounded Rank-1 with a truncated mAP is truncated; with a wrong one it is no match.
    assert one_query("100/79.0").candidates[0].match == "no"


def test_the_closest_come_first():
    found = one_query("100/83.0")
    assert [ways(one)[0][1] for one in found.candidates] == ["torchreid", "matlab"]
    assert [round(one.difference, 4) for one in found.candidates] == [0.3333, 3.8333]


def test_ways_with_the_same_numbers_are_one_candidate():
    found = one_query("100/83.3", conventions=["torchreid", "fast-reid", "matlab"])
    assert ways(found.candidates[0]) == [("distances", "torchreid"), ("distances", "fast-reid")]


def test_by_default_every_quick_convention_is_tried_and_the_others_are_named():
    found = one_query("100/83.3", conventions=None)
    tried = {way[1] for one in found.candidates for way in one.ways}
    rules = {"msmt17", "occluded-duke"}  # of protocols, which no convention has
    assert tried == set(CONVENTIONS) - set(NOT_IN_ALL) | rules  # no image is labelled -1
    assert found.left_out == NOT_IN_ALL


def test_impossible_figures_are_said_to_be():
    found = one_query("50/83.3")
    assert found.hit_counts[0].rounding == "no" and found.bounds == ()
    assert found.no_bounds.startswith("impossible: no ranking of these labels has that Rank-1,")
    # A hit leaves 2 good of 3 at worst on ranks 1 and 3.
    found = one_query("100/79.0")
    assert {one.ap: (round(one.low, 6), one.high, one.holds) for one in found.bounds} == {
        "trapezoid": (0.791667, 1.0, False), "step": (0.833333, 1.0, False)}
    assert [one.holds for one in one_query("100/83.3").bounds] == [True, True]
    assert [one.holds for one in one_query("100/79.1").bounds] == [True, False]  # cut off
    assert [one.holds for one in one_query("100/").bounds] == [None, None]
    # A miss leaves ranks 2 and 3 only.
    assert {one.ap: one.high for one in one_query("0/50").bounds} == pytest.approx(
        {"trapezoid": (1 / 4 + 7 / 12) / 2, "step": 7 / 12}, rel=1e-15)


@unmatched_allowed
def test_queries_without_a_match_make_two_counts_and_three_means():
    data = ResultFile("made", Labels([7, 9], [1, 1]), Labels([7, 8, 7], [2, 2, 3]), None, None,
                      np.array([[.1, .2, .3], [.1, .2, .3]]), {})
    found = validate(data, parse_figure("50/41.7"), ["matlab", "torchreid", "light-reid"])
    assert [(one.n_query, one.rounding) for one in found.hit_counts] == [
        (2, "rounded"), (1, "no")]
    assert {(one.rank1_queries, one.map_queries) for one in found.bounds} == {(2, 2), (2, 1)}
    assert {one.map_queries: one.high for one in found.bounds if one.ap == "step"} == {2: .5, 1: 1}
    assert ways(found.candidates[0]) == [("distances", "light-reid")]
    only_map = validate(data, parse_figure("/41.7"), ["matlab"])
    assert {(one.rank1_queries, one.map_queries) for one in only_map.bounds} == {(2, 2), (1, 1)}


def test_a_query_labelled_junk_has_no_bounds():
    data = ResultFile("made", Labels([7, -1], [1, 1]), Labels([7, 8, -1], [2, 2, 3]), None, None,
                      np.array([[.1, .2, .3], [.1, .2, .3]]), {})
    with pytest.warns(reid_ref.UnmatchedWarning, match="1 only junk"):
        found = validate(data, parse_figure("100/50"), ["matlab"])
    assert found.bounds == () and "labelled -1" in found.no_bounds


def test_a_map_of_nan_matches_nothing_and_comes_last():
    data = ResultFile("made", Labels([7, 9], [1, 1]), Labels([7, 8], [2, 2]), None, None,
                      np.array([[.1, .2], [.1, .2]]), {})
    with pytest.warns(reid_ref.UnmatchedWarning, match="1 of 2 queries"):
        found = validate(data, parse_figure("50/50"), ["mars", "matlab"])
    assert [(one.match, ways(one)[0][1]) for one in found.candidates] == [
        ("rounded", "matlab"), ("no", "mars")]
    assert found.candidates[1].difference == np.inf


def test_each_warning_comes_once_for_three_rankings():
    data = read_result(MARKET)
    with pytest.warns(reid_ref.UnmatchedWarning) as caught:
        validate(data, parse_figure("45.8/"), ["matlab"])
    assert len(caught) == 1 and "3 of 48 queries" in str(caught[0].message)


@unmatched_allowed
def test_progress_counts_every_query_of_every_ranking():
    done = []
    validate(read_result(MARKET), parse_figure("45.8/"), ["matlab"], progress=done.append)
    assert sum(done) == 3 * 48


# The command.

def run(*arguments):
    """Validate; a search, which takes seconds, is tested in test_validate_search.py."""
    done = command("validate", *arguments, *["--no-search"] * (MARKET in arguments))
    return done.returncode, done.stdout, done.stderr


def test_table_of_an_impossible_figure():
    status, out, _ = run(MARKET, "--published", "45.8/97.0")
    assert status == 1 and (
        "\npossible   impossible: mAP 97.0; with this Rank-1 the usual rules of AP allow mAP 4.93"
        ) in " ".join(out.split(" ")).replace("\n           ", " ")
    assert out.startswith("answer     no convention prints it\npossible ")
    assert "\n\nClosest\n" in out and "Reproduced" not in out
    verbose = run(MARKET, "--published", "45.8/97.0", "--verbose")[1]
    assert "trapezoid 4.93 to 84.31 over 48 queries: impossible" in verbose
    assert "veri, oxford: only with index lists" in verbose and "only with index" not in out


def test_table_of_a_truncated_figure():
    status, out, _ = run(MARKET, "--published", "45.8/40.1", "--convention", "matlab,mars")
    assert status == 1
    assert ("answer     nearly printed by matlab's rule on normalised features, 0.06 points\n"
            "           off, the next 6.28; another decoder, resizing or machine moves a\n") in out
    assert "; or its digits were cut off" in " ".join(out.split())
    assert "\n\nReproduced only if the digits were cut off" in out
    assert "Not tried" not in out
    # 46.6 is 21 of 45 cut off; of 48 it is nothing.
    out = " ".join(run(MARKET, "--published", "46.6/", "--verbose")[1].split())
    assert "possible: 21 of 45 queries, if the digits were cut off, not rounded" in out
    assert "no k/48 gives these digits" in out


def ways_of(candidate):
    return [(way["features"], way["convention"]) for way in candidate["ways"]]


def test_a_paper_key_takes_the_figure_and_warns_of_another_test_set():
    status, out, err = run(MARKET, "--paper", "market1501/densenet121-news")
    assert status == 1
    assert ("warning: market1501/densenet121-news is over 3,368 queries of Market-1501, this file "
            "has 48: it is not the same test set\n") in err
    words = " ".join(out.split())
    assert "published Rank-1 89.91, mAP 73.58 percent market1501/densenet121-news: lay" in words
    evaluator = by_key("market1501/densenet121-news").evaluator
    assert f"evaluator: {evaluator}; label -1: loaded; note: Rank-1" in words
    answer = json.loads(run(MARKET, "--paper", "dukemtmc/basel-oim", "--json")[1])
    assert answer["published"]["Rank-1"] == "68.1" and answer["published"]["mAP"] is None
    assert answer["published"]["key"] == "dukemtmc/basel-oim"
    answer = json.loads(run(MARKET, "--paper", "market1501/bagtricks-resnet50", "--json")[1])
    assert answer["published"]["label_minus_1"] == "not loaded"
    assert "does not load" in answer["left_out"]["torchreid-function"]


def of_paper(monkeypatch, capsys, path, **row):
    """Validate a file against a figure that is put into the built-in table."""
    changed = replace(by_key("market1501/bagtricks-resnet50"), label_minus_1="", n_query="", **row)
    monkeypatch.setattr("reid_ref.commands.validate.command.by_key", lambda key: changed)
    status = main(["validate", str(path), "--paper", "made", "--json", "--no-search"])
    answer = json.loads(capsys.readouterr().out)
    assert main(["validate", str(path), "--paper", "made", "--no-search"]) == status
    return status, answer, " ".join(capsys.readouterr().out.split())


def test_the_same_digits_by_another_protocol_are_no_match(monkeypatch, capsys):
    figure = {"rank1": "48.89", "mAP": "44.91"}  # torchreid's, see docs/check_a_paper.md
    for protocol in ("torchreid", ""):
        status, answer, out = of_paper(monkeypatch, capsys, MARKET, protocol=protocol, **figure)
        assert (status, answer["candidates"][0]["match"]) == (0, "rounded")
        assert f"; protocol: {protocol or 'not stated'}; evaluator" in out
        assert "another protocol" not in out
    status, answer, out = of_paper(monkeypatch, capsys, MARKET, protocol="matlab", **figure)
    assert (status, answer["reproduced"]) == (1, False)
    assert answer["candidates"][0]["match"] == "another protocol"
    assert answer["published"]["protocol"] == "matlab"
    assert out.startswith("answer its protocol does not print it; fast-reid, BoT, AGW and")
    assert "The same digits by another protocol, which is no match features" in out
    assert "Reproduced" not in out


def test_what_differs_in_the_last_bits_is_the_same_protocol(monkeypatch, capsys):
    figure = {"rank1": "45.83", "mAP": "40.16", "protocol": "layumi"}
    status, answer, _ = of_paper(monkeypatch, capsys, MARKET, **figure)
    names = {way["convention"] for one in answer["candidates"] if one["match"] == "rounded"
             for way in one["ways"]}
    assert status == 0 and names >= {"layumi", "matlab"}


@pytest.fixture
def sysu(tmp_path):
    """Twelve probes and 48 gallery images with the cameras of SYSU-MM01."""
    rng, path = np.random.default_rng(7), tmp_path / "sysu.npz"
    query = Labels(np.tile([1, 2, 3], 4), np.repeat([3, 6], 6))
    gallery = Labels(np.tile([1, 2, 3], 16), np.repeat([1, 2, 4, 5], 12))
    features = [rng.standard_normal((4, 8))[side.identity] + rng.standard_normal((len(side), 8))
                for side in (query, gallery)]
    save_features(path, features, query, gallery)
    return path, features, query, gallery


@pytest.mark.filterwarnings("ignore::reid_ref.BenchmarkWarning")
def test_a_figure_of_a_protocol_is_compared_with_that_protocol(sysu, monkeypatch, capsys):
    path, features, query, gallery = sysu
    for part in ("all", "indoor"):
        result = reid_ref.evaluate_protocol("sysu-mm01-python", *features, query, gallery,
                                            metric="dot", normalize=False, part=part)
        status, answer, out = of_paper(
            monkeypatch, capsys, path, protocol="sysu-mm01-python", part=part,
            rank1=f"{100 * result[part].rank(1):.2f}", mAP=f"{100 * result[part].mAP:.2f}")
        first = answer["candidates"][0]
        assert (status, first["match"]) == (0, "rounded")
        assert {"dot"} <= {way["features"] for way in first["ways"]}
        assert {way["convention"] for one in answer["candidates"] for way in one["ways"]} == {
            f"sysu-mm01-python-{part}"}
        assert f"part:{part}|shots:1|trials:10|seed:0" in first["ways"][0]["signature"]
        assert answer["left_out"] == {
            "all conventions": "the figure is of protocol sysu-mm01-python"}
        assert out.startswith("answer printed by protocol sysu-mm01-python")
        assert (f" --protocol sysu-mm01-python --part {part} --metric dot --no-normalize input "
                in out)


@pytest.mark.parametrize(("words", "message"), [
    (["sysu-mm01/agw-all", "--convention", "matlab"], "--convention, --set: .*of a protocol"),
    (["sysu-mm01/vsd-all"], "reid-ref evaluate FILE --protocol sysu-mm01 --trials rand_perm_cam"),
    (["ltcc/aim-paper-cc"], "query: .*labels with clothes")])
def test_what_a_figure_of_a_protocol_needs(sysu, words, message):
    assert_one_line_error(command("validate", str(sysu[0]), "--paper", *words), message)


@pytest.fixture
def sketch():
    return str(shared("real/sketch_reid") / "pytorch_result.mat")


@pytest.mark.parametrize("option", [
    ("--published", "14.0/17.8"), ("--published", "14/"), ("--published", "/17.79997"),
    ("--paper", "sketchreid/log-of-gralach-beneran56-12")])
def test_a_real_log_is_reproduced_by_matlab_on_normalised_features(sketch, option):
    status, out, err = run(sketch, *option, "--json")
    warning, = err.splitlines()  # its features are normalised already
    assert status == 0 and "(all norms are 1), and torchreid, " in warning
    ways = [way for one in json.loads(out)["candidates"] if one["match"] == "rounded"
            for way in ways_of(one)]
    assert ("normalised", "matlab") in ways and ("normalised", "layumi") in ways
    if option[1] != "14/":
        assert ("normalised", "torchreid") not in ways


# Label -1: the toolbox never loads it, its bare function ranks it.

def junk_first():
    """One query whose nearest image is labelled -1, the second its match."""
    return ResultFile("made", Labels([7, 8], [1, 1]), Labels([-1, 7, 8, 9], [2, 2, 2, 2]), None,
                      None, np.array([[.1, .2, .3, .4], [.4, .3, .1, .2]]), {})


def test_the_bare_function_is_tried_where_an_image_is_labelled_minus_1():
    found = validate(junk_first(), parse_figure("50/75"))
    reproduced = {way[1] for one in found.candidates if one.match == "rounded" for way in one.ways}
    assert {"torchreid-function", "simpleir"} <= reproduced
    assert "torchreid" not in reproduced
    assert "torchreid" in {way[1] for one in validate(
        junk_first(), parse_figure("100/100")).candidates[:1] for way in one.ways}
    assert not {"cuhk03-single-shot-function", "open-reid-cuhk03-function"} & reproduced


def test_a_figure_whose_code_does_not_load_it():
    figure = parse_figure("50/75")
    found = validate(junk_first(), figure, label_minus_1="not loaded")
    tried = {way[1] for one in found.candidates for way in one.ways}
    assert {"torchreid", "matlab"} <= tried and not found.reproduced
    assert not {"torchreid-function", "simpleir"} & tried
    assert "does not load" in found.left_out["torchreid-function"]
    # Three images are left: a miss stands second or third; with -1, fourth at worst.
    worst = {label: [one.low for one in validate(
        junk_first(), figure, ["simpleir"], label_minus_1=label).bounds if one.ap == "step"]
        for label in ("", "not loaded")}
    np.testing.assert_allclose(worst["not loaded"], [(1 + 1 / 3) / 2], rtol=1e-15)
    np.testing.assert_allclose(worst[""], [(1 + 1 / 4) / 2], rtol=1e-15)


# Of a benchmark, without a file.

@pytest.mark.parametrize(("published", "possible"), [
    ("94.42/86.10", True), ("94.43/", False), ("94.40/", True), ("/86.1", True),
    # A miss has at best AP 1/2 with one good image, more with more: 99 is out of reach with 10.
    ("10.0/99.0", False), ("99.9/2.0", False),
    # 3179/3368 = 94.3883...: cut off it is 94.38.
    ("94.38/86.10", True)])
def test_what_is_possible_on_a_benchmark(published, possible):
    assert reid_ref.validate(dataset="market1501", published=published).possible == possible


@pytest.mark.parametrize("convention, n_low", [
    ("matlab", 2), ("torchreid", 2), (["matlab", "layumi"], 2), (None, 3)])
def test_bounds_count_label_minus_1_where_a_convention_ranks_it(convention, n_low):
    """The good image is at worst behind all wrong ones, and label -1 is one of three images."""
    data = reid_ref.ResultFile("made", Labels([7], [1]), Labels([7, -1, 8], [2, 2, 2]),
                               distances=np.array([[.1, .2, .3]]))
    found = reid_ref.validate(data, "/50.0", convention=convention)
    low, = {bounds.low for bounds in found.bounds if bounds.ap == "step"}
    assert low == 1 / n_low


def test_nothing_to_rank_reproduces_nothing():
    data = reid_ref.ResultFile("made", Labels([7], [1]), Labels([-1], [2]),
                               distances=np.array([[.1]]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no query has a good image
        assert not reid_ref.validate(data, "50.0/50.0").reproduced


def test_bounds_of_a_benchmark_are_those_of_its_labels():
    folder = shared("real/market1501")
    query, gallery = read_labels(*sorted(folder.glob("market1501_*.csv")))
    for text in ("94.39/86.1", "/86.1", "89.91/30"):
        found = reid_ref.validate(dataset="market1501", published=text)
        assert possible(parse_figure(text), query, gallery) == (
            found.hit_counts, found.bounds, found.no_bounds)


def test_a_figure_over_the_same_images():
    assert run("--dataset", "mars", "--paper", "mars/ap3d")[0] == 0
    assert run("--dataset", "cuhk03-np-labeled", "--paper", "cuhk03-np/pan-labeled")[0] == 0


def test_swapped_figures_are_named():
    """mAP above Rank-1, and the reverse fits: on a file, and by a benchmark's counts."""
    out = " ".join(run(MARKET, "--published", "40.16/45.83")[1].split())
    assert "answer probably swapped: mAP is above Rank-1, and --published 45.83/40.16 fits" in out
    assert answer_of("--published", "40.16/45.83")["swapped"]
    assert not answer_of("--published", "45.83/40.16")["swapped"]
    assert not answer_of("--published", "40.17/45.83")["swapped"]


def answer_of(*words):
    return json.loads(run(MARKET, *words, "--json")[1])


def test_one_decimal_of_many_queries_cannot_be_tested():
    words = "validate", "--dataset", "market1501", "--published"
    out = " ".join(command(*words, "81.1/67.6").stdout.split())
    assert "with so few decimals every figure is a count of so many queries" in out
    assert "so few decimals" not in command(*words, "81.12/67.65").stdout


# By far the closest: figures printed of five public networks on Market-1501, and what the
# conventions give of features made again, by another decoder of images.

NETWORKS = {
    "osnet-x0-25": ("59.9/31.0", "torchreid", [(59.77, 31.01), (59.83, 33.63), (59.83, 32.41)]),
    "retail-0288": ("86.1/59.7", "fast-reid", [(84.95, 55.71), (86.10, 59.77), (86.10, 58.85)]),
    "retail-0287": ("92.9/76.6", "fast-reid", [(92.34, 71.51), (93.08, 76.60), (93.08, 75.95)]),
    "retail-0286": ("94.8/83.7", "fast-reid", [(94.24, 80.03), (94.86, 83.77), (94.86, 83.27)]),
    "retail-0277": ("96.2/87.7", "fast-reid", [(95.90, 84.59), (96.14, 87.68), (96.14, 87.27)])}


def near(text, points, names=("torchreid", "fast-reid", "matlab")):
    """What is by far the closest of conventions that give these numbers, in percent."""
    figure = parse_figure(text)
    return by_far_the_closest(figure, _candidates(
        {(repr(rank1 / 100), repr(mAP / 100)): [Way("distances", name, "")]
         for (rank1, mAP), name in zip(points, names)}, figure))


@pytest.mark.parametrize("network", NETWORKS)
def test_the_convention_of_a_real_network_is_by_far_the_closest(network):
    text, name, points = NETWORKS[network]
    found = near(text, points)
    assert found.conventions == (name,)
    assert found.difference <= .19 and found.next >= .43 and 0 < found.accidents < .03


@pytest.mark.parametrize(("text", "points"), [
    ("59.9/31.0", [(59.7, 31.21), (59.8, 32.4)]),  # 0.21 away
    ("59.9/31.0", [(59.8, 31.1), (59.8, 30.7)]),  # another is 0.3 away
    ("59.9/31.0", [(59.8, 31.1)]),  # nothing to compare with
    ("59.9/31.0", [(59.8, 31.1), (59.8, 31.11)]),
    ("59.9/31.0", [(59.9, 31.0), (59.8, 33)])])  # it is reproduced
def test_nothing_is_by_far_the_closest(text, points):
    assert near(text, points) is None


def test_conventions_with_the_same_digits_are_closest_together():
    found = near("59.9/31.0", [(59.8, 31.1), (59.8, 31.101), (59.8, 33), (float("nan"), 31)],
                 "abcd")
    assert found.conventions == ("a", "b") and found.next == pytest.approx(2)
    alone = near("/31.0", [(59.8, 31.1), (12, 31.5), (12, 34)], "abc")
    assert (alone.conventions, alone.accidents) == (("a",), pytest.approx(.1))


def test_the_share_of_accidents_is_that_of_figures_drawn_at_random():
    """Three near, one of them over the edge, two squares that overlap, one beyond reach."""
    points = np.array([(60.1, 31), (60.2, 31.2), (61.9, 30), (70, 31)])
    drawn = np.random.default_rng(5).uniform((58, 29), (62, 33), (200_000, 2))
    inside = (np.abs(drawn[:, None] - points).max(axis=2) <= .15).any(axis=1)
    expected = share_near(points, np.array([60., 31.]), .15)
    assert inside.mean() == pytest.approx(expected, abs=4 * (expected / len(drawn))**.5)


def test_several_figures_name_what_is_by_far_the_closest():
    words = "--convention", "matlab,torchreid", "--published", "45.8/40.1"
    first, second = run(MARKET, *words, "45.9/40.3")[1].splitlines()
    assert "nearly printed by matlab's rule on normalised features, 0.06 points off, the" in first
    assert first.endswith("; or its digits were cut off")
    assert "nearly printed by matlab's rule on normalised features, 0.14 points off, the" in second
    answer = answer_of(*words)["closest"]
    assert answer["conventions"] == ["matlab"] and 0 < answer["accidents"] < .01
    assert answer_of("--published", "45.83/40.16")["closest"] is None


# Several figures: one line each.

def test_several_figures_of_a_benchmark_have_a_line_each():
    status, out, err = run("--dataset", "Market-1501", "--published", "94.42/86.10", "94.43/",
                           "94.40/", "94.38/", "101.5/3", "--published", "10.0/99.0",
                           "86.10/94.42")
    assert (status, err) == (1, "") and out.splitlines() == [
        "Market-1501  94.42/86.10  possible",
        "Market-1501  94.43/       impossible: no k/3368 gives this Rank-1",
        "Market-1501  94.40/       possible as 94.4",
        "Market-1501  94.38/       possible only if the digits were cut off",
        "Market-1501  101.5/3      impossible: Rank-1 101.5, over 100 percent",
        "Market-1501  10.0/99.0    impossible: mAP is out of reach with this Rank-1; probably "
        "swapped",
        "Market-1501  86.10/94.42  possible; probably swapped"]
    assert run("--dataset", "duke", "--published", "81.1/67.6", "/50")[0] == 0


def test_several_figures_of_a_file():
    """The file may come last; it is evaluated once."""
    words = "--convention", "matlab,torchreid", "--published", "45.83/40.16"
    accidents = "; chance of an accident: less than 0.1 percent"
    status, out, _ = run(*words, "48.89/44.91", "12/13", MARKET)
    assert status == 1 and out.splitlines() == [
        "45.83/40.16  printed by matlab's rule on normalised features" + accidents,
        "48.89/44.91  printed by fast-reid, BoT, AGW and 11 more (torchreid's rule on normalised "
        f"features){accidents}. Steps from matlab's mAP: queries without a good image left out "
        "(+2.81); "
        "step AP (+1.94)", "12/13        no convention prints it"]
    assert run(MARKET, *words, "48.89/")[0] == 0
    answer, = json.loads(run(MARKET, *words, "48.89/", "--json")[1])["results"][1:]
    verdict = answer.pop("verdict")
    assert verdict.startswith("printed by fast-reid, BoT, AGW and 11 more (torchreid's rule")
    # One number, and 45 queries.
    assert " percent, so it may be one. Steps from matlab's mAP: " in verdict
    assert answer == {"name": "", "dataset": None, "Rank-1": "48.89", "mAP": None,
                      "possible": True, "reproduced": True, "search": None}


def test_a_table_of_figures(tmp_path):
    path = tmp_path / "figures.csv"
    path.write_text("Name,mAP,Dataset,Rank-1\nOSNet,84.9,MSMT17_V1,94.80\nx,,veri,95.61\n")
    status, out, _ = run("--published", path)
    assert status == 1 and out.splitlines() == [
        "OSNet  MSMT17    94.80/84.9  possible; so few decimals cannot be tested as a count",
        "x      VeRi-776  95.61/      impossible: no k/1678 gives this Rank-1"]
    path.write_text("rank1,map\n94.42,86.10\n")
    assert run("--published", path, "--dataset", "market")[0] == 0


@pytest.mark.parametrize(("text", "message"), [
    ("rank1,map\n91,82\n", "line 2: dataset: unknown ''; known: "),
    ("dataset,rank1,map\nmine,91,82\n", "line 2: dataset: unknown 'unknown'; known: "),
    ("dataset,rank1,map\nmars,94.8\nmars,9e1,3.1\n", "line 3: published: .*in percent"),
    ("dataset,rank1,map\nSYSU,94.8,3\n", "line 2: dataset: .*SYSU-MM01"),
    ("dataset,rank1,map\n", "figures.csv: .*a row for each figure")])
def test_a_table_of_figures_that_cannot_be_read(text, message, tmp_path):
    path = tmp_path / "figures.csv"
    path.write_text(text)
    assert_one_line_error(command("validate", "--published", path), message)
    done = command("validate", MARKET, "--published", path)
    assert_one_line_error(done, "FILE: .*a table of figures")
