"""fast-reid's evaluators (JDAI-CV/fast-reid c9bc3ce, fastreid/evaluation)."""
import sys
from collections import OrderedDict
from typing import Any

import numpy as np

from reid_ref.arrays import Array, optional_module
from reid_ref.compat import torchreid
from reid_ref.compat.common import (
    Choice, answered, both_sides, cosine_distances, last_result, squared_distances)
from reid_ref.conventions import CONVENTIONS
from reid_ref.labels import check_distances
from reid_ref.ranking.roles import query_roles
from reid_ref.reranking.k_reciprocal import rerank

_RANK, _ROC = "fastreid.evaluation.rank", "fastreid.evaluation.roc"


def evaluate_rank(distmat: Any, q_pids: Any, g_pids: Any, q_camids: Any, g_camids: Any,
                  max_rank: int = 50, use_metric_cuhk03: bool = False, use_cython: bool = True, *,
                  convention: Choice = None) -> Any:
    """Return what fast-reid's `evaluate_rank` returns.

    Parameters
    ----------
    distmat, q_pids, g_pids, q_camids, g_camids, max_rank, convention
        As for `reid_ref.compat.torchreid.evaluate_rank`.
    use_metric_cuhk03 : bool
        As there; fast-reid then returns CMC and mAP alone.
    use_cython : bool
        Float32 sums, and arrays in the place of lists, if fastreid is imported and has its
        Cython form.

    Returns
    -------
    cmc : float32, shape (max_rank,)
    all_AP, all_INP : list of float
        Of the queries with a good image, in their order.

    Raises
    ------
    NoMatch
        No query has a good image: also an AssertionError, as theirs.

    Examples
    --------
    >>> import numpy as np
    >>> cmc, all_AP, all_INP = evaluate_rank(
    ...     np.array([[.1, .2, .3]]), np.array([7]), np.array([7, 8, 7]), np.array([1]),
    ...     np.array([2, 2, 3]), max_rank=2)
    >>> cmc, np.round(all_AP, 4), np.round(all_INP, 4)
    (array([1., 1.], dtype=float32), array([0.8333]), array([0.6667]))
    """
    cython = use_cython and torchreid.has_cython(_RANK)
    sides = both_sides(q_pids, g_pids, q_camids, g_camids)
    if use_metric_cuhk03:
        return torchreid.single_gallery_shot(distmat, sides, max_rank, cython, convention)
    record = "torchreid-cython-function" if cython else "fast-reid-function"
    cmc, = answered(distmat, sides, convention or record, max_rank)
    per_query = last_result().per_query
    matched = per_query.status == "ok"
    kind: Any = np.float32 if cython else list
    return cmc, kind(per_query.ap[matched]), kind(per_query.inp[matched])


def evaluate_roc(distmat: Any, q_pids: Any, g_pids: Any, q_camids: Any, g_camids: Any,
                 use_cython: bool = True) -> tuple[Array, Array]:
    """Return what fast-reid's `evaluate_roc` returns: the distances of all pairs that count.

    Returns
    -------
    scores : array, shape (n_pairs,)
        Distances of the good pairs, query after query, then of the wrong ones; ascending in
        a query. In their dtype, or in double if either kind is absent.
    labels : array, shape (n_pairs,)
        0 for a good pair, 1 for a wrong one.

    Examples
    --------
    >>> import numpy as np
    >>> evaluate_roc(np.array([[.3, .2, .1]]), [7], [7, 8, 7], [1], [2, 2, 3])
    (array([0.1, 0.3, 0.2]), array([0., 0., 1.]))
    """
    query, gallery = both_sides(q_pids, g_pids, q_camids, g_camids)
    distances = check_distances(distmat, query, gallery)
    dtype: type[np.floating[Any]] = np.float64
    if use_cython and torchreid.has_cython(_ROC):
        distances, dtype = distances.astype(np.float32), np.float32
    roles_of = query_roles(query, gallery, CONVENTIONS["fast-reid-function"].ignored)
    good_pairs, wrong_pairs = [], []
    for k, row in enumerate(distances):
        good, kept = roles_of(k)
        kept[good] = False
        good_pairs.append(np.sort(row[good]))
        wrong_pairs.append(np.sort(row[kept]))
    scores = np.concatenate(good_pairs + wrong_pairs)
    labels = np.arange(len(scores)) >= sum(map(len, good_pairs))
    if labels.all() or not labels.any():  # a list without numbers makes theirs doubles
        scores = scores.astype(dtype)
    return scores, labels.astype(dtype)


