"""What evaluators take and return, and how they are imported: each form is understood."""
import re
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from reid_ref import testing
from reid_ref.arrays import InputError
from reid_ref.foreign.answers import decimals_of, read_answer
from reid_ref.foreign.arguments import fed
from reid_ref.foreign.importing import load_evaluator, load_functions
from reid_ref.rules.candidates import find_rules
from reid_ref.testing.checks import CHECKS
from reid_ref.testing.kit import Session
from reid_ref.testing.subject import subject
from tests.documents import ROOT
from tests.nightly import cases
from tests.testing.wrong import evaluator

LOOP = evaluator(junk="kept")


def rule_of(function, **settings):
    """Return the name of the rule that is found, and what is told of it."""
    rule = Session(function, settings=settings).of_all
    return rule and f"{rule.name}; {rule.words}"


def flat(report):
    return " ".join(str(report).split())


def one_place(distmat, q_pids, g_pids, removed):
    """Return CMC of 50 ranks and mAP, whatever is removed."""
    curves, aps = [], []
    for row, pid, out in zip(distmat, q_pids, removed):
        order = np.argsort(row, kind="stable")
        hits = (g_pids == pid)[order][~out[order]]
        if hits.any():
            curves.append(hits.cumsum() > 0)
            places = np.flatnonzero(hits)
            aps.append(np.mean(np.arange(1, len(places) + 1) / (places + 1)))
    fewest = min(map(len, curves))
    filled = [np.append(curve[:fewest], np.zeros(max(50 - fewest, 0)))[:50] for curve in curves]
    return np.mean(filled, axis=0), np.mean(aps)


# ------------------------------------------------------------------ arguments
def test_one_set_against_itself_is_the_image_itself():
    def evaluate(distmat, pids):
        return one_place(distmat, pids, pids, np.eye(len(pids), dtype=bool))[1]
    assert rule_of(evaluate).startswith("torchreid-function[ignored=itself];")


def test_a_curve_at_the_ranks_that_an_argument_lists():
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids, topk=(1, 5, 10)):
        cmc, mAP = LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
        return cmc[np.array(topk) - 1], mAP
    assert rule_of(evaluate).startswith("torchreid-function;")


def test_features_by_the_names_of_the_sides():
    def evaluate(query, query_labels, reference=None, reference_labels=None):
        nothing = np.zeros((len(query), len(reference)), bool)
        return {"mAP": one_place(-query @ reference.T, query_labels, reference_labels, nothing)[1]}
    assert rule_of(evaluate).startswith("cuhk-pedes;")


def test_videos_and_a_curve_that_is_filled_with_zeros():
    def evaluate(distmat, q_pids, g_pids, q_action_indices, g_action_indices, max_rank):
        return one_place(distmat, q_pids, g_pids, q_action_indices[:, None] != g_action_indices)
    assert rule_of(evaluate) == (
        "torchreid-function[ignored=other video], but for a mistake; CMC is cut to the fewest "
        "images that a query keeps and filled with zeros")


@pytest.mark.parametrize("unit", [1, 100])
def test_cameras_of_one_benchmark(unit):
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        removed = (q_camids == 3)[:, None] & (g_camids == 2)
        kept, pids = np.where(removed, np.inf, distmat), np.unique(g_pids)
        nearest = np.stack([kept[:, g_pids == pid].min(axis=1) for pid in pids], axis=1)
        cmc, _ = one_place(nearest, q_pids, pids, np.isinf(nearest))
        return {"cmc": cmc[:min(3, len(pids))],
                "mAP": unit * one_place(distmat, q_pids, g_pids, removed)[1]}
    assert rule_of(evaluate).startswith("sysu-mm01;")


def test_similarities_as_tensors_with_the_gallery_first():
    torch = pytest.importorskip("torch")

    def evaluate(scores_t2i: torch.Tensor, img2person: torch.Tensor, txt2person: torch.Tensor):
        nothing = np.zeros(scores_t2i.shape, bool)
        cmc, mAP = one_place(-scores_t2i.numpy(), txt2person.numpy(), img2person.numpy(), nothing)
        return {"r1": 100 * cmc[0], "mAP": torch.tensor(100 * mAP)}
    assert rule_of(evaluate).startswith("cuhk-pedes;")


def test_settings_are_not_fed():
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids, *, gallery_junk_pids=frozenset({-1}),
                 exclude_same_pid_camid=True, ids=()):
        return distmat
    assert [name for name, _ in fed(evaluate).given] == [
        "distmat", "q_pids", "g_pids", "q_camids", "g_camids"]


