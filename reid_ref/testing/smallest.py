"""The smallest problem that shows a failure: rows are left out as long as it is still there."""
import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from time import monotonic
from typing import Any

import numpy as np

from reid_ref.conventions import Convention
from reid_ref.evaluation.rank_lists import ranked_list
from reid_ref.foreign.arguments import Form
from reid_ref.foreign.arrays import Arrays
from reid_ref.ranking.roles import columns_of
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

    def shows(made: Arrays) -> bool:
        return monotonic() < end and fails(made)
    if len(arrays.query) == len(arrays.gallery):
        arrays = _reduced(arrays, len(arrays.query), lambda a, kept: a.take(kept, kept), shows,
                          end)
    if not square:
        alone = (arrays.take(slice(k, k + 1)) for k in range(min(len(arrays.query), 20)))
        arrays = next(filter(shows, alone), arrays)
        arrays = _reduced(arrays, len(arrays.query), lambda a, kept: a.take(kept), shows, end)
        arrays = _reduced(arrays, len(arrays.gallery), lambda a, kept: a.take(slice(None), kept),
                          shows, end)
    _, ranks = np.unique(arrays.distances, return_inverse=True)
    plain = replace(arrays, distances=(ranks.reshape(arrays.distances.shape) + 1) / 10,
                    features=None)
    if ranks.size <= 30 and shows(plain):
        arrays = plain
    return arrays, arrays is not whole and monotonic() < end


def _reduced(arrays: Arrays, n: int, take: Callable[[Arrays, Any], Arrays],
             shows: Callable[[Arrays], bool], end: float) -> Arrays:
    """Take as few of the first rows as will do, then leave out ever smaller parts of them."""
    few = bisect_left(range(1, n), True, key=lambda k: shows(take(arrays, np.arange(k)))) + 1
    kept, size = np.arange(few), few // 2
    while size and monotonic() < end:
        before = len(kept)
        for start in takewhile(lambda _: monotonic() < end, range(0, before, size)):
            fewer = np.delete(kept, slice(start, start + size))
            if 0 < len(fewer) < len(kept) and shows(take(arrays, fewer)):
                kept = fewer
        size = size // 2 if size > 1 else int(len(kept) < before)  # again, if it was of any use
    return take(arrays, kept) if len(kept) < n else arrays


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
    result, = result_of(arrays, convention)
    ap, lines = result.of_query("mAP"), list[str]()
    for k, row in enumerate(arrays.distances):
        hits = 0
        for image in ranked_list(row, arrays.query[k:k + 1], arrays.gallery, [convention],
                                 around=len(row)):
            camera = "" if image.camera is None else f", camera {image.camera}"
            rank, = image.ranks
            hits += image.role == "good"
            precision = f", precision {hits}/{rank}" * (image.role == "good")
            lines.append(f"  {f'{rank}.' if rank else '':>3} image {image.image}, identity "
                         f"{image.identity}{camera}: {image.role}{precision}")
        counted = convention.counted(ap[k:k + 1], result.per_query.n_good[k:k + 1])
        lines.append(f"  AP of query {k}: {float([*counted, np.nan][0])!r}")
    rank_1 = f", Rank-1 {float(result.cmc[0])!r}" if len(result.cmc) else ""
    return [*lines, f"  mAP {result.mAP!r}{rank_1}"]
