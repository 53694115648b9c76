"""Features or a matrix on a device as a `Source`, for `ranking.rank`.

Products are in full precision: a library's settings that would reduce it are off for a while.

The bound of the error of a product holds for float32. TensorFloat-32 and bfloat16 products, which
torch allows by a setting of the process or by autocast, exceed it.
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from reid_ref.arrays import Integers
from reid_ref.arrays.device import DeviceArray, to_device, to_numpy
from reid_ref.ranking.counting import Counting, Goods, common
from reid_ref.ranking.device_counting import count_before
from reid_ref.ranking.device_parts import (
    Part, feature_part, is_out_of_memory, matrix_part, squared_norms)
from reid_ref.ranking.exact_distances import bands_of_norms
from reid_ref.ranking.rank import Before, Source
from reid_ref.ranking.roles import Mask
from reid_ref.ranking.tiles import Array

#: What torch calls a precision that leaves float32 as it is; "none": nothing is set anywhere.
_FULL = ("ieee", "none")

#: Of two threads, the first to finish would restore what the other still needs.
_ALONE = threading.RLock()


@contextmanager
def full_precision(array: DeviceArray) -> Iterator[None]:
    """Multiply float32 in float32 within this context; restore the settings behind it.

    torch's settings are those of the whole process: float32 products of other threads are in full
    precision meanwhile, too, and one thread at a time is in this context. Numbers that divide by
    zero or overflow give no warning, as on an accelerator.
    """
    with ExitStack() as stack:
        stack.enter_context(_ALONE)
        stack.enter_context(np.errstate(all="ignore"))
        if type(array.array).__module__.split(".")[0] == "torch":
            import torch

            stack.enter_context(torch.no_grad())
            stack.enter_context(torch.autocast(array.device.type, enabled=False))
            stack.enter_context(_torch_in_float32(torch))
        yield


@contextmanager
def _torch_in_float32(torch: Any) -> Iterator[None]:
    """Set both of torch's settings, which it refuses to read if they contradict each other."""
    older = _older_setting(torch)
    newer = [(one, one.fp32_precision) for one in (
        torch.backends.cuda.matmul, torch.backends.mkldnn.matmul) if hasattr(one, "fp32_precision")
        and one.fp32_precision not in _FULL]
    try:
        if older != "highest":
            torch.set_float32_matmul_precision("highest")
        for one, _ in newer:
            one.fp32_precision = "ieee"
        yield
    finally:
        if older != "highest":
            torch.set_float32_matmul_precision(older)
        for one, precision in newer:
            one.fp32_precision = precision


def _older_setting(torch: Any) -> str:
    """Return the setting of all products, the only one before torch 2.9."""
    try:
        precision: str = torch.get_float32_matmul_precision()
    except RuntimeError:  # it was never changed, and the newer one contradicts it
        return "highest"
    return precision


Done = Callable[[float], object] | None
_Answer = TypeVar("_Answer")


def feature_sources(query: DeviceArray, gallery: DeviceArray, metric: str,
                    normalize: bool) -> Callable[[Any, Done], Source]:
    """Return a function of the precision of products: the source of features on one device.

    NaN, Inf and zeros in features are refused and warned of here, as in main memory.
    """
    scaling = "normalized" if normalize or metric == "cosine" else metric
    with full_precision(query):
        squared = squared_norms(query, gallery, scaling == "normalized")

    bands: list[Mask | None] = [None]
    if scaling != "normalized":
        bands = bands_of_norms(np.sqrt(squared[1]))

    def source(precision: Any, done: Done) -> Source:
        parts = [feature_part(query, gallery, *squared, scaling, columns, precision)
                 for columns in bands]
        return _source(parts, bands, len(query), done)
    return source


def matrix_source(distances: DeviceArray, done: Done = None) -> Source:
    """Return the source of a distance matrix on a device."""
    return _source([matrix_part(distances)], [None], len(distances), done)


def count_nan(distances: DeviceArray) -> int:
    """Return the number of NaN in a distance matrix."""
    if distances.dtype.kind != "f":
        return 0
    return int(distances.xp.count_nonzero(distances.xp.isnan(distances.array)))


def or_in_main_memory(work: Callable[..., _Answer], *arrays: Any) -> _Answer:
    """Return the work on these arrays; where a device's memory is full, on copies elsewhere."""
    try:
        return work(*arrays)
    except Exception as error:
        if not (isinstance(arrays[0], DeviceArray) and is_out_of_memory(error)):
            raise
    return work(*map(to_numpy, arrays))


def _source(parts: list[Part], bands: list[Mask | None], n_query: int, done: Done) -> Source:
    """Return the source of a gallery whose images are in bands, each with the bounds of a part."""
    part = parts[0]

    def measure(query: Integers, image: Integers) -> Array:
        with full_precision(part.like):
            pairs = (to_device(part.like.xp, one, part.like.device) for one in (query, image))
            return to_numpy(part.exact(*pairs))

    def count(goods: Goods, groups: dict[str, Counting]) -> dict[str, Before]:
        with full_precision(part.like):
            return {name: of_group(goods, counting, 1 / len(groups))
                    for name, counting in groups.items()}

    def of_group(goods: Goods, counting: Counting, share: float) -> Before:
        before = np.zeros((3, len(goods.query)), dtype=np.int64)
        images = [common(counting.columns, columns) for columns in bands]
        number = [part.n_gallery if one is None else np.count_nonzero(one) for one in images]
        for one, columns, counted in zip(parts, images, number):
            if counted:
                part_of = share * counted / sum(number)
                tell = None if done is None else partial(_tell, done, part_of)
                before += count_before(one, goods, n_query, replace(counting, columns=columns),
                                       tell)
        return before

    return Source(measure, count)


def _tell(done: Callable[[float], object], share: float, done_of_it: float) -> None:
    done(share * done_of_it)
