"""Is one system better than another? Differences over the same queries, with their intervals."""
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from reid_ref.analysis.compare.answer import SIGNIFICANT, Change, Comparison, Comparisons, Methods
from reid_ref.arrays import Doubles, InputError, Integers, check_count, each_warning_once
from reid_ref.result import Result, unit_of_queries
from reid_ref.result.systems import (
    METRICS, are_copies, results_by_name, runs_by_name, scores_of_runs, warn_copies)
from reid_ref.statistics import Difference, between_methods, differences, holm, spread
from reid_ref.statistics.interval import LEVEL
from reid_ref.statistics.paired import fewest_units, least_p, unit_weights
from reid_ref.statistics.recount import flips_for, recounted
from reid_ref.statistics.units import RESAMPLES, SEED

#: How many of the queries with the largest gains and losses are named.
EXTREMES = 5


def compare(baseline: Result | Mapping[str, Result | Sequence[Result]], *others: Result,
            metrics: Sequence[str] = METRICS, names: Sequence[str] | None = None,
            unit: Any = "identity", level: float = LEVEL, resamples: int | None = None,
            seed: int = SEED, all_pairs: bool = False,
            paired_seeds: bool = False) -> Comparisons:
    """Compare systems with a baseline, over the same queries and the same gallery.

    Parameters
    ----------
    baseline : Result or dict of str to Result, or to a sequence of them
        In a dict the first is the baseline, and there are no `others`. Several results of one
        name are training runs of a method with other seeds: its number is their mean, and two
        methods are compared as well.
    others : Result
    metrics : sequence of str
        As `Result.interval` takes them.
    names : sequence of str, optional
        Of the baseline and the others.
    unit, level, seed
        As `Result.interval` takes them.
    resamples : int, optional
        Choices of signs that are drawn: by default 10,000; where p is adjusted for more than 25
        comparisons, each p below 0.002 is counted again over 400 for each of them.
    all_pairs : bool
        Each system with each one before it, and not only with the first.
    paired_seeds : bool
        Result k of each system was trained with the same seed, and what a seed changes is common
        to the systems: their differences are taken.

    Returns
    -------
    Comparisons

    Raises
    ------
    InputError
        Results of different conventions, queries or galleries: the first difference is named. A
        metric that is NaN, `resamples` too few for an adjusted p below 0.05, and whatever
        `Result.interval` refuses.

    Examples
    --------
    Of thirty identities the other system finds ten more at rank 1:

    >>> import numpy as np, reid_ref
    >>> query = reid_ref.Labels(range(30), [1] * 30)
    >>> gallery = reid_ref.Labels(range(30), [2] * 30)
    >>> distances = 1 - np.eye(30)
    >>> other = reid_ref.evaluate_distances(distances, query, gallery)
    >>> distances[:10, 20] = -1
    >>> baseline = reid_ref.evaluate_distances(distances, query, gallery)
    >>> found, = reid_ref.compare(baseline, other, metrics=["Rank-1"]).comparisons
    >>> round(found.difference, 4), found.better, found.worse, found.same
    (0.3333, 10, 0, 20)
    >>> round(found.p, 4), found.gains[0].query
    (0.0063, 0)

    With three seeds of each the models differ, and with such seeds the methods may not:

    >>> def result(wrong):
    ...     distances = 1 - np.eye(30)
    ...     distances[:wrong, 29] = -1
    ...     return reid_ref.evaluate_distances(distances, query, gallery)
    >>> seeds = {"old": map(result, [4, 10, 16]), "new": map(result, [0, 5, 7])}
    >>> seeds = {name: list(results) for name, results in seeds.items()}
    >>> found, = reid_ref.compare(seeds, metrics=["Rank-1"]).comparisons
    >>> round(found.difference, 4), round(found.p, 4), round(found.methods.p, 4)
    (0.2, 0.0015, 0.2381)
    """
    if isinstance(baseline, Mapping):
        if others or names is not None:
            raise InputError("baseline", "nothing with a dict of name to Result, whose first is "
                             "the baseline")
        systems = runs_by_name(baseline)
    else:
        defaults = ["baseline", *(f"other {k}" for k in range(1, len(others) + 1))]
        systems = runs_by_name(results_by_name([baseline, *others],
                                               defaults if names is None else names))
    warn_copies({name: {f"run {k}": run for k, run in enumerate(runs, 1)}
                 for name, runs in systems.items()})
    return compare_systems(systems, metrics, unit, level=level, resamples=resamples, seed=seed,
                           all_pairs=all_pairs, paired_seeds=paired_seeds)


