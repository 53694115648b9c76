"""Cross-checks: evaluators made here, well and badly behaved, and those of PyPI where installed.

The made evaluators are written in the plainest way, one query after another, and share no code
with the package. Packages: without them these tests are skipped, with the reason in pytest's
summary; with ``REID_REF_PEERS=required`` in the environment all must be there.
"""
import json
import os
import subprocess
import sys
import warnings
from importlib import metadata
from types import SimpleNamespace

import numpy as np
import pytest

import reid_ref
from reid_ref import InputError, Labels
from reid_ref.commands.crosscheck.compute import ADAPTERS, crosscheck as crosscheck_data
from reid_ref.commands.crosscheck.compute.adapters import load_adapter
from reid_ref.commands.crosscheck.compute.defects import DEFECTS
from reid_ref.commands.crosscheck.compute.foreign import MAX_RANK
from reid_ref.commands.crosscheck.compute.reasons import WORDS
from reid_ref.commands.crosscheck.show import as_json, as_text
from reid_ref.distances import distance_matrix
from tests.cases import market_like, nearly_tied
from tests.installed import version_of
from tests.nightly import cases


def crosscheck(evaluator, distances, query, gallery, **options):
    data = reid_ref.ResultFile("arrays", query, gallery, distances=distances)
    return crosscheck_data(data, evaluator, **options)


# ------------------------------------------------------------------ evaluators made here
def spread(labels, step):
    """Labels whose identities above 0, counted from 0, are raised by `step` of their number."""
    identity = labels.identity.copy()
    identity[identity > 0] += step(np.arange(np.sum(identity > 0)))
    return Labels(identity, labels.camera)


def data(seed=0, junk=True, n_query=14, n_gallery=90, levels=None, unmatched=True, scale=1):
    """Distances without ties (or with few levels) and Market-like labels; none of them few."""
    rng = np.random.default_rng(seed)
    gallery = Labels(scale * rng.integers(-1 if junk and scale == 1 else 0, 6, n_gallery),
                     rng.integers(1, 5, n_gallery))
    identity, camera = scale * rng.integers(1, 6, n_query), rng.integers(1, 5, n_query)
    if unmatched:
        identity[:2] = 6 * scale
    query = Labels(identity, camera)
    distances = rng.random((n_query, n_gallery))
    distances += 0.5 * (query.identity[:, None] != gallery.identity)
    if levels is not None:
        distances = np.floor(distances * levels)
    return distances, query, gallery


def step(hits, n):
    places = np.flatnonzero(hits)
    return sum((k + 1) / (place + 1) for k, place in enumerate(places)) / n


def trapezoid(hits, n, start=1.0):
    ap, before, found = 0.0, start, 0
    for place, hit in enumerate(hits):
        found += hit
        precision = found / (place + 1)
        ap += hit * (before + precision) / 2 / n
        before = precision
    return ap


def mistaken(hits, n):
    ap, before, found = 0.0, float(hits[0]), 0
    for place in np.flatnonzero(hits):
        found += 1
        ap += (before + found / (place + 1)) / 2 / n
        before = found / (place + 1)
    return ap


def interpolated(hits, n):
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return sum(max(precision[place:]) for place in np.flatnonzero(hits)) / n


