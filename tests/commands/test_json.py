"""Every JSON that a command prints, held to docs/schema.json, which is as strict as it says."""
import dataclasses
import functools
import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import scipy.io

from reid_ref import Labels, cli
from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.files import read_result
from reid_ref.result.form import PAIRS
from tests.cases import save, save_features
from tests.documents import ROOT
from tests.commands.test_drivers import FILES
from tests.nightly import cases

SCHEMA = json.loads((ROOT / "docs/schema.json").read_text())
LISTS = "fixtures/ranked_lists"
MARKET, MARS, TIES, VALUES = (
    f"fixtures/{name}.mat" for name in ("market_like", "mars_like", "ties", "special_values"))
EVALUATOR = """
import numpy as np

def good(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
    return np.full(max_rank, .5), .25

def failing(distmat, q_pids, g_pids, q_camids, g_camids, max_rank):
    raise SystemExit("enough")
"""
#: Keys that are only there where they are requested, or where the curve reaches.
OPTIONAL = {"n_beyond", *PAIRS, "confidence", "at", "by", "worst", "camera", "identity",
            "query", "list", "parts", "trials", "cmc", "cmc_length", "tar_interval",
            "far_interval",
            *(f"Rank-{k}" for k in (1, 5, 10, 20))}
#: Shape, words of the command, exit code; {} is a folder with files of a test's own.
COMMANDS = [
    ("evaluate", f"evaluate {MARKET}", 0),
    ("evaluate", f"evaluate {MARKET} --convention mars --cmc 3", 0),  # mAP null
    ("evaluate", f"evaluate {MARKET} --convention veri --index-lists {{}}/good {{}}/junk", 0),
    ("evaluate", "evaluate {}/cuhk03.npz", 0),  # a benchmark, with something off
    ("evaluate", f"evaluate {MARKET} --at 1,5 --worst 3 --by camera --by identity", 0),
    ("evaluate", f"evaluate {LISTS}/top4.txt --labels {LISTS}/query.csv {LISTS}/gallery.csv", 0),
    ("evaluate", "evaluate {}/saved.json --at 1,5 --worst 3 --by camera", 0),
    ("evaluate", f"evaluate {MARKET} --confidence --resamples 99", 0),
    ("evaluate_several", f"evaluate {MARKET} {TIES}", 0),
    ("evaluate_several", f"evaluate {MARKET} --name ours --convention matlab,mars", 0),
    ("evaluate_several", f"evaluate {MARKET} --convention all", 0),
    ("rerank", f"rerank {MARKET} --confidence --resamples 99", 0),
    ("rerank", f"rerank {MARKET} --multi-query {{}}/multi_query.mat", 0),
    ("compare", f"compare {MARKET} {MARKET} {MARKET} --resamples 99", 0),
    ("compare", f"compare {MARKET} {MARKET} {MARKET} --resamples 99 --all-pairs", 0),
    ("compare_benchmarks", f"compare a={{}}/saved.json,{MARS} b={{}}/saved.json", 0),
    ("mean", f"evaluate {MARKET} {TIES} --mean splits --measure mAP,mINP --resamples 99", 0),
    ("scripts", f"scripts {MARKET} --only port", 0),
    ("evaluate_protocol", f"evaluate {MARKET} --protocol msmt17", 0),
    ("evaluate_protocol", f"evaluate {MARKET} --protocol occluded-duke --confidence "
                          "--resamples 99", 0),
    ("protocols", "protocols", 0),
    ("protocols_name", "protocols sysu-mm01", 0),
    ("ties", f"ties {TIES}", 0),
    ("thresholds", f"thresholds {MARKET}", 0),
    ("thresholds", f"thresholds {MARKET} --confidence --far 0,1", 0),
    ("evaluate", f"evaluate {MARKET} --by camera-pair --by camera", 0),
    ("conventions", "conventions", 0),
    *(("conventions_name", f"conventions {name}", 0)
      for name in cases(["matlab", "veri", "sysu-mm01"], CONVENTIONS)),
    ("crosscheck", f"crosscheck {MARKET} --evaluator {{}}/mine.py:good", 1),
    ("crosscheck", f"crosscheck {MARKET} --evaluator {{}}/mine.py:failing", 1),
    ("crosscheck_made", "crosscheck --evaluator {}/mine.py:failing", 1),
    ("doctor", "doctor {}/cuhk03.npz", 1),  # with a finding, and counts that are off
    ("doctor", f"doctor {MARKET}", 0),
    ("explain", f"explain {MARKET}", 0),
    ("explain", f"explain {MARKET} --query 3", 0),
    ("validate_figures", "validate --dataset VehicleID", 0),
    ("validate_figures", "validate --dataset Market-1501", 1),
    ("validate_figures", "validate --paper market1501/ide-resnet50-euclidean-zhong", 0),
    ("validate", f"validate {MARKET} --published 45.83/40.16", 0),
    ("validate", f"validate {MARKET} --published /99.9 --convention matlab,mars", 1),
    ("validate", f"validate {MARKET} --paper market1501/ide-resnet50-euclidean-zhong "
                 "--no-search", 1),
    ("validate", "validate --dataset market1501 --published 94.43/86.1", 1),
    ("validate_pairs", f"validate {MARKET} --published 45.83/40.16 /44.91", 0),
    ("scripts_driver", f"scripts {MARKET} --driver market1501", 0),
    ("scripts_driver", "scripts {}/mars/* --driver mars", 0)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that the commands name and that fixtures/ does not hold."""
    folder = tmp_path_factory.mktemp("json")
    data = read_result(MARKET)
    (folder / "good").write_text("1 2\n" * len(data.query))
    (folder / "junk").write_text("3\n" * len(data.query))
    (folder / "mine.py").write_text(EVALUATOR)
    scipy.io.savemat(folder / "multi_query.mat", {
        "mquery_f": data.query_features, "mquery_label": data.query.identity,
        "mquery_cam": data.query.camera})
    _almost_cuhk03(folder / "cuhk03.npz")
    cli.main(["evaluate", MARKET, "--save", str(folder / "saved.json"), "--quiet"])
    (folder / "mars").mkdir()
    FILES["mars"](folder / "mars")
    return folder


def _almost_cuhk03(path):
    """As many queries and gallery images as CUHK03-NP has, but fewer identities."""
    numbers = [np.arange(n) for n in (1400, 5332)]
    save_features(path, [np.stack([np.cos(one / len(one)), np.sin(one / len(one))], axis=1)
                         for one in numbers],
                  *(Labels(1 + one % 699, 1 + one // 699 % 2) for one in numbers))


def answer(words, folder, capsys, status):
    """Run a command; return its JSON, and what it told on stderr."""
    names = [name for word in words.replace("{}", str(folder)).split() for name in (
        sorted(map(str, folder.glob("mars/*"))) if word.endswith("*") else [word])]
    assert cli.main([*names, "--json"]) == status
    out, err = capsys.readouterr()
    return json.loads(out, parse_constant=pytest.fail), err


@functools.cache
def validator(shape):
    """What holds a value to one of the shapes of the schema."""
    return jsonschema.Draft202012Validator({**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{shape}"}]})


def hold(shape, value):
    """Hold a value to a shape; fail in one line, with the path and the message that fit best."""
    error = jsonschema.exceptions.best_match(validator(shape).iter_errors(value))
    if error is not None:
        pytest.fail(f"{shape}, {error.json_path}: {error.message[:300]}; if it is meant, run "
                    "python docs/written.py", pytrace=False)


def objects(value, key=""):
    """Return every object in a value, with its key."""
    if isinstance(value, dict):
        yield key, value
    for name, inner in value.items() if isinstance(value, dict) else ():
        yield from objects(inner, name)
    for inner in value if isinstance(value, list) else ():
        yield from objects(inner)


SOME = cases(COMMANDS[::2], COMMANDS)


@pytest.mark.parametrize(("shape", "words", "status"), SOME,
                         ids=[words for _, words, _ in SOME])
def test_every_command_prints_what_the_schema_says(shape, words, status, folder, capsys):
    value, err = answer(words, folder, capsys, status)
    hold(shape, value)
    assert list(value)[:2] == ["schema", "warnings"]
    assert value["warnings"] == re.findall(r"^reid-ref: warning: (.*)$", err, re.MULTILINE)


def test_every_command_and_shape_is_here():
    folder = ROOT / "reid_ref/commands"
    prints_json = {path.relative_to(folder).parts[0].removesuffix(".py").replace("_", "-")
                   for path in folder.rglob("*.py")
                   if re.search(r"show_answer\(|add_files\(command, ", path.read_text())}
    assert {words.split()[0] for _, words, _ in COMMANDS} == prints_json
    shapes = {one["$ref"].removeprefix("#/$defs/") for one in SCHEMA["anyOf"]}
    assert {shape for shape, _, _ in COMMANDS} | {
        "per_query", "saved", "saved_trials", "saved_expectation"} == shapes


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_what_the_schema_refuses_is_told_in_one_line(capsys):
    cli.main(["evaluate", MARKET, "--json"])
    value = json.loads(capsys.readouterr().out)
    hold("evaluate", value)
    key = next(key for key in value if isinstance(value[key], dict))
    value[key]["another"] = 1
    with pytest.raises(pytest.fail.Exception) as info:
        hold("evaluate", value)
    assert f"$.{key}: " in str(info.value) and "another" in str(info.value)
    assert len(str(info.value)) < 500


def test_the_schema_is_strict():
    """Every object is closed, and has every key that it may have."""
    closed = [value for _, value in objects(SCHEMA) if "properties" in value]
    assert len(closed) > 40
    for value in closed:
        # But for numbers, which --measure names.
        assert value["additionalProperties"] in (False, {"type": ["number", "null"]})
        assert set(value["properties"]) - set(value["required"]) <= OPTIONAL, value


@pytest.mark.parametrize("words", [
    ["evaluate"], ["evaluate", "--convention", "matlab,layumi"], ["rerank"], ["ties"],
    ["scripts", "--only", "port"]], ids=" ".join)
@pytest.mark.parametrize(("cmc", "length"), [
    ([], 50), (["--cmc", "7"], 7), (["--cmc", "all"], 345)])
def test_the_curve_is_as_long_as_requested_and_has_the_ranks(words, cmc, length, capsys):
    cli.main([words[0], MARKET, *words[1:], *cmc, "--json"])
    results = [value for _, value in objects(json.loads(capsys.readouterr().out))
               if "cmc" in value and "Rank-1" in value]
    assert results and {len(result["cmc"]) for result in results} == {length}
    for result in results:
        ranks = {name: result[name] for name in result if name.startswith("Rank-")}
        assert list(ranks) == ["Rank-1", "Rank-5", "Rank-10", "Rank-20"]
        assert [k for k in (1, 5, 10, 20)
                if k <= length and ranks[f"Rank-{k}"] != result["cmc"][k - 1]] == []


def test_two_shapes_of_results(capsys):
    """One file and one convention are at the top; several are in `results`, as the same keys."""
    answers = []
    for words in ([], ["--convention", "matlab,mars"], ["--name", "ours"]):
        cli.main(["evaluate", MARKET, *words, "--json"])
        answers.append(json.loads(capsys.readouterr().out))
    top, conventions, named = answers
    first = {key: value for key, value in top.items() if key not in ("schema", "warnings")}
    assert "results" not in top and conventions["results"][0] == first
    assert named["results"] == [{**first, "name": "ours"}]


def test_the_file_of_each_query(tmp_path, capsys):
    path = tmp_path / "out.json"
    for convention, counted in (("matlab", 48), ("torchreid", 45)):
        cli.main(["evaluate", MARKET, "--per-query", str(path), "--convention", convention])
        value = json.loads(path.read_text())
        hold("per_query", value)
        assert sum(one["counted"] for one in value["queries"]) == counted
        assert value["signature"].startswith(f"convention:{convention}|")
    del value["labels"]
    assert not validator("per_query").is_valid(value)


@pytest.mark.parametrize("convention", ["matlab", "mars", "torchreid", "sysu-mm01", "cityflow"])
def test_the_file_of_a_saved_result(convention, tmp_path):
    path = tmp_path / "out.json"
    cli.main(["evaluate", MARKET, "--save", str(path), "--convention", convention])
    value = json.loads(path.read_text())
    hold("saved", value)
    assert list(value["convention"]) == [one.name for one in dataclasses.fields(Convention)]
    for key in ("parts", "trials"):
        assert not validator("saved").is_valid({**value, key: None})


@pytest.mark.parametrize("convention", ["layumi", "open-reid-allshots"])
def test_a_share_above_1_by_its_last_bits(convention, tmp_path, capsys):
    """Nine good images in front: layumi's AP, and open-reid's CMC, add up to a little over 1."""
    labels = Labels([1], [1]), Labels([1] * 9 + [2] * 3, [2] * 12)
    save(tmp_path / "nine.npz", np.arange(12.)[np.newaxis], *labels)
    files = [str(tmp_path / name) for name in ("rows.json", "saved.json")]
    cli.main(["evaluate", str(tmp_path / "nine.npz"), "--convention", convention, "--json",
              "--per-query", files[0], "--save", files[1]])
    value = json.loads(capsys.readouterr().out)
    assert max(value["mAP"], *value["cmc"]) > 1
    hold("evaluate", value)
    for file, shape in zip(files, ("per_query", "saved")):
        hold(shape, json.loads(Path(file).read_text()))
    assert cli.main(["evaluate", files[1]]) == 0
