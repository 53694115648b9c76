"""Code that is not ours: finding it, knowing how to call it, reading what it answers.

All of this but `Arrays`, `Answer` and `problems` runs in the evaluator's own process
(`child`), since importing such code runs it, and so may reading what it returned.
"""
from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.arrays.value import Value
from reid_ref.labels import Labels

#: The length of CMC that ReID code asks of torchreid's signature.
MAX_RANK = 50
#: How far above 1, or below 0, rounding may take a number: a few sums in float32.
ROUNDING = 2.0**-20
#: No vector of an answer is longer.
_LONGEST = 10**7


@dataclass(frozen=True)
class Arrays:
    """What an evaluator is fed, in torchreid's order: distances (queries x gallery) and labels."""

    distances: npt.NDArray[Any]
    q_pids: Integers
    g_pids: Integers
    q_camids: Integers
    g_camids: Integers

    @cached_property
    def query(self) -> Labels:
        return Labels(self.q_pids, self.q_camids)

    @cached_property
    def gallery(self) -> Labels:
        return Labels(self.g_pids, self.g_camids)

    def five(self) -> tuple[npt.NDArray[Any], ...]:
        return self.distances, self.q_pids, self.g_pids, self.q_camids, self.g_camids

    def copy(self) -> Arrays:
        """Return arrays that share no memory with these and can be written on."""
        return Arrays(*(array.copy() for array in self.five()))

    def rows(self, which: Any) -> Arrays:
        """Return a part of the queries: a slice, or their numbers."""
        return Arrays(self.distances[which], self.q_pids[which], self.g_pids,
                      self.q_camids[which], self.g_camids)


@dataclass(frozen=True, eq=False)
class Answer(Value):
    """What an evaluator answered, as numpy values; None for what it does not give.

    `ranks` says which ranks the entries of `cmc` are for. `ap` has one entry a query, NaN where
    it gave none.
    """

    mAP: float | None = None
    cmc: Doubles | None = None
    mINP: float | None = None
    ranks: Integers | None = None
    ap: Doubles | None = None

    @property
    def empty(self) -> bool:
        """Whether it answers nothing."""
        return all(value is None for value in (self.mAP, self.cmc, self.mINP, self.ap))


def ranks_and_cmc(answer: Answer) -> tuple[Integers, Doubles]:
    """Return the ranks of their CMC entries and the entries; both empty where there is none."""
    if answer.cmc is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    ranks = np.arange(1, len(answer.cmc) + 1) if answer.ranks is None else answer.ranks
    return ranks, answer.cmc


@dataclass(frozen=True)
class About:
    """What a report says of an evaluator before it has run; see `CrossCheck` for the words."""

    name: str
    fed: str
    version: str = ""
    expected: str | None = None
    computes: str = ""


@dataclass(frozen=True)
class Evaluator:
    """Another evaluator: `call` takes `Arrays`, which it may spoil, and returns what it likes."""

    about: About
    call: Callable[[Arrays], Any]


class Nonsense(Exception):
    """An answer that is not one."""


def load_function(spec: str) -> Evaluator:
    """Return the evaluator `module:function` or `file.py:function`, from the current folder too.

    Raises
    ------
    InputError
        It cannot be imported (with the import's own message), or cannot be called.
    """
    module, _, name = spec.rpartition(":")
    try:
        target = _import_file(Path(module)) if module.endswith(".py") else _import_module(module)
        for part in name.split("."):
            target = getattr(target, part)
    except BaseException as error:
        raise InputError(f"evaluator: {spec} cannot be imported: {describe(error)}") from None
    return from_function(target, spec)


def _import_module(name: str) -> Any:
    sys.path.insert(0, os.getcwd())
    return importlib.import_module(name)


def _import_file(file: Path) -> Any:
    """Run a file as a module of its own name, so that no other module is taken for it."""
    sys.path.insert(0, str(file.absolute().parent))
    spec = importlib.util.spec_from_file_location("reid_ref_evaluator", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def check_spec(spec: str) -> None:
    """Refuse what is neither module:function nor file.py:function, or a file that is not there.

    Raises
    ------
    InputError
    """
    module, _, name = spec.rpartition(":")
    if not (module and name):
        raise InputError(
            f"evaluator: expected module:function or file.py:function, got {spec!r}")
    if module.endswith(".py") and not Path(module).is_file():
        raise InputError(f"evaluator: {module}: expected a Python file, found none; "
                         f"the current folder is {os.getcwd()}")


def from_function(function: Any, name: str) -> Evaluator:
    """Return the evaluator of a function with torchreid's signature or ours.

    Raises
    ------
    InputError
        Not callable, or of another signature.
    """
    if not callable(function):
        raise InputError(f"evaluator: {name}: expected a function, got "
                         f"{type(function).__name__}")
    ours = "called as (distances, query, gallery), our signature"
    theirs = "called as (distmat, q_pids, g_pids, q_camids, g_camids{}), torchreid's signature"
    labels = "; the arrays as they are, label -1 included"
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # built-in functions may have none
        parameters = [inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL)]
    if _is_ours(parameters, name):
        return Evaluator(About(name, ours + labels),
                         lambda a: function(a.distances, a.query, a.gallery))
    named = [p for p in parameters if p.name == "max_rank"]
    if named and named[0].kind is not inspect.Parameter.POSITIONAL_ONLY:
        return Evaluator(About(name, theirs.format(f", max_rank={MAX_RANK}") + labels),
                         lambda a: function(*a.five(), max_rank=MAX_RANK))
    required = [p for p in parameters if _positional(p) and p.default is p.empty]
    if len(required) == 6 or parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
        return Evaluator(About(name, theirs.format(f", {MAX_RANK}") + labels),
                         lambda a: function(*a.five(), MAX_RANK))
    return Evaluator(About(name, theirs.format("") + labels), lambda a: function(*a.five()))


