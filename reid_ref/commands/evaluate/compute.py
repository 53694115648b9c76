"""What `reid-ref evaluate` answers: results by method and convention, and details of one."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from reid_ref.console.answers import Origin, dataset_of
from reid_ref.datasets import Recognised
from reid_ref.evaluation.groups import by_group
from reid_ref.labels import Labels
from reid_ref.protocols.result import Also
from reid_ref.result import Fingerprints, Numbers, Result, in_mean, numbers_of
from reid_ref.statistics import Interval
from reid_ref.text.plain import Share

Value = TypeVar("Value")


class Method(NamedTuple):
    """One result file and its numbers.

    Parameters
    ----------
    name : str
        Of its row.
    files : list of str
    layout, sizes : str
        As reports show them.
    benchmark : Recognised or None
        The benchmark that its labels are of.
    results : dict of str to Result
        By convention.
    intervals : dict of str to dict of str to Interval, or None
        By convention and metric.
    also : Also, optional
        Of a protocol: the number that other papers print.
    means : mapping of str to mapping of str to float
        Of a protocol: means over parts, by name.
    """

    name: str
    files: list[str]
    layout: str
    sizes: str
    benchmark: Recognised | None
    results: dict[str, Result]
    intervals: dict[str, dict[str, Interval]] | None = None
    also: Also | None = None
    means: Mapping[str, Mapping[str, float]] = MappingProxyType({})


def by_row(values: Mapping[str, Mapping[str, Value]]) -> dict[str, Value]:
    """Return row name to value: the method's name, with the convention where it has several."""
    return {f"{name} ({convention})" if len(by_convention) > 1 else name: value
            for name, by_convention in values.items()
            for convention, value in by_convention.items()}


def rows_of(methods: Iterable[Method]) -> dict[str, Result]:
    """Return the result of each row."""
    return by_row({method.name: method.results for method in methods})


def intervals_of(methods: Iterable[Method]) -> dict[str, dict[str, Interval]] | None:
    """Return the intervals of each row by metric; None where none were requested."""
    return by_row({method.name: method.intervals or {} for method in methods}) or None


class AtRow(NamedTuple):
    """Numbers of the first k images."""

    k: int
    accuracy: Share
    precision: Share
    recall: Share
    mAP: Share


class Image(NamedTuple):
    """A gallery image, by its number from 0."""

    image: int
    identity: int
    camera: int


@dataclass(frozen=True)
class QueryRow:
    """What one query got; without a good image `ap`, `inp` and `first_match` are null."""

    query: int
    identity: int
    camera: int
    status: str
    counted: bool
    ap: Share
    inp: Share
    first_match: int | None
    n_good: int
    n_junk: int


@dataclass(frozen=True)
class WorstRow(QueryRow):
    """A query of low AP, and its nearest wrong image."""

    nearest_wrong: Image | None


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """The numbers of one identity, or of one query camera."""

    identity: int | None = None
    camera: int | None = None
    queries: int
    counted: int
    mAP: Share
    Rank_1: Share
    mINP: Share


@dataclass(frozen=True, kw_only=True)
class Details:
    """More of one result than its headline, where it is requested."""

    at: list[AtRow] | None = None
    worst: list[WorstRow] | None = None
    by: dict[str, list[GroupRow]] | None = None


@dataclass(frozen=True, kw_only=True)
class Evaluated(Details, Numbers, Origin):
    """One result as JSON has it."""

    confidence: dict[str, Interval] | None = None


class Evaluations(NamedTuple):
    """Several results as JSON has them, and the conventions left out, with the reason."""

    results: list[Evaluated]
    left_out: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class PerQueryFile(Numbers):
    """What `--per-query FILE.json` writes."""

    labels: Fingerprints
    queries: list[QueryRow]


def evaluated(methods: Iterable[Method], length: int | None,
              details: Details | None = None) -> list[Evaluated]:
    """Return each result for JSON, its curve to rank `length`; `details` are of every one."""
    return [Evaluated(
        name=method.name, files=method.files, layout=method.layout,
        dataset=dataset_of(method.benchmark), convention=convention,
        **numbers_of(result, length), **vars(details or Details()),
        confidence=None if method.intervals is None else method.intervals[convention])
        for method in methods for convention, result in method.results.items()]


def query_rows(result: Result) -> list[QueryRow]:
    """Return what each query got, in their order."""
    per_query, labels = result.per_query, result.per_query.labels()
    columns = (values.tolist() for values in (
        labels.identity, labels.camera, per_query.status, in_mean(result), per_query.ap,
        per_query.inp, per_query.first_match, per_query.n_good, per_query.n_junk))
    return [QueryRow(query, identity, camera, status, counted, ap, inp, first or None, good, junk)
            for query, (identity, camera, status, counted, ap, inp, first, good, junk)
            in enumerate(zip(*columns))]


def at_rows(result: Result, ranks: Iterable[int]) -> list[AtRow]:
    """Return the numbers at each k."""
    every = map(result.at, ranks)
    return [AtRow(at.k, at.accuracy, at.precision, at.recall, at.mAP) for at in every]


def worst_rows(result: Result, wrong: Mapping[int, int | None],
               gallery: Labels | None = None) -> list[WorstRow]:
    """Return the rows of the queries in `wrong`, with their nearest wrong images."""
    rows = query_rows(result)
    images = {query: None if image is None or gallery is None else Image(
        image, int(gallery.identity[image]), int(gallery.camera[image]))
        for query, image in wrong.items()}
    return [WorstRow(**vars(rows[query]), nearest_wrong=image) for query, image in images.items()]


def group_rows(result: Result, by: str) -> list[GroupRow]:
    """Return the numbers of each group; identities by mAP, the lowest first, cameras by number."""
    groups = by_group(result, by=by)
    columns = zip(*(values.tolist() for values in (
        groups.value, groups.queries, groups.counted, groups.mAP, groups.rank1, groups.mINP)))
    rows = [GroupRow(**{by: value}, queries=queries, counted=counted, mAP=mAP, Rank_1=rank1,
                     mINP=mINP) for value, queries, counted, mAP, rank1, mINP in columns]
    return rows if by == "camera" else sorted(rows, key=lambda row: (row.mAP != row.mAP, row.mAP))
