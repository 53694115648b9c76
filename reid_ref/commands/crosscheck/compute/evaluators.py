"""Evaluators that are not ours: how each is imported and called, and what it answered.

Only `Arrays`, `Answer` and `TOOLBOXES` matter to our process. The rest runs in the evaluator's
process (`child`), since importing such code runs it, and so may reading what it returned.
"""
from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import metadata
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.arrays.value import Value
from reid_ref.labels import Labels
from reid_ref.text import visible

#: The length of CMC that ReID code is asked for.
MAX_RANK = 50


class Arrays(NamedTuple):
    """What an evaluator is given: distances (query x gallery) and labels, in torchreid's order.

    Clothes are None if the labels have none.
    """

    distances: npt.NDArray[Any]
    q_pids: Integers
    g_pids: Integers
    q_camids: Integers
    g_camids: Integers
    q_clothes: Integers | None = None
    g_clothes: Integers | None = None

    def labels(self) -> tuple[Labels, Labels]:
        """Return the labels of both sides."""
        return (Labels(self.q_pids, self.q_camids, clothes=self.q_clothes),
                Labels(self.g_pids, self.g_camids, clothes=self.g_clothes))

    def rows(self, which: slice) -> Arrays:
        """Return some of the queries."""
        return self._replace(**{
            name: array[which] for name, array in self._asdict().items()
            if name[0] in "dq" and array is not None})


@dataclass(frozen=True, eq=False)
class Answer(Value):
    """What an evaluator answered, as numpy values; None for what it does not give.

    `ap` has an entry per query, NaN if it gave none.
    """

    mAP: float | None = None
    cmc: Doubles | None = None
    mINP: float | None = None
    ap: Doubles | None = None

    @property
    def curve(self) -> Doubles:
        """The CMC, empty if it gave none."""
        return np.zeros(0) if self.cmc is None else self.cmc


class About(NamedTuple):
    """The description of an evaluator before it has run; see `CrossCheck` for the words."""

    evaluator: str
    fed: str
    version: str = ""
    expected: str | None = None
    computes: str = ""


#: Frames of these files are no part of an evaluator: ours, and Python's import system.
_NOT_THEIRS = (str(Path(__file__).parent), str(Path(importlib.__file__).parent), "<frozen")

#: What calls an evaluator: it may modify its arrays, and its return value is not trusted.
Call = Callable[[Arrays], Any]


# ------------------------------------------------------------------ importing
def load_evaluator(evaluator: Any) -> tuple[About, Call]:
    """Return a key of `TOOLBOXES`, "module:function", "file.py:function" or a function to call.

    Raises
    ------
    InputError
        It cannot be imported (with the import's own message), or cannot be called.
    """
    if not isinstance(evaluator, str):
        return from_function(evaluator, text_of(getattr(evaluator, "__name__", "the evaluator")))
    if ":" not in evaluator:
        return _load_toolbox(evaluator)
    module, _, name = evaluator.rpartition(":")
    is_file = module.endswith(".py")
    try:
        sys.path.insert(0, str(Path(module).absolute().parent) if is_file else os.getcwd())
        target = (_run_in_repository(Path(module)) if is_file else importlib.import_module(module))
        target = attrgetter(name)(target)
    except BaseException as error:
        raise InputError("evaluator", got=f"{evaluator} cannot be imported: "
                         f"{describe(error)}") from None
    return from_function(target, evaluator)


def check_spec(spec: str) -> None:
    """Refuse what is neither module:function nor file.py:function, or a file that is missing."""
    module, _, name = spec.rpartition(":")
    if not (module and name):
        raise InputError("evaluator", "module:function or file.py:function", repr(spec))
    if module.endswith(".py") and not Path(module).is_file():
        raise InputError(module, "a Python file", "none", f"the current folder is {os.getcwd()}")


def _run_in_repository(file: Path) -> Any:
    """Run a file; a module that it lacks is looked for in the folders above it."""
    while True:
        try:
            return _run_file("reid_ref_evaluator", file)
        except ModuleNotFoundError as error:
            name = str(error.name).partition(".")[0]
            root = next((str(folder) for folder in file.absolute().parents
                         if (folder / name).is_dir() or (folder / f"{name}.py").is_file()), "")
            if not root or root in sys.path[:1]:
                raise
            sys.path.insert(0, root)
            sys.modules.pop(name, None)  # another package of this name, such as utils


