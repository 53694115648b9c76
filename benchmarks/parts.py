"""Long features in parts, beside one product of their whole length: wall clock.

Usage: python benchmarks/parts.py [DIMENSIONS [SHARE]]   (default 2048; of Market-1501, default 1)

All take turns in random order, since what runs right after the product takes longer. Without parts
is measured twice: how far the two are apart is the noise.
"""
from __future__ import annotations

import own_kernel  # noqa: F401  (before numpy)

import random
import sys

import numpy as np

import made
from machine import machine
from reid_ref import evaluate
from reid_ref.ranking import exact_distances
from stopwatch import seconds

REPETITIONS, PRODUCT = 8, "the product"
#: How many numbers are multiplied at once.
INNER = {"in parts": exact_distances.INNER, "without": 2**20, "without, again": 2**20}


def measured(market: made.Market, difficulty: str, dims: int) -> dict[str, float]:
    """Return the best time of each."""
    query, gallery = made.both_features(market, difficulty, dims)
    kept = made.kept(market, gallery)
    out = np.zeros((len(query), len(kept)), np.float32)
    best = dict.fromkeys([PRODUCT, *INNER], float("inf"))
    for _ in range(REPETITIONS):
        for name in random.sample(list(best), len(best)):
            exact_distances.INNER = INNER.get(name, 0)
            best[name] = min(best[name], seconds(
                (lambda: np.matmul(query, kept.T, out=out)) if name == PRODUCT else
                (lambda: evaluate(query, gallery, market.query, market.gallery))))
    return best


def main() -> None:
    dims = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
    market = made.market(float(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print("; ".join(f"{key} {value}" for key, value in machine().items()))
    print(f"\n| {dims}-d, times the product | " + " | ".join(INNER) + " |\n|" + " --- |" * 4)
    for difficulty in made.DIFFICULTIES:
        best = measured(market, difficulty, dims)
        print(f"| {difficulty} | " + " | ".join(
            f"{best[name] / best[PRODUCT]:.2f}" for name in INNER) + " |", flush=True)


if __name__ == "__main__":
    main()