def test_settings_go_to_the_functions_that_take_them():
    def mean_ap(distmat, q_ids, g_ids, q_cams, g_cams):
        return LOOP(distmat, q_ids, g_ids, q_cams, g_cams)[1]

    def cmc(distmat, q_ids, g_ids, q_cams, g_cams, late):
        return LOOP(distmat, q_ids, g_ids, q_cams, g_cams)[0][late:]
    assert rule_of((mean_ap, cmc), late=0).startswith("torchreid")
    assert "CMC is one rank late" in rule_of((mean_ap, cmc), late=1)
    with pytest.raises(InputError, match="settings: expected arguments of mean_ap, cmc, got lat"):
        load_evaluator((mean_ap, cmc), settings={"lat": 1})


def test_what_is_not_known_is_none():
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids, annotations):
        assert annotations is None
        return LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
    assert rule_of(evaluate).startswith("torchreid-function;")
    assert "annotations=None" in subject(evaluate).words


def test_a_setting_says_what_a_name_does_not():
    def evaluate(things, query_ids, others, gallery_ids):
        return {"mAP": one_place(-things @ others.T, query_ids, gallery_ids,
                                 np.zeros((len(things), len(others)), bool))[1]}
    assert rule_of(evaluate, things="q_features", others="g_features").startswith("cuhk-pedes;")


def test_places_of_a_ranked_list():
    def evaluate(sorted_indices, q_ids, q_cams, g_ids, g_cams):
        distances = np.argsort(sorted_indices, axis=1)
        return LOOP(distances, q_ids, g_ids, q_cams, g_cams)
    assert rule_of(evaluate).startswith("torchreid-function;")


class Metric:
    """As torchmetrics has them."""

    def __init__(self):
        self.parts = []

    def update(self, distmat, q_pids, g_pids, q_camids, g_camids):
        self.parts.append(LOOP(distmat, q_pids, g_pids, q_camids, g_camids))

    def compute(self):
        assert len(self.parts) == 1
        return self.parts[0]


class Callable:
    def __call__(self, *arrays):
        return LOOP(*arrays)


@pytest.mark.parametrize("evaluator", [Metric, Callable, Callable(), Callable().__call__])
def test_classes(evaluator):
    assert rule_of(evaluator).startswith("torchreid-function;")


def test_the_error_that_came_furthest_is_told():
    pytest.importorskip("torch")

    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        rows = distmat.cpu().numpy()
        return rows.no_such_name
    report = testing.check_evaluator(evaluate, "torchreid")
    assert "no attribute 'no_such_name'" in report.checks[0].message
    message = testing.check_evaluator(np.dot, "torchreid").checks[0].message
    assert message.partition("\n")[0].endswith("not aligned: 84 (dim 1) != 9 (dim 0)")

    def unknown(distmat, q_pids, g_pids, q_camids, g_camids, table):
        return table["mAP"]
    message = testing.check_evaluator(unknown, "torchreid").checks[0].message
    assert "it is given None for table, whose name tells nothing; say --setting table=" in message


# ------------------------------------------------------------------ answers
def test_percent_beside_a_share():
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        cmc, mAP = LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
        return cmc, 100 * mAP
    assert rule_of(evaluate).startswith("torchreid-function;")
    text = flat(testing.check_evaluator(evaluate, "torchreid"))
    assert "its numbers are those of torchreid; wrong: mAP is 54.08" in text
    assert "(percent beside numbers that are shares) called as" in text


def test_percent_with_rank_1_of_zero():
    assert read_answer({"R1": 0.0, "mAP": 4.2}).percent
    assert not read_answer({"R1": 1.0, "mAP": 0.42}).percent


def test_rounded_numbers():
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        cmc, mAP = LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
        return {"mAP": np.around(100 * mAP, 1), "R1": np.around(100 * cmc[0], 1)}
    assert rule_of(evaluate).startswith("torchreid-function;")
    assert "its numbers are rounded to 1 decimal" in subject(evaluate).words


@pytest.mark.parametrize("answer, decimals", [
    ({"mAP": 0.612, "R1": 0.8}, 3), ({"mAP": 61.25, "R1": 80.0}, 2), ({"mAP": 0.5}, 3),
    ({"mAP": 0.6125123, "R1": 0.8}, None), ({"mAP": np.nan}, None)])
def test_decimals(answer, decimals):
    assert decimals_of(read_answer(answer)) == decimals


@pytest.mark.parametrize("answer, curve", [
    (([Fraction(1, 2), 1], Fraction(3, 4)), [.5, 1]),
    ((np.array([Decimal(".5"), Decimal(1)]), Decimal(".75")), [.5, 1]),
    ((np.array([.5, 1]), np.array(.75)), [.5, 1]),
    ({"mAP": 75., "ranks": [50., 100., 100.]}, [.5, 1, 1]),
    ({"mAP": 75, "ranks": [50, 100, 100]}, [.5, 1, 1]),
    ({"mAP": .75, "ranks": {1: .5, 5: 1.}}, [.5, 1]),
    ({"mAP": .75, "all": {"ranks": [.5, 1.]}}, [.5, 1])])
