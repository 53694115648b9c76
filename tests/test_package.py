"""What is shipped: the package as installed, its metadata, the action, the hook, the man page."""
import configparser
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import numpy as np
import pytest
import yaml

import reid_ref
from reid_ref.arrays.cores import LIMITS, available
from reid_ref.cli import about
from reid_ref.cli.parser import AUTHOR, make_parser
from tests.documents import ROOT, command
from tests.installed import version_of

SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg")
RECIPE, ACTION, HOOKS, CITATION = (yaml.safe_load((ROOT / name).read_text()) for name in (
    "recipe/meta.yaml", "action.yml", ".pre-commit-hooks.yaml", "CITATION.cff"))


def source(folder):
    """Copy what a wheel is built from: a build leaves files beside it."""
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("reid_ref", "matlab_ref"):
        shutil.copytree(ROOT / name, folder / name)
    return folder


def setuptools(folder, *command):
    done = subprocess.run(
        [sys.executable, "-c", "import setuptools; setuptools.setup()", "-q", *command],
        cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """An environment that holds the package as a wheel would, and what it needs by reference."""
    folder = source(tmp_path_factory.mktemp("source"))
    setuptools(folder, "build_py", "--build-lib", "built")
    venv = tmp_path_factory.mktemp("venv") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": venv, "platbase": venv}))
    shutil.copytree(folder / "built/reid_ref", packages / "reid_ref")
    (packages / "others.pth").write_text("\n".join(
        path for path in sys.path if path.endswith("site-packages")))
    return venv


def run(installed, code, folder):
    return subprocess.run([installed / "bin/python", "-I", "-c", code], cwd=folder,
                          capture_output=True, text=True)


# ---------------------------------------------------------------- what is installed

def test_the_package_is_whole(installed, tmp_path):
    """Every room, table and MATLAB script is there, and works away from the checkout."""
    done = run(installed, "import reid_ref, sys; print(reid_ref.__file__)", tmp_path)
    assert done.stdout.startswith(str(installed)), done.stderr
    package = Path(done.stdout.strip()).parent
    here = {path.relative_to(ROOT / "reid_ref") for path in (ROOT / "reid_ref").rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}
    there = {path.relative_to(package) for path in package.rglob("*")
             if path.is_file() and "__pycache__" not in path.parts}
    assert there == here | {Path("matlab_ref", path.name)
                            for path in (ROOT / "matlab_ref").glob("*.m")}
    shutil.copy(ROOT / "fixtures/market_like.mat", tmp_path)
    done = run(installed, "from reid_ref.cli import main; main(['evaluate', 'market_like.mat', "
                          "'--expect', 'mAP=40.16'])", tmp_path)
    assert "0.40163529834691447" in done.stdout and "failed" not in done.stderr


@pytest.mark.nightly
def test_a_strictly_typed_file_of_a_user(installed, tmp_path):
    client = (ROOT / "tests/typed_client.py").read_text()  # .ci/release gives it to pyright, too
    wrong = ["text: str = numbers()", "reid_ref.Result.map", "reid_ref.compat.torchreid.rank"]
    (tmp_path / "mine.py").write_text("\n".join([client, *wrong]))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable",
         str(installed / "bin/python"), "--cache-dir", str(tmp_path / "cache"), "mine.py"],
        cwd=tmp_path, capture_output=True, text=True)
    found = re.findall(r"^mine.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE)
    assert [kind for _, kind in found] == ["assignment", "attr-defined", "attr-defined"], done
    assert int(found[0][0]) == client.count("\n") + 2 and "Found 3 errors in 1 file" in done.stdout


def test_the_source_archive_holds_what_the_tests_need(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout, so what belongs to it is not known")
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.split("\n")[:-1]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    setuptools(tmp_path, "sdist", "--formats", "gztar")
    archive, = (tmp_path / "dist").iterdir()
    listed = subprocess.run(["tar", "tzf", archive], capture_output=True, text=True).stdout
    inside = {name.partition("/")[2] for name in listed.splitlines() if not name.endswith("/")}
    assert set(files) - inside == {".gitignore"}
    assert {name for name in inside - set(files) if ".egg-info/" not in name} == {"PKG-INFO"}


# ---------------------------------------------------------------- what it says of itself

def test_the_version_is_one():
    version = reid_ref.__version__
    assert (RECIPE["package"]["version"], CITATION["version"]) == (version, version)
    assert RECIPE["source"]["url"].endswith(f"/reid_ref-{version}.tar.gz")


def test_the_authors_are_the_same_everywhere():
    holder, = re.findall(r"Copyright \(c\) \d+ (.*)", (ROOT / "LICENSE").read_text())
    assert [author["name"] for author in CITATION["authors"]] == [holder]
    assert holder == SETUP["metadata"]["author"] == AUTHOR


def test_the_extras_are_those_that_version_lists():
    extras = {extra: [re.match("[a-z0-9]+", line)[0] for line in needs.split("\n") if line]
              for extra, needs in SETUP["options.extras_require"].items()}
    assert extras == {extra: [*packages] for extra, packages in about.EXTRAS.items()}


def test_the_line_that_builds_the_site():
    """It is one, takes a pip that knows --group, and that group has what the examples need."""
    line, = re.findall("^    .*sphinx-build.*", (ROOT / "CONTRIBUTING.md").read_text(),
                       re.MULTILINE)
    steps = line.strip().split(" && ")
    assert steps.index('python -m pip install "pip>=25.1"') < steps.index(
        "python -m pip install . --group docs")
    needs = {re.match("[a-z0-9-]+", need)[0] for need in
             tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["docs"]}
    assert {"sphinx", *about.EXTRAS["report"]} <= needs


def test_what_a_report_of_a_fault_needs(monkeypatch):
    for name in LIMITS:  # dask sets them
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    available.cache_clear()
    rows = dict(line.split(maxsplit=1) for line in
                command("--version", "--verbose").stdout.splitlines())
    available.cache_clear()
    assert (rows["reid-ref"], rows["numpy"]) == (reid_ref.__version__, np.__version__)
    assert rows["Python"].startswith(platform.python_version()) and "blas" in rows["BLAS"].lower()
    assert rows["processors"] == f"1 usable of {os.cpu_count()}, OMP_NUM_THREADS=1"
    assert rows["[scipy]"] == f"scipy {version_of('scipy')}"
    assert {name[1:-1] for name in rows if name[0] == "["} == set(about.EXTRAS)
    monkeypatch.setitem(about.EXTRAS, "scipy", ("nothing-of-this-name",))
    assert "\n[scipy]           nothing-of-this-name not installed\n" in about.environment()


def test_the_scripts_install_groups_and_extras_that_there_are():
    groups = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    scripts = "".join((ROOT / name).read_text() for name in (
        "tests/run", ".ci/run", "CONTRIBUTING.md", "action.yml"))
    assert set(re.findall(r"--group (\w+)", scripts)) == {*groups} - {"requires"}
    named = ",".join(re.findall(r"(?:\.|PATH|wheel)\[([\w,]+)\]", scripts)).split(",")
    assert {"hdf5", "report", "scipy"} <= set(named) <= about.EXTRAS.keys()


def test_the_workflows_run_what_is_here():
    """Scripts that there are, and on other systems the lines of CONTRIBUTING.md."""
    workflows = {path.stem: yaml.safe_load(path.read_text())
                 for path in (ROOT / ".github/workflows").glob("*.yml")}
    assert set(workflows) == {"tests", "docs", "release"}
    lines = {name: [step["run"] for step in job["steps"] if "run" in step]
             for workflow in workflows.values() for name, job in workflow["jobs"].items()}
    assert lines["all"] == [".ci/run"] and lines["linux"] == ["sh tests/run"]
    for line in {*lines["all"], *lines["build"], ".ci/workflows", ".ci/arm64", ".ci/readme"}:
        assert os.access(ROOT / line, os.X_OK), line
    page = (ROOT / "CONTRIBUTING.md").read_text()
    for line in lines["systems"]:
        assert f"    {line}\n" in page or line.startswith(("git ", "python -m reid_ref")), line
    assert {job.get("environment") for job in workflows["release"]["jobs"].values()} == {
        None, "pypi"}


def test_the_recipe_needs_what_the_package_needs():
    options = SETUP["options"]
    assert [line.replace(" ", "") for line in RECIPE["requirements"]["run"]] == [
        f"python{options['python_requires']}", *(
            need for need in options["install_requires"].split("\n")[1:] if ";" not in need)]
    assert RECIPE["build"]["entry_points"] == [
        SETUP["options.entry_points"]["console_scripts"].strip()]
    build, = re.findall(r'requires = \["(.*?)"\]', (ROOT / "pyproject.toml").read_text())
    assert build in [line.replace(" ", "") for line in RECIPE["requirements"]["host"]]
    assert RECIPE["about"]["license"] == SETUP["metadata"]["license"] == CITATION["license"]


# ---------------------------------------------------------------- the man page

def test_the_man_page_has_every_command_and_option():
    page = subprocess.run([sys.executable, ROOT / "docs/man.py"], capture_output=True, text=True,
                          check=True).stdout
    text = page.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")
    commands = make_parser()._subparsers._group_actions[0].choices
    assert len(commands) > 12
    for name, parser in commands.items():
        section = text.partition(f'.SH "{name.upper()}"')[2].partition(".SH")[0]
        assert f".B reid-ref {name}\n" in section
        for action in parser._actions:
            assert " ".join((action.help or "").split()) in section
            assert ", ".join(action.option_strings) in section
    assert not re.search(r"^[.'](?!TH |SH |B |I |PP$|TP$)", page, re.MULTILINE)


# ---------------------------------------------------------------- the action and the hook

@pytest.fixture
def runner(tmp_path, monkeypatch):
    """A folder in which the steps of the action run as they stand, but for the installation."""
    bin = tmp_path / "temp/reid-ref/bin"
    bin.mkdir(parents=True)
    (bin / "reid-ref").write_text(f'#!/bin/sh\nexec {sys.executable} -m reid_ref "$@"\n')
    (bin / "reid-ref").chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    shutil.copy(ROOT / "fixtures/market_like.mat", tmp_path / "market.mat")
    return tmp_path


def step(name, folder, action=ROOT, **inputs):
    """Run a step with inputs, the others at their defaults; return the finished process."""
    given = {key: inputs.get(key.replace("-", "_"), one.get("default"))
             for key, one in ACTION["inputs"].items()}
    found, = (one for one in ACTION["runs"]["steps"] if one["name"] == name)
    assert found["shell"] == "bash"
    environment = {key: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda key: given[key[1]], text)
                   for key, text in found.get("env", {}).items()}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]], cwd=folder,
        capture_output=True, text=True, env={
            **os.environ, **environment, "RUNNER_TEMP": str(folder / "temp"),
            "GITHUB_ACTION_PATH": str(action), "GITHUB_OUTPUT": str(folder / "output")})


