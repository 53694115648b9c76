"""reid-strong-baseline's evaluator (michuanhaohao/reid-strong-baseline 3da7e6f).

Source: data/datasets/eval_reid.py and utils/reid_metric.py. `R1_mAP` and `R1_mAP_reranking` are
metrics of ignite where that is installed; else they have the same methods.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.compat.common import (
    Choice, Collected, class_over, evaluated, float32_curve, labels, matched)


def eval_func(distmat: Any, q_pids: Any, g_pids: Any, q_camids: Any, g_camids: Any,
              max_rank: int = 50, *,
              convention: Choice = None) -> tuple[npt.NDArray[np.float32], float]:
    """Return what the `eval_func` of reid-strong-baseline, TransReID and others returns.

    Parameters
    ----------
    distmat : array_like, shape (n_query, n_gallery)
    q_pids, g_pids, q_camids, g_camids : array_like of int
    max_rank : int
    convention : str or Convention, optional
        Another rule than its own.

    Returns
    -------
    cmc : float32, shape (max_rank,)
    mAP : float

    Raises
    ------
    NoMatch
        No query has a good image: also an AssertionError, as theirs.

    Examples
    --------
    >>> import numpy as np
    >>> cmc, mAP = eval_func(np.array([[.1, .2, .3]]), [7], [7, 8, 7], [1], [2, 2, 3], 1)
    >>> cmc, round(float(mAP), 4)
    (array([1.], dtype=float32), 0.8333)
    """
    result = matched(evaluated(
        distmat, labels(q_pids, q_camids, "q"), labels(g_pids, g_camids, "g"),
        convention or "reid-strong-baseline-function", max_rank))
    return float32_curve(result, max_rank), np.float64(result.mAP)


class _R1_mAP(Collected):
    """CMC and mAP of all batches; the first `num_query` images are the queries.

    Parameters
    ----------
    num_query : int
    max_rank : int
        Not used, as there: the curve has 50 ranks.
    feat_norm : str
        "yes" divides each feature by its 2-norm.
    convention : str or Convention, optional
    """

    normalized = "yes"

    def __init__(self, num_query: int, max_rank: int = 50, feat_norm: str = "yes", *,
                 convention: Choice = None) -> None:
        super().__init__(num_query, max_rank, feat_norm, convention=convention)

    def compute(self) -> tuple[npt.NDArray[np.float32], float]:
        """Return CMC and mAP."""
        return eval_func(*self.five(*self.sides()), convention=self.convention)


class _R1_mAP_reranking(_R1_mAP):
    """As `R1_mAP`, after re-ranking with k1=20, k2=6, lambda 0.3."""

    k1, k2 = 20, 6


_CLASSES: dict[str, type] = {"R1_mAP": _R1_mAP, "R1_mAP_reranking": _R1_mAP_reranking}


def __getattr__(name: str) -> Any:
    if name not in _CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = class_over(_CLASSES[name], name, "ignite.metrics", "Metric", otherwise=object)
    return globals().setdefault(name, made)
