"""Conventions, protocols, measures and layouts of installed packages, by entry points."""
import re
import subprocess
import sys

import numpy as np
import pytest

import reid_ref
from reid_ref import extensions, measures
from reid_ref.conventions import Convention, every_convention, find_convention
from reid_ref.protocols.records import every_protocol, find_protocol
from tests.commands.common import refusal
from tests.documents import ROOT, command
from tests.files.test_files import write_hdf5, write_mat, write_npz
from tests.refusals import refused

PAGE = (ROOT / "docs/extending.md").read_text()
ARRAYS = {"asking": np.eye(3, 4), "who_asks": [1, 2, 3], "where_asked": [1, 2, 3],
          "stored": np.eye(4), "who": [1, 2, 3, 1], "where": [2, 1, 1, 3]}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The package of docs/extending.md, installed by pip; return where."""
    folder, site = tmp_path_factory.mktemp("our_lab"), tmp_path_factory.mktemp("site")
    for language, name in (("python", "our_lab.py"), ("toml", "pyproject.toml")):
        block, = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
        (folder / name).write_text(block)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
                    "--no-build-isolation", "--target", str(site), str(folder)], check=True)
    return site


@pytest.fixture
def installed(site, monkeypatch):
    monkeypatch.syspath_prepend(str(site))
    yield site
    sys.modules.pop("our_lab", None)


def declare(monkeypatch, folder, package, code, **kinds):
    """Install a package by hand: a module, and the metadata that name what is in it."""
    info = folder / f"{package}-2.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("".join(
        f"[reid_ref.{kind}s]\n{name} = {package}:RECORD\n" for kind, name in kinds.items()))
    (folder / f"{package}.py").write_text(code)
    monkeypatch.syspath_prepend(str(folder))


def record(name, **changes):
    return ("import reid_ref\nRECORD = reid_ref.CONVENTIONS['simpleir'].replace("
            f"name={name!r}, **{changes!r})\n")


# ---------------------------------------------------------------- a package that works

def test_its_names_are_looked_up(installed):
    torchreid, ours = reid_ref.CONVENTIONS["torchreid"], find_convention("Our_Lab")
    assert ours == torchreid.replace(name="our-lab", unmatched="zero", source=ours.source, also=())
    assert reid_ref.CONVENTIONS["our-lab"] is ours is every_convention()["our-lab"]
    protocol = find_protocol("OUR_CAMPUS")
    assert protocol is every_protocol()["our-campus"] and protocol.convention is ours
    assert "our-lab" not in list(reid_ref.CONVENTIONS)  # which is what `all` means
    query, gallery = reid_ref.Labels([1, 9], [1, 1]), reid_ref.Labels([1, 2], [2, 2])
    with pytest.warns(reid_ref.UnmatchedWarning):
        result = reid_ref.evaluate_distances([[.1, .2], [.1, .2]], query, gallery,
                                             convention="our-lab")
    assert (result.mAP, result.signature["convention"]) == (.5, "our-lab")


def test_its_measure_is_looked_up(installed):
    labels = reid_ref.Labels([1, 2], [1, 1]), reid_ref.Labels([1, 1, 2, 3], [2, 2, 2, 2])
    result = reid_ref.evaluate_distances([[.1, .4, .2, .3], [.1, .2, .3, .4]], *labels)
    # Of the first two images one and none are good, of two and one.
    assert result.of_query("F1@2").tolist() == [.5, 0]
    with pytest.warns(reid_ref.IntervalWarning):
        assert result.value("F1@2") == .25 == result.interval("F1@2", resamples=99).value
    assert result.value("F1@3") == np.mean([2 / 5, 2 / 4])
    for name in ("F1", "F1@k", "f1@2", "F1@0", "F2@1"):
        assert name in refused("measure", "or F1@k", result.value, name).got


def test_its_rule_of_ap_is_looked_up(installed, tmp_path, monkeypatch):
    convention = reid_ref.CONVENTIONS["matlab"].replace(ap="first-match")
    assert "precision at the first match" in convention.differences[0]
    labels = reid_ref.Labels([1, 2], [1, 1]), reid_ref.Labels([1, 1, 2, 3], [2, 2, 2, 2])
    result = reid_ref.evaluate_distances([[.1, .4, .2, .3], [.1, .2, .3, .4]], *labels,
                                         convention=convention)
    assert result.of_query("mAP").tolist() == [1, 1 / 3] and result.value("AP@2") == .5
    assert result.signature["ap"] == "first-match"
    result.save(tmp_path / "a.json")
    assert reid_ref.load(tmp_path / "a.json") == result
    for change in {"ap": "First-Match"}, {"ap": "first-match", "arithmetic": "float32"}:
        with pytest.raises(reid_ref.InputError) as caught:
            reid_ref.CONVENTIONS["matlab"].replace(**change)
        assert caught.value.argument.startswith("ap")
    monkeypatch.undo()
    refused(f"{tmp_path / 'a.json'}: convention", "'first-match'", reid_ref.load,
            tmp_path / "a.json")


@pytest.mark.parametrize("name", ["mAP", "Rank-1", "Rank-k", "R-Prec"])
def test_no_measure_of_ours_is_taken(name, tmp_path, monkeypatch):
    declare(monkeypatch, tmp_path, "thief", "", measure=name)
    assert measures.measure(name.replace("-k", "-1")).source != ""
    assert "thief" not in sys.modules


def test_values_of_a_measure_come_from_its_function(tmp_path, monkeypatch):
    """A record of a package cannot name a column of ours, whose values these would be."""
    declare(monkeypatch, tmp_path, "half", "from reid_ref.measures import Measure\n"
            "RECORD = Measure('half', '', '', lambda ranks, convention, k: ranks.n_good / 2, "
            "column='ap')", measure="half")
    labels = reid_ref.Labels([1], [1]), reid_ref.Labels([1, 2], [2, 2])
    assert reid_ref.evaluate_distances([[.2, .1]], *labels).of_query("half").tolist() == [.5]
    sys.modules.pop("half", None)


def test_its_file_is_read(installed, tmp_path):
    np.savez(tmp_path / "a.npz", **ARRAYS, query_clothes=[5, 6, 7])
    np.savez(tmp_path / "b.npz", **ARRAYS)
    data = reid_ref.read(tmp_path / "a.npz")
    assert data.layout == "our lab's arrays (features, one row per image), in a .npz file"
    assert data.gallery.identity.tolist() == ARRAYS["who"]
    assert data.query.clothes.tolist() == [5, 6, 7]
    assert len(reid_ref.files.results_of_files(tmp_path / "a.npz", tmp_path / "b.npz")) == 2


def test_a_file_that_is_known_keeps_its_meaning(installed, tmp_path):
    ours = dict(zip(("qf", "q_pids", "q_camids", "gf", "g_pids", "g_camids"), ARRAYS.values()))
    np.savez(tmp_path / "both.npz", **ARRAYS, **ours)
    assert "asking" in reid_ref.read(tmp_path / "both.npz").extra


def test_the_command_line(site, tmp_path):
    np.savez(tmp_path / "a.npz", **ARRAYS)

    def run(*words):
        done = subprocess.run([sys.executable, "-m", "reid_ref", *words], cwd=tmp_path, text=True,
                              capture_output=True, env={"PYTHONPATH": f"{ROOT}:{site}"})
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "\nour-lab                         step" in run("conventions")
    assert "our-lab/reid, evaluate.py:12-40" in run("conventions", "our-lab")
    assert "\nour-campus                    one           day, night\n" in run("protocols")
    assert "\nbenchmark   Our Campus\n" in run("protocols", "our_campus")
    assert '"our-campus"' in run("protocols", "--json")
    assert "signature convention:our-lab | ap:step" in run(
        "evaluate", "a.npz", "--convention", "our-lab").replace("\n", " ")
    run("evaluate", "a.npz", "--convention", "our_lab,matlab")
    assert "night" in run("evaluate", "a.npz", "--protocol", "our-campus")
    run("evaluate", "a.npz", "--convention", "our-lab", "--save", "a.json")
    run("evaluate", "a.npz", "--convention", "our-lab", "--save", "b.json")
    run("evaluate", "a.npz", "--fail-under", "F1@2=0")
    assert "\nF1@2 " in run("evaluate", "a.npz", "--measure", "F1@2")
    assert " ap:first-match " in run("evaluate", "a.npz", "--set", "ap=first-match")
    assert "\nF1@2 " in run("compare", "a.json", "b.json", "--measure", "mAP,F1@2")
    assert command("evaluate", tmp_path / "a.json").returncode == 0  # where it is not installed


# ---------------------------------------------------------------- packages that do not

@pytest.mark.parametrize(("code", "reason"), [
    ("import nothing_of_this_name", "cannot be imported (ModuleNotFoundError: No module named "
     "'nothing_of_this_name')"),
    ("raise SystemExit('bye')", "cannot be imported (SystemExit: bye)"),
    ("1 +", "cannot be imported (SyntaxError: invalid syntax"),
    ("raise ValueError('two\\nlines')", "cannot be imported (ValueError: two lines)"),
    ("RECORD = 7", "is of type int, and no Convention"), ("", "has no attribute 'RECORD')"),
    (record("theirs"), "calls itself 'theirs'")])
def test_a_broken_package_breaks_nothing_else(code, reason, tmp_path, monkeypatch, installed):
    declare(monkeypatch, tmp_path, "broken", code, convention="mine")
    assert find_convention("our-lab").name == "our-lab"
    error = refused("convention", "'mine' of broken 2.0 ", find_convention, "mine")
    assert reason in error.got and "\n" not in str(error)
    with pytest.warns(reid_ref.PackageWarning) as warned:
        assert every_convention().keys() ^ reid_ref.CONVENTIONS.keys() == {"our-lab"}
    assert [str(one.message) for one in warned] == [str(error)]
    done = command("evaluate", ROOT / "fixtures/market_like.mat", "--convention", "mine")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    sys.modules.pop("broken", None)


def test_names_collide(tmp_path, monkeypatch):
    declare(monkeypatch, tmp_path / "a", "lab_a", record("Mine"), convention="Mine")
    declare(monkeypatch, tmp_path / "b", "lab_b", record("mine"), convention="mine")
    refused("convention", "one name for two records", find_convention, "mine")
    assert "lab_a" not in sys.modules and "lab_b" not in sys.modules


@pytest.mark.parametrize("name", ["torchreid", "TORCHREID", "agw", "torchreid-function"])
def test_no_name_of_ours_is_taken(name, tmp_path, monkeypatch):
    before = find_convention(name)
    declare(monkeypatch, tmp_path, "thief", record(name), convention=name, protocol="msmt17")
    assert find_convention(name) == before
    with pytest.warns(reid_ref.PackageWarning, match="of thief 2.0 is a name of reid-ref"):
        assert every_convention() == reid_ref.CONVENTIONS
    assert find_protocol("msmt17").source == find_protocol("MSMT17_V2").source
    assert "thief" not in sys.modules


def test_a_layout_of_unknown_roles(tmp_path, monkeypatch):
    declare(monkeypatch, tmp_path, "roles", "from reid_ref.files import Layout\n"
            "RECORD = Layout('x', 'y', {'query_feature': 'a'})", layout="x")
    refused("layout", "'query_feature'", extensions.declared_record, "layout", "x",
            reid_ref.files.Layout)


@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize(("suffix", "split"), [
    (".npz", ["gallery", "query", "gallery"]), (".h5", ["gallery", "query", "gallery"]),
    (".mat", [0, 1, 0])])
def test_a_layout_of_both_sides(tmp_path, monkeypatch, suffix, split, columns):
    """One array of features, of identities and of cameras, and which images are queries."""
    declare(monkeypatch, tmp_path, "both", "from reid_ref.files import Layout\n"
            "RECORD = Layout('x', 'y', {'features': 'X', 'identity': 'who', 'camera': 'where', "
            f"'is_query': 'split'}}, columns={columns})", layout="both")
    features, path = np.arange(6.).reshape(3, 2), tmp_path / f"result{suffix}"
    arrays = {"X": features.T if columns else features, "who": [7, 8, 9], "where": [1, 2, 3],
              "split": split}
    {".npz": write_npz, ".h5": write_hdf5, ".mat": write_mat}[suffix](path, arrays)
    data = reid_ref.read(path)
    np.testing.assert_array_equal(data.query_features, features[[1]])
    np.testing.assert_array_equal(data.gallery_features, features[[0, 2]])
    assert (data.query.identity.tolist(), data.gallery.identity.tolist()) == ([8], [7, 9])
    assert (data.query.camera.tolist(), data.gallery.camera.tolist()) == ([2], [1, 3])
    sys.modules.pop("both", None)


def test_an_unknown_name_lists_those_of_packages(installed):
    assert "mean 'our-lab'?" in refusal("evaluate", "x.mat", "--convention", "our-labs")
    refused("protocol", "did you mean 'our-campus'", find_protocol, "our-campuses")
    assert "our_lab" not in sys.modules


def test_nothing_looks_for_packages_unless_a_name_is_not_ours():
    """What ordinary commands do imports no importlib.metadata, which takes long to load."""
    code = ("import sys\nfrom reid_ref.cli import main\n"
            "for words in (['--help'], ['evaluate', 'fixtures/market_like.mat', '--quiet',"
            " '--convention', 'torchreid,AGW']):\n"
            "    try: main(words)\n    except SystemExit: pass\n"
            "assert 'reid_ref.signature' in sys.modules\n"
            "assert 'importlib.metadata' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def test_find_is_none_where_no_package_has_it():
    assert extensions.declared_record("convention", "nothing", Convention) is None
    with pytest.raises(KeyError):
        reid_ref.CONVENTIONS["nothing"]
