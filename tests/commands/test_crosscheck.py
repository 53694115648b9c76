"""Cross-checks: evaluators made here, well and badly behaved, and those of PyPI where installed.

The made evaluators are written in the plainest way, one query after another, and share no code
with the package. Packages: without them these tests are skipped, with the reason in pytest's
summary; with ``REID_REF_PEERS=required`` in the environment all must be there.
"""
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.analysis.crosscheck import TOOLBOXES, crosscheck as crosscheck_data
from reid_ref.commands.crosscheck.command import as_text
from reid_ref.conventions import TOOLBOXES as TOOLBOXES_OF
from reid_ref.distances import distance_matrix
from reid_ref.rules import candidates, numbers, search
from reid_ref.foreign.arguments import fed
from reid_ref.foreign.arrays import MAX_RANK, Arrays
from reid_ref.foreign.importing import load_evaluator
from reid_ref.text.plain import json_values
from tests.cases import market_like, nearly_tied
from tests.documents import ROOT
from tests.installed import version_of
from tests.nightly import cases
from tests.refusals import refused


def crosscheck(evaluator, distances, query, gallery, **options):
    data = reid_ref.ResultFile("arrays", query, gallery, distances=distances)
    return crosscheck_data(data, evaluator, **options)


# ------------------------------------------------------------------ evaluators made here
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
    ap, before = 0.0, start
    for place, hit in enumerate(hits):
        precision = np.count_nonzero(hits[:place + 1]) / (place + 1)
        ap += hit * (before + precision) / 2 / n
        before = precision
    return ap


def mistaken(hits, n):
    ap, before = 0.0, float(hits[0])
    for k, place in enumerate(np.flatnonzero(hits)):
        ap += (before + (k + 1) / (place + 1)) / 2 / n
        before = (k + 1) / (place + 1)
    return ap


def interpolated(hits, n):
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return sum(max(precision[place:]) for place in np.flatnonzero(hits)) / n


def made(rule=step, sort="stable", ignore_label=False, unmatched="drop", dtype=float,
         identity=int, sign=1, top=None, existing=True, camera="same identity", ties=None):
    """An evaluator with torchreid's signature, by a plain loop over queries."""
    def evaluator(distmat, q_pids, g_pids, q_camids, g_camids, max_rank=50):
        q_pids, g_pids, aps, curves = q_pids.astype(identity), g_pids.astype(identity), [], []
        for row, pid, cam in zip(sign * distmat.astype(dtype), q_pids, q_camids):
            good = (g_pids == pid) & (g_camids != cam)
            second = {"good first": ~good, "good last": good,
                      "reversed": -np.arange(len(row))}
            order = np.lexsort((second[ties], row)) if ties else np.argsort(row, kind=sort)
            same, here = g_pids[order] == pid, g_camids[order] == cam
            out = same & here if camera == "same identity" else same & False
            hits = same[~(out | (ignore_label & (g_pids[order] == -1)))]
            n = np.count_nonzero(hits if existing else hits[:top])
            if n or unmatched != "drop":
                hits = hits[:top]
                aps.append(rule(hits, n) if hits.any() else 0.0 if n else float(unmatched))
                curves.append(np.append(np.maximum.accumulate(hits), np.full(50, hits.any()))[:50])
        assert aps, "no valid query"
        return np.mean(curves, axis=0), np.mean(aps)
    return evaluator


def ours(convention="matlab", change=None):
    """An evaluator with our signature; `change` is of its APs."""
    def evaluator(distances, query, gallery):
        result = reid_ref.evaluate_distances(distances, query, gallery, convention=convention)
        if change is None:
            return result
        ap = change(result.per_query.ap.copy())
        return SimpleNamespace(mAP=float(result.mAP if len(ap) < len(query) else ap.mean()),
                               cmc=result.cmc, per_query=SimpleNamespace(ap=ap))
    return evaluator


def changing(change, alone=True):
    """A sound evaluator, but for what it returns; `alone`: it can be asked query by query."""
    def evaluator(*arguments):
        if not alone and len(arguments[1]) == 1:
            raise RuntimeError("not alone")
        return change(*made()(*arguments))
    return evaluator


