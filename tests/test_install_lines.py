"""Every line that a reader may paste from a page is run, or named here with the reason.

Screens (`$ reid-ref ...`) and the Python of docs/ are run by tests/test_docs.py, the screen of
`reid-ref scripts` in docs/proof.md by tests/test_readme.py.
"""
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import pasted
from tests.contributing import copy
from tests.documents import ROOT
from tests.installed import absent, version_of

#: Run by scripts, which have these words.
BY_SCRIPTS = {
    "sh tests/run": (".ci/run", "sh tests/run"),
    "sh tests/run tests/conventions": (".ci/release", "sh tests/run tests/"),
    ".venv/bin/flake8 && .venv/bin/mypy": (".ci/run", ".venv/bin/flake8\n.venv/bin/mypy\n"),
    ".ci/run": (".github/workflows/tests.yml", "run: .ci/run"),
    'python3 -m venv .venv-docs && . .venv-docs/bin/activate && python -m pip install "pip>=25.1" '
    "&& python -m pip install . --group docs && sphinx-build -W -n --keep-going -b html docs "
    "docs/_build": (".ci/docs", "'^    .*sphinx-build' CONTRIBUTING.md")}
#: Not run here, and why.
NOWHERE = {
    ".venv/bin/python fixtures/baselines/make.py Market-1501-v15.09.15 osnet_x0_25":
        "needs the data set; tests/test_baselines.py runs it on a made one"}
#: What makes a benchmark of minutes or an hour a small one.
SMALL = {"run.py": "--quick", "stages.py": ".02", "command_stages.py": ".02", "lock.py": ".02",
         "kernel.py": "", "interval_coverage.py": "--quick", "differences.py": "--quick",
         "methods.py": "--quick", "power.py": "--quick"}
#: The exit code where it is not 0: no convention prints the figures; the gate finds a loss.
EXIT_CODES = {"reid-ref validate": 1, "--fail-under mAP=55": 4}

SCREENS = {line for block in pasted.BLOCKS for line in block.lines
           if line.startswith("$ reid-ref ")}
IN_README = pasted.in_sentences(ROOT / "README.md")

KINDS = {
    "screen": lambda line: {line, f"$ {line}"} & SCREENS,
    "in README": lambda line: line.removeprefix("$ ") in IN_README,
    "by a script": BY_SCRIPTS.__contains__,
    "nowhere": NOWHERE.__contains__,
    "here": re.compile(r"reid-ref |python -m reid_ref\.testing").match,
    "benchmark": re.compile(f"python benchmarks/({'|'.join(SMALL)})$").match,
    "environment": re.compile(
        r"python3 -m venv |(python -m )?pip install |\.venv/bin/(pip|reid-ref) |"
        r"python -m (pytest|flake8)\b").match}


def kind(line):
    return next((name for name, holds in KINDS.items() if holds(line)), None)


def of_kind(*kinds):
    return [block for block in pasted.BLOCKS if {kind(line) for line in block.lines} & {*kinds}]


def test_every_line_is_run_or_has_a_reason():
    assert len(pasted.BLOCKS) > 60
    unknown = [f"{block.page}: {line}" for block in pasted.BLOCKS for line in block.lines
               if kind(line) is None]
    assert unknown == []
    lines = {line for block in pasted.BLOCKS for line in block.lines}
    assert BY_SCRIPTS.keys() <= lines and NOWHERE.keys() <= lines


@pytest.mark.parametrize("line", BY_SCRIPTS)
def test_a_script_runs_what_is_left_to_it(line):
    script, words = BY_SCRIPTS[line]
    assert words in (ROOT / script).read_text()


@pytest.mark.parametrize("block", of_kind("here"), ids=str)
def test_lines_as_pasted(block, tmp_path):
    if ".pt " in block.lines[0]:
        version_of("torch")
    if " report " in " ".join(block.lines):
        version_of("jinja2")
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    for line in block.lines:
        done = pasted.run(line, tmp_path)
        expected = [code for words, code in EXIT_CODES.items() if words in line] or [0]
        assert [done.returncode] == expected, f"{line}\n{done.stdout}{done.stderr}"


# ------------------------------------------------------------------ environments

#: README's line for users, and what it installs beside reid-ref.
README_LINE = next(block.lines[0] for block in of_kind("environment") if block.page == "README.md")


def installed_by(requirement, found):
    """Add the names of distributions that pip installs for a requirement."""
    name = re.sub("[-_.]+", "-", requirement.name).lower()
    if (name, *requirement.extras) in found:
        return
    found.add((name, *requirement.extras))
    for each in map(Requirement, importlib.metadata.requires(name) or ()):
        if each.marker is None or any(each.marker.evaluate({"extra": extra})
                                      for extra in {"", *requirement.extras}):
            installed_by(each, found)


