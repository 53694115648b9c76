"""Features or a matrix on a device as a `Source`, for `ranking.rank`.

Contents: `feature_sources`, `matrix_source`, `count_nan`, `or_in_main_memory`.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from reid_ref.arrays import Integers
from reid_ref.arrays.device import DeviceArray, to_device, to_numpy
from reid_ref.devices.counting import count_before
from reid_ref.devices.parts import Part, feature_part, matrix_part, squared_norms
from reid_ref.devices.pieces import is_out_of_memory
from reid_ref.devices.settings import full_precision
from reid_ref.ranking.counting import Counting, Goods, common
from reid_ref.ranking.exact_distances import bands_of_norms
from reid_ref.ranking.rank import Before, Source
from reid_ref.ranking.roles import Mask
from reid_ref.ranking.tiles import Array

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
