"""What the modules of this room share: arrays in, one evaluation, its numbers in their types."""
from __future__ import annotations

import numbers
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, as_integers, check_same_length, warn
from reid_ref.conventions import Convention, find_convention
from reid_ref.evaluation.functions import evaluate_distances
from reid_ref.labels import IndexLists, Labels
from reid_ref.reranking.k_reciprocal import rerank
from reid_ref.result import Result

#: What a caller may hand as `convention=`; None is the toolbox's own.
Choice = str | Convention | None


class Refused(InputError, AssertionError):
    """Input that the toolbox refuses by `assert`: code that catches its error catches this."""


class NoMatch(Refused, RuntimeError, ZeroDivisionError):
    """No query has a good image; the toolboxes raise an error of one of these three kinds."""


_LAST: list[Result] = []


def last_result() -> Result:
    """Return the whole `Result` of the last call of a function or class of this room.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        Nothing was evaluated yet.

    Examples
    --------
    >>> import numpy as np
    >>> from reid_ref.compat import last_result, torchreid
    >>> cmc, mAP = torchreid.evaluate_rank(
    ...     np.array([[.2, .1, .3]]), np.array([7]), np.array([7, 8, 7]), np.array([1]),
    ...     np.array([2, 2, 3]), max_rank=3)
    >>> cmc, round(float(mAP), 4), last_result().per_query.status.tolist()
    (array([0., 1., 1.], dtype=float32), 0.5833, ['ok'])
    """
    if not _LAST:
        raise InputError("last_result: expected a call of an evaluator of reid_ref.compat "
                         "before it, got none")
    return _LAST[0]


def keep(result: Result) -> Result:
    """Let `last_result` return this one."""
    _LAST[:] = [result]
    return result


def labels(pids: Any, camids: Any, side: str) -> Labels:
    """Return the labels of one side, `q` or `g`, by the names that the toolboxes give them."""
    identity, camera = (as_integers(value, f"{side}_{name}") for value, name in (
        (pids, "pids"), (camids, "camids")))
    check_same_length(len(identity), len(camera))
    return Labels(identity, camera)


def evaluated(distmat: Any, query: Labels, gallery: Labels, convention: str | Convention,
              max_rank: int | None = None, lists: IndexLists | None = None) -> Result:
    """Evaluate and remember; the CMC curve of a convention that ends at a rank ends at theirs."""
    record = find_convention(convention)
    if max_rank is not None:
        if not isinstance(max_rank, numbers.Integral) or max_rank is True or max_rank < 1:
            raise InputError(f"max_rank: expected a whole number from 1, got {max_rank!r}")
        if not isinstance(record.cmc_length, str):
            record = record.replace(name=record.name, cmc_length=int(max_rank))
    result = keep(evaluate_distances(distmat, query, gallery, convention=record, lists=lists))
    if max_rank is not None and max_rank > len(gallery):
        warn(f"max_rank: expected at most {len(gallery)}, the number of gallery images, got "
             f"{max_rank}; the CMC curve ends with the gallery")
    return result


def matched(result: Result) -> Result:
    """Return the result, or refuse it as the toolboxes do where no query has a good image."""
    if not result.counts.status["ok"]:
        statuses = ", ".join(f"{count} {name}" for name, count in result.counts.status.items()
                             if count)
        raise NoMatch("q_pids, g_pids: expected a query with a good gallery image, got "
                      f"{len(result.per_query.status)} queries, all without ({statuses}); check "
                      "that identities and cameras are numbered alike on both sides")
    return result


def of_valid(result: Result, values: Doubles) -> Doubles:
    """Return the values of the queries with a good image, as the toolboxes list them."""
    valid: Doubles = values[result.per_query.status == "ok"]
    return valid


def float32_curve(result: Result, max_rank: int) -> npt.NDArray[np.float32]:
    """Return the CMC curve as most toolboxes do."""
    return result.cmc[:max_rank].astype(np.float32)


def class_over(own: type, name: str, module: str, base: str,
               otherwise: type | None = None) -> type:
    """Return the class `own` as a subclass of a toolbox's, which it comes before.

    `otherwise` is the base where the toolbox is not installed; without it that is an ImportError.
    """
    try:
        theirs = getattr(import_module(module), base)
    except ImportError:
        if otherwise is None:
            raise
        theirs = otherwise
    return type(name, (own, theirs), {"__doc__": own.__doc__, "__module__": own.__module__})


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
