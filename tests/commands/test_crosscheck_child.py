"""Evaluators that crash, hang, exit, print or spoil: each ends in a true, plain sentence."""
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from reid_ref.text.plain import json_values
from reid_ref.commands.crosscheck.command import as_text
from tests.cases import save
from tests.commands import faulty
from tests.commands.common import assert_one_line_error, command
from tests.commands.test_crosscheck import crosscheck, data, made, raising
from tests.installed import version_of
from tests.nightly import cases
from tests.refusals import refused

resource = pytest.importorskip("resource")
#: Seconds for those that hang; the others have a minute, should the machine be busy.
SHORT = 2
LATE = f"it gave no answer within {SHORT} seconds and was stopped"
EQUAL = "EQUAL to convention torchreid"


def after(act, where=lambda identities: True):
    """An evaluator that does something, where these queries are asked for, and answers well."""
    def evaluator(*arguments):
        if where(arguments[1]):
            act()
        return faulty.sound(*arguments)
    return evaluator


def at_query_2(act):
    return after(act, lambda identities: identities.tolist() == [4])


class Escapes(Exception):
    pass


Escapes.__name__ = "Es\x1b[31mcapes\n"


def sleep():
    time.sleep(1000)


def no_memory(*_):
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
    return np.zeros(2**32), 0.5


def spoils(size):
    """The child sends with a `len` that is not that of its answers."""
    def act():
        import builtins
        builtins.len = lambda _: size
        builtins.isinstance = lambda *_: True
    return after(act)


def closes(*_):
    os.closerange(3, 100)
    sleep()


def forks(*arguments):
    os.fork()
    return faulty.sound(*arguments)


def leaves_a_fork(*arguments):
    if not os.fork():
        sys.exit()
    return faulty.sound(*arguments)


def forks_well(*arguments):
    if not os.fork():
        os._exit(0)
    return faulty.sound(*arguments)


def prints_without_end(*_):
    while True:
        os.write(1, b"y" * 10**6)


SPOILED = "its process spoiled the pipe through which it answers"
TWICE = "it gave two answers for one request: it forked, and both processes returned"
#: Evaluator, verdict, and what the report must say.
FAULTY = {
    "leaves": ("tests.commands.faulty:leaves", "failed",
               "ended with exit code 7 before it answered"),
    "crashes": (lambda *_: ctypes.string_at(0), "failed", "was ended by SIGSEGV, a crash in "
                "compiled code it printed Fatal Python error: Segmentation fault"),
    "escapes": (raising(Escapes("red \x1b[31m\r\nand\x07 loud")), "failed",
                r"Es\x1b[31mcapes: red \x1b[31m and\x07 loud (test_crosscheck.py, line "),
    "kills itself": (lambda *_: os.kill(os.getpid(), signal.SIGKILL), "failed",
                     "was ended by SIGKILL, perhaps because memory ran out"),
    "no memory": (no_memory, "failed", "MemoryError: Unable to allocate 32.0 GiB"),
    "hangs": (lambda *_: sleep(), "failed", LATE),
    "hangs on one": (at_query_2(sleep), "equal",
                     f"and it cannot be asked query by query: query 2 alone: {LATE}"),
    "crashes as a whole": (after(lambda: os._exit(3), lambda queries: len(queries) > 1), "failed",
                           "asked query by query, its APs are those of torchreid"),
    "leaves a process": (after(lambda: subprocess.Popen(["sleep", "1000"])), "equal", EQUAL),
    "much output": (after(lambda: os.write(1, b"y" * 10**8)), "equal", "it printed yyyy"),
    "crashes on one": (at_query_2(lambda: os._exit(3)), "different",
                       "it gave no AP: its process ended with exit code 3"),
    "spoils its pipe": (spoils(3), "failed", SPOILED),
    "an answer that never ends": (spoils(10**6), "failed", LATE),
    "closes its pipe": (closes, "failed", SPOILED),
    "prints without end": (prints_without_end, "failed", f"{LATE}; a longer timeout waits longer"),
    "forks": (forks, "failed", TWICE),
    "leaves a fork": (leaves_a_fork, "failed", TWICE),
    "forks well": (forks_well, "equal", EQUAL),
    "long message": (raising(ValueError("x" * 10**7)), "failed", "ValueError: xxx"),
    "reads": (after(input), "failed", "EOFError: EOF when reading a line")}


