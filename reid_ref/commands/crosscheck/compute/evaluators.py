"""Evaluators that are not ours: how each is imported and called, and what it answered.

Only `Arrays`, `Answer` and `ADAPTERS` matter to our process. The rest runs in the evaluator's
process (`child`), since importing such code runs it, and so may reading what it returned.
"""
from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers
from reid_ref.arrays.value import Value
from reid_ref.labels import JUNK, Labels
from reid_ref.text import visible

#: The length of CMC that ReID code is asked for.
MAX_RANK = 50


class Arrays(NamedTuple):
    """What an evaluator is given: distances (query x gallery) and labels, in torchreid's order."""

    distances: npt.NDArray[Any]
    q_pids: Integers
    g_pids: Integers
    q_camids: Integers
    g_camids: Integers

    def rows(self, which: Any) -> Arrays:
        """Return a part of the queries: a slice, or their numbers."""
        return self._replace(distances=self.distances[which], q_pids=self.q_pids[which],
                             q_camids=self.q_camids[which])


@dataclass(frozen=True, eq=False)
class Answer(Value):
    """What an evaluator answered, as numpy values; None for what it does not give.

    `ranks` says which ranks the entries of `cmc` are for (None: 1, 2, ...). `ap` has an entry per
    query, NaN where it gave none.
    """

    mAP: float | None = None
    cmc: Doubles | None = None
    mINP: float | None = None
    ranks: Integers | None = None
    ap: Doubles | None = None

    def curve(self) -> tuple[Integers, Doubles]:
        """Return the ranks of the CMC entries and the entries; both empty without a CMC."""
        cmc = np.zeros(0) if self.cmc is None else self.cmc
        return np.arange(1, len(cmc) + 1) if self.ranks is None else self.ranks[:len(cmc)], cmc


class About(NamedTuple):
    """What a report says of an evaluator before it has run; see `CrossCheck` for the words."""

    evaluator: str
    fed: str
    version: str = ""
    expected: str | None = None
    computes: str = ""


#: What calls an evaluator: it may modify its arrays, and its return value is not trusted.
Call = Callable[[Arrays], Any]


# ------------------------------------------------------------------ importing
def load_evaluator(evaluator: Any) -> tuple[About, Call]:
    """Return a key of `ADAPTERS`, "module:function", "file.py:function" or a function to call.

    Raises
    ------
    InputError
        It cannot be imported (with the import's own message), or cannot be called.
    """
    if not isinstance(evaluator, str):
        return from_function(evaluator, text_of(getattr(evaluator, "__name__", "the evaluator")))
    if ":" not in evaluator:
        return _load_adapter(evaluator)
    module, _, name = evaluator.rpartition(":")
    is_file = module.endswith(".py")
    try:
        sys.path.insert(0, str(Path(module).absolute().parent) if is_file else os.getcwd())
        target = (_run_file("reid_ref_evaluator", Path(module)) if is_file else
                  importlib.import_module(module))
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
    count, keywords = _arguments(signature, name)
    rank = f", max_rank={MAX_RANK}" if keywords else f", {MAX_RANK}" * (count - 5)
    form = ("(distances, query, gallery), our signature" if count == 3 else
            f"(distmat, q_pids, g_pids, q_camids, g_camids{rank}), torchreid's signature")

    def call(arrays: Arrays) -> Any:
        if count == 3:
            return function(arrays.distances, Labels(arrays.q_pids, arrays.q_camids),
                            Labels(arrays.g_pids, arrays.g_camids))
        return function(*(*arrays, MAX_RANK)[:count], **keywords)
    return About(name, f"called as {form}; the arrays as they are, label -1 included"), call


def _arguments(signature: inspect.Signature, name: str) -> tuple[int, dict[str, int]]:
    """Return how many positional arguments a function gets, and which by name."""
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
            signature.bind(*range(count), **keywords)
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


def _read(value: Any) -> Answer:
    ap = None
    if hasattr(value, "mAP") and hasattr(value, "cmc"):
        ap = getattr(getattr(value, "per_query", None), "ap", None)
        value = value.cmc, value.mAP, getattr(value, "mINP", None)
    if not isinstance(value, (tuple, list)) or len(value) < 2:
        raise InputError("", got=f"it returned {_short(value)}", remedy="expected (cmc, mAP), "
                         "(cmc, mAP, mINP), (cmc, all_AP, all_INP) or a Result")
    ap = value[1] if ap is None and np.ndim(value[1]) == 1 else ap
    cmc, mAP, mINP = _numbers(value[0], "cmc", 1), _mean(value[1], "mAP"), None
    with suppress(Exception):  # what follows (cmc, mAP) may be anything
        mINP = _mean(value[2], "mINP")
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
              if not frame.filename.startswith((str(Path(__file__).parent), "<frozen"))]
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


