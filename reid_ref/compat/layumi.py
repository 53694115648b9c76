"""layumi's evaluator (layumi/Person_reID_baseline_pytorch 82ff40f, evaluate_gpu.py, evaluate.py).

`python -m reid_ref.compat.layumi`, in the folder of pytorch_result.mat and, if there is one, of
multi_query.mat, prints the lines of evaluate_gpu.py. The script ranks features by exact dot
products, not by those that a GPU rounds.
"""
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, as_array, as_integers, optional_module
from reid_ref.compat.common import Choice, evaluated, keep, labels
from reid_ref.datasets.pooling import pool_queries, read_multi_query
from reid_ref.evaluation.functions import evaluate as evaluate_features, evaluate_ranked_list
from reid_ref.files.read import read_result
from reid_ref.result import Result


def evaluate(qf: Any, ql: Any, qc: Any, gf: Any, gl: Any, gc: Any, *,
             convention: Choice = None) -> tuple[float, Any]:
    """Return what layumi's `evaluate` returns, of one query.

    Parameters
    ----------
    qf : array_like or tensor, shape (d,)
        Feature of the query; scores are dot products.
    ql, qc : int
        Its identity and camera.
    gf : array_like or tensor, shape (n_gallery, d)
    gl, gc : array_like of int
    convention : str or Convention, optional
        Another rule than "layumi".

    Returns
    -------
    ap : float
    cmc : IntTensor, shape (n_gallery,)
        Its first entry is -1 if the query has no good image.
    """
    distances = -_scores(qf, gf)[np.newaxis]
    sides = labels([ql], [qc], ("ql", "qc")), labels(gl, gc, ("gl", "gc"))
    per_query = evaluated(distances, sides, convention or "layumi").per_query
    if not per_query.n_good[0]:
        return 0, _int_curve(len(sides[1]), 0)
    return per_query.ap[0], _int_curve(len(sides[1]), int(per_query.first_match[0]))


def compute_mAP(index: Any, good_index: Any, junk_index: Any) -> tuple[float, Any]:
    """Return what layumi's `compute_mAP` returns, of one ranked list.

    Parameters
    ----------
    index : array_like of int
        Gallery images, the nearest first.
    good_index, junk_index : array_like of int
        Good and ignored images.

    Returns
    -------
    ap : float
    cmc : IntTensor, shape (len(index),)
        Its first entry is -1 without a good image.
    """
    index = as_integers(index, "index")
    good = np.ravel(as_array(good_index, "good_index"))
    if not good.size:
        return 0, _int_curve(len(index), 0)
    junk = np.unique(np.ravel(as_array(junk_index, "junk_index"))).astype(np.int64)
    ap, curve = evaluate_ranked_list(
        index.tolist(), good.tolist(), junk.tolist(), "trapezoid-layumi")
    return np.float64(ap), _int_curve(len(index), int(np.argmax(curve)) + 1)


def _scores(query: Any, gallery: Any) -> Any:
    """Dot products in the precision and by the library of what came."""
    if hasattr(gallery, "detach"):
        torch = optional_module("tensors", "torch")
        return as_array(torch.mm(gallery, query.view(-1, 1)).squeeze(1).cpu(), "gf")
    return np.dot(as_array(gallery, "gf"), as_array(query, "qf"))


def _int_curve(length: int, first_match: int) -> Any:
    """CMC indicator as an IntTensor; starts with -1 if there is no match (`first_match` 0)."""
    curve = np.zeros(length, dtype=np.int32)
    if first_match:
        curve[first_match - 1:] = 1
    else:
        curve[0] = -1
    return optional_module("an IntTensor", "torch").from_numpy(curve)


def line(result: Result) -> str:
    """Return the line that evaluate_gpu.py prints.

    Examples
    --------
    >>> import numpy as np, reid_ref
    >>> line(reid_ref.evaluate_distances(
    ...     np.arange(10.)[np.newaxis], reid_ref.Labels([7], [1]),
    ...     reid_ref.Labels([8, 7] * 5, [2] * 10), convention="layumi"))
    'Rank@1:0.000000 Rank@5:1.000000 Rank@10:1.000000 mAP:0.410635'
    """
    if len(result.cmc) < 10:
        raise InputError("gallery", "at least 10 images, for Rank@10", len(result.cmc))
    ranks = " ".join(f"Rank@{k}:{np.float32(result.cmc[k - 1]):f}" for k in (1, 5, 10))
    return f"{ranks} mAP:{result.mAP:f}"


def main() -> int:
    """Print the lines for the current folder; wrong input is one line on stderr and code 2."""
    try:
        data = read_result("pytorch_result.mat")
        query_features, gallery_features = data.features(
            "pytorch_result.mat", "features (query_f, gallery_f)",
            "`reid-ref evaluate` takes them")
        gallery_side = gallery_features, data.query, data.gallery
        options: Any = {"metric": "dot", "normalize": False, "convention": "layumi"}
        print(line(keep(evaluate_features(query_features, *gallery_side, **options))))
        if Path("multi_query.mat").is_file():
            images, features = read_multi_query("multi_query.mat")
            pooled = pool_queries(data.query, images, features, normalize=False)
            print("multi " + line(keep(evaluate_features(pooled, *gallery_side, **options))))
    except InputError as error:
        print(f"reid-ref: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    warnings.showwarning = lambda message, *_, **__: print(
        f"reid-ref: warning: {message}", file=sys.stderr)
    sys.exit(main())
