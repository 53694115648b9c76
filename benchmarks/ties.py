"""Many equal distances beside random ones: processor time, in turns, the least of three.

Usage: python benchmarks/ties.py [SHARE]   (of all sizes, default 1)

Sizes are Market-1501's, and 20 queries of 20,000 good images each in a gallery of 10^6. The last
column is the peak of this process's memory beyond what it held, at the default of 256 MiB.
"""
from __future__ import annotations

import own_kernel  # noqa: F401  (before numpy)

import os
import sys
import time
from collections.abc import Callable, Mapping
from threading import Event, Thread
from typing import Any

import numpy as np

import made
from reid_ref import Labels, evaluate, evaluate_distances
from reid_ref.commands.ties import tie_bounds_of
from reid_ref.conventions import CONVENTIONS, TIES
from reid_ref.evaluation.camera_pairs import camera_pairs
from reid_ref.evaluation.how import How
from reid_ref.evaluation.ranked import Distances
from stopwatch import anonymous_bytes

Work = Callable[[], object]


def kinds(shape: tuple[int, int]) -> dict[str, made.Array]:
    """Return a distance matrix of each kind; the first is random."""
    rng = np.random.default_rng(made.SEED)
    every = {"random": rng.random(shape, np.float32), "constant": np.ones(shape, np.float32)}
    for bits in (8, 16, 64):
        every[f"Hamming, {bits} bits"] = rng.binomial(bits, .5, shape).astype(np.uint8)
    return {**every, "int8": rng.integers(-100, 101, shape, np.int8)}


def matrices(labels: made.Market, work: Callable[..., object]) -> dict[str, Work]:
    """Return the work on a distance matrix of each kind."""
    def of(matrix: made.Array) -> Work:
        return lambda: work(matrix, labels.query, labels.gallery)

    shape = len(labels.query), len(labels.gallery)
    return {name: of(matrix) for name, matrix in kinds(shape).items()}


def features(labels: made.Market) -> dict[str, Work]:
    """Return an evaluation of features of each kind, 512-d; the first are random."""
    rng = np.random.default_rng(made.SEED)
    sizes = len(labels.query), len(labels.gallery)

    def both(make: Callable[[int], made.Array]) -> Work:
        sides = [make(size).astype(np.float32) for size in sizes]
        return lambda: evaluate(*sides, labels.query, labels.gallery)

    return {"random": both(lambda size: rng.standard_normal((size, 512))),
            "constant": both(lambda size: np.full((size, 512), .1)),
            "nearly constant": both(lambda size: 1 + 1e-3 * rng.standard_normal((size, 512))),
            "codes of 512 bits": both(lambda size: rng.choice([-1, 1], (size, 512)))}


def exchanged(labels: made.Market) -> made.Market:
    """Return the labels with identity and camera exchanged: 6 identities of thousands."""
    return made.Market(*(Labels(side.camera, side.identity)
                         for side in (labels.query, labels.gallery)))


def large(share: float) -> made.Market:
    """Return 20 queries of 20,000 good images each in a gallery of 10^6."""
    size = int(1_000_000 * share)
    return made.Market(Labels(np.arange(20), np.zeros(20, int)),
                       Labels(np.arange(size) % 50, np.ones(size, int)))


def order_of(ties: str) -> Callable[..., object]:
    """Return the evaluation by a convention with another order of equal distances."""
    convention = CONVENTIONS["matlab"].replace(ties=ties)
    return lambda *arrays: evaluate_distances(*arrays, convention=convention)


def bounds(matrix: made.Array, query: Labels, gallery: Labels) -> object:
    return tie_bounds_of(Distances(matrix), query, gallery, How())


def measure(works: Mapping[str, Work]) -> dict[str, tuple[float, float]]:
    """Return the least processor time of each work, and the bytes at its peak."""
    least = {name: (float("inf"), 0.0) for name in works}
    for turn in range(3):
        for name, work in works.items():
            start = time.process_time()
            peak = with_peak(work) if turn == 0 else work()
            seconds = time.process_time() - start if turn else float("inf")
            least[name] = (min(least[name][0], seconds),
                           peak if turn == 0 else least[name][1])
    return least


def with_peak(work: Work) -> Any:
    """Do the work, and return the most bytes it held beyond those held before."""
    held, done, peak = anonymous_bytes(os.getpid()), Event(), [0]

    def watch() -> None:
        while not done.wait(.005):
            peak[0] = max(peak[0], anonymous_bytes(os.getpid()) - held)

    thread = Thread(target=watch)
    thread.start()
    work()
    done.set()
    thread.join()
    return peak[0]


def main() -> None:
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    market = made.market(share)
    print("| work | processor time | of random | memory |\n| --- | --- | --- | --- |")
    rows: dict[str, Callable[[], dict[str, Work]]] = {
        "evaluate_distances": lambda: matrices(market, evaluate_distances),
        "evaluate": lambda: features(market),
        **{f"ties={order}": lambda order=order: matrices(market, order_of(order))
           for order in TIES if order != "gallery-order"},
        "camera_pairs": lambda: matrices(market, camera_pairs),
        "ties": lambda: matrices(market, bounds),
        "six identities": lambda: matrices(exchanged(market), evaluate_distances),
        "gallery of 10^6": lambda: matrices(large(share), evaluate_distances),
    }
    for name, works in rows.items():
        least = measure(works())
        for kind, (seconds, peak) in least.items():
            print(f"| {name}, {kind} | {seconds:.2f} s | {seconds / least['random'][0]:.2f}x | "
                  f"{peak / 2**20:.0f} MiB |", flush=True)


if __name__ == "__main__":
    main()
