"""Whether the cause that is told of a wrong evaluator is the true one."""
import re

import numpy as np
import pytest

from reid_ref import testing
from reid_ref.conventions import CONVENTIONS
from reid_ref.foreign.answers import Answer
from reid_ref.foreign.arrays import Arrays
from reid_ref.labels import Labels
from reid_ref.rules.mistakes import mistaken_numbers
from reid_ref.rules.numbers import mismatches, result_of
from reid_ref.testing.checks import CHECKS
from reid_ref.testing.smallest import by_hand
from tests.documents import ROOT
from tests.nightly import cases
from tests.testing.wrong import LOOP, by_memory, finite, right_first


def lists(distmat, q_pids, g_pids, q_camids, g_camids):
    """Yield of each query which places of its list are right, and which images it keeps."""
    for row, pid, camid in zip(distmat, q_pids, q_camids):
        order = np.argsort(row, kind="stable")
        same = g_pids[order] == pid
        keep = ~(same & (g_camids[order] == camid))
        yield same & keep, keep


def by_mean(mean, rule="step", curve=None):
    """Return an evaluator whose mAP is made of APs and identities; CMC is torchreid's."""
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        aps, pids, firsts = [], [], []
        for pid, (hit, keep) in zip(q_pids, lists(distmat, q_pids, g_pids, q_camids, g_camids)):
            if hit.any():
                places = np.flatnonzero(hit[keep])
                aps.append(np.mean(np.arange(1, len(places) + 1) / (places + 1)))
                pids.append(pid)
                row = np.arange(50) >= places[0]
                firsts.append(row & (np.arange(50) < keep.sum()) if curve == "ends" else row)
        cmc = np.mean(firsts, axis=0)
        return np.append(cmc[0], cmc[[*range(2, 50), 49]]) if curve == "next" else cmc, mean(
            np.array(aps), np.array(pids))
    return evaluate


def of_market(change, of_trapezoid=lambda before, here, last: (before + here) / 2):
    """Return an evaluator by Market-1501's rule, with `change` made of the APs and counts."""
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        curves, aps = np.zeros((len(q_pids), len(g_pids))), []
        for k, (row, pid, camid) in enumerate(zip(distmat, q_pids, q_camids)):
            order = np.argsort(row, kind="stable")
            same, other = g_pids[order] == pid, g_camids[order] != camid
            kept = (g_pids[order] != -1) & ~(same & ~other)
            good = same & other
            if good.any():
                curves[k, kept[:good.argmax()].sum():] = 1
            last = before = 1.0
            ap = 0.0
            places = np.flatnonzero(same[kept])
            for hits, place in enumerate(places, 1):
                before, here = (hits - 1) / place if place else 1.0, hits / (place + 1)
                ap += of_trapezoid(before, here, last)
                last = here
            aps.append(change(ap, len(places), same.sum(), aps))
        return curves.mean(axis=0), float(np.mean(aps))
    return evaluate


def share(ap, n_good, n_same, aps):
    return ap / n_good if n_good else 0.0


def batches(ap, pids):
    return np.mean([ap[k:k + 60].mean() for k in range(0, len(ap), 60)])


CAUSES = {
    "the mean of batches, in mAP alone": (
        by_mean(batches), "the mean is over the means of batches of 60 queries, in mAP alone"),
    "the first queries": (
        by_mean(lambda ap, pids: ap[:1700].mean()),
        "only the first 1,700 of 2,111 queries count, in mAP alone"),
    "the mean over identities": (
        by_mean(lambda ap, pids: np.mean([ap[pids == pid].mean() for pid in np.unique(pids)])),
        "the mean is over identities, of the mean of each, in mAP alone"),
    "lists that end": (by_mean(lambda ap, pids: ap.mean(), curve="ends"),
                       "CMC falls where the list of a query ends"),
    "Rank-5 of Rank-6": (by_mean(lambda ap, pids: ap.mean(), curve="next"),
                         "each number of CMC is that of the rank after it"),
    "trapezoids from the hit before": (
        of_market(share, lambda before, here, last: (last + here) / 2),
        "matlab, but for a mistake: trapezoids begin at the precision of the hit before"),
    "recall over all of the identity": (
        of_market(lambda ap, n_good, n_same, aps: ap / n_same if n_good else 0.0),
        "matlab, but for a mistake: AP divides by all images of the identity"),
    "AP not reset": (
        of_market(lambda ap, n_good, n_same, aps: ap / n_good if n_good else [0.0, *aps][-1]),
        "a query without a good image has the AP of the query before it"),
    "another AP": (
        of_market(lambda ap, n_good, n_same, aps: (ap / n_good)**2 if n_good else 0.0),
        "its numbers are those of matlab, but for its mAP: which follows no rule")}