#: These are quick, or end by the time limit, whatever is spoiled.
BOUNDED = [name for name, (*_, sentence) in FAULTY.items()
           if sentence in (SPOILED, TWICE) or sentence.startswith(LATE)]


def children():
    """The processes that this one has started and not yet seen end."""
    return {child for task in Path("/proc/self/task").iterdir()
            for child in (task / "children").read_text().split()}


@pytest.mark.parametrize("name", dict.fromkeys(
    [*cases(list(FAULTY)[::2], FAULTY), *BOUNDED, "forks well"]))
def test_faulty(name, capfd):
    evaluator, verdict, sentence = FAULTY[name]
    before, start = children(), time.monotonic()
    is_short = name in BOUNDED or LATE in sentence
    check = crosscheck(evaluator, *data(), timeout=SHORT if is_short else 60)
    assert time.monotonic() - start < 20 or name not in BOUNDED
    report = as_text(check)
    assert check.verdict == verdict, report
    assert sentence in " ".join(report.split()), report
    assert report.replace("\n", "").isprintable() and len(report) < 6000
    json.dumps(json_values(check), allow_nan=False)
    assert children() == before
    assert capfd.readouterr() == ("", "")


# ------------------------------------------------------------------ by name, from files
MINE = """
import os
from dataclasses import dataclass
from tests.commands.faulty import sound
print("loading")

@dataclass
class Setting:
    top: int = 50

class Holder:
    @staticmethod
    def inside(distmat, q_pids, g_pids, q_camids, g_camids):
        return sound(distmat, q_pids, g_pids, q_camids, g_camids)

def ap(*arguments):
    with open("calls.txt", "a") as file:
        print(os.getpid(), file=file)
    return sound(*arguments)

def half(*arguments):
    cmc, mean = sound(*arguments)
    return cmc[:20], mean / 2

def leave(distmat, q_pids, g_pids, q_camids, g_camids):
    raise SystemExit("enough")

def by_features(qf, ql, qc, gf, gl, gc):
    return sound(1 - qf @ gf.T, ql, gl, qc, gc)

def sleeps(*arguments):
    ap(*arguments)
    while True:
        pass
"""


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "d.npz", *data())
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "mine.py").write_text(MINE)
    return tmp_path


@pytest.fixture(autouse=True)
def imported_from_anywhere(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))


def run_on(folder, evaluator, *words):
    return command("crosscheck", "d.npz", "--evaluator", evaluator, *words, cwd=folder)


OF_FILES_AT_NIGHT = [
    ("ap", 0, "EQUAL to convention torchreid"), ("half", 1, "DIFFERENT")]
OF_FILES = [
    ("Holder.inside", 0, "EQUAL to convention torchreid-function, but"),
    ("by_features", 1, "none; where it answers, it follows torchreid-function"),
    ("leave", 1, "FAILED: SystemExit: enough")]


@pytest.mark.parametrize(("function", "code", "words"), cases(
    OF_FILES, OF_FILES_AT_NIGHT + OF_FILES))
def test_a_function_of_a_file(folder, function, code, words):
    done = run_on(folder, f"code/mine.py:{function}")
    assert (done.returncode, done.stderr) == (code, "")
    assert words in " ".join(done.stdout.split()) and "it printed  loading" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("imports", [
    "from utils.reranking import re_ranking", "import utils.reranking, config"])
def test_a_file_of_a_repository_whose_root_is_not_on_the_path(folder, imports, monkeypatch):
    """As TransReID's utils/metrics.py; another package of this name is imported already."""
    (folder / "repo" / "utils").mkdir(parents=True)
    (folder / "other" / "utils").mkdir(parents=True)
    for name, text in (("utils/reranking.py", "re_ranking = 0"), ("config.py", ""),
                       ("utils/__init__.py", ""), ("../other/utils/__init__.py", ""),
                       ("utils/metrics.py", f"{imports}\n"
                        "from tests.commands.faulty import sound as eval_func")):
        (folder / "repo" / name).write_text(f"{text}\n")
    monkeypatch.setenv("PYTHONPATH", str(folder / "other"), prepend=os.pathsep)
    done = run_on(folder, "repo/utils/metrics.py:eval_func")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize(("spec", "message"), [
    ("code/none.py:ap", "code/none.py: .*a Python file"),
    ("code:ap", "code:ap cannot be imported: AttributeError: module 'code' has no attribute 'ap'"),
    ("code/mine.py:none", "cannot be imported: AttributeError: module 'reid_ref_evaluator_0' has"),
    ("code/mine.py:Setting.top", "Setting.top: .*a function"),
    ("bad.py:f", "bad.py:f cannot be imported: SyntaxError: "),
    ("leaves.py:f", "cannot be imported: its process ended with exit code 3 before it answered"),
    ("hangs.py:f", "cannot be imported: it gave no answer within 1 seconds and was stopped")])
