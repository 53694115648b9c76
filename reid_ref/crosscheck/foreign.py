"""Calling code that is not ours: whatever it does becomes an `Outcome`, never our crash.

It gets copies of the arrays. What it prints (in Python or in C) and warns is kept for the
report; what it raises, `SystemExit` included, becomes a message; numpy's random state, error
state and the import path are put back afterwards. Only Ctrl-C passes through. It runs in this
process: a crash in C takes us along (`os._exit` does not, it becomes `SystemExit`).
"""
from __future__ import annotations

import contextlib
import ctypes
import importlib
import inspect
import io
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.result import Doubles, Labels
from reid_ref.validation import InputError, Integers

#: How much of what an evaluator prints or says is kept.
KEPT_TEXT = 2000
#: The length of CMC that ReID code asks of torchreid's signature.
MAX_RANK = 50


@dataclass(frozen=True)
class Arrays:
    """What an evaluator is fed: distances (queries x gallery) and the labels of both sides."""

    distances: npt.NDArray[Any]
    query: Labels
    gallery: Labels

    def copy(self) -> Arrays:
        """Return arrays that share no memory with these."""
        return Arrays(self.distances.copy(), _copy(self.query), _copy(self.gallery))

    def one(self, k: int) -> Arrays:
        """Return query k alone."""
        query = Labels(self.query.identity[k:k + 1], self.query.camera[k:k + 1])
        return Arrays(self.distances[k:k + 1], query, self.gallery)

    def five(self) -> tuple[Any, ...]:
        """Return distmat, q_pids, g_pids, q_camids, g_camids: torchreid's order.

        Labels are copied: theirs cannot be written to, which some evaluators need.
        """
        return (self.distances, self.query.identity.copy(), self.gallery.identity.copy(),
                self.query.camera.copy(), self.gallery.camera.copy())


@dataclass(frozen=True)
class Answer:
    """What an evaluator answered, as numpy values; None for what it does not give.

    `ranks` says which ranks the entries of `cmc` are for. `ap` has one entry a query, NaN where
    it gave none.
    """

    mean_ap: float | None = None
    cmc: Doubles | None = None
    mean_inp: float | None = None
    ranks: Integers | None = None
    ap: Doubles | None = None

    @property
    def empty(self) -> bool:
        """Whether it answers nothing."""
        return all(value is None for value in (self.mean_ap, self.cmc, self.mean_inp, self.ap))


@dataclass(frozen=True)
class Outcome:
    """An answer or a failure, with what was printed and warned on the way."""

    answer: Answer | None
    failure: str = ""
    printed: str = ""
    warned: tuple[str, ...] = ()
    wrote_on_input: bool = False
    #: The answer itself was of no use; otherwise a failure is an exception.
    nonsense: bool = False


@dataclass(frozen=True)
class Evaluator:
    """Another evaluator: `call` takes `Arrays`, which it may spoil, and returns what it likes."""

    name: str
    call: Callable[[Arrays], Any]
    fed: str
    version: str = ""
    expected: str | None = None
    computes: str = ""
    folder: str | None = None
    outcome: Outcome = field(default_factory=lambda: Outcome(None))


class Nonsense(Exception):
    """An answer that is not one."""


def ask(evaluator: Evaluator, arrays: Arrays, seed: int = 0) -> Outcome:
    """Call the evaluator on copies of the arrays and read its answer."""
    copies = arrays.copy()
    with guarded(evaluator.folder, seed) as caught:
        caught.answer = read_answer(evaluator.call(copies))
    wrote = not all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
                    for a, b in zip(arrays.five(), copies.five()))
    return Outcome(caught.answer, caught.failure, caught.printed, caught.warned, wrote,
                   caught.nonsense)


