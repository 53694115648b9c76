"""The command as a user meets it: its reports, its files, its messages."""
import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import reid_ref
from reid_ref import Labels
from reid_ref.cli.parser import COMMANDS
from reid_ref.commands import conventions
from reid_ref.files import read_result
from tests.cases import save
from tests.commands.common import FIXTURES, MARKET, answer, assert_one_line_error, command, table
from tests.documents import ROOT

ANSWERS = json.loads((FIXTURES / "market_like.json").read_text())


def test_json_has_full_precision():
    found = answer("evaluate", MARKET)
    assert found["mAP"] == ANSWERS["map"]
    assert found["cmc"] == ANSWERS["CMC"][:50]
    assert [found[f"Rank-{k}"] for k in (1, 5, 10, 20)] \
        == [ANSWERS["CMC"][k - 1] for k in (1, 5, 10, 20)]
    assert found["counts"]["status"]["identity absent"] == 3


def test_per_query(tmp_path):
    done = command("evaluate", MARKET, "--per-query", "out.csv", cwd=tmp_path)
    assert done.returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert [float(row["ap"]) if row["ap"] else None for row in rows] == ANSWERS["ap"]
    assert [int(row["first_match"] or 0) for row in rows] == ANSWERS["first"]
    assert rows[-1]["status"] == "identity absent" and rows[-1]["inp"] == ""


def test_metric_and_normalisation_matter():
    raw = answer("evaluate", MARKET, "--metric", "dot", "--no-normalize")
    data = read_result(MARKET)
    distances = -data.query_features.astype(float) @ data.gallery_features.T.astype(float)
    with pytest.warns(reid_ref.UnmatchedWarning):
        expected = reid_ref.evaluate_distances(distances, data.query, data.gallery)
    assert raw["mAP"] == expected.mAP != ANSWERS["map"]
    assert "metric:dot|normalize:no" in raw["signature"]


@pytest.mark.octave
@pytest.mark.parametrize("name", ["market_like", "ties", "special_values", "mars_like"])
def test_the_scripts_and_the_port_agree_with_the_fast_path(name, octave):
    done = command("scripts", FIXTURES / f"{name}.mat")
    assert done.returncode == 0
    assert "fast" in done.stdout and "port" in done.stdout and "octave" in done.stdout
    assert "0.0 (equal to the last bit)" in done.stdout
    assert "Octave" not in done.stderr and "octave" not in done.stderr


@pytest.mark.octave
def test_another_folder_of_scripts_is_really_used(tmp_path, octave):
    for script in Path(FIXTURES.parent / "matlab_ref").glob("*.m"):
        (tmp_path / script.name).write_text(script.read_text())
    mutant = tmp_path / "compute_AP.m"
    assert "(j + 1)" in mutant.read_text()
    mutant.write_text(mutant.read_text().replace("(j + 1)", "(j + 2)"))
    for where in ({"REID_REF_MATLAB_DIR": tmp_path}, {}):
        options = [] if where else ["--matlab-dir", str(tmp_path)]
        done = command("scripts", MARKET, *options, **where)
        assert done.returncode == 1
        assert "NOT equal" in done.stdout


def test_all_conventions_in_one_table():
    done = command("evaluate", MARKET, "--convention", "all")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines()[1:])) <= 80
    found = answer("evaluate", MARKET, "--convention", "all")
    conventions = {result["convention"]: result["mAP"] for result in found["results"]}
    assert conventions["matlab"] == ANSWERS["map"]
    assert conventions.keys() | found["left_out"].keys() == reid_ref.CONVENTIONS.keys()


def test_index_lists(tmp_path):
    # The lists of VeRi follow the rule: matlab's numbers, but for label -1 as an answer.
    data = read_result(MARKET)
    lines = {"good": [], "junk": []}
    for identity, camera in zip(data.query.identity, data.query.camera):
        same = data.gallery.identity == identity
        own = data.gallery.camera == camera
        lines["good"].append(np.flatnonzero(same & ~own) + 1)
        lines["junk"].append(np.flatnonzero((same & own) | (data.gallery.identity == -1)) + 1)
    for name, rows in lines.items():
        (tmp_path / f"{name}.txt").write_text(
            "".join(" ".join(map(str, row)) + "\n" for row in rows))
    both = "--index-lists", tmp_path / "good.txt", tmp_path / "junk.txt"
    found = answer("evaluate", MARKET, "--cmc", "all", "--convention", "veri", *both)
    assert found["mAP"] is None and found["cmc"] == ANSWERS["CMC"]
    assert "\nveri " in table("evaluate", MARKET, "--convention", "all", *both)
    bad = tmp_path / "bad.txt"
    for text, message in (("1 2\n", "--index-lists: .*48 lists"),
                          ("1 x\n", "line 1: .*gallery numbers from 1, .*'x'"),
                          ("0\n", "line 1: .*gallery numbers from 1"),
                          ("9" * 20, "line 1: .*gallery numbers from 1"),
                          ("999\n" * 48, r"good\[0\]: .*indices below 345")):
        bad.write_text(text)
        assert_one_line_error(command(
            "evaluate", MARKET, "--convention", "veri", "--index-lists", bad, bad), message)


def test_conventions_are_listed_and_shown():
    listed = table("conventions")
    rows, _, notes = listed.partition("\n\n")
    functions = {name for name in reid_ref.CONVENTIONS if name.endswith("-function")}
    assert {line.split()[0] for line in rows.splitlines()[1:]} \
        == set(reid_ref.CONVENTIONS) - functions
    for name in functions:
        assert name.removesuffix("-function") in notes
    assert max(map(len, listed.splitlines())) <= 80
    for convention in reid_ref.CONVENTIONS.values():
        page = " ".join(conventions.as_page(convention).split())
        assert " ".join(convention.source.split()) in page
        for difference in convention.differences:
            assert " ".join(difference.split()) in page
    page = conventions.as_page(reid_ref.CONVENTIONS["oxford"])
    assert table("conventions", "oxford") == f"{page}\n"