# ------------------------------------------------------------------ evaluators of PyPI
class Adapter(NamedTuple):
    """How an installed package, whose name is the key, is run.

    Parameters
    ----------
    computes : str
        What is called.
    fed : str
        Which images, labels and scores it gets.
    expected : str
        The convention that it should follow.
    modules : tuple of str
        What is imported; of a ReID toolbox the places of its rank.py, which is loaded by itself,
        because importing the package pulls in torch and more.
    measure : callable, optional
        Of a general library, which knows neither identities nor cameras: takes which of a query's
        images, nearest first, are good, their distances and the modules; returns AP and CMC.
    ranks : tuple of int
        Of that CMC.
    drops_label : bool
        Whether label -1 is left out; ReID code leaves it in, as wrong answers.
    drops_unmatched : bool
        Whether queries without a good image are left out of the means.
    """

    computes: str
    fed: str
    expected: str
    modules: tuple[str, ...]
    measure: Callable[..., tuple[Any, Any]] | None = None
    ranks: tuple[int, ...] = ()
    drops_label: bool = False
    drops_unmatched: bool = False


def _load_adapter(name: str) -> tuple[About, Call]:
    adapter = ADAPTERS[name]
    install = f"pip install {'--no-deps ' if adapter.measure is None else ''}{name}"
    version = ""
    try:
        version = metadata.version(name)
        modules = ([_rank_file(name, adapter.modules)] if adapter.measure is None else
                   [importlib.import_module(module) for module in adapter.modules])
    except BaseException as error:
        raise InputError(f"evaluator {name}", got=f"{name} {version} cannot be imported: "
                         f"{describe(error)}" if version else f"{name} is not installed",
                         remedy=install) from None
    about = About(name, adapter.fed, version, adapter.expected, adapter.computes)
    if adapter.measure is None:
        return about, lambda arrays: modules[0].evaluate_rank(
            *arrays, max_rank=MAX_RANK, use_cython=False)
    return about, lambda arrays: _measure(adapter, modules, arrays)


def _rank_file(package: str, places: tuple[str, ...]) -> Any:
    """Load rank.py by itself: its package counts as absent, and so does its Cython."""
    spec = importlib.util.find_spec(package)
    folder = list(spec and spec.submodule_search_locations or ())[0]
    file = next(filter(Path.is_file, (Path(folder, place) for place in places)), None)
    if file is None:
        raise ImportError(f"no {' or '.join(places)} in {package}")
    sys.modules[package] = None  # type: ignore[assignment]
    return _run_file(f"reid_ref_{package}_rank", file)


def _measure(adapter: Adapter, modules: list[Any], arrays: Arrays) -> Answer:
    """Return AP of each query, and the means of AP and CMC, by a general library."""
    ap, curves = np.full(len(arrays.q_pids), np.nan), []
    junk = adapter.drops_label & (arrays.g_pids == JUNK)
    ranks = [k for k in adapter.ranks if k <= len(arrays.g_pids)]
    for k, row in enumerate(arrays.distances):
        same = arrays.g_pids == arrays.q_pids[k]
        kept = ~(junk | same & (arrays.g_camids == arrays.q_camids[k]))
        order = np.argsort(row, kind="stable")
        order = order[kept[order]]
        if same[order].any() or not adapter.drops_unmatched:
            assert adapter.measure is not None
            ap[k], curve = adapter.measure(same[order], row[order], ranks, *modules)
            curves.append(curve)
    counted = ap[~np.isnan(ap)]
    return Answer(float(np.mean(counted)) if len(counted) else float("nan"),
                  np.mean(curves, axis=0) if curves and ranks else None,
                  ranks=np.array(ranks, dtype=np.int64), ap=ap)


def _scikit_learn(good: Any, distances: Any, ranks: list[int], metrics: Any) -> Any:
    scores = -(distances if distances.dtype.kind == "f" else distances.astype(float))
    return metrics.average_precision_score(good, scores), ()


