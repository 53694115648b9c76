"""Labels without cameras: what looks at none is counted, what looks at them is refused."""
from __future__ import annotations

import json

import numpy as np
import pytest

import reid_ref
from reid_ref import CONVENTIONS, InputError, Labels, cli, metric_learning
from reid_ref.commands.scripts.compute.programs import run_port
from reid_ref.conventions import lacking_cameras, left_out
from reid_ref.datasets import recognise
from reid_ref.datasets.labels import read_sides
from reid_ref.datasets.pooling import pool_queries
from reid_ref.files.layouts import Layout
from reid_ref.files.read import results_of_files
from reid_ref.files.trec import export
from reid_ref.protocols.records import protocols_of
from reid_ref.result.saved import load
from tests.refusals import refused

pytestmark = pytest.mark.filterwarnings(
    "ignore::reid_ref.UnmatchedWarning", "ignore::reid_ref.IntervalWarning")
MARKET = "fixtures/market_like.mat"
NOTHING = CONVENTIONS["matlab"].replace(ignored=())
WITHOUT_JUNK = CONVENTIONS["matlab"].replace(ignored=("label -1",))


@pytest.fixture(scope="module")
def market():
    return reid_ref.read(MARKET)


@pytest.fixture(scope="module")
def plain(market):
    """The same result without its cameras."""
    return reid_ref.ResultFile(
        "arrays", Labels(market.query.identity), Labels(market.gallery.identity),
        market.query_features, market.gallery_features)


@pytest.fixture
def files(tmp_path, monkeypatch, market):
    """Two results, a.npz without junk, b.npz with it, and their arrays."""
    arrays = {"qfeats": market.query_features, "gfeats": market.gallery_features,
              "qids": market.query.identity, "gids": market.gallery.identity}
    kept = arrays["gids"] != -1
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", **{**arrays, "gfeats": arrays["gfeats"][kept], "gids": arrays["gids"][kept]})
    np.savez("b.npz", **arrays)
    return arrays


def evaluated(data, convention):
    return reid_ref.evaluate(data.query_features, data.gallery_features, data.query, data.gallery,
                             convention=convention)


# ---------------------------------------------------------------- labels and files

def test_labels():
    labels = Labels([7, 8, 8])
    assert labels.camera is None and labels.camera_of(1) is None
    assert labels.columns().keys() == {"identity"}
    assert labels[1:] == Labels([8, 8]) != Labels([8, 8], [0, 0])


def test_both_sides_have_cameras_or_neither():
    distances = [[.1, .2]]
    error = refused("query", "cameras on both sides, or on neither", reid_ref.evaluate_distances,
                    distances, Labels([7]), Labels([7, 8], [1, 2]), convention=NOTHING)
    assert error.got == "none, where the gallery has them"
    refused("gallery", "on neither", reid_ref.evaluate_distances, distances, Labels([7], [1]),
            Labels([7, 8]), convention=NOTHING)


def test_a_layout_has_cameras_of_both_sides_or_of_neither():
    keys = {"query_identity": "q", "gallery_identity": "g", "distances": "d"}
    assert Layout("mine", "", keys).keys == keys
    refused("keys", "cameras of both sides", Layout, "mine", "", {**keys, "query_camera": "c"})


def test_a_file_has_cameras_of_both_sides_or_of_neither(files):
    np.savez("c.npz", **files, q_camids=files["qids"])
    refused("c.npz", "it lacks gallery_camera", reid_ref.read, "c.npz")
    assert reid_ref.read("b.npz").query.camera is None


def test_names_without_cameras_are_no_error(files):
    np.savez("c.npz", **files, **{f"{side}_paths": [f"{k}.jpg" for k in range(len(ids))]
                                  for side, ids in (("q", files["qids"]), ("g", files["gids"]))})
    data = reid_ref.read("c.npz")
    assert data.query.camera is None and data.query.names()[:2] == ["0.jpg", "1.jpg"]