def test_numbers_of_any_type_and_what_is_named_ranks(answer, curve):
    read = read_answer(answer)
    assert (read.mAP, read.curve.tolist(), read.told) == (.75, curve, ())


def test_vectors_in_a_table_that_are_not_understood_are_told():
    read = read_answer({"mAP": .75, "cmc": {"at": [1, 5], "values": [.5, 1.]}})
    assert read.told == ("not understood: at, 2 numbers", "not understood: values, 2 numbers")


def test_two_numbers_keep_their_order_if_one_is_missing():
    answer = read_answer((np.float64(0), np.float64("nan")))
    assert answer.curve.tolist() == [0] and np.isnan(answer.mAP)


def test_a_matrix_of_curves_is_not_the_curve():
    answer = read_answer({"cmc": [.5, 1.], "mAP": .75, "all_cmc": np.ones((9, 2))})
    assert answer.curve.tolist() == [.5, 1]
    assert read_answer({"all_cmc": np.ones((9, 2)), "cmc": [.5, 1.]}).curve.tolist() == [.5, 1]


def test_a_query_without_a_match_is_1_in_both_means():
    def evaluate(distmat, q_pids, g_pids):
        aps, inps = [], []
        for row, pid in zip(distmat, q_pids):
            places = np.flatnonzero((g_pids == pid)[np.argsort(row, kind="stable")]) + 1
            hits = np.arange(1, len(places) + 1)
            aps.append(np.mean(hits / places) if len(places) else 1)
            inps.append(hits[-1] / places[-1] if len(places) else 1)
        return {"mAP": np.mean(aps), "mINP": np.mean(inps)}
    assert "a query without a good image counts as AP 1" in rule_of(evaluate)


def test_a_cut_of_ap_beside_a_whole_curve():
    rule = rule_of(evaluator(junk="kept", top=5, n="found"))
    assert rule == ("torchreid-function[recall=found,top_k=5], but for a mistake; CMC is that of "
                    "the whole list")


def test_a_curve_that_is_drawn():
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        curves = []
        mAP = LOOP(distmat, q_pids, g_pids, q_camids, g_camids)[1]
        for row, pid, camid in zip(distmat, q_pids, q_camids):
            order = np.argsort(row, kind="stable")
            left = order[(g_pids[order] != pid) | (g_camids[order] != camid)]
            for _ in range(10 * (g_pids[left] == pid).any()):
                drawn = [np.random.choice(np.flatnonzero(g_pids[left] == each))
                         for each in np.unique(g_pids[left])]
                hits = g_pids[left[np.sort(drawn)]] == pid
                curves.append(np.append(hits.cumsum(), np.ones(50))[:50])
        return np.mean(curves, axis=0), mAP
    assert rule_of(evaluate).startswith("cuhk03-single-shot-function;")

    def higher(distmat, q_pids, g_pids, q_camids, g_camids):
        cmc, mAP = evaluate(distmat, q_pids, g_pids, q_camids, g_camids)
        return np.minimum(cmc + .1, 1), mAP
    assert "but for its CMC" in rule_of(higher)


@pytest.mark.parametrize("change", [
    lambda cmc: np.append(0, cmc[1:]), lambda cmc: np.append(np.minimum(cmc[0] + .2, 1), cmc[1:]),
    lambda cmc: np.minimum(cmc + .03, 1), lambda cmc: np.append(cmc[2:], [1, 1])])
@pytest.mark.parametrize("claimed", cases(["torchreid-function"], [None, "torchreid-function"]))
def test_a_curve_that_is_not_drawn_is_compared(change, claimed):
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        cmc, mAP = LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
        return change(cmc), mAP
    report = testing.check_evaluator(evaluate, claimed)
    assert not report.passed
    assert report.rule.startswith("torchreid-function, but for "), report.rule
    assert "follows no rule" in rule_of(lambda distmat, q_pids, g_pids, q_camids, g_camids: (
        np.full(50, 0.5), LOOP(distmat, q_pids, g_pids, q_camids, g_camids)[1]))


def test_an_evaluator_that_always_fails_has_no_numbers():
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        raise RuntimeError("no CUDA")
    report = testing.check_evaluator(evaluate)
    assert "it ends in an error on every problem" in str(report)
    assert str(report).count("the smallest problem that shows it") == 1


@pytest.mark.parametrize("raises, rule", [(True, "veri-wild-2019"), (False, "cuhk-pedes")])
def test_an_exception_where_a_rule_has_no_number(raises, rule):
    def evaluate(distmat, q_pids, g_pids):
        if raises and not np.isin(q_pids, g_pids).all():
            raise IndexError("a query has no match")
        return one_place(distmat, q_pids, g_pids, np.zeros(distmat.shape, bool))[1]
    assert rule_of(evaluate).startswith(f"{rule};")


