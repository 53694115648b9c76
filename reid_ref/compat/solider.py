"""SOLIDER's evaluator (tinyvision/SOLIDER-REID 8c08e1c): TransReID's, but for re-ranking."""
from reid_ref.compat import transreid
from reid_ref.compat.strong_baseline import eval_func

__all__ = ["R1_mAP_eval", "eval_func"]


class R1_mAP_eval(transreid.R1_mAP_eval):
    """SOLIDER's `R1_mAP_eval`: TransReID's, with k1=20, k2=6 if it re-ranks."""

    toolbox = "SOLIDER"
