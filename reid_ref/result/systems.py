"""Results and stored values of each query by name, and whether they are of the same queries."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref.arrays import Doubles, InputError, Integers, warn
from reid_ref.conventions import CONVENTIONS
from reid_ref.conventions.choices import ARITHMETIC, UNMATCHED
from reid_ref.result import Fingerprints, QueryValues, Result, kind_of_metric, query_values
from reid_ref.result.stored import QueryTable
from reid_ref.signature import Signature

#: What is compared by default.
METRICS = ("mAP", "Rank-1")


def results_by_name(results: Any, names: Sequence[str] | None = None) -> dict[str, Result]:
    """Return at least two results by name: a sequence by these names, or numbered from 1."""
    if isinstance(results, Mapping):
        named = dict(results)
    else:
        every = [results] if isinstance(results, Result) else list(results)
        names = [str(k + 1) for k in range(len(every))] if names is None else list(names)
        if len(set(names)) < len(names) or len(names) != len(every):
            raise InputError("names", f"{len(every)} different names, one for each result",
                             ", ".join(map(repr, names)))
        named = dict(zip(names, every))
    for name, result in named.items():
        if not isinstance(name, str):
            raise InputError("results", "a text as the name of each", repr(name))
        if not isinstance(result, Result):
            raise InputError("results", f"a Result for {name!r}", type(result).__name__,
                             "pass what reid_ref.evaluate returns")
    if len(named) < 2:
        raise InputError("results", "at least 2 results", len(named))
    return named


def checked_metrics(metrics: Sequence[str]) -> list[str]:
    """Return each metric once."""
    if isinstance(metrics, str) or not len(metrics):
        raise InputError("metrics", "a list of metrics, such as ['mAP']", repr(metrics))
    return list(dict.fromkeys(metrics))


def check_same_convention(results: Mapping[str, Result]) -> None:
    """Refuse numbers that are made in different ways."""
    check_systems_convention({name: system_of_result(each) for name, each in results.items()})


def check_same_queries(results: Mapping[str, Result]) -> None:
    """Refuse results of other queries or of another gallery, naming the first difference."""
    check_systems_queries({name: system_of_result(each) for name, each in results.items()})


#: Fields of a signature that make the convention; one that is absent is that of matlab.
CONVENTION = ("convention", "ap", "unmatched", "ties", "loads", "ignored", "recall", "top_k",
              "junk_match", "cmc", "cmc_length", "arithmetic", "n_good", "lists")


@dataclass(frozen=True)
class System:
    """What is compared.

    Parameters
    ----------
    signature : Signature
        Empty where the file has none.
    fingerprints : Fingerprints
        Of query and gallery labels; empty where the file has none.
    identity, camera, n_good : int64, shape (n,)
        No camera where none is known.
    values : callable
        Metric to `QueryValues`.
    """

    signature: Signature
    fingerprints: Fingerprints
    identity: Integers
    camera: Integers
    n_good: Integers
    values: Callable[[str], QueryValues]


def system_of_result(result: Result) -> System:
    """Return a system of an evaluation."""
    rows = result.per_query
    return System(result.signature, result.fingerprints, rows.identity, rows.camera, rows.n_good,
                  lambda name: query_values(result, name))


def system_of_table(table: QueryTable, name: str) -> System:
    """Return a system of a stored file; `name`: of the file, for messages."""
    if table.result is not None:
        return system_of_result(table.result)
    rows, signature = table.per_query, Signature.of(table.numbers.get("signature", ""))
    if not signature and not np.isin(rows.status, ("ok", "not loaded")).all():
        warn("a .csv file does not name its convention; a query without a match that "
             "counts is taken as 0; --per-query FILE.json says it")
    return System(signature, table.fingerprints, rows.identity, rows.camera, rows.n_good,
                  lambda metric: _table_values(table, metric, signature, name))


def _table_values(table: QueryTable, metric: str, said: Mapping[str, str],
                  name: str) -> QueryValues:
    """Return the values whose mean a metric is, as `query_values` does of a result."""
    rows = table.per_query
    kind, k = kind_of_metric(metric)
    if kind in ("P@", "R@"):
        raise InputError("metric", got=f"{name} holds the values of mAP, mINP and Rank-k, got "
                         f"{metric!r}", remedy="P@k and R@k need the result file itself")
    if kind == "Rank-":
        return _rank_values(table, k, said, name)
    values = (rows.ap if metric == "mAP" else rows.inp).copy()
    missing = np.isnan(values) & table.counted
    # The last good image of a list that is cut may have any rank.
    is_open = (metric == "mINP" and ("ranked" in said or not said)
               and bool((missing & (rows.status == "ok")).any()))
    if missing.any() and (is_open or said.get("unmatched", "zero") != "zero"):
        raise InputError("metric", got=f"{metric} of {name} is NaN, since a query that counts "
                         "has no value", remedy="compare another metric")
    values[np.isnan(values)] = 0
    return _values(values, table.counted, said)


def _rank_values(table: QueryTable, k: int, said: Mapping[str, str], name: str) -> QueryValues:
    if said.get("cmc", "first-match") != "first-match":
        raise InputError("metric", got=f"the CMC curve of {name} is {said['cmc']!r}, which "
                         "leaves no value for each query", remedy="compare mAP")
    rows = table.per_query
    loaded = rows.status != "not loaded"
    if not said and not np.array_equal(loaded, table.counted):
        raise InputError(
            "metric", got=f"{name} does not say whether its queries without a match are in "
            f"Rank-{k}", remedy="compare mAP, or take a file of values in JSON")
    rule = UNMATCHED[said.get("unmatched", "zero")]
    counted = loaded if rule.in_cmc else loaded & (rows.n_good > 0)
    hits = (rows.first_match > 0) & (rows.first_match <= k) & counted
    return _values(hits.astype(np.float64), counted, said)


def _values(values: Doubles, counted: npt.NDArray[np.bool_],
            said: Mapping[str, str]) -> QueryValues:
    arithmetic = ARITHMETIC[said.get("arithmetic", "double")]
    mean = arithmetic.mean(values[counted]) if counted.any() else math.nan
    return QueryValues(mean, values, counted)


def check_systems_convention(systems: Mapping[str, System]) -> None:
    """Refuse numbers that are made in different ways, as far as the files say it."""
    signed = {name: system.signature for name, system in systems.items() if system.signature}
    first = next(iter(signed), "")
    default = CONVENTIONS["matlab"]
    for name, signature in signed.items():
        for field in CONVENTION:
            absent = getattr(default, field, "none")
            expected, got = (each.get(field, absent) for each in (signed[first], signature))
            if signed[first].get(field) != signature.get(field):
                raise InputError(name, f"{field} {expected}, as in {first}", got, "evaluate both "
                                 "under one convention")


def check_systems_queries(systems: Mapping[str, System]) -> None:
    """Refuse systems of other queries or of another gallery, naming the first difference."""
    check_systems_convention(systems)
    (first, baseline), *rest = systems.items()
    for name, system in rest:
        if len(system.identity) != len(baseline.identity):
            raise InputError(name, f"{len(baseline.identity)} queries, as in {first}",
                             len(system.identity), "both must be of the same labels")
        for field, words in (("identity", "identity {} in {}"), ("camera", "camera {} in {}"),
                             ("n_good", "{} good images in {}")):
            expected, got = getattr(baseline, field), getattr(system, field)
            if len(expected) != len(got) or np.array_equal(expected, got):
                continue
            bad = np.flatnonzero(expected != got)
            k = int(bad[0])
            raise InputError(name, got=f"query {k} has {words.format(expected[k], first)} and "
                             f"{words.format(got[k], name)}, and {bad.size} of {len(got)} queries "
                             "differ so", remedy="both must be of the same labels, in the same "
                             "order")
        galleries = baseline.fingerprints.gallery, system.fingerprints.gallery
        if all(galleries) and galleries[0] != galleries[1]:
            raise InputError(name, f"the gallery labels of {first} ({galleries[0]})",
                             f"others ({galleries[1]})", "both must rank the same images, in the "
                             "same order")


def all_identities(systems: Mapping[str, System]) -> Integers:
    """Return the identities of all queries, system after system."""
    return np.concatenate([system.identity for system in systems.values()])