def _is_ours(parameters: list[inspect.Parameter], name: str) -> bool:
    places = [p for p in parameters if _positional(p)]
    required = [p for p in places if p.default is p.empty]
    rest = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    keywords = [p.name for p in parameters
                if p.kind is inspect.Parameter.KEYWORD_ONLY and p.default is p.empty]
    if keywords not in ([], ["max_rank"]):
        raise InputError(f"evaluator: {name}: cannot be called without its keyword arguments "
                         f"{', '.join(keywords)}; wrap it in a function that gives them")
    if len(places) >= 3 and len(required) <= 3 and (
            [p.name for p in places[1:3]] == ["query", "gallery"] or (
                len(places) < 5 and not rest)):
        return True
    if len(required) > 6 or (len(places) < 5 and not rest):
        raise InputError(
            f"evaluator: {name}: expected a function of (distmat, q_pids, g_pids, q_camids, "
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
    if hasattr(value, "mAP") and hasattr(value, "cmc"):
        per_query = getattr(value, "per_query", None)
        ap = getattr(per_query, "ap", None)
        inp = getattr(value, "mINP", None)
        return Answer(_number(value.mAP, "mAP"), _vector(value.cmc, "cmc"),
                      None if inp is None else _number(inp, "mINP"),
                      ap=None if ap is None else _vector(ap, "per_query.ap"))
    if not isinstance(value, (tuple, list)) or len(value) < 2:
        raise Nonsense(f"it returned {_short(value)}; expected (cmc, mAP), (cmc, mAP, mINP), "
                       "(cmc, all_AP, all_INP) or a Result")
    first, second = np.ndim(value[0]), np.ndim(value[1])
    if first == 0 and second == 1 and not isinstance(value[0], str):
        raise Nonsense("it returned a number and a vector, (mAP, cmc) by the look of it; "
                       "expected (cmc, mAP)")
    cmc = _vector(value[0], "cmc")
    mAP = _mean(value[1], "mAP")
    inp = value[2] if len(value) > 2 else None
    try:
        mINP = None if inp is None else _mean(inp, "mINP")
    except Nonsense:  # what follows (cmc, mAP) may be anything
        mINP = None
    return Answer(mAP, cmc, mINP,
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
    if len(array) > _LONGEST:
        raise Nonsense(f"its {name} has {len(array):,} entries; expected at most one an image")
    return array.astype(np.float64)


def problems(answer: Answer, n_gallery: int) -> list[str]:
    """Return what is wrong with the numbers of an answer, whatever convention they follow."""
    found = []
    for name, number in (("mAP", answer.mAP), ("mINP", answer.mINP)):
        if number is not None and not -ROUNDING <= number <= 1 + ROUNDING:  # NaN as well
            found.append(f"its {name} is {number!r}; expected a number from 0 to 1")
    if answer.ap is not None:
        outside = np.flatnonzero(_outside(answer.ap))
        if outside.size:
            found.append(f"its AP of query {outside[0]} is {float(answer.ap[outside[0]])!r}; "
                         "expected a number from 0 to 1")
    return found if answer.cmc is None else found + _cmc_problems(answer.cmc, n_gallery)


def _cmc_problems(cmc: Doubles, n_gallery: int) -> list[str]:
    if not len(cmc):
        return ["its CMC is empty"]
    found = []
    if len(cmc) > n_gallery:
        found.append(f"its CMC has {len(cmc)} entries; the gallery has {n_gallery} images")
    if not np.isfinite(cmc).all():
        return [*found, f"its CMC is {cmc[~np.isfinite(cmc)][0]} at Rank-"
                        f"{int(np.argmin(np.isfinite(cmc))) + 1}"]
    if _outside(cmc).any():
        worst = cmc.max() if cmc.max() > 1 + ROUNDING else cmc.min()
        found.append(f"its CMC reaches {float(worst)!r}; expected numbers from 0 to 1")
    falls = np.flatnonzero(np.diff(cmc) < -ROUNDING)
    if falls.size:
        k = int(falls[0])
        found.append(f"its CMC falls from {float(cmc[k])!r} at Rank-{k + 1} to "
                     f"{float(cmc[k + 1])!r} at Rank-{k + 2}")
    return found


def _outside(values: Doubles) -> npt.NDArray[np.bool_]:
    outside: npt.NDArray[np.bool_] = (values < -ROUNDING) | (values > 1 + ROUNDING)
    return outside


def describe(error: BaseException) -> str:
    """Return an exception as one line: its type, its own message, where it was raised."""
    message = text_of(error)
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(Path(__file__).parent)
    where = [frame for frame in frames if not frame.filename.startswith((ours, "<frozen"))]
    place = f" ({Path(where[-1].filename).name}, line {where[-1].lineno})" if where else ""
    name = text_of(type.__getattribute__(type(error), "__name__"))
    return f"{name}{': ' if message else ''}{message}{place}"


def text_of(value: Any) -> str:
    """Return foreign text as one line, though its __str__ may fail."""
    try:
        return shorten(str(value))
    except BaseException:
        return "(its message cannot be read)"


def shorten(text: str, length: int = 300) -> str:
    """Return text as one printable line of at most `length` characters."""
    line = " ".join(text[:20 * length].split())
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
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
