"""A metric of torchmetrics whose numbers are those of `reid_ref.evaluate`.

torchmetrics' own RetrievalMAP knows no cameras: it cannot leave out the query's own camera.
"""
from typing import Any

from reid_ref.arrays import InputError, optional_module
from reid_ref.compat.common import class_of_module, keep
from reid_ref.conventions import Convention
from reid_ref.evaluation.batches import Evaluator

_STATES = ("features", "identity", "camera", "is_query", "index")


class _ReIDMetric:
    """mAP, mINP and Rank-k, as a metric of torchmetrics.

    Parameters
    ----------
    metric : {"euclidean", "cosine", "dot"}, optional
    normalize : bool, optional
    convention : str or Convention
        All three as in `reid_ref.evaluate`.
    ranks : tuple of int
        The points of the CMC curve that `compute` returns.
    **options
        Of torchmetrics' `Metric`.

    Notes
    -----
    Call `update`, not the metric itself: one batch alone has no number. Images of all processes
    are put together before `compute`, as torchmetrics does.
    """

    is_differentiable, higher_is_better, full_state_update = False, True, False

    def __init__(self, *, metric: str | None = None, normalize: bool | None = None,
                 convention: str | Convention = "matlab", ranks: tuple[int, ...] = (1, 5, 10),
                 **options: Any) -> None:
        start: Any = super().__init__
        start(**options)
        self.ranks = ranks
        self.settings: dict[str, Any] = {"metric": metric, "normalize": normalize,
                                         "convention": convention}
        Evaluator(**self.settings)  # refuses what is unknown now, not at the end of an epoch
        this: Any = self
        for name in _STATES:
            this.add_state(name, default=[], dist_reduce_fx="cat")

    def update(self, features: Any, identity: Any, camera: Any, is_query: Any,
               index: Any = None) -> None:
        """Take a batch: features (n, d), identities, cameras, and whether each is a query.

        `index` is the place of each image in its dataset, as in `Evaluator.update`: pass it if
        a sampler repeats images, with every batch.
        """
        torch = optional_module("tensors", "torch")
        n = len(features)
        device = features.device
        for name, batch in zip(_STATES, (
                features.detach(), torch.as_tensor(identity, device=device),
                torch.as_tensor(camera, device=device),
                torch.as_tensor(is_query, dtype=torch.bool, device=device).expand(n),
                None if index is None else torch.as_tensor(index, device=device))):
            if batch is not None:
                getattr(self, name).append(batch)

    def compute(self) -> dict[str, Any]:
        """Return mAP, mINP and Rank-k, in [0, 1], as float64 tensors by these names."""
        torch = optional_module("tensors", "torch")
        states = [getattr(self, name) for name in _STATES]
        if not len(states[0]):
            raise InputError("compute", "a call of update() before it", "no images")
        joined: list[Any] = [state if torch.is_tensor(state) else torch.cat(state) if state
                             else None for state in states]
        features, identity, camera, is_query, index = joined
        evaluator = Evaluator(**self.settings)
        evaluator.update(features, identity, camera, is_query=is_query, index=index)
        result = keep(evaluator.compute())
        numbers = {"mAP": result.mAP, "mINP": result.mINP,
                   **{f"Rank-{k}": result.rank(k) for k in self.ranks}}
        return {name: torch.tensor(value, dtype=torch.float64, device=features.device)
                for name, value in numbers.items()}


def __getattr__(name: str) -> Any:
    return class_of_module(__name__, name, {"ReIDMetric": _ReIDMetric}, "torchmetrics", "Metric")
