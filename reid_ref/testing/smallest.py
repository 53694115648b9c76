"""The smallest problem that shows a failure: rows are left out as long as it is still there."""
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np

from reid_ref.conventions import Convention
from reid_ref.foreign.arguments import Form
from reid_ref.foreign.arrays import Arrays
from reid_ref.labels import Labels
from reid_ref.ranking.roles import columns_of, query_roles
from reid_ref.rules.numbers import result_of

#: Seconds that looking for a smaller problem may take.
_SECONDS = 3.0


def smallest(whole: Arrays, fails: Callable[[Arrays], bool],
             square: bool = False) -> tuple[Arrays, bool]:
    """Return a problem from which no row can be left out without losing the failure.

    And whether it is one: there was time to look, and some of the rows could be left out.

    `fails`: whether a problem shows it. One set (`square`) loses the same rows of both sides.
    """
    arrays, end = whole, monotonic() + _SECONDS
    if len(arrays.query) == len(arrays.gallery):
        arrays = _reduced(
            arrays, len(arrays.query), lambda a, kept: a.take(kept, kept), fails, end)
    if not square:
        for k in range(min(len(arrays.query), 20)):
            if monotonic() < end and fails(arrays.take(slice(k, k + 1))):
                arrays = arrays.take(slice(k, k + 1))
                break
        arrays = _reduced(arrays, len(arrays.query), lambda a, kept: a.take(kept), fails, end)
        arrays = _reduced(arrays, len(arrays.gallery), lambda a, kept: a.take(slice(None), kept),
                          fails, end)
    for made in _simplified(arrays, square):
        if monotonic() < end and fails(made):
            arrays = made
    return arrays, arrays is not whole and monotonic() < end


def _reduced(arrays: Arrays, n: int, take: Callable[[Arrays, Any], Arrays],
             fails: Callable[[Arrays], bool], end: float) -> Arrays:
    """Take as few of the first rows as will do, then leave out ever smaller parts of them."""
    most, few = n, 0
    while most - few > 1 and monotonic() < end:
        middle = (few + most) // 2
        few, most = (few, middle) if fails(take(arrays, np.arange(middle))) else (middle, most)
    kept, size = np.arange(most), max(most // 2, 1)
    while len(kept) > 1:
        before = len(kept)
        for start in range(0, len(kept), size):
            if monotonic() > end:
                return take(arrays, kept)
            fewer = np.delete(kept, slice(start, start + size))
            if len(fewer) and len(fewer) < len(kept) and fails(take(arrays, fewer)):
                kept = fewer
        if size == 1 and len(kept) == before:
            break
        size = max(size // 2, 1)
    return take(arrays, kept) if len(kept) < n else arrays


def _simplified(arrays: Arrays, square: bool) -> Iterator[Arrays]:
    """Yield the problem with small numbers: distances, then labels as well."""
    order = np.argsort(arrays.distances, axis=None, kind="stable")
    _, ranks = np.unique(arrays.distances, return_inverse=True)
    if len(order) <= 30:
        arrays = replace(arrays, distances=(ranks.reshape(arrays.distances.shape) + 1) / 10,
                         features=None)
        yield arrays
    sides = [dict(labels.columns()) for labels in (arrays.query, arrays.gallery)]
    for column in {"identity", "camera"} & {*sides[0]} & {*sides[1]}:
        both = np.concatenate([side[column] for side in sides])
        small = np.unique(both[both > 0])
        for side in sides:
            values = side[column]
            side[column] = np.where(values > 0, np.searchsorted(small, values) + 1, values)
    query, gallery = (Labels(**side) for side in sides)
    yield replace(arrays, query=query, gallery=query if square else gallery)


# ------------------------------------------------------------------ as text
def as_code(arrays: Arrays, convention: Convention, form: Form = Form()) -> list[str]:
    """Return a problem as lines of Python to paste, in the form that it is handed over."""
    columns = ["identity", *sorted((columns_of(convention.not_ranked) | {"camera"}) - {
        "identity", "name"})]
    names = {"identity": "pids", "camera": "camids"}
    dtype = arrays.distances.dtype
    dtype_text = f", np.{dtype}" if dtype not in (np.float64, np.int64) else ""
    values = re.sub("inf|nan", r"np.\g<0>", f"{arrays.distances.tolist()}")
    matrix = form.expression("distances").format(f"np.array({values}{dtype_text})")
    lines = [f"distmat = {matrix}"]
    for column in columns:
        sides = [getattr(labels, column) for labels in (arrays.query, arrays.gallery)]
        if all(values is not None for values in sides):
            name = names.get(column, column)
            lines.append(f"q_{name}, g_{name} = " + ", ".join(
                form.expression("q").format(f"np.array({side.tolist()})") for side in sides))
    return lines


def by_hand(arrays: Arrays, convention: Convention) -> list[str]:
    """Return the ranked list of each query, image by image, and its AP."""
    roles = query_roles(arrays.query, arrays.gallery, convention.not_ranked)
    result, = result_of(arrays, convention)
    ap, lines = result.of_query("mAP"), list[str]()
    for k in range(len(arrays.query)):
        lines += _walk(arrays, k, *roles(k))
        counted = convention.counted(ap[k:k + 1], result.per_query.n_good[k:k + 1])
        lines.append(f"  AP of query {k}: {float([*counted, np.nan][0])!r}")
    rank = f", Rank-1 {float(result.cmc[0])!r}" if len(result.cmc) else ""
    return [*lines, f"  mAP {result.mAP!r}{rank}"]


def _walk(arrays: Arrays, query: int, good: Any, kept: Any) -> Iterator[str]:
    identity, rank, hits = arrays.gallery.identity, 0, 0
    for image in np.argsort(arrays.distances[query], kind="stable").tolist():
        camera = arrays.gallery.camera_of(image)
        what = f"image {image}, identity {identity[image]}" + (
            "" if camera is None else f", camera {camera}")
        if not kept[image]:
            yield f"     {what}: ignored"
            continue
        rank += 1
        hits += image in good
        role = f"good, precision {hits}/{rank}" if image in good else "wrong"
        yield f"  {rank:>2}. {what}: {role}"
