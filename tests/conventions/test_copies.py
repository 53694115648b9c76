"""Under a toolbox's name stands what its own Evaluator class or test function prints.

fixtures/copies has a recording of each of `copies` in toolboxes.toml, from features whose norms
vary by a third: what its code returned and printed of them, the distance and the gallery being its
own.
"""
import json

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, Labels
from reid_ref.conventions.records import COPIES
from reid_ref.reranking.k_reciprocal import evaluate_reranked
from reid_ref.variations.labels import joined
from tests.commands.common import answer
from tests.documents import ROOT, command
from tests.refusals import refused

FOLDER = ROOT / "fixtures/copies"
RECORDED = {path.stem: json.loads(path.read_text("utf-8"))
            for path in sorted(FOLDER.glob("*.json"))}
#: Doubles are means of the same APs, added in another order; float32 has seven digits.
DOUBLE, FLOAT32 = 4e-15, 1.2e-7

pytestmark = pytest.mark.filterwarnings("ignore::reid_ref.UnmatchedWarning")


def problem(convention, path=FOLDER / "problem.npz"):
    """Features and labels, the queries before the gallery where the toolbox ranks them too."""
    data = reid_ref.read(path)
    query, gallery = data.query, data.gallery
    features = data.query_features, data.gallery_features
    if CONVENTIONS[convention].queries_first:
        features = features[0], np.concatenate(features)
        gallery = joined(query, gallery)
    return *features, query, gallery


def difference(result, recorded):
    """The largest difference from what was recorded, in units of its tolerance."""
    assert recorded["answers"].keys() >= {"mAP", "Rank-1", "Rank-5", "Rank-10"}
    return max(abs(result.value(name) - theirs)
               / (FLOAT32 if name in recorded["float32"] else DOUBLE)
               for name, theirs in recorded["answers"].items())


@pytest.mark.parametrize("name", RECORDED)
def test_a_name_is_what_its_toolbox_prints(name):
    recorded = RECORDED[name]
    assert difference(reid_ref.evaluate(*problem(name), convention=name), recorded) <= 1
    # The problem tells features as they come from normalised ones, or this could not fail.
    other = reid_ref.evaluate(*problem(name), convention=name, metric="euclidean", normalize=False)
    assert difference(other, recorded) > 1000


@pytest.mark.parametrize("name", RECORDED)
def test_what_was_printed_is_what_was_returned(name):
    """Lines of its output have the mAP that is recorded, rounded as it rounds."""
    printed, mAP = " ".join(RECORDED[name]["printed"]), 100 * RECORDED[name]["answers"]["mAP"]
    shown = any(text in printed for text in (f"{mAP:.1f}%", f"{mAP:.2f}%", f"mAP: {mAP:.7f}"[:12]))
    assert shown != (name == "VersReID")  # whose script prints it, not the class


def test_every_name_is_recorded():
    """One recording for each of `copies` in toolboxes.toml, of the commit that it names."""
    assert sorted(RECORDED) == sorted(copy["names"][0] for copy in COPIES)
    for copy in COPIES:
        recorded = RECORDED[copy["names"][0]]
        repository, commit = copy["source"].partition(",")[0].split(" ")
        assert recorded["convention"] == copy["names"][0]
        assert recorded["repository"] == repository and recorded["commit"].startswith(commit)
        assert recorded["run"] and recorded["printed"] and recorded["versions"]
        for name in copy["names"]:
            assert CONVENTIONS[name].metric == CONVENTIONS[copy["names"][0]].metric


def test_norms_vary_by_a_third():
    query, gallery, *_ = problem("MMT")
    norms = np.linalg.norm(np.concatenate([query, gallery]), axis=1)
    assert .3 < norms.std() / norms.mean() < .4


@pytest.mark.parametrize("name", [name for name in RECORDED if "reranked" in RECORDED[name]])
def test_re_ranking_that_ends_in_its_own_code_is_named_so(name):
    own, recorded = CONVENTIONS[name].reranking, RECORDED[name]["reranked"]
    assert ("which fails there" in own.source) == ("error" in recorded)
    if "mAP" in recorded:
        mAP = evaluate_reranked(*problem(name), convention=name).mAP
        assert mAP == pytest.approx(recorded["mAP"], rel=0, abs=DOUBLE)


# A toolbox that ranks the queries, too

def without_queries():
    data = reid_ref.read(FOLDER / "problem.npz")
    return data.query_features, data.gallery_features, data.query, data.gallery


@pytest.mark.parametrize("name", ["TF-CLIP", "TF-CLIP-function"])
def test_another_gallery_than_the_toolbox_ranks_is_refused(name):
    query_features, gallery_features, *labels = without_queries()
    for evaluate, given in ((reid_ref.evaluate, (query_features, gallery_features)),
                            (reid_ref.evaluate_distances, (query_features @ gallery_features.T,)),
                            (evaluate_reranked, (query_features, gallery_features))):
        refused("gallery", f"{name} ranks its queries too", evaluate, *given, *labels,
                convention=name)
    query, gallery = labels
    moved = Labels(query.identity[::-1], query.camera[::-1])
    refused("gallery", "does not begin with the queries", reid_ref.evaluate, query_features,
            np.concatenate([query_features, gallery_features]), moved,
            problem(name)[3], convention=name)


@pytest.mark.parametrize("words", [
    ["evaluate", "FILE", "--convention", "TF-CLIP"],
    ["evaluate", "FILE", "--convention", "TransReID,TF-CLIP"],
    ["explain", "FILE", "--from", "TransReID", "--to", "TF-CLIP"],
    ["explain", "FILE", "--from", "TF-CLIP", "--to", "matlab"],
    ["validate", "FILE", "--published", "60.0/43.8", "--convention", "TF-CLIP"],
    ["compare", "FILE", "FILE", "--convention", "TF-CLIP"],
    ["rerank", "FILE", "--convention", "TF-CLIP"],
    ["report", "FILE", "--convention", "TF-CLIP", "-o", "PAGE"]])
def test_no_screen_prints_another_number_under_its_name(words, tmp_path):
    file = {"FILE": str(FOLDER / "problem.npz"), "PAGE": str(tmp_path / "page.html")}
    done = command(*(file.get(word, word) for word in words))
    assert done.returncode == 2 and done.stdout == ""
    assert "TF-CLIP ranks its queries too" in done.stderr
    assert "--convention TransReID ranks it as it is" in done.stderr


@pytest.mark.parametrize("words", [
    ["evaluate", "FILE", "--convention", "TF-CLIP"],
    ["explain", "FILE", "--from", "TransReID", "--to", "TF-CLIP"],
    ["validate", "FILE", "--published", "60.0/43.8", "--convention", "TF-CLIP"],
    ["rerank", "FILE", "--convention", "TF-CLIP"]])
def test_its_own_gallery_is_evaluated_on_every_screen(words, tmp_path):
    query_features, gallery_features, query, gallery = problem("TF-CLIP")
    path = tmp_path / "whole.npz"
    np.savez(path, query_features=query_features, gallery_features=gallery_features,
             query_identity=query.identity, query_camera=query.camera,
             gallery_identity=gallery.identity, gallery_camera=gallery.camera)
    done = command(*(str(path) if word == "FILE" else word for word in words))
    assert done.returncode == 0 and "43.77" in done.stdout, done.stderr


def test_conventions_says_which_gallery_is_ranked():
    page = command("conventions", "tf_clip").stdout
    assert "gallery     the queries, then the gallery images; another is refused" in page
    assert "gallery     " not in command("conventions", "TransReID").stdout
    assert answer("conventions", "TF-CLIP")["convention"]["queries_first"] is True
