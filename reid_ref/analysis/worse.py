"""Is a result significantly worse than one that was stored?"""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from reid_ref.analysis.compare import Comparison, compare_scores
from reid_ref.analysis.signatures import differing_choices, parse_signature
from reid_ref.analysis.stored import Stored
from reid_ref.arrays import InputError
from reid_ref.conventions import as_text
from reid_ref.labels import Labels
from reid_ref.result import QueryValues, Result, query_values, unit_of_queries
from reid_ref.statistics import holm

#: Of the test, over the metrics together (Holm).
ALPHA = 0.05


def worse_than(stored: Stored, result: Result, query: Labels,
               gallery: Labels) -> list[Comparison]:
    """Return the metrics in which the result is significantly worse: mAP, Rank-1, or both.

    Raises
    ------
    InputError
        Another convention, other labels, or a metric that is NaN.
    """
    _check_same(stored, result, query, gallery)
    metrics = ["mAP", *(["Rank-1"] if result.convention.curve.counts else [])]
    ours = {name: query_values(result, name) for name in metrics}
    theirs = {name: _values(stored, name, values) for name, values in ours.items()}
    found = compare_scores({"baseline": theirs, "result": ours}, result.per_query.identity,
                           *unit_of_queries(result, "identity")).comparisons
    adjusted = holm([one.p for one in found])
    return [replace(one, p_adjusted=p) for one, p in zip(found, adjusted)
            if one.difference < 0 and p < ALPHA]


def _check_same(stored: Stored, result: Result, query: Labels, gallery: Labels) -> None:
    for key in differing_choices(stored.convention, result.convention):
        ours, theirs = (as_text(getattr(one, key)) for one in (
            result.convention, stored.convention))
        raise InputError(f"{stored.path}: expected the same convention, got {key} {theirs}, but "
                         f"{ours} here; evaluate both under one convention")
    if stored.fields.get("lists") != _lists(result):
        raise InputError(f"{stored.path}: expected the same --index-lists")
    for side, one in (("query", query), ("gallery", gallery)):
        if stored.labels.get(side) != one.fingerprint():
            raise InputError(f"{stored.path}: expected the same {side} labels, in the same order; "
                             "a paired test is over the same images")


def _lists(result: Result) -> str | None:
    return parse_signature(result.signature).get("lists")


def _values(stored: Stored, metric: str, ours: QueryValues) -> QueryValues:
    """Return the stored values, of the queries that count here: labels and rules are the same."""
    values = (stored.per_query.ap if metric == "mAP"
              else (stored.per_query.first_match == 1).astype(np.float64))
    values = np.where(ours.counted, np.nan_to_num(values), 0.0)
    return QueryValues(float(values[ours.counted].mean()), values, ours.counted)
