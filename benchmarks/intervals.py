"""Intervals and paired tests by identity, at Market-1501's and at MSMT17's size.

Each work runs in a process of its own, which is this file, on made values a query; the process
has the values, so what it holds beyond them are blocks of resamples.
"""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import checks
import made
import stopwatch
from reid_ref import statistics
from sizes import Size
from table import Row, memory_row

Numbers = dict[str, Any]
#: Queries and identities.
SIZES = {"market1501": (3_368, 750), "msmt17": (11_659, 3_060)}


def intervals(size: Size, folder: Path) -> Numbers:
    """(g) Values a query to an interval and a paired test, 10,000 resamples each."""
    by_definition()
    return {name: {"queries": queries, "identities": identities, **stopwatch.own_process(
        {"queries": max(60, round(size.share * queries)),
         "identities": max(20, round(size.share * identities))},
        size.repetitions, child=Path(__file__))} for name, (queries, identities) in SIZES.items()}


def by_definition() -> None:
    """One unit a query: the standard error is the textbook's; and a shift that all units share."""
    values = np.random.default_rng(made.SEED).random(500)
    found = statistics.interval(values, np.arange(500))
    checks.near(float(values.std(ddof=1) / 500**.5), found.se, "standard error", 1e-15)
    shifted = statistics.difference(values, values / 2, np.arange(500))
    checks.same(1 / 10_001, shifted.p, "p of a loss in every unit")


def rows(measured: Numbers) -> list[Row]:
    """Make the rows of the table."""
    found = []
    for name, one in measured.items():
        work = f"(g) interval and paired test, {one['identities']:,} identities"
        found.append(Row(work, "", f"{one['queries']:,} queries, 10,000 resamples",
                         one["seconds"], " s", f"interval {name}"))
        found.append(memory_row(work, one["bytes_beyond_input"], "the values",
                                "interval memory"))
    return found


def main() -> None:
    task = json.loads(sys.argv[1])
    rng = np.random.default_rng(made.SEED)
    baseline, other = rng.random((2, task["queries"]))
    identity = np.arange(task["queries"]) % task["identities"]

    def work() -> None:
        statistics.interval(baseline, identity)
        statistics.difference(baseline, other, identity)

    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps({"seconds": stopwatch.seconds(work)}), flush=True)


if __name__ == "__main__":
    main()