def _run_file(name: str, file: Path) -> Any:
    """Run a file as a module of this name, so that no other module is taken for it."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def from_function(function: Any, name: str) -> tuple[About, Call]:
    """Return a function with torchreid's signature or ours, to call.

    Raises
    ------
    InputError
        Not callable, or of another signature.
    """
    if not callable(function):
        raise InputError("evaluator", got=f"{name}: expected a function, got "
                         f"{type(function).__name__}")
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):  # built-in functions may have none
        signature = inspect.Signature([inspect.Parameter("a", inspect.Parameter.VAR_POSITIONAL)])
    clothes = {given: f"{given[0]}_clothes" for given in signature.parameters
               if given[0] in "qg" and "cloth" in given}
    count, keywords = _arguments(signature, name, clothes)
    rank = f", max_rank={MAX_RANK}" if keywords else f", {MAX_RANK}" * (count - 5)
    form = ("(distances, query, gallery), our signature" if count == 3 else
            f"({', '.join(['distmat, q_pids, g_pids, q_camids, g_camids', *clothes])}{rank}), "
            "torchreid's signature")

    def call(arrays: Arrays) -> Any:
        if count == 3:
            return function(arrays.distances, *arrays.labels())
        worn = {given: getattr(arrays, column) for given, column in clothes.items()}
        if any(column is None for column in worn.values()):
            raise InputError("", got=f"it takes {', '.join(worn)}, and the labels have no clothes")
        return function(*(*arrays[:5], MAX_RANK)[:count], **keywords, **worn)
    return About(name, f"called as {form}; the arrays as they are, label -1 included"), call


def _arguments(signature: inspect.Signature, name: str,
               clothes: Iterable[str]) -> tuple[int, dict[str, int]]:
    """Return how many positional arguments a function gets, and which by name, besides clothes."""
    parameters = list(signature.parameters.values())
    forms: list[tuple[int, dict[str, int]]] = [(5, {}), (6, {}), (3, {})]
    if parameters and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
        forms = [(6, {})]
    if "max_rank" in signature.parameters:
        forms.insert(0, (5, {"max_rank": MAX_RANK}))
    if [parameter.name for parameter in parameters[1:3]] == ["query", "gallery"]:
        forms.insert(0, (3, {}))
    for count, keywords in forms:
        with suppress(TypeError):
            signature.bind(*range(count), **keywords, **dict.fromkeys(clothes))
            return count, keywords
    raise InputError("evaluator", got=f"{name}: expected a function of (distmat, q_pids, g_pids, "
                     "q_camids, g_camids, max_rank) or of (distances, query, gallery), got one of "
                     f"{signature}")


# ------------------------------------------------------------------ reading
def read_answer(value: Any) -> Answer:
    """Return the answer as numpy values.

    Raises
    ------
    InputError
        It is not (cmc, mAP, ...), (all_cmc, all_AP, all_INP) or Result-like.
    """
    try:
        return value if isinstance(value, Answer) else _read(value)
    except InputError:
        raise
    except Exception as error:  # ragged lists, numbers that refuse to be read, ...
        raise InputError(f"it returned {_short(value)}, which cannot be read",
                         got=describe(error)) from None


def fitting(answer: Answer, n_query: int) -> Answer:
    """Return an answer to so many queries, without APs that are not one per query."""
    if answer.ap is not None and len(answer.ap) != n_query:
        return replace(answer, ap=None)
    return answer


def _read(value: Any) -> Answer:
    ap = None
    if hasattr(value, "mAP") and hasattr(value, "cmc"):
        ap = getattr(getattr(value, "per_query", None), "ap", None)
        value = value.cmc, value.mAP, getattr(value, "mINP", None)
    if not isinstance(value, (tuple, list)) or len(value) < 2:
        raise InputError("", got=f"it returned {_short(value)}", remedy="expected (cmc, mAP), "
                         "(cmc, mAP, mINP), (cmc, all_AP, all_INP) or a Result")
    third: Any = value[2] if len(value) > 2 else None
    ap = value[1] if ap is None and np.ndim(value[1]) == 1 else ap
    cmc, mAP, mINP = _numbers(value[0], "cmc", 1), _mean(value[1], "mAP"), None
    with suppress(Exception):  # what follows (cmc, mAP) may be anything
        mINP = _mean(third, "mINP")
        if ap is None and abs(mINP - mAP) <= 1e-6 * abs(mAP):  # the AP of each query, or mAP again
            ap, mINP = third if np.ndim(third) == 1 else None, None
        elif np.ndim(third) == 0 and mINP == 0:  # as a mean of INP never is: a place filled
            mINP = None
    return Answer(mAP, cmc.astype(np.float64), mINP, ap=None if ap is None else _numbers(
        ap, "AP of each query", 1).astype(np.float64))


def _mean(value: Any, name: str) -> float:
    array = _numbers(value, name, 0, 1)
    if not array.size:
        raise InputError("", got=f"its {name} is an empty vector")
    return float(np.mean(array))  # in its own dtype, as fast-reid's evaluator does


def _numbers(value: Any, name: str, *dimensions: int) -> npt.NDArray[Any]:
    array = np.asarray(value)
    if array.ndim not in dimensions or array.dtype.kind not in "fiub":
        expected = "a number" if 0 in dimensions else "a vector of numbers"
        raise InputError("", got=f"its {name} is {_short(value)}", remedy=f"expected {expected}")
    return array


# ------------------------------------------------------------------ text that is not ours
def describe(error: BaseException) -> str:
    """Return an exception as one line: its type, its own message, where it was raised."""
    message = text_of(error)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith(_NOT_THEIRS)]
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    name = text_of(type.__getattribute__(type(error), "__name__"))
    return f"{name}{': ' if message else ''}{message}{place}"


def text_of(value: Any, length: int = 300, form: Callable[[Any], str] = str) -> str:
    """Return foreign text as one line, though its __str__ may fail."""
    try:
        return shorten(form(value), length)
    except BaseException:
        return "(its message cannot be read)"


def shorten(text: str, length: int = 300) -> str:
    """Return text as one printable line of at most `length` characters."""
    line = visible(" ".join(text[:20 * length].split()))
    return line if len(line) <= length else line[:length - 4] + " ..."


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    return "None" if value is None else f"{text_of(value, 60, repr)} ({type(value).__name__})"


# ------------------------------------------------------------------ toolboxes of PyPI
#: Package to the places of its rank.py, which is loaded by itself, because importing the package
#: pulls in torch and more.
TOOLBOXES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "fastreid": ("evaluation/rank.py",),
    "torchreid": ("metrics/rank.py", "reid/metrics/rank.py")})


def _load_toolbox(name: str) -> tuple[About, Call]:
    version = ""
    try:
        version = metadata.version(name)
        rank = _rank_file(name)
    except BaseException as error:
        raise InputError(f"evaluator {name}", got=f"{name} {version} cannot be imported: "
                         f"{describe(error)}" if version else f"{name} is not installed",
                         remedy=f"pip install --no-deps {name}") from None
    about = About(
        name, "the arrays as they are, label -1 included (its loader drops such images)", version,
        "torchreid-function", f"evaluate_rank of {TOOLBOXES[name][0]}, loaded by itself; "
        "use_cython off")
    return about, lambda arrays: rank.evaluate_rank(
        *arrays[:5], max_rank=MAX_RANK, use_cython=False)


def _rank_file(package: str) -> Any:
    """Load rank.py by itself: its package counts as absent, and so does its Cython."""
    spec = importlib.util.find_spec(package)
    folder = list(spec and spec.submodule_search_locations or ())[0]
    file = next(filter(Path.is_file, (Path(folder, place) for place in TOOLBOXES[package])), None)
    if file is None:
        raise ImportError(f"no {' or '.join(TOOLBOXES[package])} in {package}")
    sys.modules[package] = None  # type: ignore[assignment]
    return _run_file(f"reid_ref_{package}_rank", file)
