"""Whether the cause that is told of a wrong evaluator is the true one."""
import re
from functools import partial

import numpy as np
import pytest

from reid_ref import testing
from reid_ref.conventions import CONVENTIONS
from reid_ref.foreign.answers import Answer
from reid_ref.foreign.arrays import Arrays
from reid_ref.labels import Labels
from reid_ref.rules.changed import unlike
from reid_ref.rules.mistakes import MISTAKES, mistaken_numbers
from reid_ref.rules.numbers import mismatches, result_of
from reid_ref.rules.search import FoundRule, mistake_of, rule_of
from reid_ref.testing.checks import CHECKS
from reid_ref.testing.smallest import by_hand
from reid_ref.testing.subject import subject
from tests.documents import ROOT
from tests.nightly import cases
from tests.testing.wrong import (
    LOOP, ONLY, by_memory, evaluator, finite, given, keyed, relabels, right_first)


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
        "only the first 1,700 of 2,111 queries count; where they come in batches, the last one"),
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
    "what the query before leaves": (
        of_market(lambda ap, n_good, n_same, aps: share(ap, n_good, 0, 0) * (1 - .1 * any(aps))),
        "queries influence one another"),
    "CMC of other queries": (
        lambda *arrays: (LOOP(*arrays)[0], of_market(share)(*arrays)[1]),
        "but for its CMC: which is that of torchreid-function"),
    "another AP": (
        of_market(lambda ap, n_good, n_same, aps: (ap / n_good)**2 if n_good else 0.0),
        "its numbers are those of matlab, but for its mAP: which follows no rule")}


@pytest.mark.parametrize("name", cases(
    ["trapezoids from the hit before", "CMC of other queries"], CAUSES))
def test_the_cause_is_named(name):
    evaluate, told = CAUSES[name]
    text = " ".join(str(testing.check_evaluator(evaluate)).split())
    assert told in text and f"{told}, but for the order" not in text
    assert "in gallery order" not in text  # it sorts in this order


# ------------------------------------------------------------------ what one problem shows
def of_areas(area):
    """Return an evaluator whose APs are made of places of hits: among kept images, among all."""
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        return {"mAP": np.mean([
            np.mean([area(k, row, place) for k, (row, place) in enumerate(zip(
                np.flatnonzero(hit[keep]).tolist(), np.flatnonzero(hit).tolist()))])
            for hit, keep in lists(distmat, q_pids, g_pids, q_camids, g_camids)])}
    return evaluate


def by_place(distmat, q_pids, g_pids, q_camids, g_camids):
    """What is ignored is not put in the order of the list."""
    aps = []
    for row, pid, camid in zip(distmat, q_pids, q_camids):
        keep = ~((g_pids == pid) & (g_camids == camid))
        places = np.flatnonzero((g_pids == pid)[np.argsort(row)][keep]) + 1
        aps.append(np.mean(np.arange(1, len(places) + 1) / places))
    return {"mAP": np.mean(aps)}


def of_first_camera(distmat, q_pids, g_pids, q_camids, g_camids):
    first = [q_camids[np.argmax(q_pids == pid)] for pid in q_pids]
    return LOOP(distmat, q_pids, g_pids, np.array(first), g_camids)


def of_neighbours(distmat, q_pids, g_pids, q_camids, g_camids):
    names = np.unique(g_pids)
    return LOOP(distmat, names[np.searchsorted(names[:-1], q_pids)], g_pids, q_camids, g_camids)


def hits_at_once(distmat, q_pids, g_pids, q_camids, g_camids):
    cmc, mAP = LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
    return 1 - np.isin(q_pids, g_pids).mean() * (1 - cmc), mAP


def of_distinct(distmat, q_pids, g_pids, q_camids, g_camids):
    aps = []
    for row, pid, camid in zip(distmat, q_pids, q_camids):
        kept = (g_pids != pid) | (g_camids != camid)
        found = {distance: name for distance, name in zip(row[kept].tolist(), g_pids[kept])}
        places = np.flatnonzero([found[distance] == pid for distance in sorted(found)]) + 1
        aps += [np.mean(np.arange(1, len(places) + 1) / places)] if len(places) else []
    return {"mAP": np.mean(aps)}


