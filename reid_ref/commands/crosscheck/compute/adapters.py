"""Evaluators that PyPI carries, each with how it is fed and which convention it should follow.

Two kinds. ReID evaluators (torchreid, fastreid) know identities and cameras: their file rank.py
is loaded by itself, because importing the package pulls in torch and more, and it gets the
arrays as they are. General libraries know neither: for each query they get the images that are
not ignored. Those that can be told to ignore images are told so for label -1 too; the others
are fed as ReID code feeds them, which leaves label -1 in as wrong answers.

The packages are imported only when asked for.
"""
from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError
from reid_ref.commands.crosscheck.compute.foreign import (
    MAX_RANK, About, Answer, Arrays, Evaluator, describe)


@dataclass(frozen=True)
class Adapter:
    """How an installed package is run.

    Parameters
    ----------
    package : str
        Its name on PyPI.
    install : str
        What makes it importable.
    computes : str
        What is called.
    fed : str
        Which images, labels and scores it gets.
    expected : str
        The convention that it should follow.
    load : callable
        Imports what is needed; returns the function from `Arrays` to an answer.
    """

    package: str
    install: str
    computes: str
    fed: str
    expected: str
    load: Callable[[], Callable[[Arrays], Any]]


def load_adapter(name: str) -> Evaluator:
    """Return the built-in evaluator of that name.

    Raises
    ------
    InputError
        The package is missing or cannot be imported; the message says how to install it.
    """
    adapter = ADAPTERS[name]
    try:
        version = metadata.version(adapter.package)
    except metadata.PackageNotFoundError:
        raise InputError(f"evaluator {name}: {adapter.package} is not installed; "
                         f"{adapter.install}") from None
    try:
        call = adapter.load()
    except BaseException as error:
        raise InputError(f"evaluator {name}: {adapter.package} {version} cannot be imported: "
                         f"{describe(error)}; {adapter.install}") from None
    expected = adapter.expected
    if name == "scikit-learn" and version.startswith("0.18"):
        expected = "open-reid-sklearn-0.18-function"
    return Evaluator(About(name, adapter.fed, version, expected, adapter.computes), call)


def _load_rank(package: str, places: tuple[str, ...]) -> Callable[[Arrays], Any]:
    """Load rank.py by itself: its package counts as absent meanwhile, and so does its Cython."""
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    files = [Path(folder, place) for folder in folders for place in places]
    found = [file for file in files if file.is_file()]
    if not found:
        raise ImportError(f"no {' or '.join(places)} in {package}")
    module_spec = importlib.util.spec_from_file_location(
        f"reid_ref_crosscheck_{package}_rank", found[0])
    if module_spec is None or module_spec.loader is None:
        raise ImportError(f"{found[0]} cannot be loaded")
    module = importlib.util.module_from_spec(module_spec)
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules)
              if name.split(".")[0] == package}
    sys.modules[package] = None  # type: ignore[assignment]
    try:
        module_spec.loader.exec_module(module)
    finally:
        del sys.modules[package]
        sys.modules.update(hidden)
    return lambda a: module.evaluate_rank(*a.five(), max_rank=MAX_RANK, use_cython=False)


def _queries(arrays: Arrays, drop_label: bool) -> Iterator[tuple[Any, Any, Any]]:
    """Yield for each query: its distances, which images are of its identity, which are ignored."""
    query, gallery = arrays.query, arrays.gallery
    for k, row in enumerate(arrays.distances):
        same = gallery.identity == query.identity[k]
        ignored = same & (gallery.camera == query.camera[k])
        if drop_label:
            ignored = ignored | (gallery.identity == -1)
        yield row, same, ignored