def test_what_cannot_be_imported(folder, spec, message):
    (folder / "bad.py").write_text("def f(:\n")
    (folder / "leaves.py").write_text("import os\nos._exit(3)\n")
    (folder / "hangs.py").write_text("while True: pass\n")
    assert_one_line_error(run_on(folder, spec, "--timeout", "1" if "within" in message else "60"),
                          message)


def test_files_of_the_current_folder_do_not_replace_ours(folder, monkeypatch):
    for name in ("json", "numpy", "reid_ref", "queue"):
        (folder / f"{name}.py").write_text("raise SystemExit('not this one')\n")
    done = run_on(folder, "code/mine.py:Holder.inside")
    assert (done.returncode, done.stderr) == (0, "")


def test_what_an_interpreter_prints_by_itself_is_no_answer(folder, monkeypatch):
    (folder / "sitecustomize.py").write_text("print('hello', flush=True)\n")
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    done = run_on(folder, "code/mine.py:ap")
    assert (done.returncode, done.stderr) == (0, "") and "it printed  hello" in done.stdout


def test_one_process_serves_all_calls(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for evaluator in (f"{folder}/code/mine.py:ap", writes_its_number):
        (folder / "calls.txt").unlink(missing_ok=True)
        assert crosscheck(evaluator, *data()).verdict == "equal"
        calls = (folder / "calls.txt").read_text().split()
        assert len(calls) == 15 and len(set(calls)) == 1 and int(calls[0]) != os.getpid()


def writes_its_number(*arguments):
    with open("calls.txt", "a") as file:
        print(os.getpid(), file=file)
    return faulty.sound(*arguments)


def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("sound", "leaves"):
        crosscheck(f"tests.commands.faulty:{name}", *data())
    assert list(tmp_path.iterdir()) == []


def test_no_room_for_the_arrays(monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(Path, "write_bytes", full)
    refused("evaluator", "No space left", crosscheck, "tests.commands.faulty:sound", *data())


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, bool])
def test_arrays_arrive_as_they_are(dtype):
    distances, query, gallery = data(levels=1 if dtype is bool else 7)
    by_name = "tests.commands.test_crosscheck_child:tells_dtypes"
    check = crosscheck(by_name if dtype is np.float16 else tells_dtypes, distances.astype(dtype),
                       query, gallery)
    assert check.printed == f"{np.dtype(dtype)} int64 int64 int64 int64 ndarray True"


def tells_dtypes(*arrays):
    print(*(a.dtype for a in arrays[:5]), type(arrays[0]).__name__,
          all(a.flags.writeable for a in arrays[:5]))
    return faulty.sound(*arrays)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_time_limit_that_is_none(timeout):
    refused("timeout", "seconds", crosscheck, faulty.sound, *data(), timeout=timeout)


