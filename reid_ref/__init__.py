"""reid-ref: the reference evaluator of person re-identification.

Distance: smaller is nearer. Identity 0 is a distractor, -1 is junk. Importing this package
starts nothing and loads nothing but numpy.
"""
from reid_ref._version import __version__
from reid_ref.camera_pairs import CameraPairs, camera_pairs
from reid_ref.conventions import CONVENTIONS, Convention
from reid_ref.evaluate import (
    evaluate, evaluate_conventions, evaluate_distances, evaluate_features, evaluate_with_index)
from reid_ref.evaluator import Evaluator
from reid_ref.multi_query import pool_queries
from reid_ref.rerank import evaluate_reranked, rerank, rerank_blocks
from reid_ref.result import Counts, IndexLists, Labels, PerQuery, Result
from reid_ref.validation import InputError

__all__ = [
    "CONVENTIONS", "CameraPairs", "Convention", "Counts", "Evaluator", "IndexLists",
    "InputError", "Labels", "PerQuery", "Result", "__version__", "camera_pairs", "evaluate",
    "evaluate_conventions", "evaluate_distances", "evaluate_features", "evaluate_reranked",
    "evaluate_with_index", "pool_queries", "rerank", "rerank_blocks",
]
