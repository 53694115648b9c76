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
from reid_ref.result.saved import read_stored
from tests.cases import put, signed
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
def test_every_convention(name, data, tmp_path, capsys):
    result = evaluated(data, name)
    loaded = again(result, tmp_path)
    assert_same(result, loaded)
    assert main(["verify", str(tmp_path / "result.json")]) == 0, capsys.readouterr().out


def test_a_convention_of_any_name(data, tmp_path):
    result = evaluated(data, CONVENTIONS["torchreid"].replace(
        name="my own: name", top_k=7, ignored=("label -1", "same camera")))
    loaded = again(result, tmp_path)
    assert_same(result, loaded)
    for by in ("identity", "camera"):
        assert_same(reid_ref.by_group(result, data.query, by), reid_ref.by_group(loaded, by=by))


@pytest.mark.parametrize("convention", ["matlab", "trec-eval", "cityflow", "layumi", "mars"])
def test_cut_lists(convention, tmp_path, capsys):
    query, gallery = Labels([7, 8, 9], [1, 1, 1]), Labels([7, 8, 8, 7, 7], [2, 2, 2, 1, 3])
    result = evaluate_ranked_lists([[0, 1], [0, 3], [4, 2]], query, gallery,
                                   convention=convention, n_good=[4, 2, 0])
    assert_same(result, again(result, tmp_path))
    assert main(["verify", str(tmp_path / "result.json")]) == 0, capsys.readouterr().out


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


def test_ranks_of_a_curve_of_identities_are_those_of_the_curve(tmp_path, capsys):
    result = reid_ref.evaluate_distances(
        [[.2, .1]], Labels([7], [1]), Labels([7, 8], [2, 2]), convention="sysu-mm01")
    path = tmp_path / "result.json"
    result.save(path)
    path.write_text(path.read_text().replace('"Rank-1": 0.0', '"Rank-1": 0.5'))
    with pytest.raises(InputError, match="Rank-1: contradicts what the entries of cmc give"):
        reid_ref.load(path)
    assert main(["verify", str(path)]) == 1 and "left out  cmc: of" in capsys.readouterr().out


def test_a_number_of_numpy_is_one_of_json(tmp_path):
    result = small(CONVENTIONS["matlab"].replace(top_k=np.int64(7)))
    assert again(result, tmp_path).convention == result.convention


def test_unknown_cameras_stay_unknown(tmp_path):
    result = small()
    rows = dataclasses.replace(result.per_query, camera=np.zeros(0, np.int64))
    loaded = again(dataclasses.replace(result, per_query=rows), tmp_path)
    assert loaded.per_query.camera.shape == (0,)
    with pytest.raises(InputError, match="expected one of each for every image, got 2 and 0"):
        reid_ref.by_group(loaded)
    pytest.importorskip("pandas")
    assert "camera" not in loaded.to_frame()


def test_the_file_is_replaced_whole_or_not_at_all(tmp_path):
    result, path = small(), tmp_path / "result.json"
    path.write_text("before")
    with pytest.raises(InputError, match="missing.*cannot be written"):
        result.save(tmp_path / "missing/result.json")
    broken = dataclasses.replace(result, counted=object())
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


SPOILT = {
    "schema: expected a version up to 2, got 3": put("schema", 3),
    "schema: expected 2, what reid-ref evaluate FILE --save": lambda one: (
        one.clear(), one.update(per_query_json(small()))),
    "signature: expected .*, got none": lambda one: one.pop("signature"),
    "signature: expected ties reversed, as the convention has, got gallery-order":
        signed("ties:reversed", "ties:gallery-order"),
    "signature: expected convention matlab\\[ties=reversed\\], .*, got mars":
        signed("matlab[ties=reversed]", "mars"),
    "signature: expected all of convention": put("signature", "convention:x|ap:step"),
    "signature: expected top_k None, as the convention has, got 3":
        signed("|ties", "|top_k:3|ties"),
    "convention: expected .*, got none": lambda one: one.pop("convention"),
    "convention: ap: unknown 'steep'": put("convention", "ap", "steep"),
    "convention: top_k: expected .*, got 2.5": put("convention", "top_k", 2.5),
    "convention: normalize: expected true or false, got nan":
        put("convention", "normalize", float("nan")),
    "convention: ignored: unknown 'label -2'": put("convention", "ignored", ["label -2"]),
    "convention: oddities: expected .*, got \"x\"": put("convention", "oddities", "x"),
    "convention: loader: expected .*, got 3": put("convention", "loader", 3),
    "convention: name: expected a text of one line without |": put("convention", "name", "a|b:c"),
    "parts: no key of a saved result": put("parts", []),
    "extra: no key of a saved result": put("extra", None),
    "labels: gallery: expected .*, got \"nonsense\"": put("labels", "gallery", "nonsense"),
    "schema: expected a version up to 2, got true": put("schema", True),
    "counts: gallery: expected .*, got -3": put("counts", "gallery", -3),
    "counts: status: ok: expected .*, got true": put("counts", "status", "ok", True),
    "counts: tied: contradicts what the ranks give": put("counts", "tied", 0),
    "counts: gallery_junk: expected at most 3, the gallery, got 4":
        put("counts", "gallery_junk", 4),
    "Rank-1: contradicts what the queries give": put("Rank-1", 10**400),
    "mAP: contradicts what the queries give": put("mAP", .7),
    "mAP: expected what reid-ref .*, got NaN": put("mAP", float("nan")),
    "mAP: expected what reid-ref .*, got none": lambda one: one.pop("mAP"),
    "queries: status: expected one of ok, .* got \"fine\" in entry 1":
        put("queries", "status", ["ok", "fine"]),
    "queries: ap: expected .*, got \"1\" in entry 1": put("queries", "ap", [.5, "1"]),
    "queries: identity: expected .* below 2\\*\\*63, got 9223372036854775808":
        put("queries", "identity", [7, 2**63]),
    "first_match: contradicts what the ranks give": put("ranks", "first_match", [1, 2]),
    "ranks: rank: expected 3 values, got 2": put("ranks", "rank", [2, 3]),
    "ranks: rank: expected ascending ranks": put("ranks", "rank", [3, 2, 1]),
    "ranks: rank: expected at most the query's n_kept": put("ranks", "rank", [2, 9, 1]),
    "ranks: nearer: expected less than rank": put("ranks", "nearer", [1, 0, 0]),
    "nearer: expected less than rank, and at least": put("ranks", "tied", [1, 1, 0]),
    "ranks: image: expected a number below": put("ranks", "image", [0, 2, 3]),
    "ranks: found: expected no more than the query's n_good": put("ranks", "found", [1, 2]),
    "ranks: tied: .*n_kept": put("ranks", "tied", [1, 1, 4]),
    "query 0: n_kept .* expected 3, got 6": put("ranks", "n_kept", [6, 6]),
    "query 0: n_kept .* expected 3, got 4": put("ranks", "n_kept", [4, 3]),
    "ranks: image: .* once": put("ranks", "image", [0, 0, 1]),
    "ranks: image: .* one identity": put("ranks", "image", [0, 1, 1]),
    "gallery_distractors: .*at most 0": put("counts", "gallery_distractors", 1),
    "convention: measure: expected .*, got 3": put("convention", "measure", 3),
    **{f"{name}: no key": put(name, .5)
       for name in ("Rank-0", "Rank-x", "Rank-01", "Rank-12345678")},
    **{f"{where}: more: no key": put(where, "more", [1]) for where in (
        "counts", "labels", "queries", "ranks", "convention")},
    "status: more: no key": put("counts", "status", "more", 1),
    "ap: contradicts what the ranks give": lambda one: (
        put("ranks", "rank", [1, 3, 1])(one), put("ranks", "nearer", [0, 2, 0])(one),
        put("ranks", "first_match", [1, 1])(one))}


