"""The benchmark runs, and measures what it says; how fast anything is, is not tested."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.nightly import cases

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


CONVENTIONS = "conventions", {"one", "all", "matlab", "torchreid", "both"}


@pytest.mark.parametrize(("work", "keys"), cases([CONVENTIONS], [
    CONVENTIONS, ("growth", {"987", "2000", "4000"}),
    ("protocols", {"sysu", "vehicleid", "sysu plain", "vehicleid plain"}),
    ("features", {"64", "128"}), ("intervals", {"market1501", "msmt17"}),
    ("search", {"ours", "theirs", "without re-ranking"}),
    ("thresholds", {"features", "distances"}),
    ("larger", {"alone", "2 workers", "4 workers"})]))
def test_a_quick_run_writes_its_numbers(tmp_path, work, keys):
    output = tmp_path / "numbers.json"
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "run.py"), "--quick", "--only", work, "--output",
         str(output)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(output.read_text())
    measured = report["works"][work]
    names = {"conventions": lambda: set(measured["seconds"]),
             "protocols": lambda: set(measured["seconds"]), "intervals": lambda: set(measured),
             "features": lambda: set(measured), "thresholds": lambda: set(measured),
             "search": lambda: set(measured["same ways"]) - {
                 "ways", "our bytes", "their bytes"},
             "larger": lambda: set(measured["cluster"]["times"]),
             "growth": lambda: {str(size["gallery"]) for size in measured["sizes"]}}[work]()
    assert names == keys and report["quick"] is True
    assert "| work" in done.stdout and report["machine"]["processor"]


def test_the_power_of_the_test_is_that_of_two_tests():
    """In every cell there are two shares, and a large difference is found by both."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "power.py"), "--quick", "--resamples", "99"],
        capture_output=True, text=True, check=True)
    rows = [[tuple(map(float, cell.split(", "))) for cell in line.split(" | ")[1:]]
            for line in done.stdout.removesuffix(" |\n").replace(" |\n", "\n").splitlines()[2:]]
    assert [len(row) for row in rows] == [5] * 4
    assert all(row[-1][0] >= 80 and row[-1][1] >= row[-1][0] for row in rows)
    assert all(row[0][0] <= 25 for row in rows)
