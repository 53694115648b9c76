"""ReID-Survey's (AGW's) evaluator (mangye16/ReID-Survey 38f5912).

Source: data/datasets/eval_reid.py and utils/reid_metric.py. `r1_mAP_mINP` and
`r1_mAP_mINP_reranking` are metrics of ignite where that is installed; else they have the same
methods.
"""
from __future__ import annotations

from typing import Any

from reid_ref.compat.common import class_of_module
from reid_ref.compat.strong_baseline import Collected, eval_func_of

eval_func = eval_func_of("reid_survey", "reid-survey-function", "mAP", "mINP")


class _r1_mAP_mINP(Collected):
    normalized, eval_func = "on", staticmethod(eval_func)


class _r1_mAP_mINP_reranking(_r1_mAP_mINP):
    k1, k2 = 20, 6


def __getattr__(name: str) -> Any:
    classes = {"r1_mAP_mINP": _r1_mAP_mINP, "r1_mAP_mINP_reranking": _r1_mAP_mINP_reranking}
    return class_of_module(__name__, name, classes, "ignite.metrics", "Metric", otherwise=object)
