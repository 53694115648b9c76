"""How often the answers about two methods are wrong: made training runs of two equal methods.

Usage: python benchmarks/methods.py [--quick] [--runs N] [--resamples B]

The AP of a query is the sum of what identity and query are to a method, of what one training run
adds to all queries (normal, with the given standard deviation in percentage points) and of what it
adds to single queries. Printed for each number of identities, of seeds and standard deviation of
each method: the share of the draws of equal methods in which p is at most .05 (level), of methods
that differ by two points in which the 95 % interval holds the two (coverage), first of the test of
these trained models, then of the test of the methods; the share in which the latter finds the two
points (power), and half the median width of its interval. The standard error of a share near .05
is .007 with 1,000 draws.
"""
from __future__ import annotations

import argparse
import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.statistics import difference
from reid_ref.statistics.methods import between_methods

Doubles = npt.NDArray[np.float64]
SEED = 12345
#: Of the methods: what they do to an identity and to a query of it, and a run to a query.
IDENTITY, QUERY, RUN = .10, .15, .05
DIFFERENCE = .02


class Cell(NamedTuple):
    """Identities, the seeds of each method, and the sd of a run of each in percentage points."""

    identities: int
    seeds: tuple[int, int]
    sd: tuple[float, float]


EQUAL, UNEQUAL = ((0, 0), (.5, .5), (1, 1), (2, 2)), ((0, 2), (.5, 2))
CELLS = [*(Cell(identities, (seeds, seeds), sd) for identities in (100, 750)
           for seeds in (2, 3, 5) for sd in (*EQUAL, *UNEQUAL)),
         *(Cell(750, seeds, sd) for seeds in ((2, 5), (3, 5))
           for sd in ((2, 2), (2, .5), (.5, 2)))]


def means_of_runs(rng: np.random.Generator, seeds: int, sd: float,
                  queries: int) -> tuple[Doubles, Doubles]:
    """Return what runs add to each query on average, and the number of each run."""
    added = sd / 100 * rng.standard_normal((seeds, 1)) + RUN * rng.standard_normal(
        (seeds, queries))
    return added.mean(axis=0), added.mean(axis=1)


def draw(rng: np.random.Generator, cell: Cell) -> Any:
    """Return each query's identity and gain over the runs, and the numbers of both's runs."""
    sizes = rng.integers(1, 7, cell.identities)
    identity = np.repeat(np.arange(cell.identities), sizes)
    gain = (IDENTITY * rng.standard_normal(cell.identities)[identity]
            + QUERY * rng.standard_normal(len(identity)))
    (before, numbers), (after, others) = (
        means_of_runs(rng, seeds, sd, len(identity)) for seeds, sd in zip(cell.seeds, cell.sd))
    return identity, gain + after - before, numbers, others + gain.mean()


def shares(cell: Cell, runs: int, resamples: int) -> list[str]:
    """Return the row of a cell."""
    rng = np.random.default_rng(SEED)
    wrong, held, found, width = np.zeros(2), np.zeros(2), 0, []
    for _ in range(runs):
        identity, gain, numbers, others = draw(rng, cell)
        for true in (0, DIFFERENCE):
            models = difference(np.zeros(len(gain)), gain + true, identity, resamples=resamples)
            methods = between_methods(models, numbers, others + true)
            p, low, high = np.array([[each.p, each.low, each.high]
                                     for each in (models, methods)]).T
            assert ((p > .05) == ((low <= 0) & (high >= 0))).all(), (models, methods)
            if true:
                held += (low <= true) & (true <= high)
                found += bool(p[1] <= .05)
                width.append(high[1] - low[1])
            else:
                wrong += p <= .05
    numbers = [*wrong / runs, *held / runs, found / runs]
    return [*(f"{number:.3f}" for number in numbers), f"{50 * np.median(width):.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few runs, to try it")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=499)
    options = parser.parse_args()
    heads = ["identities", "seeds", "sd of a run", "level: models", "methods",
             "coverage: models", "methods", "power", "± points"]
    print(f"| {' | '.join(heads)} |\n|" + " --- |" * len(heads))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in CELLS[:3] if options.quick else CELLS:
            row = [str(cell.identities), *(
                str(first) if first == second else f"{first}, {second}"
                for first, second in (cell.seeds, cell.sd))]
            row += shares(cell, 20 if options.quick else options.runs, options.resamples)
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