def raising(error):
    def evaluator(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
        raise error
    return evaluator


# ------------------------------------------------------------------ which convention
@pytest.mark.parametrize(("options", "convention"), [
    ({}, "torchreid-function"), ({"dtype": np.float32}, "torchreid-function"),
    ({"ignore_label": True, "unmatched": 0, "rule": trapezoid}, "matlab"),
    ({"ignore_label": True, "unmatched": 0}, "light-reid"),
    ({"camera": "nothing", "unmatched": 0}, "simpleir")])
def test_the_convention_is_found(options, convention):
    check = crosscheck(made(**options), *data())
    assert check.verdict == "equal"
    assert convention in (check.follows, *check.also)
    assert check.agreement["ap"].largest_difference < 1e-14
    assert check.failure == "" and check.first_difference is None
    assert f"EQUAL to convention {check.follows}" in as_text(check)


def test_our_own_evaluator_is_equal_to_the_last_bit():
    check = crosscheck("reid_ref.evaluation.functions:evaluate_distances", *data())
    assert (check.verdict, check.follows) == ("equal", "matlab")
    assert {a.level for a in check.agreement.values()} == {"bit"}
    assert "(distances, query, gallery), our signature" in check.fed
    assert any("queries have no good image" in text for text in check.warned)


def test_a_mean_that_is_nan_by_convention_is_equal():
    check = crosscheck(ours("mars"), *data())
    assert (check.verdict, check.follows) == ("equal", "mars")
    assert json_values(check)["mAP"] is None


def test_ties_in_numpys_order_are_told():
    check = crosscheck(made(sort=None), *data(seed=3, levels=3, n_gallery=400))
    assert (check.verdict, check.follows) == ("equal", "torchreid-function[ties=numpy]")
    assert "machine-ties" in check.defects


def test_progress_adds_up():
    arrays, seen = data(levels=6), []
    check = crosscheck(made(ties="reversed"), *arrays, progress=seen.append)
    assert (check.verdict, check.follows) == ("equal", "torchreid-function[ties=reversed]")
    crosscheck("reid_ref.evaluation.functions:evaluate_distances", *arrays, progress=seen.append)
    assert sum(seen) == 28


def test_slow_conventions_are_tried_where_only_the_curve_differs():
    check = crosscheck(ours("cuhk03-single-shot-draws"), *data())
    assert check.follows == "cuhk03-single-shot-draws"
    assert "cuhk03-single-shot" not in check.also


def test_float32_sums_are_equal_within_a_named_tolerance():
    check = crosscheck(changing(lambda cmc, mAP: (np.float32(cmc), np.float32(mAP))), *data())
    assert check.verdict == "equal"
    assert "torchreid-function" in (check.follows, *check.also)
    assert check.agreement["ap"].level == "float32"
    assert "to single precision" in as_text(check)


def test_a_double_that_is_off_is_not_said_to_be_a_float32():
    check = crosscheck(changing(lambda cmc, mAP: (cmc, mAP + 1e-12)), *data())
    assert (check.verdict, check.agreement["ap"].level) == ("equal", "float32")
    assert f"{check.rule}" == "torchreid-function, to single precision"


@pytest.mark.parametrize("third", [
    lambda ap, mAP: (ap,), lambda ap, mAP: (ap, np.zeros(3)), lambda ap, mAP: (0.0,),
    lambda ap, mAP: (mAP,), lambda ap, mAP: (np.float32(mAP),)])
@pytest.mark.parametrize("unmatched", [False, True])
def test_a_third_value_that_is_no_minp(third, unmatched):
    """AG-VPReID and PersonViT return the list of APs there, VersReID 0."""
    def evaluator(distmat, q_pids, g_pids, q_camids, g_camids, max_rank=50):
        cmc, mAP = made()(distmat, q_pids, g_pids, q_camids, g_camids)
        aps = [made()(distmat[[k]], q_pids[[k]], g_pids, q_camids[[k]], g_camids)[1]
               for k in range(len(q_pids))
               if ((g_pids == q_pids[k]) & (g_camids != q_camids[k])).any()]
        return cmc, mAP, *third(aps, mAP)

    check = crosscheck(evaluator, *data(unmatched=unmatched))
    assert (check.verdict, check.follows, check.mINP) == ("equal", "torchreid-function", None)
    assert check.queries.compared == check.queries.equal > 10


@pytest.mark.nightly
def test_of_the_conventions_with_its_aps_the_closest_has_the_nearest_curve():
    """A Rank-1 that misses two hits is no draw of single images."""
    def two_hits_less(cmc, mAP):
        cmc[0] -= .02
        return cmc, mAP
    check = crosscheck(changing(two_hits_less), *data(unmatched=False))
    assert (check.verdict, check.closest) == ("different", "torchreid-function")


# ------------------------------------------------------------------ which of several names
def test_every_convention_has_a_place():
    names = {TOOLBOXES_OF.get(name, name) for name in reid_ref.CONVENTIONS}
    assert sorted(candidates.PREFERENCE) == sorted(names)


@pytest.mark.parametrize("options", [
    {}, {"camera": "nothing"}, {"rule": trapezoid, "ignore_label": True},
    {"ignore_label": True, "unmatched": 0}])
@pytest.mark.parametrize("alone", [True, False])
def test_the_order_of_a_table_decides_no_name(options, alone, monkeypatch):
    """Nor do last bits, where the APs of queries are not known."""
    def evaluator(*arrays):
        if not alone and len(arrays[1]) == 1:
            raise RuntimeError("not alone")
        return made(**options)(*arrays)
    arrays = data(junk=False, unmatched=False)
    names = []
    for order in (iter, reversed):
        monkeypatch.setattr(search, "CONVENTIONS", {
            name: reid_ref.CONVENTIONS[name] for name in order(tuple(reid_ref.CONVENTIONS))})
        check = crosscheck(evaluator, *arrays)
        assert check.verdict == "equal"
        names.append((check.follows, check.also))
    assert names[0] == names[1]
    assert names[0][0] in ("torchreid-function", "simpleir", "matlab", "light-reid",
                           "layumi")


# ------------------------------------------------------------------ cross-modality evaluators
def across(ignored):
    """Step AP, and CMC over identities; `ignored`: of a query and the gallery, to a mask."""
    def evaluator(distmat, q_pids, g_pids, q_camids, g_camids, max_rank=20):
        aps, curves = [], []
        for row, pid, camera in zip(distmat, q_pids, q_camids):
            order = np.argsort(row, kind="stable")
            kept = order[~ignored(pid, camera, g_pids, g_camids)[order]]
            hits = g_pids[kept] == pid
            if hits.any():
                aps.append(step(hits, hits.sum()))
                names = list(dict.fromkeys(g_pids[kept].tolist()))
                curves.append(np.arange(max_rank) >= names.index(pid))
        n = min(max_rank, len(np.unique(g_pids)))
        return np.mean(curves, axis=0)[:n], np.mean(aps)
    return evaluator


def at_one_place(pid, camera, g_pids, g_camids):
    return (camera == 3) & (g_camids == 2)


def on_one_camera(pid, camera, g_pids, g_camids):
    return (g_pids == pid) & (g_camids == camera)


def across_cameras(query_cameras, gallery_cameras, n_query=30):
    rng = np.random.default_rng(4)
    query = Labels(rng.integers(0, 12, n_query), rng.choice(query_cameras, n_query))
    gallery = Labels(np.arange(150) % 12, rng.choice(gallery_cameras, 150))
    distances = rng.random((n_query, 150)) + .2 * (query.identity[:, None] != gallery.identity)
    return distances, query, gallery


def test_sysus_evaluator_is_named_where_the_cameras_are_sysus():
    evaluator = across(at_one_place)
    check = crosscheck(evaluator, *across_cameras((3, 6), (1, 2, 4, 5)))
    assert (check.verdict, check.follows) == ("equal", "sysu-mm01")
    check = crosscheck(evaluator, *across_cameras((3, 6), (2, 7)))
    assert (check.verdict, check.follows) == ("equal", "sysu-mm01")


@pytest.mark.parametrize("n_query", [30, 100])
def test_the_rule_of_a_protocol_is_named(n_query):
    check = crosscheck(across(on_one_camera), *across_cameras((1, 2, 3), (1, 2, 3), n_query))
    assert (check.verdict, check.follows) == ("equal", "llcm")
    assert any("the rule of llcm" in text for text in check.remarks)


@pytest.mark.parametrize("n_query", cases([14], [14, 100]))
def test_ap_of_one_convention_and_cmc_of_another(n_query):
    def evaluator(distances, query, gallery):
        first, second = (reid_ref.evaluate_distances(distances, query, gallery, convention=name)
                         for name in ("mars", "open-reid-allshots-function"))
        return SimpleNamespace(mAP=first.mAP, cmc=second.cmc, per_query=first.per_query)
    check = crosscheck(evaluator, *data(n_query=n_query, unmatched=False))
    assert (check.verdict, check.follows) == ("different", None)
    assert "but for its CMC" in check.rule


def test_conventions_requested():
    arrays = data()
    check = crosscheck(made(), *arrays, convention=["matlab", "mars"])
    assert (check.verdict, check.closest.split("[")[0]) == ("different", "matlab")
    assert "torchreid-function" in check.rule
    check = crosscheck(ours("cuhk03-single-shot"), *arrays, convention="cuhk03-single-shot")
    assert check.follows == "cuhk03-single-shot"
    refused("convention", "lists", crosscheck, made(), *arrays, convention="veri")
    refused("convention", "unknown", crosscheck, made(), *arrays, convention="martlab")


def keeps_own_camera(distmat, q_pids, g_pids, q_camids, g_camids):
    """Step AP without images labelled -1, with those on the query's own camera."""
    curves, aps = [], []
    for row, pid in zip(distmat, q_pids):
        order = np.argsort(row, kind="stable")
        hits = (g_pids[order] == pid)[g_pids[order] != -1]
        aps.append(step(hits, hits.sum()) if hits.any() else np.nan)
        if hits.any():
            curves.append(np.maximum.accumulate(hits)[:50])
    return SimpleNamespace(mAP=np.nanmean(aps), cmc=np.mean(curves, axis=0),
                           per_query=SimpleNamespace(ap=np.array(aps)))


@pytest.mark.parametrize("seed", range(cases(2, 15)))
def test_one_choice_is_found_from_whichever_convention_is_nearest(seed):
    rng = np.random.default_rng(seed)
    identity = np.where(rng.random(500) < .1, -1, rng.integers(1, 30, 500))
    query = Labels(np.where(rng.random(90) < .1, -1, rng.integers(1, 30, 90)),
                   rng.integers(1, 4, 90))
    gallery = Labels(identity, rng.integers(1, 4, 500))
    distances = rng.random((90, 500)) + .8 * (query.identity[:, np.newaxis] != identity)
    check = crosscheck(keeps_own_camera, distances, query, gallery)
    assert check.verdict == "different"
    assert "ignored: images labelled -1" in check.first_difference.why


# ------------------------------------------------------------------ why
@pytest.mark.parametrize(("evaluator", "words", "arrays", "defect"), [
    (made(interpolated), "interpolated AP", {}, None),
    (made(mistaken), "takes the precision of the good image before", {}, None),
    (made(lambda hits, n: trapezoid(hits, n, start=0.0)), "start at precision 0", {}, None),
    (made(ties="good first"), "the good ones come first", {"levels": 4}, None),
    (made(ties="good last"), "the good ones come last", {"levels": 4}, None),
    (made(sign=-1), "taken for similarities", {}, "distances negative"),
    (made(dtype=np.float16), "distances become float16", {"n_gallery": 900}, "distances float16"),
    (made(trapezoid, camera="nothing", ignore_label=True), "ignored: images labelled -1", {},
     None),
    (made(top=10, existing=False), "only the first 10 kept images count", {}, "found-in-top-k"),
    (made(top=20), "only the first 20 kept images count", {}, None),
    (made(trapezoid, identity=np.float32), "identities pass through float32", {"scale": 2 ** 25},
     "identity float32")])
def test_the_difference_is_explained(evaluator, words, arrays, defect):
    distances, query, gallery = data(**arrays)
    if "scale" in arrays:  # 2^25 + 1 and + 2 are one float32
        identity = gallery.identity + np.arange(len(gallery)) % 3 // 2
        gallery = Labels(np.where(gallery.identity > 0, identity, gallery.identity),
                         gallery.camera)
    check = crosscheck(evaluator, distances, query, gallery)
    assert check.verdict == "different" and check.follows is None
    assert words in check.first_difference.why
    k = check.first_difference.query
    assert check.first_difference.theirs == check.ap[k]
    report = " ".join(as_text(check).split())
    assert words in report and f"query {k}: " in report
    assert check.defects.keys() - {"label-counted"} == ({defect} if defect else set())


def test_what_cannot_be_explained_is_said():
    """The closest convention stands beside it, as it does where there is no file."""
    check = crosscheck(made(lambda hits, n: step(hits, n) ** 1.25), *data())
    assert (check.verdict, check.rule, check.queries.equal) == ("different", None, 0)
    assert check.reference.mAP > check.mAP
    assert check.first_difference.why == "not explained by the choices and mistakes known here"
    assert (f"DIFFERENT: it follows no convention that was tried; the closest is {check.closest}"
            ) in " ".join(as_text(check).split())


@pytest.mark.nightly
def test_a_convention_with_most_of_the_aps_is_the_closest():
    check = crosscheck(made(lambda hits, n: step(hits, n) ** (1 if hits[0] else 1.25)), *data())
    assert check.closest == "torchreid-function"
    assert 2 * check.queries.equal > check.queries.compared > check.queries.equal
    assert check.first_difference.why == (
        "not explained by the choices and mistakes known here")


def test_a_query_counted_otherwise_in_the_mean_is_told():
    check = crosscheck(made(unmatched=1), *data())
    assert check.verdict == "different" and check.first_difference is None
    assert "a query without a good image counts as AP 1" in check.rule
    assert any(text.startswith("mAP is ") for text in check.remarks)


@pytest.mark.nightly
def test_a_mean_that_is_not_of_its_aps_is_told():
    def evaluator(distances, query, gallery):
        result = reid_ref.evaluate_distances(distances, query, gallery)
        return SimpleNamespace(mAP=.9 * result.mAP, cmc=result.cmc, per_query=result.per_query)
    check = crosscheck(evaluator, *data())
    assert (check.verdict, check.rule) == (
        "different", "matlab, to the last bit (AP of each query alone)")


def test_what_the_arrays_cannot_show_is_told():
    report = " ".join(as_text(crosscheck(made(), *data())).split())
    assert ("not tested label -1 among the queries, a gallery of fewer than 50 images, equal "
            "distances: these arrays have none") in report


def test_a_curve_of_another_kind_is_told():
    check = crosscheck(changing(lambda cmc, mAP: (cmc / 2, mAP)), *data())
    assert check.verdict == "different" and check.agreement["ap"].level in ("bit", "double")
    assert "but for its CMC" in check.rule
    assert any(text.startswith("Rank-1 is ") and f"by {check.closest} " in text
               for text in check.remarks)


@pytest.mark.parametrize(("change", "verdict", "closest"), [
    (lambda cmc, mAP: (cmc, mAP), "equal", "torchreid-function"),
    (lambda cmc, mAP: (cmc, .9 * mAP), "different", "torchreid-function"),
    (lambda cmc, mAP: (cmc / 2, mAP), "different", "torchreid-function")])
def test_without_aps_the_means_name_the_rule(change, verdict, closest):
    check = crosscheck(changing(change, alone=False), *data())
    report = " ".join(as_text(check).split())
    assert (check.verdict, check.closest, check.ap) == (verdict, closest, None)
    assert "per-query APs were not returned, and it cannot be asked query by query" in report
    assert "AP agrees query by query" not in report
    assert (closest is None) == (check.reference is None)


@pytest.mark.parametrize(("wrong", "shown"), [
    ([7, 19, 33], "7, 19, 33"),
    (list(range(3, 45, 2)), "3, 5, 7, 9, 11, 13, 15, 17, 19, 21 and 11 more")])
@pytest.mark.nightly
def test_what_agrees_on_most_queries_is_the_closest(wrong, shown):
    factor = np.where(np.isin(np.arange(45), wrong), .75, 1)
    check = crosscheck(ours(change=lambda ap: ap * factor), *data(n_query=45, unmatched=False))
    equal, report = 45 - len(wrong), as_text(check)
    assert (check.verdict, check.closest) == ("different", "matlab")
    assert check.queries.differing == wrong and check.first_difference.query == wrong[0]
    assert f"{equal} of 45 APs agree with matlab" in report
    assert f"differing   {shown}\n" in report
    assert json_values(check)["queries"] == {"compared": 45, "equal": equal, "differing": wrong}


def test_a_good_query_that_it_drops_is_told():
    arrays = data()
    dropped = arrays[1].identity[5]

    def drops(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
        keep = q_pids != dropped
        if not keep.any():
            raise RuntimeError("I do not like this one")
        return made()(distmat[keep], q_pids[keep], g_pids, q_camids[keep], g_camids)
    check = crosscheck(drops, *arrays)
    assert check.verdict == "different"
    assert arrays[1].identity[check.first_difference.query] == dropped
    assert "it gave no AP: RuntimeError: I do not like this one" in check.first_difference.why


# ------------------------------------------------------------------ few queries first, then all
MANY = {"n_query": 100, "unmatched": False}


def counted(monkeypatch):
    """How many queries are ranked under how many conventions, at each call."""
    calls, results_of = [], numbers.results_of

    def counting(ranked, query, gallery, how):
        calls.append((len(query), len(how.conventions)))
        return results_of(ranked, query, gallery, how)
    monkeypatch.setattr(numbers, "results_of", counting)
    return calls


@pytest.mark.parametrize(("evaluator", "verdict"), [
    (made(), "equal"), (made(ignore_label=True, rule=trapezoid, unmatched=0), "equal"),
    (made(sort=None), "equal"), (made(interpolated), "different")])
def test_all_queries_are_ranked_for_the_likely_conventions_alone(evaluator, verdict, monkeypatch):
    calls, seen = counted(monkeypatch), []
    check = crosscheck(evaluator, *data(**MANY), progress=seen.append)
    assert check.verdict == verdict
    assert check.queries.compared == sum(seen) == len(check.ap) == 100
    of_all = [n for queries, n in calls if queries == 100]
    assert len(of_all) <= 3 and max(of_all) <= 12
    whole = crosscheck(evaluator, *data(**MANY), queries=100)
    assert (whole.closest, whole.also) == (check.closest, check.also)


def test_ties_that_the_few_queries_lack_are_found():
    distances, query, gallery = data(**MANY, n_gallery=400)
    alone = np.setdiff1d(np.arange(100), crosscheck(
        tells_its_identities, distances, Labels(np.arange(100), query.camera), gallery).ap)[0]
    distances[alone] = np.floor(3 * distances[alone])
    check = crosscheck(made(ties="reversed"), distances, query, gallery)
    assert (check.verdict, check.follows) == ("equal", "torchreid-function[ties=reversed]")
    assert check.agreement["ap"].level in ("bit", "double")


def tells_its_identities(distances, query, gallery):
    if len(query) != 64:
        raise RuntimeError("the few alone")
    return SimpleNamespace(mAP=0.5, cmc=np.ones(3), per_query=SimpleNamespace(ap=query.identity))


def test_what_fails_is_known_before_the_distances(tmp_path, monkeypatch):
    *features, query, gallery = nearly_tied(100, 30, lowest=1)
    given = reid_ref.ResultFile("arrays", query, gallery, *features)
    rows, exact_rows = [], type(given.input).exact_rows
    monkeypatch.setattr(type(given.input), "exact_rows", lambda self, queries, how: (
        rows.append(len(queries)) or exact_rows(self, queries, how)))
    (tmp_path / "bad.py").write_text("import none_such\n")
    refused("", "No module named 'none_such'", crosscheck_data, given, f"{tmp_path}/bad.py:f")
    assert rows == []
    check = crosscheck_data(given, raising(RuntimeError("not at all")))
    assert (check.verdict, rows) == ("failed", [64])
    assert check.remarks[0] == "called with a sample of 64 of 100 queries"


def test_some_queries():
    arrays = data(**MANY)
    wrong = ours(change=lambda ap: ap / np.where(np.arange(len(ap)) > 6, 2, 1))
    check = crosscheck(wrong, *arrays, queries=10)
    again = crosscheck(wrong, *arrays, queries=10)
    numbers = check.queries.differing
    assert (len(numbers), len(check.ap)) == (3, 10) and numbers == again.queries.differing
    assert numbers == sorted(set(numbers)) and min(numbers) > 10
    expected = reid_ref.evaluate_distances(*arrays).per_query.ap[numbers]
    np.testing.assert_array_equal(check.ap[7:], expected / 2)
    assert check.first_difference.query == numbers[0]
    assert check.first_difference.ours == expected[0]
    assert "note        called with a sample of 10 of 100 queries" in as_text(check)
    refused("queries", "from 1", crosscheck, wrong, *arrays, queries=0)


# ------------------------------------------------------------------ clothes
def clothed(distmat, q_pids, g_pids, q_camids, g_camids, q_clothids, g_clothids, mode="CC"):
    assert [len(q_clothids), len(g_clothids)] == list(distmat.shape)
    print(q_clothids[0], g_clothids[0], mode)
    return made()(distmat, q_pids, g_pids, q_camids, g_camids)


def test_clothes_are_the_labels():
    distances, query, gallery = data()
    query, gallery = (Labels(side.identity, side.camera, clothes=np.arange(len(side)) + start)
                      for side, start in ((query, 7), (gallery, 70)))
    check = crosscheck(clothed, distances, query, gallery)
    assert check.verdict == "equal" and check.printed == "7 70 CC"
    assert "g_camids, q_clothids=q_clothes, g_clothids=g_clothes)" in check.fed

    def takes_labels(distances, query, gallery):
        print(query.clothes[0], gallery.clothes[0])
        return ours()(distances, query, gallery)
    assert crosscheck(takes_labels, distances, query, gallery).printed == "7 70"


def changes_clothes(distmat, q_pids, g_pids, q_camids, g_camids, q_clothids, g_clothids,
                    mode="CC"):
    """As Simple-CCReID: of the identity, other cameras count, in other clothes or in the same."""
    curves, aps = [], []
    for k, row in enumerate(distmat):
        own = g_pids == q_pids[k]
        good = own & (g_camids != q_camids[k]) & (
            (g_clothids == q_clothids[k]) == (mode == "SC"))
        order = np.argsort(row, kind="stable")
        hits = good[order][(good | ~own)[order]]
        if good.any():
            aps.append(step(hits, good.sum()))
            curves.append(np.pad(np.maximum.accumulate(hits), (0, len(row) - len(hits)), "edge"))
    return (np.mean(curves, axis=0), np.mean(aps)) if aps else (np.zeros(distmat.shape[1]), 0)


@pytest.mark.parametrize("part", ["cc", "sc"])
def test_rules_of_clothes_are_named(part):
    def evaluator(distmat, q_pids, g_pids, q_camids, g_camids, q_clothids, g_clothids):
        return changes_clothes(distmat, q_pids, g_pids, q_camids, g_camids, q_clothids,
                               g_clothids, part.upper())
    distances, *sides = data(n_query=40, n_gallery=200)
    rng = np.random.default_rng(1)
    clothed = [Labels(side.identity, side.camera, clothes=rng.integers(0, 3, len(side)))
               for side in sides]
    check = crosscheck(evaluator, distances, *clothed)
    assert check.verdict == "equal" and check.follows == f"ccvid-{part}"
    assert any(f"ccvid ({part}), ltcc ({part})" in text for text in check.remarks)
    # The rule of identity and camera is none of these.
    assert crosscheck(made(), distances, *clothed).follows == "torchreid-function"


def test_clothes_that_the_labels_lack():
    check = crosscheck(clothed, *data())
    assert check.failure == "it takes clothes, and there are none"


def test_features_of_a_file_are_handed_over():
    def evaluate(query_features, gallery_features, q_pids, g_pids, q_camids, g_camids):
        return made()(-(query_features @ gallery_features.T), q_pids, g_pids, q_camids, g_camids)
    arrays = reid_ref.read(ROOT / "fixtures/market_like.mat")
    check = reid_ref.crosscheck(arrays, evaluate)
    assert (check.verdict, check.follows) == ("equal", "torchreid-function")
    assert "features are double, as they are ranked" in check.fed
    without = reid_ref.crosscheck(reid_ref.ResultFile(
        "d", arrays.query, arrays.gallery, distances=np.zeros((48, 345))), evaluate)
    assert without.failure == "it takes features, and there are none"


# ------------------------------------------------------------------ known defects
@pytest.mark.nightly
def test_random_draws_are_recognised():
    draws = changing(lambda cmc, mAP: (np.sort(np.random.random(50)), mAP))
    text = crosscheck(draws, *data()).defects["random-draws"]
    assert "from run to run" in text and "convention" not in text  # which draws is not known


def test_no_defect_is_seen_where_there_is_none():
    for options in ({"ignore_label": True}, {"ignore_label": True, "rule": trapezoid}):
        for arrays in (data(), data(seed=8, junk=False), data(seed=1, unmatched=False)):
            assert crosscheck(made(unmatched=0, **options), *arrays).defects == {}
    assert crosscheck(made(), *data(junk=False)).defects == {}
    assert list(crosscheck(made(), *data()).defects) == ["label-counted"]


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
    (lambda *_: (["a", "b"], 0.5), r"its cmc is \['a', 'b'\] .list.; "),
    (lambda *_: (np.ones((2, 2)), 0.5), r"its cmc is an array of shape \(2, 2\) and dtype float"),
    (lambda *_: (np.ones(3), "high"), "its mAP is 'high' .str.; "),
    (lambda *_: (np.ones(3), []), "its mAP is an empty vector"),
    (lambda *_: ([[1], [1, 2]], 0.5), r"its cmc is \[\[1\], \[1, 2\]\] .list.; "),
    (lambda *_: {"time": 5, "name": "x"}, r"\(dict\); expected \(cmc, mAP\)"),
    (lambda *_: (np.ones(5) + 0j, 0.5), "dtype complex128; .*a vector of numbers"),
    (lambda *_: Slippery(), "cannot be read: OSError: gone")])
