# The public names of the package: type checkers read this file, and so does __init__.py, which
# loads each name on first use. What is added to __all__ are modules that a user may name.
from reid_ref import (
    compat, conventions, datasets, drawing as figures, files, matlab, measures, metric_learning,
    metrics, protocols, statistics, testing, thresholds, variations)
from reid_ref._version import __version__
from reid_ref.analysis import crosscheck as crosschecking
from reid_ref.analysis.compare import compare
from reid_ref.analysis.compare.answer import Comparison, Comparisons
from reid_ref.analysis.crosscheck import crosscheck
from reid_ref.analysis.doctor import doctor
from reid_ref.analysis.doctor.finding import Finding
from reid_ref.analysis.explain import explain
from reid_ref.analysis.validate import validate
from reid_ref.arrays import (
    BenchmarkWarning, CameraWarning, ComparisonWarning, ConventionWarning, FindingWarning,
    InputError, InputWarning, IntervalWarning, JunkWarning, LabelWarning, NaNWarning, NormWarning,
    PackageWarning, RankedListWarning, SavedWarning, UnmatchedWarning, UnreadWarning)
from reid_ref.commands.evaluate.show import rows as formats
from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.datasets import oxford, published
from reid_ref.datasets.pooling import pool_queries
from reid_ref.drawing.rank_lists import visualize_ranked_results
from reid_ref.evaluation import distributed
from reid_ref.evaluation.batches import Evaluator
from reid_ref.evaluation.camera_pairs import CameraPairs, camera_pairs, camera_pairs_features
from reid_ref.evaluation.functions import (
    evaluate, evaluate_distances, evaluate_ranked_list, evaluate_ranked_lists)
from reid_ref.evaluation.groups import Groups, by_group
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files import trec
from reid_ref.files.read import read
from reid_ref.files.trec import export
from reid_ref.labels import Candidates, IndexLists, Labels
from reid_ref.protocols.boxes import Boxes, read_boxes
from reid_ref.protocols.evaluation import average_trials, evaluate_protocol
from reid_ref.protocols.person_search import evaluate_person_search
from reid_ref.reranking.k_reciprocal import evaluate_reranked, rerank, rerank_blocks
from reid_ref.result import Result
from reid_ref.result.parts import Counts, PerQuery
from reid_ref.result.runs import Runs, runs, splits
from reid_ref.result.saved import load
from reid_ref.result.views import precision_recall, to_dict, to_frame
from reid_ref.statistics import Interval
from reid_ref.thresholds.evaluation import evaluate_thresholds, evaluate_thresholds_distances
from reid_ref.thresholds.values import Thresholds

__all__ = [
    "BenchmarkWarning", "Boxes", "CONVENTIONS", "CameraPairs", "CameraWarning", "Candidates",
    "Comparison", "ComparisonWarning", "Comparisons", "Convention", "ConventionWarning", "Counts",
    "Evaluator", "Finding", "FindingWarning", "Groups", "IndexLists", "InputError", "InputWarning",
    "Interval", "IntervalWarning", "JunkWarning", "LabelWarning", "Labels", "NaNWarning",
    "NormWarning", "PackageWarning", "PerQuery", "RankedListWarning", "Result", "ResultFile",
    "Runs", "SavedWarning", "Thresholds", "UnmatchedWarning", "UnreadWarning", "__version__",
    "average_trials", "by_group", "camera_pairs", "camera_pairs_features", "compare", "crosscheck",
    "doctor", "evaluate", "evaluate_distances", "evaluate_person_search", "evaluate_protocol",
    "evaluate_ranked_list", "evaluate_ranked_lists", "evaluate_reranked", "evaluate_thresholds",
    "evaluate_thresholds_distances", "explain", "export", "load", "pool_queries",
    "precision_recall", "read", "read_boxes", "rerank", "rerank_blocks", "runs", "splits",
    "to_dict", "to_frame", "validate", "visualize_ranked_results",
]
__all__ += [
    "compat", "conventions", "crosschecking", "datasets", "distributed", "figures", "files",
    "formats", "matlab", "measures", "metric_learning", "metrics", "oxford", "protocols",
    "published", "statistics", "testing", "thresholds", "trec", "variations",
]