@pytest.mark.parametrize(("inputs", "status", "failed"), [
    ({"expect": "mAP=40.16,Rank-1=45.83", "strict": "true"}, 0, ""),
    ({"expect": "mAP=39.71", "convention": "torchreid", "tolerance": "0.02"}, 0, ""),
    ({"expect": "mAP=40.17"}, 3, "failed: --expect: mAP is 40.163529834691447, expected 40.17"),
    ({"fail_under": "mAP=60,Rank-1=40"}, 4, "failed: --fail-under: mAP is 40.16"),
    ({"protocol": "cargo", "part": "gg"}, 0, ""), ({"protocol": "cargo"}, 2, "--part"),
    ({"baseline": "base.json"}, 5, "failed: --baseline: significantly worse than base.json"),
    ({"baseline": "base.json", "tolerance": "0.5"}, 5, "points below 93.75, the margin is 0.5"),
    ({"files": "\n market.mat\n\n", "fail_under": "mAP=40"}, 0, ""), ({"files": "a"}, 2, "a"),
    ({"set": "ap=step", "expect": "mAP=42.11"}, 0, ""), ({"normalize": "perhaps"}, 2, "perhaps"),
    ({"metric": "cosine", "normalize": "true", "expect": "mAP=40.16"}, 0, ""),
    ({"metric": "euclid"}, 2, "--metric"), ({"measure": "mAP@R"}, 0, ""),
    ({"map": "query_features=query_f"}, 0, ""), ({"map": "query_f"}, 2, "--map"),
    ({"labels": "none.csv\nother.csv"}, 2, "none.csv"), ({"trials": "a.json"}, 2, "--protocol")])
