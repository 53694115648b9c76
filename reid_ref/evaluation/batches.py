"""Evaluation of batches, as in a validation loop, in one process or in several.

Features are kept, and joined once, so the result is that of `evaluate` on the whole arrays, bit
for bit, whatever the batches.
"""
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Generic, cast, overload

import numpy as np

from reid_ref.arrays import (
    Array, InputError, Integers, as_array, as_integers, as_labels, check_choice, check_same_length,
    errors_at)
from reid_ref.conventions import METRICS, Convention, find_conventions
from reid_ref.evaluation.how import Progress
from reid_ref.evaluation.functions import evaluate
from reid_ref.labels import Labels, QueryLists
from reid_ref.result import Result

#: What `Evaluator.compute` returns; that of typing has no default before Python 3.13.
if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Computed = TypeVar("Computed", default=Result)
else:
    from typing import TypeVar

    Computed = TypeVar("Computed")

#: What `Evaluator.state` returns.
State = dict[str, Array]

SIDES = ("query", "gallery")
SETTINGS = ("metric", "normalize", "convention")


@dataclass(frozen=True)
class _Batch:
    """Checked images of one side; its arrays are never written to."""

    features: Array
    labels: Labels
    index: Integers | None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, chosen: Array) -> _Batch:
        """Return a copy of the images under a mask, or at an array of indices."""
        return _Batch(self.features[chosen], self.labels[chosen],
                      None if self.index is None else self.index[chosen])


