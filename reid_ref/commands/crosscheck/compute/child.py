"""A process of its own for code that is not ours, and what came of each call.

A name is imported in a fresh interpreter that `subprocess` starts. A function object exists only
in this process, so a fork of it, by `multiprocessing`, calls it; a system without forks imports it
by its name, too. Either way the arrays are copies, and an answer is a JSON file in a folder of
this user's, complete when a mark that only both processes know is printed. What is printed before
the mark is what the evaluator printed. A crash, an exit or a hang ends that process and becomes an
answer. One process serves all calls; after a crash the next call starts another.
"""
from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.commands.crosscheck.compute.evaluators import (
    About, Answer, Arrays, Call, describe, load_evaluator, read_answer, text_of)

#: How much of what an evaluator prints in one call is kept, in bytes.
KEPT_TEXT = 2000
#: Seconds between two looks at whether the process still lives.
_LOOK = 0.1
#: A program that takes its import path first, so that no file of the current folder is imported
#: in place of ours.
_PROGRAM = ("import sys; sys.path[:] = sys.argv[4:]; "
            "from reid_ref.commands.crosscheck.compute.child import main; main(*sys.argv[1:4])")
#: Why a process is ended by a signal.
_CAUSES = {"SIGKILL": ", perhaps because memory ran out",
           **dict.fromkeys(("SIGSEGV", "SIGBUS", "SIGABRT"), ", a crash in compiled code")}

Process = subprocess.Popen[bytes] | BaseProcess
_T = TypeVar("_T")


