"""ReID-Survey's (AGW's) evaluator (mangye16/ReID-Survey 38f5912).

Source: data/datasets/eval_reid.py and utils/reid_metric.py. `r1_mAP_mINP` and
`r1_mAP_mINP_reranking` are metrics of ignite if that is installed; else they have the same
methods.
"""
from reid_ref.compat.strong_baseline import eval_func_of, ignite_metrics

eval_func = eval_func_of("reid_survey", "reid-survey-function", "mAP", "mINP")
__getattr__ = ignite_metrics("reid_survey", "reid-survey", "r1_mAP_mINP", "on", eval_func)
