"""Simple-CCReID's evaluators (guxinqian/Simple-CCReID f773d01, tools/eval_metrics.py)."""
from typing import Any

import numpy as np

from reid_ref.arrays import Doubles, as_labels
from reid_ref.compat.common import Choice, Refused, both_sides, evaluated, matched
from reid_ref.conventions import CONVENTIONS
from reid_ref.labels import Labels
from reid_ref.result import Result

#: Step AP over the queries with a good image, as torchreid's; the curve ends with the gallery.
_PLAIN = CONVENTIONS["torchreid-function"].replace(name="simple-ccreid", cmc_length="gallery")
_BY_MODE = {mode: _PLAIN.replace(name="simple-ccreid-clothes", ignored=(*_PLAIN.ignored, rule))
            for mode, rule in (("CC", "same identity, same clothes"),
                               ("SC", "same identity, other clothes"))}


def evaluate(distmat: Any, q_pids: Any, g_pids: Any, q_camids: Any, g_camids: Any, *,
             convention: Choice = None) -> tuple[Doubles, float]:
    """Return what Simple-CCReID's `evaluate` returns.

    Parameters
    ----------
    distmat : array_like, shape (n_query, n_gallery)
    q_pids, g_pids, q_camids, g_camids : array_like of int
    convention : str or Convention, optional
        Another rule than its own.

    Returns
    -------
    CMC : float64, shape (n_gallery,)
    mAP : float

    Raises
    ------
    NoMatch
        No query has a good image: also a ZeroDivisionError, as theirs.

    Examples
    --------
    >>> import numpy as np
    >>> cmc, mAP = evaluate(np.array([[.1, .2, .3]]), [7], [7, 8, 7], [1], [2, 2, 3])
    >>> cmc, round(float(mAP), 4)
    (array([1., 1., 1.]), 0.8333)
    """
    result = matched(evaluated(distmat, both_sides(q_pids, g_pids, q_camids, g_camids),
                               convention or _PLAIN))
    return result.cmc.copy(), np.float64(result.mAP) if convention else _mean_of_ap(result)


def _mean_of_ap(result: Result) -> float:
    """Return mAP with the additions of `evaluate`: image after image, then query after query."""
    ranks = result.ranks
    terms = 1 / np.repeat(ranks.n_good, ranks.found) * (ranks.nth / ranks.rank)
    ap = [np.cumsum(of_query)[-1] for of_query in np.split(terms, np.cumsum(ranks.found)[:-1])
          if len(of_query)]
    return np.float64(np.cumsum(ap)[-1] / len(ap))


def evaluate_with_clothes(distmat: Any, q_pids: Any, g_pids: Any, q_camids: Any, g_camids: Any,
                          q_clothids: Any, g_clothids: Any, mode: str = "CC", *,
                          convention: Choice = None) -> tuple[Doubles, float]:
    """Return what Simple-CCReID's `evaluate_with_clothes` returns.

    Good are images of the query's identity on another camera: in other clothes (CC) or in the
    same (SC). The rest of its identity is ignored.

    Parameters
    ----------
    distmat, q_pids, g_pids, q_camids, g_camids
        As for `evaluate`.
    q_clothids, g_clothids : array_like of int
        Clothes of each image.
    mode : {"CC", "SC"}
    convention : str or Convention, optional
        Another rule than its own.

    Returns
    -------
    CMC : float64, shape (n_gallery,)
    mAP : float
        Both 0 if no query has a good image.

    Raises
    ------
    Refused
        Another mode: also an AssertionError, as theirs.

    Examples
    --------
    >>> import numpy as np
    >>> labels = [7], [7, 8, 7], [1], [2, 2, 3], [70], [70, 80, 71]
    >>> cmc, mAP = evaluate_with_clothes(np.array([[.1, .2, .3]]), *labels, mode="CC")
    >>> cmc, float(mAP)
    (array([0., 1., 1.]), 0.5)
    """
    if mode not in _BY_MODE:
        raise Refused("mode", "'CC' or 'SC'", repr(mode))
    query, gallery = (
        Labels(side.identity, side.camera, clothes=as_labels(clothes, name))
        for side, clothes, name in zip(both_sides(q_pids, g_pids, q_camids, g_camids),
                                       (q_clothids, g_clothids), ("q_clothids", "g_clothids")))
    result = evaluated(distmat, (query, gallery), convention or _BY_MODE[mode])
    if not result.counts.status["ok"]:
        return np.zeros(len(gallery)), 0
    return result.cmc.copy(), np.float64(result.mAP)
