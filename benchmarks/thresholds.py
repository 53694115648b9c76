"""TAR at FAR, EER and the crossing from features and from distances, beside their evaluation."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import checks
import made
import stopwatch
from reid_ref import (
    Labels, evaluate, evaluate_distances, evaluate_thresholds, evaluate_thresholds_distances)
from sizes import Size
from table import Row, memory_row, second

Numbers = dict[str, Any]
#: Dimensions of the features.
DIMS = 512


def thresholds(size: Size, folder: Path) -> Numbers:
    """(j) Thresholds of all pairs, against one evaluation of the same arrays."""
    market = made.market(size.share)
    labels = folder / "labels.npz"
    np.savez(labels, **{f"{side}_{column}": getattr(getattr(market, side), column)
                        for side in ("query", "gallery") for column in ("identity", "camera")})
    distances = made.distances(market, "middle")
    by_sorting(distances, market.query, market.gallery)
    works = {"features": (made.both_features(market, "middle", DIMS), evaluate,
                          evaluate_thresholds, "thresholds"),
             "distances": ((distances,), evaluate_distances, evaluate_thresholds_distances,
                           "thresholds of distances")}
    return {name: one_input(arrays, functions, work, market, size, folder)
            for name, (arrays, *functions, work) in works.items()}


def one_input(arrays: Any, functions: Any, work: str, market: made.Market, size: Size,
              folder: Path) -> Numbers:
    files = []
    for k, array in enumerate(arrays):
        files.append(str(folder / f"input{k}.npy"))
        np.save(files[-1], array)
    labels = market.query, market.gallery
    task = {"work": work, "mapped": False, "labels": str(folder / "labels.npz"), "inputs": files}
    return {"seconds": stopwatch.take_turns({
        name: (size.repetitions, stopwatch.clock(lambda call=call: call(*arrays, *labels)))
        for name, call in zip(("evaluate", "thresholds"), functions)}),
        "bytes_beyond_input": stopwatch.own_process(task)["bytes_beyond_input"]}


def by_sorting(distances: Any, query: Labels, gallery: Labels) -> None:
    """The thresholds are those of a sorted list of all impostor pairs."""
    found = evaluate_thresholds_distances(distances, query, gallery)
    impostor = np.sort(distances[(query.identity[:, np.newaxis] != gallery.identity)
                                 & (gallery.identity != -1)])
    checks.same(len(impostor), found.impostor, "impostor pairs")
    for far, point in found.at.items():
        place = round(far * len(impostor))
        if place:
            checks.same(float(impostor[place - 1]), point.threshold, f"threshold at {far}")


def rows(measured: Numbers) -> list[Row]:
    """Make the rows of the table."""
    found = []
    for name, one in measured.items():
        times, work = one["seconds"], f"(j) thresholds of {name}"
        found.append(Row(work, second(times["thresholds"]),
                         f"evaluate: {second(times['evaluate'])}",
                         times["thresholds"] / times["evaluate"], wanted="thresholds"))
        found.append(memory_row(work, one["bytes_beyond_input"], f"the {name}"))
    return found