def of_full_batches(distmat, q_pids, g_pids, q_camids, g_camids):
    n = len(q_pids) // 5 * 5 if len(q_pids) > 5 else len(q_pids)
    return LOOP(distmat[:n], q_pids[:n], g_pids, q_camids[:n], g_camids)


def padded(distmat, q_pids, g_pids, q_camids, g_camids):
    rows = np.arange(-(-len(q_pids) // 8) * 8) % len(q_pids)
    return LOOP(distmat[rows], q_pids[rows], g_pids, q_camids[rows], g_camids)


def last_of_each(distmat, q_pids, g_pids, q_camids, g_camids):
    last = {pair: k for k, pair in enumerate(zip(q_pids, q_camids))}
    rows = sorted(last.values())
    return LOOP(distmat[rows], q_pids[rows], g_pids, q_camids[rows], g_camids)


def clipped_ranks(place):
    """Return an evaluator whose first matches beyond Rank-50 are at another place."""
    def evaluate(distmat, q_pids, g_pids, q_camids, g_camids):
        firsts = [np.flatnonzero(hit[keep])[0] for hit, keep in lists(
            distmat, q_pids, g_pids, q_camids, g_camids) if hit.any()]
        firsts = [first if first < 50 else place for first in firsts]
        cmc, mAP = LOOP(distmat, q_pids, g_pids, q_camids, g_camids)
        return np.mean(np.arange(50) >= np.array(firsts)[:, np.newaxis], axis=0), mAP
    return evaluate


def hits_by_distance(distmat, q_pids, g_pids, q_camids, g_camids):
    aps = []
    for row, pid, camid in zip(distmat, q_pids, q_camids):
        good = (g_pids == pid) & (g_camids != camid)
        kept = np.sort(row[(g_pids != pid) | (g_camids != camid)])
        places = np.flatnonzero(np.isin(kept, row[good])) + 1
        aps.append(np.mean(np.arange(1, len(places) + 1) / places))
    return {"mAP": np.mean(aps)}


def from_hit_to_hit(distmat, q_pids, g_pids, q_camids, g_camids):
    aps = []
    for hit, keep in lists(distmat, q_pids, g_pids, q_camids, g_camids):
        places = np.flatnonzero(hit[keep]) + 1
        precision = np.arange(1, len(places) + 1) / places
        aps.append(np.mean((precision + np.append(precision[:1], precision[:-1])) / 2))
    return {"mAP": np.mean(aps)}


def in_text_order(distmat, *labels):
    return LOOP(np.unique(distmat.astype(str), return_inverse=True)[1].reshape(distmat.shape),
                *labels)


#: The rule, the check, the evaluator, and the words of its mistake.
MISTAKEN = [
    ("matlab", "plain", of_areas(
        lambda k, row, place: row and (k / row + (k + 1) / (row + 1)) / 2), "no first point"),
    ("matlab", "plain", of_areas(lambda k, row, place: (
        (k / (row + 1) if row else 1) + (k + 1) / (row + 1)) / 2), "over the place of this hit"),
    ("torchreid-function", "plain", of_areas(lambda k, row, place: (k + 1) / (place + 1)),
     "ignored images keep their places in AP"),
    ("torchreid-function", "plain", by_place, "what is ignored is not put in the order"),
    ("torchreid-function", "plain", of_first_camera, "the camera of an identity's first query"),
    ("torchreid-function", "plain", lambda *arrays: (
        np.floor(LOOP(*arrays)[0] * 100) / 100, LOOP(*arrays)[1]), "rounded down to 2 decimals"),
    ("torchreid-function", "plain", of_full_batches,
     "only the first 5 of 9 queries count; where they come in batches"),
    ("torchreid-function", "queries without a match", of_neighbours, "takes the next one"),
    ("torchreid-function", "queries without a match", hits_at_once, "as a hit at Rank-1"),
    ("torchreid-function", "ties", of_distinct, "only the last one stays"),
    ("torchreid-function", "any cameras", partial(keyed, factor=1), "key identity + camera"),
    *(("torchreid-function", "any cameras", partial(keyed, factor=factor), f" {factor} + camera")
      for factor in (1000, 10000, 65536)),
    ("torchreid-function", "plain", lambda distmat, *labels: LOOP(0 * distmat, *labels),
     "nothing is sorted"),
    *(("torchreid-function", "plain", given(change), words) for change, words in (
        (lambda d, q, g, a, b: (d[:-1], q[:-1], g, a[:-1], b), "the last query is left out"),
        (lambda d, q, g, a, b: (d[::2], q[::2], g, a[::2], b), "only every second query"),
        (lambda d, q, g, a, b: (d[:, 1:], q, g[1:], a, b[1:]), "the first image of the gallery"),
        (lambda d, q, g, a, b: (d, q, np.roll(g, 1), a, np.roll(b, 1)), "as where places count"),
        (lambda d, q, g, a, b: (d, q, g, np.roll(a, 1), b), "cameras of the queries are shifted"),
        (lambda d, *labels: (np.argsort(d, axis=1), *labels), "ranks are taken for an order"))),
    ("torchreid-function", "plain", padded, "until their number is a multiple of 8 or 16"),
    ("torchreid-function", "late matches", last_of_each, "only the last counts"),
    ("torchreid-function", "plain", from_hit_to_hit, "trapezoids go from hit to hit"),
    ("torchreid-function", "ties", hits_by_distance, "matches are found by distance"),
    ("torchreid-function", "late matches", clipped_ranks(49), "counts as found at that rank"),
    ("torchreid-function", "late matches", clipped_ranks(0), "counts as a hit at Rank-1"),
    ("torchreid-function", "any distances", in_text_order, "are put in order as text"),
    ("torchreid-function", "any distances", lambda distmat, *labels: LOOP(
        -np.exp(-distmat), *labels), "distances become exp(-d)"),
    ("torchreid-function", "infinite distances", lambda distmat, *labels: LOOP(
        distmat / distmat.max(), *labels), "are divided by their maximum"),
    ("torchreid-function", "integer distances", lambda distmat, *labels: LOOP(
        (-distmat).max() - 1.0 * -distmat, *labels), "distance 0 is the farthest"),
    ("torchreid-function", "large identities", relabels(lambda pids: np.array([
        int(str(pid)[:4]) for pid in pids.tolist()])), "characters of identities count"),
    ("torchreid-function", "plain", by_mean(lambda ap, pids: np.round(ap, 4).mean()),
     "rounded to 4 decimals before the mean"),
    ("torchreid-function", "label 0", relabels(
        lambda pids: np.unique(pids, return_inverse=True)[1]), "are renumbered apart"),
    ("torchreid-function", "plain", of_areas(lambda k, row, place: float((k + 1) // (row + 1))),
     "rounded down to whole numbers"),
    *(("torchreid-function", check, *pair) for check, texts in {
        "any cameras": ["the key identity * 10", "modulo 8", "through uint8", "camera 0 is taken",
                        "below 0 are taken for none"],
        "many matches": ["hits are counted in uint8", ""],
        "large identities": ["float32", "uint8", "int16", "int32"],
        "any distances": ["lose their sign", "below 0 become 0", "", "", ""]}.items()
      for pair in zip(ONLY[check], texts, strict=True) if pair[1])]  # "": a mistake of no name


@pytest.mark.parametrize("rule, check, evaluate, words", MISTAKEN)
def test_a_mistake_is_named_by_a_problem_that_shows_it(rule, check, evaluate, words):
    tested, convention = subject(evaluate, rule), CONVENTIONS[rule]
    found = mistake_of([(arrays, tested.answer(arrays)) for arrays in CHECKS[check].problems(
        convention, False) if len(arrays.query) < 1000], FoundRule(
            rule, "", 0, convention, (), 1e-12))
    assert found and words in found.words, found


def test_a_choice_is_tried_before_a_mistake():
    """An image that is ignored is no match: no mistake of ties, where nothing ties."""
    tested, convention = subject(evaluator(precision="trapezoid", unmatched=0.0)), CONVENTIONS[
        "matlab"]
    pairs = [(arrays, tested.answer(arrays)) for check in ("plain", "queries labelled -1")
             for arrays in CHECKS[check].problems(convention, False)]
    found = rule_of(pairs, [convention], 1e-12)
    assert found and found.name == "matlab[junk_match=never]" and not found.mistakes


@pytest.mark.parametrize("choice", [
    {"junk_match": "never"}, {"ignored": ("same identity, same camera",)}])
def test_a_changed_rule_is_told_against_its_own_base(choice):
    """A rule with a choice of Market-1501's changed was told against torchreid's alone."""
    assert unlike(CONVENTIONS["matlab"].replace(**choice)).startswith("not Market-1501's (")
    assert "Market" not in unlike(CONVENTIONS["matlab"])


@pytest.mark.nightly
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


@pytest.mark.nightly
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


@pytest.mark.parametrize("rule", ["matlab", "torchreid-function"])
def test_the_walk_is_the_rule_and_every_mistake_can_be_walked(rule):
    convention = CONVENTIONS[rule]
    for name in ("plain", "queries without a match", "only same camera", "label -1"):
        for arrays in CHECKS[name].problems(convention, False):
            ours, = result_of(arrays, convention)
            plain = mistaken_numbers(arrays, convention, ())
            np.testing.assert_allclose([plain.mAP, plain.mINP, *plain.cmc],
                                       [ours.mAP, ours.mINP, *ours.cmc], rtol=0, atol=1e-12)
    changed = sum(mistaken_numbers(arrays, convention, [mistake]).mAP != plain.mAP
                  for mistake in MISTAKES)
    assert len(MISTAKES) / 4 < changed < len(MISTAKES)


def at_zero(distmat, q_pids, g_pids, q_camids, g_camids):
    """Mean without the queries that do not count, of as many places from the first."""
    aps = [(np.arange(1, hit.sum() + 1) / (np.flatnonzero(hit[keep]) + 1)).mean()
           if hit.any() else 0
           for hit, keep in lists(distmat, q_pids, g_pids, q_camids, g_camids)]
    return {"mAP": np.mean(aps[:np.count_nonzero(aps)])}


def turned(distmat, *labels):
    return LOOP(-distmat if distmat.min() < 0 else distmat, *labels)


def carried(distmat, q_pids, g_pids, q_camids, g_camids):
    """Trapezoids whose first begins at the last precision of the query before."""
    aps, before = [], 1.0
    for hit, keep in lists(distmat, q_pids, g_pids, q_camids, g_camids):
        found, area = 0, 0.0
        for place, good in enumerate(hit[keep][:np.append(-1, np.flatnonzero(hit[keep]))[-1] + 1]):
            found += good
            area += good * (before + found / (place + 1)) / 2
            before = found / (place + 1)
        aps += [area / found] * bool(found)
    return {"mAP": np.mean(aps)}


@pytest.mark.parametrize("rule, check, evaluate, words", [
    ("torchreid-function", "queries without a match", at_zero, "the mean is over the first n"),
    ("torchreid-function", "any distances", turned, "where any distance is below 0"),
    ("open-reid-sklearn-0.18-function", "plain", carried, "last precision of the query before")])
def test_more_mistakes_are_named(rule, check, evaluate, words):
    test_a_mistake_is_named_by_a_problem_that_shows_it(rule, check, evaluate, words)


def test_a_curve_of_nan_beyond_ours_refutes_no_mistake():
    """Where nothing counts, a longer CMC is NaN at all of its ranks, by the rule as well."""
    convention = CONVENTIONS["torchreid-function"]
    found = FoundRule("torchreid-function", "", 0, convention, tuple(
        each for each in MISTAKES if each.key == "distances turned"))
    assert found.gives(Arrays(np.ones((1, 1)), Labels([3], [1]), Labels([3], [1])),
                       Answer(mAP=np.nan, cmc=np.full(60, np.nan)))


def test_numbers_that_are_none_have_no_cause():
    convention = CONVENTIONS["torchreid-function"]
    pairs = [(arrays, Answer(mAP=np.nan, cmc=result_of(arrays, convention)[0].cmc))
             for arrays in CHECKS["plain"].problems(convention, False)]
    assert mistake_of(pairs, FoundRule("torchreid-function", "", 0, convention, (), 1e-12)) is None