def test_a_deviation_beside_a_rule_is_no_other_rule():
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        kept = (g_pids != q_pids[:, None]) | (g_camids != q_camids[:, None])
        if not kept.any():
            return SimpleNamespace(mAP=1.0)
        return LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
    report = testing.check_evaluator(evaluate, "torchreid")
    failed = {check.name: check.message for check in report.checks if check.status != "passed"}
    assert "its numbers are those of torchreid; wrong: nothing kept called" in flat(report)
    assert [*failed] == ["nothing kept"]
    assert "no rule, choice or mistake that was tried gives" in failed["nothing kept"]


def test_the_checks_that_no_rule_passes_are_named():
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        cmc, mAP = LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
        return cmc, mAP if np.isin(q_pids, g_pids).all() else .9 * mAP
    report = testing.check_evaluator(evaluate, "torchreid")
    assert report.rule is None
    assert ("its numbers are those of torchreid; wrong: queries without a match, small gallery, "
            "many queries; queries influence one another, or the mean "
            "is not over them called") in flat(report)


# ------------------------------------------------------------------ imports
SOURCE = """
import argparse
from . import no_such_module
from .helpers import ordered
from no_such_package import Table, register
import no_such_package.plots as plots

OPTIONS = argparse.ArgumentParser().parse_args(["--no-such-option"])
RANKS = 50


@register("metric")
def evaluate(distmat, q_pids, g_pids, q_camids, g_camids, table=None):
    curves, aps = [], []
    for row, pid, camid in zip(distmat, q_pids, q_camids):
        hits = ordered(row, (g_pids == pid), (g_pids != pid) | (g_camids != camid))
        if hits.any():
            curves.append(np.arange(RANKS) >= np.argmax(hits))
            places = np.flatnonzero(hits)
            aps.append(np.mean(np.arange(1, len(places) + 1) / (places + 1)))
    table = table or Table(["mAP"])
    table.formats["mAP"] = str
    table.add_row([np.mean(aps)])
    print(table)
    return np.mean(curves, axis=0), np.mean(aps)


if __name__ == "__main__":
    evaluate()
"""
HELPERS = """
import numpy
from no_such_package import anything


def ordered(row, hits, kept):
    order = numpy.argsort(row, kind="stable")
    return hits[order][kept[order]]
"""


def test_a_file_that_cannot_be_imported(tmp_path, monkeypatch):
    (tmp_path / "metrics.py").write_text(SOURCE)
    (tmp_path / "helpers.py").write_text(HELPERS)
    monkeypatch.syspath_prepend(tmp_path)
    report = testing.check_evaluator(f"{tmp_path}/metrics.py:evaluate", "torchreid")
    assert report.rule == "torchreid" and report.passed, str(report)
    assert ("run from its own source, without the rest of its file; nothing stands in for "
            "no_such_package, which cannot be imported") in report.how


def test_a_module_that_cannot_be_imported(tmp_path, monkeypatch):
    (tmp_path / "unimportable_metrics.py").write_text(SOURCE.replace("import ordered", "import *"))
    (tmp_path / "helpers.py").write_text(HELPERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (function,), told = load_functions("unimportable_metrics:evaluate")
    assert "ordered" in function.__globals__ and told.startswith("; run from its own source")


def test_a_file_without_the_function():
    with pytest.raises(InputError, match="defines no evaluate"):
        load_functions(f"{ROOT}/tests/testing/wrong.py:evaluate")


@pytest.mark.parametrize("name", ["in1d", "float", "float_"])
def test_a_name_that_numpy_no_longer_has(name):
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        getattr(np, name)
        return LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
    if hasattr(np, name):
        pytest.skip("numpy has it")
    report = testing.check_evaluator(evaluate, "torchreid")
    failed = {check.name: check.message for check in report.checks if check.status != "passed"}
    assert failed == {"numpy": f"it needs np.{name}, which numpy {np.__version__} no longer has: "
                      "put back here"}
    assert report.rule == "torchreid" and not hasattr(np, name)


# ------------------------------------------------------------------ adopters
def test_the_table_of_evaluators_of_others():
    page = (ROOT / "docs/adopters.md").read_text()
    lines = page.partition("```python\n")[2].partition("```")[0].splitlines()
    assert len(list(filter(None, lines))) <= 10
    rows = [row.split("|")[1:-1] for row in page.splitlines() if row.count(" | ") > 2][1:]
    assert len(rows) == 13
    for _, call, deviations, rule in rows:
        assert find_rules(rule.strip().strip("`"))
        assert set(re.findall(r"\*(.+?)\*", deviations)) <= {*CHECKS}
        assert call.count("`") >= 2
