"""reid-ref: the reference evaluator of person re-identification.

Distance: smaller is nearer. Identity 0 is a distractor, -1 is junk. Importing this package
starts nothing and loads nothing, not even numpy: public names, and the modules that a user may
name (`reid_ref.matlab`, `reid_ref.datasets` ...), load on first use.
"""
TYPE_CHECKING = False  # `typing` itself would be loaded; mypy takes this name as it takes that one
if TYPE_CHECKING:
    from reid_ref import (
        compat, datasets, drawing as figures, files, matlab, metric_learning, statistics)
    from reid_ref._version import __version__
    from reid_ref.arrays import InputError
    from reid_ref.commands.compare.compute import Comparison, Comparisons, compare
    from reid_ref.commands.crosscheck import compute as crosschecking
    from reid_ref.commands.crosscheck.compute import crosscheck
    from reid_ref.commands.doctor.compute import doctor
    from reid_ref.commands.doctor.compute.labels import Finding
    from reid_ref.commands.evaluate.show import rows as formats
    from reid_ref.commands.explain.compute import explain
    from reid_ref.commands.export import export
    from reid_ref.commands.runs.compute import Runs, runs
    from reid_ref.commands.splits import splits
    from reid_ref.commands.validate.compute import validate
    from reid_ref.conventions import CONVENTIONS, Convention
    from reid_ref.datasets import published
    from reid_ref.datasets.pooling import pool_queries
    from reid_ref.drawing.rank_lists import visualize_ranked_results
    from reid_ref.evaluation import distributed
    from reid_ref.evaluation.batches import Evaluator
    from reid_ref.evaluation.camera_pairs import CameraPairs, camera_pairs, camera_pairs_features
    from reid_ref.evaluation.functions import evaluate, evaluate_distances, evaluate_ranked_list
    from reid_ref.evaluation.groups import Groups, by_group
    from reid_ref.evaluation.ranked_lists import evaluate_ranked_lists
    from reid_ref.evaluation.result_file import ResultFile
    from reid_ref.files import trec
    from reid_ref.files.read import read
    from reid_ref.labels import IndexLists, Labels
    from reid_ref.protocols import oxford
    from reid_ref.reranking.k_reciprocal import evaluate_reranked, rerank, rerank_blocks
    from reid_ref.result import Counts, PerQuery, Result
    from reid_ref.result.saved import load
    from reid_ref.statistics import Interval

__all__ = [
    "CONVENTIONS", "CameraPairs", "Comparison", "Comparisons", "Convention", "Counts", "Evaluator",
    "Finding", "Groups", "IndexLists", "InputError", "Interval", "Labels", "PerQuery", "Result",
    "ResultFile", "Runs", "__version__", "by_group", "camera_pairs", "camera_pairs_features",
    "compare", "crosscheck", "doctor", "evaluate", "evaluate_distances", "evaluate_ranked_list",
    "evaluate_ranked_lists", "evaluate_reranked", "explain", "export", "load", "pool_queries",
    "read", "rerank", "rerank_blocks", "runs", "splits", "validate", "visualize_ranked_results",
]

#: The module of each public name.
_MODULES = {
    "CONVENTIONS": "conventions", "CameraPairs": "evaluation.camera_pairs",
    "Convention": "conventions", "Counts": "result", "Evaluator": "evaluation.batches",
    "IndexLists": "labels", "InputError": "arrays", "Labels": "labels", "PerQuery": "result",
    "Result": "result", "ResultFile": "evaluation.result_file", "__version__": "_version",
    "load": "result.saved",
    "Finding": "commands.doctor.compute.labels", "doctor": "commands.doctor.compute",
    "Groups": "evaluation.groups", "by_group": "evaluation.groups",
    "camera_pairs": "evaluation.camera_pairs",
    "camera_pairs_features": "evaluation.camera_pairs",
    "crosscheck": "commands.crosscheck.compute",
    "evaluate": "evaluation.functions", "evaluate_distances": "evaluation.functions",
    "evaluate_ranked_list": "evaluation.functions",
    "evaluate_ranked_lists": "evaluation.ranked_lists",
    "evaluate_reranked": "reranking.k_reciprocal", "explain": "commands.explain.compute",
    "export": "commands.export", "read": "files.read", "validate": "commands.validate.compute",
    "Comparison": "commands.compare.compute", "Comparisons": "commands.compare.compute",
    "Interval": "statistics", "Runs": "commands.runs.compute",
    "compare": "commands.compare.compute",
    "runs": "commands.runs.compute", "splits": "commands.splits",
    "pool_queries": "datasets.pooling", "rerank": "reranking.k_reciprocal",
    "rerank_blocks": "reranking.k_reciprocal",
    "visualize_ranked_results": "drawing.rank_lists",
}
#: Modules that a user may name, by their public name.
_ROOMS = {
    "compat": "compat", "crosschecking": "commands.crosscheck.compute", "datasets": "datasets",
    "distributed": "evaluation.distributed", "figures": "drawing", "files": "files",
    "formats": "commands.evaluate.show.rows",
    "matlab": "matlab", "metric_learning": "metric_learning",
    "oxford": "protocols.oxford", "published": "datasets.published",
    "statistics": "statistics", "trec": "files.trec",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _ROOMS:
        return import_module(f"{__name__}.{_ROOMS[name]}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
