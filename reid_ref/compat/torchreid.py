"""torchreid's evaluator (KaiyangZhou/deep-person-reid f8cd150, torchreid/metrics/rank.py)."""
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Array
from reid_ref.compat.common import Choice, answered, both_sides
from reid_ref.conventions import ARITHMETIC, CONVENTIONS, Convention
from reid_ref.labels import Labels, check_distances
from reid_ref.metrics import DRAWS, DistanceRows, single_gallery_shot_draws

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
        Sums in float32, as its Cython form adds them, if torchreid is imported and has it.
    convention : str or Convention, optional
        Another rule than its own.

    Returns
    -------
    cmc : float32, shape (max_rank,)
        Shorter if the gallery is smaller, or, with `use_metric_cuhk03`, has fewer identities;
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
    n_drawn = min(len(np.unique(sides[1].identity)), len(cmc))
    if convention is None:
        cmc[:n_drawn] = _curve_of_draws(check_distances(distmat, *sides), sides, record, n_drawn)
    if not cython:
        return cmc[:n_drawn], mAP
    cmc[n_drawn:] = 0
    return cmc, float(mAP)


def _curve_of_draws(distances: Array, sides: tuple[Labels, Labels],
                    record: Convention, length: int) -> npt.NDArray[np.float32]:
    """Return the CMC curve with the float32 additions of the toolbox, in its order.

    The Python form divides a query's number of hits by 10, the Cython form adds 0.1 for each; both
    then add query after query, and divide by the number of queries.
    """
    rows = DistanceRows(ARITHMETIC[record.arithmetic].distances(distances), *sides, record.ignored)
    curves = single_gallery_shot_draws(rows, length, np.random.RandomState(0))
    hits = np.rint(DRAWS * curves[~np.isnan(curves[:, 0])]).astype(np.int64)
    tenths = np.arange(DRAWS + 1, dtype=np.float32) / np.float32(DRAWS)
    if record.arithmetic == "float32":
        tenths = np.cumsum(np.append(tenths[0], np.full(DRAWS, tenths[1])))
    # A curve of one rank is one run of numbers, which numpy's sum, as the Python form has it,
    # adds in pairs.
    total = (tenths[hits].sum(axis=0) if record.arithmetic == "double" else
             np.cumsum(tenths[hits], axis=0)[-1])
    return np.asarray(total / np.float32(len(hits)))


def has_cython(*modules: str) -> bool:
    """Return whether a toolbox is imported and has its Cython form."""
    return any(getattr(sys.modules.get(name), "IS_CYTHON_AVAI", False) for name in modules)