def load_function(spec: str, folder: str | None = None) -> Evaluator:
    """Return the evaluator `module:function`, importable from `folder` too.

    Raises
    ------
    InputError
        It cannot be imported (with the import's own message), or cannot be called.
    """
    module, _, name = spec.partition(":")
    if not (module and name):
        raise InputError(f"--evaluator: expected module:function, got {spec!r}")
    folder = os.getcwd() if folder is None else folder
    found: list[Any] = []
    with guarded(folder, 0) as caught:
        target: Any = importlib.import_module(module)
        for part in name.split("."):
            target = getattr(target, part)
        found.append(target)
    if not found:
        raise InputError(f"--evaluator: {spec} cannot be imported: {caught.failure}")
    outcome = Outcome(None, "", caught.printed, caught.warned)
    return from_function(found[0], spec, folder=folder, outcome=outcome)


def from_function(function: Any, name: str, **more: Any) -> Evaluator:
    """Return the evaluator of a function with torchreid's signature or ours.

    Raises
    ------
    InputError
        Not callable, or of another signature.
    """
    if not callable(function):
        raise InputError(f"--evaluator: {name}: expected a function, got "
                         f"{type(function).__name__}")
    ours = "called as (distances, query, gallery), our signature"
    theirs = "called as (distmat, q_pids, g_pids, q_camids, g_camids{}), torchreid's signature"
    labels = "; the arrays as they are, label -1 included"
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # built-in functions may have none
        parameters = [inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL)]
    if _is_ours(parameters, name):
        return Evaluator(
            name, lambda a: function(a.distances, a.query, a.gallery), ours + labels, **more)
    named = [p for p in parameters if p.name == "max_rank"]
    if named and named[0].kind is not inspect.Parameter.POSITIONAL_ONLY:
        return Evaluator(name, lambda a: function(*a.five(), max_rank=MAX_RANK),
                         theirs.format(f", max_rank={MAX_RANK}") + labels, **more)
    required = [p for p in parameters if _positional(p) and p.default is p.empty]
    if len(required) == 6 or parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
        return Evaluator(name, lambda a: function(*a.five(), MAX_RANK),
                         theirs.format(f", {MAX_RANK}") + labels, **more)
    return Evaluator(name, lambda a: function(*a.five()), theirs.format("") + labels, **more)


def _is_ours(parameters: list[inspect.Parameter], name: str) -> bool:
    places = [p for p in parameters if _positional(p)]
    required = [p for p in places if p.default is p.empty]
    rest = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    keywords = [p.name for p in parameters
                if p.kind is inspect.Parameter.KEYWORD_ONLY and p.default is p.empty]
    if keywords not in ([], ["max_rank"]):
        raise InputError(f"--evaluator: {name}: cannot be called without its keyword arguments "
                         f"{', '.join(keywords)}; wrap it in a function that gives them")
    if len(places) >= 3 and len(required) <= 3 and (
            [p.name for p in places[1:3]] == ["query", "gallery"] or (
                len(places) < 5 and not rest)):
        return True
    if len(required) > 6 or (len(places) < 5 and not rest):
        raise InputError(
            f"--evaluator: {name}: expected a function of (distmat, q_pids, g_pids, q_camids, "
            f"g_camids, max_rank) or of (distances, query, gallery), got one of "
            f"({', '.join(map(str, parameters))})")
    return False


