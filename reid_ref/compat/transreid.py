"""TransReID's evaluator (damo-cv/TransReID dec5504, utils/metrics.py)."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.compat.common import Choice, Collected
from reid_ref.compat.strong_baseline import eval_func

__all__ = ["R1_mAP_eval", "eval_func"]


class R1_mAP_eval(Collected):
    """TransReID's `R1_mAP_eval`: the same calls, the same seven values.

    Parameters
    ----------
    num_query : int
        The first so many images are the queries.
    max_rank : int
        Not used, as there: the curve has 50 ranks.
    feat_norm : bool
        Divide each feature by its 2-norm.
    reranking : bool
        With k1=50, k2=15, lambda 0.3, as there.
    convention : str or Convention, optional
    """

    _k1, _k2 = 50, 15

    def __init__(self, num_query: int, max_rank: int = 50, feat_norm: bool = True,
                 reranking: bool = False, *, convention: Choice = None) -> None:
        # It asks for the truth of feat_norm, not for a value.
        super().__init__(num_query, max_rank, bool(feat_norm), convention=convention)
        self.reranking = reranking
        if reranking:
            self.k1, self.k2 = self._k1, self._k2

    def update(self, output: Any) -> None:
        """Take a batch: features, identities, cameras."""
        features, pids, camids = output
        super().update((features.cpu(), pids, camids))

    def compute(self) -> tuple[npt.NDArray[np.float32], float, Any, Any, Any, Any, Any]:
        """Return CMC, mAP, distances, identities, cameras, query and gallery features."""
        query, gallery = self.sides()
        five = self.five(query, gallery)
        cmc, mAP = eval_func(*five, convention=self.convention)
        return cmc, mAP, five[0], self.pids, self.camids, query, gallery
