"""torchreid's evaluator (KaiyangZhou/deep-person-reid f8cd150, torchreid/metrics/rank.py)."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.compat.common import Choice, answered, both_sides
from reid_ref.conventions import CONVENTIONS
from reid_ref.labels import Labels

#: Its rank.py in the repository and in the package on PyPI.
_RANK = ("torchreid.metrics.rank", "torchreid.reid.metrics.rank")


def evaluate_rank(distmat: Any, q_pids: Any, g_pids: Any, q_camids: Any, g_camids: Any,
                  max_rank: int = 50, use_metric_cuhk03: bool = False, use_cython: bool = True, *,
                  convention: Choice = None) -> tuple[npt.NDArray[np.float32], float]:
    """Return what torchreid's `evaluate_rank` returns.

    Parameters
    ----------
    distmat : array_like, shape (n_query, n_gallery)
        Smaller is nearer; an array or a tensor.
    q_pids, g_pids, q_camids, g_camids : array_like of int
    max_rank : int
    use_metric_cuhk03 : bool
        One gallery image drawn from each identity, 10 times, after ``numpy.random.seed(0)``;
        ``convention="cuhk03-single-shot-function"`` gives the expectation.
    use_cython : bool
        Sums in float32, as its Cython form adds them, where torchreid is imported and has it.
    convention : str or Convention, optional
        Another rule than its own.

    Returns
    -------
    cmc : float32, shape (max_rank,)
        Shorter where the gallery is smaller, or, with `use_metric_cuhk03`, has fewer identities;
        the Cython form then has 0 there.
    mAP : float

    Raises
    ------
    NoMatch
        No query has a good image: also an AssertionError, as theirs.

    Examples
    --------
    >>> import numpy as np
    >>> cmc, mAP = evaluate_rank(
    ...     np.array([[.1, .2, .3]]), np.array([7]), np.array([7, 8, 7]), np.array([1]),
    ...     np.array([2, 2, 3]), max_rank=2)
    >>> cmc, round(float(mAP), 4)
    (array([1., 1.], dtype=float32), 0.8333)
    """
    sides = both_sides(q_pids, g_pids, q_camids, g_camids)
    cython = use_cython and has_cython(*_RANK)
    if use_metric_cuhk03:
        return single_gallery_shot(distmat, sides, max_rank, cython, convention)
    record = "torchreid-cython-function" if cython else "torchreid-function"
    cmc, mAP = answered(distmat, sides, convention or record, max_rank, "mAP")
    return cmc, float(mAP) if cython else mAP


def single_gallery_shot(distmat: Any, sides: tuple[Labels, Labels], max_rank: int, cython: bool,
                        convention: Choice) -> tuple[npt.NDArray[np.float32], float]:
    """Return what both toolboxes' CUHK03 metric returns."""
    record = CONVENTIONS["cuhk03-single-shot-draws-function"]
    if cython:
        record = record.replace(arithmetic="float32")
    cmc, mAP = answered(distmat, sides, convention or record, max_rank, "mAP")
    n_drawn = len(np.unique(sides[1].identity))
    if not cython:
        return cmc[:n_drawn], mAP
    cmc[n_drawn:] = 0
    return cmc, float(mAP)


def has_cython(*modules: str) -> bool:
    """Return whether a toolbox is imported and says that its Cython form is available."""
    return any(getattr(sys.modules.get(name), "IS_CYTHON_AVAI", False) for name in modules)