def test_an_evaluator_that_fails_is_reported(answer, message, capfd):
    check = crosscheck(answer, *data())
    assert check.verdict == "failed" and check.follows is None
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(check.failure)
    assert "FAILED: " in as_text(check)
    json.dumps(json_values(check), allow_nan=False)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("answer", "message"), [
    ((np.full(5, np.nan), .5), "Rank-1 is nan,"), ((np.ones(3), .5, 7.0), "mINP is 7.0, by"),
    ((np.ones(3), -1), "mAP is -1.0, by")])
def test_numbers_that_cannot_be_are_told_beside_the_rules(answer, message):
    check = crosscheck(lambda *_: answer, *data())
    assert check.verdict == "different"
    assert message in " ".join(as_text(check).split())
    json.dumps(json_values(check), allow_nan=False)


def test_an_empty_curve_is_refused():
    check = crosscheck(changing(lambda cmc, mAP: (np.ones(0), mAP)), *data())
    assert check.verdict == "failed" and "its CMC is empty" in check.failure


@pytest.mark.parametrize(("above", "fine"), [
    (2.0**-52, True), (5 * 2.0**-52, True), (2.0**-23, True), (1e-5, False), (0.01, False)])
def test_rounding_above_one_is_no_nonsense(above, fine):
    """One query, its only good image first: AP 1, as sums of doubles or floats may miss it."""
    def rounds(distances, query, gallery):
        return np.full(3, 1 + above), np.full(len(query), 1 + above), 1 + above
    check = crosscheck(rounds, np.array([[.1, .2, .3], [.2, .1, .3]]), Labels([1, 2], [1, 1]),
                       Labels([1, 2, 3], [2, 2, 2]))
    assert (check.verdict == "equal") == fine, as_text(check)


