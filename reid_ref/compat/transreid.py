"""TransReID's evaluator (damo-cv/TransReID dec5504, utils/metrics.py)."""
from typing import Any

from reid_ref.compat.common import Choice
from reid_ref.compat.strong_baseline import Collected, eval_func

__all__ = ["R1_mAP_eval", "eval_func"]


class R1_mAP_eval(Collected):
    """TransReID's `R1_mAP_eval`: the same calls, the same seven values.

    Parameters
    ----------
    num_query : int
        The first so many images are the queries.
    max_rank : int
        Ignored, as in the original: the curve has 50 ranks.
    feat_norm : bool
        Divide each feature by its 2-norm.
    reranking : bool
        With k1=50, k2=15, lambda 0.3 (SOLIDER: k1=20, k2=6).
    convention : str or Convention, optional
    """

    eval_func = staticmethod(eval_func)
    toolbox = "TransReID"

    def __init__(self, num_query: int, max_rank: int = 50, feat_norm: bool = True,
                 reranking: bool = False, *, convention: Choice = None) -> None:
        super().__init__(num_query, max_rank, bool(feat_norm), convention=convention)
        self.reranking = reranking

    def update(self, output: Any) -> None:
        """Take a batch: features, identities, cameras."""
        features, pids, camids = output
        super().update((features.cpu(), pids, camids))

    def compute(self) -> tuple[Any, ...]:
        """Return CMC, mAP, distances, identities, cameras, query and gallery features."""
        sides = self.sides()
        five = self.five(*sides)
        cmc, mAP = self.eval_func(*five, convention=self.convention)
        return cmc, mAP, five[0], self.pids, self.camids, *sides