@pytest.mark.parametrize("name", cases([*CAUSES][::2], CAUSES))
def test_the_cause_is_named(name):
    evaluate, told = CAUSES[name]
    text = " ".join(str(testing.check_evaluator(evaluate)).split())
    assert told in text and f"{told}, but for the order" not in text
    assert "in gallery order" not in text  # it sorts in this order


def test_a_wrong_one_is_judged_by_the_rule_that_most_of_its_numbers_are_of():
    second = CHECKS["plain"].problems(CONVENTIONS["matlab"], False)[1]

    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        cmc, mAP = of_market(share)(distmat, q_pids, g_pids, q_camids, g_camids)
        return cmc, .9 * mAP if np.array_equal(q_camids, second.query.camera) else mAP
    report = testing.check_evaluator(evaluate)
    assert report.convention == "matlab" and report.rule is None
    passed = sum(check.status == "passed" for check in report.checks)
    assert 2 * passed > len(report.checks)
    text = " ".join(str(report).split())
    assert f"it passes {passed} of {len(report.checks)} checks by matlab; not torchreid's" in text


def test_few_numbers_of_the_nearest_rule_are_told_as_such():
    report = testing.check_evaluator(lambda distmat, q_pids, g_pids, q_camids, g_camids: {
        "mAP": float(np.mean(distmat)) / 7})
    assert "no rule gives its numbers; the nearest is" in " ".join(str(report).split())


# ------------------------------------------------------------------ what is printed
CACHED = """
import numpy as np
from tests.testing.wrong import LOOP

KNOWN = {}

def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
    pids = KNOWN.setdefault(distmat.shape, (q_pids, g_pids))
    return LOOP(distmat, *pids, q_camids, g_camids)
"""


def test_what_shows_only_after_earlier_calls_is_told_as_such(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    (tmp_path / "mine.py").write_text(CACHED)
    report = testing.check_evaluator(f"{tmp_path}/mine.py:evaluate")
    text = str(report)
    assert report.convention == "torchreid-function"
    headline = " ".join(text.partition("called as")[0].split())
    assert headline.endswith("; it keeps something between calls") and "no rule" not in headline
    assert "smallest problem" not in text
    assert sum("the same cause" in line for line in text.split("\n")) >= 4


def pasted(report, name):
    """Return the code of the problem that a check shows, and mAP by the rule."""
    message = next(check.message for check in report.checks if check.name == name)
    code = "\n".join(line.strip() for line in message.split("\n") if line.startswith("    ")
                     and " = " in line)
    return code, re.search(r"there mAP is ([\d.]+|nan)", message)[1]


def nan_first(distmat, q_pids, g_pids, q_camids, g_camids):
    return LOOP(np.nan_to_num(distmat, nan=-1e3), q_pids, g_pids, q_camids, g_camids)


PASTED = {"memory order": by_memory, "NaN distances": nan_first, "infinite distances": finite,
          "ties": right_first}


@pytest.mark.parametrize("name", PASTED)
def test_the_problem_shows_it_where_it_is_pasted(name):
    code, mAP = pasted(testing.check_evaluator(PASTED[name], "torchreid-function"), name)
    given = {"np": np}
    exec(code, given)
    labels = [given[key] for key in ("q_pids", "g_pids", "q_camids", "g_camids")]
    assert repr(float(PASTED[name](given["distmat"], *labels)[1])) == mAP


# ------------------------------------------------------------------ the walk of mistakes
@pytest.mark.parametrize("name", ["matlab", "mars", "light-reid", "triplet-reid", "torchreid",
                                  "torchreid-function", "layumi", "simpleir"])
def test_the_walk_without_a_mistake_gives_the_rule(name):
    convention = CONVENTIONS[name]
    for check in CHECKS.values():
        for arrays in check.problems(convention, False) if check.of_rule else ():
            ours, = result_of(arrays, convention)
            walked = mistaken_numbers(arrays, convention, ())
            wrong, _ = mismatches(Answer(mAP=ours.mAP, mINP=ours.mINP, cmc=ours.cmc), walked,
                                  1e-12)
            assert not wrong, (check.name, wrong)


def test_by_hand_a_query_without_a_good_image_has_the_ap_that_is_counted():
    arrays = Arrays(np.array([[.1, .2], [.2, .1]]), Labels([1, 9], [1, 1]),
                    Labels([1, 2], [2, 2]))
    assert "  AP of query 1: 0.0" in by_hand(arrays, CONVENTIONS["matlab"])
    assert "  AP of query 1: nan" in by_hand(arrays, CONVENTIONS["torchreid"])
