"""A process of its own for code that is not ours, and what came of each call.

A name is imported in a fresh interpreter that `subprocess` starts. A function object exists only
in this process, so a fork of it, by `multiprocessing`, calls it. Requests and answers go through
a pipe, and what is printed through another, of which the beginning is kept; arrays are files that
both processes map, in a folder of this user's. A crash, an exit, a hang or what is no answer ends
that process and becomes an answer. One process serves all calls; after a crash the next call
starts another.
"""
from __future__ import annotations

import ctypes
import faulthandler
import functools
import gc
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing import Pipe, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import InputError, warnings_to
from reid_ref.foreign.answers import Answer
from reid_ref.foreign.arrays import Arrays
from reid_ref.foreign.calling import N_DRAWS, with_draws
from reid_ref.foreign.importing import load_evaluator
from reid_ref.foreign.words import describe, text_of

if sys.platform == "win32":
    import _winapi
    import msvcrt
    from multiprocessing.connection import PipeConnection as Connection

    def _is_waiting(pipe: int) -> bool:
        return _winapi.PeekNamedPipe(msvcrt.get_osfhandle(pipe), 0)[0] > 0
else:
    from multiprocessing.connection import Connection, wait

    def _is_waiting(pipe: int) -> bool:
        """Return whether there is something to read, or the end."""
        return bool(wait([pipe], 0))

#: How much of what an evaluator prints in one call is kept, in bytes; how many of its warnings.
KEPT_TEXT, _KEPT_WARNINGS = 2000, 100
#: The longest that the system waits, in seconds: 23 days.
_LONGEST = 2e6
#: Seconds for a process to end that has closed its side of the pipe; for processes that a call
#: forked to end, before its answer counts; between two looks at what is printed.
_ENDING, _COPIES, _LOOK = 10, 1, .02
#: Bytes that are read of what is printed before anything else is looked at: a pipe full.
_AT_ONCE = 2**16
#: Bytes of a message: answers have some numbers a query.
_MOST = 2**28
_TWICE = ("it gave two answers for one request: it forked, and both processes returned; let "
          "the copy end with os._exit")
#: A program that takes its import path first, so that no file of the current folder is imported
#: in place of ours.
_PROGRAM = ("import sys; sys.path[:] = sys.argv[4:]; "
            "from reid_ref.foreign.child import serve_evaluator; "
            "serve_evaluator(*sys.argv[1:4])")
#: Why a process is ended by a signal.
_CAUSES = {"SIGKILL": ", perhaps because memory ran out",
           **dict.fromkeys(("SIGSEGV", "SIGBUS", "SIGABRT"), ", a crash in compiled code")}


class Outcome(NamedTuple):
    """What a request gave or how it failed, with what was printed and warned on the way.

    `hung`: no message came in time, or what is no single answer, so that it is not asked again
    about parts of the request.
    """

    value: Any = None
    failure: str = ""
    printed: str = ""
    warned: tuple[str, ...] = ()
    hung: bool = False


def _read_arrays(file: Path) -> Arrays:
    dtype, *sides = pickle.loads(file.with_suffix(".labels").read_bytes())  # ours
    return Arrays(np.memmap(file, dtype, "r", shape=(*map(len, sides[:2]),)), *sides)


class Asking:
    """An evaluator that is asked about the arrays of a file, or about one query of them."""

    def __init__(self, rank: int | None, settings: Mapping[str, Any], evaluator: Any) -> None:
        self.loaded = load_evaluator(evaluator, rank, settings)
        self._read, self._drawn = functools.lru_cache(1)(_read_arrays), with_draws(self.loaded.ask)

    def __call__(self, file: Path, query: int, draws: bool) -> Answer:
        arrays = self._read(file)
        asked = arrays if query < 0 else arrays.take(slice(query, query + 1))
        np.random.seed(0)
        answer = (self._drawn if draws else self.loaded.ask)(asked)
        # APs that are not one per query cannot be compared.
        return answer if answer.ap is None or len(answer.ap) == len(asked.query) else replace(
            answer, ap=None)


