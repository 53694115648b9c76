"""Where an evaluation of features spends its time: processor time of each stage.

Usage: python benchmarks/stages.py [SHARE]     (of Market-1501, default 1)

Each stage's time is without that of the stages inside it, summed over threads; "the rest" is what
the process took beyond them. Next to it: one product of the kept images, wall clock, page faults.
Waiting is what all threads together did not compute: for Python's lock, for each other, for the
calling thread. Timing itself takes little: stages are called once or a few times for a tile.
"""
from __future__ import annotations

import own_kernel  # noqa: F401  (before numpy)

import resource
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import made
from machine import machine
from reid_ref import evaluate
from reid_ref.arrays.cores import available, using
from reid_ref.ranking import counting, exact_distances

#: Stage to the functions that do it: module or class, and name.
STAGES = {"squared norms": [(exact_distances, "squares")],
          "scaling": [(exact_distances, "_scaled"), (exact_distances, "_rescale")],
          "counting in tiles": [(counting.Tile, "among")],
          "check of the bound": [(counting, "_check_slack")],
          "what lies within the bound": [(counting, "_measure")],
          "products of single pairs": [(exact_distances, "pair_products")]}
PRODUCT, REST = "product of tiles", "the rest"
REPETITIONS = 5

_spent: Counter[str] = Counter()
_lock = threading.Lock()
_thread = threading.local()


class Timed:
    """Adds processor time of this thread to a stage, and takes it from the stage around it."""

    def __init__(self, stage: str):
        self.stage = stage

    def __enter__(self) -> None:
        self.stack = _thread.__dict__.setdefault("stack", [])
        self.inside = 0.0
        self.stack.append(self)
        self.start = time.thread_time()

    def __exit__(self, *_: object) -> None:
        spent = time.thread_time() - self.start
        self.stack.pop()
        if self.stack:
            self.stack[-1].inside += spent
        with _lock:
            _spent[self.stage] += spent - self.inside


def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        with Timed(stage):
            return function(*arguments, **options)
    return call


def in_threads(work: Callable[[Any], Any], items: Any, *more: Any) -> Iterator[Any]:
    """Run as `cores.in_threads`; the threads' time is that of the stage that started them."""
    stack = getattr(_thread, "stack", [])
    return _in_threads(timed(stack[-1].stage, work) if stack else work, items, *more)


def blocks(*arguments: Any) -> Iterator[counting.Block]:
    """Make blocks as `exact_distances._blocks`; to make their tiles is the product."""
    for block in _blocks(*arguments):
        yield counting.Block(block.rows, lambda block=block: products(block.tiles()))


def products(tiles: Iterator[counting.Tile]) -> Iterator[counting.Tile]:
    while True:
        with Timed(PRODUCT):
            tile = next(tiles, None)
        if tile is None:
            return
        yield tile


_in_threads, _blocks = exact_distances.in_threads, exact_distances._blocks


def watch() -> None:
    """Put functions that take the time in the place of the stages."""
    for stage, places in STAGES.items():
        for owner, name in places:
            setattr(owner, name, timed(stage, getattr(owner, name)))
    exact_distances.in_threads, exact_distances._blocks = in_threads, blocks


def measure(work: Callable[[], object]) -> dict[str, float]:
    """Return the times of the run that took the least wall clock."""
    runs = []
    for _ in range(REPETITIONS):
        _spent.clear()
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        start, processor = time.perf_counter(), time.process_time()
        work()
        wall, processor = time.perf_counter() - start, time.process_time() - processor
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
        runs.append({"wall": wall, "processor": processor, "faults": faults, **_spent,
                     REST: processor - sum(_spent.values())})
    return min(runs, key=lambda run: run["wall"])


def by_threads(work: Callable[[int], object]) -> dict[int, dict[str, float]]:
    """Measure the work by one thread and by all."""
    found = {}
    for threads in sorted({1, available()}):
        with using(threads):
            found[threads] = measure(lambda: work(threads))
    return found


def show(name: str, ours: dict[int, dict[str, float]],
         product: dict[int, dict[str, float]]) -> None:
    print(f"\n{name}\n\n| stage, processor time | " + " | ".join(
        f"{threads} thread{'s' * (threads > 1)}" for threads in ours) + " |")
    print("| --- |" + " --- |" * len(ours))
    one = {threads: each["processor"] for threads, each in product.items()}
    lines = {"one product of the kept images": one, **{
        stage: {threads: each.get(stage, 0.0) for threads, each in ours.items()}
        for stage in (PRODUCT, *STAGES, REST)},
        "**all stages**": {threads: each["processor"] for threads, each in ours.items()},
        "waiting": {threads: threads * each["wall"] - each["processor"]
                    for threads, each in ours.items()}}
    for stage, times in lines.items():
        print(f"| {stage} | " + " | ".join(
            f"{spent:.3f} s ({100 * spent / one[threads]:.0f} %)"
            for threads, spent in times.items()) + " |")
    print("| wall clock, next to that of the product | " + " | ".join(
        f"{each['wall']:.3f} s, {each['wall'] / product[threads]['wall']:.2f}x"
        for threads, each in ours.items()) + " |")
    print("| page faults | " + " | ".join(f"{each['faults']:,.0f}" for each in ours.values())
          + " |", flush=True)


def main() -> None:
    market = made.market(float(sys.argv[1]) if len(sys.argv) > 1 else 1)
    print("; ".join(f"{key} {value}" for key, value in machine().items()))
    watch()
    for dims in (512, 2048):
        for difficulty in made.DIFFICULTIES:
            query, gallery = made.both_features(market, difficulty, dims)
            kept = made.kept(market, gallery)
            out = np.zeros((len(query), len(kept)), np.float32)
            show(f"{dims}-d, {difficulty}", by_threads(lambda threads: evaluate(
                query, gallery, market.query, market.gallery, threads=threads)),
                by_threads(lambda _: np.matmul(query, kept.T, out=out)))


if __name__ == "__main__":
    main()
