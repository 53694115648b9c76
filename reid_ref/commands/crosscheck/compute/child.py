"""A process of its own for code that is not ours, and what came of each call.

A name is imported in a fresh interpreter that `subprocess` starts. A function object exists only
in this process, so a fork of it, by `multiprocessing`, calls it. Either way the arrays are copies.
Requests go through a pipe; arrays are files that both processes map, an answer is a JSON file, and
what is printed a text file, in a folder of this user's. A crash, an exit or a hang ends that
process and becomes an answer. One process serves all calls; after a crash the next call starts
another.
"""
from __future__ import annotations

import ctypes
import faulthandler
import functools
import gc
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, warnings_to
from reid_ref.commands.crosscheck.compute.evaluators import (
    MAX_RANK, About, Answer, Arrays, Call, describe, fitting, load_evaluator, read_answer,
    text_of)

#: How much of what an evaluator prints in one call is kept, and how much it may print, in bytes.
KEPT_TEXT, MOST_TEXT = 2000, 2**30
#: How many of its warnings are kept.
_KEPT_WARNINGS = 100
#: Bytes of a message besides its numbers, and of a number in JSON, with room to spare.
_MESSAGE, _NUMBER = 2**20, 32
#: Seconds between two looks at the answer: at first, and at most.
_LOOKS = 1e-4, 0.05
#: A program that takes its import path first, so that no file of the current folder is imported
#: in place of ours.
_PROGRAM = ("import sys; sys.path[:] = sys.argv[4:]; "
            "from reid_ref.commands.crosscheck.compute.child import main; main(*sys.argv[1:4])")
#: Why a process is ended by a signal.
_CAUSES = {"SIGKILL": ", perhaps because memory ran out",
           **dict.fromkeys(("SIGSEGV", "SIGBUS", "SIGABRT"), ", a crash in compiled code")}

_T = TypeVar("_T")


class Outcome(NamedTuple):
    """An answer or a failure, with what was printed and warned on the way.

    `about` tells of an evaluator that was imported; `ended`: there was no message, and `hung`: not
    in time.
    """

    answer: Answer | None = None
    about: About | None = None
    failure: str = ""
    printed: str = ""
    warned: tuple[str, ...] = ()
    ended: bool = False
    hung: bool = False


