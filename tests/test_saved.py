"""`Result.save` and `reid_ref.load`: nothing tells a loaded result from the fresh one."""
import dataclasses
import json

import numpy as np
import pytest

import reid_ref
from reid_ref import InputError, Labels
from reid_ref.cli import main
from reid_ref.commands.evaluate.show.rows import per_query_json
from reid_ref.conventions import CONVENTIONS
from reid_ref.evaluation.functions import evaluate_ranked_lists
from reid_ref.result import form
from reid_ref.result.form import SAVED
from reid_ref.text.plain import json_values
from fixtures.saved.generate import numbers_of
from tests.cases import put, quietly, signed
from tests.documents import ROOT
from tests.nightly import cases

#: What evaluations warn of is of no matter here.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module", params=cases(["market_like", "ties"],
                                             ["market_like", "special_values", "ties"]))
def data(request):
    return reid_ref.read(ROOT / f"fixtures/{request.param}.mat")


def evaluated(data, convention):
    lists = reid_ref.IndexLists([[1, 2]] * len(data.query), [[0]] * len(data.query))
    if data.distances is not None:
        return reid_ref.evaluate_distances(data.distances, data.query, data.gallery,
                                           convention=convention, lists=lists)
    return reid_ref.evaluate(data.query_features, data.gallery_features, data.query, data.gallery,
                             convention=convention, lists=lists)


def again(result, folder):
    result.save(folder / "result.json")
    return reid_ref.load(folder / "result.json")


def assert_same(one, other, where="result"):
    """Every value has the same type and the same bits."""
    assert type(one) is type(other), where
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            name = field.name
            assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    elif isinstance(one, dict):
        assert [*one] == [*other], where
        for name, value in one.items():
            assert_same(value, other[name], f"{where}: {name}")
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.shape == other.shape, where
        assert one.tobytes() == other.tobytes() or np.array_equal(one, other, True), where
        assert not other.flags.writeable, where
    else:
        assert one == other or one != one, where


@pytest.mark.parametrize("name", CONVENTIONS)
def test_every_convention(name, data, tmp_path):
    result = evaluated(data, name)
    assert_same(result, again(result, tmp_path))


def test_a_convention_of_any_name(data, tmp_path):
    result = evaluated(data, CONVENTIONS["torchreid"].replace(
        name="my own: name", top_k=7, ignored=("label -1", "same camera")))
    loaded = again(result, tmp_path)
    assert_same(result, loaded)
    for by in ("identity", "camera"):
        assert_same(reid_ref.by_group(result, data.query, by), reid_ref.by_group(loaded, by=by))


@pytest.mark.parametrize("convention", ["matlab", "trec-eval", "cityflow", "layumi", "mars"])
def test_cut_lists(convention, tmp_path):
    query, gallery = Labels([7, 8, 9], [1, 1, 1]), Labels([7, 8, 8, 7, 7], [2, 2, 2, 1, 3])
    result = evaluate_ranked_lists([[0, 1], [0, 3], [4, 2]], query, gallery,
                                   convention=convention, n_good=[4, 2, 0])
    assert_same(result, again(result, tmp_path))


def test_other_ways_to_a_result(tmp_path):
    data = reid_ref.read(ROOT / "fixtures/market_like.mat")
    evaluator = reid_ref.Evaluator()
    for side, features, labels in (("query", data.query_features, data.query),
                                   ("gallery", data.gallery_features, data.gallery)):
        evaluator.update(features, labels.identity, labels.camera, is_query=side == "query")
    results = [evaluator.compute(), reid_ref.evaluate_reranked(
        data.query_features, data.gallery_features, data.query, data.gallery)]
    results.append(dataclasses.replace(results[0], signature=results[0].signature.changed(
        {"multi-query": "mean"})))
    for result in results:
        assert_same(result, again(result, tmp_path))


def test_a_number_of_numpy_is_one_of_json(tmp_path):
    result = small(CONVENTIONS["matlab"].replace(top_k=np.int64(7)))
    assert again(result, tmp_path).convention == result.convention


def test_unknown_cameras_stay_unknown(tmp_path):
    result = small()
    rows = dataclasses.replace(result.per_query, camera=np.zeros(0, np.int64))
    loaded = again(dataclasses.replace(result, per_query=rows), tmp_path)
    assert loaded.per_query.camera.shape == (0,)
    assert loaded.per_query.labels().camera is None
    with pytest.raises(InputError, match="^camera: expected the camera of each image"):
        reid_ref.by_group(loaded, by="camera")
    assert reid_ref.by_group(loaded) == reid_ref.by_group(result)
    pytest.importorskip("pandas")
    assert "camera" not in reid_ref.to_frame(loaded)