def test_too_few_ap_are_asked_for_again():
    check = crosscheck(ours(change=lambda ap: ap[1:]), *data())
    assert (check.verdict, check.follows) == ("equal", "matlab")


def test_what_it_prints_and_warns_is_shown_shortened_and_goes_nowhere_else(capfd):
    def talks(*arguments):
        print("Note: quite small")
        sys.stderr.write("to stderr\n")
        os.write(1, b"below Python\n")
        subprocess.run(["sh", "-c", "echo from a child >&2"], check=True)
        print("x" * 5000)
        warnings.warn("old hat", DeprecationWarning, stacklevel=1)
        return made()(*arguments)
    check = crosscheck(talks, *data())
    assert check.verdict == "equal"
    assert capfd.readouterr() == ("", "")
    for text in ("Note: quite small", "to stderr", "below Python", "from a child"):
        assert text in check.printed
    assert check.warned == ("DeprecationWarning: old hat",)
    report = as_text(check)
    assert "it warned   DeprecationWarning: old hat" in report
    assert "it printed  Note: quite small" in report and len(report) < 4000


# ------------------------------------------------------------------ signatures and names
@pytest.mark.parametrize(("parameters", "form"), [
    ("d, q, g, r, h", "(d=distmat, q=q_pids, g=g_pids, r=q_camids, h=g_camids), by torch"),
    ("*arguments", "q_camids, g_camids), by torch"),
    ("d, q, g, r, h, *, max_rank, cython=True", "h=g_camids, max_rank=50), by torch"),
    ("d, q, g, r=None, h=None, use_cython=True, max_rank=1", "h=g_camids, max_rank=50), by tor"),
    ("d, q, g, r, h, most, /", "g_camids, 50), by torch"),
    ("d, who, where", "(d=distmat, who=q_pids, where=g_pids), by torch"),
    ("query_emb, query_ids, gallery_emb, gallery_ids", "(query_emb=q_features, query_ids=q_pids,"),
    ("names, distmat, names_db, k", "(names=q_pids, distmat, names_db=g_pids, k=50)"),
    ("rank_lists, query_ids, gallery_ids", "(rank_lists=places, query_ids=q_pids, gallery_ids"),
    ("distances, query, gallery, convention=None, more=1, most=2", "our signature")])
