"""What a compiled kernel would give: counts of a matrix in C beside ours and numpy's calls.

Usage: python benchmarks/kernel.py [-march=native]   (needs a C compiler, cc)

The kernel is not part of reid-ref: "What numpy cannot" in README.md says why. Before its time
counts, its counts are ours.
"""
from __future__ import annotations

import own_kernel  # noqa: F401  (before numpy)

import ctypes
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import made
from reid_ref import evaluate_distances
from reid_ref.ranking.roles import find_roles
from stopwatch import clock, take_turns

SOURCE = """
#include <stdint.h>
#include <stdlib.h>
void count(const float *values, const uint8_t *counts, long rows, long width, const long *start,
           const float *good, const float *farthest, long *below) {
  float *near = malloc(width * sizeof(float));
  for (long r = 0; r < rows; r++) {
    const float *row = values + r * width;
    long n = 0;
    for (long i = 0; i < width; i++) {
      near[n] = row[i];
      n += (row[i] <= farthest[r]) & counts[i];
    }
    for (long j = start[r]; j < start[r + 1]; j++) {
      int b = 0, e = 0;  /* nearer, as near */
      for (long i = 0; i < n; i++) { b += near[i] < good[j]; e += near[i] == good[j]; }
      below[2 * j] = b;
      below[2 * j + 1] = e;
    }
  }
  free(near);
}
"""


def compiled(folder: Path, *flags: str) -> Any:
    source = folder / "kernel.c"
    source.write_text(SOURCE)
    library = folder / "kernel.so"
    subprocess.run(["cc", "-O3", *flags, "-shared", "-fPIC", "-o", library, source], check=True)
    return ctypes.CDLL(str(library)).count


def main() -> None:
    market = made.market()
    query, gallery = market.query, market.gallery
    roles = find_roles(query, gallery, ("label -1", "same identity, same camera"))
    counts = (gallery.identity != -1).astype(np.uint8)
    start = np.searchsorted(roles.good_query, np.arange(len(query) + 1))
    half = len(query) // 2
    with tempfile.TemporaryDirectory() as folder:
        count = compiled(Path(folder), *sys.argv[1:])
        for difficulty in made.NOISE:
            distances = made.distances(market, difficulty)
            good = distances[roles.good_query, roles.good]
            farthest = np.full(len(query), -np.inf, np.float32)
            np.maximum.at(farthest, roles.good_query, good)
            below = np.zeros((len(good), 2), np.int64)

            def rows(part: slice) -> None:
                count(*(ctypes.c_void_p(one.ctypes.data) for one in (distances[part], counts)),
                      *map(ctypes.c_long, (part.stop - part.start, distances.shape[1])),
                      *(ctypes.c_void_p(one.ctypes.data) for one in (
                          start[part.start:], good, farthest[part], below)))

            def kernel() -> None:
                with ThreadPoolExecutor(2) as pool:
                    list(pool.map(rows, (slice(0, half), slice(half, len(query)))))

            kernel()
            if not are_right(below[:, 0], distances, roles, counts):
                raise SystemExit("the kernel's counts differ")
            near = distances <= farthest[:, np.newaxis]
            times = take_turns({name: (7, clock(work)) for name, work in {
                "ours": lambda: evaluate_distances(distances, query, gallery),
                "kernel": kernel, "read": distances.sum,
                "compare": lambda: distances <= farthest[:, np.newaxis],
                "places": lambda: np.flatnonzero(near)}.items()})
            print(difficulty, ", ".join(f"{name} {spent:.4f} s" for name, spent in times.items()))


def are_right(below: Any, distances: Any, roles: Any, counts: Any) -> bool:
    """Compare the counts of some good images with numpy's."""
    some = np.linspace(0, len(below) - 1, 200, dtype=int)
    kept = distances[:, counts > 0]
    return all(below[k] == np.count_nonzero(
        kept[roles.good_query[k]] < distances[roles.good_query[k], roles.good[k]]) for k in some)


if __name__ == "__main__":
    main()