class Evaluator(Generic[Computed]):
    """Collect batches of features and labels; evaluate them at the end.

    Parameters
    ----------
    Other parameters: see `reid_ref.evaluate`.

    Raises
    ------
    InputError
        An unknown name.

    Notes
    -----
    Without ``index``, images keep the order of the batches, and after a merge that of the merged
    evaluators. The order of the gallery matters only for images at equal distance.

    A sampler that divides a dataset among several processes (torch's ``DistributedSampler``)
    repeats some images, so that all processes get the same number; these would count twice. Pass
    ``index``, the position of each image in its dataset: repeated images are left out, and images
    are in the order of the dataset, whatever the number of processes.

    With several processes, each of which has an evaluator with the same settings
    (``torch.distributed`` as ``dist``)::

        states = [None] * dist.get_world_size()
        dist.all_gather_object(states, evaluator.state())
        result = Evaluator.from_states(states).compute()

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> identity, camera = np.arange(12) % 4, np.arange(12) // 4
    >>> features = np.eye(4)[identity] + 0.8 * rng.standard_normal((12, 4))
    >>> evaluator = Evaluator()
    >>> evaluator.update(features[:4], identity[:4], camera[:4], is_query=True)
    >>> for k in (4, 7, 10):
    ...     batch = slice(k, k + 3)
    ...     evaluator.update(features[batch], identity[batch], camera[batch], is_query=False)
    >>> evaluator
    Evaluator(4 query, 8 gallery; convention matlab)
    >>> result = evaluator.compute()
    >>> round(result.mAP, 4), float(result.cmc[0])
    (0.5396, 0.5)
    """

    @overload
    def __init__(self: Evaluator[Result], *, metric: str | None = None,
                 normalize: bool | None = None, convention: str | Convention = ...) -> None: ...

    @overload
    def __init__(self: Evaluator[dict[str, Result]], *, metric: str | None = None,
                 normalize: bool | None = None,
                 convention: Iterable[str | Convention]) -> None: ...

    def __init__(self, *, metric: str | None = None, normalize: bool | None = None,
                 convention: str | Convention | Iterable[str | Convention] = "matlab") -> None:
        if metric is not None:
            check_choice(metric, "metric", METRICS)
        self.metric = metric
        self.normalize = None if normalize is None else bool(normalize)
        conventions = tuple(find_conventions(convention))
        self.convention: Convention | tuple[Convention, ...] = (
            conventions[0] if isinstance(convention, (str, Convention)) else conventions)
        self._batches: dict[str, list[_Batch]] = {side: [] for side in SIDES}

    def __repr__(self) -> str:
        counts = ", ".join(f"{sum(map(len, batches)):,} {side}"
                           for side, batches in self._batches.items())
        return f"Evaluator({counts}; convention {_names(self.convention)})"

    def update(self, features: Any, identity: Any, camera: Any = None, *, is_query: Any,
               index: Any = None) -> None:
        """Add a batch of images, of any size; it is copied.

        Parameters
        ----------
        features : array_like, shape (n, d)
            One row per image: an array, a tensor, a nested list. Kept in its dtype and in
            main memory; `compute` joins the batches of a side as ``numpy.concatenate`` does.
        identity : array_like, shape (n,)
        camera : array_like, shape (n,), optional
            Pass it with every batch or with none.
        is_query : bool, or array_like of bool, shape (n,)
            Whether the images are queries (True) or gallery (False).
        index : array_like of int, shape (n,), optional
            Position of each image in its dataset. Of several queries with one index only the
            first counts, without a warning; the same holds for the gallery. Queries and gallery
            may be two datasets, both numbered from 0. Pass it with every batch or with none.

        Raises
        ------
        InputError
            Lengths that differ, labels that are not whole numbers, another dimension than
            earlier batches, an index where earlier batches had none. The batch is not added then.
        """
        batch = _checked_batch(features, identity, camera, index)
        mask = as_array(is_query, "is_query")
        if mask.dtype != np.bool_ or mask.shape not in ((), (len(batch),)):
            raise InputError("is_query", f"True, False or {len(batch)} booleans, one for each "
                             "identity", f"dtype {mask.dtype}, shape {mask.shape}",
                             "a comparison makes a mask, e.g. numbers == 1")
        chosen = np.full(len(batch), mask)
        self._add({"query": [batch.take(chosen)], "gallery": [batch.take(~chosen)]}, "")

    def compute(self, *, lists: QueryLists | None = None, max_memory: int | str | None = None,
                progress: Progress | None = None, threads: int | None = None) -> Computed:
        """Evaluate all images added so far; more may be added afterwards.

        Parameters
        ----------
        lists : IndexLists or Candidates, optional
            As for `reid_ref.evaluate`, in the order of images that the notes of the class
            describe.

        Other parameters: see `reid_ref.evaluate`.

        Returns
        -------
        Result, or dict of str to Result
            The same as those of `evaluate` on the joined batches.

        Raises
        ------
        InputError
            No images, no query, no gallery, images that share an index but not their labels,
            and whatever `evaluate` refuses.
        """
        settings: dict[str, Any] = {name: getattr(self, name) for name in SETTINGS}
        return cast(Computed, evaluate(
            *self.data(), lists=lists, max_memory=max_memory, progress=progress, threads=threads,
            **settings))

    def data(self) -> tuple[Any, Any, Labels, Labels]:
        """Return features and labels of query and gallery, as `evaluate_protocol` takes them.

        Raises
        ------
        InputError
            No images, or images that share an index but not their labels.

        Examples
        --------
        >>> evaluator = Evaluator()
        >>> evaluator.update([[1, 0], [0, 1]], [7, 8], [3, 3], is_query=True)
        >>> evaluator.update([[1, 0], [0, 1]], [7, 8], [1, 1], is_query=False)
        >>> query_features, gallery_features, query, gallery = evaluator.data()
        >>> gallery_features.shape, query.identity
        ((2, 2), array([7, 8]))
        """
        if not any(self._batches.values()):
            raise InputError("evaluator", "images", "none", "call update() before compute()")
        (query_features, query), (gallery_features, gallery) = map(self._side, SIDES)
        return query_features, gallery_features, query, gallery

    def reset(self) -> None:
        """Remove all images; the settings are kept."""
        self._batches = {side: [] for side in SIDES}

    def merge(self, other: Evaluator[Computed]) -> None:
        """Add the images of another evaluator, after its own.

        Raises
        ------
        InputError
            Different settings, or batches that do not fit together. Nothing is added then.
        """
        self._merge(other, "other: ")

    def state(self) -> State:
        """Return all images and settings as plain arrays, to send or save.

        They can be pickled; ``numpy.savez(path, **evaluator.state())`` saves them without pickle.

        Returns
        -------
        dict of str to array
            ``settings`` (JSON), and for the queries ``query_features``, ``query_identity`` and, if
            they were passed, ``query_camera`` and ``query_index``; the same for the gallery.
        """
        settings = {name: getattr(self, name) for name in SETTINGS}
        state: State = {"settings": np.array(json.dumps(settings, default=_as_json))}
        for side, batches in self._batches.items():
            whole = _joined(batches)
            state[f"{side}_features"] = whole.features
            # Copies, because torch warns of read-only arrays.
            state[f"{side}_identity"] = whole.labels.identity.copy()
            if whole.labels.camera is not None:
                state[f"{side}_camera"] = whole.labels.camera.copy()
            if whole.index is not None:
                state[f"{side}_index"] = whole.index
        return state

    @classmethod
    def from_states(cls, states: Iterable[Mapping[str, Any]]) -> Evaluator[Any]:
        """Return an evaluator that holds the images of several states, in the order given.

        Parameters
        ----------
        states : iterable of mappings
            What `state` returned, in this process or another, or ``numpy.load`` of it. The arrays
            are not copied. A state may be without images.

        Returns
        -------
        Evaluator
            With the settings of the states.

        Raises
        ------
        InputError
            No state, something else than a state, different settings, or batches that do not fit
            together.

        Examples
        --------
        >>> first, second = Evaluator(metric="cosine"), Evaluator(metric="cosine")
        >>> first.update([[1., 0.]], [7], [1], is_query=True)
        >>> second.update([[1., 1.], [2., .1]], [8, 7], [2, 2], is_query=False)
        >>> Evaluator.from_states([first.state(), second.state()]).compute().mAP
        1.0
        """
        evaluators = [cls._from_state(state, f"states[{k}]") for k, state in enumerate(states)]
        if not evaluators:
            raise InputError("states", "at least one state", "none")
        for k, evaluator in enumerate(evaluators[1:], 1):
            evaluators[0]._merge(evaluator, f"states[{k}]: ")
        return evaluators[0]

    @classmethod
    def _from_state(cls, state: Mapping[str, Any], name: str) -> Evaluator[Any]:
        try:
            settings = json.loads(str(state["settings"]))
            records = settings["convention"]
            convention = (tuple(Convention(**record) for record in records)
                          if isinstance(records, list) else Convention(**records))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(name, "what Evaluator.state() returns", f"{error!r}", "send states "
                             "between equal versions of reid-ref") from None
        evaluator = cls(metric=settings["metric"], normalize=settings["normalize"],
                        convention=convention)
        with errors_at(name):
            evaluator._add({side: [_checked_batch(
                state[f"{side}_features"], state[f"{side}_identity"],
                *(state[f"{side}_{column}"] if f"{side}_{column}" in state else None
                  for column in ("camera", "index")))]
                for side in SIDES}, "")
        return evaluator

    def _merge(self, other: Evaluator[Computed], where: str) -> None:
        for name in SETTINGS:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                if name == "convention":
                    mine, theirs = _unlike(mine, theirs)
                raise InputError(where.removesuffix(": "), f"the same settings, {name} {mine!r}",
                                 repr(theirs), "make all evaluators alike")
        self._add(other._batches, where)

    def _add(self, batches: Mapping[str, list[_Batch]], where: str) -> None:
        """Add batches that fit those before; empty ones are left out."""
        added = {side: [batch for batch in batches[side] if len(batch)] for side in SIDES}
        earlier = self._batches["query"] or self._batches["gallery"]
        new = added["query"] + added["gallery"]
        for batch in new:
            first = (earlier or new)[0]
            dimension, expected = batch.features.shape[1], first.features.shape[1]
            if dimension != expected:
                raise InputError(
                    f"{where}features", f"{expected} dimensions, as in earlier batches", dimension,
                    "all must come from the same model (reset() starts anew)")
            for name, value, before in (("index", batch.index, first.index),
                                        ("camera", batch.labels.camera, first.labels.camera)):
                if (value is None) != (before is None):
                    have = ("got none, where earlier batches had one" if value is None else
                            "got one, where earlier batches had none")
                    raise InputError(
                        f"{where}{name}", got=have, remedy="pass it with every batch or with none")
        for side in SIDES:
            self._batches[side] += added[side]

    def _side(self, side: str) -> tuple[Array, Labels]:
        """Return the joined features and labels of a side, in the order of index if any."""
        if not self._batches[side]:
            other, = set(SIDES) - {side}
            raise InputError("evaluator", f"{side} images", "none beside "
                             f"{sum(map(len, self._batches[other]))} {other} images",
                             f"add them by update(..., is_query={side == 'query'})")
        whole = _joined(self._batches[side])
        if whole.index is not None:
            whole = whole.take(_first_of_each(whole.index, whole.labels, side))
        return whole.features, whole.labels


