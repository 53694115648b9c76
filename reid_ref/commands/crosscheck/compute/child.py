"""A process of its own for code that is not ours, and what came of each call.

A name is imported in a fresh interpreter. A function object exists only in this process, so a
fork of this process calls it; a system without forks imports it by its name, too. Either way the
arrays are read-only copies, answers come back as JSON, and a crash, an exit or a hang ends that
process and becomes an answer. One process serves all calls; after a crash the next call starts
another.

The process gets requests on 0, answers on 1 and prints on 2, which any system can hand over; it
moves the first two away before the evaluator is there.
"""
from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import json
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy import array_equal  # taken before an evaluator can put another in its place

from reid_ref.arrays import InputError
from reid_ref.commands.crosscheck.compute.adapters import load_adapter
from reid_ref.commands.crosscheck.compute.foreign import (
    About, Answer, Arrays, Evaluator, Nonsense, describe, from_function, load_function,
    read_answer, text_of)

#: How much of what an evaluator prints in one call is kept, and the longest message, in bytes.
KEPT_TEXT, LONGEST_MESSAGE = 2000, 2**30
#: Query (-1: all of them) and random seed of a request; length of an answer.
_REQUEST, _LENGTH = struct.Struct("<qq"), struct.Struct("<q")
#: Comes before the first answer: what a new interpreter prints by itself comes before it.
_GREETING = b"\0reid-ref\0"
#: Seconds between two looks at whether the process still lives.
_LOOK = 0.1
#: A program that takes its import path first, so that no file of the current folder is imported
#: in place of ours.
_PROGRAM = ("import sys; sys.path[:] = sys.argv[3:]; "
            "from reid_ref.commands.crosscheck.compute.child import main; main(*sys.argv[1:3])")
#: Signals that a process gets for a fault in machine code.
_CRASHES = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT")
_NOT_OURS = "it wrote something else into the pipe through which its answer would come"

_T = TypeVar("_T")


@dataclass(frozen=True)
class Outcome:
    """An answer or a failure, with what was printed and warned on the way."""

    answer: Answer | None
    failure: str = ""
    printed: str = ""
    warned: tuple[str, ...] = ()
    wrote_on_input: bool = False
    #: It did not answer in time.
    hung: bool = False


class Ended(Exception):
    """The process ended, or was ended, without an answer; the message says how."""

    def __init__(self, message: str, hung: bool = False) -> None:
        super().__init__(message)
        self.hung = hung