def other_modules(*requirements):
    """Return the modules that are installed here, and would not be for these requirements."""
    found = set()
    for requirement in requirements:
        installed_by(Requirement(requirement), found)
    names = {name for name, *_ in found}
    return sorted(module for module, owners in importlib.metadata.packages_distributions().items()
                  if module.isidentifier() and not module.startswith("_")
                  and names.isdisjoint(re.sub("[-_.]+", "-", owner).lower() for owner in owners))


#: README.md in a process of its own: Python, screens, and the commands in its sentences.
README_RUNS = """
import sys
from pathlib import Path

sys.modules.update(dict.fromkeys(sys.argv[2:]))
from tests import pasted, test_readme
folder = Path(sys.argv[1])
test_readme.run_screens_and_python(folder)
for line in pasted.in_sentences(pasted.ROOT / "README.md"):
    done = pasted.run(line, folder)
    assert done.returncode == ("validate" in line), (line, done.stdout, done.stderr)
    print(line)
"""


def run_readme(python, folder, *blocked, **environment):
    folder.mkdir()
    done = subprocess.run([python, "-W", "error", "-c", README_RUNS, str(folder), *blocked],
                          cwd=ROOT, env={**os.environ, **environment}, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    assert "reid-ref report" in done.stdout and done.stdout.count("\n") > 10


def test_readme_with_what_its_line_installs_alone(tmp_path):
    """No other package can be imported, but for pytest's."""
    extras, = re.findall(r'pip install "\.\[([\w,]+)\]"', README_LINE)
    try:
        blocked = other_modules(f"reid-ref[{extras}]", "pytest")
    except importlib.metadata.PackageNotFoundError as missing:
        absent(f"{missing.name} is not installed")
    assert "hypothesis" in blocked and not {"scipy", "matplotlib", "jinja2", "PIL"} & {*blocked}
    run_readme(sys.executable, tmp_path / "readme", *blocked)


def clean(folder):
    """An environment of a reader: a new home, no variable of ours, no program of this one."""
    (folder / "bin").mkdir()
    (folder / "bin/python3").symlink_to(sys._base_executable)
    kept = {name: value for name, value in os.environ.items() if re.fullmatch(
        "PIP_.*|(HTTPS?|NO)_PROXY|SSL_CERT_FILE|REQUESTS_CA_BUNDLE", name, re.IGNORECASE)}
    return {**kept, "HOME": str(folder), "PIP_REQUIRE_VIRTUALENV": "1",
            "PATH": f"{folder}/bin:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
            "PYTEST_ADDOPTS": "--numprocesses=auto"}


@pytest.mark.nightly
@pytest.mark.parametrize("block", of_kind("environment"), ids=str)
def test_an_environment_of_its_own(block, tmp_path):
    copy(tmp_path / "checkout")
    environment = clean(tmp_path)
    lines = [f"{line} {SMALL[line.rpartition('/')[2]]}" if kind(line) == "benchmark" else line
             for line in block.lines]
    done = subprocess.run(["sh", "-eu", "-c", "\n".join(lines)], cwd=tmp_path / "checkout",
                          env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-5000:]
    if block.lines[0] == README_LINE:
        python = tmp_path / "checkout/.venv/bin/python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--target", tmp_path / "tools",
                        "pytest"], env=environment, check=True)
        run_readme(python, tmp_path / "readme", PYTHONPATH=str(tmp_path / "tools"))


@pytest.mark.nightly
@pytest.mark.parametrize("block", [
    block for block in of_kind("benchmark") if block not in of_kind("environment")], ids=str)
def test_benchmarks_as_pasted(block):
    for line in block.lines:
        _, script = line.split()
        small = SMALL[Path(script).name].split()
        done = subprocess.run([sys.executable, script, *small], cwd=ROOT, text=True,
                              capture_output=True)
        assert done.returncode == 0 and re.search(r"\d\.\d", done.stdout), done.stderr


def test_no_benchmark_hides_a_package():
    """What is run from that folder imports its modules first."""
    ours = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    packages = importlib.metadata.packages_distributions().keys()
    assert ours & {*packages, *sys.stdlib_module_names} == set()


def test_a_benchmark_without_a_package_names_it(tmp_path):
    """What needs scipy is left out, in one line; all else is measured."""
    (tmp_path / "scipy.py").write_text("raise ModuleNotFoundError('No module named scipy')")
    done = subprocess.run(
        [sys.executable, "benchmarks/run.py", "--quick", "--only", "commands", "rerank", "search",
         "protocols", "start"], cwd=ROOT, text=True, capture_output=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    for work in ("commands", "rerank", "search", "protocols"):
        assert f"left out: {work}: pip install scipy\n" in done.stdout
    assert "(d) reid-ref --help" in done.stdout