def _as_json(value: Any) -> Any:
    """Return a convention as a dict, and a number of numpy as that of Python."""
    return asdict(value) if isinstance(value, Convention) else int(value)


def _names(convention: Convention | tuple[Convention, ...]) -> str:
    return ", ".join(record.name for record in find_conventions(convention))


def _unlike(*sides: Convention | tuple[Convention, ...]) -> tuple[str, ...]:
    """Return the names of conventions, or what differs where the names are the same."""
    names = tuple(map(_names, sides))
    records = [[asdict(record) for record in find_conventions(side)] for side in sides]
    return names if len({*names}) > 1 else tuple(", ".join(
        f"{name}={value!r}" for mine, theirs in zip(own, other) for name, value in mine.items()
        if value != theirs[name]) for own, other in (records, records[::-1]))


def _checked_batch(features: Any, identity: Any, camera: Any, index: Any) -> _Batch:
    """Return the batch, checked; its features may share memory with the argument."""
    array = as_array(features, "features")
    identity = as_labels(identity, "identity")
    if camera is not None:
        camera = as_labels(camera, "camera")
        check_same_length(len(identity), len(camera), n_images=array.shape[:1])
    labels = Labels(identity, camera)
    n = len(labels)
    if array.ndim != 2 or len(array) != n:
        raise InputError(
            "features", f"shape ({n}, d), one row for each identity", array.shape,
            "a single image is a row: features[None]" if n == 1 and array.ndim == 1 else "")
    if array.dtype.kind not in "fiub":
        raise InputError("features", "real numbers", f"dtype {array.dtype}")
    numbers = None if index is None else as_integers(index, "index")
    if numbers is not None and len(numbers) != n:
        raise InputError("index", f"{n} entries, one for each identity", len(numbers))
    return _Batch(array, labels, numbers)