# ------------------------------------------------------------------ our side
class Child:
    """The process that runs one evaluator; to be used in a `with` statement.

    Parameters
    ----------
    evaluator : str or callable
        A key of `ADAPTERS`, "module:function", "file.py:function", or the function itself.
    arrays : Arrays
    timeout : float
        Seconds that importing it, or any one call, may take.
    """

    def __init__(self, evaluator: str | Callable[..., Any], arrays: Arrays,
                 timeout: float) -> None:
        if not hasattr(os, "set_blocking"):
            raise InputError("evaluator", "Python 3.12 or newer: on Windows an older one cannot "
                             "look into a pipe without waiting")
        if not (isinstance(evaluator, str) or hasattr(os, "fork")):
            evaluator = _importable(evaluator)
        self._evaluator, self._arrays, self._timeout = evaluator, arrays, timeout
        self._stack = contextlib.ExitStack()
        self._process: subprocess.Popen[bytes] | _Fork | None = None
        self._folder, self._printed, self._greeted = "", b"", False
        self._requests = self._answers = self._output = -1

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._stack.close()

    def load(self) -> tuple[About, Outcome]:
        """Import the evaluator; return what it is, and what it printed and warned.

        Raises
        ------
        InputError
            It cannot be imported (with the import's own message) or called.
        """
        try:
            message = self._start()
            if message["failure"]:
                failure = message["failure"].removeprefix("evaluator: ")
                raise InputError("evaluator", got=failure)
            return About(**message["about"]), self._outcome(message)
        except (Ended, KeyError, TypeError) as error:
            how = error if isinstance(error, Ended) else _NOT_OURS
            raise InputError(
                "evaluator", got=f"{text_of(self._evaluator)} cannot be imported: {how}") from None

    def ask(self, query: int = -1, seed: int = 0) -> Outcome:
        """Call the evaluator on all queries, or on one of them alone."""
        try:
            if self._process is None:
                self._start()
            with contextlib.suppress(OSError):  # it has ended, which is told below
                os.write(self._requests, _REQUEST.pack(query, seed))
            return self._outcome(self._receive())
        except Ended as ended:
            return Outcome(None, str(ended), self._text(), hung=ended.hung)

    def _start(self) -> dict[str, Any]:
        """Start the process and return its first message, that of the import."""
        if isinstance(self._evaluator, str) and not self._folder:
            self._folder = self._stack.enter_context(_written(self._arrays))
        requests, self._requests = _pipe()
        self._answers, answers = _pipe()
        self._output, output = _pipe()
        theirs, self._greeted = (requests, answers, output), False
        if isinstance(self._evaluator, str):
            self._process = _program(self._evaluator, self._folder, theirs)
        else:
            ours = self._requests, self._answers, self._output
            self._process = _Fork(lambda: _from_object(self._evaluator), self._arrays, theirs,
                                  ours)
        for descriptor in theirs:
            os.close(descriptor)
        for descriptor in (self._answers, self._output):
            os.set_blocking(descriptor, False)
        return self._receive()

    def _receive(self) -> dict[str, Any]:
        """Return the next message; raise `Ended`, with the process ended, where none comes."""
        self._printed = b""
        try:
            message = _message(self._bytes(time.monotonic() + self._timeout))
            self._listen()
            return message
        except Ended:
            self._listen()
            self._end()
            raise

    def _bytes(self, until: float) -> bytes:
        data = b""
        while (not self._greeted or len(data) < _LENGTH.size
               or len(data) < _LENGTH.size + _size(data)):
            over = self._over()  # before its last words are read, not after
            left = until - time.monotonic()
            _wait((self._answers, self._output), max(0, min(left, _LOOK)))
            self._listen()
            more = _read(self._answers, 2**20)
            if more:
                data += more
            elif over or more is not None:
                raise Ended(self._how_it_ended())
            elif left <= 0:
                raise Ended(self._too_late(), hung=True)
            if not self._greeted and _GREETING in data:
                data, self._greeted = data.partition(_GREETING)[2], True
        return data[_LENGTH.size:]

    def _listen(self) -> None:
        """Take what was printed so far and keep its beginning."""
        for _ in range(64):  # a process left behind may print for ever
            text = _read(self._output, 2**16)
            if not text:
                break
            self._printed += text[:KEPT_TEXT - len(self._printed)]

    def _text(self) -> str:
        return self._printed.decode("utf-8", "replace")

    def _outcome(self, message: dict[str, Any]) -> Outcome:
        return Outcome(message["answer"], message["failure"], self._text(),
                       tuple(message["warned"]), message["wrote_on_input"])

    def _over(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _how_it_ended(self) -> str:
        for _ in range(4):
            if self._process is not None and self._process.poll() is not None:
                return _last_words(self._process.returncode)
            time.sleep(_LOOK)
        return "it closed the pipe through which its answer would come"

    def _too_late(self) -> str:
        text = f"it gave no answer within {self._timeout:g} seconds and was stopped"
        if isinstance(self._evaluator, str):
            return f"{text}; a longer timeout waits longer"
        return (f"{text}; a longer timeout waits longer, and under its name, module:function, it "
                "would not share this process's threads")

    def _end(self) -> None:
        """End the process and all that it started; let go of the pipes."""
        if self._process is None:
            return
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._process = None
        for descriptor in (self._requests, self._answers, self._output):
            os.close(descriptor)


class _Fork:
    """A fork of this process that serves an evaluator; it is asked as a `Popen` is."""

    def __init__(self, load: Callable[[], Evaluator], arrays: Arrays,
                 theirs: tuple[int, ...], ours: tuple[int, ...]) -> None:
        self.returncode: int | None = None
        _flush()
        with warnings.catch_warnings():
            # Python warns of threads; those of BLAS are idle and are started anew after a fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if not self.pid:
            try:
                os.setsid()
                for number, descriptor in enumerate(theirs):
                    os.dup2(descriptor, number)
                for descriptor in (*theirs, *ours):
                    os.close(descriptor)
                serve(load, arrays)
            finally:
                os._exit(1)

    def poll(self) -> int | None:
        return self._look(os.WNOHANG)

    def wait(self) -> int | None:
        return self._look(0)

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def _look(self, how: int) -> int | None:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, how)
            except ChildProcessError:  # whoever ignores SIGCHLD never learns the status
                pid, status = self.pid, 0
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def _program(spec: str, folder: str, theirs: tuple[int, ...]) -> subprocess.Popen[bytes]:
    """Start a fresh interpreter that serves the evaluator of a name."""
    path = [entry for entry in sys.path if isinstance(entry, str)]
    requests, answers, output = theirs
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, spec, folder, *path], stdin=requests, stdout=answers,
        stderr=output, start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0))  # no Ctrl-C of ours


