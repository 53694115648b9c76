"""How often the 95 % intervals of a difference hold the true one: made gains of identities.

Usage: python benchmarks/differences.py [--quick] [--runs N] [--resamples B]

The true difference is that of the laws that draw the sizes and the gains of identities, over
queries. Printed for each case: the share of the runs whose interval holds it, and in brackets the
share of the runs whose p is at most .05; first by the number of identities, of 1 to 6 queries
each, then by the law of their sizes, for 100 and 750 identities. The standard error of a share
near 0.95 is 0.007 with 1,000 runs.
"""
from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from reid_ref.statistics import difference

Doubles = npt.NDArray[np.float64]
#: Gains of identities that have these numbers of queries, summed over the queries.
Law = Callable[[np.random.Generator, Doubles], Doubles]
UNITS, LARGE = (10, 30, 100, 750), (100, 750)
SEED = 12345
#: Queries of an identity.
MOST = 200


def pareto(rng: np.random.Generator, units: int) -> Doubles:
    """At least k queries with probability k**-1.2."""
    return np.minimum(MOST, np.floor((1 - rng.random(units))**(-1 / 1.2)))


#: Numbers of queries of identities, and their mean, by name.
SIZES: dict[str, tuple[Callable[[np.random.Generator, int], Doubles], float]] = {
    "1": (lambda rng, units: np.ones(units), 1.0),
    "1 to 6": (lambda rng, units: rng.integers(1, 7, units).astype(float), 3.5),
    "1 (80 %), 30": (lambda rng, units: np.where(rng.random(units) < .8, 1.0, 30.0), 6.8),
    "Pareto, to 200": (pareto, float(np.sum(np.arange(1, MOST + 1.0)**-1.2)))}


def changed(better: int, worse: int, whole: bool) -> Law:
    """So many identities, on average, gain one query at rank 1 or all; so many lose as much."""
    def law(rng: np.random.Generator, queries: Doubles) -> Doubles:
        place = rng.random(len(queries)) * len(queries)
        sign = np.where(place < better, 1.0, np.where(place < better + worse, -1.0, 0.0))
        return sign * queries if whole else sign
    return law


def two_kinds(rng: np.random.Generator, queries: Doubles) -> Doubles:
    """Two identities, on average, gain all their queries, four gain one."""
    place = rng.random(len(queries)) * len(queries)
    return np.where(place < 2, queries, np.where(place < 6, 1.0, 0.0))


def all_change(rng: np.random.Generator, queries: Doubles) -> Doubles:
    """Gains of AP: a level for each identity, and noise of each query."""
    level = .02 + .1 * rng.standard_normal(len(queries))
    return queries * level + .15 * np.sqrt(queries) * rng.standard_normal(len(queries))


def few_lose(rng: np.random.Generator, queries: Doubles) -> Doubles:
    return queries * np.where(rng.random(len(queries)) < .05, -.5, .02)


def few_gain(rng: np.random.Generator, queries: Doubles) -> Doubles:
    noise = np.where(rng.random(len(queries)) < .5, .02, -.02)
    return queries * np.where(rng.random(len(queries)) * len(queries) < 4, .6, noise)


def skewed(rng: np.random.Generator, queries: Doubles) -> Doubles:
    """No difference on average: few identities gain much, most lose a little."""
    return queries * .05 * (rng.gamma(.25, 1, len(queries)) - .25)


class Case(NamedTuple):
    """A law and its true difference: per query, and identities and queries that change."""

    law: Law
    mean: float = 0
    identities: float = 0
    queries: float = 0
    needs: int = 2  # identities


CASES = {
    **{f"{better} better, {worse} worse": Case(
        changed(better, worse, True), identities=better - worse, needs=better + worse)
       for better, worse in ((2, 0), (4, 0), (4, 4), (12, 6))},
    **{f"{better} better, {worse} worse by one query": Case(
        changed(better, worse, False), queries=better - worse, needs=better + worse)
       for better, worse in ((2, 0), (6, 2), (10, 0))},
    "2 better, 4 more by one query": Case(two_kinds, identities=2, queries=4, needs=6),
    "AP-like, all change": Case(all_change, .02),
    "95 % gain .02, 5 % lose .5": Case(few_lose, .95 * .02 - .05 * .5),
    "4 gain .6, the others ±.02": Case(few_gain, identities=4 * .6),
    "no difference, skewed": Case(skewed)}


def coverage(case: str, size: str, units: int, runs: int, resamples: int) -> str:
    """Return the shares of the runs whose interval holds the true difference, and that reject 0.
    """
    law, gain, identities, one_query, needs = CASES[case]
    draw, mean = SIZES[size]
    gain += (identities + one_query / mean) / units
    if needs > units:
        return "-"
    rng = np.random.default_rng(SEED)
    held = rejected = 0
    for _ in range(runs):
        queries = draw(rng, units)
        identity = np.repeat(np.arange(units), queries.astype(int))
        each = (law(rng, queries) / queries)[identity]
        found: Any = difference(np.zeros(len(each)), each, identity, resamples=resamples)
        held += found.low <= gain <= found.high
        rejected += found.p <= .05
        assert (found.p > .05 + 1e-12) == (found.low <= 0 <= found.high), found
    return f"{held / runs:.3f} ({rejected / runs:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few runs, to try it")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=999)
    options = parser.parse_args()
    runs, units, large = ((50, UNITS[:1], UNITS[:1]) if options.quick else
                          (options.runs, UNITS, LARGE))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(f"| case | {' | '.join(f'{n} identities' for n in units)} |")
        print("| --- |" + " --- |" * len(units))
        for case in CASES:
            print(f"| {case} | " + " | ".join(
                coverage(case, "1 to 6", n, runs, options.resamples) for n in units) + " |",
                flush=True)
        print(f"\n| case | {' | '.join(SIZES)} |")
        print("| --- |" + " --- |" * len(SIZES))
        for case in CASES:
            print(f"| {case} | " + " | ".join(", ".join(
                coverage(case, size, n, runs, options.resamples) for n in large)
                for size in SIZES) + " |", flush=True)


if __name__ == "__main__":
    main()