# ------------------------------------------------------------------ our side
class Child:
    """The process that runs one evaluator, until it is closed.

    Parameters
    ----------
    evaluator : str or callable
        A key of `TOOLBOXES`, "module:function", "file.py:function", or the function itself.
    timeout : float
        Seconds that importing it, or any one call, may take.
    make
        Imports the evaluator there; what it returns serves requests, and has it as `loaded`.
    """

    def __init__(self, evaluator: str | Callable[..., Any], timeout: float,
                 make: Callable[..., Any]) -> None:
        self._evaluator, self._timeout, self._make = evaluator, timeout, make
        self._printed, self._output = b"", -1
        self._process: subprocess.Popen[bytes] | BaseProcess | None = None
        if not (isinstance(evaluator, str) or hasattr(os, "fork")):
            raise InputError("evaluator", "module:function or file.py:function, since this "
                             "system has no fork", text_of(evaluator))
        #: Which only this user can enter.
        self._folder = TemporaryDirectory(prefix="reid-ref-", ignore_cleanup_errors=True)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._folder.cleanup()

    def give(self, name: str, rows: Iterable[npt.NDArray[Any]], *sides: Any) -> Arrays:
        """Write arrays, by a name, where both processes read them; return them.

        `sides`: the labels of the queries and of the gallery, and their features or None.
        """
        path = Path(self._folder.name, name)
        try:
            with open(path, "wb") as file:
                for row in rows:
                    file.write(row.tobytes())
            path.with_suffix(".labels").write_bytes(pickle.dumps((row.dtype, *sides)))
        except OSError as error:
            raise InputError("evaluator", got="its process gets the arrays in a file, which "
                             f"cannot be written to {path.parent}: {error.strerror}",
                             remedy="set TMPDIR to a folder with more room") from None
        return _read_arrays(path)

    def load(self) -> Outcome:
        """Import the evaluator; return its name and how it is called, what it printed and warned.

        Raises
        ------
        InputError
            It cannot be imported (with the import's own message) or called.
        """
        outcome = self._start()
        if outcome.value is None:
            start = f"evaluator: {text_of(self._evaluator)} cannot be imported: "
            raise InputError("", got=f"{start * (self._process is None)}{outcome.failure}")
        return outcome

    def ask(self, name: str, query: int = -1, draws: bool = False) -> Outcome:
        """Call the evaluator on the arrays of a name, on all queries or on a single one; `draws`:
        by several seeds, if two of them give two CMC."""
        return self.request(self._timeout * (1 + N_DRAWS * draws),
                            Path(self._folder.name, name), query, draws)

    def request(self, seconds: float, *message: Any) -> Outcome:
        """Let what serves requests there do something."""
        if self._process is None and (outcome := self._start()).value is None:
            self.close()
            return outcome
        return self._receive(seconds, *message)

    def _start(self) -> Outcome:
        """Start the process; return what comes of the import."""
        self._pipe, pipe = Pipe()
        self._output, printed = os.pipe()
        try:
            if isinstance(self._evaluator, str):
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _PROGRAM, self._evaluator, str(os.getpid()),
                     str(pipe.fileno()), *(path for path in sys.path if isinstance(path, str))],
                    stdin=subprocess.DEVNULL, stdout=printed, stderr=printed, **_inheriting(pipe))
            else:
                self._process = get_context("fork").Process(target=_serve_function, args=(
                    self._evaluator, os.getpid(), pipe, (self._pipe.fileno(), self._output),
                    printed))
                self._process.start()
        finally:
            pipe.close()
            os.close(printed)
        return self._receive(self._timeout, self._make)

    def _receive(self, seconds: float, *message: Any) -> Outcome:
        """Send a message and return the next one; if none comes in time, end the process."""
        with suppress(OSError):  # it has ended, which is noticed below
            self._pipe.send(message)
        received: list[Outcome | None] = []
        reader = Thread(target=_read_message, args=(self._pipe, received), daemon=True)
        reader.start()
        until = time.monotonic() + min(seconds, _LONGEST)
        while reader.is_alive() and time.monotonic() < until:
            reader.join(0 if self._take() else _LOOK)
        outcome = received[0] if received else Outcome(hung=True, failure=(
            f"it gave no answer within {self._timeout:g} seconds and was stopped; a longer "
            "timeout waits longer"))
        if outcome is None:
            code = self._exit_code(max(0, min(_ENDING, until - time.monotonic())))
            outcome = _SPOILED if code is None else Outcome(failure=_last_words(code))
        elif not outcome.hung:
            return outcome._replace(printed=self._text())
        self.close()
        return outcome._replace(printed=self._text())

    def _take(self) -> bool:
        """Take what is printed out of its pipe, so that printing goes on; keep the beginning."""
        if self._output < 0 or not _is_waiting(self._output):
            return False
        text = os.read(self._output, _AT_ONCE)
        self._printed += text[:KEPT_TEXT - len(self._printed)]
        return bool(text)

    def _text(self) -> str:
        """Return the beginning of what was printed since the last message."""
        self._take()
        text, self._printed = self._printed, b""
        return text.decode("utf-8", "replace")

    def _exit_code(self, seconds: float) -> int | None:
        """Return the exit code of a process that is about to end; None if it does not."""
        process, until = self._process, time.monotonic() + seconds
        while True:  # `join` would trust a pipe that the evaluator can close
            code = (process.exitcode if isinstance(process, BaseProcess) else
                    None if process is None else process.poll())
            if code is not None or time.monotonic() > until:
                return code
            time.sleep(_LOOK)

    def close(self) -> None:
        """End the process and its group."""
        process, self._process = self._process, None
        if process is None:
            return
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid or 0, signal.SIGKILL)
        process.kill()
        (process.wait if isinstance(process, subprocess.Popen) else process.join)()
        self._take()
        output, self._output = self._output, -1
        os.close(output)


