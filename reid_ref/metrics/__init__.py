"""`GoodRanks` to one number per query: a function for each metric and each AP rule.

Sums add one term after another, in order of rank, as Octave does.
"""
from reid_ref.arrays import Doubles
from reid_ref.metrics.average_precision import (
    average_precision_grouped_step, average_precision_grouped_trapezoid, average_precision_layumi,
    average_precision_mistaken_trapezoid, average_precision_step, average_precision_step_float32,
    average_precision_trapezoid, average_precision_trapezoid_float32, count_tied_queries,
    mean_in_float32, mean_in_order, per_query_share, tie_groups)
from reid_ref.metrics.matching import (
    accuracy_at, all_shots_at, cumulative_matching, cumulative_matching_all_shots,
    inverse_negative_penalty, precision_at, precision_recall_curve, recall_at)

__all__ = [
    "Doubles", "accuracy_at", "all_shots_at", "average_precision_grouped_step",
    "average_precision_grouped_trapezoid",
    "average_precision_layumi", "average_precision_mistaken_trapezoid",
    "average_precision_step", "average_precision_step_float32", "average_precision_trapezoid",
    "average_precision_trapezoid_float32", "count_tied_queries", "cumulative_matching",
    "cumulative_matching_all_shots", "inverse_negative_penalty", "mean_in_float32",
    "mean_in_order", "per_query_share", "precision_at",
    "precision_recall_curve", "recall_at", "tie_groups",
]