def _joined(batches: list[_Batch]) -> _Batch:
    """Join batches, which all have an index or none."""
    if not batches:
        none = np.zeros(0, np.int64)
        return _Batch(np.zeros((0, 0)), Labels(none, none), None)
    camera = [batch.labels.camera for batch in batches if batch.labels.camera is not None]
    index = [batch.index for batch in batches if batch.index is not None]
    return _Batch(
        np.concatenate([batch.features for batch in batches]),
        Labels(np.concatenate([batch.labels.identity for batch in batches]),
               np.concatenate(camera) if camera else None),
        np.concatenate(index) if index else None)


def _first_of_each(index: Integers, labels: Labels, side: str) -> Integers:
    """Return the position of the first image of each index, in the order of index."""
    _, first, number = np.unique(index, return_index=True, return_inverse=True)
    same = first[number]
    differ = np.flatnonzero(np.any([column != column[same] for column in (
        labels.identity, labels.camera) if column is not None], axis=0))
    if differ.size:
        named = [f"identity {labels.identity[k]}" + (
            "" if labels.camera is None else f" on camera {labels.camera[k]}")
            for k in (same[differ[0]], differ[0])]
        raise InputError(
            "index", got=f"two {side} images share index {index[differ[0]]} but not their labels: "
            f"{', and '.join(named)}", remedy="pass the position in the dataset, not in the batch")
    return first
