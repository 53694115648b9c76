"""A convention's re-ranking is its toolbox's own: the recorded scripts, the records, the page.

`fixtures/test_scripts/rerank_*.json` are what each toolbox's own test code gives from features on
whose norms vary; made_rerank.py made the features.
"""
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.conventions import (
    ALIASES, CONVENTIONS, FUNCTIONS, NAMES, Convention, Reranking, known_as)
from reid_ref.reranking.k_reciprocal import VARIANTS, evaluate_reranked, rerank
from tests.commands.common import answer, table
from tests.documents import ROOT, command
from tests.refusals import refused

SCRIPTS = ROOT / "fixtures/test_scripts"
RECORDED = {path.stem.removeprefix("rerank_"): json.loads(path.read_text())
            for path in sorted(SCRIPTS.glob("rerank_*.json"))}
#: Doubles of mAP and mINP: scripts add numbers in another order. Rankings are the same: the cuts
#: of every neighbourhood lie apart (made_rerank.py), also for codes with encodings in float16.
ORDER_OF_SUMMATION = 4e-15
#: Of these no code re-ranks by k-reciprocal neighbours.
WITHOUT = {"cityflow", "light-reid", "mars", "open-reid", "oxford", "simpleir", "sysu-mm01",
           "trec-eval", "triplet-reid", "veri"}


def problem():
    with np.load(SCRIPTS / "rerank.npz") as stored:
        return ((stored["query_features"], stored["gallery_features"]),
                [Labels(stored[f"{side}_identity"], stored[f"{side}_camera"])
                 for side in ("query", "gallery")])


def assert_as_recorded(recorded, found):
    for name, theirs in recorded["answers"]["all"].items():
        if name in recorded["float32"]:
            assert np.float32(found[name]) == np.float32(theirs), name
        else:
            assert found[name] == pytest.approx(theirs, rel=0, abs=ORDER_OF_SUMMATION), name


@pytest.mark.parametrize("name", RECORDED)
def test_the_command_re_ranks_as_the_toolbox_does(name):
    recorded = RECORDED[name]
    convention = recorded["given"]["convention"]
    raw = ["--no-normalize"] * (recorded["given"].get("normalize") is False)
    printed = answer("rerank", SCRIPTS / "rerank.npz", "--convention", convention, "--cmc", "10",
                     *raw)
    _, reranked = printed["results"]
    assert_as_recorded(recorded, {**reranked, **{
        f"Rank-{k}": reranked["cmc"][k - 1] for k in (1, 5, 10)}})
    own = CONVENTIONS[known_as(convention)].reranking
    assert (f"|rerank:{own.variant}|k1:{own.k1}|k2:{own.k2}|lambda:{own.lambda_}|"
            in reranked["signature"])
    assert [text for text in printed["warnings"]
            if not text.startswith("Features are ranked as they are")] == []


@pytest.mark.parametrize("name", RECORDED)
def test_the_functions_re_rank_as_the_toolbox_does(name):
    recorded, (features, labels) = RECORDED[name], problem()
    convention, normalize = (recorded["given"].get(key) for key in ("convention", "normalize"))
    result = evaluate_reranked(*features, *labels, convention=convention, normalize=normalize)
    assert_as_recorded(recorded, {"mAP": result.mAP, "mINP": result.mINP, **{
        f"Rank-{k}": result.cmc[k - 1] for k in (1, 5, 10)}})
    kept = CONVENTIONS[known_as(convention)].loaded(labels[1].identity)
    distances = rerank(features[0], features[1][kept], convention=convention,
                       normalize=normalize)
    again = reid_ref.evaluate_distances(distances, labels[0], labels[1][kept],
                                        convention=convention)
    assert (again.mAP, again.cmc.tolist()) == (result.mAP, result.cmc.tolist())