def _importable(function: Any) -> str:
    """Return the name under which another process can import a function.

    Raises
    ------
    InputError
        It has none: it was made in another function, or typed into an interpreter.
    """
    name, home = getattr(function, "__qualname__", ""), getattr(function, "__module__", None)
    module = sys.modules.get(home or "")
    place = getattr(module, "__file__", None) if home == "__main__" else home
    with contextlib.suppress(AttributeError):
        if place and attrgetter(name)(module) == function:
            return f"{place}:{name}"
    raise InputError(
        f"evaluator: {text_of(name or function)}", "a function that another process can import, "
        "since this system has no fork", remedy="write it into a file and give file.py:function")


@contextlib.contextmanager
def _written(arrays: Arrays) -> Iterator[str]:
    """Write the arrays into a folder that only this user can enter."""
    with tempfile.TemporaryDirectory(prefix="reid-ref-", ignore_cleanup_errors=True) as folder:
        try:
            for k, array in enumerate(arrays.five()):
                np.save(Path(folder, f"{k}.npy"), array, allow_pickle=False)
        except OSError as error:
            raise InputError(
                "evaluator", got="its process gets the arrays in files, which cannot be written "
                f"to {folder}: {error.strerror}",
                remedy="set TMPDIR to a folder with more room") from None
        yield folder


def _pipe() -> tuple[int, int]:
    """Return a pipe that is none of 0, 1 and 2, though these may be closed here."""
    ends = os.pipe()
    if min(ends) > 2:
        return ends
    try:
        return _pipe()
    finally:
        for end in ends:
            os.close(end)


def _wait(descriptors: tuple[int, ...], seconds: float) -> None:
    """Wait until one of the pipes has something to read."""
    if not hasattr(select, "poll"):  # Windows waits for sockets alone
        time.sleep(min(seconds, 0.001))
        return
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    poll.poll(1000 * seconds)


def _read(descriptor: int, size: int) -> bytes | None:
    """Return what is in a pipe, b"" at its end; None where nothing is there yet."""
    try:
        return os.read(descriptor, size)
    except BlockingIOError:
        return None


def _size(data: bytes) -> int:
    size = int(_LENGTH.unpack(data[:_LENGTH.size])[0])
    if not 0 <= size <= LONGEST_MESSAGE:
        raise Ended(_NOT_OURS)
    return size


def _message(data: bytes) -> dict[str, Any]:
    """Read a message, which the evaluator may have forged."""
    try:
        message: dict[str, Any] = json.loads(data)
        if message["answer"] is not None:
            message["answer"] = Answer(**{name: _value(value)
                                          for name, value in message["answer"].items()})
        message.update(failure=str(message["failure"]), warned=list(message["warned"]),
                       wrote_on_input=bool(message["wrote_on_input"]))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise Ended(_NOT_OURS) from None
    return message


def _value(value: Any) -> Any:
    if not isinstance(value, list):
        return None if value is None else float(value)
    return np.array(value, dtype=np.int64 if set(map(type, value)) == {int} else np.float64)


def _last_words(code: int | None) -> str:
    """Say how a process ended, by its exit code: below 0 where a signal ended it."""
    if not code:  # 0, too, where SIGCHLD is ignored and the code is not known
        return "its process ended before it answered"
    if code > 0:
        return f"its process ended with exit code {code} before it answered"
    name = {int(number): number.name for number in signal.Signals}.get(-code, f"signal {-code}")
    why = ", a crash in compiled code" if name in _CRASHES else ""
    if name == "SIGKILL":
        why = ", perhaps because memory ran out"
    return f"its process was ended by {name}{why}"


