"""`.ci/run` takes README's commands, then what did not pass there, with every package."""
import os
import re
import subprocess
import sys

from tests.documents import ROOT

FILES = {
    "pytest.ini": "[pytest]",
    "conftest.py": "from tests.conftest import pytest_addoption, pytest_configure",
    "test_whole.py": """
import pytest
our_lab = pytest.importorskip("our_lab")
@pytest.mark.parametrize("number", our_lab.NUMBERS)
def test_each(number): pass
""",
    "test_parts.py": """
import pytest
from importlib.util import find_spec
def test_plain(): pass
@pytest.mark.parametrize("kind", ["array", "tensor"] if find_spec("our_lab") else ["array"])
def test_kind(kind): pass
def test_skipped(): pytest.importorskip("our_lab")
@pytest.fixture
def lab(): return pytest.importorskip("our_lab")
def test_by_a_fixture(lab): pass
"""}


def test_what_did_not_pass_runs_again(tmp_path):
    def run(*words):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-v", "--numprocesses=2", *words], cwd=tmp_path,
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert done.returncode == 0, done.stdout
        return {*re.findall(r" PASSED test_(\S+)", done.stdout)}

    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    assert run() == {"parts.py::test_plain", "parts.py::test_kind[array]"}
    (tmp_path / "our_lab.py").write_text("NUMBERS = 1, 2")
    assert run("--not-passed") == {
        "parts.py::test_kind[tensor]", "parts.py::test_skipped", "parts.py::test_by_a_fixture",
        "whole.py::test_each[1]", "whole.py::test_each[2]"}


def test_the_commands_that_ci_takes_from_the_page():
    """The first is of those who use it, the second of those who change it."""
    sed, = re.findall(r"<\((sed .*?)\)$", (ROOT / ".ci/readme").read_text(), re.MULTILINE)
    first, second = subprocess.run(sed, shell=True, cwd=ROOT, check=True, text=True,
                                   stdout=subprocess.PIPE).stdout.splitlines()
    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert second == "sh tests/run"