def test_the_file_is_replaced_whole_or_not_at_all(tmp_path):
    result, path = small(), tmp_path / "result.json"
    path.write_text("before")
    with pytest.raises(InputError, match="missing.*cannot be written"):
        result.save(tmp_path / "missing/result.json")
    broken = dataclasses.replace(result, cmc=np.array([object()]), convention=CONVENTIONS["mars"])
    with pytest.raises(TypeError):
        broken.save(path)
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]
    result.save(path)
    assert_same(reid_ref.load(path), result)


# ---------------------------------------------------------------- damaged files

def small(convention=CONVENTIONS["matlab"].replace(ties="reversed")):
    """Two queries: good images at ranks 2 and 3, and at rank 1."""
    return reid_ref.evaluate_distances(
        [[.2, .1, .3], [.1, .1, .2]], Labels([7, 8], [1, 1]), Labels([7, 8, 7], [2, 2, 3]),
        convention=convention)


def spoil(tmp_path, change):
    path = tmp_path / "spoilt.json"
    small().save(path)
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))
    return path


def of_draws():
    """A CMC curve of drawn images, which no ranks give."""
    return reid_ref.evaluate_distances(
        [[.2, .1, .3]], Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3]),
        convention="cuhk03-single-shot")


#: What is spoilt, the argument of the error after the file, and a word of it.
SPOILT = [
    (put("schema", SAVED + 1), "schema", "newer"),
    (put("schema", 2), "schema", "anew"),
    (put("schema", True), "schema", "anew"),
    (lambda one: (one.clear(), one.update(per_query_json(small()))), "", "--save keeps"),
    (lambda one: (one.clear(), one.update(json_values(reid_ref.to_dict(small())))), "",
     "--save keeps"),
    (lambda one: one.pop("signature"), "signature", "none"),
    (signed("ties:reversed", "ties:gallery-order"), "signature", "ties reversed"),
    (signed("matlab[ties=reversed]", "mars"), "signature", "convention matlab"),
    (put("signature", "convention:x|ap:step"), "signature", "all of convention"),
    (signed("|ties", "|top_k:3|ties"), "signature", "top_k None"),
    (signed("queries:2", "queries:3"), "signature: queries", "2, as"),
    (signed("gallery:3", "gallery:4"), "signature: gallery", "3, as"),
    (lambda one: one.pop("convention"), "convention", "none"),
    (put("convention", "ap", "steep"), "convention", "'steep'"),
    (put("convention", "top_k", 2.5), "convention", "top_k"),
    (put("convention", "normalize", float("nan")), "convention", "true or false"),
    (put("convention", "ignored", ["label -2"]), "convention", "'label -2'"),
    (put("convention", "oddities", "x"), "convention: oddities", "list"),
    (put("convention", "loader", 3), "convention: loader", "text"),
    (put("convention", "measure", 3), "convention: measure", "text"),
    (put("convention", "name", "a|b:c"), "convention", "without |"),
    (put("labels", "gallery", "camera", "nonsense"), "labels: gallery: camera", "digits"),
    (put("labels", "query", "identity", "00000000"), "labels: query: identity", "as the rest"),
    (put("counts", "gallery", -3), "counts: gallery", "from 0"),
    (put("counts", "gallery", 2**62), "counts: gallery", "memory"),
    (put("counts", "status", "ok", True), "counts: status", "as the rest"),
    (put("counts", "tied", 0), "counts: tied", "1, as the rest"),
    (put("counts", "gallery_kept", 2), "counts: gallery_kept", "3, as the rest"),
    (put("counts", "gallery_junk", 4), "ranks", "gallery_distractors"),
    (put("counts", "gallery_distractors", 1), "ranks", "gallery_distractors"),
    (put("Rank-1", 10**400), "Rank-1", "null"),
    (put("Rank-1", .25), "Rank-1", "as the rest"),
    (put("mAP", .7), "mAP", "as the rest"),
    (put("mAP", None), "mAP", "as the rest"),
    (put("mAP", float("nan")), "mAP", "NaN"),
    (lambda one: one.pop("mINP"), "mINP", "none"),
    (put("cmc_length", 4), "cmc_length", "at most 3"),
    (lambda one: one.pop("cmc_length"), "cmc_length", "none"),
    (put("queries", "status", ["ok", "fine"]), "queries: status", "entry 1"),
    (put("queries", "identity", [7, 2**63]), "queries: identity", "2**63"),
    (put("queries", "identity", [7]), "queries: identity", "complete"),
    (put("queries", "camera", [7]), "queries: camera", "complete"),
    (put("ranks", "first_match", [1, 1]), "ranks", "first rank"),
    (put("ranks", "first_match", [5, 2]), "ranks", "first_match"),
    (put("ranks", "rank", [2, 3]), "ranks: rank", "complete"),
    (put("ranks", "rank", [3, 2, 1]), "ranks", "ascending"),
    (put("ranks", "rank", [2, 9, 1]), "ranks", "n_kept"),
    (put("ranks", "nearer", [1, 0, 0]), "ranks", "less than rank"),
    (put("ranks", "tied", [1, 1, 0]), "ranks", "at least rank"),
    (put("ranks", "tied", [1, 1, 4]), "ranks", "tied"),
    (put("ranks", "image", [0, 2, 3]), "ranks", "below"),
    (put("ranks", "image", [0, 0, 1]), "ranks", "once"),
    (put("ranks", "image", [0, 1, 1]), "ranks", "one identity"),
    (put("ranks", "found", [1, 2]), "ranks", "found"),
    (put("ranks", "n_good", [2, 2]), "counts: good", "as the rest"),
    (put("ranks", "n_kept", [6, 6]), "ranks", "n_kept + n_junk"),
    (put("ranks", "n_kept", [4, 3]), "ranks", "n_kept + n_junk"),
    (put("queries", "status", ["ok", "identity absent"]), "counts: status", "as the rest"),
    (lambda one: (put("ranks", "rank", [1, 3, 1])(one), put("ranks", "nearer", [0, 2, 0])(one),
                  put("ranks", "first_match", [1, 1])(one)), "counts: before_good",
     "as the rest"),
    (lambda one: (put("ranks", "rank", [1, 3, 1])(one), put("ranks", "nearer", [0, 2, 0])(one),
                  put("ranks", "first_match", [1, 1])(one), put("counts", "before_good", 2)(one),
                  put("counts", "before_match", 0)(one)), "mAP", "as the rest"),
    (put("cmc_length", 2), "cmc_length", "3, as the rest"),
    (put("counts", "kept", 5), "counts: kept", "6, as the rest")]