def test_the_action_evaluates(inputs, status, failed, runner):
    if "baseline" in inputs:
        _every_query_first(runner)
    done = step("Evaluate", runner, **{"files": "market.mat", **inputs})
    assert done.returncode == status, done.stderr
    assert failed in done.stderr
    assert len(results_of(runner)) == (status == 0)


@pytest.mark.parametrize(("files", "has_torch"), [
    ("a.mat", False), ("a.h5 b.npz", False), ("a.pt", True), ("x.npz\na.pth", True),
    ("a.pkl", True)])
def test_the_action_installs_what_the_files_need(files, has_torch, tmp_path, monkeypatch):
    """`python3 -m venv` makes a stub here, which writes down what it is to install."""
    stub = tmp_path / "python3"
    stub.write_text('#!/bin/sh\nmkdir -p "$3/bin"\nprintf \'#!/bin/sh\\necho "$@" >> log\\n\' '
                    '> "$3/bin/python"\nchmod +x "$3/bin/python"\n')
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    done = step("Install reid-ref", tmp_path, files=files)
    assert done.returncode == 0, done.stderr
    install = "-m pip install --quiet"
    assert (tmp_path / "log").read_text().splitlines() == [
        f"{install} {ROOT}[hdf5,scipy]", *([f"{install} torch"] if has_torch else [])]


