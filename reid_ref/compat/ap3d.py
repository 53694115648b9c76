"""AP3D's evaluator (guxinqian/AP3D 84bd12a, tools/eval_metrics.py), which is Simple-CCReID's."""
from reid_ref.compat.ccreid import evaluate

__all__ = ["evaluate"]