def test_torch_whose_threads_run_here_does_not_block_a_fork():
    version_of("torch")
    code = """
import torch
from tests.commands import faulty
from tests.commands.test_crosscheck import crosscheck, data
torch.set_num_threads(2)
large = torch.rand(2000, 2000)
torch.sort(large, dim=1), large.exp().sum()
def evaluator(distmat, *labels):
    torch.sort(large, dim=1), large.exp().sum()
    return faulty.sound(distmat, *labels)
print(crosscheck(evaluator, *data(), timeout=60).follows)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "torchreid-function\n", "")


def test_what_we_had_not_yet_printed_is_not_its_output(capfd):
    sys.stdout.write("ours, not flushed")
    assert crosscheck(faulty.sound, *data()).printed == ""
    assert capfd.readouterr().out == "ours, not flushed"


# ------------------------------------------------------------------ the end of both
def test_an_evaluator_whose_parent_has_already_ended(tmp_path):
    """It ends before it runs anything, as after a fork whose parent was killed at once."""
    (tmp_path / "hang.py").write_text("while True: pass\n")
    other = subprocess.Popen(["true"])
    other.wait()
    code = ("from reid_ref.foreign.child import serve_evaluator\n"
            f"serve_evaluator('hang.py:f', '{other.pid}', '0')")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=30)


@pytest.mark.parametrize("tail, verdict", [
    ([], "equal"), ([1.0] * 10, "equal"), ([7.0] * 10, "different"), ([0.0] * 10, "different"),
    ([np.nan] * 10, "different"), (np.linspace(1, 0, 10), "different")])
def test_a_curve_behind_the_end_of_ours_does_not_fall_or_leave_shares(tail, verdict):
    def evaluate(*arrays):
        cmc, mAP = made()(*arrays)
        return np.append(cmc, tail), mAP
    check = crosscheck(evaluate, *data(n_gallery=40))
    assert (check.verdict, len(check.cmc)) == (verdict, 50 + len(tail))


def test_aps_that_are_not_one_per_query_count_as_their_mean():
    check = crosscheck(lambda *arrays: (np.ones(50), np.full(10**6, 0.5)), *data())
    assert (check.mAP, check.verdict) == (0.5, "different")


def test_what_is_printed_takes_no_room(tmp_path, monkeypatch):
    """Of 100 MB the beginning is kept, and no file grows."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def measured(*arguments):
        if len(arguments[1]) > 1:
            for _ in range(100):
                os.write(1, b"y" * 10**6)
            sizes.write_text(str(sum(path.stat().st_size for path in tmp_path.rglob("*"))))
        return faulty.sound(*arguments)

    sizes = tmp_path.parent / f"{tmp_path.name}.txt"
    check = crosscheck(measured, *data())
    assert check.verdict == "equal" and check.printed == "y" * 2000
    assert int(sizes.read_text()) < 10**6


def test_many_warnings_are_not_all_kept():
    def warns(*arguments):
        for k in range(1000):
            warnings.warn(f"number {k}")
        return faulty.sound(*arguments)
    assert len(crosscheck(warns, *data()).warned) <= 200


def gone(process):
    """Whether a process has ended (or waits only for its parent to look)."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize(("number", "code"), [
    (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)])
def test_the_end_of_the_command_ends_the_evaluator(folder, number, code):
    process = subprocess.Popen(
        [sys.executable, "-m", "reid_ref", "crosscheck", "d.npz", "--evaluator",
         "code/mine.py:sleeps"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    calls, until = folder / "calls.txt", time.monotonic() + 30
    while not (calls.exists() and calls.read_text().endswith("\n")):
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (code, b"")
    assert err == {signal.SIGINT: b"reid-ref: interrupted\n",
                   signal.SIGTERM: b"reid-ref: ended by SIGTERM\n"}.get(number, b"")
    while not gone(int(calls.read_text())):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_two_crosschecks_at_once(folder):
    """Each has a process, a pipe and a folder of its own."""
    words = [sys.executable, "-m", "reid_ref", "crosscheck", "d.npz", "--evaluator",
             "code/mine.py:ap"]
    both = [subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(2)]
    outputs = [each.communicate(timeout=100) for each in both]
    assert outputs[0] == outputs[1] and EQUAL.encode() in outputs[0][0]
    assert [each.returncode for each in both] == [0, 0]


def test_an_interrupt_ends_what_the_evaluator_started(folder):
    """Ctrl-C within a call ends the evaluator and its children, which see no signal."""
    (folder / "code/starts.py").write_text(
        "import os, pathlib, subprocess, time\n"
        "def starts(distmat, q_pids, g_pids, q_camids, g_camids):\n"
        "    child = subprocess.Popen(['sleep', '1000'])\n"
        "    pathlib.Path('started.txt').write_text(f'{os.getpid()} {child.pid}\\n')\n"
        "    time.sleep(1000)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "reid_ref", "crosscheck", "d.npz", "--evaluator",
         "code/starts.py:starts"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    started, until = folder / "started.txt", time.monotonic() + 60
    while not (started.exists() and started.read_text().endswith("\n")):
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20) == (b"", b"reid-ref: interrupted\n")
    assert process.returncode == 130
    assert all(gone(int(number)) for number in started.read_text().split())