@pytest.mark.parametrize("change, field, word", SPOILT)
def test_a_spoilt_file_is_named_with_its_field(change, field, word, tmp_path):
    path = spoil(tmp_path, change)
    with pytest.raises(InputError) as caught:
        reid_ref.load(path)
    assert caught.value.argument == (f"{path}: {field}" if field else str(path))
    assert word in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("place", [[], ["convention"], ["labels"], ["labels", "query"],
                                   ["counts"], ["queries"], ["ranks"]])
def test_what_a_newer_version_adds_is_skipped_and_named(place, tmp_path):
    path = spoil(tmp_path, lambda one: (
        put(*place, "more", [1])(one),
        signed(f"reid-ref:{reid_ref.__version__}", "new field:5|reid-ref:1.7.3")(one)))
    result, texts = quietly(reid_ref.load, path)
    assert result.ranks == small().ranks and result.signature["new field"] == "5"
    text, = texts
    assert text.startswith(f"{path}: more: ") and "1.7.3" in text and reid_ref.__version__ in text


def test_a_name_that_has_other_choices_is_warned_of(tmp_path):
    """A name promises its choices; the saved ones are what was evaluated."""
    path = tmp_path / "result.json"
    small(CONVENTIONS["matlab"].replace(name="matlab", ap="step")).save(path)
    result, texts = quietly(reid_ref.load, path)
    assert result.convention.ap == "step"
    assert texts == [f"{path}: signature: ap is step, but convention matlab has trapezoid"]


@pytest.mark.parametrize("value", [-.5, 1.5, "1", float("nan")])
def test_a_curve_that_no_ranks_give_is_of_shares(value, tmp_path):
    path = tmp_path / "spoilt.json"
    of_draws().save(path)
    saved = json.loads(path.read_text())
    saved["cmc"][0] = value
    path.write_text(json.dumps(saved))
    with pytest.raises(InputError) as caught:
        reid_ref.load(path)
    assert caught.value.argument == f"{path}: cmc"


