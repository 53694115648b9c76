"""IRRA's evaluator (anosorae/IRRA cfc2378, utils/metrics.py), and that of its copies."""
from typing import Any

import numpy as np

from reid_ref.arrays import InputError, as_array, as_labels, optional_module
from reid_ref.compat.common import Choice, NoMatch, evaluated
from reid_ref.conventions import CONVENTIONS
from reid_ref.labels import Labels

#: Step AP over all queries; nothing is ignored, and the curve ends with the gallery.
_PLAIN = CONVENTIONS["torchreid-function"].replace(
    name="irra", ignored=(), cmc_length="gallery", unmatched="zero")


def rank(similarity: Any, q_pids: Any, g_pids: Any, max_rank: int = 10, get_mAP: bool = True, *,
         convention: Choice = None) -> tuple[Any, ...]:
    """Return what IRRA's `rank` returns, as tensors, in percent.

    Parameters
    ----------
    similarity : Tensor or array_like, shape (n_query, n_gallery)
        Larger is nearer.
    q_pids, g_pids : Tensor or array_like of int
    max_rank : int
    get_mAP : bool
        False: CMC and the nearest images alone.
    convention : str or Convention, optional
        Another rule than its own for mAP and mINP.

    Returns
    -------
    all_cmc : float32 tensor, shape (max_rank,)
        Shorter if the gallery is smaller.
    mAP, mINP : float32 tensors
        With `get_mAP`: computed in double, where theirs are in float32.
    indices : int64 tensor, shape (n_query, n_gallery) or (n_query, max_rank)
        The gallery images of each query, nearest first; of equal ones in gallery order.

    Raises
    ------
    NoMatch
        A query without a good image, with `get_mAP`: also an IndexError, as theirs.
    InputError
        A gallery smaller than `max_rank`, without `get_mAP`.

    Examples
    --------
    >>> import torch
    >>> all_cmc, mAP, mINP, indices = rank(
    ...     torch.tensor([[.9, .8, .7]]), torch.tensor([7]), torch.tensor([8, 7, 7]), max_rank=2)
    >>> all_cmc.tolist(), round(mAP.item(), 2), round(mINP.item(), 2), indices.tolist()
    ([0.0, 100.0], 58.33, 66.67, [[0, 1, 2]])
    """
    torch = optional_module("irra.rank, which returns tensors", "torch")
    values = as_array(similarity, "similarity")
    if values.ndim != 2:
        raise InputError("similarity", "shape (n_query, n_gallery)", values.shape)
    query, gallery = (Labels(as_labels(identity, name), np.full(len(identity), camera))
                      for identity, name, camera in (
                          (q_pids, "q_pids", 1), (g_pids, "g_pids", 2)))
    distances = -(values if values.dtype.kind == "f" else values.astype(np.float64))
    if not get_mAP and max_rank > len(gallery):
        raise InputError("max_rank", f"at most {len(gallery)}, the gallery images", max_rank)
    unmatched = np.flatnonzero(~np.isin(query.identity, gallery.identity))
    if get_mAP and len(unmatched):
        raise NoMatch("q_pids, g_pids", "a gallery image of the identity of each query",
                      f"{len(unmatched):,} of {len(query):,} queries without one (first: "
                      f"{unmatched[0]})")
    result = evaluated(distances, (query, gallery), convention or _PLAIN)
    order = np.argsort(distances, axis=1, kind="stable")
    first = result.ranks.first_match
    hits = [np.count_nonzero((first > 0) & (first <= k))
            for k in range(1, min(max_rank, len(gallery)) + 1)]
    all_cmc = torch.tensor(hits, dtype=torch.float32) / len(query) * 100
    device = getattr(similarity, "device", None)
    if not get_mAP:
        return all_cmc, torch.from_numpy(order[:, :max_rank].copy()).to(device)
    means = (torch.tensor(100 * mean, dtype=torch.float32) for mean in (result.mAP, result.mINP))
    return all_cmc, *means, torch.from_numpy(order).to(device)