def test_the_recorded_answers_tell_the_re_rankings_apart():
    """No two different settings have the same answer, so none can stand for another."""
    by_answer = {}
    for name, recorded in RECORDED.items():
        record = CONVENTIONS[known_as(recorded["given"]["convention"])]
        settings = (str(record.reranking), recorded["given"].get("normalize", True) and (
            record.normalize or record.metric == "cosine"))
        by_answer.setdefault(round(recorded["answers"]["all"]["mAP"], 9), set()).add(settings)
    assert {mAP: settings for mAP, settings in by_answer.items() if len(settings) != 1} == {}
    assert len(by_answer) > 7


def test_every_re_ranking_is_recorded_and_every_toolbox_decided():
    recorded = {known_as(each["given"]["convention"]) for each in RECORDED.values()}
    for name in NAMES:
        record, toolbox = CONVENTIONS[name], name.removesuffix("-function")
        if record.reranking is None:
            assert record.base.startswith(tuple(WITHOUT)) and name not in ALIASES
            continue
        assert record.reranking.variant in VARIANTS and record.reranking.source
        same = {other for other in recorded
                if replace(CONVENTIONS[other].reranking, source="") ==
                replace(record.reranking, source="")}
        assert same, f"no recording of {toolbox}"
    used = {CONVENTIONS[name].reranking.variant for name in recorded}
    assert used == set(VARIANTS)
    assert {record.base for record in map(CONVENTIONS.get, FUNCTIONS)} > {"torchreid"}


def test_norms_of_the_problem_vary_by_15_percent():
    (query, gallery), _ = problem()
    norms = np.linalg.norm(np.concatenate([query, gallery]), axis=1)
    assert norms.std() / norms.mean() == pytest.approx(.15, abs=.01)


# What is given decides

def test_options_change_what_the_toolbox_does():
    features, labels = problem()
    options = {"--variant": ("variant", "layumi"), "--k1": ("k1", 9), "--k2": ("k2", 2),
               "--lambda": ("lambda_", .6), "--no-normalize": ("normalize", False)}
    mAPs = {RECORDED["TransReID"]["answers"]["all"]["mAP"]}
    for option, (argument, value) in options.items():
        words = [option] if option == "--no-normalize" else [option, value]
        printed = answer("rerank", SCRIPTS / "rerank.npz", "--convention", "TransReID", *words)
        result = evaluate_reranked(*features, *labels, convention="TransReID",
                                   **{argument: value})
        assert printed["results"][1]["mAP"] == result.mAP
        mAPs.add(result.mAP)
    assert len(mAPs) == len(options) + 1


def test_euclidean_distance_of_fast_reid_is_of_raw_features(tmp_path):
    features, labels = problem()
    printed = answer("rerank", SCRIPTS / "rerank.npz", "--convention", "fast-reid", "--metric",
                     "euclidean")
    raw = evaluate_reranked(*features, *labels, convention="fast-reid", normalize=False)
    assert printed["results"][1]["mAP"] == raw.mAP
    assert "|normalize:no|" in str(raw.signature)
    raw.save(tmp_path / "raw.json")
    assert reid_ref.load(tmp_path / "raw.json").mAP == raw.mAP


def test_several_conventions_are_re_ranked_each_as_its_own():
    features, labels = problem()
    several = ["matlab", "TransReID", "layumi", "CLIP-ReID", "torchreid"]
    progress = []
    together = evaluate_reranked(*features, *labels, convention=several,
                                 progress=progress.append)
    assert list(together) == several and sum(progress) == len(labels[0])
    for name, result in together.items():
        alone = evaluate_reranked(*features, *labels, convention=name)
        assert (result.mAP, result.signature) == (alone.mAP, alone.signature)