def _mean(ap: list[float]) -> float:
    known = [value for value in ap if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _scores(row: npt.NDArray[Any]) -> Doubles:
    """n, n - 1, ... in order of distance, ties in gallery order: exact in float32, all above 0."""
    scores = np.empty(len(row))
    scores[np.argsort(row, kind="stable")] = np.arange(len(row), 0, -1)
    return scores


def _load_sklearn() -> Callable[[Arrays], Answer]:
    average_precision = importlib.import_module("sklearn.metrics").average_precision_score

    def call(arrays: Arrays) -> Answer:
        ap = []
        for row, same, ignored in _queries(arrays, drop_label=False):
            score = -(row if row.dtype.kind == "f" else row.astype(np.float64))
            matched = bool(same[~ignored].any())
            ap.append(float(average_precision(same[~ignored], score[~ignored]))
                      if matched else float("nan"))
        return Answer(_mean(ap), ap=np.array(ap))
    return call


def _load_trec() -> Callable[[Arrays], Answer]:
    pytrec_eval = importlib.import_module("pytrec_eval")

    def call(arrays: Arrays) -> Answer:
        n = len(arrays.gallery)
        ranks = np.arange(1, min(MAX_RANK, n) + 1)
        measures = {"map", "success." + ",".join(map(str, ranks))}
        documents = [f"{n - j:09d}" for j in range(n)]  # of equals, the later name comes first
        ap, success = [], []
        for row, same, ignored in _queries(arrays, drop_label=True):
            judged = np.where(ignored, -1, same).tolist()
            order = np.unique(row, return_inverse=True)[1].reshape(-1)
            scores = (float(n) - order).tolist()
            measured = pytrec_eval.RelevanceEvaluator(
                {"q": dict(zip(documents, judged))}, measures, judged_docs_only_flag=True,
                ).evaluate({"q": dict(zip(documents, scores))}).get("q", {})
            ap.append(measured.get("map", 0.0))
            success.append([measured.get(f"success_{k}", 0.0) for k in ranks])
        return Answer(float(np.mean(ap)), np.mean(success, axis=0), ranks=ranks,
                      ap=np.array(ap, dtype=np.float64))
    return call


def _load_torchmetrics() -> Callable[[Arrays], Answer]:
    torch = importlib.import_module("torch")
    retrieval = importlib.import_module("torchmetrics.retrieval")
    options = {"empty_target_action": "neg", "ignore_index": -1}

    def call(arrays: Arrays) -> Answer:
        ranks = np.array([k for k in (1, 5, 10) if k <= len(arrays.gallery)])
        whole = [retrieval.RetrievalMAP(**options),
                 *(retrieval.RetrievalHitRate(top_k=int(k), **options) for k in ranks)]
        ap = []
        for k, (row, same, ignored) in enumerate(_queries(arrays, drop_label=True)):
            batch = (torch.from_numpy(_scores(row)).float(),
                     torch.from_numpy(np.where(ignored, -1, same).astype(np.int64)),
                     torch.full((len(row),), k, dtype=torch.long))
            alone = retrieval.RetrievalMAP(**options)
            for metric in (alone, *whole):
                metric.update(*batch)
            ap.append(alone.compute().item())
        mAP, *cmc = (metric.compute().item() for metric in whole)
        return Answer(mAP, np.array(cmc), ranks=ranks, ap=np.array(ap))
    return call


def _load_metric_learning() -> Callable[[Arrays], Answer]:
    torch = importlib.import_module("torch")
    calculators = importlib.import_module("pytorch_metric_learning.utils.accuracy_calculator")

    def call(arrays: Arrays) -> Answer:
        ap, first = [], []
        for k, (row, same, ignored) in enumerate(_queries(arrays, drop_label=False)):
            if not same[~ignored].any():
                ap.append(float("nan"))
                continue
            order = torch.from_numpy(np.argsort(row[~ignored], kind="stable"))[None]
            calculator = calculators.AccuracyCalculator(
                include=("mean_average_precision", "precision_at_1"),
                device=torch.device("cpu"), kmeans_func=lambda *_: None,
                knn_func=lambda _query, count, *_, order=order: (None, order[:, :count]))
            answer = calculator.get_accuracy(
                np.zeros((1, 2)), arrays.query.identity[k:k + 1].copy(),
                np.zeros((order.shape[1], 2)), arrays.gallery.identity[~ignored])
            ap.append(float(answer["mean_average_precision"]))
            first.append(float(answer["precision_at_1"]))
        return Answer(_mean(ap), np.array([np.mean(first)]) if first else None,
                      ranks=np.array([1]), ap=np.array(ap))
    return call


def _load_open_metric_learning() -> Callable[[Arrays], Answer]:
    torch = importlib.import_module("torch")
    metrics: ModuleType = importlib.import_module("oml.functional.metrics")

    def call(arrays: Arrays) -> Answer:
        n = len(arrays.gallery)
        lists, good = [], []
        for row, same, ignored in _queries(arrays, drop_label=True):
            order = np.argsort(row, kind="stable")
            lists.append(torch.from_numpy(order[~ignored[order]]))
            good.append(torch.from_numpy(np.flatnonzero(same & ~ignored)))
        ranks = np.arange(1, min(MAX_RANK, n) + 1)
        answer = metrics.calc_retrieval_metrics(
            lists, good, cmc_top_k=tuple(ranks.tolist()), precision_top_k=(1,), map_top_k=(n,),
            reduce=False, verbose=False)
        ap = answer["map"][n]
        cmc = [answer["cmc"][k].double().mean().item() for k in ranks.tolist()]
        return Answer(ap.mean().item(), np.array(cmc), ranks=ranks,
                      ap=ap.double().numpy())
    return call


_AS_THEY_ARE = ("distmat, q_pids, g_pids, q_camids, g_camids, max_rank=50: the arrays as they "
                "are, label -1 included (its loader drops such images)")
_IGNORED = "label -1 and the query's identity on its own camera"

ADAPTERS: dict[str, Adapter] = {
    "fastreid": Adapter(
        "fastreid", "pip install --no-deps fastreid",
        "evaluate_rank of its evaluation/rank.py, loaded by itself; use_cython off",
        _AS_THEY_ARE, "torchreid-function",
        lambda: _load_rank("fastreid", ("evaluation/rank.py",))),
    "torchreid": Adapter(
        "torchreid", "pip install --no-deps torchreid",
        "evaluate_rank of its metrics/rank.py, loaded by itself; use_cython off",
        _AS_THEY_ARE, "torchreid-function",
        lambda: _load_rank("torchreid", ("metrics/rank.py", "reid/metrics/rank.py"))),
    "scikit-learn": Adapter(
        "scikit-learn", "pip install scikit-learn",
        "average_precision_score of each query; mAP is the mean over queries with a good image",
        "score = -distance; the query's identity on its own camera left out, label -1 left in, "
        "as open-reid feeds it", "open-reid-function", _load_sklearn),
    "pytrec-eval-terrier": Adapter(
        "pytrec-eval-terrier", "pip install pytrec-eval-terrier",
        "map and success_k of trec_eval -J; queries without a good image count as 0, as with -c",
        f"qrels -1 for {_IGNORED}; whole numbers as scores, equal where distances are equal; "
        "document names count down, so that ties keep gallery order", "trec-eval", _load_trec),
    "torchmetrics": Adapter(
        "torchmetrics", "pip install torchmetrics",
        "RetrievalMAP and RetrievalHitRate (top_k 1, 5, 10), empty_target_action 'neg'",
        f"ignore_index for {_IGNORED}; scores n, n - 1, ... in order of distance, ties in gallery "
        "order (scores that are not above 0 would never be hits)", "trec-eval",
        _load_torchmetrics),
    "pytorch-metric-learning": Adapter(
        "pytorch-metric-learning", "pip install pytorch-metric-learning",
        "mean_average_precision and precision_at_1 of AccuracyCalculator, one query at a time",
        "the query's identity on its own camera left out, label -1 left in; ranked by a stable "
        "sort instead of its faiss search", "torchreid-function", _load_metric_learning),
    "open-metric-learning": Adapter(
        "open-metric-learning", "pip install open-metric-learning",
        "map and cmc of calc_retrieval_metrics over the whole list",
        f"retrieved lists, ranked by a stable sort, without {_IGNORED}", "trec-eval",
        _load_open_metric_learning),
}
