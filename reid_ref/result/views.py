"""A result in other forms: as JSON has it, as a pandas table, as a curve of one query."""
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reid_ref import metrics
from reid_ref.arrays import Doubles, check_count, optional_module
from reid_ref.measures import COLUMNS, RANKS
from reid_ref.ranking.good_ranks import of_queries, truncate
from reid_ref.result import HEADLINE, Result, headline
from reid_ref.result.parts import Counts, PerQuery
from reid_ref.text.plain import KEYS, Share, json_values


def named_ranks(cmc: Doubles, ranks: Iterable[int] = RANKS) -> dict[str, float]:
    """Return Rank-k by name, as far as the curve reaches."""
    return {f"Rank-{k}": float(cmc[k - 1]) for k in ranks if check_count(k, "ranks") <= len(cmc)}


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """Rank-k as JSON has them, as far as the curve reaches."""

    Rank_1: Share | None = None
    Rank_5: Share | None = None
    Rank_10: Share | None = None
    Rank_20: Share | None = None


@dataclass(frozen=True, kw_only=True)
class Means(Ranks):
    """What papers print as JSON has it, and other measures by their names."""

    mAP: Share
    mINP: Share
    further: dict[str, float] = field(kw_only=True, default_factory=dict, metadata=KEYS)


@dataclass(frozen=True, kw_only=True)
class Numbers(Means):
    """A result as JSON has it; cmc may end before the curve does."""

    cmc: list[Share]
    counts: Counts
    counted: int
    signature: str


def as_fields(numbers: Mapping[str, Any], names: Collection[str] = HEADLINE) -> dict[str, Any]:
    """Return the numbers of these names by field; all others are in the field `further`."""
    fields = {name.replace("-", "_"): numbers[name] for name in names if name in numbers}
    further = {name: value for name, value in numbers.items() if name not in names}
    return {**fields, "further": further} if further else fields


def means_of(result: Result, names: Iterable[str] = ()) -> dict[str, Any]:
    """Return the fields of `Means`, and these measures."""
    return as_fields(headline(result, [*HEADLINE, *names]))


def numbers_of(result: Result, length: int | None = 50,
               names: Iterable[str] = ()) -> dict[str, Any]:
    """Return the fields of `Numbers`, the curve to rank `length`; None is all of it."""
    cmc = result.cmc[:None if length is None else check_count(length, "cmc")]
    return {**means_of(result, names), "cmc": cmc.tolist(), "counts": result.counts,
            "counted": result.counted, "signature": str(result.signature)}


def to_dict(result: Result, cmc: int | None = 50,
            measures: Iterable[str] = ()) -> dict[str, Any]:
    """Return a result as plain JSON values; NaN, which JSON lacks, becomes None.

    Parameters
    ----------
    result : Result
    cmc : int, optional
        How many ranks of the CMC curve; None is all.
    measures : iterable of str
        Further measures, such as "P@10", whose numbers stand after mINP by their names.

    Returns
    -------
    dict
        Rank-1 and so on, mAP, mINP, cmc (a list: Rank-k is entry k - 1), counts, counted,
        signature.

    Raises
    ------
    InputError
        `cmc` is not a whole number from 1, or no measure has such a name.

    Examples
    --------
    >>> import json, reid_ref
    >>> result = reid_ref.evaluate_distances(
    ...     [[.1, .2]], reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8], [2, 2]))
    >>> json.dumps(reid_ref.to_dict(result))[:57]
    '{"Rank-1": 1.0, "mAP": 1.0, "mINP": 1.0, "cmc": [1.0, 1.0'
    """
    return dict(json_values(Numbers(**numbers_of(result, cmc, measures))))


def precision_recall(result: Result, query: int) -> tuple[Doubles, Doubles]:
    """Return the precision-recall curve of one query, over the images that it keeps.

    Parameters
    ----------
    result : Result
    query : int
        Which query, from 0.

    Returns
    -------
    precision, recall : float64, shape (n_kept,)
        Entry k - 1 is precision at k and recall at k, as `Result.at` defines them. Shorter where
        the convention cuts the list (`top_k`); empty if no image is kept.

    Raises
    ------
    InputError
        No such query.

    Examples
    --------
    >>> import reid_ref
    >>> result = reid_ref.evaluate_distances(
    ...     [[.2, .1, .3]], reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3]))
    >>> precision, recall = reid_ref.precision_recall(result, 0)
    >>> precision.round(2), recall
    (array([0.  , 0.5 , 0.67]), array([0. , 0.5, 1. ]))
    """
    n = len(result.per_query.status)
    query = check_count(query, "query", 0, n - 1)
    ranks = of_queries(result.ranks, np.arange(n) == query)
    length = int(ranks.n_kept[0])
    length = min(length, result.convention.top_k or length)
    precision, recall = metrics.precision_recall_curve(truncate(ranks, length), length)
    return precision[0], recall[0]


def to_frame(result: Result) -> Any:
    """Return a pandas DataFrame with one row per query, in the order of the queries.

    Parameters
    ----------
    result : Result

    Returns
    -------
    pandas.DataFrame
        Columns: ap, inp, and the further fields of `PerQuery`. The index, `query`, counts
        from 0.

    Raises
    ------
    InputError
        pandas is not installed.

    Examples
    --------
    >>> import reid_ref
    >>> result = reid_ref.evaluate_distances(
    ...     [[.1, .2]], reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8], [2, 2]))
    >>> float(reid_ref.to_frame(result).loc[0, "ap"])
    1.0
    """
    pandas = optional_module("to_frame", "pandas",
                             otherwise="or take the arrays of result.per_query")
    names = [*(each.column for each in COLUMNS), *PerQuery.__dataclass_fields__]
    names = [name for name in names if name not in ("values", "words")]
    columns = {name: result.per_query.texts(name).copy() for name in names
               if name != "camera" or result.per_query.camera.size}
    return pandas.DataFrame(
        columns, index=pandas.RangeIndex(result.counts.query, name="query"))
