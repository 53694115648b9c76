"""reid-strong-baseline's evaluator (michuanhaohao/reid-strong-baseline 3da7e6f), and its line's.

Source: data/datasets/eval_reid.py and utils/reid_metric.py. `R1_mAP` and `R1_mAP_reranking` are
metrics of ignite if that is installed; else they have the same methods.
"""
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from reid_ref.arrays import Array, optional_module
from reid_ref.compat.common import Choice, answered, both_sides, class_of_module, squared_distances
from reid_ref.reranking.k_reciprocal import rerank


def eval_func_of(toolbox: str, record_name: str, *means: str) -> Callable[..., Any]:
    """Return the evaluator of a toolbox by its convention; `means` follow the curve."""
    def eval_func(distmat: Any, q_pids: Any, g_pids: Any, q_camids: Any, g_camids: Any,
                  max_rank: int = 50, *, convention: Choice = None) -> tuple[Any, ...]:
        """Return what the toolbox's `eval_func` returns.

        Parameters
        ----------
        distmat : array_like, shape (n_query, n_gallery)
        q_pids, g_pids, q_camids, g_camids : array_like of int
        max_rank : int
        convention : str or Convention, optional
            Another rule than "{convention}".

        Returns
        -------
        cmc : float32, shape (max_rank,)
        {means} : float

        Raises
        ------
        NoMatch
            No query has a good image: also an AssertionError, as theirs.

        Examples
        --------
        >>> import numpy as np
        >>> cmc, mAP, *_ = eval_func(np.array([[.1, .2, .3]]), [7], [7, 8, 7], [1], [2, 2, 3], 1)
        >>> cmc, round(float(mAP), 4)
        (array([1.], dtype=float32), 0.8333)
        """
        return answered(distmat, both_sides(q_pids, g_pids, q_camids, g_camids),
                        convention or record_name, max_rank, *means)

    eval_func.__module__ = f"reid_ref.compat.{toolbox}"
    eval_func.__qualname__ = "eval_func"
    eval_func.__doc__ = (eval_func.__doc__ or "").format(
        convention=record_name, means=", ".join(means))
    return eval_func


class Collected:
    """CMC and means of all batches; the first `num_query` images are the queries.

    Parameters
    ----------
    num_query : int
    max_rank : int
        Ignored, as in the original: the curve has 50 ranks.
    feat_norm : str or bool, optional
        "yes" (reid-strong-baseline), "on" (ReID-Survey) or True (TransReID), the defaults,
        divide each feature by its 2-norm.
    convention : str or Convention, optional

    Notes
    -----
    A class with "reranking" in its name re-ranks as the toolbox does: k1=20, k2=6, lambda 0.3.
    """

    # Of each class: the value of `feat_norm` for unit features, the toolbox's function, whose
    # re-ranking it has, and whether it re-ranks.
    normalized: Any = True
    eval_func: Any
    toolbox = ""
    reranking = False

    def __init__(self, num_query: int, max_rank: int = 50, feat_norm: Any = None, *,
                 convention: Choice = None) -> None:
        super().__init__()
        self.num_query, self.max_rank, self.convention = num_query, max_rank, convention
        self.feat_norm = self.normalized if feat_norm is None else feat_norm
        self.reset()

    def reset(self) -> None:
        """Forget all images."""
        self.feats: list[Any] = []
        self.pids: list[Any] = []
        self.camids: list[Any] = []

    def update(self, output: Any) -> None:
        """Take a batch: features, identities, cameras."""
        features, pids, camids = output
        self.feats.append(features)
        self.pids.extend(np.asarray(pids))
        self.camids.extend(np.asarray(camids))

    def sides(self) -> tuple[Any, Any]:
        """Return the features of the queries and of the gallery."""
        torch = optional_module("tensors", "torch")
        features = torch.cat(self.feats, dim=0)
        if self.feat_norm == self.normalized:
            features = torch.nn.functional.normalize(features, dim=1, p=2)
        return features[:self.num_query], features[self.num_query:]

    def five(self, query: Any, gallery: Any) -> tuple[Array, Array, Array, Array, Array]:
        """Return distances and labels, as an `eval_func` takes them."""
        distances = (rerank(query, gallery, normalize=False, convention=self.toolbox)
                     if self.reranking else squared_distances(query, gallery))
        n, pids, camids = self.num_query, np.asarray(self.pids), np.asarray(self.camids)
        return distances, pids[:n], pids[n:], camids[:n], camids[n:]

    def compute(self) -> Any:
        """Return what the toolbox's `eval_func` returns."""
        return self.eval_func(*self.five(*self.sides()), convention=self.convention)


def ignite_metrics(toolbox: str, convention: str, plain: str, normalized: str,
                   eval_func: Callable[..., Any]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` for its metrics: the plain one, and one that re-ranks."""
    metric = type(plain, (Collected,), {
        "normalized": normalized, "eval_func": staticmethod(eval_func), "toolbox": convention})
    reranking = type(f"{plain}_reranking", (metric,), {"reranking": True})
    return partial(
        class_of_module, f"reid_ref.compat.{toolbox}", library="ignite.metrics", base="Metric",
        classes={each.__name__: each for each in (metric, reranking)}, otherwise=object)


eval_func = eval_func_of("strong_baseline", "reid-strong-baseline-function", "mAP")
__getattr__ = ignite_metrics("strong_baseline", "reid-strong-baseline", "R1_mAP", "yes", eval_func)