class ReidEvaluator:
    """fast-reid's `ReidEvaluator`: the same calls, the same dictionary.

    Distances are computed by torch as fast-reid computes them. Query expansion is fast-reid's
    own; re-ranking is `reid_ref.rerank` with its variant "fast-reid", which needs no GPU.

    Parameters
    ----------
    cfg : CfgNode
        Of fast-reid: TEST.METRIC, TEST.AQE, TEST.RERANK and TEST.ROC are read.
    num_query : int
        The first so many images are the queries.
    output_dir : str, optional
        Not used, as in fast-reid.
    convention : str or Convention, optional
    """

    def __init__(self, cfg: Any, num_query: int, output_dir: str | None = None, *,
                 convention: Choice = None) -> None:
        self.cfg, self.convention = cfg, convention
        self._num_query, self._output_dir = num_query, output_dir
        self.reset()

    def reset(self) -> None:
        """Forget all images."""
        self._predictions: list[dict[str, Any]] = []

    def process(self, inputs: Any, outputs: Any) -> None:
        """Take a batch: ``inputs["targets"]``, ``inputs["camids"]``, and its features."""
        torch = optional_module("tensors", "torch")
        self._predictions.append({
            "feats": outputs.to("cpu", torch.float32), "pids": inputs["targets"].to("cpu"),
            "camids": inputs["camids"].to("cpu")})

    def evaluate(self) -> dict[str, Any]:
        """Return Rank-1, Rank-5, Rank-10, mAP, mINP and metric in percent, by these names.

        With TEST.ROC.ENABLED also the true positive rates, as fractions. In every process but
        the first the dictionary is empty, as in fast-reid.
        """
        predictions = self._gathered()
        if predictions is None:
            return {}
        torch = optional_module("tensors", "torch")
        features, pids, camids = (torch.cat([batch[key] for batch in predictions])
                                  for key in ("feats", "pids", "camids"))
        n = self._num_query
        distances = self._distances(features[:n], features[n:])
        five = (distances, pids[:n].numpy(), pids[n:].numpy(), camids[:n].numpy(),
                camids[n:].numpy())
        cmc, all_ap, all_inp = evaluate_rank(*five, convention=self.convention)
        mAP, mINP = np.mean(all_ap), np.mean(all_inp)
        results = OrderedDict((f"Rank-{k}", cmc[k - 1] * 100) for k in (1, 5, 10))
        results.update(mAP=mAP * 100, mINP=mINP * 100, metric=(mAP + cmc[0]) / 2 * 100)
        if self.cfg.TEST.ROC.ENABLED:
            results.update(_true_positive_rates(*evaluate_roc(*five)))
        return results

    def _gathered(self) -> list[dict[str, Any]] | None:
        """Return the batches of all processes; None if another process evaluates them."""
        comm = sys.modules.get("fastreid.utils.comm")
        if comm is None or comm.get_world_size() == 1:
            return self._predictions
        comm.synchronize()
        parts = comm.gather(self._predictions, dst=0)
        return [batch for part in parts for batch in part] if comm.is_main_process() else None

    def _distances(self, query: Any, gallery: Any) -> Array:
        test = self.cfg.TEST
        if test.AQE.ENABLED:
            expansion = optional_module("TEST.AQE", "fastreid.evaluation.query_expansion")
            query, gallery = expansion.aqe(
                query, gallery, test.AQE.QE_TIME, test.AQE.QE_K, test.AQE.ALPHA)
        cosine = test.METRIC == "cosine"
        if test.RERANK.ENABLED:
            return rerank(query, gallery, test.RERANK.K1, test.RERANK.K2, test.RERANK.LAMBDA,
                          "fast-reid", normalize=cosine)
        return (cosine_distances if cosine else squared_distances)(query, gallery)


def _true_positive_rates(scores: Any, labels_: Any) -> dict[str, Any]:
    """Read the curve of scikit-learn at three false positive rates, as fast-reid does."""
    false_rates, true_rates, _ = optional_module("TEST.ROC", "sklearn.metrics").roc_curve(
        labels_, scores)
    return {f"TPR@FPR={rate:.0e}": true_rates[np.argmin(np.abs(false_rates - rate))]
            for rate in (1e-4, 1e-3, 1e-2)}