def of_draws():
    """A CMC curve of drawn images, which neither queries nor ranks give."""
    return reid_ref.evaluate_distances(
        [[.2, .1, .3]], Labels([7], [1]), Labels([7, 8, 7], [2, 2, 3]),
        convention="cuhk03-single-shot")


def test_a_curve_of_all_good_images_is_that_of_the_ranks(tmp_path):
    small(CONVENTIONS["open-reid-allshots"]).save(tmp_path / "result.json")
    value = json.loads((tmp_path / "result.json").read_text())
    value["Rank-1"] = value["cmc"][0] = .25
    (tmp_path / "result.json").write_text(json.dumps(value))
    with pytest.raises(InputError, match="cmc: contradicts what the ranks give"):
        reid_ref.load(tmp_path / "result.json")


@pytest.mark.parametrize("value", [-.5, 1.5])
def test_shares_out_of_range_are_refused_by_name(value, tmp_path):
    path = tmp_path / "spoilt.json"
    of_draws().save(path)
    saved = json.loads(path.read_text())
    for key in ("ap", "inp"):
        rows = per_query_json(small())
        rows["queries"][0][key] = value
        both = [row[key] for row in rows["queries"]]
        rows[{"ap": "mAP", "inp": "mINP"}[key]] = sum(both) / len(both)
        path.write_text(json.dumps(rows))
        with pytest.raises(InputError, match=f"spoilt.json: query 0: {key}: expected a number"):
            read_stored(path)
    saved["Rank-1"] = saved["cmc"][0] = value
    path.write_text(json.dumps(saved))
    with pytest.raises(InputError, match="spoilt.json: cmc: expected numbers from 0 to 1"):
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
        with pytest.raises(InputError, match="signature: expected (metric|normalize) "):
            reid_ref.load(path)


@pytest.mark.parametrize("message", SPOILT)
def test_a_spoilt_file_is_named_with_its_field(message, tmp_path):
    path = spoil(tmp_path, SPOILT[message])
    with pytest.raises(InputError, match=message) as caught:
        reid_ref.load(path)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


def test_a_cut_file_is_one_error(tmp_path):
    small().save(tmp_path / "whole.json")
    text, path = (tmp_path / "whole.json").read_text(), tmp_path / "cut.json"
    for end in [*range(0, len(text) - 2, 97), len(text) - 3]:
        path.write_text(text[:end])
        with pytest.raises(InputError, match="cut.json: cannot be read as JSON"):
            reid_ref.load(path)
    for other in (b"[]", b"\xff\xfe", b"[" * 10**5):
        path.write_bytes(other)
        with pytest.raises(InputError, match="cut.json: "):
            reid_ref.load(path)


def test_a_key_twice(tmp_path):
    path = spoil(tmp_path, lambda one: None)
    path.write_text(path.read_text().replace('"mAP":', '"mAP": 0.5, "mAP":'))
    with pytest.raises(InputError, match="spoilt.json: .*'mAP' twice"):
        reid_ref.load(path)


def test_the_last_bit_is_for_verify(tmp_path, capsys):
    """The sums of another machine may differ in it, so `load` takes it."""
    ap = np.nextafter(small().per_query.ap[0], 1)
    path = spoil(tmp_path, lambda one: one["queries"]["ap"].__setitem__(0, ap))
    assert reid_ref.load(path).per_query.ap[0] == ap
    assert main(["verify", str(path)]) == 1
    assert f"ap: entry 1 is {ap}, the ranks give" in capsys.readouterr().out