@pytest.mark.parametrize("arguments", [
    ("evaluate", MARKET, "--no-normalize", "--json", "--convention"),
    ("explain", MARKET, "--no-normalize", "--json", "--to"), ("conventions",)])
def test_a_convention_is_found_by_the_names_people_know(arguments):
    known, own = (command(*arguments, name) for name in ("TRANSREID", "torchreid"))
    assert known.returncode == 0
    if arguments == ("conventions",):
        known_page, own_page = (page.stdout.partition("features")[0].splitlines()
                                for page in (known, own))
        assert known_page[0] == "name        TransReID, which has the code of torchreid"
        assert known_page[1:] == own_page[1:]
        assert "also: TransReID (damo-cv/TransReID dec5504, utils/metrics.py" in known.stdout
    else:
        assert "torchreid" not in known.stdout and "TransReID" in known.stdout
        assert known.stdout.replace("TransReID", "torchreid") == own.stdout


def test_without_a_command_the_groups_are_shown():
    done = command()
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == table("--help")
    groups = re.findall("^([a-z]+):$", done.stdout, re.MULTILINE)
    assert groups == ["options", "measure", "look", "understand", "check", "more"]
    assert set(re.findall("^  ([a-z-]+) ", done.stdout, re.MULTILINE)) >= COMMANDS.keys()
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.fixture
def hopeless(tmp_path):
    """One query, whose identity is in the gallery only on its own camera."""
    path = tmp_path / "one.npz"
    save(path, [[.5, .6]], Labels([1], [1]), Labels([1, 1], [1, 1]))
    return path


@pytest.mark.parametrize("arguments", [
    ["evaluate", "--convention", "torchreid", "--json"], ["evaluate", "--convention", "all"],
    ["evaluate", "--convention", "all", "--json"], ["ties", "--json"],
    ["ties", "--convention", "torchreid"],
    ["explain"], ["explain", "--to", "light-reid"], ["explain", "--json"],
    ["evaluate", "--format", "latex", "--convention", "torchreid"],
    ["validate", "--published", "50/50"], ["validate", "--published", "50/50", "--json"]])
def test_no_query_that_counts_is_no_crash(hopeless, arguments):
    done = command(arguments[0], hopeless, *arguments[1:])
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
    assert done.stdout
    if "--json" in arguments:
        json.loads(done.stdout, parse_constant=pytest.fail)  # no NaN, which JSON lacks
    if arguments[-2:] == ["torchreid", "--json"]:
        assert json.loads(done.stdout)["cmc"] == [None, None]


@pytest.mark.parametrize("words", [
    ["evaluate"], ["evaluate", "--convention", "all"], ["ties"],
    ["evaluate", "--convention", "torchreid-cython"]])
def test_complex_distances_are_refused(tmp_path, words):
    save(tmp_path / "c.npz", [[1j, 1]], Labels([1], [1]), Labels([1, 2], [2, 2]))
    done = command(words[0], tmp_path / "c.npz", *words[1:])
    assert_one_line_error(done, "distances: .*complex128.*reid-ref scripts")


def test_ties_warns_as_evaluate_does(tmp_path):
    save(tmp_path / "n.npz", [[np.nan, 1]], Labels([1], [1]), Labels([1, 2], [2, 2]))
    done = command("ties", tmp_path / "n.npz")
    assert done.returncode == 0 and "1 of 2 are NaN" in done.stderr
    done = command("ties", MARKET)
    assert "3 of 48 queries" in done.stderr


def test_the_report_says_what_the_convention_ignores():
    words = " ".join(table("evaluate", MARKET, "--convention", "torchreid").split())
    assert "285 loaded; 60 not loaded (label -1: the toolbox's loader leaves them out)" in words
    assert "queries:48 | gallery:285" in words
    words = " ".join(table("evaluate", MARKET, "--convention", "torchreid-function").split())
    assert "345 kept; 50 of them are distractors (label 0), 60 are labelled -1, which" in words
    assert "ignored:same identity, same camera" in words


def test_octave_missing_is_said(tmp_path):
    done = command("scripts", MARKET, "--only", "octave", PATH=tmp_path)
    assert_one_line_error(done, "the program of GNU Octave, .*PATH")


def test_help_loads_nothing_heavy():
    code = ("import sys, contextlib\nfrom reid_ref import cli\n"
            "with contextlib.suppress(SystemExit): cli.main(['--help'])\n"
            "heavy = {'scipy', 'h5py', 'oct2py', 'tqdm', 'reid_ref.files'} & set(sys.modules)\n"
            "sys.exit(str(heavy) if heavy else 0)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_bibtex_says_what_the_citation_file_says():
    facts = dict(re.findall(r"^(\w+): \"?(.*?)\"?$", (ROOT / "CITATION.cff").read_text(),
                            re.MULTILINE))
    author, = re.findall(r"- name: (.*)", (ROOT / "CITATION.cff").read_text())
    assert facts["version"] == reid_ref.__version__
    assert table("--cite") == (
        "@misc{reid-ref,\n"
        f"  author = {{{{{author}}}}},\n"
        f"  title = {{{{{facts['title']}}}}},\n"
        f"  note = {{Version {facts['version']}, {facts['license']} license}}\n"
        "}\n")