def test_cameras_may_be_in_another_file(files, market):
    np.savez("cameras.npz", q_camids=market.query.camera, g_camids=market.gallery.camera)
    assert [[path.name for path in paths] for paths in results_of_files("b.npz", "cameras.npz")
            ] == [["b.npz", "cameras.npz"]]
    assert reid_ref.read("b.npz", "cameras.npz").gallery == market.gallery
    assert [len(paths) for paths in results_of_files("a.npz", "b.npz")] == [1, 1]
    refused("cameras.npz", "that holds everything", results_of_files, "a.npz", "b.npz",
            "cameras.npz")


def test_tables_of_ranked_lists(tmp_path):
    paths = [tmp_path / name for name in ("query.csv", "gallery.csv")]
    for path in paths:
        path.write_text("name,identity\n1.jpg,7\n2.jpg,8\n")
    assert [side.camera for side in read_sides(*paths)] == [None, None]
    paths[0].write_text("camera,identity,camera\n1,7,1\n")
    refused("query.csv: line 1", "twice", read_sides, *paths)


# ---------------------------------------------------------------- numbers

def test_numbers_of_the_fixture(market, plain):
    """A rule that looks at no camera gives the same doubles with cameras and without."""
    for convention, mAP in ((NOTHING, "48.28"), (WITHOUT_JUNK, "51.90")):
        result = evaluated(plain, convention)
        assert f"{100 * result.mAP:.2f}" == mAP
        cameras = evaluated(market, convention)
        assert result.mAP == cameras.mAP and result.ranks == cameras.ranks
        np.testing.assert_array_equal(result.cmc, cameras.cmc)
        assert result.signature["cameras"] == "none" and "cameras" not in cameras.signature
        assert result.signature.changed({}) == str(result.signature)
        assert result.per_query.camera.shape == (0,)
        assert result.fingerprints.query.camera == result.fingerprints.gallery.camera == ""


def test_the_ways_on_are_named_first(files, capsys):
    for name, way in (("a.npz", "--set ignored=nothing)"), ("b.npz", '--set "ignored=label -1"')):
        assert cli.main(["rerank", name, "--convention", "matlab"]) == 2
        printed = capsys.readouterr()
        line, = printed.err.splitlines()
        assert 0 < line.index(way) < line.index("matlab ignores images") and not printed.out
        assert "simpleir" not in line and len(line) < 300


@pytest.mark.parametrize(("name", "rule", "words"), [
    ("a.npz", "ignored=nothing", "no cameras: no image is ignored"),
    ("b.npz", "ignored=label -1", "no cameras; ignored: label -1")])
def test_the_default_ignores_nothing_and_says_so(files, capsys, tmp_path, name, rule, words):
    """The number of the rule that was to be named before; the saved result brings it along."""
    assert cli.main(["evaluate", name, "--save", str(tmp_path / "base.json")]) == 0
    out, err = capsys.readouterr()
    assert words in " ".join(out.split()) and "step rule of fast-reid" in err
    assert cli.main(["evaluate", name, "--set", rule]) == 0
    named = capsys.readouterr().out
    assert out == named and f"convention:matlab[{rule}]" in out
    loaded = load(tmp_path / "base.json")
    assert loaded.convention.ignored == (() if "nothing" in rule else ("label -1",))
    assert cli.main(["evaluate", name, "--strict"]) == 1
    assert "doctor:no-cameras" in capsys.readouterr().err


def test_a_benchmark_that_has_cameras_is_refused_without(capsys, tmp_path):
    """Its numbers would be those of another rule than every paper's."""
    query, gallery = benchmark(11659, 82161, 3060)
    np.savez(tmp_path / "msmt17.npz", query_features=np.ones((len(query), 1), np.float32),
             gallery_features=np.ones((len(gallery), 1), np.float32),
             query_identity=query.identity, gallery_identity=gallery.identity)
    assert cli.main(["evaluate", str(tmp_path / "msmt17.npz")]) == 2
    assert "--set ignored=nothing" in capsys.readouterr().err


