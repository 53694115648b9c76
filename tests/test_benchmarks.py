"""The benchmark runs, and measures what it says; how fast anything is, is not tested."""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reid_ref import Labels
from tests.nightly import cases

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import made
    import peers
    import table
    return made, peers, table


def test_made_labels_have_the_statistics_of_market1501(modules):
    made, _, _ = modules
    market = made.market()
    identity, camera = market.gallery.identity, market.gallery.camera
    assert len(market.query) == 3368 and len(market.gallery) == 19732
    assert len(np.unique(market.query.identity)) == 750
    assert set(market.query.camera) == set(camera) == {1, 2, 3, 4, 5, 6}
    assert np.count_nonzero(identity == -1) == 3819 and np.count_nonzero(identity == 0) == 2798
    good = [np.count_nonzero((identity == who) & (camera != where))
            for who, where in zip(market.query.identity, market.query.camera)]
    assert 14.5 < np.mean(good) < 14.9 and min(good) >= 1


def test_layumi_style_loop_by_hand(modules):
    """Kept 7 8 8 7 7, so good at 1, 4 and 5; then a query without a match."""
    _, peers, _ = modules
    gallery = Labels([7, -1, 8, 8, 7, 7, 7], [2, 2, 2, 2, 2, 2, 1])
    distances = np.tile(np.arange(7.0), (2, 1))
    by_hand = (1 + (1 / 3 + 2 / 4) / 2 + (2 / 4 + 3 / 5) / 2) / 3
    found = peers.layumi_loop(distances, Labels([7, 9], [1, 1]), gallery)
    assert found == pytest.approx(by_hand / 2, abs=1e-15)


@pytest.mark.parametrize(("work", "keys"), cases([("conventions", {"one", "all"})], [
    ("conventions", {"one", "all"}), ("growth", {"987", "2000", "4000"}),
    ("features", {"64", "128"}), ("intervals", {"market1501", "msmt17"}),
    ("larger", {"alone", "2 workers", "4 workers"})]))
def test_a_quick_run_writes_its_numbers(tmp_path, work, keys):
    output = tmp_path / "numbers.json"
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "run.py"), "--quick", "--only", work, "--output",
         str(output)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(output.read_text())
    measured = report["works"][work]
    found = {"conventions": lambda: set(measured["seconds"]), "intervals": lambda: set(measured),
             "features": lambda: set(measured),
             "larger": lambda: set(measured["cluster"]["times"]),
             "growth": lambda: {str(one["gallery"]) for one in measured["sizes"]}}[work]()
    assert found == keys and report["quick"] is True
    assert "| work" in done.stdout and report["machine"]["processor"]
