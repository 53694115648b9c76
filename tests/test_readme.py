"""What the README shows is what happens."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
CONSOLE = re.findall(r"^    \$ (reid-ref .*)\n((?:    .*\n|\n(?=    ))+)", README, re.MULTILINE)


def test_the_readme_shows_both_commands():
    assert [command for command, _ in CONSOLE] == [
        "reid-ref evaluate fixtures/market_like.mat",
        "reid-ref evaluate fixtures/market_like.mat --implementation all",
        "reid-ref explain fixtures/market_like.mat --from matlab --to torchreid"]


@pytest.mark.parametrize(("command", "shown"), [
    CONSOLE[0], pytest.param(*CONSOLE[1], marks=pytest.mark.octave), CONSOLE[2]],
    ids=["fast", "all", "explain"])
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
    code, loop = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 8
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    names["loader"] = [([[1., 0.]], [7], [1], True), ([[1., 0.], [0., 1.]], [7, 8], [2, 2], False)]
    exec(compile(loop, "README.md", "exec"), names)
    assert names["result"].mean_ap == 1.0
    assert capsys.readouterr().out.startswith("0.625 0.5 0.75 convention:matlab|")


def test_every_option_and_command_that_the_readme_names_exists():
    named = set(re.findall(r"--[a-z][a-z-]+", README)) - {"--check"}
    commands = {command for command in re.findall(r"[`$/] ?reid-ref ([a-z]+)\b", README)}
    assert len(named) >= 12 and len(commands) >= 8
    options = "".join(
        subprocess.run([sys.executable, "-m", "reid_ref.cli", command, "--help"],
                       capture_output=True, text=True, check=True).stdout for command in commands)
    assert {name for name in named if name not in options} == set()
