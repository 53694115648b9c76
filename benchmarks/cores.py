"""What one core and all cores take: processor time beside the matrix product, and speed-up."""
from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import made
from reid_ref import evaluate, evaluate_distances
from reid_ref.arrays.cores import available, using
from sizes import Size
from stopwatch import clock, take_turns
from table import Row, second

Numbers = dict[str, Any]


def cores(size: Size, folder: Path) -> Numbers:
    """(m) Features and matrices by one thread and by all, beside a product and a plain read."""
    market = made.market(size.share)
    labels = market.query, market.gallery
    measured: Numbers = {"cores": available()}
    for dims in size.dims:
        for difficulty in made.DIFFICULTIES:
            query, gallery = made.both_features(market, difficulty, dims)
            kept = made.kept(market, gallery)
            out = np.zeros((len(query), len(kept)), np.float32)
            measured[f"{dims}-d, {difficulty}"] = both(
                size, lambda threads: evaluate(query, gallery, *labels, threads=threads),
                lambda _: np.matmul(query, kept.T, out=out))
    for difficulty in made.NOISE:
        matrix = made.distances(market, difficulty)
        measured[f"matrix, {difficulty}"] = both(
            size, lambda threads: evaluate_distances(matrix, *labels, threads=threads),
            lambda threads: read(matrix, threads))
    return measured


def read(matrix: made.Array, threads: int) -> None:
    """Add up all distances, each thread some rows."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(np.sum, np.array_split(matrix, threads)))


def both(size: Size, ours: Callable[[int], object], limit: Callable[[int], object]) -> Numbers:
    """Return wall and processor time of ours and of what limits it, by one thread and by all."""
    contestants, processor = {}, {}
    for threads in sorted({1, available()}):
        for name, work in (("ours", ours), ("limit", limit)):
            def limited(work: Any = work, threads: int = threads) -> None:
                with using(threads):
                    work(threads)
            contestants[f"{name} {threads}"] = (size.repetitions, clock(limited))
            processor[f"{name} {threads}"] = (size.repetitions, of_processor(limited))
    return {"seconds": take_turns(contestants), "processor": take_turns(processor)}


def of_processor(work: Callable[[], object]) -> Callable[[], float]:
    """Return the function that does the work and answers with its processor time."""
    def measure() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start
    return measure


def rows(measured: Numbers) -> list[Row]:
    """Make the rows of the table."""
    count, found = measured["cores"], []
    for name, one in measured.items():
        if name == "cores":
            continue
        limit = "a plain read" if name.startswith("matrix") else "the product"
        work, times, processor = f"(m) {name}", one["seconds"], one["processor"]
        beside = processor[f"ours {count}"] - processor[f"limit {count}"]
        found.append(Row(work, f"{second(processor[f'ours {count}'])} of processor time",
                         f"{limit}: {second(processor[f'limit {count}'])}", beside, " s more"))
        if count > 1:
            ours, least = (times[f"{side} 1"] / times[f"{side} {count}"]
                           for side in ("ours", "limit"))
            found.append(Row(work, f"1 core: {second(times['ours 1'])}",
                             f"{count} cores: {second(times[f'ours {count}'])}; {limit} gains "
                             f"{least:.2f}x", ours, "x faster"))
    return found