@dataclass(frozen=True)
class Outcome:
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
        A key of `ADAPTERS`, "module:function", "file.py:function", or the function itself.
    arrays : Arrays
    timeout : float
        Seconds that importing it, or any one call, may take.
    folder : str
        An empty folder that only this user can enter.
    """

    def __init__(self, evaluator: str | Callable[..., Any], arrays: Arrays, timeout: float,
                 folder: str) -> None:
        if not (isinstance(evaluator, str) or hasattr(os, "fork")):
            evaluator = _importable(evaluator)
        self._evaluator, self._arrays, self._timeout = evaluator, arrays, timeout
        self._folder, self._answer = folder, Path(folder, "answer.json")
        self._process: Process | None = None
        try:
            for name, array in arrays._asdict().items() if isinstance(evaluator, str) else ():
                np.save(Path(folder, f"{name}.npy"), array, allow_pickle=False)
        except OSError as error:
            raise InputError("evaluator", got="its process gets the arrays in files, which cannot "
                             f"be written to {folder}: {error.strerror}", remedy="set TMPDIR to a "
                             "folder with more room") from None

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

    def ask(self, query: int = -1, seed: int = 0) -> Outcome:
        """Call the evaluator on all queries, or on a single query."""
        if self._process is None:
            outcome = self._start()
            if outcome.ended:
                return outcome
        with suppress(OSError):  # it has ended, which is noticed below
            os.write(self._requests.fileno(), f"{query} {seed}".encode())
        return self._receive()

    def _start(self) -> Outcome:
        """Start the process; return what comes of the import."""
        mark = secrets.token_hex(16)
        start = self._start_program if isinstance(self._evaluator, str) else self._start_fork
        self._process, self._requests, output = start(mark)
        self._news: queue.SimpleQueue[tuple[bytes, bool]] = queue.SimpleQueue()
        self._reader = threading.Thread(target=_read, args=(output, mark.encode(), self._news),
                                        daemon=True)
        self._reader.start()
        return self._receive()

    def _start_program(self, mark: str) -> tuple[Process, IO[bytes], IO[bytes]]:
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(self._evaluator), self._folder, mark,
             *(entry for entry in sys.path if isinstance(entry, str))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0))  # no Ctrl-C of ours
        assert process.stdin and process.stdout
        return process, process.stdin, process.stdout

    def _start_fork(self, mark: str) -> tuple[Process, IO[bytes], IO[bytes]]:
        (requests, ours), (output, printed) = os.pipe(), os.pipe()
        process = get_context("fork").Process(target=_serve_function, args=(
            self._evaluator, self._arrays, self._folder, mark, (requests, printed, printed),
            (ours, output)))
        _flush()
        with warnings.catch_warnings():
            # Python warns of threads; those of BLAS are idle and are started anew after a fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        for descriptor in (requests, printed):
            os.close(descriptor)
        return process, open(ours, "wb"), open(output, "rb")

    def _receive(self) -> Outcome:
        """Return the next message; where none comes, end the process."""
        until = time.monotonic() + self._timeout
        text, answered, over, hung = b"", False, False, False
        while not (over or hung):
            left = until - time.monotonic()
            over, hung = self._exit_code() is not None, left <= 0
            with suppress(queue.Empty):  # the last words of a process that is over, too
                text, answered = self._news.get(timeout=max(0.0, min(left, _LOOK)))
                over = True
        if answered:
            with suppress(OSError, ArithmeticError, LookupError, RecursionError, TypeError,
                          ValueError, AttributeError):
                return self._message(text.decode("utf-8", "replace"))
            failure = "it wrote something else where its answer would come"
        else:
            failure = self._last_words() if over else (
                f"it gave no answer within {self._timeout:g} seconds and was stopped; a longer "
                "timeout waits longer" + isinstance(self._process, BaseProcess) * (
                    ", and under its name, module:function, it would not share this process's "
                    "threads"))
        text += self.close()
        return Outcome(failure=failure, printed=text.decode("utf-8", "replace"), ended=True,
                       hung=not over)

    def _message(self, printed: str) -> Outcome:
        """Read a message, which the evaluator may have forged, once."""
        message = json.loads(self._answer.read_bytes())
        self._answer.unlink()
        values: dict[str, Any] = {
            name: np.array(value, dtype=np.int64 if name == "ranks" else np.float64)
            if isinstance(value, list) else value and float(value)
            for name, value in message["answer"].items()}
        return Outcome(Answer(**values) if values else None,
                       About(**message["about"]) if message["about"] else None,
                       str(message["failure"]), printed, tuple(map(str, message["warned"])))

    def _exit_code(self) -> int | None:
        if isinstance(self._process, subprocess.Popen):
            return self._process.poll()
        return None if self._process is None else self._process.exitcode

    def _last_words(self) -> str:
        """Return how the process ended, by its exit code: below 0 where a signal ended it."""
        until = time.monotonic() + 4 * _LOOK
        while self._exit_code() is None and time.monotonic() < until:
            time.sleep(_LOOK / 10)
        code = self._exit_code()
        if not code:  # 0, too, where SIGCHLD is ignored and the code is not known
            return "its process ended, or closed its output, before it answered"
        if code > 0:
            return f"its process ended with exit code {code} before it answered"
        name = next((each.name for each in signal.Signals if each == -code), f"signal {-code}")
        return f"its process was ended by {name}{_CAUSES.get(name, '')}"

    def close(self) -> bytes:
        """End the process and all that it started; return what it printed since its answer."""
        process, self._process = self._process, None
        if process is None:
            return b""
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid or 0, signal.SIGKILL)
        process.kill()
        (process.wait if isinstance(process, subprocess.Popen) else process.join)()
        self._requests.close()
        self._reader.join(1)
        return b"" if self._news.empty() else self._news.get()[0]


def _importable(function: Any) -> str:
    """Return the name under which another process can import a function, or refuse it."""
    name, home = getattr(function, "__qualname__", "<object>"), function.__module__
    if home == "__main__":
        home = getattr(sys.modules[home], "__file__", None)
    if home is None or "<" in name:
        raise InputError("evaluator", got=f"{name}: expected a function that another process can "
                         "import, since this system has no fork",
                         remedy="write it into a file and give file.py:function")
    return f"{home}:{name}"


def _read(output: IO[bytes], mark: bytes, news: queue.SimpleQueue[tuple[bytes, bool]]) -> None:
    """Pass on the beginning of what is printed, at each mark and, with False, at the end."""
    text = b""
    with output:
        for line in iter(lambda: output.readline(2**16), b""):
            if line.strip() == mark:
                news.put((text, True))
                text = b""
            else:
                text += line[:KEPT_TEXT - len(text)]
    news.put((text, False))


# ------------------------------------------------------------------ the evaluator's side
def main(spec: str, folder: str, mark: str) -> NoReturn:
    """Serve an evaluator given by name; the program of a fresh interpreter."""
    sys.argv = [spec]
    _serve(spec, Arrays(*(np.load(Path(folder, f"{name}.npy"), mmap_mode="r").view(np.ndarray)
                          for name in Arrays._fields)), folder, mark)


def _serve_function(function: Any, arrays: Arrays, folder: str, mark: str,
                    streams: tuple[int, ...], not_its: tuple[int, ...]) -> NoReturn:
    """Serve a function object in a fork."""
    os.setsid()
    for descriptor in not_its:
        os.close(descriptor)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    if "torch" in sys.modules:
        # Its threads stayed in the parent; with more than one it would wait for them for ever.
        sys.modules["torch"].set_num_threads(1)
    _serve(function, arrays, folder, mark)


def _serve(evaluator: Any, arrays: Arrays, folder: str, mark: str) -> NoReturn:
    """Import the evaluator, then answer requests on 0 until none comes; never return."""
    owner = os.getpid()

    def send(message: dict[str, Any]) -> None:
        if os.getpid() != owner:
            os._exit(0)  # a fork of the evaluator's own that came back
        _flush()
        Path(folder, "answer.json").write_bytes(json.dumps(message).encode())
        with suppress(OSError):  # closed by the evaluator: our side sees that
            os.write(output, f"\n{mark}\n".encode())

    try:
        with suppress(Exception):  # Linux has it: end when the parent does
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        requests, output = os.dup(0), os.dup(1)
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
            query, seed = map(int, request.split())
            part = arrays if query < 0 else arrays.rows(slice(query, query + 1))
            send(_call(loaded[1], part, seed))
    finally:
        os._exit(0)


def _call(evaluator: Call, arrays: Arrays, seed: int) -> dict[str, Any]:
    def call() -> Answer:
        np.random.seed(seed)
        return read_answer(evaluator(Arrays(*map(np.array, arrays))))

    answer, message = _guarded(call)
    if answer is not None:
        message["answer"] = {name: value.tolist() if isinstance(value, np.ndarray) else value
                             for name, value in vars(answer).items()}
    return message


def _guarded(work: Callable[[], _T]) -> tuple[_T | None, dict[str, Any]]:
    """Run foreign code; return its value, or what it raised, and what it warned."""
    value: _T | None = None
    message: dict[str, Any] = {"answer": {}, "about": {}, "failure": ""}
    with warnings.catch_warnings(record=True) as warned, np.errstate(all="warn"):
        warnings.simplefilter("always")
        try:
            value = work()
        except BaseException as error:  # SystemExit and KeyboardInterrupt are answers, too
            message["failure"] = str(error) if isinstance(error, InputError) else describe(error)
    message["warned"] = list(dict.fromkeys(
        f"{text_of(w.category.__name__)}: {text_of(w.message)}" for w in warned or ()))
    return value, message


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    with suppress(Exception):
        ctypes.CDLL(None).fflush(None)
