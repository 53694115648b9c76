"""What is answered, and said, where packages are missing or broken that need not be there."""
import json
import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import reid_ref
from reid_ref.arrays import PackageError, optional_module
from reid_ref.compat import irra
from reid_ref.evaluation.groups import rank_band
from tests.documents import ROOT
from tests.installed import OPTIONAL
from tests.refusals import refused

MARKET = str(ROOT / "fixtures/market_like.mat")
BLOCK = f"import sys; sys.modules.update(dict.fromkeys({OPTIONAL}))\n"
#: Runs each command line of stdin, and prints its exit code, stdout and stderr as JSON.
CHILD = """
import contextlib, io, json, sys
from reid_ref.cli import main
done = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out, \\
            contextlib.redirect_stderr(io.StringIO()) as err:
        status = main(words)
    done.append((status, out.getvalue(), err.getvalue()))
json.dump(done, sys.stdout)
"""
WORKS = [
    ["evaluate", MARKET, "--expect", "mAP=40.1635298347,Rank-1=45.8333"],
    ["evaluate", "a.npz", "--expect", "mAP=40.1635298347", "--confidence", "--save", "a.json"],
    ["evaluate", "folder", "--expect", "mAP=40.1635298347", "--convention", "matlab"],
    ["evaluate", "a.npz", "--convention", "all"], ["evaluate", "a.json"],
    ["compare", "a.npz", "a.json"], ["evaluate", "a.npz", MARKET, "--mean", "splits"],
    ["ties", "a.npz"], ["explain", "a.npz", "--from", "matlab", "--to", "torchreid"],
    ["doctor", "a.npz"], ["validate", "a.npz", "--published", "45.83/40.16"],
    ["validate", "--dataset", "market1501", "--published", "81.1/67.6"],
    ["crosscheck", "a.npz", "--evaluator", "theirs.py:evaluator"],
    ["evaluate", "a.npz", "--by", "camera-pair"], ["thresholds", "a.npz"], ["protocols"],
    ["evaluate", "a.npz", "--protocol", "cuhk03-classic"], ["check-table", "table.md"]]
SCIPY = "needs scipy, which is not installed"
#: What some part is left out of, and the line that says so.
IN_PARTS = {
    f"an analytic interval {SCIPY}: left out; pip install scipy": [
        ["evaluate", "few.npz", "--confidence"], ["thresholds", "a.npz", "--confidence"],
        ["evaluate", "few.npz", "fewer.npz", "--mean", "runs"],
        ["evaluate", "a.npz", "--convention", "all", "--confidence"]],
    f"re-ranking: {SCIPY}; pip install scipy": [
        ["validate", "a.npz", "--published", "45.83/40.16", "--search"]]}
REFUSED = {
    f"re-ranking: {SCIPY}; pip install scipy": ["rerank", "a.npz"],
    f"an analytic interval: {SCIPY}; pip install scipy": [
        "evaluate", "a.npz", "--confidence", "--confidence-method", "analytic"],
    f"an expectation over all galleries: {SCIPY}; pip install scipy": [
        "evaluate", "prcc.npz", "--protocol", "prcc-single-shot"],
    f"scripts: {SCIPY}; pip install scipy": ["scripts", "a.npz"],
    "figures: needs matplotlib, which is not installed; pip install matplotlib": [
        "plot", "cmc", "a.npz", "-o", "cmc.pdf"],
    "report: needs jinja2, matplotlib, pillow, which are not installed; pip install jinja2 "
    "matplotlib pillow": ["report", "a.npz", "-o", "page.html"],
    "needs h5py, which is not installed; pip install h5py, or save it with -v7": [
        "evaluate", "a.h5"],
    "a.pt: a file of torch.save: needs torch, which is not installed; pip install torch, or, if "
    "it is a dict of arrays, on a machine with torch: numpy.savez('a.npz', **torch.load('a.pt'))":
    ["evaluate", "a.pt"]}
THEIRS = """
import numpy as np

def evaluator(distmat, q_pids, g_pids, q_camids, g_camids):
    order = np.argsort(distmat, axis=1, kind="stable")
    return float(np.mean([g_pids[row[0]] == pid for row, pid in zip(order, q_pids)]))
"""


def few(wrong):
    """Forty identities of one query and one good image; some have a wrong image as near."""
    features, query = np.eye(40), np.eye(40)
    query[:wrong] = features[wrong]
    labels = {"query_camera": np.ones(40, int), "gallery_camera": np.full(40, 2)}
    return {"query_features": query, "gallery_features": features, **labels,
            "query_identity": np.arange(1, 41), "gallery_identity": np.arange(1, 41)}


