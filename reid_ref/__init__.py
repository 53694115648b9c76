"""reid-ref: the reference evaluator of person re-identification.

Distance: smaller is nearer. Identity 0 is a distractor, -1 is junk. Importing this package
starts nothing and loads nothing, not even numpy: public names, and the modules that a user may
name (`reid_ref.matlab`, `reid_ref.datasets` ...), load on first use.
"""
import sys
from types import ModuleType

TYPE_CHECKING = False  # `typing` itself would be loaded; mypy takes this name as it takes that one
if TYPE_CHECKING:
    from reid_ref import (
        datasets, distributed, files, formats, matlab, metric_learning, oxford, published, trec)
    from reid_ref._version import __version__
    from reid_ref.camera_pairs import CameraPairs, camera_pairs
    from reid_ref.conventions import CONVENTIONS, Convention
    from reid_ref.evaluate import (
        evaluate, evaluate_conventions, evaluate_distances, evaluate_features,
        evaluate_with_index)
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

#: The module of each public name.
_MODULES = {
    "CONVENTIONS": "conventions", "CameraPairs": "camera_pairs", "Convention": "conventions",
    "Counts": "result", "Evaluator": "evaluator", "IndexLists": "result",
    "__version__": "_version",
    "InputError": "validation", "Labels": "result", "PerQuery": "result", "Result": "result",
    "camera_pairs": "camera_pairs", "evaluate": "evaluate", "evaluate_conventions": "evaluate",
    "evaluate_distances": "evaluate", "evaluate_features": "evaluate",
    "evaluate_reranked": "rerank", "evaluate_with_index": "evaluate",
    "pool_queries": "multi_query", "rerank": "rerank", "rerank_blocks": "rerank",
}
_ROOMS = ("datasets", "distributed", "files", "formats", "matlab", "metric_learning", "oxford",
          "published", "trec")


class _Package(ModuleType):
    """A public function keeps its name when the module of the same name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _MODULES):
            super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})


sys.modules[__name__].__class__ = _Package