def _pytrec_eval(good: Any, distances: Any, ranks: list[int], pytrec_eval: Any) -> Any:
    names = [f"{len(good) - k:09d}" for k in range(len(good))]  # of equals, the later comes first
    scores = np.unique(distances, return_inverse=True)[1].reshape(-1)
    measures = {"map", "success." + ",".join(map(str, ranks))}
    measured = pytrec_eval.RelevanceEvaluator(
        {"q": dict(zip(names, good.astype(int).tolist()))}, measures).evaluate(
        {"q": dict(zip(names, (len(good) - scores).astype(float).tolist()))}).get("q", {})
    return measured.get("map", 0.0), [measured.get(f"success_{k}", 0.0) for k in ranks]


def _torchmetrics(good: Any, _: Any, ranks: list[int], torch: Any, retrieval: Any) -> Any:
    scores, target = torch.arange(len(good), 0, -1).float(), torch.from_numpy(good)
    return (retrieval.retrieval_average_precision(scores, target).item(),
            [retrieval.retrieval_hit_rate(scores, target, top_k=k).item() for k in ranks])


def _metric_learning(good: Any, _: Any, ranks: list[int], torch: Any, accuracy: Any) -> Any:
    order = torch.arange(len(good))[None]
    calculator = accuracy.AccuracyCalculator(
        include=("mean_average_precision", "precision_at_1"), device=torch.device("cpu"),
        kmeans_func=lambda *_: None, knn_func=lambda _, count, *__: (None, order[:, :count]))
    measured = calculator.get_accuracy(np.zeros((1, 2)), np.ones(1, int),
                                       np.zeros((len(good), 2)), good.astype(int))
    return measured["mean_average_precision"], [measured["precision_at_1"]]


def _open_metric_learning(good: Any, _: Any, ranks: list[int], torch: Any, metrics: Any) -> Any:
    measured = metrics.calc_retrieval_metrics(
        [torch.arange(len(good))], [torch.from_numpy(np.flatnonzero(good))], reduce=False,
        cmc_top_k=tuple(ranks), precision_top_k=(1,), map_top_k=(len(good),), verbose=False)
    return measured["map"][len(good)].item(), [measured["cmc"][k].item() for k in ranks]


_AS_THEY_ARE = "the arrays as they are, label -1 included (its loader drops such images)"
_LABEL_LEFT_IN = "the query's identity on its own camera left out, label -1 left in"
_RANKED = "ranked by a stable sort, without label -1 and the query's identity on its own camera"
_ALL_RANKS = tuple(range(1, MAX_RANK + 1))

#: By their names on PyPI.
ADAPTERS: dict[str, Adapter] = {
    "fastreid": Adapter(
        "evaluate_rank of evaluation/rank.py, loaded by itself; use_cython off", _AS_THEY_ARE,
        "torchreid-function", ("evaluation/rank.py",)),
    "torchreid": Adapter(
        "evaluate_rank of metrics/rank.py, loaded by itself; use_cython off", _AS_THEY_ARE,
        "torchreid-function", ("metrics/rank.py", "reid/metrics/rank.py")),
    "scikit-learn": Adapter(
        "average_precision_score; mAP is the mean over queries with a good image",
        f"score = -distance; {_LABEL_LEFT_IN}, as open-reid feeds it", "open-reid-function",
        ("sklearn.metrics",), _scikit_learn, drops_unmatched=True),
    "pytrec-eval-terrier": Adapter(
        "map and success_k; queries without a good image count as 0, as with -c",
        f"{_RANKED}; whole numbers as scores, document names so that ties keep gallery order",
        "trec-eval", ("pytrec_eval",), _pytrec_eval, _ALL_RANKS, drops_label=True),
    "torchmetrics": Adapter(
        "retrieval_average_precision and retrieval_hit_rate (top_k 1, 5, 10)",
        f"{_RANKED}; scores n, n - 1, ...", "trec-eval",
        ("torch", "torchmetrics.functional.retrieval"), _torchmetrics, (1, 5, 10),
        drops_label=True),
    "pytorch-metric-learning": Adapter(
        "mean_average_precision and precision_at_1 of AccuracyCalculator",
        f"{_LABEL_LEFT_IN}; ranked by a stable sort, not by faiss", "torchreid-function",
        ("torch", "pytorch_metric_learning.utils.accuracy_calculator"), _metric_learning, (1,),
        drops_unmatched=True),
    "open-metric-learning": Adapter(
        "map and cmc of calc_retrieval_metrics over the whole list", _RANKED, "trec-eval",
        ("torch", "oml.functional.metrics"), _open_metric_learning, _ALL_RANKS,
        drops_label=True),
}
