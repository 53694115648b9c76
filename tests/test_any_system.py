"""What Linux alone has is taken away: the package is imported and works without it.

`tests/elsewhere/sitecustomize.py` takes it away, in a process and in those that it starts.
"""
import os
import re
import subprocess
import sys

import pytest

from tests.commands.common import MARKET
from tests.documents import ROOT

ELSEWHERE = ROOT / "tests/elsewhere"
EVERY_MODULE = """
import pkgutil, reid_ref
for module in pkgutil.walk_packages(reid_ref.__path__, "reid_ref."):
    if not module.name.endswith("__main__"):
        __import__(module.name)
"""
FUNCTIONS = """
from tests.commands import faulty
from tests.commands.test_crosscheck import crosscheck, data

def here(*arrays):
    return faulty.sound(*arrays)

crosscheck(here, *data())
"""


def python(folder, *words):
    """Run Python where there is nothing of Linux; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", *map(str, words)], cwd=folder,
        capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ELSEWHERE), str(ROOT)])})
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("code", [
    "import resource", "import os; os.fork()", "open('/proc/meminfo', encoding='ascii')",
    "exec('open(0)', {'__name__': 'reid_ref.x'})",
    "from pathlib import Path; exec(\"Path('x').read_text()\", {'__name__': 'reid_ref.x', "
    "'Path': Path})"])
def test_what_linux_alone_has_is_absent(tmp_path, code):
    assert python(tmp_path, "-c", code)[0] == 1


def test_every_module_imports(tmp_path):
    assert python(tmp_path, "-c", EVERY_MODULE) == (0, "", "")


@pytest.mark.parametrize(("command", "shown"), [
    ("evaluate FILE --per-query q.json", "mAP"), ("scripts FILE --only port", "mAP"),
    ("compare FILE FILE --name A --name B", "mAP"), ("report FILE -o r.html", "r.html"),
    ("evaluate FILE --save r.run", "r.qrels"),
    ("crosscheck FILE --evaluator tests.commands.faulty:sound", "EQUAL to convention torchreid"),
    ("crosscheck FILE --evaluator hang.py:f --timeout 3", "gave no answer within 3 seconds")])
def test_commands_run(tmp_path, command, shown):
    (tmp_path / "hang.py").write_text("def f(a, b, c):\n    while True:\n        pass\n")
    code, out, err = python(tmp_path, "-m", "reid_ref", *command.replace("FILE", MARKET).split())
    assert code == ("no answer" in shown), err
    assert shown in " ".join(out.split()) and "Traceback" not in err, err


def test_functions_need_a_fork(tmp_path):
    (tmp_path / "script.py").write_text(FUNCTIONS)
    code, out, err = python(tmp_path, "script.py")
    assert (code, out) == (1, "") and re.search(
        "InputError: evaluator: expected module:function or file.py:function, since this system "
        "has no fork, got <function here", err)


def test_unknown_memory_counts_as_enough(tmp_path):
    code = ("from reid_ref.arrays import memory\n"
            "memory.check_fits(2**40, 'r.npz', 'an array', 'leave it out')\n"
            "print(memory.bytes_of(None) == memory.DEFAULT)")
    assert python(tmp_path, "-c", code) == (0, "True\n", "")
