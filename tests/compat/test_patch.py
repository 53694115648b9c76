"""`python -m reid_ref.compat --patch`: scripts run unedited, made ones and torchreid's engine."""
import re
import subprocess
import sys

import pytest

from reid_ref.compat.patch import PATCHES
from tests.documents import ROOT
from tests.installed import version_of

SCRIPT = ROOT / "fixtures/compat/train_torchreid.py"

#: What a made toolbox defines, and how its script's evaluator gets at it: by name.
THEIRS = "def {name}(*arguments, **options):\n    return 'theirs'\n"


def run(folder, *arguments, patched=True):
    start = ["-m", "reid_ref.compat"] if patched else []
    return subprocess.run([sys.executable, *start, *map(str, arguments)], cwd=folder,
                          capture_output=True, text=True)


def make(folder, module, names):
    """A package whose module defines these functions, and one beside it that takes them."""
    path = folder.joinpath(*module.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    for parent in path.relative_to(folder).parents[:-1]:
        (folder / parent / "__init__.py").touch()
    path.write_text("".join(THEIRS.format(name=name) for name in names))
    (folder / "user.py").write_text(f"from {module} import {', '.join(names)}\n")


@pytest.mark.parametrize("toolbox, module", [
    (toolbox, module) for toolbox, modules in PATCHES.items() for module in modules])
def test_each_module_is_replaced_behind_its_import(tmp_path, toolbox, module):
    names = PATCHES[toolbox][module]
    make(tmp_path, module, names)
    (tmp_path / "train.py").write_text(
        f"import sys, user\nfrom {module} import {names[0]} as one\n"
        f"print(sys.argv, [getattr(user, name).__module__ for name in {names}],\n"
        "      one is getattr(user, one.__name__), __name__)\nsys.exit(7)\n")
    done = run(tmp_path, "--patch", toolbox, "train.py", "--patch", "x", "-h")
    where = {"transreid": "strong_baseline", "clip_reid": "strong_baseline",
             "solider": "strong_baseline"}.get(toolbox, toolbox)
    assert done.stdout == (
        "['train.py', '--patch', 'x', '-h'] "
        f"{[f'reid_ref.compat.{where}'] * len(names)} True __main__\n"), done.stderr
    assert done.returncode == 7
    assert done.stderr == (f"reid-ref: {module}: {', '.join(names)} replaced by "
                           f"reid_ref.compat.{toolbox}\n")
    unpatched = run(tmp_path, "train.py", patched=False)
    assert f"{[module] * len(names)}" in unpatched.stdout and unpatched.returncode == 7


def test_several_toolboxes_from_another_folder(tmp_path):
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    for toolbox in ("torchreid", "fastreid"):
        make(scripts, f"{toolbox}.{'metrics' if toolbox == 'torchreid' else 'evaluation'}.rank",
             ("evaluate_rank",))
    make(scripts, "fastreid.evaluation.roc", ("evaluate_roc",))
    (scripts / "train.py").write_text(
        "import fastreid.evaluation.roc as c\n"
        "import torchreid.metrics.rank as a, fastreid.evaluation.rank as b\n"
        "for one in a.evaluate_rank, b.evaluate_rank, c.evaluate_roc:\n"
        "    print(one.__module__)\n")
    done = run(tmp_path, "--patch", "torchreid,fastreid", scripts / "train.py")
    assert done.stdout.split() == [f"reid_ref.compat.{name}" for name in (
        "torchreid", "fastreid", "fastreid")], done.stderr
    assert done.returncode == 0 and done.stderr.count("\n") == 2  # one line a toolbox


def test_nothing_to_replace_is_said(tmp_path):
    (tmp_path / "train.py").write_text("raise RuntimeError('its own')\n")
    done = run(tmp_path, "--patch", "torchreid", "train.py")
    assert done.returncode == 1 and "RuntimeError: its own" in done.stderr
    assert "torchreid was not imported by train.py: nothing was replaced" in done.stderr


@pytest.mark.parametrize("arguments, message", [
    (["--patch", "torchried", "train.py"], "--patch: unknown 'torchried'"),
    (["--patch", "torchreid"], "required: SCRIPT"),
    (["train.py"], "required: --patch"),
    (["--patch", "torchreid", "nowhere.py"], "expected a Python file, got nowhere.py")])
def test_wrong_arguments(tmp_path, arguments, message):
    (tmp_path / "train.py").write_text("print('ran')\n")
    done = run(tmp_path, *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.nightly
def test_training_with_torchreids_engine(tmp_path):
    """The same digits, with its evaluator and with ours; only clocks may differ."""
    pytest.importorskip("torch")
    version_of("torchreid")
    plain, patched = (run(tmp_path, *start, SCRIPT, tmp_path, patched=bool(start))
                      for start in ([], ["--patch", "torchreid"]))
    assert plain.returncode == patched.returncode == 0, plain.stderr + patched.stderr
    results = plain.stdout.partition("** Results **")[2]
    assert len(re.findall(r"^(?:mAP|Rank-\d+ *): \d+\.\d%$", results, re.MULTILINE)) == 5
    clocks = re.compile(r"(time|data|eta|Speed|Elapsed)\S* [\d.:]+( \([\d.]+\))?")
    assert clocks.sub("", patched.stdout) == clocks.sub("", plain.stdout)
    said = [line for line in patched.stderr.splitlines() if line.startswith("reid-ref")]
    assert said == ["reid-ref: torchreid.reid.metrics.rank: evaluate_rank replaced by "
                    "reid_ref.compat.torchreid"]