def test_a_toolbox_without_re_ranking_is_re_ranked_as_matlab_does():
    features, labels = problem()
    sentence = "open-reid has no re-ranking of its own: re-ranked as matlab does"
    with pytest.warns(reid_ref.ConventionWarning, match=sentence):
        result = evaluate_reranked(*features, *labels, convention="open-reid")
    explicit = evaluate_reranked(*features, *labels, convention="open-reid", variant="matlab")
    assert result.mAP == explicit.mAP
    assert "|rerank:matlab|k1:20|k2:6|lambda:0.3|normalize:no|" in str(result.signature)
    done = command("rerank", SCRIPTS / "rerank.npz", "--convention", "open-reid")
    assert sentence in done.stderr
    assert "as matlab does; open-reid has no\n          re-ranking of its own" in done.stdout


def test_a_convention_of_a_user_brings_its_re_ranking():
    features, labels = problem()
    mine = CONVENTIONS["matlab"].replace(name="mine", reranking=Reranking("ranklist", 9, 3, .5))
    result = evaluate_reranked(*features, *labels, convention=mine)
    assert "|rerank:ranklist|k1:9|k2:3|lambda:0.5|" in str(result.signature)
    wrong = Convention("mine", "", reranking=Reranking("ranklst"))
    refused("variant", "unknown 'ranklst'", rerank, *features, convention=wrong)


def test_a_result_is_saved_with_its_re_ranking(tmp_path):
    features, labels = problem()
    result = evaluate_reranked(*features, *labels, convention="TransReID")
    result.save(tmp_path / "result.json")
    loaded = reid_ref.load(tmp_path / "result.json")
    assert loaded.signature == result.signature and loaded.signature["k1"] == "50"
    assert loaded.convention.reranking == result.convention.reranking == Reranking(
        "strong-baseline", 50, 15, .3, CONVENTIONS["TransReID"].reranking.source)
    text = (tmp_path / "result.json").read_text()
    (tmp_path / "result.json").write_text(text.replace('"lambda": 0.3', '"lambda": "0.3"'))
    refused("result.json: convention", "lambda: ", reid_ref.load, tmp_path / "result.json")


# What is said

@pytest.mark.parametrize(("words", "said"), [
    (["--convention", "TransReID"], "strong-baseline, k1 50, k2 15, lambda 0.3, as TransReID"),
    (["--convention", "TransReID", "--k2", "6"],
     "strong-baseline, k1 50, k2 6, lambda 0.3, as requested; the default of TransReID is "
     "strong-baseline, k1 50, k2 15, lambda 0.3"),
    (["--convention", "light-reid", "--variant", "fast-reid"],
     "fast-reid, k1 20, k2 6, lambda 0.3, as requested; light-reid has no re-ranking of its own"),
])
def test_the_screen_says_whose_re_ranking_it_is(words, said):
    printed = re.sub(r"\s+", " ", table("rerank", SCRIPTS / "rerank.npz", *words))
    assert f"re-ranked {said}" in printed


def test_conventions_says_how_a_toolbox_re_ranks():
    page = re.sub(r"\s+", " ", table("conventions", "transreid"))
    assert "re-ranking strong-baseline, k1 50, k2 15, lambda 0.3 (utils/metrics.py:126" in page
    assert "re-ranking none of its own" in re.sub(r"\s+", " ", table("conventions", "mars"))


def test_the_page_lists_every_re_ranking():
    """The table of docs/reranking.md: names, variant, k1, k2, lambda, features, file and line."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in (ROOT / "docs/reranking.md").read_text().splitlines()
            if line.startswith("| `") and "`--convention`" not in line]
    found = {tuple(re.findall("`([^`]+)`", cells[0])): cells[1:] for cells in rows}
    listed = [name for group in found for name in group]
    assert sorted(listed) == sorted(
        name for name in NAMES if not name.endswith("-function")
        and CONVENTIONS[name].reranking is not None)
    for group, cells in found.items():
        for name in group:
            record, own = CONVENTIONS[name], CONVENTIONS[name].reranking
            normalized = record.normalize or record.metric == "cosine"
            assert cells == [own.variant, str(own.k1), str(own.k2), str(own.lambda_),
                             "normalised" if normalized else "raw", own.source], name