def compare_systems(systems: Mapping[str, Sequence[Result]], metrics: Sequence[str] = METRICS,
                    unit: Any = "identity", *, level: float = LEVEL,
                    resamples: int | None = None, seed: int = SEED, all_pairs: bool = False,
                    paired_seeds: bool = False) -> Comparisons:
    """As `compare`, of the runs of each system by its name, the baseline first."""
    scores, runs = scores_of_runs(systems, metrics)
    baseline, *others = systems
    identity = systems[baseline][0].per_query.texts("identity")
    unit, groups = unit_of_queries(identity, unit)
    names = (list(combinations(systems, 2)) if all_pairs
             else [(baseline, name) for name in others])
    if paired_seeds:
        _check_paired(systems)
    drawn, flips = _flips(resamples, len(names))
    several = any(len(results) > 1 for results in systems.values())
    copied = {name for name, results in systems.items() if are_copies(results)}
    compared: list[Comparison] = []
    with each_warning_once():
        for metric, of_metric in scores.items():
            pairs = [(of_metric[first].values, of_metric[second].values, of_metric[first].counted)
                     for first, second in names]
            tests = recounted(differences(pairs, groups, level=level, resamples=drawn, seed=seed),
                              pairs, groups, flips, seed)
            methods = _methods(tests, [tuple(runs[metric][name][:1 if name in copied else None]
                                             for name in pair) for pair in names],
                               paired_seeds, level)
            compared += [
                Comparison(first, second, metric, **vars(test), p_adjusted=p,
                           gains=_extremes(before, after, identity, 1),
                           losses=_extremes(before, after, identity, -1), methods=answer,
                           p_decides=p if not several else getattr(answer, "p_adjusted", None))
                for (first, second), (before, after, _), test, p, answer in zip(
                    names, pairs, tests, holm([test.p for test in tests]), methods)]
    return Comparisons(
        baseline, {name: {metric: of_metric[name].mean for metric, of_metric in scores.items()}
                   for name in systems}, tuple(compared), unit, level, drawn, seed,
        _too_few({metric: of_metric[baseline].counted for metric, of_metric in scores.items()},
                 groups, len(names)),
        {name: {metric: spread(runs[metric][name], level=level) for metric in scores}
         for name in systems}, paired_seeds)


def _too_few(counted: Mapping[str, Any], groups: Any, tests: int) -> dict[str, int]:
    """Return by metric how many units a significant p takes, where there are fewer."""
    return {metric: fewest_units(tests, SIGNIFICANT) for metric, of_metric in counted.items()
            if tests * least_p(unit_weights(groups, of_metric)) >= SIGNIFICANT}


def _check_paired(systems: Mapping[str, Sequence[Result]]) -> None:
    """Refuse systems whose seeds are no pairs."""
    numbers = {name: len(results) for name, results in systems.items()}
    if len(set(numbers.values())) > 1 or 1 in numbers.values():
        raise InputError(
            "paired_seeds", "as many results of each system, two or more, with the same seeds",
            ", ".join(f"{n} of {name}" for name, n in numbers.items()), "leave it out")


def _methods(tests: Sequence[Difference], runs: Sequence[tuple[list[float], ...]],
             paired: bool, level: float) -> list[Methods | None]:
    """Return the answer about the methods of each pair that has several seeds on both sides.

    Copies of one run are one seed.
    """
    asked = [min(map(len, pair)) > 1 for pair in runs]
    found = [between_methods(test, before, after, paired=paired, level=level)
             for test, (before, after), of_methods in zip(tests, runs, asked) if of_methods]
    answers = (Methods(**vars(each), p_adjusted=p)
               for each, p in zip(found, holm([each.p for each in found])))
    return [next(answers) if of_methods else None for of_methods in asked]


def _flips(resamples: Any, tests: int) -> tuple[int, int]:
    """Return how many flips are drawn for each comparison, and for each small p among many."""
    drawn = RESAMPLES if resamples is None else check_count(resamples, "resamples", 1)
    flips = flips_for(tests, SIGNIFICANT) if resamples is None else drawn
    if tests >= SIGNIFICANT * (flips + 1) - 1e-9:
        adjusted = f" adjusted for {tests:,} comparisons" if tests > 1 else ""
        raise InputError(
            "resamples", f"at least {math.floor(tests / SIGNIFICANT + 1e-9):,} flips, for p"
            f"{adjusted} to be below {SIGNIFICANT:g}", f"{flips:,}")
    return drawn, flips


def _extremes(before: Doubles, after: Doubles, identity: Integers,
              sign: int) -> tuple[Change, ...]:
    """Return the queries that gained most, or lost most, the first of equal ones first."""
    gain = sign * (after - before)
    order = np.argsort(-gain, kind="stable")[:EXTREMES]
    return tuple(Change(int(k), identity[k].item(), float(before[k]), float(after[k]))
                 for k in order if gain[k] > 0)