def test_signatures(parameters, form):
    made_object = type("Made", (), {"__call__": eval(f"lambda self, {parameters}: 0")})()
    assert form in load_evaluator(made_object).words
    function = eval(f"lambda {parameters}: locals()")
    assert form in load_evaluator(function).words
    if "query_emb" in parameters or "names" in parameters:
        return
    names = fed(function).call(Arrays(*data()), MAX_RANK)
    assert names.get("max_rank", MAX_RANK) == MAX_RANK and names.get("use_cython", True) is True
    values = [*names.pop("arguments", ()), *names.values()]
    assert [len(value) for value in values[1:3]] == [14, 90]


@pytest.mark.parametrize(("evaluator", "argument", "noun"), [
    (lambda a, b: 0, "", "understood as (a=?, b=?)"),
    (lambda a, b, c, d, e, f, g: 0, "", "a function of (distmat"),
    (lambda thing, query_ids, other, gallery_ids: 0, "",
     "understood as (thing=?, query_ids=q_pids, other=?, gallery_ids=g_pids); thing: features? "
     "then say --setting thing=q_features"),
    (lambda where, gallery_ids, query_ids: 0, "", "where=?"),
    (lambda a, b, c, *, needed: 0, "", "understood as (a=?, b=?, c=?, needed=?)"),
    (42, "", "the evaluator: expected a function"),
    ("torchried", "evaluator", "Did you mean 'torchreid'"),
    (":f", "evaluator", "module:function"), ("math:", "evaluator", "module:function")])
