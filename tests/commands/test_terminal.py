"""Streams that are closed or full, signals, and names that a terminal would act on."""
import io
import json
import pkgutil
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import reid_ref
from reid_ref import cli
from reid_ref.cli.parser import make_parser
from reid_ref.console import options as common
from reid_ref.console.terminal import (
    OPTIONS, _painted, _takes_colours, print_stderr, set_quiet)
from reid_ref.text import visible
from tests.commands.common import MARKET, answer, assert_one_line_error, command
from tests.nightly import cases

COMMAND = [sys.executable, "-m", "reid_ref"]
COMMANDS = make_parser()._subparsers._group_actions[0].choices
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


def shell(line, cwd):
    """Run a line of sh, in which $R is the command."""
    return subprocess.run(["sh", "-c", line.replace("$R", " ".join(COMMAND))], cwd=cwd,
                          capture_output=True, text=True, timeout=120)


# ---------------------------------------------------------------- the module

def test_the_module_is_the_command(tmp_path):
    assert shell("$R --version", tmp_path).stdout == f"reid-ref {reid_ref.__version__}\n"


@pytest.mark.parametrize("name", ["matlab", "datasets", "metric_learning", "distributed", "files"])
def test_rooms_load_on_first_use(name):
    code = ("import sys, reid_ref\nassert 'numpy' not in sys.modules\n"
            f"assert {name!r} in dir(reid_ref) and 'evaluate' in dir(reid_ref)\n"
            f"print(reid_ref.{name}.__name__)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    where = "evaluation.distributed" if name == "distributed" else name
    assert (done.stdout, done.stderr) == (f"reid_ref.{where}\n", "")


def test_no_public_function_has_the_name_of_a_module():
    modules = {module.name for module in pkgutil.iter_modules(reid_ref.__path__)}
    assert {"matlab", "evaluation", "cli"} <= modules
    assert not modules & set(reid_ref.__all__)


def test_every_public_name_is_there_and_no_other():
    assert [name for name in reid_ref.__all__ if not hasattr(reid_ref, name)] == []
    with pytest.raises(AttributeError, match="module 'reid_ref' has no attribute 'evaluat'"):
        reid_ref.evaluat


def test_public_tables_are_read_only():
    rooms = [reid_ref.conventions, *(getattr(reid_ref, name) for name in reid_ref._ROOMS)]
    values = [getattr(room, name) for room in rooms for name in getattr(room, "__all__", ())]
    assert reid_ref.CONVENTIONS in values and reid_ref.protocols.PROTOCOLS in values
    for table in (value for value in values if isinstance(value, Mapping)):
        with pytest.raises(TypeError, match="does not support item assignment"):
            table["mine"] = next(iter(table.values()))


# ---------------------------------------------------------------- help

@pytest.mark.parametrize("columns", cases(["20", "80"], ["20", "60", "80", "120"]))
@pytest.mark.parametrize("name", COMMANDS)
def test_help_on_any_terminal(name, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    more = "--help-all" if COMMANDS[name].get_default("more") else "--help"
    with pytest.raises(SystemExit, match="0"):
        cli.main([name, more])
    out, err = capsys.readouterr()
    assert out.startswith("usage: reid-ref") and err == "" and out.isascii()
    assert "--quiet" in out
    assert not re.search(r"\w-\n", out)  # a name is not broken
    if columns == "80":
        assert max(map(len, out.splitlines())) <= 80


# ---------------------------------------------------------------- streams

@full
@pytest.mark.parametrize("buffered", ["", "PYTHONUNBUFFERED=1 "])
@pytest.mark.parametrize("arguments", cases(["--version", f"evaluate {MARKET} --json"], [
    "--version", "evaluate --help", "protocols", f"evaluate {MARKET} --json"]))
def test_a_full_disk_behind_standard_output(tmp_path, arguments, buffered):
    done = shell(f"unset PYTHONUNBUFFERED; {buffered}$R {arguments} >/dev/full", tmp_path)
    lines = [line for line in done.stderr.splitlines() if "warning" not in line]
    assert done.returncode == 2
    assert lines == ["reid-ref: error: standard output: No space left on device"]


def test_a_standard_error_that_is_closed_changes_no_result(tmp_path):
    done = shell(f"$R evaluate {MARKET} --json 2>&-", tmp_path)
    assert done.returncode == 0 and json.loads(done.stdout)["mAP"] > 0


@pytest.mark.parametrize(("arguments", "status"), [
    ("--help", 0), ("evaluate --help", 0), ("conventions --json", 141),
    ("validate --dataset market1501", 141),
    (f"evaluate {MARKET} --json", 141), (f"evaluate {MARKET} --quiet --fail-under mAP=99", 141),
    (f"doctor {MARKET}", 141)])
def test_a_reader_that_leaves_never_makes_a_failure_a_success(tmp_path, arguments, status):
    done = shell(f"($R {arguments}; echo $? >status) | true", tmp_path)
    assert "Traceback" not in done.stderr and "Broken" not in done.stderr
    assert (tmp_path / "status").read_text() == f"{status}\n"


# ---------------------------------------------------------------- colours and --quiet


def test_a_terminal_shows_headings_in_bold_and_verdicts_in_colour():
    assert _painted("a\nverdict     EQUAL to matlab\nEQUAL\nverdict  DIFFERENT: it") == (
        "a\nverdict     \x1b[1;32mEQUAL\x1b[0m to matlab\nEQUAL\n"
        "verdict  \x1b[1;31mDIFFERENT\x1b[0m: it")
    shown = _painted(command("evaluate", MARKET).stdout)
    assert "\n\n\x1b[1m            percent  full precision\x1b[0m\nmAP           40.16" in shown
    assert shown.count("\x1b") == 2
    shown = _painted(command("compare", MARKET, MARKET, "--resamples", 99).stdout)
    assert re.findall(r"\x1b\[1m(.*?) .*\x1b", shown) == ["mAP", "Rank-1"]  # not the legend
    rows = "worst  identity  cam\n    4         2    1"  # indented as a wrapped row is
    assert _painted(rows) == "\x1b[1mworst  identity  cam\x1b[0m" + rows[20:]
    assert _painted("a\n\nClosest\nmatlab").count("\x1b") == 2


def test_terminals_without_colours(monkeypatch):
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("WT_SESSION", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for system, taken in (("win32", False), ("linux", True)):
        monkeypatch.setattr("sys.platform", system)
        assert _takes_colours() == taken
    for name, value in (("TERM", "dumb"), ("NO_COLOR", "1")):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            assert not _takes_colours()


def test_quiet_leaves_out_warnings_and_keeps_errors():
    loud, quiet = command("evaluate", MARKET), command("evaluate", MARKET, "--quiet")
    assert "warning: 3 of 48 queries" in loud.stderr
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, loud.stdout, "")
    assert_one_line_error(command("evaluate", "absent.mat", "--quiet"), "absent.mat")
    assert len(answer("evaluate", MARKET, "--quiet")["warnings"]) == 1  # a program reads them


def test_a_bar_is_drawn_on_a_terminal_alone_and_never_with_quiet(monkeypatch):
    def bar(is_terminal):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
        with common.progress_bar(10) as drawn:
            return drawn
    set_quiet(False)
    assert bar(False) is None
    assert bar(True).total == 10 and bar(True).delay == 2
    set_quiet(True)
    assert bar(True) is None
    assert cli.main(["conventions"]) == 0  # without --quiet
    assert bar(True).total == 10


class Screen(io.StringIO):
    """A terminal: what it was sent, and the lines that are left on it."""

    def isatty(self):
        return True

    def lines(self):
        lines = []
        for sent in self.getvalue().split("\n"):
            shown = ""
            for part in sent.split("\r"):
                shown = part + shown[len(part):]
            lines.append(shown.rstrip())
        return lines


RANKING = "ranking 48 queries ..."


@pytest.mark.parametrize("columns", cases([30], [80, 30]))
@pytest.mark.parametrize(("words", "phases"), [
    ("evaluate A --confidence", ["reading A ...", RANKING, "intervals from 10,000 resamples ..."]),
    ("evaluate A B", [f"A: {RANKING}", f"B: {RANKING}"]),
    ("compare A B", [f"B: {RANKING}", "tests and intervals from 10,000 resamples ..."]),
    ("plot cmc A -o c.pdf", [RANKING, "drawing ..."]),
    ("report A -o r.html", [RANKING, "drawing the page ..."]),
    ("crosscheck A --evaluator tests.commands.faulty:sound",
     ["asking tests.commands.faulty:sound ..."])])
def test_long_work_says_its_phase_in_one_line(tmp_path, monkeypatch, columns, words, phases):
    for name in "AB":
        (tmp_path / f"{name}.mat").write_bytes(Path(MARKET).read_bytes())
    words = [f"{word}.mat" if word in "AB" else word for word in words.split()]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    screens = {}
    for quiet in ([], ["--quiet"]):
        screen = Screen()
        monkeypatch.setattr(sys, "stderr", screen)
        assert cli.main([*words, *quiet]) == 0
        screens[bool(quiet)] = screen
    assert screens[True].getvalue() == ""
    sent = re.split("[\r\n]", screens[False].getvalue())
    for phase in phases:
        text = f"reid-ref: {phase}".replace("A ...", "A.mat ...")
        assert text[:columns - 1] in sent, sent
    words = " ".join(filter(None, screens[False].lines()))  # of warnings, which are wrapped
    assert not words or words.startswith("reid-ref: warning: ") and "..." not in words


# ---------------------------------------------------------------- names

ODD = "a\nb\x1b[31m\x9b\u202ec.mat"
SHOWN = r"a\nb\x1b[31m\x9b\u202ec.mat"


def test_visible():
    assert visible(ODD) == SHOWN
    assert visible("\u65e5\u672c \u00e9.mat") == "\u65e5\u672c \u00e9.mat"
    assert visible("\udcff\x7f\t") == r"\udcff\x7f\t"


def no_control_characters(text):
    return re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text) is None


@pytest.mark.parametrize("arguments", [
    ["evaluate"], ["evaluate", "--convention", "all"], ["evaluate", "--by", "camera-pair"],
    ["explain"], ["doctor"], ["scripts", "--driver", "market1501"],
    ["validate", "--published", "45.8/"], ["rerank"], ["ties"], ["thresholds"],
    ["evaluate", "--json"], ["evaluate", "--save", "p\x1b[1m\nq.run"]])
def test_names_of_files_reach_the_terminal_as_text(tmp_path, arguments):
    (tmp_path / ODD).write_bytes(Path(MARKET).read_bytes())
    first, *rest = arguments
    done = command(first, ODD, *rest, cwd=tmp_path)
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    assert no_control_characters(done.stdout + done.stderr)
    if "--json" in arguments:
        assert json.loads(done.stdout)["files"] == [ODD]
    elif "--save" in arguments:
        assert r"wrote p\x1b[1m\nq.qrels and p\x1b[1m\nq.run" in done.stdout
    elif first not in ("ties", "explain"):
        assert SHOWN in done.stdout


@pytest.mark.parametrize("arguments", [
    ["evaluate", ODD], ["evaluate", MARKET, "--convention", ODD],
    ["report", MARKET, ODD, "-o", "x.html"], ["evaluate", MARKET, "--format", ODD],
    ["validate", "--dataset", ODD], [ODD],
    ["conventions", ODD],
    ["evaluate", MARKET, f"--{ODD}"], ["evaluate", MARKET, "--per-query", ODD],
    ["oxford", ODD, ODD], ["validate", MARKET, "--paper", ODD]])
def test_names_in_messages_are_text_and_stay_on_one_line(tmp_path, arguments):
    done = command(*arguments, cwd=tmp_path)
    assert_one_line_error(done, "")
    assert no_control_characters(done.stderr)
    assert r"a\nb\x1b[31m" in done.stderr or r"a\\nb\\x1b[31m" in done.stderr


def test_keys_of_files_are_text(tmp_path):
    np.savez(tmp_path / "x.npz", **{"k\n\x1b[2J": 1})
    done = command("evaluate", "x.npz", cwd=tmp_path)
    assert_one_line_error(done, r"k\\n\\x1b\[2J")
    assert no_control_characters(done.stderr)


def test_names_of_queries_are_text(tmp_path):
    for kind in ("good", "ok", "junk"):
        (tmp_path / f"q\x1b[1m_{kind}.txt").write_text("a\n" if kind == "good" else "")
    (tmp_path / "q\x1b[1m.txt").write_text("a\n")
    done = command("oxford", tmp_path, tmp_path)
    assert done.stdout.splitlines()[0] == r"q\x1b[1m 1"


# ---------------------------------------------------------------- the words of a message

def test_arguments_become_options():
    for given, shown in (
            (("lists", "3 lists"), "--index-lists: expected 3 lists"),
            (("k1", "", "too many"), "--k1: too many"),
            (("query", "k1: 3"), "query: expected k1: 3")):
        assert str(reid_ref.InputError(*given).renamed(OPTIONS)) == shown


# ---------------------------------------------------------------- signals

@pytest.mark.parametrize(("number", "said"), [
    (signal.SIGINT, "interrupted"), (signal.SIGTERM, "ended by SIGTERM"),
    (signal.SIGHUP, "ended by SIGHUP")])
@pytest.mark.parametrize("where", ["while modules load", "in a class body", "in the command",
                                   "in a callback"])
def test_a_signal_is_one_line(number, said, where):
    """Python makes a RuntimeError of it where a class is made, numpy an ImportError."""
    kill = f"__import__('os').kill(__import__('os').getpid(), {int(number)})"
    body = {"while modules load": f"import reid_ref.console.terminal\n"
                                  f"class Stop:\n"
                                  f"    def find_spec(self, name, *_):\n"
                                  f"        if name == 'numpy':\n"
                                  f"            try:\n"
                                  f"                {kill}\n"
                                  f"            except BaseException:\n"
                                  f"                raise ImportError(name)\n"
                                  f"sys.meta_path.insert(0, Stop())\n",
            "in a class body": f"from reid_ref.commands import conventions\n"
                               f"class Field:\n"
                               f"    def __set_name__(self, *_):\n"
                               f"        {kill}\n"
                               f"def run(_):\n"
                               f"    class Record:\n"
                               f"        field = Field()\n"
                               f"conventions.run = run\n",
            "in the command": f"from reid_ref.commands import conventions\n"
                              f"conventions.run = lambda _: {kill}\n",
            "in a callback": f"import weakref\n"
                             f"from reid_ref.commands import conventions\n"
                             f"def run(_):\n"
                             f"    weakref.finalize({{1}}, lambda: {kill})\n"
                             f"    return 0\n"
                             f"conventions.run = run\n"}[where]
    code = f"import sys\nfrom reid_ref import cli\n{body}sys.exit(cli.main())"
    done = subprocess.run([sys.executable, "-c", code, "conventions"], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 128 + number
    # Python prints an exception in a callback, and forgets it.
    assert (done.stderr.endswith(f"reid-ref: {said}\n") if where == "in a callback" else
            done.stderr == f"reid-ref: {said}\n")


def test_a_signal_that_is_ignored_stays_so():
    code = ("import os, signal, sys\nfrom reid_ref import cli\n"
            "from reid_ref.commands import conventions\n"
            "for number in (signal.SIGHUP, signal.SIGINT):\n"
            "    signal.signal(number, signal.SIG_IGN)\n"
            "def run(_):\n"
            "    os.kill(os.getpid(), signal.SIGHUP)\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "    return 0\n"
            "conventions.run = run\nsys.exit(cli.main())")
    done = subprocess.run([sys.executable, "-c", code, "conventions"], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(("end", "expected"), [
    (f"atexit.register(os.kill, os.getpid(), {int(signal.SIGINT)})", (0, b"")),
    (f"atexit.register(print, 'the end'); conventions.run = lambda _: os.kill(os.getpid(), "
     f"{int(signal.SIGINT)})", (130, b"reid-ref: interrupted\n"))])
def test_a_signal_at_the_end_of_python(end, expected):
    """After the answer it changes nothing; after a signal Python's own end is left out, which can
    crash where an import in C was interrupted.
    """
    code = ("import atexit, os, sys\nfrom reid_ref import cli\n"
            f"from reid_ref.commands import conventions\n{end}\nsys.exit(cli.main())")
    done = subprocess.run([sys.executable, "-c", code, "conventions"], capture_output=True)
    assert (done.returncode, done.stderr) == expected
    assert b"the end" not in done.stdout


def test_a_call_changes_nothing_of_the_process(capsys):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    streams = sys.stdout, sys.stderr
    assert cli.main(["conventions", "mars"]) == 0 and "mars" in capsys.readouterr().out
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert (sys.stdout, sys.stderr) == streams


def test_not_enough_memory_is_one_line(monkeypatch, capsys):
    from reid_ref.commands.evaluate import command as evaluate

    def run(_):
        raise MemoryError("Unable to allocate 9 TiB")
    monkeypatch.setattr(evaluate, "run", run)
    assert cli.main(["evaluate", MARKET]) == 2
    assert capsys.readouterr().err == (
        "reid-ref: error: not enough memory: Unable to allocate 9 TiB\n")


def test_an_error_on_a_terminal_is_wrapped(monkeypatch, capsys):
    long = "r.npz: it lacks query_camera; " + "expected features or distances " * 6
    print_stderr(f"error: {long}")
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    print_stderr(f"error: {long}")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 3 and max(map(len, lines)) <= 60
    assert " ".join(lines).split() == f"reid-ref: error: {long}".split()
