"""ReID-Survey's (AGW's) evaluator (mangye16/ReID-Survey 38f5912).

Source: data/datasets/eval_reid.py and utils/reid_metric.py. `r1_mAP_mINP` and
`r1_mAP_mINP_reranking` are metrics of ignite where that is installed; else they have the same
methods.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.compat.common import (
    Choice, Collected, class_over, evaluated, float32_curve, labels, matched)


def eval_func(distmat: Any, q_pids: Any, g_pids: Any, q_camids: Any, g_camids: Any,
              max_rank: int = 50, *,
              convention: Choice = None) -> tuple[npt.NDArray[np.float32], float, float]:
    """Return what ReID-Survey's `eval_func` returns.

    Parameters
    ----------
    distmat, q_pids, g_pids, q_camids, g_camids, max_rank, convention
        As for `reid_ref.compat.strong_baseline.eval_func`.

    Returns
    -------
    cmc : float32, shape (max_rank,)
    mAP, mINP : float

    Raises
    ------
    NoMatch
        No query has a good image: also an AssertionError, as theirs.

    Examples
    --------
    >>> import numpy as np
    >>> cmc, mAP, mINP = eval_func(
    ...     np.array([[.1, .2, .3]]), [7], [7, 8, 7], [1], [2, 2, 3], 1)
    >>> cmc, round(float(mAP), 4), round(float(mINP), 4)
    (array([1.], dtype=float32), 0.8333, 0.6667)
    """
    result = matched(evaluated(
        distmat, labels(q_pids, q_camids, "q"), labels(g_pids, g_camids, "g"),
        convention or "reid-survey-function", max_rank))
    return float32_curve(result, max_rank), np.float64(result.mAP), np.float64(result.mINP)


class _r1_mAP_mINP(Collected):
    """CMC, mAP and mINP of all batches; the first `num_query` images are the queries.

    Parameters
    ----------
    num_query : int
    max_rank : int
        Not used, as there: the curve has 50 ranks.
    feat_norm : str
        "on" divides each feature by its 2-norm.
    convention : str or Convention, optional
    """

    normalized = "on"

    def __init__(self, num_query: int, max_rank: int = 50, feat_norm: str = "on", *,
                 convention: Choice = None) -> None:
        super().__init__(num_query, max_rank, feat_norm, convention=convention)

    def compute(self) -> tuple[npt.NDArray[np.float32], float, float]:
        """Return CMC, mAP and mINP."""
        return eval_func(*self.five(*self.sides()), convention=self.convention)


class _r1_mAP_mINP_reranking(_r1_mAP_mINP):
    """As `r1_mAP_mINP`, after re-ranking with k1=20, k2=6, lambda 0.3."""

    k1, k2 = 20, 6


_CLASSES: dict[str, type] = {
    "r1_mAP_mINP": _r1_mAP_mINP, "r1_mAP_mINP_reranking": _r1_mAP_mINP_reranking}


def __getattr__(name: str) -> Any:
    if name not in _CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = class_over(_CLASSES[name], name, "ignite.metrics", "Metric", otherwise=object)
    return globals().setdefault(name, made)
