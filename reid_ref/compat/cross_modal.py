"""Cross-modality evaluators (mangye16/Cross-Modal-Re-ID-baseline e817a26, eval_metrics.py)."""
from typing import Any

import numpy as np

from reid_ref.compat.common import Choice, answered, both_sides
from reid_ref.labels import Labels


def eval_sysu(distmat: Any, q_pids: Any, g_pids: Any, q_camids: Any, g_camids: Any,
              max_rank: int = 20, *, convention: Choice = None) -> tuple[Any, ...]:
    """Return what `eval_sysu` returns: CMC over identities, mAP and mINP, for SYSU-MM01.

    Parameters
    ----------
    distmat : array_like, shape (n_query, n_gallery)
    q_pids, g_pids, q_camids, g_camids : array_like of int
        Queries of camera 3 ignore gallery images of camera 2, and nothing else is ignored.
    max_rank : int
    convention : str or Convention, optional
        Another rule than "sysu-mm01"; it then sees the cameras as they are.

    Returns
    -------
    cmc : float32, shape (max_rank,)
        Shorter if the gallery has fewer identities.
    mAP, mINP : float

    Raises
    ------
    NoMatch
        No query has a good image: also an AssertionError, as theirs.

    Examples
    --------
    >>> import numpy as np
    >>> cmc, mAP, mINP = eval_sysu(
    ...     np.array([[.1, .2, .3]]), [7], [7, 8, 7], [3], [2, 1, 1], max_rank=2)
    >>> cmc, float(mAP), float(mINP)
    (array([0., 1.], dtype=float32), 0.5, 0.5)
    """
    query, gallery = both_sides(q_pids, g_pids, q_camids, g_camids)
    if convention is None:
        # sysu-mm01 ignores the query's location, where cameras 2 and 3 are one. Theirs looks at
        # these two cameras alone: the others become two locations that never meet.
        query = Labels(query.identity, np.where(query.camera == 3, 3, -1))
        gallery = Labels(gallery.identity, np.where(gallery.camera == 2, 2, 0))
    return answered(distmat, (query, gallery), convention or "sysu-mm01", max_rank, "mAP", "mINP")


def eval_regdb(distmat: Any, q_pids: Any, g_pids: Any, max_rank: int = 20, *,
               convention: Choice = None) -> tuple[Any, ...]:
    """Return what `eval_regdb` returns: CMC, mAP and mINP, queries and gallery on two cameras.

    Parameters
    ----------
    distmat : array_like, shape (n_query, n_gallery)
    q_pids, g_pids : array_like of int
    max_rank : int
    convention : str or Convention, optional
        Another rule than "reid-survey-function".

    Returns
    -------
    cmc : float32, shape (max_rank,)
    mAP, mINP : float

    Raises
    ------
    NoMatch
        No query has a good image: also an AssertionError, as theirs.

    Examples
    --------
    >>> import numpy as np
    >>> cmc, mAP, mINP = eval_regdb(np.array([[.1, .2, .3]]), [7], [7, 8, 7], 1)
    >>> cmc, round(float(mAP), 4), round(float(mINP), 4)
    (array([1.], dtype=float32), 0.8333, 0.6667)
    """
    cameras = np.full(np.size(q_pids), 1), np.full(np.size(g_pids), 2)
    return answered(distmat, both_sides(q_pids, g_pids, *cameras),
                    convention or "reid-survey-function", max_rank, "mAP", "mINP")
