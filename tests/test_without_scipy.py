"""What needs numpy alone, and the sentence of what needs scipy, where importing scipy fails."""
import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.io import savemat

import reid_ref
from tests.documents import ROOT
from tests.refusals import refused

MARKET = ROOT / "fixtures/market_like.mat"
#: Runs each command line of stdin, and prints its exit code, stdout and stderr as JSON.
CHILD = """
import contextlib, io, json, sys
sys.modules["scipy"] = None
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
    ["evaluate", str(MARKET), "--expect", "mAP=40.1635298347,Rank-1=45.8333"],
    ["evaluate", "a.npz", "--expect", "mAP=40.1635298347", "--confidence", "--save", "a.json"],
    ["evaluate", "folder", "--expect", "mAP=40.1635298347", "--convention", "matlab"],
    ["evaluate", "a.npz", "--convention", "all"], ["evaluate", "a.json"],
    ["compare", "a.npz", "a.json"], ["evaluate", "a.npz", str(MARKET), "--mean", "splits"],
    ["ties", "a.npz"],
    ["explain", "a.npz", "--from", "matlab", "--to", "torchreid"], ["doctor", "a.npz"],
    ["validate", "a.npz", "--published", "45.83/40.16"],
    ["evaluate", "a.npz", "--by", "camera-pair"],
    ["thresholds", "a.npz"],
    ["evaluate", "a.mat"], ["protocols"],
    ["evaluate", "a.npz", "--protocol", "cuhk03-classic"]]
REFUSED = {
    "re-ranking: needs scipy": ["rerank", "a.npz"],
    "an analytic interval: needs scipy": [
        "evaluate", "a.npz", "--confidence", "--confidence-method", "analytic"],
    "an expectation over all galleries: needs scipy": [
        "evaluate", "prcc.npz", "--protocol", "prcc-single-shot"]}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """What each command line printed, by its words."""
    folder = tmp_path_factory.mktemp("files")
    data = reid_ref.read(MARKET)
    arrays = {f"{side}_{column}": getattr(getattr(data, side), column)
              for side in ("query", "gallery") for column in ("identity", "camera")}
    arrays.update(query_features=data.query_features, gallery_features=data.gallery_features)
    np.savez(folder / "a.npz", **arrays)
    cameras = {"query_camera": np.full(48, 1), "gallery_camera": np.zeros(345, int)}
    np.savez(folder / "prcc.npz", **{**arrays, **cameras})
    (folder / "folder").mkdir()
    for name, array in arrays.items():
        np.save(folder / "folder" / f"{name}.npy", array)
    savemat(folder / "a.mat", arrays)
    every = [*WORKS, *REFUSED.values()]
    child = subprocess.run([sys.executable, "-c", CHILD], input=json.dumps(every), cwd=folder,
                           text=True, capture_output=True, env={"PYTHONPATH": str(ROOT)})
    assert child.returncode == 0, child.stderr
    return dict(zip(map(tuple, every), json.loads(child.stdout)))


@pytest.mark.parametrize("words", WORKS, ids=" ".join)
def test_numpy_is_enough(words, done):
    status, out, err = done[tuple(words)]
    assert status == 0 and out and "scipy" not in err, err


@pytest.mark.parametrize(("sentence", "words"), REFUSED.items())
def test_what_needs_scipy_names_the_extra(sentence, words, done):
    status, _, err = done[tuple(words)]
    assert status == 2 and err.splitlines()[-1].startswith(f"reid-ref: error: {sentence} (")
    assert err.endswith('); pip install "reid-ref[scipy]"\n')


def test_learnt_metrics(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    refused("learnt metrics", "needs scipy", reid_ref.metric_learning.pca, np.eye(4), 2)