# ------------------------------------------------------------------ our side
class Child:
    """The process that runs one evaluator, until it is closed.

    Parameters
    ----------
    evaluator : str or callable
        A key of `TOOLBOXES`, "module:function", "file.py:function", or the function itself.
    timeout : float
        Seconds that importing it, or any one call, may take.
    folder : str
        An empty folder that only this user can enter.
    """

    def __init__(self, evaluator: str | Callable[..., Any], timeout: float, folder: str) -> None:
        self._evaluator, self._timeout = evaluator, timeout
        self._folder, self._answer = Path(folder), Path(folder, "answer.json")
        self._printed = Path(folder, "printed")
        self._most: dict[str, int] = {}
        self._process: subprocess.Popen[bytes] | BaseProcess | None = None
        if not (isinstance(evaluator, str) or hasattr(os, "fork")):
            raise InputError("evaluator", "module:function or file.py:function, since this "
                             "system has no fork", text_of(evaluator))

    def give(self, name: str, rows: Iterable[npt.NDArray[Any]],
             labels: Mapping[str, Any]) -> Arrays:
        """Write arrays, by a name, where both processes read them; return them."""
        numbers = len(labels["q_pids"]) + max(len(labels["g_pids"]), MAX_RANK)
        self._most[name] = _MESSAGE + _NUMBER * numbers
        try:
            np.savez(self._folder / f"{name}.npz", **labels)
            with open(self._folder / f"{name}.npy", "wb") as file:
                for row in rows:
                    if not file.tell():
                        np.lib.format.write_array_header_1_0(file, {
                            "descr": np.lib.format.dtype_to_descr(row.dtype),
                            "fortran_order": False, "shape": (len(labels["q_pids"]), len(row))})
                    file.write(row.tobytes())
        except OSError as error:
            raise InputError("evaluator", got="its process gets the arrays in a file, which "
                             f"cannot be written to {self._folder}: {error.strerror}",
                             remedy="set TMPDIR to a folder with more room") from None
        return _read_arrays(self._folder, name)

    def load(self) -> tuple[About, Outcome]:
        """Import the evaluator; return what it is, and what it printed and warned.

        Raises
        ------
        InputError
            It cannot be imported (with the import's own message) or called.
        """
        outcome = self._start()
        if outcome.about is None:
            start = f"evaluator: {text_of(self._evaluator)} cannot be imported: "
            raise InputError("", got=f"{start * outcome.ended}{outcome.failure}")
        return outcome.about, outcome

    def ask(self, name: str, query: int = -1, seed: int = 0) -> Outcome:
        """Call the evaluator on the arrays of a name, on all queries or on a single one."""
        if self._process is None:
            outcome = self._start()
            if outcome.ended:
                return outcome
        with suppress(OSError):  # it has ended, which is noticed below
            os.write(self._requests, f"{name} {query} {seed}".encode())
        return self._receive(self._most[name])

    def _start(self) -> Outcome:
        """Start the process; return what comes of the import."""
        requests, self._requests = os.pipe()
        with open(self._printed, "ab") as printed:
            if isinstance(self._evaluator, str):
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _PROGRAM, self._evaluator, str(self._folder),
                     str(os.getpid()), *(path for path in sys.path if isinstance(path, str))],
                    stdin=requests, stdout=printed, stderr=printed, start_new_session=True,
                    creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0))
            else:
                self._process = get_context("fork").Process(target=_serve_function, args=(
                    self._evaluator, self._folder, os.getpid(),
                    (requests, printed.fileno(), printed.fileno()), self._requests))
                _flush()
                self._process.start()
        os.close(requests)
        return self._receive()

    def _receive(self, most: int = _MESSAGE) -> Outcome:
        """Return the next message, of `most` bytes; where none comes, end the process."""
        until, pause = time.monotonic() + self._timeout, _LOOKS[0]
        code, late, long = None, False, False
        while not self._answer.exists() and not (late or long or code is not None):
            time.sleep(pause)
            pause, late = min(1.2 * pause, _LOOKS[1]), time.monotonic() > until
            code, long = self._exit_code(), self._printed.stat().st_size > MOST_TEXT
        if self._answer.exists():
            failure, hung = "it wrote something else where its answer would come", False
            with suppress(OSError, ArithmeticError, LookupError, RecursionError, TypeError,
                          ValueError, AttributeError):
                if self._answer.stat().st_size <= most:  # reading it has no time limit
                    return self._message()
        elif code is not None:
            failure, hung = _last_words(code), False
        elif long:
            failure, hung = f"it printed more than {MOST_TEXT:,} bytes and was stopped", True
        else:
            hung = True
            failure = (f"it gave no answer within {self._timeout:g} seconds and was stopped; a "
                       "longer timeout waits longer")
            if not isinstance(self._evaluator, str):
                failure += (", and under its name, module:function, it would not share this "
                            "process's threads")
        self.close()
        return Outcome(failure=failure, printed=self._text(), ended=True, hung=hung)

    def _message(self) -> Outcome:
        """Read a message, which the evaluator may have forged, once."""
        message = json.loads(self._answer.read_bytes())
        self._answer.unlink()
        values: dict[str, Any] = {
            name: np.array(value, dtype=np.float64) if isinstance(value, list)
            else value and float(value) for name, value in message["answer"].items()}
        return Outcome(Answer(**values) if values else None,
                       About(**message["about"]) if message["about"] else None,
                       str(message["failure"]), self._text(), tuple(map(str, message["warned"])))

    def _text(self) -> str:
        """Return the beginning of what was printed since the last message."""
        with open(self._printed, "r+b") as file:
            text = file.read(KEPT_TEXT).decode("utf-8", "replace")
            file.truncate(0)
        return text

    def _exit_code(self) -> int | None:
        if isinstance(self._process, subprocess.Popen):
            return self._process.poll()
        return None if self._process is None else self._process.exitcode

    def close(self) -> None:
        """End the process and all that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        pid = process.pid or 0
        _end_descendants(pid)
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        process.kill()
        (process.wait if isinstance(process, subprocess.Popen) else process.join)()
        os.close(self._requests)
        self._answer.unlink(missing_ok=True)


def _end_descendants(process: int) -> None:
    """End what a process has started, in whatever group or session; on Linux."""
    for _ in range(100):  # one that is ending may have started another
        descendants = _descendants(process)
        for each in descendants:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        if not descendants:
            break
        time.sleep(0.001)


def _descendants(process: int) -> list[int]:
    """Return the living processes that one has started, and those that these have; on Linux."""
    found = []
    with suppress(OSError):  # it has ended, or there is no /proc
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text("ascii").split()):
                found += [child] * _is_alive(child) + _descendants(child)
    return found


def _is_alive(process: int) -> bool:
    with suppress(OSError):
        state = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
        return state not in "ZX"
    return False


def _last_words(code: int) -> str:
    """Return how a process ended, by its exit code: below 0 where a signal ended it."""
    if code >= 0:  # 0, too, where SIGCHLD is ignored and the code is not known
        return f"its process ended{f' with exit code {code}' * (code > 0)} before it answered"
    name = next((each.name for each in signal.Signals if each == -code), f"signal {-code}")
    return f"its process was ended by {name}{_CAUSES.get(name, '')}"


def _read_arrays(folder: Path, name: str) -> Arrays:
    with np.load(folder / f"{name}.npz") as labels:
        return Arrays(np.load(folder / f"{name}.npy", mmap_mode="r"), **labels)


# ------------------------------------------------------------------ the evaluator's side
def main(spec: str, folder: str, parent: str) -> NoReturn:
    """Serve an evaluator given by name; the program of a fresh interpreter."""
    _end_with(int(parent))
    sys.argv = [spec]
    _serve(spec, Path(folder))


def _serve_function(function: Any, folder: Path, parent: int, streams: tuple[int, ...],
                    not_its: int) -> NoReturn:
    """Serve a function object in a fork."""
    _end_with(parent)
    os.setsid()
    os.close(not_its)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    if "torch" in sys.modules:
        # Its threads stayed in the parent; with more than one it would wait for them for ever.
        sys.modules["torch"].set_num_threads(1)
    _serve(function, folder)


def _end_with(parent: int) -> None:
    """Let this process end when its parent does, which may have been before this call."""
    with suppress(Exception):  # Linux has it
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        # PR_SET_CHILD_SUBREAPER: what cuts itself loose from its parent stays with this process.
        ctypes.CDLL(None).prctl(36, 1)
        if os.getppid() != parent:
            os._exit(0)


def _serve(evaluator: Any, folder: Path) -> NoReturn:
    """Import the evaluator, then answer requests on 0 until none comes; never return."""
    owner, read = os.getpid(), functools.lru_cache(1)(_read_arrays)

    def send(message: dict[str, Any]) -> None:
        if os.getpid() != owner:
            os._exit(0)  # a fork of the evaluator's own that came back
        _flush()
        (folder / "part").write_bytes(json.dumps(message).encode())
        os.replace(folder / "part", folder / "answer.json")  # at once: it is never seen half done

    try:
        requests = os.dup(0)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        gc.freeze()  # what the parent left behind is not for this process to finish
        sys.stdout, sys.stderr = (
            open(k, "w", buffering=1, encoding="utf-8", errors="backslashreplace", newline="\n",
                 closefd=False) for k in (1, 2))
        faulthandler.enable()  # a crash says where
        loaded, message = _guarded(lambda: load_evaluator(evaluator))
        if loaded is not None:
            message["about"] = loaded[0]._asdict()
        send(message)
        while loaded is not None and (request := os.read(requests, 64)):
            name, query, seed = request.decode().split()
            arrays, k = read(folder, name), int(query)
            part = arrays if k < 0 else arrays.rows(slice(k, k + 1))
            send(_call(loaded[1], part, int(seed)))
    finally:
        os._exit(0)


def _call(evaluator: Call, arrays: Arrays, seed: int) -> dict[str, Any]:
    def call() -> Answer:
        np.random.seed(seed)
        return fitting(read_answer(evaluator(Arrays(**{
            name: np.array(array) for name, array in arrays._asdict().items()
            if array is not None}))), *arrays.distances.shape)

    answer, message = _guarded(call)
    if answer is not None:
        message["answer"] = {name: value.tolist() if isinstance(value, np.ndarray) else value
                             for name, value in vars(answer).items()}
    return message


def _guarded(work: Callable[[], _T]) -> tuple[_T | None, dict[str, Any]]:
    """Run foreign code; return its value, or what it raised, and what it warned."""
    value: _T | None = None
    message: dict[str, Any] = {"answer": {}, "about": {}, "failure": ""}
    warned: dict[str, None] = {}

    def keep(warning: Warning, category: type[Warning], *_: object) -> None:
        warned[f"{text_of(category.__name__)}: {text_of(warning)}"] = None

    # This process is for foreign code alone, which may have changed both.
    warnings.showwarning = keep  # type: ignore[assignment]
    warnings.simplefilter("always")
    with warnings_to(None), np.errstate(all="warn"):
        try:
            value = work()
        except BaseException as error:  # SystemExit and KeyboardInterrupt are answers, too
            message["failure"] = str(error) if isinstance(error, InputError) else describe(error)
    message["warned"] = list(warned)[:_KEPT_WARNINGS]
    return value, message


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    with suppress(Exception):
        ctypes.CDLL(None).fflush(None)