def _positional(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (inspect.Parameter.POSITIONAL_ONLY,
                              inspect.Parameter.POSITIONAL_OR_KEYWORD)


def read_answer(value: Any) -> Answer:
    """Return the answer as numpy values.

    Raises
    ------
    Nonsense
        It is not (cmc, mAP, ...), (all_cmc, all_AP, all_INP) or Result-like.
    """
    try:
        return value if isinstance(value, Answer) else _read(value)
    except Nonsense:
        raise
    except Exception as error:  # ragged lists, numbers that refuse to be read, ...
        raise Nonsense(f"it returned {_short(value)}, which cannot be read: "
                       f"{describe(error)}") from None


def _read(value: Any) -> Answer:
    if hasattr(value, "mean_ap") and hasattr(value, "cmc"):
        per_query = getattr(value, "per_query", None)
        ap = getattr(per_query, "ap", None)
        inp = getattr(value, "mean_inp", None)
        return Answer(_number(value.mean_ap, "mean_ap"), _vector(value.cmc, "cmc"),
                      None if inp is None else _number(inp, "mean_inp"),
                      ap=None if ap is None else _vector(ap, "per_query.ap"))
    if not isinstance(value, (tuple, list)) or len(value) < 2:
        raise Nonsense(f"it returned {_short(value)}; expected (cmc, mAP), (cmc, mAP, mINP), "
                       "(cmc, all_AP, all_INP) or a Result")
    first, second = np.ndim(value[0]), np.ndim(value[1])
    if first == 0 and second == 1 and not isinstance(value[0], str):
        raise Nonsense("it returned a number and a vector, (mAP, cmc) by the look of it; "
                       "expected (cmc, mAP)")
    cmc = _vector(value[0], "cmc")
    mean_ap = _mean(value[1], "mAP")
    inp = value[2] if len(value) > 2 else None
    try:
        mean_inp = None if inp is None else _mean(inp, "mINP")
    except Nonsense:  # what follows (cmc, mAP) may be anything
        mean_inp = None
    return Answer(mean_ap, cmc, mean_inp,
                  ap=_vector(value[1], "all_AP") if np.ndim(value[1]) == 1 else None)


def _mean(value: Any, name: str) -> float:
    if np.ndim(value) == 0:
        return _number(value, name)
    values = _vector(value, "all_" + name.removeprefix("m"))
    if not len(values):
        raise Nonsense(f"its {name} is an empty vector")
    return float(np.mean(np.asarray(value)))  # in its own dtype, as fast-reid's evaluator does


def _number(value: Any, name: str) -> float:
    array = np.asarray(value)
    if array.shape not in ((), (1,)) or array.dtype.kind not in "fiub":
        raise Nonsense(f"its {name} is {_short(value)}; expected a number")
    return float(array.reshape(()))


def _vector(value: Any, name: str) -> Doubles:
    array = np.asarray(value)
    if array.ndim != 1 or array.dtype.kind not in "fiub":
        raise Nonsense(f"its {name} is {_short(value)}; expected a vector of numbers")
    return array.astype(np.float64)


def problems(answer: Answer, n_gallery: int) -> list[str]:
    """Return what is wrong with the numbers of an answer, whatever convention they follow."""
    found = []
    for name, number in (("mAP", answer.mean_ap), ("mINP", answer.mean_inp)):
        if number is not None and not 0 <= number <= 1:  # NaN as well
            found.append(f"its {name} is {number!r}; expected a number from 0 to 1")
    if answer.ap is not None:
        outside = np.flatnonzero((answer.ap < 0) | (answer.ap > 1))
        if outside.size:
            found.append(f"its AP of query {outside[0]} is {float(answer.ap[outside[0]])!r}; "
                         "expected a number from 0 to 1")
    cmc = answer.cmc
    if cmc is None:
        return found
    if not len(cmc):
        return [*found, "its CMC is empty"]
    if len(cmc) > n_gallery:
        found.append(f"its CMC has {len(cmc)} entries; the gallery has {n_gallery} images")
    if not np.isfinite(cmc).all():
        return [*found, f"its CMC is {cmc[~np.isfinite(cmc)][0]} at Rank-"
                        f"{int(np.argmin(np.isfinite(cmc))) + 1}"]
    if cmc.min() < 0 or cmc.max() > 1:
        worst = cmc.max() if cmc.max() > 1 else cmc.min()
        found.append(f"its CMC reaches {float(worst)!r}; expected numbers from 0 to 1")
    falls = np.flatnonzero(np.diff(cmc) < 0)
    if falls.size:
        k = int(falls[0])
        found.append(f"its CMC falls from {float(cmc[k])!r} at Rank-{k + 1} to "
                     f"{float(cmc[k + 1])!r} at Rank-{k + 2}")
    return found


@dataclass
class Caught:
    """What happened in a guarded block."""

    answer: Answer | None = None
    failure: str = ""
    printed: str = ""
    warned: tuple[str, ...] = ()
    nonsense: bool = False


@contextlib.contextmanager
def guarded(folder: str | None = None, seed: int = 0) -> Iterator[Caught]:
    """Run foreign code: whatever it raises, prints or warns ends in what this yields."""
    caught = Caught()
    state, path, here = np.random.get_state(), list(sys.path), os.getcwd()
    if folder is not None:
        sys.path.insert(0, folder)
    np.random.seed(seed)
    try:
        with warnings.catch_warnings(record=True) as warned, np.errstate(all="warn"), \
                _capture() as text, _exit_raises():
            warnings.simplefilter("always")
            try:
                yield caught
            except KeyboardInterrupt:
                raise
            except Nonsense as nonsense:
                caught.failure, caught.nonsense = str(nonsense), True
            except BaseException as error:  # SystemExit and GeneratorExit are answers, too
                caught.failure = describe(error)
    finally:
        np.random.set_state(state)
        sys.path[:] = path
        os.chdir(here)
    caught.printed = "".join(text)
    caught.warned = tuple(dict.fromkeys(
        f"{w.category.__name__}: {shorten(str(w.message))}" for w in warned))


@contextlib.contextmanager
def _exit_raises() -> Iterator[None]:
    """Let `os._exit`, which would end us without a word, raise `SystemExit`."""
    kept = os._exit
    setattr(os, "_exit", sys.exit)
    try:
        yield
    finally:
        setattr(os, "_exit", kept)


@contextlib.contextmanager
def _capture() -> Iterator[list[str]]:
    """Keep what is written to stdout and stderr, by Python and below it, off the terminal."""
    text: list[str] = []
    stream = io.StringIO()
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: text.insert(0, stream.getvalue()[:KEPT_TEXT]))
        if hasattr(os, "dup2"):
            with contextlib.suppress(OSError):  # no such descriptors, as in some services
                _redirect_descriptors(stack, text)
        stack.enter_context(contextlib.redirect_stdout(stream))
        stack.enter_context(contextlib.redirect_stderr(stream))
        yield text


