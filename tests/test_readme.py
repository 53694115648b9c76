"""What the README shows is what happens."""
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import reid_ref

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
CONSOLE = re.findall(r"^    \$ (reid-ref .*)\n((?:    .*\n|\n(?=    ))+)", README, re.MULTILINE)


def test_the_readme_shows_both_commands():
    assert [command for command, _ in CONSOLE] == [
        "reid-ref evaluate fixtures/market_like.mat",
        "reid-ref evaluate fixtures/market_like.mat --implementation all",
        "reid-ref explain fixtures/market_like.mat --from matlab --to torchreid",
        "reid-ref baseline fixtures/market_like.mat --driver market1501"]


@pytest.mark.parametrize(("command", "shown"), [
    CONSOLE[0], pytest.param(*CONSOLE[1], marks=pytest.mark.octave), *CONSOLE[2:]],
    ids=["fast", "all", "explain", "baseline"])
def test_screen(command, shown, request):
    if "all" in command:
        request.getfixturevalue("octave")
    done = subprocess.run([sys.executable, "-m", "reid_ref.cli", *command.split()[1:]], cwd=ROOT,
                          capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"})
    expected = [line[4:].rstrip() for line in shown.rstrip("\n").split("\n")]
    printed = [line.rstrip() for line in done.stdout.rstrip("\n").split("\n")]
    if "explain" in command:
        printed = printed[:len(expected)]  # the README shows the waterfall alone
    assert printed == expected


def test_the_python_example_runs(capsys):
    code, loop, rerank = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[:3]
    assert len([line for line in code.splitlines() if line]) <= 8
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    names["loader"] = [([[1., 0.]], [7], [1], True), ([[1., 0.], [0., 1.]], [7, 8], [2, 2], False)]
    exec(compile(loop, "README.md", "exec"), names)
    assert names["result"].mean_ap == 1.0
    features = np.random.default_rng(0).standard_normal((30, 8))
    exec(compile(rerank, "README.md", "exec"), {
        "reid_ref": reid_ref, "query_features": features[:2], "gallery_features": features[2:],
        "query": reid_ref.Labels([1, 2], [1, 1]),
        "gallery": reid_ref.Labels([1, 2] * 14, [2] * 28)})
    assert capsys.readouterr().out.startswith("0.625 0.5 0.75 convention:matlab|")


def test_every_option_and_command_that_the_readme_names_exists():
    named = set(re.findall(r"--[a-z][a-z-]+", README)) - {"--check"}
    commands = {command for command in re.findall(r"[`$/] ?reid-ref ([a-z-]+)\b", README)}
    assert len(named) >= 12 and len(commands) >= 8
    options = "".join(
        subprocess.run([sys.executable, "-m", "reid_ref.cli", command, "--help"],
                       capture_output=True, text=True, check=True).stdout for command in commands)
    assert {name for name in named if name not in options} == set()


def test_the_example_of_several_machines_runs(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[3]
    rng = np.random.default_rng(0)
    features = rng.standard_normal((3, 4)), rng.standard_normal((20, 4))
    for name, array in zip(("query", "gallery"), features):
        np.save(tmp_path / f"{name}.npy", array)
    monkeypatch.chdir(tmp_path)
    names = {"query": reid_ref.Labels([1, 2, 3], [1, 1, 1]),
             "gallery": reid_ref.Labels(np.arange(20) % 4, np.full(20, 2))}
    # A cluster of threads has no address of its own to give: the client makes one.
    code = code.replace("Client(address)", "Client(processes=False, dashboard_address=None)")
    exec(compile(code, "README.md", "exec"), names)
    expected = reid_ref.evaluate(*features, names["query"], names["gallery"])
    assert names["result"].mean_ap == expected.mean_ap
    assert names["result"].signature == expected.signature
