"""Many equal distances beside random ones: processor time, in turns, the least of three.

Usage: python benchmarks/ties.py [SHARE]   (of Market-1501, default 1)
"""
from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import made
from reid_ref import Labels, evaluate, evaluate_distances


def matrices(market: made.Market) -> dict[str, Callable[[], object]]:
    """Return an evaluation of a matrix of each kind; the first is random."""
    rng = np.random.default_rng(made.SEED)
    shape = len(market.query), len(market.gallery)
    kinds = {"random": rng.random(shape, np.float32), "constant": np.ones(shape, np.float32),
             **{f"Hamming, {bits} bits": rng.binomial(bits, .5, shape).astype(np.uint8)
                for bits in (8, 16, 64)},
             "int8": rng.integers(-100, 101, shape, np.int8)}
    return {name: lambda matrix=matrix: evaluate_distances(matrix, market.query, market.gallery)
            for name, matrix in kinds.items()}


def features(market: made.Market) -> dict[str, Callable[[], object]]:
    """Return an evaluation of features of each kind, 512-d; the first are random."""
    rng = np.random.default_rng(made.SEED)
    sizes = len(market.query), len(market.gallery)

    def both(make: Callable[[int], made.Array]) -> Callable[[], object]:
        sides = [make(size).astype(np.float32) for size in sizes]
        return lambda: evaluate(*sides, market.query, market.gallery)

    return {"random": both(lambda size: rng.standard_normal((size, 512))),
            "constant": both(lambda size: np.full((size, 512), .1)),
            "nearly constant": both(lambda size: 1 + 1e-3 * rng.standard_normal((size, 512))),
            "codes of 512 bits": both(lambda size: rng.choice([-1, 1], (size, 512)))}


def exchanged(market: made.Market) -> made.Market:
    """Return the labels with identity and camera exchanged: 6 identities of thousands."""
    return made.Market(*(Labels(side.camera, side.identity)
                         for side in (market.query, market.gallery)))


def main() -> None:
    market = made.market(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
    print("| work | processor time | of random |\n| --- | --- | --- |")
    for name, works in (("matrix", matrices(market)), ("features", features(market)),
                        ("six identities, matrix", matrices(exchanged(market)))):
        times = dict.fromkeys(works, float("inf"))
        for _ in range(3):
            for kind, work in works.items():
                start = time.process_time()
                work()
                times[kind] = min(times[kind], time.process_time() - start)
        for kind, seconds in times.items():
            print(f"| {name}, {kind} | {seconds:.2f} s | {seconds / times['random']:.2f}x |",
                  flush=True)


if __name__ == "__main__":
    main()