def made(rule=step, sort="stable", ignore_label=False, unmatched="drop", dtype=None,
         identity=None, sign=1, top=None, existing=True, camera="same identity", length=50,
         ties=None, refuse=None):
    """An evaluator with torchreid's signature, by a plain loop over queries."""
    def evaluator(distmat, q_pids, g_pids, q_camids, g_camids, max_rank=50):
        if dtype:
            distmat = distmat.astype(dtype)
        if identity:
            q_pids, g_pids = q_pids.astype(identity), g_pids.astype(identity)
        aps, curves = [], []
        for row, pid, cam in zip(sign * distmat, q_pids, q_camids):
            good = (g_pids == pid) & (g_camids != cam)
            order = np.argsort(row, kind=sort)
            if ties == "good first":
                order = np.lexsort((~good, row))
            if ties == "reversed":
                order = np.lexsort((-np.arange(len(row)), row))
            same = g_pids[order] == pid
            here = g_camids[order] == cam
            out = {"same identity": same & here, "nothing": same & False, "camera": here}[camera]
            if ignore_label:
                out = out | (g_pids[order] == -1)
            hits = same[~out]
            n = np.count_nonzero(hits)
            if not n:
                if unmatched != "drop":
                    aps.append(float(unmatched))
                    curves.append(np.zeros(length))
                continue
            hits = hits[:top]
            if not existing:
                n = np.count_nonzero(hits)
            aps.append(rule(hits, n) if n else 0.0)
            curve = np.maximum.accumulate(hits)[:length]
            curves.append(np.append(curve, np.full(length - len(curve), bool(curve.any()))))
        assert aps, "no valid query"
        return np.mean(curves, axis=0), np.mean(aps)
    return evaluator