def _redirect_descriptors(stack: contextlib.ExitStack, text: list[str]) -> None:
    saved = [os.dup(1), os.dup(2)]
    for descriptor in saved:
        stack.callback(os.close, descriptor)
    file = stack.enter_context(tempfile.TemporaryFile())

    def restore() -> None:
        _flush_c()
        for target, descriptor in zip((1, 2), saved):
            os.dup2(descriptor, target)
        file.seek(0)
        text.append(file.read(KEPT_TEXT).decode("utf-8", "replace"))
    for python_stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            python_stream.flush()
    _flush_c()
    stack.callback(restore)
    for target in (1, 2):
        os.dup2(file.fileno(), target)


def _flush_c() -> None:
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).fflush(None)


def describe(error: BaseException) -> str:
    """Return an exception as one line: its type, its own message, where it was raised."""
    try:
        message = shorten(str(error))
    except Exception:
        message = "(its message cannot be read)"
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(Path(__file__).parent)
    where = [frame for frame in frames if not frame.filename.startswith((ours, "<frozen"))]
    place = f" ({Path(where[-1].filename).name}, line {where[-1].lineno})" if where else ""
    return f"{type(error).__name__}{': ' if message else ''}{message}{place}"


def shorten(text: str, length: int = 300) -> str:
    """Return text as one line of at most `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[:length - 4] + " ..."


def _short(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    try:
        text = shorten(repr(value), 60)
    except Exception:
        text = "something that cannot be printed"
    return f"{text} ({type(value).__name__})"


def _copy(labels: Labels) -> Labels:
    return Labels(labels.identity.copy(), labels.camera.copy())
