"""open-reid's evaluator (Cysu/open-reid 3293ca7).

Source: reid/evaluation_metrics/ranking.py and evaluate_all of reid/evaluators.py. MMT, SpCL and
cluster-contrast carry copies of the first.
"""
from typing import Any

import numpy as np

from reid_ref.arrays import Array, Doubles, InputError, as_array
from reid_ref.compat.common import Choice, Refused, evaluated, labels, matched
from reid_ref.conventions import CONVENTIONS
from reid_ref.labels import Labels


def cmc(distmat: Any, query_ids: Any = None, gallery_ids: Any = None, query_cams: Any = None,
        gallery_cams: Any = None, topk: int = 100, separate_camera_set: bool = False,
        single_gallery_shot: bool = False, first_match_break: bool = False, *,
        convention: Choice = None) -> Doubles:
    """Return what open-reid's `cmc` returns.

    Parameters
    ----------
    distmat : array_like, shape (n_query, n_gallery)
        An array or a tensor.
    query_ids, gallery_ids, query_cams, gallery_cams : array_like of int, optional
        Defaults as theirs: image k shows identity k; queries on camera 0, gallery on 1.
    topk : int
    separate_camera_set : bool
        Ignore every image of the query's camera.
    single_gallery_shot : bool
        One gallery image drawn from each identity, 10 times, after ``numpy.random.seed(0)``.
    first_match_break : bool
        Count the first good image alone: the Market-1501 setting.
    convention : str or Convention, optional
        Another rule than its own.

    Returns
    -------
    float64, shape (topk,)

    Raises
    ------
    NoMatch
        No query has a good image: also a RuntimeError, as theirs.
    InputError
        `single_gallery_shot` with `first_match_break`: theirs counts each query 10 times.

    Examples
    --------
    >>> import numpy as np
    >>> cmc(np.array([[.2, .1, .3]]), [7], [7, 8, 7], [1], [2, 2, 3], topk=2)
    array([0., 1.])
    """
    if single_gallery_shot and first_match_break and convention is None:
        raise InputError("first_match_break", "False with single_gallery_shot",
                         "True: open-reid then counts each query 10 times", "leave it out")
    distances, sides = _read(distmat, query_ids, gallery_ids, query_cams, gallery_cams)
    record = CONVENTIONS["open-reid-function" if first_match_break else
                         "open-reid-allshots-function"]
    if single_gallery_shot:
        record = record.replace(cmc="single-gallery-shot-draws")
    if separate_camera_set:
        record = record.replace(ignored=("same identity, same camera", "same camera"))
    max_rank = max(1, min(topk, distances.shape[1]))
    curve = matched(evaluated(distances, sides, convention or record, max_rank)).cmc[:topk]
    return np.append(curve, np.full(topk - len(curve), curve[-1]))


def mean_ap(distmat: Any, query_ids: Any = None, gallery_ids: Any = None, query_cams: Any = None,
            gallery_cams: Any = None, *, convention: Choice = None) -> float:
    """Return what open-reid's `mean_ap` returns, with scikit-learn from 0.19.

    Parameters
    ----------
    distmat, query_ids, gallery_ids, query_cams, gallery_cams
        As for `cmc`.
    convention : str or Convention, optional
        "open-reid-sklearn-0.18-function" for the AP of scikit-learn 0.18.

    Returns
    -------
    float

    Raises
    ------
    NoMatch
        No query has a good image: also a RuntimeError, as theirs.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(mean_ap(np.array([[.2, .1, .3]]), [7], [7, 8, 7], [1], [2, 2, 3])), 4)
    0.5833
    """
    distances, sides = _read(distmat, query_ids, gallery_ids, query_cams, gallery_cams)
    result = matched(evaluated(distances, sides, convention or "open-reid-function"))
    return np.float64(result.mAP)


def evaluate_all(distmat: Any, query: Any = None, gallery: Any = None, query_ids: Any = None,
                 gallery_ids: Any = None, query_cams: Any = None, gallery_cams: Any = None,
                 cmc_topk: tuple[int, ...] = (1, 5, 10)) -> float:
    """Print mAP and three CMC curves as open-reid does; return the allshots top-1.

    Parameters
    ----------
    distmat : array_like, shape (n_query, n_gallery)
    query, gallery : list of (name, identity, camera), optional
        In the place of the four lists of labels.
    query_ids, gallery_ids, query_cams, gallery_cams : array_like of int, optional
    cmc_topk : tuple of int
        The ranks that are printed.

    Examples
    --------
    >>> import numpy as np
    >>> top1 = evaluate_all(np.array([[.2, .1, .3]]), [("q", 7, 1)],
    ...                     [("a", 7, 2), ("b", 8, 2), ("c", 7, 3)], cmc_topk=(1, 2))
    Mean AP: 58.3%
    CMC Scores    allshots      cuhk03  market1501
      top-1           0.0%        0.0%        0.0%
      top-2         100.0%      100.0%      100.0%
    """
    if query is not None and gallery is not None:
        query_ids, query_cams, gallery_ids, gallery_cams = (
            [image[k] for image in side] for side in (query, gallery) for k in (1, 2))
    five = distmat, query_ids, gallery_ids, query_cams, gallery_cams
    if any(array is None for array in five):
        raise Refused("query, gallery", "both, or all of query_ids, gallery_ids, query_cams and "
                      "gallery_cams", "neither")
    print(f"Mean AP: {mean_ap(*five):4.1%}")
    cuhk03 = cmc(*five, separate_camera_set=True, single_gallery_shot=True)
    market1501, allshots = cmc(*five, first_match_break=True), cmc(*five)
    print("CMC Scores" + "".join(f"{name:>12}" for name in ("allshots", "cuhk03", "market1501")))
    for k in cmc_topk:
        print(f"  top-{k:<4}" + "".join(
            f"{curve[k - 1]:12.1%}" for curve in (allshots, cuhk03, market1501)))
    return np.float64(allshots[0])


def _read(distmat: Any, query_ids: Any, gallery_ids: Any, query_cams: Any,
          gallery_cams: Any) -> tuple[Array, tuple[Labels, Labels]]:
    distances = as_array(distmat, "distmat")
    if distances.ndim != 2:
        raise InputError(
            "distmat", "shape (n_query, n_gallery)", distances.shape, "pass one row per query")
    n, m = distances.shape
    query_ids, gallery_ids, query_cams, gallery_cams = (
        default if array is None else array for array, default in (
            (query_ids, np.arange(n)), (gallery_ids, np.arange(m)),
            (query_cams, np.zeros(n, int)), (gallery_cams, np.ones(m, int))))
    return distances, (labels(query_ids, query_cams, ("query_ids", "query_cams")),
                       labels(gallery_ids, gallery_cams, ("gallery_ids", "gallery_cams")))