@pytest.mark.parametrize(("rule", "mAP"), [("ignored=nothing", "48.28"),
                                           ("ignored=label -1", "51.90")])
def test_the_ways_on_lead_there(files, capsys, rule, mAP):
    assert cli.main(["evaluate", "b.npz", "--set", rule, "--quiet"]) == 0
    out = capsys.readouterr().out
    assert f"mAP           {mAP}" in out and "cameras:none" in out
    assert "(same identity)" in out and "any camera" not in out


LOOKING = [name for name, record in CONVENTIONS.items()
           if {"same camera", "same location", "same identity, same camera"} & {*record.ignored}]


@pytest.mark.parametrize("name", LOOKING)
def test_conventions_that_look_at_cameras(plain, name):
    refused("camera", "(--set ", evaluated, plain, name)
    assert CONVENTIONS[name].without_cameras().needs_cameras == (
        CONVENTIONS[name].cmc == "single-gallery-shot-other-cameras")


def test_rules_that_look_at_cameras(plain):
    for rule in ("same camera", "same location", "same identity, near frame"):
        refused("camera", "ignored=nothing", evaluated, plain, NOTHING.replace(ignored=(rule,)))
    error = refused("camera", "ignored=nothing,cmc=first-match", evaluated, plain, NOTHING.replace(
        cmc="single-gallery-shot-other-cameras"))
    assert "label -1" not in error.remedy


def test_what_else_looks_at_cameras(plain, market):
    query, gallery = Labels([7]), Labels([7, 8])
    data = reid_ref.ResultFile("arrays", query, gallery, distances=np.array([[.1, .2]]))
    result = reid_ref.evaluate_distances([[.1, .2]], query, gallery, convention=NOTHING)
    evaluator = reid_ref.Evaluator()
    evaluator.update([[1., 0.]], [7], is_query=True)
    evaluator.update([[1., 0.]], [7], is_query=False)
    for call, *arguments in (
            (reid_ref.by_group, result, query, "camera"),
            (reid_ref.by_group, result, None, "camera"),
            (reid_ref.camera_pairs, [[.1, .2]], query, gallery),
            (pool_queries, query, gallery, np.eye(2)), (export, data, "result"),
            (reid_ref.crosscheck, data, "torchreid"), (evaluator.compute,),
            (run_port, np.array([[.1, .2]]), query, gallery, CONVENTIONS["matlab"]),
            (metric_learning.xqda_pairs, [7, 7], None, [0, 1]),
            (metric_learning.kissme_pairs, [7, 7], None, [[0, 1]]),
            (lambda: evaluated(plain, "matlab"),)):
        refused("camera", "query_camera and gallery_camera", call, *arguments)


# ---------------------------------------------------------------- what takes several conventions