_SPOILED = Outcome(failure="its process spoiled the pipe through which it answers", hung=True)


def _read_message(pipe: Connection, received: list[Outcome | None]) -> None:
    """Append the next message of a pipe; None at its end. It may never be complete."""
    try:
        message = pipe.recv_bytes(_MOST)
    except (EOFError, OSError):
        received.append(None)
        return
    outcome = None
    with suppress(Exception):  # what foreign code wrote
        outcome = pickle.loads(message)
    received.append(outcome if isinstance(outcome, Outcome) else _SPOILED)


def _inheriting(pipe: Connection) -> dict[str, Any]:
    """Return the options by which a program inherits this side of a pipe, in its own group."""
    if sys.platform == "win32":
        os.set_handle_inheritable(pipe.fileno(), True)
        return {"close_fds": False, "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"pass_fds": (pipe.fileno(),), "start_new_session": True}


def _last_words(code: int) -> str:
    """Return how a process ended, by its exit code: below 0 if a signal ended it."""
    if code >= 0:  # 0, too, where SIGCHLD is ignored and the code is not known
        return f"its process ended{f' with exit code {code}' * (code > 0)} before it answered"
    name = next((each.name for each in signal.Signals if each == -code), f"signal {-code}")
    return f"its process was ended by {name}{_CAUSES.get(name, '')}"


# ------------------------------------------------------------------ the evaluator's side
def serve_evaluator(spec: str, parent: str, pipe: str) -> NoReturn:
    """Serve an evaluator given by name; the program of a fresh interpreter."""
    sys.argv = [spec]
    _serve(spec, int(parent), Connection(int(pipe)))


def _serve_function(function: Any, parent: int, pipe: Connection, not_its: tuple[int, ...],
                    printed: int) -> NoReturn:
    """Serve a function object in a fork."""
    os.setsid()
    for descriptor in not_its:
        os.close(descriptor)
    for stream, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), printed, printed)):
        os.dup2(descriptor, stream)
    if torch := sys.modules.get("torch"):
        # Its threads stayed in the parent; with more than one it would wait for them for ever.
        torch.set_num_threads(1)
    _serve(function, parent, pipe)


def _serve(evaluator: Any, parent: int, pipe: Connection) -> NoReturn:
    """Import the evaluator at the first request, then answer the others; never return."""
    with suppress(Exception):  # on Linux it ends when its parent does, perhaps before this call
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(0)
    process = os.getpid()

    def load(make: Callable[..., Any]) -> Any:
        serving.append(make(evaluator))
        return serving[-1].loaded[:2]
    serving: list[Any] = [load]

    try:
        gc.freeze()  # what the parent left behind is not for this process to finish
        sys.stdout, sys.stderr = (
            open(k, "w", buffering=1, encoding="utf-8", errors="backslashreplace", newline="\n",
                 closefd=False) for k in (1, 2))
        faulthandler.enable()  # a crash prints its place
        while True:
            request = pipe.recv()
            with _waiting_for_copies():
                outcome = _guarded(functools.partial(serving[-1], *request))
                _flush()
                if os.getpid() != process:
                    pipe.send(Outcome(failure=_TWICE, hung=True))
                    os._exit(0)
            pipe.send(outcome)
    finally:
        os._exit(0)


@contextmanager
def _waiting_for_copies() -> Iterator[None]:
    """Wait a moment for the processes that were forked meanwhile: one may return, too."""
    pipe, copies = os.pipe()  # a fork has `copies` open until it ends, another program has not
    try:
        yield
    finally:
        os.close(copies)
        until = time.monotonic() + _COPIES * hasattr(os, "fork")
        while time.monotonic() < until and not _is_waiting(pipe):
            time.sleep(_LOOK)
        os.close(pipe)


def _guarded(work: Callable[[], Any]) -> Outcome:
    """Run foreign code; return its value, and what it raised and warned."""
    value, failure, warned = None, "", dict[str, None]()

    def keep(warning: Warning, category: type[Warning], *_: object) -> None:
        warned[f"{text_of(category.__name__)}: {text_of(warning)}"] = None

    # This process is for foreign code alone, which may have changed both.
    warnings.showwarning = keep  # type: ignore[assignment]
    warnings.simplefilter("always")
    with warnings_to(None), np.errstate(all="warn"):
        try:
            value = work()
        except BaseException as error:  # SystemExit and KeyboardInterrupt are answers, too
            failure = str(error) if isinstance(error, InputError) else describe(error)
    return Outcome(value, failure, warned=tuple(warned)[:_KEPT_WARNINGS])


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