@pytest.mark.parametrize("convention", ["cuhk03-single-shot", "open-reid-cuhk03", "sysu-mm01"])
def test_a_curve_that_no_ranks_give_never_falls(convention, data, tmp_path, capsys):
    path = tmp_path / "spoilt.json"
    evaluated(data, convention).save(path)
    saved = json.loads(path.read_text())
    assert main(["evaluate", str(path)]) == 0
    assert " as stored: no ranks give it" in " ".join(capsys.readouterr().out.split())
    for changes in ({2: 1.0, 6: 0.0}, {4: None}, {-1: 1.000000001}):
        cmc = list(saved["cmc"])
        for k, value in changes.items():
            cmc[k] = value
        path.write_text(json.dumps({**saved, "cmc": cmc}))
        with pytest.raises(InputError) as caught:
            reid_ref.load(path)
        assert caught.value.argument == f"{path}: cmc"


def test_a_first_match_that_is_not_the_first_rank(tmp_path):
    """Rank-2 60.42 was read as 75.00; only Rank-1, 5, 10 and 20 are printed."""
    result = evaluated(reid_ref.read(ROOT / "fixtures/market_like.mat"), "matlab")
    path = tmp_path / "spoilt.json"
    result.save(path)
    saved = json.loads(path.read_text())
    first = {3: 2, 4: 2, 6: 6, 7: 6, 8: 6, 9: 6, 10: 6}
    saved["ranks"]["first_match"] = [first.get(k, k) for k in saved["ranks"]["first_match"]]
    path.write_text(json.dumps(saved))
    with pytest.raises(InputError, match="ranks: first_match: expected the first rank"):
        reid_ref.load(path)


@pytest.mark.parametrize("options", [
    {}, {"metric": "cosine"}, {"normalize": False},
    {"convention": "torchreid", "normalize": True}])
def test_a_convention_that_contradicts_its_signature(options, tmp_path):
    """A saved convention has the metric that was used, whatever its toolbox's default is."""
    query, gallery, path = Labels([7], [1]), Labels([7, 8], [2, 2]), tmp_path / "result.json"
    result = reid_ref.evaluate(np.eye(1, 2), np.eye(2), query, gallery, **options)
    assert again(result, tmp_path) == result
    saved = json.loads(path.read_text())
    for field, value in ("metric", "dot"), ("normalize", not saved["convention"]["normalize"]):
        changed = {**saved["convention"], "metric": "euclidean", field: value}
        path.write_text(json.dumps({**saved, "convention": changed}))
        with pytest.raises(InputError) as caught:
            reid_ref.load(path)
        assert caught.value.argument == f"{path}: signature"


def test_a_cut_file_is_one_error(tmp_path):
    small().save(tmp_path / "whole.json")
    content, path = (tmp_path / "whole.json").read_bytes(), tmp_path / "cut.json"
    for part in [*(content[:end] for end in [*range(0, len(content) - 2, 97), -3]),
                 b"[]", b"\xff\xfe", b"[" * 10**5,
                 content.replace(b'"mAP":', b'"mAP": 1, "mAP":')]:
        path.write_bytes(part)
        with pytest.raises(InputError) as caught:
            reid_ref.load(path)
        assert str(caught.value).startswith(f"{path}: ")


def test_the_last_bit_is_taken(tmp_path):
    """The sums of another machine may differ in it."""
    mAP = small().mAP
    assert reid_ref.load(spoil(tmp_path, put("mAP", np.nextafter(mAP, 1)))).mAP == mAP
    with pytest.raises(InputError):
        reid_ref.load(spoil(tmp_path, put("mAP", mAP + 1e-11)))


# ---------------------------------------------------------------- files of every version

FROZEN = ROOT / "fixtures" / "saved"


@pytest.mark.parametrize("path", sorted(FROZEN.glob("*/*.json")), ids=lambda path: "/".join(
    path.parts[-2:]))
def test_every_version_is_read_forever(path):
    """Each file gives the numbers that were written down beside it when it was."""
    result = reid_ref.load(path)
    assert numbers_of(result) == path.with_suffix(".numbers").read_text().strip()


def test_each_form_has_its_files():
    """A form that is written has frozen files, among them names as they were given."""
    folder = FROZEN / f"form-{form.SAVED}"
    result = reid_ref.load(folder / "text.json")
    assert {*result.per_query.texts("identity")} == {"Eve", "Dan", "Zo\u00eb", "Kim"}
    assert {json.loads(path.read_text())["schema"] for path in folder.glob("*.json")} == {
        form.SAVED}
    assert {json.loads(path.read_text())["schema"] for path in FROZEN.glob("*/*.json")} == {
        *form.READ}