def test_all_conventions_that_apply(files, market, capsys):
    tried = [name for name in CONVENTIONS if name not in left_out(*[Labels([1])] * 2)]
    assert tried == ["simpleir"]
    assert lacking_cameras(CONVENTIONS.values(), market.query) == {}
    assert cli.main(["evaluate", "b.npz", "--convention", "all", "--json", "--quiet"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {result["convention"] for result in answer["results"]} > {
        "matlab[ignored=label -1]", "torchreid[ignored=nothing]", "simpleir"}
    assert not [why for why in answer["left_out"].values() if "needs cameras" in why]


@pytest.mark.parametrize("name", ["matlab", "fast-reid"])
def test_the_name_of_the_default_changes_nothing(files, capsys, name):
    """Issue 65: without a name 48.28, with it an error."""
    assert cli.main(["evaluate", "b.npz", "--convention", name, "--json", "--quiet"]) == 0
    mAP = json.loads(capsys.readouterr().out)["mAP"]
    assert cli.main(["evaluate", "b.npz", "--convention", name, "--set", (
        "ignored=label -1" if name == "matlab" else "ignored=nothing"), "--json"]) == 0
    assert mAP == json.loads(capsys.readouterr().out)["mAP"]


def test_explain_leaves_the_rule_out_and_names_it(plain):
    with pytest.warns(reid_ref.CameraWarning) as caught:
        walk = reid_ref.explain(plain)
    assert any("same identity, same camera" in str(warning.message) for warning in caught)
    assert walk.start.mAP == evaluated(plain, WITHOUT_JUNK).mAP
    assert walk.end.mAP == evaluated(
        plain, CONVENTIONS["torchreid"].replace(ignored=())).mAP
    assert [step.choice for step in walk.steps if step.choice == "ignored"] == []


def test_explain_of_one_query(files, capsys):
    assert cli.main(["explain", "b.npz", "--query", "3", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "query 3: identity 4\n" in out and "cam" not in out.replace("cameras:none", "")


def test_validate_leaves_out_what_needs_cameras(plain):
    simple = reid_ref.evaluate(plain.query_features, plain.gallery_features, plain.query,
                               plain.gallery, convention="simpleir")
    found = reid_ref.validate(plain, f"{100 * simple.rank(1):.2f}/{100 * simple.mAP:.2f}")
    assert found.reproduced and "needs cameras" in found.left_out["matlab"]
    assert {way.convention for one in found.candidates for way in one.ways} == {
        "simpleir", "cuhk-pedes", "cuhk-pedes-trapezoid", "veri-wild-2019"}
    assert {bounds.holds for bounds in found.bounds} == {True} and not found.has_cameras


def test_the_doctor_has_one_note(plain, files, capsys):
    from reid_ref.analysis.doctor import doctor

    assert [(finding.key, finding.severity) for finding in doctor(plain)] == [
        ("doctor:no-cameras", "note")]
    assert cli.main(["doctor", "b.npz", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [answer["counts"][name] for name in ("cameras", "good", "unmatched")] == [None] * 3
    assert cli.main(["evaluate", "b.npz", "--set", "ignored=nothing", "--strict", "--quiet"]) == 0


# ---------------------------------------------------------------- benchmarks

def benchmark(n_query, n_gallery, n_identity, camera=False):
    sides = [np.arange(n) % n_identity + 1 for n in (n_query, n_gallery)]
    return [Labels(side, side % 6 if camera else None) for side in sides]


def test_protocols(plain):
    query, gallery = benchmark(8, 6, 3)
    distances = np.random.default_rng(0).random((8, 6))

    def of(name, **more):
        return reid_ref.evaluate_protocol(name, None, None, query, gallery, distances=distances,
                                          **more)
    for name in ("cuhk-pedes", "regdb"):
        with pytest.warns(reid_ref.BenchmarkWarning):
            result = of(name)
        assert all(part.signature["cameras"] == "none" for part in result.values())
    for name in ("msmt17", "cargo", "prcc", "sysu-mm01", "sysu-mm01-python", "mars"):
        refused("camera", name.partition(" ")[0], of, name)


def test_a_hint_is_of_a_protocol_that_can_be_evaluated():
    assert protocols_of(*benchmark(1980, 9330, 600, camera=True)) == ["mars-torchreid"]
    assert protocols_of(*benchmark(1980, 9330, 600)) == []


def test_counts_that_need_no_cameras_are_compared():
    """Those of MSMT17: 11,659 queries of 3,060 identities, 82,161 gallery images."""
    query, gallery = benchmark(11659, 82161, 3060)
    found = recognise(query, gallery)
    assert found.sentence == "MSMT17: every count that needs no camera agrees"
    assert "looks like MSMT17" in recognise(query[1:], gallery).sentence
    assert recognise(*benchmark(11659, 82161, 3060, camera=True)).off


# ---------------------------------------------------------------- what is written

def test_saved_results_keep_it(plain, tmp_path):
    result = evaluated(plain, NOTHING)
    result.save(tmp_path / "r.json")
    assert load(tmp_path / "r.json") == result
    assert json.loads((tmp_path / "r.json").read_text())["queries"]["camera"] == []


def test_one_of_two_results_has_cameras(plain, market):
    results = {"with": evaluated(market, NOTHING), "without": evaluated(plain, NOTHING)}
    with pytest.warns(reid_ref.ComparisonWarning, match="only one of them has cameras"):
        answer = reid_ref.compare(results)
    assert {pair.difference for pair in answer.comparisons} == {0}
    other = Labels(plain.query.identity[::-1])
    results["without"] = reid_ref.evaluate(
        plain.query_features, plain.gallery_features, other, plain.gallery, convention=NOTHING)
    with pytest.raises(InputError, match="query 0 has identity"):
        reid_ref.compare(results)


def test_columns_are_left_out_and_json_has_null(files, capsys):
    words = ["evaluate", "b.npz", "--set", "ignored=nothing", "--quiet"]
    assert cli.main([*words, "--per-query", "q.csv", "--worst", "2"]) == 0
    out = capsys.readouterr().out
    head, = [line for line in out.splitlines() if line.startswith("worst  ")]
    assert head.split() == ["worst", "identity", "AP", "first", "good", "wrong", "identity",
                            "status"]
    with open("q.csv") as file:
        assert file.readline().split(",")[:3] == ["query", "identity", "status"]
    assert cli.main([*words, "--per-query", "q.json", "--worst", "2", "--json"]) == 0
    worst = json.loads(capsys.readouterr().out)["worst"][0]
    assert worst["camera"] is worst["nearest_wrong"]["camera"] is None
    with open("q.json") as file:
        assert {query["camera"] for query in json.load(file)["queries"]} == {None}


def test_a_page_without_cameras(files, capsys):
    for module in ("jinja2", "matplotlib", "PIL"):
        pytest.importorskip(module)
    assert cli.main(["report", "b.npz", "--convention", "simpleir", "-o", "r.html",
                     "--quiet"]) == 0
    with open("r.html", encoding="utf-8") as file:
        page = file.read()
    body = page[page.index("</style>"):page.index("<script")]
    assert 'id="cameras"' not in body and "None" not in body and "c: camera" not in body
    assert "another person" in body and "other camera" not in body
    assert '"camera_pairs": null' in page


def test_figures(files, capsys):
    pytest.importorskip("matplotlib")
    for name in ("conventions", "distances"):
        assert cli.main(["plot", name, "b.npz", "-o", "f.svg", "--quiet"]) == 0
    assert "camera" not in capsys.readouterr().out
    assert cli.main(["plot", "cameras", "b.npz", "-o", "f.svg"]) == 2
    assert cli.main(["plot", "rank-lists", "b.npz", "--set", "ignored=nothing", "-o", "f.svg",
                     "--quiet"]) == 0
    with open("f.svg", encoding="utf-8") as file:
        assert "cam " not in file.read()


# ---------------------------------------------------------------- batches

def test_batches_have_cameras_or_none_has(plain):
    whole = evaluated(plain, NOTHING)
    evaluator = reid_ref.Evaluator(convention=NOTHING)
    evaluator.update(plain.query_features, plain.query.identity, is_query=True)
    with pytest.raises(InputError, match="camera: got one, where earlier batches had none"):
        evaluator.update(plain.gallery_features, plain.gallery.identity, plain.gallery.identity,
                         is_query=False)
    for rows in (slice(0, 100), slice(100, None)):
        evaluator.update(plain.gallery_features[rows], plain.gallery.identity[rows],
                         is_query=False)
    state = evaluator.state()
    assert "query_camera" not in state
    assert reid_ref.Evaluator.from_states([state]).compute() == evaluator.compute() == whole


def test_one_index_has_one_identity():
    evaluator = reid_ref.Evaluator(convention=NOTHING)
    evaluator.update([[1.], [1.]], [7, 8], is_query=True, index=[3, 3])
    evaluator.update([[1.]], [7], is_query=False, index=[0])
    with pytest.raises(InputError, match="index 3 .*: identity 7, and identity 8; "):
        evaluator.compute()
