"""Features to distances and numbers where a toolbox's class does both: its arithmetic, in torch.

Contents: `squared_distances`, `cosine_distances`, `self_distances`, `Collected`.
"""
from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.compat.common import Choice
from reid_ref.reranking.k_reciprocal import rerank

Array = npt.NDArray[Any]


def squared_distances(query: Any, gallery: Any) -> Array:
    """Squared Euclidean distances of two tensors: q.q + g.g - 2 q.g, added in this order."""
    torch = import_module("torch")
    shape = len(query), len(gallery)
    with torch.no_grad():
        distances = (torch.pow(query, 2).sum(dim=1, keepdim=True).expand(shape)
                     + torch.pow(gallery, 2).sum(dim=1, keepdim=True).expand(shape[::-1]).t())
        distances.addmm_(query, gallery.t(), beta=1, alpha=-2)
        return np.asarray(distances.cpu())


def cosine_distances(query: Any, gallery: Any) -> Array:
    """1 - cosine of two tensors."""
    torch = import_module("torch")
    with torch.no_grad():
        query, gallery = (torch.nn.functional.normalize(one, p=2, dim=1)
                          for one in (query, gallery))
        return np.asarray((1 - torch.mm(query, gallery.t())).cpu())


class Collected:
    """Features and labels of all batches, as the metrics of the strong-baseline line keep them.

    `normalized`: the value of `feat_norm` that asks for unit features. `k1`, `k2`: re-ranking
    with these and lambda 0.3; none where they are 0.
    """

    normalized: Any = True
    k1, k2 = 0, 0

    def __init__(self, num_query: int, max_rank: int = 50, feat_norm: Any = True, *,
                 convention: Choice = None) -> None:
        super().__init__()
        self.num_query, self.max_rank, self.feat_norm = num_query, max_rank, feat_norm
        self.convention = convention
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
        torch = import_module("torch")
        features = torch.cat(self.feats, dim=0)
        if self.feat_norm == self.normalized:
            features = torch.nn.functional.normalize(features, dim=1, p=2)
        return features[:self.num_query], features[self.num_query:]

    def five(self, query: Any, gallery: Any) -> tuple[Array, Array, Array, Array, Array]:
        """Return distances and labels, as an `eval_func` takes them."""
        if self.k1:
            distances: Array = rerank(query, gallery, self.k1, self.k2, 0.3, "strong-baseline",
                                      normalize=False)
        else:
            distances = squared_distances(query, gallery)
        n, pids, camids = self.num_query, np.asarray(self.pids), np.asarray(self.camids)
        return distances, pids[:n], pids[n:], camids[:n], camids[n:]
