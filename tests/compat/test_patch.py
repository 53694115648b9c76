"""`compat.patch`: made toolboxes, whoever imported their evaluators, and torchreid's engine."""
import importlib
import re
import subprocess
import sys

import pytest

from reid_ref import compat
from reid_ref.compat.common import PATCHES
from tests.documents import ROOT
from tests.installed import version_of
from tests.refusals import refused

SCRIPT = ROOT / "fixtures/compat/train_torchreid.py"
MADE = "def {name}(*arguments, **options):\n    return 'theirs'\n"


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return what writes a package whose module defines some functions; none is left imported."""
    def write(module, names):
        path = tmp_path.joinpath(*module.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        for parent in path.relative_to(tmp_path).parents[:-1]:
            (tmp_path / parent / "__init__.py").touch()
        path.write_text("".join(MADE.format(name=name) for name in names))
        (tmp_path / "user_of_made.py").write_text(
            f"from {module} import {names[0]} as function\n")

    modules = sys.modules.copy()
    for name in list(sys.modules):
        if name.split(".")[0] in {module.split(".")[0] for modules in PATCHES.values()
                                  for module in modules}:
            del sys.modules[name]
    monkeypatch.syspath_prepend(tmp_path)
    yield write
    sys.modules.clear()
    sys.modules.update(modules)


@pytest.mark.parametrize("imported_first", [True, False])
@pytest.mark.parametrize("toolbox, module", [
    (toolbox, module) for toolbox, modules in PATCHES.items() for module in modules])
def test_each_module(make, toolbox, module, imported_first):
    names = PATCHES[toolbox][module]
    make(module, names)
    if imported_first:
        user = __import__("user_of_made")
        assert user.function() == "theirs"
    assert compat.patch(toolbox) == [f"{module}.{name}" for name in names]
    ours = getattr(compat, toolbox)
    for name in names:
        assert getattr(sys.modules[module], name) is getattr(ours, name)
    assert __import__("user_of_made").function is getattr(ours, names[0])


def bindings(*modules):
    """Every name of these modules, with what it is bound to."""
    return {(module.__name__, name): value for module in modules
            for name, value in vars(module).items() if not name.startswith("__")}


@pytest.mark.parametrize("toolbox", PATCHES)
def test_a_patch_for_a_block(make, toolbox):
    module, names = next(iter(PATCHES[toolbox].items()))
    make(module, names)
    user, theirs = __import__("user_of_made"), importlib.import_module(module)
    ours = importlib.import_module(f"reid_ref.compat.{toolbox}")
    before, own = bindings(user, theirs), bindings(ours)
    with compat.patched(toolbox) as replaced:
        assert replaced == [f"{module}.{name}" for name in names]
        assert user.function is getattr(ours, names[0]) is getattr(theirs, names[0])
    assert bindings(user, theirs) == before and bindings(ours) == own
    with pytest.raises(KeyError), compat.patched(toolbox):
        raise KeyError
    assert bindings(user, theirs) == before
    with compat.patched(toolbox):
        user.function = None  # whoever binds the name anew means it
    assert user.function is None


def test_what_cannot_be_patched_for_a_block(make, tmp_path):
    """What was replaced before the toolbox turned out to be broken is put back."""
    (first, names), (second, more) = PATCHES["fastreid"].items()
    make(second, more)
    make(first, names)
    tmp_path.joinpath(*second.split(".")).with_suffix(".py").write_text("import not_installed\n")
    user = __import__("user_of_made")
    with pytest.raises(ModuleNotFoundError, match="not_installed"), compat.patched("fastreid"):
        pass
    assert user.function() == "theirs"


def test_what_cannot_be_patched(make, tmp_path):
    refused("toolbox", "unknown 'torchried'", compat.patch, "torchried")
    refused("toolbox", "a module tools.eval_metrics", compat.patch, "ccreid")
    make("tools.eval_metrics", ["evaluate"])
    (tmp_path / "tools/eval_metrics.py").write_text("import not_installed\n")
    with pytest.raises(ModuleNotFoundError, match="not_installed"):
        compat.patch("ccreid")


@pytest.mark.nightly
def test_training_with_torchreids_engine(tmp_path):
    """The same digits, with its evaluator and with ours; only clocks may differ."""
    pytest.importorskip("torch")
    version_of("torchreid")
    plain, patched = (
        subprocess.run([sys.executable, SCRIPT, tmp_path, *words], cwd=tmp_path,
                       capture_output=True, text=True) for words in ([], ["patched"]))
    assert plain.returncode == patched.returncode == 0, plain.stderr + patched.stderr
    results = plain.stdout.partition("** Results **")[2]
    assert len(re.findall(r"^(?:mAP|Rank-\d+ *): \d+\.\d%$", results, re.MULTILINE)) == 5
    clocks = re.compile(r"(time|data|eta|Speed|Elapsed)\S* [\d.:]+( \([\d.]+\))?")
    assert clocks.sub("", patched.stdout) == clocks.sub("", plain.stdout)
    assert "['torchreid.reid.metrics.rank.evaluate_rank']" in patched.stderr