def cython_like(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
    """As a buffer of one row that is written only as far as the query's kept images reach."""
    buffer, total, aps = np.zeros(max_rank, np.float32), np.zeros(max_rank, np.float32), []
    for row, pid, cam in zip(distmat, q_pids, q_camids):
        order = np.argsort(row, kind="stable")
        same = g_pids[order] == pid
        hits = same[~(same & (g_camids[order] == cam))]
        if hits.any():
            curve = np.maximum.accumulate(hits)[:max_rank]
            buffer[:len(curve)] = curve
            total += buffer
            aps.append(step(hits, np.count_nonzero(hits)))
    return total / len(aps), np.mean(aps)


def draws(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
    cmc, mAP = made()(distmat, q_pids, g_pids, q_camids, g_camids)
    noise = np.sort(np.random.random(len(cmc)))
    return (cmc + noise) / 2, mAP


# ------------------------------------------------------------------ which convention
@pytest.mark.parametrize(("options", "convention", "level"), [
    ({}, "torchreid-function", "double"),
    ({"ignore_label": True, "unmatched": 0, "rule": trapezoid}, "matlab", "double"),
    ({"ignore_label": True, "unmatched": 0}, "light-reid", "double"),
    ({"camera": "nothing", "unmatched": 0}, "simpleir", "double"),
    ({"dtype": np.float32}, "torchreid-function", "double"),
])
def test_the_convention_is_found(options, convention, level):
    found = crosscheck(made(**options), *data())
    assert found.verdict == "equal"
    assert convention in (found.follows, *found.also)
    assert found.match.agreement["ap"].largest_difference < 1e-14
    assert found.failure == "" and found.problems == () and found.first_difference is None
    assert f"EQUAL to convention {found.follows}" in as_text(found)


def test_our_own_evaluator_is_equal_to_the_last_bit():
    found = crosscheck("reid_ref.evaluation.functions:evaluate_distances", *data())
    assert (found.verdict, found.follows) == ("equal", "matlab")
    assert {a.level for a in found.match.agreement.values()} == {"bit"}
    assert "(distances, query, gallery), our signature" in found.fed
    assert any("queries have no good image" in text for text in found.warned)


def test_a_mean_that_is_nan_by_convention_is_equal():
    def mars(distances, query, gallery):
        return reid_ref.evaluate_distances(distances, query, gallery, convention="mars")
    found = crosscheck(mars, *data())
    assert (found.verdict, found.follows, found.problems) == ("equal", "mars", ())
    assert as_json(found)["mAP"] is None


def test_ties_in_numpys_order_are_told():
    found = crosscheck(made(sort=None), *data(seed=3, levels=3, n_gallery=400))
    assert found.verdict == "equal"
    assert found.follows == "torchreid-function[ties=numpy]"
    assert "machine-ties" in found.defects


def test_many_queries_are_screened_and_counted():
    arrays, seen = data(n_query=250, n_gallery=60, levels=6), []
    for options, name in (({}, "torchreid-function"),
                          ({"ties": "reversed"}, "torchreid-function[ties=reversed]")):
        found = crosscheck(made(**options), *arrays, progress=seen.append)
        assert (found.verdict, found.follows) == ("equal", name)
    assert sum(seen) == 500
    found = crosscheck(made(lambda hits, n: interpolated(hits, n) / 2), *arrays)
    assert found.verdict == "different" and found.match.compared.sum() > 100
    found = crosscheck("reid_ref.evaluation.functions:evaluate_distances", *arrays,
                       progress=seen.append)
    assert found.follows == "matlab" and sum(seen) == 750


def test_slow_conventions_are_tried_where_only_the_curve_differs():
    def ten_draws(distances, query, gallery):
        return reid_ref.evaluate_distances(
            distances, query, gallery, convention="cuhk03-single-shot-draws")
    found = crosscheck(ten_draws, *data())
    assert found.follows == "cuhk03-single-shot-draws"
    assert "cuhk03-single-shot" not in found.also


def test_float32_sums_are_equal_within_a_named_tolerance():
    def single(*arguments):
        cmc, mAP = made()(*arguments)
        return np.float32(cmc), np.float32(mAP)
    found = crosscheck(single, *data())
    assert found.verdict == "equal"
    assert "torchreid-function" in (found.follows, *found.also)
    assert found.match.agreement["ap"].level == "float32"
    assert "but for float32, which keeps 24 bits" in as_text(found)


# ------------------------------------------------------------------ why
@pytest.mark.parametrize(("evaluator", "choice", "arrays"), [
    (made(interpolated), ("rule", "interpolated"), {}),
    (made(mistaken), ("rule", "mistaken trapezoid"), {}),
    (made(lambda hits, n: trapezoid(hits, n, start=0.0)), ("rule", "trapezoid from 0"), {}),
    (made(ties="good first"), ("ties", "good first"), {"levels": 4}),
    (made(sign=-1), ("order", "descending"), {}),
    (made(dtype=np.float16), ("arithmetic", "float16"), {"n_gallery": 900}),
    (made(trapezoid, camera="nothing", ignore_label=True), ("camera", "nothing ignored"), {}),
    (made(top=10, existing=False), ("cutoff", "found in 10"), {}),
    (made(top=20), ("cutoff", "exist, first 20"), {}),
    (made(trapezoid, identity=np.float32), ("identity", "float32"), {"scale": 2 ** 25}),
])
def test_the_difference_is_explained(evaluator, choice, arrays):
    distances, query, gallery = data(**arrays)
    if choice[0] == "identity":  # 2^25 + 1 and + 2 are one float32
        gallery = spread(gallery, lambda number: number % 3 // 2)
    found = crosscheck(evaluator, distances, query, gallery)
    assert found.verdict == "different" and found.follows is None
    words = WORDS[choice[0]][choice[1]]
    assert words in found.first_difference.why
    k = found.first_difference.query
    assert found.first_difference.theirs == found.answer.ap[k]
    assert found.first_difference.ours == found.result.per_query.ap[k]
    report = " ".join(as_text(found).split())
    assert words in report and f"query {k}: " in report


def test_what_cannot_be_explained_is_said():
    found = crosscheck(made(lambda hits, n: step(hits, n) ** 1.25), *data())
    assert found.verdict == "different"
    assert found.first_difference.why == "not explained by one or two of the choices known here"


def test_a_query_counted_otherwise_in_the_mean_is_told():
    found = crosscheck(made(unmatched=1), *data())
    assert found.verdict == "different" and found.first_difference is None
    assert any("it counts queries without a good image as 1 (" in text for text in found.remarks)


def test_a_curve_of_another_kind_is_told():
    def halved(*arguments):
        cmc, mAP = made()(*arguments)
        return cmc / 2, mAP
    found = crosscheck(halved, *data())
    assert found.verdict == "different" and found.match.agreement["ap"].agrees
    assert any(text.startswith(f"CMC differs from {found.match.name} first at Rank-1: ")
               and "; it is that of" not in text for text in found.remarks)


@pytest.mark.parametrize(("ranks_late", "words"), [
    (1, "one rank late: what it calls Rank-2 is Rank-1"),
    (-1, "one rank early: what it calls Rank-1 is Rank-2"),
])
@pytest.mark.parametrize("unmatched", [True, False])
def test_a_curve_one_rank_off_is_told(ranks_late, words, unmatched):
    def shifted(*arguments):
        cmc, mAP = made()(*arguments)
        return np.append(0.0, cmc[:-1]) if ranks_late == 1 else cmc[1:], mAP
    found = crosscheck(shifted, *data(unmatched=unmatched))
    assert found.verdict == "different"
    text, = found.remarks
    assert text.endswith(f"; it is that of {found.match.name} {words}")
    assert text.startswith("CMC differs from torchreid-function first at Rank-")


def nearly_matlab(wrong):
    """matlab, but for the AP of some queries."""
    def evaluator(distances, query, gallery):
        result = reid_ref.evaluate_distances(distances, query, gallery)
        ap = result.per_query.ap.copy()
        ap[wrong] *= 0.75
        return SimpleNamespace(mAP=float(ap.mean()), cmc=result.cmc,
                               per_query=SimpleNamespace(ap=ap))
    return evaluator


@pytest.mark.parametrize(("wrong", "shown"), [
    ([7, 19, 33], "7, 19, 33"),
    (list(range(3, 45, 2)), "3, 5, 7, 9, 11, 13, 15, 17, 19, 21 and 11 more")])
def test_what_agrees_on_most_queries_is_the_closest(wrong, shown):
    found = crosscheck(nearly_matlab(wrong), *data(n_query=45, unmatched=False))
    equal, report = 45 - len(wrong), as_text(found)
    assert (found.verdict, found.match.name) == ("different", "matlab")
    assert found.match.differing.tolist() == wrong and found.first_difference.query == wrong[0]
    assert f"{equal} of 45 APs agree with matlab" in report
    assert f"differing   {shown}\n" in report
    assert as_json(found)["queries"] == {"compared": 45, "equal": equal, "differing": wrong}


def test_a_partial_explanation_is_no_fact():
    """Ten of the first twelve queries take similarities, two are wrong in no known way."""
    def mixed(distances, query, gallery):
        other = made(sign=-1)(distances, query.identity, gallery.identity, query.camera,
                              gallery.camera)
        aps = [made(sign=-1)(distances[k:k + 1], query.identity[k:k + 1], gallery.identity,
                             query.camera[k:k + 1], gallery.camera)[1]
               for k in range(len(query))]
        aps[4] *= 0.75
        aps[9] *= 0.75
        return SimpleNamespace(mAP=float(np.mean(aps)), cmc=other[0],
                               per_query=SimpleNamespace(ap=np.array(aps)))
    found = crosscheck(mixed, *data(unmatched=False))
    assert found.first_difference.why == (
        "not explained as a whole; one cause would explain 10 of the 12 differing queries looked "
        "at: larger values come first: distances are taken for similarities")
    assert found.defects == {} or "similarities" not in found.defects
    report = " ".join(as_text(found).split())
    assert "would explain 10 of the 12" in report


def test_a_good_query_that_it_drops_is_told():
    distances, query, gallery = data()

    def drops(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
        keep = q_pids != query.identity[5]
        if not keep.any():
            raise RuntimeError("I do not like this one")
        return made()(distmat[keep], q_pids[keep], g_pids, q_camids[keep], g_camids)
    found = crosscheck(drops, distances, query, gallery)
    assert found.verdict == "different"
    assert query.identity[found.first_difference.query] == query.identity[5]
    assert "it gave no AP: RuntimeError: I do not like this one" in found.first_difference.why


# ------------------------------------------------------------------ known defects
def short_lists():
    """Galleries so small that queries keep different numbers of images below max_rank."""
    distances, query, gallery = data(seed=5, n_gallery=40, junk=False)
    first, last = np.arange(40) < 9, np.arange(14) >= 12
    return (distances,
            Labels(np.where(last, 3, query.identity), np.where(last, 1, query.camera)),
            Labels(np.where(first, 3, gallery.identity), np.where(first, 1, gallery.camera)))


def ragged(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
    rows = []
    for row, pid, cam in zip(distmat, q_pids, q_camids):
        same = g_pids[np.argsort(row, kind="stable")] == pid
        here = g_camids[np.argsort(row, kind="stable")] == cam
        rows.append(np.maximum.accumulate(same[~(same & here)])[:max_rank])
    curves = np.asarray(rows).astype(np.float32)
    return curves.mean(axis=0), made()(distmat, q_pids, g_pids, q_camids, g_camids)[1]


def zero_tail(*arguments):
    cmc, mAP = made()(*arguments)
    return np.where(np.arange(len(cmc)) < 7, cmc, 0), mAP


def above_one(*arguments):
    cmc, mAP = made()(*arguments)
    tenth = np.float32(1) / np.float32(10)
    return np.append(cmc, np.cumsum(np.full(10, tenth))[-1]), mAP


def raising(error):
    def evaluator(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
        raise error
    return evaluator


def positive_only(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
    scores = -distmat
    found = (g_pids == q_pids[:, None]) & (scores > 0)
    return np.ones(5) * found.any(), float(found.any())


def no_infinity(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
    if not np.isfinite(distmat).all():
        raise ValueError("Input contains NaN.")
    return made()(distmat, q_pids, g_pids, q_camids, g_camids)


def with_nan():
    distances, query, gallery = data()
    distances[:, 4] = np.nan
    return distances, query, gallery


def cut(*arguments):
    cmc, mAP = made(length=90)(*arguments)
    gallery, cameras = arguments[2], arguments[4]
    kept = [np.count_nonzero(~((gallery == pid) & (cameras == cam)))
            for pid, cam in zip(arguments[1], arguments[3])]
    return cmc[:min(kept)], mAP


def percent(*arguments):
    cmc, mAP = made()(*arguments)
    return 100 * cmc, 100 * mAP


def absent():
    distances, query, gallery = data()
    return distances, Labels(query.identity + 100, query.camera), gallery


def large_identities():
    distances, query, gallery = data(scale=2 ** 25)
    return distances, query, spread(gallery, lambda number: number % 2)


DEFECTIVE = {
    "buffer-not-cleared": (cython_like, short_lists),
    "ragged-cmc": (ragged, short_lists),
    "no-valid-query": (made(), absent),
    "random-draws": (draws, data),
    "cmc-above-1": (above_one, data),
    "zero-tail": (zero_tail, data),
    "positive-scores-only": (positive_only, data),
    "float32-identities": (made(trapezoid, identity=np.float32), large_identities),
    "machine-ties": (made(sort=None), lambda: data(seed=3, levels=3, n_gallery=400)),
    "narrow-distances": (made(dtype=np.float16), lambda: data(n_gallery=900)),
    "not-finite": (no_infinity, with_nan),
    "cut-to-shortest": (cut, short_lists),
    "found-in-top-k": (made(top=10, existing=False), data),
    "unmatched-index-error": (raising(IndexError("index 0 is out of bounds")), data),
    "percent": (percent, data),
    "old-numpy": (lambda *_: np.float, data),
    "similarities": (made(sign=-1), data),
    "label-counted": (made(), data),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_every_defect_is_recognised(name):
    evaluator, arrays = DEFECTIVE[name]
    found = crosscheck(evaluator, *arrays())
    assert name in found.defects, as_text(found)
    assert DEFECTS[name].where in found.defects[name]


def test_no_defect_is_seen_where_there_is_none():
    for options in ({"ignore_label": True}, {"ignore_label": True, "rule": trapezoid}):
        for arrays in (data(), data(seed=8, junk=False), data(seed=1, unmatched=False)):
            assert crosscheck(made(unmatched=0, **options), *arrays).defects == {}
    assert crosscheck(made(), *data(junk=False)).defects == {}


# ------------------------------------------------------------------ bad behaviour
class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("no words")


class Slippery:
    mAP = 0.5

    @property
    def cmc(self):
        raise OSError("gone")


@pytest.mark.parametrize(("answer", "message"), [
    (raising(RuntimeError("all query identities are unhappy\nvery")),
     r"RuntimeError: all query identities are unhappy very \(test_crosscheck.py, line "),
    (raising(SystemExit(3)), "SystemExit: 3"),
    (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
    (raising(Unspeakable()), "Unspeakable: .its message cannot be read"),
    (lambda *_: None, "it returned None; expected"),
    (lambda *_: "mAP 0.5", "it returned 'mAP 0.5' .str.; expected"),
    (lambda *_: (0.5, np.ones(5)), r"\(mAP, cmc\) by the look of it; expected \(cmc, mAP\)"),
    (lambda *_: (["a", "b"], 0.5), r"its cmc is \['a', 'b'\] .list.; expected a vector of"),
    (lambda *_: (np.ones((2, 2)), 0.5), r"its cmc is an array of shape \(2, 2\) and dtype float"),
    (lambda *_: (np.ones(3), "high"), "its mAP is 'high' .str.; expected a number"),
    (lambda *_: (np.ones(3), []), "its mAP is an empty vector"),
    (lambda *_: ([[1], [1, 2]], 0.5), "which cannot be read: ValueError"),
    (lambda *_: {"cmc": np.ones(5), "mAP": 0.5}, r"\(dict\); expected \(cmc, mAP\)"),
    (lambda *_: (np.ones(5) + 0j, 0.5), "dtype complex128; expected a vector of numbers"),
    (lambda *_: (np.zeros(30_000_000), 0.5), "its cmc has 30,000,000 entries; expected at most"),
    (lambda *_: Slippery(), "cannot be read: OSError: gone"),
])
def test_an_evaluator_that_fails_is_reported(answer, message, capfd):
    found = crosscheck(answer, *data())
    assert found.verdict == "failed" and found.follows is None
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(found.failure)
    assert "FAILED: " in as_text(found)
    json.dumps(as_json(found), allow_nan=False)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("answer", "message"), [
    ((np.full(5, np.nan), np.nan), "its mAP is nan; expected a number from 0 to 1"),
    ((np.full(5, np.nan), .5), "its CMC is nan at Rank-1"),
    ((np.array([.5, 1.5]), .5), "its CMC reaches 1.5; expected numbers from 0 to 1"),
    ((np.array([.5, .25]), .5), "its CMC falls from 0.5 at Rank-1 to 0.25 at Rank-2"),
    ((np.ones(1000), .5), "its CMC has 1000 entries; the gallery has 90 images"),
    ((np.ones(0), .5), "its CMC is empty"),
    ((np.ones(3), -1), "its mAP is -1.0; expected a number"),
    ((np.ones(3), .5, 7.0), "its mINP is 7.0; expected a number"),
    (SimpleNamespace(mAP=.5, cmc=np.ones(3), per_query=SimpleNamespace(ap=[.5, 2.0] * 7)),
     "its AP of query 1 is 2.0; expected"),
])
def test_numbers_that_cannot_be_are_named(answer, message):
    found = crosscheck(lambda *_: answer, *data())
    assert found.verdict == "different"
    assert any(message in text for text in found.problems), found.problems
    assert message in " ".join(as_text(found).split())
    json.dumps(as_json(found), allow_nan=False)


@pytest.mark.parametrize(("above", "fine"), [
    (2.0**-52, True), (5 * 2.0**-52, True), (2.0**-23, True), (1e-5, False), (0.01, False)])
def test_rounding_above_one_is_no_nonsense(above, fine):
    """One query, its only good image first: AP 1, as sums of doubles or floats may miss it."""
    distances = np.array([[.1, .2, .3], [.2, .1, .3]])
    query, gallery = Labels([1, 2], [1, 1]), Labels([1, 2, 3], [2, 2, 2])

    def rounds(distances, query, gallery):
        one = np.full(len(query), 1 + above)
        return SimpleNamespace(mAP=1 + above, cmc=np.full(3, 1 + above), mINP=1 + above,
                               per_query=SimpleNamespace(ap=one))
    found = crosscheck(rounds, distances, query, gallery)
    assert (found.verdict == "equal") == fine, as_text(found)
    assert len(found.problems) == (0 if fine else 4)


def test_too_few_ap_are_asked_for_again():
    def short(distances, query, gallery):
        result = reid_ref.evaluate_distances(distances, query, gallery)
        return SimpleNamespace(mAP=result.mAP, cmc=result.cmc,
                               per_query=SimpleNamespace(ap=result.per_query.ap[1:]))
    distances, query, gallery = data()
    found = crosscheck(short, distances, query, gallery)
    assert (found.verdict, found.follows) == ("equal", "matlab")
    assert any("answers 13 APs for 14 queries" in text for text in found.remarks)


def test_what_it_prints_and_warns_is_shown_shortened_and_goes_nowhere_else(capfd):
    def talks(*arguments):
        print("Note: quite small")
        sys.stderr.write("to stderr\n")
        os.write(1, b"below Python\n")
        subprocess.run(["sh", "-c", "echo from a child >&2"], check=True)
        print("x" * 5000)
        warnings.warn("old hat", DeprecationWarning, stacklevel=1)
        return made()(*arguments)
    found = crosscheck(talks, *data())
    assert found.verdict == "equal"
    assert capfd.readouterr() == ("", "")
    for text in ("Note: quite small", "to stderr", "below Python", "from a child"):
        assert text in found.printed
    assert found.warned == ("DeprecationWarning: old hat",)
    report = as_text(found)
    assert "it warned   DeprecationWarning: old hat" in report
    assert "it printed  Note: quite small" in report and len(report) < 4000


def test_an_evaluator_that_writes_on_its_arrays_is_told():
    def spoils(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
        answer = made()(distmat, q_pids, g_pids, q_camids, g_camids)
        for array in (distmat, q_pids, g_pids, q_camids, g_camids):
            array[:] = 1
        return answer
    found = crosscheck(spoils, *data())
    assert found.verdict == "equal"
    assert any("it writes on the arrays" in text for text in found.remarks)


# ------------------------------------------------------------------ signatures and names
def five(distmat, q_pids, g_pids, q_camids, g_camids):
    return made()(distmat, q_pids, g_pids, q_camids, g_camids)


def keyword(distmat, q_pids, g_pids, q_camids, g_camids, *, max_rank, cython=True):
    assert max_rank == MAX_RANK
    return five(distmat, q_pids, g_pids, q_camids, g_camids)


def default(distmat, q_pids, g_pids, q_camids=None, g_camids=None, use_cython=True, max_rank=1):
    assert max_rank == MAX_RANK and use_cython is True
    return five(distmat, q_pids, g_pids, q_camids, g_camids)


def starred(*arguments):
    assert len(arguments) == 6
    return five(*arguments[:5])


def three(d, who, where):
    return five(d, who.identity, where.identity, who.camera, where.camera)


def named(distances, query, gallery, convention=None, more=1, most=2):
    return three(distances, query, gallery)


class Callable:
    def __call__(self, distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
        return five(distmat, q_pids, g_pids, q_camids, g_camids)


@pytest.mark.parametrize("function", [five, keyword, default, starred, three, named,
                                      Callable()])
def test_signatures(function):
    found = crosscheck(function, *data())
    assert found.verdict == "equal", found.failure


@pytest.mark.parametrize(("evaluator", "message"), [
    (lambda a, b: 0, r"expected a function of \(distmat, .* got one of \(a, b\)"),
    (lambda a, b, c, d, e, f, g: 0, "expected a function of"),
    (lambda a, b, c, *, needed: 0, "without its keyword arguments needed; wrap it"),
    (42, "expected a function, got int"),
    ("sickit-learn", "^evaluator: unknown 'sickit-learn'; known: fastreid, .*, module:function, "
                     "file.py:function.*Did you mean 'scikit-learn'"),
    (":f", "expected module:function or file.py:function, got ':f'"),
    ("math:", "expected module:function or file.py:function, got 'math:'"),
])
def test_what_is_no_evaluator(evaluator, message):
    with pytest.raises(InputError, match=message):
        crosscheck(evaluator, *data())


def test_arrays_are_checked_before_anything_runs():
    distances, query, gallery = data()
    with pytest.raises(InputError, match="its transpose would fit"):
        crosscheck(made(), distances.T, query, gallery)


def test_a_missing_package_says_how_to_install_it(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)
    monkeypatch.setattr(metadata, "version", missing)
    for name, adapter in ADAPTERS.items():
        with pytest.raises(InputError, match=f"{name}: {adapter.package} is not installed; pip i"):
            load_adapter(name)


def test_a_package_that_cannot_be_imported_says_why(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda _: "1.0")
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    with pytest.raises(InputError, match="scikit-learn 1.0 cannot be imported: ModuleNotFound"):
        load_adapter("scikit-learn")


# ------------------------------------------------------------------ packages of PyPI
@pytest.fixture
def adapter(request):
    """The adapter's name where its package is installed; else a skip or a failure, aloud."""
    version_of(ADAPTERS[request.param].package)
    return request.param


@pytest.mark.parametrize(("seed", "levels"), cases([(1, 7)], [(0, None), (1, 7)]))
@pytest.mark.parametrize("adapter", ADAPTERS, indirect=True)
def test_packages_follow_what_is_expected_of_them(adapter, seed, levels):
    found = crosscheck(adapter, *data(seed=seed, n_gallery=160, levels=levels))
    assert found.verdict == "equal", as_text(found)
    assert found.follows.split("[")[0] == found.expected, as_text(found)
    assert found.version == metadata.version(ADAPTERS[adapter].package)
    single = adapter in ("torchmetrics", "open-metric-learning")
    assert found.match.worst <= (2 if single else 1)
    assert max(map(len, as_text(found).splitlines())) <= 80


@pytest.mark.parametrize("adapter", ADAPTERS, indirect=True)
def test_packages_rank_features_as_evaluate_does(adapter):
    *features, query, gallery = nearly_tied(12, 160, lowest=1)
    found = crosscheck_data(reid_ref.ResultFile("arrays", query, gallery, *features), adapter)
    assert found.verdict == "equal", as_text(found)
    assert found.match.convention.base == found.expected
    expected = reid_ref.evaluate(*features, query, gallery, convention=found.expected)
    np.testing.assert_allclose(found.answer.ap, expected.per_query.ap, rtol=1e-6)
    rounded = reid_ref.evaluate_distances(distance_matrix(*features, "euclidean", True), query,
                                          gallery, convention=found.expected)
    assert abs(rounded.per_query.ap - expected.per_query.ap).max() > 1e-3  # or it could not fail
    assert found.fed.endswith("; the distances of the features are double, in their exact order")


@pytest.mark.parametrize("adapter", cases(["torchreid"], list(ADAPTERS)), indirect=True)
def test_packages_on_labels_as_they_come(adapter):
    """Queries labelled -1, identities absent, float32."""
    distances, query, gallery = market_like(3, n_gallery=160, dtype=np.float32)
    found = crosscheck(adapter, distances, query, gallery)
    assert found.verdict == "equal", as_text(found)


@pytest.mark.parametrize(("adapter", "arrays", "defect"), [
    ("fastreid", short_lists, "ragged-cmc"), ("torchreid", short_lists, "ragged-cmc"),
    ("fastreid", absent, "no-valid-query"), ("torchreid", absent, "no-valid-query"),
    ("scikit-learn", with_nan, "not-finite")], indirect=["adapter"])
def test_packages_show_their_defects(adapter, arrays, defect):
    found = crosscheck(adapter, *arrays())
    assert found.verdict == "failed" and defect in found.defects
    if arrays is short_lists:
        assert f"its APs are those of {found.expected}" in " ".join(as_text(found).split())