# ------------------------------------------------------------------ the evaluator's side
def main(spec: str, folder: str) -> NoReturn:
    """Serve an evaluator given by name; the program of a fresh interpreter."""
    sys.argv = [spec]
    arrays = Arrays(*(np.load(Path(folder, f"{k}.npy"), mmap_mode="r").view(np.ndarray)
                      for k in range(5)))
    serve(lambda: load_function(spec) if ":" in spec else load_adapter(spec), arrays)


def _from_object(function: Any) -> Evaluator:
    if "torch" in sys.modules:
        # Its threads stayed in the parent; with more than one it would wait for them for ever.
        sys.modules["torch"].set_num_threads(1)
    return from_function(function, text_of(getattr(function, "__name__", "the evaluator")))


def serve(load: Callable[[], Evaluator], arrays: Arrays) -> NoReturn:
    """Import the evaluator, then answer requests until none comes; never return."""
    owner = os.getpid()
    try:
        with contextlib.suppress(Exception):  # Linux has it: end when the parent does
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        requests, answers = os.dup(0), os.dup(1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        os.write(answers, _GREETING)
        gc.freeze()  # what the parent left behind is not for this process to finish
        sys.stdin = open(0, encoding="utf-8", closefd=False)
        sys.stdout, sys.stderr = (
            open(k, "w", buffering=1, encoding="utf-8", errors="backslashreplace", newline="\n",
                 closefd=False) for k in (1, 2))
        faulthandler.enable()  # a crash says where
        evaluator, message = _guarded(load, InputError)
        if evaluator is not None:
            message["about"] = asdict(evaluator.about)
        _send(message, answers, owner)
        while evaluator is not None and (request := os.read(requests, _REQUEST.size)):
            query, seed = _REQUEST.unpack(request)
            handed = arrays if query < 0 else arrays.rows(slice(query, query + 1))
            _send(_call(evaluator, handed, seed), answers, owner)
        os._exit(0)
    finally:
        os._exit(1)


def _call(evaluator: Evaluator, arrays: Arrays, seed: int) -> dict[str, Any]:
    copies = arrays.copy()

    def call() -> Answer:
        np.random.seed(seed)
        return read_answer(evaluator.call(copies))

    answer, message = _guarded(call, Nonsense)
    if answer is not None:
        message["answer"] = {name: value.tolist() if isinstance(value, np.ndarray) else value
                             for name, value in vars(answer).items()}
    message["wrote_on_input"] = not all(
        array_equal(a, b, equal_nan=a.dtype.kind in "fc")
        for a, b in zip(arrays.five(), copies.five()))
    return message


def _guarded(work: Callable[[], _T],
             ours: type[Exception]) -> tuple[_T | None, dict[str, Any]]:
    """Run foreign code; return its value, or what it raised, and what it warned.

    The messages of `ours` are told as they are.
    """
    value: _T | None = None
    message: dict[str, Any] = {"answer": None, "failure": "", "wrote_on_input": False}
    with warnings.catch_warnings(record=True) as warned, np.errstate(all="warn"):
        warnings.simplefilter("always")
        try:
            value = work()
        except ours as error:
            message["failure"] = str(error)
        except BaseException as error:  # SystemExit and KeyboardInterrupt are answers, too
            message["failure"] = describe(error)
    message["warned"] = list(dict.fromkeys(
        f"{text_of(w.category.__name__)}: {text_of(w.message)}" for w in warned or ()))
    return value, message


def _send(message: dict[str, Any], answers: int, owner: int) -> None:
    """Send a message, after all that was printed before it."""
    if os.getpid() != owner:
        os._exit(0)  # a fork of the evaluator's own that came back
    _flush()
    data = json.dumps(message).encode()
    data = _LENGTH.pack(len(data)) + data
    try:
        while data:
            data = data[os.write(answers, data):]
    except OSError:
        time.sleep(3600)  # the evaluator closed the pipe; the parent sees that


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).fflush(None)