def run_child(code, folder, given="", *paths):
    path = os.pathsep.join(map(str, [*paths, ROOT]))
    return subprocess.run([sys.executable, "-c", code], input=given, cwd=folder, text=True,
                          capture_output=True, env={**os.environ, "PYTHONPATH": path})


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """What each command line printed, by its words, where all of them are missing."""
    folder = tmp_path_factory.mktemp("files")
    data = reid_ref.read(MARKET)
    arrays = {f"{side}_{column}": getattr(getattr(data, side), column)
              for side in ("query", "gallery") for column in ("identity", "camera")}
    arrays.update(query_features=data.query_features, gallery_features=data.gallery_features)
    np.savez(folder / "a.npz", **arrays)
    cameras = {"query_camera": np.full(48, 1), "gallery_camera": np.zeros(345, int)}
    np.savez(folder / "prcc.npz", **{**arrays, **cameras})
    np.savez(folder / "few.npz", **few(1))
    np.savez(folder / "fewer.npz", **few(2))
    (folder / "folder").mkdir()
    for name, array in arrays.items():
        np.save(folder / "folder" / f"{name}.npy", array)
    (folder / "a.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    (folder / "a.pt").write_bytes(b"PK\x03\x04")
    (folder / "theirs.py").write_text(THEIRS)
    (folder / "table.md").write_text("| a | Market R-1 |\n|---|---|\n| a | 90 |\n")
    every = [*WORKS, *(words for those in IN_PARTS.values() for words in those),
             *REFUSED.values()]
    child = run_child(BLOCK + CHILD, folder, json.dumps(every))
    assert child.returncode == 0, child.stderr
    return dict(zip(map(tuple, every), json.loads(child.stdout)))


@pytest.mark.parametrize("words", WORKS, ids=" ".join)
def test_numpy_is_enough(words, done):
    status, out, err = done[tuple(words)]
    assert status == (words[0] == "crosscheck") and out, err  # which finds a difference
    assert not any(f"needs {name}" in out + err for name in OPTIONAL)


@pytest.mark.parametrize(("line", "words"), [
    (line, words) for line, those in IN_PARTS.items() for words in those])
def test_a_part_is_left_out_in_one_line(line, words, done):
    status, out, err = done[tuple(words)]
    assert status == 0 and " ".join(f"{out} {err}".split()).count(line) == 1, err
    assert "nan" not in out.split()


@pytest.mark.parametrize(("sentence", "words"), REFUSED.items())
def test_one_sentence_names_the_packages(sentence, words, done):
    status, out, err = done[tuple(words)]
    assert (status, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith("reid-ref: error: ") and last.endswith(sentence)


def test_doctests_without_packages(tmp_path):
    code = BLOCK + ("import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', "
                    f"'--rootdir', {str(ROOT)!r}, '-c', {str(ROOT / 'setup.cfg')!r}, "
                    f"{str(ROOT / 'reid_ref')!r}]))")
    environment = os.environ.pop("REID_REF_PEERS", None)
    try:
        child = run_child(code, ROOT)
    finally:
        if environment is not None:
            os.environ["REID_REF_PEERS"] = environment
    assert child.returncode == 0, child.stdout[-2000:] + child.stderr
    assert "SKIPPED" in child.stdout and "needs scipy" in child.stdout


# ---------------------------------------------------------------- one function decides

BROKEN = {"raise ImportError('libblas.so.3:\\n cannot open')":
          "ImportError: libblas.so.3: cannot open",
          "import none_of_this_name": "ModuleNotFoundError: No module named 'none_of_this_name'",
          "raise ValueError('numpy.dtype size changed')": "ValueError: numpy.dtype size changed"}


@pytest.mark.parametrize(("source", "reason"), BROKEN.items())
def test_a_broken_package_is_not_missing(source, reason, tmp_path):
    (tmp_path / "scipy").mkdir()
    (tmp_path / "scipy/__init__.py").write_text(source)
    child = run_child(CHILD, tmp_path, json.dumps([["rerank", MARKET]]), tmp_path)
    (status, out, err), = json.loads(child.stdout)
    assert (status, out) == (2, "")
    assert err.splitlines()[-1] == (
        "reid-ref: error: re-ranking: needs scipy, which is installed but cannot be imported "
        f"({reason}); pip install --force-reinstall scipy")


def test_a_module_that_a_package_lacks_is_a_broken_package():
    refused("a page", "installed but cannot be imported (ModuleNotFoundError: No module named "
            "'json.no_such'", optional_module, "a page", "json.no_such")


def test_packages_are_named_as_pip_knows_them(monkeypatch):
    for name in ("PIL", "sklearn"):
        monkeypatch.setitem(sys.modules, name, None)
    error = refused("a page", "pip install pillow scikit-learn, or not", optional_module,
                    "a page", "PIL.Image", "sklearn", otherwise="or not")
    assert isinstance(error, ImportError) and str(pickle.loads(pickle.dumps(error))) == str(error)
    assert isinstance(error.at("here"), PackageError)


def test_a_band_without_all_of_its_ends_is_not_drawn(monkeypatch):
    made = few(1)
    result = reid_ref.evaluate(made["query_features"], made["gallery_features"], *(
        reid_ref.Labels(made[f"{side}_identity"], made[f"{side}_camera"])
        for side in ("query", "gallery")))
    assert rank_band(result, 20).low[0] < result.rank(1)
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.warns(reid_ref.PackageWarning, match=f"an analytic interval {SCIPY}: left out"):
        assert rank_band(result, 20) is None


@pytest.mark.parametrize(("module", "argument", "call"), [
    ("torch", "irra.rank, which returns tensors", lambda: irra.rank([[.9, .8]], [7], [8, 7])),
    ("scipy", "learnt metrics", lambda: reid_ref.metric_learning.pca(np.eye(4), 2))])
def test_functions_say_what_they_need(module, argument, call, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    refused(argument, f"needs {module}, which is not installed; pip install {module}", call)


def test_no_line_installs_the_package_by_its_name():
    """No index has it: whoever took that name there would get everyone who follows the line."""
    lines = [f"{path.relative_to(ROOT)}: {line.strip()}" for folder in ("reid_ref", "docs")
             for path in (ROOT / folder).rglob("*.*") if path.suffix in (".py", ".md", ".html")
             for line in path.read_text(encoding="utf-8").splitlines()
             if re.search(r"reid-ref\[|pip3? install (-\S+ )*['\"]?reid-ref", line)]
    assert not lines