def results_of(runner):
    """Return the files that the steps named as their outputs."""
    output = runner / "output"
    lines = output.read_text().splitlines() if output.exists() else []
    assert [line for line in lines if not line.startswith("result=")] == []
    return [Path(line.removeprefix("result=")) for line in lines]


@pytest.mark.parametrize(("strict", "status"), [
    ("true", 1), ("True", 1), ("TRUE", 1), ("false", 0), ("False", 0), ("FALSE", 0),
    ("yes", 2), ("on", 2), ("1", 2), ("", 2), (" true", 2), ("true\nfalse", 2), ("*", 2)])
def test_the_action_knows_what_strict_says(strict, status, runner):
    # A ranking that is worse than chance is a finding of the doctor.
    data = reid_ref.read(runner / "market.mat")
    features = {"query_f": data.query_features, "gallery_f": -data.gallery_features}
    sides = {"query": data.query, "gallery": data.gallery}
    np.savez(runner / "strange.npz", **features, **{
        f"{side}_{name}": getattr(labels, field) for side, labels in sides.items()
        for name, field in (("label", "identity"), ("cam", "camera"))})
    done = step("Evaluate", runner, files="strange.npz", strict=strict)
    assert done.returncode == status, done.stderr
    assert ("strict" in done.stderr) == (status != 0)
    assert len(results_of(runner)) == (status == 0)


def test_each_use_of_the_action_has_a_file_of_its_own(runner):
    for convention in ("matlab", "torchreid"):
        assert step("Evaluate", runner, files="market.mat", convention=convention).returncode == 0
    assert step("Evaluate", runner, files="missing.mat").returncode == 2
    signatures = [json.loads(path.read_text())["signature"] for path in results_of(runner)]
    assert [signature.partition("|")[0] for signature in signatures] == [
        "convention:matlab", "convention:torchreid"]


def _every_query_first(runner):
    """Write a baseline that has every match first."""
    data = reid_ref.read(runner / "market.mat")
    is_wrong = data.query.identity[:, np.newaxis] != data.gallery.identity
    with pytest.warns(reid_ref.UnmatchedWarning):
        result = reid_ref.evaluate_distances(is_wrong.astype(float), data.query, data.gallery)
    result.save(runner / "base.json")


def test_no_input_is_code(runner):
    """Inputs reach the shell as variables: what stands in them is never run."""
    done = step("Evaluate", runner, files="market.mat",
                expect="$(touch made)`touch made`;touch made")
    assert done.returncode == 2 and not (runner / "made").exists()
    for one in ACTION["runs"]["steps"]:
        assert "${{" not in one["run"]
        assert set(one.get("env", {}).values()) <= {
            f"${{{{ inputs.{key} }}}}" for key in ACTION["inputs"]}


def test_the_hook_checks_tables(tmp_path):
    hook, = HOOKS
    assert hook["language"] == "python" and hook["types_or"] == ["markdown", "html", "tex"]
    (tmp_path / "a.md").write_text("| x | Market R-1 |\n|--|--|\n| a | 94.2 |\n")
    (tmp_path / "b.md").write_text("| x | Market R-1 |\n|--|--|\n| a | 942 |\n")
    program, *words = hook["entry"].split()
    assert program == SETUP["options.entry_points"]["console_scripts"].split()[0]
    for files, status in ((["a.md"], 0), (["a.md", "b.md"], 1)):
        assert command(*words, *files, cwd=tmp_path).returncode == status
