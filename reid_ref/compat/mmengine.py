"""MMTracking's `ReIDMetrics` (open-mmlab/mmtracking 9e4cb98, branch dev-1.x).

Source: mmtrack/evaluation/metrics/reid_metrics.py. The class is a metric of mmengine if that
is installed. Importing this module puts it in the place of mmtrack's: in a config,
``custom_imports = dict(imports=["reid_ref.compat.mmengine"])``.
"""
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from reid_ref.arrays import Array, optional_module
from reid_ref.compat.common import (
    Choice, Refused, class_of_module, evaluated, matched, squared_distances)
from reid_ref.conventions import CONVENTIONS
from reid_ref.labels import IndexLists, Labels

_RECORD = CONVENTIONS["torchreid-function"].replace(
    name="mmtracking", ignored=("listed as junk",), cmc_length=20)


class _Alone:
    """The methods of mmengine's base class, if mmengine is not installed."""

    def __init__(self, collect_device: str = "cpu", prefix: str | None = None) -> None:
        self.results: list[Any] = []
        self.prefix = prefix


class _ReIDMetrics:
    """mAP and Rank-k of a set of images, each of them a query among the others.

    Parameters
    ----------
    metric : str or list of str
        "mAP", "CMC" or both.
    metric_options : dict, optional
        "rank_list" and "max_rank"; by default ranks 1, 5, 10 and 20 of 20.
    collect_device, prefix : str, optional
        As mmengine takes them.
    convention : str or Convention, optional
        Another rule than theirs; good and ignored images are listed to it.

    Notes
    -----
    As in the original, the nearest image of a row is taken for the query itself and left out.
    """

    allowed_metrics = ("mAP", "CMC")
    default_prefix: str | None = "reid-metric"
    results: list[Any]

    def __init__(self, metric: str | Sequence[str] = "mAP",
                 metric_options: dict[str, Any] | None = None, collect_device: str = "cpu",
                 prefix: str | None = None, *, convention: Choice = None) -> None:
        start: Any = super().__init__
        start(collect_device, prefix)
        if not isinstance(metric, (str, list)):
            raise TypeError("metric must be a list or a str.")
        self.metrics = [metric] if isinstance(metric, str) else metric
        for name in self.metrics:
            if name not in self.allowed_metrics:
                raise KeyError(f"metric {name} is not supported.")
        self.metric_options = metric_options or {"rank_list": [1, 5, 10, 20], "max_rank": 20}
        self.convention = convention
        for rank in self.metric_options["rank_list"]:
            if not 1 <= rank <= self.metric_options["max_rank"]:
                raise Refused("metric_options", "ranks from 1 to max_rank "
                              f"{self.metric_options['max_rank']}", rank)

    def process(self, data_batch: Any, data_samples: Sequence[Any]) -> None:
        """Take a batch: `pred_feature` and `gt_label["label"]` of each sample."""
        self.results += [{"pred_feature": sample["pred_feature"].data.cpu(),
                          "gt_label": sample["gt_label"]["label"].cpu()}
                         for sample in data_samples]

    def compute_metrics(self, results: list[Any]) -> dict[str, Any]:
        """Return mAP and R1, R5, ..., rounded to three decimals."""
        torch = optional_module("tensors", "torch")
        pids = torch.cat([sample["gt_label"] for sample in results]).numpy()
        features = torch.stack([sample["pred_feature"] for sample in results])
        distances = squared_distances(features, features)
        images = Labels(pids, np.zeros(len(pids), np.int64))
        result = matched(evaluated(distances, (images, images), self.convention or _RECORD,
                                   self.metric_options["max_rank"],
                                   _without_nearest(distances, pids)))
        numbers = {"mAP": result.mAP} if "mAP" in self.metrics else {}
        if "CMC" in self.metrics:
            numbers.update((f"R{k}", result.cmc[k - 1]) for k in self.metric_options["rank_list"])
        return {name: np.around(value, decimals=3) for name, value in numbers.items()}


def _without_nearest(distances: Array, pids: Array) -> IndexLists:
    """List the images of each identity as good, but for the nearest of the row, which is junk."""
    nearest = distances.argmin(axis=1)
    good = [np.flatnonzero(pids == pid) for pid in pids]
    return IndexLists([images[images != k] for images, k in zip(good, nearest)],
                      nearest[:, np.newaxis])


def __getattr__(name: str) -> Any:
    return class_of_module(__name__, name, {"ReIDMetrics": _ReIDMetrics}, "mmengine.evaluator",
                           "BaseMetric", otherwise=_Alone)


def _register() -> None:
    """Put the class in the place of mmtrack's in its registry, if mmtrack is installed."""
    try:
        registry = import_module("mmtrack.registry").METRICS
    except ImportError:
        return
    registry.register_module(name="ReIDMetrics", force=True, module=__getattr__("ReIDMetrics"))


_register()