def test_what_is_no_evaluator(evaluator, argument, noun):
    refused(argument, noun, crosscheck, evaluator, *data())


def test_arrays_are_checked_before_anything_runs():
    distances, *labels = data()
    refused("distances", "transpose would fit", crosscheck, made(), distances.T, *labels)


def test_a_package_that_is_missing_says_why():
    for name in TOOLBOXES:
        if importlib.util.find_spec(name) is None:
            refused("evaluator", f"No module named '{name}'", load_evaluator, name)


# ------------------------------------------------------------------ packages of PyPI
@pytest.fixture
def adapter(request):
    """The adapter's name where its package is installed; else a skip or a failure, aloud."""
    version_of(request.param)
    return request.param


@pytest.mark.parametrize("arrays", cases([data(1, n_gallery=160, levels=7)], [
    data(0, n_gallery=160), data(1, n_gallery=160, levels=7),
    market_like(3, n_gallery=160, dtype=np.float32)]))  # labelled -1, identities absent, float32
@pytest.mark.parametrize("adapter", TOOLBOXES, indirect=True)
def test_packages_follow_what_is_expected_of_them(adapter, arrays):
    check = crosscheck(adapter, *arrays)
    assert check.verdict == "equal", as_text(check)
    assert check.follows.startswith("torchreid-function") or arrays[0].dtype == np.float32
    assert {check.agreement[name].level for name in ("ap", "mAP")} <= {"bit", "double"}
    assert max(map(len, as_text(check).splitlines())) <= 80


@pytest.mark.parametrize("adapter", TOOLBOXES, indirect=True)
def test_packages_rank_features_as_evaluate_does(adapter):
    *features, query, gallery = nearly_tied(12, 160, lowest=1)
    check = crosscheck_data(reid_ref.ResultFile("arrays", query, gallery, *features), adapter)
    assert check.verdict == "equal", as_text(check)
    assert check.closest.startswith("torchreid-function")
    expected = reid_ref.evaluate(*features, query, gallery, convention="torchreid-function",
                                 normalize=True)
    np.testing.assert_allclose(check.ap, expected.per_query.ap, rtol=1e-6)
    rounded = reid_ref.evaluate_distances(distance_matrix(*features, "euclidean", True), query,
                                          gallery, convention="torchreid-function")
    assert abs(rounded.per_query.ap - expected.per_query.ap).max() > 1e-3  # or it could not fail
    assert check.fed.endswith("; the distances of the features are double, in their exact order")
