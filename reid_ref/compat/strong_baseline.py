"""reid-strong-baseline's evaluator (michuanhaohao/reid-strong-baseline 3da7e6f).

Source: data/datasets/eval_reid.py and utils/reid_metric.py. `R1_mAP` and `R1_mAP_reranking` are
metrics of ignite where that is installed; else they have the same methods.
"""
from __future__ import annotations

from typing import Any

from reid_ref.compat.common import class_of_module
from reid_ref.compat.eval_func import Collected, eval_func_of

eval_func = eval_func_of("strong_baseline", "reid-strong-baseline-function", "mAP")


class _R1_mAP(Collected):
    normalized, eval_func = "yes", staticmethod(eval_func)


class _R1_mAP_reranking(_R1_mAP):
    k1, k2 = 20, 6


def __getattr__(name: str) -> Any:
    classes = {"R1_mAP": _R1_mAP, "R1_mAP_reranking": _R1_mAP_reranking}
    return class_of_module(__name__, name, classes, "ignite.metrics", "Metric", otherwise=object)
