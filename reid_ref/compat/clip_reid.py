"""CLIP-ReID's evaluator (Syliz517/CLIP-ReID eb1898b): utils/metrics.py is TransReID's file."""
from reid_ref.compat.transreid import R1_mAP_eval, eval_func

__all__ = ["R1_mAP_eval", "eval_func"]
