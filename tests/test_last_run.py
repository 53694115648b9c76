"""`.ci/run` takes README's commands, then what did not pass there, with every package."""
import os
import re
import shutil
import subprocess
import sys

import pytest

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


@pytest.mark.skipif(os.name != "posix", reason="CI's scripts are of bash")
def test_the_commands_of_the_page_run_in_an_environment_that_has_nothing_of_ours(tmp_path):
    """Each is run as it stands, until one fails; for the first and the second others are put."""
    page = (ROOT / "README.md").read_text()
    section, = re.findall(r"^## Two commands\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    first, second = re.findall(r"^    (.*)$", section, re.MULTILINE)
    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install ")
    assert second == "sh tests/run"

    for name in (".ci", ".venv"):
        (tmp_path / name).mkdir()
    shutil.copy(ROOT / ".ci/readme", tmp_path / ".ci")

    def run(*lines):
        text = page.replace(f"    {first}\n", f"    {lines[0]}\n")
        (tmp_path / "README.md").write_text(text.replace(f"    {second}\n", f"    {lines[1]}\n"))
        done = subprocess.run(
            [tmp_path / ".ci/readme"], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "REID_REF_PEERS": "required", "PYTHONPATH": str(ROOT)})
        return done.returncode, done.stdout.splitlines()

    lines = "test ! -e .venv && env > seen", "sh -c 'exit 3' && echo never"
    assert run(*lines) == (3, [f"$ {line}" for line in lines])
    assert not re.findall("^(?:REID_REF|PYTHON).*", (tmp_path / "seen").read_text(), re.MULTILINE)
    assert run("false && true", "echo never") == (1, ["$ false && true"])
